// A fuzzer's bytes as a segment file and as a delete vector: whatever they are, opening, checking and reading
// gives values or an error. The first byte chooses whether the bytes are a whole file, a footer behind right
// header and trailer, a column block of some kind, or a delete vector; checksums are made right, so that the
// tests of structure are what is tried. Link with -fsanitize=fuzzer.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>

#include "base/hash.h"
#include "file/temporary_directory.h"
#include "segment/delete_vector.h"
#include "segment/key_filter.h"
#include "segment/segment.h"
#include "segment/segment_format.h"
#include "segment/segment_writer.h"

namespace {

using namespace hailstone;

void read_all(const Segment& segment) {
  static_cast<void>(segment.check());
  for (size_t column = 0; column < segment.columns().size(); ++column) {
    std::shared_ptr<const Dictionary> dictionary;
    if (segment.has_dictionary(column)) {
      auto loaded = segment.dictionary(column);
      if (!loaded) continue;
      dictionary = *loaded;
    }
    for (uint32_t number = 0; number < segment.blocks(); ++number) {
      const auto block = segment.block(column, number);
      if (!block) continue;
      std::vector<uint16_t> rows((*block)->rows());
      std::iota(rows.begin(), rows.end(), 0);
      BlockBitmap bitmap;
      if ((*block)->decimal().any()) {
        std::vector<WideInteger> numbers(rows.size());
        (*block)->gather_wide_numbers(rows, numbers.data());
        const BytesRange bytes_range{std::string(3, '\x70'), std::string(20, '\x90')};
        (*block)->select_packed({&bytes_range, 1}, bitmap);
      }
      const IntegerRange range{100, 5000};
      if (segment.columns()[column].integer) {
        std::vector<uint64_t> values(rows.size());
        (*block)->gather_integers(rows, values.data());
        (*block)->select_ranges({&range, 1}, bitmap);
      } else {
        Arena scratch;
        std::vector<ByteView> values(rows.size());
        if (!(*block)->gather_bytes(rows, dictionary.get(), scratch, values.data())) continue;
        uint64_t sum = 0;
        for (const ByteView value : values) sum += hash_bytes(value);
        if (sum == 1) std::abort();  // only so that the values are read
      }
    }
  }
  for (size_t index = 0; index < segment.index_count(); ++index) {
    std::vector<uint32_t> ordinals(segment.index_entries(index));
    BlockPins pins;
    static_cast<void>(segment.index_ordinals(index, 0, segment.index_entries(index), ordinals.data(), pins));
    static_cast<void>(segment.index_filter(index).admits(99));
  }
  static_cast<void>(segment.key_filter().admits(99));
}

/// A file of one piece and a footer.
std::string file_of(ByteView header, ByteView piece, const std::string& footer) {
  std::string file(header);
  file.append(piece);
  const uint64_t offset = file.size();
  file.append(footer);
  append_number(file, offset);
  append_number(file, static_cast<uint64_t>(footer.size()));
  append_number(file, checksum(footer));
  file.append(segment_trailer_magic);
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const ByteView input(reinterpret_cast<const char*>(data) + 4, size - 4);
  static const TemporaryDirectory directory(TemporaryDirectory::Place::Memory);
  MemoryBudget budget(size_t{64} << 20);
  Counters counters;
  std::string file;
  switch (data[0] % 4) {
    case 0:
      file = input;
      break;
    case 1: {
      const ByteView headers[] = {segment_header, segment_header_1, segment_header_2};
      file = file_of(headers[data[1] % 3], {}, std::string(input));
      break;
    }
    case 2: {
      // One block; data[1..3] say its rows, whether it is of integers, or of decimals, and whether it has
      // NULLs.
      Footer footer;
      footer.identity.emplace();
      footer.rows = data[1] * 16U + 1;
      ColumnEntry& column = footer.columns.emplace_back();
      column.column.integer = (data[2] & 1) != 0;
      const bool decimals = (data[2] & 2) != 0;
      if (decimals) {
        column.column.decimal = column.column.integer ? DecimalDigits{.precision = 9, .scale = 2}
                                                      : DecimalDigits{.precision = 30, .scale = 6};
        if (column.column.integer)
          column.column.width = static_cast<uint8_t>(DecimalFormat(column.column.decimal).width());
      }
      BlockEntry& block = column.blocks.emplace_back();
      block.nulls = data[3] % 4 == 0 ? 1 : 0;
      block.piece.size = input.size();
      block.piece.checksum = checksum(input);
      footer.keys.samples.resize((footer.rows + key_sample_stride - 1) / key_sample_stride);
      file = file_of(decimals ? segment_header : segment_header_2, input, footer.serialise());
      break;
    }
    default: {
      // A delete vector; data[1] says whether it has an identity.
      const bool with_identity = (data[1] & 1) != 0;
      std::string bytes =
          with_identity ? std::string("HAILDELV\2\0\0\0", 12) : std::string("HAILDELV\1\0\0\0", 12);
      if (with_identity) append_identity(bytes, {.database = 1, .table = 2, .file = 3});
      append_number(bytes, uint32_t{1000});
      bytes.append(input);
      append_number(bytes, checksum(bytes));
      const auto parsed = DeleteVector::parse(bytes, 1000, budget, "fuzz");
      if (parsed && (parsed->vector->count() > 1000 || parsed->identity.has_value() != with_identity))
        std::abort();
      return 0;
    }
  }
  const std::string path = directory.file("segment");
  {
    auto written = posix_filesystem().create(path);
    if (!written || !(*written)->append(file)) return 0;
  }
  BlockCache cache(budget, counters);
  const auto segment = Segment::open(posix_filesystem(), path, cache, counters);
  if (segment) read_all(**segment);
  return 0;
}

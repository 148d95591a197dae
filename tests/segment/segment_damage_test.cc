// Damaged, cut and hostile segment files, and disks that fail while one is written.
#include <fmt/format.h>

#include "file/fault_filesystem.h"
#include "segment/key_filter.h"
#include "segment/segment_format.h"
#include "segment_test_support.h"

namespace hailstone {
namespace {

std::string read_file(const std::string& path) {
  const auto file = *posix_filesystem().open(path);
  std::string bytes(*file->size(), '\0');
  EXPECT_TRUE(file->read_at(0, bytes.size(), bytes.data()));
  return bytes;
}

void write_file(const std::string& path, ByteView bytes) {
  auto file = *posix_filesystem().create(path);
  ASSERT_TRUE(file->append(bytes));
  ASSERT_TRUE(file->close());
}

/// A small table with every kind of block, an index and filters.
void fill_small(TestTable& table, std::mt19937_64& random, uint32_t rows) {
  TestColumn& numbers = table.integer_column();
  TestColumn& few = table.bytes_column();
  TestColumn& digits = table.bytes_column();
  TestColumn& plain = table.bytes_column();
  TestColumn& text = table.bytes_column();
  TestColumn& constant = table.bytes_column();
  const DecimalFormat price({.precision = 9, .scale = 2}), total({.precision = 30, .scale = 6});
  TestColumn& prices = table.decimal_column(price.digits());
  TestColumn& totals = table.decimal_column(total.digits());
  for (uint32_t row = 0; row < rows; ++row) {
    numbers.add(std::optional<uint64_t>(random() % 1000));
    few.add(std::optional<std::string>("value " + std::to_string(random() % 3)));
    digits.add(std::optional<std::string>(std::to_string(1000000 + random()).substr(0, 9)));
    std::string bytes(9, '\0');
    for (auto& c : bytes) c = static_cast<char>(random());
    plain.add(std::optional<std::string>(bytes));
    text.add(std::optional<std::string>("a long text that repeats itself, number " + std::to_string(row)));
    std::string packed(total.width(), '\0');
    price.pack(static_cast<WideInteger>(random() % 100'000), packed.data());
    prices.add(std::optional<uint64_t>(load_big_endian(packed.data(), price.width())));
    total.pack(static_cast<WideInteger>(random()) * row - 1'000'000, packed.data());
    totals.add(std::optional<std::string>(packed));
    if (row % 5 == 0) {
      constant.add_null();
    } else {
      constant.add(std::optional<std::string>("constant"));
    }
  }
}

SegmentInput with_index(TestTable& table) {
  SegmentInput input = table.input();
  IndexRun run;
  for (uint32_t row = input.rows; row-- > 0;) run.ordinals.push_back(row);
  for (uint32_t i = 0; i < input.rows; i += key_sample_stride)
    run.samples.push_back("i" + TestTable::key_of(i));
  run.last_key = "i" + TestTable::key_of(input.rows - 1);
  run.key_hashes = input.key_hashes;
  run.distinct_prefixes = {input.rows};
  input.indexes.push_back(std::move(run));
  return input;
}

/// Reads everything; what it gives does not matter, only that nothing breaks.
void read_all(const Segment& segment) {
  static_cast<void>(segment.check());
  for (size_t column = 0; column < segment.columns().size(); ++column) {
    static_cast<void>(segment.storage(column));
    std::shared_ptr<const Dictionary> dictionary;
    if (segment.has_dictionary(column)) {
      auto loaded = segment.dictionary(column);
      if (!loaded) continue;
      dictionary = *loaded;
    }
    for (uint32_t number = 0; number < segment.blocks(); ++number) {
      auto loaded = segment.block(column, number);
      if (!loaded) continue;
      const Block& block = **loaded;
      std::vector<uint16_t> rows(block.rows());
      std::iota(rows.begin(), rows.end(), 0);
      BlockBitmap bitmap;
      const IntegerRange range{3, 900};
      if (segment.columns()[column].integer) {
        std::vector<uint64_t> values(rows.size());
        block.gather_integers(rows, values.data());
        block.select_ranges({&range, 1}, bitmap);
      } else {
        Arena scratch;
        std::vector<ByteView> values(rows.size());
        if (block.gather_bytes(rows, dictionary.get(), scratch, values.data())) {
          size_t sum = 0;
          for (const ByteView value : values) {
            for (const char c : value) sum += static_cast<unsigned char>(c);
          }
          ASSERT_GE(sum, 0U);
        }
      }
    }
  }
  for (size_t index = 0; index < segment.index_count(); ++index) {
    std::vector<uint32_t> ordinals(segment.index_entries(index));
    BlockPins pins;
    static_cast<void>(segment.index_ordinals(index, 0, segment.index_entries(index), ordinals.data(), pins));
    static_cast<void>(segment.index_filter(index).admits(12345));
  }
  static_cast<void>(segment.key_filter().admits(54321));
}

/// A damaged version may be that of a later release, as far as one can tell.
bool is_of_damage(const Error& error) {
  return error.code() == ErrorCode::Corruption ||
         (error.code() == ErrorCode::Unsupported &&
          error.message().find("unless its header is damaged") != std::string::npos);
}

bool intact(TestTable& table, const std::string& path) {
  const auto segment = Segment::open(posix_filesystem(), path, table.cache, table.counters);
  if (!segment) {
    EXPECT_TRUE(is_of_damage(segment.error())) << segment.error().message();
    EXPECT_NE(segment.error().message().find(path), std::string::npos);
    return false;
  }
  read_all(**segment);
  const Status checked = (*segment)->check();
  if (!checked) {
    EXPECT_EQ(checked.error().code(), ErrorCode::Corruption) << checked.error().message();
    EXPECT_NE(checked.error().message().find("restore"), std::string::npos);
  }
  return checked.has_value();
}

TEST(SegmentDamageTest, AnyFlippedBitIsFound) {
  std::mt19937_64 random(test_seed());
  TestTable table;
  fill_small(table, random, 40);
  const std::string path = table.directory.file("s");
  ASSERT_TRUE(write_segment(posix_filesystem(), path, with_index(table), table.counters));
  const std::string good = read_file(path);
  ASSERT_TRUE(intact(table, path));
  for (size_t byte = 0; byte < good.size(); ++byte) {
    std::string damaged = good;
    damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << random() % 8));
    write_file(path, damaged);
    ASSERT_FALSE(intact(table, path)) << "byte " << byte << " of " << good.size();
  }
}

TEST(SegmentDamageTest, ACutFileIsFound) {
  std::mt19937_64 random(test_seed());
  TestTable table;
  fill_small(table, random, 300);
  const std::string path = table.directory.file("s");
  ASSERT_TRUE(write_segment(posix_filesystem(), path, with_index(table), table.counters));
  const std::string good = read_file(path);
  for (int i = 0; i < 100; ++i) {
    write_file(path, ByteView(good).substr(0, random() % good.size()));
    ASSERT_FALSE(intact(table, path));
    write_file(path, good + std::string(random() % 50 + 1, '\0'));
    ASSERT_FALSE(intact(table, path));
  }
}

/// Damages bytes and makes every checksum right again, so that only the tests of structure stand between the
/// bytes and the reader.
TEST(SegmentDamageTest, HostileBytesWithRightChecksumsDoNoHarm) {
  const uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  TestTable table;
  fill_small(table, random, 2000);
  const std::string path = table.directory.file("s");
  ASSERT_TRUE(write_segment(posix_filesystem(), path, with_index(table), table.counters));
  const std::string good = read_file(path);
  const auto footer_offset = load<uint64_t>(good.data() + good.size() - segment_trailer_bytes);
  const std::string footer_bytes =
      good.substr(footer_offset, good.size() - segment_trailer_bytes - footer_offset);
  for (int round = 0; round < 3000; ++round) {
    std::string pieces = good.substr(0, footer_offset);
    std::string footer_text = footer_bytes;
    const bool hit_footer = round % 3 == 0;
    std::string& victim = hit_footer ? footer_text : pieces;
    Footer footer;
    ASSERT_TRUE(footer.parse(footer_bytes, footer_offset, 3));
    // Heads of pieces are where the structure is.
    std::vector<size_t> heads = {0};
    for (const auto& column : footer.columns) {
      if (column.dictionary_size != 0) heads.push_back(column.dictionary.offset);
      for (const auto& block : column.blocks) heads.push_back(block.piece.offset);
    }
    for (uint64_t changes = random() % 4 + 1; changes > 0; --changes) {
      size_t place = random() % victim.size();
      if (!hit_footer && random() % 4 != 0) place = heads[random() % heads.size()] + random() % 80;
      if (place >= victim.size()) continue;
      victim[place] = static_cast<char>(
          random() % 2 == 0 ? random() : static_cast<uint64_t>(victim[place]) ^ (1 << random() % 8));
    }
    if (!hit_footer) {
      const auto mend = [&](Piece& piece) {
        piece.checksum = checksum(ByteView(pieces).substr(piece.offset, piece.size));
      };
      for (auto& column : footer.columns) {
        if (column.dictionary_size != 0) mend(column.dictionary);
        for (auto& block : column.blocks) mend(block.piece);
      }
      for (auto& piece : footer.keys.filter.pieces) mend(piece);
      for (auto& index : footer.indexes) {
        for (auto& piece : index.pieces) mend(piece);
        for (auto& piece : index.keys.filter.pieces) mend(piece);
      }
      footer_text = footer.serialise();
    }
    std::string file = pieces + footer_text;
    append_number(file, static_cast<uint64_t>(pieces.size()));
    append_number(file, static_cast<uint64_t>(footer_text.size()));
    append_number(file, checksum(footer_text));
    file.append(segment_trailer_magic);
    write_file(path, file);
    intact(table, path);
    if (::testing::Test::HasFailure()) FAIL() << "round " << round;
  }
}

TEST(SegmentDamageTest, AFailingDiskLeavesNoFileAndSaysWhy) {
  std::mt19937_64 random(test_seed());
  TestTable table;
  TestColumn& column = table.bytes_column();
  for (int i = 0; i < 60000; ++i) {
    std::string value(40, '\0');
    for (auto& c : value) c = static_cast<char>(random());
    column.add(std::optional<std::string>(value));
  }
  for (const auto call :
       {FaultFilesystem::Call::Create, FaultFilesystem::Call::Append, FaultFilesystem::Call::Sync}) {
    for (uint64_t skip = 0; skip < (call == FaultFilesystem::Call::Append ? 3U : 1U); ++skip) {
      FaultFilesystem faulty(posix_filesystem(), 1);
      faulty.add_rule({.call = call, .skip = skip, .error_number = ENOSPC});
      const std::string path = table.directory.file("s");
      const Status written = write_segment(faulty, path, table.input(), table.counters);
      ASSERT_FALSE(written);
      EXPECT_EQ(written.error().code(), ErrorCode::DiskFull) << written.error().message();
      EXPECT_NE(written.error().message().find(path), std::string::npos);
      EXPECT_FALSE(posix_filesystem().exists(path));
    }
  }
}

}  // namespace
}  // namespace hailstone

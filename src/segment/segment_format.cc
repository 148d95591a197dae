#include "segment/segment_format.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/guard.h"
#include "base/version.h"
#include "segment/distinct_sketch.h"
#include "segment/geometry.h"

namespace hailstone {
namespace {

constexpr std::array<std::string_view, encoding_count> encoding_names = {
    "constant", "bit packed", "delta", "run length", "integer dictionary", "sparse", "dictionary",
    "digits",   "plain",      "lz4",   "zstd"};

/// Walks the pieces in file order, giving each its offset.
class PiecePlacer {
 public:
  explicit PiecePlacer(uint64_t end) : end_(end) {}
  bool place(Piece& piece) {
    if (!skip(piece.size)) return false;
    piece.offset = next_ - piece.size;
    return true;
  }
  bool skip(uint64_t size) {
    if (size > end_ - next_) return false;
    next_ += size;
    return true;
  }
  bool at_end() const { return next_ == end_; }

 private:
  uint64_t next_ = segment_header_bytes;
  uint64_t end_;
};

void append_piece(const Piece& piece, std::string& to) {
  append_varint(to, piece.size);
  append_number(to, piece.checksum);
}

bool take_piece(ByteReader& reader, Piece& piece) {
  return reader.take_varint(piece.size) && reader.take(piece.checksum);
}

/// Takes what a column of decimals has more than others.
bool take_decimal(ByteReader& reader, uint8_t flags, StoredColumn& column) {
  DecimalDigits& decimal = column.decimal;
  if (!reader.take(decimal.precision) || !reader.take(decimal.scale) || !decimal.any() || !decimal.valid())
    return false;
  const DecimalFormat format(decimal);
  return format.is_integer() == ((flags & 1) != 0) &&
         (!format.is_integer() || format.width() == column.width);
}

void append_keys(const KeyDirectory& keys, std::string& to) {
  append_varint(to, keys.samples.size());
  for (const ByteView sample : keys.samples) append_string(to, sample);
  append_string(to, keys.last_key);
  append_varint(to, keys.distinct_prefixes.size());
  for (const uint64_t distinct : keys.distinct_prefixes) append_varint(to, distinct);
  append_varint(to, keys.filter.bytes);
  for (const Piece& piece : keys.filter.pieces) append_number(to, piece.checksum);
}

bool take_keys(ByteReader& reader, uint32_t entries, KeyDirectory& keys) {
  uint64_t count = 0;
  if (!reader.take_varint(count) ||
      count != (uint64_t{entries} + key_sample_stride - 1) / key_sample_stride ||
      count > reader.remaining()) {
    return false;
  }
  keys.samples.resize(static_cast<size_t>(count));
  for (auto& sample : keys.samples) {
    if (!reader.take_string(sample)) return false;
  }
  if (!reader.take_string(keys.last_key) || !reader.take_varint(count) || count > reader.remaining())
    return false;
  keys.distinct_prefixes.resize(static_cast<size_t>(count));
  for (auto& distinct : keys.distinct_prefixes) {
    if (!reader.take_varint(distinct)) return false;
  }
  FilterEntry& filter = keys.filter;
  if (!reader.take_varint(filter.bytes) || filter.bytes % bloom_block_bytes != 0) return false;
  const uint64_t pieces = filter.bytes / bloom_piece_bytes + (filter.bytes % bloom_piece_bytes != 0 ? 1 : 0);
  if (pieces > reader.remaining() / 8) return false;
  filter.pieces.resize(static_cast<size_t>(pieces));
  for (size_t i = 0; i < filter.pieces.size(); ++i) {
    filter.pieces[i].size = std::min<uint64_t>(bloom_piece_bytes, filter.bytes - i * bloom_piece_bytes);
    if (!reader.take(filter.pieces[i].checksum)) return false;
  }
  return true;
}

bool place_all(std::vector<Piece>& pieces, PiecePlacer& placer) {
  return std::all_of(pieces.begin(), pieces.end(), [&](Piece& piece) { return placer.place(piece); });
}

}  // namespace

std::string_view to_string(Encoding encoding) { return encoding_names[static_cast<size_t>(encoding)]; }

unsigned segment_version(ByteView header) {
  if (header == segment_header) return 3;
  if (header == segment_header_2) return 2;
  return header == segment_header_1 ? 1 : 0;
}

uint32_t Footer::blocks() const { return (rows + block_rows - 1) / block_rows; }

std::string Footer::serialise() const {
  std::string to;
  if (identity) append_identity(to, *identity);
  append_number(to, rows);
  append_varint(to, columns.size());
  for (const auto& entry : columns) {
    append_number(to, entry.column.id);
    const DecimalDigits decimal = entry.column.decimal;
    to.push_back(static_cast<char>((entry.column.integer ? 1 : 0) | (entry.column.nullable ? 2 : 0) |
                                   (decimal.any() ? 4 : 0)));
    to.push_back(static_cast<char>(entry.column.width));
    if (decimal.any()) {
      append_number(to, decimal.precision);
      append_number(to, decimal.scale);
    }
    append_varint(to, entry.raw_bytes);
    append_varint(to, entry.distinct);
    to.append(entry.sketch);
    append_varint(to, entry.dictionary_size);
    if (entry.dictionary_size != 0) append_piece(entry.dictionary, to);
    for (const auto& block : entry.blocks) {
      to.push_back(static_cast<char>(block.encoding));
      append_varint(to, block.nulls);
      append_varint(to, block.far_size);
      append_piece(block.piece, to);
      if (entry.column.integer || entry.dictionary_size != 0) {
        append_number(to, block.low);
        append_number(to, block.high);
      } else {
        append_string(to, block.low_bytes);
        append_string(to, block.high_bytes);
      }
    }
  }
  append_keys(keys, to);
  append_varint(to, indexes.size());
  for (const auto& index : indexes) {
    append_varint(to, index.entries);
    append_keys(index.keys, to);
    for (const Piece& piece : index.pieces) append_piece(piece, to);
  }
  return to;
}

bool Footer::parse(ByteView bytes, uint64_t end, unsigned version) {
  ByteReader reader(bytes);
  uint64_t count = 0;
  if (version > 1 && !take_identity(reader, identity.emplace())) return false;
  if (end < segment_header_bytes || !reader.take(rows) || rows == 0 || rows > max_segment_rows ||
      !reader.take_varint(count) || count > reader.remaining()) {
    return false;
  }
  PiecePlacer placer(end);
  columns.resize(static_cast<size_t>(count));
  for (auto& entry : columns) {
    uint8_t flags = 0;
    uint64_t dictionary_size = 0;
    if (!reader.take(entry.column.id) || !reader.take(flags) || flags > (version > 2 ? 7 : 3) ||
        !reader.take(entry.column.width) || entry.column.width < 1 || entry.column.width > 8 ||
        ((flags & 4) != 0 && !take_decimal(reader, flags, entry.column)) ||
        !reader.take_varint(entry.raw_bytes) || !reader.take_varint(entry.distinct) ||
        !DistinctSketch::take_stored(reader, entry.sketch) || !reader.take_varint(dictionary_size) ||
        dictionary_size > max_dictionary_entries) {
      return false;
    }
    entry.column.integer = (flags & 1) != 0;
    entry.column.nullable = (flags & 2) != 0;
    entry.dictionary_size = static_cast<uint32_t>(dictionary_size);
    if (entry.dictionary_size != 0 &&
        (entry.column.integer || entry.column.decimal.any() || !take_piece(reader, entry.dictionary) ||
         !placer.place(entry.dictionary))) {
      return false;
    }
    if (blocks() > reader.remaining()) return false;
    entry.blocks.resize(blocks());
    for (auto& block : entry.blocks) {
      uint8_t encoding = 0;
      uint64_t nulls = 0;
      if (!reader.take(encoding) || encoding >= encoding_count || !reader.take_varint(nulls) ||
          nulls > block_rows || !reader.take_varint(block.far_size) || !take_piece(reader, block.piece) ||
          !placer.skip(block.far_size) || !placer.place(block.piece)) {
        return false;
      }
      block.encoding = static_cast<Encoding>(encoding);
      block.nulls = static_cast<uint32_t>(nulls);
      if (entry.column.integer || entry.dictionary_size != 0) {
        if (!reader.take(block.low) || !reader.take(block.high) || block.low > block.high ||
            (entry.dictionary_size != 0 && block.high >= entry.dictionary_size)) {
          return false;
        }
      } else if (!reader.take_string(block.low_bytes) || !reader.take_string(block.high_bytes) ||
                 block.low_bytes.size() > summary_bytes || block.high_bytes.size() > summary_bytes) {
        return false;
      }
    }
  }
  // A file of the present version has scaled numbers: no other byte tells of the version.
  const auto is_decimal = [](const ColumnEntry& entry) { return entry.column.decimal.any(); };
  if (version > 2 && std::ranges::none_of(columns, is_decimal)) return false;
  if (!take_keys(reader, rows, keys) || !place_all(keys.filter.pieces, placer) ||
      !reader.take_varint(count) || count > reader.remaining()) {
    return false;
  }
  indexes.resize(static_cast<size_t>(count));
  for (auto& index : indexes) {
    uint64_t entries = 0;
    if (!reader.take_varint(entries) || entries > rows) return false;
    index.entries = static_cast<uint32_t>(entries);
    if (!take_keys(reader, index.entries, index.keys)) return false;
    index.pieces.resize((index.entries + block_rows - 1) / block_rows);
    for (auto& piece : index.pieces) {
      if (!take_piece(reader, piece)) return false;
    }
    if (!place_all(index.pieces, placer) || !place_all(index.keys.filter.pieces, placer)) return false;
  }
  return reader.empty() && placer.at_end();
}

size_t Footer::memory() const {
  const auto keys_memory = [](const KeyDirectory& directory) {
    return directory.samples.capacity() * sizeof(ByteView) + directory.distinct_prefixes.capacity() * 8 +
           directory.filter.pieces.capacity() * sizeof(Piece);
  };
  size_t bytes = sizeof(Footer) + keys_memory(keys);
  for (const auto& column : columns)
    bytes += sizeof(ColumnEntry) + column.blocks.capacity() * sizeof(BlockEntry);
  for (const auto& index : indexes) {
    bytes += sizeof(IndexEntry) + index.pieces.capacity() * sizeof(Piece) + keys_memory(index.keys);
  }
  return bytes;
}

SegmentFile::~SegmentFile() {
  if (!remove_.load(std::memory_order_relaxed)) return;
  // Nobody is left to hear of a failure; the manifest no longer names the file, and what it does not name is
  // removed at the next start.
  try_to([&] { static_cast<void>(filesystem_.remove(file_->path())); });
}

Result<std::shared_ptr<SegmentFile>> SegmentFile::open_again() const {
  HAILSTONE_ASSIGN(auto file, filesystem_.open(path()));
  return std::make_shared<SegmentFile>(filesystem_, std::move(file), counters_);
}

Status SegmentFile::read(uint64_t offset, size_t size, char* to) const {
  count(counters_.segment_reads);
  count(counters_.segment_read_bytes, size);
  return file_->read_at(offset, size, to);
}

std::unexpected<Error> SegmentFile::corrupt(uint64_t offset, std::string_view what) const {
  return fail(ErrorCode::Corruption,
              fmt::format("segment file {} is damaged: {} at offset {}; restore the table from a backup",
                          path(), what, offset));
}

std::unexpected<Error> SegmentFile::unknown(ByteView header) const {
  const auto format = load<uint32_t>(header.data() + segment_magic.size());
  if (!header.starts_with(segment_magic) || !release_of_format(format))
    return corrupt(0, "this is not the header of a segment of a known version");
  return fail(ErrorCode::Unsupported,
              fmt::format("segment file {} {}, unless its header is damaged; nothing was changed", path(),
                          unknown_format(format)));
}

}  // namespace hailstone

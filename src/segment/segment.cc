#include "segment/segment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "base/hash.h"
#include "segment/key_filter.h"
#include "segment/segment_codec.h"
#include "segment/segment_format.h"
#include "segment/segment_writer.h"

namespace hailstone {
namespace {

std::string_view form_of(const StoredColumn& column) {
  if (column.decimal.any()) return column.decimal.is_short() ? "decimal of 64 bits" : "decimal of 128 bits";
  return column.integer ? "integer" : "bytes";
}

uint64_t next_file_number() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

struct Segment::State {
  State(BlockCache& block_cache)
      : cache(block_cache), file_number(next_file_number()), memory(block_cache.budget()) {}
  ~State() { cache.erase_file(file_number); }

  BlockCache& cache;
  std::shared_ptr<SegmentFile> file;
  uint64_t file_bytes = 0;
  const uint64_t file_number;
  std::string footer_bytes;  // what footer's views point into
  uint64_t footer_offset = 0;
  Footer footer;
  std::vector<StoredColumn> columns;
  std::vector<KeyFilter> filters;  // of the clustered key, then of the indexes
  Reservation memory;

  BlockContext context(const ColumnEntry& column, uint32_t block) const {
    const BlockEntry& entry = column.blocks[block];
    return {std::min(block_rows, footer.rows - block * block_rows),
            column.column.integer,
            column.dictionary_size,
            entry.nulls,
            entry.far_size,
            entry.piece,
            column.column.decimal};
  }
  BlockContext ordinals_context(const IndexEntry& index, size_t piece) const {
    return {std::min(block_rows, index.entries - static_cast<uint32_t>(piece) * block_rows),
            true,
            0,
            0,
            0,
            index.pieces[piece],
            {}};
  }

  Result<std::shared_ptr<const Block>> cached_block(const BlockContext& block, CacheUse use) const {
    auto entry = cache.get(
        {file_number, block.piece.offset},
        [&]() -> Result<std::shared_ptr<const BlockCache::Entry>> {
          HAILSTONE_ASSIGN(std::shared_ptr<const BlockCache::Entry> loaded,
                           SegmentCodec::load_block(file, block));
          return loaded;
        },
        use == CacheUse::Keep);
    if (!entry) return std::unexpected(std::move(entry).error());
    auto found = std::static_pointer_cast<const Block>(*std::move(entry));
    if (found->pays_to_unpack()) return unpacked(block, found);
    return found;
  }

  /// The block with its text decompressed, which takes its place in the cache; itself where memory is short.
  Result<std::shared_ptr<const Block>> unpacked(const BlockContext& context,
                                                const std::shared_ptr<const Block>& block) const {
    if (!cache.has_room(block->unpacked_memory())) return block;
    HAILSTONE_ASSIGN(auto plain, SegmentCodec::unpack_block(*block, context));
    if (!cache.replace({file_number, context.piece.offset}, plain)) return block;
    return plain;
  }

  /// Reads header, footer and trailer and tests them.
  Status read_footer(std::string& bytes, uint64_t& offset, unsigned& version) const {
    if (file_bytes < segment_header_bytes + segment_trailer_bytes)
      return file->corrupt(file_bytes, "the file is cut short");
    std::array<char, segment_header_bytes> header;
    HAILSTONE_TRY(file->read(0, header.size(), header.data()));
    version = segment_version({header.data(), header.size()});
    if (version == 0) return file->unknown({header.data(), header.size()});
    std::array<char, segment_trailer_bytes> trailer;
    const uint64_t trailer_offset = file_bytes - segment_trailer_bytes;
    HAILSTONE_TRY(file->read(trailer_offset, trailer.size(), trailer.data()));
    offset = load<uint64_t>(trailer.data());
    const auto size = load<uint64_t>(trailer.data() + 8);
    if (ByteView(trailer.data() + 24, 8) != segment_trailer_magic || offset < segment_header_bytes ||
        offset > trailer_offset || size != trailer_offset - offset) {
      return file->corrupt(trailer_offset, "the end of the file is not that of a segment");
    }
    bytes.resize(size);
    HAILSTONE_TRY(file->read(offset, bytes.size(), bytes.data()));
    if (checksum(bytes) != load<uint64_t>(trailer.data() + 16))
      return file->corrupt(offset, "the checksum of the footer does not match");
    return {};
  }

  Status check_order(const KeyDirectory& keys) const {
    ByteView previous;
    for (const ByteView sample : keys.samples) {
      if (sample < previous)
        return file->corrupt(footer_offset, "the sampled keys of the footer are out of order");
      previous = sample;
    }
    if (!keys.samples.empty() && keys.last_key < previous)
      return file->corrupt(footer_offset, "the last key of the footer is out of order");
    return {};
  }
};

Segment::Segment() = default;
Segment::~Segment() = default;

Result<std::shared_ptr<Segment>> Segment::open(Filesystem& filesystem, const std::string& path,
                                               BlockCache& cache, Counters& counters) {
  std::shared_ptr<Segment> segment(new Segment);
  segment->state_ = std::make_unique<State>(cache);
  State& state = *segment->state_;
  HAILSTONE_ASSIGN(auto file, filesystem.open(path));
  state.file = std::make_shared<SegmentFile>(filesystem, std::move(file), counters);
  HAILSTONE_ASSIGN(state.file_bytes, state.file->size());
  unsigned version = 0;
  HAILSTONE_TRY(state.read_footer(state.footer_bytes, state.footer_offset, version));
  if (!state.footer.parse(state.footer_bytes, state.footer_offset, version)) {
    return state.file->corrupt(state.footer_offset, "the structure of the footer is wrong");
  }
  for (const auto& column : state.footer.columns) state.columns.push_back(column.column);
  size_t memory = sizeof(Segment) + sizeof(State) + state.footer_bytes.capacity() + state.footer.memory();
  state.filters.reserve(1 + state.footer.indexes.size());
  const auto add_filter = [&](const KeyDirectory& keys) {
    memory += state.filters.emplace_back(cache, state.file, state.file_number, keys.filter).memory();
  };
  add_filter(state.footer.keys);
  for (const auto& index : state.footer.indexes) add_filter(index.keys);
  state.memory.grow(memory + state.filters.capacity() * sizeof(KeyFilter));
  return segment;
}

uint32_t Segment::rows() const { return state_->footer.rows; }
uint64_t Segment::file_bytes() const { return state_->file_bytes; }
uint64_t Segment::unpacked_bytes() const {
  uint64_t bytes = 0;
  for (const ColumnEntry& column : state_->footer.columns) {
    bytes += uint64_t{state_->footer.rows} * sizeof(uint64_t);
    if (!column.column.integer) bytes += column.raw_bytes;
  }
  return bytes;
}
const std::string& Segment::path() const { return state_->file->path(); }
const std::optional<FileIdentity>& Segment::identity() const { return state_->footer.identity; }
std::span<const StoredColumn> Segment::columns() const { return state_->columns; }

std::optional<size_t> Segment::find_column(uint16_t id) const {
  for (size_t i = 0; i < state_->columns.size(); ++i) {
    if (state_->columns[i].id == id) return i;
  }
  return std::nullopt;
}

BlockSummary Segment::summary(size_t column, uint32_t block) const {
  const BlockEntry& entry = state_->footer.columns[column].blocks[block];
  return {std::min(block_rows, rows() - block * block_rows),
          entry.nulls,
          entry.low,
          entry.high,
          entry.low_bytes,
          entry.high_bytes};
}

bool Segment::has_dictionary(size_t column) const {
  return state_->footer.columns[column].dictionary_size != 0;
}
uint32_t Segment::dictionary_size(size_t column) const {
  return state_->footer.columns[column].dictionary_size;
}

ColumnStorage Segment::storage(size_t column) const {
  const ColumnEntry& entry = state_->footer.columns[column];
  ColumnStorage storage;
  storage.form = form_of(entry.column);
  storage.raw_bytes = entry.raw_bytes;
  storage.distinct = entry.distinct;
  storage.blocks = static_cast<uint32_t>(entry.blocks.size());
  storage.stored_bytes = entry.dictionary.size;
  std::array<std::pair<uint32_t, Encoding>, encoding_count> shares;
  for (size_t i = 0; i < encoding_count; ++i) shares[i] = {0, static_cast<Encoding>(i)};
  for (const auto& block : entry.blocks) {
    storage.stored_bytes += block.piece.size + block.far_size;
    ++shares[static_cast<size_t>(block.encoding)].first;
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [blocks_of, encoding] : shares) {
    if (blocks_of == 0) break;
    if (!storage.encoding.empty()) storage.encoding += ", ";
    storage.encoding += to_string(encoding);
  }
  return storage;
}

void Segment::add_distinct(size_t column, DistinctSketch& sketch) const {
  sketch.merge(state_->footer.columns[column].sketch);
}

Result<std::shared_ptr<const Block>> Segment::block(size_t column, uint32_t block, CacheUse use) const {
  return state_->cached_block(state_->context(state_->footer.columns[column], block), use);
}

Result<const std::shared_ptr<const Block>*> Segment::block(size_t column, uint32_t block, BlockPins& pins,
                                                           CacheUse use) const {
  return pins.get(state_->cache, block, use,
                  [&](uint32_t number) { return this->block(column, number, use); });
}

Result<std::shared_ptr<const Dictionary>> Segment::dictionary(size_t column) const {
  const ColumnEntry& entry = state_->footer.columns[column];
  if (entry.dictionary_size == 0) {
    return fail(ErrorCode::NotFound,
                fmt::format("column {} of segment file {} has no dictionary", entry.column.id, path()));
  }
  auto found = state_->cache.get(
      {state_->file_number, entry.dictionary.offset},
      [&]() -> Result<std::shared_ptr<const BlockCache::Entry>> {
        HAILSTONE_ASSIGN(
            std::shared_ptr<const BlockCache::Entry> loaded,
            SegmentCodec::load_dictionary(*state_->file, entry.dictionary, entry.dictionary_size));
        return loaded;
      });
  if (!found) return std::unexpected(std::move(found).error());
  return std::static_pointer_cast<const Dictionary>(*std::move(found));
}

size_t Segment::key_sample_count() const { return state_->footer.keys.samples.size(); }
ByteView Segment::key_sample(size_t number) const { return state_->footer.keys.samples[number]; }
ByteView Segment::last_key() const { return state_->footer.keys.last_key; }
const KeyFilter& Segment::key_filter() const { return state_->filters.front(); }
std::span<const uint64_t> Segment::distinct_prefixes() const { return state_->footer.keys.distinct_prefixes; }

size_t Segment::index_count() const { return state_->footer.indexes.size(); }
uint32_t Segment::index_entries(size_t index) const { return state_->footer.indexes[index].entries; }
size_t Segment::index_sample_count(size_t index) const {
  return state_->footer.indexes[index].keys.samples.size();
}
ByteView Segment::index_sample(size_t index, size_t number) const {
  return state_->footer.indexes[index].keys.samples[number];
}
ByteView Segment::index_last_key(size_t index) const { return state_->footer.indexes[index].keys.last_key; }

Status Segment::index_ordinals(size_t index, uint32_t first, uint32_t count, uint32_t* to, BlockPins& pins,
                               CacheUse use) const {
  const IndexEntry& entry = state_->footer.indexes[index];
  if (first > entry.entries || count > entry.entries - first) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("entries {} to {} of index {} of segment file {}, which has {}", first,
                            uint64_t{first} + count, index, path(), entry.entries));
  }
  std::array<uint64_t, 1024> ordinals;
  while (count > 0) {
    const uint32_t number = first / block_rows;
    HAILSTONE_ASSIGN(const auto* const pinned, pins.get(state_->cache, number, use, [&](uint32_t wanted) {
      return state_->cached_block(state_->ordinals_context(entry, wanted), use);
    }));
    const Block& block = **pinned;
    const uint32_t inside = first % block_rows;
    const uint32_t here = std::min({count, block.rows() - inside, static_cast<uint32_t>(ordinals.size())});
    block.integers(inside, here, ordinals.data());
    for (uint32_t i = 0; i < here; ++i) {
      if (ordinals[i] >= rows()) {
        return state_->file->corrupt(entry.pieces[first / block_rows].offset,
                                     "an index entry points beyond the last row");
      }
      to[i] = static_cast<uint32_t>(ordinals[i]);
    }
    first += here;
    to += here;
    count -= here;
  }
  return {};
}

const KeyFilter& Segment::index_filter(size_t index) const { return state_->filters[1 + index]; }
std::span<const uint64_t> Segment::index_distinct_prefixes(size_t index) const {
  return state_->footer.indexes[index].keys.distinct_prefixes;
}

Status Segment::check() const {
  // The file is opened by its name once more: another one may have been put in its place since.
  State named(state_->cache);
  HAILSTONE_ASSIGN(named.file, state_->file->open_again());
  HAILSTONE_ASSIGN(named.file_bytes, named.file->size());
  unsigned version = 0;
  HAILSTONE_TRY(named.read_footer(named.footer_bytes, named.footer_offset, version));
  if (named.footer_bytes != state_->footer_bytes || named.file_bytes != state_->file_bytes) {
    return state_->file->corrupt(
        named.footer_offset, "another file has been put in its place since it was opened, whose footer is");
  }
  HAILSTONE_TRY(state_->check_order(state_->footer.keys));
  for (const auto& column : state_->footer.columns) {
    if (column.dictionary_size != 0) {
      HAILSTONE_TRY(SegmentCodec::load_dictionary(*state_->file, column.dictionary, column.dictionary_size));
    }
    for (uint32_t i = 0; i < blocks(); ++i) {
      HAILSTONE_ASSIGN(const auto loaded, SegmentCodec::load_block(state_->file, state_->context(column, i)));
      HAILSTONE_TRY(SegmentCodec::check_frames(*loaded));
    }
  }
  std::vector<uint64_t> ordinals;
  for (const auto& index : state_->footer.indexes) {
    HAILSTONE_TRY(state_->check_order(index.keys));
    for (size_t i = 0; i < index.pieces.size(); ++i) {
      HAILSTONE_ASSIGN(const auto loaded,
                       SegmentCodec::load_block(state_->file, state_->ordinals_context(index, i)));
      ordinals.resize(loaded->rows());
      loaded->integers(0, loaded->rows(), ordinals.data());
      if (std::any_of(ordinals.begin(), ordinals.end(),
                      [&](uint64_t ordinal) { return ordinal >= rows(); })) {
        return state_->file->corrupt(index.pieces[i].offset, "an index entry points beyond the last row");
      }
    }
  }
  for (const KeyFilter& filter : state_->filters) HAILSTONE_TRY(filter.check());
  return {};
}

void Segment::remove_when_unused() { state_->file->remove_when_closed(); }

}  // namespace hailstone

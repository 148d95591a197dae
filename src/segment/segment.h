// An open segment: an immutable file of rows in clustered key order. Thread-safe. Opening reads the footer
// only (checked); blocks, dictionaries and index pieces come through the block cache when asked for, each
// with its checksum tested. Rows have ordinals 0..rows()-1; block b holds ordinals [b*block_rows, …).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/status.h"
#include "file/filesystem.h"
#include "segment/block.h"
#include "segment/block_cache.h"
#include "segment/block_pins.h"
#include "segment/column_buffer.h"
#include "segment/distinct_sketch.h"
#include "segment/file_identity.h"

namespace hailstone {

class KeyFilter;

/// What the footer says of one column block. Lets a scan skip the block without reading it.
struct BlockSummary {
  uint32_t rows = 0;
  uint32_t nulls = 0;
  // Integer: least and greatest value. Dictionary codes: least and greatest code. Meaningless when nulls ==
  // rows.
  uint64_t low = 0, high = 0;
  // Other bytes columns: every value v has low_bytes <= v, and v <= high_bytes or v begins with high_bytes
  // (memcmp); both at most 16 bytes.
  ByteView low_bytes, high_bytes;
};

/// For INFORMATION_SCHEMA: how a column is stored.
struct ColumnStorage {
  /// What the values are in the file: "integer" or "bytes"; of scaled decimals "decimal of 64 bits" or
  /// "decimal of 128 bits". Several are joined by ", ".
  std::string form;
  /// E.g. "dictionary", "bit packed", "constant", "lz4"; several in order of their share, joined by ", ".
  std::string encoding;
  uint64_t raw_bytes = 0;     // of the values as they were
  uint64_t stored_bytes = 0;  // in the file
  uint64_t distinct = 0;      // exact for dictionaries, else an estimate
  uint32_t blocks = 0;
};

class Segment {
 public:
  static Result<std::shared_ptr<Segment>> open(Filesystem& filesystem, const std::string& path,
                                               BlockCache& cache, Counters& counters);
  ~Segment();

  uint32_t rows() const;
  uint32_t blocks() const { return (rows() + block_rows - 1) / block_rows; }
  uint64_t file_bytes() const;
  /// Bytes that its values take in ColumnBuffers.
  uint64_t unpacked_bytes() const;
  const std::string& path() const;
  /// Nothing for a file of an older version.
  const std::optional<FileIdentity>& identity() const;

  // Columns are addressed by their position here.
  std::span<const StoredColumn> columns() const;
  /// Position of the column with this id; nothing when the segment was written before it existed.
  std::optional<size_t> find_column(uint16_t id) const;
  BlockSummary summary(size_t column, uint32_t block) const;
  bool has_dictionary(size_t column) const;
  uint32_t dictionary_size(size_t column) const;
  ColumnStorage storage(size_t column) const;
  /// Adds the column's distinct values to the sketch.
  void add_distinct(size_t column, DistinctSketch& sketch) const;

  Result<std::shared_ptr<const Block>> block(size_t column, uint32_t block,
                                             CacheUse use = CacheUse::Keep) const;
  /// The same, unless `pins`, which are of this column alone, have it.
  Result<const std::shared_ptr<const Block>*> block(size_t column, uint32_t block, BlockPins& pins,
                                                    CacheUse use = CacheUse::Keep) const;
  Result<std::shared_ptr<const Dictionary>> dictionary(size_t column) const;

  // Clustered key. Samples are keys of rows 0, key_sample_stride, …, in memory.
  size_t key_sample_count() const;
  ByteView key_sample(size_t number) const;
  ByteView first_key() const { return key_sample(0); }
  ByteView last_key() const;
  /// Of the clustered keys. Lives as long as this.
  const KeyFilter& key_filter() const;
  std::span<const uint64_t> distinct_prefixes() const;

  // Secondary indexes, in the order they were written.
  size_t index_count() const;
  uint32_t index_entries(size_t index) const;
  size_t index_sample_count(size_t index) const;
  ByteView index_sample(size_t index, size_t number) const;
  ByteView index_last_key(size_t index) const;
  /// Ordinals of entries [first, first + count), in index order. `pins`: of this index alone.
  Status index_ordinals(size_t index, uint32_t first, uint32_t count, uint32_t* to, BlockPins& pins,
                        CacheUse use = CacheUse::Keep) const;
  const KeyFilter& index_filter(size_t index) const;
  std::span<const uint64_t> index_distinct_prefixes(size_t index) const;

  /// Reads and checks every byte of the file, past the cache, and that it is this segment that its name leads
  /// to.
  Status check() const;
  /// Deletes the file when the last reader lets go.
  void remove_when_unused();

 private:
  Segment();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hailstone

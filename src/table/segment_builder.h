// Rows in memory on their way into one new segment: takes encoded rows in any order, sorts them by clustered
// key, builds all that a segment knows of its keys, and writes the file. Rows of equal keys keep the order in
// which they came. Not thread-safe; its memory is charged to the budget.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/page_allocator.h"
#include "segment/column_buffer.h"
#include "segment/segment_writer.h"
#include "table/table_state.h"

namespace hailstone {

/// First bytes of a key as a number: decides most comparisons.
uint64_t key_head(ByteView key);

/// Keys one behind the other.
class KeyList {
 public:
  explicit KeyList(MemoryBudget& budget) : memory_(budget) {}
  size_t size() const { return ends_.size(); }
  ByteView operator[](size_t i) const {
    const size_t start = i == 0 ? 0 : ends_[i - 1];
    return {bytes_.data() + start, ends_[i] - start};
  }
  /// `keys`: how many there will be.
  void reserve(size_t keys) { ends_.reserve(keys); }
  void push_back(ByteView key) {
    if (bytes_.size() + key.size() > bytes_.capacity()) grow(key.size());
    bytes_.insert(bytes_.end(), key.begin(), key.end());
    ends_.push_back(bytes_.size());
    const size_t held = bytes_.capacity() + ends_.capacity() * sizeof(size_t);
    if (held > memory_.bytes()) memory_.grow(held - memory_.bytes());
  }
  void clear() {
    bytes_ = {};
    ends_ = {};
    memory_.clear();
  }

 private:
  /// For one more key of so many bytes, and for those to come: as many, once some are there, as the ones
  /// before them tell.
  void grow(size_t by) {
    constexpr size_t enough_to_tell = 1024;
    const size_t needed = bytes_.size() + by, keys = ends_.size() + 1;
    const bool can_tell = keys > enough_to_tell && keys < ends_.capacity();
    const size_t all = can_tell ? needed / keys * ends_.capacity() : needed * 2;
    bytes_.reserve(std::max(all, needed) + needed / 16);
  }

  PageVector<char> bytes_;
  PageVector<size_t> ends_;
  Reservation memory_;
};

class SegmentBuilder {
 public:
  /// `with_begin`: each row keeps its own begin timestamp.
  SegmentBuilder(const Table::State& table, bool with_begin);

  /// `values`: one for each column of the table, accepted by its row codec.
  void append(std::span<const Value> values, uint64_t row_id, Timestamp begin);
  /// The same for an encoded row.
  void append(ByteView row, uint64_t row_id, Timestamp begin);
  /// For a caller that fills column after column, in its own way and order: the columns, each of which gets
  /// the same number of values, and then that number. The row id and the begin column are among them.
  std::span<ColumnBuffer> columns() { return columns_; }
  void add_rows(uint32_t rows) { rows_ += rows; }
  /// Rows appended, removed ones too: the number of the next row.
  uint32_t rows() const { return rows_; }
  /// Leaves a row out of the segment, by its number.
  void remove(uint32_t row);
  uint32_t rows_kept() const { return rows_ - removed_count_; }
  /// Bytes of the columns' values in memory.
  size_t bytes() const;
  /// Bytes that write() takes beside the rows for their keys, about: as if each had those of the last one.
  size_t key_bytes() const;
  /// What rows of `bytes` in all, and their keys, need of the budget beyond what they have.
  size_t missing_for(size_t bytes) const;
  /// For how many bytes of rows in all the budget has room: for `most`, a half of it, a quarter, and so on;
  /// or else `least`, for which it may have none.
  size_t room_for(size_t most, size_t least) const;
  /// Takes room for rows of `bytes` in all and their keys, beyond the budget if it has none.
  void reserve(size_t bytes);
  /// Forgets the rows, keeps the memory for the next ones.
  void clear();

  /// Two rows of the same key in an index that must not have them, by the order of append().
  struct DuplicateRows {
    size_t index = 0;  // position in TableDefinition::indexes
    uint32_t row = 0;  // the later one
  };
  struct Written {
    /// Row of ordinal i is the order[i]-th appended; empty: as appended, none removed.
    std::vector<uint32_t> order;
    std::optional<DuplicateRows> duplicate;
  };
  /// Sorts the rows and writes them to the file. `unique`: looks for rows that have the same key; when there
  /// are some, nothing is written.
  Result<Written> write(const FileIdentity& file, bool unique, const std::function<bool()>& stop);
  /// One of the rows appended, encoded again.
  Status row(uint32_t number, std::string& to) const;

 private:
  /// What `bytes` are of those of the rows that are there.
  double times(size_t bytes) const;
  size_t missing_key_bytes(double times) const;
  Value value(uint32_t row, uint16_t column) const;
  /// The values of a key of one row. Whether one of them is NULL.
  bool key_values(const KeyCodec& codec, uint32_t row, std::vector<Value>& values) const;
  /// Numbers of the rows kept, in the order of append(); empty: none was removed.
  std::vector<uint32_t> kept() const;
  Status make_keys(const KeyCodec& codec, KeyList& keys, std::vector<bool>* nulls);
  Status make_index(size_t secondary, const std::vector<uint32_t>& order, bool unique, IndexRun& run,
                    std::optional<DuplicateRows>& duplicate);

  const Table::State& table_;
  const TableKeys& keys_;
  std::vector<ColumnBuffer> columns_;
  std::vector<int> positions_;  // of table columns in columns_; -1: in the row group
  int group_ = -1, row_id_ = -1, begin_ = -1;
  uint32_t rows_ = 0, removed_count_ = 0;
  std::vector<bool> removed_;                     // shorter than the rows: the others are kept
  std::vector<Value> row_values_, group_values_;  // scratch space
  std::string group_row_;
  KeyList clustered_;
  Reservation key_memory_;  // for lists of keys, until write() makes them
};

}  // namespace hailstone

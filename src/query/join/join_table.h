// The rows of one side of a join, found by their keys.
//
// Keys become numbers: values of several columns are put side by side in one where their ranges have room in
// 64 bits, else they are hashed and compared one by one. Texts are numbered first (ValueSet). Where the
// numbers lie close together, an array has the first row of each; else a hash table has them. Of a join by a
// range the rows are in the order of their numbers, and are searched for.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/page_allocator.h"
#include "column/runtime_filter.h"
#include "query/join/build_rows.h"
#include "query/join/join_plan.h"
#include "query/value_set.h"
#include "query/work_by_threads.h"

namespace hailstone {

/// Filled once; then immutable and thread-safe.
class JoinTable {
 public:
  static constexpr uint64_t most_rows = ~uint32_t{0} - uint64_t{1};
  /// Of a join: whose rows filters are for. Those of its probe side will be looked up in any case, those of
  /// its build side would be kept.
  enum class FilteredSide : uint8_t { Probe, Build };

  /// The columns outlive the table.
  explicit JoinTable(const BuildColumns& columns);

  /// With what threads have met, most_rows in all. `filters` (may be null) gets for each of the key's columns
  /// which values of the probe side's column may have a partner; an empty one where NULL may.
  Status fill(std::deque<BuildRows> parts, const Workers& workers,
              std::vector<RuntimeFilter>* filters = nullptr, FilteredSide filtered = FilteredSide::Probe);

  uint32_t rows() const { return rows_; }
  size_t memory() const;

  /// Looks keys of the other side up. Belongs to one thread.
  class Probe {
   public:
    explicit Probe(const JoinTable& table);
    /// `keys`: the positions of the key's columns in `batch`. Of each row: the first row of the table that
    /// has its key, counted from 1; 0: none has.
    std::span<const uint32_t> look_up(const RowBatch& batch, std::span<const uint16_t> keys);
    /// The same of a join by a range: the first row that is in that of each row.
    std::span<const uint32_t> look_up(const RowBatch& batch, const JoinPlan::Range& range);
    /// The next row with the key, or in the range, that `row` of the batch has, behind `match`, as look_up()
    /// counts them.
    uint32_t next(uint32_t row, uint32_t match) const;

   private:
    struct Text {
      std::optional<ValueSet> hasher;
      std::shared_ptr<const Dictionary> dictionary = {};
      std::vector<uint64_t> numbers = {};  // of its codes; 0: not asked yet, 1: none, else the number + 2
    };
    void read_texts(size_t key, const ColumnVector& vector, uint32_t rows);
    uint32_t first_from(uint32_t row, uint32_t match) const;

    const JoinTable& table_;
    std::vector<Text> texts_;
    std::vector<PageVector<uint64_t>> values_;  // of each of the key's columns
    PageVector<uint64_t> keys_;
    std::vector<uint8_t> valid_;
    std::vector<uint32_t> found_;
    // Of a join by a range, of each row: behind the last row that is in it, or where its interval begins.
    std::vector<uint32_t> ends_;
    std::vector<uint64_t> leasts_;
  };

  /// The values of the kept column number `column` in these rows, counted from 1; of 0 it is NULL.
  void gather(size_t column, std::span<const uint32_t> rows, ColumnVector& to) const;

 private:
  struct Column : BuildRows::Column {
    // In place of bytes where few values have many rows.
    PageVector<uint32_t> codes = {};
    std::shared_ptr<const Dictionary> dictionary = {};

    size_t memory() const;
  };
  Status put_together(const Workers& workers);
  Status number_texts(size_t key, const GoOn& go_on);
  RuntimeFilter filter_of(size_t key, FilteredSide filtered) const;
  Status make_dictionary(Column& column, const GoOn& go_on) const;
  Status pack_keys(const Workers& workers);
  Status chain_rows(const Workers& workers);
  Status sort_rows(const GoOn& go_on);
  void note_ends();
  /// Of the first `rows` rows: the last one whose interval ends at `least` or behind it, counted from 1; 0:
  /// none does.
  uint32_t last_reaching(uint32_t rows, uint64_t least) const;
  /// Where the chain of a key begins.
  size_t bucket(uint64_t key) const {
    return direct_ ? static_cast<size_t>(key) : static_cast<size_t>(mix_bits(key) >> shift_);
  }

  const BuildColumns& columns_;
  std::deque<BuildRows> parts_;  // have the bytes
  uint32_t rows_ = 0;
  std::vector<Column> kept_;
  std::vector<PageVector<uint64_t>> values_;          // of each of the key's columns; empty once it is packed
  std::vector<std::shared_ptr<ValueSet>> text_sets_;  // null for integers
  struct Range {
    uint64_t least = 0, greatest = 0;
    unsigned shift = 0;
  };
  std::vector<Range> ranges_;
  size_t memory_of_filters_ = 0;
  bool packed_ = true;
  bool direct_ = false;
  unsigned shift_ = 0;
  PageVector<uint64_t> row_keys_;  // of each row; not where direct_
  PageVector<uint32_t> heads_;     // rows, counted from 1; 0: none
  PageVector<uint32_t> next_;      // of each row; empty where no key comes twice
  // Of intervals, for each `rows_of_block` rows: the greatest end of these, and of these and all before.
  PageVector<uint64_t> greatest_in_, greatest_until_;
};

}  // namespace hailstone

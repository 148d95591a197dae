// The rows of one side of a join, found by their keys.
//
// Keys become numbers: values of several columns are put side by side in one where their ranges have room in
// 64 bits, else they are hashed and compared one by one. Texts are numbered first (ValueSet). Where the
// numbers lie close together, an array has the first row of each; else a hash table has them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/arena.h"
#include "base/hash.h"
#include "base/operator_counts.h"
#include "base/page_allocator.h"
#include "column/runtime_filter.h"
#include "query/row_batches.h"
#include "query/value_set.h"
#include "query/work_by_threads.h"

namespace hailstone {

/// What one column of a key is on both sides: numbers of the same kind, or texts of one collation.
class KeyColumn {
 public:
  enum class Nulls : uint8_t {
    LeftOut,  // NULL is equal to nothing
    AsZero,   // it has the number, or the text, of nothing; of_presence() tells it from that
  };
  /// ErrorCode::InvalidArgument: values of these columns are not compared here.
  static Result<KeyColumn> make(const ScanColumn& probe, const ScanColumn& build,
                                Nulls nulls = Nulls::LeftOut);
  /// Whether a value is NULL, as a number: beside the column itself it makes NULL equal to NULL alone.
  static KeyColumn of_presence();

  bool leaves_nulls_out() const { return nulls_ == Nulls::LeftOut; }

  /// Of texts; else null.
  const Collation* collation() const { return collation_; }
  /// Equal numbers for equal values of both sides, of integers only; clears `valid` where there is none, as
  /// for NULL.
  void read(bool of_build, const ColumnVector& vector, uint32_t rows, uint64_t* to, uint8_t* valid) const;
  /// Which values of the probe side's column these numbers are; of integers only.
  std::shared_ptr<const NumberFilter> filter_of_probe(std::span<const uint64_t> numbers) const;

 private:
  struct Side {
    enum class As : uint8_t { Stored, Real, SignedNative, UnsignedBesideSigned, Presence } as = As::Stored;
    unsigned width = 8;
    Type type = Type::Unsigned;
  };
  KeyColumn() = default;
  const Collation* collation_ = nullptr;
  Side probe_, build_;
  Nulls nulls_ = Nulls::LeftOut;
};

/// Filled by several threads, each its own part, then finished by one; then immutable and thread-safe.
class JoinTable {
 public:
  struct Key {
    uint16_t position = 0;  // of the column among those of the rows that are added
    KeyColumn column;
  };
  /// `columns`: positions of those whose values are kept; `types`: what they are.
  JoinTable(std::vector<Key> keys, std::vector<uint16_t> columns, std::vector<ScanColumn> types,
            unsigned parts, MemoryBudget& budget, OperatorCounts* counts);

  /// Rows whose key has a NULL that is equal to nothing are left out.
  Status add(unsigned part, const RowBatch& batch);
  /// Once all rows are there. `go_on` is asked now and then whether to. `filters` (may be null) gets for each
  /// of the key's columns which values of the probe side's column may have a partner; an empty one where NULL
  /// may. ErrorCode::InvalidArgument: there are 2^32 rows, or more.
  Status finish(const GoOn& go_on, std::vector<RuntimeFilter>* filters);

  uint32_t rows() const { return rows_; }
  size_t memory() const;

  /// Looks keys of the other side up. Belongs to one thread.
  class Probe {
   public:
    explicit Probe(const JoinTable& table);
    /// `keys`: the positions of the key's columns in `batch`. Of each row: the first row of the table that
    /// has its key, counted from 1; 0: none has.
    std::span<const uint32_t> look_up(const RowBatch& batch, std::span<const uint16_t> keys);
    /// The next row with the key that `row` of the batch has, behind `match`, as look_up() counts them.
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
  };

  /// The values of the kept column number `column` in these rows, counted from 1; of 0 it is NULL.
  void gather(size_t column, std::span<const uint32_t> rows, ColumnVector& to) const;

 private:
  struct Column {
    PageVector<uint64_t> integers;
    PageVector<ByteView> bytes;
    // Once all rows are there, in place of bytes where few values have many rows.
    PageVector<uint32_t> codes = {};
    std::shared_ptr<const Dictionary> dictionary = {};
    PageVector<uint8_t> nulls;  // empty while there are none

    size_t memory() const;
  };
  struct Part {
    uint64_t rows = 0;
    std::vector<Column> columns;
    std::vector<PageVector<uint64_t>> keys;   // of integers
    std::vector<PageVector<ByteView>> texts;  // of others
    std::unique_ptr<Arena> bytes = std::make_unique<Arena>();
    std::vector<std::shared_ptr<const Dictionary>> dictionaries;
    // Of the batch at hand: numbers of each of the key's columns, whether rows have keys, those that do.
    std::vector<std::vector<uint64_t>> numbers;
    std::vector<uint8_t> valid;
    std::vector<uint16_t> chosen;
    std::unique_ptr<OperatorMemory> memory;
  };
  ByteView keep(Part& part, const ColumnVector& vector, size_t row) const;
  Status number_texts(const GoOn& go_on);
  RuntimeFilter make_filter(size_t key) const;
  Status make_dictionary(Column& column, const GoOn& go_on) const;
  void pack_keys();
  Status fill(const GoOn& go_on);
  /// Where the chain of a key begins.
  size_t bucket(uint64_t key) const {
    return direct_ ? static_cast<size_t>(key) : static_cast<size_t>(mix_bits(key) >> shift_);
  }

  const std::vector<Key> keys_;
  const std::vector<uint16_t> positions_;
  const std::vector<ScanColumn> types_;  // of these
  MemoryBudget& budget_;
  OperatorCounts* const counts_;
  std::vector<Part> parts_;
  std::unique_ptr<OperatorMemory> memory_;

  uint32_t rows_ = 0;
  std::vector<Column> columns_;
  std::vector<PageVector<uint64_t>> values_;          // of each of the key's columns; empty once it is packed
  std::vector<std::shared_ptr<ValueSet>> text_sets_;  // null for integers
  struct Range {
    uint64_t least = 0, greatest = 0;
    unsigned shift = 0;
  };
  std::vector<Range> ranges_;
  bool packed_ = true;
  bool direct_ = false;
  unsigned shift_ = 0;
  PageVector<uint64_t> row_keys_;  // of each row; not where direct_
  PageVector<uint32_t> heads_;     // rows, counted from 1; 0: none
  PageVector<uint32_t> next_;      // of each row; empty where no key comes twice
};

}  // namespace hailstone

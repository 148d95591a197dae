// Counts, minima, maxima and sums over the rows of a scan: what one thread adds up, of
// blocks and of batches. For Scans::aggregate() only; see there for what is computed.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "column/projection.h"
#include "table/block_scan.h"
#include "table/scan.h"
#include "table/table_state.h"

namespace hailstone {

/// ErrorCode::InvalidArgument when the projection has no such column. Its collation may have no weights: the
/// column can be read then, and not compared.
Result<ScanColumn> describe_column(const Table::State& table, const Projection& projection, size_t position);

/// What is wanted, seen through the table. Immutable; threads share it. The table and the projection outlive
/// it.
class AggregatePlan {
 public:
  struct Item {
    Aggregate wanted;
    uint16_t number = 0;  // of the column in the table
    ScanColumn column = {};
  };
  static Result<AggregatePlan> make(Table::State& table, const Projection& projection,
                                    std::span<const Aggregate> wanted);

  Table::State& table() const { return *table_; }
  std::span<const Item> items() const { return items_; }

 private:
  AggregatePlan() = default;
  Table::State* table_ = nullptr;
  std::vector<Item> items_;
};

/// Results under way; belongs to one thread.
class AggregateSums {
 public:
  explicit AggregateSums(const AggregatePlan& plan);

  /// Rows that a scan of the plan's projection returned.
  void add(const Batch& batch);
  /// The rows of the block where the worker stands.
  Status add(BlockScan::Worker& worker);
  void add(const AggregateSums& other);
  std::vector<AggregateResult> results() const;

 private:
  using Item = AggregatePlan::Item;
  struct Sum {
    uint64_t count = 0;
    uint64_t integer = 0;
    std::string bytes;
    WideInteger ordered = 0;  // of the ordered values
    double real = 0;
  };
  static void add_integers(const Item& item, const uint64_t* values, size_t count, Sum& sum);
  static void add_bytes(const Item& item, ByteView value, Sum& sum);
  static void add_vector(const Item& item, const ColumnVector& vector, uint32_t rows, Sum& sum);
  /// True when the block's summary is all that is needed.
  Result<bool> add_summary(const Item& item, const SegmentColumns& columns, uint32_t block, Sum& sum);
  Status add_numbers(const Item& item, BlockReader& reader, size_t position, uint32_t block,
                     const BlockBitmap& rows, bool all, Sum& sum);
  Status add_others(BlockReader& reader, uint32_t block, const BlockBitmap& rows,
                    std::span<const size_t> items);

  const AggregatePlan& plan_;
  std::vector<Sum> sums_;
  // Scratch space.
  UnclearedVector<uint16_t> selected_;
  std::vector<size_t> others_;
  Batch batch_;
};

}  // namespace hailstone

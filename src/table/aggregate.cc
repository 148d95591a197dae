#include "table/aggregate.h"

#include <fmt/format.h>

#include <algorithm>

#include "segment/bit_packing.h"
#include "segment/segment_format.h"

namespace hailstone {

namespace {

/// Numbers looked at together; they stay in the cache, and sums of their 32 bit halves fit into 64 bits.
constexpr uint32_t numbers_at_once = 1024;
/// Where at least every so many-th row of a block is wanted, all are decoded and the others are left out.
constexpr uint32_t part_that_pays = 8;

uint16_t column_in_table(uint16_t column) { return is_scaled(column) ? column ^ scaled_bit : column; }

/// The least or the greatest of a block's decimals, as a scaled number of 64 bits; nothing: the summary does
/// not tell.
std::optional<uint64_t> scaled_extreme(const DecimalFormat& format, const StoredColumn& stored,
                                       const BlockSummary& summary, bool least) {
  if (!format.digits().is_short()) return std::nullopt;
  if (format.is_integer()) {
    const uint64_t packed = least ? summary.low : summary.high;
    uint64_t number = 0;
    return format.numbers({&packed, 1}, &number) ? std::optional(number) : std::nullopt;
  }
  // Of these a summary has all bytes where they are known as decimals.
  if (!stored.decimal.any()) return std::nullopt;
  const auto number = format.number(least ? summary.low_bytes : summary.high_bytes);
  if (!number) return std::nullopt;
  return order_signed(static_cast<int64_t>(*number), sizeof(int64_t));
}

}  // namespace

WideInteger sum_of(std::span<const uint64_t> numbers) {
  const HalfSums halves = sum_halves(numbers.data(), static_cast<uint32_t>(numbers.size()));
  return (static_cast<WideInteger>(halves.high) << 32) + static_cast<WideInteger>(halves.low);
}

Result<ScanColumn> describe_column(const Table::State& table, const Projection& projection, size_t position) {
  const TableDefinition& definition = table.layout->definition();
  if (position >= projection.columns().size()) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("table {}: column {} of a scan of {} columns", definition.name, position,
                            projection.columns().size()));
  }
  const uint16_t number = projection.columns()[position];
  if (number == StoredColumn::row_id) return ScanColumn{};
  if (is_scaled(number)) {
    const DecimalDigits digits = table.layout->decimal(number ^ scaled_bit)->digits();
    if (digits.is_short()) return ScanColumn{.integer = true, .type = Type::Signed, .width = sizeof(int64_t)};
    return ScanColumn{.integer = false,
                      .type = Type::OrderedBytes,
                      .width = scaled_bytes(digits),
                      .collation = &binary_collation()};
  }
  const Column& column = definition.columns[number];
  ScanColumn described{
      .integer = table.layout->is_integer(number), .type = column.type, .width = column.width};
  if (!described.integer) {
    const bool text = column.type >= Type::Char;
    HAILSTONE_ASSIGN(described.collation,
                     table.host.collations().resolve(text ? column.collation : binary_collation_id));
  }
  return described;
}

namespace {

Status check_comparable(const Table::State& table, const ScanColumn& described, uint16_t number) {
  if (described.integer || described.collation->has_weights()) return {};
  const TableDefinition& definition = table.layout->definition();
  const Column& column = definition.columns[number];
  return fail(ErrorCode::Unsupported,
              fmt::format("values of column '{}' of table '{}' can be compared only by the program that made "
                          "the table: no other knows its collation number {}",
                          column.name, definition.name, column.collation));
}

}  // namespace

Result<AggregatePlan> AggregatePlan::make(Table::State& table, const Projection& projection,
                                          std::span<const Aggregate> wanted) {
  AggregatePlan plan;
  plan.table_ = &table;
  for (const Aggregate& each : wanted) {
    Item item{.wanted = each};
    if (each.kind > Aggregate::Kind::Sum || each.distinct)
      return fail(ErrorCode::Unsupported, "a scan has no such aggregate; groups have");
    if (each.kind != Aggregate::Kind::Rows) {
      HAILSTONE_ASSIGN(item.column, describe_column(table, projection, each.position));
      item.number = projection.columns()[each.position];
      HAILSTONE_TRY(check_comparable(table, item.column, item.number));
      if (each.kind == Aggregate::Kind::Sum && item.column.type > Type::Double) {
        const TableDefinition& definition = table.layout->definition();
        return fail(ErrorCode::Unsupported,
                    fmt::format("table {}: column '{}' has no sum, as it holds no numbers", definition.name,
                                definition.columns[item.number].name));
      }
    }
    plan.items_.push_back(item);
  }
  return plan;
}

AggregateSums::AggregateSums(const AggregatePlan& plan) : plan_(plan), sums_(plan.items().size()) {}

void AggregateSums::add_integers(const Item& item, const uint64_t* values, size_t count, Sum& sum) {
  if (count == 0) return;
  switch (item.wanted.kind) {
    case Aggregate::Kind::Minimum:
    case Aggregate::Kind::Maximum: {
      const bool least = item.wanted.kind == Aggregate::Kind::Minimum;
      uint64_t best = sum.count == 0 ? values[0] : sum.integer;
      if (least) {
        for (size_t i = 0; i < count; ++i) best = values[i] < best ? values[i] : best;
      } else {
        for (size_t i = 0; i < count; ++i) best = values[i] > best ? values[i] : best;
      }
      sum.integer = best;
      break;
    }
    case Aggregate::Kind::Sum:
      if (item.column.type == Type::Double) {
        for (size_t i = 0; i < count; ++i) sum.real += native_double(values[i]);
      } else if (item.column.type == Type::Float) {
        for (size_t i = 0; i < count; ++i) sum.real += static_cast<double>(native_float(values[i]));
      } else {
        sum.ordered += sum_of({values, count});
      }
      break;
    default:
      break;
  }
  sum.count += count;
}

void AggregateSums::add_bytes(const Item& item, ByteView value, Sum& sum) {
  if (item.wanted.kind != Aggregate::Kind::Values) {
    const bool least = item.wanted.kind == Aggregate::Kind::Minimum;
    const int order = sum.count == 0 ? 0 : item.column.collation->compare(value, sum.bytes);
    if (sum.count == 0 || (least ? order < 0 : order > 0)) sum.bytes.assign(value);
  }
  ++sum.count;
}

void AggregateSums::add_vector(const Item& item, const ColumnVector& vector, uint32_t rows, Sum& sum) {
  if (item.column.integer && !vector.any_nulls) {
    for (uint32_t first = 0; first < rows; first += numbers_at_once) {
      add_integers(item, vector.integers.data() + first, std::min(numbers_at_once, rows - first), sum);
    }
    return;
  }
  for (uint32_t row = 0; row < rows; ++row) {
    const Value value = vector.value(row);
    if (value.null) continue;
    if (item.column.integer) {
      add_integers(item, &value.integer, 1, sum);
    } else {
      add_bytes(item, value.bytes, sum);
    }
  }
}

void AggregateSums::add(const Batch& batch) {
  for (size_t i = 0; i < sums_.size(); ++i) {
    const Item& item = plan_.items()[i];
    if (item.wanted.kind == Aggregate::Kind::Rows) {
      sums_[i].count += batch.rows;
    } else {
      add_vector(item, batch.columns[item.wanted.position], batch.rows, sums_[i]);
    }
  }
}

Result<bool> AggregateSums::add_summary(const Item& item, const SegmentColumns& columns, uint32_t block,
                                        Sum& sum) {
  const auto location = columns.location(column_in_table(item.number));
  if (location.kind == SegmentColumns::Location::Kind::Absent) return true;
  if (location.kind != SegmentColumns::Location::Kind::Stored) return false;
  const BlockSummary summary = columns.segment().summary(location.position, block);
  if (summary.nulls == summary.rows) return true;
  const uint32_t values = summary.rows - summary.nulls;
  switch (item.wanted.kind) {
    case Aggregate::Kind::Values:
      sum.count += values;
      return true;
    case Aggregate::Kind::Minimum:
    case Aggregate::Kind::Maximum:
      if (is_scaled(item.number)) {
        const auto number = scaled_extreme(*plan_.table().layout->decimal(column_in_table(item.number)),
                                           columns.segment().columns()[location.position], summary,
                                           item.wanted.kind == Aggregate::Kind::Minimum);
        if (!number) return false;
        add_integers(item, &*number, 1, sum);
        sum.count += values - 1;
        return true;
      }
      if (!item.column.integer) {
        // A summary has the whole of a decimal that is not too long for it.
        const StoredColumn& stored = columns.segment().columns()[location.position];
        if (!stored.decimal.any() || DecimalFormat(stored.decimal).width() > summary_bytes) return false;
        add_bytes(item, item.wanted.kind == Aggregate::Kind::Minimum ? summary.low_bytes : summary.high_bytes,
                  sum);
        sum.count += values - 1;
        return true;
      }
      add_integers(item, item.wanted.kind == Aggregate::Kind::Minimum ? &summary.low : &summary.high, 1, sum);
      sum.count += values - 1;
      return true;
    default:
      return false;
  }
}

Status AggregateSums::add_numbers(const Item& item, BlockReader& reader, size_t position, uint32_t block,
                                  const BlockBitmap& rows, bool all, Sum& sum) {
  HAILSTONE_ASSIGN(const BlockReader::Pinned pinned, reader.block(position, block));
  const Block* const numbers = pinned.block.get();
  const bool scaled = is_scaled(item.number);
  uint64_t values[numbers_at_once];
  if (all && !numbers->has_nulls() && !scaled) {
    for (uint32_t first = 0; first < numbers->rows(); first += numbers_at_once) {
      const uint32_t count = std::min(numbers_at_once, numbers->rows() - first);
      numbers->integers(first, count, values);
      add_integers(item, values, count, sum);
    }
    return {};
  }
  BlockBitmap wanted = rows;
  if (numbers->has_nulls()) {
    BlockBitmap nulls;
    numbers->nulls(nulls);
    for (size_t i = 0; i < BlockBitmap::words; ++i) wanted.bits[i] &= ~nulls.bits[i];
  }
  if (item.wanted.kind == Aggregate::Kind::Values) {
    sum.count += wanted.count();
    return {};
  }
  if (!scaled && wanted.count() >= numbers->rows() / part_that_pays) {
    uint64_t chosen[numbers_at_once + vector_slack];
    for (uint32_t first = 0; first < numbers->rows(); first += numbers_at_once) {
      const uint32_t count = std::min(numbers_at_once, numbers->rows() - first);
      numbers->integers(first, count, values);
      add_integers(item, chosen, keep_chosen(values, count, wanted.bits + first / 64, chosen), sum);
    }
    return {};
  }
  const std::span<const uint16_t> selected = wanted.rows(selected_);
  for (size_t first = 0; first < selected.size(); first += numbers_at_once) {
    const size_t count = std::min<size_t>(numbers_at_once, selected.size() - first);
    const std::span<const uint16_t> chosen = selected.subspan(first, count);
    if (scaled) {
      numbers->gather_numbers(chosen, values);
    } else {
      numbers->gather_integers(chosen, values);
    }
    add_integers(item, values, count, sum);
  }
  return {};
}

/// Strings, columns of the row group, and scaled numbers that are not stored as such.
Status AggregateSums::add_others(BlockReader& reader, uint32_t block, const BlockBitmap& rows,
                                 std::span<const size_t> items) {
  std::vector<uint16_t> read;
  for (const size_t i : items) read.push_back(plan_.items()[i].number);
  const Projection projection(plan_.table().layout, std::move(read));
  const std::span<const uint16_t> selected = rows.rows(selected_);
  for (size_t first = 0; first < selected.size(); first += batch_rows) {
    const size_t count = std::min<size_t>(batch_rows, selected.size() - first);
    HAILSTONE_TRY(projection.read(reader, block, selected.subspan(first, count), batch_));
    for (size_t i = 0; i < items.size(); ++i) {
      add_vector(plan_.items()[items[i]], batch_.columns[i], batch_.rows, sums_[items[i]]);
    }
  }
  return {};
}

Status AggregateSums::add(BlockScan::Worker& worker) {
  const SegmentColumns& columns = worker.segment()->columns;
  const uint32_t block = worker.block();
  const BlockBitmap& rows = worker.rows();
  const uint32_t taken = rows.count();
  const bool all = taken == std::min(block_rows, worker.segment()->rows() - block * block_rows);
  count(plan_.table().host.counters().rows_returned, taken);
  others_.clear();
  for (size_t i = 0; i < sums_.size(); ++i) {
    const Item& item = plan_.items()[i];
    if (item.wanted.kind == Aggregate::Kind::Rows) {
      sums_[i].count += taken;
      continue;
    }
    if (all) {
      HAILSTONE_ASSIGN(const bool done, add_summary(item, columns, block, sums_[i]));
      if (done) continue;
    }
    const auto location = columns.location(column_in_table(item.number));
    if (location.kind == SegmentColumns::Location::Kind::Absent) continue;
    bool has_numbers = item.column.integer && location.kind == SegmentColumns::Location::Kind::Stored;
    if (has_numbers && is_scaled(item.number)) {
      HAILSTONE_ASSIGN(const BlockReader::Pinned pinned, worker.reader().block(location.position, block));
      has_numbers = pinned.block->decimal().any();
    }
    if (has_numbers) {
      HAILSTONE_TRY(add_numbers(item, worker.reader(), location.position, block, rows, all, sums_[i]));
    } else {
      others_.push_back(i);
    }
  }
  return others_.empty() ? Status() : add_others(worker.reader(), block, rows, others_);
}

void AggregateSums::add(const AggregateSums& other) {
  for (size_t i = 0; i < sums_.size(); ++i) {
    const Item& item = plan_.items()[i];
    const Sum& from = other.sums_[i];
    Sum& to = sums_[i];
    if (from.count == 0) continue;
    if (item.wanted.kind == Aggregate::Kind::Minimum || item.wanted.kind == Aggregate::Kind::Maximum) {
      const uint64_t before = to.count;
      if (item.column.integer) {
        add_integers(item, &from.integer, 1, to);
      } else {
        add_bytes(item, from.bytes, to);
      }
      to.count = before + from.count;
      continue;
    }
    to.count += from.count;
    to.ordered += from.ordered;
    to.real += from.real;
  }
}

std::vector<AggregateResult> AggregateSums::results() const {
  std::vector<AggregateResult> results;
  for (size_t i = 0; i < sums_.size(); ++i) {
    const Item& item = plan_.items()[i];
    const Sum& sum = sums_[i];
    AggregateResult result{.count = sum.count,
                           .integer = sum.integer,
                           .bytes = sum.bytes,
                           .integer_sum = sum.ordered,
                           .real_sum = sum.real};
    // The order of signed numbers has their sign bit flipped.
    if (item.column.type == Type::Signed) {
      result.integer_sum -= static_cast<WideInteger>(sum.count) << (8 * item.column.width - 1);
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace hailstone

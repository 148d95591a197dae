// A random table with a segment of random rows, for the property tests of the query room. The values are of
// the shapes for which segments have encodings: few and many distinct ones, ascending, constant, runs, mostly
// NULL.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/memory_budget.h"
#include "column/predicate.h"
#include "column/segment_columns.h"
#include "file/filesystem.h"
#include "file/temporary_directory.h"
#include "schema/collation.h"
#include "segment/segment_writer.h"

namespace hailstone {

/// Tests of bytes of every kind that a predicate may hold: with exact limits, with loose ones, with none.
class SampleTest : public BytesTest {
 public:
  enum class Kind : uint8_t { Equal, Different, AtMost, Between, Contains, EvenLength, Outside };
  SampleTest(Kind kind, std::string low, std::string high)
      : kind_(kind), low_(std::move(low)), high_(std::move(high)) {
    if (kind == Kind::Equal) exact_.push_back({low_, low_});
    if (kind == Kind::Between && low_ <= high_) exact_.push_back({low_, high_});
  }
  bool matches(ByteView value) const override {
    switch (kind_) {
      case Kind::Equal:
        return value == low_;
      case Kind::Different:
        return value != low_;
      case Kind::AtMost:
        return value <= low_;
      case Kind::Between:
        return value >= low_ && value <= high_;
      case Kind::Contains:
        return value.find(low_) != ByteView::npos;
      case Kind::EvenLength:
        return value.size() % 2 == 0;
      case Kind::Outside:
        return region(value) != 1;
    }
    return false;
  }
  /// Not always that of the bytes.
  const Collation* order() const override {
    return kind_ == Kind::Outside ? &binary_padded_collation() : nullptr;
  }
  /// Below both limits, between them, or above both.
  size_t region(ByteView value) const override {
    const auto is_below = [&](const std::string& limit) { return order()->compare(value, limit) < 0; };
    return (is_below(low_) ? 0U : 1U) + (is_below(high_) ? 0U : 1U);
  }
  std::optional<Limits> limits_of_others() const override {
    return kind_ == Kind::Different ? std::optional(Limits{low_, low_}) : std::nullopt;
  }
  std::optional<Limits> limits() const override {
    switch (kind_) {
      case Kind::Equal:
        return Limits{low_, low_};
      case Kind::AtMost:
        return Limits{"", low_};
      case Kind::Between:
        return Limits{low_, high_};
      default:
        return std::nullopt;
    }
  }

  std::span<const BytesRange> ranges() const override { return exact_; }

 private:
  Kind kind_;
  std::string low_, high_;
  std::vector<BytesRange> exact_;
};

class RandomSegment {
 public:
  explicit RandomSegment(uint64_t seed)
      : random_(seed), budget_(size_t{1} << 30), cache_(std::make_unique<BlockCache>(budget_, counters_)) {}

  uint64_t below(uint64_t limit) { return random_() % limit; }
  bool one_in(uint64_t n) { return below(n) == 0; }

  /// Makes table, rows and segment. `rows` at most max_segment_rows.
  void fill(uint32_t rows) {
    TableDefinition definition;
    definition.name = "test/random";
    const size_t count = 2 + below(7);
    for (size_t i = 0; i < count; ++i) definition.columns.push_back(column(i));
    const bool sorted = one_in(3);
    if (sorted) sort_by_first(definition);
    // The last column may be younger than the segment.
    const bool late = one_in(3);
    TableDefinition old_definition = definition;
    if (late) {
      definition.columns.back().nullable = true;
      old_definition.columns.pop_back();
    }
    // Segments of earlier versions do not know of decimals.
    if (one_in(3)) {
      for (Column& each : old_definition.columns) each.decimal = {};
    }
    layout = std::make_shared<TableLayout>(definition);
    make_values(rows, late ? count - 1 : count);
    if (sorted) std::ranges::sort(values[0], {}, &Value::integer);
    write(TableLayout(old_definition));
  }

  Value value(size_t row, uint16_t column) const { return values[column][row]; }

  /// Every kind of leaf, with constants taken from the data as often as not.
  Predicate predicate(unsigned depth) {
    if (depth > 0 && !one_in(3)) {
      std::vector<Predicate> parts;
      for (uint64_t n = 2 + below(3); n > 0; --n) parts.push_back(predicate(depth - 1));
      return one_in(2) ? Predicate::all_of(std::move(parts)) : Predicate::any_of(std::move(parts));
    }
    const auto number = static_cast<uint16_t>(below(layout->definition().columns.size()));
    if (one_in(8)) return Predicate::is_null(number);
    if (one_in(8)) return Predicate::is_not_null(number);
    if (layout->definition().columns[number].is_integer()) {
      std::vector<IntegerRange> ranges;
      for (uint64_t n = 1 + below(4); n > 0; --n) {
        uint64_t low = any_value(number).integer, high = any_value(number).integer;
        if (one_in(3)) high = low;
        if (one_in(6)) low = 0;
        if (one_in(6)) high = ~uint64_t{0};
        if (low > high && !one_in(10)) std::swap(low, high);
        ranges.push_back({low, high});
      }
      return Predicate::integer(number, std::move(ranges));
    }
    std::string low(any_value(number).bytes), high(any_value(number).bytes);
    if (one_in(5)) low.push_back('x');
    if (one_in(5) && !high.empty()) high.pop_back();
    const auto kind = static_cast<SampleTest::Kind>(below(7));
    if (kind == SampleTest::Kind::Contains) low = low.substr(0, below(4));
    return Predicate::bytes(number, std::make_shared<SampleTest>(kind, std::move(low), std::move(high)));
  }

 private:
  static void sort_by_first(TableDefinition& definition) {
    Column& first = definition.columns.front();
    first.type = Type::Unsigned;
    first.width = std::min(8U, std::max(first.width, 2U));
    first.decimal = {};
    first.nullable = false;
    definition.has_primary_key = true;
    definition.indexes = {{.name = "key", .unique = true, .parts = {{.column = 0}}}};
  }

  Column column(size_t number) {
    Column column;
    column.name = "c" + std::to_string(number);
    column.type = static_cast<Type>(1 + below(8));
    switch (column.type) {
      case Type::Signed:
        column.width = one_in(2) ? 4 : 8;
        break;
      case Type::Unsigned:
        column.width = 1 + static_cast<uint32_t>(below(8));
        break;
      case Type::Float:
        column.width = 4;
        break;
      case Type::Double:
        column.width = 8;
        break;
      case Type::OrderedBytes:
        column.width = 1 + static_cast<uint32_t>(below(14));
        if (one_in(3)) break;
        column.decimal.precision = static_cast<uint8_t>(1 + below(DecimalDigits::most));
        column.decimal.scale = static_cast<uint8_t>(below(column.decimal.precision + 1U));
        column.width = DecimalFormat(column.decimal).width();
        break;
      case Type::Char:
      case Type::Varchar:
        column.width = 60;
        break;
      case Type::Blob:
        break;
    }
    column.nullable = one_in(2);
    column.columnar = !one_in(3);
    return column;
  }

  Value any_value(uint16_t column) {
    const auto& all = values[column];
    const Value& value = all[below(all.size())];
    if (value.null)
      return layout->definition().columns[column].is_integer() ? Value::of(below(100)) : Value::of("");
    return value;
  }

  ByteView keep(std::string bytes) { return texts_.emplace_back(std::move(bytes)); }

  void make_values(uint32_t rows, size_t present) {
    values.assign(layout->definition().columns.size(), std::vector<Value>(rows));
    for (size_t number = 0; number < present; ++number) {
      const Column& column = layout->definition().columns[number];
      const uint64_t mask = column.width >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * column.width)) - 1;
      const uint64_t shape = below(5);
      const uint64_t distinct = one_in(2) ? 1 + below(20) : 1 + below(rows * 2);
      const uint64_t nulls = column.nullable ? below(3) : 0;  // none, some, nearly all
      uint64_t current = random_() & mask;
      // Bytes that are no decimals are among them, too.
      const bool decimals = column.decimal.any() && !one_in(5);
      for (uint32_t row = 0; row < rows; ++row) {
        if (nulls == 1 ? one_in(5) : nulls == 2 ? !one_in(5000) : false) continue;
        switch (shape) {
          case 0:
            current = random_() & mask;
            break;
          case 1:
            current = below(distinct) & mask;
            break;
          case 2:
            current = (current + below(3)) & mask;
            break;
          case 3:
            current = one_in(300) ? random_() & mask : current;
            break;
          default:
            current = (below(distinct) * 0x9e3779b97f4a7c15) & mask;
            break;
        }
        values[number][row] = decimals              ? decimal(column.decimal, current)
                              : column.is_integer() ? Value::of(current)
                                                    : Value::of(text(column, current, shape));
      }
    }
  }

  Value decimal(DecimalDigits digits, uint64_t number) {
    const DecimalFormat format(digits);
    const WideInteger limit = format.greatest() + 1;
    WideInteger packed = static_cast<WideInteger>(number) % limit;
    if (number % 3 == 0) packed = -packed;
    if (!digits.is_short() && number % 5 == 0) packed = (packed / 4) * (packed / 4) % limit;
    std::string bytes(format.width(), '\0');
    format.pack(packed, bytes.data());
    return format.is_integer() ? Value::of(load_big_endian(bytes.data(), format.width()))
                               : Value::of(keep(std::move(bytes)));
  }

  ByteView text(const Column& column, uint64_t number, uint64_t shape) {
    if (column.type == Type::OrderedBytes) {
      std::string bytes(column.width, '\0');
      store_big_endian(bytes.data() + column.width - 8, number, 8);
      return keep(std::move(bytes));
    }
    std::string digits = std::to_string(number);
    if (shape == 2) return keep(std::string(20 - std::min<size_t>(20, digits.size()), '0') + digits);
    if (shape == 1) return keep(digits);
    return keep(number % 7 == 0 ? std::string() : "text " + std::string(number % 30, 'a') + digits);
  }

  void write(const TableLayout& written) {
    const size_t rows = values[0].size();
    std::list<ColumnBuffer> buffers;
    std::vector<const ColumnBuffer*> order;
    const std::vector<StoredColumn> stored = written.stored_columns();
    for (const StoredColumn& column : stored) {
      ColumnBuffer& buffer = buffers.emplace_back(column, budget_);
      order.push_back(&buffer);
      std::vector<Value> group(written.group_columns().size());
      std::string encoded;
      for (size_t row = 0; row < rows; ++row) {
        if (column.id == StoredColumn::row_id) {
          buffer.append_integer(row);
        } else if (column.id == StoredColumn::row_group) {
          for (size_t i = 0; i < group.size(); ++i) group[i] = values[written.group_columns()[i]][row];
          const Status status = written.group_codec().encode(group, encoded);
          ASSERT_TRUE(status) << status.error().message();
          buffer.append_bytes(encoded);
        } else {
          const Value& value = values[column.id][row];
          if (value.null) {
            buffer.append_null();
          } else if (column.integer) {
            buffer.append_integer(value.integer);
          } else {
            buffer.append_bytes(value.bytes);
          }
        }
      }
    }
    SegmentInput input;
    input.columns = order;
    input.rows = static_cast<uint32_t>(rows);
    const auto key = [](uint64_t row) {
      std::string bytes(8, '\0');
      store_big_endian(bytes.data(), row, 8);
      return bytes;
    };
    for (uint64_t row = 0; row < rows; row += key_sample_stride) input.key_samples.push_back(key(row));
    input.last_key = key(rows - 1);
    const std::string path = directory_.file("segment-" + std::to_string(++files_));
    const Status status = write_segment(posix_filesystem(), path, input, counters_);
    ASSERT_TRUE(status) << status.error().message();
    auto opened = Segment::open(posix_filesystem(), path, *cache_, counters_);
    ASSERT_TRUE(opened) << opened.error().message();
    columns = std::make_shared<SegmentColumns>(*opened, layout);
  }

  std::mt19937_64 random_;
  Counters counters_;
  MemoryBudget budget_;
  TemporaryDirectory directory_;
  std::unique_ptr<BlockCache> cache_;
  std::list<std::string> texts_;
  unsigned files_ = 0;

 public:
  Counters counters;
  std::shared_ptr<TableLayout> layout;
  std::shared_ptr<SegmentColumns> columns;  // declared last: it leaves the cache before the cache goes
  std::vector<std::vector<Value>> values;   // by column, by row
};

}  // namespace hailstone

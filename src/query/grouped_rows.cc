#include "query/grouped_rows.h"

#include <algorithm>
#include <utility>

#include "query/group_numbers.h"
#include "schema/collation.h"
#include "schema/ordered_wide.h"

namespace hailstone {

namespace {

using Kind = Aggregate::Kind;

ScanColumn column_of(const GroupingPlan::Item& item) {
  switch (item.wanted.kind) {
    case Kind::Minimum:
    case Kind::Maximum:
      return item.column;
    case Kind::Sum:
      if (is_real(item.column)) return {.integer = true, .type = Type::Double, .width = sizeof(double)};
      return {.integer = false,
              .type = Type::OrderedBytes,
              .width = is_huge(item.column) ? unsigned{sizeof(HugeInteger)} : unsigned{sizeof(WideInteger)},
              .collation = &binary_collation()};
    case Kind::Spread:
      return {.integer = true, .type = Type::Double, .width = sizeof(double)};
    case Kind::Rows:
    case Kind::Values:
    case Kind::BitAnd:
    case Kind::BitOr:
    case Kind::BitXor:
      break;
  }
  return {.integer = true, .type = Type::Unsigned, .width = sizeof(uint64_t)};
}

}  // namespace

GroupedRows::GroupedRows(std::unique_ptr<Groups> groups, const GroupingPlan& plan)
    : groups_(std::move(groups)), bytes_(plan.aggregates.size()) {
  for (const GroupingPlan::Key& key : plan.keys) columns_.push_back(key.column);
  for (const GroupingPlan::Item& item : plan.aggregates) {
    kinds_.push_back(item.wanted.kind);
    columns_.push_back(column_of(item));
  }
  values_.resize(columns_.size());
}

Value GroupedRows::value_of(size_t aggregate) {
  AggregateResult result = groups_->result(aggregate);
  const ScanColumn& column = columns_[columns_.size() - kinds_.size() + aggregate];
  std::string& bytes = bytes_[aggregate];
  switch (kinds_[aggregate]) {
    case Kind::Rows:
    case Kind::Values:
      return Value::of(result.count);
    case Kind::BitAnd:
    case Kind::BitOr:
    case Kind::BitXor:
      return Value::of(result.integer);
    case Kind::Minimum:
    case Kind::Maximum:
      if (result.count == 0) return {};
      if (column.integer) return Value::of(result.integer);
      bytes = std::move(result.bytes);
      return Value::of(ByteView(bytes));
    case Kind::Sum:
      if (result.count == 0) return {};
      if (column.integer) return Value::of(order_double(result.real_sum + 0.0));
      bytes.resize(column.width);
      if (column.width == sizeof(HugeInteger)) {
        order_huge(result.huge_sum, bytes.data());
      } else {
        order_wide(result.integer_sum, bytes.data());
      }
      return Value::of(ByteView(bytes));
    case Kind::Spread:
      return result.count == 0 ? Value() : Value::of(order_double(result.spread + 0.0));
  }
  std::unreachable();
}

Result<bool> GroupedRows::next() {
  HAILSTONE_ASSIGN(const bool found, groups_->next());
  if (!found) return false;
  ++rows_met_;
  const size_t keys = columns_.size() - kinds_.size();
  const std::span<const Value> of_group = groups_->keys();
  std::ranges::copy(of_group, values_.begin());
  // The groups of a rollup have the first ones.
  for (size_t i = of_group.size(); i < keys; ++i) values_[i] = {};
  for (size_t i = 0; i < kinds_.size(); ++i) values_[keys + i] = value_of(i);
  return true;
}

}  // namespace hailstone

#include "query/group_sort.h"

#include <fmt/format.h>

#include <utility>

#include "query/group_numbers.h"
#include "query/query_memory.h"
#include "query/sort_key.h"
#include "query/sort_record.h"

namespace hailstone {

namespace {

using Kind = Aggregate::Kind;

constexpr uint32_t steps_between_checks = 1024;

void append_bytes(ByteView bytes, std::string& to) {
  const auto size = static_cast<uint32_t>(bytes.size());
  to.append(reinterpret_cast<const char*>(&size), sizeof size).append(bytes);
}
template <typename Number>
void append_native(const Number& number, std::string& to) {
  to.append(reinterpret_cast<const char*>(&number), sizeof number);
}

ByteView take_bytes(const char*& from) {
  const auto size = load<uint32_t>(from);
  const ByteView bytes(from + sizeof size, size);
  from += sizeof size + size;
  return bytes;
}
template <typename Number>
void take_native(const char*& from, Number& number) {
  number = load<Number>(from);
  from += sizeof number;
}

/// Calls `visit` for each number that results of the aggregate have. Their bytes, if they have some, are
/// apart.
template <typename Result, typename Visit>
void each_number(const GroupingPlan::Item& item, Result& result, const Visit& visit) {
  visit(result.count);
  switch (item.wanted.kind) {
    case Kind::Rows:
    case Kind::Values:
      return;
    case Kind::Spread:
      visit(result.spread);
      [[fallthrough]];
    case Kind::Sum:
      if (has_integer_sum(item.column)) return visit(result.integer_sum);
      return is_real(item.column) ? visit(result.real_sum) : visit(result.huge_sum);
    default:
      if (item.column.integer) visit(result.integer);
  }
}

bool has_bytes(const GroupingPlan& plan, const GroupingPlan::Item& item) {
  const Kind kind = item.wanted.kind;
  if (kind == Kind::Minimum || kind == Kind::Maximum) return !item.column.integer;
  return plan.keeps_states && (kind == Kind::Spread || (kind == Kind::Sum && is_real(item.column)));
}

}  // namespace

GroupSort::GroupSort(const Grouping& groups, std::vector<GroupOrder> order,
                     std::vector<ScanColumn> host_columns, OperatorCounts* counts)
    : groups_(groups),
      order_(std::move(order)),
      host_columns_(std::move(host_columns)),
      sort_(groups.host().budget(), groups.host().spill_space(),
            {.share = query_memory(groups.host().budget()), .floor = groups.floor(FloorPart::GroupSort)}, 1,
            counts),
      keys_(groups.plan().keys.size() + host_columns_.size()),
      results_(groups.plan().aggregates.size()) {}

void GroupSort::append_order(const GroupOrder& by, std::span<const Value> host_values) {
  const size_t begin = record_.size();
  if (by.by == GroupOrder::By::Aggregate) {
    append_result(by, groups_.plan().aggregates[by.number], results_[by.number], record_);
  } else {
    const bool of_host = by.by == GroupOrder::By::Host;
    const ScanColumn& column = of_host ? host_columns_[by.number] : groups_.plan().keys[by.number].column;
    const Value& value = of_host ? host_values[by.number] : groups_.keys()[by.number];
    if (column.integer) {
      record_.push_back(value.null ? sort_key::null_mark : sort_key::value_mark);
      sort_key::append_number(value.null ? 0 : Zeros(column).one(value.integer), column.width, record_);
    } else {
      sort_key::append_text(*column.collation, value, true, ~size_t{0}, record_);
    }
  }
  if (by.descending) sort_key::flip(record_, begin);
}

Status GroupSort::add(std::span<const Value> host_values) {
  const GoOn go_on = [this] { return groups_.host().check_interruption(); };
  if (++steps_ % steps_between_checks == 0) HAILSTONE_TRY(go_on());
  const GroupingPlan& plan = groups_.plan();
  for (size_t i = 0; i < results_.size(); ++i) results_[i] = groups_.result(i);
  record_.assign(sort_record::header_bytes, '\0');
  for (const GroupOrder& by : order_) append_order(by, host_values);
  const size_t key_size = record_.size() - sort_record::header_bytes;
  const auto append_value = [&](const ScanColumn& column, const Value& value) {
    record_.push_back(value.null ? sort_key::null_mark : sort_key::value_mark);
    if (value.null) return;
    if (column.integer) {
      append_native(value.integer, record_);
    } else {
      append_bytes(value.bytes, record_);
    }
  };
  for (size_t i = 0; i < plan.keys.size(); ++i) append_value(plan.keys[i].column, groups_.keys()[i]);
  for (size_t i = 0; i < host_columns_.size(); ++i) append_value(host_columns_[i], host_values[i]);
  for (size_t i = 0; i < results_.size(); ++i) {
    each_number(plan.aggregates[i], results_[i], [&](const auto& number) { append_native(number, record_); });
    if (has_bytes(plan, plan.aggregates[i])) append_bytes(results_[i].bytes, record_);
  }
  if (record_.size() > SpillFile::most_frame_bytes) {
    return fail(ErrorCode::RowTooLarge,
                fmt::format("a group that is sorted takes {} bytes; no more than {} are possible. Group by "
                            "shorter texts",
                            record_.size(), SpillFile::most_frame_bytes));
  }
  HAILSTONE_ASSIGN(char* const room, sort_.room(0, record_.size(), 1, go_on));
  sort_record::begin(record_.data(), record_.size(), key_size);
  std::memcpy(room, record_.data(), record_.size());
  sort_.add(0, room);
  return {};
}

Status GroupSort::sort() { return sort_.sort(groups_.host(), groups_.threads()); }

Result<bool> GroupSort::next() {
  if (++steps_ % steps_between_checks == 0) HAILSTONE_TRY(groups_.host().check_interruption());
  HAILSTONE_ASSIGN(const char* const record, sort_.next());
  if (record == nullptr) return false;
  const char* at = sort_record::rest(record);
  const GroupingPlan& plan = groups_.plan();
  for (size_t i = 0; i < keys_.size(); ++i) {
    const bool of_host = i >= plan.keys.size();
    const ScanColumn& column = of_host ? host_columns_[i - plan.keys.size()] : plan.keys[i].column;
    keys_[i] = {};
    if (*at++ == sort_key::null_mark) continue;
    keys_[i].null = false;
    if (column.integer) {
      take_native(at, keys_[i].integer);
    } else {
      keys_[i].bytes = take_bytes(at);
    }
  }
  for (size_t i = 0; i < results_.size(); ++i) {
    each_number(plan.aggregates[i], results_[i], [&](auto& number) { take_native(at, number); });
    if (has_bytes(plan, plan.aggregates[i])) results_[i].bytes = take_bytes(at);
  }
  return true;
}

}  // namespace hailstone

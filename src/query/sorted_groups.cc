#include "query/sorted_groups.h"

#include <algorithm>

#include "query/sort_by_runs.h"
#include "query/value_order.h"

namespace hailstone {

namespace {

using Kind = Aggregate::Kind;

constexpr uint32_t steps_between_checks = 4096;
constexpr uint32_t values_between_checks = 256;  // of the host's

/// sum * 10^digits / count, half away from zero.
WideInteger rounded_mean(const AggregateResult& of, unsigned digits) {
  WideInteger scaled = of.integer_sum;
  for (unsigned i = 0; i < digits; ++i) scaled *= 10;
  const auto count = static_cast<WideInteger>(of.count);
  const WideInteger whole = scaled / count, rest = scaled % count;
  if ((rest < 0 ? -rest : rest) * 2 < count) return whole;
  return whole + (scaled < 0 ? -1 : 1);
}

int compare_sums(const GroupOrder& by, bool real, const AggregateResult& left, const AggregateResult& right) {
  if (real) {
    const auto number = [&](const AggregateResult& of) {
      return by.mean_digits ? of.real_sum / static_cast<double>(of.count) : of.real_sum;
    };
    return compare_numbers(number(left), number(right));
  }
  if (!by.mean_digits) return compare_numbers(left.integer_sum, right.integer_sum);
  return compare_numbers(rounded_mean(left, *by.mean_digits), rounded_mean(right, *by.mean_digits));
}

int compare_results(const GroupOrder& by, const GroupingPlan::Item& item, const AggregateResult& left,
                    const AggregateResult& right) {
  if (item.wanted.kind == Kind::Rows || item.wanted.kind == Kind::Values)
    return compare_numbers(left.count, right.count);
  if (item.wanted.kind >= Kind::BitAnd) return compare_numbers(left.integer, right.integer);
  // Without values it is NULL.
  if (left.count == 0 || right.count == 0) return compare_numbers(left.count != 0, right.count != 0);
  if (item.wanted.kind == Kind::Sum) {
    if (!item.column.integer && item.column.width == sizeof(HugeInteger))
      return compare_numbers(left.huge_sum, right.huge_sum);
    const bool real = item.column.type == Type::Float || item.column.type == Type::Double;
    return compare_sums(by, real, left, right);
  }
  if (item.wanted.kind == Kind::Spread) return compare_numbers(left.spread, right.spread);
  if (item.column.integer) return compare_numbers(left.integer, right.integer);
  return item.column.collation->compare(left.bytes, right.bytes);
}

/// Whether results have the sum as integer_sum.
bool is_short_sum(const ScanColumn& column) {
  const bool real = column.type == Type::Float || column.type == Type::Double;
  return column.integer ? !real : column.width == sizeof(WideInteger);
}

/// A group of a table, as the order sees it.
struct Numbered {
  const GroupTable& table;
  uint32_t group;
  std::span<const Value> host_values;
  Value key(size_t number) const { return table.key(group, number); }
  const Value& host_value(size_t number) const { return host_values[number]; }
  AggregateResult result(size_t number) const { return table.result(group, number); }
};

}  // namespace

bool SortedGroups::heads_are_exact() const {
  if (order_.empty() || order_.front().by != GroupOrder::By::Aggregate) return false;
  const Kind kind = groups_->plan().aggregates[order_.front().number].wanted.kind;
  return kind == Kind::Rows || kind == Kind::Values;
}

/// Of the first column of the order.
uint64_t SortedGroups::head_of_group(const GroupTable& table, uint32_t group) {
  if (order_.empty() || order_.front().by == GroupOrder::By::Host) return 0;
  const GroupOrder& by = order_.front();
  uint64_t head = 0;  // NULL's
  const auto take = [&](uint64_t ordered) { head = std::max<uint64_t>(ordered, 1); };
  if (by.by == GroupOrder::By::Key) {
    const ScanColumn& column = groups_->plan().keys[by.number].column;
    const Value value = table.key(group, by.number);
    if (!value.null) take(column.integer ? value.integer : head_of(*column.collation, value.bytes, weights_));
    return by.descending ? ~head : head;
  }
  const auto& item = groups_->plan().aggregates[by.number];
  const uint64_t count = table.count(group, by.number);
  switch (item.wanted.kind) {
    case Kind::Rows:
    case Kind::Values:
      head = count;
      break;
    case Kind::Sum:
      if (by.mean_digits || !is_short_sum(item.column)) return 0;
      if (count != 0) {
        const WideInteger sum = table.result(group, by.number).integer_sum;
        take(order_signed(static_cast<int64_t>(std::clamp<WideInteger>(sum, INT64_MIN, INT64_MAX)),
                          sizeof(int64_t)));
      }
      break;
    case Kind::Minimum:
    case Kind::Maximum:
      if (!item.column.integer) return 0;
      if (count != 0) take(table.result(group, by.number).integer);
      break;
    default:
      return 0;
  }
  return by.descending ? ~head : head;
}

template <typename Left, typename Right>
int SortedGroups::compare(const Left& left, const Right& right) const {
  const GroupingPlan& plan = groups_->plan();
  for (size_t i = heads_are_exact() ? 1 : 0; i < order_.size(); ++i) {
    const GroupOrder& by = order_[i];
    int order = 0;
    switch (by.by) {
      case GroupOrder::By::Key:
        order = compare_values(plan.keys[by.number].column, left.key(by.number), right.key(by.number));
        break;
      case GroupOrder::By::Aggregate:
        order =
            compare_results(by, plan.aggregates[by.number], left.result(by.number), right.result(by.number));
        break;
      case GroupOrder::By::Host:
        order =
            compare_values(host_.columns[by.number], left.host_value(by.number), right.host_value(by.number));
        break;
    }
    if (order != 0) return by.descending ? -order : order;
  }
  return 0;
}

void SortedGroups::take(Row& row) {
  row.keys.assign(groups_->keys().begin(), groups_->keys().end());
  row.keys.insert(row.keys.end(), host_values_.begin(), host_values_.end());
  row.bytes.clear();
  for (const Value& key : row.keys) row.bytes.insert(row.bytes.end(), key.bytes.begin(), key.bytes.end());
  const char* next = row.bytes.data();
  for (Value& key : row.keys) {
    key.bytes = {next, key.bytes.size()};
    next += key.bytes.size();
  }
  row.results.clear();
  for (size_t i = 0; i < groups_->plan().aggregates.size(); ++i) row.results.push_back(groups_->result(i));
}

Status SortedGroups::sort_places() {
  const OperatorWork work(counts_, 0);
  const auto at = [&](Grouping::Place place) {
    return Numbered{groups_->table(place.table), place.group, {}};
  };
  const auto before = [&](const Headed& left, const Headed& right) {
    return left.head != right.head ? left.head < right.head : compare(at(left.place), at(right.place)) < 0;
  };
  // Those that are wanted are a heap, the last one in front.
  uint32_t looked_at = 0;
  for (uint32_t number = 0; number < groups_->tables(); ++number) {
    for (uint32_t group = 1; group < groups_->table(number).end(); ++group) {
      if (++looked_at % steps_between_checks == 0) HAILSTONE_TRY(groups_->check_interruption());
      const Headed place{head_of_group(groups_->table(number), group), {number, group}};
      if (places_.size() < most_) {
        places_.push_back(place);
        if (places_.size() == most_) std::make_heap(places_.begin(), places_.end(), before);
      } else if (before(place, places_.front())) {
        std::pop_heap(places_.begin(), places_.end(), before);
        places_.back() = place;
        std::push_heap(places_.begin(), places_.end(), before);
      }
    }
  }
  memory_.grow(places_.capacity() * sizeof(Headed));
  work.add_rows(looked_at, places_.size());
  return sort_by_runs(places_, before, [this] { return groups_->check_interruption(); });
}

Status SortedGroups::copy_groups() {
  struct Copied {
    const Row& row;
    size_t keys;
    const Value& key(size_t number) const { return row.keys[number]; }
    const Value& host_value(size_t number) const { return row.keys[keys + number]; }
    const AggregateResult& result(size_t number) const { return row.results[number]; }
  };
  const size_t keys = groups_->keys().size();
  const auto before = [&](const Row& left, const Row& right) {
    return left.head != right.head ? left.head < right.head
                                   : compare(Copied{left, keys}, Copied{right, keys}) < 0;
  };
  host_values_.resize(host_.columns.size());
  uint64_t looked_at = 0;
  for (bool found = true; found;) {
    if (!host_.columns.empty()) {
      if ((looked_at + 1) % values_between_checks == 0) HAILSTONE_TRY(groups_->check_interruption());
      HAILSTONE_TRY(host_.compute(*groups_, host_values_));
    }
    const GroupTable& table = groups_->table(groups_->place().table);
    const uint32_t group = groups_->place().group;
    const uint64_t head = head_of_group(table, group);
    const auto comes_before = [&](const Row& row) {
      return head != row.head ? head < row.head
                              : compare(Numbered{table, group, host_values_}, Copied{row, keys}) < 0;
    };
    if (rows_.size() < most_) {
      take(rows_.emplace_back());
      rows_.back().head = head;
      const Row& row = rows_.back();
      memory_.grow(sizeof(Row) + row.keys.size() * sizeof(Value) + row.bytes.size() +
                   row.results.size() * sizeof(AggregateResult));
      if (most_ != all) std::push_heap(rows_.begin(), rows_.end(), before);
    } else if (comes_before(rows_.front())) {
      std::pop_heap(rows_.begin(), rows_.end(), before);
      take(rows_.back());
      rows_.back().head = head;
      std::push_heap(rows_.begin(), rows_.end(), before);
    }
    ++looked_at;
    HAILSTONE_ASSIGN(found, groups_->next());
  }
  const OperatorWork work(counts_, 0);
  work.add_rows(looked_at, rows_.size());
  return sort_by_runs(rows_, before, [this] { return groups_->check_interruption(); });
}

Status SortedGroups::collect() {
  HAILSTONE_ASSIGN(const bool found, groups_->next());
  if (!found) return {};
  if (!groups_->has_all() || !host_.columns.empty()) return copy_groups();
  return sort_places();
}

Result<bool> SortedGroups::next() {
  if (collected_) {
    ++place_;
  } else {
    HAILSTONE_TRY(collect());
    collected_ = true;
  }
  if (place_ < rows_.size()) return true;
  if (place_ >= places_.size()) return false;
  groups_->go_to(places_[place_].place);
  return true;
}

}  // namespace hailstone

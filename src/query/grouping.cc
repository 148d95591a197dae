#include "query/grouping.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace hailstone {

namespace {

/// What a thread may always have.
constexpr size_t least_share = size_t{1} << 20;
/// Memory is asked for in steps of this.
constexpr size_t memory_step = size_t{1} << 20;
/// With fewer groups it is their values that take the memory: less of them would not help.
constexpr uint32_t fewest_groups_to_narrow = 64;
constexpr unsigned most_bits = 40;
constexpr uint32_t groups_between_interruption_checks = 4096;

bool has_aggregate(const Aggregate& wanted, const ScanColumn& column) {
  switch (wanted.kind) {
    case Aggregate::Kind::Sum:
      return column.integer ? column.type <= Type::Double
                            : column.type == Type::OrderedBytes && (column.width == sizeof(WideInteger) ||
                                                                    column.width == sizeof(HugeInteger));
    case Aggregate::Kind::BitAnd:
    case Aggregate::Kind::BitOr:
    case Aggregate::Kind::BitXor:
      return column.type == Type::Unsigned ||
             (column.type == Type::Signed && column.width == sizeof(uint64_t));
    default:
      return true;
  }
}

}  // namespace

Result<std::unique_ptr<Grouping>> Grouping::make(std::unique_ptr<ComputedRows> rows,
                                                 std::span<const uint16_t> keys,
                                                 std::span<const Aggregate> aggregates, unsigned threads) {
  if (keys.size() > GroupingPlan::most_keys) {
    return fail(ErrorCode::Unsupported,
                fmt::format("groups have at most {} keys, and not {}", GroupingPlan::most_keys, keys.size()));
  }
  std::unique_ptr<Grouping> grouping(new Grouping(std::move(rows), std::max(1U, threads)));
  for (const uint16_t position : keys) {
    HAILSTONE_ASSIGN(const ScanColumn column, grouping->rows_->column(position));
    grouping->plan_.keys.push_back({.position = position, .column = column});
  }
  for (const Aggregate& wanted : aggregates) {
    GroupingPlan::Item item{.wanted = wanted, .column = {}};
    if (wanted.kind != Aggregate::Kind::Rows) {
      HAILSTONE_ASSIGN(item.column, grouping->rows_->column(wanted.position));
    }
    if (!has_aggregate(wanted, item.column))
      return fail(ErrorCode::Unsupported, "groups have sums of numbers and bits of whole numbers only");
    grouping->plan_.aggregates.push_back(item);
  }
  grouping->keys_.resize(keys.size());
  grouping->left_.push_back({});
  return grouping;
}

Result<bool> Grouping::next() {
  for (;;) {
    if (groups_ && ++group_ < groups_->end()) {
      if (group_ % groups_between_interruption_checks == 0) HAILSTONE_TRY(rows_->check_interruption());
      go_to(group_);
      return true;
    }
    groups_.reset();
    memory_.reset();
    if (left_.empty()) return false;
    const GroupPartition partition = left_.back();
    left_.pop_back();
    HAILSTONE_TRY(pass(partition));
    group_ = 0;
  }
}

void Grouping::go_to(uint32_t group) {
  group_ = group;
  for (size_t i = 0; i < keys_.size(); ++i) keys_[i] = groups_->key(group, i);
}

/// Reserves what the part's groups take by now, or makes them fewer.
void Grouping::make_room(Part& part) const {
  GroupTable& groups = *part.groups;
  // A quarter of the budget for all, as the parts are put together while they are still there.
  const size_t share = std::max(least_share, rows_->budget().limit() / 4 / threads_);
  for (;;) {
    const size_t used = groups.memory();
    if (used <= part.memory.bytes()) return;
    const size_t more = used - part.memory.bytes();
    const size_t step = std::max(more, std::min(memory_step, share / 4));
    if (used <= least_share) return part.memory.grow(more);
    if (used <= share && part.memory.try_grow(step)) return;
    const GroupPartition now = groups.partition();
    if (groups.end() < fewest_groups_to_narrow || now.bits >= most_bits) return part.memory.grow(more);
    groups.narrow({.bits = now.bits + 1, .number = now.number << 1});
  }
}

Status Grouping::pass(GroupPartition partition) {
  ++passes_;
  std::deque<Part> parts;
  for (unsigned i = 0; i < threads_; ++i) parts.emplace_back(rows_->budget());
  const auto take = [&](unsigned number, const RowBatch& batch) -> Status {
    Part& part = parts[number];
    if (!part.groups) part.groups.emplace(plan_, partition);
    part.groups->add(batch);
    make_room(part);
    return {};
  };
  HAILSTONE_TRY(rows_->each_batch(threads_, take));

  GroupPartition kept = partition;
  for (const Part& part : parts) {
    if (part.groups && part.groups->partition().bits > kept.bits) kept = part.groups->partition();
  }
  for (GroupPartition half = kept; half.bits > partition.bits; half = {half.bits - 1, half.number >> 1}) {
    left_.push_back({.bits = half.bits, .number = half.number | 1});
  }
  groups_.emplace(plan_, kept);
  memory_.emplace(rows_->budget());
  for (Part& part : parts) {
    if (!part.groups) continue;
    if (groups_->end() == 1 && part.groups->partition().bits == kept.bits) {
      groups_ = std::move(part.groups);
    } else {
      HAILSTONE_TRY(groups_->add(*part.groups, [&] { return rows_->check_interruption(); }));
    }
    part.groups.reset();
    part.memory.clear();
    memory_->clear();
    memory_->grow(groups_->memory());
  }
  return {};
}

}  // namespace hailstone

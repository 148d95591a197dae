#include "query/group_collector.h"

#include <algorithm>
#include <utility>

namespace hailstone {

namespace {

/// Memory is asked for in steps of this.
constexpr size_t table_memory_step = size_t{1} << 20;
/// With fewer groups and pairs it is their values that take the memory: parts of them would not take less.
constexpr size_t fewest_units_to_divide = 64;
/// Steps of a table with more would take too long where somebody wants to end the statement, such as finding
/// all groups new places. Besides, tables that the processor's caches hold are quicker than bigger ones.
constexpr size_t most_units_of_table = size_t{1} << 22;
constexpr uint32_t records_between_checks = 1024;
constexpr size_t merged_bytes = size_t{64} << 10;

}  // namespace

Status append_groups(const GroupTable& table, bool settled, GroupPartitions& to, const GoOn& go_on) {
  std::string record;
  for (uint32_t group = 1; group < table.end(); ++group) {
    if (group % records_between_checks == 0) HAILSTONE_TRY(go_on());
    record.clear();
    table.append_group(group, settled, record);
    HAILSTONE_TRY(to.append(table.hash(group), record, go_on));
  }
  return {};
}

Status GroupCollector::add(const RowBatch& batch, const GoOn& go_on) {
  if (!table_) table_.emplace(*plan_);
  table_->add(batch);
  return make_room(go_on);
}

Status GroupCollector::add(RecordRun&& records, const GoOn& go_on) {
  return records.consume([&](ByteView bytes) -> Status {
    HAILSTONE_TRY(go_on());
    if (!table_) table_.emplace(*plan_);
    HAILSTONE_CHECK(table_->add_records(bytes), "{} bytes of groups are no records", bytes.size());
    return make_room(go_on);
  });
}

/// Reserves what the table takes by now, or empties it.
Status GroupCollector::make_room(const GoOn& go_on) {
  const size_t used = table_->memory();
  if (used <= memory_.bytes()) return {};
  const size_t more = used - memory_.bytes();
  const size_t step = std::max(more, std::min(table_memory_step, most_ / 4));
  const size_t units = table_->end() + table_->pairs();
  const bool can_divide = units >= fewest_units_to_divide && level_ < GroupPartitions::levels;
  const bool fits = used <= least_share || (used <= most_ && units <= most_units_of_table);
  if (can_divide && used > least_share && !(fits && memory_.try_grow(step))) return empty_table(go_on);
  if (used > memory_.bytes()) memory_.grow(used - memory_.bytes());
  return {};
}

Status GroupCollector::empty_table(const GoOn& go_on) {
  if (source_ != Source::Pairs) {
    if (!groups_) groups_.emplace(*records_, level_);
    HAILSTONE_TRY(append_groups(*table_, source_ == Source::Groups, *groups_, go_on));
  }
  if (source_ != Source::Groups && table_->pairs() != 0) {
    if (!pairs_) pairs_.emplace(*records_, level_);
    Status status;
    uint32_t appended = 0;
    table_->each_pair([&](uint64_t hash, uint32_t group, size_t aggregate, uint64_t value) {
      if (++appended % records_between_checks == 0) status = go_on();
      if (!status) return false;
      record_.clear();
      table_->append_pair(group, aggregate, value, record_);
      status = pairs_->append(hash, record_, go_on);
      return status.has_value();
    });
    HAILSTONE_TRY(std::move(status));
  }
  table_.reset();
  memory_.clear();
  return {};
}

Status GroupCollector::move_out(const GoOn& go_on) {
  if (table_) HAILSTONE_TRY(empty_table(go_on));
  if (groups_) HAILSTONE_TRY(groups_->finish());
  if (pairs_) HAILSTONE_TRY(pairs_->finish());
  return {};
}

Status GroupCollector::merge(GroupCollector&& other, const GoOn& go_on) {
  const GroupTable& from = *other.table_;
  record_.clear();
  const auto add = [&] {
    HAILSTONE_CHECK(table_->add_records(record_), "{} bytes of groups are no records", record_.size());
    record_.clear();
    return go_on();
  };
  for (uint32_t group = 1; group < from.end(); ++group) {
    from.append_group(group, false, record_);
    if (record_.size() >= merged_bytes) HAILSTONE_TRY(add());
  }
  Status status;
  from.each_pair([&](uint64_t, uint32_t group, size_t aggregate, uint64_t value) {
    from.append_pair(group, aggregate, value, record_);
    if (record_.size() >= merged_bytes) status = add();
    return status.has_value();
  });
  HAILSTONE_TRY(std::move(status));
  HAILSTONE_TRY(add());
  if (const size_t used = table_->memory(); used > memory_.bytes()) memory_.grow(used - memory_.bytes());
  other.table_.reset();
  other.memory_.clear();
  return {};
}

GroupTable&& GroupCollector::take_table() {
  if (!table_) table_.emplace(*plan_);
  return std::move(*table_);
}

}  // namespace hailstone

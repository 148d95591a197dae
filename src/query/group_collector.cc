#include "query/group_collector.h"

#include <algorithm>

namespace hailstone {

namespace {

/// Memory is asked for in steps of this.
constexpr size_t table_memory_step = size_t{1} << 20;
/// Steps of a table with more would take too long where somebody wants to end the statement, such as finding
/// all groups new places.
constexpr size_t most_units_of_table = size_t{1} << 22;
/// A group of a table takes no more than so many times the bytes of its record.
constexpr size_t most_of_record = 16;
/// About so many times is usual.
constexpr size_t usual_of_record = 4;
/// Where tables need not be divided to be put together, taking rows apart gains only where a table of all
/// groups, or pairs, would outgrow all that is near: so many quick tables of groups of numbers,
/// of groups with texts, of pairs of numbers. Pairs with texts are always looked for.
constexpr uint64_t many_of_numbers = 32, many_with_texts = 256, many_pairs = 64;
/// Nothing is known of more rows than so many times the units of a quick table.
constexpr uint64_t tables_apart = 64;

}  // namespace

void LookUps::note(uint64_t looked_for, size_t units, bool ample) {
  looked_for_ += looked_for;
  if (units < next_) return;
  judge(units, ample);
  next_ = units * 2;
  units_before_ = units;
  looked_for_ = 0;
}

void LookUps::judge(size_t units, bool ample) {
  const uint64_t found_new = std::min<uint64_t>(units - units_before_, looked_for_);
  nearly_all_new_ = found_new * 8 > looked_for_ * 7;
  if (!nearly_all_new_ && !(ample && found_new * 2 > looked_for_)) return;
  const uint64_t most_rows = tables_apart * quick_;
  // One of u units is met with the odds u / all.
  const double share_met = static_cast<double>(looked_for_ - found_new) / static_cast<double>(looked_for_);
  const double all = static_cast<double>(units_before_ + units) / 2 / std::max(share_met, 1e-9);
  if (fewest_tables_ == never || all < static_cast<double>(fewest_tables_ * quick_)) return;
  const double rows = all * static_cast<double>(rows_of_unit_);
  const bool known = rows < static_cast<double>(most_rows);
  vain_rows_ = known ? std::max<uint64_t>(static_cast<uint64_t>(rows), 1) : most_rows;
  first_ = known ? std::max(quick_, static_cast<size_t>(all * 2)) : quick_;
}

void LookUps::note_apart(uint64_t rows, bool ample) {
  vain_rows_ = ample || nearly_all_new_ ? vain_rows_ - std::min(rows, vain_rows_) : 0;
  if (vain_rows_ == 0) restart();
}

void LookUps::restart() {
  next_ = first_;
  units_before_ = 0;
  looked_for_ = 0;
}

LookUps GroupCollector::groups_to_look_for(const GroupingPlan& plan, const Limits& limits) {
  const bool are_long = plan.has_long_groups();
  const uint64_t fewest = are_long ? many_with_texts : many_of_numbers;
  return {limits.quick_units, are_long, limits.stays ? fewest : 0};
}

LookUps GroupCollector::pairs_to_look_for(const GroupingPlan& plan, const Limits& limits) {
  const bool are_long = plan.has_long_pairs();
  const uint64_t fewest = are_long ? LookUps::never : many_pairs;
  return {limits.quick_units, are_long, limits.stays ? fewest : 0};
}

GroupTable& GroupCollector::table_at_hand() {
  if (!table_) table_.emplace(*plan_);
  return *table_;
}

Status GroupCollector::add(const RowBatch& batch, const GoOn& go_on) {
  GroupTable& table = table_at_hand();
  const bool apart = groups_looked_for_.in_vain();
  const bool pairs_apart = apart || pairs_looked_for_.in_vain();
  table.add(batch, {.groups = apart, .pairs = pairs_apart});
  const bool ample = records_->is_ample();
  if (apart) {
    groups_looked_for_.note_apart(batch.rows, ample);
    HAILSTONE_TRY(move_groups(go_on));
  } else if (!plan_->keys.empty()) {
    groups_looked_for_.note(batch.rows, table.groups(), ample);
  }
  if (pairs_apart) {
    if (!apart) pairs_looked_for_.note_apart(batch.rows, ample);
    HAILSTONE_TRY(move_pairs(go_on));
  } else if (table.pairs() != 0) {
    pairs_looked_for_.note(batch.rows * plan_->distinct_values(), table.pairs(), ample);
  }
  if (apart) {
    table.clear();
  } else if (groups_looked_for_.in_vain()) {
    HAILSTONE_TRY(empty_table(go_on));
    table_at_hand();
  } else if (pairs_apart) {
    table.clear_pairs();
  } else if (pairs_looked_for_.in_vain()) {
    HAILSTONE_TRY(move_pairs(go_on));
    table.clear_pairs();
  }
  return make_room(go_on);
}

Status GroupCollector::add(RecordRun&& records, unsigned used_bits, const GoOn& go_on) {
  used_bits_ = used_bits;
  groups_.reset();
  pairs_.reset();
  if (table_ && source_ == Source::Pairs) table_->clear();
  if (table_ && source_ == Source::Groups) table_->forget();
  return records.consume([&](RecordKind kind, ByteView bytes) -> Status {
    HAILSTONE_TRY(go_on());
    const bool taken = table_at_hand().add_records(kind, bytes);
    HAILSTONE_CHECK(taken, "{} bytes of groups are no records", bytes.size());
    return make_room(go_on);
  });
}

/// Of groups of one size: whether a batch of rows might make the table grow to memory that it cannot have. It
/// keeps what it has when it is emptied then: to give pages back and get others takes longer than the groups.
bool GroupCollector::is_full() {
  const bool of_one_size = plan_->distinct_values() == 0 && table_->groups_are_of_one_size();
  if (source_ != Source::Rows || plan_->keys.empty() || !of_one_size || !table_->may_grow_by(batch_rows))
    return false;
  const size_t grown = 2 * table_->memory();
  if (grown <= std::max(memory_.bytes(), limits_.least)) return false;
  const bool fits = grown <= limits_.most && table_->groups() < most_units_of_table;
  return !fits || !memory_.try_grow(grown - memory_.bytes());
}

/// Reserves what the table takes by now, or empties it.
Status GroupCollector::make_room(const GoOn& go_on) {
  if (is_full()) {
    groups_looked_for_.note_full(table_->groups());
    HAILSTONE_TRY(move_groups(go_on));
    table_->clear();
    groups_looked_for_.restart();
  }
  const size_t used = table_->memory();
  if (used <= memory_.bytes()) return {};
  const size_t more = used - memory_.bytes();
  const size_t step = std::max(more, std::min(table_memory_step, limits_.most / 4));
  const size_t units = table_->groups() + table_->pairs();
  // Behind groups of earlier runs few ones have no room, either: they go into another table.
  const bool can_divide =
      (units >= fewest_to_divide_ || table_->has_forgotten()) && used_bits_ < RecordPartitions::hash_bits;
  const bool is_little = used <= limits_.least;
  const bool fits = used <= limits_.most && units <= most_units_of_table;
  const auto may_grow = [&] { return memory_.try_grow(step) || (step > more && memory_.try_grow(more)); };
  if (can_divide && !is_little && !(fits && may_grow())) {
    if (table_->groups() >= fewest_to_divide_) groups_looked_for_.note_full(table_->groups());
    if (table_->pairs() >= fewest_to_divide_) pairs_looked_for_.note_full(table_->pairs());
    return empty_table(go_on);
  }
  if (used > memory_.bytes()) memory_.grow(used - memory_.bytes());
  return {};
}

bool GroupCollector::has_room_for_run(size_t bytes) {
  if (!table_ || memory_.bytes() > limits_.most / 2) return false;
  const bool follow =
      table_->groups_are_of_one_size() ||
      (table_->groups_follow_records() && bytes <= (limits_.most - memory_.bytes()) / most_of_record);
  const size_t expected = table_->memory() + bytes * usual_of_record;
  return follow && (expected <= memory_.bytes() || memory_.try_grow(expected - memory_.bytes()));
}

void GroupCollector::expect_runs(size_t runs) {
  if (!table_) return;
  // Some may have some more.
  const size_t groups = table_->end() * (runs + 1) / 16 * 17;
  const size_t expected = table_->memory() / table_->end() * groups;
  if (expected > limits_.most / 2) return;
  if (expected > memory_.bytes() && !memory_.try_grow(expected - memory_.bytes())) return;
  table_->reserve(groups);
  if (const size_t used = table_->memory(); used > memory_.bytes()) memory_.grow(used - memory_.bytes());
}

Status GroupCollector::move_groups(const GoOn& go_on) {
  if (!groups_) groups_.emplace(*records_, used_bits_);
  table_->leave_codes();
  return table_->write_groups(source_ == Source::Groups, record_,
                              [&](const HashedRecords& records) { return groups_->append(records, go_on); });
}

Status GroupCollector::move_pairs(const GoOn& go_on) {
  if (!table_->has_pairs()) return {};
  if (!pairs_) pairs_.emplace(*records_, used_bits_);
  return table_->write_pairs(record_,
                             [&](const HashedRecords& records) { return pairs_->append(records, go_on); });
}

Status GroupCollector::empty_table(const GoOn& go_on) {
  if (source_ != Source::Pairs) HAILSTONE_TRY(move_groups(go_on));
  if (source_ != Source::Groups) HAILSTONE_TRY(move_pairs(go_on));
  if (source_ == Source::Groups && (table_->has_forgotten() || table_->groups_are_of_one_size())) {
    table_->drop();
    return {};
  }
  table_.reset();
  memory_.clear();
  groups_looked_for_.restart();
  pairs_looked_for_.restart();
  return {};
}

Status GroupCollector::move_out(const GoOn& go_on) {
  if (table_) HAILSTONE_TRY(empty_table(go_on));
  if (groups_) HAILSTONE_TRY(groups_->finish(go_on));
  if (pairs_) HAILSTONE_TRY(pairs_->finish(go_on));
  return {};
}

Status GroupCollector::merge(GroupCollector&& other, const GoOn& go_on) {
  GroupTable& from = *other.table_;
  from.leave_codes();
  const auto add = [&](const HashedRecords& records) {
    const bool taken = table_->add_records(records.kind, records.bytes);
    HAILSTONE_CHECK(taken, "{} groups are no records", records.size());
    return go_on();
  };
  HAILSTONE_TRY(from.write_groups(false, record_, add));
  HAILSTONE_TRY(from.write_pairs(record_, add));
  if (const size_t used = table_->memory(); used > memory_.bytes()) memory_.grow(used - memory_.bytes());
  other.table_.reset();
  other.memory_.clear();
  return {};
}

GroupTable&& GroupCollector::take_table() {
  table_at_hand().leave_codes();
  return std::move(*table_);
}

}  // namespace hailstone

// GroupTable's groups and pairs as records and back, column by column for some hundred records at a time.
//
// A record of a group is
//   size      4 bytes, of the whole record; only where records have a tail
//   nulls     a bit a key, in whole bytes
//   keys      8 bytes each: of numbers the value, of bytes the hash of what makes them equal
//   rows      8 bytes, how many; only where an aggregate is not of distinct values
//   states    of each aggregate but Rows: the count, 8 bytes; Sum of whole numbers: 16 or 32 bytes; Minimum
//             and Maximum of numbers, BitAnd and its like: 8 bytes
//   tail      keys of bytes that are not NULL: the length as a varint, the bytes; aggregates whose count is
//             not 0 and that have nothing else in `states`: sums of floating-point numbers and spreads, as
//             they write themselves; Minimum, Maximum of bytes: the head, the length, the bytes
// of a group of one row the same without its rows, but that counts have 1 byte, and sums of numbers of 8
// bytes as many; of a pair
//   size      as above
//   aggregate 2 bytes
//   nulls, keys as above
//   value     like a key
//   tail      keys and value of bytes, as above
// Numbers are little-endian. A plan's records all have a tail, or none has.
#include <cstring>
#include <numeric>
#include <type_traits>

#include "base/bytes.h"
#include "query/group_numbers.h"
#include "query/group_table.h"
#include "schema/ordered_wide.h"

namespace hailstone {

namespace {

using Kind = Aggregate::Kind;
using RecordSize = uint32_t;
using AggregateNumber = uint16_t;

template <typename T>
T load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Whether the record has one sum of all bits, in the place of `sums` and `huge`.
bool has_whole_sum(const GroupingPlan::Item& item, RecordKind kind) {
  return kind == RecordKind::Groups && item.wanted.kind == Kind::Sum && item.column.may_be_huge;
}

/// Behind the count; what is not there is in the tail.
size_t state_bytes(const GroupingPlan::Item& item, RecordKind kind) {
  switch (item.wanted.kind) {
    case Kind::Rows:
    case Kind::Values:
    case Kind::Spread:
      return 0;
    case Kind::Sum:
      if (is_real(item.column)) return 0;
      if (is_huge(item.column) || has_whole_sum(item, kind)) return sizeof(HugeInteger);
      return kind == RecordKind::Rows && item.column.integer ? sizeof(uint64_t) : sizeof(WideInteger);
    case Kind::Minimum:
    case Kind::Maximum:
      return item.column.integer ? sizeof(uint64_t) : 0;
    case Kind::BitAnd:
    case Kind::BitOr:
    case Kind::BitXor:
      return sizeof(uint64_t);
  }
  return 0;
}

bool has_tail(const GroupingPlan::Item& item) {
  return item.wanted.kind > Kind::Values && state_bytes(item, RecordKind::Groups) == 0;
}

/// put(i) gives what goes to `place` of record number i.
template <typename Put>
void put_column(HashedRecords& to, size_t place, Put&& put) {
  char* const bytes = to.bytes.data() + place;
  for (size_t i = 0; i < to.places.size(); ++i) {
    const auto value = put(i);
    std::memcpy(bytes + to.places[i], &value, sizeof value);
  }
}

/// Makes room for `records` records; append_tail(i, bytes) appends the tail of number i.
template <typename AppendTail>
void begin_records(HashedRecords& to, size_t records, size_t bytes, bool vary, AppendTail&& append_tail) {
  to.places.resize(records);
  to.hashes.resize(records);
  if (!vary) {
    to.bytes.resize(records * bytes);
    for (size_t i = 0; i < records; ++i) to.places[i] = i * bytes;
    return;
  }
  to.bytes.clear();
  for (size_t i = 0; i < records; ++i) {
    const size_t begin = to.places[i] = to.bytes.size();
    to.bytes.resize(begin + bytes);
    append_tail(i, to.bytes);
    const auto size = static_cast<RecordSize>(to.bytes.size() - begin);
    std::memcpy(to.bytes.data() + begin, &size, sizeof size);
  }
}

}  // namespace

void GroupTable::lay_out_records() {
  const size_t keys = (columns_.size() + 7) / 8 + columns_.size() * sizeof(uint64_t);
  for (const KeyColumn& column : columns_) groups_vary_ |= !column.integer;
  pairs_vary_ = groups_vary_;
  for (const auto& item : plan_->aggregates) {
    groups_vary_ |= has_tail(item);
    pairs_vary_ |= item.wanted.distinct && !item.column.integer;
  }
  for (const RecordKind kind : {RecordKind::Groups, RecordKind::Rows}) {
    Layout& layout = kind == RecordKind::Rows ? rows_ : wholes_;
    layout.rows = layout.bytes = (groups_vary_ ? sizeof(RecordSize) : 0) + keys;
    if (counts_rows_ && kind == RecordKind::Groups) layout.bytes += sizeof(uint64_t);
    for (const auto& item : plan_->aggregates) {
      layout.states.push_back(layout.bytes);
      if (item.wanted.kind == Kind::Rows) continue;
      layout.bytes +=
          (kind == RecordKind::Rows ? sizeof(uint8_t) : sizeof(uint64_t)) + state_bytes(item, kind);
    }
  }
  pair_bytes_ = (pairs_vary_ ? sizeof(RecordSize) : 0) + sizeof(AggregateNumber) + keys + sizeof(uint64_t);
}

void GroupTable::put_keys(std::span<const uint32_t> groups, size_t place, HashedRecords& to) const {
  const size_t nulls_at = columns_.size();
  for (size_t i = 0; i < columns_.size(); i += 8, ++place)
    put_column(to, place, [&](size_t record) {
      return static_cast<uint8_t>(keys_[groups[record] * stride_ + nulls_at] >> i);
    });
  for (size_t i = 0; i < columns_.size(); ++i, place += sizeof(uint64_t)) {
    const ValueSet* const values = columns_[i].values.get();
    put_column(to, place, [&](size_t record) {
      const uint64_t* const key = keys_.data() + groups[record] * stride_;
      if (values == nullptr || (key[nulls_at] >> i & 1) != 0) return key[i];
      return values->hash_of(static_cast<uint32_t>(key[i]));
    });
  }
}

void GroupTable::append_keys(uint32_t group, std::string& to) const {
  const uint64_t* const key = keys_.data() + group * stride_;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].integer || (key[columns_.size()] >> i & 1) != 0) continue;
    append_string(to, columns_[i].values->value(static_cast<uint32_t>(key[i])));
  }
}

void GroupTable::append_state(size_t aggregate, uint32_t group, std::string& to) const {
  const State& state = states_[aggregate];
  if (!state.reals.empty()) state.reals.append_to(to, group);
  if (!state.spreads.empty()) state.spreads.append_to(to, group);
  if (!state.texts.empty()) {
    append_number(to, state.texts[group].head);
    append_string(to, {state.texts[group].bytes, state.texts[group].size});
  }
}

void GroupTable::put_states(size_t aggregate, std::span<const uint32_t> groups, bool settled,
                            HashedRecords& to) const {
  if (to.kind == RecordKind::Groups) {
    put_numbers<uint64_t, WideInteger>(aggregate, groups, settled, to);
  } else if (plan_->aggregates[aggregate].column.integer) {
    put_numbers<uint8_t, uint64_t>(aggregate, groups, settled, to);
  } else {
    put_numbers<uint8_t, WideInteger>(aggregate, groups, settled, to);
  }
}

template <typename Count, typename Sum>
void GroupTable::put_numbers(size_t aggregate, std::span<const uint32_t> groups, bool settled,
                             HashedRecords& to) const {
  const State& state = states_[aggregate];
  const bool known = !plan_->aggregates[aggregate].wanted.distinct || settled;
  size_t place = layout(to.kind).states[aggregate];
  const auto put = [&]<typename T>(const auto& array, T none) {
    if (array.empty()) return;
    put_column(to, place,
               [&](size_t record) { return known ? static_cast<T>(array[groups[record]]) : none; });
    place += sizeof(T);
  };
  put_column(to, place, [&](size_t record) {
    return known ? static_cast<Count>(count(groups[record], aggregate)) : Count{0};
  });
  place += sizeof(Count);
  if (has_whole_sum(plan_->aggregates[aggregate], to.kind)) {
    put_column(to, place,
               [&](size_t record) { return known ? huge_sum_of(state, groups[record]) : HugeInteger(); });
    return;
  }
  put(state.sums, Sum{0});
  put(state.huge, HugeInteger{});
  put(state.bests, uint64_t{0});
}

void GroupTable::append_groups(uint32_t first, uint32_t last, bool settled, HashedRecords& to) const {
  std::array<uint32_t, records_at_once> numbers;
  const std::span<uint32_t> groups(numbers.data(), last - first);
  std::iota(groups.begin(), groups.end(), first);
  to.kind = of_rows_ ? RecordKind::Rows : RecordKind::Groups;
  begin_records(to, groups.size(), layout(to.kind).bytes, groups_vary_,
                [&](size_t record, std::string& bytes) {
                  append_keys(groups[record], bytes);
                  for (size_t i = 0; i < states_.size(); ++i) {
                    const auto& item = plan_->aggregates[i];
                    const bool known = !item.wanted.distinct || settled;
                    if (known && has_tail(item) && count(groups[record], i) != 0)
                      append_state(i, groups[record], bytes);
                  }
                });
  std::copy_n(hashes_.begin() + first, groups.size(), to.hashes.begin());
  put_keys(groups, groups_vary_ ? sizeof(RecordSize) : 0, to);
  if (counts_rows_ && to.kind == RecordKind::Groups)
    put_column(to, wholes_.rows, [&](size_t record) { return rows_of_[groups[record]]; });
  for (size_t i = 0; i < states_.size(); ++i) {
    if (plan_->aggregates[i].wanted.kind != Kind::Rows) put_states(i, groups, settled, to);
  }
}

void GroupTable::append_pairs(size_t aggregate, std::span<const DistinctSet::Pair> pairs,
                              HashedRecords& to) const {
  std::array<uint32_t, records_at_once> group;
  std::array<uint64_t, records_at_once> value;
  size_t found = 0;
  for (const DistinctSet::Pair& pair : pairs) {
    group[found] = pair.group;
    value[found] = pair.value;
    found += pair.group != 0 ? 1 : 0;
  }
  const std::span<const uint32_t> groups(group.data(), found);
  const ValueSet* const values = states_[aggregate].values.get();
  to.kind = RecordKind::Pairs;
  begin_records(to, found, pair_bytes_, pairs_vary_, [&](size_t record, std::string& bytes) {
    append_keys(group[record], bytes);
    if (values != nullptr) append_string(bytes, values->value(static_cast<uint32_t>(value[record])));
  });
  const size_t place = pairs_vary_ ? sizeof(RecordSize) : 0;
  put_column(to, place, [&](size_t) { return static_cast<AggregateNumber>(aggregate); });
  put_keys(groups, place + sizeof(AggregateNumber), to);
  put_column(to, pair_bytes_ - sizeof(uint64_t), [&](size_t record) {
    return values != nullptr ? values->hash_of(static_cast<uint32_t>(value[record])) : value[record];
  });
  for (size_t i = 0; i < found; ++i) {
    const uint64_t of_value =
        values != nullptr ? values->hash_of(static_cast<uint32_t>(value[i])) : mix_bits(value[i]);
    to.hashes[i] = combine(combine(hashes_[group[i]], aggregate + 1), of_value);
  }
}

bool GroupTable::take_records(ByteView& from, bool vary, size_t bytes) {
  records_.clear();
  tails_.clear();
  while (!from.empty() && records_.size() < records_at_once) {
    size_t size = bytes;
    if (vary && from.size() >= sizeof(RecordSize)) size = load<RecordSize>(from.data());
    if (size < bytes || size > from.size()) return false;
    records_.push_back(from.data());
    if (vary) tails_.emplace_back(from.substr(bytes, size - bytes));
    from.remove_prefix(size);
  }
  return true;
}

bool GroupTable::take_keys(size_t place) {
  const auto rows = static_cast<uint32_t>(records_.size());
  groups_.resize(rows);
  if (columns_.empty()) {
    std::ranges::fill(groups_, 1U);
    return true;
  }
  nulls_.assign(rows, 0);
  for (size_t i = 0; i < columns_.size(); i += 8, ++place) {
    for (uint32_t row = 0; row < rows; ++row)
      nulls_[row] |= uint64_t{load<uint8_t>(records_[row] + place)} << i;
  }
  for (size_t i = 0; i < columns_.size(); ++i, place += sizeof(uint64_t)) {
    KeyColumn& column = columns_[i];
    column.words.resize(rows);
    column.hashes.resize(rows);
    for (uint32_t row = 0; row < rows; ++row) {
      const auto word = load<uint64_t>(records_[row] + place);
      const bool null = (nulls_[row] >> i & 1) != 0;
      column.words[row] = null ? 0 : word;
      column.hashes[row] = null ? null_hash : (column.integer ? mix_bits(word) : word);
    }
    if (column.integer) continue;
    new_rows_.clear();
    new_values_.clear();
    new_hashes_.clear();
    for (uint32_t row = 0; row < rows; ++row) {
      if ((nulls_[row] >> i & 1) != 0) continue;
      new_rows_.push_back(row);
      new_hashes_.push_back(column.hashes[row]);
      if (!tails_[row].take_string(new_values_.emplace_back())) return false;
    }
    new_numbers_.resize(new_rows_.size());
    column.values->numbers_of(new_values_, new_hashes_, new_numbers_);
    for (size_t k = 0; k < new_rows_.size(); ++k) column.words[new_rows_[k]] = new_numbers_[k];
  }
  find_groups_of_words(rows);
  make_states();
  return true;
}

bool GroupTable::take_states(RecordKind kind, size_t aggregate) {
  const auto& item = plan_->aggregates[aggregate];
  const Layout& from = layout(kind);
  if (has_tail(item)) {
    for (size_t row = 0; row < records_.size(); ++row) {
      const char* const count = records_[row] + from.states[aggregate];
      const bool any = kind == RecordKind::Rows ? load<uint8_t>(count) != 0 : load<uint64_t>(count) != 0;
      if (any && !take_state(tails_[row], aggregate, groups_[row])) return false;
    }
  }
  if (kind == RecordKind::Groups) {
    take_numbers<uint64_t, WideInteger>(kind, aggregate);
  } else if (item.column.integer) {
    take_numbers<uint8_t, uint64_t>(kind, aggregate);
  } else {
    take_numbers<uint8_t, WideInteger>(kind, aggregate);
  }
  return true;
}

/// Of rows that have no value there are most often none.
template <typename Count>
void GroupTable::take_nulls(const Layout& from, size_t aggregate) {
  State& state = states_[aggregate];
  for (size_t row = 0; row < records_.size(); ++row) {
    uint64_t nulls = 1;
    if constexpr (sizeof(Count) != 1) nulls = load<uint64_t>(records_[row] + from.rows);
    nulls -= load<Count>(records_[row] + from.states[aggregate]);
    if (nulls == 0) continue;
    if (state.nulls.empty()) state.nulls.resize(end_);
    state.nulls[groups_[row]] += nulls;
  }
}

void GroupTable::take_rows(RecordKind kind) {
  for (size_t row = 0; row < records_.size(); ++row) {
    rows_of_[groups_[row]] += kind == RecordKind::Rows ? 1 : load<uint64_t>(records_[row] + wholes_.rows);
  }
}

/// To where it has room.
void GroupTable::add_huge_sum(State& state, uint32_t group, const HugeInteger& sum) {
  WideInteger& wide = state.sums[group];
  if (sum.has_128_bits() && !__builtin_add_overflow(wide, sum.wide(), &wide)) return;
  if (state.huge.empty()) state.huge.resize(end_);
  state.huge[group] += sum;
}

template <typename Count, typename Sum>
void GroupTable::take_numbers(RecordKind kind, size_t aggregate) {
  State& state = states_[aggregate];
  const auto& item = plan_->aggregates[aggregate];
  const Layout& from = layout(kind);
  size_t place = from.states[aggregate];
  const auto each = [&]<typename T>(auto& array, T, auto&& join) {
    if (array.empty()) return;
    for (size_t row = 0; row < records_.size(); ++row)
      join(array[groups_[row]], load<T>(records_[row] + place));
    place += sizeof(T);
  };
  const auto add = [](auto& to, const auto& more) { to += more; };
  if (state.counts.empty()) {
    take_nulls<Count>(from, aggregate);
    place += sizeof(Count);
  } else {
    each(state.counts, Count{0}, add);
  }
  if (has_whole_sum(item, kind)) {
    for (size_t row = 0; row < records_.size(); ++row)
      add_huge_sum(state, groups_[row], load<HugeInteger>(records_[row] + place));
    return;
  }
  each(state.sums, Sum{0}, add);
  each(state.huge, HugeInteger{}, add);
  each(state.bests, uint64_t{0},
       [&](uint64_t& to, uint64_t other) { to = joined_bests(item.wanted.kind, to, other); });
}

/// What is in the tail.
bool GroupTable::take_state(ByteReader& reader, size_t aggregate, uint32_t group) {
  State& state = states_[aggregate];
  if (!state.reals.empty()) return state.reals.add_from(reader, group);
  if (!state.spreads.empty()) return state.spreads.add_from(reader, group);
  uint64_t head = 0;
  ByteView text;
  if (!reader.take(head) || !reader.take_string(text)) return false;
  add_text(aggregate, group, head, text);
  return true;
}

bool GroupTable::add_records(RecordKind kind, ByteView records) {
  return kind == RecordKind::Pairs ? add_pairs(records) : add_groups(kind, records);
}

bool GroupTable::add_groups(RecordKind kind, ByteView records) {
  while (!records.empty()) {
    if (!take_records(records, groups_vary_, layout(kind).bytes)) return false;
    if (!take_keys(groups_vary_ ? sizeof(RecordSize) : 0)) return false;
    if (counts_rows_) take_rows(kind);
    for (size_t i = 0; i < states_.size(); ++i) {
      if (plan_->aggregates[i].wanted.kind != Kind::Rows && !take_states(kind, i)) return false;
    }
  }
  return true;
}

bool GroupTable::add_pairs(ByteView records) {
  const size_t place = pairs_vary_ ? sizeof(RecordSize) : 0;
  while (!records.empty()) {
    if (!take_records(records, pairs_vary_, pair_bytes_) || !take_keys(place + sizeof(AggregateNumber)))
      return false;
    size_t taken = 0;
    for (size_t i = 0; i < states_.size(); ++i) {
      if (states_[i].distinct == nullptr) continue;
      new_rows_.clear();
      for (uint32_t row = 0; row < records_.size(); ++row) {
        if (load<AggregateNumber>(records_[row] + place) == i) new_rows_.push_back(row);
      }
      taken += new_rows_.size();
      if (!take_values(i)) return false;
    }
    if (taken != records_.size()) return false;
  }
  return true;
}

/// Of the pairs new_rows_.
bool GroupTable::take_values(size_t aggregate) {
  State& state = states_[aggregate];
  values_.clear();
  for (const uint32_t row : new_rows_)
    values_.push_back(load<uint64_t>(records_[row] + pair_bytes_ - sizeof(uint64_t)));
  if (state.values != nullptr) {
    new_values_.clear();
    for (const uint32_t row : new_rows_) {
      if (!tails_[row].take_string(new_values_.emplace_back())) return false;
    }
    new_numbers_.resize(new_rows_.size());
    state.values->numbers_of(new_values_, values_, new_numbers_);
    values_.assign(new_numbers_.begin(), new_numbers_.end());
  }
  for (size_t i = 0; i < new_rows_.size(); ++i) state.distinct->prefetch(groups_[new_rows_[i]], values_[i]);
  for (size_t i = 0; i < new_rows_.size(); ++i) {
    const uint32_t group = groups_[new_rows_[i]];
    if (state.distinct->add(group, values_[i])) count_value(aggregate, group, values_[i]);
  }
  return true;
}

void GroupTable::count_value(size_t aggregate, uint32_t group, uint64_t value) {
  State& state = states_[aggregate];
  const auto& item = plan_->aggregates[aggregate];
  ++state.counts[group];
  if (item.wanted.kind != Kind::Sum) return;
  if (is_real(item.column)) {
    state.reals.add(group, native_real(item.column, value));
  } else if (state.values == nullptr) {
    state.sums[group] += value;
  } else if (const ByteView bytes = state.values->value(static_cast<uint32_t>(value)); is_huge(item.column)) {
    state.huge[group] += native_huge(bytes);
  } else {
    state.sums[group] += native_wide(bytes);
  }
}

}  // namespace hailstone

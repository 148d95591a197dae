#include "query/group_table.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/check.h"
#include "query/group_numbers.h"
#include "schema/ordered_wide.h"

namespace hailstone {

namespace {

using Kind = Aggregate::Kind;

constexpr size_t first_slots = 64;
/// Numbers near each other are looked up in an array of so many, and, once there are many groups, in one of
/// all numbers between the least and the greatest, if that is no more than some for each group.
constexpr uint64_t direct_numbers = uint64_t{1} << 16;
constexpr uint64_t direct_numbers_of_group = 4;
/// Tuples of codes are looked up in an array of so many.
constexpr size_t most_tuples = size_t{1} << 16;
constexpr uint32_t unknown_group = ~uint32_t{0};
/// Best ranks of texts are kept for so many groups, which stay in caches, and once there were a row for so
/// many values of the dictionary: it takes a look at all of these to know their order.
constexpr uint32_t most_ranked_groups = uint32_t{1} << 16;
constexpr uint32_t values_of_a_row = 4;
/// Asked for again and again where it is a value's.
constexpr uint64_t unknown_head = ~uint64_t{0};
/// Slots tell hashes by their upper halves; the lower bits are the place.
uint64_t slot_of(uint64_t hash, uint32_t group) { return (hash >> 32 << 32) | group; }

ByteView bytes_of(const ColumnVector& vector, uint32_t row) {
  return vector.dictionary != nullptr ? vector.dictionary->value(vector.codes[row]) : vector.bytes[row];
}

bool is_of_bits(Kind kind) { return kind >= Kind::BitAnd; }

/// Sums of numbers of 64 bits, all of them.
bool sums_numbers(const GroupingPlan::Item& item) {
  return item.wanted.kind == Kind::Sum && !item.wanted.distinct && item.column.integer &&
         !is_real(item.column);
}

template <typename T>
size_t memory_of(const T& array) {
  return array.capacity() * sizeof(typename T::value_type);
}

}  // namespace

GroupTable::KeyColumn::KeyColumn(const GroupingPlan::Key& key, std::atomic<bool>* variants)
    : integer(key.column.integer), zeros(key.column) {
  if (!integer) values = std::make_unique<ValueSet>(*key.column.collation, variants);
}

GroupTable::GroupTable(const GroupingPlan& plan)
    : plan_(&plan),
      stride_(plan.keys.size() + 1),
      slots_(first_slots),
      counts_rows_(plan.distinct_values() < plan.aggregates.size()) {
  HAILSTONE_CHECK(plan.keys.size() <= GroupingPlan::most_keys, "{} keys of a group", plan.keys.size());
  for (const auto& key : plan.keys) columns_.emplace_back(key, plan.variants);
  states_.resize(plan.aggregates.size());
  for (size_t i = 0; i < states_.size(); ++i) {
    const auto& item = plan.aggregates[i];
    if (!item.wanted.distinct) continue;
    states_[i].distinct = std::make_unique<DistinctSet>();
    if (!item.column.integer) states_[i].values = std::make_unique<ValueSet>(*item.column.collation);
  }
  adds_codes_ = can_add_codes();
  // What it takes to sort the rows, two sums save.
  sums_many_numbers_ = !columns_.empty() && std::ranges::count_if(plan.aggregates, sums_numbers) >= 2;
  lay_out_records();
  key_.resize(stride_);
  begin();
}

/// Number 0, and the group of all rows where there are no keys.
void GroupTable::begin() {
  std::ranges::fill(key_, 0);
  add_group(0);
  if (columns_.empty()) add_group(0);
  make_states();
}

uint32_t GroupTable::add_group(uint64_t hash) {
  keys_.insert(keys_.end(), key_.begin(), key_.end());
  hashes_.push_back(hash);
  return end_++;
}

template <typename Resize>
void GroupTable::each_array(Resize&& resize) {
  if (counts_rows_) resize(rows_of_, uint64_t{0});
  for (size_t i = 0; i < states_.size(); ++i) {
    State& state = states_[i];
    const auto& item = plan_->aggregates[i];
    if (item.wanted.distinct) resize(state.counts, uint64_t{0});
    if (!state.nulls.empty()) resize(state.nulls, uint64_t{0});
    if (item.wanted.kind == Kind::Sum) {
      if (is_real(item.column)) {
        resize(state.reals);
      } else if (is_huge(item.column)) {
        resize(state.huge, HugeInteger{});
      } else {
        resize(state.sums, WideInteger{0});
        if (!state.huge.empty()) resize(state.huge, HugeInteger{});
      }
    } else if (item.wanted.kind == Kind::Spread) {
      resize(state.spreads, is_real(item.column));
    } else if (is_of_bits(item.wanted.kind)) {
      resize(state.bests, item.wanted.kind == Kind::BitAnd ? ~uint64_t{0} : 0);
    } else if (item.wanted.kind == Kind::Minimum || item.wanted.kind == Kind::Maximum) {
      if (item.column.integer) {
        resize(state.bests, item.wanted.kind == Kind::Minimum ? ~uint64_t{0} : 0);
      } else {
        resize(state.texts, Text{});
      }
    }
  }
}

void GroupTable::make_states() {
  each_array([&](auto& array, const auto&... first) { array.resize(end_, first...); });
}

bool GroupTable::has_key(uint32_t group, std::span<const uint64_t> wanted) const {
  const uint64_t* const key = keys_.data() + group * stride_;
  for (size_t i = 0; i < stride_; ++i) {
    if (key[i] != wanted[i]) return false;
  }
  return true;
}

bool GroupTable::has_words(uint32_t group, uint32_t row) const {
  const uint64_t* const key = keys_.data() + group * stride_;
  bool same = key[columns_.size()] == nulls_[row];
  for (size_t i = 0; i < columns_.size(); ++i) same = same && key[i] == columns_[i].words[row];
  return same;
}

void GroupTable::take_words(uint32_t row) {
  for (size_t i = 0; i < columns_.size(); ++i) key_[i] = columns_[i].words[row];
  key_[columns_.size()] = nulls_[row];
}

/// The same where the key is one column of bytes, whose values have numbers already.
uint32_t GroupTable::group_of_value(uint64_t hash) {
  if (key_[0] >= by_value_.size()) by_value_.resize(key_[0] + 1);
  uint32_t& group = key_[1] != 0 ? null_group_ : by_value_[key_[0]];
  if (group == 0) group = add_group(hash);
  return group;
}

uint32_t GroupTable::group_of_key(uint64_t hash) {
  if (is_of_one_value()) return group_of_value(hash);
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    if ((slots_[slot] ^ hash) >> 32 != 0) continue;
    const auto group = static_cast<uint32_t>(slots_[slot]);
    if (has_key(group, key_)) return group;
  }
  const uint32_t group = add_group(hash);
  slots_[slot] = slot_of(hash, group);
  if (size_t{groups()} * 2 > slots_.size()) grow_slots();
  return group;
}

void GroupTable::grow_slots() {
  PageVector<uint64_t> slots(slots_.size() * 2);
  const size_t mask = slots.size() - 1;
  for (uint32_t group = first_; group < end_; ++group) {
    size_t slot = hashes_[group] & mask;
    while (slots[slot] != 0) slot = (slot + 1) & mask;
    slots[slot] = slot_of(hashes_[group], group);
  }
  slots_ = std::move(slots);
  if (!direct_.empty()) widen_direct();
}

void GroupTable::widen_direct() {
  uint64_t least = ~uint64_t{0}, greatest = 0;
  const auto each_number = [this](const auto& take) {
    for (uint32_t group = first_; group < end_; ++group) {
      const uint64_t* const key = keys_.data() + size_t{group} * stride_;
      if (key[1] == 0) take(key[0], group);
    }
  };
  each_number([&](uint64_t number, uint32_t) {
    least = std::min(least, number);
    greatest = std::max(greatest, number);
  });
  if (least > greatest || greatest - least >= groups() * direct_numbers_of_group) return;
  const uint64_t numbers = greatest - least + 1;
  if (numbers <= direct_.size()) return;
  direct_.assign(numbers, unknown_group);
  direct_first_ = least;
  each_number([&](uint64_t number, uint32_t group) { direct_[number - least] = group; });
}

void GroupTable::take_dictionary(KeyColumn& column, const std::shared_ptr<const Dictionary>& dictionary) {
  if (column.dictionary == dictionary) return;
  column.dictionary = dictionary;
  if (columns_.size() == 1) {
    by_code_.assign(dictionary->size(), unknown_group);
  } else {
    column.codes.assign(dictionary->size(), {});
  }
}

void GroupTable::find_numbers(ValueSet& values, const ColumnVector& vector, bool apart) {
  new_values_.clear();
  for (const uint32_t row : new_rows_) {
    new_values_.push_back(bytes_of(vector, row));
    __builtin_prefetch(new_values_.back().data());
  }
  find_numbers(values, apart);
}

void GroupTable::find_numbers(ValueSet& values, bool apart) {
  new_hashes_.clear();
  for (const ByteView value : new_values_) new_hashes_.push_back(values.hash(value));
  new_numbers_.resize(new_values_.size());
  if (apart) {
    for (size_t i = 0; i < new_values_.size(); ++i)
      new_numbers_[i] = values.append(new_values_[i], new_hashes_[i]);
  } else {
    values.numbers_of(new_values_, new_hashes_, new_numbers_);
  }
}

void GroupTable::hash_column(KeyColumn& column, const ColumnVector& vector, uint32_t rows, bool apart) {
  column.words.resize(rows);
  column.hashes.resize(rows);
  if (column.integer) {
    for (uint32_t row = 0; row < rows; ++row) {
      const uint64_t word = column.zeros.one(vector.integers[row]);
      column.words[row] = word;
      column.hashes[row] = mix_bits(word);
    }
  } else if (vector.dictionary != nullptr && !apart) {
    take_dictionary(column, vector.dictionary);
    new_rows_.clear();
    for (uint32_t row = 0; row < rows; ++row) {
      if (!vector.is_null(row) && !column.codes[vector.codes[row]].known) new_rows_.push_back(row);
    }
    find_numbers(*column.values, vector, apart);
    for (size_t i = 0; i < new_rows_.size(); ++i)
      column.codes[vector.codes[new_rows_[i]]] = {new_hashes_[i], new_numbers_[i], true};
    for (uint32_t row = 0; row < rows; ++row) {
      if (vector.is_null(row)) continue;
      const Code& code = column.codes[vector.codes[row]];
      column.words[row] = code.number;
      column.hashes[row] = code.hash;
    }
  } else {
    new_rows_.clear();
    for (uint32_t row = 0; row < rows; ++row) {
      if (!vector.is_null(row)) new_rows_.push_back(row);
    }
    find_numbers(*column.values, vector, apart);
    for (size_t i = 0; i < new_rows_.size(); ++i) {
      column.words[new_rows_[i]] = new_numbers_[i];
      column.hashes[new_rows_[i]] = new_hashes_[i];
    }
  }
  if (!vector.any_nulls) return;
  for (uint32_t row = 0; row < rows; ++row) {
    if (vector.nulls[row] == 0) continue;
    column.words[row] = 0;
    column.hashes[row] = null_hash;
  }
}

void GroupTable::find_groups_of_numbers(const ColumnVector& vector, uint32_t rows) {
  if (direct_.empty()) {
    direct_.resize(direct_numbers, unknown_group);
    const uint64_t number = vector.integers[0];
    direct_first_ = number < direct_numbers / 2 ? 0 : number - direct_numbers / 2;
  }
  const uint64_t* const numbers = vector.integers.data();
  uint32_t* const groups = groups_.data();
  bool all_known = !vector.any_nulls;
  const uint32_t* const direct = direct_.data();
  for (uint32_t row = 0; row < rows; ++row) {
    const uint64_t place = numbers[row] - direct_first_;
    groups[row] = place < direct_.size() ? direct[place] : unknown_group;
    all_known &= groups[row] != unknown_group;
  }
  if (all_known) return;
  const KeyColumn& column = columns_.front();
  new_rows_.clear();
  new_hashes_.clear();
  bool any_like_before = false;
  for (uint32_t row = 0; row < rows; ++row) {
    const bool null = vector.is_null(row);
    if (!null && groups[row] != unknown_group) continue;
    // In rows that have an order, many numbers are that of the row before.
    if (row != 0 && null == vector.is_null(row - 1) && (null || numbers[row] == numbers[row - 1])) {
      groups[row] = unknown_group;
      any_like_before = true;
      continue;
    }
    new_rows_.push_back(row);
    new_hashes_.push_back(null ? null_hash : mix_bits(column.zeros.one(numbers[row])));
  }
  find_likely_groups();
  for (size_t i = 0; i < new_rows_.size(); ++i) {
    const uint32_t row = new_rows_[i];
    const bool null = vector.is_null(row);
    key_[0] = null ? 0 : column.zeros.one(numbers[row]);
    key_[1] = null ? 1 : 0;
    const uint32_t likely = new_numbers_[i];
    groups[row] = likely != 0 && has_key(likely, key_) ? likely : group_of_key(new_hashes_[i]);
    if (const uint64_t place = numbers[row] - direct_first_; !null && place < direct_.size())
      direct_[place] = groups[row];
  }
  if (!any_like_before) return;
  for (uint32_t row = 1; row < rows; ++row) {
    if (groups[row] == unknown_group) groups[row] = groups[row - 1];
  }
}

void GroupTable::find_groups_of_codes(const ColumnVector& vector, uint32_t rows) {
  KeyColumn& column = columns_.front();
  take_dictionary(column, vector.dictionary);
  const uint32_t* const codes = vector.codes.data();
  const uint32_t* const by_code = by_code_.data();
  uint32_t* const groups = groups_.data();
  bool all_known = !vector.any_nulls;
  for (uint32_t row = 0; row < rows; ++row) {
    groups[row] = by_code[codes[row]];
    all_known &= groups[row] != unknown_group;
  }
  if (all_known) return;
  new_rows_.clear();
  for (uint32_t row = 0; row < rows; ++row) {
    if (vector.is_null(row)) {
      key_[0] = 0;
      key_[1] = 1;
      groups[row] = group_of_key(null_hash);
    } else if (groups[row] == unknown_group) {
      new_rows_.push_back(row);
    }
  }
  find_numbers(*column.values, vector, /*apart=*/false);
  key_[1] = 0;
  for (size_t i = 0; i < new_rows_.size(); ++i) {
    const uint32_t row = new_rows_[i];
    key_[0] = new_numbers_[i];
    by_code_[codes[row]] = groups[row] = group_of_key(new_hashes_[i]);
  }
}

void GroupTable::find_groups(const RowBatch& batch) {
  groups_.resize(batch.rows);
  if (columns_.empty()) {
    std::ranges::fill(groups_, 1U);
    return;
  }
  if (columns_.size() == 1) {
    const ColumnVector& vector = *batch.columns[plan_->keys.front().position];
    if (columns_.front().integer) return find_groups_of_numbers(vector, batch.rows);
    if (vector.dictionary != nullptr) return find_groups_of_codes(vector, batch.rows);
  }
  const Tuples tuples = find_groups_of_tuples(batch);
  if (tuples == Tuples::All) return;
  hash_columns(batch, /*apart=*/false);
  find_groups_of_words(batch.rows);
  if (tuples == Tuples::None) return;
  for (uint32_t row = 0; row < batch.rows; ++row) by_tuple_[tuples_[row]] = groups_[row];
}

void GroupTable::hash_columns(const RowBatch& batch, bool apart) {
  nulls_.assign(batch.rows, 0);
  for (size_t i = 0; i < columns_.size(); ++i) {
    const ColumnVector& vector = *batch.columns[plan_->keys[i].position];
    hash_column(columns_[i], vector, batch.rows, apart);
    if (!vector.any_nulls) continue;
    for (uint32_t row = 0; row < batch.rows; ++row) nulls_[row] |= uint64_t{vector.nulls[row] != 0} << i;
  }
}

void GroupTable::combine_hashes(uint32_t rows) {
  new_hashes_.assign(columns_.front().hashes.begin(), columns_.front().hashes.begin() + rows);
  for (size_t i = 1; i < columns_.size(); ++i) {
    const uint64_t* const hashes = columns_[i].hashes.data();
    for (uint32_t row = 0; row < rows; ++row) new_hashes_[row] = combine(new_hashes_[row], hashes[row]);
  }
}

void GroupTable::find_groups_of_words(uint32_t rows) {
  combine_hashes(rows);
  if (is_of_one_value()) {
    for (uint32_t row = 0; row < rows; ++row) {
      take_words(row);
      groups_[row] = group_of_value(new_hashes_[row]);
    }
    return;
  }
  find_likely_groups();
  for (uint32_t row = 0; row < rows; ++row) {
    const uint32_t likely = new_numbers_[row];
    if (likely != 0 && has_words(likely, row)) {
      groups_[row] = likely;
    } else {
      take_words(row);
      groups_[row] = group_of_key(new_hashes_[row]);
    }
  }
}

void GroupTable::make_groups(const RowBatch& batch) {
  HAILSTONE_CHECK(end_ == 1, "rows are taken apart beside {} groups", end_ - 1);
  hash_columns(batch, /*apart=*/true);
  combine_hashes(batch.rows);
  of_rows_ = true;
  end_ += batch.rows;
  hashes_.insert(hashes_.end(), new_hashes_.begin(), new_hashes_.end());
  keys_.resize(end_ * stride_);
  for (size_t i = 0; i < stride_; ++i) {
    const uint64_t* const words = i < columns_.size() ? columns_[i].words.data() : nulls_.data();
    uint64_t* const keys = keys_.data() + stride_ + i;
    for (uint32_t row = 0; row < batch.rows; ++row) keys[row * stride_] = words[row];
  }
  groups_.resize(batch.rows);
  std::iota(groups_.begin(), groups_.end(), 1U);
}

GroupTable::Tuples GroupTable::find_groups_of_tuples(const RowBatch& batch) {
  const auto vector = [&](size_t column) -> const ColumnVector& {
    return *batch.columns[plan_->keys[column].position];
  };
  size_t places = 1;
  bool same = tuple_dictionaries_.size() == columns_.size();
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (vector(i).dictionary == nullptr) return Tuples::None;
    // NULL counts as one more code.
    places *= vector(i).dictionary->size() + 1;
    if (places > most_tuples) return Tuples::None;
    same = same && tuple_dictionaries_[i] == vector(i).dictionary;
  }
  if (!same) {
    tuple_dictionaries_.clear();
    for (size_t i = 0; i < columns_.size(); ++i) tuple_dictionaries_.push_back(vector(i).dictionary);
    by_tuple_.assign(places, unknown_group);
  }
  tuples_.assign(batch.rows, 0);
  uint32_t* const tuples = tuples_.data();
  for (size_t i = 0; i < columns_.size(); ++i) {
    const auto size = static_cast<uint32_t>(vector(i).dictionary->size());
    const uint32_t* const codes = vector(i).codes.data();
    if (!vector(i).any_nulls) {
      for (uint32_t row = 0; row < batch.rows; ++row) tuples[row] = tuples[row] * (size + 1) + codes[row];
      continue;
    }
    const uint8_t* const nulls = vector(i).nulls.data();
    for (uint32_t row = 0; row < batch.rows; ++row)
      tuples[row] = tuples[row] * (size + 1) + (nulls[row] != 0 ? size : codes[row]);
  }
  const uint32_t* const by_tuple = by_tuple_.data();
  uint32_t* const groups = groups_.data();
  bool all_known = true;
  for (uint32_t row = 0; row < batch.rows; ++row) {
    groups[row] = by_tuple[tuples[row]];
    all_known &= groups[row] != unknown_group;
  }
  return all_known ? Tuples::All : Tuples::Some;
}

/// The groups whose slots the new hashes lead to, which most often are the right ones, become new_numbers_;
/// 0: none. Step by step, each for all of them, so that the memory of many slots, and then of many keys, is
/// waited for at once.
void GroupTable::find_likely_groups() {
  const size_t mask = slots_.size() - 1;
  for (const uint64_t hash : new_hashes_) __builtin_prefetch(&slots_[hash & mask]);
  new_numbers_.resize(new_hashes_.size());
  for (size_t i = 0; i < new_hashes_.size(); ++i) {
    new_numbers_[i] = likely_group(new_hashes_[i]);
    __builtin_prefetch(keys_.data() + new_numbers_[i] * stride_);
  }
}

void GroupTable::add(const RowBatch& batch, Apart apart) {
  if (batch.rows == 0) return;
  if (!apart.groups && add_codes(batch)) return;
  settle_codes();
  if (apart.groups) {
    make_groups(batch);
  } else {
    find_groups(batch);
  }
  make_states();
  sorts_rows_ = sums_many_numbers_ && end_ <= RowsByGroup::most_groups;
  if (sorts_rows_) by_group_.sort({groups_.data(), batch.rows}, end_);
  if (counts_rows_ && columns_.empty()) {
    rows_of_[1] += batch.rows;
  } else if (counts_rows_ && sorts_rows_) {
    by_group_.count(rows_of_.data());
  } else if (counts_rows_) {
    uint64_t* const counts = rows_of_.data();
    const uint32_t* const groups = groups_.data();
    for (uint32_t row = 0; row < batch.rows; ++row) ++counts[groups[row]];
  }
  for (size_t i = 0; i < states_.size(); ++i) {
    const Aggregate& wanted = plan_->aggregates[i].wanted;
    if (wanted.kind != Kind::Rows) add_values(i, *batch.columns[wanted.position], batch.rows, apart.pairs);
  }
}

void GroupTable::count_nulls(State& state, const ColumnVector& vector, uint32_t rows) {
  if (state.nulls.empty()) state.nulls.resize(end_);
  uint64_t* const nulls = state.nulls.data();
  if (columns_.empty()) {
    nulls[1] += static_cast<uint64_t>(std::count_if(vector.nulls.begin(), vector.nulls.begin() + rows,
                                                    [](uint8_t null) { return null != 0; }));
    return;
  }
  for (uint32_t row = 0; row < rows; ++row) nulls[groups_[row]] += vector.nulls[row] != 0 ? 1U : 0U;
}

void GroupTable::add_values(size_t aggregate, const ColumnVector& vector, uint32_t rows, bool apart) {
  const auto& item = plan_->aggregates[aggregate];
  State& state = states_[aggregate];
  const uint32_t* groups = groups_.data();
  const bool any_huge = item.column.may_be_huge && !vector.bytes.empty();
  const bool sums_at_once = (columns_.empty() || sorts_rows_) && sums_numbers(item);
  if (vector.any_nulls && (!sums_at_once || any_huge)) {
    counted_.resize(rows);
    for (uint32_t row = 0; row < rows; ++row) counted_[row] = vector.nulls[row] != 0 ? 0 : groups[row];
    groups = counted_.data();
  }
  if (item.wanted.distinct) {
    leave_new_values(aggregate, vector, rows, apart);
    if (apart) return;
    groups = counted_.data();
    uint64_t* const counts = state.counts.data();
    for (uint32_t row = 0; row < rows; ++row) ++counts[groups[row]];
  } else if (vector.any_nulls) {
    count_nulls(state, vector, rows);
  }
  if (item.wanted.kind == Kind::Values) return;
  if (!state.texts.empty()) return add_texts(aggregate, vector, groups, rows);
  if (any_huge) add_huge_numbers(state, vector, groups, rows);
  if (!sums_at_once) return add_numbers(aggregate, vector, groups, rows);
  const uint64_t* const numbers = numbers_or_zeros(vector, rows);
  if (sorts_rows_) {
    by_group_.add(numbers, state.sums.data());
  } else {
    state.sums[1] += sum_of({numbers, rows});
  }
}

/// NULLs are zeros.
const uint64_t* GroupTable::numbers_or_zeros(const ColumnVector& vector, uint32_t rows) {
  const uint64_t* const numbers = vector.integers.data();
  if (!vector.any_nulls) return numbers;
  values_.resize(rows);
  uint64_t* const known = values_.data();
  const uint8_t* const nulls = vector.nulls.data();
  for (uint32_t row = 0; row < rows; ++row) known[row] = numbers[row] & (uint64_t{nulls[row] != 0} - 1);
  return known;
}

void GroupTable::leave_new_values(size_t aggregate, const ColumnVector& vector, uint32_t rows, bool apart) {
  State& state = states_[aggregate];
  const auto& item = plan_->aggregates[aggregate];
  if (!vector.any_nulls) counted_ = groups_;
  DistinctSet& distinct = *state.distinct;
  std::vector<uint64_t>& values = values_;
  values.resize(rows);
  if (item.column.integer) {
    const Zeros zeros(item.column);
    for (uint32_t row = 0; row < rows; ++row) values[row] = zeros.one(vector.integers[row]);
  } else if (vector.dictionary == nullptr || apart) {
    new_rows_.clear();
    for (uint32_t row = 0; row < rows; ++row) {
      if (counted_[row] != 0) new_rows_.push_back(row);
    }
    find_numbers(*state.values, vector, apart);
    for (size_t i = 0; i < new_rows_.size(); ++i) values[new_rows_[i]] = new_numbers_[i];
  } else {
    if (state.dictionary != vector.dictionary) {
      state.dictionary = vector.dictionary;
      state.heads.assign(vector.dictionary->size(), unknown_head);
    }
    new_rows_.clear();
    for (uint32_t row = 0; row < rows; ++row) {
      if (counted_[row] != 0 && state.heads[vector.codes[row]] == unknown_head) new_rows_.push_back(row);
    }
    find_numbers(*state.values, vector, apart);
    for (size_t i = 0; i < new_rows_.size(); ++i) state.heads[vector.codes[new_rows_[i]]] = new_numbers_[i];
    for (uint32_t row = 0; row < rows; ++row) {
      if (counted_[row] != 0) values[row] = state.heads[vector.codes[row]];
    }
  }
  if (apart) {
    for (uint32_t row = 0; row < rows; ++row) {
      if (counted_[row] != 0) state.apart.push_back({values[row], counted_[row]});
    }
    return;
  }
  for (uint32_t row = 0; row < rows; ++row) distinct.prefetch(counted_[row], values[row]);
  for (uint32_t row = 0; row < rows; ++row) {
    if (counted_[row] != 0 && !distinct.add(counted_[row], values[row])) counted_[row] = 0;
  }
}

/// Of the column beside `integers`, which has 0 for them.
void GroupTable::add_huge_numbers(State& state, const ColumnVector& vector, const uint32_t* groups,
                                  uint32_t rows) {
  // Records of single rows have 64 bits.
  of_rows_ = false;
  state.huge.resize(end_);
  for (uint32_t row = 0; row < rows; ++row) {
    if (groups[row] != 0 && !vector.bytes[row].empty())
      state.huge[groups[row]] += native_huge(vector.bytes[row]);
  }
}

void GroupTable::add_numbers(size_t aggregate, const ColumnVector& vector, const uint32_t* groups,
                             uint32_t rows) {
  const auto& item = plan_->aggregates[aggregate];
  State& state = states_[aggregate];
  const uint64_t* const values = vector.integers.data();
  uint64_t* const bests = state.bests.data();
  const uint64_t turned = item.column.type == Type::Signed ? sign_of_width(sizeof(uint64_t)) : 0;
  switch (item.wanted.kind) {
    case Kind::Sum: {
      WideInteger* const sums = state.sums.data();
      if (is_real(item.column)) {
        for (uint32_t row = 0; row < rows; ++row) {
          if (groups[row] != 0) state.reals.add(groups[row], native_real(item.column, values[row]));
        }
      } else if (is_huge(item.column)) {
        for (uint32_t row = 0; row < rows; ++row) {
          if (groups[row] != 0) state.huge[groups[row]] += native_huge(bytes_of(vector, row));
        }
      } else if (!item.column.integer) {
        for (uint32_t row = 0; row < rows; ++row) {
          if (groups[row] != 0) sums[groups[row]] += native_wide(bytes_of(vector, row));
        }
      } else {
        for (uint32_t row = 0; row < rows; ++row) sums[groups[row]] += values[row];
      }
      break;
    }
    case Kind::Spread:
      for (uint32_t row = 0; row < rows; ++row) {
        if (groups[row] == 0) continue;
        if (is_real(item.column)) {
          state.spreads.add(groups[row], native_real(item.column, values[row]));
        } else {
          // That the order of signed numbers has their sign bit flipped takes no difference away.
          state.spreads.add(groups[row], item.column.integer ? static_cast<WideInteger>(values[row])
                                                             : native_wide(bytes_of(vector, row)));
        }
      }
      break;
    case Kind::Minimum:
      for (uint32_t row = 0; row < rows; ++row) {
        bests[groups[row]] = std::min(bests[groups[row]], values[row]);
      }
      break;
    case Kind::Maximum:
      for (uint32_t row = 0; row < rows; ++row) {
        bests[groups[row]] = std::max(bests[groups[row]], values[row]);
      }
      break;
    case Kind::BitAnd:
      for (uint32_t row = 0; row < rows; ++row) bests[groups[row]] &= values[row] ^ turned;
      break;
    case Kind::BitOr:
      for (uint32_t row = 0; row < rows; ++row) bests[groups[row]] |= values[row] ^ turned;
      break;
    case Kind::BitXor:
      for (uint32_t row = 0; row < rows; ++row) bests[groups[row]] ^= values[row] ^ turned;
      break;
    case Kind::Rows:
    case Kind::Values:
      break;
  }
}

void GroupTable::add_texts(size_t aggregate, const ColumnVector& vector, const uint32_t* groups,
                           uint32_t rows) {
  const auto& item = plan_->aggregates[aggregate];
  const Collation& collation = *item.column.collation;
  State& state = states_[aggregate];
  if (vector.dictionary == nullptr) {
    for (uint32_t row = 0; row < rows; ++row) {
      if (groups[row] == 0) continue;
      add_text(aggregate, groups[row], head_of(collation, vector.bytes[row], weights_), vector.bytes[row]);
    }
    return;
  }
  if (state.dictionary != vector.dictionary) {
    settle_ranks(aggregate);
    state.dictionary = vector.dictionary;
    state.heads.clear();
    state.dictionary_rows = 0;
  }
  state.dictionary_rows += rows;
  if (end_ <= most_ranked_groups &&
      (!state.best_ranks.empty() || (state.dictionary_rows >= vector.dictionary->size() / values_of_a_row &&
                                     vector.dictionary->has_order_of(collation))))
    return add_texts_by_rank(aggregate, vector, groups, rows);
  if (state.heads.empty()) state.heads.assign(vector.dictionary->size(), unknown_head);
  const bool least = item.wanted.kind == Kind::Minimum;
  const uint32_t* const codes = vector.codes.data();
  uint64_t* const heads = state.heads.data();
  const Text* const texts = state.texts.data();
  for (uint32_t row = 0; row < rows; ++row) {
    if (groups[row] == 0) continue;
    uint64_t& head = heads[codes[row]];
    if (head == unknown_head) head = head_of(collation, vector.dictionary->value(codes[row]), weights_);
    const Text& text = texts[groups[row]];
    if (text.bytes != nullptr && (least ? head > text.head : head < text.head)) continue;
    add_text(aggregate, groups[row], head, vector.dictionary->value(codes[row]));
  }
}

/// The texts are looked at when another dictionary comes.
void GroupTable::add_texts_by_rank(size_t aggregate, const ColumnVector& vector, const uint32_t* groups,
                                   uint32_t rows) {
  State& state = states_[aggregate];
  state.best_ranks.resize(end_);
  state.best_ranks[0] = ~uint32_t{0};  // nobody's
  take_best_ranks(aggregate, vector, groups, rows);
}

void GroupTable::take_best_ranks(size_t aggregate, const ColumnVector& vector, const uint32_t* places,
                                 uint32_t rows) {
  const uint32_t turned = is_least(aggregate) ? ~uint32_t{0} : 0;
  const uint32_t more = is_least(aggregate) ? 0 : 1;
  const uint32_t* const codes = vector.codes.data();
  uint32_t* const best = states_[aggregate].best_ranks.data();
  for (uint32_t row = 0; row < rows; ++row) {
    // Without a branch: first ranks of many places are too often better to be foreseen.
    const uint32_t rank = (codes[row] ^ turned) + more;
    best[places[row]] = std::max(best[places[row]], rank);
  }
}

void GroupTable::settle_ranks(size_t aggregate) {
  State& state = states_[aggregate];
  for (uint32_t group = 1; group < state.best_ranks.size(); ++group) {
    if (const uint32_t rank = state.best_ranks[group]; rank != 0)
      settle_text(aggregate, group, text_of_rank(aggregate, rank));
  }
  state.best_ranks.clear();
}

ByteView GroupTable::text_of_rank(size_t aggregate, uint32_t rank) const {
  return states_[aggregate].dictionary->value(is_least(aggregate) ? ~rank : rank - 1);
}

void GroupTable::settle_text(size_t aggregate, uint32_t group, ByteView value) {
  State& state = states_[aggregate];
  // The head is made of few: most are no better than what other dictionaries had.
  if (const Text& text = state.texts[group]; text.bytes == nullptr || is_better(aggregate, value, text))
    put_text(state, group, head_of(*plan_->aggregates[aggregate].column.collation, value, weights_), value);
}

void GroupTable::leave_codes() {
  settle_codes();
  for (size_t i = 0; i < states_.size(); ++i) settle_ranks(i);
}

bool GroupTable::is_better(size_t aggregate, ByteView value, const Text& text) const {
  const auto& item = plan_->aggregates[aggregate];
  return is_better_text(item.wanted.kind, *item.column.collation, value, {text.bytes, text.size});
}

bool GroupTable::is_better(size_t aggregate, uint64_t head, ByteView value, const Text& text) const {
  if (text.bytes == nullptr) return true;
  if (head == text.head) return is_better(aggregate, value, text);
  return plan_->aggregates[aggregate].wanted.kind == Kind::Minimum ? head < text.head : head > text.head;
}

void GroupTable::add_text(size_t aggregate, uint32_t group, uint64_t head, ByteView value) {
  State& state = states_[aggregate];
  if (is_better(aggregate, head, value, state.texts[group])) put_text(state, group, head, value);
}

void GroupTable::put_text(State& state, uint32_t group, uint64_t head, ByteView value) {
  Text& text = state.texts[group];
  if (text.bytes == nullptr || text.capacity < value.size()) {
    const size_t capacity = std::max<size_t>({value.size(), size_t{2} * text.capacity, 8});
    text.bytes = texts_->allocate(capacity);
    text.capacity = static_cast<uint32_t>(capacity);
  }
  if (!value.empty()) std::memcpy(text.bytes, value.data(), value.size());
  text.size = static_cast<uint32_t>(value.size());
  text.head = head;
}

void GroupTable::begin_merge(const GroupTable& later) {
  for (size_t i = 0; i < states_.size(); ++i) {
    if (!later.states_[i].nulls.empty() && states_[i].nulls.empty()) states_[i].nulls.resize(end_);
    if (!later.states_[i].huge.empty() && states_[i].huge.empty()) states_[i].huge.resize(end_);
  }
}

uint32_t GroupTable::find_key(std::span<const uint64_t> key, uint64_t hash) const {
  if (is_of_one_value()) {
    if (key[1] != 0) return null_group_;
    return key[0] < by_value_.size() ? by_value_[key[0]] : 0;
  }
  const size_t mask = slots_.size() - 1;
  for (size_t slot = hash & mask; slots_[slot] != 0; slot = (slot + 1) & mask) {
    if ((slots_[slot] ^ hash) >> 32 != 0) continue;
    const auto group = static_cast<uint32_t>(slots_[slot]);
    if (has_key(group, key)) return group;
  }
  return 0;
}

void GroupTable::add_group_of(const GroupTable& later, uint32_t group, uint32_t to) {
  if (counts_rows_) rows_of_[to] += later.rows_of_[group];
  for (size_t i = 0; i < states_.size(); ++i) {
    State& state = states_[i];
    const State& from = later.states_[i];
    if (!from.nulls.empty()) state.nulls[to] += from.nulls[group];
    if (!state.sums.empty()) state.sums[to] += from.sums[group];
    if (!from.huge.empty()) state.huge[to] += from.huge[group];
    if (!state.bests.empty())
      state.bests[to] = joined_bests(plan_->aggregates[i].wanted.kind, state.bests[to], from.bests[group]);
    if (state.texts.empty()) continue;
    const Text& text = from.texts[group];
    if (text.bytes != nullptr && is_better(i, text.head, {text.bytes, text.size}, state.texts[to]))
      state.texts[to] = text;
  }
}

size_t GroupTable::groups_left() const {
  return end_ - 1 - static_cast<size_t>(std::ranges::count(gone_, 1));
}

bool GroupTable::has_pairs() const {
  return std::ranges::any_of(states_, [](const State& state) {
    return state.distinct != nullptr && (state.distinct->pairs() != 0 || !state.apart.empty());
  });
}

size_t GroupTable::pairs() const {
  size_t pairs = 0;
  for (const State& state : states_) {
    if (state.distinct != nullptr) pairs += state.distinct->pairs();
  }
  return pairs;
}

void GroupTable::clear_pairs() {
  for (State& state : states_) {
    if (state.distinct == nullptr) continue;
    state.distinct->clear();
    state.apart.clear();
    if (state.values != nullptr) state.values->clear();
    state.dictionary.reset();
  }
}

/// Groups get new numbers.
void GroupTable::forget_dictionaries() {
  for (State& state : states_) {
    state.dictionary.reset();
    state.best_ranks.clear();
  }
  coded_.reset();
}

void GroupTable::clear() {
  clear_pairs();
  forget_dictionaries();
  for (KeyColumn& column : columns_) {
    if (column.values != nullptr) column.values->clear();
    column.dictionary.reset();
  }
  std::ranges::fill(slots_, 0);
  by_value_.clear();
  null_group_ = 0;
  direct_.clear();
  tuple_dictionaries_.clear();
  texts_->clear();
  of_rows_ = false;
  end_ = 0;
  first_ = 1;
  keys_.clear();
  hashes_.clear();
  each_array([](auto& array, const auto&...) { array.clear(); });
  begin();
}

void GroupTable::forget() {
  first_ = end_;
  std::ranges::fill(slots_, 0);
  null_group_ = 0;
  for (KeyColumn& column : columns_) {
    if (column.values != nullptr) column.values->forget();
  }
}

void GroupTable::drop() {
  forget_dictionaries();
  end_ = first_;
  keys_.resize(end_ * stride_);
  hashes_.resize(end_);
  make_states();
  forget();
}

bool GroupTable::groups_follow_records() const {
  return std::ranges::none_of(
      states_, [](const State& state) { return !state.reals.empty() || !state.spreads.empty(); });
}

void GroupTable::reserve(size_t groups) {
  keys_.reserve(groups * stride_);
  hashes_.reserve(groups);
  if (is_of_one_value()) by_value_.reserve(groups);
  for (KeyColumn& column : columns_) {
    if (column.values != nullptr) column.values->reserve(column.values->size() * (groups / end_ + 1));
  }
  each_array([&](auto& array, const auto&... first) {
    if constexpr (requires { array.reserve(groups, first...); }) {
      array.reserve(groups, first...);
    } else {
      array.reserve(groups);
    }
  });
}

void GroupTable::finish() {
  slots_ = {};
  hashes_ = {};
  by_value_ = {};
  for (KeyColumn& column : columns_) {
    if (column.values != nullptr) column.values->finish();
  }
  for (State& state : states_) {
    state.distinct.reset();
    state.values.reset();
  }
}

size_t GroupTable::memory() const {
  size_t bytes = memory_of(slots_) + memory_of(by_value_) + memory_of(keys_) + memory_of(hashes_) +
                 memory_of(rows_of_) + memory_of(by_code_) + memory_of(code_rows_) + memory_of(direct_) +
                 memory_of(by_tuple_) + texts_->bytes();
  for (const KeyColumn& column : columns_) {
    bytes += memory_of(column.codes);
    if (column.values != nullptr) bytes += column.values->memory();
  }
  for (const State& state : states_) {
    bytes += memory_of(state.counts) + memory_of(state.nulls) + memory_of(state.best_ranks) +
             memory_of(state.bests) + memory_of(state.sums) + memory_of(state.texts) +
             memory_of(state.heads) + memory_of(state.huge) + state.reals.memory() + state.spreads.memory() +
             memory_of(state.apart);
    if (state.distinct != nullptr) bytes += state.distinct->memory();
    if (state.values != nullptr) bytes += state.values->memory();
  }
  return bytes;
}

Value GroupTable::key(uint32_t group, size_t number) const {
  const uint64_t* const key = keys_.data() + group * stride_;
  if ((key[columns_.size()] >> number & 1) != 0) return {};
  if (columns_[number].integer) return Value::of(key[number]);
  return Value::of(columns_[number].values->value(static_cast<uint32_t>(key[number])));
}

void GroupTable::read_keys(size_t number, std::span<const uint32_t> groups, ColumnVector& to) const {
  const KeyColumn& column = columns_[number];
  to.any_nulls = false;
  to.nulls.resize(groups.size());
  if (column.integer) {
    to.integers.resize(groups.size());
  } else {
    to.bytes.resize(groups.size());
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    const uint64_t* const key = keys_.data() + groups[i] * stride_;
    const bool is_null = (key[columns_.size()] >> number & 1) != 0;
    to.nulls[i] = is_null ? 1 : 0;
    to.any_nulls |= is_null;
    if (column.integer) {
      to.integers[i] = key[number];
    } else {
      to.bytes[i] = is_null ? ByteView() : column.values->value(static_cast<uint32_t>(key[number]));
    }
  }
}

WideInteger GroupTable::integer_sum(uint32_t group, size_t aggregate) const {
  const ScanColumn& column = plan_->aggregates[aggregate].column;
  const WideInteger sum = states_[aggregate].sums[group];
  if (!column.integer || column.type != Type::Signed) return sum;
  // The order of signed numbers has their sign bit flipped.
  return sum - (static_cast<WideInteger>(count(group, aggregate)) << (8 * column.width - 1));
}

AggregateResult GroupTable::result(uint32_t group, size_t aggregate) const {
  const auto& item = plan_->aggregates[aggregate];
  const State& state = states_[aggregate];
  AggregateResult result;
  result.count = count(group, aggregate);
  if (!state.bests.empty()) result.integer = state.bests[group];
  if (!state.texts.empty()) result.bytes.assign(state.texts[group].bytes, state.texts[group].size);
  if (!state.huge.empty()) result.huge_sum = state.huge[group];
  if (!state.reals.empty()) {
    result.real_sum = state.reals.result(group);
    if (plan_->keeps_states) state.reals.append_to(result.bytes, group);
  }
  if (!state.spreads.empty() && result.count != 0) {
    result.spread = state.spreads.result(group, result.count);
    if (plan_->keeps_states) state.spreads.append_to(result.bytes, group);
  }
  if (!state.sums.empty()) {
    result.integer_sum = integer_sum(group, aggregate);
    if (item.column.may_be_huge) result.huge_sum += HugeInteger::of(result.integer_sum);
  }
  return result;
}

}  // namespace hailstone

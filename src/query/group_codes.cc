// Rows of groups of one column of codes, while they are counted, and their texts compared, by these codes.
#include <algorithm>
#include <array>

#include "query/group_table.h"

namespace hailstone {

namespace {

using Kind = Aggregate::Kind;

/// A dictionary must have no more values than this for each row of the batch that comes first: all of them
/// are looked at when another dictionary comes.
constexpr uint32_t most_codes_of_row = 8;
/// Counters of codes have 32 bits.
constexpr uint64_t most_coded_rows = uint64_t{1} << 31;
/// So many codes become groups at once.
constexpr size_t codes_at_once = 1024;

bool is_best(Kind kind) { return kind == Kind::Minimum || kind == Kind::Maximum; }

}  // namespace

bool GroupTable::can_add_codes() const {
  return is_of_one_value() && std::ranges::all_of(plan_->aggregates, [](const GroupingPlan::Item& item) {
           const Kind kind = item.wanted.kind;
           const bool of_texts = is_best(kind) && !item.column.integer;
           return !item.wanted.distinct && (kind == Kind::Rows || kind == Kind::Values || of_texts);
         });
}

bool GroupTable::can_add_codes(const RowBatch& batch) const {
  const ColumnVector& key = *batch.columns[plan_->keys.front().position];
  if (key.dictionary == nullptr || key.any_nulls) return false;
  if (coded_ != key.dictionary && key.dictionary->size() > uint64_t{batch.rows} * most_codes_of_row)
    return false;
  return std::ranges::all_of(plan_->aggregates, [&](const GroupingPlan::Item& item) {
    if (item.wanted.kind == Kind::Rows) return true;
    const ColumnVector& vector = *batch.columns[item.wanted.position];
    if (vector.any_nulls) return false;
    return item.wanted.kind == Kind::Values ||
           (vector.dictionary != nullptr && vector.dictionary->has_order_of(*item.column.collation));
  });
}

bool GroupTable::add_codes(const RowBatch& batch) {
  if (!adds_codes_ || !can_add_codes(batch)) return false;
  const ColumnVector& key = *batch.columns[plan_->keys.front().position];
  bool same = coded_ == key.dictionary && coded_rows_ + batch.rows <= most_coded_rows;
  for (size_t i = 0; same && i < states_.size(); ++i) {
    const Aggregate& wanted = plan_->aggregates[i].wanted;
    same = !is_best(wanted.kind) || states_[i].dictionary == batch.columns[wanted.position]->dictionary;
  }
  if (!same) {
    leave_codes();
    coded_ = key.dictionary;
    coded_rows_ = 0;
    code_rows_.assign(coded_->size(), 0);
  }
  const uint32_t* const codes = key.codes.data();
  uint32_t* const counts = code_rows_.data();
  for (uint32_t row = 0; row < batch.rows; ++row) ++counts[codes[row]];
  coded_rows_ += batch.rows;
  for (size_t i = 0; i < states_.size(); ++i) {
    const Aggregate& wanted = plan_->aggregates[i].wanted;
    if (!is_best(wanted.kind)) continue;
    State& state = states_[i];
    const ColumnVector& vector = *batch.columns[wanted.position];
    if (!same) {
      state.dictionary = vector.dictionary;
      state.heads.clear();
      state.dictionary_rows = 0;
      state.best_ranks.assign(coded_->size(), 0);
    }
    state.dictionary_rows += batch.rows;
    take_best_ranks(i, vector, codes, batch.rows);
  }
  return true;
}

void GroupTable::settle_codes() {
  if (coded_ == nullptr) return;
  std::array<uint32_t, codes_at_once> met;
  size_t size = 0;
  for (uint32_t code = 0; code < code_rows_.size(); ++code) {
    if (code_rows_[code] == 0) continue;
    met[size++] = code;
    if (size < met.size()) continue;
    settle_some_codes(met);
    size = 0;
  }
  settle_some_codes({met.data(), size});
  for (State& state : states_) state.best_ranks.clear();
  coded_.reset();
}

void GroupTable::settle_some_codes(std::span<const uint32_t> codes) {
  new_values_.clear();
  for (const uint32_t code : codes) new_values_.push_back(coded_->value(code));
  find_numbers(*columns_.front().values, /*apart=*/false);
  groups_.resize(codes.size());
  key_[1] = 0;
  for (size_t i = 0; i < codes.size(); ++i) {
    key_[0] = new_numbers_[i];
    groups_[i] = group_of_value(new_hashes_[i]);
  }
  make_states();
  if (counts_rows_) {
    for (size_t i = 0; i < codes.size(); ++i) rows_of_[groups_[i]] += code_rows_[codes[i]];
  }
  for (size_t aggregate = 0; aggregate < states_.size(); ++aggregate) {
    if (!is_best(plan_->aggregates[aggregate].wanted.kind)) continue;
    State& state = states_[aggregate];
    // First a look at all, so that their memory is waited for at once.
    for (size_t i = 0; i < codes.size(); ++i) {
      new_values_[i] = text_of_rank(aggregate, state.best_ranks[codes[i]]);
      __builtin_prefetch(new_values_[i].data());
      __builtin_prefetch(state.texts[groups_[i]].bytes);
    }
    for (size_t i = 0; i < codes.size(); ++i) settle_text(aggregate, groups_[i], new_values_[i]);
  }
}

}  // namespace hailstone

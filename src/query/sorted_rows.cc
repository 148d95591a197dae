#include "query/sorted_rows.h"

#include <algorithm>
#include <deque>
#include <numeric>

#include "base/check.h"
#include "query/pipeline.h"
#include "query/sort_by_runs.h"
#include "query/value_order.h"

namespace hailstone {

namespace {

constexpr size_t most_rows_of_window = 256;
/// A window with more is followed by smaller ones.
constexpr size_t bytes_of_window = size_t{1} << 20;
constexpr uint64_t unknown_head_of_code = ~uint64_t{0};

}  // namespace

Result<std::unique_ptr<SortedRows>> SortedRows::make(std::unique_ptr<RowBatches> rows, Wanted wanted,
                                                     unsigned threads) {
  HAILSTONE_CHECK(!wanted.order.empty() && wanted.most != 0, "{} rows are wanted in an order of {} columns",
                  wanted.most, wanted.order.size());
  if (wanted.values == Values::AtPlaces) rows->add_places(wanted.columns);
  const bool counts = wanted.counts;
  std::unique_ptr<SortedRows> sorted(
      new SortedRows(std::move(rows), std::move(wanted), std::max(1U, threads)));
  for (const RowOrder& by : sorted->order_) {
    HAILSTONE_ASSIGN(const ScanColumn column, sorted->rows_->column(by.position));
    sorted->columns_.push_back(column);
  }
  const RowOrder& first = sorted->order_.front();
  if (!counts && sorted->columns_.front().integer)
    sorted->bound_ = sorted->rows_->add_bound(first.position, first.descending);
  return sorted;
}

Value SortedRows::key(const RowBatch& batch, uint32_t row, size_t number) const {
  Value value = batch.columns[order_[number].position]->value(row);
  if (columns_[number].integer && !value.null) value.integer = Zeros(columns_[number]).one(value.integer);
  return value;
}

bool SortedRows::precedes(const RowBatch& batch, uint32_t row, const Row& other) const {
  for (size_t i = 0; i < order_.size(); ++i) {
    const int order = compare_values(columns_[i], key(batch, row, i), other.values[i]);
    if (order != 0) return (order < 0) != order_[i].descending;
  }
  return false;
}

bool SortedRows::precedes(const Row& left, const Row& right) const {
  if (left.head != right.head) return left.head < right.head;
  for (size_t i = 0; i < order_.size(); ++i) {
    const int order = compare_values(columns_[i], left.values[i], right.values[i]);
    if (order != 0) return (order < 0) != order_[i].descending;
  }
  return false;
}

/// NULL is 0; so is no other value, but two values may have the same head.
void SortedRows::find_heads(Part& part, const ColumnVector& vector, uint32_t rows) const {
  const ScanColumn& column = columns_.front();
  part.heads.resize(rows);
  uint64_t* const heads = part.heads.data();
  if (column.integer) {
    const Zeros zeros(column);
    const uint64_t* const numbers = vector.integers.data();
    for (uint32_t row = 0; row < rows; ++row) heads[row] = std::max<uint64_t>(zeros.one(numbers[row]), 1);
  } else {
    const auto head = [&](ByteView value) {
      return std::max<uint64_t>(head_of(*column.collation, value, part.weights), 1);
    };
    if (vector.dictionary == nullptr) {
      for (uint32_t row = 0; row < rows; ++row)
        heads[row] = vector.is_null(row) ? 0 : head(vector.bytes[row]);
    } else {
      if (part.dictionary != vector.dictionary) {
        part.dictionary = vector.dictionary;
        part.heads_of_codes.assign(vector.dictionary->size(), unknown_head_of_code);
      }
      for (uint32_t row = 0; row < rows; ++row) {
        if (vector.is_null(row)) continue;
        uint64_t& known = part.heads_of_codes[vector.codes[row]];
        if (known == unknown_head_of_code) known = head(vector.dictionary->value(vector.codes[row]));
        heads[row] = known;
      }
    }
  }
  if (vector.any_nulls) {
    for (uint32_t row = 0; row < rows; ++row) heads[row] = vector.nulls[row] != 0 ? 0 : heads[row];
  }
  if (!order_.front().descending) return;
  for (uint32_t row = 0; row < rows; ++row) heads[row] = ~heads[row];
}

void SortedRows::take(Part& part, const RowBatch& batch) const {
  part.rows_met += batch.rows;
  find_heads(part, *batch.columns[order_.front().position], batch.rows);
  const auto later = [this](const Row& left, const Row& right) { return precedes(left, right); };
  for (uint32_t row = 0; row < batch.rows; ++row) {
    const bool full = part.rows.size() == most_;
    if (full) {
      const Row& last = part.rows.front();
      if (part.heads[row] > last.head) continue;
      if (part.heads[row] == last.head && !precedes(batch, row, last)) continue;
    }
    Row& taken = part.spare;
    taken.head = part.heads[row];
    taken.values.clear();
    for (size_t i = 0; i < order_.size(); ++i) taken.values.push_back(key(batch, row, i));
    if (has_places_) {
      taken.place = batch.columns.back()->integers[row];
    } else {
      for (const uint16_t position : shown_) taken.values.push_back(batch.columns[position]->value(row));
    }
    taken.copy_bytes();
    if (full) {
      std::ranges::pop_heap(part.rows, later);
      part.bytes -= part.rows.back().bytes.capacity();
      std::swap(part.rows.back(), taken);
    } else {
      part.rows.push_back(std::move(taken));
    }
    part.bytes += part.rows.back().bytes.capacity();
    if (part.rows.size() == most_) {
      if (full) {
        std::ranges::push_heap(part.rows, later);
      } else {
        std::ranges::make_heap(part.rows, later);
      }
      tighten(part.rows.front().values.front());
    }
  }
}

/// No row is wanted whose first value of the order lies behind that of a last row.
void SortedRows::tighten(const Value& last) const {
  if (bound_ == nullptr || last.null) return;
  const Zeros zeros(columns_.front());
  const bool zero = last.integer == zeros.plus && order_.front().descending;
  bound_->tighten(zero ? zeros.minus : last.integer);
}

void SortedRows::Row::copy_bytes() {
  bytes.clear();
  for (const Value& value : values) bytes.insert(bytes.end(), value.bytes.begin(), value.bytes.end());
  const char* from = bytes.data();
  for (Value& value : values) {
    value.bytes = {from, value.bytes.size()};
    from += value.bytes.size();
  }
}

/// Each thread keeps its first rows; the first of all are found in the end.
class SortedRows::Choosing final : public Sink {
 public:
  explicit Choosing(SortedRows& all) : all_(all), parts_(all.threads_) {
    for (unsigned i = 0; i < all.threads_; ++i)
      reserved_.emplace_back(all.rows_->host().budget(), all.counts_);
  }

  Status consume(unsigned number, const RowBatch& batch, const GoOn&) override {
    Part& part = parts_[number];
    all_.take(part, batch);
    const size_t values = all_.order_.size() + (all_.has_places_ ? 0 : all_.shown_.size());
    const size_t bytes = part.rows.size() * (sizeof(Row) + values * sizeof(Value)) + part.bytes;
    OperatorMemory& reserved = reserved_[number];
    if (bytes > reserved.bytes()) reserved.grow(bytes - reserved.bytes());
    return {};
  }
  Status finish() override {
    const OperatorWork work(all_.counts_);
    std::vector<Row>& first = all_.first_;
    for (Part& part : parts_) {
      all_.rows_met_ += part.rows_met;
      std::ranges::move(part.rows, std::back_inserter(first));
      part.rows.clear();
    }
    const auto before = [this](const Row& left, const Row& right) { return all_.precedes(left, right); };
    HAILSTONE_TRY(sort_by_runs(first, before, [this] { return all_.rows_->host().check_interruption(); }));
    if (first.size() > all_.most_) first.resize(all_.most_);
    work.add_rows(0, first.size());
    size_t bytes = first.capacity() * sizeof(Row);
    for (const Row& row : first) bytes += row.values.capacity() * sizeof(Value) + row.bytes.capacity();
    all_.memory_.grow(bytes);
    return {};
  }
  OperatorCounts* counts() const override { return all_.counts_; }

 private:
  SortedRows& all_;
  std::deque<Part> parts_;
  std::vector<OperatorMemory> reserved_;
};

Status SortedRows::fill_window() {
  const OperatorWork work(counts_);
  HAILSTONE_TRY(rows_->host().check_interruption());
  window_first_ = at_;
  window_rows_ = std::min(window_size_, first_.size() - at_);
  window_values_.resize(window_rows_ * shown_.size());
  window_bytes_.clear();
  std::array<uint16_t, most_rows_of_window> by_place{};
  const std::span<uint16_t> numbers(by_place.data(), window_rows_);
  std::iota(numbers.begin(), numbers.end(), uint16_t{0});
  std::ranges::sort(numbers, {}, [this](uint16_t number) { return first_[window_first_ + number].place; });
  for (const uint16_t number : numbers) {
    const std::span<Value> values(window_values_.data() + number * shown_.size(), shown_.size());
    HAILSTONE_TRY(rows_->read_place(first_[window_first_ + number].place, values));
    for (Value& value : values) value.bytes = window_bytes_.copy(value.bytes);
  }
  window_size_ = window_bytes_.bytes() > bytes_of_window ? std::max<size_t>(window_size_ / 4, 1)
                                                         : std::min(window_size_ * 2, most_rows_of_window);
  return {};
}

Result<bool> SortedRows::next() {
  if (collected_) {
    ++at_;
  } else {
    Choosing choosing(*this);
    HAILSTONE_TRY(run(*rows_, threads_, choosing));
    collected_ = true;
  }
  if (at_ >= first_.size()) return false;
  if (has_places_ && at_ >= window_first_ + window_rows_) HAILSTONE_TRY(fill_window());
  return true;
}

}  // namespace hailstone

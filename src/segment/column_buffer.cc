#include "segment/column_buffer.h"

#include <algorithm>

namespace hailstone {

namespace {

// What the first value of a column makes room for.
constexpr size_t least_values = 64;
constexpr size_t least_text = 256;  // bytes

size_t scaled(size_t size, double times) { return static_cast<size_t>(static_cast<double>(size) * times); }

}  // namespace

ColumnBuffer::ColumnBuffer(StoredColumn column, MemoryBudget& budget) : column_(column), memory_(budget) {}

size_t ColumnBuffer::memory() const {
  return (integers_.capacity() + ends_.capacity() + nulls_.capacity()) * sizeof(uint64_t) + text_capacity();
}

void ColumnBuffer::charge() {
  const size_t held = memory();
  if (held > memory_.bytes()) memory_.grow(held - memory_.bytes());
}

void ColumnBuffer::grow_integers() {
  integers_.reserve(std::max(least_values, integers_.capacity() * 2));
  charge();
}

void ColumnBuffer::grow_ends() {
  ends_.reserve(std::max(least_values, ends_.capacity() * 2));
  charge();
}

void ColumnBuffer::grow_text(size_t by) {
  set_text_capacity(std::max({least_text, text_capacity() * 2, text_size_ + by}));
  charge();
}

void ColumnBuffer::set_text_capacity(size_t capacity) {
  PageBytes bigger = make_page_bytes(capacity);
  if (text_size_ != 0) std::memcpy(bigger.get(), text_.get(), text_size_);
  text_ = std::move(bigger);
}

void ColumnBuffer::append_null() {
  if (column_.integer) {
    if (integers_.size() == integers_.capacity()) grow_integers();
    integers_.push_back(0);
  } else {
    if (ends_.size() == ends_.capacity()) grow_ends();
    ends_.push_back(text_size_);
  }
  if (nulls_.size() <= rows_ / 64) {
    nulls_.resize(rows_ / 64 + 1);
    charge();
  }
  nulls_[rows_ / 64] |= uint64_t{1} << (rows_ % 64);
  ++rows_;
}

size_t ColumnBuffer::missing_for(double times) const {
  const auto missing = [&](size_t size, size_t there) {
    return std::max(scaled(size, times), there) - there;
  };
  return (missing(integers_.size(), integers_.capacity()) + missing(ends_.size(), ends_.capacity())) *
             sizeof(uint64_t) +
         missing(text_size_, text_capacity());
}

void ColumnBuffer::reserve_times(double times) {
  integers_.reserve(scaled(integers_.size(), times));
  ends_.reserve(scaled(ends_.size(), times));
  if (scaled(text_size_, times) > text_capacity()) set_text_capacity(scaled(text_size_, times));
  charge();
}

void ColumnBuffer::clear() {
  rows_ = 0;
  integers_.clear();
  ends_.clear();
  text_size_ = 0;
  nulls_.clear();
}

}  // namespace hailstone

#include "segment/column_buffer.h"

namespace hailstone {

ColumnBuffer::ColumnBuffer(StoredColumn column, MemoryBudget& budget) : column_(column), memory_(budget) {}

size_t ColumnBuffer::memory() const {
  return (integers_.capacity() + ends_.capacity() + nulls_.capacity()) * sizeof(uint64_t) + text_.capacity();
}

void ColumnBuffer::charge() {
  const size_t held = memory();
  if (held > memory_.bytes()) memory_.grow(held - memory_.bytes());
}

void ColumnBuffer::append_integer(uint64_t value) {
  const bool full = integers_.size() == integers_.capacity();
  integers_.push_back(value);
  append_not_null();
  if (full) charge();
}

void ColumnBuffer::append_bytes(ByteView value) {
  const bool full = ends_.size() == ends_.capacity() || text_.capacity() - text_.size() < value.size();
  text_.insert(text_.end(), value.begin(), value.end());
  ends_.push_back(text_.size());
  append_not_null();
  if (full) charge();
}

void ColumnBuffer::append_null() {
  if (column_.integer) {
    integers_.push_back(0);
  } else {
    ends_.push_back(text_.size());
  }
  nulls_.resize(rows_ / 64 + 1);
  nulls_[rows_ / 64] |= uint64_t{1} << (rows_ % 64);
  ++rows_;
  charge();
}

void ColumnBuffer::append_not_null() {
  if (!nulls_.empty() && nulls_.size() <= rows_ / 64) nulls_.resize(rows_ / 64 + 1);
  ++rows_;
}

uint64_t ColumnBuffer::raw_bytes() const { return column_.integer ? rows_ * column_.width : text_.size(); }

void ColumnBuffer::clear() {
  rows_ = 0;
  integers_.clear();
  ends_.clear();
  text_.clear();
  nulls_.clear();
}

}  // namespace hailstone

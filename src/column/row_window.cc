#include "column/row_window.h"

#include <algorithm>
#include <numeric>

namespace hailstone {

namespace {

/// So few rows of a block are read one by one: to read them together would take longer to prepare. Scaled
/// numbers are made of many at once only.
size_t few_rows(const Projection& projection) {
  return std::ranges::any_of(projection.columns(), is_scaled) ? 0 : 4;
}

}  // namespace

RowWindow::RowWindow(std::shared_ptr<const TableLayout> layout, std::vector<uint16_t> columns)
    : own_(std::make_unique<const Projection>(std::move(layout), std::move(columns))),
      projection_(*own_),
      few_rows_(few_rows(projection_)) {}

RowWindow::RowWindow(const Projection& projection)
    : projection_(projection), few_rows_(few_rows(projection_)) {}

uint32_t RowWindow::good_rows(const Segment& segment) {
  constexpr uint64_t bytes_at_once = 256 << 10;
  const uint64_t row_bytes = std::max<uint64_t>(1, segment.unpacked_bytes() / segment.rows());
  return static_cast<uint32_t>(std::clamp<uint64_t>(bytes_at_once / row_bytes, 1, batch_rows));
}

Status RowWindow::read(BlockReader& reader, std::span<const uint32_t> ordinals) {
  const size_t columns = projection_.columns().size();
  by_ordinal_.resize(ordinals.size());
  std::iota(by_ordinal_.begin(), by_ordinal_.end(), 0U);
  const bool ascending = std::ranges::is_sorted(ordinals);
  if (!ascending) {
    std::ranges::sort(by_ordinal_, [&](uint32_t a, uint32_t b) { return ordinals[a] < ordinals[b]; });
  }
  in_batch_ = ascending && ordinals.size() > few_rows_ &&
              ordinals.front() / block_rows == ordinals.back() / block_rows;
  if (!in_batch_) {
    copied_.resize(ordinals.size() * columns);
    copied_bytes_.clear();
  }
  in_block_.reserve(ordinals.size());
  for (size_t first = 0; first < ordinals.size();) {
    const uint32_t block = ordinals[by_ordinal_[first]] / block_rows;
    in_block_.clear();
    size_t last = first;
    for (; last < ordinals.size() && ordinals[by_ordinal_[last]] / block_rows == block; ++last) {
      in_block_.push_back(static_cast<uint16_t>(ordinals[by_ordinal_[last]] % block_rows));
    }
    if (last - first <= few_rows_) {
      for (size_t row = first; row < last; ++row) {
        Value* const to = copied_.data() + by_ordinal_[row] * columns;
        HAILSTONE_TRY(read_one(reader, ordinals[by_ordinal_[row]], {to, columns}));
      }
      first = last;
      continue;
    }
    HAILSTONE_TRY(projection_.read(reader, block, in_block_, batch_));
    if (in_batch_) return {};
    for (size_t row = first; row < last; ++row) {
      Value* const to = copied_.data() + by_ordinal_[row] * columns;
      for (size_t i = 0; i < columns; ++i) {
        to[i] = batch_.columns[i].value(row - first);
        to[i].bytes = copied_bytes_.copy(to[i].bytes);
      }
    }
    first = last;
  }
  batch_.clear();
  return {};
}

Status RowWindow::read_one(BlockReader& reader, uint32_t ordinal, std::span<Value> to) {
  if (scratch_.bytes() != 0) scratch_.clear();
  HAILSTONE_TRY(Projection::read_values(reader, projection_.columns(), ordinal, scratch_, to));
  for (Value& value : to) value.bytes = copied_bytes_.copy(value.bytes);
  return {};
}

void RowWindow::values(size_t row, std::span<Value> to) const {
  if (in_batch_) {
    for (size_t i = 0; i < to.size(); ++i) to[i] = batch_.columns[i].value(row);
    return;
  }
  std::copy_n(copied_.begin() + static_cast<std::ptrdiff_t>(row * to.size()), to.size(), to.begin());
}

}  // namespace hailstone

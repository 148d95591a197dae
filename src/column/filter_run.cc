// Evaluates a compiled predicate on the encoded columns of one block.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "column/filter_node.h"
#include "column/runtime_filter.h"
#include "segment/bit_packing.h"

namespace hailstone {

namespace {

using Kind = FilterNode::Kind;

// Values gathered at once where they have to be looked at one by one: few enough that they stay in the cache
// and that large values do not fill the memory, many enough that a compressed frame is seldom opened twice.
constexpr size_t gathered_rows = 1024;
// Fewer rows of a packing unit than this are gathered, as decoding it would cost more.
constexpr uint32_t few_rows_of_unit = 64;
// So many values are looked for one by one where the rows are in their order: decoding all costs as much.
constexpr size_t most_searches = 64;

void subtract(BlockBitmap& from, const BlockBitmap& what) {
  for (size_t i = 0; i < BlockBitmap::words; ++i) from.bits[i] &= ~what.bits[i];
}

/// Of a block whose values rise, those that have one of the numbers, which rise, too.
BlockBitmap rows_with(std::span<const uint64_t> numbers, const Block& block) {
  BlockBitmap found;
  found.clear();
  uint32_t row = 0;
  for (const uint64_t number : numbers) {
    row = block.lower_bound(row, block.rows(), number);
    const uint32_t behind =
        number == ~uint64_t{0} ? block.rows() : block.lower_bound(row, block.rows(), number + 1);
    for (; row < behind; ++row) found.bits[row / 64] |= uint64_t{1} << (row % 64);
  }
  return found;
}

void clear_row(BlockBitmap& bitmap, uint32_t row) { bitmap.bits[row / 64] &= ~(uint64_t{1} << (row % 64)); }

}  // namespace

Status FilterRun::apply(const FilterNode& node, BlockBitmap& rows) {
  switch (node.kind) {
    case Kind::And:
      return apply_and(node, rows);
    case Kind::Or:
      return apply_or(node, rows);
    case Kind::Grouped:
      return apply_grouped(node, rows);
    default:
      break;
  }
  switch (block_outcome(node, columns_.segment(), block_)) {
    case BlockOutcome::All:
      count(counters_.blocks_skipped);
      return {};
    case BlockOutcome::None:
      count(counters_.blocks_skipped);
      rows.clear();
      return {};
    case BlockOutcome::Some:
      break;
  }
  if (node.kind == Kind::Numbers && !node.filter->pays_for(block_)) return {};
  HAILSTONE_ASSIGN(const BlockReader::Pinned pinned, reader_.block(node.position, block_));
  const Block* const block = pinned.block.get();
  BlockBitmap matching;
  switch (node.kind) {
    case Kind::Integers:
      if (apply_ranges_to_few(node, *block, rows)) return {};
      block->select_ranges(node.ranges, matching);
      break;
    case Kind::Numbers:
      apply_filter(node, *block, rows);
      return {};
    case Kind::CodeRanges:
    case Kind::Codes:
      // A block of a dictionary column may hold its values themselves.
      if (!block->has_codes()) return apply_test(node, pinned, rows);
      if (node.kind == Kind::CodeRanges) {
        block->select_code_ranges(node.ranges, matching);
      } else {
        block->select_codes(node.codes, matching);
      }
      break;
    case Kind::Null:
      block->nulls(matching);
      break;
    case Kind::NotNull:
      block->nulls(matching);
      subtract(rows, matching);
      return {};
    default:
      return apply_test(node, pinned, rows);
  }
  rows.intersect(matching);
  return {};
}

Status FilterRun::apply_and(const FilterNode& node, BlockBitmap& rows) {
  for (const auto& part : node.parts) {
    HAILSTONE_TRY(apply(part, rows));
    if (rows.none()) break;
  }
  return {};
}

Status FilterRun::apply_or(const FilterNode& node, BlockBitmap& rows) {
  BlockBitmap undecided = rows;
  rows.clear();
  for (const auto& part : node.parts) {
    BlockBitmap matching = undecided;
    HAILSTONE_TRY(apply(part, matching));
    rows.unite(matching);
    subtract(undecided, matching);
    if (undecided.none()) break;
  }
  return {};
}

/// Looks at the numbers of few rows one by one; false: they are more.
bool FilterRun::apply_ranges_to_few(const FilterNode& node, const Block& block, BlockBitmap& rows) {
  if (rows.count() >= few_rows_of_unit) return false;
  UnclearedVector<uint16_t> chosen;
  rows.append_rows(0, block.rows(), chosen);
  std::array<uint64_t, few_rows_of_unit> numbers;
  block.gather_integers(chosen, numbers.data());
  BlockBitmap nulls;
  if (block.has_nulls()) block.nulls(nulls);
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (!in_ranges(node.ranges, numbers[i]) || (block.has_nulls() && nulls.test(chosen[i])))
      clear_row(rows, chosen[i]);
  }
  return true;
}

void FilterRun::apply_filter(const FilterNode& node, const Block& block, BlockBitmap& rows) {
  const NumberFilter& filter = *node.filter;
  const uint32_t before = rows.count();
  if (node.is_in_order && filter.is_listed()) {
    const auto wanted = filter.listed_between(block.integer(0), block.integer(block.rows() - 1));
    if (wanted.size() <= most_searches) {
      rows.intersect(rows_with(wanted, block));
      filter.note(before, rows.count());
      return;
    }
  }
  if (block.has_nulls()) {
    BlockBitmap nulls;
    block.nulls(nulls);
    subtract(rows, nulls);
  }
  constexpr size_t words = packing_unit / 64;
  std::array<uint64_t, packing_unit> numbers;
  UnclearedVector<uint16_t> chosen;
  for (uint32_t first = 0; first < block.rows(); first += packing_unit) {
    uint64_t* const bits = rows.bits + first / 64;
    uint32_t here = 0;
    for (size_t word = 0; word < words; ++word) here += static_cast<uint32_t>(std::popcount(bits[word]));
    if (here == 0) continue;
    if (here >= few_rows_of_unit) {
      const uint32_t count = std::min(packing_unit, block.rows() - first);
      block.integers(first, count, numbers.data());
      filter.select(numbers.data(), count, bits);
      continue;
    }
    chosen.clear();
    rows.append_rows(first, first + packing_unit, chosen);
    block.gather_integers(chosen, numbers.data());
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (!filter.may_have(numbers[i])) clear_row(rows, chosen[i]);
    }
  }
  filter.note(before, rows.count());
}

Status FilterRun::apply_test(const FilterNode& node, const BlockReader::Pinned& pinned, BlockBitmap& rows) {
  if (node.test->is_for_dictionaries()) return {};
  const Block& block = *pinned.block;
  if (block.has_nulls()) {
    BlockBitmap nulls;
    block.nulls(nulls);
    subtract(rows, nulls);
  }
  if (takes_all_values(node, columns_.segment(), block_)) return {};
  if (const auto ranges = node.test->ranges(); block.decimal().any() && !ranges.empty()) {
    BlockBitmap matching;
    block.select_packed(ranges, matching);
    rows.intersect(matching);
    return {};
  }
  UnclearedVector<uint16_t> numbers;
  rows.append_rows(0, block.rows(), numbers);
  std::array<ByteView, gathered_rows> values;
  Arena scratch;
  for (size_t first = 0; first < numbers.size(); first += gathered_rows) {
    const auto chunk = std::span(numbers).subspan(first, std::min(gathered_rows, numbers.size() - first));
    HAILSTONE_TRY(block.gather_bytes(chunk, pinned.dictionary.get(), scratch, values.data()));
    for (size_t i = 0; i < chunk.size(); ++i) {
      if (!node.test->matches(values[i])) clear_row(rows, chunk[i]);
    }
    scratch.clear();
  }
  return {};
}

Status FilterRun::decode_groups(const BlockBitmap& rows) {
  const auto position = static_cast<size_t>(columns_.row_group());
  // Pinned by the reader as long as this run goes on, so the values may be kept.
  HAILSTONE_ASSIGN(const BlockReader::Pinned pinned, reader_.block(position, block_));
  if (groups_.empty()) {
    groups_.resize(block_rows);
    groups_decoded_.clear();
  }
  BlockBitmap missing = rows;
  subtract(missing, groups_decoded_);
  UnclearedVector<uint16_t> numbers;
  missing.append_rows(0, pinned.block->rows(), numbers);
  if (numbers.empty()) return {};
  std::vector<ByteView> groups(numbers.size());
  HAILSTONE_TRY(pinned.block->gather_bytes(numbers, pinned.dictionary.get(), group_scratch_, groups.data()));
  for (size_t i = 0; i < numbers.size(); ++i) {
    HAILSTONE_TRY(columns_.check_group(block_, numbers[i], groups[i]));
    groups_[numbers[i]] = groups[i];
  }
  groups_decoded_.unite(missing);
  return {};
}

Status FilterRun::apply_grouped(const FilterNode& node, BlockBitmap& rows) {
  HAILSTONE_TRY(decode_groups(rows));
  const TableLayout& layout = columns_.layout();
  UnclearedVector<uint16_t> scratch;
  ByteView group;
  const std::function<Value(uint16_t)> value = [&](uint16_t column) {
    return layout.group_codec().value(group, static_cast<size_t>(layout.group_position(column)));
  };
  for (const uint16_t row : rows.rows(scratch)) {
    group = groups_[row];
    if (!node.subtree->matches(value)) clear_row(rows, row);
  }
  return {};
}

}  // namespace hailstone

// Compiles a predicate for one segment, and tells from block summaries what needs no reading.
#include "column/filter_node.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "column/runtime_filter.h"

namespace hailstone {

namespace {

using Location = SegmentColumns::Location;
using Kind = FilterNode::Kind;

// Nanoseconds a row, as measured once on a machine of 2020; only their order matters.
constexpr double null_cost = 0.1;
constexpr double range_cost = 0.3;
constexpr double code_set_cost = 0.6;
constexpr double number_filter_cost = 2;
constexpr double bytes_cost = 30;
constexpr double group_cost = 100;
// More ranges than this cost more than a look into a bitmap.
constexpr size_t most_code_ranges = 3;
// A test that is only for dictionaries pays where a value has so many rows.
constexpr uint32_t rows_worth_a_test = 16;

FilterNode decided(bool always) {
  FilterNode node;
  node.kind = always ? Kind::Always : Kind::Never;
  node.share = always ? 1 : 0;
  return node;
}

bool all_grouped(const Predicate& predicate, const SegmentColumns& columns) {
  const auto used = predicate.columns();
  return !used.empty() && std::ranges::all_of(used, [&](uint16_t column) {
    return columns.location(column).kind == Location::Kind::Grouped;
  });
}

/// Whether the test's limits leave room for values between these two, with the meaning of BlockSummary.
bool limits_admit(const BytesTest::Limits& limits, const BlockSummary& summary) {
  if (limits.high && ByteView(*limits.high) < summary.low_bytes) return false;
  return ByteView(limits.low) <= summary.high_bytes || ByteView(limits.low).starts_with(summary.high_bytes);
}

BlockOutcome ranges_outcome(std::span<const IntegerRange> ranges, const BlockSummary& summary) {
  const auto range = std::ranges::lower_bound(ranges, summary.low, {}, &IntegerRange::high);
  if (range == ranges.end() || range->low > summary.high) return BlockOutcome::None;
  const bool all = summary.nulls == 0 && range->low <= summary.low && summary.high <= range->high;
  return all ? BlockOutcome::All : BlockOutcome::Some;
}

BlockOutcome codes_outcome(std::span<const uint64_t> codes, const BlockSummary& summary) {
  // The codes outside of low..high are masked away in the first and the last word.
  const size_t first = summary.low / 64, last = summary.high / 64;
  if (last >= codes.size()) return BlockOutcome::Some;  // damaged; reading the block will tell
  bool any = false, all = summary.nulls == 0;
  for (size_t word = first; word <= last; ++word) {
    uint64_t mask = ~uint64_t{0};
    if (word == first) mask &= ~uint64_t{0} << (summary.low % 64);
    if (word == last) mask &= ~uint64_t{0} >> (63 - summary.high % 64);
    any = any || (codes[word] & mask) != 0;
    all = all && (codes[word] & mask) == mask;
  }
  return !any ? BlockOutcome::None : all ? BlockOutcome::All : BlockOutcome::Some;
}

/// Codes [first, last) of a dictionary.
struct CodeSpan {
  uint32_t first = 0, last = 0;
};

/// The first of these codes whose value is past those that are `before`.
template <typename Before>
uint32_t first_behind(const Dictionary& dictionary, CodeSpan codes, const Before& before) {
  uint32_t low = codes.first, high = codes.last;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (before(dictionary.value(middle))) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// The entries between the limits.
CodeSpan codes_within(const Dictionary& dictionary, const BytesTest::Limits& limits) {
  const CodeSpan all{0, dictionary.size()};
  CodeSpan span{first_behind(dictionary, all, [&](ByteView value) { return value < limits.low; }), all.last};
  if (limits.high)
    span.last = first_behind(dictionary, all, [&](ByteView value) { return value <= *limits.high; });
  span.last = std::max(span.first, span.last);
  return span;
}

/// The first code behind `first` whose value is of another region, in the order that the dictionary has.
uint32_t end_of_region(const Dictionary& dictionary, const BytesTest& test, CodeSpan codes) {
  const size_t region = test.region(dictionary.value(codes.first));
  const auto is_of_it = [&](ByteView value) { return test.region(value) == region; };
  // Steps that double find the end of a short region near by.
  CodeSpan left{codes.first + 1, codes.last};
  for (uint32_t step = 1; step < left.last - left.first; step *= 2) {
    const uint32_t code = left.first + step;
    if (!is_of_it(dictionary.value(code))) {
      left.last = code;
    } else {
      left.first = code + 1;
    }
  }
  return first_behind(dictionary, left, is_of_it);
}

/// Sets the bits of the dictionary entries that pass the test; returns how many do.
uint32_t test_dictionary(const Dictionary& dictionary, const BytesTest& test, std::vector<uint64_t>& codes) {
  const auto limits = test.limits(), others = limits ? std::nullopt : test.limits_of_others();
  const CodeSpan all{0, dictionary.size()};
  const CodeSpan tested = limits   ? codes_within(dictionary, *limits)
                          : others ? codes_within(dictionary, *others)
                                   : all;
  // Outside of the codes that are tested, none match, or all.
  codes.assign((dictionary.size() + 63) / 64, 0);
  uint32_t matching = 0;
  const auto take = [&](uint32_t code) {
    codes[code / 64] |= uint64_t{1} << (code % 64);
    ++matching;
  };
  const bool in_order = test.order() != nullptr && dictionary.has_order_of(*test.order());
  for (uint32_t code = tested.first, next; code < tested.last; code = next) {
    next = in_order ? end_of_region(dictionary, test, {code, tested.last}) : code + 1;
    if (!test.matches(dictionary.value(code))) continue;
    for (uint32_t matched = code; matched < next; ++matched) take(matched);
  }
  if (others) {
    for (uint32_t code = 0; code < tested.first; ++code) take(code);
    for (uint32_t code = tested.last; code < all.last; ++code) take(code);
  }
  return matching;
}

/// The runs of set bits; nothing when there are more than `most`.
std::optional<std::vector<IntegerRange>> runs_of(std::span<const uint64_t> codes, uint32_t size,
                                                 size_t most) {
  std::vector<IntegerRange> runs;
  for (uint32_t code = 0; code < size; ++code) {
    if (code % 64 == 0 && codes[code / 64] == 0) {
      code += 63;
      continue;
    }
    if ((codes[code / 64] >> (code % 64) & 1) == 0) continue;
    if (!runs.empty() && runs.back().high + 1 == code) {
      runs.back().high = code;
    } else {
      if (runs.size() == most) return std::nullopt;
      runs.push_back({code, code});
    }
  }
  return runs;
}

FilterNode null_node(Kind kind, size_t position, const SegmentColumns& columns) {
  uint64_t nulls = 0;
  const Segment& segment = columns.segment();
  for (uint32_t block = 0; block < segment.blocks(); ++block) nulls += segment.summary(position, block).nulls;
  if (nulls == 0) return decided(kind == Kind::NotNull);
  if (nulls == segment.rows()) return decided(kind == Kind::Null);
  FilterNode node;
  node.kind = kind;
  node.position = position;
  node.cost = null_cost;
  node.share = static_cast<double>(nulls) / segment.rows();
  if (kind == Kind::NotNull) node.share = 1 - node.share;
  return node;
}

/// The share of a segment's values in the ranges, as if they were spread evenly between the least and the
/// greatest one.
double share_of(std::span<const IntegerRange> ranges, size_t position, const Segment& segment) {
  uint64_t low = ~uint64_t{0}, high = 0;
  for (uint32_t block = 0; block < segment.blocks(); ++block) {
    const BlockSummary summary = segment.summary(position, block);
    if (summary.nulls == summary.rows) continue;
    low = std::min(low, summary.low);
    high = std::max(high, summary.high);
  }
  double covered = 0;
  for (const auto& range : ranges) {
    if (range.low > high || range.high < low) continue;
    covered += static_cast<double>(std::min(range.high, high) - std::max(range.low, low)) + 1;
  }
  return covered == 0 ? 0 : covered / (static_cast<double>(high - low) + 1);
}

FilterNode integer_node(const Predicate& predicate, size_t position, const SegmentColumns& columns) {
  FilterNode node;
  node.kind = Kind::Integers;
  node.position = position;
  node.ranges.assign(predicate.ranges().begin(), predicate.ranges().end());
  node.cost = range_cost * static_cast<double>(std::min<size_t>(node.ranges.size(), 16));
  node.share = share_of(node.ranges, position, columns.segment());
  return node.share == 0 ? decided(false) : node;
}

FilterNode numbers_node(const Predicate& predicate, size_t position, const SegmentColumns& columns) {
  FilterNode node;
  node.kind = Kind::Numbers;
  node.position = position;
  node.filter = &predicate.filter();
  node.is_in_order = columns.layout().is_sorted_by(predicate.column());
  node.ranges = {node.filter->range()};
  node.cost = number_filter_cost;
  node.share = share_of(node.ranges, position, columns.segment()) * node.filter->density();
  return node.share == 0 ? decided(false) : node;
}

Result<FilterNode> bytes_node(const Predicate& predicate, size_t position, const SegmentColumns& columns) {
  const Segment& segment = columns.segment();
  FilterNode node;
  node.position = position;
  node.test = &predicate.test();
  if (!segment.has_dictionary(position)) {
    if (node.test->is_for_dictionaries()) return decided(true);
    node.kind = Kind::Bytes;
    node.limits = node.test->limits();
    node.limits_of_others = node.test->limits_of_others();
    node.cost = bytes_cost;
    node.share = 0.3;
    return node;
  }
  HAILSTONE_ASSIGN(const auto dictionary, segment.dictionary(position));
  if (node.test->is_for_dictionaries() && dictionary->size() > segment.rows() / rows_worth_a_test)
    return decided(true);
  const uint32_t matching = test_dictionary(*dictionary, *node.test, node.codes);
  if (matching == 0) return decided(false);
  if (matching == dictionary->size()) return null_node(Kind::NotNull, position, columns);
  node.share = static_cast<double>(matching) / dictionary->size();
  if (auto runs = runs_of(node.codes, dictionary->size(), most_code_ranges)) {
    node.kind = Kind::CodeRanges;
    node.ranges = std::move(*runs);
    node.codes.clear();
    node.cost = range_cost * static_cast<double>(node.ranges.size());
  } else {
    node.kind = Kind::Codes;
    node.cost = code_set_cost;
  }
  return node;
}

Result<FilterNode> leaf_node(const Predicate& predicate, const SegmentColumns& columns) {
  const Location location = columns.location(predicate.column());
  if (location.kind == Location::Kind::Absent) {
    return decided(predicate.matches([](uint16_t) { return Value{}; }));
  }
  switch (predicate.kind()) {
    case Predicate::Kind::Integer:
      return integer_node(predicate, location.position, columns);
    case Predicate::Kind::Numbers:
      return numbers_node(predicate, location.position, columns);
    case Predicate::Kind::Bytes:
      return bytes_node(predicate, location.position, columns);
    case Predicate::Kind::IsNull:
      return null_node(Kind::Null, location.position, columns);
    default:
      return null_node(Kind::NotNull, location.position, columns);
  }
}

FilterNode grouped_node(const Predicate& predicate) {
  FilterNode node;
  node.kind = Kind::Grouped;
  node.subtree = &predicate;
  node.cost = group_cost;
  node.share = 0.3;
  return node;
}

Result<FilterNode> combined_node(const Predicate& predicate, const SegmentColumns& columns) {
  const bool conjunction = predicate.kind() == Predicate::Kind::And;
  const Kind neutral = conjunction ? Kind::Always : Kind::Never;
  const Kind decisive = conjunction ? Kind::Never : Kind::Always;
  FilterNode node;
  node.kind = conjunction ? Kind::And : Kind::Or;
  for (const auto& part : predicate.parts()) {
    HAILSTONE_ASSIGN(auto compiled, make_filter_node(part, columns));
    if (compiled.kind == decisive) return compiled;
    if (compiled.kind != neutral) node.parts.push_back(std::move(compiled));
  }
  if (node.parts.empty()) return decided(conjunction);
  if (node.parts.size() == 1) return std::move(node.parts.front());
  // Cheapest way to be done with a row first: cost divided by the share of rows that the part decides.
  std::ranges::stable_sort(node.parts, {}, [&](const FilterNode& part) {
    const double settled = conjunction ? 1 - part.share : part.share;
    return part.cost / std::max(settled, 1e-6);
  });
  double left = 1;
  for (const auto& part : node.parts) {
    node.cost += left * part.cost;
    left *= conjunction ? part.share : 1 - part.share;
  }
  node.share = conjunction ? left : 1 - left;
  return node;
}

}  // namespace

Result<FilterNode> make_filter_node(const Predicate& predicate, const SegmentColumns& columns) {
  switch (predicate.kind()) {
    case Predicate::Kind::Always:
      return decided(true);
    case Predicate::Kind::Never:
      return decided(false);
    default:
      break;
  }
  // A subtree on grouped columns only is decided row by row, with the row in hand.
  if (all_grouped(predicate, columns)) return grouped_node(predicate);
  if (predicate.kind() == Predicate::Kind::And || predicate.kind() == Predicate::Kind::Or) {
    return combined_node(predicate, columns);
  }
  return leaf_node(predicate, columns);
}

BlockOutcome block_outcome(const FilterNode& node, const Segment& segment, uint32_t block) {
  switch (node.kind) {
    case Kind::Always:
      return BlockOutcome::All;
    case Kind::Never:
      return BlockOutcome::None;
    case Kind::Grouped:
      return BlockOutcome::Some;
    case Kind::And: {
      BlockOutcome least = BlockOutcome::All;
      for (const auto& part : node.parts) {
        least = std::min(least, block_outcome(part, segment, block));
        if (least == BlockOutcome::None) break;
      }
      return least;
    }
    case Kind::Or: {
      BlockOutcome most = BlockOutcome::None;
      for (const auto& part : node.parts) {
        most = std::max(most, block_outcome(part, segment, block));
        if (most == BlockOutcome::All) break;
      }
      return most;
    }
    default:
      break;
  }
  const BlockSummary summary = segment.summary(node.position, block);
  if (node.kind == Kind::Null || node.kind == Kind::NotNull) {
    if (summary.nulls == 0) return node.kind == Kind::Null ? BlockOutcome::None : BlockOutcome::All;
    if (summary.nulls < summary.rows) return BlockOutcome::Some;
    return node.kind == Kind::Null ? BlockOutcome::All : BlockOutcome::None;
  }
  if (summary.nulls == summary.rows) return BlockOutcome::None;
  switch (node.kind) {
    case Kind::Integers:
    case Kind::CodeRanges:
      return ranges_outcome(node.ranges, summary);
    case Kind::Numbers:
      return node.filter->may_have_between(summary.low, summary.high) ? BlockOutcome::Some
                                                                      : BlockOutcome::None;
    case Kind::Codes:
      return codes_outcome(node.codes, summary);
    default:
      if (node.limits && !limits_admit(*node.limits, summary)) return BlockOutcome::None;
      return summary.nulls == 0 && takes_all_values(node, segment, block) ? BlockOutcome::All
                                                                          : BlockOutcome::Some;
  }
}

bool takes_all_values(const FilterNode& node, const Segment& segment, uint32_t block) {
  return node.limits_of_others &&
         !limits_admit(*node.limits_of_others, segment.summary(node.position, block));
}

}  // namespace hailstone

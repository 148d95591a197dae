#include "column/predicate.h"

#include <algorithm>
#include <utility>

#include "column/runtime_filter.h"

namespace hailstone {

namespace {

/// Sorted and disjoint, empty and touching ranges joined.
std::vector<IntegerRange> normalise(std::vector<IntegerRange> ranges) {
  std::erase_if(ranges, [](const IntegerRange& range) { return range.low > range.high; });
  std::ranges::sort(ranges, {}, &IntegerRange::low);
  std::vector<IntegerRange> result;
  for (const auto& range : ranges) {
    if (!result.empty() && (result.back().high == ~uint64_t{0} || range.low <= result.back().high + 1)) {
      result.back().high = std::max(result.back().high, range.high);
    } else {
      result.push_back(range);
    }
  }
  return result;
}

/// Both sorted and disjoint.
std::vector<IntegerRange> intersection(std::span<const IntegerRange> a, std::span<const IntegerRange> b) {
  std::vector<IntegerRange> result;
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const uint64_t low = std::max(a[i].low, b[j].low);
    const uint64_t high = std::min(a[i].high, b[j].high);
    if (low <= high) result.push_back({low, high});
    if (a[i].high < b[j].high) {
      ++i;
    } else {
      ++j;
    }
  }
  return result;
}

bool contains(std::span<const IntegerRange> ranges, uint64_t value) {
  const auto after = std::ranges::upper_bound(ranges, value, {}, &IntegerRange::low);
  return after != ranges.begin() && value <= std::prev(after)->high;
}

void collect_columns(const Predicate& predicate, std::vector<uint16_t>& columns) {
  switch (predicate.kind()) {
    case Predicate::Kind::Always:
    case Predicate::Kind::Never:
      break;
    case Predicate::Kind::And:
    case Predicate::Kind::Or:
      for (const auto& part : predicate.parts()) collect_columns(part, columns);
      break;
    default:
      columns.push_back(predicate.column());
  }
}

template <typename ValueOf>
bool evaluate(const Predicate& predicate, const ValueOf& value_of) {
  switch (predicate.kind()) {
    case Predicate::Kind::Always:
      return true;
    case Predicate::Kind::Never:
      return false;
    case Predicate::Kind::And:
      return std::ranges::all_of(predicate.parts(),
                                 [&](const auto& part) { return evaluate(part, value_of); });
    case Predicate::Kind::Or:
      return std::ranges::any_of(predicate.parts(),
                                 [&](const auto& part) { return evaluate(part, value_of); });
    case Predicate::Kind::Integer: {
      const Value value = value_of(predicate.column());
      return !value.null && contains(predicate.ranges(), value.integer);
    }
    case Predicate::Kind::Numbers: {
      const Value value = value_of(predicate.column());
      return !value.null && predicate.filter().may_have(value.integer);
    }
    case Predicate::Kind::Bytes: {
      const Value value = value_of(predicate.column());
      return !value.null && predicate.test().matches(value.bytes);
    }
    case Predicate::Kind::IsNull:
      return value_of(predicate.column()).null;
    case Predicate::Kind::IsNotNull:
      return !value_of(predicate.column()).null;
  }
  std::unreachable();
}

}  // namespace

Predicate Predicate::combine(Kind kind, std::vector<Predicate> parts) {
  // AND and OR are each other's mirror: `neutral` leaves the rest as it is, `decisive` makes the rest idle.
  const bool conjunction = kind == Kind::And;
  const Kind neutral = conjunction ? Kind::Always : Kind::Never;
  const Kind decisive = conjunction ? Kind::Never : Kind::Always;
  std::vector<Predicate> flat;
  for (auto& part : parts) {
    if (part.kind_ == decisive) return Predicate(decisive);
    if (part.kind_ == neutral) continue;
    if (part.kind_ == kind) {
      std::ranges::move(part.parts_, std::back_inserter(flat));
    } else {
      flat.push_back(std::move(part));
    }
  }
  // Ranges of one column become one leaf: tighter limits for blocks, one pass over the values.
  std::vector<Predicate> result;
  for (auto& part : flat) {
    const auto same = std::ranges::find_if(result, [&](const Predicate& other) {
      return part.kind_ == Kind::Integer && other.kind_ == Kind::Integer && other.column_ == part.column_;
    });
    if (same == result.end()) {
      result.push_back(std::move(part));
    } else if (conjunction) {
      same->ranges_ = intersection(same->ranges_, part.ranges_);
      if (same->ranges_.empty()) return never();
    } else {
      std::ranges::copy(part.ranges_, std::back_inserter(same->ranges_));
    }
  }
  if (!conjunction) {
    for (auto& part : result) {
      if (part.kind_ == Kind::Integer) part.ranges_ = normalise(std::move(part.ranges_));
    }
  }
  if (result.empty()) return Predicate(neutral);
  if (result.size() == 1) return std::move(result.front());
  Predicate combined(kind);
  combined.parts_ = std::move(result);
  return combined;
}

Predicate Predicate::all_of(std::vector<Predicate> parts) { return combine(Kind::And, std::move(parts)); }

Predicate Predicate::any_of(std::vector<Predicate> parts) { return combine(Kind::Or, std::move(parts)); }

Predicate Predicate::integer(uint16_t column, std::vector<IntegerRange> ranges) {
  Predicate leaf(Kind::Integer);
  leaf.column_ = column;
  leaf.ranges_ = normalise(std::move(ranges));
  return leaf.ranges_.empty() ? never() : leaf;
}

Predicate Predicate::numbers(uint16_t column, std::shared_ptr<const NumberFilter> filter) {
  Predicate leaf(Kind::Numbers);
  leaf.column_ = column;
  leaf.filter_ = std::move(filter);
  return leaf;
}

Predicate Predicate::bytes(uint16_t column, std::shared_ptr<const BytesTest> test) {
  Predicate leaf(Kind::Bytes);
  leaf.column_ = column;
  leaf.test_ = std::move(test);
  return leaf;
}

Predicate Predicate::is_null(uint16_t column) {
  Predicate leaf(Kind::IsNull);
  leaf.column_ = column;
  return leaf;
}

Predicate Predicate::is_not_null(uint16_t column) {
  Predicate leaf(Kind::IsNotNull);
  leaf.column_ = column;
  return leaf;
}

std::vector<uint16_t> Predicate::columns() const {
  std::vector<uint16_t> columns;
  collect_columns(*this, columns);
  std::ranges::sort(columns);
  const auto repeated = std::ranges::unique(columns);
  columns.erase(repeated.begin(), repeated.end());
  return columns;
}

bool Predicate::matches(const std::function<Value(uint16_t)>& value) const { return evaluate(*this, value); }

bool Predicate::matches(const RowCodec& codec, ByteView row) const {
  return evaluate(*this, [&](uint16_t column) { return codec.value(row, column); });
}

void Predicate::select(const RowCodec& codec, std::span<const ByteView> rows,
                       std::vector<uint16_t>& chosen) const {
  const auto keep_if = [&](const auto& passes) {
    std::erase_if(chosen, [&](uint16_t row) { return !passes(codec.value(rows[row], column_)); });
  };
  switch (kind_) {
    case Kind::Always:
      return;
    case Kind::Never:
      return chosen.clear();
    case Kind::And:
      for (const Predicate& part : parts_) part.select(codec, rows, chosen);
      return;
    case Kind::Or: {
      std::vector<uint16_t> left = std::move(chosen), taken, before, rest;
      chosen.clear();
      for (const Predicate& part : parts_) {
        taken = left;
        part.select(codec, rows, taken);
        before.swap(chosen);
        chosen.clear();
        std::ranges::merge(before, taken, std::back_inserter(chosen));
        rest.clear();
        std::ranges::set_difference(left, taken, std::back_inserter(rest));
        left.swap(rest);
      }
      return;
    }
    case Kind::Integer:
      return keep_if([&](const Value& value) { return !value.null && contains(ranges_, value.integer); });
    case Kind::Numbers:
      return keep_if([&](const Value& value) { return !value.null && filter_->may_have(value.integer); });
    case Kind::Bytes:
      return keep_if([&](const Value& value) { return !value.null && test_->matches(value.bytes); });
    case Kind::IsNull:
      return keep_if([](const Value& value) { return value.null; });
    case Kind::IsNotNull:
      return keep_if([](const Value& value) { return !value.null; });
  }
  std::unreachable();
}

}  // namespace hailstone

#include "api/hailstone/predicate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "api/hailstone/values.h"
#include "expression/text_tests.h"

namespace hailstone::capi {

namespace {

hs_comparison opposite(hs_comparison comparison) {
  switch (comparison) {
    case HS_EQUAL:
      return HS_NOT_EQUAL;
    case HS_NOT_EQUAL:
      return HS_EQUAL;
    case HS_LESS:
      return HS_GREATER_OR_EQUAL;
    case HS_LESS_OR_EQUAL:
      return HS_GREATER;
    case HS_GREATER:
      return HS_LESS_OR_EQUAL;
    case HS_GREATER_OR_EQUAL:
      break;
  }
  return HS_LESS;
}

bool holds(hs_comparison comparison, int order) {
  switch (comparison) {
    case HS_EQUAL:
      return order == 0;
    case HS_NOT_EQUAL:
      return order != 0;
    case HS_LESS:
      return order < 0;
    case HS_LESS_OR_EQUAL:
      return order <= 0;
    case HS_GREATER:
      return order > 0;
    case HS_GREATER_OR_EQUAL:
      break;
  }
  return order >= 0;
}

Function function_of(hs_comparison comparison) {
  switch (comparison) {
    case HS_EQUAL:
      return Function::Equal;
    case HS_NOT_EQUAL:
      return Function::NotEqual;
    case HS_LESS:
      return Function::Less;
    case HS_LESS_OR_EQUAL:
      return Function::LessEqual;
    case HS_GREATER:
      return Function::Greater;
    case HS_GREATER_OR_EQUAL:
      break;
  }
  return Function::GreaterEqual;
}

/// Turns a comparison of one column into ranges of ordered values.
using Ranges = std::vector<IntegerRange>;

Predicate in_ranges(uint16_t column, const Ranges& ranges) {
  return ranges.empty() ? Predicate::never() : Predicate::integer(column, ranges);
}

/// Values below, equal to and above a point of the ordered numbers low..high: below..equal_low-1, and so on.
/// `equal_low` > `equal_high`: no value is equal, and those above begin at equal_low.
Ranges ranges_around(hs_comparison comparison, uint64_t low, uint64_t high, Integer equal_low,
                     Integer equal_high) {
  Ranges ranges;
  const auto add = [&](Integer from, Integer to) {
    from = std::max<Integer>(from, static_cast<Integer>(low));
    to = std::min<Integer>(to, static_cast<Integer>(high));
    if (from <= to) ranges.push_back({static_cast<uint64_t>(from), static_cast<uint64_t>(to)});
  };
  const auto first = static_cast<Integer>(low), last = static_cast<Integer>(high);
  if (holds(comparison, -1)) add(first, equal_low - 1);
  if (holds(comparison, 0)) add(equal_low, equal_high);
  if (holds(comparison, 1)) add(equal_high + 1, last);
  return ranges;
}

std::unexpected<Failure> wrong_kind(const ColumnShape& column) {
  return refuse(HS_INVALID,
                fmt::format("column '{}' cannot be compared with a value of that kind", column.name));
}

/// Of an integer column.
Returned<Ranges> integer_ranges(const ColumnShape& column, hs_comparison comparison, const hs_value& value) {
  const IntegerLimits limits = limits_of(column);
  // The numbers equal to the value: one, or none, where [low, high] is empty and lies between two numbers.
  Integer low = 0, high = 0;
  switch (value.kind) {
    case HS_VALUE_INT:
      low = high = value.as.i;
      break;
    case HS_VALUE_UINT:
      low = high = static_cast<Integer>(value.as.u);
      break;
    case HS_VALUE_DOUBLE: {
      const double number = value.as.d;
      // NaN is above all numbers.
      const double bound = 1e30;
      const double within = std::isnan(number) ? bound : std::clamp(number, -bound, bound);
      low = static_cast<Integer>(std::ceil(within));
      high = static_cast<Integer>(std::floor(within));
      break;
    }
    default:
      return wrong_kind(column);
  }
  // In native numbers first, as those beyond the limits have no ordered form.
  Ranges ranges;
  const auto add = [&](Integer from, Integer to) {
    from = std::max(from, limits.least);
    to = std::min(to, limits.greatest);
    if (from <= to) ranges.push_back({ordered_integer(column, from), ordered_integer(column, to)});
  };
  if (holds(comparison, -1)) add(limits.least, low - 1);
  if (holds(comparison, 0)) add(low, high);
  if (holds(comparison, 1)) add(high + 1, limits.greatest);
  return ranges;
}

/// The value as the widest floating number, which holds every 64-bit integer exactly.
Returned<long double> real_constant(const ColumnShape& column, const hs_value& value) {
  static_assert(std::numeric_limits<long double>::digits >= 64);
  switch (value.kind) {
    case HS_VALUE_INT:
      return static_cast<long double>(value.as.i);
    case HS_VALUE_UINT:
      return static_cast<long double>(value.as.u);
    case HS_VALUE_DOUBLE:
      return static_cast<long double>(value.as.d);
    default:
      return wrong_kind(column);
  }
}

/// The greatest number of the column's type that is not above `bound`.
template <typename Real>
Real at_most(long double bound) {
  constexpr auto infinite = std::numeric_limits<Real>::infinity();
  auto nearest = static_cast<Real>(bound);
  if (static_cast<long double>(nearest) > bound) nearest = std::nextafter(nearest, -infinite);
  return nearest;
}

template <typename Real, typename Order>
Ranges real_ranges(hs_comparison comparison, long double number, const Order& order) {
  constexpr auto infinite = std::numeric_limits<Real>::infinity();
  const uint64_t first = order(-infinite), last = order(std::numeric_limits<Real>::quiet_NaN());
  if (std::isnan(number)) {
    return ranges_around(comparison, first, last, static_cast<Integer>(last), static_cast<Integer>(last));
  }
  const Real below = at_most<Real>(number);
  Integer low = static_cast<Integer>(order(below)), high = low;
  if (below == Real{0} && number == 0) {
    // The two zeros are equal.
    low = static_cast<Integer>(order(-Real{0}));
    high = static_cast<Integer>(order(Real{0}));
  } else if (static_cast<long double>(below) != number) {
    // Between two numbers; a zero below it is the positive one.
    if (below == Real{0}) high = static_cast<Integer>(order(Real{0}));
    low = high + 1;
  }
  return ranges_around(comparison, first, last, low, high);
}

Returned<Ranges> number_ranges(const ColumnShape& column, hs_comparison comparison, const hs_value& value) {
  if (!is_floating(column)) return integer_ranges(column, comparison, value);
  HAILSTONE_ASSIGN(const long double number, real_constant(column, value));
  if (column.stored == Type::Float) return real_ranges<float>(comparison, number, order_float);
  return real_ranges<double>(comparison, number, order_double);
}

class Compiler {
 public:
  explicit Compiler(const TableShape& table) : table_(table) {}

  /// `truth`: whether the predicate or its negation is wanted.
  Returned<Predicate> compile(const PredicateNode& predicate, bool truth) {
    switch (predicate.node) {
      case PredicateNode::Kind::And:
      case PredicateNode::Kind::Or:
        return combined(predicate, truth);
      case PredicateNode::Kind::Not:
        return compile(*predicate.parts[0], !truth);
      default:
        break;
    }
    HAILSTONE_ASSIGN(const uint16_t column, table_.column(predicate.column));
    switch (predicate.node) {
      case PredicateNode::Kind::IsNull:
        return truth ? Predicate::is_null(column) : Predicate::is_not_null(column);
      case PredicateNode::Kind::Like:
        return like(predicate, column, truth);
      case PredicateNode::Kind::In:
        return in(predicate, column, truth);
      default:
        return compare(column, truth ? predicate.comparison : opposite(predicate.comparison),
                       predicate.constants[0].get());
    }
  }

 private:
  Returned<Predicate> combined(const PredicateNode& predicate, bool truth) {
    std::vector<Predicate> parts;
    for (const auto& part : predicate.parts) {
      HAILSTONE_ASSIGN(auto compiled, compile(*part, truth));
      parts.push_back(std::move(compiled));
    }
    const bool all = (predicate.node == PredicateNode::Kind::And) == truth;
    return all ? Predicate::all_of(std::move(parts)) : Predicate::any_of(std::move(parts));
  }

  Returned<Predicate> like(const PredicateNode& predicate, uint16_t column, bool truth) {
    const ColumnShape& shape = table_.columns[column];
    if (!is_text(shape)) {
      return refuse(HS_INVALID,
                    fmt::format("column '{}' is no text to be compared with a pattern", shape.name));
    }
    const Collation& collation = shape.type == HS_STRING ? utf8_collation() : binary_collation();
    const auto escape = predicate.escape == 0 ? std::nullopt : std::optional(predicate.escape);
    return of_test(column, test_of_pattern(predicate.pattern, escape, collation), truth);
  }

  Returned<Predicate> compare(uint16_t column, hs_comparison comparison, const hs_value& value) {
    const ColumnShape& shape = table_.columns[column];
    if (value.kind == HS_VALUE_NULL) return Predicate::never();
    if (shape.integer) {
      HAILSTONE_ASSIGN(const Ranges ranges, number_ranges(shape, comparison, value));
      return in_ranges(column, ranges);
    }
    if (value.kind != HS_VALUE_BYTES) return wrong_kind(shape);
    HAILSTONE_ASSIGN(const Collation* const collation, collation_of(column));
    return of_test(column, test_of_comparison(function_of(comparison), text_of(value), *collation), true);
  }

  Returned<Predicate> in(const PredicateNode& predicate, uint16_t column, bool truth) {
    const ColumnShape& shape = table_.columns[column];
    // None of no values: true even of NULL.
    if (predicate.constants.empty()) return truth ? Predicate::never() : Predicate::always();
    bool any_null = false;
    std::vector<std::string> texts;
    Ranges ranges;
    for (const auto& constant : predicate.constants) {
      const hs_value value = constant.get();
      if (value.kind == HS_VALUE_NULL) {
        any_null = true;
      } else if (shape.integer) {
        HAILSTONE_ASSIGN(const Ranges equal, number_ranges(shape, HS_EQUAL, value));
        ranges.insert(ranges.end(), equal.begin(), equal.end());
      } else if (value.kind == HS_VALUE_BYTES) {
        texts.push_back(text_of(value));
      } else {
        return wrong_kind(shape);
      }
    }
    // Whether a value is none of some unknown ones is never known.
    if (!truth && any_null) return Predicate::never();
    if (shape.integer) return in_ranges(column, truth ? ranges : all_but(std::move(ranges)));
    if (texts.empty()) return Predicate::never();
    HAILSTONE_ASSIGN(const Collation* const collation, collation_of(column));
    return of_test(column, test_of_list(std::move(texts), *collation), truth);
  }
  static Predicate of_test(uint16_t column, std::shared_ptr<const BytesTest> test, bool truth) {
    return Predicate::bytes(column, truth ? std::move(test) : opposite_of(std::move(test)));
  }

  /// The ordered numbers in none of the ranges.
  static Ranges all_but(Ranges ranges) {
    std::ranges::sort(ranges, {}, &IntegerRange::low);
    Ranges rest;
    uint64_t next = 0;
    for (const IntegerRange& range : ranges) {
      if (range.low > next) rest.push_back({next, range.low - 1});
      if (range.high == ~uint64_t{0}) return rest;
      next = std::max(next, range.high + 1);
    }
    rest.push_back({next, ~uint64_t{0}});
    return rest;
  }

  Returned<const Collation*> collation_of(uint16_t column) const {
    const Column& defined = table_.table->layout()->definition().columns[column];
    const CollationResolver library;
    HAILSTONE_ASSIGN(const Collation* const found,
                     library.resolve(defined.type >= Type::Char ? defined.collation : binary_collation_id));
    return found;
  }

  static std::string text_of(const hs_value& value) {
    if (value.as.bytes.size == 0) return {};
    return {static_cast<const char*>(value.as.bytes.data), value.as.bytes.size};
  }

  const TableShape& table_;
};

/// A leaf on a column; null when it cannot be made.
template <typename Fill>
hs_predicate* make(PredicateNode::Kind kind, const char* column, const Fill& fill) noexcept {
  if (column == nullptr) return nullptr;
  try {
    auto made = std::make_unique<PredicateNode>(kind);
    made->column = column;
    fill(*made);
    return give_out_free(std::move(made));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

bool is_value(const hs_value& value) {
  if (value.kind < HS_VALUE_NULL || value.kind > HS_VALUE_BYTES) return false;
  return value.kind != HS_VALUE_BYTES || value.as.bytes.data != nullptr || value.as.bytes.size == 0;
}

/// The parts given to a call: those that are live are the call's from now on, to be taken in order, or freed.
class Parts {
 public:
  Parts(hs_predicate* const* parts, size_t count) noexcept : whole_(parts != nullptr || count == 0) {
    std::unique_ptr<PredicateNode>* end = &first_;
    for (size_t i = 0; parts != nullptr && i < count; ++i) {
      // One that comes twice is no handle any more the second time.
      std::unique_ptr<Handle> part = take_back(bits_of(parts[i]), HandleKind::Predicate);
      if (part == nullptr) {
        whole_ = false;
        continue;
      }
      end->reset(static_cast<PredicateNode*>(part.release()));
      end = &(*end)->next;
    }
  }
  ~Parts() {
    while (first_ != nullptr) take();
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  /// Each is a predicate that was in no other.
  bool whole() const { return whole_; }
  const PredicateNode* first() const { return first_.get(); }
  std::unique_ptr<PredicateNode> take() {
    std::unique_ptr<PredicateNode> part = std::move(first_);
    first_ = std::move(part->next);
    return part;
  }

 private:
  bool whole_;
  std::unique_ptr<PredicateNode> first_;
};

template <typename T>
void append_all(std::vector<T>& to, std::vector<T>&& from) {
  // Whatever is appended to something long is short.
  if (from.size() > to.size()) to.swap(from);
  for (T& each : from) to.push_back(std::move(each));
  from.clear();
}

hs_predicate* combine(PredicateNode::Kind kind, hs_predicate* const* given, size_t count) noexcept {
  Parts parts(given, count);
  if (!parts.whole()) return nullptr;
  const auto is_merged = [&](const PredicateNode& part) {
    return part.node == kind && kind != PredicateNode::Kind::Not;
  };
  unsigned depth = 1;
  for (const PredicateNode* part = parts.first(); part != nullptr; part = part->next.get()) {
    depth = std::max(depth, part->depth + (is_merged(*part) ? 0 : 1));
  }
  if (depth > PredicateNode::most_depth) return nullptr;
  try {
    auto made = std::make_unique<PredicateNode>(kind);
    made->depth = depth;
    while (parts.first() != nullptr) {
      std::unique_ptr<PredicateNode> part = parts.take();
      if (is_merged(*part)) {
        append_all(made->parts, std::move(part->parts));
      } else {
        made->parts.push_back(std::move(part));
      }
    }
    return give_out_free(std::move(made));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

Returned<Predicate> compile(const TableShape& table, const PredicateNode& predicate) {
  return Compiler(table).compile(predicate, true);
}

}  // namespace hailstone::capi

using namespace hailstone;
using namespace hailstone::capi;

PredicateNode::Constant::Constant(const hs_value& given) : value(given) {
  if (given.kind == HS_VALUE_BYTES && given.as.bytes.size > 0) {
    bytes.assign(static_cast<const char*>(given.as.bytes.data), given.as.bytes.size);
  }
}

hs_value PredicateNode::Constant::get() const {
  return value.kind == HS_VALUE_BYTES ? hs_bytes(bytes.data(), bytes.size()) : value;
}

hs_predicate* hs_compare(const char* column, hs_comparison comparison, hs_value value) {
  if (comparison < HS_EQUAL || comparison > HS_GREATER_OR_EQUAL || !is_value(value)) return nullptr;
  return make(PredicateNode::Kind::Compare, column, [&](PredicateNode& made) {
    made.comparison = comparison;
    made.constants.emplace_back(value);
  });
}

hs_predicate* hs_between(const char* column, hs_value low, hs_value high) {
  hs_predicate* const parts[] = {hs_compare(column, HS_GREATER_OR_EQUAL, low),
                                 hs_compare(column, HS_LESS_OR_EQUAL, high)};
  return hs_and(parts, 2);
}

hs_predicate* hs_in(const char* column, const hs_value* values, size_t value_count) {
  if (values == nullptr && value_count > 0) return nullptr;
  for (size_t i = 0; i < value_count; ++i) {
    if (!is_value(values[i])) return nullptr;
  }
  return make(PredicateNode::Kind::In, column, [&](PredicateNode& made) {
    for (size_t i = 0; i < value_count; ++i) made.constants.emplace_back(values[i]);
  });
}

hs_predicate* hs_is_null(const char* column) {
  return make(PredicateNode::Kind::IsNull, column, [](PredicateNode&) {});
}

hs_predicate* hs_like(const char* column, const char* pattern, char escape) {
  if (pattern == nullptr) return nullptr;
  return make(PredicateNode::Kind::Like, column, [&](PredicateNode& made) {
    made.pattern = pattern;
    made.escape = escape;
  });
}

hs_predicate* hs_and(hs_predicate* const* parts, size_t part_count) {
  return combine(PredicateNode::Kind::And, parts, part_count);
}

hs_predicate* hs_or(hs_predicate* const* parts, size_t part_count) {
  return combine(PredicateNode::Kind::Or, parts, part_count);
}

hs_predicate* hs_not(hs_predicate* part) { return combine(PredicateNode::Kind::Not, &part, 1); }

void hs_predicate_free(hs_predicate* predicate) { close_handle<PredicateNode>(predicate); }

// A table of random rows, and what groups of it have: aggregates of all kinds, by a plain map that is filled
// from the same rows one by one.
#pragma once

#include <cmath>
#include <map>
#include <set>

#include "query/exact_spread.h"
#include "query/query_fixture.h"
#include "query/sorted_groups.h"
#include "schema/ordered_wide.h"

namespace hailstone {

class GroupFixture : public QueryTest {
 protected:
  using Kind = Aggregate::Kind;
  enum GroupedColumn : uint16_t { number, key, real, word, text, wide, bits, huge };
  static constexpr uint16_t column_count = huge + 1;
  /// Computed: `huge` where `number` is a multiple of 5, else `number`. Sums of it begin in 64 bits.
  static constexpr uint16_t summand = column_count;

  static TableDefinition definition_of_groups() {
    TableDefinition definition;
    definition.name = "test/grouped";
    definition.columns = {
        {.name = "number", .type = Type::Signed, .width = 4, .nullable = false},
        {.name = "key", .type = Type::Signed, .width = 8},
        {.name = "real", .type = Type::Double, .width = 8},
        {.name = "word", .type = Type::Varchar, .width = 20, .collation = binary_padded_collation_id},
        {.name = "text", .type = Type::Varchar, .width = 200},
        {.name = "wide", .type = Type::OrderedBytes, .width = 16},
        {.name = "bits", .type = Type::Unsigned, .width = 8},
        {.name = "huge", .type = Type::OrderedBytes, .width = 32},
    };
    definition.indexes = {{.name = "PRIMARY", .unique = true, .parts = {{.column = 0}}}};
    definition.has_primary_key = true;
    return definition;
  }

  /// What equal values have in common.
  static std::string common(const Value& value, uint16_t column) {
    if (value.null) return "NULL";
    if (column == word) {
      const size_t end = value.bytes.find_last_not_of(' ');
      return "'" + std::string(value.bytes.substr(0, end == ByteView::npos ? 0 : end + 1));
    }
    if (column == text || column == wide || column == huge) return "'" + std::string(value.bytes);
    if (column == real && native_double(value.integer) == 0) return "0";
    return std::to_string(value.integer);
  }

  /// The lowest 64 bits are enough to tell sums of those of 16 bytes.
  static uint64_t low_word(ByteView bytes) { return load_big_endian(bytes.data() + bytes.size() - 8, 8); }

  struct ExpectedAggregate {
    uint64_t count = 0;
    uint64_t integer = 0;
    std::string bytes;
    uint64_t sum = 0;
    HugeInteger huge_sum;
    ExactSums reals;
    ExactSpreads spreads, whole_spreads;
    std::set<std::string> met;
  };

  explicit GroupFixture(uint64_t seed) : QueryTest(seed, definition_of_groups()) {
    host_.background = true;
    host_.segment_rows = 20'000;
  }

  size_t quick_units_ = LookUps::quick_units;

  void load(int32_t rows, size_t values) {
    write_rows(0, rows, true, [&](int32_t row, const auto& take) {
      const auto some = [&](const Value& value) { return below(12) == 0 ? Value{} : value; };
      const std::string some_word = "w" + std::to_string(below(values)) + std::string(below(3), ' ');
      const std::string some_text = "text " + std::to_string(below(values)) + std::string(below(60), '.');
      std::string some_wide(16, '\0'), some_huge(32, '\0');
      some_wide[0] = some_huge[0] = '\x80';  // of numbers above 0
      for (size_t i = 10; i < 16; ++i) some_wide[i] = static_cast<char>(below(i < 14 ? 2 : 256));
      for (size_t i = 26; i < 32; ++i) some_huge[i] = static_cast<char>(below(i < 30 ? 2 : 256));
      some_huge[below(26)] ^= 1;
      // Far apart, so that some sums get wide; and both zeros.
      const double some_real =
          below(20) == 0 ? (below(2) == 0 ? 0.0 : -0.0)
                         : std::ldexp(static_cast<double>(below(values)) - 100, below(50) == 0 ? 900 : 3);
      const std::array<Value, column_count> all{
          Value::of(order_signed(row, 4)),
          some(Value::of(order_signed(static_cast<int64_t>(below(values)) * 1'000'003, 8))),
          some(Value::of(order_double(some_real))),
          some(Value::of(ByteView(some_word))),
          some(Value::of(ByteView(some_text))),
          some(Value::of(ByteView(some_wide))),
          some(Value::of(uint64_t{below(values)} << below(40))),
          some(Value::of(ByteView(some_huge)))};
      take(all);
    });
    reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  }

  std::unique_ptr<Scan> scan(bool as_codes) {
    std::vector<uint16_t> columns(column_count);
    for (uint16_t i = 0; i < column_count; ++i) columns[i] = i;
    return std::make_unique<Scan>(table_, *reader_, ReadLock::None, nullptr, columns,
                                  std::vector<bool>(column_count, as_codes));
  }
  std::unique_ptr<Grouping> group(std::span<const uint16_t> keys, std::span<const Aggregate> wanted,
                                  unsigned threads) {
    const auto program = std::make_shared<Program>();
    const auto number_of_row =
        Expression::column(number, {.integer = true, .type = Type::Signed, .width = 4});
    const auto huge_of_row = Expression::column_of_numbers(
        huge, {.integer = false, .type = Type::OrderedBytes, .width = sizeof(HugeInteger)});
    const auto rest = Expression::call(Function::Remainder, {number_of_row, Expression::constant(int64_t{5})},
                                       {.tells_zero = false});
    const auto is_multiple = Expression::call(Function::Equal, {rest, Expression::constant(int64_t{0})});
    const auto chosen =
        program->add(Expression::call(Function::Choose, {is_multiple, huge_of_row, number_of_row}));
    Computation computation{.values = program};
    computation.columns.push_back(
        {.type = {.integer = true, .type = Type::Signed, .width = 8, .may_be_huge = true}, .result = chosen});
    auto made =
        Grouping::make(std::make_unique<ComputedRows>(scan(true), column_count, std::move(computation)), keys,
                       wanted, threads);
    EXPECT_TRUE(made);
    (*made)->set_quick_units(quick_units_);
    return std::move(*made);
  }

  static Value summand_of(const Batch& batch, uint32_t row, std::string& bytes) {
    const int64_t number_of_row = native_signed(batch.columns[number].value(row).integer, 4);
    if (number_of_row % 5 == 0) return batch.columns[huge].value(row);
    bytes.resize(sizeof(HugeInteger));
    order_huge(HugeInteger::of(number_of_row), bytes.data());
    return Value::of(ByteView(bytes));
  }

  using Expected = std::map<std::vector<std::string>, std::vector<ExpectedAggregate>>;

  static void expect_value(const Aggregate& wanted, const Value& value, ExpectedAggregate& state) {
    if (wanted.kind != Kind::Rows && value.null) return;
    if (wanted.distinct && !state.met.insert(common(value, wanted.position)).second) return;
    const bool first = state.count++ == 0;
    const Collation& collation = collation_of(wanted.position);
    switch (wanted.kind) {
      case Kind::Rows:
      case Kind::Values:
        break;
      case Kind::Sum:
        if (wanted.position == real) {
          state.reals.add(0, native_double(value.integer));
        } else if (wanted.position >= huge) {
          state.huge_sum += native_huge(value.bytes);
        } else {
          state.sum += wanted.position == wide ? low_word(value.bytes) : native_of(wanted.position, value);
        }
        break;
      case Kind::Spread:
        if (wanted.position == real) {
          state.spreads.add(0, native_double(value.integer));
        } else if (wanted.position == wide) {
          state.whole_spreads.add(0, native_wide(value.bytes));
        } else {
          state.whole_spreads.add(0, static_cast<WideInteger>(native_of(wanted.position, value)));
        }
        break;
      case Kind::Minimum:
      case Kind::Maximum: {
        const bool least = wanted.kind == Kind::Minimum;
        if (is_number(wanted.position)) {
          if (first || (least ? value.integer < state.integer : value.integer > state.integer))
            state.integer = value.integer;
          break;
        }
        int order = first ? 0 : collation.compare(value.bytes, state.bytes);
        if (!first && order == 0) order = value.bytes.compare(state.bytes);
        if (first || (least ? order < 0 : order > 0)) state.bytes = value.bytes;
        break;
      }
      case Kind::BitAnd:
        state.integer = first ? value.integer : state.integer & value.integer;
        break;
      case Kind::BitOr:
        state.integer |= value.integer;
        break;
      case Kind::BitXor:
        state.integer ^= value.integer;
        break;
    }
  }
  static bool is_number(uint16_t column) { return column <= real || column == bits; }
  static uint64_t native_of(uint16_t column, const Value& value) {
    if (column == bits) return value.integer;
    return static_cast<uint64_t>(native_signed(value.integer, column == number ? 4 : 8));
  }
  static const Collation& collation_of(uint16_t column) {
    return column == word ? binary_padded_collation() : binary_collation();
  }

  Expected expected(std::span<const uint16_t> keys, std::span<const Aggregate> wanted) {
    Expected groups;
    const auto empty = [&] {
      std::vector<ExpectedAggregate> states(wanted.size());
      for (ExpectedAggregate& state : states) {
        state.reals.push_back();
        state.spreads.push_back(/*real=*/true);
        state.whole_spreads.push_back(/*real=*/false);
      }
      return states;
    };
    if (keys.empty()) groups.emplace(std::vector<std::string>(), empty());
    const auto rows = scan(false);
    for (;;) {
      const auto batch = rows->next();
      EXPECT_TRUE(batch);
      if (!batch || *batch == nullptr) return groups;
      for (uint32_t row = 0; row < (*batch)->rows; ++row) {
        std::vector<std::string> found;
        for (const uint16_t column : keys)
          found.push_back(common((*batch)->columns[column].value(row), column));
        auto place = groups.find(found);
        if (place == groups.end()) place = groups.emplace(found, empty()).first;
        for (size_t i = 0; i < wanted.size(); ++i) {
          std::string bytes;
          const auto value_of = [&](uint16_t column) {
            return column == summand ? summand_of(**batch, row, bytes) : (*batch)->columns[column].value(row);
          };
          const Value value = wanted[i].kind == Kind::Rows ? Value{} : value_of(wanted[i].position);
          expect_value(wanted[i], value, place->second[i]);
        }
      }
    }
  }

  /// Compares the group at hand, of so many keys.
  static void check_group(const Groups& grouping, std::span<const uint16_t> keys,
                          std::span<const Aggregate> wanted, const Expected& groups,
                          std::set<std::vector<std::string>>& met) {
    std::vector<std::string> here;
    for (size_t i = 0; i < keys.size(); ++i) here.push_back(common(grouping.keys()[i], keys[i]));
    EXPECT_TRUE(met.insert(here).second) << "a group is there twice";
    const auto place = groups.find(here);
    if (place == groups.end()) {
      ADD_FAILURE() << "a group is there that should not be";
      return;
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      const AggregateResult result = grouping.result(i);
      const ExpectedAggregate& state = place->second[i];
      EXPECT_EQ(result.count, state.count);
      if (state.count == 0 || wanted[i].kind <= Kind::Values) continue;
      const uint16_t column = wanted[i].position;
      if (wanted[i].kind == Kind::Sum) {
        if (column == real) {
          EXPECT_EQ(result.real_sum, state.reals.result(0));
        } else {
          EXPECT_EQ(result.huge_sum, state.huge_sum);
          EXPECT_EQ(static_cast<uint64_t>(result.integer_sum) * (column < huge ? 1 : 0), state.sum);
        }
      } else if (wanted[i].kind == Kind::Spread) {
        const ExactSpreads& spreads = column == real ? state.spreads : state.whole_spreads;
        EXPECT_EQ(result.spread, spreads.result(0, state.count));
      } else if (is_number(column)) {
        EXPECT_EQ(result.integer, state.integer);
      } else {
        EXPECT_EQ(result.bytes, state.bytes);
      }
    }
  }

  /// Checks each group once; how many there are.
  static size_t check(Groups& grouping, std::span<const uint16_t> keys, std::span<const Aggregate> wanted,
                      const Expected& groups) {
    std::set<std::vector<std::string>> met;
    for (;;) {
      const auto found = grouping.next();
      EXPECT_TRUE(found) << found.error().message();
      if (!found || !*found) return met.size();
      check_group(grouping, keys, wanted, groups, met);
    }
  }

  /// Any aggregates; of distinct values only where they are asked for.
  std::vector<Aggregate> any_aggregates(size_t most, bool with_distinct) {
    std::vector<Aggregate> wanted;
    for (size_t i = below(most + 1); i > 0; --i) {
      const auto kind = static_cast<Kind>(below(9));
      const auto position = [&]() -> uint16_t {
        if (kind >= Kind::BitAnd) return bits;
        if (kind == Kind::Spread) return std::array<uint16_t, 5>{number, key, real, wide, bits}[below(5)];
        if (kind == Kind::Sum)
          return std::array<uint16_t, 7>{number, key, real, wide, bits, huge, summand}[below(7)];
        return static_cast<uint16_t>(below(kind == Kind::Values ? column_count + 1 : column_count));
      }();
      const bool distinct = with_distinct && (kind == Kind::Sum || kind == Kind::Values) &&
                            position != summand && below(2) == 0;
      wanted.push_back({kind, position, distinct});
    }
    return wanted;
  }
};

}  // namespace hailstone

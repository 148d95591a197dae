// Groups that memory has no room for, against a plain map that is filled from the same rows one by one; and
// what happens when the files that they go to cannot be written or read.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "query/query_fixture.h"
#include "query/query_memory.h"
#include "query/sorted_groups.h"
#include "schema/ordered_wide.h"

namespace hailstone {
namespace {

using Kind = Aggregate::Kind;
using Call = FaultFilesystem::Call;
using Effect = FaultFilesystem::Effect;

enum SpilledColumn : uint16_t { number, key, real, word, text, wide, bits, huge };
constexpr uint16_t column_count = huge + 1;
/// Computed: `huge` where `number` is a multiple of 5, else `number`. Sums of it begin in 64 bits.
constexpr uint16_t summand = column_count;

TableDefinition spilled_definition() {
  TableDefinition definition;
  definition.name = "test/spilled";
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
std::string common(const Value& value, uint16_t column) {
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
uint64_t low_word(ByteView bytes) { return load_big_endian(bytes.data() + bytes.size() - 8, 8); }

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

class GroupSpillTest : public QueryTest {
 protected:
  GroupSpillTest() : QueryTest(31, spilled_definition()) {
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

  /// Groups and pairs that spill, also sorted.
  std::unique_ptr<Groups> spilling(unsigned threads, bool sorted);

  /// Checks each group once; how many there are.
  size_t check(Groups& grouping, std::span<const uint16_t> keys, std::span<const Aggregate> wanted,
               const Expected& groups) {
    std::set<std::vector<std::string>> met;
    for (;;) {
      const auto found = grouping.next();
      EXPECT_TRUE(found) << found.error().message();
      if (!found || !*found) break;
      std::vector<std::string> here;
      for (size_t i = 0; i < keys.size(); ++i) here.push_back(common(grouping.keys()[i], keys[i]));
      EXPECT_TRUE(met.insert(here).second) << "a group is there twice";
      const auto place = groups.find(here);
      if (place == groups.end()) {
        ADD_FAILURE() << "a group is there that should not be";
        continue;
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
    return met.size();
  }
};

TEST_F(GroupSpillTest, AnyGroupsWithAnyMemory) {
  load(30'000, 9'000);
  for (int round = 0; round < 6; ++round) {
    std::vector<uint16_t> keys;
    for (size_t i = below(4); i > 0; --i)
      keys.push_back(std::array<uint16_t, 5>{key, real, word, text, bits}[below(5)]);
    std::vector<Aggregate> wanted;
    for (size_t i = below(6); i > 0; --i) {
      const auto kind = static_cast<Kind>(below(9));
      const auto position = [&]() -> uint16_t {
        if (kind >= Kind::BitAnd) return bits;
        if (kind == Kind::Spread) return std::array<uint16_t, 5>{number, key, real, wide, bits}[below(5)];
        if (kind == Kind::Sum)
          return std::array<uint16_t, 7>{number, key, real, wide, bits, huge, summand}[below(7)];
        return static_cast<uint16_t>(below(kind == Kind::Values ? column_count + 1 : column_count));
      }();
      const bool distinct =
          (kind == Kind::Sum || kind == Kind::Values) && position != summand && below(2) == 0;
      wanted.push_back({kind, position, distinct});
    }
    const Expected groups = expected(keys, wanted);
    for (const size_t limit : {size_t{1}, size_t{6} << 20, size_t{1} << 30}) {
      for (const unsigned threads : {1U, 3U}) {
        host_.budget().set_limit(limit);
        quick_units_ = below(2) == 0 ? LookUps::quick_units : 1 + below(5'000);
        auto grouping = group(keys, wanted, threads);
        ASSERT_EQ(check(*grouping, keys, wanted, groups), groups.size())
            << "round " << round << ", " << threads << " threads, " << limit << " bytes, " << quick_units_
            << " quick units";
        EXPECT_FALSE(*grouping->next());
      }
    }
    host_.budget().set_limit(size_t{1} << 30);
  }
  EXPECT_GT(host_.counters().spill_write_bytes.load(), 0);
  EXPECT_GT(host_.counters().spill_read_bytes.load(), 0);
  expect_nothing_left(host_.budget().used());
}

TEST_F(GroupSpillTest, DividesAgainAndAgain) {
  constexpr int32_t rows = 500'000;
  const auto transaction = host_.transactions().begin(Isolation::RepeatableRead);
  Duplicate duplicate;
  BulkLoad load(table_, *transaction);
  std::array<Value, column_count> values{};
  for (int32_t row = 0; row < rows; ++row) {
    values[number] = Value::of(order_signed(row, 4));
    values[bits] = Value::of(uint64_t{below(1000)});
    ASSERT_TRUE(load.append(values));
  }
  ASSERT_TRUE(load.finish(duplicate));
  ASSERT_TRUE(host_.transactions().commit(*transaction));
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  host_.budget().set_limit(1);
  const std::array<uint16_t, 1> by_number{number};
  const std::array<Aggregate, 4> wanted{Aggregate{Kind::Rows}, Aggregate{Kind::Sum, number},
                                        Aggregate{Kind::Values, bits, true},
                                        Aggregate{Kind::Values, summand}};
  auto grouping = group(by_number, wanted, 2);
  std::vector<bool> met(rows);
  size_t found = 0;
  while (*grouping->next()) {
    const int64_t here = native_signed(grouping->keys()[0].integer, 4);
    ASSERT_FALSE(met[static_cast<size_t>(here)]);
    met[static_cast<size_t>(here)] = true;
    ++found;
    ASSERT_EQ(grouping->result(0).count, 1);
    ASSERT_EQ(static_cast<int64_t>(grouping->result(1).integer_sum), here);
    ASSERT_EQ(grouping->result(2).count, 1);
    ASSERT_EQ(grouping->result(3).count, here % 5 == 0 ? 0 : 1);  // `huge` is NULL
  }
  EXPECT_EQ(found, rows);

  // Of one group with very many values, the pairs are divided.
  const Aggregate distinct{Kind::Sum, number, true};
  auto whole = group({}, {&distinct, 1}, 2);
  ASSERT_TRUE(*whole->next());
  EXPECT_EQ(whole->result(0).count, rows);
  EXPECT_EQ(static_cast<int64_t>(whole->result(0).integer_sum), int64_t{rows} * (rows - 1) / 2);
  EXPECT_FALSE(*whole->next());

  SortedGroups first(group(by_number, wanted, 2), {{.number = 0, .descending = true}}, 3);
  for (int32_t row = rows; row > rows - 3; --row) {
    ASSERT_TRUE(*first.next());
    EXPECT_EQ(native_signed(first.keys()[0].integer, 4), row - 1);
  }
  EXPECT_FALSE(*first.next());
  host_.budget().set_limit(size_t{1} << 30);
}

/// What the order has of each group, one after the other.
std::vector<std::string> order_of(SortedGroups& groups, std::span<const GroupOrder> order,
                                  const GroupingPlan& plan) {
  std::vector<std::string> all;
  for (;;) {
    const auto found = groups.next();
    EXPECT_TRUE(found) << found.error().message();
    if (!found || !*found) return all;
    std::string here;
    for (const GroupOrder& by : order) {
      const auto append = [&](const ScanColumn& column, const Value& value) {
        if (value.null) {
          here += "NULL ";
        } else if (column.integer) {
          here += std::to_string(Zeros(column).one(value.integer)) + ' ';
        } else {
          column.collation->append_weights(value.bytes, here);
        }
      };
      if (by.by == GroupOrder::By::Key) {
        append(plan.keys[by.number].column, groups.keys()[by.number]);
        continue;
      }
      const GroupingPlan::Item& item = plan.aggregates[by.number];
      const AggregateResult result = groups.result(by.number);
      if (item.wanted.kind == Kind::Minimum || item.wanted.kind == Kind::Maximum) {
        const Value best =
            item.column.integer ? Value::of(result.integer) : Value::of(ByteView(result.bytes));
        append(item.column, result.count == 0 ? Value{} : best);
      } else if (item.wanted.kind == Kind::Rows || item.wanted.kind == Kind::Values) {
        here += std::to_string(result.count) + ' ';
      } else {
        append_result(by, item, result, here);
      }
    }
    all.push_back(std::move(here));
  }
}

TEST_F(GroupSpillTest, AllInAnOrderWithAnyMemory) {
  load(20'000, 6'000);
  const std::array<uint16_t, 3> keys{real, text, bits};
  for (int round = 0; round < 4; ++round) {
    const std::array<Aggregate, 9> wanted{
        Aggregate{Kind::Rows},          Aggregate{Kind::Values, word},   Aggregate{Kind::Minimum, text},
        Aggregate{Kind::Maximum, real}, Aggregate{Kind::Sum, key},       Aggregate{Kind::Sum, real},
        Aggregate{Kind::Sum, huge},     Aggregate{Kind::Spread, number}, Aggregate{Kind::BitXor, bits}};
    std::vector<GroupOrder> order;
    for (size_t i = 1 + below(3); i > 0; --i) {
      GroupOrder by{.by = below(2) == 0 ? GroupOrder::By::Key : GroupOrder::By::Aggregate};
      by.number = below(by.by == GroupOrder::By::Key ? keys.size() : wanted.size());
      by.descending = below(2) == 0;
      const bool is_mean = by.by == GroupOrder::By::Aggregate && (by.number == 4 || by.number == 5);
      if (is_mean && below(2) == 0)
        by.mean = {.digits = static_cast<unsigned>(below(5)), .is_cut = below(2) == 0};
      order.push_back(by);
    }
    const Expected groups = expected(keys, wanted);
    host_.budget().set_limit(size_t{1} << 30);
    auto in_memory = group(keys, wanted, 2);
    const GroupingPlan plan = in_memory->plan();
    SortedGroups sorted(std::move(in_memory), order);
    const std::vector<std::string> right = order_of(sorted, order, plan);
    ASSERT_EQ(right.size(), groups.size());
    for (const size_t limit : {size_t{1}, size_t{6} << 20}) {
      host_.budget().set_limit(limit);
      const auto spilled = host_.counters().spill_write_bytes.load();
      SortedGroups again(group(keys, wanted, 2), order);
      const std::vector<std::string> found = order_of(again, order, plan);
      const auto [one, other] = std::ranges::mismatch(found, right);
      EXPECT_TRUE(found == right) << "round " << round << ", " << limit << " bytes, number "
                                  << one - found.begin() << ": " << (one == found.end() ? "none" : *one)
                                  << " instead of " << (other == right.end() ? "none" : *other);
      EXPECT_GT(host_.counters().spill_write_bytes.load(), limit == 1 ? spilled : 0);
      SortedGroups whole(group(keys, wanted, 2), order);
      EXPECT_EQ(check(whole, keys, wanted, groups), groups.size());
    }
    host_.budget().set_limit(size_t{1} << 30);
  }
}

/// Spills groups and pairs.
constexpr std::array<uint16_t, 1> keys_that_spill{number};
constexpr std::array<Aggregate, 3> wanted_that_spills{Aggregate{Kind::Rows}, Aggregate{Kind::Maximum, text},
                                                      Aggregate{Kind::Values, key, true}};

std::unique_ptr<Groups> GroupSpillTest::spilling(unsigned threads, bool sorted) {
  auto groups = group(keys_that_spill, wanted_that_spills, threads);
  if (!sorted) return groups;
  return std::make_unique<SortedGroups>(
      std::move(groups), std::vector<GroupOrder>{{.by = GroupOrder::By::Aggregate, .number = 1},
                                                 {.number = 0, .descending = true}});
}

TEST_F(GroupSpillTest, EndsWithAnErrorWhereFilesFail) {
  load(25'000, 9'000);
  const Expected groups = expected(keys_that_spill, wanted_that_spills);
  const size_t memory_before = host_.budget().used();
  host_.budget().set_limit(1);
  const std::array faults{
      SpillFault{Call::Create, Effect::Fail, EACCES}, SpillFault{Call::Append, Effect::Fail, ENOSPC},
      SpillFault{Call::Append, Effect::Tear, EIO},    SpillFault{Call::Close, Effect::Fail, EIO},
      SpillFault{Call::Open, Effect::Fail, EMFILE},   SpillFault{Call::Read, Effect::Fail, EIO},
      SpillFault{Call::Read, Effect::FlipBit},        SpillFault{Call::Remove, Effect::Fail, EIO}};
  for (size_t number = 0; number < 2 * faults.size(); ++number) {
    const SpillFault& fault = faults[number / 2];
    const bool sorted = number % 2 == 1;
    size_t failed = 0;
    for (uint64_t skip = 0;; skip += 1 + skip / 2) {
      const unsigned threads = skip % 2 == 0 ? 1 : 2;
      quick_units_ = skip % 3 == 0 ? 100 : LookUps::quick_units;
      add_spill_fault(fault, skip);
      std::unique_ptr<Groups> grouping = spilling(threads, sorted);
      std::optional<Error> error;
      size_t met = 0;
      for (;; ++met) {
        const auto found = grouping->next();
        if (!found) error = found.error();
        if (!found || !*found) break;
      }
      host_.filesystem().clear_rules();
      if (!error) {
        EXPECT_EQ(met, groups.size());
        if (fault.call == Call::Remove) {
          // Nobody is told; the file is removed when the database is opened.
          const std::string directory = std::filesystem::path(host_.segment_path(1)).parent_path();
          grouping.reset();
          for (const auto& entry : std::filesystem::directory_iterator(directory)) {
            if (SpillSpace::is_spill_name(entry.path().filename().string()))
              std::filesystem::remove(entry.path());
          }
        }
        break;
      }
      ++failed;
      expect_error_of(fault, *error);
      if (fault.error_number == ENOSPC) {
        EXPECT_NE(error->message().find("make room on its disk"), std::string::npos) << error->message();
      }
      if (fault.effect == Effect::FlipBit) {
        EXPECT_NE(error->message().find("at offset"), std::string::npos) << error->message();
      }
      grouping.reset();
      expect_nothing_left(memory_before);
    }
    EXPECT_TRUE(failed > 0 || fault.call == Call::Remove) << "a fault was never met";
  }
  // Nothing but those statements has ended.
  auto grouping = group(keys_that_spill, wanted_that_spills, 2);
  EXPECT_EQ(check(*grouping, keys_that_spill, wanted_that_spills, groups), groups.size());
  EXPECT_TRUE(table_->usable());
  grouping.reset();
  expect_nothing_left(memory_before);
  host_.budget().set_limit(size_t{1} << 30);
}

TEST_F(GroupSpillTest, EndsAtTheLimit) {
  load(25'000, 9'000);
  host_.budget().set_limit(1);
  host_.spill_space().set_limit(100'000);
  {
    auto grouping = group(keys_that_spill, wanted_that_spills, 2);
    const auto found = grouping->next();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), ErrorCode::DiskFull);
    EXPECT_NE(found.error().message().find("spill_limit"), std::string::npos) << found.error().message();
    EXPECT_NE(found.error().message().find("spill-"), std::string::npos) << found.error().message();
  }
  EXPECT_EQ(host_.spill_space().bytes(), 0);
  EXPECT_EQ(host_.counters().spill_bytes.load(), 0);
  host_.spill_space().set_limit(0);
  EXPECT_TRUE(*group(keys_that_spill, wanted_that_spills, 2)->next());
  host_.budget().set_limit(size_t{1} << 30);
}

TEST_F(GroupSpillTest, EndsWhenItIsInterrupted) {
  load(25'000, 9'000);
  const size_t memory_before = host_.budget().used();
  host_.budget().set_limit(1);
  for (const unsigned threads : {1U, 2U, 3U}) {
    quick_units_ = threads == 2 ? 100 : LookUps::quick_units;
    for (uint64_t asks = 0;; asks += 1 + asks / 3) {
      uint64_t asked = 0;
      reader_->set_interruption_check([&] { return asked++ >= asks; });
      std::unique_ptr<Groups> grouping = spilling(threads, threads == 3);
      auto found = grouping->next();
      while (found && *found) found = grouping->next();
      reader_->set_interruption_check({});
      if (found) break;
      ASSERT_EQ(found.error().code(), ErrorCode::Interrupted) << found.error().message();
      grouping.reset();
      expect_nothing_left(memory_before);
    }
  }
  host_.budget().set_limit(size_t{1} << 30);
}

TEST_F(GroupSpillTest, PutsPartitionsTogetherInOneTable) {
  load(60'000, 50'000);
  // Few quick units have the rows divided, and memory has room for all groups in one table.
  quick_units_ = 100;
  const std::vector<Aggregate> wanted{{Kind::Maximum, text}, {Kind::Rows}};
  for (const std::vector<uint16_t>& keys : {std::vector<uint16_t>{text}, std::vector<uint16_t>{word, key}}) {
    const Expected groups = expected(keys, wanted);
    auto grouping = group(keys, wanted, 2);
    ASSERT_TRUE(*grouping->next());
    EXPECT_TRUE(grouping->divided());
    EXPECT_LE(grouping->tables(), 2U);
    grouping = group(keys, wanted, 2);
    EXPECT_EQ(check(*grouping, keys, wanted, groups), groups.size());
  }
  // Exact sums of floating-point numbers may take much more than their records: a partition a table.
  auto grouping = group(std::vector<uint16_t>{text}, std::vector<Aggregate>{{Kind::Sum, real}}, 2);
  ASSERT_TRUE(*grouping->next());
  EXPECT_GT(grouping->tables(), 2U);
}

TEST_F(GroupSpillTest, MovesOutOnlyTheRunThatHasNoRoom) {
  const GroupingPlan plan{.keys = {{.position = 0,
                                    .column = {.integer = false,
                                               .type = Type::Varchar,
                                               .width = 200,
                                               .collation = &collation_of(text)}}},
                          .aggregates = {{.wanted = {Kind::Rows, 0}, .column = {}}}};
  MemoryBudget budget(size_t{64} << 20);
  RecordMemory memory(budget, host_.spill_space(), size_t{16} << 20,
                      {.chunk = size_t{64} << 10, .first_bits = 5}, {}, nullptr);
  const GoOn go_on = [] { return Status(); };
  /// One run of so many groups, each with one row.
  const auto run_of = [&](size_t first, size_t groups) {
    GroupTable table(plan);
    ColumnVector vector;
    std::vector<std::string> texts;
    for (size_t i = first; i < first + groups; ++i) texts.push_back("text " + std::to_string(i));
    vector.bytes.assign(texts.begin(), texts.end());
    const std::array<const ColumnVector*, 1> columns{&vector};
    table.add({.rows = static_cast<uint32_t>(groups), .columns = columns}, {});
    RecordPartitions partitions(memory, 0);
    HashedRecords scratch;
    EXPECT_TRUE(table.write_groups(
        true, scratch, [&](const HashedRecords& records) { return partitions.append(records, go_on); }));
    EXPECT_TRUE(partitions.finish(go_on));
    RecordRun all;
    for (RecordRun& run : partitions.take_runs()) all.append(std::move(run));
    return all;
  };
  constexpr size_t least = size_t{1} << 20;
  GroupCollector groups(plan, {std::make_unique<MemoryBudget>(budget, least), nullptr}, memory,
                        GroupCollector::Source::Groups, {.most = size_t{32} << 20, .least = least});
  ASSERT_TRUE(groups.add(run_of(0, 1'000), 5, go_on));
  EXPECT_FALSE(groups.has_moved());
  RecordRun second = run_of(1'000, 40'000);
  EXPECT_TRUE(groups.has_room_for_run(second.bytes()));
  // Others take what is left of the budget.
  Reservation others(budget);
  others.grow(size_t{64} << 20);
  ASSERT_TRUE(groups.add(std::move(second), 5, go_on));
  EXPECT_TRUE(groups.has_moved());
  ASSERT_TRUE(groups.move_out(go_on));
  ASSERT_TRUE(groups.has_table());
  std::set<std::string> kept;
  for (uint32_t group = 1; group < groups.table().end(); ++group)
    kept.emplace(groups.table().key(group, 0).bytes);
  EXPECT_EQ(kept.size(), 1'000U);
  EXPECT_TRUE(kept.contains("text 0"));
  EXPECT_TRUE(kept.contains("text 999"));
  // What has moved comes back whole, also to the same table.
  others.clear();
  RecordRun moved;
  for (RecordRun& run : groups.groups()->take_runs()) moved.append(std::move(run));
  ASSERT_TRUE(groups.add(std::move(moved), 10, go_on));
  EXPECT_FALSE(groups.has_moved());
  EXPECT_EQ(groups.table().end(), 41'001U);
  for (uint32_t group = 1; group < groups.table().end(); ++group) {
    EXPECT_EQ(groups.table().count(group, 0), 1U);
    kept.emplace(groups.table().key(group, 0).bytes);
  }
  EXPECT_EQ(kept.size(), 41'000U);
}

TEST_F(GroupSpillTest, TakesNoMoreThanItsShare) {
  load(60'000, 50'000);
  const size_t before = host_.budget().used();
  constexpr size_t limit = size_t{24} << 20;
  host_.budget().set_limit(before + limit);
  size_t most = 0;
  reader_->set_interruption_check([&] {
    most = std::max(most, host_.budget().used());
    return false;
  });
  const std::array<uint16_t, 2> keys{number, text};
  const std::array<Aggregate, 2> wanted{Aggregate{Kind::Maximum, text}, Aggregate{Kind::Values, bits, true}};
  auto grouping = group(keys, wanted, 2);
  size_t groups = 0;
  for (; *grouping->next(); ++groups) most = std::max(most, host_.budget().used());
  EXPECT_EQ(groups, 60'000);
  EXPECT_GT(host_.counters().spill_write_bytes.load(), 0);
  // A quarter for tables, a quarter for records, and what the last step of each may be too long.
  EXPECT_LE(most, std::max(before, before + (before + limit) / 2) + (size_t{6} << 20));
  reader_->set_interruption_check({});
  host_.budget().set_limit(size_t{1} << 30);
}

TEST_F(GroupSpillTest, TakesItsFloorOnlyWhereOthersHaveTheRest) {
  load(60'000, 50'000);
  MemoryBudget& whole = host_.budget();
  whole.set_limit(size_t{48} << 20);
  // Blocks that it reads are in the cache.
  for (auto grouping = group(std::vector<uint16_t>{number}, std::vector<Aggregate>{{Kind::Maximum, text}}, 1);
       *grouping->next();) {
  }
  const auto query = std::make_shared<MemoryBudget>(whole, floor_of_query(whole));
  Reservation others(whole);
  others.grow(whole.limit() - whole.used());
  // The scan pins some that it works on, whatever there is.
  constexpr size_t blocks_at_hand = size_t{256} << 10;
  size_t most = 0, most_of_query = 0;
  const auto look = [&] {
    most = std::max(most, whole.used());
    most_of_query = std::max(most_of_query, query->used());
    return false;
  };
  reader_->set_interruption_check(look);
  const std::vector<std::vector<Aggregate>> all_wanted{
      {{Kind::Maximum, text}, {Kind::Values, bits, true}}, {{Kind::Sum, key}}, {{Kind::Values, text, true}}};
  for (const std::vector<Aggregate>& wanted : all_wanted) {
    for (const bool sorted : {false, true}) {
      SCOPED_TRACE(fmt::format("{} aggregates, sorted: {}", wanted.size(), sorted));
      const std::array<uint16_t, 2> keys{number, text};
      Scans scans(scan(true));
      scans.take_memory_from(query);
      std::unique_ptr<Groups> groups = *Grouping::make(
          std::make_unique<ComputedRows>(std::move(scans), column_count, Computation{}), keys, wanted, 2);
      if (sorted) {
        std::unique_ptr<Grouping> grouping(static_cast<Grouping*>(groups.release()));
        groups = std::make_unique<SortedGroups>(
            std::move(grouping), std::vector<GroupOrder>{{.by = GroupOrder::By::Key, .number = 1}});
      }
      size_t found = 0;
      for (; *groups->next(); ++found) look();
      EXPECT_EQ(found, 60'000);
      EXPECT_LE(most_of_query, query->floor());
      EXPECT_LE(most, whole.limit() + blocks_at_hand);
    }
  }
  reader_->set_interruption_check({});
  EXPECT_EQ(query->used(), 0U);
  EXPECT_GT(host_.counters().spill_write_bytes.load(), 0);
  others.clear();
  whole.set_limit(size_t{1} << 30);
}

}  // namespace
}  // namespace hailstone

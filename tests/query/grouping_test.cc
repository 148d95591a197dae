// Groups and aggregates against a plain map that is filled from the same rows one by one.
#include "query/sorted_groups.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "query/query_fixture.h"

namespace hailstone {
namespace {

enum TestColumn : uint16_t { id, tiny, wide, real, word, text, note };
constexpr std::array<uint16_t, 7> columns{id, tiny, wide, real, word, text, note};

TableDefinition grouped_definition() {
  TableDefinition definition;
  definition.name = "test/grouped";
  definition.columns = {
      {.name = "id", .type = Type::Signed, .width = 4, .nullable = false},
      {.name = "tiny", .type = Type::Signed, .width = 1},
      {.name = "wide", .type = Type::Unsigned, .width = 8, .nullable = false},
      {.name = "real", .type = Type::Double, .width = 8},
      {.name = "word", .type = Type::Varchar, .width = 20, .collation = binary_padded_collation_id},
      {.name = "text", .type = Type::Varchar, .width = 200},
      {.name = "note", .type = Type::Varchar, .width = 50, .columnar = false},
  };
  definition.indexes = {{.name = "PRIMARY", .unique = true, .parts = {{.column = 0}}}};
  definition.has_primary_key = true;
  return definition;
}

/// What equal keys have in common.
std::string canonical(const Value& value, uint16_t column) {
  if (value.null) return "NULL";
  if (column == word) {
    const size_t end = value.bytes.find_last_not_of(' ');
    return "'" + std::string(value.bytes.substr(0, end == ByteView::npos ? 0 : end + 1));
  }
  if (column == text || column == note) return "'" + std::string(value.bytes);
  if (column == real) return std::to_string(native_double(value.integer) + 0.0);
  return std::to_string(value.integer);
}

struct Expected {
  uint64_t rows = 0;
  uint64_t tinies = 0;
  int64_t tiny_sum = 0;
  WideInteger wide_sum = 0;
  uint64_t least_wide = ~uint64_t{0}, greatest_wide = 0;
  uint64_t texts = 0;
  std::string least_text, greatest_text;
  bool operator==(const Expected&) const = default;
};
using ExpectedGroups = std::map<std::vector<std::string>, Expected>;

class GroupingTest : public QueryTest {
 protected:
  GroupingTest() : QueryTest(7, grouped_definition()) {}

  size_t quick_units_ = LookUps::quick_units;
  bool has_nulls_ = true;  // the rows that are added
  bool has_far_wides_ = true;

  /// `texts`: how many different ones.
  void add_rows(int32_t first, int32_t last, size_t texts, bool in_bulk) {
    write_rows(first, last, in_bulk, [&](int32_t number, const auto& take) {
      const std::string some_word = std::array<std::string, 5>{"", "a", "a  ", "b", "B"}[below(5)];
      const std::string some_text = "text " + std::to_string(below(texts));
      const std::string some_note = "note " + std::to_string(below(9));
      const std::array<double, 4> reals{0.0, -0.0, 1.5, -1.5};
      const auto null = [&] { return has_nulls_ && below(10) == 0; };
      const std::array<Value, 7> values{
          Value::of(order_signed(number, 4)),
          null() ? Value{} : Value::of(order_signed(static_cast<int64_t>(below(256)) - 128, 1)),
          Value::of(has_far_wides_ && below(8) == 0 ? ~uint64_t{0} - below(3) : below(texts)),
          null() ? Value{} : Value::of(order_double(reals[below(4)])),
          null() ? Value{} : Value::of(ByteView(some_word)),
          null() ? Value{} : Value::of(ByteView(some_text)),
          null() ? Value{} : Value::of(ByteView(some_note)),
      };
      take(values);
    });
  }

  std::unique_ptr<Scan> scan(std::shared_ptr<const Predicate> predicate, bool as_codes) {
    return std::make_unique<Scan>(table_, *reader_, ReadLock::None, std::move(predicate),
                                  std::vector<uint16_t>(columns.begin(), columns.end()),
                                  std::vector<bool>(columns.size(), as_codes));
  }

  std::unique_ptr<ComputedRows> rows(std::shared_ptr<const Predicate> predicate, bool as_codes,
                                     Computation computation = {}) {
    return std::make_unique<ComputedRows>(scan(std::move(predicate), as_codes), columns.size(),
                                          std::move(computation));
  }

  ExpectedGroups expected(std::span<const uint16_t> keys, const std::shared_ptr<const Predicate>& predicate) {
    ExpectedGroups groups;
    const auto rows = scan(predicate, false);
    for (;;) {
      const auto batch = rows->next();
      EXPECT_TRUE(batch);
      if (!batch || *batch == nullptr) return groups;
      for (uint32_t row = 0; row < (*batch)->rows; ++row) {
        const auto value = [&](uint16_t column) { return (*batch)->columns[column].value(row); };
        std::vector<std::string> key;
        for (const uint16_t column : keys) key.push_back(canonical(value(column), column));
        Expected& group = groups[key];
        ++group.rows;
        if (!value(tiny).null) {
          ++group.tinies;
          group.tiny_sum += native_signed(value(tiny).integer, 1);
        }
        group.wide_sum += value(wide).integer;
        group.least_wide = std::min(group.least_wide, value(wide).integer);
        group.greatest_wide = std::max(group.greatest_wide, value(wide).integer);
        if (value(text).null) continue;
        const std::string bytes(value(text).bytes);
        if (group.texts++ == 0) group.least_text = group.greatest_text = bytes;
        group.least_text = std::min(group.least_text, bytes);
        group.greatest_text = std::max(group.greatest_text, bytes);
      }
    }
  }

  /// Compares the groups by `keys`; whether they had to be divided.
  bool compare(std::span<const uint16_t> keys, unsigned threads, bool as_codes,
               const std::shared_ptr<const Predicate>& predicate = nullptr) {
    using Kind = Aggregate::Kind;
    const std::array<Aggregate, 8> wanted{Aggregate{Kind::Rows},          Aggregate{Kind::Values, tiny},
                                          Aggregate{Kind::Sum, tiny},     Aggregate{Kind::Sum, wide},
                                          Aggregate{Kind::Minimum, wide}, Aggregate{Kind::Maximum, wide},
                                          Aggregate{Kind::Minimum, text}, Aggregate{Kind::Maximum, text}};
    auto grouping = Grouping::make(rows(predicate, as_codes), keys, wanted, threads);
    EXPECT_TRUE(grouping);
    (*grouping)->set_quick_units(quick_units_);
    ExpectedGroups groups;
    for (;;) {
      const auto found = (*grouping)->next();
      EXPECT_TRUE(found);
      if (!found || !*found) break;
      std::vector<std::string> key;
      for (size_t i = 0; i < keys.size(); ++i) key.push_back(canonical((*grouping)->keys()[i], keys[i]));
      const auto result = [&](size_t aggregate) { return (*grouping)->result(aggregate); };
      const Expected group{.rows = result(0).count,
                           .tinies = result(1).count,
                           .tiny_sum = static_cast<int64_t>(result(2).integer_sum),
                           .wide_sum = result(3).integer_sum,
                           .least_wide = result(4).integer,
                           .greatest_wide = result(5).integer,
                           .texts = result(6).count,
                           .least_text = result(6).bytes,
                           .greatest_text = result(7).bytes};
      EXPECT_EQ(result(2).count, group.tinies);
      EXPECT_TRUE(groups.emplace(key, group).second) << "a group is there twice: " << key.front();
    }
    EXPECT_TRUE(groups == expected(keys, predicate)) << keys.size() << " keys from " << keys.front();
    return (*grouping)->divided();
  }
};

/// Equal words of other bytes: "a" and "a  ".
TEST_F(GroupingTest, TellsOfVariantsBesideOtherKeys) {
  has_nulls_ = false;
  add_rows(0, 3000, 20, true);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  const auto has_variants = [&](std::vector<uint16_t> keys, unsigned threads, bool as_codes) {
    auto grouping = Grouping::make(rows(nullptr, as_codes), keys, {}, threads);
    EXPECT_TRUE(grouping);
    while (*(*grouping)->next()) {
    }
    return (*grouping)->has_variants();
  };
  for (const unsigned threads : {1U, 3U}) {
    for (const bool as_codes : {false, true}) {
      EXPECT_TRUE(has_variants({tiny, word}, threads, as_codes));
      EXPECT_TRUE(has_variants({word, text}, threads, as_codes));
      EXPECT_FALSE(has_variants({tiny, text}, threads, as_codes));
      EXPECT_FALSE(has_variants({word}, threads, as_codes));  // they are one group
    }
  }
}

/// Without other aggregates, rows are counted and texts compared by codes of the key's dictionary.
TEST_F(GroupingTest, OfOneTextAreCountedByCodes) {
  using Kind = Aggregate::Kind;
  host_.background = true;
  host_.segment_rows = 20'000;
  // Some batches have NULLs, and some dictionaries more values than rows would pay for.
  has_nulls_ = false;
  add_rows(0, 50'000, 300, true);
  has_nulls_ = true;
  add_rows(50'000, 60'000, 300, true);
  has_nulls_ = false;
  add_rows(60'000, 80'000, 15'000, true);
  add_rows(80'000, 81'000, 300, false);
  erase_rows(5, 81'000, 700);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  const auto few = std::make_shared<const Predicate>(
      Predicate::integer(id, {{.low = order_signed(19'000, 4), .high = order_signed(21'000, 4)},
                              {.low = order_signed(59'900, 4), .high = order_signed(60'100, 4)}}));
  const std::vector<std::vector<Aggregate>> lists{
      {},
      {Aggregate{Kind::Rows}},
      {Aggregate{Kind::Maximum, text}},
      {Aggregate{Kind::Minimum, text}, Aggregate{Kind::Values, text}, Aggregate{Kind::Rows},
       Aggregate{Kind::Maximum, text}}};
  for (const uint16_t key : {word, text}) {
    for (const std::shared_ptr<const Predicate>& predicate : {std::shared_ptr<const Predicate>(), few}) {
      const ExpectedGroups groups = expected({&key, 1}, predicate);
      for (const auto& wanted : lists) {
        for (const unsigned threads : {1U, 3U}) {
          auto grouping = Grouping::make(rows(predicate, /*as_codes=*/true), {&key, 1}, wanted, threads);
          ASSERT_TRUE(grouping);
          std::set<std::string> met;
          for (auto found = (*grouping)->next(); found && *found; found = (*grouping)->next()) {
            const std::string one = canonical((*grouping)->keys()[0], key);
            EXPECT_TRUE(met.insert(one).second) << one;
            ASSERT_TRUE(groups.contains({one})) << one;
            const Expected& group = groups.at({one});
            for (size_t i = 0; i < wanted.size(); ++i) {
              const AggregateResult result = (*grouping)->result(i);
              EXPECT_EQ(result.count, wanted[i].kind == Kind::Rows ? group.rows : group.texts) << one;
              if (wanted[i].kind == Kind::Minimum) {
                EXPECT_EQ(result.bytes, group.least_text) << one;
              }
              if (wanted[i].kind == Kind::Maximum) {
                EXPECT_EQ(result.bytes, group.greatest_text) << one;
              }
            }
          }
          EXPECT_EQ(met.size(), groups.size()) << key << ", " << wanted.size() << " aggregates";
        }
      }
    }
  }
}

const std::vector<std::vector<uint16_t>> choices{
    {id}, {tiny}, {wide}, {real}, {word}, {text}, {note}, {tiny, word}, {word, note, real}, {wide, text}};

TEST_F(GroupingTest, OfSegmentsAndDeltas) {
  host_.background = true;
  host_.segment_rows = 20'000;
  add_rows(0, 60'000, 300, true);
  add_rows(60'000, 61'000, 300, false);
  erase_rows(5, 61'000, 700);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  const auto few = std::make_shared<const Predicate>(
      Predicate::integer(tiny, {{.low = order_signed(-10, 1), .high = order_signed(10, 1)}}));
  for (const auto& keys : choices) {
    for (const unsigned threads : {1U, 3U}) {
      for (const bool as_codes : {false, true}) {
        EXPECT_FALSE(compare(keys, threads, as_codes));
        EXPECT_FALSE(compare(keys, threads, as_codes, few));
      }
    }
  }
}

TEST_F(GroupingTest, AreTakenApart) {
  host_.background = true;
  host_.segment_rows = 20'000;
  add_rows(0, 40'000, 9'000, true);
  add_rows(40'000, 41'000, 9'000, false);
  erase_rows(5, 41'000, 700);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  for (const size_t quick_units : {size_t{1}, size_t{100}, size_t{3'000}}) {
    quick_units_ = quick_units;
    for (const auto& keys : choices) {
      for (const unsigned threads : {1U, 3U, 5U}) {
        for (const bool as_codes : {false, true}) {
          const bool divided = compare(keys, threads, as_codes);
          // Few threads divide only what is very much for their tables.
          if (keys == std::vector<uint16_t>{id} && quick_units < 1'000) {
            EXPECT_TRUE(divided);
          }
          if (threads > GroupMerge::most_tables &&
              (keys.front() == id || keys == std::vector<uint16_t>{wide, text})) {
            EXPECT_TRUE(divided);
          }
          if (keys == std::vector<uint16_t>{wide, text} && quick_units < 100) {
            EXPECT_TRUE(divided);
          }
        }
      }
    }
  }
}

TEST_F(GroupingTest, AreManyAndPutTogetherWhereTheyAre) {
  host_.background = true;
  host_.segment_rows = 5'000;
  add_rows(0, 60'000, 40'000, true);
  add_rows(60'000, 62'000, 40'000, false);
  erase_rows(5, 62'000, 700);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  for (const auto& keys : choices) {
    for (const unsigned threads : {2U, 4U}) {
      for (const bool as_codes : {false, true}) EXPECT_FALSE(compare(keys, threads, as_codes));
    }
  }
}

TEST_F(GroupingTest, OfManyNumbersNearEachOther) {
  host_.background = true;
  host_.segment_rows = 50'000;
  has_far_wides_ = false;
  add_rows(0, 200'000, 90'000, true);
  has_far_wides_ = true;
  add_rows(200'000, 201'000, 180'000, false);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  for (const unsigned threads : {1U, 2U}) compare(std::array<uint16_t, 1>{wide}, threads, false);
}

TEST_F(GroupingTest, CountDistinctValuesOfManyTables) {
  using Kind = Aggregate::Kind;
  host_.background = true;
  host_.segment_rows = 5'000;
  add_rows(0, 40'000, 20'000, true);
  add_rows(40'000, 41'000, 20'000, false);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  const std::array<uint16_t, 3> counted{wide, text, word};
  const std::array<Aggregate, 4> wanted{Aggregate{Kind::Values, wide, true},
                                        Aggregate{Kind::Values, text, true}, Aggregate{Kind::Rows},
                                        Aggregate{Kind::Values, word, true}};
  for (const std::vector<uint16_t>& keys :
       {std::vector<uint16_t>{}, {tiny}, {word}, {text}, {tiny, word}, {wide, note}}) {
    struct Counted {
      uint64_t rows = 0;
      std::array<std::set<std::string>, 3> values;
    };
    std::map<std::vector<std::string>, Counted> groups;
    const auto key_of = [&](const auto& value_at) {
      std::vector<std::string> key;
      for (size_t i = 0; i < keys.size(); ++i) key.push_back(canonical(value_at(i), keys[i]));
      return key;
    };
    const auto all = scan(nullptr, false);
    for (const Batch* batch = *all->next(); batch != nullptr; batch = *all->next()) {
      for (uint32_t row = 0; row < batch->rows; ++row) {
        const auto value = [&](uint16_t column) { return batch->columns[column].value(row); };
        Counted& group = groups[key_of([&](size_t i) { return value(keys[i]); })];
        ++group.rows;
        for (size_t i = 0; i < counted.size(); ++i) {
          if (!value(counted[i]).null) group.values[i].insert(canonical(value(counted[i]), counted[i]));
        }
      }
    }
    for (const unsigned threads : {2U, 4U}) {
      for (const bool as_codes : {false, true}) {
        auto grouping = Grouping::make(rows(nullptr, as_codes), keys, wanted, threads);
        size_t found = 0;
        while (*(*grouping)->next()) {
          const auto group = groups.find(key_of([&](size_t i) { return (*grouping)->keys()[i]; }));
          ASSERT_NE(group, groups.end());
          ++found;
          const auto count = [&](size_t aggregate) { return (*grouping)->result(aggregate).count; };
          EXPECT_EQ(count(0), group->second.values[0].size());
          EXPECT_EQ(count(1), group->second.values[1].size());
          EXPECT_EQ(count(2), group->second.rows);
          EXPECT_EQ(count(3), group->second.values[2].size());
        }
        EXPECT_EQ(found, groups.size());
        EXPECT_FALSE((*grouping)->divided());
      }
    }
  }
}

TEST(LookUpsTest, AreInVainWhereNearlyAllIsNew) {
  // So many are looked for, all or some of which are new; a quick table has 100.
  const auto in_vain = [](uint64_t looked_for, size_t units, bool long_records, uint64_t fewest_tables) {
    LookUps look_ups(100, long_records, fewest_tables);
    look_ups.note(looked_for, units, /*ample=*/true);
    return look_ups.in_vain();
  };
  for (const bool long_records : {false, true}) {
    EXPECT_FALSE(in_vain(1'000, 100, long_records, 0)) << "most are met again";
    EXPECT_FALSE(in_vain(99, 99, long_records, 0)) << "lookups are quick";
    EXPECT_TRUE(in_vain(1'000, 900, long_records, 0));
    EXPECT_TRUE(in_vain(1'000, 900, long_records, 40)) << "4,500 units in all";
    EXPECT_FALSE(in_vain(1'000, 900, long_records, 50));
    EXPECT_TRUE(in_vain(1'000, 950, long_records, 50)) << "9,500 units in all";
    EXPECT_FALSE(in_vain(1'000, 1'000, long_records, LookUps::never));
  }
}

TEST_F(GroupingTest, OfNoRows) {
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  for (const auto& keys : choices) EXPECT_FALSE(compare(keys, 2, true));
}

TEST_F(GroupingTest, WithoutKeysAreNotTakenApart) {
  // Batches of a row each: all that they bring is new.
  add_rows(0, 1, 300, true);
  add_rows(1, 2, 300, false);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  quick_units_ = 1;
  EXPECT_FALSE(compare({}, 1, true));
}

TEST_F(GroupingTest, AreDividedWhenMemoryIsShort) {
  host_.background = true;
  host_.segment_rows = 20'000;
  add_rows(0, 60'000, 50'000, true);
  add_rows(60'000, 61'000, 50'000, false);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  host_.budget().set_limit(1);
  for (const auto& keys : choices) {
    const bool divided = compare(keys, 2, true);
    if (keys.front() == id || keys.front() == wide) {
      EXPECT_TRUE(divided);
    }
  }
  host_.budget().set_limit(size_t{64} << 20);
  for (const auto& keys : choices) {
    if (keys.front() == tiny) {
      EXPECT_FALSE(compare(keys, 2, true));
    }
  }
  host_.budget().set_limit(size_t{1} << 30);
}

/// What a host may make of a group: the last digit of its rows, without zeros, and the end of its text.
Status compute_host_values(const Groups& group, std::span<Value> values, std::string& bytes) {
  const uint64_t digit = group.result(0).count % 10;
  values[0] = digit == 0 ? Value{} : Value::of(digit);
  bytes = group.result(2).bytes;
  bytes.erase(0, bytes.size() - std::min<size_t>(bytes.size(), 2));
  values[1] = Value::of(ByteView(bytes));
  return {};
}

/// What SortedGroups sorts by here: tiny, its sum, the greatest text, the rows, the host's; as one string
/// that sorts alike.
std::string sort_text(const Groups& groups, std::span<const GroupOrder> order) {
  std::string text;
  for (const GroupOrder& by : order) {
    std::string part(1, '\0');  // NULL
    const auto add_number = [&](uint64_t number) {
      part[0] = 1;
      for (int shift = 56; shift >= 0; shift -= 8) part.push_back(static_cast<char>(number >> shift & 0xff));
    };
    if (by.by == GroupOrder::By::Key) {
      const Value key = groups.keys()[by.number];
      if (!key.null) add_number(key.integer);
    } else if (by.by == GroupOrder::By::Host) {
      std::string bytes;
      std::array<Value, 2> values;
      EXPECT_TRUE(compute_host_values(groups, values, bytes));
      if (by.number == 0) {
        if (!values[0].null) add_number(values[0].integer);
      } else {
        part[0] = 1;
        part += bytes;
        part.resize(3, '\0');
      }
    } else {
      const AggregateResult result = groups.result(by.number);
      if (by.number == 0) {
        add_number(result.count);
      } else if (by.number == 1 && result.count != 0) {
        add_number(static_cast<uint64_t>(result.integer_sum + (WideInteger{1} << 62)));
      } else if (by.number == 2 && result.count != 0) {
        part[0] = 1;
        part += result.bytes;
        part.resize(30, '\0');
      }
    }
    for (char& each : part) each = by.descending ? static_cast<char>(~each) : each;
    text += part;
  }
  return text;
}

TEST_F(GroupingTest, TheFirstOnesOfAnOrder) {
  add_rows(0, 30'000, 300, true);
  add_rows(30'000, 30'100, 300, false);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  using Kind = Aggregate::Kind;
  const std::array<Aggregate, 3> wanted{Aggregate{Kind::Rows}, Aggregate{Kind::Sum, tiny},
                                        Aggregate{Kind::Maximum, text}};
  const std::array<uint16_t, 2> keys{tiny, wide};
  const auto all = [&] {
    auto grouping = Grouping::make(rows(nullptr, true), keys, wanted, 1);
    EXPECT_TRUE(grouping);
    return std::move(*grouping);
  };
  for (int round = 0; round < 40; ++round) {
    std::vector<GroupOrder> order;
    for (size_t i = 0; i < 1 + below(3); ++i) {
      const auto by = static_cast<GroupOrder::By>(below(3));
      order.push_back(
          {.by = by, .number = below(by == GroupOrder::By::Aggregate ? 3 : 2), .descending = below(2) == 0});
    }
    const size_t most = std::array<size_t, 4>{1, 2, 50, SortedGroups::all}[below(4)];
    std::vector<std::string> expected;
    host_.budget().set_limit(size_t{1} << 30);
    for (const auto groups = all(); *groups->next();) expected.push_back(sort_text(*groups, order));
    std::ranges::sort(expected);
    expected.resize(std::min(most, expected.size()));
    // With little memory the groups come in several passes.
    host_.budget().set_limit(round % 2 == 0 ? size_t{1} << 30 : 1);
    std::vector<std::string> got;
    std::string bytes;
    HostGroupValues host{.columns = {ScanColumn{}, ScanColumn{.integer = false,
                                                              .type = Type::Varchar,
                                                              .width = 2,
                                                              .collation = &binary_collation()}},
                         .compute = [&](const Groups& group, std::span<Value> values) {
                           return compute_host_values(group, values, bytes);
                         }};
    const bool by_host =
        std::ranges::any_of(order, [](const GroupOrder& by) { return by.by == GroupOrder::By::Host; });
    SortedGroups top(all(), order, most, by_host ? std::move(host) : HostGroupValues{});
    while (*top.next()) got.push_back(sort_text(top, order));
    ASSERT_EQ(got, expected) << "round " << round;
    EXPECT_FALSE(*top.next());
  }
  host_.budget().set_limit(size_t{1} << 30);
  SortedGroups none(
      Grouping::make(rows(std::make_shared<const Predicate>(Predicate::never()), true), keys, wanted, 2)
          .value(),
      {{.number = 1}}, 3);
  EXPECT_FALSE(*none.next());
}

/// Of one group: sums without rounding, distinct values, and what is computed of each row.
struct Computed {
  uint64_t rows = 0;
  std::map<double, uint64_t> reals;
  std::set<std::string> words;
  std::set<int64_t> tinies;
  uint64_t bits = 0;
  WideInteger computed = 0;
};

TEST_F(GroupingTest, OfExpressionsAndDistinctValues) {
  host_.background = true;
  host_.segment_rows = 20'000;
  add_rows(0, 50'000, 300, true);
  add_rows(50'000, 51'000, 300, false);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);

  // CASE WHEN word = 'b' THEN tiny * id ELSE id - 7 END, of rows with tiny > -100; by id % 10.
  class IsB final : public BytesTest {
    bool matches(ByteView value) const override { return value == "b"; }
  };
  const ScanColumn id_column{.type = Type::Signed, .width = 4}, tiny_column{.type = Type::Signed, .width = 1};
  const ScanColumn word_column{.integer = false, .type = Type::Varchar, .width = 20};
  const auto conditions = std::make_shared<Program>();
  const auto values = std::make_shared<Program>();
  Computation computation;
  computation.passes = conditions->add(Expression::call(
      Function::Less, {Expression::constant(int64_t{-100}), Expression::column(tiny, tiny_column)}));
  computation.conditions = conditions;
  const auto number = Expression::column(id, id_column), small = Expression::column(tiny, tiny_column);
  const auto is_b = Expression::matches(Predicate::bytes(word, std::make_shared<IsB>()), word, word_column);
  const auto chosen = values->add(Expression::call(
      Function::Choose, {is_b, Expression::call(Function::Multiply, {small, number}),
                         Expression::call(Function::Subtract, {number, Expression::constant(int64_t{7})})}));
  const auto last_digit = [&] {
    return values->add(Expression::call(Function::Remainder, {number, Expression::constant(int64_t{10})},
                                        {.tells_zero = true}));
  };
  const auto digit = last_digit();
  EXPECT_EQ(digit, last_digit());
  computation.values = values;
  computation.columns = {Computation::Column::of(*values, chosen), Computation::Column::of(*values, digit)};
  constexpr uint16_t chosen_position = columns.size(), digit_position = chosen_position + 1;

  std::map<int64_t, Computed> expected;
  const auto all = scan(nullptr, false);
  for (;;) {
    const auto batch = all->next();
    ASSERT_TRUE(batch);
    if (*batch == nullptr) break;
    for (uint32_t row = 0; row < (*batch)->rows; ++row) {
      const auto value = [&](uint16_t column) { return (*batch)->columns[column].value(row); };
      const int64_t key = native_signed(value(id).integer, 4);
      if (value(tiny).null || native_signed(value(tiny).integer, 1) <= -100) continue;
      Computed& group = expected[key % 10];
      ++group.rows;
      if (!value(real).null) ++group.reals[native_double(value(real).integer) + 0.0];
      if (!value(word).null) group.words.insert(canonical(value(word), word));
      group.tinies.insert(native_signed(value(tiny).integer, 1));
      group.bits ^= value(wide).integer;
      const bool b = !value(word).null && value(word).bytes == "b";
      group.computed += b ? native_signed(value(tiny).integer, 1) * key : key - 7;
    }
  }

  using Kind = Aggregate::Kind;
  const std::array<Aggregate, 8> wanted{Aggregate{Kind::Rows},
                                        Aggregate{Kind::Sum, real},
                                        Aggregate{Kind::Values, real, true},
                                        Aggregate{Kind::Values, word, true},
                                        Aggregate{Kind::Sum, tiny, true},
                                        Aggregate{Kind::BitXor, wide},
                                        Aggregate{Kind::Sum, chosen_position},
                                        Aggregate{Kind::Maximum, chosen_position}};
  const std::array<uint16_t, 1> key{digit_position};
  for (const bool as_codes : {false, true}) {
    for (const unsigned threads : {1U, 3U}) {
      auto grouping = Grouping::make(rows(nullptr, as_codes, computation), key, wanted, threads);
      ASSERT_TRUE(grouping);
      size_t groups = 0;
      while (*(*grouping)->next()) {
        ++groups;
        const auto result = [&](size_t aggregate) { return (*grouping)->result(aggregate); };
        const Computed& group = expected.at(native_signed((*grouping)->keys()[0].integer, 8));
        EXPECT_EQ(result(0).count, group.rows);
        double sum = 0;
        for (const auto& [each, times] : group.reals) sum += each * static_cast<double>(times);
        EXPECT_EQ(result(1).real_sum, sum);
        EXPECT_EQ(result(2).count, group.reals.size());
        EXPECT_EQ(result(3).count, group.words.size());
        int64_t tinies = 0;
        for (const int64_t each : group.tinies) tinies += each;
        EXPECT_EQ(static_cast<int64_t>(result(4).integer_sum), tinies);
        EXPECT_EQ(result(5).integer, group.bits);
        EXPECT_TRUE(result(6).integer_sum == group.computed);
      }
      EXPECT_EQ(groups, expected.size());
    }
  }

  // Without keys, and with memory for some of the groups only.
  auto whole = Grouping::make(rows(nullptr, true, computation), {}, wanted, 2);
  ASSERT_TRUE(*(*whole)->next());
  uint64_t counted = 0;
  for (const auto& [digit_of_group, group] : expected) counted += group.rows;
  EXPECT_EQ((*whole)->result(0).count, counted);
  EXPECT_EQ((*whole)->result(3).count, 4);
  EXPECT_FALSE(*(*whole)->next());
  auto nothing = Grouping::make(rows(std::make_shared<const Predicate>(Predicate::never()), true), {},
                                {wanted.data(), 5}, 2);
  ASSERT_TRUE(*(*nothing)->next());
  EXPECT_EQ((*nothing)->result(0).count, 0);
  EXPECT_FALSE(*(*nothing)->next());

  host_.budget().set_limit(size_t{4} << 20);
  const std::array<uint16_t, 1> by_id{id};
  const Aggregate distinct{Kind::Values, wide, true};
  auto many = Grouping::make(rows(nullptr, true), by_id, {&distinct, 1}, 2);
  uint64_t found = 0;
  while (*(*many)->next()) found += (*many)->result(0).count;
  EXPECT_EQ(found, 51'000);
  EXPECT_TRUE((*many)->divided());
  host_.budget().set_limit(size_t{1} << 30);
}

TEST_F(GroupingTest, EndsWhereAnExpressionIsNotComputed) {
  add_rows(0, 3000, 300, true);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  const auto values = std::make_shared<Program>();
  const auto number = values->add(Expression::column(wide, {.type = Type::Unsigned, .width = 8}));
  Computation computation{
      .conditions = nullptr, .values = values, .columns = {Computation::Column::of(*values, number)}};
  computation.has_failed = std::make_shared<std::atomic<bool>>(false);
  const std::array<uint16_t, 1> key{columns.size()};
  auto grouping = Grouping::make(rows(nullptr, true, computation), key, {}, 2);
  EXPECT_EQ((*grouping)->next().error().code(), ErrorCode::InvalidArgument);
  EXPECT_TRUE(computation.has_failed->load());
}

TEST_F(GroupingTest, RefusesWhatItCannot) {
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  const std::array<uint16_t, 1> key{id};
  const std::array<Aggregate, 3> refused{Aggregate{Aggregate::Kind::Sum, word},
                                         Aggregate{Aggregate::Kind::BitOr, real},
                                         Aggregate{Aggregate::Kind::BitAnd, tiny}};
  for (const Aggregate& each : refused) {
    EXPECT_EQ(Grouping::make(rows(nullptr, true), key, {&each, 1}, 1).error().code(), ErrorCode::Unsupported);
  }
  const std::array<uint16_t, 1> beyond{99};
  EXPECT_EQ(Grouping::make(rows(nullptr, true), beyond, {}, 1).error().code(), ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace hailstone

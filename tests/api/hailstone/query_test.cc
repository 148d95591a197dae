// Queries of hailstone.h: each operation, types of results, what a query sees, errors, cancelling, careless
// callers.
#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "api/hailstone/arrow_rows_text.h"
#include "api/hailstone/fixture.h"

namespace hailstone {
namespace {

using Rows = std::vector<std::string>;

class QueryTest : public HailstoneTest {
 protected:
  void SetUp() override {
    in_memory_ = true;
    HailstoneTest::SetUp();
    hs_schema* schema = nullptr;
    ASSERT_HS(HS_OK, hs_schema_new(&schema));
    for (const auto& [name, type] : std::array<std::pair<const char*, hs_type>, 7>{{{"id", HS_INT64},
                                                                                    {"shop", HS_INT32},
                                                                                    {"day", HS_DATE},
                                                                                    {"price", HS_DOUBLE},
                                                                                    {"n", HS_UINT8},
                                                                                    {"at", HS_DATETIME},
                                                                                    {"gift", HS_BOOL}}})
      ASSERT_HS_OK(hs_schema_column(schema, name, type, 0, std::string_view(name) == "id" ? HS_NOT_NULL : 0),
                   schema);
    const char* const id[] = {"id"};
    ASSERT_HS_OK(hs_schema_primary_key(schema, id, 1), schema);
    sales_ = create("test/sales", schema);
    shops_ = create_pairs("test/shops");
    tx_ = begin();
    for (const auto& [number, city] :
         std::array<std::pair<int, const char*>, 4>{{{1, "Berlin"}, {2, "Paris"}, {3, nullptr}, {4, "Rome"}}})
      ASSERT_HS_OK(insert(tx_, shops_, number, city), tx_);
    // id, shop, day, price, n
    for (int64_t i = 0; i < 12; ++i) {
      const hs_value row[] = {hs_int(i),
                              i == 5 ? hs_null() : hs_int(1 + i % 3),
                              hs_int(19'782 + i),  // 2024-02-29 and later
                              hs_double(0.5 * static_cast<double>(i)),
                              hs_uint(static_cast<uint64_t>(i % 4)),
                              hs_int((19'782 * int64_t{86'400} + i * 3600) * 1'000'000),
                              hs_uint(static_cast<uint64_t>(i % 2))};
      ASSERT_HS_OK(hs_insert(tx_, sales_, row, 7), tx_);
    }
  }
  void TearDown() override {
    hs_transaction_close(tx_);
    HailstoneTest::TearDown();
  }

  hs_query* of_sales(const char* alias = nullptr) { return of_table(sales_, alias); }
  hs_query* of_shops() { return of_table(shops_, nullptr); }
  hs_query* of_table(hs_table* table, const char* alias) {
    hs_query* query = nullptr;
    EXPECT_HS_OK(hs_query_table(tx_, table, alias, &query), tx_);
    return query;
  }
  static void project(hs_query* query, std::vector<const char*> items) {
    EXPECT_HS_OK(hs_query_project(query, items.data(), items.size(), nullptr, 0), query);
  }
  static void filter(hs_query* query, const char* condition, std::vector<hs_value> parameters = {}) {
    EXPECT_HS_OK(hs_query_filter(query, condition, parameters.data(), parameters.size()), query);
  }
  static void aggregate(hs_query* query, std::vector<const char*> keys, std::vector<const char*> aggregates) {
    EXPECT_HS_OK(
        hs_query_aggregate(query, keys.data(), keys.size(), aggregates.data(), aggregates.size(), nullptr, 0),
        query);
  }
  static void sort(hs_query* query, std::vector<const char*> keys) {
    EXPECT_HS_OK(hs_query_sort(query, keys.data(), keys.size(), nullptr, 0), query);
  }
  /// Closes the query.
  Rows rows_of(hs_query* query) {
    ArrowArrayStream stream{};
    const int status = hs_query_stream(query, &stream);
    EXPECT_HS_OK(status, query);
    if (status != HS_OK) return {};
    columns_ = columns_of_stream(stream);
    hs_query_close(query);
    return rows_of_stream(stream);
  }
  static Rows sorted(Rows rows) {
    std::ranges::sort(rows);
    return rows;
  }
  static void expect_error(int code, int status, hs_query* query, std::string_view part) {
    EXPECT_HS(code, status);
    EXPECT_NE(std::string_view(hs_error_message(query)).find(part), std::string_view::npos)
        << hs_error_message(query);
  }

  hs_table *sales_ = nullptr, *shops_ = nullptr;
  hs_transaction* tx_ = nullptr;
  std::string columns_;  // of the stream that was read last
};

TEST_F(QueryTest, ColumnsOfTablesComeAsTheyAre) {
  hs_query* const query = of_sales();
  filter(query, "id = 3");
  EXPECT_EQ(rows_of(query), Rows({"3 1 19785 1.5 3 1709175600000000 true"}));
  EXPECT_EQ(columns_, "id:l shop:i day:tdD price:g n:C at:tsu: gift:b");
}

TEST_F(QueryTest, ExpressionsHaveTheTypesOfSql) {
  hs_query* const query = of_sales();
  filter(query, "id = ?", {hs_int(3)});
  project(query, {"id + 1 AS more", "price * 2", "n / 2 AS half", "day + INTERVAL 1 MONTH AS later", "id > 2",
                  "CONCAT('n', n) AS text", "YEAR(day)", "at", "at + INTERVAL 1 SECOND"});
  EXPECT_EQ(rows_of(query), Rows({"4 3 1.5000 19816 true n3 2024 1709175600000000 1709175601000000"}));
  EXPECT_EQ(columns_,
            "more:l price * 2:g half:d:7,4 later:tdD id > 2:b text:u YEAR(day):l at:tsu: at + INTERVAL 1 "
            "SECOND:tsu:");
}

TEST_F(QueryTest, FiltersKeepWhatIsTrue) {
  hs_query* query = of_sales();
  filter(query, "shop = 2 OR price > ?", {hs_double(5)});
  filter(query, "`id` <> 1");
  project(query, {"id"});
  EXPECT_EQ(sorted(rows_of(query)), Rows({"10", "11", "4", "7"}));
  query = of_sales();
  filter(query, "day BETWEEN DATE '2024-03-02' AND DATE '2024-03-04'");
  project(query, {"id"});
  EXPECT_EQ(sorted(rows_of(query)), Rows({"2", "3", "4"}));
}

TEST_F(QueryTest, OrdersKnowWhatAProjectionLeavesOut) {
  hs_query* query = of_sales();
  project(query, {"n * 2 AS twice", "-id AS n"});
  // A name that is shown comes first.
  sort(query, {"price DESC", "n"});
  ASSERT_HS_OK(hs_query_limit(query, 0, 2), query);
  const char* const gone[] = {"price"};
  expect_error(HS_INVALID, hs_query_sort(query, gone, 1, nullptr, 0), query, "there is no column 'price'");
  EXPECT_EQ(rows_of(query), Rows({"6 -11", "4 -10"}));
  query = of_sales();
  project(query, {"gift"});
  filter(query, "gift");
  expect_error(HS_INVALID, hs_query_sort(query, gone, 1, nullptr, 0), query, "there is no column 'price'");
  hs_query_close(query);
}

TEST_F(QueryTest, NamesThatDifferInTheCaseOfLettersAreMeantToTheLetter) {
  hs_query* const query = of_sales();
  project(query, {"id AS x", "id + 1 AS X", "id AS y", "id AS Y"});
  filter(query, "x = 3 AND X = 4 AND y = 3");
  EXPECT_EQ(rows_of(query), Rows({"3 4 3 3"}));
}

TEST_F(QueryTest, DaysAreComparedAsSqlDoes) {
  const auto ids = [&](const char* condition) {
    hs_query* const query = of_sales();
    filter(query, condition);
    project(query, {"id"});
    sort(query, {"id"});
    std::string all;
    for (const std::string& id : rows_of(query)) all += id + " ";
    return all;
  };
  for (const int64_t day : {int64_t{-2'000'000}, int64_t{4'000'000}}) {
    const hs_value row[] = {hs_int(day), hs_null(), hs_int(day), hs_null(), hs_null(), hs_null(), hs_null()};
    ASSERT_HS_OK(hs_insert(tx_, sales_, row, 7), tx_);
  }
  EXPECT_EQ(ids("day <= DATE '2024-03-01'"), "-2000000 0 1 ");
  EXPECT_EQ(ids("day < '2024-03-01'"), "-2000000 0 ");
  EXPECT_EQ(ids("day >= TIMESTAMP '2024-03-09 00:00:01'"), "10 11 4000000 ");
  EXPECT_EQ(ids("day = DATE '2024-03-05'"), "5 ");
  EXPECT_EQ(ids("day <> DATE '2024-03-05' AND id < 7 AND id > 3"), "4 6 ");
  EXPECT_EQ(ids("day = TIMESTAMP '2024-03-05 01:00:00'"), "");
  EXPECT_EQ(ids("day > DATE '9999-12-31'"), "4000000 ");
  EXPECT_EQ(ids("day BETWEEN DATE '2024-03-08' AND DATE '2024-03-09'"), "8 9 ");
  EXPECT_EQ(ids("at BETWEEN '2024-02-29 02:00:00' AND '2024-02-29 04:30:00'"), "2 3 4 ");
  EXPECT_EQ(ids("MONTH(day) = 2 AND id BETWEEN 0 AND 100"), "0 ");
}

TEST_F(QueryTest, JoinsByDays) {
  hs_query *query = of_sales("a"), *right = of_sales("b");
  ASSERT_HS_OK(hs_query_join(query, right, HS_JOIN_INNER, "a.day = b.day AND b.at < a.at", nullptr, 0),
               query);
  aggregate(query, {}, {"COUNT(*)"});
  hs_query_close(right);
  EXPECT_EQ(rows_of(query), Rows({"0"}));
}

TEST_F(QueryTest, GroupsHaveKeysAndAggregates) {
  hs_query* const query = of_sales();
  aggregate(query, {"shop", "gift"},
            {"COUNT(*) AS sales", "SUM(n)", "AVG(n) AS mean", "MIN(day) AS first", "MAX(price)",
             "COUNT(DISTINCT n % 2) AS kinds"});
  sort(query, {"shop", "gift DESC"});
  EXPECT_EQ(rows_of(query), Rows({"NULL true 1 1 1.0000 19787 2.5 1", "1 true 2 4 2.0000 19785 4.5 1",
                                  "1 false 2 2 1.0000 19782 3 1", "2 true 2 4 2.0000 19783 3.5 1",
                                  "2 false 2 2 1.0000 19786 5 1", "3 true 1 3 3.0000 19793 5.5 1",
                                  "3 false 2 2 1.0000 19784 4 1"}));
  EXPECT_EQ(columns_, "shop:i gift:b sales:l SUM(n):d:25,0 mean:d:7,4 first:tdD MAX(price):g kinds:l");
}

TEST_F(QueryTest, SumsBecomeWholeNumbers) {
  hs_query* const query = of_sales();
  aggregate(query, {}, {"SUM(n) AS all_of_them", "SUM(-id) AS below"});
  project(query, {"CAST(all_of_them AS SIGNED) AS whole", "CAST(below AS SIGNED)", "below"});
  EXPECT_EQ(rows_of(query), Rows({"18 -66 -66"}));
  EXPECT_EQ(columns_, "whole:l CAST(below AS SIGNED):l below:d:38,0");
}

TEST_F(QueryTest, GroupsOfNothing) {
  hs_query* query = of_sales();
  filter(query, "id < 0");
  aggregate(query, {}, {"COUNT(*)", "SUM(price)", "AVG(n)"});
  EXPECT_EQ(rows_of(query), Rows({"0 NULL NULL"}));
  query = of_sales();
  filter(query, "id < 0");
  aggregate(query, {"shop"}, {"COUNT(*)"});
  EXPECT_EQ(rows_of(query), Rows());
}

TEST_F(QueryTest, JoinsOfAllKinds) {
  const auto join = [&](hs_join_kind kind) {
    hs_query *query = of_shops(), *right = of_sales("s");
    filter(right, "s.id < 3 OR s.id = 5");
    EXPECT_HS_OK(hs_query_join(query, right, kind, "s.shop = shops.id AND s.id <> 1", nullptr, 0), query);
    project(query, kind == HS_JOIN_INNER || kind == HS_JOIN_LEFT
                       ? std::vector<const char*>{"shops.id", "text", "s.id AS sale"}
                       : std::vector<const char*>{"shops.id", "text"});
    hs_query_close(right);
    return sorted(rows_of(query));
  };
  EXPECT_EQ(join(HS_JOIN_INNER), Rows({"1 Berlin 0", "3 NULL 2"}));
  EXPECT_EQ(join(HS_JOIN_LEFT), Rows({"1 Berlin 0", "2 Paris NULL", "3 NULL 2", "4 Rome NULL"}));
  EXPECT_EQ(join(HS_JOIN_SEMI), Rows({"1 Berlin", "3 NULL"}));
  EXPECT_EQ(join(HS_JOIN_ANTI), Rows({"2 Paris", "4 Rome"}));
}

TEST_F(QueryTest, ColumnsKeepTheirNamesWithoutTheirTables) {
  hs_query *query = of_sales("a"), *right = of_sales("b");
  ASSERT_HS_OK(hs_query_join(query, right, HS_JOIN_INNER, "a.id = b.id", nullptr, 0), query);
  hs_query_close(right);
  aggregate(query, {"a.shop"}, {"COUNT(*) AS n"});
  sort(query, {"shop"});
  project(query, {"a.shop", "n"});
  EXPECT_EQ(rows_of(query), Rows({"NULL 1", "1 4", "2 4", "3 3"}));
  EXPECT_EQ(columns_, "shop:i n:l");
}

TEST_F(QueryTest, JoinsByComputedValues) {
  hs_query *query = of_sales("a"), *right = of_sales("b");
  ASSERT_HS_OK(hs_query_join(query, right, HS_JOIN_INNER,
                             "a.day + INTERVAL 10 DAY = b.day AND a.id + 10 = b.id", nullptr, 0),
               query);
  project(query, {"a.id AS one", "b.id AS other"});
  EXPECT_EQ(sorted(rows_of(query)), Rows({"0 10", "1 11"}));
}

TEST_F(QueryTest, DistinctSortedLimitedUnited) {
  hs_query* query = of_sales();
  project(query, {"shop"});
  EXPECT_HS_OK(hs_query_distinct(query), query);
  sort(query, {"shop DESC"});
  EXPECT_HS_OK(hs_query_limit(query, 1, 2), query);
  EXPECT_EQ(rows_of(query), Rows({"2", "1"}));

  query = of_sales();
  filter(query, "id < 2");
  project(query, {"n AS number", "price"});
  hs_query* const right = of_shops();
  project(right, {"id / 2", "id * 100"});
  EXPECT_HS_OK(hs_query_union(query, right), query);
  EXPECT_EQ(sorted(rows_of(query)),
            Rows({"0.0000 0", "0.5000 100", "1.0000 0.5", "1.0000 200", "1.5000 300", "2.0000 400"}));
  EXPECT_EQ(columns_, "number:d:23,4 price:g");
}

TEST_F(QueryTest, OrdersByWhatIsNotShown) {
  hs_query* const query = of_sales();
  project(query, {"id", "n"});
  sort(query, {"n % 2 DESC", "id DESC"});
  EXPECT_HS_OK(hs_query_limit(query, 0, 3), query);
  EXPECT_EQ(rows_of(query), Rows({"11 3", "9 1", "7 3"}));
}

TEST_F(QueryTest, ValuesAreRows) {
  hs_query* query = nullptr;
  const char* const names[] = {"x", "word"};
  const hs_value values[] = {hs_int(2), hs_text("two"), hs_null(), hs_text("none"), hs_int(-1), hs_null()};
  ASSERT_HS_OK(hs_query_values(tx_, "v", names, 2, values, 3, &query), tx_);
  filter(query, "v.x IS NULL OR x > 0");
  EXPECT_EQ(sorted(rows_of(query)), Rows({"2 two", "NULL none"}));
  const hs_value mixed[] = {hs_int(2), hs_double(1)};
  EXPECT_HS(HS_INVALID, hs_query_values(tx_, "v", names, 1, mixed, 2, &query));
  EXPECT_STREQ(hs_error_message(tx_), "column 'x' has values of several kinds");
}

TEST_F(QueryTest, StreamsOfTheCallerAreRows) {
  // A scan's stream is one of the application's as well.
  hs_scan* scan = nullptr;
  ASSERT_HS_OK(hs_scan_open(tx_, sales_, &scan), tx_);
  for (const char* const name : {"id", "day", "gift"}) ASSERT_HS_OK(hs_scan_column(scan, name, 0), scan);
  ArrowArrayStream given{};
  ASSERT_HS_OK(hs_scan_stream(scan, &given), scan);
  hs_scan_close(scan);
  hs_query *query = of_shops(), *right = nullptr;
  ASSERT_HS_OK(hs_query_arrow(tx_, &given, "given", &right), tx_);
  EXPECT_EQ(given.release, nullptr);
  ASSERT_HS_OK(hs_query_join(query, right, HS_JOIN_INNER, "given.id = shops.id", nullptr, 0), query);
  project(query, {"text", "day", "gift"});
  ArrowArrayStream stream{};
  ASSERT_HS_OK(hs_query_stream(query, &stream), query);
  EXPECT_EQ(sorted(rows_of_stream(stream)),
            Rows({"Berlin 19783 true", "NULL 19785 true", "Paris 19784 false", "Rome 19786 false"}));
  ASSERT_HS_OK(hs_query_stream(query, &stream), query);
  EXPECT_EQ(rows_of_stream(stream),
            Rows({"error 22: the Arrow stream 'given' has been read by another query"}));
  hs_query_close(query);
  hs_query_close(right);
}

TEST_F(QueryTest, AFailingStreamEndsTheQueryWithItsError) {
  ArrowArrayStream given{};
  hs_scan* scan = nullptr;
  ASSERT_HS_OK(hs_scan_open(tx_, sales_, &scan), tx_);
  ASSERT_HS_OK(hs_scan_stream(scan, &given), scan);
  given.get_next = [](ArrowArrayStream*, ArrowArray*) { return 5; };
  given.get_last_error = [](ArrowArrayStream*) { return "the network is down"; };
  hs_query* query = nullptr;
  ASSERT_HS_OK(hs_query_arrow(tx_, &given, "far", &query), tx_);
  aggregate(query, {}, {"COUNT(*)"});
  EXPECT_EQ(rows_of(query),
            Rows({"error 22: the Arrow stream 'far': it failed with error 5: the network is down"}));
  hs_scan_close(scan);
}

TEST_F(QueryTest, SeesTheChangesOfItsTransactionAndNoOthers) {
  hs_query* query = of_sales();
  aggregate(query, {}, {"COUNT(*)"});
  EXPECT_EQ(rows_of(query), Rows({"12"})) << "which has not been committed";
  hs_transaction* const other = begin();
  hs_table* table = nullptr;
  ASSERT_HS_OK(hs_table_open(other, "test/sales", &table), other);
  ASSERT_HS_OK(hs_query_table(other, table, nullptr, &query), other);
  EXPECT_EQ(rows_of(query), Rows());
  hs_transaction_close(other);
  hs_table_close(table);
}

TEST_F(QueryTest, AllOfItIsOfOneMoment) {
  hs_transaction_close(tx_);  // which has written everything
  tx_ = begin(HS_READ_COMMITTED);
  hs_transaction* writer = begin();
  ASSERT_HS_OK(insert(writer, shops_, 1, "Oslo"), writer);
  commit(writer);
  hs_query *query = of_shops(), *right = of_shops();
  ASSERT_HS_OK(hs_query_union(query, right), query);
  hs_query_close(right);
  ArrowArrayStream stream{};
  ASSERT_HS_OK(hs_query_stream(query, &stream), query);
  writer = begin();
  ASSERT_HS_OK(insert(writer, shops_, 2, "Bern"), writer);
  commit(writer);
  EXPECT_EQ(rows_of_stream(stream), Rows({"1 Oslo", "1 Oslo"}));
  EXPECT_EQ(rows_of(query).size(), 4U);
}

TEST_F(QueryTest, EndsWithItsTransaction) {
  hs_query* const query = of_sales();
  ArrowArrayStream stream{};
  ASSERT_HS_OK(hs_query_stream(query, &stream), query);
  ASSERT_HS_OK(hs_commit(tx_), tx_);
  ArrowArray array{};
  EXPECT_NE(stream.get_next(&stream, &array), 0);
  EXPECT_HS(HS_INVALID, hs_query_filter(query, "TRUE", nullptr, 0));
  hs_transaction_close(tx_);
  stream.release(&stream);
  tx_ = begin();
}

TEST_F(QueryTest, ErrorsNameTheTextAndThePlace) {
  hs_query* const query = of_sales();
  expect_error(HS_INVALID, hs_query_filter(query, "prise > 1", nullptr, 0), query, "price");
  expect_error(HS_INVALID, hs_query_filter(query, "price >", nullptr, 0), query, "'price >': at 8");
  expect_error(HS_INVALID, hs_query_filter(query, "price > ?", nullptr, 0), query, "'price > ?'");
  const hs_value two[] = {hs_int(1), hs_int(2)};
  expect_error(HS_INVALID, hs_query_filter(query, "price > ?", two, 2), query, "1 parameters more");
  expect_error(HS_INVALID, hs_query_filter(query, nullptr, nullptr, 0), query, "NULL");
  const char* const wrong[] = {"SUM(price"};
  expect_error(HS_INVALID, hs_query_aggregate(query, nullptr, 0, wrong, 1, nullptr, 0), query, "parenthesis");
  const char* const none[] = {"MEDIAN(price)"};
  expect_error(HS_INVALID, hs_query_aggregate(query, nullptr, 0, none, 1, nullptr, 0), query, "COUNT, SUM");
  hs_query* const again = of_sales();
  expect_error(HS_INVALID, hs_query_join(query, query, HS_JOIN_INNER, nullptr, nullptr, 0), query,
               "this one");
  ASSERT_HS_OK(hs_query_join(query, again, HS_JOIN_INNER, nullptr, nullptr, 0), query);
  expect_error(HS_INVALID, hs_query_filter(query, "id = 1", nullptr, 0), query, "twice");
  expect_error(HS_INVALID, hs_query_filter(again, "id = 1", nullptr, 0), again, "joined or united");
  expect_error(HS_INVALID, hs_query_threads(query, 0), query, "1 to 64");
  expect_error(HS_INVALID, hs_query_stream(query, nullptr), query, "NULL");
  hs_query_close(again);
  hs_query_close(query);
  EXPECT_HS(HS_INVALID, hs_query_filter(query, "TRUE", nullptr, 0)) << "closed";
}

TEST_F(QueryTest, ValuesWithoutRoomEndTheQuery) {
  hs_query* const query = of_sales();
  project(query, {"id * 9223372036854775807 AS much"});
  const Rows rows = rows_of(query);
  ASSERT_FALSE(rows.empty());
  EXPECT_TRUE(rows.back().starts_with("error 22")) << rows.back();
}

TEST_F(QueryTest, DivisionsByZeroAreNull) {
  hs_query* const query = of_sales();
  filter(query, "id < 2");
  project(query, {"id / 0 AS nothing", "id % 0"});
  EXPECT_EQ(rows_of(query), Rows({"NULL NULL", "NULL NULL"}));
}

TEST_F(QueryTest, ExplainsAndTellsHowFarItIs) {
  hs_query* const query = of_sales();
  filter(query, "price / 2 > 0.5");
  const char* text = nullptr;
  ASSERT_HS_OK(hs_query_explain(query, &text), query);
  EXPECT_NE(std::string_view(text).find("filter"), std::string_view::npos) << text;
  uint64_t rows = 0, of_tables = 0;
  EXPECT_HS(HS_INVALID, hs_query_progress(query, &rows, &of_tables));
  ArrowArrayStream stream{};
  ASSERT_HS_OK(hs_query_stream(query, &stream), query);
  ASSERT_HS_OK(hs_query_progress(query, &rows, &of_tables), query);
  EXPECT_EQ(rows, 0U);
  EXPECT_EQ(of_tables, 12U);
  ArrowArray array{};
  ASSERT_EQ(stream.get_next(&stream, &array), 0);
  array.release(&array);
  ASSERT_HS_OK(hs_query_progress(query, &rows, &of_tables), query);
  EXPECT_EQ(rows, 12U);
  stream.release(&stream);
  hs_query_close(query);
}

TEST_F(QueryTest, AnotherThreadEndsIt) {
  // A join of each row with each, three times: far more than anybody waits for.
  hs_query* query = of_sales("a");
  for (const char* const alias : {"b", "c", "d", "e", "f", "g", "h", "i"}) {
    hs_query* const right = of_sales(alias);
    ASSERT_HS_OK(hs_query_join(query, right, HS_JOIN_INNER, nullptr, nullptr, 0), query);
    hs_query_close(right);
  }
  aggregate(query, {}, {"SUM(a.price * i.price)"});
  std::chrono::steady_clock::time_point asked;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    asked = std::chrono::steady_clock::now();
    hs_interrupt(tx_, 1);
  });
  const Rows rows = rows_of(query);
  other.join();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_TRUE(rows[0].starts_with("error 125")) << rows[0];  // ECANCELED
  hs_interrupt(tx_, 0);
}

/// Rows that are loaded lie in segments, where texts are codes of a dictionary.
class ManyRowsTest : public QueryTest {
 protected:
  void SetUp() override {
    QueryTest::SetUp();
    hs_schema* schema = nullptr;
    ASSERT_HS(HS_OK, hs_schema_new(&schema));
    ASSERT_HS_OK(hs_schema_column(schema, "id", HS_INT64, 0, HS_NOT_NULL), schema);
    ASSERT_HS_OK(hs_schema_column(schema, "word", HS_STRING, 0, 0), schema);
    ASSERT_HS_OK(hs_schema_column(schema, "own", HS_STRING, 0, HS_NOT_NULL), schema);
    const char* const id[] = {"id"};
    ASSERT_HS_OK(hs_schema_primary_key(schema, id, 1), schema);
    many_ = create("test/many", schema);
    hs_transaction* const writer = begin();
    hs_load* load = nullptr;
    ASSERT_HS_OK(hs_load_begin(writer, many_, &load), writer);
    constexpr int64_t rows = 200'000;
    const std::array<const char*, 4> words{"red", "green", "blue", nullptr};
    for (int64_t i = 0; i < rows; ++i) {
      const char* const word = words[static_cast<size_t>(i % 4)];
      const std::string own = "row " + std::to_string(i);
      const hs_value row[] = {hs_int(i), word == nullptr ? hs_null() : hs_text(word), hs_text(own.c_str())};
      ASSERT_HS_OK(hs_load_row(load, row, 3), load);
    }
    ASSERT_HS_OK(hs_load_finish(load), load);
    hs_load_close(load);
    commit(writer);
  }
  void TearDown() override {
    hs_table_close(many_);
    QueryTest::TearDown();
  }

  hs_table* many_ = nullptr;
};

TEST_F(ManyRowsTest, TextsOfSegmentsAreTexts) {
  hs_transaction_close(tx_);
  tx_ = begin();
  hs_query* query = of_table(many_, nullptr);
  filter(query, "word <> 'green' OR word IS NULL");
  aggregate(query, {"word", "CONCAT(word, '!') AS loud"}, {"COUNT(*) AS n", "MIN(own)", "MAX(word)"});
  sort(query, {"word"});
  EXPECT_EQ(rows_of(query), Rows({"NULL NULL 50000 row 100003 NULL", "blue blue! 50000 row 10 blue",
                                  "red red! 50000 row 0 red"}));
  query = of_table(many_, nullptr);
  filter(query, "id BETWEEN 1001 AND 1003");
  project(query, {"word", "own", "UPPER(word)"});
  EXPECT_EQ(sorted(rows_of(query)),
            Rows({"NULL row 1003 NULL", "blue row 1002 BLUE", "green row 1001 GREEN"}));
  query = of_table(many_, "a");
  hs_query* const right = of_table(many_, "b");
  filter(right, "id < 2");
  filter(query, "id >= 199998");
  ASSERT_HS_OK(hs_query_join(query, right, HS_JOIN_LEFT, "a.word = b.word", nullptr, 0), query);
  hs_query_close(right);
  project(query, {"a.own", "b.own", "b.word"});
  EXPECT_EQ(sorted(rows_of(query)), Rows({"row 199998 NULL NULL", "row 199999 NULL NULL"}));
}

TEST_F(ManyRowsTest, GoByWayOfFilesWithLittleMemory) {
  hs_transaction* const reader = begin();
  hs_query* query = nullptr;
  ASSERT_HS_OK(hs_query_table(reader, many_, nullptr, &query), reader);
  ASSERT_HS_OK(hs_query_memory(query, uint64_t{1} << 20), query);
  aggregate(query, {"id % 150000 AS k"}, {"COUNT(*) AS n"});
  aggregate(query, {"n"}, {"COUNT(*)", "SUM(k)"});
  sort(query, {"n"});
  EXPECT_EQ(rows_of(query), Rows({"1 100000 9999950000", "2 50000 1249975000"}));
  hs_transaction_close(reader);
}

}  // namespace
}  // namespace hailstone

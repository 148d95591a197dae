// Visitors, system tables, statistics.
#include <cstdlib>

#include "api/haildb/fixture.h"

namespace hailstone {
namespace {

using HaildbCatalogTest = HaildbTest;

struct Visited {
  std::string text;
  int stop_after = 1000;
};

TEST_F(HaildbCatalogTest, VisitorsSeeTheSchema) {
  create_people();
  ib_schema_visitor_t visitor = {
      IB_SCHEMA_VISITOR_TABLE_AND_INDEX_COL,
      [](void* arg, const char* name, ib_tbl_fmt_t format, ib_ulint_t page, int columns, int indexes) {
        static_cast<Visited*>(arg)->text += std::string(name) + " " + std::to_string(format) +
                                            std::to_string(page) + std::to_string(columns) +
                                            std::to_string(indexes) + ";";
        return 0;
      },
      [](void* arg, const char* name, ib_col_type_t type, ib_ulint_t length, ib_col_attr_t attributes) {
        auto& visited = *static_cast<Visited*>(arg);
        visited.text += std::string(name) + " " + std::to_string(type) + "," + std::to_string(length) + "," +
                        std::to_string(attributes) + ";";
        return --visited.stop_after == 0 ? 1 : 0;
      },
      [](void* arg, const char* name, ib_bool_t clustered, ib_bool_t unique, int columns) {
        static_cast<Visited*>(arg)->text += std::string(name) + " " + std::to_string(clustered) +
                                            std::to_string(unique) + std::to_string(columns) + ";";
        return 0;
      },
      [](void* arg, const char* name, ib_ulint_t prefix) {
        static_cast<Visited*>(arg)->text += std::string(name) + std::to_string(prefix) + ";";
        return 0;
      }};
  ib_trx_t trx = begin();
  Visited visited;
  EXPECT_DB(DB_SCHEMA_NOT_LOCKED, ib_table_schema_visit(trx, "test/people", &visitor, &visited));
  EXPECT_OK(ib_schema_lock_exclusive(trx));
  EXPECT_DB(DB_TABLE_NOT_FOUND, ib_table_schema_visit(trx, "test/none", &visitor, &visited));
  EXPECT_OK(ib_table_schema_visit(trx, "test/people", &visitor, &visited));
  EXPECT_EQ(
      visited.text,
      "test/people 1062;id 6,4,1;name 1,20,0;number 6,4,0;DB_ROW_ID 8,6,1;DB_TRX_ID 8,6,1;DB_ROLL_PTR 8,7,1;"
      "PRIMARY 111;id0;names 001;name0;");
  visited = {"", 2};
  EXPECT_DB(DB_ERROR, ib_table_schema_visit(trx, "test/people", &visitor, &visited));
  visited = {};
  visitor.version = IB_SCHEMA_VISITOR_TABLE;
  EXPECT_OK(ib_table_schema_visit(trx, "SYS_FIELDS", &visitor, &visited));
  EXPECT_EQ(visited.text, "SYS_FIELDS 0061;");
  std::string names;
  EXPECT_OK(ib_schema_tables_iterate(
      trx,
      [](void* arg, const char* name, int length) {
        *static_cast<std::string*>(arg) += std::string(name, static_cast<size_t>(length)) + ";";
        return 0;
      },
      &names));
  EXPECT_EQ(names, "SYS_FOREIGN;SYS_FOREIGN_COLS;test/people;");
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbCatalogTest, SystemTablesAreRead) {
  const ib_id_t id = create_people();
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("SYS_TABLES", trx);
  ib_tpl_t row = ib_clust_read_tuple_create(cursor);
  EXPECT_OK(ib_cursor_first(cursor));
  EXPECT_OK(ib_cursor_read_row(cursor, row));
  EXPECT_EQ(text(row, 0), "test/people");
  EXPECT_EQ(static_cast<unsigned char>(text(row, 1)[7]), id);
  EXPECT_EQ(number(row, 2), 3);
  EXPECT_DB(DB_END_OF_INDEX, ib_cursor_next(cursor));
  EXPECT_DB(DB_ERROR, ib_cursor_delete_row(cursor));
  ib_tpl_t key = ib_clust_search_tuple_create(cursor);
  set(key, 0, "test/people");
  ib_cursor_set_match_mode(cursor, IB_EXACT_MATCH);
  int result = 9;
  EXPECT_OK(ib_cursor_moveto(cursor, key, IB_CUR_GE, &result));
  EXPECT_EQ(result, 0);
  ib_tuple_delete(key);
  ib_tuple_delete(row);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbCatalogTest, SystemTablesAreReadBySecondaryIndexes) {
  create_people();
  const ib_id_t second = create_people("test/again");
  ib_trx_t trx = begin();
  ib_crsr_t by_name = open("SYS_TABLES", trx);
  ib_crsr_t by_id = nullptr;
  EXPECT_DB(DB_TABLE_NOT_FOUND, ib_cursor_open_index_using_name(by_name, "NO_IND", &by_id));
  ASSERT_OK(ib_cursor_open_index_using_name(by_name, "ID_IND", &by_id));
  ib_cursor_set_cluster_access(by_id);
  ib_tpl_t row = ib_clust_read_tuple_create(by_id);
  EXPECT_OK(ib_cursor_first(by_id));
  EXPECT_OK(ib_cursor_read_row(by_id, row));
  EXPECT_EQ(text(row, 0), "test/people");
  EXPECT_OK(ib_cursor_next(by_id));
  EXPECT_OK(ib_cursor_read_row(by_id, row));
  EXPECT_EQ(text(row, 0), "test/again");
  EXPECT_DB(DB_END_OF_INDEX, ib_cursor_next(by_id));
  ib_tpl_t key = ib_sec_search_tuple_create(by_id);
  std::string id_bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) id_bytes[i] = static_cast<char>(second >> (56 - 8 * i) & 0xFF);
  EXPECT_OK(ib_col_set_value(key, 0, id_bytes.data(), 8));
  ib_cursor_set_match_mode(by_id, IB_EXACT_MATCH);
  int result = 9;
  EXPECT_OK(ib_cursor_moveto(by_id, key, IB_CUR_GE, &result));
  EXPECT_OK(ib_cursor_read_row(by_id, row));
  EXPECT_EQ(text(row, 0), "test/again");
  ib_tuple_delete(key);
  ib_tuple_delete(row);
  EXPECT_OK(ib_cursor_close(by_id));
  EXPECT_OK(ib_cursor_close(by_name));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbCatalogTest, StatisticsCountRows) {
  create_people();
  fill({{1, "a"}, {2, "a"}, {3, "b"}});
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  ib_table_stats_t statistics;
  EXPECT_DB(DB_INVALID_INPUT, ib_get_table_statistics(cursor, &statistics, 1));
  EXPECT_OK(ib_get_table_statistics(cursor, &statistics, sizeof statistics));
  EXPECT_EQ(statistics.stat_n_rows, 3);
  EXPECT_EQ(statistics.stat_modified_counter, 0U);
  EXPECT_OK(insert(cursor, 4, "b"));
  EXPECT_OK(ib_get_table_statistics(cursor, &statistics, sizeof statistics));
  EXPECT_EQ(statistics.stat_n_rows, 4);
  EXPECT_EQ(statistics.stat_modified_counter, 1U);
  EXPECT_OK(ib_update_table_statistics(cursor));
  EXPECT_OK(ib_get_table_statistics(cursor, &statistics, sizeof statistics));
  EXPECT_EQ(statistics.stat_modified_counter, 0U);
  ib_u64_t columns = 0;
  ib_i64_t* distinct = nullptr;
  EXPECT_DB(DB_NOT_FOUND, ib_get_index_stat_n_diff_key_vals(cursor, "none", &columns, &distinct));
  ASSERT_OK(ib_get_index_stat_n_diff_key_vals(cursor, "names", &columns, &distinct));
  EXPECT_EQ(columns, 2U);
  EXPECT_EQ(distinct[1], 4);
  std::free(distinct);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbCatalogTest, StatisticsAreComputedWhenTheyAreOld) {
  create_people();
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  const auto names = [&] {
    ib_u64_t columns = 0;
    ib_i64_t* distinct = nullptr;
    EXPECT_OK(ib_get_index_stat_n_diff_key_vals(cursor, "names", &columns, &distinct));
    const ib_i64_t count = distinct[0];
    std::free(distinct);
    return count;
  };
  for (int i = 0; i < 20; ++i) EXPECT_OK(insert(cursor, i, i % 2 == 0 ? "a" : "b"));
  EXPECT_EQ(names(), 2);
  EXPECT_OK(insert(cursor, 20, "c"));
  EXPECT_EQ(names(), 2);
  for (int i = 21; i < 60; ++i) EXPECT_OK(insert(cursor, i, "d"));
  EXPECT_EQ(names(), 4);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbCatalogTest, ChangesAreCountedUntilTheProgramHasStatisticsComputed) {
  create_people();
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  for (int i = 0; i < 50; ++i) EXPECT_OK(insert(cursor, i, "a"));
  const auto changes = [](ib_crsr_t of) {
    ib_table_stats_t statistics;
    EXPECT_OK(ib_get_table_statistics(of, &statistics, sizeof statistics));
    return statistics.stat_modified_counter;
  };
  EXPECT_EQ(changes(cursor), 0U);  // computed at first use
  // So many that the statistics are computed anew, which the program does not notice.
  for (int i = 50; i < 200; ++i) EXPECT_OK(insert(cursor, i, "a"));
  EXPECT_EQ(changes(cursor), 150U);
  EXPECT_EQ(changes(cursor), 150U);
  EXPECT_OK(move_to(cursor, 7));
  EXPECT_OK(ib_cursor_delete_row(cursor));
  EXPECT_EQ(changes(cursor), 151U);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
  // An index builds the table anew; its rows stay what they were.
  trx = begin();
  ASSERT_OK(add_number_index(trx));
  EXPECT_OK(ib_trx_commit(trx));
  trx = begin();
  cursor = open("test/people", trx);
  EXPECT_EQ(changes(cursor), 151U);
  EXPECT_OK(ib_update_table_statistics(cursor));
  EXPECT_EQ(changes(cursor), 0U);
  EXPECT_OK(insert(cursor, 300, "a"));
  EXPECT_EQ(changes(cursor), 1U);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
  ib_id_t id = 0;
  ASSERT_OK(ib_table_truncate("test/people", &id));
  trx = begin();
  cursor = open("test/people", trx);
  EXPECT_EQ(changes(cursor), 0U);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

}  // namespace
}  // namespace hailstone

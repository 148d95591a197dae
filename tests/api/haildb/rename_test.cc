// A table that the transaction has renamed: whatever tells its name tells the new one, and finds it by that.
#include "api/haildb/fixture.h"

namespace hailstone {
namespace {

class HaildbRenameTest : public HaildbTest {
 protected:
  void SetUp() override {
    HaildbTest::SetUp();
    create_people();
    fill({{1, "same"}, {2, "same"}});
    trx_ = begin();
    EXPECT_OK(ib_schema_lock_exclusive(trx_));
  }

  static void insert_again(ib_trx_t trx, const char* table) {
    ib_crsr_t cursor = open(table, trx);
    EXPECT_DB(DB_DUPLICATE_KEY, insert(cursor, 1, "other"));
    EXPECT_OK(ib_cursor_close(cursor));
  }
  static std::string duplicate(ib_trx_t trx) {
    const char *table = nullptr, *index = nullptr;
    EXPECT_OK(ib_get_duplicate_key(trx, &table, &index));
    return std::string(table) + " " + index;
  }
  ib_err_t add_index(const char* table, bool unique = false) const {
    ib_idx_sch_t index = nullptr;
    EXPECT_OK(ib_index_schema_create(trx_, "more", table, &index));
    EXPECT_OK(ib_index_schema_add_col(index, "name", 0));
    if (unique) {
      EXPECT_OK(ib_index_schema_set_unique(index));
    }
    ib_id_t id = 0;
    const ib_err_t code = ib_index_create(index, &id);
    ib_index_schema_delete(index);
    return code;
  }
  /// The name that a visitor of the table is told.
  std::string visited(const char* table) const {
    ib_schema_visitor_t visitor = {};
    visitor.version = IB_SCHEMA_VISITOR_TABLE;
    visitor.table = [](void* to, const char* name, ib_tbl_fmt_t, ib_ulint_t, int, int) {
      *static_cast<std::string*>(to) = name;
      return 0;
    };
    std::string name;
    EXPECT_OK(ib_table_schema_visit(trx_, table, &visitor, &name));
    return name;
  }

  ib_trx_t trx_ = nullptr;
};

TEST_F(HaildbRenameTest, DuplicatesAreToldByTheNewName) {
  EXPECT_OK(ib_table_rename(trx_, "test/people", "test/folk"));
  insert_again(trx_, "test/folk");
  EXPECT_EQ(duplicate(trx_), "test/folk PRIMARY");
  EXPECT_OK(ib_trx_rollback(trx_));
  trx_ = begin();
  insert_again(trx_, "test/people");
  EXPECT_EQ(duplicate(trx_), "test/people PRIMARY");
  EXPECT_OK(ib_trx_commit(trx_));
}

TEST_F(HaildbRenameTest, DuplicatesOfBeforeAreToldByTheNewName) {
  insert_again(trx_, "test/people");
  const char *before = nullptr, *index = nullptr;
  EXPECT_OK(ib_get_duplicate_key(trx_, &before, &index));
  ib_savepoint_take(trx_, "a", 1);
  EXPECT_OK(ib_table_rename(trx_, "test/people", "test/folk"));
  EXPECT_EQ(duplicate(trx_), "test/folk PRIMARY");
  EXPECT_STREQ(before, "test/people");  // a text that was given out stays
  EXPECT_OK(ib_savepoint_rollback(trx_, "a", 1));
  EXPECT_EQ(duplicate(trx_), "test/people PRIMARY");
  EXPECT_OK(ib_table_rename(trx_, "test/people", "test/folk"));
  EXPECT_OK(add_index("test/folk"));
  EXPECT_EQ(duplicate(trx_), "test/folk PRIMARY");
  EXPECT_OK(ib_table_drop(trx_, "test/folk"));
  EXPECT_EQ(duplicate(trx_), "test/folk PRIMARY");
  EXPECT_OK(ib_trx_commit(trx_));
}

TEST_F(HaildbRenameTest, IndexesAreMadeAndDropped) {
  EXPECT_OK(ib_table_rename(trx_, "test/people", "test/folk"));
  // Another table of the old name must not be taken for it.
  ib_tbl_sch_t schema =
      describe("test/people", {{"id", IB_INT, IB_COL_NOT_NULL, 4}}, {{"PRIMARY", {{"id"}}, true}});
  ib_id_t other = 0;
  EXPECT_OK(ib_table_create(trx_, schema, &other));
  ib_table_schema_delete(schema);
  EXPECT_DB(DB_DUPLICATE_KEY, add_index("test/folk", /*unique=*/true));
  EXPECT_EQ(duplicate(trx_), "test/folk more");
  EXPECT_OK(add_index("test/folk"));
  insert_again(trx_, "test/folk");
  EXPECT_EQ(duplicate(trx_), "test/folk PRIMARY");
  ib_id_t id = 0;
  EXPECT_OK(ib_index_get_id("test/folk", "more", &id));
  EXPECT_OK(ib_index_drop(trx_, id));
  EXPECT_EQ(visited("test/folk"), "test/folk");
  EXPECT_OK(ib_trx_commit(trx_));
  trx_ = begin();
  ib_crsr_t cursor = open("test/folk", trx_);
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{1, 2}));
  EXPECT_OK(ib_cursor_close(cursor));
  cursor = open("test/people", trx_);
  EXPECT_EQ(all_ids(cursor), std::vector<int>{});
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx_));
}

TEST_F(HaildbRenameTest, TruncateKeepsTheNewName) {
  EXPECT_OK(ib_table_rename(trx_, "test/people", "test/folk"));
  ib_crsr_t cursor = open("test/folk", trx_);
  ib_id_t id = 0;
  EXPECT_OK(ib_cursor_truncate(&cursor, &id));
  EXPECT_OK(ib_schema_unlock(trx_));
  EXPECT_OK(ib_trx_release(trx_));
  trx_ = begin();
  cursor = open("test/folk", trx_);
  EXPECT_EQ(all_ids(cursor), std::vector<int>{});
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_DB(DB_TABLE_NOT_FOUND, ib_cursor_open_table("test/people", trx_, &cursor));
  EXPECT_OK(ib_trx_commit(trx_));
}

TEST_F(HaildbRenameTest, VisitorsAndSystemTablesTellTheNewName) {
  EXPECT_OK(ib_table_rename(trx_, "test/people", "test/folk"));
  EXPECT_EQ(visited("test/folk"), "test/folk");
  ib_crsr_t cursor = open("SYS_TABLES", trx_);
  ib_tpl_t row = ib_clust_read_tuple_create(cursor);
  EXPECT_OK(ib_cursor_first(cursor));
  EXPECT_OK(ib_cursor_read_row(cursor, row));
  EXPECT_EQ(text(row, 0), "test/folk");
  ib_tuple_delete(row);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx_));
}

}  // namespace
}  // namespace hailstone

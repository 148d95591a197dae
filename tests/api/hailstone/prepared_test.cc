// Two-phase commit through hailstone.h.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/hailstone/fixture.h"

namespace hailstone {
namespace {

class HailstonePreparedTest : public HailstoneTest {
 protected:
  void SetUp() override {
    HailstoneTest::SetUp();
    table_ = create_pairs("t/pairs");
  }
  void TearDown() override {
    hs_table_close(table_);
    HailstoneTest::TearDown();
  }
  void restart() {
    hs_table_close(table_);
    reopen();
    hs_transaction* const transaction = begin();
    ASSERT_HS_OK(hs_table_open(transaction, "t/pairs", &table_), transaction);
    hs_transaction_close(transaction);
  }
  int prepare(hs_transaction* transaction, const std::string& id) {
    return hs_prepare(transaction, id.data(), id.size());
  }
  int commit_prepared(const std::string& id) { return hs_commit_prepared(database_, id.data(), id.size()); }
  int roll_back_prepared(const std::string& id) {
    return hs_rollback_prepared(database_, id.data(), id.size());
  }
  /// A prepared transaction that has inserted the row.
  void insert_prepared(int64_t row, const std::string& id) {
    hs_transaction* const transaction = begin();
    ASSERT_HS_OK(insert(transaction, table_, row, "prepared"), transaction);
    ASSERT_HS_OK(prepare(transaction, id), transaction);
    hs_transaction_close(transaction);
  }
  std::vector<std::string> all_prepared() {
    std::vector<std::string> ids;
    const auto note = [](void* context, const void* id, size_t size) {
      static_cast<std::vector<std::string>*>(context)->emplace_back(static_cast<const char*>(id), size);
    };
    EXPECT_HS_OK(hs_prepared(database_, note, &ids), database_);
    return ids;
  }
  using Ids = std::vector<std::string>;

  hs_table* table_ = nullptr;
};

TEST_F(HailstonePreparedTest, EndsByItsIdentityAfterARestart) {
  const std::string binary("b\0\xff", 3);
  insert_prepared(1, "a");
  insert_prepared(2, binary);
  insert_prepared(3, "c");
  restart();
  EXPECT_EQ(all_prepared(), (Ids{"a", binary, "c"}));
  EXPECT_EQ(text_of(table_, 1), "-");
  hs_transaction* const other = begin();
  EXPECT_HS(HS_LOCK_TIMEOUT, insert(other, table_, 1, "other"));
  hs_transaction_close(other);
  EXPECT_HS_OK(commit_prepared("a"), database_);
  EXPECT_HS_OK(roll_back_prepared(binary), database_);
  EXPECT_EQ(all_prepared(), Ids{"c"});
  restart();
  EXPECT_EQ(all_prepared(), Ids{"c"});
  EXPECT_EQ(text_of(table_, 1), "prepared");
  EXPECT_EQ(text_of(table_, 2), "-");
  EXPECT_EQ(text_of(table_, 3), "-");
  EXPECT_HS_OK(commit_prepared("c"), database_);
  EXPECT_EQ(text_of(table_, 3), "prepared");
  EXPECT_HS(HS_NOT_FOUND, commit_prepared("c"));
  EXPECT_HS(HS_NOT_FOUND, roll_back_prepared("never"));
}

TEST_F(HailstonePreparedTest, ItsHandleCommitsOrRollsBackAndNothingElse) {
  for (const bool commits : {false, true}) {
    hs_transaction* const transaction = begin();
    ASSERT_HS_OK(insert(transaction, table_, 5, "five"), transaction);
    ASSERT_HS_OK(hs_savepoint(transaction, "before"), transaction);
    hs_cursor* cursor = nullptr;
    ASSERT_HS_OK(hs_cursor_open(transaction, table_, nullptr, HS_LOCK_NONE, &cursor), transaction);
    ASSERT_HS_OK(hs_cursor_seek(cursor, nullptr, 0), cursor);
    ASSERT_HS_OK(prepare(transaction, "x"), transaction);
    EXPECT_HS(HS_INVALID, insert(transaction, table_, 6, "six"));
    EXPECT_HS(HS_INVALID, hs_cursor_next(cursor));
    EXPECT_HS(HS_INVALID, hs_cursor_row(cursor, nullptr, 0));
    EXPECT_HS(HS_INVALID, hs_rollback_to(transaction, "before"));
    EXPECT_HS(HS_INVALID, prepare(transaction, "y"));
    EXPECT_HS(HS_BUSY, commit_prepared("x"));
    EXPECT_EQ(all_prepared(), Ids{"x"});
    if (commits) {
      EXPECT_HS_OK(hs_commit(transaction), transaction);
    } else {
      EXPECT_HS_OK(hs_rollback(transaction), transaction);
    }
    EXPECT_HS(HS_INVALID, hs_commit(transaction));
    EXPECT_HS(HS_INVALID, hs_rollback(transaction));
    hs_cursor_close(cursor);
    hs_transaction_close(transaction);
    EXPECT_EQ(all_prepared(), Ids{});
    EXPECT_EQ(text_of(table_, 5), commits ? "five" : "-");
  }
}

TEST_F(HailstonePreparedTest, WrongCallsAreRefused) {
  hs_transaction* const transaction = begin();
  ASSERT_HS_OK(insert(transaction, table_, 1, "one"), transaction);
  EXPECT_HS(HS_INVALID, hs_prepare(nullptr, "x", 1));
  EXPECT_HS(HS_INVALID, hs_prepare(transaction, nullptr, 1));
  EXPECT_HS(HS_INVALID, hs_prepare(transaction, "x", 0));
  EXPECT_HS(HS_INVALID, prepare(transaction, std::string(HS_MAX_PREPARED_ID + 1, 'x')));
  EXPECT_HS(HS_INVALID, hs_prepared(database_, nullptr, nullptr));
  EXPECT_HS(HS_INVALID, hs_prepared(nullptr, nullptr, nullptr));
  EXPECT_HS(HS_INVALID, hs_commit_prepared(database_, nullptr, 3));
  EXPECT_HS(HS_INVALID, hs_rollback_prepared(nullptr, "x", 1));
  const std::string longest(HS_MAX_PREPARED_ID, 'x');
  ASSERT_HS_OK(prepare(transaction, longest), transaction);
  hs_transaction* const second = begin();
  ASSERT_HS_OK(insert(second, table_, 2, "two"), second);
  EXPECT_HS(HS_ALREADY_EXISTS, prepare(second, longest));
  EXPECT_HS_OK(hs_commit(second), second);
  hs_transaction_close(second);
  hs_transaction_close(transaction);
  restart();
  EXPECT_EQ(all_prepared(), Ids{longest});
  EXPECT_HS_OK(roll_back_prepared(longest), database_);
  EXPECT_EQ(text_of(table_, 2), "two");
  hs_transaction* const ddl = begin();
  ASSERT_HS_OK(hs_table_rename(ddl, "t/pairs", "t/renamed"), ddl);
  EXPECT_HS(HS_UNSUPPORTED, prepare(ddl, "ddl"));
  EXPECT_HS_OK(hs_rollback(ddl), ddl);
  hs_transaction_close(ddl);
}

TEST_F(HailstonePreparedTest, ItsTableIsNotDropped) {
  insert_prepared(1, "a");
  restart();
  hs_transaction* const ddl = begin();
  EXPECT_HS(HS_LOCK_TIMEOUT, hs_table_drop(ddl, "t/pairs"));
  EXPECT_HS_OK(hs_rollback(ddl), ddl);
  hs_transaction_close(ddl);
  EXPECT_HS_OK(commit_prepared("a"), database_);
  EXPECT_EQ(text_of(table_, 1), "prepared");
}

}  // namespace
}  // namespace hailstone

// What hailstone.h does when memory runs out.
#include <gtest/gtest.h>

#include <filesystem>

#include "api/hailstone/fixture.h"

namespace hailstone {
namespace {

class HailstoneMemoryTest : public HailstoneTest {
 protected:
  void SetUp() override {
    HailstoneTest::SetUp();
    ASSERT_HS_OK(hs_close(database_), database_);
    options_.memory_bytes = uint64_t{16} << 20;
    open();
  }

  void load(hs_table* table, int64_t rows) {
    hs_transaction* const transaction = begin();
    hs_load* load = nullptr;
    ASSERT_HS_OK(hs_load_begin(transaction, table, &load), transaction);
    for (int64_t id = 0; id < rows; ++id) {
      const hs_value row[] = {hs_int(id), hs_null()};
      ASSERT_HS_OK(hs_load_row(load, row, 2), load);
    }
    ASSERT_HS_OK(hs_load_finish(load), load);
    hs_load_close(load);
    commit(transaction);
  }

  static int64_t count(hs_database* database, hs_table* table) {
    hs_transaction* transaction = nullptr;
    EXPECT_HS_OK(hs_begin(database, HS_REPEATABLE_READ, &transaction), database);
    hs_cursor* cursor = nullptr;
    EXPECT_HS_OK(hs_cursor_open(transaction, table, nullptr, HS_LOCK_NONE, &cursor), transaction);
    int64_t rows = 0;
    int moved = hs_cursor_seek(cursor, nullptr, 0);
    for (; moved == HS_OK; moved = hs_cursor_next(cursor)) ++rows;
    EXPECT_HS(HS_NOT_FOUND, moved);
    hs_cursor_close(cursor);
    hs_transaction_close(transaction);
    return rows;
  }
};

TEST_F(HailstoneMemoryTest, WritesThatFailLeaveNothing) {
  constexpr int64_t rows = 300'000;
  hs_table* const table = create_pairs("d/t");
  load(table, rows);
  hs_transaction* const transaction = begin();
  int64_t deleted = 0, refused = 0;
  for (int64_t id = 0; id < rows; ++id) {
    const hs_value key = hs_int(id);
    const int status = hs_delete(transaction, table, &key, 1);
    if (status == HS_OK) {
      ++deleted;
    } else {
      ASSERT_HS(HS_NO_MEMORY, status);
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  // Nor does a row that is refused keep others from writing it.
  EXPECT_EQ(text_of(transaction, table, rows - 1), "NULL");
  hs_transaction* const other = begin();
  EXPECT_HS(HS_DUPLICATE_KEY, insert(other, table, rows - 1, "x"));
  hs_transaction_close(other);
  commit(transaction);
  EXPECT_EQ(count(database_, table), rows - deleted);

  // What a crash would leave.
  const std::string copy = directory_.file("copy");
  std::filesystem::copy(path(), copy, std::filesystem::copy_options::recursive);
  hs_database* recovered = nullptr;
  ASSERT_HS_OK(hs_open(copy.c_str(), &options_, &recovered), recovered);
  hs_transaction* reader = nullptr;
  ASSERT_HS_OK(hs_begin(recovered, HS_REPEATABLE_READ, &reader), recovered);
  hs_table* again = nullptr;
  ASSERT_HS_OK(hs_table_open(reader, "d/t", &again), reader);
  hs_transaction_close(reader);
  EXPECT_EQ(count(recovered, again), rows - deleted);
  hs_table_close(again);
  EXPECT_HS_OK(hs_close(recovered), recovered);
  hs_table_close(table);
}

}  // namespace
}  // namespace hailstone

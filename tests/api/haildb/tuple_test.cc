// Tuples and columns: types, limits, conversions, and what they refuse.
#include <cmath>
#include <cstring>

#include "api/haildb/fixture.h"

namespace hailstone {
namespace {

class HaildbTupleTest : public HaildbTest {
 protected:
  void SetUp() override {
    HaildbTest::SetUp();
    create("test/types",
           {{"i8", IB_INT, IB_COL_NOT_NULL, 1},
            {"u8", IB_INT, IB_COL_UNSIGNED, 1},
            {"i16", IB_INT, 0, 2},
            {"u16", IB_INT, IB_COL_UNSIGNED, 2},
            {"i32", IB_INT, 0, 4},
            {"u32", IB_INT, IB_COL_UNSIGNED, 4},
            {"i64", IB_INT, 0, 8},
            {"u64", IB_INT, IB_COL_UNSIGNED, 8},
            {"f", IB_FLOAT, 0, 4},
            {"d", IB_DOUBLE, 0, 8},
            {"c", IB_CHAR, 0, 5},
            {"vc", IB_VARCHAR, 0, 5},
            {"b", IB_BINARY, 0, 5},
            {"vb", IB_VARBINARY, 0, 5},
            {"blob", IB_BLOB, 0, 0},
            {"dec", IB_DECIMAL, 0, 0},
            {"cany", IB_CHAR_ANYCHARSET, 0, 5},
            {"vcany", IB_VARCHAR_ANYCHARSET, IB_COL_CUSTOM1, 5}},
           {{"PRIMARY", {{"i8"}}, true}});
    trx_ = begin();
    cursor_ = open("test/types", trx_);
    row_ = ib_clust_read_tuple_create(cursor_);
  }
  void TearDown() override {
    ib_tuple_delete(row_);
    EXPECT_OK(ib_cursor_close(cursor_));
    EXPECT_OK(ib_trx_commit(trx_));
    HaildbTest::TearDown();
  }
  ib_trx_t trx_ = nullptr;
  ib_crsr_t cursor_ = nullptr;
  ib_tpl_t row_ = nullptr;
};

TEST_F(HaildbTupleTest, EveryTypeComesBack) {
  EXPECT_EQ(ib_tuple_get_n_cols(row_), 21U);
  EXPECT_EQ(ib_tuple_get_n_user_cols(row_), 18U);
  EXPECT_OK(ib_tuple_write_i8(row_, 0, -128));
  EXPECT_OK(ib_tuple_write_u8(row_, 1, 255));
  EXPECT_OK(ib_tuple_write_i16(row_, 2, -32768));
  EXPECT_OK(ib_tuple_write_u16(row_, 3, 65535));
  EXPECT_OK(ib_tuple_write_i32(row_, 4, INT32_MIN));
  EXPECT_OK(ib_tuple_write_u32(row_, 5, UINT32_MAX));
  EXPECT_OK(ib_tuple_write_i64(row_, 6, INT64_MIN));
  EXPECT_OK(ib_tuple_write_u64(row_, 7, UINT64_MAX));
  EXPECT_OK(ib_tuple_write_float(row_, 8, -1.5F));
  EXPECT_OK(ib_tuple_write_double(row_, 9, 1e300));
  for (ib_ulint_t i = 10; i < 18; ++i) set(row_, i, i == 15 ? "-12.50" : "abc");
  ASSERT_OK(ib_cursor_insert_row(cursor_, row_));
  ASSERT_OK(ib_cursor_first(cursor_));
  ib_tpl_t read = ib_clust_read_tuple_create(cursor_);
  ASSERT_OK(ib_cursor_read_row(cursor_, read));
  ib_i8_t i8 = 0;
  ib_u8_t u8 = 0;
  ib_i16_t i16 = 0;
  ib_u16_t u16 = 0;
  ib_u32_t u32 = 0;
  ib_i64_t i64 = 0;
  ib_u64_t u64 = 0;
  float f = 0;
  double d = 0;
  EXPECT_OK(ib_tuple_read_i8(read, 0, &i8));
  EXPECT_OK(ib_tuple_read_u8(read, 1, &u8));
  EXPECT_OK(ib_tuple_read_i16(read, 2, &i16));
  EXPECT_OK(ib_tuple_read_u16(read, 3, &u16));
  EXPECT_OK(ib_tuple_read_u32(read, 5, &u32));
  EXPECT_OK(ib_tuple_read_i64(read, 6, &i64));
  EXPECT_OK(ib_tuple_read_u64(read, 7, &u64));
  EXPECT_OK(ib_tuple_read_float(read, 8, &f));
  EXPECT_OK(ib_tuple_read_double(read, 9, &d));
  EXPECT_EQ(i8, -128);
  EXPECT_EQ(u8, 255);
  EXPECT_EQ(i16, -32768);
  EXPECT_EQ(u16, 65535);
  EXPECT_EQ(number(read, 4), INT32_MIN);
  EXPECT_EQ(u32, UINT32_MAX);
  EXPECT_EQ(i64, INT64_MIN);
  EXPECT_EQ(u64, UINT64_MAX);
  EXPECT_EQ(f, -1.5F);
  EXPECT_EQ(d, 1e300);
  EXPECT_EQ(text(read, 10), "abc  ");
  EXPECT_EQ(text(read, 11), "abc");
  EXPECT_EQ(text(read, 12), std::string("abc\0\0", 5));
  EXPECT_EQ(text(read, 13), "abc");
  EXPECT_EQ(text(read, 14), "abc");
  EXPECT_EQ(text(read, 15), "-12.50");
  EXPECT_EQ(text(read, 16), "abc  ");
  EXPECT_EQ(text(read, 17), "abc");
  EXPECT_OK(ib_tuple_read_u8(read, 0, &u8));  // a copy of the bits
  EXPECT_EQ(u8, 128);
  const auto* stored = static_cast<const unsigned char*>(ib_col_get_value(read, 2));
  EXPECT_EQ(stored[0], 0);
  EXPECT_EQ(stored[1], 0);
  ib_i32_t copied = 0;
  EXPECT_EQ(ib_col_copy_value(read, 4, &copied, 4), 4U);
  EXPECT_EQ(copied, INT32_MIN);
  EXPECT_EQ(ib_col_copy_value(read, 4, &copied, 2), 0U);
  EXPECT_EQ(ib_col_copy_value(read, 8, &copied, 2), 0U);
  char bytes[2];
  EXPECT_EQ(ib_col_copy_value(read, 11, bytes, 2), 2U);
  EXPECT_EQ(std::memcmp(bytes, "ab", 2), 0);
  ib_col_meta_t meta;
  EXPECT_EQ(ib_col_get_meta(read, 17, &meta), 3U);
  EXPECT_EQ(meta.type, IB_VARCHAR_ANYCHARSET);
  EXPECT_EQ(meta.attr, IB_COL_CUSTOM1);
  EXPECT_EQ(meta.type_len, 5U);
  ib_tuple_delete(read);
}

TEST_F(HaildbTupleTest, WrongTypesAndLengthsAreRefused) {
  char bytes[8] = {};
  EXPECT_DB(DB_DATA_MISMATCH, ib_tuple_write_i8(row_, 4, 1));
  EXPECT_DB(DB_DATA_MISMATCH, ib_tuple_write_i32(row_, 11, 1));
  EXPECT_DB(DB_DATA_MISMATCH, ib_tuple_write_float(row_, 9, 1));
  EXPECT_DB(DB_DATA_MISMATCH, ib_tuple_write_double(row_, 8, 1));
  EXPECT_DB(DB_DATA_MISMATCH, ib_col_set_value(row_, 4, bytes, 3));
  EXPECT_DB(DB_DATA_MISMATCH, ib_col_set_value(row_, 8, bytes, 8));
  EXPECT_DB(DB_DATA_MISMATCH, ib_col_set_value(row_, 18, bytes, 6));
  EXPECT_DB(DB_INVALID_INPUT, ib_col_set_value(row_, 21, bytes, 6));
  EXPECT_DB(DB_INVALID_INPUT, ib_tuple_write_i32(row_, -1, 6));
  ib_i64_t i64 = 5;
  ib_i32_t i32 = 5;
  ib_i8_t i8 = 5;
  EXPECT_DB(DB_DATA_MISMATCH, ib_tuple_read_i64(row_, 4, &i64));
  EXPECT_DB(DB_DATA_MISMATCH, ib_tuple_read_i8(row_, 1, &i8));
  EXPECT_OK(ib_tuple_read_i32(row_, 4, &i32));
  EXPECT_EQ(i32, 5);  // NULL leaves it
  EXPECT_EQ(ib_col_get_len(row_, 4), IB_SQL_NULL);
  EXPECT_EQ(ib_col_get_value(row_, 4), nullptr);
  EXPECT_EQ(ib_col_copy_value(row_, 4, bytes, 4), IB_SQL_NULL);
  EXPECT_DB(DB_DATA_MISMATCH, ib_cursor_insert_row(cursor_, row_));
}

TEST_F(HaildbTupleTest, LongTextIsCut) {
  set(row_, 11, "abcdefgh");
  EXPECT_EQ(text(row_, 11), "abcde");
  set(row_, 14, std::string(100'000, 'x'));
  EXPECT_OK(ib_tuple_write_i8(row_, 0, 1));
  ASSERT_OK(ib_cursor_insert_row(cursor_, row_));
  ASSERT_OK(ib_cursor_first(cursor_));
  row_ = ib_tuple_clear(row_);
  EXPECT_EQ(ib_col_get_len(row_, 11), IB_SQL_NULL);
  ASSERT_OK(ib_cursor_read_row(cursor_, row_));
  EXPECT_EQ(ib_col_get_len(row_, 14), 100'000U);
  EXPECT_OK(ib_col_set_value(row_, 14, nullptr, IB_SQL_NULL));
  EXPECT_EQ(ib_col_get_len(row_, 14), IB_SQL_NULL);
}

TEST_F(HaildbTupleTest, CopiesNeedTheSameKind) {
  ib_tpl_t key = ib_clust_search_tuple_create(cursor_);
  EXPECT_DB(DB_DATA_MISMATCH, ib_tuple_copy(key, row_));
  EXPECT_DB(DB_INVALID_INPUT, ib_tuple_copy(nullptr, row_));
  ib_tpl_t other = ib_clust_read_tuple_create(cursor_);
  set(row_, 11, "abc");
  EXPECT_OK(ib_tuple_copy(other, row_));
  set(row_, 11, "xyz");
  EXPECT_EQ(text(other, 11), "abc");
  ib_tpl_t made = nullptr;
  EXPECT_DB(DB_ERROR, ib_tuple_get_cluster_key(cursor_, &made, row_));
  EXPECT_DB(DB_ERROR, ib_tuple_get_cluster_key(cursor_, &made, key));
  // Rows of a secondary index are another kind.
  ib_tpl_t clustered = ib_sec_read_tuple_create(cursor_);
  EXPECT_OK(ib_tuple_copy(clustered, row_));
  ib_tuple_delete(clustered);
  create_people();
  ib_crsr_t people = open("test/people", trx_);
  ib_crsr_t names = open_index(people, "names");
  ib_tpl_t person = ib_clust_read_tuple_create(people);
  ib_tpl_t named = ib_sec_read_tuple_create(names), same = ib_sec_read_tuple_create(names);
  EXPECT_DB(DB_DATA_MISMATCH, ib_tuple_copy(person, named));
  EXPECT_DB(DB_DATA_MISMATCH, ib_tuple_copy(named, person));
  EXPECT_OK(ib_tuple_copy(named, same));
  for (ib_tpl_t tuple : {person, named, same}) ib_tuple_delete(tuple);
  EXPECT_OK(ib_cursor_close(names));
  EXPECT_OK(ib_cursor_close(people));
  ib_tuple_delete(other);
  ib_tuple_delete(key);
  ib_tuple_delete(key);  // again: nothing happens
  EXPECT_EQ(ib_tuple_get_n_cols(key), 0U);
}

TEST_F(HaildbTupleTest, CopiesHaveTheRowId) {
  create("test/unkeyed", {{"number", IB_INT, 0, 4}}, {});
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/unkeyed", trx);
  ib_tpl_t read = ib_clust_read_tuple_create(cursor), copy = ib_clust_read_tuple_create(cursor);
  set(read, 0, 7);
  ASSERT_OK(ib_cursor_insert_row(cursor, read));
  ASSERT_OK(ib_cursor_first(cursor));
  ASSERT_OK(ib_cursor_read_row(cursor, read));
  EXPECT_NE(text(read, 1), std::string(6, '\0'));
  EXPECT_OK(ib_tuple_copy(copy, read));
  EXPECT_EQ(text(copy, 1), text(read, 1));
  ib_tuple_delete(copy);
  ib_tuple_delete(read);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

}  // namespace
}  // namespace hailstone

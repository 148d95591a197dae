// Arrow arrays from strangers: what is wrong with them is found before anything is read by it.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "api/hailstone/fixture.h"
#include "base/utf8.h"

namespace hailstone {
namespace {

/// A record batch of one column, whose structures the test may spoil.
struct OneColumn {
  OneColumn(const char* format, const char* name, std::vector<const void*> with, int64_t rows)
      : buffers(std::move(with)) {
    child_schema.format = format;
    child_schema.name = name;
    child_schema.release = [](ArrowSchema* of) { of->release = nullptr; };
    child.length = rows;
    child.n_buffers = static_cast<int64_t>(buffers.size());
    child.buffers = buffers.data();
    child.release = [](ArrowArray* of) { of->release = nullptr; };
    schema = child_schema;
    schema.format = "+s";
    schema.n_children = 1;
    schema.children = &child_schemas;
    array = child;
    array.n_buffers = 1;
    array.buffers = &no_validity;
    array.n_children = 1;
    array.children = &children;
  }
  OneColumn(const OneColumn&) = delete;
  OneColumn& operator=(const OneColumn&) = delete;
  std::vector<const void*> buffers;
  const void* no_validity = nullptr;
  ArrowSchema child_schema{}, schema{};
  ArrowArray child{}, array{};
  ArrowSchema* child_schemas = &child_schema;
  ArrowArray* children = &child;
};

class HailstoneArrowTest : public HailstoneTest {
 protected:
  void SetUp() override {
    HailstoneTest::SetUp();
    hs_schema* schema = nullptr;
    ASSERT_HS(HS_OK, hs_schema_new(&schema));
    ASSERT_HS_OK(hs_schema_column(schema, "text", HS_STRING, 0, 0), schema);
    ASSERT_HS_OK(hs_schema_column(schema, "raw", HS_BYTES, 0, 0), schema);
    ASSERT_HS_OK(hs_schema_column(schema, "number", HS_INT64, 0, 0), schema);
    table_ = create("t/t", schema);
  }
  /// The status of a load of the batch; a failure has a sentence.
  int loads(const OneColumn& batch) {
    hs_transaction* const transaction = begin();
    hs_load* load = nullptr;
    EXPECT_HS_OK(hs_load_begin(transaction, table_, &load), transaction);
    int status = hs_load_arrow(load, &batch.schema, &batch.array);
    if (status == HS_OK) status = hs_load_finish(load);
    EXPECT_EQ(status == HS_OK, std::string(hs_error_message(load)).empty());
    hs_load_close(load);
    hs_transaction_close(transaction);
    return status;
  }
  hs_table* table_ = nullptr;
};

TEST_F(HailstoneArrowTest, OffsetsThatDecreaseAreRefused) {
  const char* const text = "0123456789";
  const std::array<int32_t, 4> good{0, 2, 2, 10}, decreasing{0, 1000, 5, 10}, negative{-4, 0, 1, 2};
  EXPECT_HS(HS_OK, loads(OneColumn("u", "text", {nullptr, good.data(), text}, 3)));
  EXPECT_HS(HS_INVALID, loads(OneColumn("u", "text", {nullptr, decreasing.data(), text}, 3)));
  EXPECT_HS(HS_INVALID, loads(OneColumn("z", "raw", {nullptr, decreasing.data(), text}, 3)));
  EXPECT_HS(HS_INVALID, loads(OneColumn("u", "text", {nullptr, negative.data(), text}, 3)));
  const std::array<int64_t, 3> large{0, int64_t{1} << 40, 10};
  EXPECT_HS(HS_INVALID, loads(OneColumn("U", "text", {nullptr, large.data(), text}, 2)));
  // Only those that the array covers count.
  OneColumn covered("u", "text", {nullptr, decreasing.data(), text}, 1);
  covered.child.offset = 2;
  EXPECT_HS(HS_OK, loads(covered));
}

TEST_F(HailstoneArrowTest, ViewsLieWithinTheirBuffers) {
  struct View {
    int32_t size;
    char prefix[4];
    int32_t buffer, offset;
  };
  const std::string text(100, 'v');
  const int64_t sizes[] = {100};
  const auto status = [&](int32_t size, int32_t buffer, int32_t offset) {
    const View view{size, {'v', 'v', 'v', 'v'}, buffer, offset};
    return loads(OneColumn("vu", "text", {nullptr, &view, text.data(), sizes}, 1));
  };
  EXPECT_HS(HS_OK, status(100, 0, 0));
  EXPECT_HS(HS_OK, status(13, 0, 87));
  EXPECT_HS(HS_INVALID, status(14, 0, 87));
  EXPECT_HS(HS_INVALID, status(13, 0, 0x7fffffff));
  EXPECT_HS(HS_INVALID, status(0x7fffffff, 0, 1));
  EXPECT_HS(HS_INVALID, status(13, 1, 0));
  EXPECT_HS(HS_INVALID, status(13, -1, 0));
  EXPECT_HS(HS_INVALID, status(-1, 0, 0));
  const View view{50, {'v', 'v', 'v', 'v'}, 0, 0};
  EXPECT_HS(HS_INVALID, loads(OneColumn("vu", "text", {nullptr, &view, text.data(), nullptr}, 1)));
}

TEST_F(HailstoneArrowTest, DictionariesEndAndHaveTheirIndices) {
  const int32_t indices[] = {0, 1}, beyond[] = {0, 2};
  const std::array<int32_t, 3> offsets{0, 1, 2};
  OneColumn values("u", "text", {nullptr, offsets.data(), "ab"}, 2);
  const auto of = [&](const int32_t* given) {
    auto batch = std::make_unique<OneColumn>("i", "text", std::vector<const void*>{nullptr, given}, 2);
    batch->child_schema.dictionary = &values.child_schema;
    batch->child.dictionary = &values.child;
    return batch;
  };
  EXPECT_HS(HS_OK, loads(*of(indices)));
  EXPECT_HS(HS_INVALID, loads(*of(beyond)));
  // One that leads back to itself.
  const auto cyclic = of(indices);
  cyclic->child_schema.dictionary = &cyclic->child_schema;
  cyclic->child.dictionary = &cyclic->child;
  EXPECT_HS(HS_INVALID, loads(*cyclic));
}

TEST_F(HailstoneArrowTest, NullsThatAreNotShownAreRefused) {
  const int64_t numbers[] = {1, 2};
  OneColumn batch("l", "number", {nullptr, numbers}, 2);
  EXPECT_HS(HS_OK, loads(batch));
  batch.child.null_count = 1;
  EXPECT_HS(HS_INVALID, loads(batch));
}

TEST_F(HailstoneArrowTest, BytesForTextAreText) {
  const std::array<int32_t, 2> two{0, 2};
  EXPECT_HS(HS_OK, loads(OneColumn("z", "text", {nullptr, two.data(), "\xc3\xa9"}, 1)));
  EXPECT_HS(HS_INVALID, loads(OneColumn("z", "text", {nullptr, two.data(), "\xc3("}, 1)));
  EXPECT_HS(HS_OK, loads(OneColumn("z", "raw", {nullptr, two.data(), "\xc3("}, 1)));
  EXPECT_HS(HS_INVALID, loads(OneColumn("w:2", "text", {nullptr, "\xff\xff"}, 1)));
  EXPECT_HS(HS_OK, loads(OneColumn("w:2", "text", {nullptr, "ok"}, 1)));
}

TEST(Utf8Test, IsWhatUnicodeSaysItIs) {
  for (const char* text : {"", "a", "0123456789abcdef", "é", "\u0800", "\ue000", "\uffff", "\U00010000",
                           "\U0010ffff", "twelve bytes and é in the ninth"}) {
    EXPECT_TRUE(is_well_formed_utf8(text)) << text;
  }
  for (const char* bytes : {"\x80", "\xc3", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
                            "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
                            "\xff", "\xe2\x82", "\xf0\x9f\x98", "12345678\xc3", "a\xc3(", "\xe2\x28\xa1"}) {
    EXPECT_FALSE(is_well_formed_utf8(bytes));
  }
}

TEST_F(HailstoneTest, UpsertInsertsOrReplaces) {
  hs_schema* schema = nullptr;
  ASSERT_HS(HS_OK, hs_schema_new(&schema));
  ASSERT_HS_OK(hs_schema_column(schema, "id", HS_INT64, 0, 0), schema);
  ASSERT_HS_OK(hs_schema_column(schema, "text", HS_STRING, 0, 0), schema);
  const char *const id[] = {"id"}, *const text[] = {"text"};
  ASSERT_HS_OK(hs_schema_primary_key(schema, id, 1), schema);
  ASSERT_HS_OK(hs_schema_index(schema, "u", 1, text, nullptr, 1), schema);
  hs_table* const table = create("t/u", schema);
  hs_transaction* const transaction = begin();
  const auto upsert = [&](int64_t key, const char* value) {
    const hs_value row[] = {hs_int(key), hs_text(value)};
    return hs_upsert(transaction, table, row, 2);
  };
  EXPECT_HS_OK(upsert(1, "one"), transaction);
  EXPECT_HS_OK(upsert(2, "two"), transaction);
  EXPECT_HS_OK(upsert(1, "first"), transaction);
  EXPECT_HS(HS_DUPLICATE_KEY, upsert(1, "two"));
  EXPECT_HS(HS_DUPLICATE_KEY, upsert(3, "two"));
  EXPECT_EQ(text_of(transaction, table, 1), "first");
  EXPECT_EQ(text_of(transaction, table, 3), "-");
  // Another transaction's row is waited for.
  hs_transaction* const other = begin();
  const hs_value row[] = {hs_int(1), hs_text("other")};
  EXPECT_HS(HS_LOCK_TIMEOUT, hs_upsert(other, table, row, 2));
  hs_transaction_close(other);
  commit(transaction);
  EXPECT_EQ(text_of(table, 1), "first");
  ASSERT_HS(HS_OK, hs_schema_new(&schema));
  ASSERT_HS_OK(hs_schema_column(schema, "id", HS_INT64, 0, 0), schema);
  hs_table* const keyless = create("t/keyless", schema);
  hs_transaction* const last = begin();
  EXPECT_HS(HS_INVALID, hs_upsert(last, keyless, row, 1));
  hs_transaction_close(last);
}

TEST_F(HailstoneTest, CursorsEndWhereTheyAreTold) {
  hs_table* const table = create_pairs("t/pairs");
  hs_transaction* const writer = begin();
  for (int64_t id = 0; id < 100; ++id) {
    ASSERT_HS_OK(insert(writer, table, id, id % 2 == 0 ? "even" : "odd"), writer);
  }
  commit(writer);
  hs_transaction* const transaction = begin();
  const auto rows = [&](const char* index, const hs_value* from, const hs_value* until,
                        bool backwards = false) {
    hs_cursor* cursor = nullptr;
    EXPECT_HS_OK(hs_cursor_open(transaction, table, index, HS_LOCK_EXCLUSIVE, &cursor), transaction);
    EXPECT_HS_OK(hs_cursor_until(cursor, until, until == nullptr ? 0 : 1), cursor);
    std::vector<int64_t> ids;
    const size_t parts = from == nullptr ? 0 : 1;
    int status = backwards ? hs_cursor_seek_last(cursor, from, parts) : hs_cursor_seek(cursor, from, parts);
    while (status == HS_OK) {
      hs_value row[2];
      EXPECT_HS_OK(hs_cursor_row(cursor, row, 2), cursor);
      ids.push_back(row[0].as.i);
      status = backwards ? hs_cursor_previous(cursor) : hs_cursor_next(cursor);
    }
    EXPECT_HS(HS_NOT_FOUND, status);
    hs_cursor_close(cursor);
    return ids;
  };
  hs_cursor* many = nullptr;
  ASSERT_HS_OK(hs_cursor_open(transaction, table, nullptr, HS_LOCK_NONE, &many), transaction);
  std::array<hs_value, 80> several;
  size_t count = 1;
  EXPECT_HS(HS_INVALID, hs_cursor_rows(many, 0, several.data(), 2, 40, &count));
  EXPECT_EQ(count, 0U);
  ASSERT_HS_OK(hs_cursor_seek(many, nullptr, 0), many);
  std::vector<std::string> read;
  do {
    ASSERT_HS_OK(hs_cursor_rows(many, 0, several.data(), 2, 40, &count), many);
    for (size_t row = 0; row < count; ++row) {
      const auto& text = several[2 * row + 1].as.bytes;
      read.push_back(std::to_string(several[2 * row].as.i) +
                     std::string(static_cast<const char*>(text.data), text.size));
    }
  } while (count == 40);
  ASSERT_EQ(read.size(), 100U);
  EXPECT_EQ(read[0], "0even");
  EXPECT_EQ(read[41], "41odd");
  EXPECT_EQ(read[99], "99odd");
  EXPECT_HS_OK(hs_cursor_rows(many, 0, several.data(), 2, 40, &count), many);
  EXPECT_EQ(count, 0U);
  ASSERT_HS_OK(hs_cursor_seek_last(many, nullptr, 0), many);
  ASSERT_HS_OK(hs_cursor_rows(many, 1, several.data(), 2, 3, &count), many);
  EXPECT_EQ(count, 3U);
  EXPECT_EQ(several[4].as.i, 97);
  hs_value next[2];
  ASSERT_HS_OK(hs_cursor_row(many, next, 2), many);
  EXPECT_EQ(next[0].as.i, 96);
  hs_cursor_close(many);
  const hs_value ten = hs_int(10), twelve = hs_int(12), nine = hs_int(9), odd = hs_text("odd"),
                 even = hs_text("even");
  EXPECT_EQ(rows(nullptr, &ten, &twelve), (std::vector<int64_t>{10, 11, 12}));
  EXPECT_EQ(rows(nullptr, &ten, &nine), (std::vector<int64_t>{}));
  EXPECT_EQ(rows(nullptr, nullptr, &nine).size(), 10U);
  EXPECT_EQ(rows(nullptr, nullptr, &nine, true).size(), 10U);
  EXPECT_EQ(rows(nullptr, &twelve, &nine, true).front(), 9);
  // What is behind is not locked: another transaction may change it.
  hs_transaction* const other = begin();
  const hs_value thirteen = hs_int(13);
  EXPECT_HS_OK(hs_delete(other, table, &thirteen, 1), other);
  hs_transaction_close(other);
  EXPECT_EQ(rows("by text", &even, &even).size(), 50U);
  EXPECT_EQ(rows("by text", &odd, &odd).size(), 50U);
  EXPECT_EQ(rows(nullptr, nullptr, nullptr).size(), 100U);
  hs_transaction_close(transaction);
}

TEST_F(HailstoneArrowTest, BooleansAndTimesWithoutAZoneComeBackAsTheyWent) {
  hs_schema* schema = nullptr;
  ASSERT_HS(HS_OK, hs_schema_new(&schema));
  ASSERT_HS_OK(hs_schema_column(schema, "flag", HS_BOOL, 0, 0), schema);
  ASSERT_HS_OK(hs_schema_column(schema, "clock", HS_DATETIME, 0, 0), schema);
  table_ = create("t/kinds", schema);
  const std::array<uint8_t, 2> bits{0b10110101, 0b1}, validity{0b11110111, 0b1}, numbers{0, 1}, two{2, 1};
  EXPECT_HS(HS_OK, loads(OneColumn("b", "flag", {validity.data(), bits.data()}, 9)));
  EXPECT_HS(HS_OK, loads(OneColumn("C", "flag", {nullptr, numbers.data()}, 2)));
  EXPECT_HS(HS_OUT_OF_RANGE, loads(OneColumn("C", "flag", {nullptr, two.data()}, 2)));
  const std::array<int64_t, 2> times{-1, 1};
  EXPECT_HS(HS_OK, loads(OneColumn("tsu:", "clock", {nullptr, times.data()}, 2)));
  EXPECT_HS(HS_OK, loads(OneColumn("tss:", "clock", {nullptr, times.data()}, 2)));
  EXPECT_HS(HS_INVALID, loads(OneColumn("tsu:UTC", "clock", {nullptr, times.data()}, 2)));
  EXPECT_HS(HS_OUT_OF_RANGE, loads(OneColumn("tsn:", "clock", {nullptr, times.data()}, 2)));

  hs_transaction* const transaction = begin();
  const hs_value row[] = {hs_int(1), hs_int(-5)}, wrong[] = {hs_int(2), hs_null()};
  EXPECT_HS_OK(hs_insert(transaction, table_, row, 2), transaction);
  EXPECT_HS(HS_OUT_OF_RANGE, hs_insert(transaction, table_, wrong, 2));
  hs_scan* scan = nullptr;
  ASSERT_HS_OK(hs_scan_open(transaction, table_, &scan), transaction);
  ArrowArrayStream stream;
  ASSERT_HS_OK(hs_scan_stream(scan, &stream), scan);
  hs_scan_close(scan);
  ArrowSchema shown;
  ASSERT_EQ(0, stream.get_schema(&stream, &shown));
  EXPECT_STREQ(shown.children[0]->format, "b");
  EXPECT_STREQ(shown.children[1]->format, "tsu:");
  shown.release(&shown);
  ArrowArray array;
  ASSERT_EQ(0, stream.get_next(&stream, &array));
  ASSERT_EQ(array.length, 1);
  EXPECT_EQ(*static_cast<const uint8_t*>(array.children[0]->buffers[1]) & 1, 1);
  EXPECT_EQ(*static_cast<const int64_t*>(array.children[1]->buffers[1]), -5);
  array.release(&array);
  stream.release(&stream);
  hs_transaction_close(transaction);
}

}  // namespace
}  // namespace hailstone

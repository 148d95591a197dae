// What hailstone.h refuses, with which code, and that the sentence is about the call that failed.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>

#include "api/hailstone/fixture.h"

namespace hailstone {
namespace {

class HailstoneErrorTest : public HailstoneTest {
 protected:
  void SetUp() override {
    HailstoneTest::SetUp();
    table_ = create_pairs("t/pairs");
    transaction_ = begin();
  }
  void TearDown() override {
    hs_transaction_close(transaction_);
    hs_table_close(table_);
    HailstoneTest::TearDown();
  }

  /// The code is given, and the sentence has these words.
  static void expect_said(int wanted, int status, const void* handle, const std::string& words) {
    EXPECT_HS(wanted, status);
    EXPECT_NE(std::string(hs_error_message(handle)).find(words), std::string::npos)
        << hs_error_message(handle);
  }
  void expect_said(int wanted, int status, const std::string& words) {
    expect_said(wanted, status, transaction_, words);
  }
  hs_scan* scan() {
    hs_scan* scan = nullptr;
    EXPECT_HS_OK(hs_scan_open(transaction_, table_, &scan), transaction_);
    return scan;
  }
  hs_load* load() {
    hs_load* load = nullptr;
    EXPECT_HS_OK(hs_load_begin(transaction_, table_, &load), transaction_);
    return load;
  }

  hs_table* table_ = nullptr;
  hs_transaction* transaction_ = nullptr;
};

/// An Arrow struct array of one column, without the memory that a wrong length would need.
struct Batch {
  Batch(const char* format, const char* name, const void* data, int64_t rows) : buffers{nullptr, data} {
    child_schema.format = format;
    child_schema.name = name;
    child_schema.release = [](ArrowSchema* of) { of->release = nullptr; };
    schema = child_schema;
    schema.format = "+s";
    schema.n_children = 1;
    schema.children = &child_schemas;
    child.length = array.length = rows;
    child.n_buffers = 2;
    child.buffers = buffers;
    child.release = array.release = [](ArrowArray* of) { of->release = nullptr; };
    array.n_buffers = 1;
    array.buffers = buffers;
    array.n_children = 1;
    array.children = &children;
  }
  const void* buffers[2];
  ArrowSchema child_schema{}, schema{};
  ArrowArray child{}, array{};
  ArrowSchema* child_schemas = &child_schema;
  ArrowArray* children = &child;
};

TEST_F(HailstoneErrorTest, MisuseHasASentenceOfItsOwn) {
  ASSERT_HS_OK(insert(transaction_, table_, 1, "one"), transaction_);
  const hs_value row[] = {hs_int(1), hs_text("again")};
  hs_value key = hs_int(1);
  expect_said(HS_DUPLICATE_KEY, hs_insert(transaction_, table_, row, 2), "(1)");
  const std::string wrong_table = "the table is NULL, closed, or of another database";
  expect_said(HS_INVALID, hs_insert(transaction_, nullptr, row, 2), wrong_table);
  expect_said(HS_INVALID, hs_delete(transaction_, table_, nullptr, 1), "NULL");
  expect_said(HS_INVALID, hs_update(transaction_, nullptr, &key, 1, nullptr, row, 2), wrong_table);
  expect_said(HS_INVALID, hs_insert(transaction_, table_, nullptr, 2),
              "the values for a row of table 't/pairs'");
  expect_said(HS_INVALID, hs_get(transaction_, nullptr, &key, 1, HS_LOCK_NONE, nullptr, 0), wrong_table);
  expect_said(HS_INVALID, hs_get(transaction_, table_, &key, 1, HS_LOCK_NONE, nullptr, 2), "values");
  expect_said(HS_INVALID, hs_get(transaction_, table_, nullptr, 1, HS_LOCK_NONE, &key, 1), "the key for");
  expect_said(HS_INVALID, hs_cursor_open(transaction_, table_, nullptr, HS_LOCK_NONE, nullptr), "cursor");
  expect_said(HS_INVALID, hs_scan_open(transaction_, table_, nullptr), "scan");
  expect_said(HS_INVALID, hs_load_begin(transaction_, table_, nullptr), "load");
  expect_said(HS_INVALID, hs_table_open(transaction_, "t/pairs", nullptr), "table");
  expect_said(HS_INVALID, hs_table_next(transaction_, nullptr, nullptr, nullptr), "name");
  expect_said(HS_INVALID, hs_table_check(transaction_, nullptr), wrong_table);
  expect_said(HS_INVALID, hs_begin(database_, HS_REPEATABLE_READ, nullptr), database_, "transaction");
  expect_said(HS_INVALID, hs_counter(database_, nullptr, nullptr), database_, "counter");

  hs_scan* const scanned = scan();
  expect_said(HS_INVALID, hs_scan_stream(scanned, nullptr), scanned, "stream");
  expect_said(HS_INVALID, hs_scan_count(scanned, nullptr), scanned, "rows");
  hs_scan_close(scanned);
  hs_load* const loaded = load();
  expect_said(HS_INVALID, hs_load_stream(loaded, nullptr), loaded, "stream");
  hs_load_close(loaded);
  hs_cursor* cursor = nullptr;
  ASSERT_HS_OK(hs_cursor_open(transaction_, table_, nullptr, HS_LOCK_NONE, &cursor), transaction_);
  ASSERT_HS_OK(hs_cursor_seek(cursor, nullptr, 0), cursor);
  expect_said(HS_INVALID, hs_cursor_row(cursor, nullptr, 1), cursor, "values");
  hs_cursor_close(cursor);

  hs_database* other = nullptr;
  hs_transaction* elsewhere = nullptr;
  ASSERT_HS_OK(hs_open(directory_.file("other").c_str(), nullptr, &other), other);
  ASSERT_HS_OK(hs_begin(other, HS_REPEATABLE_READ, &elsewhere), other);
  expect_said(HS_INVALID, hs_insert(elsewhere, table_, row, 2), elsewhere, wrong_table);
  hs_transaction_close(elsewhere);
  EXPECT_HS_OK(hs_close(other), other);
}

TEST_F(HailstoneErrorTest, RefusedValuesAreNamed) {
  hs_schema* schema = nullptr;
  ASSERT_HS(HS_OK, hs_schema_new(&schema));
  ASSERT_HS_OK(hs_schema_column(schema, "id", HS_INT8, 0, 0), schema);
  ASSERT_HS_OK(hs_schema_column(schema, "short", HS_STRING, 4, 0), schema);
  const char* const key[] = {"short", "id"};
  ASSERT_HS_OK(hs_schema_primary_key(schema, key, 2), schema);
  hs_table* table = nullptr;
  ASSERT_HS_OK(hs_table_create(transaction_, "t/short", schema, &table), transaction_);
  hs_schema_free(schema);
  const auto put = [&](hs_value id, hs_value text) {
    const hs_value row[] = {id, text};
    return hs_insert(transaction_, table, row, 2);
  };
  expect_said(HS_INVALID, put(hs_int(1), hs_text("fives")),
              "'t/short': 5 bytes are too many for column 'short'");
  expect_said(HS_OUT_OF_RANGE, put(hs_int(1000), hs_text("a")),
              "'t/short': a number does not fit into column 'id'");
  expect_said(HS_INVALID, put(hs_int(1), hs_text(nullptr)), "'short'");
  EXPECT_EQ(hs_compare("short", HS_EQUAL, hs_text(nullptr)), nullptr);
  ASSERT_HS_OK(put(hs_int(1), hs_text("\x01"
                                      "a")),
               transaction_);
  expect_said(HS_DUPLICATE_KEY,
              put(hs_int(1), hs_text("\x01"
                                     "a")),
              "('\\x01a', 1)");
  // A key that no row can have is looked for, and not found.
  const hs_value longer[] = {hs_text("longer"), hs_int(1)};
  EXPECT_HS(HS_NOT_FOUND, hs_delete(transaction_, table, longer, 2));
  const hs_value there[] = {hs_text("\x01"
                                    "a"),
                            hs_int(1)};
  const uint32_t columns[] = {0, 0};
  const hs_value twice[] = {hs_int(2), hs_int(3)};
  expect_said(HS_INVALID, hs_update(transaction_, table, there, 2, columns, twice, 2), "two values");

  hs_load* loaded = nullptr;
  ASSERT_HS_OK(hs_load_begin(transaction_, table, &loaded), transaction_);
  for (const int id : {7, 8, 7}) {
    const hs_value row[] = {hs_int(id), hs_text("x")};
    ASSERT_HS_OK(hs_load_row(loaded, row, 2), loaded);
  }
  expect_said(HS_DUPLICATE_KEY, hs_load_finish(loaded), loaded, "('x', 7)");
  hs_load_close(loaded);
  hs_table_close(table);
}

TEST_F(HailstoneErrorTest, LocksNameTheirTable) {
  ASSERT_HS_OK(insert(transaction_, table_, 1, "one"), transaction_);
  hs_transaction* const other = begin();
  expect_said(HS_LOCK_TIMEOUT, insert(other, table_, 1, "two"), other, "t/pairs");
  expect_said(HS_LOCK_TIMEOUT, hs_table_drop(other, "t/pairs"), other, "t/pairs");
  hs_transaction_close(other);
}

TEST_F(HailstoneErrorTest, LocksNameARenamedTableByItsNewName) {
  hs_transaction* const renaming = begin();
  ASSERT_HS_OK(hs_table_rename(renaming, "t/pairs", "t/couples"), renaming);
  commit(renaming);
  ASSERT_HS_OK(insert(transaction_, table_, 1, "one"), transaction_);
  hs_transaction* const other = begin();
  expect_said(HS_LOCK_TIMEOUT, insert(other, table_, 1, "two"), other, "t/couples");
  hs_transaction_close(other);
}

TEST_F(HailstoneErrorTest, SchemasAreChecked) {
  hs_schema* schema = nullptr;
  ASSERT_HS(HS_OK, hs_schema_new(&schema));
  expect_said(HS_INVALID, hs_schema_column(schema, "a", HS_INT32, 4, 0), schema, "max_bytes");
  ASSERT_HS_OK(hs_schema_column(schema, "a", HS_INT32, 0, 0), schema);
  const char* const columns[] = {"a"};
  const int flags[] = {3};
  expect_said(HS_INVALID, hs_schema_index(schema, "i", 0, columns, flags, 1), schema, "flags 3");
  for (const char* const name : {"", "a", "/a", "a/", "/"}) {
    expect_said(HS_INVALID, hs_table_create(transaction_, name, schema, nullptr), "group/table");
    expect_said(HS_INVALID, hs_table_rename(transaction_, "t/pairs", name), "group/table");
  }
  for (int i = 1; i < 4096; ++i) {
    ASSERT_HS_OK(hs_schema_column(schema, std::to_string(i).c_str(), HS_INT32, 0, 0), schema);
  }
  expect_said(HS_INVALID, hs_schema_column(schema, "b", HS_INT32, 0, 0), schema, "4096");
  hs_schema_free(schema);
}

TEST_F(HailstoneErrorTest, EndedAndInterruptedTransactionsRefuse) {
  hs_scan* const scanned = scan();
  hs_interrupt(transaction_, 1);
  EXPECT_HS(HS_INTERRUPTED, hs_savepoint(transaction_, "a"));
  EXPECT_HS(HS_INTERRUPTED, hs_scan_column(scanned, "id", 0));
  hs_interrupt(transaction_, 0);
  EXPECT_HS_OK(hs_savepoint(transaction_, "a"), transaction_);
  hs_interrupt(transaction_, 1);
  EXPECT_HS(HS_INTERRUPTED, hs_release(transaction_, "a"));
  EXPECT_HS_OK(hs_rollback_to(transaction_, "a"), transaction_);
  EXPECT_HS_OK(hs_rollback(transaction_), transaction_);
  EXPECT_HS(HS_INVALID, hs_scan_column(scanned, "id", 0));
  EXPECT_HS(HS_INVALID, hs_scan_filter(scanned, nullptr));
  EXPECT_HS(HS_INVALID, hs_scan_threads(scanned, 1));
  hs_scan_close(scanned);
}

TEST_F(HailstoneErrorTest, MalformedArrowIsRefused) {
  const int64_t ids[] = {1, 2};
  const auto loads = [&](Batch& batch) {
    hs_load* const loaded = load();
    const int status = hs_load_arrow(loaded, &batch.schema, &batch.array);
    EXPECT_EQ(status == HS_OK, std::string(hs_error_message(loaded)).empty());
    hs_load_close(loaded);
    return status;
  };
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  {
    Batch batch("l", "id", ids, 2);
    EXPECT_HS(HS_OK, loads(batch));
  }
  {
    Batch batch("l", "id", ids, most);
    batch.array.offset = 5;
    EXPECT_HS(HS_INVALID, loads(batch));
  }
  {
    Batch batch("l", "id", ids, 2);
    batch.child.offset = most;
    EXPECT_HS(HS_INVALID, loads(batch));
  }
  {
    Batch batch("w:9223372036854775807", "text", ids, 2);
    EXPECT_HS(HS_INVALID, loads(batch));
  }
  {
    Batch batch("l", "id", ids, 2);
    batch.child.release = nullptr;
    EXPECT_HS(HS_INVALID, loads(batch));
  }
  {
    Batch batch("l", "id", ids, 2);
    batch.child_schema.release = nullptr;
    EXPECT_HS(HS_INVALID, loads(batch));
  }
}

TEST_F(HailstoneErrorTest, WhatArrowLoadsMustFit) {
  hs_schema* schema = nullptr;
  ASSERT_HS(HS_OK, hs_schema_new(&schema));
  ASSERT_HS_OK(hs_schema_column(schema, "at", HS_TIMESTAMP, 0, 0), schema);
  ASSERT_HS_OK(hs_schema_column(schema, "day", HS_DATE, 0, 0), schema);
  ASSERT_HS_OK(hs_schema_column(schema, "short", HS_STRING, 4, 0), schema);
  hs_table* table = nullptr;
  ASSERT_HS_OK(hs_table_create(transaction_, "t/times", schema, &table), transaction_);
  hs_schema_free(schema);
  const auto loads = [&](const char* format, const char* column, int64_t number) {
    Batch batch(format, column, &number, 1);
    hs_load* loaded = nullptr;
    EXPECT_HS_OK(hs_load_begin(transaction_, table, &loaded), transaction_);
    const int status = hs_load_arrow(loaded, &batch.schema, &batch.array);
    hs_load_close(loaded);
    return status;
  };
  EXPECT_HS(HS_OK, loads("tsn:", "at", -5'000));
  EXPECT_HS(HS_OUT_OF_RANGE, loads("tsn:", "at", -5'001));
  EXPECT_HS(HS_OUT_OF_RANGE, loads("tsn:", "at", 999));
  EXPECT_HS(HS_OK, loads("tdm", "day", 86'400'000));
  EXPECT_HS(HS_OUT_OF_RANGE, loads("tdm", "day", 86'400'001));
  Batch batch("w:5", "short", "fives", 1);
  hs_load* loaded = nullptr;
  ASSERT_HS_OK(hs_load_begin(transaction_, table, &loaded), transaction_);
  expect_said(HS_INVALID, hs_load_arrow(loaded, &batch.schema, &batch.array), loaded, "for column 'short'");
  hs_load_close(loaded);
  hs_table_close(table);
}

TEST_F(HailstoneErrorTest, DirectoriesAreRefusedForWhatTheyAre) {
  const std::string inside = path() + "/backup";
  expect_said(HS_INVALID, hs_backup(database_, inside.c_str()), database_, "inside");
  EXPECT_FALSE(std::filesystem::exists(inside));
  const std::string file = directory_.file("file");
  std::fclose(std::fopen(file.c_str(), "w"));
  hs_database* other = nullptr;
  const int status = hs_open(file.c_str(), nullptr, &other);
  expect_said(HS_ALREADY_EXISTS, status, other, "is not a directory");
  EXPECT_HS(HS_OK, hs_close(other));
}

/// A link to itself stands for all that the system refuses to open, whoever asks.
void make_unreadable(const std::filesystem::path& file) {
  std::filesystem::remove(file);
  std::filesystem::create_symlink(file.filename(), file);
}

TEST_F(HailstoneErrorTest, WhatCannotBeReadIsNotMissing) {
  const std::string place = directory_.file("other");
  hs_database* other = nullptr;
  ASSERT_HS_OK(hs_open(place.c_str(), nullptr, &other), other);
  EXPECT_HS_OK(hs_close(other), other);
  make_unreadable(place + "/manifest");
  hs_options options;
  hs_options_init(&options);
  options.must_exist = 1;
  const int status = hs_open(place.c_str(), &options, &other);
  // The manifest is a link by now, which is not followed.
  expect_said(HS_INVALID, status, other, "manifest");
  EXPECT_HS(HS_OK, hs_close(other));
}

TEST_F(HailstoneErrorTest, WhatCannotBeReadIsNotDamaged) {
  hs_load* const loaded = load();
  const std::string text(1000, 'x');
  for (int64_t id = 0; id < 3000; ++id) {
    const hs_value row[] = {hs_int(id), hs_bytes(text.data(), text.size())};
    ASSERT_HS_OK(hs_load_row(loaded, row, 2), loaded);
  }
  ASSERT_HS_OK(hs_load_finish(loaded), loaded);
  hs_load_close(loaded);
  commit(transaction_);
  hs_table_close(table_);
  ASSERT_HS_OK(hs_close(database_), database_);
  std::vector<std::filesystem::path> segments;
  for (const auto& entry : std::filesystem::directory_iterator(path())) {
    if (entry.path().filename().string().starts_with("segment-")) segments.push_back(entry.path());
  }
  ASSERT_EQ(segments.size(), 1u);
  const std::filesystem::path kept = directory_.file("kept");
  std::filesystem::copy_file(segments[0], kept);
  make_unreadable(segments[0]);
  open();
  transaction_ = begin();
  // The table stays closed, and is tried again when it is asked for again.
  for (int i = 0; i < 2; ++i) {
    expect_said(HS_IO, hs_table_open(transaction_, "t/pairs", &table_), "segment-");
  }
  hs_transaction_close(transaction_);
  ASSERT_HS_OK(hs_close(database_), database_);
  // Nothing was given up.
  std::filesystem::remove(segments[0]);
  std::filesystem::copy_file(kept, segments[0]);
  open();
  transaction_ = begin();
  ASSERT_HS_OK(hs_table_open(transaction_, "t/pairs", &table_), transaction_);
  EXPECT_HS_OK(hs_table_check(transaction_, table_), transaction_);
  EXPECT_EQ(text_of(transaction_, table_, 2999), text);
}

}  // namespace
}  // namespace hailstone

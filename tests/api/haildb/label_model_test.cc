// Tables with indexes on columns that the application's function orders, against a model, while indexes come
// and go: the hidden columns with the labels must be there in every row, and nowhere else.
#include <strings.h>

#include <optional>
#include <random>

#include "api/haildb/fixture.h"
#include "base/test_seed.h"

namespace hailstone {
namespace {

int without_case(const ib_col_meta_t*, const ib_byte_t* a, ib_ulint_t a_size, const ib_byte_t* b,
                 ib_ulint_t b_size) {
  const int order = ::strncasecmp(reinterpret_cast<const char*>(a), reinterpret_cast<const char*>(b),
                                  std::min(a_size, b_size));
  if (order != 0) return order;
  return a_size < b_size ? -1 : a_size > b_size ? 1 : 0;
}

struct WithoutCase {
  bool operator()(const std::string& a, const std::string& b) const {
    return ::strcasecmp(a.c_str(), b.c_str()) < 0;
  }
};
using Text = std::optional<std::string>;
struct Rest {
  Text blob, text;
  int number = 0;
};
using Model = std::map<std::string, Rest, WithoutCase>;

class HaildbLabelModelTest : public HaildbTest {
 protected:
  void SetUp() override {
    HaildbTest::SetUp();
    ib_set_client_compare(without_case);
    create("test/model",
           {{"word", IB_VARCHAR_ANYCHARSET, IB_COL_NOT_NULL, 20},
            {"blob", IB_BLOB, 0, 0},
            {"text", IB_CHAR_ANYCHARSET, 0, 6},
            {"number", IB_INT, 0, 4}},
           {{"PRIMARY", {{"word"}}, true}});
  }

  uint64_t below(uint64_t limit) { return random_() % limit; }
  std::string word() {
    std::string text(1 + below(3), 'a');
    for (char& letter : text) letter = "abcABC"[below(6)];
    return text;
  }
  Text maybe_word() { return below(4) == 0 ? Text() : Text(word()); }

  static void set_text(ib_tpl_t tuple, ib_ulint_t column, const Text& value) {
    if (value) {
      set(tuple, column, *value);
    } else {
      EXPECT_OK(ib_col_set_value(tuple, column, nullptr, IB_SQL_NULL));
    }
  }
  static void fill_tuple(ib_tpl_t tuple, const std::string& key, const Rest& rest) {
    set(tuple, 0, key);
    set_text(tuple, 1, rest.blob);
    set_text(tuple, 2, rest.text);
    set(tuple, 3, rest.number);
  }
  static std::string shown(ib_tpl_t tuple) {
    std::string all;
    for (ib_ulint_t column = 0; column < 3; ++column) all += text(tuple, column) + "|";
    return all + std::to_string(number(tuple, 3));
  }
  static std::string shown(const std::string& key, const Rest& rest) {
    Text padded = rest.text;
    if (padded) padded->resize(6, ' ');
    return key + "|" + rest.blob.value_or("NULL") + "|" + padded.value_or("NULL") + "|" +
           std::to_string(rest.number);
  }

  /// The cursor on the row of the key; null: it is not there.
  ib_crsr_t find(ib_trx_t trx, const std::string& key, ib_err_t expected) {
    ib_crsr_t cursor = open("test/model", trx);
    ib_cursor_set_match_mode(cursor, IB_EXACT_MATCH);
    if (below(2) == 0) {
      EXPECT_OK(ib_cursor_set_lock_mode(cursor, IB_LOCK_X));
    }
    ib_tpl_t tuple = ib_clust_search_tuple_create(cursor);
    set(tuple, 0, key);
    int result = 7;
    EXPECT_DB(expected, ib_cursor_moveto(cursor, tuple, IB_CUR_GE, &result));
    ib_tuple_delete(tuple);
    return cursor;
  }
  void insert_row(ib_trx_t trx, Model& model) {
    const std::string key = word();
    const Rest rest{maybe_word(), maybe_word(), static_cast<int>(below(100))};
    ib_crsr_t cursor = open("test/model", trx);
    ib_tpl_t tuple = ib_clust_read_tuple_create(cursor);
    fill_tuple(tuple, key, rest);
    const bool added = model.try_emplace(key, rest).second;
    EXPECT_DB(added ? DB_SUCCESS : DB_DUPLICATE_KEY, ib_cursor_insert_row(cursor, tuple));
    ib_tuple_delete(tuple);
    EXPECT_OK(ib_cursor_close(cursor));
  }
  void update_row(ib_trx_t trx, Model& model) {
    const std::string key = word();
    const auto found = model.find(key);
    ib_crsr_t cursor = find(trx, key, found == model.end() ? DB_RECORD_NOT_FOUND : DB_SUCCESS);
    if (found != model.end()) {
      ib_tpl_t before = ib_clust_read_tuple_create(cursor), after = ib_clust_read_tuple_create(cursor);
      EXPECT_OK(ib_cursor_read_row(cursor, before));
      EXPECT_EQ(shown(before), shown(found->first, found->second));
      EXPECT_OK(ib_tuple_copy(after, before));
      std::string new_key = found->first;
      Rest rest = found->second;
      if (below(3) == 0) new_key = word();
      if (below(3) == 0) rest.blob = maybe_word();
      if (below(3) == 0) rest.text = maybe_word();
      if (below(3) == 0) rest.number = static_cast<int>(below(100));
      fill_tuple(after, new_key, rest);
      const auto there = model.find(new_key);
      if (there != model.end() && there != found) {
        EXPECT_DB(DB_DUPLICATE_KEY, ib_cursor_update_row(cursor, before, after));
      } else {
        EXPECT_OK(ib_cursor_update_row(cursor, before, after));
        model.erase(found);
        model.emplace(new_key, rest);
      }
      ib_tuple_delete(before);
      ib_tuple_delete(after);
    }
    EXPECT_OK(ib_cursor_close(cursor));
  }
  void delete_row(ib_trx_t trx, Model& model) {
    const std::string key = word();
    const auto found = model.find(key);
    ib_crsr_t cursor = find(trx, key, found == model.end() ? DB_RECORD_NOT_FOUND : DB_SUCCESS);
    if (found != model.end()) {
      EXPECT_OK(ib_cursor_delete_row(cursor));
      model.erase(found);
    }
    EXPECT_OK(ib_cursor_close(cursor));
  }

  struct Indexed {
    const char* name;
    const char* column;
    ib_ulint_t prefix;
    ib_id_t id = 0;
  };
  void toggle(Indexed& index) {
    ib_trx_t trx = begin();
    EXPECT_OK(ib_schema_lock_exclusive(trx));
    if (index.id != 0) {
      EXPECT_OK(ib_index_drop(trx, index.id));
      index.id = 0;
    } else {
      ib_idx_sch_t schema = nullptr;
      EXPECT_OK(ib_index_schema_create(trx, index.name, "test/model", &schema));
      EXPECT_OK(ib_index_schema_add_col(schema, index.column, index.prefix));
      EXPECT_OK(ib_index_create(schema, &index.id));
      ib_index_schema_delete(schema);
    }
    EXPECT_OK(ib_trx_commit(trx));
  }
  void expect_rows(const Model& model) {
    ib_trx_t trx = begin();
    ib_crsr_t table = open("test/model", trx);
    ib_tpl_t tuple = ib_clust_read_tuple_create(table);
    std::string expected, found;
    for (const auto& [key, rest] : model) expected += shown(key, rest) + "\n";
    for (ib_err_t code = ib_cursor_first(table); code == DB_SUCCESS; code = ib_cursor_next(table)) {
      EXPECT_OK(ib_cursor_read_row(table, tuple));
      found += shown(tuple) + "\n";
    }
    ASSERT_EQ(found, expected);
    for (const Indexed& index : indexes_) {
      if (index.id == 0) continue;
      const ib_ulint_t column = index.column[0] == 'b' ? 1 : 2;
      ib_crsr_t entries = open_index(table, index.name);
      ib_cursor_set_cluster_access(entries);
      Text last;
      size_t rows = 0;
      for (ib_err_t code = ib_cursor_first(entries); code == DB_SUCCESS; code = ib_cursor_next(entries)) {
        EXPECT_OK(ib_cursor_read_row(entries, tuple));
        ++rows;
        Text now;
        if (ib_col_get_len(tuple, column) != IB_SQL_NULL) now = text(tuple, column);
        if (now && index.prefix != 0) now->resize(std::min<size_t>(now->size(), index.prefix));
        ASSERT_FALSE(last && (!now || WithoutCase()(*now, *last))) << index.name;
        last = now;
      }
      ASSERT_EQ(rows, model.size()) << index.name;
      EXPECT_OK(ib_cursor_close(entries));
    }
    ib_tuple_delete(tuple);
    EXPECT_OK(ib_cursor_close(table));
    EXPECT_OK(ib_trx_commit(trx));
  }

  std::mt19937_64 random_{test_seed(41)};
  Indexed indexes_[3] = {{"blobs", "blob", 0}, {"beginnings", "blob", 1}, {"texts", "text", 0}};
};

TEST_F(HaildbLabelModelTest, RowsAndIndexesAgreeWhileIndexesComeAndGo) {
  Model committed;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    if (below(3) == 0) toggle(indexes_[below(3)]);
    if (below(15) == 0) {
      restart();
      ib_set_client_compare(without_case);
    }
    Model model = committed;
    ib_trx_t trx = begin(below(2) == 0 ? IB_TRX_REPEATABLE_READ : IB_TRX_READ_COMMITTED);
    const uint64_t steps = below(30);
    for (uint64_t step = 0; step < steps; ++step) {
      switch (below(4)) {
        case 0:
          delete_row(trx, model);
          break;
        case 1:
          insert_row(trx, model);
          break;
        default:
          update_row(trx, model);
          break;
      }
    }
    if (below(4) == 0) {
      EXPECT_OK(ib_trx_rollback(trx));
    } else {
      EXPECT_OK(ib_trx_commit(trx));
      committed = std::move(model);
    }
    ASSERT_NO_FATAL_FAILURE(expect_rows(committed));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace hailstone

// Random tables, predicates, aggregates and Arrow streams through hailstone.h, against a model that does the
// same value by value.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>

#include "api/hailstone/fixture.h"
#include "base/test_seed.h"

namespace hailstone {
namespace {

__extension__ typedef __int128 Wide;

/// A value that owns its bytes. Numbers compare by value, NaN above all and equal to itself.
struct Cell {
  hs_value_kind kind = HS_VALUE_NULL;
  int64_t i = 0;
  uint64_t u = 0;
  double d = 0;
  std::string s;

  static Cell of(hs_value value) {
    Cell cell;
    cell.kind = value.kind;
    if (value.kind == HS_VALUE_INT) cell.i = value.as.i;
    if (value.kind == HS_VALUE_UINT) cell.u = value.as.u;
    if (value.kind == HS_VALUE_DOUBLE) cell.d = value.as.d;
    if (value.kind == HS_VALUE_BYTES)
      cell.s.assign(static_cast<const char*>(value.as.bytes.data), value.as.bytes.size);
    return cell;
  }
  hs_value get() const {
    switch (kind) {
      case HS_VALUE_INT:
        return hs_int(i);
      case HS_VALUE_UINT:
        return hs_uint(u);
      case HS_VALUE_DOUBLE:
        return hs_double(d);
      case HS_VALUE_BYTES:
        return hs_bytes(s.data(), s.size());
      default:
        return hs_null();
    }
  }
  bool null() const { return kind == HS_VALUE_NULL; }
  long double number() const {
    if (kind == HS_VALUE_INT) return static_cast<long double>(i);
    if (kind == HS_VALUE_UINT) return static_cast<long double>(u);
    return static_cast<long double>(d);
  }
};

int compare(const Cell& a, const Cell& b) {
  if (a.kind == HS_VALUE_BYTES) return a.s < b.s ? -1 : a.s > b.s ? 1 : 0;
  const long double x = a.number(), y = b.number();
  if (std::isnan(x) || std::isnan(y))
    return static_cast<int>(std::isnan(x)) - static_cast<int>(std::isnan(y));
  return x < y ? -1 : x > y ? 1 : 0;
}

/// The pattern's meaning, as simply as it can be said.
bool is_like(const char* pattern, const char* text, bool characters) {
  if (*pattern == 0) return *text == 0;
  if (*pattern == '%')
    return is_like(pattern + 1, text, characters) || (*text != 0 && is_like(pattern, text + 1, characters));
  if (*text == 0) return false;
  if (*pattern == '_') {
    ++text;
    while (characters && (static_cast<unsigned char>(*text) & 0xc0) == 0x80) ++text;
    return is_like(pattern + 1, text, characters);
  }
  if (*pattern == '\\' && pattern[1] != 0) ++pattern;
  return *pattern == *text && is_like(pattern + 1, text + 1, characters);
}

struct ColumnSpec {
  const char* name;
  hs_type type;
  uint32_t max_bytes;
  int flags;
};
constexpr ColumnSpec specs[] = {
    {"id", HS_INT64, 0, HS_NOT_NULL},   {"tiny", HS_INT8, 0, 0},          {"big", HS_UINT64, 0, 0},
    {"ratio", HS_DOUBLE, 0, 0},         {"single", HS_FLOAT, 0, 0},       {"name", HS_STRING, 20, 0},
    {"note", HS_BYTES, 0, HS_ROW_WISE}, {"day", HS_DATE, 0, HS_ROW_WISE}, {"moment", HS_TIMESTAMP, 0, 0},
    {"text", HS_STRING, 0, 0},          {"flag", HS_BOOL, 0, 0},          {"rare", HS_BOOL, 0, HS_ROW_WISE},
    {"clock", HS_DATETIME, 0, 0}};
constexpr size_t column_count = std::size(specs);
using Row = std::vector<Cell>;

using Truth = std::optional<bool>;
struct Condition {
  hs_predicate* predicate;
  std::function<Truth(const Row&)> truth;
  std::string said = {};  // for failures
};

std::string say(const Cell& cell) {
  switch (cell.kind) {
    case HS_VALUE_INT:
      return std::to_string(cell.i);
    case HS_VALUE_UINT:
      return std::to_string(cell.u);
    case HS_VALUE_DOUBLE:
      return std::to_string(cell.d);
    case HS_VALUE_BYTES:
      return "'" + cell.s + "'";
    default:
      return "NULL";
  }
}

/// In a directory, and in memory.
class HailstoneModelTest : public HailstoneTest, public ::testing::WithParamInterface<bool> {
 protected:
  HailstoneModelTest() { in_memory_ = GetParam(); }
  size_t below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }
  bool chance(size_t of) { return below(of) == 0; }

  Cell number_cell(const ColumnSpec& spec) {
    Cell cell;
    switch (spec.type) {
      case HS_INT8:
        cell.kind = HS_VALUE_INT;
        cell.i = static_cast<int64_t>(below(256)) - 128;
        break;
      case HS_UINT64:
        cell.kind = HS_VALUE_UINT;
        cell.u = chance(4) ? ~uint64_t{0} - below(3) : below(50);
        break;
      case HS_DOUBLE:
      case HS_FLOAT: {
        constexpr double special[] = {std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity(),
                                      std::numeric_limits<double>::quiet_NaN(), 0.0, -0.0};
        cell.kind = HS_VALUE_DOUBLE;
        cell.d =
            chance(6) ? special[below(5)] : static_cast<double>(static_cast<int64_t>(below(41)) - 20) / 4;
        break;
      }
      case HS_BOOL:
        cell.kind = HS_VALUE_UINT;
        cell.u = below(2);
        break;
      case HS_DATE:
        cell.kind = HS_VALUE_INT;
        cell.i = static_cast<int64_t>(below(40000)) - 1000;
        break;
      default:
        cell.kind = HS_VALUE_INT;
        cell.i = static_cast<int64_t>(below(1000)) * 1'000'000 - 5;
        break;
    }
    return cell;
  }

  Cell random_cell(const ColumnSpec& spec) {
    if ((spec.flags & HS_NOT_NULL) == 0 && chance(7)) return {};
    if (spec.type != HS_STRING && spec.type != HS_BYTES) return number_cell(spec);
    Cell cell;
    cell.kind = HS_VALUE_BYTES;
    constexpr const char* words[] = {"",      "a",          "ab",       "abc", "b",   "B",
                                     "zebra", "f\xc3\xbcr", "\xc3\xbc", "a%b", "100_"};
    cell.s = words[below(std::size(words))];
    if (spec.max_bytes == 0) cell.s += std::string(below(20), static_cast<char>('a' + below(3)));
    return cell;
  }

  Row random_row(int64_t id) {
    Row row;
    for (const ColumnSpec& spec : specs) row.push_back(random_cell(spec));
    row[0].i = id;
    row[0].kind = HS_VALUE_INT;
    return row;
  }

  static std::vector<hs_value> values_of(const Row& row) {
    std::vector<hs_value> values;
    for (const Cell& cell : row) values.push_back(cell.get());
    return values;
  }

  hs_table* create(const char* name, bool primary_key) {
    hs_schema* schema = nullptr;
    EXPECT_HS(HS_OK, hs_schema_new(&schema));
    for (const ColumnSpec& spec : specs) {
      EXPECT_HS_OK(hs_schema_column(schema, spec.name, spec.type, spec.max_bytes, spec.flags), schema);
    }
    const char* const id[] = {"id"};
    if (primary_key) {
      EXPECT_HS_OK(hs_schema_primary_key(schema, id, 1), schema);
    }
    return HailstoneTest::create(name, schema);
  }

  void load_rows(hs_transaction* transaction, hs_table* table, int64_t first, int64_t last) {
    hs_load* load = nullptr;
    ASSERT_HS_OK(hs_load_begin(transaction, table, &load), transaction);
    for (int64_t id = first; id < last; ++id) {
      Row row = random_row(id);
      const auto values = values_of(row);
      ASSERT_HS_OK(hs_load_row(load, values.data(), values.size()), load);
      model_[id] = std::move(row);
    }
    ASSERT_HS_OK(hs_load_finish(load), load);
    hs_load_close(load);
  }

  void change_rows(hs_transaction* transaction, hs_table* table, int64_t limit, int changes) {
    for (int i = 0; i < changes; ++i) {
      const auto id = static_cast<int64_t>(below(static_cast<size_t>(limit)));
      const hs_value key = hs_int(id);
      if (!model_.contains(id)) {
        Row row = random_row(id);
        const auto values = values_of(row);
        ASSERT_HS_OK(hs_insert(transaction, table, values.data(), values.size()), transaction);
        model_[id] = std::move(row);
      } else if (chance(3)) {
        ASSERT_HS_OK(hs_delete(transaction, table, &key, 1), transaction);
        model_.erase(id);
      } else {
        const auto column = static_cast<uint32_t>(1 + below(column_count - 1));
        const Cell cell = random_cell(specs[column]);
        const hs_value value = cell.get();
        ASSERT_HS_OK(hs_update(transaction, table, &key, 1, &column, &value, 1), transaction);
        model_[id][column] = cell;
      }
    }
  }

  /// A constant to compare the column with, not always of its own kind or within its range.
  Cell constant_for(const ColumnSpec& spec) {
    if (chance(20)) return {};
    if (spec.type == HS_STRING || spec.type == HS_BYTES || !chance(4)) return random_cell(spec);
    Cell cell;
    switch (below(4)) {
      case 0:
        cell.kind = HS_VALUE_INT;
        cell.i = static_cast<int64_t>(below(2000)) - 1000;
        break;
      case 1:
        cell.kind = HS_VALUE_UINT;
        cell.u = ~uint64_t{0} - below(2);
        break;
      case 2:
        cell.kind = HS_VALUE_DOUBLE;
        cell.d = static_cast<double>(static_cast<int64_t>(below(100)) - 50) / 3;
        break;
      default:
        cell.kind = HS_VALUE_DOUBLE;
        cell.d = chance(2) ? std::numeric_limits<double>::quiet_NaN() : 1e300;
        break;
    }
    return cell;
  }

  Condition random_leaf() {
    const size_t column = below(column_count);
    const ColumnSpec& spec = specs[column];
    const bool text = spec.type == HS_STRING || spec.type == HS_BYTES;
    switch (below(text ? 5 : 4)) {
      case 0:
        return {hs_is_null(spec.name), [column](const Row& row) { return Truth(row[column].null()); },
                std::string(spec.name) + " is null"};
      case 1: {
        std::vector<Cell> cells(below(4));
        std::vector<hs_value> values;
        for (Cell& cell : cells) cell = constant_for(spec);
        std::string said = std::string(spec.name) + " in (";
        for (const Cell& cell : cells) {
          values.push_back(cell.get());
          said += say(cell) + " ";
        }
        return {hs_in(spec.name, values.data(), values.size()),
                [column, cells](const Row& row) {
                  if (cells.empty()) return Truth(false);
                  if (row[column].null()) return Truth();
                  bool unknown = false;
                  for (const Cell& cell : cells) {
                    if (cell.null()) {
                      unknown = true;
                    } else if (compare(row[column], cell) == 0) {
                      return Truth(true);
                    }
                  }
                  return unknown ? Truth() : Truth(false);
                },
                said + ")"};
      }
      case 2: {
        const Cell low = constant_for(spec), high = constant_for(spec);
        return {hs_between(spec.name, low.get(), high.get()),
                [column, low, high](const Row& row) {
                  if (row[column].null()) return Truth();
                  if (!low.null() && compare(row[column], low) < 0) return Truth(false);
                  if (!high.null() && compare(row[column], high) > 0) return Truth(false);
                  return low.null() || high.null() ? Truth() : Truth(true);
                },
                std::string(spec.name) + " between " + say(low) + " and " + say(high)};
      }
      case 4: {
        constexpr const char* patterns[] = {"%",   "a%", "_",    "%b%", "a\\%b", "__%",
                                            "f_r", "%a", "ab_%", "",    "100\\_"};
        const char* const pattern = patterns[below(std::size(patterns))];
        const bool characters = spec.type == HS_STRING;
        return {hs_like(spec.name, pattern, '\\'),
                [column, pattern, characters](const Row& row) {
                  if (row[column].null()) return Truth();
                  return Truth(is_like(pattern, row[column].s.c_str(), characters));
                },
                std::string(spec.name) + " like '" + pattern + "'"};
      }
      default: {
        const auto comparison = static_cast<hs_comparison>(below(6));
        const Cell cell = constant_for(spec);
        return {hs_compare(spec.name, comparison, cell.get()),
                [column, comparison, cell](const Row& row) {
                  if (row[column].null() || cell.null()) return Truth();
                  const int order = compare(row[column], cell);
                  const bool results[] = {order == 0, order != 0, order<0, order <= 0, order> 0, order >= 0};
                  return Truth(results[comparison]);
                },
                std::string(spec.name) + " compared by " + std::to_string(comparison) + " with " + say(cell)};
      }
    }
  }

  Condition random_condition(int depth) {
    if (depth == 0 || chance(3)) return random_leaf();
    if (chance(3)) {
      const Condition part = random_condition(depth - 1);
      return {hs_not(part.predicate),
              [part](const Row& row) {
                const Truth truth = part.truth(row);
                return truth ? Truth(!*truth) : Truth();
              },
              "not (" + part.said + ")"};
    }
    const bool all = chance(2);
    std::vector<Condition> parts(below(4));
    std::vector<hs_predicate*> predicates;
    std::string said = all ? "all of (" : "any of (";
    for (Condition& part : parts) {
      part = random_condition(depth - 1);
      predicates.push_back(part.predicate);
      said += part.said + "; ";
    }
    hs_predicate* const made =
        all ? hs_and(predicates.data(), predicates.size()) : hs_or(predicates.data(), predicates.size());
    return {made,
            [parts, all](const Row& row) {
              bool unknown = false;
              for (const Condition& part : parts) {
                const Truth truth = part.truth(row);
                if (!truth) unknown = true;
                if (truth && *truth != all) return Truth(!all);
              }
              return unknown ? Truth() : Truth(all);
            },
            said + ")"};
  }

  void check_aggregates(hs_scan* scan, const std::vector<const Row*>& rows);
  void check_stream(hs_scan* scan, const std::vector<const Row*>& rows);
  void check_scans(hs_transaction* transaction, hs_table* table, int rounds);
  static Cell read_cell(const ArrowArray& array, const ColumnSpec& spec, int64_t row);

  std::mt19937_64 random_;
  std::map<int64_t, Row> model_;
};

void HailstoneModelTest::check_aggregates(hs_scan* scan, const std::vector<const Row*>& rows) {
  const size_t column = below(column_count);
  const ColumnSpec& spec = specs[column];
  const bool text = spec.type == HS_STRING || spec.type == HS_BYTES;
  std::vector<hs_aggregate> wanted = {
      {HS_MIN, spec.name}, {HS_COUNT_ROWS, nullptr}, {HS_MAX, spec.name}, {HS_COUNT, spec.name}};
  if (!text) wanted.push_back({HS_SUM, spec.name});
  Cell least, greatest;
  uint64_t values = 0;
  Wide sum = 0;
  double real_sum = 0, magnitude = 0;
  const bool real = spec.type == HS_DOUBLE || spec.type == HS_FLOAT;
  for (const Row* row : rows) {
    const Cell& cell = (*row)[column];
    if (cell.null()) continue;
    ++values;
    if (least.null() || compare(cell, least) < 0) least = cell;
    if (greatest.null() || compare(cell, greatest) > 0) greatest = cell;
    if (real) {
      real_sum += cell.d;
      if (std::isfinite(cell.d)) magnitude += std::abs(cell.d);
    }
    sum += cell.kind == HS_VALUE_UINT ? static_cast<Wide>(cell.u) : static_cast<Wide>(cell.i);
  }
  const bool fits =
      real || (sum >= std::numeric_limits<int64_t>::min() && sum <= static_cast<Wide>(~uint64_t{0}));
  std::vector<hs_value> results(wanted.size());
  ASSERT_HS_OK(hs_scan_threads(scan, static_cast<unsigned>(1 + below(4))), scan);
  const int status = hs_scan_aggregate(scan, wanted.data(), results.data(), wanted.size());
  if (!text && !fits) {
    EXPECT_HS(HS_OUT_OF_RANGE, status);
    return;
  }
  ASSERT_HS_OK(status, scan);
  const auto same = [](const Cell& a, const Cell& b) {
    return a.kind == b.kind && (a.null() || compare(a, b) == 0);
  };
  EXPECT_TRUE(same(Cell::of(results[0]), least)) << spec.name;
  EXPECT_EQ(results[1].as.u, rows.size());
  EXPECT_TRUE(same(Cell::of(results[2]), greatest)) << spec.name;
  EXPECT_EQ(results[3].as.u, values) << spec.name;
  if (text) return;
  if (values == 0) {
    EXPECT_EQ(results[4].kind, HS_VALUE_NULL);
  } else if (real) {
    if (std::isfinite(real_sum)) {
      EXPECT_NEAR(results[4].as.d, real_sum, magnitude * 1e-12) << spec.name;
    } else {
      EXPECT_EQ(std::isnan(results[4].as.d), std::isnan(real_sum));
    }
  } else {
    EXPECT_TRUE(sum == (results[4].kind == HS_VALUE_INT ? static_cast<Wide>(results[4].as.i)
                                                        : static_cast<Wide>(results[4].as.u)))
        << spec.name;
  }
}

Cell HailstoneModelTest::read_cell(const ArrowArray& array, const ColumnSpec& spec, int64_t row) {
  const auto* const validity = static_cast<const uint8_t*>(array.buffers[0]);
  if (validity != nullptr && (validity[row / 8] >> (row % 8) & 1) == 0) return {};
  const auto at = [&](auto zero) {
    decltype(zero) number;
    std::memcpy(&number,
                static_cast<const char*>(array.buffers[1]) + static_cast<size_t>(row) * sizeof number,
                sizeof number);
    return number;
  };
  switch (spec.type) {
    case HS_INT8:
      return Cell::of(hs_int(at(int8_t{})));
    case HS_UINT64:
      return Cell::of(hs_uint(at(uint64_t{})));
    case HS_DOUBLE:
      return Cell::of(hs_double(at(double{})));
    case HS_FLOAT:
      return Cell::of(hs_double(static_cast<double>(at(float{}))));
    case HS_DATE:
      return Cell::of(hs_int(at(int32_t{})));
    case HS_INT64:
    case HS_TIMESTAMP:
    case HS_DATETIME:
      return Cell::of(hs_int(at(int64_t{})));
    case HS_BOOL:
      return Cell::of(hs_uint(static_cast<const uint8_t*>(array.buffers[1])[row / 8] >> (row % 8) & 1));
    default:
      break;
  }
  const ArrowArray& values = array.dictionary != nullptr ? *array.dictionary : array;
  const int64_t index = array.dictionary != nullptr ? at(int32_t{}) : row;
  EXPECT_LT(index, values.length);
  const auto* const offsets = static_cast<const int32_t*>(values.buffers[1]);
  const auto* const text = static_cast<const char*>(values.buffers[2]);
  return Cell::of(hs_bytes(text + offsets[index], static_cast<size_t>(offsets[index + 1] - offsets[index])));
}

void HailstoneModelTest::check_stream(hs_scan* scan, const std::vector<const Row*>& rows) {
  std::vector<size_t> columns = {0};
  ASSERT_HS_OK(hs_scan_column(scan, "id", 0), scan);
  for (size_t column = 1; column < column_count; ++column) {
    if (!chance(2)) continue;
    const bool text = specs[column].type == HS_STRING || specs[column].type == HS_BYTES;
    columns.push_back(column);
    ASSERT_HS_OK(hs_scan_column(scan, specs[column].name, text && chance(2) ? HS_AS_DICTIONARY : 0), scan);
  }
  ArrowArrayStream stream;
  ASSERT_HS_OK(hs_scan_stream(scan, &stream), scan);
  ArrowSchema schema;
  ASSERT_EQ(0, stream.get_schema(&stream, &schema)) << stream.get_last_error(&stream);
  ASSERT_EQ(schema.n_children, static_cast<int64_t>(columns.size()));
  for (size_t i = 0; i < columns.size(); ++i) EXPECT_STREQ(schema.children[i]->name, specs[columns[i]].name);
  schema.release(&schema);
  std::map<int64_t, const Row*> expected;
  for (const Row* row : rows) expected[(*row)[0].i] = row;
  for (;;) {
    ArrowArray array;
    ASSERT_EQ(0, stream.get_next(&stream, &array)) << stream.get_last_error(&stream);
    if (array.release == nullptr) break;
    for (int64_t row = 0; row < array.length; ++row) {
      const Cell id = read_cell(*array.children[0], specs[0], row);
      const auto known = expected.find(id.i);
      ASSERT_TRUE(known != expected.end()) << "row " << id.i << " is there twice or should not be";
      for (size_t i = 1; i < columns.size(); ++i) {
        const Cell cell = read_cell(*array.children[i], specs[columns[i]], row);
        const Cell& wanted = (*known->second)[columns[i]];
        ASSERT_EQ(cell.null(), wanted.null()) << specs[columns[i]].name << " of " << id.i;
        ASSERT_TRUE(cell.null() || compare(cell, wanted) == 0) << specs[columns[i]].name << " of " << id.i;
      }
      expected.erase(known);
    }
    array.release(&array);
  }
  EXPECT_TRUE(expected.empty()) << expected.size() << " rows are missing";
  stream.release(&stream);
}

void HailstoneModelTest::check_scans(hs_transaction* transaction, hs_table* table, int rounds) {
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    const Condition condition =
        round == 0 ? Condition{hs_and(nullptr, 0), [](const Row&) { return Truth(true); }, "true"}
                   : random_condition(3);
    ASSERT_NE(condition.predicate, nullptr);
    hs_scan* scan = nullptr;
    ASSERT_HS_OK(hs_scan_open(transaction, table, &scan), transaction);
    ASSERT_HS_OK(hs_scan_filter(scan, condition.predicate), scan);
    hs_predicate_free(condition.predicate);
    std::vector<const Row*> rows;
    for (const auto& [id, row] : model_) {
      if (condition.truth(row) == Truth(true)) rows.push_back(&row);
    }
    uint64_t count = 0;
    ASSERT_HS_OK(hs_scan_count(scan, &count), scan);
    EXPECT_EQ(count, rows.size()) << "round " << round << ": " << condition.said;
    for (int i = 0; i < 3; ++i) check_aggregates(scan, rows);
    if (round % 4 == 0) check_stream(scan, rows);
    hs_scan_close(scan);
  }
}

TEST_P(HailstoneModelTest, ScansAreWhatTheModelSays) {
  random_.seed(test_seed(7));
  hs_table* const table = create("model/rows", true);
  hs_transaction* transaction = begin();
  load_rows(transaction, table, 0, 40'000);
  check_scans(transaction, table, 4);
  commit(transaction);
  transaction = begin();
  change_rows(transaction, table, 45'000, 3000);
  check_scans(transaction, table, 40);
  commit(transaction);
  ASSERT_HS_OK(hs_checkpoint(database_), database_);
  transaction = begin();
  change_rows(transaction, table, 50'000, 500);
  load_rows(transaction, table, 60'000, 60'500);
  check_scans(transaction, table, 40);
  EXPECT_HS_OK(hs_table_check(transaction, table), transaction);
  commit(transaction);
  hs_table_close(table);
}

TEST_P(HailstoneModelTest, WhatAStreamGivesALoadTakes) {
  random_.seed(test_seed(8));
  hs_table* const table = create("model/rows", true);
  hs_table* const copy = create("model/copy", true);
  hs_transaction* transaction = begin();
  load_rows(transaction, table, 0, 20'000);
  change_rows(transaction, table, 25'000, 1000);
  for (const int flags : {0, HS_AS_DICTIONARY}) {
    ASSERT_HS_OK(hs_savepoint(transaction, "empty"), transaction);
    hs_scan* scan = nullptr;
    ASSERT_HS_OK(hs_scan_open(transaction, table, &scan), transaction);
    for (const ColumnSpec& spec : specs) {
      const bool text = spec.type == HS_STRING || spec.type == HS_BYTES;
      ASSERT_HS_OK(hs_scan_column(scan, spec.name, text ? flags : 0), scan);
    }
    ArrowArrayStream stream;
    ASSERT_HS_OK(hs_scan_stream(scan, &stream), scan);
    hs_load* load = nullptr;
    ASSERT_HS_OK(hs_load_begin(transaction, copy, &load), transaction);
    ASSERT_HS_OK(hs_load_stream(load, &stream), load);
    ASSERT_HS_OK(hs_load_finish(load), load);
    hs_load_close(load);
    hs_scan_close(scan);
    EXPECT_EQ(stream.release, nullptr);
    check_scans(transaction, copy, 5);
    ASSERT_HS_OK(hs_rollback_to(transaction, "empty"), transaction);
  }
  commit(transaction);
  hs_table_close(copy);
  hs_table_close(table);
}

INSTANTIATE_TEST_SUITE_P(InADirectoryAndInMemory, HailstoneModelTest, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "InMemory" : "InADirectory"; });

}  // namespace
}  // namespace hailstone

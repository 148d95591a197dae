// The library without a server, through hailstone.h: rows of (int, 100 bytes) inserted one by one, loaded in
// bulk, read by key, walked and scanned; a std::map of the same rows is the yardstick.
//   library_bench DIRECTORY [MILLIONS-OF-ROWS [MILLIONS-OF-SCANNED-ROWS]]
// Prints one line a measurement: name, rows, seconds, millions of rows a second. Nothing here is a test.
#include <hailstone.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr size_t text_bytes = 100;
constexpr int64_t rows_a_transaction = 10'000;
constexpr int scan_repeats = 5;

void check(int status, const void* handle) {
  if (status == HS_OK) return;
  std::fprintf(stderr, "%s: %s\n", hs_status_name(status), hs_error_message(handle));
  std::exit(1);
}

void measure(const char* name, int64_t rows, const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%-44s %12lld rows %9.3f s %10.2f M rows/s\n", name, static_cast<long long>(rows),
              seconds.count(), static_cast<double>(rows) / seconds.count() / 1e6);
  std::fflush(stdout);
}

/// Numbers in no order, each once for 0..2^32-1.
int64_t scattered(int64_t number) {
  return static_cast<int32_t>(static_cast<uint32_t>(number) * 2'654'435'761u);
}

/// The text of a row, out of a megabyte of letters in no order: making it costs next to nothing, compressing
/// it does.
const char* text_of(int64_t number) {
  constexpr size_t letters = size_t{1} << 20;
  static const std::string pool = [] {
    std::string made(letters + text_bytes, 'a');
    uint64_t state = 1;
    for (char& letter : made) {
      state = state * 6'364'136'223'846'793'005u + 1'442'695'040'888'963'407u;
      letter = static_cast<char>('a' + (state >> 60));
    }
    return made;
  }();
  return pool.data() + static_cast<size_t>(number) * (text_bytes + 1) % letters;
}

class Bench {
 public:
  Bench(const char* directory, int64_t rows, int64_t scanned) : rows_(rows), scanned_(scanned) {
    hs_options options;
    hs_options_init(&options);
    options.memory_bytes = uint64_t{2} << 30;
    options.row_memory_bytes = uint64_t{1} << 30;
    options.durability = HS_DURABLE_AGAINST_CRASH;
    check(hs_open(directory, &options, &database_), database_);
  }
  ~Bench() { check(hs_close(database_), database_); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void run() {
    yardstick();
    rows_one_by_one();
    bulk_load();
    scans();
  }

 private:
  hs_transaction* begin() {
    hs_transaction* transaction = nullptr;
    check(hs_begin(database_, HS_REPEATABLE_READ, &transaction), database_);
    return transaction;
  }
  static void commit(hs_transaction* transaction) {
    check(hs_commit(transaction), transaction);
    hs_transaction_close(transaction);
  }

  hs_table* create(const char* name, const std::vector<std::pair<const char*, hs_type>>& columns,
                   bool primary_key) {
    hs_schema* schema = nullptr;
    check(hs_schema_new(&schema), nullptr);
    for (const auto& [column, type] : columns) {
      check(hs_schema_column(schema, column, type, type == HS_STRING ? text_bytes : 0, HS_NOT_NULL), schema);
    }
    const char* const key[] = {"id"};
    if (primary_key) check(hs_schema_primary_key(schema, key, 1), schema);
    hs_transaction* const transaction = begin();
    hs_table* table = nullptr;
    check(hs_table_create(transaction, name, schema, &table), transaction);
    hs_schema_free(schema);
    commit(transaction);
    return table;
  }

  void yardstick() {
    std::map<int64_t, std::string> map;
    measure("std::map, insert", rows_, [&] {
      for (int64_t id = 0; id < rows_; ++id) {
        map.emplace(id, std::string(text_of(id), text_bytes));
      }
    });
    uint64_t found = 0;
    measure("std::map, find in random order", rows_, [&] {
      for (int64_t i = 0; i < rows_; ++i) found += map.count((i * 7919) % rows_);
    });
    measure("std::map, read all", rows_, [&] {
      for (const auto& [id, value] : map) found += static_cast<uint64_t>(id) + value.size();
    });
    measure("std::map, count by a predicate on the number", rows_, [&] {
      for (const auto& [id, value] : map) found += id % 3 == 0 ? 1 : 0;
    });
    if (found == 0) std::printf("nothing was found\n");
  }

  void rows_one_by_one() {
    hs_table* const table = create("bench/single", {{"id", HS_INT32}, {"text", HS_STRING}}, true);
    measure("hs_insert, transactions of 10,000", rows_, [&] {
      for (int64_t first = 0; first < rows_; first += rows_a_transaction) {
        hs_transaction* const transaction = begin();
        for (int64_t id = first; id < std::min(first + rows_a_transaction, rows_); ++id) {
          const hs_value row[] = {hs_int(id), hs_bytes(text_of(id), text_bytes)};
          check(hs_insert(transaction, table, row, 2), transaction);
        }
        commit(transaction);
      }
    });
    read_back(table, "hs_get in random order", "hs_cursor_next, all rows");
    hs_table_close(table);
  }

  void read_back(hs_table* table, const char* get_name, const char* walk_name) {
    hs_transaction* const transaction = begin();
    hs_value row[2];
    const int64_t gets = std::min<int64_t>(rows_, 1'000'000);
    measure(get_name, gets, [&] {
      for (int64_t i = 0; i < gets; ++i) {
        const hs_value key = hs_int((i * 7919) % rows_);
        check(hs_get(transaction, table, &key, 1, HS_LOCK_NONE, row, 2), transaction);
      }
    });
    measure(walk_name, rows_, [&] {
      hs_cursor* cursor = nullptr;
      check(hs_cursor_open(transaction, table, nullptr, HS_LOCK_NONE, &cursor), transaction);
      int64_t seen = 0;
      int status = hs_cursor_seek(cursor, nullptr, 0);
      for (; status == HS_OK; status = hs_cursor_next(cursor)) {
        check(hs_cursor_row(cursor, row, 2), cursor);
        ++seen;
      }
      if (status != HS_NOT_FOUND || seen != rows_)
        check(status == HS_NOT_FOUND ? HS_CORRUPT : status, cursor);
      hs_cursor_close(cursor);
    });
    hs_transaction_close(transaction);
  }

  void bulk_load() {
    hs_table* const table = create("bench/loaded", {{"id", HS_INT32}, {"text", HS_STRING}}, true);
    measure("bulk load, row by row", rows_, [&] {
      hs_transaction* const transaction = begin();
      hs_load* load = nullptr;
      check(hs_load_begin(transaction, table, &load), transaction);
      for (int64_t id = 0; id < rows_; ++id) {
        const hs_value row[] = {hs_int(id), hs_bytes(text_of(id), text_bytes)};
        check(hs_load_row(load, row, 2), load);
      }
      check(hs_load_finish(load), load);
      hs_load_close(load);
      commit(transaction);
    });
    read_back(table, "hs_get in random order, loaded rows", "hs_cursor_next, loaded rows");
    hs_transaction* const transaction = begin();
    hs_table* const copy = create("bench/copy", {{"id", HS_INT32}, {"text", HS_STRING}}, true);
    measure("Arrow stream of all rows into a bulk load", rows_, [&] {
      hs_transaction* const loading = begin();
      hs_scan* scan = nullptr;
      hs_load* load = nullptr;
      ArrowArrayStream stream;
      check(hs_scan_open(transaction, table, &scan), transaction);
      check(hs_scan_stream(scan, &stream), scan);
      check(hs_load_begin(loading, copy, &load), loading);
      check(hs_load_stream(load, &stream), load);
      check(hs_load_finish(load), load);
      hs_load_close(load);
      hs_scan_close(scan);
      commit(loading);
    });
    hs_transaction_close(transaction);
    hs_table_close(copy);
    hs_table_close(table);
  }

  void scans() {
    hs_table* const table = create("bench/numbers", {{"number", HS_INT32}, {"small", HS_INT32}}, false);
    measure("bulk load, two integers", scanned_, [&] {
      hs_transaction* const transaction = begin();
      hs_load* load = nullptr;
      check(hs_load_begin(transaction, table, &load), transaction);
      for (int64_t i = 0; i < scanned_; ++i) {
        const hs_value row[] = {hs_int(scattered(i)), hs_int(scattered(i) & 1023)};
        check(hs_load_row(load, row, 2), load);
      }
      check(hs_load_finish(load), load);
      hs_load_close(load);
      commit(transaction);
    });
    hs_transaction* const transaction = begin();
    hs_scan* scan = nullptr;
    check(hs_scan_open(transaction, table, &scan), transaction);
    for (const unsigned threads : {1u, 2u}) {
      check(hs_scan_threads(scan, threads), scan);
      const std::string end = threads == 1 ? ", 1 thread" : ", 2 threads";
      scan_with(scan, hs_between("number", hs_int(-1'000'000'000), hs_int(1'000'000'000)), HS_COUNT_ROWS,
                "count, range of a 32-bit integer" + end);
      scan_with(scan, hs_compare("small", HS_EQUAL, hs_int(77)), HS_COUNT_ROWS,
                "count, one of 1,024 values" + end);
      scan_with(scan, hs_compare("small", HS_LESS, hs_int(512)), HS_SUM,
                "sum of an integer, half of the rows" + end);
      scan_with(scan, nullptr, HS_SUM, "sum of an integer, all rows" + end);
    }
    check(hs_scan_column(scan, "number", 0), scan);
    check(hs_scan_filter(scan, nullptr), scan);
    int64_t rows = 0;
    measure("Arrow stream of an integer column", scanned_, [&] {
      ArrowArrayStream stream;
      check(hs_scan_stream(scan, &stream), scan);
      for (ArrowArray array; stream.get_next(&stream, &array) == 0 && array.release != nullptr;) {
        rows += array.length;
        array.release(&array);
      }
      stream.release(&stream);
    });
    if (rows != scanned_) std::printf("the stream gave %lld rows\n", static_cast<long long>(rows));
    hs_scan_close(scan);
    hs_transaction_close(transaction);
    hs_table_close(table);
  }

  void scan_with(hs_scan* scan, hs_predicate* predicate, hs_aggregate_kind kind, const std::string& name) {
    check(hs_scan_filter(scan, predicate), scan);
    hs_predicate_free(predicate);
    const hs_aggregate wanted = {kind, "number"};
    hs_value result;
    check(hs_scan_aggregate(scan, &wanted, &result, 1), scan);  // the blocks are in the cache from now on
    measure(name.c_str(), scanned_ * scan_repeats, [&] {
      for (int i = 0; i < scan_repeats; ++i) check(hs_scan_aggregate(scan, &wanted, &result, 1), scan);
    });
  }

  const int64_t rows_, scanned_;
  hs_database* database_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::fprintf(stderr, "usage: %s DIRECTORY [MILLIONS-OF-ROWS [MILLIONS-OF-SCANNED-ROWS]]\n", argv[0]);
    return 2;
  }
  const int64_t rows = static_cast<int64_t>((argc > 2 ? std::atof(argv[2]) : 2) * 1e6);
  const int64_t scanned = static_cast<int64_t>((argc > 3 ? std::atof(argv[3]) : 20) * 1e6);
  if (rows < 1 || scanned < 1) {
    std::fprintf(stderr, "the numbers of rows must be positive\n");
    return 2;
  }
  Bench(argv[1], rows, scanned).run();
  return 0;
}

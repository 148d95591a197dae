// Very many tables without a server, through hailstone.h.
//   tables_bench DIRECTORY steps TABLES     create, insert one row, drop: durably, 100 in a transaction,
//   unsynced tables_bench DIRECTORY catalog TABLES   memory, opening and checkpoints of a database of so many
//   tables
// Prints one line a figure, key and value, tab-separated. Nothing here is a test.
#include <fcntl.h>
#include <hailstone.h>
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace {

constexpr int64_t catalog_tables_a_transaction = 100;
constexpr size_t sync_bytes = 4096;

void check(int status, const void* handle) {
  if (status == HS_OK) return;
  std::fprintf(stderr, "%s: %s\n", hs_status_name(status), hs_error_message(handle));
  std::exit(1);
}

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void print(const std::string& key, double value) {
  std::printf("%s\t%.6g\n", key.c_str(), value);
  std::fflush(stdout);
}

std::string table_name(int64_t number) { return "bench/t" + std::to_string(number); }

class Tables {
 public:
  /// `open_tables` 0: the default.
  Tables(const std::string& directory, hs_durability durability, uint64_t memory, uint64_t open_tables = 0)
      : open_tables_(open_tables) {
    hs_options options;
    hs_options_init(&options);
    options.durability = durability;
    options.memory_bytes = memory;
    options.open_tables = open_tables;
    check(hs_open(directory.c_str(), &options, &database_), database_);
    check(hs_schema_new(&schema_), nullptr);
    check(hs_schema_column(schema_, "id", HS_INT32, 0, HS_NOT_NULL), schema_);
    check(hs_schema_column(schema_, "text", HS_STRING, 100, 0), schema_);
    const char* const key[] = {"id"};
    check(hs_schema_primary_key(schema_, key, 1), schema_);
  }
  ~Tables() {
    hs_schema_free(schema_);
    check(hs_close(database_), database_);
  }
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  void create(hs_transaction* transaction, int64_t number) {
    hs_table* table = nullptr;
    check(hs_table_create(transaction, table_name(number).c_str(), schema_, &table), transaction);
    hs_table_close(table);
  }
  static void insert(hs_transaction* transaction, int64_t number) {
    hs_table* table = nullptr;
    check(hs_table_open(transaction, table_name(number).c_str(), &table), transaction);
    const hs_value row[] = {hs_int(number), hs_bytes("one row", 7)};
    check(hs_insert(transaction, table, row, 2), transaction);
    hs_table_close(table);
  }
  static void drop(hs_transaction* transaction, int64_t number) {
    check(hs_table_drop(transaction, table_name(number).c_str()), transaction);
  }

  void in_transactions(int64_t first, int64_t end, int64_t each,
                       const std::function<void(hs_transaction*, int64_t)>& step) {
    while (first < end) {
      hs_transaction* transaction = nullptr;
      check(hs_begin(database_, HS_READ_COMMITTED, &transaction), database_);
      for (int64_t i = 0; i < each && first < end; ++i, ++first) step(transaction, first);
      check(hs_commit(transaction), transaction);
      hs_transaction_close(transaction);
    }
  }

  /// Seconds of each of the three steps for all tables.
  void steps(const std::string& key, int64_t tables, int64_t each) {
    const uint64_t bytes = counter("log_write_bytes"), syncs = counter("log_fsyncs");
    const double create = seconds([&] {
      in_transactions(0, tables, each,
                      [this](hs_transaction* at, int64_t number) { this->create(at, number); });
    });
    const double insert = seconds([&] { in_transactions(0, tables, each, Tables::insert); });
    const double drop = seconds([&] { in_transactions(0, tables, each, Tables::drop); });
    print(key + "-create", create);
    print(key + "-insert", insert);
    print(key + "-drop", drop);
    print(key + "-all", create + insert + drop);
    print(key + "-log-bytes", static_cast<double>(counter("log_write_bytes") - bytes));
    print(key + "-log-syncs", static_cast<double>(counter("log_fsyncs") - syncs));
  }

  uint64_t counter(const char* name) {
    uint64_t value = 0;
    check(hs_counter(database_, name, &value), database_);
    return value;
  }
  void checkpoint() { check(hs_checkpoint(database_), database_); }
  /// Waits until no more tables are open than are kept.
  void settle() {
    for (int i = 0; i < 600 && counter("tables_open") > open_tables_; ++i) ::usleep(100'000);
  }

 private:
  hs_database* database_ = nullptr;
  hs_schema* schema_ = nullptr;
  const uint64_t open_tables_;
};

/// What the disk needs for so many writes that are each synced: appended to a file, as a log does.
double synced_writes(const std::string& directory, int64_t count) {
  const std::string path = directory + "-syncs";
  const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
  if (file < 0) die(path.c_str());
  const std::string block(sync_bytes, 'x');
  const double result = seconds([&] {
    for (int64_t i = 0; i < count; ++i) {
      if (::write(file, block.data(), block.size()) != static_cast<ssize_t>(block.size()) ||
          ::fdatasync(file) != 0)
        die(path.c_str());
    }
  });
  ::close(file);
  ::unlink(path.c_str());
  return result;
}

void run_steps(const std::string& directory, int64_t tables) {
  constexpr uint64_t memory = uint64_t{512} << 20;
  {
    Tables database(directory, HS_DURABLE, memory);
    // Half before and half after, as a shared disk changes its speed.
    const double before = synced_writes(directory, tables * 3 / 2);
    database.steps("durable", tables, 1);
    print("synced-writes", before + synced_writes(directory, tables * 3 - tables * 3 / 2));
  }
  std::filesystem::remove_all(directory);
  {
    Tables database(directory, HS_DURABLE, memory);
    database.steps("hundred", tables, 100);
  }
  std::filesystem::remove_all(directory);
  {
    Tables database(directory, HS_DURABLE_AGAINST_CRASH, memory);
    database.steps("unsynced", tables, 1);
  }
  std::filesystem::remove_all(directory);
}

/// Bytes of the process's memory that is its own, without what earlier steps have left in malloc's heap.
double memory_now() {
  ::malloc_trim(0);
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) die("/proc/self/statm");
  long size = 0, resident = 0, shared = 0;
  if (std::fscanf(file, "%ld %ld %ld", &size, &resident, &shared) != 3) die("/proc/self/statm");
  std::fclose(file);
  return static_cast<double>(resident - shared) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double files_in(const std::string& directory) {
  double count = 0;
  for (const auto& each : std::filesystem::directory_iterator(directory)) {
    if (each.path().filename().string().starts_with("segment-")) ++count;
  }
  return count;
}

/// A checkpoint after one row in one table: what the tables that do not change cost it.
void one_change(Tables& database, const std::string& key, int64_t number) {
  const uint64_t records = database.counter("manifest_writes");
  database.in_transactions(number, number + 1, 1, Tables::insert);
  print(key + "-checkpoint", seconds([&] { database.checkpoint(); }));
  print(key + "-checkpoint-records", static_cast<double>(database.counter("manifest_writes") - records));
}

void run_catalog(const std::string& directory, int64_t tables) {
  constexpr uint64_t memory = uint64_t{1} << 30, open_tables = 4096;
  const double idle = [&] {
    Tables database(directory, HS_DURABLE_AGAINST_CRASH, memory, open_tables);
    return memory_now();
  }();
  const auto count = static_cast<double>(tables);
  {
    Tables database(directory, HS_DURABLE_AGAINST_CRASH, memory, open_tables);
    print("empty-create", seconds([&] {
            database.in_transactions(
                0, tables, catalog_tables_a_transaction,
                [&](hs_transaction* at, int64_t number) { database.create(at, number); });
          }));
    database.settle();
    print("empty-full-checkpoint", seconds([&] { database.checkpoint(); }));
    database.settle();
    print("empty-memory-after-create", (memory_now() - idle) / count);
    one_change(database, "empty", 0);
  }
  {
    Tables* database = nullptr;
    print("empty-open",
          seconds([&] { database = new Tables(directory, HS_DURABLE_AGAINST_CRASH, memory, open_tables); }));
    print("empty-memory", (memory_now() - idle) / count);
    print("row-insert", seconds([&] {
            database->in_transactions(1, tables, catalog_tables_a_transaction, Tables::insert);
          }));
    database->settle();
    print("row-full-checkpoint", seconds([&] { database->checkpoint(); }));
    database->settle();
    print("row-memory-after-insert", (memory_now() - idle) / count);
    database->in_transactions(tables, tables + 1, 1,
                              [&](hs_transaction* at, int64_t number) { database->create(at, number); });
    one_change(*database, "row", tables);
    delete database;
  }
  {
    Tables* database = nullptr;
    print("row-open",
          seconds([&] { database = new Tables(directory, HS_DURABLE_AGAINST_CRASH, memory, open_tables); }));
    print("row-memory", (memory_now() - idle) / count);
    print("row-files", files_in(directory));
    delete database;
  }
  print("row-manifest-bytes",
        static_cast<double>(std::filesystem::file_size(directory + "/manifest")) / count);
  std::filesystem::remove_all(directory);
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t tables = argc == 4 ? std::atoll(argv[3]) : 0;
  const std::string_view what = argc == 4 ? argv[2] : "";
  if (tables < 1 || (what != "steps" && what != "catalog")) {
    std::fprintf(stderr, "usage: tables_bench DIRECTORY steps|catalog TABLES\n");
    return 2;
  }
  if (what == "steps") {
    run_steps(argv[1], tables);
  } else {
    run_catalog(argv[1], tables);
  }
  return 0;
}

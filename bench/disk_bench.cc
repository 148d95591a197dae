// Reads all rows of a table twice, first as the files lie on the disk, then from the block cache, where only
// decoding is left. For bench/disk.py, which drops the files from the page cache before.
//   disk_bench DIRECTORY TABLE METHOD
// Prints "key<tab>value" lines: seconds, processor seconds, rows, and the engine's own counters of reads.
#include <hailstone.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr std::array<const char*, 5> methods{"sync", "buffered", "async", "mmap", "direct"};

void check(int status, const void* handle) {
  if (status == HS_OK) return;
  std::fprintf(stderr, "%s: %s\n", hs_status_name(status), hs_error_message(handle));
  std::exit(1);
}

double processor_seconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void scan(hs_transaction* transaction, hs_table* table, const std::string& name) {
  hs_scan* scan = nullptr;
  ArrowArrayStream stream;
  const double processor = processor_seconds();
  const auto start = std::chrono::steady_clock::now();
  check(hs_scan_open(transaction, table, &scan), transaction);
  check(hs_scan_stream(scan, &stream), scan);
  long long rows = 0;
  for (;;) {
    ArrowArray array;
    if (stream.get_next(&stream, &array) != 0) {
      std::fprintf(stderr, "%s\n", stream.get_last_error(&stream));
      std::exit(1);
    }
    if (array.release == nullptr) break;
    rows += array.length;
    array.release(&array);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%s-seconds\t%.6f\n%s-processor\t%.6f\n%s-rows\t%lld\n", name.c_str(), seconds.count(),
              name.c_str(), processor_seconds() - processor, name.c_str(), rows);
  stream.release(&stream);
  hs_scan_close(scan);
}

}  // namespace

int main(int argc, char** argv) {
  const auto* const method =
      argc == 4 ? std::find_if(methods.begin(), methods.end(),
                               [&](const char* name) { return std::strcmp(name, argv[3]) == 0; })
                : methods.end();
  if (method == methods.end()) {
    std::fprintf(stderr, "usage: disk_bench DIRECTORY TABLE sync|buffered|async|mmap|direct\n");
    return 2;
  }
  hs_options options;
  hs_options_init(&options);
  options.memory_bytes = uint64_t{2} << 30;
  options.must_exist = 1;
  options.io_method = static_cast<hs_io_method>(method - methods.begin());
  options.log = [](void*, hs_log_level level, const char* message) {
    if (level != HS_LOG_NOTE) std::fprintf(stderr, "%s\n", message);
  };
  hs_database* database = nullptr;
  hs_transaction* transaction = nullptr;
  hs_table* table = nullptr;
  check(hs_open(argv[1], &options, &database), database);
  check(hs_begin(database, HS_REPEATABLE_READ, &transaction), database);
  check(hs_table_open(transaction, argv[2], &table), transaction);
  uint64_t bytes_before = 0, bytes = 0;
  check(hs_counter(database, "segment_read_bytes", &bytes_before), database);
  scan(transaction, table, "cold");
  check(hs_counter(database, "segment_read_bytes", &bytes), database);
  std::printf("bytes\t%llu\n", static_cast<unsigned long long>(bytes - bytes_before));
  scan(transaction, table, "cached");
  check(hs_counter(database, "segment_read_bytes", &bytes_before), database);
  std::printf("cached-bytes\t%llu\n", static_cast<unsigned long long>(bytes_before - bytes));
  hs_table_close(table);
  check(hs_commit(transaction), transaction);
  hs_transaction_close(transaction);
  check(hs_close(database), database);
  return 0;
}

// What a flush costs a table that has few segments, and one that has very many: rows of (int, text) in key
// order, some hundred a flush, beside a delete, on a filesystem that is memory, with the manifest's record of
// each flush.
//   flush_bench [MOST-SEGMENTS]
// Prints a line for 20, 2,000 and 20,000 segments and each measurement: segments, name, least and mean
// microseconds of the processor. Measured are the rows' transaction before a flush, the flush, the record of
// the table's state in the manifest (over all flushes, 0 in those that have none, and over those that have
// one), a look at what is to be merged, dead rows included, the statistics that the first statement behind it
// asks for, and 1,000 rows found by their keys.
// Nothing here is a test; bench/flush.py makes the page.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "database/manifest.h"
#include "file/memory_filesystem.h"
#include "schema/collation.h"
#include "schema/row_codec.h"
#include "segment/block_cache.h"
#include "table/row_reads.h"
#include "table/table.h"
#include "table/table_keys.h"

namespace hailstone {
namespace {

constexpr size_t rows_a_flush = 200;
constexpr size_t flushes_measured = 400;
constexpr size_t finds_measured = 20, rows_a_find = 1000;

void must(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "%s\n", status.error().message().c_str());
  std::exit(1);
}

template <typename T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "%s\n", result.error().message().c_str());
  std::exit(1);
}

double processor_microseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

/// A database's place, of one table that is never merged.
class BenchHost : public TableHost {
 public:
  BenchHost() : manifest_(filesystem_, directory, counters_, 0, true) {
    must(filesystem_.make_directory(directory));
    log_ = must(Log::open(filesystem_, {.directory = directory}, counters_));
    must(log_->replay(0, [](const LogRecord&) -> Status { return {}; }));
    transactions_ = std::make_unique<TransactionManager>(*log_, locks_, budget_, counters_, 0, 1);
    transactions_->set_flush_log_at_commit(FlushLogAtCommit::EverySecond);
    must(manifest_.rewrite({}));
  }

  Filesystem& filesystem() override { return filesystem_; }
  BlockCache& cache() override { return cache_; }
  MemoryBudget& budget() override { return budget_; }
  SpillSpace& spill_space() override { return spill_space_; }
  Counters& counters() override { return counters_; }
  TransactionManager& transactions() override { return *transactions_; }
  LockManager& locks() override { return locks_; }
  Timestamp checkpointed() override { return 0; }
  const CollationResolver& collations() override { return collations_; }
  FileIdentity new_file(TableId table) override {
    return {.database = 1, .table = table, .file = next_file_++};
  }
  Status check_file(const std::string&, TableId, uint64_t, const std::optional<FileIdentity>&) override {
    return {};
  }
  std::string segment_path(uint64_t file) override { return path_of('s', file); }
  std::string delete_vector_path(uint64_t file) override { return path_of('d', file); }
  Status sync_files() override { return {}; }
  Status record(Table& table) override {
    const double begun = processor_microseconds();
    HAILSTONE_TRY(table.write_delete_vectors());
    TableRecord record = table.record();
    ManifestRecords records;
    records.add_table(record);
    HAILSTONE_TRY(manifest_.append(std::move(records)));
    table.recorded(record.generation);
    record_microseconds += processor_microseconds() - begun;
    return {};
  }
  void request_flush(const std::shared_ptr<Table>&) override {}
  void request_room() override {}
  bool working() override { return false; }
  void request_merge(const std::shared_ptr<Table>&) override {}
  void request_merge_of_dead(const std::shared_ptr<Table>&) override {}
  void request_analysis(const std::shared_ptr<Table>&) override {}
  void request_checkpoint() noexcept override {}
  void run(std::function<void()> job) override { job(); }
  /// Little, so that the segments are not merged for being small.
  size_t segment_buffer_bytes() override { return size_t{16} << 10; }
  std::atomic<size_t>& bulk_loads() override { return bulk_loads_; }
  std::atomic<size_t>& merges() override { return merges_; }
  size_t delta_limit_bytes() override { return size_t{1} << 20; }
  uint32_t segment_rows_limit() override { return max_segment_rows; }

  double record_microseconds = 0;  // since it was taken

 private:
  static constexpr const char* directory = "/bench";
  static std::string path_of(char kind, uint64_t file) {
    return std::string(directory) + '/' + kind + std::to_string(file);
  }

  MemoryFilesystem filesystem_;
  Counters counters_;
  MemoryBudget budget_{size_t{4} << 30};
  BlockCache cache_{budget_, counters_};
  SpillSpace spill_space_{filesystem_, directory, counters_, 0};
  std::atomic<size_t> bulk_loads_{0}, merges_{0};
  LockManager locks_{counters_, budget_};
  CollationResolver collations_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<TransactionManager> transactions_;
  Manifest manifest_;
  uint64_t next_file_ = 1;
};

TableDefinition definition() {
  TableDefinition result;
  result.name = "bench/rows";
  result.columns = {{.name = "id", .type = Type::Signed, .width = 8, .nullable = false},
                    {.name = "part", .type = Type::Signed, .width = 4, .nullable = false},
                    {.name = "name", .type = Type::Varchar, .width = 100}};
  result.has_primary_key = true;
  result.indexes = {{.name = "PRIMARY", .unique = true, .parts = {{.column = 0}}},
                    {.name = "part", .parts = {{.column = 1}}}};
  must(result.validate());
  return result;
}

class FlushBench {
 public:
  FlushBench() {
    TableRecord record;
    record.id = 1;
    record.definition = definition();
    table_ = must(Table::open(host_, record));
  }

  void grow_to(size_t segments) {
    while (table_->statistics().segments < segments) static_cast<void>(flush());
  }

  /// From so many segments on.
  void measure(size_t segments) {
    std::vector<double> inserts, flushes, records, looks, first_statistics;
    host_.record_microseconds = 0;
    for (size_t i = 0; i < flushes_measured; ++i) {
      flushes.push_back(flush());
      inserts.push_back(insert_microseconds_);
      records.push_back(std::exchange(host_.record_microseconds, 0));
      double begun = processor_microseconds();
      static_cast<void>(table_->merge_due());
      looks.push_back(processor_microseconds() - begun);
      begun = processor_microseconds();
      static_cast<void>(table_->statistics());
      first_statistics.push_back(processor_microseconds() - begun);
    }
    std::vector<double> finds;
    for (size_t i = 0; i < finds_measured; ++i) finds.push_back(find_rows());
    std::vector<double> made;
    std::ranges::copy_if(records, std::back_inserter(made), [](double time) { return time > 0; });
    for (const auto& [name, times] :
         {std::pair("insert", &inserts), std::pair("flush", &flushes), std::pair("record", &records),
          std::pair("record made", &made), std::pair("merge due", &looks),
          std::pair("statistics", &first_statistics), std::pair("find", &finds)}) {
      std::printf("%zu,%s,%.1f,%.1f\n", segments, name, std::ranges::min(*times),
                  std::accumulate(times->begin(), times->end(), 0.0) / static_cast<double>(times->size()));
    }
    std::fflush(stdout);
  }

 private:
  /// Microseconds of the processor for rows that are found by their keys, in no order.
  double find_rows() {
    const auto transaction = host_.transactions().begin(Isolation::ReadCommitted);
    RowReads reads(*table_, {0});
    std::array<Value, 1> values;
    const double begun = processor_microseconds();
    for (size_t i = 0; i < rows_a_find; ++i) {
      found_ = found_ * 6'364'136'223'846'793'005u + 1'442'695'040'888'963'407u;
      std::string key;
      append_row_id(order_signed(static_cast<int64_t>((found_ >> 33) % next_), 8), key);
      static_cast<void>(must(table_->find(*transaction, key, ReadLock::None, reads, values)));
    }
    return processor_microseconds() - begun;
  }
  /// The same of the flush alone.
  double flush() {
    double begun = processor_microseconds();
    const auto transaction = host_.transactions().begin(Isolation::ReadCommitted);
    std::string row;
    Duplicate duplicate;
    for (size_t i = 0; i < rows_a_flush; ++i, ++next_) {
      const std::string name = "name " + std::to_string(next_ * 2'654'435'761u % 1'000'003);
      const std::array values{Value::of(order_signed(static_cast<int64_t>(next_), 8)),
                              Value::of(order_signed(static_cast<int64_t>(next_ % 1000), 4)),
                              Value::of(ByteView(name))};
      row.clear();
      must(table_->layout()->row_codec().encode(values, row));
      auto key = must(table_->insert(*transaction, row, duplicate));
      if (i == 0) key_.swap(key);
      // One of the segment before.
      if (i == 0 && !key.empty()) must(table_->erase(*transaction, key));
    }
    must(host_.transactions().commit(*transaction));
    insert_microseconds_ = processor_microseconds() - begun;
    begun = processor_microseconds();
    must(table_->flush(true));
    const double spent = processor_microseconds() - begun;
    return spent;
  }

  BenchHost host_;
  std::shared_ptr<Table> table_;
  double insert_microseconds_ = 0;  // of the transaction before the last flush
  uint64_t next_ = 0, found_ = 1;
  std::string key_;  // of the first row of the last transaction
};

}  // namespace
}  // namespace hailstone

int main(int count, char** arguments) {
  const size_t most = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 20'000;
  hailstone::FlushBench bench;
  for (const size_t segments : {size_t{20}, size_t{2'000}, size_t{20'000}}) {
    if (segments > most) break;
    bench.grow_to(segments);
    bench.measure(segments);
  }
  return 0;
}

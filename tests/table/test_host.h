// A database's place taken for tables under test: a log, transactions and files in a temporary directory; the
// states that tables record stay in memory.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <mutex>
#include <thread>

#include "file/fault_filesystem.h"
#include "file/temporary_directory.h"
#include "segment/block_cache.h"
#include "segment/segment_writer.h"
#include "table/table.h"

namespace hailstone {

class TestHost : public TableHost {
 public:
  /// `base`: where files really are. `most_locks_by_key`, `most_stamped_in_order`: as LockManager and
  /// TransactionManager have them.
  explicit TestHost(Filesystem& base = posix_filesystem(), size_t most_locks_by_key = 256,
                    uint64_t most_stamped_in_order = 256)
      : filesystem_(base), locks_(counters_, budget_, most_locks_by_key) {
    auto opened = Log::open(filesystem_, {.directory = directory_.path()}, counters_);
    EXPECT_TRUE(opened);
    log_ = std::move(*opened);
    EXPECT_TRUE(log_->replay(0, [](const LogRecord&) -> Status { return {}; }));
    manager_ =
        std::make_unique<TransactionManager>(*log_, locks_, budget_, counters_, 0, 1, most_stamped_in_order);
    manager_->set_flush_log_at_commit(FlushLogAtCommit::EverySecond);
  }
  ~TestHost() override { join_jobs(); }

  FaultFilesystem& filesystem() override { return filesystem_; }
  BlockCache& cache() override { return cache_; }
  MemoryBudget& budget() override { return budget_; }
  SpillSpace& spill_space() override { return spill_space_; }
  Counters& counters() override { return counters_; }
  TransactionManager& transactions() override { return *manager_; }
  LockManager& locks() override { return locks_; }
  Timestamp checkpointed() override { return checkpointed_timestamp.load(); }
  const CollationResolver& collations() override { return collations_; }
  FileIdentity new_file(TableId table) override {
    return {.database = database, .table = table, .file = next_file_.fetch_add(1)};
  }
  Status check_file(const std::string& path, TableId table, uint64_t file,
                    const std::optional<FileIdentity>& found) override {
    return check_identity(std::array{DatabaseIdentity{.first_file = 1, .database = database}}, path, table,
                          file, found);
  }
  std::string segment_path(uint64_t file) override {
    return directory_.file("segment-" + std::to_string(file));
  }
  std::string delete_vector_path(uint64_t file) override {
    return directory_.file("deletes-" + std::to_string(file));
  }
  Status sync_files() override { return filesystem_.sync_directory(directory_.path()); }
  Status record(Table& table) override {
    const std::lock_guard guard(mutex_);
    HAILSTONE_TRY(table.write_delete_vectors());
    TableRecord record = table.record();
    const uint64_t generation = record.generation;
    recorded_.insert_or_assign(table.id(), std::move(record));
    table.recorded(generation);
    return {};
  }
  void request_flush(const std::shared_ptr<Table>&) override { flush_requests.fetch_add(1); }
  void request_room() override { room_requests.fetch_add(1); }
  bool working() override { return false; }
  void request_merge(const std::shared_ptr<Table>&) override { merge_requests.fetch_add(1); }
  void request_merge_of_dead(const std::shared_ptr<Table>&) override { dead_requests.fetch_add(1); }
  void request_analysis(const std::shared_ptr<Table>&) override { analysis_requests.fetch_add(1); }
  void request_checkpoint() noexcept override { checkpoint_requests.fetch_add(1); }
  void run(std::function<void()> job) override {
    if (!background) return job();
    const std::lock_guard guard(mutex_);
    // Threads that have ended keep their stacks until they are joined.
    std::erase_if(jobs_, [](Job& each) {
      if (!each.ended->load()) return false;
      each.thread.join();
      return true;
    });
    auto ended = std::make_shared<std::atomic<bool>>(false);
    jobs_.reserve(jobs_.size() + 1);  // so that a thread that has begun has its place, also without memory
    jobs_.push_back({.ended = ended, .thread = std::thread([job = std::move(job), ended] {
                                       job();
                                       ended->store(true);
                                     })});
  }
  /// Waits until all jobs have ended.
  void join_jobs() {
    const std::lock_guard guard(mutex_);
    for (Job& job : jobs_) job.thread.join();
    jobs_.clear();
  }
  size_t segment_buffer_bytes() override { return buffer_bytes; }
  std::atomic<size_t>& bulk_loads() override { return bulk_loads_; }
  std::atomic<size_t>& merges() override { return merges_; }
  size_t delta_limit_bytes() override { return delta_bytes; }
  uint32_t segment_rows_limit() override { return segment_rows; }

  const TableRecord& recorded(TableId table) { return recorded_.at(table); }
  std::shared_ptr<Table> create(TableDefinition definition, TableId id = 1) {
    EXPECT_TRUE(definition.validate());
    TableRecord record;
    record.id = id;
    record.definition = std::move(definition);
    auto table = Table::open(*this, record);
    EXPECT_TRUE(table) << table.error().message();
    return *table;
  }

  std::atomic<uint64_t> flush_requests{0}, room_requests{0}, merge_requests{0}, dead_requests{0};
  std::atomic<uint64_t> checkpoint_requests{0}, analysis_requests{0};
  std::atomic<Timestamp> checkpointed_timestamp{0};
  size_t buffer_bytes = size_t{1} << 20;
  size_t delta_bytes = size_t{1} << 20;
  uint32_t segment_rows = max_segment_rows;
  bool background = false;

 private:
  static constexpr uint64_t database = 42;
  struct Job {
    std::shared_ptr<std::atomic<bool>> ended;
    std::thread thread;
  };
  FaultFilesystem filesystem_;  // fails on demand; does not really sync
  TemporaryDirectory directory_;
  Counters counters_;
  MemoryBudget budget_{size_t{1} << 30};
  BlockCache cache_{budget_, counters_};
  SpillSpace spill_space_{filesystem_, directory_.path(), counters_, 0};
  std::atomic<size_t> bulk_loads_{0};
  std::atomic<size_t> merges_{0};
  LockManager locks_;
  CollationResolver collations_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<TransactionManager> manager_;
  std::atomic<uint64_t> next_file_{1};
  std::mutex mutex_;
  std::map<TableId, TableRecord> recorded_;
  std::vector<Job> jobs_;
};

}  // namespace hailstone

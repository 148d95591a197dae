// The background work of an open database: flushes and merges that tables ask for, checkpoints when the log
// has grown, the log's sync once a second, looks for expired rows, flushes when deltas take too much memory,
// files of dropped tables, tables open that nobody uses. A failure is counted, logged and tried again after a
// pause. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/guard.h"
#include "base/mutex.h"
#include "base/scheduler.h"
#include "table/table.h"

namespace hailstone {

class DatabaseCore;

class Maintenance {
 public:
  static Result<std::unique_ptr<Maintenance>> start(DatabaseCore& core);
  Maintenance(const Maintenance&) = delete;
  Maintenance& operator=(const Maintenance&) = delete;
  ~Maintenance() { stop(); }

  /// May be called with any mutex held. `force`: also a delta below its limit.
  void request_flush(const std::shared_ptr<Table>& table, bool force);
  void request_merge(const std::shared_ptr<Table>& table);
  /// As TableHost has them.
  void request_analysis(const std::shared_ptr<Table>& table);
  void request_merge_of_dead(const std::shared_ptr<Table>& table);
  void request_checkpoint() noexcept { checkpoint_wanted_.store(true); }
  /// Flushes of the tables with most rows in memory, whatever is there besides, unless flushes are under way.
  /// May be called with any mutex held.
  void request_room();
  /// Whether work is queued or running.
  bool working() const { return scheduler_->unfinished() > 0; }
  /// A step of a query or a load: on a thread that helps, of which there are as many as processors, or on
  /// this one when none is free.
  void run(std::function<void()> job);
  /// Returns when nothing that was asked for is queued or running.
  void wait();
  /// Ends the threads; queued work is dropped.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Kind : uint8_t { Flush, ForcedFlush, Merge, Analysis };
  struct WorkKey {
    TableId table = 0;
    Kind kind = Kind::Flush;
    auto operator<=>(const WorkKey&) const = default;
  };

  explicit Maintenance(DatabaseCore& core) : core_(core) {}
  void request(const std::shared_ptr<Table>& table, Kind kind);
  std::shared_ptr<Scheduler> helpers();
  Status work(const std::shared_ptr<Table>& table, Kind kind);
  /// Work of which there is at most one at a time.
  struct Occasion {
    bool queued = false;
    Clock::time_point not_before{};
  };
  /// Queues `job` unless it is queued already, or its time has not come.
  void submit_once(Occasion Maintenance::*occasion, std::function<void()> job,
                   WorkClass work_class = WorkClass::Checkpoint);
  void retry_later(const std::shared_ptr<Table>& table, Kind kind);
  void report(const std::string& what, const Error& error);
  void report_unguarded(const std::string& what, const Error& error);
  /// False, too, when there is no memory for it.
  template <typename Work>
  bool try_to_submit(WorkClass work_class, const Work& job) noexcept {
    bool submitted = false;
    try_to([&] { submitted = scheduler_->submit(work_class, job); });
    return submitted;
  }
  void tick_until_stopped();
  void tick();
  void sync_log();
  bool checkpoint_due();
  void start_checkpoint_if_due();
  void finish_drops_if_due();
  void close_tables_if_due();
  Status close_tables();
  void flush_for_memory();
  void care_for_memory_tables();
  void merge_dead();
  void merge_dead(const std::shared_ptr<Table>& table);
  /// Until so many bytes of rows are left, if all goes well, and no more than so many tables.
  void flush_greatest(size_t bytes_left, size_t most_tables);
  void trim_memory();
  void expire_snapshots();
  void expire_rows_if_due();

  DatabaseCore& core_;
  std::unique_ptr<Scheduler> scheduler_;
  std::shared_ptr<Scheduler> helpers_ HAILSTONE_GUARDED_BY(mutex_);  // of queries and loads; null: none yet
  std::unique_ptr<Scheduler> ticker_;  // one thread, which looks around again and again

  Mutex mutex_;
  Condition woken_;  // the ticker is: stopping_ or room_wanted_ was set
  bool stopping_ HAILSTONE_GUARDED_BY(mutex_) = false;
  bool room_wanted_ HAILSTONE_GUARDED_BY(mutex_) = false;
  std::map<WorkKey, std::shared_ptr<Table>> queued_ HAILSTONE_GUARDED_BY(mutex_);
  std::multimap<Clock::time_point, std::pair<std::shared_ptr<Table>, Kind>> retries_
      HAILSTONE_GUARDED_BY(mutex_);
  /// Of a table with ended rows that a snapshot may need.
  struct WithDead {
    std::weak_ptr<Table> table;
    Timestamp looked_at = 0;  // the horizon then; 0: not yet
  };
  std::map<TableId, WithDead> with_dead_ HAILSTONE_GUARDED_BY(mutex_);
  std::atomic<bool> checkpoint_wanted_{false};  // files have gone
  Occasion checkpoint_ HAILSTONE_GUARDED_BY(mutex_);
  Occasion drops_ HAILSTONE_GUARDED_BY(mutex_);
  Occasion closing_ HAILSTONE_GUARDED_BY(mutex_);
  Occasion expiry_ HAILSTONE_GUARDED_BY(mutex_);
  std::optional<Clock::time_point> expiry_begun_ HAILSTONE_GUARDED_BY(mutex_);  // the last one
  bool expire_again_ HAILSTONE_GUARDED_BY(mutex_) = false;                      // soon
  std::string last_report_ HAILSTONE_GUARDED_BY(mutex_);

  // The ticker's alone.
  Clock::time_point next_sync_{};
  Clock::time_point next_memory_look_{};
  struct Trimmed {
    uint64_t evicted = 0, encoded = 0;  // block_cache_evicted_bytes and segment_write_bytes then
  };
  Trimmed trimmed_;
  bool log_failed_ = false;
  bool log_stalled_ = false;  // and the server's log has been told
};

}  // namespace hailstone

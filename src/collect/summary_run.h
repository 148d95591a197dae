// Runs the summaries of a configuration: each job once its period is over, those that read fewest records
// first, so that most are done early. One thread. A summary that several collectors of a server have is run
// by one of them at a time (GET_LOCK).
//
// A job reads rows on one connection, and stores them on another: batches of INSERT … ON DUPLICATE KEY UPDATE
// in one transaction, which small jobs share, with a row that says that the job is done. So a job that is
// done is never run again after a crash; of engines without transactions it may be, and gives the same rows.
// When records have come since, the job is run again, as long as all rows of its period are kept.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "collect/config.h"
#include "collect/event_log.h"
#include "collect/server_connection.h"
#include "collect/stop.h"
#include "collect/table_upkeep.h"

namespace hailstone {

struct SummaryState {
  uint64_t done = 0;    // jobs, since the start
  uint64_t failed = 0;  // tries of jobs that failed, since the start
  uint64_t due = 0;     // jobs that wait
};

class SummaryRun {
 public:
  SummaryRun(const CollectConfig& config, const Stop& stop);
  ~SummaryRun();

  /// Ends when stop is asked for; or, once finish() was called, when all jobs that are due have been tried.
  /// ErrorCode::InvalidArgument: some failed then.
  Status run();
  /// No more records will come. Any thread.
  void finish() { finishing_ = true; }
  /// Any thread.
  SummaryState state() const { return {.done = done_, .failed = failed_, .due = due_}; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Summary;
  struct Job {
    Summary* summary = nullptr;
    WallTime begin;
    std::string value;
    uint64_t records = 0;
  };
  using JobKey = std::tuple<std::string, WallTime, std::string>;
  static JobKey key_of(const Job& job);

  /// Runs what is due. False: there is nothing to do for now.
  Result<bool> step();
  Status prepare();
  Status prepare(Summary& summary);
  /// False: another collector runs the summary.
  Result<bool> take_lock(Summary& summary);
  Result<std::vector<Job>> due_jobs();
  Status due_jobs_of(Summary& summary, std::vector<Job>& jobs);
  /// What it says of jobs whose rows are no longer kept.
  Status forget_old(const Summary& summary, WallTime kept);
  /// Sets both connections to the zone of the summary's stream.
  Status use(const Summary& summary);
  /// Runs the first of the jobs, and as many of those behind it as may share its transaction; `starts`: when
  /// each was begun. An error is the last one's that was begun, and none of them is done.
  Status run_jobs(std::span<const Job> jobs, std::vector<Clock::time_point>& starts);
  Status store(const Job& job);
  void give_up(const Job& job, const Error& error);

  const CollectConfig& config_;
  const Stop& stop_;
  ServerConnection reader_, writer_;
  Trouble trouble_;
  std::vector<std::unique_ptr<Summary>> summaries_;
  const Summary* used_ = nullptr;
  std::map<JobKey, Clock::time_point> given_up_;  // jobs that failed, and when they are tried again
  std::atomic<bool> finishing_{false};
  std::atomic<uint64_t> done_{0}, failed_{0}, due_{0};
};

}  // namespace hailstone

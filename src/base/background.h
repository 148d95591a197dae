// A few threads that a database owns, and a queue of jobs for them (flush, merge, checkpoint). Jobs start in
// the order in which they were submitted. A job that fails hands its Error to the callback given at the
// start, on the thread that ran it; its owner decides about trying again. The threads block every signal, so
// that a host's signal handlers never run on them. All members are thread-safe, but drain() and stop() must
// not be called from a job.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/status.h"

namespace hailstone {

class Background {
 public:
  using Job = std::function<Status()>;
  using ErrorHandler = std::function<void(const Error&)>;

  /// Starts `threads` threads (at least one). ErrorCode::OutOfMemory when the system gives none.
  static Result<std::unique_ptr<Background>> start(size_t threads, ErrorHandler on_error);
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background() { stop(); }

  /// Queues a job. False, with the job dropped, after stop().
  [[nodiscard]] bool submit(Job job);
  /// Waits until no job is queued or running, those included that are submitted meanwhile.
  void drain();
  /// Drops the queued jobs, waits for the running ones and ends the threads. Also when called again.
  void stop();
  /// Jobs queued or running.
  size_t unfinished() const;

 private:
  explicit Background(ErrorHandler on_error) : on_error_(std::move(on_error)) {}
  void run();

  const ErrorHandler on_error_;
  mutable std::mutex mutex_;             // protects what follows, but for threads_
  std::condition_variable job_arrived_;  // or stopping_ was set
  std::condition_variable idle_;         // nothing is queued or running
  std::deque<Job> queue_;
  size_t running_ = 0;
  bool stopping_ = false;

  std::mutex stop_mutex_;  // one stop() at a time joins the threads
  std::vector<std::thread> threads_;
};

}  // namespace hailstone

// The threads of a database, and the work that waits for them. Work has a class; a free thread takes the
// oldest task of the first class that has one. So flushes, which give writers memory, go before checkpoints,
// these before helpers of queries and loads, and merges come last, with half of the threads at most: those
// who write need processors, too.
//
// Long tasks yield: between two steps, with no mutex held, they call Scheduler::yield(), which runs one
// waiting task of an earlier class on the same thread. So a flush starts within a step of a merge even when
// merges have all threads, and a merge goes on even when earlier work never ends.
//
// A task that fails hands its Error to the callback given at the start, on the thread that ran it; its owner
// decides about trying again. The threads block every signal, so that a host's signal handlers never run on
// them. All members are thread-safe, but drain() and stop() must not be called from a task.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "base/stop_token.h"

namespace hailstone {

/// In the order in which they go.
enum class WorkClass : uint8_t { Flush, Checkpoint, Query, Merge };
constexpr size_t work_classes = 4;

class Scheduler {
 public:
  using Task = std::function<Status()>;
  using ErrorHandler = std::function<void(const Error&)>;

  /// Starts `threads` threads (at least one). ErrorCode::OutOfMemory when the system gives none.
  static Result<std::unique_ptr<Scheduler>> start(size_t threads, ErrorHandler on_error);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler() { stop(); }

  /// Queues a task. False, with the task dropped, after stop().
  [[nodiscard]] bool submit(WorkClass work_class, Task task);
  /// Queues a task when a thread is free for its class, or yields to it soon: no more tasks of this class and
  /// those before it are unfinished than there are threads. False, with `task` untouched: none is.
  [[nodiscard]] bool submit_if_free(WorkClass work_class, Task& task);
  /// Lets a waiting task of an earlier class than the caller's go first. Does nothing on a thread that is not
  /// a scheduler's. The caller holds no mutex that a task may take.
  static void yield();

  /// A stop is requested from stop() on: long tasks end early.
  StopToken stop_token() const { return stop_source_.token(); }
  /// Waits until no task is queued or running, those included that are submitted meanwhile.
  void drain();
  /// Drops the queued tasks, waits for the running ones and ends the threads. Also when called again.
  void stop();
  /// Tasks queued or running: all, or those of one class.
  size_t unfinished() const;
  size_t unfinished(WorkClass work_class) const;

 private:
  struct Queue {
    std::list<Task> waiting;  // an empty one needs no memory: stop() makes another
    size_t running = 0;       // also while it has yielded
  };
  struct Here;  // what the current thread runs

  Scheduler(size_t threads, ErrorHandler on_error) : thread_count_(threads), on_error_(std::move(on_error)) {}
  void run();
  /// Runs the first waiting task of the first `classes` classes, releasing the mutex meanwhile. False: none
  /// waits.
  bool run_one(size_t classes) HAILSTONE_REQUIRES(mutex_);
  bool may_run(size_t work_class) const HAILSTONE_REQUIRES(mutex_);
  bool idle() const HAILSTONE_REQUIRES(mutex_);

  const size_t thread_count_;
  const ErrorHandler on_error_;
  StopSource stop_source_;
  mutable Mutex mutex_;
  Condition task_arrived_;  // or stopping_ was set
  Condition idle_;          // nothing is queued or running
  std::array<Queue, work_classes> queues_ HAILSTONE_GUARDED_BY(mutex_);
  bool stopping_ HAILSTONE_GUARDED_BY(mutex_) = false;

  Mutex stop_mutex_;  // one stop() at a time joins the threads
  std::vector<std::thread> threads_ HAILSTONE_GUARDED_BY(stop_mutex_);
};

}  // namespace hailstone

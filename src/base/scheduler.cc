#include "base/scheduler.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/guard.h"

namespace hailstone {

struct Scheduler::Here {
  Scheduler* scheduler = nullptr;
  size_t work_class = 0;  // of the innermost task
  static thread_local Here current;
};
thread_local Scheduler::Here Scheduler::Here::current;

Result<std::unique_ptr<Scheduler>> Scheduler::start(size_t threads, ErrorHandler on_error) {
  threads = std::max<size_t>(threads, 1);
  std::unique_ptr<Scheduler> scheduler(new Scheduler(threads, std::move(on_error)));
  // A thread inherits the mask of the one that makes it, so nothing can be delivered to it even in its first
  // instant.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status started;
  try {
    const MutexLock lock(scheduler->stop_mutex_);
    for (size_t i = 0; i < threads; ++i) {
      scheduler->threads_.emplace_back([self = scheduler.get()] { self->run(); });
    }
  } catch (const std::system_error& error) {
    const MutexLock lock(scheduler->stop_mutex_);
    started =
        fail(ErrorCode::OutOfMemory,
             fmt::format("cannot start background thread {} of {}: {}; raise the limit on threads of this "
                         "process or ask for fewer background threads",
                         scheduler->threads_.size() + 1, threads, error.what()));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  HAILSTONE_TRY(started);
  return scheduler;
}

bool Scheduler::submit(WorkClass work_class, Task task) {
  {
    const MutexLock lock(mutex_);
    if (stopping_) return false;
    queues_[static_cast<size_t>(work_class)].waiting.push_back(std::move(task));
  }
  task_arrived_.notify_one();
  return true;
}

bool Scheduler::submit_if_free(WorkClass work_class, Task& task) {
  {
    const MutexLock lock(mutex_);
    if (stopping_) return false;
    size_t before = 0;
    for (size_t i = 0; i <= static_cast<size_t>(work_class); ++i)
      before += queues_[i].waiting.size() + queues_[i].running;
    if (before >= thread_count_) return false;
    queues_[static_cast<size_t>(work_class)].waiting.push_back(std::move(task));
  }
  task_arrived_.notify_one();
  return true;
}

void Scheduler::yield() {
  const Here& here = Here::current;
  if (here.scheduler == nullptr || here.work_class == 0) return;
  Scheduler& scheduler = *here.scheduler;
  const MutexLock lock(scheduler.mutex_);
  scheduler.run_one(here.work_class);
}

void Scheduler::drain() {
  const MutexLock lock(mutex_);
  while (!idle()) idle_.wait(mutex_);
}

void Scheduler::stop() {
  const MutexLock stop_lock(stop_mutex_);
  stop_source_.request_stop();
  std::array<std::list<Task>, work_classes> dropped;  // destroyed without the mutex, as what a task holds
                                                      // may do anything when it goes
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    for (size_t i = 0; i < work_classes; ++i) dropped[i].swap(queues_[i].waiting);
    if (idle()) idle_.notify_all();
  }
  task_arrived_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool Scheduler::idle() const {
  return std::ranges::all_of(queues_,
                             [](const Queue& queue) { return queue.waiting.empty() && queue.running == 0; });
}

size_t Scheduler::unfinished() const {
  const MutexLock lock(mutex_);
  size_t tasks = 0;
  for (const Queue& queue : queues_) tasks += queue.waiting.size() + queue.running;
  return tasks;
}

size_t Scheduler::unfinished(WorkClass work_class) const {
  const MutexLock lock(mutex_);
  const Queue& queue = queues_[static_cast<size_t>(work_class)];
  return queue.waiting.size() + queue.running;
}

bool Scheduler::may_run(size_t work_class) const {
  const Queue& queue = queues_[work_class];
  if (queue.waiting.empty()) return false;
  return work_class != static_cast<size_t>(WorkClass::Merge) ||
         queue.running < std::max<size_t>(thread_count_ / 2, 1);
}

bool Scheduler::run_one(size_t classes) {
  size_t work_class = 0;
  while (work_class < classes && !may_run(work_class)) ++work_class;
  if (work_class == classes) return false;
  Queue& queue = queues_[work_class];
  Task task = std::move(queue.waiting.front());
  queue.waiting.pop_front();
  ++queue.running;
  const Here inner{this, work_class};
  {
    const MutexUnlock unlocked(mutex_);
    const Here outer = std::exchange(Here::current, inner);
    const Status status = guarded([&] { return task(); });
    if (!status && on_error_) try_to([&] { on_error_(status.error()); });
    task = nullptr;
    Here::current = outer;
  }
  --queue.running;
  if (idle()) idle_.notify_all();
  return true;
}

void Scheduler::run() {
  pthread_setname_np(pthread_self(), "hailstone");
  const MutexLock lock(mutex_);
  while (!stopping_) {
    if (!run_one(work_classes)) task_arrived_.wait(mutex_);
  }
}

}  // namespace hailstone

#include "base/background.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <system_error>

namespace hailstone {

Result<std::unique_ptr<Background>> Background::start(size_t threads, ErrorHandler on_error) {
  std::unique_ptr<Background> background(new Background(std::move(on_error)));
  // A thread inherits the mask of the one that makes it, so nothing can be delivered to it even in its first
  // instant.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status started;
  try {
    for (size_t i = 0; i < std::max<size_t>(threads, 1); ++i) {
      background->threads_.emplace_back([self = background.get()] { self->run(); });
    }
  } catch (const std::system_error& error) {
    started =
        fail(ErrorCode::OutOfMemory,
             fmt::format("cannot start background thread {} of {}: {}; raise the limit on threads of this "
                         "process or ask for fewer background threads",
                         background->threads_.size() + 1, threads, error.what()));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  HAILSTONE_TRY(started);
  return background;
}

bool Background::submit(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    queue_.push_back(std::move(job));
  }
  job_arrived_.notify_one();
  return true;
}

void Background::drain() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return queue_.empty() && running_ == 0; });
}

void Background::stop() {
  const std::lock_guard stop_lock(stop_mutex_);
  std::deque<Job> dropped;  // destroyed without the mutex, as what a job holds may do anything when it goes
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(queue_);
    if (running_ == 0) idle_.notify_all();
  }
  job_arrived_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

size_t Background::unfinished() const {
  const std::lock_guard lock(mutex_);
  return queue_.size() + running_;
}

void Background::run() {
  pthread_setname_np(pthread_self(), "hailstone");
  std::unique_lock lock(mutex_);
  for (;;) {
    job_arrived_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    Job job = std::move(queue_.front());
    queue_.pop_front();
    ++running_;
    lock.unlock();
    if (Status status = job(); !status && on_error_) on_error_(status.error());
    job = nullptr;
    lock.lock();
    --running_;
    if (queue_.empty() && running_ == 0) idle_.notify_all();
  }
}

}  // namespace hailstone

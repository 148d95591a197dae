#include "table/helpers.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/guard.h"
#include "base/mutex.h"
#include "base/operator_counts.h"
#include "base/processor_turns.h"

namespace hailstone {

namespace {

/// What a helper waits for. It is on the helper's stack.
struct Question {
  const std::function<Status()>& work;
  std::optional<Status> answer = {};
};

/// A helper that starts after the work was done finds it closed and touches nothing else.
struct Helpers {
  Mutex mutex;
  Condition changed;   // what the caller waits for
  Condition answered;  // what helpers wait for
  bool closed HAILSTONE_GUARDED_BY(mutex) = false;
  unsigned running HAILSTONE_GUARDED_BY(mutex) = 0;
  std::vector<Question*> asked HAILSTONE_GUARDED_BY(mutex);
  std::atomic<bool> any_asked{false};
};

constexpr std::chrono::milliseconds between_looks(20);

thread_local Helpers* own_helpers = nullptr;  // of this thread, as the caller
thread_local Helpers* helped_with = nullptr;  // of the caller that this thread helps

/// Sets one of them for a while: work may be within other work.
class During {
 public:
  During(Helpers*& place, Helpers* helpers) : place_(place), before_(std::exchange(place, helpers)) {}
  During(const During&) = delete;
  During& operator=(const During&) = delete;
  ~During() { place_ = before_; }

 private:
  Helpers*& place_;
  Helpers* const before_;
};

void answer(Helpers& helpers) {
  while (helpers.any_asked.load(std::memory_order_acquire)) {
    Question* question = nullptr;
    {
      const MutexLock guard(helpers.mutex);
      question = helpers.asked.front();
      helpers.asked.erase(helpers.asked.begin());
      helpers.any_asked.store(!helpers.asked.empty(), std::memory_order_release);
    }
    // A helper may have helpers itself.
    Status found = ask_caller(question->work);
    const MutexLock guard(helpers.mutex);
    question->answer.emplace(std::move(found));
    helpers.answered.notify_all();
  }
}

}  // namespace

void run_with_helpers(TableHost& host, unsigned threads, const std::function<void(unsigned part)>& work,
                      const std::function<void()>& waiting) {
  const auto helpers = std::make_shared<Helpers>();
  const std::thread::id caller = std::this_thread::get_id();
  ProcessorTurns* const turns = host.processor_turns();
  const During as_caller(own_helpers, helpers.get());
  std::optional<OperatorWork::Shared> with_others;
  if (threads > 1) with_others.emplace();
  for (unsigned part = 1; part < threads; ++part) {
    if (turns != nullptr && !turns->has_free()) break;
    const auto help = [helpers, &work, part, caller, turns] {
      // No thread was free, and the host has this one do it at once: it has a part of its own to do.
      if (std::this_thread::get_id() == caller) return;
      std::optional<ProcessorTurns::Work> turn;
      if (turns != nullptr && !turn.emplace(*turns, ProcessorTurns::Begin::IfFree).begun()) return;
      {
        const MutexLock guard(helpers->mutex);
        if (helpers->closed) return;
        ++helpers->running;
      }
      const During as_helper(helped_with, helpers.get());
      const OperatorWork::Shared as_one_of_many;
      work(part);
      const MutexLock guard(helpers->mutex);
      --helpers->running;
      helpers->changed.notify_all();
    };
    // Without memory for a helper the others do its share.
    try_to([&] { host.run(help); });
  }
  work(0);
  const MutexLock guard(helpers->mutex);
  helpers->closed = true;
  if (helpers->running != 0) ProcessorTurns::pause();
  while (helpers->running != 0) {
    const bool changed = !helpers->asked.empty() || helpers->changed.wait_for(helpers->mutex, between_looks);
    const MutexUnlock unlocked(helpers->mutex);
    answer(*helpers);
    if (!changed) waiting();
  }
}

Status ask_caller(const std::function<Status()>& work) {
  Helpers* const helpers = helped_with;
  if (helpers == nullptr) return guarded(work);
  return guarded([&]() -> Status {
    Question question{work};
    ProcessorTurns::pause();
    const MutexLock guard(helpers->mutex);
    helpers->asked.push_back(&question);
    helpers->any_asked.store(true, std::memory_order_release);
    helpers->changed.notify_all();
    while (!question.answer) helpers->answered.wait(helpers->mutex);
    return std::move(*question.answer);
  });
}

void answer_helpers() {
  if (own_helpers != nullptr) answer(*own_helpers);
}

}  // namespace hailstone

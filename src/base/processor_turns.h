// Turns at the processors for queries that compute for long: as many turns as processors. A thread that has
// one gives it, after its slice, to the first of those that wait. So each of many queries has a fair share,
// and what is short (a row found by its key, a small SELECT) soon finds a processor, as few threads want one.
//
// Threads take part between begin and end of a Work. What is over within a moment asks for no turn. Long work
// calls check() between its steps. Work that has had a slice and work that has not wait in two lines, which
// are served in turn.
//
// A turn is a courtesy, not a lock: who sleeps with one, for a disk, a mutex or a client, loses it to those
// who wait, and lines up again at its next check(). So nobody waits for a thread that itself waits. All
// members are thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/counters.h"
#include "base/mutex.h"

namespace hailstone {

class ProcessorTurns {
 public:
  struct Times {
    std::chrono::nanoseconds slice = std::chrono::milliseconds(10);
    /// After so long without a check() a turn may be taken away.
    std::chrono::nanoseconds lost_after = std::chrono::milliseconds(20);
    /// Work that is over by then needs no turn.
    std::chrono::nanoseconds free = std::chrono::microseconds(200);
  };

  /// `counters` outlive it.
  ProcessorTurns(size_t processors, Counters& counters) : ProcessorTurns(processors, counters, Times()) {}
  ProcessorTurns(size_t processors, Counters& counters, Times times);
  ProcessorTurns(const ProcessorTurns&) = delete;
  ProcessorTurns& operator=(const ProcessorTurns&) = delete;

  /// The processors that this process may use.
  static size_t available();

  enum class Begin : uint8_t { Anyhow, IfFree };
  /// Work of the thread that makes it, which also destroys it. Within other work of the thread it is nothing.
  class Work {
   public:
    /// IfFree: for a helper, which takes a turn that nobody waits for, or does not begin.
    explicit Work(ProcessorTurns& turns, Begin begin = Begin::Anyhow);
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    ~Work();
    bool begun() const { return begun_; }

   private:
    bool begun_ = true;
  };

  /// Gives the turn of this thread's work to those who wait, once it has had its slice, and waits for
  /// another. The caller may hold mutexes, but does better without.
  static void check() {
    if (Here& here = current; here.turns != nullptr) here.turns->check(here);
  }
  /// Gives the turn away, as this thread is going to wait for others.
  static void pause();
  /// Whether a helper would begin now.
  bool has_free() const {
    return waiting_.load(std::memory_order_relaxed) == 0 &&
           held_.load(std::memory_order_relaxed) < turns_.size();
  }

 private:
  using Clock = std::chrono::steady_clock;
  /// Of a thread that works.
  struct Here {
    ProcessorTurns* turns = nullptr;  // null: it does not work
    unsigned depth = 0;               // of Works, one in the other
    uint64_t ticket = 0;              // 0: it has no turn
    size_t turn = 0;
    Clock::time_point began{};       // of the turn
    Clock::time_point free_until{};  // without a turn
    Clock::duration used{0};         // by its turns
  };
  static constinit thread_local Here current;

  struct alignas(64) Turn {
    std::atomic<uint64_t> ticket{0};  // of the thread that has it; 0: nobody. Changed with the mutex
    std::atomic<Clock::rep> seen{0};  // when that thread last checked
  };
  struct Waiter {
    explicit Waiter(uint64_t its_ticket) : ticket(its_ticket) {}
    const uint64_t ticket;
    Condition given;
    std::optional<size_t> turn;
    Waiter* next = nullptr;
  };
  struct Line {
    Waiter* first = nullptr;
    Waiter* last = nullptr;
  };
  enum Kind : uint8_t { New, Long };  // has not had a slice; has had one

  Kind kind_of(const Here& here) const { return here.used < times_.slice ? New : Long; }
  void begin(Here& here);
  bool begin_if_free(Here& here);
  void end(Here& here);
  void check(Here& here);
  /// Takes a turn, or waits for one.
  void take(Here& here) HAILSTONE_REQUIRES(mutex_);
  /// Ends the thread's turn, if it still has it: the first of those who wait gets it.
  void give(Here& here, Clock::time_point now) HAILSTONE_REQUIRES(mutex_);
  /// A turn that nobody has, or whose thread sleeps.
  std::optional<size_t> find_turn(Clock::time_point now) HAILSTONE_REQUIRES(mutex_);
  void hand(size_t turn, uint64_t ticket, Clock::time_point now) HAILSTONE_REQUIRES(mutex_);
  void line_up(Waiter& waiter, Kind kind) HAILSTONE_REQUIRES(mutex_);
  /// The next to have a turn, out of its line; null: nobody waits.
  Waiter* next_waiter() HAILSTONE_REQUIRES(mutex_);
  Waiter* leave_line(Kind kind) HAILSTONE_REQUIRES(mutex_);

  const Times times_;
  Counters& counters_;
  Mutex mutex_;
  std::vector<Turn> turns_;
  std::array<Line, 2> lines_ HAILSTONE_GUARDED_BY(mutex_);
  bool new_was_last_ HAILSTONE_GUARDED_BY(mutex_) = false;
  uint64_t tickets_ HAILSTONE_GUARDED_BY(mutex_) = 0;
  std::atomic<size_t> held_{0}, waiting_{0};  // changed with the mutex
};

}  // namespace hailstone

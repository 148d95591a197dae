#include "base/processor_turns.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace hailstone {

namespace {

/// Who is not the first of its line looks so much less often for a turn that is lost.
constexpr int patience = 10;

}  // namespace

constinit thread_local ProcessorTurns::Here ProcessorTurns::current;

ProcessorTurns::ProcessorTurns(size_t processors, Counters& counters, Times times)
    : times_(times), counters_(counters), turns_(std::max<size_t>(processors, 1)) {}

size_t ProcessorTurns::available() { return std::max(1U, std::thread::hardware_concurrency()); }

ProcessorTurns::Work::Work(ProcessorTurns& turns, Begin begin) {
  Here& here = current;
  if (here.depth == 0) {
    if (begin == Begin::Anyhow) {
      turns.begin(here);
    } else {
      begun_ = turns.begin_if_free(here);
    }
  }
  if (begun_) ++here.depth;
}

ProcessorTurns::Work::~Work() {
  Here& here = current;
  if (begun_ && --here.depth == 0) here.turns->end(here);
}

void ProcessorTurns::pause() {
  Here& here = current;
  if (here.ticket == 0) return;
  const MutexLock lock(here.turns->mutex_);
  here.turns->give(here, Clock::now());
}

void ProcessorTurns::begin(Here& here) {
  here.used = Clock::duration(0);
  here.free_until = Clock::now() + times_.free;
  here.turns = this;
}

bool ProcessorTurns::begin_if_free(Here& here) {
  const MutexLock lock(mutex_);
  if (!has_free()) return false;
  // Its query has what a query may have by the thread that it helps.
  here.used = times_.slice;
  here.turns = this;
  take(here);
  return true;
}

void ProcessorTurns::end(Here& here) {
  if (here.ticket != 0) {
    const MutexLock lock(mutex_);
    give(here, Clock::now());
  }
  here.turns = nullptr;
}

void ProcessorTurns::check(Here& here) {
  const auto now = Clock::now();
  if (here.ticket == 0) {
    if (now < here.free_until) return;
    const MutexLock lock(mutex_);
    take(here);
    return;
  }
  Turn& turn = turns_[here.turn];
  if (turn.ticket.load(std::memory_order_relaxed) == here.ticket) {
    turn.seen.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    if (waiting_.load(std::memory_order_relaxed) == 0) return;
    if (now - here.began < times_.slice) return;
  }
  const MutexLock lock(mutex_);
  give(here, now);
  take(here);
}

void ProcessorTurns::give(Here& here, Clock::time_point now) {
  const uint64_t ticket = std::exchange(here.ticket, 0);
  // Of a turn that was lost nobody knows how much of it the thread has slept.
  here.used += std::min<Clock::duration>(now - here.began, times_.slice);
  Turn& turn = turns_[here.turn];
  if (turn.ticket.load(std::memory_order_relaxed) != ticket) return;
  turn.ticket.store(0, std::memory_order_relaxed);
  held_.fetch_sub(1, std::memory_order_relaxed);
  Waiter* const next = next_waiter();
  if (next == nullptr) return;
  next->turn = here.turn;
  hand(here.turn, next->ticket, now);
  next->given.notify_one();
}

void ProcessorTurns::take(Here& here) {
  Waiter me(++tickets_);
  auto now = Clock::now();
  if (waiting_.load(std::memory_order_relaxed) == 0) me.turn = find_turn(now);
  if (me.turn) {
    hand(*me.turn, me.ticket, now);
  } else {
    count(counters_.turn_waits);
    const Kind kind = kind_of(here);
    line_up(me, kind);
    while (!me.turn) {
      me.given.wait_for(mutex_, lines_[kind].first == &me ? times_.lost_after : patience * times_.lost_after);
      if (me.turn || lines_[kind].first != &me) continue;
      now = Clock::now();
      me.turn = find_turn(now);
      if (!me.turn) continue;
      leave_line(kind);
      hand(*me.turn, me.ticket, now);
    }
    now = Clock::now();
  }
  here.ticket = me.ticket;
  here.turn = *me.turn;
  here.began = now;
}

std::optional<size_t> ProcessorTurns::find_turn(Clock::time_point now) {
  std::optional<size_t> lost;
  for (size_t i = 0; i < turns_.size(); ++i) {
    if (turns_[i].ticket.load(std::memory_order_relaxed) == 0) return i;
    const Clock::time_point seen{Clock::duration(turns_[i].seen.load(std::memory_order_relaxed))};
    if (now - seen > times_.lost_after) lost = i;
  }
  if (lost) {
    turns_[*lost].ticket.store(0, std::memory_order_relaxed);
    held_.fetch_sub(1, std::memory_order_relaxed);
  }
  return lost;
}

void ProcessorTurns::hand(size_t turn, uint64_t ticket, Clock::time_point now) {
  turns_[turn].seen.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  turns_[turn].ticket.store(ticket, std::memory_order_relaxed);
  held_.fetch_add(1, std::memory_order_relaxed);
}

void ProcessorTurns::line_up(Waiter& waiter, Kind kind) {
  Line& line = lines_[kind];
  (line.first == nullptr ? line.first : line.last->next) = &waiter;
  line.last = &waiter;
  waiting_.fetch_add(1, std::memory_order_relaxed);
}

ProcessorTurns::Waiter* ProcessorTurns::next_waiter() {
  // In turn: if new ones always went first, the long ones would never go on.
  const bool is_new = lines_[New].first != nullptr && (lines_[Long].first == nullptr || !new_was_last_);
  new_was_last_ = is_new;
  return leave_line(is_new ? New : Long);
}

ProcessorTurns::Waiter* ProcessorTurns::leave_line(Kind kind) {
  Line& line = lines_[kind];
  Waiter* const first = line.first;
  if (first == nullptr) return nullptr;
  line.first = first->next;
  if (line.first == nullptr) line.last = nullptr;
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  return first;
}

}  // namespace hailstone

// What one operator of a query has done so far, for those who watch the query: a scan, a filter, groups, a
// sort. The threads that run the operator add to it, once a batch or block; anybody may read it meanwhile.
// All of it is relaxed: the numbers of an operator that is at work need not fit each other.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/memory_budget.h"

namespace hailstone {

struct OperatorCounts {
  std::atomic<uint64_t> rows_in{0};   // of a scan: those that it has gone by, whether or not they match
  std::atomic<uint64_t> rows_out{0};  // that it has handed on
  std::atomic<uint64_t> memory{0};    // bytes that it holds
  std::atomic<uint64_t> most_memory{0};
  std::atomic<uint64_t> spilled{0};      // bytes that it has written to spill files
  std::atomic<uint64_t> nanoseconds{0};  // that its threads have worked, added up
  std::atomic<uint64_t> alone{0};        // of these, while no other thread could have worked for the query
  std::atomic<uint64_t> parts{0};        // bits of the threads that have worked, by their numbers

  void add_rows(uint64_t in, uint64_t out) {
    rows_in.fetch_add(in, std::memory_order_relaxed);
    rows_out.fetch_add(out, std::memory_order_relaxed);
  }
  void add_part(unsigned number) {
    const uint64_t bit = uint64_t{1} << (number % 64);
    if ((parts.load(std::memory_order_relaxed) & bit) == 0) parts.fetch_or(bit, std::memory_order_relaxed);
  }
  void take_memory(uint64_t bytes) {
    const uint64_t now = memory.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    uint64_t most = most_memory.load(std::memory_order_relaxed);
    while (now > most && !most_memory.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
    }
  }
  void give_back_memory(uint64_t bytes) { memory.fetch_sub(bytes, std::memory_order_relaxed); }
  /// The work begins again, and its rows come once more.
  void restart() {
    rows_in.store(0, std::memory_order_relaxed);
    rows_out.store(0, std::memory_order_relaxed);
  }

  unsigned threads() const {
    return static_cast<unsigned>(std::popcount(parts.load(std::memory_order_relaxed)));
  }
};

/// Work at an operator until the object's end, by one thread: its time is added to the operator's, but for
/// that of other objects which it makes meanwhile. Where nobody watches, the counts are null, and it does
/// nothing.
class OperatorWork {
 public:
  explicit OperatorWork(OperatorCounts* counts) : counts_(counts) {
    if (counts_ == nullptr) return;
    outer_ = std::exchange(current_, this);
    begin_ = std::chrono::steady_clock::now();
  }
  /// `part`: the thread's number.
  OperatorWork(OperatorCounts* counts, unsigned part) : OperatorWork(counts) {
    if (counts_ != nullptr) counts_->add_part(part);
  }
  OperatorWork(const OperatorWork&) = delete;
  OperatorWork& operator=(const OperatorWork&) = delete;
  ~OperatorWork() {
    if (counts_ == nullptr) return;
    const uint64_t all = nanoseconds_since(begin_), own = all - std::min(all, others_);
    counts_->nanoseconds.fetch_add(own, std::memory_order_relaxed);
    if (!is_shared_) counts_->alone.fetch_add(own, std::memory_order_relaxed);
    current_ = outer_;
    if (outer_ != nullptr) outer_->others_ += all;
  }

  void add_rows(uint64_t in, uint64_t out) const {
    if (counts_ != nullptr) counts_->add_rows(in, out);
  }

  /// Work in which several threads may take part, until the object's end: on each of them.
  class Shared {
   public:
    Shared() : was_shared_(std::exchange(is_shared_, true)), outer_(std::exchange(current_, nullptr)) {
      if (outer_ != nullptr) begin_ = std::chrono::steady_clock::now();
    }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;
    ~Shared() {
      is_shared_ = was_shared_;
      current_ = outer_;
      if (outer_ != nullptr) outer_->others_ += nanoseconds_since(begin_);
    }

   private:
    const bool was_shared_;
    OperatorWork* const outer_;
    std::chrono::steady_clock::time_point begin_;
  };

 private:
  static uint64_t nanoseconds_since(std::chrono::steady_clock::time_point begin) {
    const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - begin;
    return static_cast<uint64_t>(time.count());
  }

  static inline constinit thread_local OperatorWork* current_ = nullptr;
  static inline constinit thread_local bool is_shared_ = false;
  OperatorCounts* const counts_;
  OperatorWork* outer_ = nullptr;
  std::chrono::steady_clock::time_point begin_;
  uint64_t others_ = 0;  // nanoseconds that are not its own
};

/// A Reservation that an operator's counts know of; they may be null, else they outlive it.
class OperatorMemory {
 public:
  OperatorMemory(MemoryBudget& budget, OperatorCounts* counts) : reservation_(budget), counts_(counts) {}
  /// Of a part that nobody else takes of.
  OperatorMemory(std::unique_ptr<MemoryBudget> own, OperatorCounts* counts)
      : reservation_(std::move(own)), counts_(counts) {}
  OperatorMemory(const OperatorMemory&) = delete;
  OperatorMemory& operator=(const OperatorMemory&) = delete;
  OperatorMemory(OperatorMemory&& other) noexcept = default;
  ~OperatorMemory() { note_released(); }

  [[nodiscard]] bool try_grow(size_t by) {
    if (!reservation_.try_grow(by)) return false;
    if (counts_ != nullptr) counts_->take_memory(by);
    return true;
  }
  void grow(size_t by) {
    reservation_.grow(by);
    if (counts_ != nullptr) counts_->take_memory(by);
  }
  void clear() {
    note_released();
    reservation_.clear();
  }
  size_t bytes() const { return reservation_.bytes(); }

 private:
  void note_released() {
    if (counts_ != nullptr) counts_->give_back_memory(reservation_.bytes());
  }

  Reservation reservation_;
  OperatorCounts* counts_;
};

}  // namespace hailstone

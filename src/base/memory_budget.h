// One limit for the memory of a database. Each part that holds rows or blocks reserves their bytes here. A
// writer that finds no room sleeps until others have given some back. What is not reserved may be in pages
// that are kept for the next that needs some (base/kept_pages.h), which go before memory is short.
//
// A query has a budget of its own, a part of the database's: a floor, which is reserved as long as the query
// runs, and what the others leave. So what it cannot do without is there, however short memory becomes
// meanwhile. Each operator, or thread of one, has a part of that floor in turn: what one of them takes beyond
// it comes from what the others leave, never from the floor of its neighbour. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/kept_pages.h"
#include "base/mutex.h"

namespace hailstone {

class MemoryBudget {
 public:
  /// `limit` in bytes.
  explicit MemoryBudget(size_t limit) : limit_(limit) {}
  /// A part of `of`, which outlives it: `floor` bytes of those that `of` has, and more as far as the whole
  /// gives some, also where `of` is a part itself. Limits are those of the whole.
  MemoryBudget(MemoryBudget& of, size_t floor) : limit_(0), from_(&of), whole_(&of.whole()), floor_(floor) {
    of.reserve(floor);
  }
  /// A part of the whole of `of`, if the whole gives `floor`; else null.
  static std::unique_ptr<MemoryBudget> try_part(MemoryBudget& of, size_t floor);
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;
  ~MemoryBudget() {
    if (whole_ == nullptr) return;
    whole_->release(beyond_floor(used()));
    from_->release(floor_);
  }

  /// What it is a part of at last, or itself: what this gives nobody counts on.
  MemoryBudget& whole() { return whole_ == nullptr ? *this : *whole_; }

  /// Gives memory back when it is short.
  struct Reclaimer {
    std::function<size_t(size_t)> reclaim;  // takes the bytes wanted, returns the bytes freed
    std::function<size_t()> reclaimable;    // bytes that it could free, about
  };
  /// The block cache registers itself before any thread reserves.
  void set_reclaimer(Reclaimer reclaimer) { reclaimer_ = std::move(reclaimer); }
  /// From now on these pages have no more than what is not used. Called before any thread reserves.
  void share_with(KeptPages& kept) { kept_ = &kept; }

  /// Reserves `bytes`, asking the reclaimer when short. False, with nothing reserved, when they still do not
  /// fit.
  [[nodiscard]] bool try_reserve(size_t bytes);
  /// Whether so many bytes fit now, the reclaimer asked as well; reserves nothing.
  [[nodiscard]] bool make_room(size_t bytes) {
    if (!try_reserve(bytes)) return false;
    release(bytes);
    return true;
  }
  /// Whether so many bytes more leave half of the limit to others, apart from what can be reclaimed: they may
  /// go to a query that has had its share, unless queries have a limit of their own.
  bool is_spare(size_t bytes) const;
  /// Whether so many bytes would fit once all is given back that can be reclaimed.
  bool could_fit(size_t bytes) const { return whole().held() + bytes <= limit(); }
  /// Reserves what the caller cannot do without, even beyond the limit.
  void reserve(size_t bytes);
  void release(size_t bytes) {
    const size_t before = used_.fetch_sub(bytes);
    HAILSTONE_CHECK(before >= bytes, "{} bytes are released of {}", bytes, before);
    if (whole_ != nullptr) {
      const size_t of_whole = beyond_floor(before) - beyond_floor(before - bytes);
      if (of_whole != 0) whole_->release(of_whole);
    } else if (waiters_.load() != 0) [[unlikely]] {
      wake();
    }
  }
  /// Sleeps until `ready` returns true, or for `at_most`. `ready` is asked now and after each release; it
  /// must be quick and neither reserve nor release.
  void wait_for_release(const std::function<bool()>& ready, std::chrono::milliseconds at_most);

  /// What the groups, the sorted rows or the joined tables of one block of a query may take, however much is
  /// free; 0: a part of the budget, and what is spare. Of a part: 0 is that of the whole.
  void set_query_limit(size_t bytes) { query_limit_.store(bytes, std::memory_order_relaxed); }
  size_t query_limit() const {
    const size_t own = query_limit_.load(std::memory_order_relaxed);
    return own != 0 || whole_ == nullptr ? own : whole_->query_limit();
  }

  size_t used() const { return used_.load(); }
  size_t limit() const { return whole().limit_.load(std::memory_order_relaxed); }
  /// Of a part; else 0.
  size_t floor() const { return floor_; }
  void set_limit(size_t limit) {
    limit_.store(limit);
    release_kept(used());
    if (waiters_.load() != 0) wake();
  }

 private:
  struct Reserved {};
  /// `whole` has reserved the floor.
  MemoryBudget(MemoryBudget& whole, size_t floor, Reserved)
      : limit_(0), from_(&whole), whole_(&whole), floor_(floor) {}

  const MemoryBudget& whole() const { return whole_ == nullptr ? *this : *whole_; }
  /// What a part that uses so much takes of the whole beside its floor.
  size_t beyond_floor(size_t used) const { return used > floor_ ? used - floor_ : 0; }
  bool try_reserve_of_whole(size_t bytes, bool whatever);
  /// What is used and cannot be reclaimed. Of the whole.
  size_t held() const {
    const size_t used = this->used();
    return used - (reclaimer_.reclaimable ? std::min(reclaimer_.reclaimable(), used) : 0);
  }
  void wake();
  void release_kept(size_t used);

  std::atomic<size_t> limit_;
  MemoryBudget* const from_ = nullptr;   // has the floor among what it has reserved
  MemoryBudget* const whole_ = nullptr;  // null: this is the whole
  const size_t floor_ = 0;
  std::atomic<size_t> query_limit_{0};
  std::atomic<size_t> used_{0};
  Reclaimer reclaimer_;
  KeptPages* kept_ = nullptr;
  std::atomic<uint32_t> waiters_{0};
  Mutex mutex_;  // guards nothing: a release wakes nobody between its look and its sleep
  Condition released_;
};

/// Bytes of a budget held by an object, released with it. Not thread-safe.
class Reservation {
 public:
  explicit Reservation(MemoryBudget& budget) : budget_(&budget) {}
  /// Of a part that nobody else takes of.
  explicit Reservation(std::unique_ptr<MemoryBudget> own) : own_(std::move(own)), budget_(own_.get()) {}
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  Reservation(Reservation&& other) noexcept
      : own_(std::move(other.own_)), budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}
  ~Reservation() {
    if (bytes_ != 0) budget_->release(bytes_);
  }

  [[nodiscard]] bool try_grow(size_t by) {
    if (!budget_->try_reserve(by)) return false;
    bytes_ += by;
    return true;
  }
  void grow(size_t by) {
    budget_->reserve(by);
    bytes_ += by;
  }
  void clear() { budget_->release(std::exchange(bytes_, 0)); }
  size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<MemoryBudget> own_;
  MemoryBudget* budget_;
  size_t bytes_ = 0;
};

}  // namespace hailstone

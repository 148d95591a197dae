// Memory for many small objects that die together. Not thread-safe; a budget, when given, is charged by the
// chunk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/memory_budget.h"
#include "base/page_allocator.h"

namespace hailstone {

class Arena {
 public:
  /// `most_chunk_bytes`: of a chunk of small objects; 0: what the budget allows.
  explicit Arena(MemoryBudget* budget = nullptr, size_t most_chunk_bytes = 0)
      : budget_(budget), most_chunk_bytes_(most_chunk_bytes) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { clear(); }

  /// `size` bytes aligned to 8, valid until clear() or destruction.
  char* allocate(size_t size) {
    size = (size + 7) & ~size_t{7};
    if (size > used_.available) find_room(size);
    used_.available -= size;
    return std::exchange(used_.next, used_.next + size);
  }
  /// The next `size` bytes, in pieces that are each a multiple of 8, can be allocated without fail.
  void reserve(size_t size) {
    if (size <= used_.available || size <= spare_.available) return;
    const Room room = add_chunk(size);
    keep_greater();
    spare_ = room;
  }
  ByteView copy(ByteView bytes) {
    if (bytes.empty()) return {};
    char* to = allocate(bytes.size());
    std::memcpy(to, bytes.data(), bytes.size());
    return {to, bytes.size()};
  }
  /// Bytes taken from the system.
  size_t bytes() const { return bytes_; }
  void clear() {
    chunks_.clear();
    pages_.clear();
    if (budget_ != nullptr) budget_->release(bytes_);
    bytes_ = 0;
    used_ = spare_ = {};
  }

 private:
  struct Room {
    char* next = nullptr;
    size_t available = 0;
  };

  /// Of the two chunks in use the one that fits is used first from here on; a new one if none does.
  void find_room(size_t size) {
    if (size > spare_.available) {
      const Room room = add_chunk(size);
      keep_greater();
      spare_ = room;
    }
    std::swap(used_, spare_);
  }
  void keep_greater() {
    if (used_.available < spare_.available) used_ = spare_;
  }
  Room add_chunk(size_t at_least) {
    // Chunks double from 1 KiB on until they are huge pages: a one-row table stays small, a big one needs few
    // calls and its rows are quick to reach. But what may lie unused is little beside the budget.
    constexpr size_t least = 1024, smallest_limit = size_t{64} << 10;
    size_t most = budget_ == nullptr ? huge_page_bytes
                                     : std::clamp(budget_->limit() / 128, smallest_limit, huge_page_bytes);
    if (most_chunk_bytes_ != 0) most = std::clamp(most_chunk_bytes_, least, most);
    size_t size = std::clamp(bytes_, least, most);
    if (size < at_least) size = at_least;
    Room room{.next = nullptr, .available = size};
    // What is charged must go back to the system once it is free: malloc would keep it.
    if (budget_ == nullptr && size < huge_page_bytes) {
      chunks_.push_back(std::make_unique_for_overwrite<char[]>(size));
      room.next = chunks_.back().get();
    } else {
      pages_.push_back(make_page_bytes(size));
      room.next = pages_.back().get();
    }
    if (budget_ != nullptr) budget_->reserve(size);
    bytes_ += size;
    return room;
  }

  MemoryBudget* budget_;
  size_t most_chunk_bytes_;
  std::vector<std::unique_ptr<char[]>> chunks_;
  std::vector<PageBytes> pages_;
  // Chunks with room: what is reserved in one leaves the rest of the other to smaller pieces.
  Room used_, spare_;
  size_t bytes_ = 0;
};

}  // namespace hailstone

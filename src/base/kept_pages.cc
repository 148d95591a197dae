#include "base/kept_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>
#include <utility>

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(begin, bytes)
#define ASAN_UNPOISON_MEMORY_REGION(begin, bytes)
#endif

namespace hailstone {

namespace {

constexpr size_t rounded(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// How long the mapping for so many bytes is. Of a long array all pages are huge, so that it finds room where
/// one like it was; at the end of a short one that would waste too much.
size_t bytes_mapped(size_t bytes) {
  constexpr size_t least_rounded = 8 * huge_page_bytes;
  static const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return rounded(bytes, bytes < least_rounded ? page : huge_page_bytes);
}

void unmap(char* pages, size_t bytes) noexcept {
  if (bytes == 0) return;
  // What containers in it have poisoned must not stay so for the next mapping at this address.
  ASAN_UNPOISON_MEMORY_REGION(pages, bytes);
  ::munmap(pages, bytes);
}

/// Backed by huge pages where the system allows it. Null: it has no memory.
char* map_pages(size_t bytes) {
  void* const mapped =
      ::mmap(nullptr, bytes + huge_page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<char*>(mapped);
  const auto address = reinterpret_cast<uintptr_t>(begin);
  const size_t before = rounded(address, huge_page_bytes) - address;
  unmap(begin, before);
  unmap(begin + before + bytes, huge_page_bytes - before);
  // Advice: where the system does not take it, pages are small.
  static_cast<void>(::madvise(begin + before, bytes, MADV_HUGEPAGE));
  return begin + before;
}

}  // namespace

KeptPages::User::User() noexcept {
  KeptPages& kept = of_process();
  const MutexLock guard(kept.mutex_);
  ++kept.users_;
}

KeptPages::User::~User() {
  KeptPages& kept = of_process();
  {
    const MutexLock guard(kept.mutex_);
    if (--kept.users_ != 0) return;
  }
  kept.release(SIZE_MAX);
}

KeptPages& KeptPages::of_process() {
  static KeptPages kept;
  return kept;
}

void KeptPages::set_bytes(size_t bytes) {
  bytes_.store(bytes, std::memory_order_relaxed);
  least_ = std::min(least_, bytes);
}

void* KeptPages::take(size_t bytes) {
  const size_t mapped = bytes_mapped(bytes), whole = rounded(bytes, huge_page_bytes);
  char* const kept = take_kept(whole);
  if (kept == nullptr) {
    // Enough are kept, but in pieces that are too short: else such would pile up.
    if (this->bytes() >= whole) release(whole);
    char* fresh = map_pages(mapped);
    if (fresh == nullptr) {
      release(SIZE_MAX);
      fresh = map_pages(mapped);
    }
    return fresh != nullptr ? fresh : throw std::bad_alloc();
  }
  ASAN_UNPOISON_MEMORY_REGION(kept, whole);
  unmap(kept + mapped, whole - mapped);
  return kept;
}

/// Null: no piece is so long.
char* KeptPages::take_kept(size_t bytes) noexcept {
  if (this->bytes() < bytes) return nullptr;
  const MutexLock guard(mutex_);
  auto best = pieces_.end();
  for (auto piece = pieces_.begin(); piece != pieces_.end(); ++piece) {
    if (piece->second >= bytes && (best == pieces_.end() || piece->second < best->second)) best = piece;
  }
  if (best == pieces_.end()) return nullptr;
  // From its end, so that the rest stays where it is.
  best->second -= bytes;
  char* const pages = best->first + best->second;
  if (best->second == 0) pieces_.erase(best);
  set_bytes(this->bytes() - bytes);
  return pages;
}

bool KeptPages::keep(char* pages, size_t bytes) noexcept {
  const MutexLock guard(mutex_);
  if (users_ == 0) return false;
  const auto after = pieces_.lower_bound(pages);
  const auto before = after == pieces_.begin() ? pieces_.end() : std::prev(after);
  const bool joins_before = before != pieces_.end() && before->first + before->second == pages;
  const bool joins_after = after != pieces_.end() && pages + bytes == after->first;
  ASAN_POISON_MEMORY_REGION(pages, bytes);
  if (joins_before) {
    before->second += bytes;
    if (joins_after) {
      before->second += after->second;
      pieces_.erase(after);
    }
  } else if (joins_after) {
    auto piece = pieces_.extract(after);
    piece.key() = pages;
    piece.mapped() += bytes;
    pieces_.insert(std::move(piece));
  } else {
    try {
      pieces_.emplace_hint(after, pages, bytes);
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  set_bytes(this->bytes() + bytes);
  return true;
}

void KeptPages::put(void* pages, size_t bytes) noexcept {
  auto* const begin = static_cast<char*>(pages);
  const size_t mapped = bytes_mapped(bytes), whole = mapped / huge_page_bytes * huge_page_bytes;
  unmap(begin + whole, mapped - whole);
  if (!keep(begin, whole)) unmap(begin, whole);
}

void KeptPages::release(size_t bytes) noexcept {
  while (bytes != 0) {
    char* pages = nullptr;
    size_t size = 0;
    {
      const MutexLock guard(mutex_);
      if (pieces_.empty()) return;
      const auto last = std::prev(pieces_.end());
      size = rounded(std::min(bytes, last->second), huge_page_bytes);
      last->second -= size;
      pages = last->first + last->second;
      if (last->second == 0) pieces_.erase(last);
      set_bytes(this->bytes() - size);
    }
    unmap(pages, size);
    bytes -= std::min(bytes, size);
  }
}

void KeptPages::release_idle(Clock::time_point now) noexcept {
  size_t idle = 0;
  {
    const MutexLock guard(mutex_);
    if (now < next_look_) return;
    next_look_ = now + time_to_keep;
    idle = std::exchange(least_, this->bytes());
  }
  release(idle);
}

}  // namespace hailstone

#include "base/failing_allocations.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAILSTONE_OWN_NEW 0
#else
#define HAILSTONE_OWN_NEW 1
#endif

namespace hailstone {
namespace {

enum class Where : uint8_t { Nowhere, Inside, InsideMalloc, Others };
std::atomic<Where> armed{Where::Nowhere};
std::atomic<int64_t> first{0};  // allocations that succeed before
std::atomic<int64_t> until{0};  // those of them to come
std::atomic<int64_t> failing{0};
std::atomic<uint64_t> failed{0};
std::atomic<uint64_t> state{0};
std::atomic<uint32_t> one_in{1};
thread_local int inside = 0;
thread_local bool is_arming = false;

[[maybe_unused]] bool fails() {
  switch (armed.load(std::memory_order_relaxed)) {
    case Where::Nowhere:
    case Where::InsideMalloc:
      return false;
    case Where::Inside:
      if (inside == 0 || until.fetch_sub(1) > 0 || failing.fetch_sub(1) <= 0) return false;
      break;
    case Where::Others: {
      if (is_arming) return false;
      // A linear congruential generator; its upper bits are good enough.
      const uint64_t next = state.fetch_add(0x9e37'79b9'7f4a'7c15u);
      const uint64_t mixed = (next ^ next >> 31) * 0xd6e8'feb8'6659'fd93u;
      if ((mixed >> 33) % one_in.load() != 0) return false;
      break;
    }
  }
  failed.fetch_add(1);
  return true;
}

[[maybe_unused]] bool malloc_fails() {
  if (armed.load(std::memory_order_relaxed) != Where::InsideMalloc) [[likely]]
    return false;
  if (inside == 0 || until.fetch_sub(1) > 0 || failing.fetch_sub(1) <= 0) return false;
  failed.fetch_add(1);
  return true;
}

}  // namespace

bool FailingAllocations::possible() { return HAILSTONE_OWN_NEW == 1; }

void FailingAllocations::arm(uint64_t nth, uint64_t in_a_row) {
  first.store(static_cast<int64_t>(nth));
  until.store(static_cast<int64_t>(nth));
  failing.store(static_cast<int64_t>(in_a_row));
  failed.store(0);
  armed.store(Where::Inside);
}

void FailingAllocations::arm_malloc(uint64_t nth, uint64_t in_a_row) {
  arm(nth, in_a_row);
  armed.store(Where::InsideMalloc);
}

void FailingAllocations::arm_others(uint32_t one_of, uint64_t seed) {
  is_arming = true;
  one_in.store(one_of);
  state.store(seed);
  failed.store(0);
  armed.store(Where::Others);
}

uint64_t FailingAllocations::disarm() {
  armed.store(Where::Nowhere);
  is_arming = false;
  return failed.load();
}

uint64_t FailingAllocations::met() {
  return static_cast<uint64_t>(first.load() - std::max<int64_t>(0, until.load()));
}

FailingAllocations::Inside::Inside() { ++inside; }
FailingAllocations::Inside::~Inside() { --inside; }

}  // namespace hailstone

#if HAILSTONE_OWN_NEW

// glibc's own, behind the malloc() below, which takes its place for all others, also for the C libraries.
extern "C" void* __libc_malloc(std::size_t bytes);  // NOLINT(bugprone-reserved-identifier): it is named so

extern "C" void* malloc(std::size_t bytes) noexcept {
  if (hailstone::malloc_fails()) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(bytes);
}

namespace {
void* allocate(std::size_t bytes, std::size_t alignment) {
  if (hailstone::fails()) return nullptr;
  if (bytes == 0) bytes = 1;
  return alignment == 0 ? __libc_malloc(bytes)
                        : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const memory = allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, 0); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, 0); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, 0); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

#endif

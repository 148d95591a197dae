// An allocator for long arrays: they get pages of their own from the system and give them back when they go.
// malloc would keep tens of megabytes for later, which the memory budget knows nothing of. Those of 2 MiB and
// more get huge pages, of those that are kept where there are some: reads all over them then find their
// pages' addresses in the processor. All arrays begin at a multiple of 64 bytes. Thread-safe.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/kept_pages.h"

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_UNPOISON_MEMORY_REGION(begin, bytes)
#endif

namespace hailstone {

template <typename T>
class PageAllocator {
 public:
  using value_type = T;
  PageAllocator() = default;
  template <typename U>
  PageAllocator(const PageAllocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor): as allocators do

  T* allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes < least_bytes) return static_cast<T*>(::operator new(bytes, alignment));
    if (bytes >= huge_page_bytes) return static_cast<T*>(KeptPages::of_process().take(bytes));
    void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    return static_cast<T*>(pages);
  }
  void deallocate(T* array, size_t count) noexcept {
    const size_t bytes = count * sizeof(T);
    if (bytes < least_bytes) {
      ::operator delete(array, alignment);
    } else if (bytes >= huge_page_bytes) {
      KeptPages::of_process().put(array, bytes);
    } else {
      // What containers in it have poisoned must not stay so for the next mapping at this address.
      ASAN_UNPOISON_MEMORY_REGION(array, bytes);
      ::munmap(array, bytes);
    }
  }
  bool operator==(const PageAllocator&) const = default;

 private:
  static constexpr size_t least_bytes = size_t{128} << 10;
  static constexpr std::align_val_t alignment{64};
};

template <typename T>
using PageVector = std::vector<T, PageAllocator<T>>;

using PageString = std::basic_string<char, std::char_traits<char>, PageAllocator<char>>;

/// Of its elements.
template <typename T>
size_t bytes_of(const PageVector<T>& array) {
  return array.size() * sizeof(T);
}

struct PageDeleter {
  size_t bytes = 0;
  void operator()(char* array) const { PageAllocator<char>().deallocate(array, bytes); }
};
using PageBytes = std::unique_ptr<char[], PageDeleter>;
/// Bytes to be filled, not cleared.
inline PageBytes make_page_bytes(size_t bytes) {
  return PageBytes(PageAllocator<char>().allocate(bytes), PageDeleter{bytes});
}

}  // namespace hailstone

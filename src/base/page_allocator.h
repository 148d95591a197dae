// An allocator for long arrays: they get pages of their own from the system and give them back when they go.
// malloc would keep tens of megabytes for later, which the memory budget knows nothing of. All arrays begin
// at a multiple of 64 bytes. Thread-safe.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

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
    void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    return static_cast<T*>(pages);
  }
  void deallocate(T* array, size_t count) noexcept {
    const size_t bytes = count * sizeof(T);
    if (bytes < least_bytes) {
      ::operator delete(array, alignment);
    } else {
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

/// Bytes that are not cleared before they are written.
struct PageDeleter {
  size_t bytes = 0;
  void operator()(char* array) const { PageAllocator<char>().deallocate(array, bytes); }
};
using PageBytes = std::unique_ptr<char[], PageDeleter>;
inline PageBytes make_page_bytes(size_t bytes) {
  return PageBytes(PageAllocator<char>().allocate(bytes), PageDeleter{bytes});
}

}  // namespace hailstone

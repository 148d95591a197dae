// Vectors of plain values that resize() does not clear, for those that are filled next anyway. Elsewhere they
// are as all vectors are: insert(), push_back() and resize() with a value set what they add.
#pragma once

#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace hailstone {

template <typename T>
class UnclearedAllocator : public std::allocator<T> {
  static_assert(std::is_trivially_default_constructible_v<T>);

 public:
  template <typename Other>
  struct rebind {  // NOLINT(readability-identifier-naming): allocators have it
    using other = UnclearedAllocator<Other>;
  };
  UnclearedAllocator() = default;
  template <typename Other>
  UnclearedAllocator(const UnclearedAllocator<Other>&) noexcept {
  }  // NOLINT(google-explicit-constructor): as allocators do

  template <typename Other>
  void construct(Other* place) noexcept {
    ::new (static_cast<void*>(place)) Other;
  }
  template <typename Other, typename... Arguments>
  void construct(Other* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) Other(std::forward<Arguments>(arguments)...);
  }
};

template <typename T>
using UnclearedVector = std::vector<T, UnclearedAllocator<T>>;

}  // namespace hailstone

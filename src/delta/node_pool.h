// Memory of the nodes of a delta's trees, out of its arena. What a tree gives back is used for the next nodes
// of the same size, of which there are few.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "base/arena.h"
#include "base/check.h"

namespace hailstone {

class NodePool {
 public:
  /// No node is greater, with some room to spare: the trees make nodes of about 256 bytes, and add the
  /// addresses of their children.
  static constexpr size_t greatest_node = 480;

  explicit NodePool(Arena& arena) : arena_(arena) {}
  void* allocate(size_t bytes) {
    HAILSTONE_CHECK(bytes <= greatest_node, "a node of {} bytes", bytes);
    Free*& list = list_of(bytes);
    if (list == nullptr) return arena_.allocate(bytes);
    return std::exchange(list, list->next);
  }
  void deallocate(void* node, size_t bytes) {
    Free*& list = list_of(bytes);
    list = new (node) Free{list};
  }

 private:
  struct Free {
    Free* next;
  };
  Free*& list_of(size_t bytes) {
    for (auto& [size, list] : lists_) {
      if (size == bytes) return list;
    }
    return lists_.emplace_back(bytes, nullptr).second;
  }

  Arena& arena_;
  absl::InlinedVector<std::pair<size_t, Free*>, 16> lists_;  // all sizes that there are
};

/// Gives tree nodes their memory; the pool outlives the tree.
template <typename T>
class TreeAllocator {
 public:
  using value_type = T;
  explicit TreeAllocator(NodePool& pool) : pool_(&pool) {}
  template <typename U>
  TreeAllocator(const TreeAllocator<U>& other)
      : pool_(&other.pool()) {}  // NOLINT(google-explicit-constructor): containers convert

  T* allocate(size_t count) { return static_cast<T*>(pool_->allocate(count * sizeof(T))); }
  void deallocate(T* at, size_t count) { pool_->deallocate(at, count * sizeof(T)); }
  NodePool& pool() const { return *pool_; }
  template <typename U>
  bool operator==(const TreeAllocator<U>& other) const {
    return pool_ == &other.pool();
  }

 private:
  NodePool* pool_;
};

}  // namespace hailstone

// The segments of a view, each with a number from 0 on. A list shares with the list that it is a copy of all
// pieces but those that were changed since, so that another list costs a pointer for each piece.
//
// A list that others may see does not change: a copy does. Belongs to one thread until then.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <memory>
#include <vector>

#include "base/check.h"
#include "table/places.h"

namespace hailstone {

class SegmentList {
 public:
  using Pointer = std::shared_ptr<TableSegment>;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Pointer& operator[](size_t number) const {
    return (*pieces_[number / piece_size])[number % piece_size];
  }

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Pointer;
    using difference_type = std::ptrdiff_t;
    using pointer = const Pointer*;
    using reference = const Pointer&;
    Iterator() = default;
    Iterator(const SegmentList* list, size_t number) : list_(list), number_(number) {}
    const Pointer& operator*() const { return (*list_)[number_]; }
    Iterator& operator++() {
      ++number_;
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++number_;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const SegmentList* list_ = nullptr;
    size_t number_ = 0;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size_}; }

  /// From here on so many segments need no memory, if the list is no copy.
  void make_room(size_t segments) {
    while (pieces_.size() * piece_size < segments) pieces_.push_back(std::make_shared<Piece>());
  }
  void push_back(const Pointer& segment) {
    make_room(size_ + 1);
    own_piece(size_ / piece_size)[size_ % piece_size] = segment;
    ++size_;
  }
  void replace(size_t number, const Pointer& segment) {
    own_piece(number / piece_size)[number % piece_size] = segment;
  }
  void pop_back() {
    HAILSTONE_CHECK(size_ > 0);
    --size_;
    own_piece(size_ / piece_size)[size_ % piece_size].reset();
  }

 private:
  static constexpr size_t piece_size = 64;
  using Piece = std::array<Pointer, piece_size>;

  /// A piece that no other list has: nobody else could come to share it meanwhile.
  Piece& own_piece(size_t number) {
    std::shared_ptr<Piece>& piece = pieces_[number];
    if (piece.use_count() > 1) piece = std::make_shared<Piece>(*piece);
    return *piece;
  }

  std::vector<std::shared_ptr<Piece>> pieces_;
  size_t size_ = 0;
};

}  // namespace hailstone

// The distinct values of a column of strings or bytes, numbered. Equal is what the column's collation takes
// for equal; the value that came first stands for the others. Belongs to one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/page_allocator.h"
#include "schema/collation.h"
#include "schema/padding.h"

namespace hailstone {

class ValueSet {
 public:
  /// `variants`, which outlives the set, may be null: becomes true when a value is met that is equal to one
  /// of other bytes.
  explicit ValueSet(const Collation& collation, std::atomic<bool>* variants = nullptr);

  /// The same for equal values, in any set of this collation.
  uint64_t hash(ByteView value) { return hash(value, weights_); }
  /// The same for threads that share the set; `weights` is scratch space.
  uint64_t hash(ByteView value, std::string& weights) const;
  /// The number of the value, which is added when it is new. `value_hash` is its hash().
  uint32_t number_of(ByteView value, uint64_t value_hash);
  /// The number of the value; nothing: it is not there. By any thread while nobody changes the set.
  std::optional<uint32_t> find(ByteView value, uint64_t value_hash) const;
  /// The same as number_of(), of many values at once, which is quicker.
  void numbers_of(std::span<const ByteView> values, std::span<const uint64_t> hashes,
                  std::span<uint32_t> numbers);

  /// Of the values of another set of this collation, from `first` on: their numbers here, and one more; 0: it
  /// is not there. By any thread while nobody changes the sets.
  void find_all(const ValueSet& others, uint32_t first, std::span<uint32_t> numbers) const;

  /// Adds a value that is neither looked for nor copied: it stays where it is until clear(). A set has either
  /// such values or others.
  uint32_t append(ByteView value, uint64_t value_hash) {
    values_.push_back(value);
    hashes_.push_back(value_hash);
    return size() - 1;
  }
  void clear();
  /// Makes room for so many values.
  void reserve(size_t values);
  /// What comes is never one of the values that are there, which are not looked for any more.
  void forget();
  /// Nothing will be looked for any more, and no hash asked for.
  void finish();

  uint32_t size() const { return static_cast<uint32_t>(values_.size()); }
  ByteView value(uint32_t number) const { return values_[number]; }
  uint64_t hash_of(uint32_t number) const { return hashes_[number]; }
  size_t memory() const;

 private:
  void grow();
  bool is_same(ByteView one, ByteView other) const {
    if (one == other) return true;
    if (equality_ == Collation::Equality::Bytes) return false;
    const bool same = equality_ == Collation::Equality::Weights
                          ? collation_->compare(one, other) == 0
                          : without_trailing_spaces(one) == without_trailing_spaces(other);
    if (same && variants_ != nullptr) variants_->store(true, std::memory_order_relaxed);
    return same;
  }

  const Collation* collation_;
  Collation::Equality equality_;
  std::atomic<bool>* variants_;
  std::unique_ptr<Arena> bytes_ = std::make_unique<Arena>();
  PageVector<ByteView> values_;
  PageVector<uint64_t> hashes_;
  PageVector<uint64_t> slots_;  // upper half of the hash, and the number + 1; 0: free
  uint32_t first_ = 0;          // of those that are not forgotten
  std::string weights_;
};

}  // namespace hailstone

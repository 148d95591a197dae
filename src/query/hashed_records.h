// Records of what a query has met, with the hashes by which they are divided among partitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace hailstone {

/// What records are of.
enum class RecordKind : uint8_t {
  Groups,
  Rows,  // single ones: groups of one row each, or rows of a join
  Pairs,
};

constexpr size_t record_kinds = 3;

/// Records of one kind, one after the other.
struct HashedRecords {
  RecordKind kind = RecordKind::Groups;
  std::string bytes;
  std::vector<size_t> places;    // where each begins
  std::vector<uint64_t> hashes;  // of each: equal for what must come together

  size_t size() const { return places.size(); }
  ByteView record(size_t number) const {
    const size_t end = number + 1 < places.size() ? places[number + 1] : bytes.size();
    return ByteView(bytes).substr(places[number], end - places[number]);
  }
};

}  // namespace hailstone

// Hashes of the keys of rows, by which both sides of a join are divided: equal keys have equal ones, those
// of texts by their collation's weights. Belongs to one thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "query/join/build_rows.h"
#include "query/value_set.h"

namespace hailstone {

class KeyHashes {
 public:
  enum class Side : uint8_t { Probe, Build };
  /// `keys`: the positions of the key's columns in the batches. The columns outlive it.
  KeyHashes(const BuildColumns& columns, Side side, std::vector<uint16_t> keys);

  /// Of each row; valid until the next call.
  std::span<const uint64_t> hash(const RowBatch& batch);
  /// Of each row of the batch: 0 where its key is equal to none.
  std::span<const uint8_t> valid() const { return valid_; }

 private:
  struct Text {
    std::optional<ValueSet> hasher;
    std::shared_ptr<const Dictionary> dictionary = {};
    std::vector<uint64_t> hashes = {};  // of its codes
    std::vector<uint8_t> known = {};    // which of them are there
  };
  void read_texts(size_t key, const ColumnVector& vector, uint32_t rows);

  const BuildColumns& columns_;
  const Side side_;
  const std::vector<uint16_t> keys_;
  std::vector<Text> texts_;
  std::vector<uint64_t> values_, hashes_;
  std::vector<uint8_t> valid_;
};

}  // namespace hailstone

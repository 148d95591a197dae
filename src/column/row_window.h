// Values of some columns of chosen rows of a segment, in any order: read block by block, so that each block
// is decoded once, however the rows lie. Belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "column/projection.h"

namespace hailstone {

class RowWindow {
 public:
  RowWindow(std::shared_ptr<const TableLayout> layout, std::vector<uint16_t> columns);
  /// `projection` must outlive the window.
  explicit RowWindow(const Projection& projection);
  RowWindow(const RowWindow&) = delete;
  RowWindow& operator=(const RowWindow&) = delete;

  /// Rows that are worth reading at once: fewer where they are long.
  static uint32_t good_rows(const Segment& segment);

  /// Replaces the rows by those with the given ordinals, at most batch_rows, each once.
  Status read(BlockReader& reader, std::span<const uint32_t> ordinals);
  /// The values of the `row`-th of them, one a column. Bytes are valid until the next read().
  void values(size_t row, std::span<Value> to) const;

 private:
  Status read_one(BlockReader& reader, uint32_t ordinal, std::span<Value> to);

  const std::unique_ptr<const Projection> own_;
  const Projection& projection_;
  const size_t few_rows_;  // of a block, which are read one by one
  Batch batch_;
  bool in_batch_ = false;  // the rows are those of batch_; else they were copied
  std::vector<Value> copied_;
  Arena copied_bytes_;
  Arena scratch_;
  std::vector<uint32_t> by_ordinal_;  // positions of the rows, by ascending ordinal
  std::vector<uint16_t> in_block_;
};

}  // namespace hailstone

// The rows of a RowBlock, one by one. Belongs to the connection's thread.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "query/row_source.h"
#include "row_block.h"

namespace hailstone {

class QueryRows {
 public:
  /// Opens the rows. Where keys of joins may fail, no row comes before the joins have read theirs.
  using Open = std::function<Result<std::unique_ptr<RowSource>>()>;
  QueryRows(RowBlock& block, BlockRun& run, Open open) : block_(block), run_(run), open_(std::move(open)) {}

  bool is_open() const { return rows_ != nullptr; }
  void close() {
    rows_ = nullptr;
    any_given_ = false;
  }

  Result<bool> next() {
    Result<bool> found = find();
    while (!found && !any_given_ && block_.wants_other_plan()) {
      rows_ = nullptr;
      block_.take_other_plan(run_);
      found = find();
    }
    any_given_ = any_given_ || (found && *found);
    return found;
  }
  /// Goes up to so many rows on, at least one if there is one; how many.
  Result<uint64_t> pass(uint64_t wanted) {
    HAILSTONE_ASSIGN(const bool found, next());
    if (!found) return 0;
    return 1 + (wanted > 1 ? rows_->skip(wanted - 1) : 0);
  }
  const RowSource& rows() const { return *rows_; }

 private:
  Result<bool> find() {
    if (rows_ == nullptr) {
      HAILSTONE_ASSIGN(rows_, open_());
    }
    return rows_->next();
  }
  RowBlock& block_;
  BlockRun& run_;
  const Open open_;
  std::unique_ptr<RowSource> rows_;
  bool any_given_ = false;
};

}  // namespace hailstone

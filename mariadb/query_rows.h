// The rows of a RowBlock, one by one: by programs as far as these go, and from there on by the server's
// items. Belongs to the connection's thread.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/check.h"
#include "query/row_source.h"

namespace hailstone {

class QueryRows {
 public:
  /// Opens the rows: `by_program` false: all expressions are the server's. They come in the same order,
  /// unless programs end before the first row or not at all.
  using Open = std::function<Result<std::unique_ptr<RowSource>>(bool by_program)>;
  /// Asked once rows have ended with ErrorCode::Unsupported before one was given, and are closed: whether
  /// they did to be made in another way.
  using Change = std::function<bool()>;
  QueryRows(Open open, Change change) : open_(std::move(open)), change_(std::move(change)) {}

  bool is_open() const { return rows_ != nullptr; }
  void close() {
    rows_ = nullptr;
    by_program_ = true;
    given_ = 0;
  }

  Result<bool> next() {
    Result<bool> found = find();
    while (!found && found.error().code() == ErrorCode::Unsupported && by_program_) {
      rows_ = nullptr;
      // Else a row has a value that only the server computes, or finds an error in.
      by_program_ = given_ == 0 && change_();
      if (!by_program_) HAILSTONE_TRY(skip_given());
      found = find();
    }
    if (found && *found) ++given_;
    return found;
  }
  /// Goes up to so many rows on, at least one if there is one; how many.
  Result<uint64_t> pass(uint64_t wanted) {
    HAILSTONE_ASSIGN(const bool found, next());
    if (!found) return 0;
    const uint64_t skipped = wanted > 1 ? rows_->skip(wanted - 1) : 0;
    given_ += skipped;
    return 1 + skipped;
  }
  const RowSource& rows() const { return *rows_; }

 private:
  Result<bool> find() {
    if (rows_ == nullptr) {
      HAILSTONE_ASSIGN(rows_, open_(by_program_));
    }
    return rows_->next();
  }
  Status skip_given() {
    for (uint64_t again = 0; again < given_; ++again) {
      HAILSTONE_ASSIGN(const bool there, find());
      HAILSTONE_CHECK(there, "{} rows are fewer than the {} that there were", again, given_);
    }
    return {};
  }

  const Open open_;
  const Change change_;
  std::unique_ptr<RowSource> rows_;
  bool by_program_ = true;
  uint64_t given_ = 0;
};

}  // namespace hailstone

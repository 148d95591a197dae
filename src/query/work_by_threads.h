// Work on a query's rows that several threads share.
#pragma once

#include <cstddef>
#include <functional>

#include "base/status.h"

namespace hailstone {

class QueryHost;
struct OperatorCounts;

/// Asked now and then whether long work is to go on.
using GoOn = std::function<Status()>;
/// What one thread does of the work; `part` is its number.
using PartWork = std::function<Status(unsigned part, const GoOn& go_on)>;

/// Runs `work` on up to `threads` threads, of which the caller's is part 0. A helper may never come: `work`
/// takes its share from what all parts have in common. The first error ends all, and is returned. `counts`:
/// of the operator whose work it is; may be null.
Status work_by_threads(const QueryHost& host, unsigned threads, OperatorCounts* counts, const PartWork& work);

/// The same of pieces of work: each number below `pieces` is one thread's. `go_on` is asked before each.
using PieceWork = std::function<Status(size_t piece, const GoOn& go_on)>;
Status each_by_threads(const QueryHost& host, unsigned threads, OperatorCounts* counts, size_t pieces,
                       const PieceWork& work);

/// What does work by some threads, for what knows of no query.
class Workers {
 public:
  /// work_by_threads(), whose arguments outlive this.
  Workers(const QueryHost& host, unsigned threads, OperatorCounts* counts);
  /// The caller's thread alone.
  explicit Workers(GoOn go_on);

  unsigned threads() const { return threads_; }
  Status each(size_t pieces, const PieceWork& work) const;

 private:
  const QueryHost* host_ = nullptr;
  unsigned threads_ = 1;
  OperatorCounts* counts_ = nullptr;
  GoOn go_on_;  // where there is no host
};

}  // namespace hailstone

#include "query/work_by_threads.h"

#include <atomic>
#include <optional>
#include <utility>

#include "base/guard.h"
#include "base/mutex.h"
#include "base/operator_counts.h"
#include "table/query_host.h"

namespace hailstone {

Status work_by_threads(const QueryHost& host, unsigned threads, OperatorCounts* counts,
                       const PartWork& work) {
  Mutex mutex;
  std::optional<Error> failure;  // guarded by it
  std::atomic<bool> failed{false};
  const auto work_guarded = [&](unsigned part) {
    const OperatorWork timed(counts, part);
    Status status = guarded([&] {
      const GoOn go_on = [&]() -> Status {
        if (failed.load(std::memory_order_relaxed))
          return fail(ErrorCode::Interrupted, "another thread of the statement has met an error");
        return part == 0 ? host.check_interruption() : host.check_interruption_seen();
      };
      return work(part, go_on);
    });
    if (status) return;
    const MutexLock guard(mutex);
    if (!failure) failure.emplace(std::move(status).error());
    failed.store(true, std::memory_order_relaxed);
  };
  host.run_with_helpers(threads, work_guarded);
  if (failure) return std::unexpected(std::move(*failure));
  return {};
}

Status each_by_threads(const QueryHost& host, unsigned threads, OperatorCounts* counts, size_t pieces,
                       const PieceWork& work) {
  std::atomic<size_t> next{0};
  return work_by_threads(host, threads, counts, [&](unsigned, const GoOn& go_on) -> Status {
    for (size_t piece = next++; piece < pieces; piece = next++) {
      HAILSTONE_TRY(go_on());
      HAILSTONE_TRY(work(piece, go_on));
    }
    return {};
  });
}

}  // namespace hailstone

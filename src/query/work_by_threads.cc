#include "query/work_by_threads.h"

#include <algorithm>
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
  const auto used = static_cast<unsigned>(std::min<size_t>(threads, pieces));
  return work_by_threads(host, used, counts, [&](unsigned, const GoOn& go_on) -> Status {
    for (size_t piece = next++; piece < pieces; piece = next++) {
      HAILSTONE_TRY(go_on());
      HAILSTONE_TRY(work(piece, go_on));
    }
    return {};
  });
}

Workers::Workers(const QueryHost& host, unsigned threads, OperatorCounts* counts)
    : host_(&host), threads_(threads), counts_(counts) {}

Workers::Workers(GoOn go_on) : go_on_(std::move(go_on)) {}

Status Workers::each(size_t pieces, const PieceWork& work) const {
  if (host_ != nullptr) return each_by_threads(*host_, threads_, counts_, pieces, work);
  for (size_t piece = 0; piece < pieces; ++piece) {
    HAILSTONE_TRY(go_on_());
    HAILSTONE_TRY(work(piece, go_on_));
  }
  return {};
}

}  // namespace hailstone

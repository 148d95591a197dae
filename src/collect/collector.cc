#include "collect/collector.h"

#include <fmt/format.h>
#include <mysql.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "collect/delivery.h"
#include "collect/event_log.h"
#include "collect/intake.h"

namespace hailstone {
namespace {

/// How long the oldest record that waits has been waiting. One thread.
class Lag {
 public:
  /// In seconds; to be asked often, as it knows the moments of asking only.
  double of(uint64_t acknowledged, uint64_t passed) {
    const auto now = Clock::now();
    if (marks_.empty() ? acknowledged > passed : acknowledged > marks_.back().second) {
      marks_.emplace_back(now, acknowledged);
      // Of a long backlog every other moment will do.
      if (marks_.size() > most_marks) {
        for (size_t i = 0; i < most_marks / 2; ++i) marks_[i] = marks_[2 * i + 1];
        marks_.erase(marks_.begin() + most_marks / 2, marks_.end() - 1);
      }
    }
    while (!marks_.empty() && marks_.front().second <= passed) marks_.pop_front();
    if (marks_.empty()) return 0;
    return std::chrono::duration<double>(now - marks_.front().first).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t most_marks = 4096;
  std::deque<std::pair<Clock::time_point, uint64_t>> marks_;  // how many records were acknowledged then
};

/// What both threads of a stream use.
struct Stream {
  Stream(const CollectConfig& all, const StreamConfig& stream, std::unique_ptr<Spool> opened,
         const Stop& stop, bool once)
      : config(stream),
        spool(std::move(opened)),
        rejects(posix_filesystem(), stream.reject_file),
        intake(stream, *spool, rejects, stop, once),
        delivery(all, stream, *spool, rejects, stop) {}

  /// The caller's thread only.
  StreamState state() {
    // In this order, as no record is delivered before it is passed, or passed before it is acknowledged.
    const uint64_t delivered = delivery.delivered();
    const uint64_t passed = delivery.passed();
    const Spool::State at = spool->state();
    std::string trouble = delivery.trouble();
    if (trouble.empty()) trouble = intake.trouble();
    return {.name = config.name,
            .acknowledged = at.end,
            .delivered = delivered,
            .waiting = at.end - passed,
            .rejected = rejects.count(),
            .spool_bytes = at.bytes,
            .lag_seconds = lag.of(at.end, passed),
            .trouble = std::move(trouble)};
  }

  const StreamConfig& config;
  const std::unique_ptr<Spool> spool;
  RejectFile rejects;
  Intake intake;
  Delivery delivery;
  Lag lag;
};

}  // namespace

Status collect(const CollectConfig& config, const CollectOptions& options, Stop& stop) {
  HAILSTONE_TRY(posix_filesystem().make_directory(config.spool.directory));
  std::vector<std::unique_ptr<Stream>> streams;
  for (const StreamConfig& stream : config.streams) {
    HAILSTONE_ASSIGN(auto spool,
                     Spool::open(posix_filesystem(), {.directory = config.spool.directory + "/" + stream.name,
                                                      .limit_bytes = config.spool.limit_bytes}));
    const Spool::State state = spool->state();
    log_event(stream.name, state.end == 0 ? "a new spool begins"
                                          : fmt::format("the spool has the records from {} to {}",
                                                        state.begin, state.end));
    streams.push_back(std::make_unique<Stream>(config, stream, std::move(spool), stop, options.once));
  }

  Mutex mutex;
  Status first;  // the first error
  const auto end = [&](const std::string& name, const Status& status, bool ends_all = true) {
    if (status) return;
    MutexLock lock(mutex);
    // The first one is the caller's to tell.
    if (first) {
      first = status;
    } else {
      log_event(name, status.error().message());
    }
    if (ends_all) stop.request();
  };
  // The client library is made ready before there are threads.
  if (mysql_library_init(0, nullptr, nullptr) != 0) {
    return fail(ErrorCode::InvalidArgument, "MariaDB's client library cannot be initialised");
  }
  std::vector<std::thread> threads;
  std::atomic<size_t> running{2 * streams.size()};  // threads of streams
  std::optional<SummaryRun> summaries;
  std::atomic<bool> summarising{!config.summaries.empty()};
  if (summarising) {
    summaries.emplace(config, stop);
    threads.emplace_back([&] {
      mysql_thread_init();
      end("summaries", summaries->run());
      mysql_thread_end();
      summarising = false;
    });
  }
  for (const auto& each : streams) {
    Stream& stream = *each;
    threads.emplace_back([&] {
      // With `once` all sources end by themselves, and what has been read of them is delivered.
      end(stream.config.name, stream.intake.run(), !options.once);
      stream.delivery.finish();
      --running;
    });
    threads.emplace_back([&] {
      mysql_thread_init();
      end(stream.config.name, stream.delivery.run());
      mysql_thread_end();
      --running;
    });
  }
  while (running > 0 || summarising) {
    if (options.watch) {
      CollectState state;
      for (const auto& stream : streams) state.streams.push_back(stream->state());
      if (summaries) state.summaries = summaries->state();
      options.watch(state);
    }
    // Short ones, as the threads may end at any time.
    for (int i = 0; i < 25 && (running > 0 || summarising); ++i) {
      if (running == 0) summaries->finish();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  for (std::thread& thread : threads) thread.join();
  mysql_library_end();
  for (const auto& stream : streams) {
    const StreamState state = stream->state();
    log_event(state.name, fmt::format("{} of {} records delivered, {} rejected since the start",
                                      state.delivered, state.acknowledged, state.rejected));
  }
  if (summaries) {
    const SummaryState state = summaries->state();
    log_event("summaries", fmt::format("{} jobs done, {} failed", state.done, state.failed));
  }
  return first;
}

}  // namespace hailstone

#include "database/maintenance.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <limits>

#include "base/guard.h"
#include "base/kept_pages.h"
#include "database/checkpoint.h"
#include "database/core.h"
#include "database/state_recorder.h"

namespace hailstone {
namespace {

using namespace std::chrono_literals;

constexpr auto tick_interval = 50ms;
constexpr auto sync_interval = 1s;
constexpr auto memory_interval = 250ms;
constexpr auto retry_pause = 1s;
/// When files have gone, this part of the log's length at a checkpoint is worth one.
constexpr size_t early_share = 8;
/// So many tables beyond the limit of open ones are worth a checkpoint, without which they cannot be closed.
constexpr size_t unrecorded_tables = 1000;
/// So many tables are flushed at once for a writer that waits for memory. Rows of open transactions cannot
/// be, so that some may be asked in vain.
constexpr size_t tables_for_room = 64;

}  // namespace

Result<std::unique_ptr<Maintenance>> Maintenance::start(DatabaseCore& core) {
  std::unique_ptr<Maintenance> maintenance(new Maintenance(core));
  Maintenance* self = maintenance.get();
  const auto on_error = [self](const Error& error) { self->report("background work", error); };
  HAILSTONE_ASSIGN(maintenance->scheduler_, Scheduler::start(core.options().background_threads, on_error));
  HAILSTONE_ASSIGN(maintenance->ticker_, Scheduler::start(1, on_error));
  const bool submitted = maintenance->ticker_->submit(WorkClass::Flush, [self]() -> Status {
    self->tick_until_stopped();
    return {};
  });
  if (!submitted) return fail(ErrorCode::InvalidArgument, "background work was stopped while it started");
  return maintenance;
}

void Maintenance::stop() {
  {
    const MutexLock guard(mutex_);
    stopping_ = true;
    retries_.clear();
  }
  woken_.notify_all();
  if (ticker_ != nullptr) ticker_->stop();
  if (scheduler_ != nullptr) scheduler_->stop();
  std::shared_ptr<Scheduler> helpers;
  {
    const MutexLock guard(mutex_);
    queued_.clear();
    helpers.swap(helpers_);
  }
  if (helpers != nullptr) helpers->stop();
}

void Maintenance::request_flush(const std::shared_ptr<Table>& table, bool force) {
  request(table, force ? Kind::ForcedFlush : Kind::Flush);
}

void Maintenance::request_merge(const std::shared_ptr<Table>& table) {
  // What it made would be in memory.
  if (!core_.options().read_only) request(table, Kind::Merge);
}

void Maintenance::request_analysis(const std::shared_ptr<Table>& table) { request(table, Kind::Analysis); }

void Maintenance::request(const std::shared_ptr<Table>& table, Kind kind) {
  const WorkKey key{table->id(), kind};
  {
    const MutexLock guard(mutex_);
    if (stopping_ || !queued_.emplace(key, table).second) return;
  }
  const bool is_flush = kind == Kind::Flush || kind == Kind::ForcedFlush;
  std::atomic<uint64_t>* const backlog = is_flush              ? &core_.counters().flush_backlog
                                         : kind == Kind::Merge ? &core_.counters().merge_backlog
                                                               : nullptr;
  if (backlog != nullptr) count(*backlog);
  const auto left = [backlog] {
    if (backlog != nullptr) backlog->fetch_sub(1, std::memory_order_relaxed);
  };
  const WorkClass work_class = is_flush ? WorkClass::Flush : WorkClass::Merge;
  const auto job = [this, key, left]() -> Status {
    std::shared_ptr<Table> wanted;
    {
      // From here on a new request means new work.
      const MutexLock guard(mutex_);
      const auto found = queued_.find(key);
      wanted = std::move(found->second);
      queued_.erase(found);
    }
    left();
    const Status status = guarded([&] { return work(wanted, key.kind); });
    if (!status && status.error().code() == ErrorCode::Interrupted) return {};  // stop()
    if (!status) {
      try_to([&] {
        const std::string_view what = key.kind == Kind::Merge      ? "merging"
                                      : key.kind == Kind::Analysis ? "analyzing"
                                                                   : "flushing";
        report(fmt::format("{} table '{}'", what, wanted->definition().name), status.error());
      });
      // Nothing but a repair helps a corrupt table.
      try_to([&] {
        if (wanted->usable()) retry_later(wanted, key.kind);
      });
    }
    return {};
  };
  if (try_to_submit(work_class, job)) return;
  left();
  const MutexLock guard(mutex_);
  queued_.erase(key);
}

Status Maintenance::work(const std::shared_ptr<Table>& table, Kind kind) {
  if (core_.catalog().find(table->id()) == nullptr) return {};  // dropped meanwhile
  if (kind == Kind::Merge) {
    HAILSTONE_ASSIGN(const bool more, table->merge(scheduler_->stop_token()));
    if (more) request_merge(table);
    return {};
  }
  if (kind == Kind::Analysis) return table->analyze(scheduler_->stop_token());
  // What waits for an open transaction is asked for again when that ends.
  HAILSTONE_TRY(table->flush(kind == Kind::ForcedFlush));
  return {};
}

void Maintenance::retry_later(const std::shared_ptr<Table>& table, Kind kind) {
  const MutexLock guard(mutex_);
  if (!stopping_) retries_.emplace(Clock::now() + retry_pause, std::pair(table, kind));
}

void Maintenance::report(const std::string& what, const Error& error) {
  try_to([&] { report_unguarded(what, error); });
}

void Maintenance::report_unguarded(const std::string& what, const Error& error) {
  count(core_.counters().background_errors);
  const std::string message = fmt::format("{} failed: {}; it will be tried again", what, error.message());
  {
    const MutexLock guard(mutex_);
    // Said once, not each second.
    if (message == last_report_) return;
    last_report_ = message;
  }
  core_.log_message(DatabaseOptions::Severity::Error, message);
}

std::shared_ptr<Scheduler> Maintenance::helpers() {
  const MutexLock guard(mutex_);
  if (helpers_ == nullptr && !stopping_) {
    auto started = Scheduler::start(ProcessorTurns::available(), [this](const Error& error) {
      report("help of a query or a load", error);
    });
    // Without threads each does its work alone.
    if (started) helpers_ = std::move(*started);
  }
  return helpers_;
}

void Maintenance::run(std::function<void()> job) {
  // Shared, so that the job is still here when no thread took it.
  const auto shared = std::make_shared<std::function<void()>>(std::move(job));
  Scheduler::Task task = [shared]() -> Status {
    (*shared)();
    return {};
  };
  const auto helpers = this->helpers();
  if (helpers == nullptr || !helpers->submit_if_free(WorkClass::Query, task)) (*shared)();
}

void Maintenance::wait() { scheduler_->drain(); }

void Maintenance::tick_until_stopped() {
  const MutexLock guard(mutex_);
  for (;;) {
    const auto next_tick = Clock::now() + tick_interval;
    while (!stopping_ && !room_wanted_ && woken_.wait_until(mutex_, next_tick)) {
    }
    if (stopping_) return;
    const bool room_wanted = std::exchange(room_wanted_, false);
    const MutexUnlock unlocked(mutex_);
    // What has no memory now is done at a later tick.
    try_to([&] {
      // What is under way may give enough.
      if (room_wanted && scheduler_->unfinished(WorkClass::Flush) == 0) flush_greatest(0, tables_for_room);
      tick();
    });
  }
}

void Maintenance::tick() {
  const auto now = Clock::now();
  if (now >= next_sync_) {
    next_sync_ = now + sync_interval;
    sync_log();
    expire_snapshots();
  }
  if (now >= next_memory_look_) {
    flush_for_memory();
    care_for_memory_tables();
    merge_dead();
    trim_memory();
    KeptPages::of_process().release_idle(now);
    // Looking at a million tables must not be all that is done.
    next_memory_look_ = now + std::max<Clock::duration>(memory_interval, 8 * (Clock::now() - now));
  }
  if (log_failed_) return;
  start_checkpoint_if_due();
  finish_drops_if_due();
  close_tables_if_due();
  expire_rows_if_due();
  std::vector<std::pair<std::shared_ptr<Table>, Kind>> due;
  {
    const MutexLock guard(mutex_);
    const auto end = retries_.upper_bound(now);
    for (auto each = retries_.begin(); each != end; ++each) due.push_back(std::move(each->second));
    retries_.erase(retries_.begin(), end);
  }
  for (const auto& [table, kind] : due) request(table, kind);
}

void Maintenance::sync_log() {
  const Lsn end = core_.log->end();
  if (log_failed_ || core_.log->durable() >= end) return;
  // A log that cannot be written for the moment is tried again at the next tick.
  const Status status = core_.log->sync(end, [] { return true; });
  if (status || status.error().code() == ErrorCode::Interrupted) {
    if (const auto stall = core_.log->stall(); stall && !log_stalled_) {
      core_.log_message(DatabaseOptions::Severity::Warning,
                        fmt::format("{}; commits wait until the log can be written", stall->message()));
    }
    log_stalled_ = !status;
    return;
  }
  // The log takes nothing more, so neither checkpoints nor drops can succeed.
  log_failed_ = true;
  count(core_.counters().background_errors);
  core_.log_message(
      DatabaseOptions::Severity::Error,
      fmt::format(
          "the log cannot be written: {}; until the database is opened again it can be read, but not changed",
          status.error().message()));
}

void Maintenance::submit_once(Occasion Maintenance::*occasion, std::function<void()> job,
                              WorkClass work_class) {
  {
    const MutexLock guard(mutex_);
    Occasion& its = this->*occasion;
    if (its.queued || Clock::now() < its.not_before) return;
    its.queued = true;
  }
  const bool submitted = try_to_submit(work_class, [this, occasion, job = std::move(job)]() {
    try_to(job);
    const MutexLock guard(mutex_);
    (this->*occasion).queued = false;
    return Status();
  });
  if (submitted) return;
  const MutexLock guard(mutex_);
  (this->*occasion).queued = false;
}

bool Maintenance::checkpoint_due() {
  const uint64_t log_bytes = core_.checkpointer->log_bytes(), most = core_.checkpoint_log_bytes.load();
  if (log_bytes >= most) return true;
  // A checkpoint flushes all tables: not while others flush and merge, who may make it needless.
  if (!checkpoint_wanted_.load() || working()) return false;
  if (log_bytes >= most / early_share) return true;
  checkpoint_wanted_.store(false);
  return false;
}

void Maintenance::start_checkpoint_if_due() {
  if (!checkpoint_due()) return;
  submit_once(&Maintenance::checkpoint_, [this] {
    checkpoint_wanted_.store(false);
    const Status status = guarded([this] { return core_.checkpointer->run(); });
    if (!status) report("a checkpoint", status.error());
    const MutexLock guard(mutex_);
    // Also after success: transactions open for long may keep the log long.
    checkpoint_.not_before = Clock::now() + retry_pause;
  });
}

void Maintenance::finish_drops_if_due() {
  if (!core_.catalog().has_dropped()) return;
  submit_once(&Maintenance::drops_, [this] {
    const auto had_files = guarded([this] { return core_.recorder->finish_drops(); });
    if (had_files) {
      if (*had_files) request_checkpoint();
      return;
    }
    report("removing the files of dropped tables", had_files.error());
    const MutexLock guard(mutex_);
    drops_.not_before = Clock::now() + retry_pause;
  });
}

void Maintenance::close_tables_if_due() {
  if (core_.catalog().open_count() <= core_.open_tables.load()) return;
  submit_once(&Maintenance::closing_, [this] {
    if (const Status status = guarded([this] { return close_tables(); }); !status)
      report("closing tables", status.error());
  });
}

Status Maintenance::close_tables() {
  const size_t most = core_.open_tables.load();
  StateRecorder::Closed result = core_.recorder->close_idle(most);
  const bool checkpoint = result.unrecorded >= std::max(most, unrecorded_tables);
  if (checkpoint) {
    if (Status status = core_.checkpointer->run(); !status) {
      const MutexLock guard(mutex_);
      closing_.not_before = Clock::now() + retry_pause;
      return status;
    }
    result = core_.recorder->close_idle(most);
  }
  if (result.closed == 0) {
    // Who uses them all will do so for a while.
    const MutexLock guard(mutex_);
    closing_.not_before = Clock::now() + retry_pause;
  }
  return {};
}

void Maintenance::expire_snapshots() {
  const std::chrono::seconds age = core_.snapshot_too_old.load();
  if (age.count() == 0) return;
  const size_t expired = core_.transactions().expire_snapshots(Clock::now() - age);
  count(core_.counters().snapshots_expired, expired);
}

void Maintenance::expire_rows_if_due() {
  const std::chrono::seconds interval = core_.retention_interval.load();
  if (interval.count() == 0) return;
  {
    const MutexLock guard(mutex_);
    const Clock::duration pause = expire_again_ ? std::min<Clock::duration>(interval, retry_pause) : interval;
    if (expiry_begun_ && Clock::now() < *expiry_begun_ + pause) return;
  }
  submit_once(
      &Maintenance::expiry_,
      [this] {
        {
          const MutexLock guard(mutex_);
          expiry_begun_ = Clock::now();
        }
        const auto expired = guarded([this] { return core_.expire_rows(scheduler_->stop_token()); });
        if (!expired && expired.error().code() != ErrorCode::Interrupted)
          report("looking for expired rows", expired.error());
        const MutexLock guard(mutex_);
        expire_again_ = expired && expired->again;
      },
      WorkClass::Merge);
}

/// Evicted blocks leave holes that malloc keeps, and blocks of other sizes do not fit in: without this the
/// process outgrows the budget by a sixth when one table's blocks push out another's. So does the encoding of
/// segments, which uses the holes again as long as it goes on.
void Maintenance::trim_memory() {
#ifdef __GLIBC__
  constexpr uint64_t share = 16;
  const Counters& counters = core_.counters();
  const uint64_t evicted = counters.block_cache_evicted_bytes.load(std::memory_order_relaxed);
  const uint64_t encoded = counters.segment_write_bytes.load(std::memory_order_relaxed);
  const uint64_t worth = core_.budget().limit() / share;
  const bool at_rest = encoded - trimmed_.encoded >= worth && !working();
  if (evicted - trimmed_.evicted < worth && !at_rest) return;
  trimmed_ = {evicted, encoded};
  ::malloc_trim(0);
#endif
}

void Maintenance::request_room() {
  {
    const MutexLock guard(mutex_);
    room_wanted_ = true;
  }
  woken_.notify_all();
}

void Maintenance::care_for_memory_tables() {
  for (const auto& [entry, table] : core_.catalog().open_tables()) {
    if (!table->is_in_memory()) continue;
    // Rows that were deleted, and taken back, ask for nothing themselves.
    if (table->flush_due()) request_flush(table, false);
    if (table->merge_due()) request_merge(table);
  }
}

void Maintenance::request_merge_of_dead(const std::shared_ptr<Table>& table) {
  const MutexLock guard(mutex_);
  if (!stopping_ && !core_.options().read_only) with_dead_[table->id()] = {.table = table};
}

void Maintenance::merge_dead() {
  std::vector<std::shared_ptr<Table>> tables;
  {
    const MutexLock guard(mutex_);
    if (with_dead_.empty()) return;
    // What a snapshot needs it needs as long as it is the oldest.
    const Timestamp horizon = core_.transactions().horizon();
    for (auto& [id, each] : with_dead_) {
      if (std::exchange(each.looked_at, horizon) != horizon) tables.push_back(each.table.lock());
    }
    std::erase_if(with_dead_, [](const auto& each) { return each.second.table.expired(); });
  }
  for (const auto& table : tables) {
    if (table != nullptr) merge_dead(table);
  }
}

void Maintenance::merge_dead(const std::shared_ptr<Table>& table) {
  const bool is_dropped = core_.catalog().find(table->id()) == nullptr;
  if (!is_dropped) {
    const Table::MergeOfDead answer = table->merge_of_dead();
    if (answer == Table::MergeOfDead::Later) return;
    if (answer == Table::MergeOfDead::Now) request_merge(table);
  }
  const MutexLock guard(mutex_);
  // Not what was asked for since the look: nobody would ask again.
  const auto found = with_dead_.find(table->id());
  if (found != with_dead_.end() && found->second.looked_at != 0) with_dead_.erase(found);
}

void Maintenance::flush_for_memory() {
  // The block cache fills what is free, so what is used says little: what counts is how much of it the deltas
  // take.
  const size_t limit = core_.budget().limit();
  if (core_.counters().delta_bytes.load(std::memory_order_relaxed) < limit / 2) return;
  flush_greatest(limit / 4, std::numeric_limits<size_t>::max());
}

void Maintenance::flush_greatest(size_t bytes_left, size_t most_tables) {
  size_t left = core_.counters().delta_bytes.load(std::memory_order_relaxed);
  // A file for each of very many tables would take minutes: their rows leave memory as close_tables() closes
  // them.
  const bool closing = core_.catalog().open_count() > core_.open_tables.load();
  std::vector<std::pair<size_t, std::shared_ptr<Table>>> deltas;
  for (auto& [entry, table] : core_.catalog().open_tables()) {
    const size_t bytes = table->is_in_memory() ? 0 : table->delta_bytes();
    if (bytes > (closing ? most_closed_delta_bytes : 0)) {
      deltas.emplace_back(bytes, std::move(table));
    } else {
      table.reset();  // who closes tables waits until nobody holds them
    }
  }
  std::ranges::sort(deltas, std::ranges::greater(), [](const auto& each) { return each.first; });
  for (const auto& [bytes, table] : deltas) {
    if (left < bytes_left || most_tables-- == 0) break;
    left -= std::min(left, bytes);
    request_flush(table, true);
  }
}

}  // namespace hailstone

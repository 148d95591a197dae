#include "log/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/guard.h"
#include "base/hash.h"
#include "base/mutex.h"
#include "log/log_format.h"
#include "log/log_scan.h"

namespace hailstone {

namespace {

// Zeros are written ahead in steps as big as the file, between these: a small log stays small, a busy one
// seldom pays for it.
constexpr uint64_t smallest_step = uint64_t{64} << 10;
constexpr uint64_t greatest_step = uint64_t{4} << 20;

using Clock = std::chrono::steady_clock;
// A stall that nobody has looked at for so long is a new one.
constexpr auto forgotten_stall = std::chrono::seconds(2);
// A sync waits for others that are likely to want one, but no longer than this, nor than a sync takes; and
// when it has waited in vain, so many of the next ones do not, more each time.
constexpr auto longest_gathering = std::chrono::milliseconds(1);
constexpr unsigned most_syncs_at_once = 63;
// More than this is not kept in memory while the log is stalled.
constexpr size_t most_stalled_bytes = log_record_limit;

}  // namespace

// One thread at a time is the leader: it takes what is buffered, and writes and syncs it without holding the
// mutex, while others fill the next buffer or wait for it. Only the leader touches the files.
struct Log::State {
  State(Filesystem& filesystem_, Options options_, Counters& counters_)
      : filesystem(filesystem_), options(std::move(options_)), counters(counters_) {}

  Filesystem& filesystem;
  const Options options;
  Counters& counters;

  HeldTime mutex_held{counters.log_mutex_microseconds};
  Mutex mutex{mutex_held};
  Condition changed;  // the leader went, or an error came
  /// A thread that waits in reach() for the leader. It is woken when there is something for it to do: of many
  /// that commit, most wait for the next sync, not for this one.
  struct Waiter {
    const Lsn upto;
    const bool sync;
    bool woken = false;
    Condition wake{};
    Waiter* next;
  };
  Waiter* waiters HAILSTONE_GUARDED_BY(mutex) = nullptr;  // the last to come is the first
  size_t syncs_wanted HAILSTONE_GUARDED_BY(mutex) = 0;    // by waiters
  /// Of threads that commit again and again each waits for a sync, the leader included: so many were met at
  /// the last one. A sync for all of them takes the processor less than two, each for half of them.
  size_t committers HAILSTONE_GUARDED_BY(mutex) = 1;
  bool gathering HAILSTONE_GUARDED_BY(mutex) = false;  // the leader waits for them
  Condition gathered;
  unsigned syncs_at_once HAILSTONE_GUARDED_BY(mutex) = 0;  // left that wait for nobody
  unsigned gathered_in_vain HAILSTONE_GUARDED_BY(mutex) = 0;
  Clock::duration sync_took HAILSTONE_GUARDED_BY(mutex){};
  bool leading HAILSTONE_GUARDED_BY(mutex) = false;
  /// The leader starts a new file: nothing may be appended until it is there.
  bool rotating HAILSTONE_GUARDED_BY(mutex) = false;
  bool replayed HAILSTONE_GUARDED_BY(mutex) = false;  // appending is allowed
  /// The next batch: room for its header, then records; or nothing.
  std::string buffer HAILSTONE_GUARDED_BY(mutex);
  Lsn buffer_begin HAILSTONE_GUARDED_BY(mutex) = 0;  // position of the batch in `buffer`
  std::chrono::milliseconds write_timeout HAILSTONE_GUARDED_BY(mutex) = options.write_timeout;
  /// Why `batch` could not be written; it is tried again.
  std::optional<Error> stalled HAILSTONE_GUARDED_BY(mutex);
  Clock::time_point stalled_since HAILSTONE_GUARDED_BY(mutex), tried_at HAILSTONE_GUARDED_BY(mutex);
  Lsn end HAILSTONE_GUARDED_BY(mutex) = 0;      // of everything appended
  Lsn written HAILSTONE_GUARDED_BY(mutex) = 0;  // of what the system has
  Lsn durable HAILSTONE_GUARDED_BY(mutex) = 0;  // of what the disk has
  /// The failure after which nothing is written any more.
  std::optional<Error> error HAILSTONE_GUARDED_BY(mutex);
  /// Oldest first; the last one is `current`.
  std::vector<LogFileName> files HAILSTONE_GUARDED_BY(mutex);

  // Only the leader's: `leading` gives them to one thread, which needs no mutex.
  std::string batch;    // being written, or, while the log is stalled, to be written again
  Lsn batch_begin = 0;  // its position
  Lsn batch_end = 0;
  std::unique_ptr<WritableFile> current;
  std::vector<std::unique_ptr<WritableFile>> retired;  // older files with bytes not synced yet
  bool directory_changed = false;                      // a file was made and the directory not synced since
  uint64_t allocated = 0;                              // end of the zeros in `current`
  bool allocate_ahead = true;
  Lsn records_end = 0;  // end of the last batch with records
  Lsn claimed = 0;      // greatest durable position that a batch or file header names

  Mutex drop_mutex;  // one drop_before() at a time

  std::string path_of(Lsn begin) const { return options.directory + "/" + log_file_name(begin); }

  std::vector<LogFileName> files_now() HAILSTONE_EXCLUDES(mutex) {
    const MutexLock lock(mutex);
    return files;
  }

  std::optional<Error> unusable() const HAILSTONE_REQUIRES(mutex) {
    if (error) return error;
    if (!replayed)
      return Error(ErrorCode::InvalidArgument, "the log must be replayed before it is appended to");
    return std::nullopt;
  }

  Status write_to_current(ByteView bytes) {
    HAILSTONE_TRY(current->append(bytes));
    count(counters.log_writes);
    count(counters.log_write_bytes, bytes.size());
    allocated = std::max(allocated, current->size());
    return {};
  }

  void allocate_for(size_t bytes) {
    const uint64_t size = current->size();
    const uint64_t step = std::clamp(size, smallest_step, greatest_step);
    // Zeros below big batches would double what is written and save little.
    if (!allocate_ahead || size + bytes <= allocated || bytes > step / 8) return;
    if (current->preallocate(step)) {
      allocated += step;
      count(counters.log_writes);
      count(counters.log_write_bytes, step);
    } else {
      // Not an error: the log works without, and if the disk is full or broken the append that follows says
      // so.
      allocate_ahead = false;
    }
  }

  /// Makes the header of `batch`, whose records begin behind room for it.
  void complete_batch(Lsn begin, Lsn known_durable) {
    const ByteView records = ByteView(batch).substr(log_batch_header_size);
    encode(LogBatchHeader{.size = static_cast<uint32_t>(records.size()),
                          .begin = begin,
                          .durable = known_durable,
                          .records_checksum = checksum(records)},
           batch.data());
    batch_begin = begin;
    batch_end = begin + batch.size();
    claimed = std::max(claimed, known_durable);
    allocate_for(batch.size());
  }

  Status write_batch() {
    HAILSTONE_TRY(write_to_current(batch));
    if (batch.size() > log_batch_header_size) records_end = batch_end;
    return {};
  }

  /// After a failed write: makes the file what it was before.
  Status cut_off() {
    HAILSTONE_TRY(current->cut());
    allocated = current->size();
    return {};
  }

  Status sync_file(WritableFile& file) {
    count(counters.log_fsyncs);
    return file.sync();
  }

  /// Older files first: nothing in a file may be called durable before everything in those before it is.
  Status sync_files() {
    for (; !retired.empty(); retired.erase(retired.begin())) {
      HAILSTONE_TRY(sync_file(*retired.front()));
      HAILSTONE_TRY(retired.front()->close());
    }
    if (directory_changed) {
      HAILSTONE_TRY(filesystem.sync_directory(options.directory));
      directory_changed = false;
    }
    return sync_file(*current);
  }

  /// Makes the file that begins at `begin` and its header, both not synced. After an error `current` is as
  /// before, but a file may be there.
  Status create_file(const std::string& path, Lsn begin, Lsn known_durable) {
    retired.reserve(retired.size() + 1);
    HAILSTONE_ASSIGN(auto file, filesystem.create(path));
    directory_changed = true;
    const std::string header = encode(LogFileHeader{.begin = begin, .durable = known_durable});
    HAILSTONE_TRY(file->append(header));
    count(counters.log_writes);
    count(counters.log_write_bytes, header.size());
    if (current != nullptr) retired.push_back(std::move(current));
    current = std::move(file);
    allocated = current->size();
    allocate_ahead = true;
    claimed = std::max(claimed, known_durable);
    return {};
  }

  /// Takes back what create_file() did before it failed. The file must be gone for good before the log goes
  /// on in the one before it, or a crash would bring it to light beside what was written since.
  Status uncreate_file(const std::string& path) {
    if (!filesystem.exists(path)) return {};
    HAILSTONE_TRY(filesystem.remove(path));
    return filesystem.sync_directory(options.directory);
  }

  void fail_for_good(const Error& reason) noexcept HAILSTONE_REQUIRES(mutex) {
    constexpr const char* consequence = "; nothing can be committed until the database has been opened again";
    if (!error) {
      error = no_memory();
      try_to([&]()
                 HAILSTONE_REQUIRES(mutex) { error = Error(reason.code(), reason.message() + consequence); });
    }
    stalled.reset();
  }

  /// A write has failed.
  void stall_on(const Error& reason, const Status& cut) noexcept HAILSTONE_REQUIRES(mutex) {
    const auto now = Clock::now();
    if (!stalled) count(counters.log_stalls);
    if (!stalled || now - tried_at > forgotten_stall) stalled_since = now;
    tried_at = now;
    stalled = no_memory();
    try_to([&]() HAILSTONE_REQUIRES(mutex) { stalled = reason; });
    if (!cut) {
      try_to([&]() HAILSTONE_REQUIRES(mutex) {
        const std::string why = fmt::format("{}; what was written of it cannot be cut off either: {}",
                                            reason.message(), cut.error().message());
        fail_for_good(Error(reason.code(), why));
      });
      fail_for_good(reason);
    } else if (now - stalled_since >= write_timeout) {
      fail_for_good(reason);
    }
  }

  bool reached(Lsn upto, bool sync) const HAILSTONE_REQUIRES(mutex) {
    return (sync ? durable : written) >= upto;
  }

  /// The leader has gone: wakes those that have what they wait for, and one of the others, which leads in its
  /// turn. All of them, when the log is stalled or has failed.
  void wake() noexcept HAILSTONE_REQUIRES(mutex) {
    Waiter* staying = nullptr;
    bool leader_woken = false;
    for (Waiter *waiter = waiters, *next = nullptr; waiter != nullptr; waiter = next) {
      next = waiter->next;
      if (!stalled && !error && !reached(waiter->upto, waiter->sync) && std::exchange(leader_woken, true)) {
        waiter->next = std::exchange(staying, waiter);
      } else {
        waiter->woken = true;
        if (waiter->sync) --syncs_wanted;
        waiter->wake.notify_one();
      }
    }
    waiters = staying;
    changed.notify_all();
  }

  void wait_for_leader(Lsn upto, bool sync) HAILSTONE_REQUIRES(mutex) {
    Waiter waiter{.upto = upto, .sync = sync, .next = waiters};
    waiters = &waiter;
    if (sync && ++syncs_wanted + 1 >= committers && gathering) gathered.notify_one();
    while (!waiter.woken) waiter.wake.wait(mutex);
  }

  /// Waits until as many as before want a sync.
  void gather() HAILSTONE_REQUIRES(mutex) {
    if (syncs_wanted + 1 >= committers) return;
    if (syncs_at_once != 0) {
      --syncs_at_once;
      return;
    }
    const auto end_of_wait = Clock::now() + std::min<Clock::duration>(sync_took, longest_gathering);
    gathering = true;
    while (syncs_wanted + 1 < committers && gathered.wait_until(mutex, end_of_wait)) {
    }
    gathering = false;
    const bool in_vain = syncs_wanted + 1 < committers;
    gathered_in_vain = in_vain ? std::min(2 * gathered_in_vain + 1, most_syncs_at_once) : 0;
    syncs_at_once = gathered_in_vain;
  }

  /// Writes what is to be written again, or else all that is buffered, and syncs when asked. Called
  /// with nobody leading; releases the mutex meanwhile.
  void lead(bool sync) noexcept HAILSTONE_REQUIRES(mutex) {
    leading = true;
    if (sync && !stalled) gather();
    const bool again = stalled.has_value();
    if (!again) batch.swap(buffer);
    const size_t gathered_now = syncs_wanted + 1;
    const auto start = Clock::now();
    const Lsn begin = buffer_begin;
    const Lsn target = again ? batch_end : end;
    const Lsn known_durable = durable;
    Status wrote, cut, synced;
    {
      const MutexUnlock unlocked(mutex);
      if (!batch.empty()) {
        if (!again) complete_batch(begin, known_durable);
        wrote = guarded([&] { return write_batch(); });
        if (!wrote) cut = guarded([&] { return cut_off(); });
      }
      if (wrote) {
        // A buffer that one huge record has grown is given back.
        if (batch.capacity() > 2 * options.buffer_bytes) batch = std::string();
        batch.clear();
        if (sync) synced = guarded([&] { return sync_files(); });
      }
    }
    leading = false;
    if (sync) {
      sync_took = Clock::now() - start;
      // Those who came meanwhile wait for the next one.
      committers = std::max(gathered_now, syncs_wanted + 1);
    }
    if (!wrote) {
      stall_on(wrote.error(), cut);
    } else {
      stalled.reset();
      if (!synced) {
        fail_for_good(synced.error());
      } else {
        written = std::max(written, target);
        if (sync) durable = std::max(durable, target);
      }
    }
    wake();
  }

  /// Of rotate(), when all before is written and nobody is leading.
  Status start_file() HAILSTONE_REQUIRES(mutex) {
    if (error) return std::unexpected(*error);
    if (stalled) return std::unexpected(*stalled);
    LogFileName made{end, path_of(end)};
    files.reserve(files.size() + 1);
    const Lsn known_durable = durable;
    leading = true;
    Status created, undone;
    {
      const MutexUnlock unlocked(mutex);
      created = guarded([&] { return create_file(made.path, made.begin, known_durable); });
      if (!created) undone = guarded([&] { return uncreate_file(made.path); });
    }
    leading = false;
    if (!undone) fail_for_good(undone.error());
    if (!created) return created;
    end = written = made.begin + log_file_header_size;
    files.push_back(std::move(made));
    return {};
  }

  /// Waits for the next try to write, or makes it. Called with nobody leading.
  Status wait_for_stall(const Interruption& interrupted) HAILSTONE_REQUIRES(mutex) {
    const Error reason = *stalled;
    const auto next_try = tried_at + options.retry_pause;
    if (Clock::now() >= next_try) {
      lead(false);
      if (!stalled) return {};
    }
    if (interrupted) {
      if (asked_to_stop(interrupted)) {
        return fail(ErrorCode::Interrupted,
                    fmt::format("the wait for the log was interrupted, which cannot be "
                                "written at present: {}",
                                reason.message()));
      }
    }
    changed.wait_for(mutex, options.retry_pause);
    return {};
  }

  bool asked_to_stop(const Interruption& interrupted) HAILSTONE_REQUIRES(mutex) {
    const MutexUnlock unlocked(mutex);
    return interrupted();
  }

  Status reach(Lsn upto, bool sync, const Interruption& interrupted) {
    const MutexLock lock(mutex);
    upto = std::min(upto, end);
    for (;;) {
      if (reached(upto, sync)) return {};
      if (auto reason = unusable()) return std::unexpected(*reason);
      if (leading) {
        wait_for_leader(upto, sync);
      } else if (stalled) {
        HAILSTONE_TRY(wait_for_stall(interrupted));
      } else {
        lead(sync);
      }
    }
  }

  Status wait_for_room(const Interruption& interrupted) {
    const MutexLock lock(mutex);
    while (stalled && buffer.size() >= options.buffer_bytes) {
      if (leading) {
        changed.wait(mutex);
      } else if (!wait_for_stall(interrupted) && stalled) {
        return std::unexpected(*stalled);
      }
    }
    return {};
  }
};

Log::Log() = default;

Log::~Log() {
  if (state_ == nullptr) return;
  State& state = *state_;
  const MutexLock lock(state.mutex);
  if (!state.replayed || state.error || state.stalled || !state.buffer.empty() || state.durable != state.end)
    return;
  if (state.claimed >= state.records_end) return;
  // An empty batch that says how far the log is durable, so that damage to the last records is later known
  // for what it is. It is worth a try only: without it all is well too, but damage there would pass for a
  // tail that was never durable.
  try_to([&]() HAILSTONE_REQUIRES(state.mutex) {
    state.batch.assign(log_batch_header_size, '\0');
    state.complete_batch(state.end, state.durable);
    static_cast<void>(state.write_batch());
  });
}

Result<std::unique_ptr<Log>> Log::open(Filesystem& filesystem, Options options, Counters& counters) {
  std::unique_ptr<Log> log(new Log);
  log->state_ = std::make_unique<State>(filesystem, std::move(options), counters);
  State& state = *log->state_;
  HAILSTONE_ASSIGN(const auto names, filesystem.list(state.options.directory));
  const MutexLock lock(state.mutex);
  for (const std::string& name : names) {
    if (const auto begin = parse_log_file_name(name)) state.files.push_back({*begin, state.path_of(*begin)});
  }
  std::ranges::sort(state.files, {}, &LogFileName::begin);
  if (state.files.empty()) {
    HAILSTONE_TRY(state.create_file(state.path_of(0), 0, 0));
    HAILSTONE_TRY(state.sync_files());
    HAILSTONE_TRY(state.current->close());
    state.current = nullptr;
    state.files.push_back({0, state.path_of(0)});
  }
  return log;
}

Status Log::scan(Lsn from, const std::function<Status(const LogRecord&)>& visit) {
  HAILSTONE_TRY(scan_log(state_->filesystem, state_->files_now(), from, visit, &state_->counters));
  return {};
}

Status Log::replay(Lsn from, const std::function<Status(const LogRecord&)>& apply) {
  State& state = *state_;
  {
    const MutexLock lock(state.mutex);
    if (state.replayed) return fail(ErrorCode::InvalidArgument, "the log has been replayed already");
  }
  HAILSTONE_ASSIGN(const LogEnd found,
                   scan_log(state.filesystem, state.files_now(), from, apply, &state.counters));
  const MutexLock lock(state.mutex);
  // What is behind the end must be gone for good before anything new gets the same positions.
  if (found.file + 1 < state.files.size()) {
    while (state.files.size() > found.file + 1) {
      HAILSTONE_TRY(state.filesystem.remove(state.files.back().path));
      state.files.pop_back();
    }
    state.directory_changed = true;
  }
  const LogFileName& last = state.files.back();
  state.end = found.end;
  state.records_end = found.records_end;
  state.claimed = found.durable;
  if (found.end == last.begin) {
    HAILSTONE_TRY(state.create_file(last.path, last.begin, last.begin));
    state.end = last.begin + log_file_header_size;
  } else {
    HAILSTONE_TRY(state.filesystem.truncate(last.path, found.end - last.begin));
    HAILSTONE_ASSIGN(state.current, state.filesystem.append_to(last.path));
    state.allocated = state.current->size();
  }
  // What was replayed may have been only in the system's memory; from now on it counts as committed. The
  // directory may not know the last file either.
  for (size_t older = 0; older + 1 < state.files.size(); ++older) {
    if (state.files[older + 1].begin <= from) continue;
    HAILSTONE_ASSIGN(auto file, state.filesystem.append_to(state.files[older].path));
    state.retired.push_back(std::move(file));
  }
  state.directory_changed = true;
  HAILSTONE_TRY(state.sync_files());
  state.written = state.durable = state.end;
  state.replayed = true;
  return {};
}

Result<Lsn> Log::append(LogRecordType type, ByteView payload) {
  State& state = *state_;
  if (payload.size() > log_record_limit) {
    return fail(
        ErrorCode::RowTooLarge,
        fmt::format(
            "a log record of {} bytes exceeds the limit of {}; change fewer or smaller rows at a time",
            payload.size(), log_record_limit));
  }
  const size_t size = log_record_header_size + payload.size();
  const MutexLock lock(state.mutex);
  for (;;) {
    if (state.error) return fail(ErrorCode::ReadOnly, state.error->message());
    if (auto reason = state.unusable()) return std::unexpected(*reason);
    const bool fits = state.buffer.empty() || state.buffer.size() + size <= state.options.buffer_bytes;
    if (state.stalled && !fits && state.buffer.size() + size > most_stalled_bytes)
      return std::unexpected(*state.stalled);
    if ((fits || state.stalled) && !state.rotating) break;
    if (state.leading) {
      state.changed.wait(state.mutex);
    } else {
      state.lead(false);
    }
  }
  // First, so that a record is never in there by half.
  const size_t wanted = std::max(state.buffer.size(), log_batch_header_size) + size;
  if (wanted > state.buffer.capacity()) state.buffer.reserve(std::max(wanted, 2 * state.buffer.capacity()));
  if (state.buffer.empty()) {
    state.buffer.resize(log_batch_header_size);
    state.buffer_begin = state.end;
    state.end += log_batch_header_size;
  }
  append_number(state.buffer, static_cast<uint32_t>(payload.size()));
  append_number(state.buffer, static_cast<uint8_t>(type));
  state.buffer.append(payload);
  state.end += size;
  HAILSTONE_CHECK(state.end == state.buffer_begin + state.buffer.size(),
                  "the log's buffer of {} bytes begins at {} and ends at {}", state.buffer.size(),
                  state.buffer_begin, state.end);
  return state.end;
}

Status Log::write(Lsn upto, const Interruption& interrupted) {
  return state_->reach(upto, false, interrupted);
}

Status Log::sync(Lsn upto, const Interruption& interrupted) { return state_->reach(upto, true, interrupted); }

Status Log::wait_for_room(const Interruption& interrupted) { return state_->wait_for_room(interrupted); }

std::optional<Error> Log::stall() const {
  const MutexLock lock(state_->mutex);
  return state_->stalled;
}

void Log::set_write_timeout(std::chrono::milliseconds timeout) {
  const MutexLock lock(state_->mutex);
  state_->write_timeout = timeout;
}

Lsn Log::end() const {
  const MutexLock lock(state_->mutex);
  return state_->end;
}

Lsn Log::durable() const {
  const MutexLock lock(state_->mutex);
  return state_->durable;
}

Result<Lsn> Log::rotate() {
  State& state = *state_;
  const MutexLock lock(state.mutex);
  while (state.leading) state.changed.wait(state.mutex);
  if (auto reason = state.unusable()) return std::unexpected(*reason);
  // A file without records serves as well as a new one.
  if (state.end == state.files.back().begin + log_file_header_size) return state.end;
  // What is to be written again first; then what is buffered.
  state.rotating = true;
  if (state.stalled) state.lead(false);
  if (!state.stalled && !state.error) state.lead(false);
  const Status rotated = guarded([&]() HAILSTONE_REQUIRES(state.mutex) { return state.start_file(); });
  state.rotating = false;
  state.wake();
  if (!rotated) return std::unexpected(rotated.error());
  return state.end;
}

Status Log::drop_before(Lsn position) {
  State& state = *state_;
  HAILSTONE_CHECK(position <= end(), "position {} of a log that ends at {}", position, end());
  const MutexLock drop_lock(state.drop_mutex);
  const std::vector<LogFileName> files = state.files_now();
  size_t dropped = 0;
  while (dropped + 1 < files.size() && files[dropped + 1].begin <= position) ++dropped;
  if (dropped == 0) return {};
  // The file that remains as the oldest must be there for good before those before it go.
  HAILSTONE_TRY(sync(files[dropped].begin + log_file_header_size));
  for (size_t i = 0; i < dropped; ++i) {
    HAILSTONE_TRY(state.filesystem.remove(files[i].path));
    const MutexLock lock(state.mutex);
    state.files.erase(state.files.begin());
  }
  return state.filesystem.sync_directory(state.options.directory);
}

}  // namespace hailstone

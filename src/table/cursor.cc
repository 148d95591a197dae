#include "table/cursor.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "table/cursor_sources.h"

namespace hailstone {

namespace {
constexpr uint32_t moves_between_interruption_checks = 512;
constexpr uint32_t moves_before_run = 8;
}  // namespace

struct Cursor::State {
  State(std::shared_ptr<Table> read, Transaction& reader, size_t index_number, ReadLock read_lock,
        std::vector<uint16_t> columns, CursorOptions cursor_options)
      : table(std::move(read)),
        inside(*table->state_),
        transaction(reader),
        lock(read_lock),
        options(cursor_options),
        projection(inside.layout, std::move(columns)),
        values(projection.columns().size()) {
    const bool is_clustered =
        index_number == by_row_id || (index_number == 0 && inside.layout->definition().has_primary_key);
    secondary = is_clustered ? SegmentKeys::clustered : index_number - inside.keys->first_secondary();
    sources.emplace(inside, secondary, projection);
  }

  /// Opens the sources at the first move, and again for a locking cursor when the table's places have
  /// changed, as its rows may have moved on.
  void open_sources() {
    const bool refresh = has_new_own_changes(), restart = std::exchange(anew, false);
    const Visibility before = restart ? visibility : Visibility{};
    own_changes = transaction.change_count();
    if (view == nullptr || refresh || restart) {
      const uint32_t own_writes =
          options.sees_own_changes ? Visibility::all_writes : transaction.own_writes();
      if (dirty) {
        visibility = {.snapshot = transaction.snapshot(),
                      .candidates = true,
                      .own_writes = own_writes,
                      .held = transaction.hold_snapshot()};
      } else if (lock != ReadLock::None) {
        // Each row's newest state counts: a version is passed over only when it has ended already.
        visibility = {.snapshot = transaction.current(), .candidates = true, .own_writes = own_writes};
      } else if (options.reads_newest) {
        visibility = {.snapshot = transaction.current(), .own_writes = own_writes};
      } else {
        visibility = {.snapshot = transaction.snapshot(),
                      .own_writes = own_writes,
                      .superseded = transaction.superseded(inside.id),
                      .held = transaction.hold_snapshot()};
      }
    } else if (lock == ReadLock::None || view == inside.current_view()) {
      return;
    }
    auto now = inside.current_view();
    if (restart && !refresh && view == now && lock == ReadLock::None && !dirty &&
        before.is_same(visibility)) {
      // The sources know no more than new ones would, and what they have read is worth keeping.
      sought = false;
      return;
    }
    if (refresh && view == now && visibility.superseded == nullptr) {
      sources->forget();
      sought = false;
      return;
    }
    view = std::move(now);
    current = nullptr;
    sources->open(view, visibility);
    sought = false;
  }

  /// The order of an index is that of its keys.
  Status check_order() const {
    const bool makes_keys = secondary == SegmentKeys::clustered ? inside.keys->makes_clustered()
                                                                : inside.keys->makes_secondary(secondary);
    if (makes_keys) return {};
    return fail(
        ErrorCode::Unsupported,
        fmt::format("table {} cannot be read here by an index of texts whose collation only the program "
                    "that made the table knows; scan it, which needs no index",
                    inside.layout->definition().name));
  }

  bool has_new_own_changes() const {
    return own_changes != transaction.change_count() && options.sees_own_changes;
  }

  /// When entries have come from one source for a while, the next ones probably do, too: until the first key
  /// of the others they need not be compared, nor have their keys made. Only without locks, as a snapshot has
  /// each key in one source.
  Status begin_run_after_a_while(const CursorSource* before) {
    moves_in_source = current == before ? moves_in_source + 1 : 0;
    if (moves_in_source < moves_before_run || current->in_run) return {};
    moves_in_source = 0;
    return current->begin_run(sources->rival_of(current));
  }

  /// Makes `key` of the current entry, which a run has left out.
  Status make_key() {
    if (has_key) return {};
    HAILSTONE_TRY(current->make_key());
    take_key();
    return {};
  }
  void take_key() {
    key.assign(current->key);
    clustered_size = current->clustered_size;
    has_key = true;
  }

  Status seek_all(Direction to, const SeekBound& bound) {
    direction = to;
    only_prefix = bound.prefix;
    moves_in_source = 0;
    HAILSTONE_TRY(sources->seek(to, bound));
    sought = true;
    return {};
  }

  Result<bool> seek(Direction to, const SeekBound& bound, const Wanted& wanted) {
    HAILSTONE_TRY(inside.usable());
    HAILSTONE_TRY(check_order());
    if (locks_ranges()) return settle_in_range(to, bound, wanted);
    open_sources();
    HAILSTONE_TRY(seek_all(to, bound));
    return settle(wanted);
  }

  Result<bool> seek_prefix(ByteView prefix) {
    HAILSTONE_TRY(inside.usable());
    HAILSTONE_TRY(check_order());
    open_sources();
    HAILSTONE_TRY(seek_all(Direction::Forward, {.key = prefix, .prefix = true}));
    loaded = has_key = false;
    HAILSTONE_TRY(count_move());
    HAILSTONE_ASSIGN(current, sources->nearest());
    positioned = current != nullptr;
    if (positioned && !current->in_run) take_key();
    return positioned;
  }

  void begin_anew() {
    anew = true;
    only_prefix = false;
    positioned = false;
  }

  /// Steps every source off the current key.
  Status leave_key() { return sources->leave_key(key); }

  Result<bool> move(Direction to, const Wanted& wanted = {}, bool in_prefix = false) {
    HAILSTONE_TRY(inside.usable());
    if (!positioned) return false;
    // Behind the prefix the sources have nothing.
    if (only_prefix && !in_prefix) sought = false;
    if (current != nullptr && current->in_run && direction == to && sought && !has_new_own_changes())
        [[likely]] {
      HAILSTONE_TRY(current->step());
      if (!current->valid || !current->in_run) return settle();
      loaded = has_key = false;
      HAILSTONE_TRY(count_move());
      return true;
    }
    HAILSTONE_TRY(make_key());
    if (locks_ranges()) {
      const std::string from = key;
      return settle_in_range(to, {.key = from, .after = true}, wanted);
    }
    open_sources();
    if (!sought || direction != to) {
      const std::string from = key;
      HAILSTONE_TRY(seek_all(to, {.key = from, .after = true}));
    } else {
      HAILSTONE_TRY(leave_key());
    }
    return settle(wanted);
  }

  /// Takes up the nearest entry as the current one; when rows are locked, the nearest that is one after
  /// locking it.
  Result<bool> settle(const Wanted& wanted = {}) {
    loaded = false;
    for (;;) {
      HAILSTONE_TRY(count_move());
      const CursorSource* const before = current;
      HAILSTONE_ASSIGN(current, sources->nearest());
      positioned = current != nullptr;
      if (!positioned) return false;
      take_key();
      if (dirty) {
        HAILSTONE_ASSIGN(const bool taken, take_latest());
        if (taken) return true;
        HAILSTONE_TRY(leave_key());
        continue;
      }
      if (lock == ReadLock::None) {
        HAILSTONE_TRY(begin_run_after_a_while(before));
        return true;
      }
      HAILSTONE_ASSIGN(const bool missed, has_missed(wanted));
      if (missed) return stand_unlocked();
      HAILSTONE_ASSIGN(const bool taken, take_lock());
      if (taken) return true;
      if (view != inside.current_view()) {
        // The wait may have let the row move to a place that the sources do not have.
        open_sources();
        const std::string from = key;
        HAILSTONE_TRY(seek_all(direction, {.key = from, .after = true}));
      } else {
        HAILSTONE_TRY(leave_key());
      }
    }
  }

  Status check_interruption() const {
    if (!transaction.interrupted()) return {};
    return fail(ErrorCode::Interrupted,
                "interrupted while reading table " + inside.definition().name + " in key order");
  }
  /// Looks for an interruption now and then.
  Status count_move() {
    if (++moves % moves_between_interruption_checks == 0) return check_interruption();
    return {};
  }

  bool locks_ranges() const { return lock != ReadLock::None && transaction.locks_ranges(); }

  /// Goes to the first entry from the bound on that can be locked, and keeps others from inserting up to it.
  Result<bool> settle_in_range(Direction to, const SeekBound& bound, const Wanted& wanted) {
    loaded = false;
    std::string from(bound.key);
    SeekBound next{.key = from, .after = bound.after, .unbounded = bound.unbounded};
    for (;;) {
      HAILSTONE_TRY(check_interruption());
      bool missed = false;
      // Files are read before the mutex is taken. Under it only the deltas are asked again: a segment gets no
      // new entries, and whether one is still there is for the row lock to say.
      open_sources();
      HAILSTONE_TRY(seek_all(to, next));
      HAILSTONE_ASSIGN(current, sources->nearest());
      const CursorSource* const expected = current;
      RowPlace expected_place;
      if (current != nullptr) {
        take_key();
        expected_place = current->place();
        HAILSTONE_ASSIGN(missed, has_missed(wanted));
      }
      {
        // A writer that inserts holds the write mutex: its entry is met here, or it meets the range and
        // waits.
        const MutexLock writers(inside.write_mutex());
        if (view != inside.current_view()) continue;
        HAILSTONE_TRY(sources->seek_deltas(next));
        const auto nearest = sources->nearest_if_open();
        if (!nearest || *nearest != expected) continue;
        if (expected != nullptr && (expected->key != key || !(expected->place() == expected_place))) continue;
        HAILSTONE_TRY(lock_range_to_current(to, next, missed ? RangeEnd::BeforeEntry : RangeEnd::AtEntry));
      }
      positioned = current != nullptr;
      if (!positioned) return false;
      if (missed) return stand_unlocked();
      HAILSTONE_ASSIGN(const bool taken, take_lock());
      if (taken) return true;
      from = key;
      next = {.key = from, .after = true, .unbounded = false};
    }
  }

  enum class RangeEnd : uint8_t { AtEntry, BeforeEntry };

  /// Keeps others from inserting between the bound and the current entry, whose own key belongs to the range
  /// or not.
  Status lock_range_to_current(Direction to, const SeekBound& bound, RangeEnd end) {
    std::string low, high;
    if (to == Direction::Forward) {
      low = bound.key;
      if (bound.after) low.push_back('\0');
      if (current != nullptr) high = current->key;
      if (current != nullptr && end == RangeEnd::AtEntry) high.push_back('\0');
    } else {
      if (current != nullptr) low = current->key;
      if (current != nullptr && end == RangeEnd::BeforeEntry) low.push_back('\0');
      if (!bound.unbounded) high = bound.key;
    }
    return lock_range(low, high);
  }

  Status lock_range(ByteView low, ByteView high) {
    const uint32_t order =
        secondary == SegmentKeys::clustered ? LockManager::clustered_order : static_cast<uint32_t>(secondary);
    return inside.host.locks().lock_range(transaction, inside.id, order, low, high);
  }

  /// Whether the current entry is none that was sought.
  Result<bool> has_missed(const Wanted& wanted) {
    if (!wanted) return false;
    HAILSTONE_ASSIGN(const bool is_wanted,
                     wanted(key, [this](std::string& row) { return current->load_row(row); }));
    return !is_wanted;
  }

  /// After a miss: goes on to the first entry that is committed or the transaction's own.
  Result<bool> stand_unlocked() {
    while (current != nullptr) {
      take_key();
      HAILSTONE_TRY(count_move());
      const std::string row_key(ByteView(key).substr(key.size() - clustered_size));
      const RowPlace candidate = current->place();
      HAILSTONE_ASSIGN(newest, inside.find_visible(*inside.current_view(), row_key, transaction.current(),
                                                   transaction, &rows));
      if (newest.found()) {
        if (newest == candidate) break;
        // It may have moved since the sources were opened.
        HAILSTONE_ASSIGN(const bool is_here, has_current_key(newest, row_key));
        if (is_here) break;
      }
      HAILSTONE_TRY(leave_key());
      HAILSTONE_ASSIGN(current, sources->nearest());
    }
    positioned = current != nullptr;
    return positioned;
  }

  /// Locks the row of the current entry; false when its newest version has no such entry, or was written by
  /// this statement.
  Result<bool> take_lock() {
    const RowPlace candidate = current->place();
    const std::string row_key(ByteView(key).substr(key.size() - clustered_size));
    if (inside.try_lock_met(transaction, *view, candidate, row_key, lock)) {
      newest = candidate;
      return true;
    }
    HAILSTONE_ASSIGN(newest, inside.lock_newest(transaction, row_key, lock, &rows));
    if (!newest.found()) return false;
    if (newest == candidate) return true;
    if (visibility.is_own_and_new(newest)) return false;
    return has_current_key(newest, row_key);
  }

  /// Whether the entry of a version of the row in this index is the current one.
  Result<bool> has_current_key(const RowPlace& place, ByteView row_key) {
    if (secondary == SegmentKeys::clustered) return true;
    const KeyCodec& codec = inside.keys->secondary(secondary);
    std::string entry;
    if (place.version != nullptr) {
      HAILSTONE_TRY(codec.append_row(inside.layout->row_codec(), place.version->row(), entry));
    } else {
      RowReader reader(*place.segment, {codec.columns().begin(), codec.columns().end()});
      HAILSTONE_TRY(reader.read(place.ordinal));
      HAILSTONE_TRY(codec.append(reader.values(), entry));
    }
    entry.append(row_key);
    return entry == key;
  }

  /// READ UNCOMMITTED: each row that the snapshot has is met once, where the snapshot has it, however it is
  /// changed meanwhile; with its latest version, unless that has another place in this index. A row that
  /// the snapshot has not is met where it is. False: the current entry is none of these.
  Result<bool> take_latest() {
    newest = current->place();
    HAILSTONE_ASSIGN(const bool unchanged, inside.is_unchanged(newest, visibility.snapshot));
    if (unchanged) return true;
    const std::string row_key(ByteView(key).substr(key.size() - clustered_size));
    HAILSTONE_ASSIGN(newest, inside.find_latest(row_key));
    if (!newest.found()) return false;
    if (visibility.is_own_and_new(newest)) return false;
    if (secondary == SegmentKeys::clustered) return true;
    HAILSTONE_ASSIGN(const bool is_here, has_current_key(newest, row_key));
    HAILSTONE_ASSIGN(RowPlace before,
                     inside.find_visible(*view, row_key, visibility.snapshot, transaction, &rows));
    if (!before.found()) return is_here;
    HAILSTONE_ASSIGN(const bool was_here, has_current_key(before, row_key));
    if (!is_here) newest = std::move(before);
    return was_here;
  }

  /// What a move found, unless the snapshot has been ended meanwhile.
  template <typename T>
  Result<T> checked(Result<T> result) const {
    if (!visibility.holds()) [[unlikely]]
      return std::unexpected(visibility.check().error());
    inside.note(result);
    return result;
  }

  /// Whether the row's version is the one that the current source stands on, which reads ahead.
  bool is_where_met() const {
    return (lock == ReadLock::None && !dirty) || (newest.segment != nullptr && newest == current->place());
  }

  Status load() {
    if (loaded) return {};
    if (is_where_met()) {
      HAILSTONE_TRY(current->load(values));
    } else {
      HAILSTONE_TRY(inside.read_place(newest, projection, rows, batch, values));
    }
    loaded = true;
    return {};
  }

  Status load_row(std::string& to) {
    if (is_where_met()) return current->load_row(to);
    if (newest.version != nullptr) {
      to.assign(newest.version->row());
      return {};
    }
    batch.clear();
    BlockReader reader(newest.segment->columns);
    return Projection::read_encoded(reader, newest.ordinal, to);
  }

  const std::shared_ptr<Table> table;
  Table::State& inside;
  Transaction& transaction;
  const ReadLock lock;
  const CursorOptions options;
  const bool dirty = lock == ReadLock::None && !options.reads_newest && transaction.reads_uncommitted();
  const Projection projection;
  uint64_t own_changes = 0;  // of the transaction when the sources were opened or made to forget
  size_t secondary = 0;
  Visibility visibility;
  std::shared_ptr<const TableView> view;
  std::optional<CursorSources> sources;
  Direction direction = Direction::Forward;
  bool sought = false;       // the sources stand where `key` is, or behind it
  bool only_prefix = false;  // and have only entries that begin with what was sought
  bool anew = false;         // begin_anew()
  bool positioned = false;
  bool has_key = false;  // `key` and `clustered_size` are the current entry's
  std::string key;
  size_t clustered_size = 0;
  CursorSource* current = nullptr;
  uint32_t moves_in_source = 0;      // how often the current source was the nearest, one time after the other
  RowPlace newest;                   // the locked row, or the latest version
  SegmentReaders rows{inside.keys};  // of rows that are looked up by their clustered keys
  std::vector<Value> values;
  bool loaded = false;
  Batch batch;
  uint32_t moves = 0;
};

Cursor::Cursor(std::shared_ptr<Table> table, Transaction& transaction, size_t index, ReadLock lock,
               std::vector<uint16_t> columns, CursorOptions options)
    : state_(
          std::make_unique<State>(std::move(table), transaction, index, lock, std::move(columns), options)) {}

Cursor::~Cursor() = default;

Result<bool> Cursor::seek_at_or_after(ByteView bound, const Wanted& wanted) {
  return state_->checked(state_->seek(Direction::Forward, {.key = bound}, wanted));
}

Status Cursor::lock_range(ByteView low, ByteView high) {
  // A writer inserts an entry under the write mutex: it has done so before, or will wait.
  const MutexLock writers(state_->inside.write_mutex());
  return state_->lock_range(low, high);
}

Result<bool> Cursor::seek_before(ByteView bound, const Wanted& wanted) {
  return state_->checked(
      state_->seek(Direction::Backward, {.key = bound, .after = false, .unbounded = bound.empty()}, wanted));
}

Result<bool> Cursor::seek_prefix(ByteView prefix) { return state_->checked(state_->seek_prefix(prefix)); }
Result<bool> Cursor::next_in_prefix() { return state_->checked(state_->move(Direction::Forward, {}, true)); }
bool Cursor::takes_prefixes() const { return state_->lock == ReadLock::None && !state_->dirty; }
bool Cursor::is_in_prefix() const { return state_->only_prefix; }
void Cursor::begin_anew() { state_->begin_anew(); }

Result<bool> Cursor::next(const Wanted& wanted) {
  return state_->checked(state_->move(Direction::Forward, wanted));
}
Result<bool> Cursor::previous() { return state_->checked(state_->move(Direction::Backward)); }
Result<ByteView> Cursor::entry_key() {
  HAILSTONE_TRY(state_->inside.noted(state_->make_key()));
  return ByteView(state_->key);
}
Result<ByteView> Cursor::clustered_key() {
  HAILSTONE_ASSIGN(const ByteView key, entry_key());
  return key.substr(key.size() - state_->clustered_size);
}
Status Cursor::load_values() { return state_->inside.noted(state_->load()); }
std::span<const Value> Cursor::values() { return state_->values; }
Status Cursor::load_row(std::string& to) { return state_->inside.noted(state_->load_row(to)); }

}  // namespace hailstone

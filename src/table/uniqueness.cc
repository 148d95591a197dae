#include "table/uniqueness.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <queue>
#include <utility>

#include "base/guard.h"
#include "base/hash.h"
#include "base/mutex.h"
#include "base/processor_turns.h"
#include "segment/key_filter.h"
#include "table/helpers.h"

namespace hailstone {

namespace {

constexpr uint32_t steps_between_interruption_checks = 4096;
constexpr uint32_t steps_before_search = 8;
/// Keys of a loaded segment whose hashes are in memory at a time.
constexpr uint32_t hashed_at_once = 1U << 16;
/// So few keys are looked up in a segment without a look at its filter.
constexpr uint32_t few_keys = 64;
/// Keys that are hashed by one thread at a time.
constexpr uint32_t hashed_by_one = 1U << 12;
/// So many look-ups, in all segments together, are worth another thread.
constexpr uint64_t lookups_worth_a_thread = 1U << 14;

/// Index keys of one order of a segment, ascending; of a secondary index without the clustered key at the
/// end. Keys are read some at a time, the more the longer the stream goes on.
class KeyStream {
 public:
  KeyStream(std::shared_ptr<TableSegment> of, const TableKeys& keys, size_t secondary)
      : segment(std::move(of)), keys_(*segment, keys, secondary), secondary_(secondary) {}
  /// So many of its keys will be asked for. Where they are far apart, it searches for each and reads no
  /// others.
  void expect(size_t asked) {
    steps_ = asked < entries() / (4 * steps_before_search) ? 0 : steps_before_search;
  }

  bool at_end() const { return first_ + at_ >= keys_.entries(); }
  /// Both are valid until the stream moves.
  ByteView key() const { return key_; }
  ByteView clustered_key() const { return read_[at_].substr(read_[at_].size() - read_.clustered_size(at_)); }
  Result<uint32_t> ordinal() { return keys_.ordinal(first_ + at_); }
  Status next() {
    ++at_;
    return read();
  }
  Status seek(ByteView bound) {
    HAILSTONE_ASSIGN(const uint32_t position, keys_.lower_bound(bound));
    return start_at(position);
  }
  /// Goes on to the first key >= bound: step by step while it is near, else by search.
  Status advance(ByteView bound) {
    for (uint32_t step = 0; !at_end() && key() < bound; ++step) {
      if (step == steps_) return seek(bound);
      HAILSTONE_TRY(next());
    }
    return {};
  }
  uint32_t entries() const { return keys_.entries(); }
  uint32_t position() const { return first_ + at_; }
  Status go_to(uint32_t position) {
    if (position < first_ || position - first_ >= read_.size()) return start_at(position);
    at_ = position - first_;
    return read();
  }
  /// Positions of the keys from `low` to `high`.
  Result<std::pair<uint32_t, uint32_t>> range(ByteView low, ByteView high) {
    HAILSTONE_ASSIGN(const uint32_t first, keys_.lower_bound(low));
    HAILSTONE_ASSIGN(const uint32_t last, keys_.end_of_prefix(first, high));
    return std::pair(first, last);
  }

  const std::shared_ptr<TableSegment> segment;

 private:
  Status start_at(uint32_t position) {
    first_ = position;
    at_ = 0;
    read_.clear();
    return read();
  }
  Status read() {
    if (at_end()) return {};
    if (at_ == read_.size()) {
      first_ += at_;
      at_ = 0;
      const uint32_t wanted = std::clamp(read_.size() * 4, std::max(1U, 2 * steps_), batch_rows);
      HAILSTONE_TRY(keys_.keys(first_, std::min(wanted, keys_.entries() - first_), read_));
    }
    const ByteView entry = read_[at_];
    key_ = secondary_ == SegmentKeys::clustered ? entry
                                                : entry.substr(0, entry.size() - read_.clustered_size(at_));
    return {};
  }

  SegmentKeys keys_;
  const size_t secondary_;
  uint32_t steps_ = steps_before_search;
  EntryKeys read_;               // from the entry at position first_ on
  uint32_t first_ = 0, at_ = 0;  // the stream stands on read_[at_]
  ByteView key_;
};

/// The check of one unique index.
class IndexCheck {
 public:
  IndexCheck(Table::State& state, Transaction& transaction, const LoadedSegments& loaded,
             const TableView& before, size_t secondary, Duplicate& duplicate)
      : state_(state),
        transaction_(transaction),
        loaded_(loaded),
        before_(before),
        secondary_(secondary),
        duplicate_(duplicate),
        memory_(state.host.budget()) {}

  /// `blocker`: a transaction to wait for; then all is to be checked again.
  Status run(TransactionId& blocker) {
    HAILSTONE_TRY(among_loaded());
    for (const auto& segment : loaded_) {
      HAILSTONE_TRY(against_segments(segment, blocker));
      if (blocker != 0) return {};
      for (const auto& delta : before_.deltas) {
        HAILSTONE_TRY(against_delta(segment, *delta, blocker));
        if (blocker != 0) return {};
      }
    }
    return {};
  }

 private:
  size_t index() const {
    return secondary_ == SegmentKeys::clustered ? 0 : secondary_ + state_.keys->first_secondary();
  }
  /// The least and the greatest index key of a segment.
  ByteView first_key(const TableSegment& segment) const {
    return secondary_ == SegmentKeys::clustered ? segment.segment->first_key()
                                                : index_key(segment.segment->index_sample(secondary_, 0));
  }
  ByteView last_key(const TableSegment& segment) const {
    return secondary_ == SegmentKeys::clustered ? segment.segment->last_key()
                                                : index_key(segment.segment->index_last_key(secondary_));
  }
  /// Entries of secondary indexes have the clustered key behind the index key.
  ByteView index_key(ByteView entry) const {
    const KeyCodec& codec = state_.keys->secondary(secondary_);
    return entry.substr(0, codec.prefix_size(entry, codec.part_count()));
  }

  Status interrupted() {
    if (++steps_ % steps_between_interruption_checks != 0 || !transaction_.interrupted()) return {};
    return interruption();
  }
  std::unexpected<Error> interruption() const {
    return fail(ErrorCode::Interrupted,
                fmt::format("interrupted while checking the unique keys of rows loaded into table {}",
                            state_.definition().name));
  }

  /// Whether the index admits the key any number of times.
  Result<bool> exempt(KeyStream& stream) const {
    if (secondary_ == SegmentKeys::clustered) return false;
    const auto columns = state_.keys->secondary(secondary_).columns();
    HAILSTONE_ASSIGN(const uint32_t ordinal, stream.ordinal());
    RowReader reader(*stream.segment, {columns.begin(), columns.end()});
    HAILSTONE_TRY(reader.read(ordinal));
    return std::any_of(reader.values().begin(), reader.values().end(),
                       [](const Value& value) { return value.null; });
  }

  Status refuse(const TableSegment& segment, uint32_t ordinal, ByteView clustered_key, Duplicate& duplicate) {
    duplicate.index = index();
    duplicate.clustered_key = clustered_key;
    BlockReader reader(segment.columns);
    HAILSTONE_TRY(Projection::read_encoded(reader, ordinal, duplicate.row));
    return refuse_duplicate(state_, index());
  }

  Status among_loaded() {
    // Each segment has been checked in itself when it was written.
    std::vector<std::unique_ptr<KeyStream>> streams;
    const SegmentOrder order(loaded_, secondary_);
    for (size_t i = 0; i < loaded_.size(); ++i) {
      bool alone = true;
      order.visit_between(first_key(*loaded_[i]), last_key(*loaded_[i]), [&](const SegmentRange& other) {
        alone = other.segment == i;
        return alone;
      });
      if (alone) continue;
      streams.push_back(std::make_unique<KeyStream>(loaded_[i], *state_.keys, secondary_));
      HAILSTONE_TRY(streams.back()->seek({}));
    }
    if (streams.size() < 2) return {};
    const auto later = [](const KeyStream* a, const KeyStream* b) { return b->key() < a->key(); };
    std::priority_queue<KeyStream*, std::vector<KeyStream*>, decltype(later)> queue(later);
    for (const auto& stream : streams) {
      if (!stream->at_end()) queue.push(stream.get());
    }
    std::string previous;
    for (bool first = true; !queue.empty(); first = false) {
      HAILSTONE_TRY(interrupted());
      KeyStream* const stream = queue.top();
      queue.pop();
      if (!first && stream->key() == previous) {
        HAILSTONE_ASSIGN(const bool is_exempt, exempt(*stream));
        if (!is_exempt) {
          HAILSTONE_ASSIGN(const uint32_t ordinal, stream->ordinal());
          return refuse(*stream->segment, ordinal, {}, duplicate_);
        }
      }
      previous = stream->key();
      HAILSTONE_TRY(stream->next());
      if (!stream->at_end()) queue.push(stream);
    }
    return {};
  }

  /// A segment of the table, and the entries of a loaded one whose keys are in its range.
  struct Overlap {
    std::shared_ptr<TableSegment> other;
    uint32_t first = 0, last = 0;
  };

  /// What one of the threads that look up the keys of a loaded segment has for itself.
  struct Part {
    Part(std::shared_ptr<TableSegment> segment, const TableKeys& keys, size_t secondary, bool is_caller)
        : ours(std::move(segment), keys, secondary), of_caller(is_caller) {}
    KeyStream ours;
    const bool of_caller;
    uint32_t steps = 0;
    std::vector<BloomKey> asked;       // of a segment whose range has not all of hashed_
    std::vector<uint32_t> candidates;  // positions of our keys that the other segment may have
    std::vector<std::string> ended;    // our keys of rows that ended after the transaction's snapshot
    // What ends the check, besides an error.
    TransactionId blocker = 0;
    Duplicate duplicate;
  };
  using WorkOfPart = std::function<Status(Part& part, size_t number)>;

  /// Calls `work` for each number below `count`, by up to so many threads. What ends the check at the least
  /// number counts, whichever thread is first.
  Status share(const std::shared_ptr<TableSegment>& segment, size_t count, size_t threads,
               const WorkOfPart& work, TransactionId& blocker) {
    std::atomic<size_t> next{0}, ended_at{count};
    Mutex mutex;
    Status status;
    std::vector<std::string> ended;
    stopped_.store(false, std::memory_order_relaxed);
    const auto take = [&](Part& part) -> Status {
      for (size_t number; (number = next.fetch_add(1, std::memory_order_relaxed)) <
                          ended_at.load(std::memory_order_relaxed);) {
        Status done = guarded([&] { return work(part, number); });
        if (done && part.blocker == 0) continue;
        const MutexLock guard(mutex);
        if (number >= ended_at.load(std::memory_order_relaxed)) break;
        ended_at.store(number, std::memory_order_relaxed);
        status = std::move(done);
        blocker = part.blocker;
        duplicate_ = std::move(part.duplicate);
      }
      const MutexLock guard(mutex);
      std::ranges::move(part.ended, std::back_inserter(ended));
      return {};
    };
    Status made;
    const auto take_part = [&](unsigned number) {
      Status taken = guarded([&] {
        Part part(segment, *state_.keys, secondary_, number == 0);
        return take(part);
      });
      if (taken) return;
      stopped_.store(true, std::memory_order_relaxed);
      const MutexLock guard(mutex);
      made = std::move(taken);
    };
    const auto most = std::min<size_t>({count, threads, ProcessorTurns::available()});
    run_with_helpers(state_.host, static_cast<unsigned>(most), take_part, [&] {
      if (transaction_.interrupted()) stopped_.store(true, std::memory_order_relaxed);
    });
    HAILSTONE_TRY(made);
    for (const std::string& key : ended) transaction_.supersede(state_.id, key);
    return status;
  }
  Status interrupted(Part& part) {
    return ++part.steps % steps_between_interruption_checks == 0 ? look_for_interruption(part) : Status();
  }
  Status look_for_interruption(const Part& part) {
    if (part.of_caller && transaction_.interrupted()) stopped_.store(true, std::memory_order_relaxed);
    return stopped_.load(std::memory_order_relaxed) ? interruption() : Status();
  }

  Status against_segments(const std::shared_ptr<TableSegment>& segment, TransactionId& blocker) {
    KeyStream ours(segment, *state_.keys, secondary_);
    std::vector<Overlap> overlaps;
    Status status;
    before_.order(secondary_)
        .visit_between(first_key(*segment), last_key(*segment), [&](const SegmentRange& range) {
          const auto& other = before_.segments[range.segment];
          const auto keys = ours.range(first_key(*other), last_key(*other));
          if (!keys) {
            status = std::unexpected(keys.error());
          } else if (keys->first < keys->second) {
            overlaps.push_back({other, keys->first, keys->second});
          }
          return status.has_value();
        });
    HAILSTONE_TRY(status);
    std::vector<Overlap> here;
    for (uint32_t first = 0; first < ours.entries() && !overlaps.empty(); first += hashed_at_once) {
      const uint32_t last = first + std::min(hashed_at_once, ours.entries() - first);
      here.clear();
      uint64_t lookups = 0;
      bool many = false;
      for (const Overlap& overlap : overlaps) {
        const uint32_t from = std::max(first, overlap.first), to = std::min(last, overlap.last);
        if (from >= to) continue;
        here.push_back({overlap.other, from, to});
        lookups += to - from;
        many |= to - from > few_keys;
      }
      if (many) HAILSTONE_TRY(hash_keys(segment, first, last));
      const auto look_up_in_one = [&](Part& part, size_t number) { return look_up(part, here[number]); };
      HAILSTONE_TRY(
          share(segment, here.size(), 1 + lookups / lookups_worth_a_thread, look_up_in_one, blocker));
      if (blocker != 0) return {};
    }
    return {};
  }

  Status hash_keys(const std::shared_ptr<TableSegment>& segment, uint32_t first, uint32_t last) {
    const size_t bytes = size_t{last - first} * (sizeof(BloomKey) + sizeof(uint32_t));
    if (bytes > memory_.bytes()) memory_.grow(bytes - memory_.bytes());
    hashed_.resize(last - first);
    const size_t shares = (last - first + hashed_by_one - 1) / hashed_by_one;
    const auto hash_some = [&](Part& part, size_t number) -> Status {
      const uint32_t from = first + static_cast<uint32_t>(number) * hashed_by_one;
      const uint32_t to = std::min(last, from + hashed_by_one);
      HAILSTONE_TRY(part.ours.go_to(from));
      for (uint32_t position = from; position < to; ++position) {
        HAILSTONE_TRY(interrupted(part));
        hashed_[position - first] = {hash_bytes(part.ours.key()), position};
        HAILSTONE_TRY(part.ours.next());
      }
      return {};
    };
    TransactionId nobody = 0;
    HAILSTONE_TRY(share(segment, shares, shares, hash_some, nobody));
    // So that a filter is read from its front to its end.
    std::ranges::sort(hashed_, {}, &BloomKey::hash);
    return {};
  }

  Status look_up(Part& part, const Overlap& overlap) {
    part.candidates.clear();
    if (overlap.last - overlap.first > few_keys) {
      HAILSTONE_TRY(ask_filter(part, overlap));
    } else {
      for (uint32_t position = overlap.first; position < overlap.last; ++position)
        part.candidates.push_back(position);
    }
    return look_up_candidates(part, overlap.other);
  }

  /// The keys that the segment may have become candidates.
  Status ask_filter(Part& part, const Overlap& overlap) {
    std::span<const BloomKey> keys = hashed_;
    const uint32_t lookups = overlap.last - overlap.first;
    if (lookups < keys.size()) {
      part.asked.clear();
      std::ranges::copy_if(keys, std::back_inserter(part.asked), [&](const BloomKey& key) {
        return key.number >= overlap.first && key.number < overlap.last;
      });
      keys = part.asked;
    }
    const Segment& file = *overlap.other->segment;
    const KeyFilter& filter =
        secondary_ == SegmentKeys::clustered ? file.key_filter() : file.index_filter(secondary_);
    while (!keys.empty()) {
      HAILSTONE_TRY(look_for_interruption(part));
      const auto some = keys.first(std::min<size_t>(keys.size(), steps_between_interruption_checks));
      keys = keys.subspan(some.size());
      HAILSTONE_TRY(filter.admits(some, part.candidates));
    }
    count(state_.host.counters().bloom_filter_skips, lookups - part.candidates.size());
    std::ranges::sort(part.candidates);
    return {};
  }

  Status look_up_candidates(Part& part, const std::shared_ptr<TableSegment>& other) {
    if (part.candidates.empty()) return {};
    KeyStream& ours = part.ours;
    KeyStream theirs(other, *state_.keys, secondary_);
    ours.expect(part.candidates.size());
    theirs.expect(part.candidates.size());
    HAILSTONE_TRY(ours.go_to(part.candidates.front()));
    HAILSTONE_TRY(theirs.seek(ours.key()));
    for (const uint32_t position : part.candidates) {
      HAILSTONE_TRY(interrupted(part));
      HAILSTONE_TRY(ours.go_to(position));
      HAILSTONE_TRY(theirs.advance(ours.key()));
      while (!theirs.at_end() && theirs.key() == ours.key()) {
        HAILSTONE_TRY(meet(part, theirs));
        if (part.blocker != 0) return {};
        HAILSTONE_TRY(theirs.next());
      }
    }
    return {};
  }

  /// The part's stream and the other one stand on the same key.
  Status meet(Part& part, KeyStream& theirs) {
    HAILSTONE_ASSIGN(const bool is_exempt, exempt(part.ours));
    if (is_exempt) return {};
    HAILSTONE_ASSIGN(const uint32_t ordinal, theirs.ordinal());
    Timestamp end = 0;
    {
      const SharedLock guard(state_.latch());
      end = theirs.segment->ends->end(ordinal);
    }
    if (!decide(theirs.segment->shared_begin(), end, part.blocker)) {
      if (is_ended_behind_snapshot(end)) part.ended.emplace_back(part.ours.key());
      return {};
    }
    HAILSTONE_ASSIGN(const uint32_t refused, part.ours.ordinal());
    return refuse(*part.ours.segment, refused, theirs.clustered_key(), part.duplicate);
  }

  /// Such a row would be seen beside ours.
  bool is_ended_behind_snapshot(Timestamp end) const {
    return secondary_ == SegmentKeys::clustered && end != infinity && !is_marker(end) &&
           transaction_.is_behind(end);
  }

  /// True: the version is live, ours is refused. Else `blocker` may have been set.
  bool decide(Timestamp begin, Timestamp end, TransactionId& blocker) const {
    const Timestamp own = transaction_.marker();
    const EndState ended = end_state(end, own);
    if (ended == EndState::Ended) return false;
    if (undecided_begin(begin, own)) {
      blocker = transaction_of(begin);
    } else if (ended == EndState::Undecided) {
      blocker = transaction_of(end);
    } else {
      return true;
    }
    return false;
  }

  struct DeltaEntry {
    ByteView key;  // of the index alone
    const Version* version;
  };

  /// Entries that may be live, some at a time: those behind `after`, or, before it has `begun`, from `after`
  /// on.
  bool delta_entries(const TableDelta& delta, ByteView& after, bool begun,
                     std::vector<DeltaEntry>& to) const {
    constexpr size_t most = 1024;
    to.clear();
    const SharedLock guard(state_.latch());
    const auto take = [&](ByteView entry_key, const Version* version) {
      after = entry_key;
      const ByteView key = secondary_ == SegmentKeys::clustered
                               ? entry_key
                               : entry_key.substr(0, entry_key.size() - version->key().size());
      to.push_back({key, version});
    };
    if (secondary_ == SegmentKeys::clustered) {
      const auto& tree = delta.rows.clustered();
      for (auto entry = begun ? tree.upper_bound(after) : tree.lower_bound(after);
           entry != tree.end() && to.size() < most; ++entry) {
        take(entry.key(), entry.version());
      }
    } else {
      const auto& tree = delta.rows.secondary(secondary_);
      for (auto entry = begun ? tree.upper_bound(after) : tree.lower_bound(after); entry != tree.end();
           ++entry) {
        // Versions of one row lie behind one key; they must not be parted.
        const ByteView key = entry.key();
        if (to.size() >= most && key != after) break;
        take(key, entry.version());
      }
    }
    return !to.empty();
  }

  Status against_delta(const std::shared_ptr<TableSegment>& segment, const TableDelta& delta,
                       TransactionId& blocker) {
    KeyStream ours(segment, *state_.keys, secondary_);
    HAILSTONE_TRY(ours.seek({}));
    std::vector<DeltaEntry> entries;
    // What lies before the segment's keys has nothing to do with them, however much it is.
    ByteView after = ours.at_end() ? ByteView() : first_key(*segment);
    for (bool begun = false; !ours.at_end() && delta_entries(delta, after, begun, entries); begun = true) {
      for (const DeltaEntry& entry : entries) {
        HAILSTONE_TRY(interrupted());
        HAILSTONE_TRY(ours.advance(entry.key));
        if (ours.at_end()) return {};
        if (ours.key() != entry.key) continue;
        HAILSTONE_ASSIGN(const bool is_exempt, exempt(ours));
        if (is_exempt) continue;
        const auto [begin, end] = entry.version->span();
        if (decide(begin, end, blocker)) {
          HAILSTONE_ASSIGN(const uint32_t refused, ours.ordinal());
          return refuse(*segment, refused, entry.version->key(), duplicate_);
        }
        if (is_ended_behind_snapshot(end)) transaction_.supersede(state_.id, entry.key);
        if (blocker != 0) return {};
      }
    }
    return {};
  }

  Table::State& state_;
  Transaction& transaction_;
  const LoadedSegments& loaded_;
  const TableView& before_;
  const size_t secondary_;
  Duplicate& duplicate_;
  uint32_t steps_ = 0;
  std::atomic<bool> stopped_{false};
  Reservation memory_;            // of what follows
  std::vector<BloomKey> hashed_;  // keys of a loaded segment, by hash, with their positions there
};

/// The orders of a segment whose keys are unique.
std::vector<size_t> unique_orders(const Table::State& state) {
  std::vector<size_t> orders;
  // Hidden row ids are new by their making.
  if (!state.keys->hidden_row_id()) orders.push_back(SegmentKeys::clustered);
  for (size_t i = 0; i < state.keys->secondary_count(); ++i) {
    if (state.keys->secondary_unique(i)) orders.push_back(i);
  }
  return orders;
}

/// Another transaction whose load has taken a key of this segment; 0: none.
Result<TransactionId> load_with_key_of(Table::State& state, const Transaction& transaction,
                                       const std::shared_ptr<TableSegment>& segment, size_t order) {
  constexpr size_t keys_at_once = 4096;  // other writers of the table come in between
  const size_t index = order == SegmentKeys::clustered ? 0 : order + state.keys->first_secondary();
  KeyStream keys(segment, *state.keys, order);
  HAILSTONE_TRY(keys.seek({}));
  std::vector<uint64_t> hashes;
  while (!keys.at_end()) {
    hashes.clear();
    for (; hashes.size() < keys_at_once && !keys.at_end();) {
      hashes.push_back(LoadKeys::hash(index, keys.key()));
      HAILSTONE_TRY(keys.next());
    }
    const MutexLock guard(state.write_mutex());
    for (const uint64_t hash : hashes) {
      if (const TransactionId holder = state.load_with_hash(transaction, hash); holder != 0) return holder;
    }
  }
  return TransactionId{0};
}

std::shared_ptr<const TableView> view_without(const TableView& view, const LoadedSegments& loaded) {
  auto others = std::make_shared<TableView>(view);
  others->change_segments(loaded, {});
  return others;
}

}  // namespace

Status wait_for_range_readers(Table::State& state, Transaction& transaction) {
  while (const TransactionId reader = state.host.locks().any_range_locked_by_other(transaction, state.id)) {
    HAILSTONE_TRY(state.host.locks().wait_for_end(transaction, reader));
  }
  return {};
}

Result<std::shared_ptr<const TableView>> wait_for_loads(Table::State& state, Transaction& transaction,
                                                        const LoadedSegments& loaded) {
  for (;;) {
    const auto view = state.current_view();
    TransactionId holder = 0;
    for (const auto& segment : loaded) {
      for (const size_t order : unique_orders(state)) {
        if (holder != 0) break;
        HAILSTONE_ASSIGN(holder, state.noted(load_with_key_of(state, transaction, segment, order)));
      }
    }
    if (holder != 0) {
      HAILSTONE_TRY(state.host.locks().wait_for_end(transaction, holder));
      continue;
    }
    // Keys may have gone from a load to the table while they were looked for.
    if (state.current_view() != view) continue;
    return view_without(*view, loaded);
  }
}

std::unexpected<Error> refuse_duplicate(const Table::State& state, size_t index) {
  const TableDefinition& definition = state.layout->definition();
  return fail(ErrorCode::DuplicateKey,
              fmt::format("table {}: a row with the same key is there already in index {}", definition.name,
                          definition.indexes[index].name));
}

Status check_loaded(Table::State& state, Transaction& transaction, const LoadedSegments& loaded,
                    std::shared_ptr<const TableView> places, Duplicate& duplicate) {
  const std::vector<size_t> indexes = unique_orders(state);
  for (size_t i = 0; i < indexes.size();) {
    TransactionId blocker = 0;
    HAILSTONE_TRY(
        state.noted(IndexCheck(state, transaction, loaded, *places, indexes[i], duplicate).run(blocker)));
    if (blocker == 0) {
      ++i;
      continue;
    }
    HAILSTONE_TRY(state.host.locks().wait_for_end(transaction, blocker));
    // The places of before may say for ever that its rows are undecided: what has become of them is
    // elsewhere.
    places = view_without(*state.current_view(), loaded);
  }
  return {};
}

}  // namespace hailstone

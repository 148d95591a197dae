#include "query/record_sort.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/page_allocator.h"
#include "query/query_memory.h"
#include "query/sort_record.h"
#include "table/query_host.h"

namespace hailstone {

namespace {

/// A record by its address, and the part of its key by which it is being sorted.
using Entry = hwy::K64V64;

const char* record_of(const Entry& entry) { return reinterpret_cast<const char*>(entry.value); }

/// The longest blocks are huge pages.
constexpr size_t first_block_entries = size_t{1} << 10, most_block_entries = huge_page_bytes / sizeof(Entry);
/// Of a bucket, about: sorted within some ms, in the processor's cache.
constexpr size_t bucket_entries = size_t{1} << 17;
constexpr size_t samples_of_bucket = 16;
constexpr size_t least_page = size_t{16} << 10, usual_least_page = size_t{64} << 10,
                 most_page = huge_page_bytes;
/// Less than this stays in memory: runs of few records would take longer than anything else.
constexpr size_t usual_least_run = size_t{256} << 10;
/// A part has pages and entries of no more than this part of its floor where memory is short.
constexpr size_t pieces_of_floor = 8;
constexpr size_t least_frame = size_t{4} << 10, most_frame = size_t{64} << 10;
/// How many runs are merged at a time: what the floor has room for, what is usual where memory is there, and
/// what a merge of many is quick with.
constexpr size_t least_fan_in = 4, usual_fan_in = 8, most_fan_in = 256;
/// Fewer entries are sorted by comparing whole keys.
constexpr size_t least_by_heads = 64;
/// Keys that agree for longer are compared as a whole, too.
constexpr unsigned most_levels = 32;
constexpr size_t cache_line = 64;
/// Records that are read some entries later.
constexpr size_t prefetched_entries = 16;

struct Page {
  PageBytes bytes;
  size_t size = 0;
};

struct Run {
  std::shared_ptr<SpillFile> file;
  std::vector<SpilledFrame> frames;
};

/// Sorts the entries of records by their keys.
class EntrySort {
 public:
  explicit EntrySort(const GoOn& go_on) : go_on_(go_on) {}

  /// All keys agree in their first `from` bytes, and the entries' heads are of these from there on.
  Status sort(std::span<Entry> entries, size_t from, unsigned level) {
    HAILSTONE_TRY(go_on_());
    // The sorter takes the greatest head for its own padding.
    const auto greatest =
        std::ranges::partition(entries, [](const Entry& entry) { return entry.key != ~uint64_t{0}; });
    sorter_(entries.data(), entries.size() - greatest.size(), hwy::SortAscending());
    for (size_t first = 0, prefetched = 0; first < entries.size();) {
      size_t end = first + 1;
      while (end < entries.size() && entries[end].key == entries[first].key) ++end;
      // The keys of equal heads are compared, wherever their records lie.
      for (const size_t last = std::min(end + prefetched_entries, entries.size() - 1); prefetched < last;
           ++prefetched) {
        if (entries[prefetched].key == entries[prefetched + 1].key) {
          __builtin_prefetch(record_of(entries[prefetched]));
          __builtin_prefetch(record_of(entries[prefetched + 1]));
        }
      }
      if (end - first > 1) {
        HAILSTONE_TRY(sort_equal(entries.subspan(first, end - first), from + sizeof(uint64_t), level + 1));
      }
      first = end;
    }
    return {};
  }

 private:
  /// All heads before `from` are equal.
  Status sort_equal(std::span<Entry> entries, size_t from, unsigned level) {
    if (entries.size() < least_by_heads || level > most_levels) return sort_by_keys(entries, from);
    for (;; from += sizeof(uint64_t)) {
      bool differ = false, go_on = false;
      for (Entry& entry : entries) {
        const ByteView key = sort_record::key(record_of(entry));
        entry.key = sort_record::head(key, from);
        differ |= entry.key != entries.front().key;
        go_on |= key.size() > from;
      }
      if (!go_on) return sort_by_keys(entries, from);  // by their lengths
      if (differ) return sort(entries, from, level);
      HAILSTONE_TRY(go_on_());
    }
  }

  Status sort_by_keys(std::span<Entry> entries, size_t from) {
    // A key may end before `from`, where another has zeros.
    const auto precedes = [from](const Entry& left, const Entry& right) {
      const ByteView one = sort_record::key(record_of(left)), other = sort_record::key(record_of(right));
      return sort_record::precedes(one, other, from);
    };
    HAILSTONE_TRY(go_on_());
    if (!std::ranges::is_sorted(entries, precedes)) std::ranges::sort(entries, precedes);
    return {};
  }

  const GoOn& go_on_;
  const hwy::Sorter sorter_;
};

/// What the keys of records have in common.
class CommonKey {
 public:
  void add(ByteView key) {
    longest_ = std::max(longest_, key.size());
    if (!any_) {
      any_ = true;
      begin_ = key.substr(0, most_bytes);
    } else if (!begin_.empty()) {
      shorten(key);
    }
  }
  void add(const CommonKey& other) {
    if (!other.any_) return;
    add(other.begin_);
    longest_ = std::max(longest_, other.longest_);
  }
  /// From where on heads tell most: keys that are nothing but a head have it at 0.
  size_t first_difference() const { return longest_ <= sizeof(uint64_t) ? 0 : begin_.size(); }

 private:
  static constexpr size_t most_bytes = 256;
  void shorten(ByteView key) {
    const size_t most = std::min(begin_.size(), key.size());
    size_t same = 0;
    while (same < most && begin_[same] == key[same]) ++same;
    begin_.resize(same);
  }

  bool any_ = false;
  std::string begin_;
  size_t longest_ = 0;
};

/// Records that are not sorted yet.
struct Entries {
  std::vector<PageVector<Entry>> blocks;
  CommonKey common;

  size_t size() const {
    size_t all = 0;
    for (const PageVector<Entry>& block : blocks) all += block.size();
    return all;
  }
};

/// Sorted records.
struct SortedEntries {
  PageBytes bytes;
  size_t count = 0;
  std::span<Entry> all() const { return {reinterpret_cast<Entry*>(bytes.get()), count}; }
};

/// Sorts entries: they are divided into buckets by their heads, each of which is sorted by itself.
class BucketSort {
 public:
  explicit BucketSort(Entries&& entries)
      : entries_(std::move(entries)),
        from_(entries_.common.first_difference()),
        sorted_{.bytes = make_page_bytes(std::max<size_t>(entries_.size(), 1) * sizeof(Entry)),
                .count = entries_.size()} {}

  Result<SortedEntries> run(const Workers& workers) {
    const std::span<Entry> sorted = sorted_.all();
    if (from_ != 0) {
      HAILSTONE_TRY(workers.each(entries_.blocks.size(), [&](size_t number, const GoOn&) -> Status {
        for (Entry& entry : entries_.blocks[number])
          entry.key = sort_record::head(sort_record::key(record_of(entry)), from_);
        return {};
      }));
    }
    choose_splitters();
    const size_t buckets = splitters_.size() + 1;
    places_.assign(entries_.blocks.size() * buckets, 0);
    const PageBytes bucket_bytes = make_page_bytes(std::max<size_t>(sorted_.count, 1) * sizeof(uint32_t));
    std::vector<uint32_t*> buckets_of;  // the entries of each block
    auto* of_block = reinterpret_cast<uint32_t*>(bucket_bytes.get());
    for (const PageVector<Entry>& block : entries_.blocks)
      buckets_of.push_back(std::exchange(of_block, of_block + block.size()));
    HAILSTONE_TRY(workers.each(entries_.blocks.size(), [&](size_t number, const GoOn&) -> Status {
      const PageVector<Entry>& block = entries_.blocks[number];
      for (size_t i = 0; i < block.size(); ++i) {
        const size_t bucket = bucket_of(block[i]);
        buckets_of[number][i] = static_cast<uint32_t>(bucket);
        ++places_[number * buckets + bucket];
      }
      return {};
    }));
    std::vector<size_t> begins(buckets + 1);
    for (size_t bucket = 0, at = 0; bucket < buckets; ++bucket) {
      begins[bucket] = at;
      for (size_t number = 0; number < entries_.blocks.size(); ++number)
        at += std::exchange(places_[number * buckets + bucket], at);
      begins[bucket + 1] = at;
    }
    HAILSTONE_TRY(workers.each(entries_.blocks.size(), [&](size_t number, const GoOn&) -> Status {
      const PageVector<Entry>& block = entries_.blocks[number];
      for (size_t i = 0; i < block.size(); ++i)
        sorted[places_[number * buckets + buckets_of[number][i]]++] = block[i];
      return {};
    }));
    entries_.blocks.clear();
    HAILSTONE_TRY(workers.each(buckets, [&](size_t bucket, const GoOn& go_on) -> Status {
      return EntrySort(go_on).sort(sorted.subspan(begins[bucket], begins[bucket + 1] - begins[bucket]), from_,
                                   0);
    }));
    return std::move(sorted_);
  }

 private:
  /// Heads of some of the entries that divide all of them into buckets of about the same size.
  void choose_splitters() {
    const size_t buckets = (sorted_.count + bucket_entries - 1) / bucket_entries;
    if (buckets < 2) return;
    std::vector<uint64_t> samples;
    const size_t step = sorted_.count / (buckets * samples_of_bucket);
    size_t skipped = 0;
    for (const PageVector<Entry>& block : entries_.blocks) {
      for (; skipped < block.size(); skipped += step) samples.push_back(block[skipped].key);
      skipped -= block.size();
    }
    std::ranges::sort(samples);
    for (size_t i = 1; i < buckets; ++i) {
      const uint64_t splitter = samples[i * samples.size() / buckets];
      if (splitters_.empty() || splitters_.back() != splitter) splitters_.push_back(splitter);
    }
  }

  size_t bucket_of(const Entry& entry) const {
    size_t bucket = 0;
    for (size_t left = splitters_.size(); left != 0;) {
      const size_t half = (left + 1) / 2;
      bucket += splitters_[bucket + half - 1] <= entry.key ? half : 0;
      left -= half;
    }
    return bucket;
  }

  Entries entries_;
  const size_t from_;  // where the heads are in the keys
  SortedEntries sorted_;
  std::vector<uint64_t> splitters_;  // the first heads of all buckets but the first
  std::vector<size_t> places_;       // where the next entry goes, by block and bucket
};

/// Sorted records, one after the other: in memory, or of a run.
struct Cursor {
  uint64_t head = 0;
  const char* record = nullptr;  // null: at the end
  std::span<const Entry> entries = {};
  bool has_head = false;  // not where there is nothing to merge with
  const Run* run = nullptr;
  size_t next = 0;  // of the entries, or frame of the run
  std::string frame = {};
  size_t position = 0;  // in the frame

  Status advance(std::string& scratch) {
    if (run == nullptr) {
      record = nullptr;
      if (next == entries.size()) return {};
      record = record_of(entries[next]);
      if (++next + prefetched_entries < entries.size()) {
        const char* const later = record_of(entries[next + prefetched_entries]);
        __builtin_prefetch(later);
        __builtin_prefetch(later + cache_line);
      }
      if (has_head) head = sort_record::head(sort_record::key(record), 0);
      return {};
    }
    if (record != nullptr && position < frame.size()) {
      record = frame.data() + position;
      position += sort_record::size(record);
    } else if (next < run->frames.size()) {
      HAILSTONE_TRY(run->file->read(run->frames[next++], scratch, frame));
      record = frame.data();
      position = sort_record::size(record);
    } else {
      record = nullptr;
    }
    if (record != nullptr) head = sort_record::head(sort_record::key(record), 0);
    return {};
  }
};

/// Merges what is sorted: a tournament, in each node of which the loser of two stays.
class Merge {
 public:
  void add(std::span<const Entry> entries) { cursors_.push_back({.entries = entries}); }
  void add(const Run& run) { cursors_.push_back({.run = &run}); }

  /// The next record, valid until the next call; null at the end.
  Result<const char*> next() {
    if (!begun_) {
      HAILSTONE_TRY(begin());
    } else if (!cursors_.empty()) {
      HAILSTONE_TRY(cursors_[winner_].advance(scratch_));
      for (size_t node = (winner_ + cursors_.size()) / 2; node != 0; node /= 2) {
        if (precedes(losers_[node], winner_)) std::swap(losers_[node], winner_);
      }
    }
    return cursors_.empty() ? nullptr : cursors_[winner_].record;
  }

  uint64_t skip(uint64_t records) {
    if (!begun_ || cursors_.size() != 1 || cursors_.front().run != nullptr) return 0;
    Cursor& only = cursors_.front();
    const uint64_t skipped = std::min<uint64_t>(records, only.entries.size() - only.next);
    only.next += skipped;
    return skipped;
  }

 private:
  Status begin() {
    begun_ = true;
    for (Cursor& cursor : cursors_) {
      cursor.has_head = cursors_.size() > 1;
      HAILSTONE_TRY(cursor.advance(scratch_));
    }
    const size_t count = cursors_.size();
    losers_.resize(count);
    std::vector<size_t> winners(2 * count);
    for (size_t i = 0; i < count; ++i) winners[count + i] = i;
    for (size_t node = count; node-- > 1;) {
      size_t one = winners[2 * node], other = winners[2 * node + 1];
      if (precedes(other, one)) std::swap(one, other);
      winners[node] = one;
      losers_[node] = other;
    }
    winner_ = count > 1 ? winners[1] : 0;
    return {};
  }

  bool precedes(size_t one, size_t other) const {
    const Cursor &left = cursors_[one], &right = cursors_[other];
    if (left.record == nullptr || right.record == nullptr) return left.record != nullptr;
    if (left.head != right.head) return left.head < right.head;
    return sort_record::precedes(sort_record::key(left.record), sort_record::key(right.record),
                                 sizeof(uint64_t));
  }

  std::deque<Cursor> cursors_;
  std::vector<size_t> losers_;  // by node, from 1 on
  size_t winner_ = 0;
  bool begun_ = false;
  std::string scratch_;
};

/// Writes merged records to a file, in frames of about `frame_bytes`.
Result<Run> write_run(Merge& merge, std::shared_ptr<SpillFile> file, size_t frame_bytes, const GoOn& go_on) {
  Run run{.file = std::move(file), .frames = {}};
  std::string frame;
  frame.reserve(frame_bytes);
  const auto write = [&]() -> Status {
    HAILSTONE_TRY(go_on());
    HAILSTONE_ASSIGN(const SpilledFrame written, run.file->append(frame));
    run.frames.push_back(written);
    frame.clear();
    return {};
  };
  for (;;) {
    HAILSTONE_ASSIGN(const char* const record, merge.next());
    if (record == nullptr) break;
    const size_t size = sort_record::size(record);
    if (!frame.empty() && frame.size() + size > frame_bytes) HAILSTONE_TRY(write());
    frame.append(record, size);
  }
  if (!frame.empty()) HAILSTONE_TRY(write());
  return run;
}

}  // namespace

struct RecordSort::State {
  /// What one thread has.
  struct Part {
    Part(MemoryBudget& budget, size_t floor, OperatorCounts* counts)
        : memory(std::make_unique<MemoryBudget>(budget, floor), counts) {}

    OperatorMemory memory;
    std::vector<Page> pages;
    char* next = nullptr;  // in the last page
    size_t room = 0;
    Entries entries;
    std::shared_ptr<SpillFile> file;  // of the runs
    std::vector<Run> runs;
  };

  State(MemoryBudget& the_budget, SpillSpace& the_space, const Memory& may_take, unsigned part_count,
        OperatorCounts* the_counts)
      : budget(the_budget),
        space(the_space),
        share(may_take.share),
        floor_of_part(may_take.floor / 4 * 3 / part_count),
        floor_of_merge(may_take.floor / 4),
        // What comes after it must have room in the floor, too.
        least_run(query_floor(budget, std::min(usual_least_run, floor_of_part / 2))),
        share_of_part(std::max(share / part_count, least_run)),
        page_bytes(std::clamp(share_of_part / 16, usual_least_page, most_page)),
        least_piece(std::max(floor_of_part / pieces_of_floor, least_page)),
        frame_bytes(std::clamp(std::bit_floor(floor_of_merge / bytes_of_cursor(1) / least_fan_in),
                               least_frame, most_frame)),
        counts(the_counts),
        buffers(std::make_unique<MemoryBudget>(budget, floor_of_merge), the_counts) {
    for (unsigned i = 0; i < part_count; ++i) parts.emplace_back(budget, floor_of_part, counts);
  }

  /// Memory for `wanted` bytes, or where that is too much, for `least` at least; for how many.
  Result<size_t> take(Part& part, size_t wanted, size_t least, const GoOn& go_on) {
    for (size_t bytes = wanted;; bytes = std::max(bytes / 4, least)) {
      const bool may_grow = part.memory.bytes() + bytes <= share_of_part || budget.is_spare(bytes);
      if (may_grow && part.memory.try_grow(bytes)) return bytes;
      if (bytes <= least) break;
    }
    if (part.memory.bytes() >= least_run) HAILSTONE_TRY(spill(part, go_on));
    const size_t bytes = std::max(least, std::min(wanted, least_piece));
    if (!part.memory.try_grow(bytes)) part.memory.grow(bytes);
    return bytes;
  }

  /// Room for `records` more entries in the last block.
  Status grow(Part& part, size_t records, const GoOn& go_on) {
    std::vector<PageVector<Entry>>& blocks = part.entries.blocks;
    if (!blocks.empty() && blocks.back().size() + records <= blocks.back().capacity()) return {};
    const size_t last = blocks.empty() ? 0 : blocks.back().capacity();
    const size_t capacity = std::max(std::clamp(2 * last, first_block_entries, most_block_entries), records);
    // Once more where they will be sorted, and the numbers of their buckets.
    constexpr size_t bytes_of_entry = 2 * sizeof(Entry) + sizeof(uint32_t);
    const size_t least = std::max(std::min(capacity, first_block_entries), records);
    HAILSTONE_ASSIGN(const size_t bytes,
                     take(part, capacity * bytes_of_entry, least * bytes_of_entry, go_on));
    blocks.emplace_back().reserve(bytes / bytes_of_entry);
    return {};
  }

  /// All that the part has in memory becomes a run.
  Status spill(Part& part, const GoOn& go_on) {
    if (part.entries.size() == 0) return {};
    if (part.file == nullptr) {
      HAILSTONE_ASSIGN(part.file, space.create());
    }
    HAILSTONE_ASSIGN(const SortedEntries sorted,
                     BucketSort(std::exchange(part.entries, {})).run(Workers(go_on)));
    Merge merge;
    merge.add(sorted.all());
    HAILSTONE_ASSIGN(Run run, write_run(merge, part.file, frame_bytes, go_on));
    note_spilled(run);
    part.runs.push_back(std::move(run));
    part.pages.clear();
    part.next = nullptr;
    part.room = 0;
    part.memory.clear();
    return {};
  }

  void note_spilled(const Run& run) {
    uint64_t bytes = 0;
    for (const SpilledFrame& frame : run.frames) bytes += frame.stored;
    spilled += bytes;
    if (counts != nullptr) counts->spilled.fetch_add(bytes, std::memory_order_relaxed);
  }

  /// Until no more runs are left than one merge takes.
  Status merge_runs(const GoOn& go_on) {
    if (runs.empty()) return {};
    for (;;) {
      const size_t fan_in = take_buffers();
      if (runs.size() <= fan_in) return {};
      ++merges;
      const size_t merged = std::min(fan_in, runs.size() - fan_in + 1);
      Merge merge;
      for (size_t i = 0; i < merged; ++i) merge.add(runs[i]);
      HAILSTONE_ASSIGN(std::shared_ptr<SpillFile> file, space.create());
      HAILSTONE_ASSIGN(Run run, write_run(merge, std::move(file), frame_bytes, go_on));
      HAILSTONE_TRY(run.file->finish());
      note_spilled(run);
      runs.erase(runs.begin(), runs.begin() + static_cast<ptrdiff_t>(merged));
      runs.push_back(std::move(run));
    }
  }

  /// What a cursor on a run takes for its frames: one as it is stored, and one unpacked.
  static constexpr size_t bytes_of_cursor(size_t frame) { return 2 * frame; }

  /// For the frames of as many runs as may be merged at a time; of how many.
  size_t take_buffers() {
    buffers.clear();
    const size_t usual = std::clamp(share / most_frame / 4, usual_fan_in, most_fan_in);
    for (size_t fan_in = std::min(usual, std::max(runs.size(), least_fan_in));;
         fan_in = std::max(fan_in / 2, least_fan_in)) {
      const size_t bytes = fan_in * bytes_of_cursor(frame_bytes);
      if (buffers.try_grow(bytes)) return fan_in;
      if (fan_in > least_fan_in) continue;
      buffers.grow(bytes);
      return fan_in;
    }
  }

  MemoryBudget& budget;
  SpillSpace& space;
  const size_t share, floor_of_part, floor_of_merge, least_run, share_of_part, page_bytes, least_piece,
      frame_bytes;
  OperatorCounts* const counts;
  std::deque<Part> parts;
  std::atomic<uint64_t> spilled{0};
  unsigned merges = 0;
  OperatorMemory buffers;  // of the frames of runs
  std::vector<Run> runs;
  SortedEntries in_memory;  // of all parts
  Merge all;
};

RecordSort::RecordSort(MemoryBudget& budget, SpillSpace& space, const Memory& memory, unsigned parts,
                       OperatorCounts* counts)
    : state_(std::make_unique<State>(budget, space, memory, parts, counts)) {}

RecordSort::~RecordSort() = default;

Result<char*> RecordSort::room(unsigned part_number, size_t bytes, size_t records, const GoOn& go_on) {
  State& state = *state_;
  State::Part& part = state.parts[part_number];
  for (;;) {
    HAILSTONE_TRY(state.grow(part, records, go_on));
    if (part.room >= bytes) break;
    // Entries may be spilled.
    HAILSTONE_ASSIGN(const size_t size,
                     state.take(part, std::max(state.page_bytes, bytes), std::max(least_page, bytes), go_on));
    part.pages.push_back({make_page_bytes(size), size});
    part.next = part.pages.back().bytes.get();
    part.room = size;
  }
  char* const room = part.next;
  part.next += bytes;
  part.room -= bytes;
  return room;
}

void RecordSort::add(unsigned part, const char* record) {
  Entries& entries = state_->parts[part].entries;
  const ByteView key = sort_record::key(record);
  entries.common.add(key);
  entries.blocks.back().push_back(
      {.value = reinterpret_cast<uintptr_t>(record), .key = sort_record::head(key, 0)});
}

Status RecordSort::sort(const QueryHost& host, unsigned threads) {
  State& state = *state_;
  const GoOn go_on = [&host] { return host.check_interruption(); };
  Entries entries;
  for (State::Part& part : state.parts) {
    const bool over = state.budget.query_limit() != 0 && part.memory.bytes() > state.share_of_part;
    if (over && part.entries.size() > 1) HAILSTONE_TRY(state.spill(part, go_on));
    std::ranges::move(part.entries.blocks, std::back_inserter(entries.blocks));
    part.entries.blocks.clear();
    entries.common.add(part.entries.common);
    if (part.file != nullptr) HAILSTONE_TRY(part.file->finish());
    part.file = nullptr;
    std::ranges::move(part.runs, std::back_inserter(state.runs));
    part.runs.clear();
  }
  HAILSTONE_ASSIGN(state.in_memory, BucketSort(std::move(entries)).run(Workers(host, threads, state.counts)));
  const OperatorWork merging(state.counts);
  HAILSTONE_TRY(state.merge_runs(go_on));
  if (state.in_memory.count != 0) state.all.add(state.in_memory.all());
  for (const Run& run : state.runs) state.all.add(run);
  return {};
}

Result<const char*> RecordSort::next() { return state_->all.next(); }

uint64_t RecordSort::skip(uint64_t records) { return state_->all.skip(records); }

uint64_t RecordSort::bytes_spilled() const { return state_->spilled.load(std::memory_order_relaxed); }
unsigned RecordSort::merges() const { return state_->merges; }

}  // namespace hailstone

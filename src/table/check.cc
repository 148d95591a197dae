// CHECK TABLE: every byte of every segment against its checksum, the order of keys, filters and indexes
// against the rows, and at last the table as a snapshot sees it: each index must lead to the same number of
// rows as the table has.
#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "segment/key_filter.h"
#include "table/cursor.h"
#include "table/delete_vector_file.h"
#include "table/scan.h"
#include "table/table_state.h"

namespace hailstone {

namespace {

constexpr uint32_t rows_between_stops = 4096;
constexpr uint32_t read_ahead = 1024;
constexpr size_t most_looked_up = size_t{1} << 18;

class SegmentCheck {
 public:
  SegmentCheck(const Table::State& state, const TableSegment& segment, const StopToken& stop)
      : state_(state), segment_(segment), file_(*segment.segment), stop_(stop) {}

  Status run() {
    HAILSTONE_TRY(file_.check());
    HAILSTONE_TRY(check_order(SegmentKeys::clustered));
    for (size_t i = 0; i < state_.keys->secondary_count(); ++i) HAILSTONE_TRY(check_order(i));
    return {};
  }

 private:
  std::unexpected<Error> damaged(const std::string& what) const {
    return fail(ErrorCode::Corruption,
                fmt::format("{}: {}; restore the table from a backup", file_.path(), what));
  }

  Status check_order(size_t secondary) {
    SegmentKeys keys(segment_, *state_.keys, secondary, CacheUse::PassBy);
    const bool is_clustered = secondary == SegmentKeys::clustered;
    if (keys.entries() != segment_.rows()) {
      return damaged(fmt::format("index {} has {} entries for {} rows", name(secondary), keys.entries(),
                                 segment_.rows()));
    }
    std::vector<bool> met(is_clustered ? 0 : segment_.rows());
    std::string key, previous;
    EntryKeys ahead;
    uint32_t ahead_first = 0;
    to_look_up_.clear();
    for (uint32_t position = 0; position < keys.entries(); ++position) {
      if (position % rows_between_stops == 0 && stop_.stop_requested()) {
        return fail(ErrorCode::Interrupted, fmt::format("checking {} was interrupted", file_.path()));
      }
      HAILSTONE_ASSIGN(const uint32_t ordinal, keys.ordinal(position));
      if (is_clustered) {
        // Not key(), which takes some of them from the samples.
        if (position % read_ahead == 0) {
          ahead_first = position;
          HAILSTONE_TRY(keys.keys(position, std::min(read_ahead, keys.entries() - position), ahead));
        }
        key = ahead[position - ahead_first];
      } else {
        HAILSTONE_TRY(keys.key(position, key));
        if (met[ordinal]) return damaged(fmt::format("index {} has row {} twice", name(secondary), ordinal));
        met[ordinal] = true;
      }
      if (position > 0 && key < previous) {
        return damaged(fmt::format("entry {} of index {} is out of order", position, name(secondary)));
      }
      HAILSTONE_TRY(check_lookup(secondary, position, key, keys));
      std::swap(previous, key);
    }
    HAILSTONE_TRY(check_filter(secondary));
    const ByteView last = is_clustered ? file_.last_key() : file_.index_last_key(secondary);
    if (keys.entries() > 0 && previous != last) {
      return damaged(fmt::format("the last key of index {} is not that of its last entry", name(secondary)));
    }
    return {};
  }

  /// The samples and filters that lead to an entry.
  Status check_lookup(size_t secondary, uint32_t position, ByteView key, const SegmentKeys& keys) {
    const bool is_clustered = secondary == SegmentKeys::clustered;
    if (position % key_sample_stride == 0) {
      const size_t number = position / key_sample_stride;
      const ByteView sample = is_clustered ? file_.key_sample(number) : file_.index_sample(secondary, number);
      if (sample != key)
        return damaged(fmt::format("key sample {} of index {} is wrong", number, name(secondary)));
    }
    if (is_clustered && !state_.keys->hidden_row_id()) {
      to_look_up_.push_back({hash_bytes(key), position});
    } else if (!is_clustered && state_.keys->secondary_unique(secondary)) {
      to_look_up_.push_back({hash_bytes(key.substr(0, key.size() - keys.clustered_size())), position});
    }
    return to_look_up_.size() < most_looked_up ? Status() : check_filter(secondary);
  }

  /// Whether the filter admits the keys that were noted. By hash, as each part of the filter is read once so.
  Status check_filter(size_t secondary) {
    std::ranges::sort(to_look_up_, {}, &BloomKey::hash);
    const KeyFilter& filter =
        secondary == SegmentKeys::clustered ? file_.key_filter() : file_.index_filter(secondary);
    std::vector<uint32_t> admitted;
    HAILSTONE_TRY(filter.admits(to_look_up_, admitted));
    const auto denied = std::ranges::mismatch(to_look_up_, admitted, {}, &BloomKey::number).in1;
    if (denied != to_look_up_.end()) {
      return damaged(
          fmt::format("the filter of index {} denies the key of entry {}", name(secondary), denied->number));
    }
    to_look_up_.clear();
    return {};
  }

  std::string name(size_t secondary) const {
    if (secondary != SegmentKeys::clustered) {
      return state_.layout->definition().indexes[secondary + state_.keys->first_secondary()].name;
    }
    return state_.keys->hidden_row_id() ? "(hidden row id)" : state_.layout->definition().indexes[0].name;
  }

  const Table::State& state_;
  const TableSegment& segment_;
  const Segment& file_;
  const StopToken& stop_;
  std::vector<BloomKey> to_look_up_;  // by the positions of their entries
};

}  // namespace

Status Table::check(Transaction& transaction, const StopToken& stop) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  const auto view = state.current_view();
  for (const auto& segment : view->segments) {
    HAILSTONE_TRY(state.noted(SegmentCheck(state, *segment, stop).run()));
    HAILSTONE_TRY(state.noted(check_delete_vector(state, *segment)));
  }
  Scan scan(shared_from_this(), transaction, ReadLock::None, nullptr, {});
  HAILSTONE_ASSIGN(const uint64_t rows, scan.count_rest());
  for (size_t index = 0; index < definition().indexes.size(); ++index) {
    Cursor cursor(shared_from_this(), transaction, index, ReadLock::None, {});
    uint64_t entries = 0;
    HAILSTONE_ASSIGN(bool on_row, cursor.seek_at_or_after({}));
    while (on_row) {
      if (++entries % rows_between_stops == 0 && stop.stop_requested()) {
        return fail(ErrorCode::Interrupted,
                    fmt::format("checking table {} was interrupted", definition().name));
      }
      HAILSTONE_ASSIGN(on_row, cursor.next());
    }
    if (entries != rows) {
      return fail(ErrorCode::Corruption,
                  fmt::format("table {}: index {} leads to {} rows of {}; restore the table from a backup",
                              definition().name, definition().indexes[index].name, entries, rows));
    }
  }
  return {};
}

}  // namespace hailstone

// CHECK TABLE: every byte of every segment against its checksum, the order of keys, filters and indexes
// against the rows, and at last the table as a snapshot sees it: each index must lead to the same number of
// rows as the table has.
//
// Keys of texts in a collation of which this program has no weights cannot be made here. Segments store every
// key_sample_stride-th key of an index, and the last one: their order, their form, the parts of other types
// and what filters say of them is checked then, but not whether the weights are those of the texts.
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
    HAILSTONE_TRY(state_.keys->makes_clustered() ? check_order(SegmentKeys::clustered)
                                                 : check_stored_keys(SegmentKeys::clustered));
    for (size_t i = 0; i < state_.keys->secondary_count(); ++i)
      HAILSTONE_TRY(state_.keys->makes_secondary(i) ? check_order(i) : check_stored_keys(i));
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

  /// Of an index whose keys cannot be made here.
  Status check_stored_keys(size_t secondary) {
    StoredKeys index(segment_, *state_.keys, secondary);
    const bool is_clustered = secondary == SegmentKeys::clustered;
    const uint32_t entries = index.keys.entries();
    if (entries != segment_.rows()) {
      return damaged(
          fmt::format("index {} has {} entries for {} rows", name(secondary), entries, segment_.rows()));
    }
    std::vector<bool> met(is_clustered ? 0 : segment_.rows());
    to_look_up_.clear();
    for (uint32_t position = 0; position < entries; ++position) {
      if (position % rows_between_stops == 0 && stop_.stop_requested()) {
        return fail(ErrorCode::Interrupted, fmt::format("checking {} was interrupted", file_.path()));
      }
      if (!is_clustered) {
        HAILSTONE_ASSIGN(const uint32_t ordinal, index.keys.ordinal(position));
        if (met[ordinal]) return damaged(fmt::format("index {} has row {} twice", name(secondary), ordinal));
        met[ordinal] = true;
      }
      if (position % key_sample_stride == 0) {
        const size_t number = position / key_sample_stride;
        HAILSTONE_TRY(check_stored_key(
            index, position,
            is_clustered ? file_.key_sample(number) : file_.index_sample(secondary, number)));
      }
    }
    if (entries > 0) {
      HAILSTONE_TRY(check_stored_key(index, entries - 1,
                                     is_clustered ? file_.last_key() : file_.index_last_key(secondary)));
    }
    return check_filter(secondary);
  }

  /// What it takes to look at the stored keys of an index, in their order.
  struct StoredKeys {
    StoredKeys(const TableSegment& segment, const TableKeys& all, size_t number)
        : secondary(number),
          keys(segment, all, number, CacheUse::PassBy),
          own(segment,
              number == SegmentKeys::clustered ? std::vector<uint16_t>() : columns_of(all.secondary(number))),
          clustered(segment, all.hidden_row_id() ? std::vector<uint16_t>{StoredColumn::row_id}
                                                 : columns_of(all.clustered())) {}
    static std::vector<uint16_t> columns_of(const KeyCodec& codec) {
      return {codec.columns().begin(), codec.columns().end()};
    }

    const size_t secondary;
    SegmentKeys keys;
    RowReader own, clustered;  // values that make a key
    ByteView previous;
    ByteView previous_unique;  // its part that one live row has at most; empty: there is none
    uint32_t previous_ordinal = 0;
  };

  Status check_stored_key(StoredKeys& index, uint32_t position, ByteView key) {
    const TableKeys& all = *state_.keys;
    const bool is_clustered = index.secondary == SegmentKeys::clustered;
    HAILSTONE_ASSIGN(const uint32_t ordinal, index.keys.ordinal(position));
    ByteView rest = key;
    bool agrees = true, has_null = false;
    if (!is_clustered) {
      HAILSTONE_TRY(index.own.read(ordinal));
      has_null = std::ranges::any_of(index.own.values(), &Value::null);
      HAILSTONE_ASSIGN(agrees, all.secondary(index.secondary).agrees(index.own.values(), rest));
    }
    const size_t own_size = key.size() - rest.size();
    if (agrees) {
      HAILSTONE_TRY(index.clustered.read(ordinal));
      const std::span<const Value> values = index.clustered.values();
      if (all.hidden_row_id()) {
        agrees = rest.size() == sizeof(uint64_t) && row_id_of(rest) == values[0].integer;
      } else {
        HAILSTONE_ASSIGN(agrees, all.clustered().agrees(values, rest));
        agrees = agrees && rest.empty();
      }
    }
    if (!agrees) {
      return damaged(fmt::format("the key stored for entry {} of index {} is not that of its row", position,
                                 name(index.secondary)));
    }
    if (key < index.previous)
      return damaged(fmt::format("entry {} of index {} is out of order", position, name(index.secondary)));
    const bool is_unique = is_clustered || (all.secondary_unique(index.secondary) && !has_null);
    const ByteView unique = !is_unique ? ByteView() : is_clustered ? key : key.substr(0, own_size);
    if (is_unique && unique == index.previous_unique && ordinal != index.previous_ordinal &&
        is_live(ordinal) && is_live(index.previous_ordinal)) {
      return damaged(fmt::format("index {} has two rows of one key, {} and {}", name(index.secondary),
                                 index.previous_ordinal, ordinal));
    }
    if (is_unique) to_look_up_.push_back({hash_bytes(unique), position});
    index.previous = key;
    index.previous_unique = unique;
    index.previous_ordinal = ordinal;
    return to_look_up_.size() < most_looked_up ? Status() : check_filter(index.secondary);
  }

  bool is_live(uint32_t ordinal) const {
    const SharedLock guard(segment_.latch());
    return segment_.ends->end(ordinal) == infinity;
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

Status Table::check(Transaction& transaction, const StopToken& stop, std::vector<std::string>* in_part) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  const auto view = state.current_view();
  for (const auto& segment : view->segments) {
    HAILSTONE_TRY(state.noted(SegmentCheck(state, *segment, stop).run()));
    HAILSTONE_TRY(state.noted(check_delete_vector(state, *segment)));
  }
  Scan scan(shared_from_this(), transaction, ReadLock::None, nullptr, {});
  HAILSTONE_ASSIGN(const uint64_t rows, scan.count_rest());
  std::vector<std::string> left_out;
  for (size_t index = 0; index < definition().indexes.size(); ++index) {
    const size_t first = state.keys->first_secondary();
    const bool makes_keys =
        index < first ? state.keys->makes_clustered() : state.keys->makes_secondary(index - first);
    if (!makes_keys) {
      left_out.push_back(definition().indexes[index].name);
      continue;
    }
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
  if (in_part != nullptr) {
    *in_part = std::move(left_out);
  } else if (!left_out.empty()) {
    return fail(
        ErrorCode::Unsupported,
        fmt::format("table {} is sound, as far as this program can tell: only the one that made it knows the "
                    "collation of index {}, and whether its keys are those of the texts",
                    definition().name, left_out.front()));
  }
  return {};
}

}  // namespace hailstone

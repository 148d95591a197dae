// What a table tells about itself: sizes, and estimates for an optimizer.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/scheduler.h"
#include "table/cursor.h"
#include "table/segment_statistics.h"
#include "table/table_state.h"

namespace hailstone {

namespace {

/// Entries counted one by one in a delta before the rest is guessed.
constexpr size_t most_delta_entries_counted = 512;
/// analyze() reads every key of an index; of bigger tables the estimates from segments are kept.
constexpr uint64_t most_rows_analyzed = 4'000'000;
/// Fewer rows more or less are no reason to analyze a table again.
constexpr uint64_t least_change_analyzed = 1000;
constexpr uint64_t entries_between_stops = 4096;

/// What more segments say of themselves is kept up to date; of fewer it is soon summed up again.
constexpr size_t few_segments = 64;

SegmentStatistics sum_of(const TableView& view, const TableKeys& keys) {
  SegmentStatistics sum(keys);
  for (const auto& segment : view.segments) sum.add(*segment, keys);
  return sum;
}

/// Whether a table with so many rows is another one than that which was analyzed.
bool is_outgrown(const Table::AnalyzedCounts& counts, uint64_t rows) {
  const auto [less, more] = std::minmax(counts.rows, rows);
  return more - less >= least_change_analyzed && more / 2 > less;
}

/// What the counts have become, until somebody looks: those that told the rows apart grow with the rows,
/// those of few values keep what they had, the others lie between.
std::vector<std::vector<uint64_t>> outgrown(const Table::AnalyzedCounts& counts, uint64_t rows) {
  std::vector<std::vector<uint64_t>> result = counts.distinct;
  const double before = static_cast<double>(std::max<uint64_t>(1, counts.rows));
  for (auto& of_index : result) {
    for (uint64_t& distinct : of_index) {
      const double share = std::min(1.0, static_cast<double>(distinct) / before);
      const double factor = 1 + share * (static_cast<double>(rows) / before - 1);
      distinct = std::min(rows, static_cast<uint64_t>(std::round(static_cast<double>(distinct) * factor)));
    }
  }
  return result;
}

}  // namespace

TableStatistics Table::State::keep_statistics(const TableView& of) const {
  auto sum = std::make_unique<SegmentStatistics>(sum_of(of, *keys));
  TableStatistics result = sum->value();
  // It is kept up to date from the view on that it is of.
  const SharedLock guard(latch());
  const MutexLock kept(statistics_mutex);
  if (current_view()->orders == of.orders) kept_statistics = std::move(sum);
  return result;
}

void Table::State::note_segments(const TableSegments& gone, const TableSegments& added) noexcept {
  const MutexLock guard(statistics_mutex);
  if (kept_statistics == nullptr) return;
  for (const auto& segment : gone) kept_statistics->take_off(*segment, *keys);
  for (const auto& segment : added) kept_statistics->add(*segment, *keys);
  if (kept_statistics->is_worn()) kept_statistics.reset();
}

TableStatistics Table::statistics() const {
  const State& state = *state_;
  std::shared_ptr<const TableView> view;
  uint64_t ended_rows = 0;
  TableStatistics of_deltas;
  std::optional<TableStatistics> of_segments;
  {
    // Together, as a flush moves rows from a delta to a segment.
    const SharedLock guard(state.latch());
    view = state.current_view();
    ended_rows = state.ended_rows->count.load(std::memory_order_relaxed);
    for (const auto& delta : view->deltas) {
      if (delta->rows.version_count() == 0) continue;
      of_deltas.rows += delta->live_versions();
      of_deltas.deleted_rows += delta->rows.version_count() - delta->live_versions();
      of_deltas.data_bytes += delta->rows.bytes();
      for (size_t i = 0; i < state.keys->secondary_count(); ++i) {
        of_deltas.index_bytes += delta->rows.secondary(i).size() * DeltaTree::entry_bytes;
      }
    }
    const MutexLock kept(state.statistics_mutex);
    if (state.kept_statistics != nullptr) of_segments = state.kept_statistics->value();
  }
  TableStatistics result;
  bool outdated = false;
  if (!of_segments && view->segments.size() > few_segments) of_segments = state.keep_statistics(*view);
  {
    // Every statement may ask; the segments' part changes only with the segments.
    const MutexLock guard(state.statistics_mutex);
    if (!of_segments && state.of_segments_for.lock() != view->orders) {
      state.of_segments = sum_of(*view, *state.keys).value();
      state.of_segments_for = view->orders;
    }
    result = of_segments ? *std::move(of_segments) : state.of_segments;
    ended_rows = std::min(result.rows, ended_rows);
    result.rows += of_deltas.rows - ended_rows;
    if (state.analyzed.distinct.size() == result.distinct.size()) {
      outdated = is_outgrown(state.analyzed, result.rows);
      result.distinct = outdated ? outgrown(state.analyzed, result.rows) : state.analyzed.distinct;
    }
  }
  if (outdated && !state.analysis_asked.exchange(true)) {
    // Nobody who reads statistics changes the table by it: what is found is the table's own memory of itself.
    state.host.request_analysis(std::const_pointer_cast<Table>(shared_from_this()));
  }
  result.deleted_rows = of_deltas.deleted_rows + ended_rows;
  result.data_bytes += of_deltas.data_bytes;
  result.index_bytes += of_deltas.index_bytes;
  result.data_bytes -= std::min(result.data_bytes, result.index_bytes);
  return result;
}

Table::AnalyzedCounts Table::analyzed_counts() const {
  const MutexLock guard(state_->statistics_mutex);
  return state_->analyzed;
}

void Table::set_analyzed_counts(AnalyzedCounts counts) {
  const MutexLock guard(state_->statistics_mutex);
  state_->analyzed = std::move(counts);
}

Status Table::analyze(const StopToken& stop) {
  State& state = *state_;
  HAILSTONE_TRY(state.usable());
  if (!state.keys->makes_all()) return {};  // the statistics are those of the segments
  const uint64_t rows = statistics().rows;
  // Whatever comes of it, who finds the counts outdated asks again.
  struct Asked {
    std::atomic<bool>& flag;
    ~Asked() { flag.store(false); }
  } const asked{state.analysis_asked};
  if (rows > most_rows_analyzed) {
    const MutexLock guard(state.statistics_mutex);
    state.analyzed = {};
    return {};
  }
  // Rows of open transactions count, as statistics() counts them: whoever asks may have written them himself.
  const auto transaction = state.host.transactions().begin(Isolation::ReadUncommitted);
  std::vector<std::vector<uint64_t>> distinct;
  for (size_t index = 0; index < definition().indexes.size(); ++index) {
    const KeyCodec& codec = state.keys->codec(index);
    std::vector<uint64_t> counts(codec.part_count());
    Cursor cursor(shared_from_this(), *transaction, index, ReadLock::None, {});
    std::string previous;
    HAILSTONE_ASSIGN(bool on_row, cursor.seek_at_or_after({}));
    uint64_t entries = 0;
    for (bool first = true; on_row; first = false) {
      if (++entries % entries_between_stops == 0) {
        Scheduler::yield();
        if (stop.stop_requested()) {
          return fail(ErrorCode::Interrupted,
                      "analyzing table " + state.definition().name + " was interrupted");
        }
      }
      HAILSTONE_ASSIGN(const ByteView key, cursor.entry_key());
      for (size_t parts = 1; parts <= counts.size(); ++parts) {
        const ByteView prefix = key.substr(0, codec.prefix_size(key, parts));
        if (first || !previous.starts_with(prefix)) ++counts[parts - 1];
      }
      previous = key;
      HAILSTONE_ASSIGN(on_row, cursor.next());
    }
    distinct.push_back(std::move(counts));
  }
  const MutexLock guard(state.statistics_mutex);
  state.analyzed = {.distinct = std::move(distinct), .rows = rows};
  return {};
}

uint64_t Table::distinct_values(std::span<const std::shared_ptr<const Table>> tables, uint16_t column) {
  DistinctEstimate distinct;
  DistinctSketch sketch;
  for (const auto& table : tables) {
    const auto view = table->state_->current_view();
    for (const auto& segment : view->segments) {
      const SegmentColumns::Location location = segment->columns.location(column);
      if (location.kind != SegmentColumns::Location::Kind::Stored) continue;
      distinct.add(segment->segment->storage(location.position).distinct, segment->rows());
      segment->segment->add_distinct(location.position, sketch);
    }
  }
  return distinct.value(sketch);
}

namespace {

/// What the segments' columns say of themselves, with the bytes that are stored so.
class SharesByName {
 public:
  void add(const std::string& name, uint64_t bytes) {
    const auto same = std::ranges::find_if(shares_, [&](const Share& known) { return known.name == name; });
    if (same == shares_.end()) {
      shares_.push_back({name, bytes});
    } else {
      same->bytes += bytes;
    }
  }
  /// Empty: there is none.
  std::string greatest() const {
    const auto most = std::ranges::max_element(shares_, {}, &Share::bytes);
    return most == shares_.end() ? std::string() : most->name;
  }
  /// The greatest first, joined by ", ".
  std::string all() {
    std::ranges::stable_sort(shares_, std::ranges::greater(), &Share::bytes);
    std::string names;
    for (const Share& share : shares_) names += (names.empty() ? "" : ", ") + share.name;
    return names;
  }

 private:
  struct Share {
    std::string name;
    uint64_t bytes = 0;
  };
  std::vector<Share> shares_;
};

}  // namespace

ColumnStatistics Table::column_statistics(uint16_t column) const {
  const State& state = *state_;
  const auto view = state.current_view();
  ColumnStatistics result;
  result.columnar = layout()->group_position(column) < 0;
  const uint64_t group_size = std::max<uint64_t>(1, state.layout->group_columns().size());
  SharesByName forms, encodings;
  DistinctEstimate distinct;
  DistinctSketch sketch;
  for (const auto& segment : view->segments) {
    const SegmentColumns::Location location = segment->columns.location(column);
    if (location.kind == SegmentColumns::Location::Kind::Absent) continue;
    const bool grouped = location.kind == SegmentColumns::Location::Kind::Grouped;
    ColumnStorage storage = segment->segment->storage(
        grouped ? static_cast<size_t>(segment->columns.row_group()) : location.position);
    if (grouped) {
      // What the row group takes is shared out evenly between its columns; of their values it knows nothing.
      storage.raw_bytes /= group_size;
      storage.stored_bytes /= group_size;
    } else {
      distinct.add(storage.distinct, segment->rows());
      segment->segment->add_distinct(location.position, sketch);
    }
    result.storage.raw_bytes += storage.raw_bytes;
    result.storage.stored_bytes += storage.stored_bytes;
    result.storage.blocks += storage.blocks;
    forms.add(storage.form, storage.stored_bytes);
    encodings.add(storage.encoding, storage.stored_bytes);
  }
  result.storage.distinct = distinct.value(sketch);
  result.storage.form = forms.all();
  result.storage.encoding = encodings.greatest();
  return result;
}

uint64_t Table::estimate_range(size_t index, ByteView low, ByteView high) const {
  State& state = *state_;
  const auto view = state.current_view();
  const bool is_clustered = index == ~size_t{0} || index < state.keys->first_secondary();
  const size_t secondary = is_clustered ? SegmentKeys::clustered : index - state.keys->first_secondary();
  uint64_t entries = 0;
  const SegmentOrder& order = view->order(secondary);
  const auto count_between = [&](const SegmentRange& range) {
    SegmentKeys keys(*view->segments[range.segment], *state.keys, secondary);
    const bool whole_from = low <= range.first, whole_to = high.empty() || range.last < high;
    const auto first = whole_from ? Result<uint32_t>(0U) : state.noted(keys.lower_bound(low));
    const auto last = whole_to ? Result<uint32_t>(keys.entries()) : state.noted(keys.lower_bound(high));
    // An error is met again, and reported, by the read that this estimate is for.
    if (first && last && *first < *last) entries += *last - *first;
    return true;
  };
  if (high.empty()) {
    order.by_first().for_each([&](const SegmentRange& range) {
      if (low <= range.last) count_between(range);
    });
  } else {
    order.visit_between(low, high, count_between);
  }
  const auto count_entries = [&](const DeltaTree& tree) -> uint64_t {
    uint64_t met = 0, live = 0;
    for (auto entry = tree.lower_bound(low); entry != tree.end(); ++entry) {
      if (!high.empty() && !(entry.key() < high)) break;
      if (entry.version()->end() == infinity) ++live;
      if (++met == most_delta_entries_counted) return std::max(live, live * (tree.size() / 3) / met);
    }
    return live;
  };
  const SharedLock guard(state.latch());
  for (const auto& delta : view->deltas) {
    if (delta->rows.version_count() == 0) continue;
    entries += count_entries(is_clustered ? delta->rows.clustered() : delta->rows.secondary(secondary));
  }
  return entries;
}

}  // namespace hailstone

#include "table/aggregate.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>

#include "column/segment_filter.h"

namespace hailstone {

namespace {

/// Numbers looked at together; they stay in the cache, and sums of their 32 bit halves fit into 64 bits.
constexpr uint32_t numbers_at_once = 1024;
/// Blocks that a thread takes at a time: enough to make taking them cheap.
constexpr uint32_t blocks_at_once = 4;
/// Waking a thread pays from about so many blocks for each.
constexpr uint32_t blocks_worth_a_thread = 16;

}  // namespace

Result<AggregatePlan> AggregatePlan::make(Table::State& table, const Projection& projection,
                                          std::span<const Aggregate> wanted) {
  AggregatePlan plan;
  plan.table_ = &table;
  const TableDefinition& definition = table.layout->definition();
  for (const Aggregate& each : wanted) {
    Item item{.wanted = each};
    if (each.kind != Aggregate::Kind::Rows) {
      if (each.position >= projection.columns().size()) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("table {}: column {} of a scan of {} columns", definition.name, each.position,
                                projection.columns().size()));
      }
      item.column = projection.columns()[each.position];
      item.integer = table.layout->is_integer(item.column);
      if (item.column != StoredColumn::row_id) {
        const Column& column = definition.columns[item.column];
        item.type = column.type;
        item.width = column.width;
        if (!item.integer) {
          const bool text = column.type >= Type::Char;
          HAILSTONE_ASSIGN(item.collation,
                           table.host.collations().resolve(text ? column.collation : binary_collation_id));
        }
      } else {
        item.type = Type::Unsigned;
      }
      if (each.kind == Aggregate::Kind::Sum && item.type > Type::Double) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("table {}: column '{}' has no sum, as it holds no numbers", definition.name,
                                definition.columns[item.column].name));
      }
    }
    plan.items_.push_back(item);
  }
  return plan;
}

AggregateSums::AggregateSums(const AggregatePlan& plan) : plan_(plan), sums_(plan.items().size()) {}

void AggregateSums::add_integers(const Item& item, const uint64_t* values, size_t count, Sum& sum) {
  if (count == 0) return;
  switch (item.wanted.kind) {
    case Aggregate::Kind::Minimum:
    case Aggregate::Kind::Maximum: {
      const bool least = item.wanted.kind == Aggregate::Kind::Minimum;
      uint64_t best = sum.count == 0 ? values[0] : sum.integer;
      if (least) {
        for (size_t i = 0; i < count; ++i) best = values[i] < best ? values[i] : best;
      } else {
        for (size_t i = 0; i < count; ++i) best = values[i] > best ? values[i] : best;
      }
      sum.integer = best;
      break;
    }
    case Aggregate::Kind::Sum:
      if (item.type == Type::Double) {
        for (size_t i = 0; i < count; ++i) sum.real += native_double(values[i]);
      } else if (item.type == Type::Float) {
        for (size_t i = 0; i < count; ++i) sum.real += static_cast<double>(native_float(values[i]));
      } else {
        uint64_t low = 0, high = 0;
        for (size_t i = 0; i < count; ++i) {
          low += values[i] & 0xffffffffu;
          high += values[i] >> 32;
        }
        sum.ordered += (static_cast<WideInteger>(high) << 32) + static_cast<WideInteger>(low);
      }
      break;
    case Aggregate::Kind::Rows:
    case Aggregate::Kind::Values:
      break;
  }
  sum.count += count;
}

void AggregateSums::add_bytes(const Item& item, ByteView value, Sum& sum) {
  if (item.wanted.kind != Aggregate::Kind::Values) {
    const bool least = item.wanted.kind == Aggregate::Kind::Minimum;
    const int order = sum.count == 0 ? 0 : item.collation->compare(value, sum.bytes);
    if (sum.count == 0 || (least ? order < 0 : order > 0)) sum.bytes.assign(value);
  }
  ++sum.count;
}

void AggregateSums::add_vector(const Item& item, const ColumnVector& vector, uint32_t rows, Sum& sum) {
  if (item.integer && !vector.any_nulls) {
    for (uint32_t first = 0; first < rows; first += numbers_at_once) {
      add_integers(item, vector.integers.data() + first, std::min(numbers_at_once, rows - first), sum);
    }
    return;
  }
  for (uint32_t row = 0; row < rows; ++row) {
    const Value value = vector.value(row);
    if (value.null) continue;
    if (item.integer) {
      add_integers(item, &value.integer, 1, sum);
    } else {
      add_bytes(item, value.bytes, sum);
    }
  }
}

void AggregateSums::add(const Batch& batch) {
  for (size_t i = 0; i < sums_.size(); ++i) {
    const Item& item = plan_.items()[i];
    if (item.wanted.kind == Aggregate::Kind::Rows) {
      sums_[i].count += batch.rows;
    } else {
      add_vector(item, batch.columns[item.wanted.position], batch.rows, sums_[i]);
    }
  }
}

Result<bool> AggregateSums::add_summary(const Item& item, const SegmentColumns& columns, uint32_t block,
                                        Sum& sum) {
  const auto location = columns.location(item.column);
  if (location.kind == SegmentColumns::Location::Kind::Absent) return true;
  if (location.kind != SegmentColumns::Location::Kind::Stored) return false;
  const BlockSummary summary = columns.segment().summary(location.position, block);
  if (summary.nulls == summary.rows) return true;
  const uint32_t values = summary.rows - summary.nulls;
  switch (item.wanted.kind) {
    case Aggregate::Kind::Values:
      sum.count += values;
      return true;
    case Aggregate::Kind::Minimum:
    case Aggregate::Kind::Maximum:
      if (!item.integer) return false;
      add_integers(item, item.wanted.kind == Aggregate::Kind::Minimum ? &summary.low : &summary.high, 1, sum);
      sum.count += values - 1;
      return true;
    default:
      return false;
  }
}

Status AggregateSums::add_numbers(const Item& item, const Segment& segment, size_t position, uint32_t block,
                                  const BlockBitmap& rows, bool all, Sum& sum) {
  HAILSTONE_ASSIGN(const auto numbers, segment.block(position, block));
  uint64_t values[numbers_at_once];
  if (all && !numbers->has_nulls()) {
    for (uint32_t first = 0; first < numbers->rows(); first += numbers_at_once) {
      const uint32_t count = std::min(numbers_at_once, numbers->rows() - first);
      numbers->integers(first, count, values);
      add_integers(item, values, count, sum);
    }
    return {};
  }
  BlockBitmap wanted = rows;
  if (numbers->has_nulls()) {
    BlockBitmap nulls;
    numbers->nulls(nulls);
    for (size_t i = 0; i < BlockBitmap::words; ++i) wanted.bits[i] &= ~nulls.bits[i];
  }
  if (item.wanted.kind == Aggregate::Kind::Values) {
    sum.count += wanted.count();
    return {};
  }
  selected_.clear();
  wanted.append_rows(0, block_rows, selected_);
  for (size_t first = 0; first < selected_.size(); first += numbers_at_once) {
    const size_t count = std::min<size_t>(numbers_at_once, selected_.size() - first);
    numbers->gather_integers({selected_.data() + first, count}, values);
    add_integers(item, values, count, sum);
  }
  return {};
}

/// Strings, and columns of the row group.
Status AggregateSums::add_others(const SegmentColumns& columns, uint32_t block, const BlockBitmap& rows,
                                 std::span<const size_t> items) {
  std::vector<uint16_t> read;
  for (const size_t i : items) read.push_back(plan_.items()[i].column);
  const Projection projection(plan_.table().layout, std::move(read));
  selected_.clear();
  rows.append_rows(0, block_rows, selected_);
  for (size_t first = 0; first < selected_.size(); first += batch_rows) {
    const size_t count = std::min<size_t>(batch_rows, selected_.size() - first);
    HAILSTONE_TRY(projection.read(columns, block, {selected_.data() + first, count}, batch_));
    for (size_t i = 0; i < items.size(); ++i) {
      add_vector(plan_.items()[items[i]], batch_.columns[i], batch_.rows, sums_[items[i]]);
    }
  }
  return {};
}

Status AggregateSums::add(const TableSegment& segment, uint32_t block, const BlockBitmap& rows, bool all) {
  const SegmentColumns& columns = segment.columns;
  others_.clear();
  for (size_t i = 0; i < sums_.size(); ++i) {
    const Item& item = plan_.items()[i];
    if (item.wanted.kind == Aggregate::Kind::Rows) {
      sums_[i].count += rows.count();
      continue;
    }
    if (all) {
      HAILSTONE_ASSIGN(const bool done, add_summary(item, columns, block, sums_[i]));
      if (done) continue;
    }
    const auto location = columns.location(item.column);
    if (location.kind == SegmentColumns::Location::Kind::Absent) continue;
    if (item.integer && location.kind == SegmentColumns::Location::Kind::Stored) {
      HAILSTONE_TRY(add_numbers(item, *segment.segment, location.position, block, rows, all, sums_[i]));
    } else {
      others_.push_back(i);
    }
  }
  return others_.empty() ? Status() : add_others(columns, block, rows, others_);
}

void AggregateSums::add(const AggregateSums& other) {
  for (size_t i = 0; i < sums_.size(); ++i) {
    const Item& item = plan_.items()[i];
    const Sum& from = other.sums_[i];
    Sum& to = sums_[i];
    if (from.count == 0) continue;
    if (item.wanted.kind == Aggregate::Kind::Minimum || item.wanted.kind == Aggregate::Kind::Maximum) {
      const uint64_t before = to.count;
      if (item.integer) {
        add_integers(item, &from.integer, 1, to);
      } else {
        add_bytes(item, from.bytes, to);
      }
      to.count = before + from.count;
      continue;
    }
    to.count += from.count;
    to.ordered += from.ordered;
    to.real += from.real;
  }
}

std::vector<AggregateResult> AggregateSums::results() const {
  std::vector<AggregateResult> results;
  for (size_t i = 0; i < sums_.size(); ++i) {
    const Item& item = plan_.items()[i];
    const Sum& sum = sums_[i];
    AggregateResult result{.count = sum.count,
                           .integer = sum.integer,
                           .bytes = sum.bytes,
                           .integer_sum = sum.ordered,
                           .real_sum = sum.real};
    // The order of signed numbers has their sign bit flipped.
    if (item.type == Type::Signed) {
      result.integer_sum -= static_cast<WideInteger>(sum.count) << (8 * item.width - 1);
    }
    results.push_back(std::move(result));
  }
  return results;
}

namespace {

/// The blocks of all segments of a view, handed out to threads.
class BlockQueue {
 public:
  BlockQueue(const AggregatePlan& plan, std::shared_ptr<const TableView> view,
             std::shared_ptr<const Predicate> predicate, const Visibility& visibility)
      : plan_(plan), view_(std::move(view)), predicate_(std::move(predicate)), visibility_(visibility) {
    always_ = predicate_->kind() == Predicate::Kind::Always;
    for (const auto& segment : view_->segments) {
      starts_.push_back(blocks_);
      blocks_ += segment->segment->blocks();
      filters_.push_back(std::make_unique<Filter>());
    }
  }
  uint64_t blocks() const { return blocks_; }

  /// Takes blocks until none is left, a thread has failed, or `stop` says so.
  void work(const std::function<bool()>& stop, AggregateSums& sums) {
    while (!stopped_.load(std::memory_order_relaxed)) {
      if (stop && stop()) {
        fail_with({ErrorCode::Interrupted,
                   "interrupted while scanning table " + plan_.table().layout->definition().name});
        return;
      }
      const uint64_t first = next_.fetch_add(blocks_at_once, std::memory_order_relaxed);
      if (first >= blocks_) return;
      for (uint64_t block = first; block < std::min<uint64_t>(first + blocks_at_once, blocks_); ++block) {
        if (Status status = add_block(block, sums); !status) {
          fail_with(std::move(status).error());
          return;
        }
      }
    }
  }

  Status status() const {
    const std::lock_guard guard(mutex_);
    return failure_ ? Status(std::unexpected(*failure_)) : Status();
  }

 private:
  struct Filter {
    std::once_flag prepared;
    std::optional<Result<SegmentFilter>> filter;  // constant once prepared
  };

  void fail_with(Error error) {
    const std::lock_guard guard(mutex_);
    if (!failure_) failure_.emplace(std::move(error));
    stopped_.store(true, std::memory_order_relaxed);
  }

  Status add_block(uint64_t number, AggregateSums& sums) {
    const auto above = std::ranges::upper_bound(starts_, number);
    const auto in_view = static_cast<size_t>(above - starts_.begin()) - 1;
    const TableSegment& place = *view_->segments[in_view];
    const auto block = static_cast<uint32_t>(number - starts_[in_view]);
    if (place.columns.begin() < 0 && !visibility_.snapshot.includes(place.shared_begin())) return {};
    Counters& counters = plan_.table().host.counters();
    const uint32_t rows = std::min(block_rows, place.rows() - block * block_rows);
    BlockBitmap bitmap;
    if (always_) {
      bitmap.set_first(rows);
      count(counters.rows_scanned, rows);
    } else {
      Filter& prepared = *filters_[in_view];
      std::call_once(prepared.prepared, [&] {
        prepared.filter.emplace(SegmentFilter::prepare(predicate_, place.columns, counters));
      });
      if (!*prepared.filter) return std::unexpected(prepared.filter->error());
      const SegmentFilter& filter = **prepared.filter;
      if (filter.excludes_segment()) {
        count(counters.blocks_skipped);
        return {};
      }
      if (filter.excludes_block(block)) return {};
      HAILSTONE_TRY(filter.evaluate(block, bitmap));
      if (bitmap.none()) return {};
    }
    HAILSTONE_TRY(mask_rows(place, *plan_.table().keys, block, visibility_, bitmap));
    const uint32_t left = bitmap.count();
    if (left == 0) return {};
    count(counters.rows_returned, left);
    return sums.add(place, block, bitmap, left == rows);
  }

  const AggregatePlan& plan_;
  const std::shared_ptr<const TableView> view_;
  const std::shared_ptr<const Predicate> predicate_;
  const Visibility visibility_;
  bool always_ = false;
  std::vector<uint64_t> starts_;  // number of each segment's first block
  uint64_t blocks_ = 0;
  std::vector<std::unique_ptr<Filter>> filters_;
  std::atomic<uint64_t> next_{0};
  std::atomic<bool> stopped_{false};
  mutable std::mutex mutex_;      // protects the next one
  std::optional<Error> failure_;  // the first
};

/// How the helping threads are waited for. A helper that starts after the work was done finds it closed and
/// touches nothing else.
struct Helpers {
  std::mutex mutex;
  std::condition_variable changed;
  bool closed = false;
  unsigned running = 0;
};

}  // namespace

Status aggregate_segments(const AggregatePlan& plan, const std::shared_ptr<const TableView>& view,
                          const std::shared_ptr<const Predicate>& predicate, const Visibility& visibility,
                          const Transaction& transaction, unsigned threads, AggregateSums& sums) {
  BlockQueue queue(plan, view, predicate, visibility);
  const uint64_t most = std::max<uint64_t>(1, queue.blocks() / blocks_worth_a_thread);
  threads = static_cast<unsigned>(std::clamp<uint64_t>(threads, 1, most));
  std::deque<AggregateSums> parts;
  for (unsigned i = 1; i < threads; ++i) parts.emplace_back(plan);
  const auto helpers = std::make_shared<Helpers>();
  for (AggregateSums& part : parts) {
    plan.table().host.run([helpers, &queue, &part] {
      {
        const std::lock_guard guard(helpers->mutex);
        if (helpers->closed) return;
        ++helpers->running;
      }
      queue.work({}, part);
      const std::lock_guard guard(helpers->mutex);
      --helpers->running;
      helpers->changed.notify_all();
    });
  }
  queue.work([&] { return transaction.interrupted(); }, sums);
  {
    std::unique_lock guard(helpers->mutex);
    helpers->closed = true;
    helpers->changed.wait(guard, [&] { return helpers->running == 0; });
  }
  HAILSTONE_TRY(queue.status());
  for (const AggregateSums& part : parts) sums.add(part);
  return {};
}

}  // namespace hailstone

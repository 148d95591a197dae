#include "query/grouped_rows.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>

#include "base/arena.h"
#include "query/group_numbers.h"
#include "query/pipeline.h"
#include "query/work_by_threads.h"
#include "schema/collation.h"
#include "schema/ordered_wide.h"

namespace hailstone {

namespace {

using Kind = Aggregate::Kind;

/// Groups of one table, from the first one on.
struct Piece {
  const GroupTable* table = nullptr;
  uint32_t first = 0, end = 0;
  uint64_t order = 0;  // behind all that came before
};

}  // namespace

ScanColumn GroupedRows::column_of(const GroupingPlan::Item& item) {
  switch (item.wanted.kind) {
    case Kind::Minimum:
    case Kind::Maximum:
      return item.column;
    case Kind::Sum:
      if (is_real(item.column)) return {.integer = true, .type = Type::Double, .width = sizeof(double)};
      return {.integer = false,
              .type = Type::OrderedBytes,
              .width = is_huge(item.column) ? unsigned{sizeof(HugeInteger)} : unsigned{sizeof(WideInteger)},
              .collation = &binary_collation()};
    case Kind::Spread:
      return {.integer = true, .type = Type::Double, .width = sizeof(double)};
    case Kind::Rows:
    case Kind::Values:
    case Kind::BitAnd:
    case Kind::BitOr:
    case Kind::BitXor:
      break;
  }
  return {.integer = true, .type = Type::Unsigned, .width = sizeof(uint64_t)};
}

GroupedRows::GroupedRows(std::unique_ptr<Grouping> groups) : groups_(std::move(groups)) {
  for (const GroupingPlan::Key& key : groups_->plan().keys) columns_.push_back(key.column);
  for (const GroupingPlan::Item& item : groups_->plan().aggregates) columns_.push_back(column_of(item));
}

Result<ScanColumn> GroupedRows::column(size_t position) const {
  if (position < columns_.size()) return columns_[position];
  return fail(ErrorCode::InvalidArgument, "groups were asked for a column that they do not have");
}

/// What one thread gives.
class GroupedRows::Part {
 public:
  explicit Part(const GroupedRows& all) : all_(all), plan_(all.groups_->plan()), vectors_(all.width()) {
    for (const ColumnVector& vector : vectors_) places_.push_back(&vector);
  }

  /// Null: none of its groups is left.
  const RowBatch* read(const Piece& piece) {
    table_ = piece.table;
    bytes_.clear();
    groups_.clear();
    for (uint32_t group = piece.first; group < piece.end; ++group) {
      if (!table_->is_gone(group)) groups_.push_back(group);
    }
    if (groups_.empty()) return nullptr;
    const size_t keys = plan_.keys.size();
    for (size_t i = 0; i < keys; ++i) table_->read_keys(i, groups_, vectors_[i]);
    for (size_t i = 0; i < plan_.aggregates.size(); ++i) read_aggregate(i, vectors_[keys + i]);
    rows_ = {.rows = static_cast<uint32_t>(groups_.size()), .columns = places_, .order = piece.order};
    return &rows_;
  }

 private:
  void read_aggregate(size_t aggregate, ColumnVector& to) {
    const ScanColumn& column = all_.columns_[plan_.keys.size() + aggregate];
    if (column.integer) {
      to.integers.resize(groups_.size());
    } else {
      to.bytes.resize(groups_.size());
    }
    to.nulls.assign(groups_.size(), 0);
    to.any_nulls = false;
    const Kind kind = plan_.aggregates[aggregate].wanted.kind;
    if (kind == Kind::Rows || kind == Kind::Values) {
      for (size_t i = 0; i < groups_.size(); ++i) to.integers[i] = table_->count(groups_[i], aggregate);
    } else if (kind == Kind::Sum && column.width == sizeof(WideInteger)) {
      char* at = bytes_.allocate(groups_.size() * sizeof(WideInteger));
      for (size_t i = 0; i < groups_.size(); ++i, at += sizeof(WideInteger)) {
        if (table_->count(groups_[i], aggregate) == 0) {
          put_null(i, to);
          continue;
        }
        order_wide(table_->integer_sum(groups_[i], aggregate), at);
        to.bytes[i] = {at, sizeof(WideInteger)};
      }
    } else {
      for (size_t i = 0; i < groups_.size(); ++i)
        put_result(table_->result(groups_[i], aggregate), kind, column, i, to);
    }
  }
  /// Of all other aggregates.
  void put_result(const AggregateResult& result, Kind kind, const ScanColumn& column, size_t row,
                  ColumnVector& to) {
    const bool is_of_bits = kind >= Kind::BitAnd;
    if (result.count == 0 && !is_of_bits) return put_null(row, to);
    if (!column.integer && kind == Kind::Sum) {
      char* const at = bytes_.allocate(sizeof(HugeInteger));
      order_huge(result.huge_sum, at);
      to.bytes[row] = {at, sizeof(HugeInteger)};
    } else if (!column.integer) {
      to.bytes[row] = bytes_.copy(result.bytes);
    } else if (kind == Kind::Sum || kind == Kind::Spread) {
      // A reader of ordered numbers takes the two zeros for two values.
      to.integers[row] = order_double((kind == Kind::Sum ? result.real_sum : result.spread) + 0.0);
    } else {
      to.integers[row] = result.integer;
    }
  }
  static void put_null(size_t row, ColumnVector& to) {
    if (to.integers.empty()) {
      to.bytes[row] = {};
    } else {
      to.integers[row] = 0;
    }
    to.nulls[row] = 1;
    to.any_nulls = true;
  }

  const GroupedRows& all_;
  const GroupingPlan& plan_;
  const GroupTable* table_ = nullptr;
  std::vector<uint32_t> groups_;  // those of the piece that are left
  std::vector<ColumnVector> vectors_;
  std::vector<const ColumnVector*> places_;
  Arena bytes_;
  RowBatch rows_;
};

class GroupedRows::Go final : public Source {
 public:
  Go(const GroupedRows& all, unsigned threads) : groups_(*all.groups_) {
    for (unsigned i = 0; i < threads; ++i) parts_.emplace_back(all);
  }

  Result<const RowBatch*> next() override {
    for (;;) {
      while (next_ < pieces_.size()) {
        HAILSTONE_TRY(groups_.host().check_interruption());
        if (const RowBatch* const rows = parts_.front().read(pieces_[next_++])) return rows;
      }
      HAILSTONE_ASSIGN(const bool found, take_tables());
      if (!found) return nullptr;
    }
  }

  Status each_batch(const QueryHost& host, unsigned threads, const RowBatches::TakeRows& take) override {
    for (;;) {
      HAILSTONE_ASSIGN(const bool found, take_tables());
      if (!found) return {};
      const auto used = static_cast<unsigned>(std::clamp<size_t>(pieces_.size(), 1, threads));
      std::atomic<size_t> next{0};
      const PartWork give = [&](unsigned part, const GoOn& go_on) -> Status {
        for (size_t i = next++; i < pieces_.size(); i = next++) {
          HAILSTONE_TRY(go_on());
          if (const RowBatch* const rows = parts_[part].read(pieces_[i])) HAILSTONE_TRY(take(part, *rows));
        }
        return {};
      };
      HAILSTONE_TRY(work_by_threads(host, used, nullptr, give));
    }
  }

 private:
  /// Those that come next are at hand, in place of those before. False: there are no more.
  Result<bool> take_tables() {
    pieces_.clear();
    next_ = 0;
    HAILSTONE_ASSIGN(const bool found, groups_.next_tables());
    for (size_t i = 0; found && i < groups_.tables(); ++i) {
      const GroupTable& table = groups_.table(i);
      for (uint32_t first = 1; first < table.end(); first += batch_rows) {
        pieces_.push_back({.table = &table,
                           .first = first,
                           .end = std::min<uint32_t>(table.end(), first + batch_rows),
                           .order = order_});
        order_ += batch_rows;
      }
    }
    return found;
  }

  Grouping& groups_;
  std::deque<Part> parts_;
  std::vector<Piece> pieces_;
  size_t next_ = 0;  // of pieces_
  uint64_t order_ = 0;
};

Status GroupedRows::open(Pipeline& to) {
  if (std::exchange(is_opened_, true))
    return fail(ErrorCode::InvalidArgument, "the rows of groups are gone through once");
  to.set_source(std::make_unique<Go>(*this, to.threads()));
  return {};
}

}  // namespace hailstone

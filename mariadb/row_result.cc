#include "row_result.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "query/ordered_rows.h"
#include "query/scanned_rows.h"
#include "query/sorted_rows.h"
#include "query_rows.h"
#include "source_record.h"
#include "variables.h"

namespace hailstone {

namespace {

/// Virtual columns of one table, which the server makes of what the record has.
class MadeFields {
 public:
  MadeFields(const SourceTables::Source& source, const std::vector<const Field*>& of_all)
      : source_(source), bits_(bitmap_buffer_size(source.table->s->fields) / sizeof(my_bitmap_map)) {
    my_bitmap_init(&fields_, bits_.data(), source.table->s->fields);
    for (const Field* const field : of_all) {
      if (field->table == source.table) bitmap_set_bit(&fields_, field->field_index);
    }
  }

  bool any() const { return !bitmap_is_clear_all(&fields_); }
  /// Where an outer join has no row there is nothing to make. False: an error has been reported.
  bool make() {
    TABLE& table = *source_.table;
    if (table.null_row) return true;
    // The server makes those that a statement reads by itself, and not what these are made of where it had
    // meant to read an index alone.
    MY_BITMAP* const read = std::exchange(table.read_set, &fields_);
    const int error = table.update_virtual_fields(&source_.reader(), VCOL_UPDATE_FOR_READ);
    table.read_set = read;
    return error == 0;
  }

 private:
  const SourceTables::Source& source_;
  std::vector<my_bitmap_map> bits_;
  MY_BITMAP fields_;
};

class RowResult final : public BlockResult {
 public:
  RowResult(SelectBlock block, std::shared_ptr<BlockRecord> record)
      : block_(std::move(block)),
        sources_(block_.columns.sources()),
        reader_(sources_.first().reader()),
        thd_(sources_.thd()),
        run_(thd_, sources_, std::move(record)),
        rows_(block_, run_, [this] { return open_rows(); }) {
    for (const Field* field : block_.shown) {
      shown_.emplace_back(*field, sources_);
      shown_columns_.push_back(block_.columns.column_of(*field));
    }
    for (const SourceTables::Source& source : sources_.all()) {
      if (MadeFields made(source, block_.made); made.any()) made_.push_back(std::move(made));
    }
  }

  Sort sort() const override {
    switch (block_.way) {
      case SelectBlock::Way::FirstRows:
        return Sort::FirstRows;
      case SelectBlock::Way::Sorted:
        return block_.order.empty() ? Sort::None : Sort::All;
      case SelectBlock::Way::Scanned:
        break;
    }
    return Sort::None;
  }
  bool fills_table() const override { return false; }
  bool use(TABLE&, GroupItems&) override { return true; }

  int begin() override {
    rows_.close();
    rows_given_ = 0;
    // Of a table that the server had meant to read by an index alone it makes no virtual columns.
    for (const SourceTables::Source& source : sources_.all()) source.table->file->ha_end_keyread();
    run_.begin();
    if (sort() == Sort::None) {
      THD_STAGE_INFO((&thd_), stage_sending_data);
    } else {
      THD_STAGE_INFO((&thd_), stage_creating_sort_index);
    }
    return 0;
  }

  int next() override { return run_.noted(make_row()); }

  int pass(uint64_t most, uint64_t& passed) override { return run_.noted(go_on(most, passed)); }

  void end() override {
    if (rows_.is_open()) {
      if (const OperatorCounts* const counts = kept_counts(); counts != nullptr && sort() != Sort::None) {
        thd_.inc_status_sort_rows(rows_given_);
        if (counts->spilled != 0) thd_.query_plan_flags |= QPLAN_FILESORT_DISK;
      }
    }
    rows_.close();
    begin_row(sources_);
    run_.end();
  }

  std::optional<uint64_t> rows_met() const override {
    if (sort() == Sort::None || block_.has_having || !rows_.is_open()) return std::nullopt;
    return rows_.rows().rows_met();
  }
  BlockRun& run() override { return run_; }

 private:
  /// Goes up to `most` rows on, and says by how many it has.
  int go_on(uint64_t most, uint64_t& passed) {
    const bool begins = !rows_.is_open();
    const Result<uint64_t> rows = rows_.pass(most);
    if (begins) THD_STAGE_INFO((&thd_), stage_sending_data);
    if (thd_.is_error()) return HA_ERR_INTERNAL_ERROR;
    if (!rows) return report_query_error(reader_, rows.error());
    if (*rows == 0) return HA_ERR_END_OF_FILE;
    passed = *rows;
    rows_given_ += passed;
    thd_.get_stmt_da()->set_current_row_for_warning(static_cast<long>(rows_given_));
    return 0;
  }

  int make_row() {
    uint64_t rows = 0;
    if (const int error = go_on(1, rows); error != 0) return error;
    const std::span<const Value> values = rows_.rows().values();
    begin_row(sources_);
    for (size_t i = 0; i < shown_.size(); ++i) shown_[i].write(values[i]);
    const bool made = std::ranges::all_of(made_, [](MadeFields& fields) { return fields.make(); });
    return !made || thd_.is_error() ? HA_ERR_INTERNAL_ERROR : 0;
  }

  /// Null: rows are not kept.
  OperatorCounts* kept_counts() {
    switch (block_.way) {
      case SelectBlock::Way::FirstRows:
        return run_.counts(Operator::FirstRows);
      case SelectBlock::Way::Sorted:
        return run_.counts(Operator::Sort);
      case SelectBlock::Way::Scanned:
        break;
    }
    return nullptr;
  }

  Result<std::unique_ptr<RowSource>> open_rows() {
    const unsigned threads = block_.way == SelectBlock::Way::Scanned ? 1 : query_threads(&thd_);
    HAILSTONE_ASSIGN(auto rows, block_.open(threads, run_));
    switch (block_.way) {
      case SelectBlock::Way::FirstRows: {
        const bool have_places = !sources_.is_join();
        return SortedRows::make(
            std::move(rows),
            {.order = order(),
             .most = block_.most,
             .values = have_places ? SortedRows::Values::AtPlaces : SortedRows::Values::Kept,
             .columns = have_places ? shown_columns_ : block_.positions_of(block_.shown),
             .counts = block_.counts_all,
             .operator_counts = kept_counts()},
            query_threads(&thd_));
      }
      case SelectBlock::Way::Sorted:
        return OrderedRows::make(std::move(rows), order(), OrderedRows::Equal::Any,
                                 block_.positions_of(block_.shown), query_threads(&thd_), kept_counts());
      case SelectBlock::Way::Scanned:
        break;
    }
    return std::make_unique<ScannedRows>(std::move(rows), block_.positions_of(block_.shown));
  }

  /// The server's own sorts have no use for weights beyond this either.
  size_t most_weights() const {
    constexpr size_t weights_of_byte = 4;
    return thd_.variables.max_sort_length * weights_of_byte;
  }

  std::vector<RowOrder> order() const {
    std::vector<RowOrder> order;
    for (const SelectBlock::Order& each : block_.order) {
      order.push_back({.position = block_.position_of(each.by),
                       .descending = each.descending,
                       .nullable = each.nullable,
                       .most_weights = most_weights()});
    }
    return order;
  }

  SelectBlock block_;
  const SourceTables& sources_;
  HailstoneHandler& reader_;
  THD& thd_;
  BlockRun run_;
  std::vector<SourceField> shown_;
  std::vector<uint16_t> shown_columns_;
  std::vector<MadeFields> made_;
  QueryRows rows_;
  uint64_t rows_given_ = 0;
};

}  // namespace

std::unique_ptr<BlockResult> make_row_result(SelectBlock block, std::shared_ptr<BlockRecord> record) {
  return std::make_unique<RowResult>(std::move(block), std::move(record));
}

}  // namespace hailstone

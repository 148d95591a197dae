#include "select_rows.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "pushed_select.h"
#include "query/ordered_rows.h"
#include "query/sorted_rows.h"
#include "source_tables.h"
#include "variables.h"

namespace hailstone {

namespace {

class RowsHandler final : public PushedSelect {
 public:
  RowsHandler(THD& connection, SELECT_LEX& statement, HailstoneHandler& reader, TABLE& source,
              SelectBlock block)
      : PushedSelect(connection, statement, reader), source_(source), block_(std::move(block)) {
    for (const Field* field : block_.shown) {
      shown_.emplace_back(*field, source_.record[0]);
      shown_columns_.push_back(reader_.column_of_field(field->field_index));
    }
  }

  /// The items of the statement are sent as they are: they read the row out of the table's record.
  bool prepare() override { return show(select->item_list); }

  int init_scan() override {
    return reader_.traced({"init_scan"}, [&]() -> int {
      rows_ = nullptr;
      return 0;
    });
  }

  int next_row() override {
    return reader_.traced({"next_row", Returns::Row}, [&]() -> int {
      if (rows_ != nullptr) return show_row(rows_->next());
      if (const int error = open_rows(/*by_program=*/true); error != 0) return error;
      auto found = rows_->next();
      if (!found && found.error().code() == ErrorCode::Unsupported) {
        // A row has a value that only the server computes, or finds an error in.
        if (const int error = open_rows(/*by_program=*/false); error != 0) return error;
        found = rows_->next();
      }
      if (thd->is_error()) return HA_ERR_INTERNAL_ERROR;
      rows_found_ = 0;
      for (size_t skipped = 0; skipped < block_.offset && found && *found; ++skipped) {
        ++rows_found_;
        found = rows_->next();
      }
      return show_row(found);
    });
  }

  int end_scan() override {
    return reader_.traced({"end_scan"}, [&]() -> int {
      if (rows_ != nullptr) {
        thd->limit_found_rows = counts_all() ? rows_->rows_met() : rows_found_;
        thd->inc_examined_row_count(rows_->rows_read());
      }
      rows_ = nullptr;
      return 0;
    });
  }

 private:
  int open_rows(bool by_program) {
    rows_ = nullptr;
    std::optional<Scans> scans;
    if (const int error = open_scans(readers_of(source_), block_.predicate, block_.columns.numbers(), scans);
        error != 0)
      return error;
    // Nothing is sorted by an image.
    auto rows =
        block_.open(std::move(*scans), source_, by_program, [](const RowExpression&) { return nullptr; });
    if (!rows) return reader_.report(rows.error());
    auto made = block_.first_rows ? first_rows(std::move(*rows)) : all_rows(std::move(*rows));
    if (!made) return reader_.report(made.error());
    rows_ = std::move(*made);
    return 0;
  }

  /// The server's own sorts have no use for weights beyond this either.
  size_t most_weights() const {
    constexpr size_t weights_of_byte = 4;
    return thd->variables.max_sort_length * weights_of_byte;
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

  Result<std::unique_ptr<RowSource>> first_rows(std::unique_ptr<ComputedRows> rows) const {
    SortedRows::Wanted wanted{
        .order = order(), .most = block_.most, .columns = shown_columns_, .counts = counts_all()};
    return SortedRows::make(std::move(rows), std::move(wanted), query_threads(thd));
  }

  Result<std::unique_ptr<RowSource>> all_rows(std::unique_ptr<ComputedRows> rows) const {
    std::vector<uint16_t> positions;
    const std::vector<const Field*>& read = block_.columns.fields();
    for (const Field* const field : block_.shown)
      positions.push_back(static_cast<uint16_t>(std::ranges::find(read, field) - read.begin()));
    return OrderedRows::make(std::move(rows), order(), OrderedRows::Equal::Any, positions,
                             query_threads(thd));
  }

  int show_row(const Result<bool>& found) {
    if (!found) return report_query_error(reader_, found.error());
    if (!*found || rows_found_ == block_.most) return HA_ERR_END_OF_FILE;
    ++rows_found_;
    for (size_t i = 0; i < shown_.size(); ++i) shown_[i].write_to(rows_->values()[i], source_.record[0]);
    if (block_.shows_virtual && source_.update_virtual_fields(&reader_, VCOL_UPDATE_FOR_READ) != 0)
      return HA_ERR_INTERNAL_ERROR;
    return 0;
  }

  TABLE& source_;
  const SelectBlock block_;
  std::vector<FieldFormat> shown_;
  std::vector<uint16_t> shown_columns_;
  std::unique_ptr<RowSource> rows_;
  uint64_t rows_found_ = 0;  // those before the offset included
};

}  // namespace

select_handler* make_rows_handler(THD& thd, SELECT_LEX& select, HailstoneHandler& reader, TABLE& source,
                                  SelectBlock block) {
  return new RowsHandler(thd, select, reader, source, std::move(block));
}

}  // namespace hailstone

#include "group_pushdown.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "decimal_numbers.h"
#include "engine.h"
#include "group_block.h"
#include "ha_hailstone.h"
#include "variables.h"

namespace hailstone {

namespace {

class GroupHandler final : public group_by_handler {
 public:
  GroupHandler(THD* thd_arg, HailstoneHandler& reader, const TABLE_LIST& from, GroupBlock block)
      : group_by_handler(thd_arg, engine_handlerton()),
        reader_(reader),
        source_(*from.table),
        select_(*from.select_lex),
        block_(std::move(block)) {
    for (const Field* column : block_.columns.fields()) columns_.emplace_back(*column, source_.record[0]);
  }

  int init_scan() override {
    return reader_.traced({"init_scan"}, [&]() -> int {
      groups_ = nullptr;
      returned_ = false;
      return find_fields();
    });
  }

  int next_row() override {
    return reader_.traced({"next_row", Returns::Row},
                          [&]() -> int { return is_aggregated_by_scan() ? only_row() : next_group(); });
  }

  int end_scan() override {
    return reader_.traced({"end_scan"}, [&]() -> int {
      groups_ = nullptr;
      // For FOUND_ROWS(), which the server leaves as it was.
      thd->limit_found_rows = select_.join->send_records;
      return 0;
    });
  }
  void print_error(int error, myf flags) override {
    if (!thd->is_error()) reader_.print_error(error, flags);
  }

 private:
  /// Whether it is one group, of what the scan finds out by itself, without reading all rows.
  bool is_aggregated_by_scan() const {
    if (!block_.keys.empty() || !block_.computed.empty() || !block_.rest.empty()) return false;
    return std::ranges::none_of(block_.aggregates, [&](const GroupBlock::Counted& counted) {
      if (counted.wanted.distinct || counted.wanted.kind > Aggregate::Kind::Sum) return true;
      // A scan's sums of these would be others for other threads.
      if (counted.wanted.kind != Aggregate::Kind::Sum) return false;
      const auto type = block_.columns.fields()[counted.of.number]->real_type();
      return type == MYSQL_TYPE_FLOAT || type == MYSQL_TYPE_DOUBLE;
    });
  }

  std::vector<Aggregate> wanted() const {
    std::vector<Aggregate> wanted;
    for (const GroupBlock::Counted& counted : block_.aggregates) {
      wanted.push_back(counted.wanted);
      wanted.back().position = block_.position_of(counted.of);
    }
    return wanted;
  }

  int only_row() {
    if (std::exchange(returned_, true)) return HA_ERR_END_OF_FILE;
    std::unique_ptr<Scan> scan;
    if (const int error = reader_.open_scan(block_.predicate, block_.columns.numbers(), scan); error != 0)
      return error;
    const auto results = scan->aggregate(wanted(), query_threads(thd));
    if (!results) return reader_.report(results.error());
    for (size_t i = 0; i < fields_.size(); ++i) {
      const GroupOutput& output = block_.outputs[i];
      if (output.source == GroupOutput::Source::Aggregate) {
        store_aggregate(i, (*results)[output.number]);
      } else {
        store_constant(output, fields_[i]);
      }
    }
    return 0;
  }

  int next_group() {
    const bool begins = groups_ == nullptr;
    if (begins) {
      if (std::exchange(returned_, true)) return HA_ERR_END_OF_FILE;
      by_program_ = true;
      if (const int error = open_groups(); error != 0) return error;
    }
    auto found = groups_->next();
    if (begins && !found && found.error().code() == ErrorCode::Unsupported && by_program_) {
      // A row has a value that only the server computes, or finds an error in.
      by_program_ = false;
      if (const int error = open_groups(); error != 0) return error;
      found = groups_->next();
    }
    if (thd->is_error()) return HA_ERR_INTERNAL_ERROR;
    if (!found) return reader_.report(found.error());
    if (!*found) {
      groups_ = nullptr;
      return HA_ERR_END_OF_FILE;
    }
    for (size_t i = 0; i < fields_.size(); ++i) {
      const GroupOutput& output = block_.outputs[i];
      switch (output.source) {
        case GroupOutput::Source::Key:
          store_value(block_.keys[output.number], groups_->keys()[output.number], i);
          break;
        case GroupOutput::Source::Aggregate:
          store_aggregate(i, groups_->result(output.number));
          break;
        case GroupOutput::Source::Constant:
          store_constant(output, fields_[i]);
          break;
      }
    }
    return 0;
  }

  int open_groups() {
    groups_ = nullptr;
    std::unique_ptr<Scan> scan;
    if (const int error = reader_.open_scan(block_.predicate, block_.columns.numbers(), scan); error != 0)
      return error;
    auto rows = block_.open(std::move(scan), source_, by_program_,
                            [this](const RowExpression& image) { return fields_[image.output]; });
    if (!rows) return reader_.report(rows.error());
    std::vector<uint16_t> keys;
    for (const RowColumn& key : block_.keys) keys.push_back(block_.position_of(key));
    auto made = Grouping::make(std::move(*rows), keys, wanted(), query_threads(thd));
    if (!made) return reader_.report(made.error());
    if (block_.order.empty()) {
      groups_ = std::move(*made);
    } else {
      groups_ = std::make_unique<SortedGroups>(std::move(*made), block_.order, block_.most);
    }
    return 0;
  }

  bool is_by_program(const RowExpression& expression) const {
    return by_program_ && expression.number.has_value();
  }

  /// Looks for the fields of the server's temporary table. The items' own result fields may be those of
  /// another table by now: a cursor keeps its rows in one that it makes of the same items.
  int find_fields() {
    fields_.clear();
    formats_.clear();
    size_t place = 0;
    List_iterator_fast<Item> items(select_.join->tmp_all_fields1);
    for (const GroupOutput& output : block_.outputs) {
      Item* item = nullptr;
      for (; place <= output.place; ++place) item = items++;
      Field* field = nullptr;
      if (item != nullptr && item->type() == Item::FIELD_ITEM) field = static_cast<Item_field*>(item)->field;
      if (field != nullptr && field->table != table) field = nullptr;
      // Constants may have none: the server has them when it sends the row.
      if (field == nullptr && output.source != GroupOutput::Source::Constant) return HA_ERR_INTERNAL_ERROR;
      fields_.push_back(field);
      formats_.push_back(field == nullptr ? FieldFormat() : FieldFormat(*field, field->ptr));
    }
    return 0;
  }

  static void store_constant(const GroupOutput& output, Field* field) {
    if (field != nullptr) output.item->save_in_field(field, true);
  }

  void store_value(const RowColumn& from, const Value& value, size_t place) const {
    Field& field = *fields_[place];
    if (value.null) {
      field.set_null();
      return;
    }
    field.set_notnull();
    if (!from.computed) {
      // By way of the column's own field, so that it becomes what the server would have read.
      columns_[from.number].write_to(value, source_.record[0]);
      field_conv(&field, const_cast<Field*>(block_.columns.fields()[from.number]));
      return;
    }
    const RowExpression& expression = block_.computed[from.number];
    if (!is_by_program(expression)) {
      formats_[place].write(value, field.ptr);
    } else if (block_.values->kind(expression.number->result) == Program::Kind::Real) {
      field.store(native_double(value.integer));
    } else {
      store_number(native_signed(value.integer, sizeof(int64_t)), expression.number->scale, field);
    }
  }

  void store_aggregate(size_t place, const AggregateResult& result) const {
    const GroupOutput& output = block_.outputs[place];
    Field& field = *fields_[place];
    const GroupBlock::Counted& counted = block_.aggregates[output.number];
    field.set_notnull();
    switch (counted.wanted.kind) {
      case Aggregate::Kind::Rows:
      case Aggregate::Kind::Values:
        field.store(static_cast<longlong>(result.count), true);
        return;
      case Aggregate::Kind::BitAnd:
      case Aggregate::Kind::BitOr:
      case Aggregate::Kind::BitXor:
        field.store(static_cast<longlong>(result.integer), true);
        return;
      default:
        break;
    }
    if (result.count == 0) {
      field.set_null();
      return;
    }
    if (counted.wanted.kind == Aggregate::Kind::Sum) {
      store_sum(output, result, field);
      return;
    }
    store_value(counted.of,
                is_number(counted.of) ? Value::of(result.integer) : Value::of(ByteView(result.bytes)), place);
  }

  /// Whether the values are ordered numbers, and not bytes.
  bool is_number(const RowColumn& column) const {
    if (!column.computed) return reader_.is_integer(block_.columns.numbers()[column.number]);
    const RowExpression& expression = block_.computed[column.number];
    if (is_by_program(expression)) return true;
    return formats_[expression.output].kind <= FieldFormat::Kind::BigEndian;
  }

  static void store_number(WideInteger number, unsigned scale, Field& field) {
    if (scale == 0 && number >= INT64_MIN && number <= INT64_MAX) {
      field.store(static_cast<longlong>(number), false);
      return;
    }
    my_decimal decimal;
    decimal_of(number, scale, decimal);
    field.store_decimal(&decimal);
  }

  void store_sum(const GroupOutput& output, const AggregateResult& result, Field& field) const {
    const auto& aggregate = static_cast<Item_sum&>(*output.item->real_item());
    if (aggregate.result_type() == REAL_RESULT) {
      field.store(output.mean == nullptr ? result.real_sum
                                         : result.real_sum / static_cast<double>(result.count));
      return;
    }
    const Item& argument = *const_cast<Item_sum&>(aggregate).get_arg(0);
    const unsigned scale = argument.cmp_type() == DECIMAL_RESULT ? argument.decimals : 0U;
    const RowColumn& summed = block_.aggregates[output.number].of;
    const bool huge =
        summed.computed && !is_by_program(block_.computed[summed.number]) && has_huge_sum(argument);
    if (output.mean == nullptr && !huge) {
      store_number(result.integer_sum, scale, field);
      return;
    }
    my_decimal sum, count, mean;
    if (huge) {
      decimal_of(result.huge_sum, scale, sum);
    } else {
      decimal_of(result.integer_sum, scale, sum);
    }
    if (output.mean == nullptr) {
      field.store_decimal(&sum);
      return;
    }
    int2my_decimal(E_DEC_FATAL_ERROR, static_cast<longlong>(result.count), true, &count);
    my_decimal_div(E_DEC_FATAL_ERROR, &mean, &sum, &count, static_cast<int>(output.mean->prec_increment));
    field.store_decimal(&mean);
  }

  HailstoneHandler& reader_;
  TABLE& source_;
  SELECT_LEX& select_;
  const GroupBlock block_;
  std::vector<FieldFormat> columns_;  // of the block's
  std::vector<Field*> fields_;        // for the outputs
  std::vector<FieldFormat> formats_;  // theirs, from their first bytes on
  std::unique_ptr<Groups> groups_;
  bool by_program_ = true;  // false: the server evaluates all expressions
  bool returned_ = false;
};

/// Whether the server has found an index that leads it to so few rows that it is quicker by itself.
bool is_quick_by_index(JOIN& join, const TABLE& table) {
  /// Rows that a scan passes in the time in which the server reads one by an index.
  constexpr double scanned_a_row = 30;
  JOIN_TAB& step = join.join_tab[join.const_tables];
  const SQL_SELECT* const select = step.get_sql_select();
  const QUICK_SELECT_I* const range =
      step.quick != nullptr ? step.quick : (select != nullptr ? select->quick : nullptr);
  double rows = step.records_read;
  if (range != nullptr) {
    rows = static_cast<double>(range->records);
  } else if (step.type != JT_REF && step.type != JT_EQ_REF && step.type != JT_REF_OR_NULL &&
             step.type != JT_CONST) {
    return false;
  }
  return rows * scanned_a_row < static_cast<double>(table.file->stats.records);
}

/// Whether the block is one of groups, over one table, which is the engine's.
bool has_groups(const Query& query) {
  const TABLE_LIST& from = *query.from;
  if (from.next_local != nullptr || from.embedding != nullptr || from.on_expr != nullptr) return false;
  if (from.table == nullptr || from.table->file->ht != engine_handlerton() ||
      from.select_lex->join == nullptr)
    return false;
  return query.group_by != nullptr || from.select_lex->join->implicit_grouping;
}

bool is_of_known_form(THD& thd, const Query& query) {
  if (query.distinct) return false;
  const auto command = thd.lex->sql_command;
  const bool changes =
      command == SQLCOM_INSERT_SELECT || command == SQLCOM_REPLACE_SELECT || command == SQLCOM_CREATE_TABLE;
  if (command != SQLCOM_SELECT && !changes) return false;
  // A change may warn of rows, by their numbers among those that the server has read: for one group of all
  // rows that is their number, for several it is whatever the plan makes of it.
  if (changes && query.group_by == nullptr) return false;
  const SELECT_LEX& select = *query.from->select_lex;
  if (select.olap != UNSPECIFIED_OLAP_TYPE || select.have_window_funcs() || select.with_rownum ||
      thd.lex->limit_rows_examined != nullptr)
    return false;
  // GROUP BY of what the condition makes a constant: one group, or none.
  if (query.group_by == nullptr && select.group_list.elements != 0) return false;
  // Read again and again by others, which change what it depends on.
  if ((select.uncacheable & UNCACHEABLE_DEPENDENT) != 0) return false;
  if (query.group_by != nullptr) return true;
  // The one row: without it FOUND_ROWS() is the server's to say.
  return query.order_by == nullptr && query.having == nullptr && query.limit->get_select_limit() != 0 &&
         query.limit->get_offset_limit() == 0;
}

std::expected<GroupBlock, Declined> make_block(THD& thd, const Query& query, HailstoneHandler& reader) {
  const auto declined = [](SelectOutcome reason) { return std::unexpected(Declined{reason}); };
  const SelectPushdown pushdown = select_pushdown(&thd);
  if (pushdown == SelectPushdown::Off) return declined(SelectOutcome::Off);
  if (!is_of_known_form(thd, query)) return declined(SelectOutcome::Statement);
  reader.settle_lock();
  if (reader.reads_with_locks() || reader.reads_uncommitted()) return declined(SelectOutcome::Locks);
  if (pushdown == SelectPushdown::Auto &&
      is_quick_by_index(*query.from->select_lex->join, *query.from->table))
    return declined(SelectOutcome::Index);
  return make_group_block(thd, query, reader);
}

}  // namespace

group_by_handler* create_group_handler(THD* thd, Query* query) {
  return run_traced(thd, {"create_group_by", Returns::Pushed}, [&]() -> group_by_handler* {
    if (!has_groups(*query)) return nullptr;
    auto& reader = static_cast<HailstoneHandler&>(*query->from->table->file);
    auto block = make_block(*thd, *query, reader);
    if (!block) {
      note_outcome(*thd, block.error().reason, block.error().item, "");
      return nullptr;
    }
    note_outcome(*thd, SelectOutcome::Pushed, nullptr, block->describe().c_str());
    query->group_by = nullptr;
    query->order_by = nullptr;
    return new GroupHandler(thd, reader, *query->from, std::move(*block));
  });
}

}  // namespace hailstone

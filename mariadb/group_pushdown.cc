#include "group_pushdown.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine.h"
#include "ha_hailstone.h"
#include "query/sorted_groups.h"
#include "variables.h"

namespace hailstone {

namespace {

/// What goes into one field of a group's row.
struct Output {
  enum class Source : uint8_t { Key, Aggregate, Constant };
  size_t place = 0;      // of the item among those of the query
  Item* item = nullptr;  // that
  Source source = Source::Key;
  size_t number = 0;             // of the key or the aggregate
  Field* column = nullptr;       // of the table: the key's, or the aggregate's argument
  FieldFormat format = {};       // its
  Item_sum_avg* mean = nullptr;  // the aggregate is a sum, of which the server wants this
};

/// What the engine is to do for a block.
struct Block {
  std::vector<uint16_t> columns;  // of the scan, as the library numbers them
  std::vector<uint16_t> keys;     // positions among them
  std::vector<Aggregate> aggregates;
  std::vector<Output> outputs;
  std::vector<GroupOrder> order;
  size_t most = SortedGroups::all;  // groups that are wanted
  std::shared_ptr<const Predicate> predicate;
};

class GroupHandler final : public group_by_handler {
 public:
  GroupHandler(THD* thd_arg, HailstoneHandler& reader, const TABLE_LIST& from, Block block)
      : group_by_handler(thd_arg, engine_handlerton()),
        reader_(reader),
        source_(*from.table),
        select_(*from.select_lex),
        block_(std::move(block)) {}

  int init_scan() override {
    return reader_.traced({"init_scan"}, [&]() -> int {
      groups_ = nullptr;
      returned_ = false;
      return find_fields();
    });
  }

  int next_row() override {
    return reader_.traced({"next_row", Returns::Row},
                          [&]() -> int { return block_.keys.empty() ? only_row() : next_group(); });
  }

  int end_scan() override {
    return reader_.traced({"end_scan"}, [&]() -> int {
      groups_ = nullptr;
      // For FOUND_ROWS(), which the server leaves as it was.
      thd->limit_found_rows = select_.join->send_records;
      return 0;
    });
  }
  void print_error(int error, myf flags) override { reader_.print_error(error, flags); }

 private:
  int only_row() {
    if (std::exchange(returned_, true)) return HA_ERR_END_OF_FILE;
    std::unique_ptr<Scan> scan;
    if (const int error = reader_.open_scan(block_.predicate, block_.columns, scan); error != 0) return error;
    const auto results = scan->aggregate(block_.aggregates, query_threads());
    if (!results) return reader_.report(results.error());
    for (size_t i = 0; i < fields_.size(); ++i) {
      const Output& output = block_.outputs[i];
      if (output.source == Output::Source::Aggregate) {
        store_aggregate(output, (*results)[output.number], *fields_[i]);
      } else {
        store_constant(output, fields_[i]);
      }
    }
    return 0;
  }

  int next_group() {
    if (groups_ == nullptr) {
      if (std::exchange(returned_, true)) return HA_ERR_END_OF_FILE;
      std::unique_ptr<Scan> scan;
      if (const int error = reader_.open_scan(block_.predicate, block_.columns, scan); error != 0)
        return error;
      auto made = Grouping::make(std::move(scan), block_.keys, block_.aggregates, query_threads());
      if (!made) return reader_.report(made.error());
      if (block_.order.empty()) {
        groups_ = std::move(*made);
      } else {
        groups_ = std::make_unique<SortedGroups>(std::move(*made), block_.order, block_.most);
      }
    }
    const auto found = groups_->next();
    if (!found) return reader_.report(found.error());
    if (!*found) {
      groups_ = nullptr;
      return HA_ERR_END_OF_FILE;
    }
    for (size_t i = 0; i < fields_.size(); ++i) {
      const Output& output = block_.outputs[i];
      switch (output.source) {
        case Output::Source::Key:
          store_value(output, groups_->keys()[output.number], *fields_[i]);
          break;
        case Output::Source::Aggregate:
          store_aggregate(output, groups_->result(output.number), *fields_[i]);
          break;
        case Output::Source::Constant:
          store_constant(output, fields_[i]);
          break;
      }
    }
    return 0;
  }

  /// Looks for the fields of the server's temporary table. The items' own result fields may be those of
  /// another table by now: a cursor keeps its rows in one that it makes of the same items.
  int find_fields() {
    fields_.clear();
    size_t place = 0;
    List_iterator_fast<Item> items(select_.join->tmp_all_fields1);
    for (const Output& output : block_.outputs) {
      Item* item = nullptr;
      for (; place <= output.place; ++place) item = items++;
      Field* field = nullptr;
      if (item != nullptr && item->type() == Item::FIELD_ITEM) field = static_cast<Item_field*>(item)->field;
      if (field != nullptr && field->table != table) field = nullptr;
      // Constants may have none: the server has them when it sends the row.
      if (field == nullptr && output.source != Output::Source::Constant) return HA_ERR_INTERNAL_ERROR;
      fields_.push_back(field);
    }
    return 0;
  }

  static void store_constant(const Output& output, Field* field) {
    if (field != nullptr) output.item->save_in_field(field, true);
  }

  /// By way of the column's own field, so that it becomes what the server would have read.
  void store_value(const Output& output, const Value& value, Field& field) const {
    if (value.null) {
      field.set_null();
      return;
    }
    output.format.write_to(value, source_.record[0]);
    field.set_notnull();
    field_conv(&field, output.column);
  }

  void store_aggregate(const Output& output, const AggregateResult& result, Field& field) const {
    const Aggregate& wanted = block_.aggregates[output.number];
    if (wanted.kind == Aggregate::Kind::Rows || wanted.kind == Aggregate::Kind::Values) {
      field.set_notnull();
      field.store(static_cast<longlong>(result.count), true);
      return;
    }
    if (result.count == 0) {
      field.set_null();
      return;
    }
    if (wanted.kind == Aggregate::Kind::Sum) {
      store_sum(output, result, field);
      return;
    }
    const bool integer = output.format.kind <= FieldFormat::Kind::BigEndian;
    store_value(output, integer ? Value::of(result.integer) : Value::of(ByteView(result.bytes)), field);
  }

  static void store_sum(const Output& output, const AggregateResult& result, Field& field) {
    my_decimal sum, count, mean;
    to_decimal(result.integer_sum, sum);
    field.set_notnull();
    if (output.mean == nullptr) {
      field.store_decimal(&sum);
      return;
    }
    int2my_decimal(E_DEC_FATAL_ERROR, static_cast<longlong>(result.count), true, &count);
    my_decimal_div(E_DEC_FATAL_ERROR, &mean, &sum, &count, static_cast<int>(output.mean->prec_increment));
    field.store_decimal(&mean);
  }

  static void to_decimal(WideInteger number, my_decimal& to) {
    constexpr size_t digits = 41;  // of 2^127, a sign and an end
    char text[digits];
    char* first = text + digits - 1;
    char* end = first;
    *end = '\0';
    const bool negative = number < 0;
    do {
      const int digit = static_cast<int>(number % 10);
      *--first = static_cast<char>('0' + (negative ? -digit : digit));
      number /= 10;
    } while (number != 0);
    if (negative) *--first = '-';
    str2my_decimal(E_DEC_FATAL_ERROR, first, &to, &end);
  }

  HailstoneHandler& reader_;
  TABLE& source_;
  SELECT_LEX& select_;
  const Block block_;
  std::vector<Field*> fields_;  // for the outputs
  std::unique_ptr<Groups> groups_;
  bool returned_ = false;
};

bool is_whole_number(const Field& field) {
  const auto type = field.real_type();
  return type == MYSQL_TYPE_TINY || type == MYSQL_TYPE_SHORT || type == MYSQL_TYPE_INT24 ||
         type == MYSQL_TYPE_LONG || type == MYSQL_TYPE_LONGLONG;
}

/// Whether equal stored values are what the server takes for equal, and the other way round.
bool can_be_key(const Field& field) {
  if (is_whole_number(field)) return true;
  switch (field.real_type()) {
    case MYSQL_TYPE_YEAR:
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE:
    case MYSQL_TYPE_NEWDECIMAL:
    case MYSQL_TYPE_NEWDATE:
    case MYSQL_TYPE_TIME2:
    case MYSQL_TYPE_DATETIME2:
    case MYSQL_TYPE_TIMESTAMP2:
    case MYSQL_TYPE_ENUM:
    case MYSQL_TYPE_SET:
    case MYSQL_TYPE_VARCHAR:
    case MYSQL_TYPE_BLOB:
      return true;
    case MYSQL_TYPE_STRING:
      // UUID and INET6 are of this type, too.
      return dynamic_cast<const Field_string*>(&field) != nullptr;
    default:
      return false;
  }
}

/// Whether the order of the stored values is that of MIN and MAX. Theirs of ENUM and SET is that of the
/// names.
bool has_extremes(const Field& field) {
  const auto type = field.real_type();
  return can_be_key(field) && type != MYSQL_TYPE_ENUM && type != MYSQL_TYPE_SET;
}

/// Whether evaluating the item may warn of a row by its number among those that the server has read.
bool may_name_rows(Item& item) {
  Item& real = *item.real_item();
  if (real.type() == Item::COND_ITEM) {
    List_iterator<Item> parts(*static_cast<Item_cond&>(real).argument_list());
    while (Item* part = parts++) {
      if (may_name_rows(*part)) return true;
    }
    return false;
  }
  if (real.type() != Item::FUNC_ITEM) return false;
  if (dynamic_cast<Item_decimal_typecast*>(&real) != nullptr) return true;
  const auto& function = static_cast<const Item_func&>(real);
  for (uint i = 0; i < function.argument_count(); ++i) {
    if (may_name_rows(*function.arguments()[i])) return true;
  }
  return false;
}

/// So many first groups are kept while all are gone through; with a greater limit all are.
constexpr ulonglong most_first_groups = 100'000;

/// Makes a Block of the server's description, or finds that it cannot.
class Translator {
 public:
  Translator(THD& thd, const Query& query, HailstoneHandler& reader)
      : thd_(thd),
        query_(query),
        reader_(reader),
        select_(*query.from->select_lex),
        source_(*query.from->table) {}

  std::optional<Block> translate() {
    for (const ORDER* order = query_.group_by; order != nullptr; order = order->next) {
      const auto column = column_of(**order->item);
      if (!column || !can_be_key(*column->field)) return std::nullopt;
      if (std::ranges::find(block_.keys, column->position) == block_.keys.end())
        block_.keys.push_back(column->position);
    }
    if (block_.keys.size() > GroupingPlan::most_keys) return std::nullopt;
    List_iterator_fast<Item> items(*query_.select);
    for (Item* item = items++; item != nullptr; item = items++, ++place_) {
      if (!add(*item, place_ < static_cast<size_t>(query_.n_aux))) return std::nullopt;
    }
    if (query_.having != nullptr && may_name_rows(*query_.having)) return std::nullopt;
    if (!block_.keys.empty()) {
      if (!take_order()) return std::nullopt;
      if (!block_.order.empty() && block_.most == SortedGroups::all && !groups_fit()) return std::nullopt;
    }
    if (has_mean_ && (makes_more_of_aggregates_ || !sends_means_as_they_are())) return std::nullopt;
    auto predicate = reader_.whole_condition(query_.where);
    if (!predicate) return std::nullopt;
    block_.predicate = std::move(*predicate);
    return std::move(block_);
  }

 private:
  struct Column {
    Field* field = nullptr;
    uint16_t position = 0;  // among the scan's
  };

  std::optional<Column> column_of(Item& item) {
    Item* const real = item.real_item();
    if (real->type() != Item::FIELD_ITEM) return std::nullopt;
    Field* const field = static_cast<Item_field*>(real)->field;
    if (field->table != &source_) return std::nullopt;
    const uint16_t number = reader_.column_of_field(field->field_index);
    if (number == RecordFormat::not_stored) return std::nullopt;
    auto& columns = block_.columns;
    const auto found = std::ranges::find(columns, number);
    const auto position = static_cast<uint16_t>(found - columns.begin());
    if (found == columns.end()) columns.push_back(number);
    return Column{field, position};
  }

  bool add(Item& item, bool hidden) {
    Item& real = *item.real_item();
    if (real.type() == Item::SUM_FUNC_ITEM) return !real.const_item() && add_aggregate(item, hidden);
    if (item.with_sum_func()) {
      // The server makes it of the aggregates in it, which are items of their own.
      makes_more_of_aggregates_ = true;
      return !may_name_rows(item);
    }
    if (item.const_item()) {
      block_.outputs.push_back({.place = place_, .item = &item, .source = Output::Source::Constant});
      return true;
    }
    const auto column = column_of(item);
    if (!column) return false;
    const auto key = std::ranges::find(block_.keys, column->position);
    if (key == block_.keys.end()) return false;
    block_.outputs.push_back({.place = place_,
                              .item = &item,
                              .source = Output::Source::Key,
                              .number = static_cast<size_t>(key - block_.keys.begin()),
                              .column = column->field,
                              .format = FieldFormat(*column->field, source_.record[0])});
    return true;
  }

  bool add_aggregate(Item& item, bool hidden) {
    auto& sum = static_cast<Item_sum&>(*item.real_item());
    if (sum.get_arg_count() != 1) return false;
    Output output{.place = place_,
                  .item = &item,
                  .source = Output::Source::Aggregate,
                  .number = block_.aggregates.size()};
    Item& argument = *sum.get_arg(0);
    if (sum.sum_func() == Item_sum::COUNT_FUNC && argument.const_item() && !argument.maybe_null() &&
        !argument.is_expensive()) {
      block_.aggregates.push_back({Aggregate::Kind::Rows});
      block_.outputs.push_back(output);
      return true;
    }
    const auto column = column_of(argument);
    if (!column) return false;
    output.column = column->field;
    output.format = FieldFormat(*column->field, source_.record[0]);
    Aggregate wanted{.position = column->position};
    switch (sum.sum_func()) {
      case Item_sum::COUNT_FUNC:
        wanted.kind = Aggregate::Kind::Values;
        break;
      case Item_sum::AVG_FUNC:
        // The server goes on with more digits than the field has.
        if (hidden) return false;
        has_mean_ = true;
        output.mean = static_cast<Item_sum_avg*>(&sum);
        [[fallthrough]];
      case Item_sum::SUM_FUNC:
        wanted.kind = Aggregate::Kind::Sum;
        if (!is_whole_number(*column->field)) return false;
        break;
      case Item_sum::MIN_FUNC:
      case Item_sum::MAX_FUNC:
        wanted.kind =
            sum.sum_func() == Item_sum::MIN_FUNC ? Aggregate::Kind::Minimum : Aggregate::Kind::Maximum;
        if (!has_extremes(*column->field)) return false;
        break;
      default:
        return false;
    }
    block_.aggregates.push_back(wanted);
    block_.outputs.push_back(output);
    return true;
  }

  /// The engine sorts: what it left to the server would go to a temporary table, which the server neither
  /// sorts nor can put on disk when it has grown.
  bool take_order() {
    for (const ORDER* order = query_.order_by; order != nullptr; order = order->next) {
      Item& item = **order->item;
      if (item.const_item()) continue;
      const auto by = order_of(item);
      if (!by) return false;
      block_.order.push_back(*by);
      block_.order.back().descending = order->direction == ORDER::ORDER_DESC;
    }
    // The server stops behind the limit by itself. That of a part of a union is told later.
    const ulonglong most = query_.limit->get_select_limit();
    if (most == 0 || query_.limit->is_with_ties()) return false;
    if (query_.having == nullptr && (select_.options & OPTION_FOUND_ROWS) == 0 &&
        !select_.master_unit()->is_unit_op() && most < most_first_groups) {
      block_.most = most;
    }
    return true;
  }

  /// Whether all groups, with what they take in each thread, may be at hand at once. For more of them,
  /// sorted, the server has its disk.
  bool groups_fit() const {
    constexpr double bytes_of_group = 64, bytes_of_number = 8, bytes_of_text = 64, bytes_of_aggregate = 32;
    double bytes = bytes_of_group + bytes_of_aggregate * static_cast<double>(block_.aggregates.size());
    for (const uint16_t key : block_.keys)
      bytes += reader_.is_integer(block_.columns[key]) ? bytes_of_number : bytes_of_text;
    const auto room = static_cast<double>(memory_budget()) / 4;
    const auto rows = static_cast<double>(source_.file->stats.records);
    if (rows * bytes <= room) return true;
    double groups = 1;
    for (const uint16_t key : block_.keys) {
      const auto distinct = static_cast<double>(reader_.distinct_values(block_.columns[key]));
      groups *= distinct == 0 ? rows : distinct + 1;
    }
    return std::min(groups, rows) * bytes <= room;
  }

  std::optional<GroupOrder> order_of(Item& item) {
    Item* const real = item.real_item();
    for (const Output& output : block_.outputs) {
      if (output.source == Output::Source::Aggregate && output.mean == nullptr &&
          output.item->real_item() == real)
        return GroupOrder{.aggregate = true, .number = output.number};
    }
    const auto column = column_of(item);
    if (!column) return std::nullopt;
    const auto key = std::ranges::find(block_.keys, column->position);
    if (key == block_.keys.end()) return std::nullopt;
    return GroupOrder{.number = static_cast<size_t>(key - block_.keys.begin())};
  }

  /// Whether means go to the client, rounded as their fields are, and nowhere else.
  bool sends_means_as_they_are() const {
    return thd_.lex->sql_command == SQLCOM_SELECT && thd_.lex->result == nullptr &&
           query_.having == nullptr && select_.outer_select() == nullptr &&
           select_.next_select() == nullptr && !select_.master_unit()->is_unit_op();
  }

  THD& thd_;
  const Query& query_;
  HailstoneHandler& reader_;
  SELECT_LEX& select_;
  TABLE& source_;
  Block block_;
  size_t place_ = 0;  // of the item at hand
  bool has_mean_ = false;
  bool makes_more_of_aggregates_ = false;
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

bool can_be_a_block(THD& thd, const Query& query) {
  const TABLE_LIST& from = *query.from;
  if (from.next_local != nullptr || from.embedding != nullptr || from.on_expr != nullptr || query.distinct)
    return false;
  if (from.table == nullptr || from.table->file->ht != engine_handlerton()) return false;
  const auto command = thd.lex->sql_command;
  const bool changes =
      command == SQLCOM_INSERT_SELECT || command == SQLCOM_REPLACE_SELECT || command == SQLCOM_CREATE_TABLE;
  if (command != SQLCOM_SELECT && !changes) return false;
  // A change may warn of rows, by their numbers among those that the server has read: for one group of all
  // rows that is their number, for several it is whatever the plan makes of it.
  if (changes && query.group_by == nullptr) return false;
  const SELECT_LEX& select = *from.select_lex;
  if (select.olap != UNSPECIFIED_OLAP_TYPE || select.have_window_funcs() || select.with_rownum ||
      select.join == nullptr || thd.lex->limit_rows_examined != nullptr)
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

}  // namespace

group_by_handler* create_group_handler(THD* thd, Query* query) {
  return run_traced(thd, {"create_group_by", Returns::Pushed}, [&]() -> group_by_handler* {
    if (!can_be_a_block(*thd, *query)) return nullptr;
    TABLE& table = *query->from->table;
    auto& reader = static_cast<HailstoneHandler&>(*table.file);
    reader.settle_lock();
    if (reader.reads_with_locks() || reader.reads_uncommitted()) return nullptr;
    if (is_quick_by_index(*query->from->select_lex->join, table)) return nullptr;
    auto block = Translator(*thd, *query, reader).translate();
    if (!block) return nullptr;
    query->group_by = nullptr;
    query->order_by = nullptr;
    return new GroupHandler(thd, reader, *query->from, std::move(*block));
  });
}

}  // namespace hailstone

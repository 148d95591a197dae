#include "join_tree.h"

#include <algorithm>
#include <utility>

#include "decimal_numbers.h"
#include "equal_values.h"
#include "ha_hailstone.h"
#include "item_parts.h"
#include "pushdown.h"
#include "pushdown_warnings.h"
#include "record.h"
#include "row_block.h"
#include "select_expressions.h"
#include "select_server.h"
#include "statement_items.h"

namespace hailstone {

namespace {

void append(std::vector<Item*>& to, const std::vector<Item*>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// Reads FROM, of joins, nests of them, and views that are merged.
class FromReader {
 public:
  /// False: it has something that is not known here.
  bool read(List<TABLE_LIST>& list, JoinedTables& to, bool may_be_missing) {
    std::vector<TABLE_LIST*> tables;
    List_iterator_fast<TABLE_LIST> each(list);
    while (TABLE_LIST* const table = each++) tables.push_back(table);
    // The server has them the other way round.
    size_t before = sources.size(), first = before;
    for (auto table = tables.rbegin(); table != tables.rend(); ++table) {
      if (!add(**table, to, may_be_missing) || sources.size() > most_joined_tables) return false;
      if ((*table)->straight)
        straight.push_back({bits_between(before, first), bits_between(first, sources.size())});
      before = std::exchange(first, sources.size());
    }
    return true;
  }

  std::vector<SourceTables::Source> sources;
  std::vector<StraightJoin> straight;

 private:
  bool add(TABLE_LIST& table, JoinedTables& to, bool may_be_missing) {
    if (table.sj_on_expr != nullptr || table.jtbm_subselect != nullptr) return false;
    // Of a view there the server marks the tables, too.
    if ((table.outer_join & (JOIN_TYPE_LEFT | JOIN_TYPE_RIGHT)) == 0) {
      add_parts(table.on_expr, to.conditions);
      return add_tables(table, to, may_be_missing);
    }
    JoinedTables::Added outer;
    if (table.on_expr == nullptr || !add_tables(table, outer.side, /*may_be_missing=*/true)) return false;
    add_parts(table.on_expr, outer.on);
    to.added.push_back(std::move(outer));
    return true;
  }

  bool add_tables(TABLE_LIST& table, JoinedTables& to, bool may_be_missing) {
    if (table.is_view_or_derived()) {
      if (!table.is_merged_derived()) return false;
      // In an execution before this one its condition has become a part of the statement's.
      if (table.merged)
        return table.nested_join != nullptr && read(table.nested_join->join_list, to, may_be_missing);
      SELECT_LEX* const inner = table.get_single_select();
      if (inner == nullptr || inner->join == nullptr) return false;
      add_parts(inner->join->conds, to.conditions);
      return read(inner->top_join_list, to, may_be_missing);
    }
    if (table.nested_join != nullptr) return read(table.nested_join->join_list, to, may_be_missing);
    if (!is_plain_table(table)) return false;
    to.tables.push_back(sources.size());
    sources.push_back({table.table, readers_of(*table.table), may_be_missing});
    return !sources.back().readers.empty();
  }
};

/// Whether the condition is not TRUE where all columns of these tables are NULL; false also where that is not
/// known.
bool rejects_nulls(Item& condition, const std::vector<size_t>& tables, const SourceTables& sources) {
  Item& real = *condition.real_item();
  if (real.type() == Item::COND_ITEM) {
    // AND has been taken apart; of OR each branch has to.
    return static_cast<Item_cond&>(real).functype() == Item_func::COND_OR_FUNC &&
           !any_part(real, [&](Item& part) { return !rejects_nulls(part, tables, sources); });
  }
  if (real.type() != Item::FUNC_ITEM) return false;
  const auto is_null = [&](Item& argument) {
    Item& column = *argument.real_item();
    if (column.type() != Item::FIELD_ITEM) return false;
    const auto number = sources.number_of(*static_cast<Item_field&>(column).field);
    return number && std::ranges::find(tables, *number) != tables.end();
  };
  auto& function = static_cast<Item_func&>(real);
  switch (function.functype()) {
    case Item_func::EQ_FUNC:
    case Item_func::NE_FUNC:
    case Item_func::LT_FUNC:
    case Item_func::LE_FUNC:
    case Item_func::GT_FUNC:
    case Item_func::GE_FUNC:
    case Item_func::LIKE_FUNC:
      return any_part(function, is_null);
    case Item_func::BETWEEN: {
      Item** const arguments = function.arguments();
      // A value is known not to lie between NULL and what is less than it.
      return is_null(*arguments[0]) || (static_cast<Item_func_opt_neg&>(function).negated
                                            ? is_null(*arguments[1]) && is_null(*arguments[2])
                                            : is_null(*arguments[1]) || is_null(*arguments[2]));
    }
    case Item_func::IN_FUNC:
    case Item_func::ISNOTNULL_FUNC:
      return is_null(*function.arguments()[0]);
    default:
      return false;
  }
}

void add_all_tables(const JoinedTables& joined, std::vector<size_t>& to) {
  to.insert(to.end(), joined.tables.begin(), joined.tables.end());
  for (const JoinedTables::Added& outer : joined.added) add_all_tables(outer.side, to);
}

/// An outer join of whose missing rows a condition leaves none is an inner one. `around`: where these tables
/// are the side of an outer join, what a pair must fulfil there.
void simplify(JoinedTables& joined, const std::vector<Item*>& around, const SourceTables& sources) {
  for (size_t i = 0; i < joined.added.size();) {
    const std::vector<size_t> tables = all_tables(joined.added[i].side);
    const auto rejects = [&](Item* condition) { return rejects_nulls(*condition, tables, sources); };
    if (std::ranges::none_of(joined.conditions, rejects) && std::ranges::none_of(around, rejects)) {
      ++i;
      continue;
    }
    JoinedTables::Added outer = std::move(joined.added[i]);
    joined.added.erase(joined.added.begin() + static_cast<ptrdiff_t>(i));
    joined.tables.insert(joined.tables.end(), outer.side.tables.begin(), outer.side.tables.end());
    append(joined.conditions, outer.side.conditions);
    append(joined.conditions, outer.on);
    std::ranges::move(outer.side.added,
                      std::inserter(joined.added, joined.added.begin() + static_cast<ptrdiff_t>(i)));
    i = 0;
  }
  for (JoinedTables::Added& outer : joined.added) simplify(outer.side, outer.on, sources);
}

void note_missing(const JoinedTables& joined, bool missing, std::vector<SourceTables::Source>& sources) {
  for (const size_t table : joined.tables) sources[table].may_be_missing = missing;
  for (const JoinedTables::Added& outer : joined.added) note_missing(outer.side, true, sources);
}

void add_conditions(const JoinedTables& joined, std::vector<Item*>& to) {
  append(to, joined.conditions);
  for (const JoinedTables::Added& added : joined.added) {
    append(to, added.on);
    add_conditions(added.side, to);
  }
}

void add_shown(const JoinedTables& joined, std::vector<bool>& to) {
  for (const size_t table : joined.tables) to[table] = true;
  for (const JoinedTables::Added& added : joined.added) {
    if (added.kind == JoinPlan::Kind::Left) add_shown(added.side, to);
  }
}

/// Whether something in the item is made by a view, or a derived table, on the inner side of an outer join.
bool is_null_of_missing_rows(Item& item, const SourceTables& sources) {
  if (item.type() == Item::REF_ITEM) {
    auto& reference = static_cast<Item_ref&>(item);
    if (reference.ref_type() != Item_ref::VIEW_REF) return is_null_of_missing_rows(**reference.ref, sources);
    Item& real = *item.real_item();
    const TABLE* const tells = static_cast<Item_direct_view_ref&>(item).get_null_ref_table();
    const bool may_be_missing = std::ranges::any_of(sources.all(), [&](const SourceTables::Source& source) {
      return source.table == tells && source.may_be_missing;
    });
    // A column is NULL by itself then.
    return real.type() != Item::FIELD_ITEM &&
           (may_be_missing || is_null_of_missing_rows(**reference.ref, sources));
  }
  if (item.type() == Item::SUM_FUNC_ITEM) {
    auto& aggregate = static_cast<Item_sum&>(item);
    for (uint i = 0; i < aggregate.get_arg_count(); ++i) {
      if (is_null_of_missing_rows(*aggregate.get_arg(i), sources)) return true;
    }
    return false;
  }
  return any_part(item, [&](Item& part) { return is_null_of_missing_rows(part, sources); });
}

}  // namespace

std::vector<size_t> all_tables(const JoinedTables& joined) {
  std::vector<size_t> tables;
  add_all_tables(joined, tables);
  return tables;
}

std::vector<StraightJoin> joined_in_order(size_t tables) {
  std::vector<StraightJoin> straight;
  for (size_t i = 1; i < tables; ++i) straight.push_back({bits_between(0, i), bits_between(i, i + 1)});
  return straight;
}

void add_parts(Item* condition, std::vector<Item*>& to) {
  if (condition == nullptr) return;
  Item& real = *condition->real_item();
  if (real.type() == Item::COND_ITEM &&
      static_cast<Item_cond&>(real).functype() == Item_func::COND_AND_FUNC) {
    List_iterator<Item> parts(*static_cast<Item_cond&>(real).argument_list());
    while (Item* const part = parts++) add_parts(part, to);
    return;
  }
  to.push_back(condition);
}

std::vector<Item*> FromClause::all_conditions() const {
  std::vector<Item*> conditions;
  add_conditions(joined, conditions);
  return conditions;
}

bool FromClause::is_asked_last(Item& condition) const {
  return std::ranges::find(joined.conditions, &condition) != joined.conditions.end() &&
         may_warn_of_arithmetic_only(sources->thd(), condition) && !key_of_condition(condition, sources);
}

std::vector<bool> FromClause::shown_tables() const {
  std::vector<bool> shown(sources->all().size());
  add_shown(joined, shown);
  return shown;
}

Item* made_of_missing_rows(const FromClause& from, List<Item>& shown, Item* having) {
  const auto is_made = [&](Item* item) { return is_null_of_missing_rows(*item, *from.sources); };
  const std::vector<Item*> conditions = from.all_conditions();
  const auto condition = std::ranges::find_if(conditions, is_made);
  if (condition != conditions.end()) return *condition;
  List_iterator_fast<Item> items(shown);
  while (Item* const item = items++) {
    if (is_made(item)) return item;
  }
  return having != nullptr && is_made(having) ? having : nullptr;
}

std::optional<FromClause> tables_joined_by(SELECT_LEX& select) {
  if (select.join == nullptr) return std::nullopt;
  FromClause from;
  FromReader reader;
  add_parts(select.join->conds, from.joined.conditions);
  if (!reader.read(select.top_join_list, from.joined, /*may_be_missing=*/false) || reader.sources.size() < 2)
    return std::nullopt;
  from.straight = (select.options & SELECT_STRAIGHT_JOIN) != 0 ? joined_in_order(reader.sources.size())
                                                               : std::move(reader.straight);
  simplify(from.joined, {}, SourceTables(reader.sources));
  note_missing(from.joined, false, reader.sources);
  from.sources = std::make_shared<SourceTables>(std::move(reader.sources));
  return from;
}

namespace {

/// Whether equal texts of both columns are those that the server takes for equal here.
bool are_equal_texts(const Field& one, const Field& other, Item_bool_func2& equal, const THD& thd) {
  CHARSET_INFO* const charset = one.charset();
  if (other.charset() != charset || equal.compare_collation() != charset) return false;
  // Else a CHAR may have spaces at its end that count.
  const bool is_any_filled = one.real_type() == MYSQL_TYPE_STRING || other.real_type() == MYSQL_TYPE_STRING;
  return !is_any_filled || charset == &my_charset_bin ||
         (thd.variables.sql_mode & MODE_PAD_CHAR_TO_FULL_LENGTH) == 0;
}

/// Whether the column's values may be compared as they are stored.
bool can_be_join_key(PlainField field) {
  return can_be_key(field) || field->real_type() == MYSQL_TYPE_BIT || has_fixed_bytes(*field->type_handler());
}

/// Of columns that are compared as they are stored.
std::optional<JoinKey> key_of_columns(Item_bool_func2& equal, const SourceTables& sources) {
  std::array<std::optional<PlainField>, 2> fields{};
  for (size_t i = 0; i < fields.size(); ++i) {
    Item& argument = *equal.arguments()[i]->real_item();
    if (argument.type() != Item::FIELD_ITEM) return std::nullopt;
    fields[i] = PlainField::of(*static_cast<Item_field&>(argument).field);
    if (!fields[i] || !sources.number_of(**fields[i]) || !(*fields[i])->stored_in_db()) return std::nullopt;
  }
  const PlainField one = *fields[0], other = *fields[1];
  if (one->table == other->table || !can_be_join_key(one) || !can_be_join_key(other)) return std::nullopt;
  const JoinKey key{&*one, &*other};
  if (is_whole_number(*one) && is_whole_number(*other)) return key;
  const auto of_one = column_for(*one), of_other = column_for(*other);
  if (!of_one || !of_other) return std::nullopt;
  if (of_one->type >= Type::Char && of_other->type >= Type::Char)
    return are_equal_texts(*one, *other, equal, sources.thd()) ? std::optional(key) : std::nullopt;
  // Lists of names may differ, and have names that are equal.
  const auto type = one->real_type();
  if (type != other->real_type() || type == MYSQL_TYPE_ENUM || type == MYSQL_TYPE_SET) return std::nullopt;
  if (one->type_handler() != other->type_handler() &&
      (has_fixed_bytes(*one->type_handler()) || has_fixed_bytes(*other->type_handler())))
    return std::nullopt;
  // Of two digits, 0 is another year.
  if (type == MYSQL_TYPE_YEAR && one->field_length != other->field_length) return std::nullopt;
  if (type == MYSQL_TYPE_NEWDECIMAL) {
    const auto is_short = [&](const Field& field) {
      if (!decimal_digits(static_cast<const Field_new_decimal&>(field)).is_short()) return false;
      const auto& readers = sources.all()[*sources.number_of(field)].readers;
      return std::ranges::all_of(readers, [&](const HailstoneHandler* reader) {
        return reader->stored_table()
            ->layout()
            ->decimal(reader->column_of_field(field.field_index))
            .has_value();
      });
    };
    if (one->decimals() != other->decimals()) return std::nullopt;
    if (is_short(*one) && is_short(*other)) return key;
    // Packed, numbers of the same digits are the same bytes; but where one may be read as a number.
    const auto is_packed = [](const Field& field) {
      return static_cast<const Field_new_decimal&>(field).precision > most_int64_digits;
    };
    return is_packed(*one) && is_packed(*other) && of_one->width == of_other->width &&
                   static_cast<const Field_new_decimal&>(*one).precision ==
                       static_cast<const Field_new_decimal&>(*other).precision
               ? std::optional(key)
               : std::nullopt;
  }
  // Rounded ones are equal where they are near.
  if ((type == MYSQL_TYPE_FLOAT || type == MYSQL_TYPE_DOUBLE) && one->decimals() < NOT_FIXED_DEC)
    return std::nullopt;
  return of_one->type == of_other->type && of_one->width == of_other->width &&
                 one->decimals() == other->decimals()
             ? std::optional(key)
             : std::nullopt;
}

/// Of values of one table each, which programs compute, or the server.
std::optional<JoinKey> key_of_values(Item_bool_func2& equal,
                                     const std::shared_ptr<const SourceTables>& sources) {
  std::array<const Field*, 2> fields{};
  std::array<size_t, 2> tables{};
  for (size_t i = 0; i < fields.size(); ++i) {
    Item& argument = *equal.arguments()[i];
    const auto table = sources->only_one_of(argument);
    if (!table) return std::nullopt;
    tables[i] = *table;
    fields[i] = columns_read_by(argument).front()->field;
  }
  if (tables[0] == tables[1] || !is_function_of_row(equal, *sources) || may_name_rows(equal))
    return std::nullopt;
  ScanColumns columns(sources);
  JoinKey key{.one = fields[0], .other = fields[1], .computed = &equal};
  if (ExpressionTranslator(columns).equal_sides(equal)) return key;
  key.by_server = true;
  const bool has_columns = std::ranges::all_of(columns_read_by(equal), [&](Item_field* column) {
    return columns.stored_field_of(*column) != nullptr;
  });
  return has_columns && EqualValues::of(equal) ? std::optional(key) : std::nullopt;
}

}  // namespace

std::optional<JoinKey> key_of_condition(Item& condition, const std::shared_ptr<const SourceTables>& sources) {
  Item& real = *condition.real_item();
  if (real.type() != Item::FUNC_ITEM) return std::nullopt;
  const auto kind = static_cast<Item_func&>(real).functype();
  if (kind != Item_func::EQ_FUNC && kind != Item_func::EQUAL_FUNC) return std::nullopt;
  auto& equal = static_cast<Item_bool_func2&>(real);
  auto key = key_of_columns(equal, *sources);
  if (!key) key = key_of_values(equal, sources);
  if (key) key->nulls_are_equal = kind == Item_func::EQUAL_FUNC;
  return key;
}

bool joins_few_rows(const FromClause& from) {
  constexpr double few_pairs = 2'000;
  double pairs = 1;
  for (const SourceTables::Source& source : from.sources->all()) {
    source.table->file->info(HA_STATUS_VARIABLE | HA_STATUS_NO_LOCK);
    pairs *= std::max(1.0, static_cast<double>(source.table->file->stats.records));
  }
  return pairs <= few_pairs;
}

}  // namespace hailstone

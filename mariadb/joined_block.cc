// What a block of a SELECT joins that the optimizer is done with: outer joins that are still ones, semi joins
// that it has made of subqueries, all without the tables that it has found to be of no use, and with those of
// which it has read the only row as constants.
//
// Its conditions have the equalities of columns in the form that suits the server's order of tables: of those
// that follow from each other only as many as that order needs, and others in their place. The ones of a
// subquery whose rows it wants to put into a table are not there at all: these are found in the condition as
// it was before (prep_where, prep_on_expr).
#include <algorithm>
#include <utility>

#include "item_parts.h"
#include "join_tree.h"
#include "statement_items.h"

namespace hailstone {

namespace {

/// The column that an item is, in which the server's equalities of columns are told; null: it is none.
const Field* column_of(Item& item) {
  Item& real = *item.real_item();
  return real.type() == Item::FIELD_ITEM ? static_cast<Item_field&>(real).field : nullptr;
}

/// The columns that a condition says are equal; nothing: it is another condition.
std::optional<std::pair<const Field*, const Field*>> equal_columns(Item& condition) {
  if (condition.type() != Item::FUNC_ITEM ||
      static_cast<Item_func&>(condition).functype() != Item_func::EQ_FUNC)
    return std::nullopt;
  Item** const arguments = static_cast<Item_func&>(condition).arguments();
  const Field *const one = column_of(*arguments[0]), *const other = column_of(*arguments[1]);
  if (one == nullptr || other == nullptr) return std::nullopt;
  return std::pair(one, other);
}

/// Which columns a list of conditions makes equal.
class EqualColumns {
 public:
  explicit EqualColumns(const std::vector<Item*>& conditions) {
    for (Item* const condition : conditions) {
      if (const auto columns = equal_columns(*condition)) add(columns->first, columns->second);
    }
  }
  void add(const Field* one, const Field* other) {
    const size_t to = set_of(one), from = set_of(other);
    for (auto& [field, set] : sets_) {
      if (set == from) set = to;
    }
  }
  bool has(const Field* one, const Field* other) { return set_of(one) == set_of(other); }

 private:
  size_t set_of(const Field* field) {
    const auto known = std::ranges::find(sets_, field, &std::pair<const Field*, size_t>::first);
    if (known != sets_.end()) return known->second;
    return sets_.emplace_back(field, sets_.size()).second;
  }
  std::vector<std::pair<const Field*, size_t>> sets_;
};

/// A condition as the optimizer has left it, and as it found it.
struct Condition {
  Item* now;
  Item* before;
};

class OptimizedFrom {
 public:
  explicit OptimizedFrom(const JOIN& join) : join_(join) {}

  std::expected<FromClause, Declined> read(SELECT_LEX& select) {
    FromClause from;
    if (!read_level(select.top_join_list, {join_.conds, select.prep_where}, from.joined.conditions,
                    from.joined, /*may_be_missing=*/false))
      return std::unexpected(why_not_);
    if (sources_.empty()) return std::unexpected(Declined());
    from.straight =
        (select.options & SELECT_STRAIGHT_JOIN) != 0 ? joined_in_order(sources_.size()) : straight_;
    from.sources = std::make_shared<SourceTables>(sources_);
    if (Item* const item = out_of_reach(from.joined, *from.sources))
      return std::unexpected(Declined{SelectOutcome::Condition, item});
    return from;
  }

 private:
  bool declined(SelectOutcome reason, Item* item = nullptr) {
    why_not_ = {reason, item};
    return false;
  }

  /// Tables, and what is joined to them, of one level: that of WHERE, or that of an outer join's ON.
  bool read_level(List<TABLE_LIST>& list, const Condition& condition, std::vector<Item*>& parts,
                  JoinedTables& to, bool may_be_missing) {
    std::vector<JoinedTables::Added> semi_joins;
    std::vector<const TABLE_LIST*> nests;
    if (!read_list(list, to, may_be_missing, semi_joins, nests)) return false;
    // Those of constants have been read.
    if (to.tables.empty() && (!to.added.empty() || !semi_joins.empty()))
      return declined(SelectOutcome::Statement);
    add_parts(condition.now, parts);
    // Such as a subquery has left where it stood.
    std::erase_if(parts, [](Item* part) { return part->basic_const_item() && part->val_bool(); });
    if (!add_lost_equalities(condition, parts) ||
        !std::ranges::all_of(nests, [&](const TABLE_LIST* nest) { return has_equalities(*nest, parts); }))
      return declined(SelectOutcome::Statement);
    take_apart(semi_joins, parts);
    std::ranges::move(semi_joins, std::back_inserter(to.added));
    return true;
  }

  bool read_list(List<TABLE_LIST>& list, JoinedTables& to, bool may_be_missing,
                 std::vector<JoinedTables::Added>& semi_joins, std::vector<const TABLE_LIST*>& nests) {
    std::vector<TABLE_LIST*> tables;
    List_iterator_fast<TABLE_LIST> each(list);
    while (TABLE_LIST* const table = each++) tables.push_back(table);
    // The server has them the other way round.
    size_t before = sources_.size(), first = before;
    for (auto table = tables.rbegin(); table != tables.rend(); ++table) {
      if (!add(**table, to, may_be_missing, semi_joins, nests)) return false;
      // Constants are no tables here.
      if ((*table)->straight && before != first && first != sources_.size())
        straight_.push_back({bits_between(before, first), bits_between(first, sources_.size())});
      if (first != sources_.size()) before = std::exchange(first, sources_.size());
    }
    return true;
  }

  bool add(TABLE_LIST& table, JoinedTables& to, bool may_be_missing,
           std::vector<JoinedTables::Added>& semi_joins, std::vector<const TABLE_LIST*>& nests) {
    if (table.jtbm_subselect != nullptr) return declined(SelectOutcome::Statement);
    if (table.sj_on_expr != nullptr) {
      JoinedTables::Added semi{.kind = JoinPlan::Kind::Semi};
      std::vector<JoinedTables::Added> within;
      if (!read_list(table.nested_join->join_list, semi.side, may_be_missing, within, nests)) return false;
      nests.push_back(&table);
      if (semi.side.tables.empty() || !within.empty()) {
        // Of constants alone its conditions stand where it is.
        if (!semi.side.added.empty() || !within.empty()) return declined(SelectOutcome::Statement);
        return true;
      }
      semi_joins.push_back(std::move(semi));
      return true;
    }
    if (table.on_expr == nullptr) {
      return table.nested_join == nullptr
                 ? add_table(table, to, may_be_missing)
                 : read_list(table.nested_join->join_list, to, may_be_missing, semi_joins, nests);
    }
    JoinedTables::Added outer;
    if (table.nested_join == nullptr) {
      if (is_eliminated(table)) return true;
      if (table.table != nullptr && table.table->const_table) return declined(SelectOutcome::Statement);
      if (!add_table(table, outer.side, /*may_be_missing=*/true)) return false;
      add_parts(table.on_expr, outer.on);
    } else {
      if (!read_level(table.nested_join->join_list, {table.on_expr, table.prep_on_expr}, outer.on, outer.side,
                      /*may_be_missing=*/true))
        return false;
      if (outer.side.tables.empty()) return true;
    }
    to.added.push_back(std::move(outer));
    return true;
  }

  bool is_eliminated(const TABLE_LIST& table) const {
    return table.table != nullptr && (table.table->map & join_.eliminated_tables) != 0;
  }

  bool add_table(TABLE_LIST& table, JoinedTables& to, bool may_be_missing) {
    if (is_eliminated(table)) return true;
    if (!is_plain_table(table)) return declined(SelectOutcome::Statement);
    if (table.table->const_table) return may_be_missing ? declined(SelectOutcome::Statement) : true;
    to.tables.push_back(sources_.size());
    sources_.push_back({table.table, readers_of(*table.table), may_be_missing});
    return !sources_.back().readers.empty() || declined(SelectOutcome::Statement);
  }

  /// Equalities of columns that the optimizer has left out of the condition. False: the condition as it was
  /// is not what it was.
  static bool add_lost_equalities(const Condition& condition, std::vector<Item*>& parts) {
    std::vector<Item*> before;
    add_parts(condition.before, before);
    EqualColumns equal(parts);
    for (Item* const part : before) {
      if (!part->fixed()) return false;
      const auto columns = equal_columns(*part);
      if (!columns || equal.has(columns->first, columns->second)) continue;
      equal.add(columns->first, columns->second);
      parts.push_back(part);
    }
    return true;
  }

  /// Whether the conditions have what a subquery compares its rows' columns with.
  static bool has_equalities(const TABLE_LIST& nest, const std::vector<Item*>& parts) {
    if (nest.sj_mat_info == nullptr || !nest.sj_mat_info->is_used || nest.sj_mat_info->is_sj_scan)
      return true;
    EqualColumns equal(parts);
    Item& compared = *nest.sj_subq_pred->left_exp();
    SELECT_LEX& subquery = *nest.sj_subq_pred->unit->first_select();
    for (uint i = 0; i < compared.cols(); ++i) {
      const Field* const one = column_of(*compared.element_index(i));
      const Field* const other = column_of(*subquery.ref_pointer_array[i]);
      if (one != nullptr && other != nullptr && !one->table->const_table && !other->table->const_table &&
          !equal.has(one, other))
        return false;
    }
    return true;
  }

  /// Gives each semi join the conditions that read its tables. One that reads those of several makes one of
  /// them: there have to be rows of all their tables at once.
  void take_apart(std::vector<JoinedTables::Added>& semi_joins, std::vector<Item*>& parts) const {
    const SourceTables sources(sources_);
    std::vector<Item*> others;
    for (Item* const part : parts) {
      JoinedTables::Added* of = nullptr;
      for (auto semi = semi_joins.begin(); semi != semi_joins.end();) {
        if (!reads_table_of(*part, semi->side, sources)) {
          ++semi;
        } else if (of == nullptr) {
          of = &*semi++;
        } else {
          std::ranges::copy(semi->side.tables, std::back_inserter(of->side.tables));
          std::ranges::move(semi->side.added, std::back_inserter(of->side.added));
          std::ranges::copy(semi->on, std::back_inserter(of->on));
          // `of` stands before it, where it stays.
          semi = semi_joins.erase(semi);
        }
      }
      (of == nullptr ? others : of->on).push_back(part);
    }
    parts = std::move(others);
  }

  static bool has_table(const JoinedTables& joined, size_t number) {
    return std::ranges::find(joined.tables, number) != joined.tables.end() ||
           std::ranges::any_of(joined.added, [number](const JoinedTables::Added& added) {
             return has_table(added.side, number);
           });
  }
  static bool reads_table_of(Item& item, const JoinedTables& joined, const SourceTables& sources) {
    return std::ranges::any_of(columns_read_by(item), [&](const Item_field* column) {
      const auto number = sources.number_of(*column->field);
      return number && has_table(joined, *number);
    });
  }

  /// A condition that reads what is not there where it stands: the optimizer puts a column of a table further
  /// out into it that is equal there. Null: there is none.
  static Item* out_of_reach(const JoinedTables& joined, const SourceTables& sources) {
    std::vector<size_t> there = joined.tables;
    const auto not_there = [&](const std::vector<Item*>& conditions) -> Item* {
      for (Item* const condition : conditions) {
        for (const Item_field* const column : columns_read_by(*condition)) {
          const auto number = sources.number_of(*column->field);
          if (!number || std::ranges::find(there, *number) == there.end()) return condition;
        }
      }
      return nullptr;
    };
    for (const JoinedTables::Added& added : joined.added) {
      if (Item* const item = out_of_reach(added.side, sources)) return item;
      const size_t before = there.size();
      add_shown(added.side, there);
      if (Item* const item = not_there(added.on)) return item;
      if (added.kind != JoinPlan::Kind::Left) there.resize(before);
    }
    return not_there(joined.conditions);
  }
  static void add_shown(const JoinedTables& joined, std::vector<size_t>& to) {
    to.insert(to.end(), joined.tables.begin(), joined.tables.end());
    for (const JoinedTables::Added& added : joined.added) {
      if (added.kind == JoinPlan::Kind::Left) add_shown(added.side, to);
    }
  }

  const JOIN& join_;
  std::vector<SourceTables::Source> sources_;
  std::vector<StraightJoin> straight_;
  Declined why_not_;
};

}  // namespace

std::expected<FromClause, Declined> tables_joined_by_block(const Query& query) {
  SELECT_LEX& select = *query.from->select_lex;
  return OptimizedFrom(*select.join).read(select);
}

}  // namespace hailstone

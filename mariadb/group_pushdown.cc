#include "group_pushdown.h"

#include <utility>
#include <vector>

#include "engine.h"
#include "group_rows.h"
#include "ha_hailstone.h"
#include "huge_pages.h"
#include "index_use.h"
#include "source_tables.h"
#include "variables.h"

namespace hailstone {

namespace {

class GroupHandler final : public group_by_handler {
 public:
  GroupHandler(THD* thd_arg, HailstoneHandler& reader, const TABLE_LIST& from, GroupBlock block,
               std::shared_ptr<BlockRecord> record)
      : group_by_handler(thd_arg, engine_handlerton()),
        reader_(reader),
        select_(*from.select_lex),
        groups_(reader, *from.table, std::move(block), std::move(record)) {}

  int init_scan() override {
    return reader_.traced({"init_scan"}, [&]() -> int { return find_fields(); });
  }

  int next_row() override {
    return reader_.traced({"next_row", Returns::Row}, [&]() -> int { return groups_.next(); });
  }

  int end_scan() override {
    return reader_.traced({"end_scan"}, [&]() -> int {
      groups_.end();
      // For FOUND_ROWS(), which the server leaves as it was.
      thd->limit_found_rows = select_.join->send_records;
      return 0;
    });
  }
  void print_error(int error, myf flags) override {
    if (!thd->is_error()) reader_.print_error(error, flags);
  }

 private:
  /// Looks for the fields of the server's temporary table. The items' own result fields may be those of
  /// another table by now: a cursor keeps its rows in one that it makes of the same items.
  int find_fields() {
    std::vector<Field*> fields;
    size_t place = 0;
    List_iterator_fast<Item> items(select_.join->tmp_all_fields1);
    for (const GroupOutput& output : groups_.block().outputs) {
      Item* item = nullptr;
      for (; place <= output.place; ++place) item = items++;
      Field* field = nullptr;
      if (item != nullptr && item->type() == Item::FIELD_ITEM) field = static_cast<Item_field*>(item)->field;
      if (field != nullptr && field->table != table) field = nullptr;
      // Constants may have none: the server has them when it sends the row.
      if (field == nullptr && output.source != GroupOutput::Source::Constant) return HA_ERR_INTERNAL_ERROR;
      fields.push_back(field);
    }
    std::vector<Item*> order;
    for (const GroupBlock::HostOrder& by : groups_.block().host_order)
      order.push_back(select_.join->tmp_all_fields1.elem(static_cast<uint>(by.place)));
    groups_.begin(std::move(fields), std::move(order));
    return 0;
  }

  HailstoneHandler& reader_;
  SELECT_LEX& select_;
  GroupRows groups_;
};

/// Whether the server has found an index that leads it to so few rows that it is quicker by itself.
bool is_quick_by_index(JOIN& join, const TABLE& table) {
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
  return rows * rows_scanned_in_time_of_one < static_cast<double>(table.file->stats.records);
}

bool has_groups(const Query& query) {
  const JOIN* const join = query.from->select_lex->join;
  return join != nullptr && (query.group_by != nullptr || join->implicit_grouping);
}

/// Whether the block reads one table, which is the engine's.
bool reads_one_table(const Query& query) {
  const TABLE_LIST& from = *query.from;
  return from.next_local == nullptr && from.embedding == nullptr && from.on_expr == nullptr &&
         from.table != nullptr && is_in_engine(*from.table);
}

std::expected<GroupBlock, Declined> make_block(THD& thd, const Query& query,
                                               const std::vector<HailstoneHandler*>& readers) {
  const auto declined = [](SelectOutcome reason) { return std::unexpected(Declined{reason}); };
  if (const auto reason = reason_to_decline(thd, readers)) return declined(*reason);
  if (select_pushdown(&thd) == SelectPushdown::Auto &&
      is_quick_by_index(*query.from->select_lex->join, *query.from->table))
    return declined(SelectOutcome::Index);
  std::vector<Item*> conditions;
  if (query.where != nullptr) conditions.push_back(query.where);
  return make_group_block(thd,
                          {query, *query.from->select_lex, *query.from->table, std::move(conditions),
                           /*whole=*/false},
                          *readers.front());
}

}  // namespace

group_by_handler* create_group_handler(THD* thd, Query* query) {
  return run_traced(thd, {"create_group_by", Returns::Pushed}, [&]() -> group_by_handler* {
    if (!has_groups(*query) && !query->distinct) return nullptr;
    const OfferedBlock offered{*thd, *query->from->select_lex, "create_group_by"};
    if (!has_groups(*query) || !reads_one_table(*query)) {
      note_declined(offered, {SelectOutcome::Statement});
      return nullptr;
    }
    const auto readers = readers_of(*query->from->table);
    auto block = make_block(*thd, *query, readers);
    if (!block) {
      note_declined(offered, block.error());
      return nullptr;
    }
    auto record = note_pushed(offered, block->plan());
    allow_advised_huge_pages();
    query->group_by = nullptr;
    query->order_by = nullptr;
    return new GroupHandler(thd, *readers.front(), *query->from, std::move(*block), std::move(record));
  });
}

}  // namespace hailstone

#include "index_use.h"

#include <algorithm>

#include "column/predicate.h"
#include "ha_hailstone.h"
#include "item_parts.h"

namespace hailstone {

namespace {

bool is_column(Item& item, const Field& field) {
  Item& real = *item.real_item();
  return real.type() == Item::FIELD_ITEM &&
         static_cast<Item_field&>(real).field->field_index == field.field_index;
}

/// Whether an index that begins with the field may be of use for a condition of which the engine knows no
/// limits: whether it compares the field itself.
bool compares(Item& condition, const Field& field) {
  Item& real = *condition.real_item();
  if (real.type() == Item::COND_ITEM)
    return any_part(real, [&](Item& part) { return compares(part, field); });
  if (real.type() != Item::FUNC_ITEM) return false;
  auto& function = static_cast<Item_func&>(real);
  for (uint i = 0; i < function.argument_count(); ++i) {
    if (is_column(*function.arguments()[i], field)) return true;
  }
  return false;
}

class IndexBegin {
 public:
  IndexBegin(const HailstoneHandler& reader, uint index, uint16_t column, double all)
      : reader_(reader), index_(index), column_(column), all_(all) {}

  /// How many of the index's entries may be of rows for which the predicate holds.
  double entries(const Predicate& predicate) const {
    switch (predicate.kind()) {
      case Predicate::Kind::Never:
        return 0;
      case Predicate::Kind::And: {
        double least = all_;
        for (const Predicate& part : predicate.parts()) least = std::min(least, entries(part));
        return least;
      }
      case Predicate::Kind::Or: {
        double sum = 0;
        for (const Predicate& part : predicate.parts()) sum += entries(part);
        return std::min(sum, all_);
      }
      case Predicate::Kind::Integer: {
        if (predicate.column() != column_) return all_;
        double sum = 0;
        for (const IntegerRange& range : predicate.ranges()) {
          sum += static_cast<double>(
              reader_.entries_between(index_, Value::of(range.low), Value::of(range.high)));
        }
        return std::min(sum, all_);
      }
      case Predicate::Kind::Bytes:
        return predicate.column() == column_ ? 0 : all_;
      case Predicate::Kind::IsNull:
        return predicate.column() == column_
                   ? static_cast<double>(reader_.entries_between(index_, Value{}, Value{}))
                   : all_;
      case Predicate::Kind::Always:
      case Predicate::Kind::IsNotNull:
      case Predicate::Kind::Numbers:  // of joins that run already
        break;
    }
    return all_;
  }

 private:
  const HailstoneHandler& reader_;
  const uint index_;
  const uint16_t column_;
  const double all_;  // entries that there are
};

}  // namespace

double entries_within(const TABLE& table, const std::vector<HailstoneHandler*>& readers, uint index,
                      const std::vector<PushedCondition>& pushed) {
  const Field& first = *table.key_info[index].key_part[0].field;
  double entries = 0;
  for (const HailstoneHandler* const reader : readers) {
    const auto all = static_cast<double>(reader->stats.records);
    const IndexBegin begin(*reader, index, reader->column_of_field(first.field_index), all);
    double least = all;
    for (const PushedCondition& condition : pushed)
      least = std::min(least, begin.entries(*condition.predicate));
    entries += least;
  }
  return entries;
}

std::optional<double> rows_for_value(const Field& field) {
  std::optional<double> least;
  for (uint i = 0; i < field.table->s->keys; ++i) {
    const KEY& key = field.table->key_info[i];
    if (key.key_part[0].field->field_index != field.field_index) continue;
    const bool one = (key.flags & HA_NOSAME) != 0 && key.user_defined_key_parts == 1;
    const double rows = one ? 1 : std::max(1.0, key.actual_rec_per_key(0));
    least = std::min(least.value_or(rows), rows);
  }
  return least;
}

const Field* found_by_constant(Item& condition) {
  Item& real = *condition.real_item();
  if (real.type() != Item::FUNC_ITEM || static_cast<Item_func&>(real).functype() != Item_func::EQ_FUNC)
    return nullptr;
  auto& equal = static_cast<Item_bool_func2&>(real);
  for (const auto& [column, value] : {std::pair(0, 1), std::pair(1, 0)}) {
    Item& item = *equal.arguments()[column]->real_item();
    const Item& constant = *equal.arguments()[value];
    if (item.type() != Item::FIELD_ITEM || !constant.const_item()) continue;
    const Field& field = *static_cast<Item_field&>(item).field;
    const auto kind = field.cmp_type();
    if (kind != constant.cmp_type()) continue;
    if (kind == INT_RESULT || (kind == STRING_RESULT && equal.compare_collation() == field.charset()))
      return &field;
  }
  return nullptr;
}

FewRows leads_to_few_rows(const TABLE& table, const std::vector<HailstoneHandler*>& readers,
                          const std::vector<Item*>& conditions, const std::vector<PushedCondition>& pushed) {
  if (conditions.empty() || table.s->keys == 0) return {};
  for (HailstoneHandler* const reader : readers) reader->info(HA_STATUS_VARIABLE | HA_STATUS_NO_LOCK);
  for (size_t number = 0; number < conditions.size(); ++number) {
    for (uint i = 0; i < table.s->keys; ++i) {
      const Field& first = *table.key_info[i].key_part[0].field;
      for (Item* const rest : pushed[number].rest) {
        if (compares(*rest, first)) return {rest, few_rows};
      }
      double entries = 0, rows = 0;
      for (const HailstoneHandler* const reader : readers) {
        const auto all = static_cast<double>(reader->stats.records);
        const uint16_t column = reader->column_of_field(first.field_index);
        entries += IndexBegin(*reader, i, column, all).entries(*pushed[number].predicate);
        rows += all;
      }
      if (entries * rows_scanned_in_time_of_one < rows || entries < few_rows)
        return {conditions[number], entries};
    }
  }
  return {};
}

Item* finds_one_row(const TABLE& table, const std::vector<Item*>& conditions) {
  std::vector<const Field*> found;
  Item* first = nullptr;
  for (Item* const condition : conditions) {
    each_conjunct(*condition, [&](Item& part) {
      const Field* const field = found_by_constant(part);
      if (field == nullptr || field->table != &table) return;
      found.push_back(field);
      if (first == nullptr) first = &part;
    });
  }
  if (first == nullptr) return nullptr;
  for (uint i = 0; i < table.s->keys; ++i) {
    const KEY& key = table.key_info[i];
    if ((key.flags & HA_NOSAME) == 0 || !table.keys_in_use_for_query.is_set(i)) continue;
    const auto is_found = [&](const KEY_PART_INFO& part) {
      return (part.key_part_flag & HA_PART_KEY_SEG) == 0 &&
             std::ranges::find(found, part.field) != found.end();
    };
    if (std::all_of(key.key_part, key.key_part + key.user_defined_key_parts, is_found)) return first;
  }
  return nullptr;
}

}  // namespace hailstone

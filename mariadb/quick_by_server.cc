#include "quick_by_server.h"

#include "item_parts.h"

namespace hailstone {

namespace {

/// Of fewer rows both ways are quick.
constexpr uint64_t least_rows = 100'000;
/// An expression of a text column with fewer values than one for so many rows is computed once a value, as
/// the column is stored as a dictionary then.
constexpr uint64_t rows_a_computed_value = 8;
/// Each group has so many rows at least: the server finds few groups quickly.
constexpr uint64_t rows_a_computed_group = 16;

uint64_t rows_of(const RowBlock& block) { return block.columns.sources().first().table->file->stats.records; }

/// Whether all rows of one table are wanted, and they are many.
bool takes_many_rows(const RowBlock& block) {
  return block.join == nullptr && block.rest.all.empty() &&
         block.predicates.front()->kind() == Predicate::Kind::Always && rows_of(block) >= least_rows;
}

/// The text that the server computes of each row; null: it is no text, or not computed by the server, or not
/// for each row.
Item* text_of_rows(const RowBlock& block, const RowColumn& column) {
  if (!column.computed) return nullptr;
  const RowExpression& expression = block.computed[column.number];
  if (expression.value || expression.item->cmp_type() != STRING_RESULT) return nullptr;
  // Bytes are compared at once, weights of characters one by one, as in the server.
  if ((expression.item->collation.collation->state & MY_CS_BINSORT) != 0) return nullptr;
  const auto read = columns_read_by(*expression.item);
  if (read.size() != 1 || read.front()->field->cmp_type() != STRING_RESULT) return expression.item;
  const SourceTables::Source& source = block.columns.sources().first();
  const uint64_t values =
      distinct_values(source.readers, source.reader().column_of_field(read.front()->field->field_index));
  return values == 0 || values * rows_a_computed_value > rows_of(block) ? expression.item : nullptr;
}

}  // namespace

Item* quick_by_server(const SelectBlock& block) {
  if (block.way != SelectBlock::Way::FirstRows || !takes_many_rows(block)) return nullptr;
  return text_of_rows(block, block.order.front().by);
}

Item* quick_by_server(const GroupBlock& block) {
  if (!takes_many_rows(block) || block.rolls_up || block.groups * rows_a_computed_group > rows_of(block))
    return nullptr;
  for (const RowColumn& key : block.keys) {
    if (key.computed) return nullptr;
  }
  Item* text = nullptr;
  size_t texts = 0, others = 0;
  for (const GroupBlock::Counted& counted : block.aggregates) {
    Item* const item = text_of_rows(block, counted.of);
    if (item != nullptr) {
      text = item;
      ++texts;
    } else if (counted.wanted.kind != Aggregate::Kind::Rows) {
      ++others;
    }
  }
  return texts > others ? text : nullptr;
}

}  // namespace hailstone

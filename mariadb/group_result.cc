#include "group_result.h"

#include <utility>
#include <vector>

#include "group_rows.h"

namespace hailstone {

namespace {

/// An aggregate as the server has one, for what reads it: no column of a table, whose bytes are copied into
/// a column of the same form even where that has no room for the number.
class ComputedReal final : public Item_real_func {
 public:
  ComputedReal(THD& thd, Item& column) : Item_real_func(&thd, &column) { name = column.name; }

  bool fix_length_and_dec(THD*) override {
    decimals = args[0]->decimals;
    max_length = args[0]->max_length;
    return false;
  }
  double val_real() override {
    const double number = args[0]->val_real();
    null_value = args[0]->null_value;
    return number;
  }
  LEX_CSTRING func_name_cstring() const override { return {STRING_WITH_LEN("computed")}; }

 private:
  Item* shallow_copy(THD* thd) const override { return get_item_copy<ComputedReal>(thd, this); }
};

class GroupResult final : public BlockResult {
 public:
  GroupResult(GroupBlock block, std::shared_ptr<BlockRecord> record)
      : thd_(block.columns.sources().thd()), groups_(std::move(block), std::move(record)) {}

  Sort sort() const override { return groups_.block().order.empty() ? Sort::None : Sort::All; }
  bool fills_table() const override { return true; }
  bool sends_table() const override { return groups_.block().sends_table; }

  bool use(TABLE& table, GroupItems& items) override {
    const GroupBlock& block = groups_.block();
    for (const GroupOutput& output : block.outputs) {
      Field* field = nullptr;
      if (output.mean != nullptr && output.mean->result_type() == DECIMAL_RESULT) {
        field = keep_digits(output, table, items);
        if (field == nullptr) return false;
      } else {
        Item& item = *items[output.place];
        if (item.type() == Item::FIELD_ITEM) field = static_cast<Item_field&>(item).field;
        if (field != nullptr && field->table != &table) field = nullptr;
        // Of one group the server shows an extreme without the zeros that fill up its column.
        if (field != nullptr && block.keys.empty() && (field->flags & ZEROFILL_FLAG) != 0)
          static_cast<Field_num*>(field)->zerofill = false;
        if (output.source == GroupOutput::Source::Aggregate && !is_cut(output) &&
            !keep_number(output, field, items))
          return false;
        // A mean is no column of the server's table, which has the sum and the count.
        if (output.mean != nullptr) items.tell(output.place, output.item);
      }
      // So the server marks what it groups by, and clients are told.
      if (sends_table() && field != nullptr && output.source == GroupOutput::Source::Key &&
          output.item->maybe_null())
        field->flags |= GROUP_FLAG;
      fields_.push_back(field);
    }
    for (const GroupBlock::HostOrder& by : block.host_order) order_.push_back(items[by.place]);
    return true;
  }

  int begin() override {
    const std::vector<GroupOutput>& outputs = groups_.block().outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      // Constants may have none: the server has them when it sends the row.
      if (fields_[i] == nullptr && outputs[i].source != GroupOutput::Source::Constant)
        return HA_ERR_INTERNAL_ERROR;
    }
    groups_.begin(fields_, order_);
    groups_given_ = 0;
    THD_STAGE_INFO((&thd_), stage_sending_data);
    return 0;
  }

  int next() override {
    if (const int error = groups_.next(); error != 0) return error;
    thd_.get_stmt_da()->set_current_row_for_warning(static_cast<long>(++groups_given_));
    return 0;
  }

  void end() override { groups_.end(); }
  bool rolls_up() const override { return groups_.block().rolls_up; }
  bool is_rolled_up() const override { return rolls_up() && groups_.is_rolled_up(); }
  BlockRun& run() override { return groups_.run(); }

 private:
  Aggregate::Kind kind_of(const GroupOutput& output) const {
    return groups_.block().aggregates[output.number].wanted.kind;
  }

  /// Whether the server shows what a column of its table has room for; else it shows what it has computed.
  bool is_cut(const GroupOutput& output) const {
    const auto kind = kind_of(output);
    return groups_.block().by_table && (kind == Aggregate::Kind::Minimum || kind == Aggregate::Kind::Maximum);
  }

  /// What reads a DOUBLE with a fixed number of digits gets the number that was computed, and not what the
  /// `field` of it has room for. A sum in the server's table of groups is a column, for all its digits.
  /// False: no memory.
  bool keep_number(const GroupOutput& output, Field* field, GroupItems& items) {
    if (field == nullptr || field->type() != MYSQL_TYPE_DOUBLE || (field->flags & ZEROFILL_FLAG) != 0)
      return true;
    auto& real = *static_cast<Field_real*>(field);
    if (real.decimals() >= FLOATING_POINT_DECIMALS) return true;
    real.not_fixed = true;
    const bool is_sum = output.mean == nullptr && kind_of(output) == Aggregate::Kind::Sum;
    if (is_sum && groups_.block().by_table) return true;
    auto* const number = new (thd_.mem_root) ComputedReal(thd_, *items[output.place]);
    if (number == nullptr || number->fix_fields(&thd_, nullptr)) return false;
    items.replace(output.place, number);
    return true;
  }

  /// What reads a mean of exact numbers gets all its digits, and not those of a column: by the server's item
  /// for means whose groups are not complete yet. The field of the sum and the count that it reads; null: no
  /// memory.
  Field* keep_digits(const GroupOutput& output, TABLE& table, GroupItems& items) {
    Item_sum_avg& mean = *output.mean;
    // What is made of the mean here has these digits; the statement's own item has its own again.
    const SumDigits digits = groups_.digits_of_sum(output);
    const SumDigits own{.precision = std::exchange(mean.f_precision, digits.precision),
                        .scale = std::exchange(mean.f_scale, digits.scale)};
    const uint own_bytes = std::exchange(mean.dec_bin_size, digits.bytes());
    Field* const parts = mean.create_tmp_field(thd_.mem_root, /*group=*/true, &table);
    auto* const bytes =
        static_cast<uchar*>(static_cast<void*>(thd_.alloc(digits.bytes() + sizeof(longlong))));
    Item* item = nullptr;
    if (parts != nullptr && bytes != nullptr) {
      parts->move_field(bytes, nullptr, 0);
      Field* const shown = std::exchange(mean.result_field, parts);
      item = mean.result_item(&thd_, parts);
      mean.result_field = shown;
    }
    mean.f_precision = own.precision;
    mean.f_scale = own.scale;
    mean.dec_bin_size = own_bytes;
    if (item == nullptr) return nullptr;
    item->name = items[output.place]->name;
    items.replace(output.place, item);
    return parts;
  }

  THD& thd_;
  GroupRows groups_;
  std::vector<Field*> fields_;  // for the block's outputs
  std::vector<Item*> order_;    // for the block's host_order
  uint64_t groups_given_ = 0;
};

}  // namespace

std::unique_ptr<BlockResult> make_group_result(GroupBlock block, std::shared_ptr<BlockRecord> record) {
  return std::make_unique<GroupResult>(std::move(block), std::move(record));
}

}  // namespace hailstone

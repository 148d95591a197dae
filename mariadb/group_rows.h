// Runs a GroupBlock: the groups one after the other, stored in the fields of a table that the server has made
// for them. Belongs to the connection's thread.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "group_block.h"
#include "ha_hailstone.h"
#include "kept_bytes.h"
#include "query_history.h"
#include "slot_item.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// How the sum of a mean is kept beside the count.
struct SumDigits {
  uint precision, scale;
  uint bytes() const;
};

class GroupRows {
 public:
  /// `record`: of the block.
  GroupRows(GroupBlock block, std::shared_ptr<BlockRecord> record);

  const GroupBlock& block() const { return block_; }
  /// Of a mean that is a DECIMAL.
  SumDigits digits_of_sum(const GroupOutput& output) const;
  /// From the first group on. `fields`: one for each of the block's outputs; null for those constants that
  /// have none. One that the server's item of a mean has made for groups gets the mean's sum and count.
  /// `order`: what stands for the block's host_order once a group is stored.
  void begin(std::vector<Field*> fields, std::vector<Item*> order);
  /// Stores the next group. A handler error, HA_ERR_END_OF_FILE behind the last one, or 0.
  int next();
  /// Of the group that was stored last: whether it is one of several others (WITH ROLLUP).
  bool is_rolled_up() const { return groups_->keys().size() < block_.keys.size(); }
  /// Tells the server how many rows were examined.
  void end();
  BlockRun& run() { return run_; }

 private:
  bool is_aggregated_by_scan() const;
  std::vector<Aggregate> wanted() const;
  int only_row();
  int next_group();
  int open_groups();
  Result<std::unique_ptr<Grouping>> open_grouping(size_t keys);
  Result<HostGroupValues> host_order();
  /// What the server's items have met as they were evaluated for a group.
  Status group_error() const;
  /// `wanted`: of the outputs that are items of rows, by their numbers; without it all are.
  Status store(const Groups& group, const std::vector<bool>* wanted = nullptr);
  /// The outputs that the order, or HAVING, reads; nothing: that is not known.
  std::optional<std::vector<bool>> read_by_order() const;
  /// Marks the outputs that the item reads; false: that is not known.
  bool mark_read(Item& item, std::vector<bool>& read) const;
  /// Of MIN or MAX, computed by the engine or by the server.
  static bool is_extreme_moment(const RowExpression& expression) {
    return expression.kind == ServerValue::Moment || expression.kind == ServerValue::ShownMoment;
  }
  void store_moment(int64_t moment, const RowExpression& expression, size_t place);
  /// Else it is what a field of the server's has.
  bool is_number_by_program(const RowExpression& expression) const {
    return expression.value && (*expression.value)->values != ValueKind::Text;
  }
  /// A mean with all its digits: the sum, as digits_of_sum() says, and the count.
  void store_parts(const GroupOutput& output, const my_decimal& sum, uint64_t count, Field& field) const;
  /// Whether the field is one of those.
  static bool takes_parts(const GroupOutput& output, const Field& field) {
    return output.mean != nullptr && field.real_type() == MYSQL_TYPE_STRING;
  }
  static void store_constant(const GroupOutput& output, Field* field) {
    if (field != nullptr) output.item->real_item()->save_in_field(field, true);
  }
  bool begins_again(const Result<bool>& found);
  bool must_ask_own_keys() const;
  /// Of a group; bytes are valid until the next call for this key.
  Value key(const Groups& group, size_t number);
  Status find_shown(const Groups& group);
  /// An item of a row, in the field for it.
  void store_item(size_t place);
  void store_value(const RowColumn& from, const Value& value, size_t place);
  void store_aggregate(size_t place, const AggregateResult& result);
  bool has_huge_sums(const RowExpression& expression) const;
  void store_sum(const GroupOutput& output, const AggregateResult& result, Field& field) const;
  void store_variance(const GroupOutput& output, const AggregateResult& result, Field& field) const;
  bool is_number(const RowColumn& column) const;

  GroupBlock block_;
  const SourceTables& sources_;
  HailstoneHandler& reader_;
  THD& thd_;
  BlockRun run_;
  ColumnSlots columns_;                         // the block's, for values on their way into fields
  ColumnSlots shown_;                           // the block's, for the items of rows
  std::vector<Value> shown_values_;             // of the group at hand
  std::vector<Field*> fields_;                  // for the outputs
  std::vector<std::optional<SlotItem>> items_;  // of the outputs that are items of rows
  std::vector<KeptField> kept_fields_;          // the same, for what the engine stores by itself
  std::vector<Item*> order_;                    // for the block's host_order
  Arena order_bytes_;                           // of their values
  std::unique_ptr<Groups> groups_;
  std::vector<const Grouping*> groupings_;  // of these
  /// Whether a group's keys are asked of its own rows: those that groups give are equal to them, but may be
  /// those of another group.
  bool asks_own_keys_ = false;
  /// Of each key: the aggregate that has the least of the equal texts that the group's rows have; none: all
  /// of them have the same value.
  std::vector<size_t> own_keys_;
  std::vector<AggregateResult> own_values_;  // of the group at hand
  bool returned_ = false;
};

}  // namespace hailstone

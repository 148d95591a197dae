// What only the server can evaluate of a row: its own items, which read the row's columns from slots of the
// engine's (slot_item.h). On the connection's thread; and one row after the other where they may warn, so
// that warnings are those that the server gives without the engine.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/arena.h"
#include "equal_values.h"
#include "query/computed_rows.h"
#include "record.h"
#include "slot_item.h"
#include "source_tables.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Whether an item is a function of the row alone, without side effects, so that the engine may have the
/// server evaluate it when it likes.
bool is_function_of_row(Item& item, const SourceTables& sources);

/// Whether the sum of an exact item is a HugeInteger; of one that has so many digits behind the point.
bool has_huge_sum(const Item& item);
bool is_huge_summand(const Item& item, unsigned decimals);

/// What a value of an item is wanted for, which says how it is stored.
enum class ServerValue : uint8_t {
  Presence,  // NULL or not
  Truth,     // 0, 1 or NULL
  Exact,    // a whole number, times 10^decimals, of 16 bytes, or of 32 where it may have more than 28 digits:
            // as GroupingPlan says
  Summand,  // the same with all digits behind the point that are asked for, whether they show or not
  Number,   // the same in 64 bits, or DOUBLE: as programs say. Of a DECIMAL with more bits its bytes, of 32
  Real,     // DOUBLE
  Bits,     // BIGINT UNSIGNED
  Text,     // a string, in the order of its collation
  Time,     // a date or time, as a whole number in its order
  Moment,   // a DATE or DATETIME, as the server compares it: a moment (expression/moment.h)
  ShownMoment,  // the moment of the text that the server shows
  Equal,        // what stands for it as a side of an equality
  Image,        // what a field of the server's has when the item has been stored in it
};

/// What an item's value is sorted by; nothing: not here.
std::optional<ServerValue> kind_of_order(const Item& item);
/// The item's value, of what it reads now. Neither Equal nor an Image. `bytes` gets those that it
/// has.
Value value_of(Item& item, ServerValue kind, THD* thd, Arena& bytes);

class ServerExpressions final : public FallbackExpressions {
 public:
  struct Value {
    Item* item = nullptr;
    ServerValue kind = ServerValue::Presence;
    Field* field = nullptr;              // Image
    const EqualValues* equal = nullptr;  // Equal; it outlives the expressions
    bool is_moment = false;              // Image and Time: as the moment of a program
    unsigned decimals = 0;               // Summand, Number
  };
  /// `columns`: those of the rows; of these, `scaled` ones have DECIMALs as scaled numbers. `raised` is set
  /// where what is computed as a side of an equality raises a warning or an error, which ends the run: the
  /// statement is not told, as maybe no pair of rows does that. `evaluations`: how often the server computes
  /// the values of a row, and warns each time. The items and the tables outlive it.
  ServerExpressions(std::shared_ptr<const SourceTables> sources, std::vector<const Field*> columns,
                    std::vector<bool> scaled, const std::vector<Item*>& conditions,
                    const std::vector<Value>& values, std::shared_ptr<std::atomic<bool>> raised,
                    unsigned evaluations);
  /// What the columns of `values` are, in order.
  static Result<ScanColumn> type_of(const Value& value);

  /// Unless nothing warns.
  bool wants_order() const override { return wants_order_; }
  std::shared_ptr<HostExpressions> for_another_thread() const override;
  Result<bool> compute(const RowBatch& rows, uint32_t row, bool begins,
                       std::span<hailstone::Value> values) override;
  /// As many conditions as the server keeps; and the first one in any case, which may be an error.
  uint64_t most_told() const override { return std::max<uint64_t>(thd_.variables.max_error_count, 1); }
  void count_warnings(uint64_t warnings) override;

 private:
  using Stored = hailstone::Value;
  /// An item, and what is known of it for the codes of the dictionary at hand: only of an item of one column
  /// that warns of nothing, so that it does not matter how often it is evaluated.
  struct Expression {
    Value value;
    SlotItem item;
    FieldFormat format = {};  // Image: the field's, from its first byte on
    bool by_code = false;
    std::shared_ptr<const Dictionary> dictionary = nullptr;
    std::vector<std::optional<Stored>> known = {};
    std::unique_ptr<Arena> bytes = nullptr;  // of these
  };
  Expression make(const Value& value);
  Status error_of_row() const;
  Status compute_values(const RowBatch& rows, uint32_t row, std::span<Stored> values);
  Stored value_of(Expression& expression, const RowBatch& rows, uint32_t row);
  Stored evaluate(Expression& expression, const RowBatch& rows, uint32_t row, Arena& bytes);
  const std::shared_ptr<const SourceTables> sources_;
  THD& thd_;
  const std::vector<const Field*> columns_;
  const std::vector<bool> scaled_;
  const std::shared_ptr<std::atomic<bool>> raised_;
  const unsigned evaluations_;
  ColumnSlots slots_;
  std::vector<Expression> conditions_, values_;
  std::vector<uint64_t> written_;  // of each column: the number of the row whose value its slot has
  uint64_t row_ = 0;               // among all that were computed
  bool wants_order_ = false;
  Arena bytes_;  // of the batch's values
};

}  // namespace hailstone

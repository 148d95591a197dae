// What the engine is to do for a block of a SELECT whose rows become groups: made of the server's description
// of it, once for each execution. Belongs to the connection's thread.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "query/sorted_groups.h"
#include "select_numbers.h"
#include "select_outcome.h"
#include "select_server.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Something that is computed of each row.
struct RowExpression {
  Item* item = nullptr;
  std::optional<Number> number;  // in the block's program; without one the server evaluates the item
  ServerValue kind = ServerValue::Presence;  // as what, when the server does
  size_t output = 0;                         // Image: whose field it is stored in
};

/// A column of the rows that are grouped: of the scan, or computed.
struct RowColumn {
  bool computed = false;
  size_t number = 0;
};

/// What goes into one field of a group's row.
struct GroupOutput {
  enum class Source : uint8_t { Key, Aggregate, Constant };
  size_t place = 0;      // of the item among those of the query
  Item* item = nullptr;  // that
  Source source = Source::Constant;
  size_t number = 0;             // of the key or the aggregate
  Item_sum_avg* mean = nullptr;  // the aggregate is a sum, of which the server wants this
};

struct GroupBlock {
  struct Counted {
    Aggregate wanted;  // without its position
    RowColumn of;
  };
  explicit GroupBlock(const ScanColumns& scanned) : columns(scanned) {}

  ScanColumns columns;
  std::shared_ptr<Program> conditions = std::make_shared<Program>();
  std::shared_ptr<Program> values = std::make_shared<Program>();
  std::vector<RowExpression> computed;
  std::vector<RowColumn> keys;
  std::vector<Counted> aggregates;
  std::vector<GroupOutput> outputs;
  std::vector<GroupOrder> order;
  size_t most = SortedGroups::all;  // groups that are wanted
  std::shared_ptr<const Predicate> predicate;
  std::vector<Item*> rest;                  // of the condition, beyond the predicate: all must hold
  std::vector<Item*> evaluated;             // of these, those that only the server evaluates
  std::optional<Program::Register> passes;  // the others, in `conditions`

  /// What it does, in words.
  std::string describe() const;
  uint16_t position_of(const RowColumn& column) const {
    return static_cast<uint16_t>(column.number + (column.computed ? columns.numbers().size() : 0));
  }
};

/// Why the server is to do it.
struct Declined {
  SelectOutcome reason = SelectOutcome::Statement;
  Item* item = nullptr;  // that was in the way; null: nothing in particular
};
std::expected<GroupBlock, Declined> make_group_block(THD& thd, const Query& query, HailstoneHandler& reader);

}  // namespace hailstone

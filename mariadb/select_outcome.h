// What became of the blocks of SELECTs that were offered to the engine: answered there, or left to the server
// for a reason. The server counts them as status variables, EXPLAIN EXTENDED tells of each, and
// INFORMATION_SCHEMA.HAILSTONE_QUERIES shows those that were run.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "operator_plan.h"

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

class BlockRecord;

enum class SelectOutcome : uint8_t {
  Pushed,
  Off,
  Statement,
  Locks,
  Index,
  Hash,
  Hint,
  Rows,
  Groups,
  Columns,
  View,
  Aggregates,
  Means,
  Order,
  Unordered,
  Condition,
  Limit,
  Computed,
};

struct SelectOutcomeText {
  const char* name;  // of the status variable, behind Hailstone_selects_
  const char* text;  // why the block was left to the server
};
constexpr std::array<SelectOutcomeText, 18> select_outcomes{{
    {"pushed", ""},
    {"declined_off", "hailstone_select_pushdown is OFF"},
    {"declined_statement", "the engine does not answer statements of this form"},
    {"declined_locks", "it locks the rows that it reads, or reads what is uncommitted"},
    {"declined_index", "an index leads to few rows"},
    {"declined_hash", "the server joins it by a hash table, as join_cache_level allows"},
    {"declined_hint", "it says by which index a table is to be read"},
    {"declined_rows", "the tables that it joins have few rows"},
    {"declined_groups", "the engine does not group by this"},
    {"declined_columns", "it is no function of the row, or neither a group nor made of groups"},
    {"declined_view", "a view on the inner side of an outer join makes it of its columns"},
    {"declined_aggregates", "the engine does not compute this aggregate"},
    {"declined_means", "the server goes on with more digits of a mean than it shows"},
    {"declined_order", "the engine does not sort by this"},
    {"declined_unordered",
     "its rows may warn or fail, and which of them do is by the order that they come in: ORDER BY makes it "
     "the engine's"},
    {"declined_condition", "the condition is no function of the row, or warns of rows by their number"},
    {"declined_limit", "the server is at its LIMIT sooner"},
    {"declined_computed", "the server computes it of each row, and is as quick by itself"},
}};

/// Why the server is to do it.
struct Declined {
  SelectOutcome reason = SelectOutcome::Statement;
  Item* item = nullptr;  // that was in the way; null: nothing in particular
};

/// Since the plugin was loaded; read by the server without a lock.
extern std::array<std::atomic<long long>, select_outcomes.size()> select_counts;

/// A block that was offered.
struct OfferedBlock {
  THD& thd;
  const SELECT_LEX& select;
  const char* hook;  // by which; a literal
};
/// The engine will answer it: what it does is counted in the record.
std::shared_ptr<BlockRecord> note_pushed(const OfferedBlock& block, OperatorPlan plan);
void note_declined(const OfferedBlock& block, const Declined& declined);

}  // namespace hailstone

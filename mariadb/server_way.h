// How the server would read the tables of a block of a SELECT, one inside the other, where what it gives
// comes one by one, so that a LIMIT ends it: as it plans to, or as it is expected to plan. Belongs to the
// connection's thread.
#pragma once

#include <optional>
#include <vector>

#include "join_tree.h"
#include "source_tables.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// How many rows a block of a SELECT meets, estimated before anything of it is read.
struct BlockRows {
  struct OfTable {
    const TABLE* table;
    double share = 1;  // of its rows, those that fulfil the conditions on it alone
    bool may_be_missing = false;
  };
  std::vector<OfTable> tables;
  double all = 1;  // that come out without a LIMIT
  /// Of one table, or of tables that are joined; `sources`: all of the tree's.
  static BlockRows of(const SourceTables& sources, const JoinNode& tree);
  /// Null: it is none of the block's.
  const OfTable* of_table(const TABLE& table) const;
  double share_of(const TABLE& table) const;
};

struct ServerWay {
  struct Step {
    const TABLE* table = nullptr;
    double rows = 1;    // that are read for each row of the steps before
    double search = 0;  // microseconds until the first of them is there
    double each = 0;    // microseconds of each
  };
  enum class Gives : uint8_t {
    Rows,
    Groups,     // in the order of an index, each once the next one begins
    Different,  // rows that no row before is equal to, in no order
  };
  std::vector<Step> steps = {};
  Gives gives = Gives::Rows;
};

/// As the optimizer has planned a block, with which it is done. Nothing: all that it reads is read before the
/// first row, or group, is there.
std::optional<ServerWay> planned_way(const JOIN& join, const BlockRows& rows);

/// A block that the optimizer has not been at.
struct LimitedBlock {
  const Query& query;
  SELECT_LEX& select;
  const SourceTables& sources;
  const std::vector<Item*>& conditions;  // on rows, all of which must hold, those of ON included
  const JoinNode& tree;                  // as the engine would join them
};
/// As the optimizer will probably plan it. Nothing: there is no such way.
std::optional<ServerWay> expected_way(const LimitedBlock& block, const BlockRows& rows);

}  // namespace hailstone

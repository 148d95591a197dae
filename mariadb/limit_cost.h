// What a block of a SELECT with a LIMIT costs the server, which may end soon, and what it costs the engine,
// which scans first: the one place where the two are compared. docs/design/costs.md walks an example. Belongs
// to the connection's thread.
#pragma once

#include <optional>

#include "select_outcome.h"
#include "server_way.h"

namespace hailstone {

/// What is known of a block with a LIMIT, apart from how the server reads it. The session keeps that of a
/// statement which is left to the server, as that is offered once more.
struct LimitEstimate {
  BlockRows rows;
  double wanted = 1;      // rows or groups, those before an OFFSET included
  double values = 1;      // groups that there are, or different rows
  double of_engine = 0;   // microseconds, but for scans and for the probe sides of joins:
  double of_probes = 0;   // those, which a LIMIT ends where rows come in no order
  bool in_order = false;  // or in groups: it ends nothing
  /// Whether the server, which reads the block so, costs less than the engine.
  bool is_server_quicker(const ServerWay& way) const;

  query_id_t query = 0;
  const SELECT_LEX* select = nullptr;
};

/// Nothing: the block has no LIMIT, or all rows are counted beyond it, or the server cannot end sooner in
/// such a form.
std::optional<double> rows_wanted(const Query& query, SELECT_LEX& select, const SourceTables& sources);

/// The tree of one table alone, of which these conditions must hold.
JoinNode leaf_with(const SourceTables::Source& source, const std::vector<PushedCondition>& conditions);

/// Why a statement that the optimizer has not been at is left to the server, as it will probably plan it;
/// nothing: the engine costs less. `wanted`: what rows_wanted() says.
std::optional<Declined> leave_as_expected(const LimitedBlock& block, double wanted);
/// The same of a block as the optimizer has planned it.
std::optional<Declined> leave_as_planned(const LimitedBlock& block, double wanted);
/// The same of a block that was left to the server as a statement, before anything is made of it again.
std::optional<Declined> leave_again(THD& thd, const Query& query, SELECT_LEX& select);

}  // namespace hailstone

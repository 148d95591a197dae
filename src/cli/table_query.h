// What `hailstone scan` asks of a table: texts of its options, and the query (hailstone.h) that they make.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "hailstone.h"

namespace hailstone {

struct QueryTexts {
  // Lists of expressions (cli/expression_list.h), and a condition; nothing: the option was not given.
  std::optional<std::string> columns, condition, keys, aggregates, order;
  std::optional<uint64_t> limit;
  bool count = false;
  unsigned threads = 2;

  /// Whether there are groups, or one group of all rows.
  bool has_groups() const { return keys || aggregates || count; }
  /// Whether the first row of the result is known when all rows of the table have been read.
  bool has_result_of_all() const { return has_groups() || order.has_value(); }
  /// Whether no row of the table is left out.
  bool reads_all_rows() const { return !condition && (!limit || has_result_of_all()); }
};

/// ErrorCode::InvalidArgument: options do not go together, or are empty. Asks for no table.
Status check_texts(const QueryTexts& texts);

struct QueryCloser {
  void operator()(hs_query* query) const { hs_query_close(query); }
};
using OwnedQuery = std::unique_ptr<hs_query, QueryCloser>;

/// Errors name the option, and its text.
Result<OwnedQuery> make_query(hs_transaction* transaction, hs_table* table, const QueryTexts& texts);

}  // namespace hailstone

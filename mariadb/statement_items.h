// A SELECT as it is before the server optimises it: what it reads, and what the optimizer would make of its
// items. Nothing in it is changed here. Belongs to the connection's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// The table that a SELECT reads, and all conditions on its rows: its own and those of merged views.
struct SelectSource {
  TABLE_LIST* leaf = nullptr;
  std::vector<Item*> conditions;
};
/// Nothing: it does not read exactly one table.
std::optional<SelectSource> source_of(SELECT_LEX& select);

/// Whether a SELECT is part of no change but INSERT, REPLACE and CREATE TABLE … SELECT, and without window
/// functions, ROWNUM and LIMIT ROWS EXAMINED. ON DUPLICATE KEY UPDATE reads no columns of its tables.
bool is_plain_statement(const THD& thd, const SELECT_LEX& select);

/// Whether the rows of the whole statement go to the client, and nowhere else.
bool sends_rows(const THD& thd);

/// Whether the optimizer moves what HAVING asks of the columns of groups to WHERE.
bool moves_having(const THD& thd, const SELECT_LEX& select);

/// Whether no constant in the item warns when it is evaluated: the server does that once a statement, the
/// engine as often as it likes.
bool has_silent_constants(THD& thd, Item& item);
/// Whether the server would find another condition in the place of this one, as it does where NOT NULL
/// columns are compared with NULL: zero dates, and the last AUTO_INCREMENT.
bool is_replaced(Item& item);
enum class Constants : uint8_t { AreAsked, AreLeft };
/// Whether no row can fulfil the condition, as it asks for NULLs where there are none, or for what is less,
/// greater or other than itself, or as a constant in it says so: AreAsked evaluates those, which
/// has_silent_constants() has let pass. The server then evaluates no other condition, whatever that would
/// raise.
bool is_never_true(Item& item, Constants constants);
/// Whether IS [NOT] NULL is in it. Of what is never NULL the server knows the answer before it reads a row,
/// and so also where ROLLUP makes NULLs.
bool asks_whether_null(Item& item);
/// Whether an index of the table begins with a column that the item reads.
bool has_index(const TABLE& table, Item& item);
/// Whether the statement says by which index the table is to be read.
bool names_index(const TABLE_LIST& table);

}  // namespace hailstone

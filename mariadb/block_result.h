// The result of a block of a SELECT, row by row: where a row is made, the server's items read what is sent
// and what HAVING asks. One class for each kind of block, whether it is a whole statement (pushed_select.h)
// or a part of one (pushed_part.h). Belongs to the connection's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "group_items.h"
#include "query_history.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

class BlockResult {
 public:
  enum class Sort : uint8_t { None, FirstRows, All };

  BlockResult() = default;
  BlockResult(const BlockResult&) = delete;
  BlockResult& operator=(const BlockResult&) = delete;
  virtual ~BlockResult() = default;

  /// What it does to bring its rows into an order.
  virtual Sort sort() const = 0;
  /// Whether rows are made in a temporary table, which has a field for each item of the statement but
  /// constants. Else they are in the record of the table that is read, where the items themselves find them.
  virtual bool fills_table() const = 0;
  /// Whether the server, without the engine, would send the columns of its own table of groups. Else it sends
  /// the statement's items, or copies of them.
  virtual bool sends_table() const { return false; }
  /// Before the first run, if it fills a table. `items`: what stands for the items of the statement, which
  /// are columns of `table` as far as it has them; it may replace others. False: no memory.
  virtual bool use(TABLE& table, GroupItems& items) = 0;

  /// From the first row on. A handler error, or 0.
  virtual int begin() = 0;
  /// Makes the next row. A handler error, HA_ERR_END_OF_FILE behind the last row, or 0. Warnings of what is
  /// done with the row have its number.
  virtual int next() = 0;
  /// Passes by rows that are not sent, at most `most` (at least 1): `passed` says how many. As next().
  virtual int pass(uint64_t /*most*/, uint64_t& passed) {
    passed = 1;
    return next();
  }
  /// Tells the server what was examined.
  virtual void end() = 0;

  /// How many rows there are, known before they all are made; nothing: it is not, or not yet.
  virtual std::optional<uint64_t> rows_met() const { return std::nullopt; }
  /// WITH ROLLUP: the last row of the limit may end several groups, and FOUND_ROWS() counts what they are
  /// rolled up to.
  virtual bool rolls_up() const { return false; }
  /// Of the row that was made last: whether it is one of several groups.
  virtual bool is_rolled_up() const { return false; }
  virtual BlockRun& run() = 0;
};

}  // namespace hailstone

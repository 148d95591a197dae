// Rows that a consumer takes one by one.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "schema/row_codec.h"
#include "table/query_host.h"

namespace hailstone {

/// Belongs to one thread.
class RowSource {
 public:
  virtual ~RowSource() = default;
  /// Goes to the next row. False: there is none.
  virtual Result<bool> next() = 0;
  /// Once next() has given a row: goes up to `rows` further without a look at those between, and returns how
  /// many it has gone; 0: it cannot, or has no more rows. What it stood at is gone.
  virtual uint64_t skip(uint64_t /*rows*/) { return 0; }
  /// Of the row where it stands; bytes are valid until next().
  virtual std::span<const Value> values() const = 0;
  /// Of rows in an order: equal for rows that are equal in it; valid until next().
  virtual ByteView key() const { return {}; }
  /// How many rows the scan has given, and how many of them passed the conditions.
  virtual uint64_t rows_read() const = 0;
  virtual uint64_t rows_met() const = 0;
  /// Of the rows that it is made of.
  virtual const QueryHost& host() const = 0;
};

}  // namespace hailstone

// Columns of tables as typed expressions, where no server says what is stored: whole and real numbers,
// DECIMALs, texts, and the forms in which the plugin's tables have dates and times (stored_values.h).
// Stateless; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "expression/expression.h"
#include "schema/table_definition.h"

namespace hailstone {

struct TypedColumn {
  Expression value;
  /// A scan is to read the column as scaled(its number), which its DECIMALs are.
  bool is_scaled = false;
};

/// The type of SQL that a column's storage says by itself: whole and real numbers, DECIMALs that say their
/// digits, texts; what is left are bytes. ErrorCode::Unsupported: its collation is unknown.
Result<SqlType> stored_type(const Column& column, const CollationResolver& collations);

/// The column at a position of the batches of a scan, as one of these types:
///   INT, BIT       Signed or Unsigned of any width; OrderedBytes of up to 8
///   DECIMAL        OrderedBytes that say their digits
///   FLOAT, DOUBLE  Float, Double
///   text, bytes    Char, Varchar, Blob, OrderedBytes of more than 8
///   DATE           Unsigned of 3
///   DATETIME, TIMESTAMP, TIME of so many digits of their fraction: OrderedBytes of 5, 4 or 3, and a byte for
///                  two digits. A TIMESTAMP is shown in UTC.
/// ErrorCode::InvalidArgument: the storage has no values of that type.
Result<TypedColumn> typed_column(uint16_t position, const Column& column, const SqlType& type);

/// YEAR of four digits: Unsigned of one byte.
Result<TypedColumn> year_column(uint16_t position, const Column& column);
/// ENUM, or where `is_set` SET, of these words: an Unsigned.
Result<TypedColumn> words_column(uint16_t position, const Column& column, std::vector<std::string> words,
                                 bool is_set, const Collation& collation);

}  // namespace hailstone

// How the server compares the two sides of an equality, and what stands for the values of each side: it is
// equal where the server takes the values for equal, and nowhere else. So rows of a join are looked up by it.
// Belongs to the connection's thread.
#pragma once

#include <cstdint>
#include <optional>

#include "base/arena.h"
#include "schema/row_codec.h"
#include "table/scan.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

class EqualValues {
 public:
  /// Nothing: nothing stands for the values, as where near numbers are equal, or JSON is compared with text.
  static std::optional<EqualValues> of(Item_bool_func2& equality);

  /// What the values of a side are as a column.
  Result<ScanColumn> type_of(const Item& side) const;
  /// Of what the item reads now. `bytes` gets those that the value has.
  Value value_of(Item& side, THD& thd, Arena& bytes) const;

 private:
  enum class As : uint8_t { Integer, Real, Decimal, Text, Moment, Span, Stamp, FixedBytes };
  explicit EqualValues(As as) : as_(as) {}

  As as_;
  CHARSET_INFO* charset_ = nullptr;        // Text: by which texts are compared
  const Type_handler* handler_ = nullptr;  // Stamp, FixedBytes: as which values are compared
};

/// UUID, INET6 and INET4: values of so many bytes, of which each is another value. Texts beside them are
/// converted, with a warning of those that are no such value.
bool has_fixed_bytes(const Type_handler& handler);

}  // namespace hailstone

// Rows that tests sort and group: each number below `all_numbers` once.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "query/given_rows.h"

namespace hailstone {

inline constexpr ScanColumn number_column{.integer = true, .type = Type::Unsigned, .width = 8};
inline constexpr uint64_t all_numbers = 5'000;

/// Numbers in disorder, and a text of each, NULL for some.
inline std::unique_ptr<GivenRows> disordered(const QueryHost& host) {
  const ScanColumn text{
      .integer = false, .type = Type::Varchar, .width = 20, .collation = &binary_collation()};
  auto rows = std::make_unique<GivenRows>(host, std::vector{number_column, text});
  for (uint64_t i = 0; i < all_numbers; ++i) {
    const uint64_t value = i * 2'003 % all_numbers;
    const std::string key = "key " + std::to_string(value % 7);
    rows->add(std::array{Value::of(value), value % 7 == 3 ? Value() : Value::of(ByteView(key))});
  }
  return rows;
}

}  // namespace hailstone

// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace hailstone {

/// 1234567 as 1,234,567.
std::string with_commas(uint64_t number);

}  // namespace hailstone

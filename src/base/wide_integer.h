// Whole numbers of 128 bits.
#pragma once

namespace hailstone {

__extension__ typedef __int128 WideInteger;

}  // namespace hailstone

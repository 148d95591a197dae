// Keys of parts whose length varies: how one tells its own end, in bytes that sort as the parts do.
#pragma once

#include <string>

namespace hailstone {

/// Escapes the zeros in to[from, end), 0x00 as 0x00 0xFF, and ends the part with 0x00 0x01, in place. A
/// part's bytes rarely hold zeros, so that most calls only look for one.
void escape_and_end(std::string& to, size_t from);

}  // namespace hailstone

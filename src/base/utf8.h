// Whether bytes are UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing beyond U+10FFFF.
#pragma once

#include <string_view>

namespace hailstone {

bool is_well_formed_utf8(std::string_view bytes);

}  // namespace hailstone

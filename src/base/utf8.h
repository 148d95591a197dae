// Whether bytes are UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing beyond U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace hailstone {

bool is_well_formed_utf8(std::string_view bytes);
/// Bytes of the character with which `bytes`, which are not empty, begin; 0: they begin with none.
size_t utf8_character_size(std::string_view bytes);

}  // namespace hailstone

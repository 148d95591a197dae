// Texts as JSON has them.
#pragma once

#include <string>
#include <string_view>

namespace hailstone {

/// Appends the text, UTF-8, in quotes.
void append_json_text(std::string_view text, std::string& to);
std::string json_text(std::string_view text);

}  // namespace hailstone

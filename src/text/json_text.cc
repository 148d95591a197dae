#include "text/json_text.h"

#include <fmt/format.h>

#include <iterator>

namespace hailstone {

void append_json_text(std::string_view text, std::string& to) {
  to += '"';
  for (const char character : text) {
    switch (character) {
      case '"':
        to += "\\\"";
        break;
      case '\\':
        to += "\\\\";
        break;
      case '\n':
        to += "\\n";
        break;
      case '\r':
        to += "\\r";
        break;
      case '\t':
        to += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(character) < 0x20) {
          fmt::format_to(std::back_inserter(to), "\\u{:04x}", static_cast<unsigned>(character));
        } else {
          to += character;
        }
    }
  }
  to += '"';
}

std::string json_text(std::string_view text) {
  std::string quoted;
  append_json_text(text, quoted);
  return quoted;
}

}  // namespace hailstone

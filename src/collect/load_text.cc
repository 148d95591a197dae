#include "collect/load_text.h"

namespace hailstone {

void append_load_field(std::string& to, const Field& field) {
  if (field.kind == Field::Kind::Null) {
    to += "\\N";
    return;
  }
  if (field.kind == Field::Kind::Bool) {
    to += field.text == "true" ? '1' : '0';
    return;
  }
  constexpr std::string_view special("\t\n\\\0", 4);
  std::string_view rest = field.text;
  for (;;) {
    const size_t at = rest.find_first_of(special);
    to += rest.substr(0, at);
    if (at == std::string_view::npos) return;
    to += '\\';
    switch (rest[at]) {
      case '\t':
        to += 't';
        break;
      case '\n':
        to += 'n';
        break;
      case '\0':
        to += '0';
        break;
      default:
        to += '\\';
    }
    rest.remove_prefix(at + 1);
  }
}

std::string encode_layout(const RecordLayout& layout) {
  std::string bytes;
  for (const std::string& column : layout) append_string(bytes, column);
  return bytes;
}

bool decode_layout(ByteView bytes, RecordLayout& layout) {
  layout.clear();
  ByteReader reader(bytes);
  while (!reader.empty()) {
    ByteView column;
    if (!reader.take_string(column)) return false;
    layout.emplace_back(column);
  }
  return !layout.empty();
}

}  // namespace hailstone

#include "collect/load_text.h"

#include <algorithm>

#include "collect/config.h"
#include "expression/expression_lexer.h"

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
  const auto is_special = [](char c) { return c == '\t' || c == '\n' || c == '\\' || c == '\0'; };
  std::string_view rest = field.text;
  for (;;) {
    const auto at = static_cast<size_t>(std::ranges::find_if(rest, is_special) - rest.begin());
    to += rest.substr(0, at);
    if (at == rest.size()) return;
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

std::optional<std::string> load_field(std::string_view record, size_t place) {
  for (; place > 0; --place) {
    const size_t tab = record.find('\t');
    if (tab == std::string_view::npos) return std::nullopt;
    record.remove_prefix(tab + 1);
  }
  record = record.substr(0, record.find('\t'));
  if (record == "\\N") return std::nullopt;
  std::string field;
  for (size_t i = 0; i < record.size(); ++i) {
    if (record[i] != '\\' || i + 1 == record.size()) {
      field += record[i];
      continue;
    }
    switch (record[++i]) {
      case 't':
        field += '\t';
        break;
      case 'n':
        field += '\n';
        break;
      case '0':
        field += '\0';
        break;
      default:
        field += record[i];
    }
  }
  return field;
}

std::string encode_layout(const RecordLayout& layout) {
  std::string bytes;
  for (const std::string& column : layout) append_string(bytes, column);
  return bytes;
}

std::optional<size_t> place_of(const RecordLayout& layout, std::string_view column) {
  const auto found =
      std::ranges::find_if(layout, [&](const std::string& name) { return is_same_name(name, column); });
  if (found == layout.end()) return std::nullopt;
  return static_cast<size_t>(found - layout.begin());
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

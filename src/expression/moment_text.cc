// Moments as texts: DATE_FORMAT().
#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "expression/kernels.h"
#include "expression/moment.h"

namespace hailstone {

namespace {

void append_number(uint64_t number, size_t digits, std::string& to) {
  std::array<char, 20> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  const auto written = static_cast<size_t>(end - text.data());
  if (written < digits) to.append(digits - written, '0');
  to.append(text.data(), written);
}

std::string_view ordinal_end(uint64_t number) {
  if (number >= 10 && number <= 19) return "th";
  switch (number % 10) {
    case 1:
      return "st";
    case 2:
      return "nd";
    case 3:
      return "rd";
    default:
      return "th";
  }
}

void append_time(uint64_t hour, const MomentParts& parts, std::string& to) {
  append_number(hour, 2, to);
  to += ':';
  append_number(parts.minute, 2, to);
  to += ':';
  append_number(parts.second, 2, to);
}

/// What stands for `%` and the directive.
void append(char directive, const MomentParts& parts, std::string& to) {
  const uint64_t hour_of_twelve = (parts.hour + 11) % 12 + 1;
  const std::string_view half_of_day = parts.hour < 12 ? "AM" : "PM";
  switch (directive) {
    case 'Y':
      return append_number(parts.year, 4, to);
    case 'y':
      return append_number(parts.year % 100, 2, to);
    case 'm':
      return append_number(parts.month, 2, to);
    case 'c':
      return append_number(parts.month, 1, to);
    case 'd':
      return append_number(parts.day, 2, to);
    case 'e':
      return append_number(parts.day, 1, to);
    case 'D':
      append_number(parts.day, 1, to);
      to += ordinal_end(parts.day);
      return;
    case 'j':
      return append_number(day_of_year(parts), 3, to);
    case 'w':
      return append_number(weekday(parts), 1, to);
    case 'H':
      return append_number(parts.hour, 2, to);
    case 'k':
      return append_number(parts.hour, 1, to);
    case 'h':
    case 'I':
      return append_number(hour_of_twelve, 2, to);
    case 'l':
      return append_number(hour_of_twelve, 1, to);
    case 'i':
      return append_number(parts.minute, 2, to);
    case 's':
    case 'S':
      return append_number(parts.second, 2, to);
    case 'f':
      return append_number(parts.microsecond, 6, to);
    case 'p':
      to += half_of_day;
      return;
    case 'r':
      append_time(hour_of_twelve, parts, to);
      to += ' ';
      to += half_of_day;
      return;
    case 'T':
      return append_time(parts.hour, parts, to);
    default:
      to += directive;
  }
}

void append_formatted(ByteView format, const MomentParts& parts, std::string& to) {
  for (size_t i = 0; i < format.size(); ++i) {
    const bool is_directive = format[i] == '%' && i + 1 < format.size();
    if (is_directive) {
      append(format[++i], parts, to);
    } else {
      to += format[i];
    }
  }
}

}  // namespace

bool knows_format(ByteView format) {
  // Month and day names, and weeks.
  constexpr std::string_view unknown = "MbWaUuVvXx";
  for (size_t i = 0; i < format.size(); ++i) {
    if (static_cast<unsigned char>(format[i]) >= 0x80) return false;
    if (format[i] != '%' || i + 1 == format.size()) continue;
    if (unknown.contains(format[++i])) return false;
  }
  // Of an empty one the answer is NULL.
  return !format.empty();
}

void format_moments(const FunctionCall& call) {
  std::string made;
  for (uint32_t row = 0; row < call.rows; ++row) {
    call.to.texts[row] = {};
    if (call.to.is_null(row)) continue;
    const MomentParts parts = parts_of(call.input(0).integers[row]);
    if (!is_in_calendar(parts)) {
      call.to.add_failure(row, call.rows, unknown_value);
      continue;
    }
    made.clear();
    append_formatted(call.input(1).texts[row], parts, made);
    char* const to = call.text(row, made.size());
    if (to == nullptr) continue;
    made.copy(to, made.size());
    call.to.texts[row] = {to, made.size()};
  }
}

}  // namespace hailstone

// Moments as texts: DATE_FORMAT().
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "expression/kernels.h"
#include "expression/moment.h"

namespace hailstone {

namespace {

/// A directive makes no more, and anything else in a format one byte.
constexpr size_t most_of_directive = 11;

inline char* write_two(uint64_t number, char* to) {
  to[0] = static_cast<char>('0' + number / 10);
  to[1] = static_cast<char>('0' + number % 10);
  return to + 2;
}

/// At least so many digits, of which a number has 6 at most. Where they end.
inline char* write_number(uint64_t number, size_t digits, char* to) {
  if (digits == 2 && number < 100) return write_two(number, to);
  if (digits == 4 && number < 10'000) return write_two(number % 100, write_two(number / 100, to));
  std::array<char, 6> text;
  char* first = text.data() + text.size();
  for (size_t left = digits; left > 0 || number != 0; left -= left > 0 ? 1 : 0, number /= 10)
    *--first = static_cast<char>('0' + number % 10);
  return std::copy(first, text.data() + text.size(), to);
}

char* write_text(std::string_view text, char* to) { return std::ranges::copy(text, to).out; }

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

char* write_time(uint64_t hour, const MomentParts& parts, char* to) {
  to = write_number(hour, 2, to);
  *to++ = ':';
  to = write_number(parts.minute, 2, to);
  *to++ = ':';
  return write_number(parts.second, 2, to);
}

/// What stands for `%` and the directive.
char* write(char directive, const MomentParts& parts, char* to) {
  const uint64_t hour_of_twelve = (parts.hour + 11) % 12 + 1;
  const std::string_view half_of_day = parts.hour < 12 ? "AM" : "PM";
  switch (directive) {
    case 'Y':
      return write_number(parts.year, 4, to);
    case 'y':
      return write_number(parts.year % 100, 2, to);
    case 'm':
      return write_number(parts.month, 2, to);
    case 'c':
      return write_number(parts.month, 1, to);
    case 'd':
      return write_number(parts.day, 2, to);
    case 'e':
      return write_number(parts.day, 1, to);
    case 'D':
      return write_text(ordinal_end(parts.day), write_number(parts.day, 1, to));
    case 'j':
      return write_number(day_of_year(parts), 3, to);
    case 'w':
      return write_number(weekday(parts), 1, to);
    case 'H':
      return write_number(parts.hour, 2, to);
    case 'k':
      return write_number(parts.hour, 1, to);
    case 'h':
    case 'I':
      return write_number(hour_of_twelve, 2, to);
    case 'l':
      return write_number(hour_of_twelve, 1, to);
    case 'i':
      return write_number(parts.minute, 2, to);
    case 's':
    case 'S':
      return write_number(parts.second, 2, to);
    case 'f':
      return write_number(parts.microsecond, 6, to);
    case 'p':
      return write_text(half_of_day, to);
    case 'r':
      to = write_time(hour_of_twelve, parts, to);
      *to++ = ' ';
      return write_text(half_of_day, to);
    case 'T':
      return write_time(parts.hour, parts, to);
    default:
      *to = directive;
      return to + 1;
  }
}

/// Whether the texts of all moments have one length.
bool has_one_length(ByteView format) {
  for (size_t i = 0; i + 1 < format.size(); ++i) {
    if (format[i] == '%' && std::string_view("ceDkl").contains(format[++i])) return false;
  }
  return true;
}

/// How many bits of a moment do not show in its text: those of the time of the day, or its smaller parts. In
/// a table that grows with time, most rows have the text of the one before.
unsigned unseen_bits(ByteView format) {
  unsigned unseen = 41;
  const auto shows = [&unseen](unsigned bits) { unseen = std::min(unseen, bits); };
  for (size_t i = 0; i + 1 < format.size(); ++i) {
    if (format[i] != '%') continue;
    const char directive = format[++i];
    if (std::string_view("HkhIlp").contains(directive)) shows(36);
    if (directive == 'i') shows(30);
    if (std::string_view("sSrT").contains(directive)) shows(24);
    if (directive == 'f') shows(0);
  }
  return unseen;
}

/// Of room for a format.
size_t most_bytes(ByteView format) { return format.size() * most_of_directive; }

char* write_formatted(ByteView format, const MomentParts& parts, char* to) {
  for (size_t i = 0; i < format.size(); ++i) {
    const bool is_directive = format[i] == '%' && i + 1 < format.size();
    if (is_directive) {
      to = write(format[++i], parts, to);
    } else {
      *to++ = format[i];
    }
  }
  return to;
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
  std::vector<char> made;
  ByteView format, last;
  unsigned unseen = 0;
  size_t length = 0;       // of all texts; 0: they differ, or it is not known
  int64_t seen_last = -1;  // of the moment whose text is `last`
  for (uint32_t row = 0; row < call.rows; ++row) {
    call.to.texts[row] = {};
    if (call.to.is_null(row)) continue;
    if (const ByteView wanted = call.input(1).texts[row];
        wanted.data() != format.data() || wanted.size() != format.size()) {
      format = wanted;
      unseen = unseen_bits(format);
      length = 0;
      seen_last = -1;
    }
    const int64_t moment = call.input(0).integers[row];
    if (moment >> unseen == seen_last) {
      call.to.texts[row] = last;
      continue;
    }
    const MomentParts parts = parts_of(moment);
    if (!is_in_calendar(parts)) {
      call.to.add_failure(row, call.rows, unknown_value);
      continue;
    }
    if (length == 0) {
      made.resize(std::max(made.size(), most_bytes(format)));
      const auto written = static_cast<size_t>(write_formatted(format, parts, made.data()) - made.data());
      if (has_one_length(format)) length = written;
      char* const to = call.text(row, written);
      if (to == nullptr) continue;
      std::memcpy(to, made.data(), written);
      call.to.texts[row] = last = {to, written};
    } else {
      char* const to = call.text(row, length);
      if (to == nullptr) continue;
      write_formatted(format, parts, to);
      call.to.texts[row] = last = {to, length};
    }
    seen_last = moment >> unseen;
  }
}

}  // namespace hailstone

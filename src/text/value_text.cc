#include "text/value_text.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>

namespace hailstone {
namespace {

struct TypeName {
  hs_type type;
  std::string_view name;
};
constexpr std::array<TypeName, 16> names = {{{HS_INT8, "int8"},
                                             {HS_INT16, "int16"},
                                             {HS_INT32, "int32"},
                                             {HS_INT64, "int64"},
                                             {HS_UINT8, "uint8"},
                                             {HS_UINT16, "uint16"},
                                             {HS_UINT32, "uint32"},
                                             {HS_UINT64, "uint64"},
                                             {HS_FLOAT, "float"},
                                             {HS_DOUBLE, "double"},
                                             {HS_STRING, "string"},
                                             {HS_BYTES, "bytes"},
                                             {HS_DATE, "date"},
                                             {HS_TIMESTAMP, "timestamp"},
                                             {HS_BOOL, "bool"},
                                             {HS_DATETIME, "datetime"}}};

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  // Unlike the library, people write +5.
  if (text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+') text.remove_prefix(1);
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

__extension__ typedef __int128 WideInteger;

constexpr int64_t microseconds_per_second = 1'000'000;
constexpr int64_t microseconds_per_day = 86'400 * microseconds_per_second;

// Days and civil dates of the proleptic Gregorian calendar, counted in eras of 400 years that begin in March,
// so that the leap day is the last of its year.
constexpr int64_t days_per_era = 146'097;
constexpr int64_t days_from_era_to_1970 = 719'468;

struct Civil {
  int64_t year;
  unsigned month, day;
};

int64_t days_of(const Civil& date) {
  const int64_t year = date.year - (date.month <= 2 ? 1 : 0);
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const int64_t year_of_era = year - era * 400;
  const int64_t day_of_year = (153 * ((date.month + 9) % 12) + 2) / 5 + date.day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * days_per_era + day_of_era - days_from_era_to_1970;
}

Civil civil_of(int64_t days) {
  days += days_from_era_to_1970;
  const int64_t era = (days >= 0 ? days : days - (days_per_era - 1)) / days_per_era;
  const int64_t day_of_era = days - era * days_per_era;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month_from_march = (5 * day_of_year + 2) / 153;
  const auto day = static_cast<unsigned>(day_of_year - (153 * month_from_march + 2) / 5 + 1);
  const auto month =
      static_cast<unsigned>(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
  return {era * 400 + year_of_era + (month <= 2 ? 1 : 0), month, day};
}

unsigned days_in_month(int64_t year, unsigned month) {
  static constexpr std::array<unsigned, 12> lengths = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 && leap ? 29 : lengths[month - 1];
}

/// Takes exactly `digits` digits from the front.
bool take_digits(std::string_view& text, size_t digits, unsigned& number) {
  if (text.size() < digits) return false;
  number = 0;
  for (size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    number = number * 10 + static_cast<unsigned>(text[i] - '0');
  }
  text.remove_prefix(digits);
  return true;
}

bool take(std::string_view& text, char character) {
  if (text.empty() || text.front() != character) return false;
  text.remove_prefix(1);
  return true;
}

/// Days of a date at the front of the text.
std::optional<int64_t> take_date(std::string_view& text) {
  const bool minus = take(text, '-');
  const bool has_sign = minus || take(text, '+');
  const size_t digits = std::min(text.find('-'), text.size());
  if (digits < 4 || digits > (has_sign ? 7U : 4U)) return std::nullopt;
  unsigned year = 0;
  Civil date{};
  if (!take_digits(text, digits, year) || !take(text, '-') || !take_digits(text, 2, date.month) ||
      !take(text, '-') || !take_digits(text, 2, date.day)) {
    return std::nullopt;
  }
  date.year = minus ? -static_cast<int64_t>(year) : static_cast<int64_t>(year);
  if (date.month < 1 || date.month > 12 || date.day < 1 || date.day > days_in_month(date.year, date.month)) {
    return std::nullopt;
  }
  return days_of(date);
}

/// The time of day at the front of the text, in microseconds.
std::optional<int64_t> take_time(std::string_view& text) {
  unsigned hour = 0, minute = 0, second = 0;
  if (!take_digits(text, 2, hour) || !take(text, ':') || !take_digits(text, 2, minute)) return std::nullopt;
  if (take(text, ':') && !take_digits(text, 2, second)) return std::nullopt;
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
  int64_t fraction = 0;
  if (take(text, '.')) {
    size_t digits = 0;
    for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1)) {
      // Digits beyond the microsecond must be zero: nothing is rounded away unseen.
      if (++digits > 6 && text.front() != '0') return std::nullopt;
      if (digits <= 6) fraction = fraction * 10 + (text.front() - '0');
    }
    if (digits == 0) return std::nullopt;
    for (; digits < 6; ++digits) fraction *= 10;
  }
  return (int64_t{hour} * 3600 + int64_t{minute} * 60 + second) * microseconds_per_second + fraction;
}

/// The offset from UTC, in microseconds.
std::optional<int64_t> take_zone(std::string_view& text) {
  if (text.empty() || take(text, 'Z')) return 0;
  const bool minus = take(text, '-');
  if (!minus && !take(text, '+')) return std::nullopt;
  unsigned hours = 0, minutes = 0;
  if (!take_digits(text, 2, hours)) return std::nullopt;
  static_cast<void>(take(text, ':'));  // +0100 is written, too
  if (!text.empty() && !take_digits(text, 2, minutes)) return std::nullopt;
  if (hours > 23 || minutes > 59) return std::nullopt;
  const int64_t offset = (int64_t{hours} * 3600 + int64_t{minutes} * 60) * microseconds_per_second;
  return minus ? -offset : offset;
}

int hex_digit(char character) {
  if (character >= '0' && character <= '9') return character - '0';
  if (character >= 'a' && character <= 'f') return character - 'a' + 10;
  if (character >= 'A' && character <= 'F') return character - 'A' + 10;
  return -1;
}

/// What \x4142 stands for; false when the text is not of that form.
bool parse_hex(std::string_view text, std::string& to) {
  if (!text.starts_with("\\x") || text.size() % 2 != 0) return false;
  to.clear();
  for (size_t i = 2; i < text.size(); i += 2) {
    const int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return false;
    to += static_cast<char>(high * 16 + low);
  }
  return true;
}

template <typename Number>
void append_shortest(Number number, std::string& to) {
  fmt::format_to(std::back_inserter(to), "{}", number);
}

}  // namespace

std::string_view type_name(hs_type type) {
  const auto found = std::ranges::find(names, type, &TypeName::type);
  return found == names.end() ? std::string_view() : found->name;
}

std::string type_names() {
  std::string all;
  for (const TypeName& entry : names) all += fmt::format("{}{}", all.empty() ? "" : ", ", entry.name);
  return all;
}

std::optional<ColumnType> parse_type(std::string_view text) {
  uint32_t max_bytes = 0;
  if (const size_t open = text.find('('); open != std::string_view::npos) {
    if (text.back() != ')') return std::nullopt;
    const auto limit = parse_uint(text.substr(open + 1, text.size() - open - 2));
    if (!limit || *limit == 0 || *limit > std::numeric_limits<uint32_t>::max()) return std::nullopt;
    max_bytes = static_cast<uint32_t>(*limit);
    text = text.substr(0, open);
  }
  const auto found = std::ranges::find(names, text, &TypeName::name);
  if (found == names.end()) return std::nullopt;
  if (max_bytes > 0 && found->type != HS_STRING && found->type != HS_BYTES) return std::nullopt;
  return ColumnType{found->type, max_bytes};
}

std::optional<int64_t> parse_int(std::string_view text) { return parse_number<int64_t>(text); }
std::optional<uint64_t> parse_uint(std::string_view text) { return parse_number<uint64_t>(text); }
std::optional<double> parse_double(std::string_view text) { return parse_number<double>(text); }

std::optional<int32_t> parse_date(std::string_view text) {
  const auto days = take_date(text);
  if (!days || !text.empty() || *days != static_cast<int32_t>(*days)) return std::nullopt;
  return static_cast<int32_t>(*days);
}

namespace {

/// `has_zone`: whether the text names one.
std::optional<int64_t> parse_time(std::string_view text, bool& has_zone) {
  has_zone = false;
  const auto days = take_date(text);
  if (!days) return std::nullopt;
  int64_t microseconds = 0;
  if (!text.empty()) {
    if (!take(text, ' ') && !take(text, 'T')) return std::nullopt;
    const auto time = take_time(text);
    if (!time) return std::nullopt;
    has_zone = !text.empty();
    const auto zone = take_zone(text);
    if (!zone || !text.empty()) return std::nullopt;
    microseconds = *time - *zone;
  }
  // The first and the last day are there in part only, so that days alone may be out of range.
  const WideInteger whole = WideInteger{*days} * microseconds_per_day + microseconds;
  if (whole != static_cast<int64_t>(whole)) return std::nullopt;
  return static_cast<int64_t>(whole);
}

}  // namespace

std::optional<int64_t> parse_timestamp(std::string_view text) {
  bool has_zone = false;
  return parse_time(text, has_zone);
}

std::optional<hs_value> parse_value(hs_type type, std::string_view text, std::string& scratch) {
  switch (type) {
    case HS_INT8:
    case HS_INT16:
    case HS_INT32:
    case HS_INT64:
      if (const auto number = parse_int(text)) return hs_int(*number);
      return std::nullopt;
    case HS_UINT8:
    case HS_UINT16:
    case HS_UINT32:
    case HS_UINT64:
      if (const auto number = parse_uint(text)) return hs_uint(*number);
      return std::nullopt;
    case HS_FLOAT:
    case HS_DOUBLE:
      if (const auto number = parse_double(text)) return hs_double(*number);
      return std::nullopt;
    case HS_DATE:
      if (const auto days = parse_date(text)) return hs_int(*days);
      return std::nullopt;
    case HS_TIMESTAMP:
      if (const auto microseconds = parse_timestamp(text)) return hs_int(*microseconds);
      return std::nullopt;
    case HS_DATETIME: {
      bool has_zone = false;
      const auto microseconds = parse_time(text, has_zone);
      if (microseconds && !has_zone) return hs_int(*microseconds);
      return std::nullopt;
    }
    case HS_BOOL:
      if (text == "true" || text == "1") return hs_uint(1);
      if (text == "false" || text == "0") return hs_uint(0);
      return std::nullopt;
    case HS_STRING:
      if (!is_utf8(text)) return std::nullopt;
      return hs_bytes(text.data(), text.size());
    case HS_BYTES:
      if (parse_hex(text, scratch)) return hs_bytes(scratch.data(), scratch.size());
      return hs_bytes(text.data(), text.size());
  }
  return std::nullopt;
}

void append_date(int32_t days, std::string& to) {
  const Civil date = civil_of(days);
  auto out = std::back_inserter(to);
  if (date.year >= 0 && date.year <= 9999) {
    fmt::format_to(out, "{:04}-{:02}-{:02}", date.year, date.month, date.day);
  } else {
    fmt::format_to(out, "{:+05}-{:02}-{:02}", date.year, date.month, date.day);
  }
}

void append_timestamp(int64_t microseconds, std::string& to) {
  int64_t days = microseconds / microseconds_per_day;
  int64_t rest = microseconds % microseconds_per_day;
  if (rest < 0) {
    rest += microseconds_per_day;
    --days;
  }
  append_date(static_cast<int32_t>(days), to);
  const int64_t seconds = rest / microseconds_per_second, fraction = rest % microseconds_per_second;
  auto out = std::back_inserter(to);
  fmt::format_to(out, " {:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (fraction != 0) fmt::format_to(out, ".{:06}", fraction);
}

void append_double(double number, std::string& to) { append_shortest(number, to); }
void append_float(float number, std::string& to) { append_shortest(number, to); }

std::string printable(std::string_view text) {
  std::string shown = safe_for_terminal(text);
  for (const auto& [character, escape] : {std::pair("\n", "\\x0a"), std::pair("\t", "\\x09")}) {
    for (size_t at = 0; (at = shown.find(character, at)) != std::string::npos; at += 4) {
      shown.replace(at, 1, escape);
    }
  }
  return shown;
}

std::string beginning(std::string_view text) {
  constexpr size_t most = 60;
  size_t shown = std::min(most, text.size());
  while (shown < text.size() && shown > 0 && (text[shown] & 0xc0) == 0x80) --shown;  // not within a character
  return printable(text.substr(0, shown)) + (shown < text.size() ? "…" : "");
}

void append_bytes(std::string_view bytes, std::string& to) {
  const bool printable = std::ranges::all_of(bytes, [](char character) {
    return static_cast<unsigned char>(character) >= 0x20 || character == '\t' || character == '\n';
  });
  if (printable && !bytes.starts_with("\\x") && is_utf8(bytes)) {
    to += bytes;
    return;
  }
  static constexpr std::string_view digits = "0123456789abcdef";
  to += "\\x";
  for (const char character : bytes) {
    const auto byte = static_cast<unsigned char>(character);
    to += digits[byte >> 4];
    to += digits[byte & 15];
  }
}

namespace {

/// Bytes of the UTF-8 character that begins at `at`; 0 when there is none.
size_t character_bytes(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const size_t size = lead < 0x80   ? 1
                      : lead < 0xc2 ? 0
                      : lead < 0xe0 ? 2
                      : lead < 0xf0 ? 3
                      : lead < 0xf5 ? 4
                                    : 0;
  return size != 0 && is_utf8(text.substr(at, size)) && at + size <= text.size() ? size : 0;
}

bool is_obeyed(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return (byte(0) < 0x20 && byte(0) != '\n' && byte(0) != '\t') || byte(0) == 0x7f;
  if (character.size() == 2) return byte(0) == 0xc2 && byte(1) < 0xa0;  // U+0080 to U+009F
  if (character.size() != 3 || byte(0) != 0xe2) return false;
  // U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069
  return (byte(1) == 0x80 && (byte(2) == 0x8e || byte(2) == 0x8f || (byte(2) >= 0xaa && byte(2) <= 0xae))) ||
         (byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9);
}

}  // namespace

std::string safe_for_terminal(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t size = character_bytes(text, at);
    const std::string_view character = text.substr(at, std::max<size_t>(size, 1));
    if (size != 0 && !is_obeyed(character)) {
      shown += character;
    } else {
      for (const char byte : character) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
    at += character.size();
  }
  return shown;
}

bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

}  // namespace hailstone

// Values as text: how the command reads and writes them in files and on its command line. docs/tools.md has
// the rules for users.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "hailstone.h"

namespace hailstone {

/// "int32", "string" …; nothing for a number that is no type.
std::string_view type_name(hs_type type);

struct ColumnType {
  hs_type type = HS_STRING;
  uint32_t max_bytes = 0;  // of string(N) and bytes(N)
};
/// Of "int32", "string(40)" …
std::optional<ColumnType> parse_type(std::string_view text);
/// All names, for help texts.
std::string type_names();

/// Whole, without spaces around it; nothing when the text is none, or too great.
std::optional<int64_t> parse_int(std::string_view text);
std::optional<uint64_t> parse_uint(std::string_view text);
std::optional<double> parse_double(std::string_view text);
/// Days since 1970-01-01, of 2024-02-29.
std::optional<int32_t> parse_date(std::string_view text);
/// Microseconds since 1970-01-01 00:00 UTC, of 2024-02-29 12:30:00.5; T for the space, Z or +01:00 at the end
/// are taken; a date alone is its midnight.
std::optional<int64_t> parse_timestamp(std::string_view text);

/// The value that a column of `type` has for the text. Bytes are those of `text`, or lie in `scratch`.
/// Nothing when the text is none of that type.
std::optional<hs_value> parse_value(hs_type type, std::string_view text, std::string& scratch);

void append_date(int32_t days, std::string& to);
void append_timestamp(int64_t microseconds, std::string& to);
/// As short as brings back the same number; "nan", "inf".
void append_double(double number, std::string& to);
void append_float(float number, std::string& to);
/// Lines of text as a terminal may get them: characters that it would obey (ASCII and ISO 6429 control
/// characters but for line feed and tab, and those that change the direction of writing), and what is not
/// UTF-8, become \x and two hexadecimal digits a byte.
std::string safe_for_terminal(std::string_view text);

/// The text with \x.. for what a terminal would not show as it is.
std::string printable(std::string_view text);
/// The same of the text's beginning, with … if there is more: for messages.
std::string beginning(std::string_view text);

/// Bytes of HS_BYTES: as they are when they are printable UTF-8, else \x and hexadecimal digits, which
/// parse_value() reads.
void append_bytes(std::string_view bytes, std::string& to);

bool is_utf8(std::string_view text);

}  // namespace hailstone

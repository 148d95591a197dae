#include "expression/function.h"

#include <array>

#include "expression/kernels.h"

namespace hailstone {

namespace {

constexpr std::string_view beyond = "beyond BIGINT, or DOUBLE's range: the server is asked";
constexpr std::string_view zero = "0 as divisor: NULL, of which the server tells as sql_mode has it";
constexpr std::string_view by_zero =
    "0 as divisor: NULL, of which the server tells as sql_mode has it; DOUBLE's range: the server is asked";
constexpr std::string_view whole_by_zero =
    "0 as divisor: NULL, of which the server tells as sql_mode has it; beyond BIGINT: the server is asked";
constexpr std::string_view too_long = "longer than max_allowed_packet: the server is asked";

constexpr std::string_view no_match =
    "more steps than PCRE2 takes, bytes that are no characters, longer than max_allowed_packet: the server "
    "is "
    "asked";
constexpr std::string_view no_character =
    "a character that the text's character set lacks: the server is asked";
constexpr std::string_view no_document =
    "what is no JSON, a character that the text's character set lacks: the server is asked";
constexpr std::string_view no_day = "a day that is none: the server is asked";
constexpr std::string_view no_year =
    "a day that is none: the server is asked; a result beyond the year 9999 or before 0: NULL, with a "
    "warning";

constexpr auto table = std::to_array<FunctionLine>({
    {Function::Add, "+", "number, number", ResultKind::OfFirst, Marks::United, beyond, add_numbers, true},
    {Function::Subtract, "-", "number, number", ResultKind::OfFirst, Marks::United, beyond, subtract_numbers,
     true},
    {Function::Multiply, "*", "number, number", ResultKind::OfFirst, Marks::United, beyond, multiply_numbers,
     true},
    {Function::Divide, "/", "DOUBLE, DOUBLE", ResultKind::Real, Marks::United, by_zero, divide_reals},
    {Function::DecimalDivide, "/", "DECIMAL, DECIMAL", ResultKind::Integer, Marks::InOrder, zero,
     divide_decimals, true},
    {Function::IntegerDivide, "DIV", "number, number", ResultKind::Integer, Marks::United, whole_by_zero,
     divide_integers, true},
    {Function::Remainder, "MOD", "number, number", ResultKind::Integer, Marks::United, zero, take_remainder,
     true},
    {Function::InRange, "an INT result", "number", ResultKind::Integer, Marks::United,
     "beyond BIGINT: the server is asked", check_range, true},
    {Function::AsUnsigned, "a BIGINT UNSIGNED result", "INT", ResultKind::Integer, Marks::United, "",
     take_as_unsigned},
    {Function::ToReal, "a DECIMAL or INT as DOUBLE", "DECIMAL", ResultKind::Real, Marks::United, "",
     make_real, true},
    {Function::Absolute, "ABS", "number", ResultKind::OfFirst, Marks::United,
     "beyond BIGINT: the server is asked", make_absolute, true},
    {Function::Sign, "SIGN", "number", ResultKind::Integer, Marks::United, "", find_sign, true},
    {Function::Floor, "FLOOR", "number", ResultKind::OfFirst, Marks::United, "", round_down, true},
    {Function::Ceiling, "CEIL, CEILING", "number", ResultKind::OfFirst, Marks::United, "", round_up, true},
    {Function::Round, "ROUND", "number", ResultKind::OfFirst, Marks::United, "", round_to_nearest, true},
    {Function::Truncate, "TRUNCATE", "number", ResultKind::OfFirst, Marks::United, "", round_to_zero, true},
    {Function::InDigits, "CAST AS DECIMAL", "DECIMAL", ResultKind::OfFirst, Marks::United,
     "more digits: the server is asked", check_digits, true},
    {Function::ToInteger, "CAST AS SIGNED, CAST AS UNSIGNED", "DOUBLE", ResultKind::Integer, Marks::United,
     "more than 62 bits: the server is asked", make_whole},
    {Function::BitAnd, "&", "INT, INT", ResultKind::Integer, Marks::United, "", combine_by_and, true},
    {Function::BitOr, "\\|", "INT, INT", ResultKind::Integer, Marks::United, "", combine_by_or, true},
    {Function::BitXor, "^", "INT, INT", ResultKind::Integer, Marks::United, "", combine_by_xor, true},
    {Function::BitNot, "~", "INT", ResultKind::Integer, Marks::United, "", invert_bits, true},
    {Function::ShiftLeft, "<<", "INT, INT", ResultKind::Integer, Marks::United, "", shift_left, true},
    {Function::ShiftRight, ">>", "INT, INT", ResultKind::Integer, Marks::United, "", shift_right, true},
    {Function::BitCount, "BIT_COUNT", "INT", ResultKind::Integer, Marks::United, "", count_bits, true},
    {Function::Equal, "=", "any, any", ResultKind::Integer, Marks::InOrder, "", find_equal, true},
    {Function::NotEqual, "<>", "any, any", ResultKind::Integer, Marks::InOrder, "", find_different, true},
    {Function::Less, "<", "any, any", ResultKind::Integer, Marks::InOrder, "", find_less, true},
    {Function::LessEqual, "<=", "any, any", ResultKind::Integer, Marks::InOrder, "", find_less_or_equal,
     true},
    {Function::Greater, ">", "any, any", ResultKind::Integer, Marks::InOrder, "", find_greater, true},
    {Function::GreaterEqual, ">=", "any, any", ResultKind::Integer, Marks::InOrder, "", find_greater_or_equal,
     true},
    {Function::SameOrNull, "<=>", "any, any", ResultKind::Integer, Marks::OfKernel, "", find_same_or_null,
     true},
    {Function::Between, "BETWEEN", "any, any, any", ResultKind::Integer, Marks::OfKernel, "", find_between,
     true},
    {Function::Passes, "=, <, BETWEEN, IN, LIKE with constants", "text", ResultKind::Integer, Marks::United,
     "", test_texts},
    {Function::Among, "IN with constants", "number", ResultKind::Integer, Marks::United, "",
     apply_number_function},
    {Function::And, "AND", "truth, truth", ResultKind::Integer, Marks::OfKernel, "", find_both},
    {Function::Or, "OR", "truth, truth", ResultKind::Integer, Marks::OfKernel, "", find_either},
    {Function::Not, "NOT", "truth", ResultKind::Integer, Marks::United, "", negate_truth},
    {Function::IsTrue, "IS TRUE", "truth", ResultKind::Integer, Marks::OfKernel, "", find_true, true},
    {Function::IsNull, "IS NULL", "any", ResultKind::Integer, Marks::OfKernel, "", find_null, true},
    {Function::Choose, "CASE WHEN, IF", "truth, any, any", ResultKind::OfSecond, Marks::OfKernel, "", choose,
     true},
    {Function::Coalesce, "COALESCE, IFNULL", "any, any", ResultKind::OfFirst, Marks::OfKernel, "",
     choose_first, true},
    {Function::Greatest, "GREATEST", "any, any", ResultKind::OfFirst, Marks::InOrder, "", take_greatest,
     true},
    {Function::Least, "LEAST", "any, any", ResultKind::OfFirst, Marks::InOrder, "", take_least, true},
    {Function::Silenced, "what is asked for once more", "any", ResultKind::OfFirst, Marks::OfKernel, "",
     silence, true},
    {Function::Otherwise, "what may hold, where it is not known", "any, any", ResultKind::OfFirst,
     Marks::OfKernel, "", replace_failures, true},
    {Function::PartOfMoment,
     "YEAR, QUARTER, MONTH, WEEK, YEARWEEK, DAY, HOUR, MINUTE, SECOND, MICROSECOND, EXTRACT, TO_DAYS, "
     "TO_SECONDS, WEEKDAY, "
     "DAYOFWEEK, DAYOFYEAR, LAST_DAY, DATE, CAST AS DATE, CAST AS DATETIME, CAST AS SIGNED, TIME_TO_SEC",
     "moment", ResultKind::Integer, Marks::InOrder, no_day, apply_number_function},
    {Function::MomentAfter, "+ INTERVAL, DATE_ADD, - INTERVAL, DATE_SUB, ADDDATE, SUBDATE", "moment, INT",
     ResultKind::Integer, Marks::InOrder, no_year, apply_number_function},
    {Function::UnitsBetween, "TIMESTAMPDIFF", "moment, moment", ResultKind::Integer, Marks::InOrder, no_day,
     apply_number_function},
    {Function::MomentOf, "FROM_DAYS, MAKEDATE", "INT, INT", ResultKind::Integer, Marks::InOrder, no_day,
     apply_number_function},
    {Function::ByZone, "UNIX_TIMESTAMP, FROM_UNIXTIME, CONVERT_TZ", "moment or number", ResultKind::Integer,
     Marks::InOrder, "a moment that the zone's clocks do not show, or beyond 2038: the server is asked",
     apply_number_function},
    {Function::DateFormat, "DATE_FORMAT", "moment, text", ResultKind::Text, Marks::Asked, no_day,
     format_moments},
    {Function::Concat, "CONCAT", "text, …", ResultKind::Text, Marks::Asked, too_long, concatenate},
    {Function::ConcatWith, "CONCAT_WS", "text, text, …", ResultKind::Text, Marks::OfKernel, too_long,
     concatenate_with},
    {Function::Substring, "SUBSTRING", "text, INT, INT", ResultKind::Text, Marks::Asked, "", cut_out},
    {Function::SubstringFrom, "SUBSTRING", "text, INT", ResultKind::Text, Marks::Asked, "", cut_from},
    {Function::Left, "LEFT", "text, INT", ResultKind::Text, Marks::Asked, "", cut_left},
    {Function::Right, "RIGHT", "text, INT", ResultKind::Text, Marks::Asked, "", cut_right},
    {Function::Upper, "UPPER, UCASE", "text", ResultKind::Text, Marks::Asked, too_long, make_upper},
    {Function::Lower, "LOWER, LCASE", "text", ResultKind::Text, Marks::Asked, too_long, make_lower},
    {Function::Trim, "TRIM", "text", ResultKind::Text, Marks::Asked, "", trim_both},
    {Function::TrimLeft, "LTRIM", "text", ResultKind::Text, Marks::Asked, "", trim_left},
    {Function::TrimRight, "RTRIM", "text", ResultKind::Text, Marks::Asked, "", trim_right},
    {Function::Replace, "REPLACE", "text, text, text", ResultKind::Text, Marks::Asked, too_long, replace_all},
    {Function::Length, "LENGTH, OCTET_LENGTH", "text", ResultKind::Integer, Marks::Asked, "", count_bytes},
    {Function::Characters, "CHAR_LENGTH, CHARACTER_LENGTH", "text", ResultKind::Integer, Marks::Asked, "",
     count_characters},
    {Function::Locate, "INSTR, LOCATE", "text, text", ResultKind::Integer, Marks::Asked, "", locate},
    {Function::Hex, "HEX", "text", ResultKind::Text, Marks::Asked, too_long, make_hex},
    {Function::NumberText, "an INT or DECIMAL as a text", "INT, DECIMAL", ResultKind::Text, Marks::Asked, "",
     write_number, true},
    {Function::WordText, "an ENUM or SET as a text", "ENUM, SET", ResultKind::Text, Marks::Asked, "",
     apply_to_texts},
    {Function::FirstByte, "ASCII", "text", ResultKind::Integer, Marks::Asked, "", take_first_bytes},
    {Function::PadLeft, "LPAD", "text, INT, text", ResultKind::Text, Marks::Asked, too_long, pad_left},
    {Function::PadRight, "RPAD", "text, INT, text", ResultKind::Text, Marks::Asked, too_long, pad_right},
    {Function::Repeat, "REPEAT, SPACE", "text, INT", ResultKind::Text, Marks::Asked, too_long, repeat_texts},
    {Function::Reverse, "REVERSE", "text", ResultKind::Text, Marks::Asked, too_long, reverse_texts},
    {Function::TrimOf, "TRIM(BOTH)", "text, text", ResultKind::Text, Marks::Asked, "", trim_both_of},
    {Function::TrimLeftOf, "TRIM(LEADING)", "text, text", ResultKind::Text, Marks::Asked, "", trim_left_of},
    {Function::TrimRightOf, "TRIM(TRAILING)", "text, text", ResultKind::Text, Marks::Asked, "",
     trim_right_of},
    {Function::AtSeparators, "SUBSTRING_INDEX", "text, text, INT", ResultKind::Text, Marks::Asked, "",
     cut_at_separators},
    {Function::LocateFrom, "LOCATE", "text, text, INT", ResultKind::Integer, Marks::Asked, "", locate_from},
    {Function::InSet, "FIND_IN_SET", "text, text", ResultKind::Integer, Marks::Asked, "", find_in_set},
    {Function::TextOrder, "STRCMP", "text, text", ResultKind::Integer, Marks::Asked, "", compare_order},
    {Function::GreatestText, "GREATEST", "text, text, …", ResultKind::Text, Marks::Asked, "", find_greatest},
    {Function::LeastText, "LEAST", "text, text, …", ResultKind::Text, Marks::Asked, "", find_least},
    {Function::InList, "FIELD", "text, text, …", ResultKind::Integer, Marks::OfKernel, "",
     find_number_in_list},
    {Function::Numbered, "ELT", "INT, text, …", ResultKind::Text, Marks::OfKernel, "", choose_by_number},
    {Function::Md5, "MD5", "text", ResultKind::Text, Marks::Asked, "", make_md5},
    {Function::Crc32, "CRC32", "text", ResultKind::Integer, Marks::Asked, "", make_crc32},
    {Function::MatchesPattern, "REGEXP, RLIKE", "text", ResultKind::Integer, Marks::Asked, no_match,
     apply_to_texts},
    {Function::PatternReplaced, "REGEXP_REPLACE", "text, text", ResultKind::Text, Marks::Asked, no_match,
     apply_to_texts},
    {Function::PatternPart, "REGEXP_SUBSTR", "text", ResultKind::Text, Marks::Asked, no_match,
     apply_to_texts},
    {Function::PatternPlace, "REGEXP_INSTR", "text", ResultKind::Integer, Marks::Asked, no_match,
     apply_to_texts},
    {Function::OfDocument, "JSON_VALUE", "text", ResultKind::Text, Marks::Asked, no_character,
     apply_to_texts},
    {Function::PartOfDocument, "JSON_EXTRACT, JSON_UNQUOTE", "text", ResultKind::Text, Marks::Asked,
     no_document, apply_to_texts},
});

constexpr bool is_in_order() {
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i].function != static_cast<Function>(i)) return false;
  }
  return table.size() == static_cast<size_t>(Function::PartOfDocument) + 1;
}
static_assert(is_in_order());

}  // namespace

std::span<const FunctionLine> functions() { return table; }

}  // namespace hailstone

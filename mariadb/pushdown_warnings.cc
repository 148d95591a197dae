#include "pushdown_warnings.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_set>

#include "equal_values.h"
#include "item_parts.h"
#include "pushdown_leaf.h"
#include "target_fields.h"

namespace hailstone {

namespace {

using Names = std::unordered_set<std::string_view>;

/// Functions that take whatever they get as text, or as it is.
bool takes_anything(std::string_view name) {
  static const Names names{"length", "octet_length", "bit_length", "char_length", "character_length", "lcase",
                           "ucase", "lower", "upper", "trim", "ltrim", "rtrim", "concat", "concat_ws",
                           "reverse", "replace", "ascii", "ord", "hex", "md5", "sha", "sha2", "crc32",
                           "strcmp", "locate", "instr", "coalesce", "ifnull", "isnull", "isnotnull", "like",
                           "trigcond", "multiple equal", "collate", "substring_index",
                           // These warn where a pattern is too much for the library of regular expressions.
                           "regexp_replace", "regexp_substr", "regexp_instr"};
  return names.contains(name);
}

/// Functions that take numbers, and text only as it is: constants are converted once.
bool takes_numbers(std::string_view name) {
  static const Names names{"+",       "-",         "*",          "neg",      "abs",   "ceiling",
                           "floor",   "round",     "sign",       "truncate", "least", "greatest",
                           "if",      "case",      "nullif",     "not",      "<not>", "istrue",
                           "isfalse", "isnottrue", "isnotfalse", "and",      "or"};
  return names.contains(name);
}

/// Functions of whole numbers; others are converted to one, which warns of those beyond 64 bits.
bool takes_whole_numbers(std::string_view name) {
  static const Names names{"&", "|", "^", "~", "<<", ">>", "bit_count", "xor"};
  return names.contains(name);
}
bool are_all_whole(const Item_func& function, uint first = 0) {
  Item** const arguments = function.arguments();
  return std::all_of(arguments + first, arguments + function.argument_count(), [](const Item* argument) {
    return argument->const_item() || argument->cmp_type() == INT_RESULT;
  });
}
/// What is cut or rounded behind as many characters or digits as the other arguments say.
bool takes_count(std::string_view name) {
  return name == "left" || name == "right" || name == "substr" || name == "round" || name == "truncate";
}

/// Functions of times.
bool takes_times(std::string_view name) {
  static const Names names{"year",           "month",        "dayofmonth",
                           "dayofyear",      "weekday",      "dayname",
                           "monthname",      "quarter",      "week",
                           "yearweek",       "dayofweek",    "hour",
                           "minute",         "second",       "extract",
                           "microsecond",    "to_days",      "to_seconds",
                           "unix_timestamp", "cast_as_date", "cast_as_datetime",
                           "date_format",    "last_day",     "timestampdiff"};
  return names.contains(name);
}

bool divides(std::string_view name) { return name == "/" || name == "DIV" || name == "MOD" || name == "%"; }

enum class Kind : uint8_t { Number, Text, Time };

Kind kind_of(const Item& item) {
  switch (item.cmp_type()) {
    case STRING_RESULT:
    case ROW_RESULT:
      return Kind::Text;
    case TIME_RESULT:
      return Kind::Time;
    default:
      return Kind::Number;
  }
}

/// Whether every argument from `first` on that depends on the row is of one kind.
bool are_all(const Item_func& function, Kind kind, uint first = 0) {
  for (uint i = first; i < function.argument_count(); ++i) {
    const Item& argument = *function.arguments()[i];
    if (!argument.const_item() && kind_of(argument) != kind) return false;
  }
  return true;
}

bool has_any(const Item_func& function, Kind kind) {
  Item** const arguments = function.arguments();
  return std::any_of(arguments, arguments + function.argument_count(),
                     [kind](const Item* argument) { return kind_of(*argument) == kind; });
}

/// Whether a value of a type such as UUID is compared with a text that depends on the row, which is
/// converted.
bool converts_to_fixed_bytes(const Item_func& function) {
  bool any_fixed = false, any_other = false;
  for (uint i = 0; i < function.argument_count(); ++i) {
    const Item& argument = *function.arguments()[i];
    if (argument.const_item()) continue;
    (has_fixed_bytes(*argument.type_handler()) ? any_fixed : any_other) = true;
  }
  return any_fixed && any_other;
}

/// Whether the server compares values as they are. A text beside numbers is converted to a number.
bool compares_one_kind(const Item_func& function) {
  if (converts_to_fixed_bytes(function)) return false;
  if (are_all(function, Kind::Number) || are_all(function, Kind::Time)) return true;
  for (uint i = 0; i < function.argument_count(); ++i) {
    if (kind_of(*function.arguments()[i]) != Kind::Text) return false;
  }
  return true;
}

/// With those that compare with several values.
bool compares_values(const Item_func& function) {
  const Item_func::Functype operation = function.functype();
  return is_comparison(operation) || operation == Item_func::BETWEEN || operation == Item_func::IN_FUNC;
}

/// Of a division, whether its divisor may be 0 where that is worth a warning.
bool may_divide_by_zero(const THD& thd, const Item_func& division) {
  if ((thd.variables.sql_mode & MODE_ERROR_FOR_DIVISION_BY_ZERO) == 0) return false;
  Item& divisor = *division.arguments()[1];
  return !divisor.basic_const_item() || divisor.val_real() == 0;
}

/// Of IF and of CASE WHEN, whose values may be anything: how many arguments, the first ones, are conditions.
uint conditions_of(const Item_func& function) {
  if (function.functype() == Item_func::CASE_SEARCHED_FUNC) return function.argument_count() / 2;
  return std::string_view(function.func_name()) == "if" ? 1 : 0;
}
bool chooses_by_numbers(const Item_func& function) {
  const uint conditions = conditions_of(function);
  for (uint i = 0; i < conditions; ++i) {
    if (kind_of(*function.arguments()[i]) != Kind::Number) return false;
  }
  return conditions != 0;
}

/// The server brings texts of different character sets into one: Unicode has all characters.
bool converts_to_unicode(const Item_func& function) {
  constexpr uint longest_character = 4;  // in bytes; utf8mb3 and ucs2 have fewer characters
  const CHARSET_INFO& to = *function.collation.collation;
  return std::string_view(function.func_name()) == "convert" && (to.state & MY_CS_UNICODE) != 0 &&
         to.mbmaxlen >= longest_character && function.arguments()[0]->collation.collation != &my_charset_bin;
}

/// Whether a moment loses digits by rounding, of which the server warns where its day is none.
bool rounds_moments(const THD& thd, const Item_func& function) {
  return std::string_view(function.func_name()) == "cast_as_datetime" &&
         (thd.variables.sql_mode & MODE_TIME_ROUND_FRACTIONAL) != 0 &&
         function.decimals < function.arguments()[0]->decimals;
}

/// What warns of nothing but of a number or a moment that it computes.
bool is_arithmetic(const Item_func& function) {
  const std::string_view name = function.func_name();
  if (divides(name)) return are_all(function, Kind::Number);
  return name == "date_add_interval" && kind_of(*function.arguments()[0]) == Kind::Time &&
         are_all(function, Kind::Number, 1);
}

bool is_silent(const THD& thd, const Item_func& function) {
  if (compares_values(function)) return compares_one_kind(function);
  if (chooses_by_numbers(function) || converts_to_unicode(function)) return true;
  const std::string_view name = function.func_name();
  if (takes_anything(name)) return true;
  if (takes_count(name)) {
    const bool of_number = takes_numbers(name);
    return (!of_number || are_all(function, Kind::Number)) && are_all_whole(function, 1);
  }
  if (takes_times(name)) return are_all(function, Kind::Time) && !rounds_moments(thd, function);
  if (divides(name)) return are_all(function, Kind::Number) && !may_divide_by_zero(thd, function);
  if (takes_whole_numbers(name)) return are_all_whole(function);
  return takes_numbers(name) && are_all(function, Kind::Number);
}

}  // namespace

namespace {

/// `silent`: of a function, without its arguments.
template <typename IsSilent>
bool may_warn_but_for(const IsSilent& silent, Item& item) {
  Item& real = *item.real_item();
  if (real.basic_const_item() || real.type() == Item::FIELD_ITEM) return false;
  // A query in the condition is no reason to read all rows; what it warns of is mostly its own rows' anyway.
  if (real.const_item() || real.with_subquery()) return false;
  if (real.type() == Item::COND_ITEM) {
    return any_part(
        real, [&](Item& part) { return kind_of(part) == Kind::Text || may_warn_but_for(silent, part); });
  }
  if (real.type() != Item::FUNC_ITEM) return true;
  if (!silent(static_cast<const Item_func&>(real))) return true;
  return any_part(real, [&](Item& part) { return may_warn_but_for(silent, part); });
}

}  // namespace

bool may_warn(const THD& thd, Item& item) {
  return may_warn_but_for([&thd](const Item_func& function) { return is_silent(thd, function); }, item);
}

bool may_warn_of_arithmetic_only(const THD& thd, Item& item) {
  return may_warn(thd, item) && !may_warn_but_for(
                                    [&thd](const Item_func& function) {
                                      return is_silent(thd, function) || is_arithmetic(function);
                                    },
                                    item);
}

namespace {

bool may_warn_in_result(const THD& thd, Item& item) {
  if (!item.fixed()) return true;
  Item& real = *item.real_item();
  if (real.type() != Item::SUM_FUNC_ITEM) return may_warn(thd, real);
  auto& aggregate = static_cast<Item_sum&>(real);
  if (aggregate.sum_func() == Item_sum::COUNT_FUNC) return false;
  // Those of the statement: a SELECT that has ended, as of a union, may have others in their place, which are
  // columns of a temporary table that is gone.
  Item** const arguments = aggregate.get_args();
  return std::any_of(arguments, arguments + aggregate.get_arg_count(), [&thd](Item* argument) {
    // GROUP_CONCAT keeps the name of a view's column there, not what it stands for.
    return !argument->fixed() || kind_of(*argument) == Kind::Text || may_warn(thd, *argument);
  });
}

}  // namespace

bool takes_texts_for_numbers(const Item_func& function) {
  bool number = false, text = false;
  for (uint i = 0; i < function.argument_count(); ++i)
    (kind_of(*function.arguments()[i]) == Kind::Number ? number : text) = true;
  if (!number || !text) return false;
  const std::string_view name = function.func_name();
  return compares_values(function) || divides(name) ||
         ((takes_numbers(name) || takes_whole_numbers(name)) && kind_of(function) == Kind::Number);
}

bool compares_texts_with_times(const Item_func& function) {
  return compares_values(function) && has_any(function, Kind::Time) && has_any(function, Kind::Text);
}

bool may_warn_of_rows(const THD& thd) {
  if (thd.lex->sql_command != SQLCOM_SELECT && !stores_values_as_they_are(thd)) return true;
  for (SELECT_LEX* select = thd.lex->all_selects_list; select != nullptr;
       select = select->next_select_in_list()) {
    List_iterator<Item> items(select->item_list);
    while (Item* item = items++) {
      if (may_warn_in_result(thd, *item)) return true;
    }
    if (select->having != nullptr && may_warn_in_result(thd, *select->having)) return true;
    for (const ORDER* group = select->group_list.first; group != nullptr; group = group->next) {
      if (may_warn_in_result(thd, **group->item)) return true;
    }
  }
  return false;
}

}  // namespace hailstone

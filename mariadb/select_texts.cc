// Texts in expressions: functions of them, choices among them, comparisons. Of each it holds that the server,
// too, works on bytes of one character set: what it has to convert is left to it.
#include <algorithm>
#include <array>
#include <typeinfo>
#include <utility>

#include "collation.h"
#include "expression/conditions.h"
#include "item_parts.h"
#include "labels.h"
#include "patterns.h"
#include "pushdown_text.h"
#include "select_expressions.h"
#include "text_charsets.h"
// clang-format off
#include <item_jsonfunc.h>
#include <item_timefunc.h>
// clang-format on

namespace hailstone {

using namespace std::string_view_literals;

namespace {

/// So long, in bytes, the texts of all rows of a batch may be without a look at their lengths.
constexpr uint64_t longest_unmeasured_text = uint64_t{64} << 10;

std::optional<Function> function_of_texts(const Item_func& function) {
  const std::type_info& type = typeid(function);
  const uint arguments = function.argument_count();
  if (type == typeid(Item_func_concat)) return Function::Concat;
  if (type == typeid(Item_func_concat_ws)) return Function::ConcatWith;
  if (type == typeid(Item_func_substr)) return arguments == 3 ? Function::Substring : Function::SubstringFrom;
  if (type == typeid(Item_func_left)) return Function::Left;
  if (type == typeid(Item_func_right)) return Function::Right;
  if (type == typeid(Item_func_ucase)) return Function::Upper;
  if (type == typeid(Item_func_lcase)) return Function::Lower;
  if (type == typeid(Item_func_replace)) return Function::Replace;
  if (type == typeid(Item_func_hex)) return Function::Hex;
  if (type == typeid(Item_func_md5)) return Function::Md5;
  if (type == typeid(Item_func_lpad)) return Function::PadLeft;
  if (type == typeid(Item_func_rpad)) return Function::PadRight;
  if (type == typeid(Item_func_repeat)) return Function::Repeat;
  if (type == typeid(Item_func_space)) return Function::Repeat;
  if (type == typeid(Item_func_reverse)) return Function::Reverse;
  if (type == typeid(Item_func_substr_index)) return Function::AtSeparators;
  if (type == typeid(Item_func_elt)) return Function::Numbered;
  if (type == typeid(Item_func_max)) return Function::GreatestText;
  if (type == typeid(Item_func_min)) return Function::LeastText;
  const bool of_spaces = arguments == 1;
  if (type == typeid(Item_func_trim)) return of_spaces ? Function::Trim : Function::TrimOf;
  if (type == typeid(Item_func_ltrim)) return of_spaces ? Function::TrimLeft : Function::TrimLeftOf;
  if (type == typeid(Item_func_rtrim)) return of_spaces ? Function::TrimRight : Function::TrimRightOf;
  return std::nullopt;
}

/// Whether the argument at `position` is a whole number; others are texts.
bool takes_number(Function function, uint position) {
  switch (function) {
    case Function::Substring:
    case Function::SubstringFrom:
    case Function::Left:
    case Function::Right:
    case Function::PadLeft:
    case Function::PadRight:
    case Function::Repeat:
      return position == 1 || (position == 2 && function == Function::Substring);
    case Function::AtSeparators:
    case Function::LocateFrom:
      return position == 2;
    case Function::Numbered:
      return position == 0;
    default:
      return false;
  }
}

/// Whether a function of one text takes it in whatever character set it is, and has a result of its own.
bool takes_bytes(Function function) { return function == Function::Hex || function == Function::Md5; }

/// How the server compares texts with each other, where that is plain.
const CHARSET_INFO* compared_as(std::span<Item* const> items) {
  const Item* best = items.front();
  bool is_sure = true;
  for (const Item* const item : items.subspan(1)) {
    if (item->collation.collation == best->collation.collation) continue;
    if (item->collation.derivation < best->collation.derivation) {
      best = item;
      is_sure = true;
    } else if (item->collation.derivation == best->collation.derivation) {
      // Of one character set the order of codes is taken.
      const CHARSET_INFO &one = *best->collation.collation, &other = *item->collation.collation;
      const bool by_codes = (one.state & MY_CS_BINSORT) != 0;
      is_sure &= my_charset_same(&one, &other) && by_codes != ((other.state & MY_CS_BINSORT) != 0);
      if (!by_codes) best = item;
    }
  }
  return is_sure ? best->collation.collation : nullptr;
}

bool is_set(Item& item) {
  Item& real = *item.real_item();
  return real.type() == Item::FIELD_ITEM &&
         static_cast<Item_field&>(real).field->real_type() == MYSQL_TYPE_SET;
}

bool is_null_constant(Item& item) { return item.real_item()->type() == Item::NULL_ITEM; }

/// Whether each byte, or each sequence that may be stored, is a character. At others FIND_IN_SET() stops.
bool has_all_characters(const CHARSET_INFO& charset) {
  return charset.mbmaxlen > 1 || &charset == &my_charset_bin || my_charset_same(&charset, &my_charset_latin1);
}

}  // namespace

bool ExpressionTranslator::is_plain_text(const Item& item) {
  const std::array<const Type_handler*, 7> plain{
      &type_handler_varchar, &type_handler_string,      &type_handler_var_string, &type_handler_tiny_blob,
      &type_handler_blob,    &type_handler_medium_blob, &type_handler_long_blob};
  return std::ranges::find(plain, item.type_handler()) != plain.end();
}

std::optional<Expression> ExpressionTranslator::value(Item& item) {
  if (item.cmp_type() == STRING_RESULT) return translate_text(item, *item.collation.collation);
  if (item.cmp_type() == TIME_RESULT) return moment(item);
  return translate(item);
}

std::optional<Expression> ExpressionTranslator::count(Item& item) {
  if (item.cmp_type() != INT_RESULT) return std::nullopt;
  return translate(item);
}

std::optional<Expression> ExpressionTranslator::translate_text(Item& item, const CHARSET_INFO& charset) {
  const std::pair key(&item, &charset);
  if (const auto known = texts_.find(key); known != texts_.end()) return known->second;
  const auto text = translate_new_text(item, charset);
  if (text) texts_.emplace(key, *text);
  return text;
}

std::optional<Expression> ExpressionTranslator::translate_new_text(Item& item, const CHARSET_INFO& charset) {
  Item& real = *item.real_item();
  if (real.type() == Item::FIELD_ITEM) {
    if (is_exact(item)) return text_of_number(real);
    return text_column(real, charset);
  }
  if (!is_plain_charset(charset)) return std::nullopt;
  if (is_plain_constant(real)) return text_constant(real, charset);
  if (real.type() == Item::CACHE_ITEM) {
    Item* const example = static_cast<Item_cache&>(real).get_example();
    return example != nullptr ? translate_text(*example, charset) : std::nullopt;
  }
  if (is_exact(item)) return text_of_number(real);
  if (real.type() != Item::FUNC_ITEM || (!is_plain_text(real) && !is_json_extract(real))) return std::nullopt;
  auto& function = static_cast<Item_func&>(real);
  const CHARSET_INFO& own = *function.collation.collation;
  if (!is_plain_charset(own) || !are_same_bytes(own, charset)) return std::nullopt;
  const std::type_info& type = typeid(function);
  const auto text = [&](Item& argument) { return translate_text(argument, own); };
  if (type == typeid(Item_func_case_searched) || type == typeid(Item_func_if))
    return chosen_argument(function, ValueKind::Text, text);
  if (type == typeid(Item_func_regexp_replace)) return of_pattern(function, Function::PatternReplaced, &own);
  if (type == typeid(Item_func_regexp_substr)) return of_pattern(function, Function::PatternPart, &own);
  if (type == typeid(Item_func_coalesce) || type == typeid(Item_func_ifnull))
    return first_argument(function, text);
  if (type == typeid(Item_func_case_simple)) return switched_by_value(function, ValueKind::Text, text);
  if (type == typeid(Item_func_nullif)) return null_if(function, ValueKind::Text, text);
  if (type == typeid(Item_func_conv_charset)) {
    Item& converted = *function.arguments()[0];
    return is_plain_text(converted) ? translate_text(converted, own) : std::nullopt;
  }
  if (type == typeid(Item_func_date_format)) return text_of_moment(function);
  if (type == typeid(Item_date_add_interval))
    return text_of_moved_day(static_cast<Item_date_add_interval&>(function));
  if (type == typeid(Item_func_json_value) || type == typeid(Item_func_json_extract) ||
      type == typeid(Item_func_json_unquote))
    return of_document(function);
  return text_function(function);
}

std::optional<Expression> ExpressionTranslator::text_column(Item& item, const CHARSET_INFO& charset) {
  const auto plain = columns_.field_of(item);
  if (!plain) return std::nullopt;
  const PlainField field = *plain;
  const auto type = field->real_type();
  if (type == MYSQL_TYPE_ENUM || type == MYSQL_TYPE_SET) return words(field, charset);
  if (type != MYSQL_TYPE_VARCHAR && type != MYSQL_TYPE_BLOB &&
      (type != MYSQL_TYPE_STRING || field->type_handler() != &type_handler_string))
    return std::nullopt;
  // CHAR values are stored without the spaces that this mode makes visible.
  if (type == MYSQL_TYPE_STRING &&
      (columns_.sources().thd().variables.sql_mode & MODE_PAD_CHAR_TO_FULL_LENGTH) != 0)
    return std::nullopt;
  const auto scanned = scan_column(*field);
  if (!scanned || scanned->integer || !are_same_bytes(*field->charset(), charset)) return std::nullopt;
  return Expression::column(columns_.position_of(field), *scanned);
}

std::optional<Expression> ExpressionTranslator::words(PlainField field, const CHARSET_INFO& charset) {
  const auto scanned = scan_column(*field);
  if (!scanned || !scanned->integer || !is_plain_charset(*field->charset()) ||
      !are_same_bytes(*field->charset(), charset))
    return std::nullopt;
  return Expression::call(Function::WordText, {Expression::column(columns_.position_of(field), *scanned)},
                          {.of_texts = words_of_column(field)});
}

std::optional<Expression> ExpressionTranslator::text_constant(Item& item, const CHARSET_INFO& charset) {
  String buffer;
  const String* const text = item.val_str(&buffer);
  if (text == nullptr || item.null_value) return Expression::null(ValueKind::Text);
  const ByteView bytes(text->ptr(), text->length());
  const bool fits =
      are_same_bytes(*text->charset(), charset) || (is_plain_charset(*text->charset()) && is_ascii(bytes));
  return fits ? std::optional(Expression::constant(std::string(bytes))) : std::nullopt;
}

/// As columns have it, and what has as many digits behind the point as the server shows.
std::optional<Expression> ExpressionTranslator::text_of_number(Item& item) {
  const bool is_decimal = item.cmp_type() == DECIMAL_RESULT;
  if (!is_decimal && !is_whole_number(item.type_handler()->real_field_type())) return std::nullopt;
  // With zeros in front.
  if (item.type() == Item::FIELD_ITEM && (static_cast<Item_field&>(item).field->flags & ZEROFILL_FLAG) != 0)
    return std::nullopt;
  const auto number = translate(item);
  if (!number || (is_decimal && (number->type().scale_is != ValueType::Scale::Sure ||
                                 number->type().scale != item.decimals)))
    return std::nullopt;
  return Expression::call(Function::NumberText, {*number}, {.digits = number->type().scale});
}

std::optional<std::vector<Expression>> ExpressionTranslator::texts(std::span<Item* const> items,
                                                                   const CHARSET_INFO& charset) {
  std::vector<Expression> all;
  for (Item* const item : items) {
    const auto text = translate_text(*item, charset);
    if (!text) return std::nullopt;
    all.push_back(*text);
  }
  return all;
}

std::optional<std::vector<Expression>> ExpressionTranslator::inputs_of(Function called, Item_func& function,
                                                                       const CHARSET_INFO& charset) {
  std::vector<Expression> all;
  for (uint i = 0; i < function.argument_count(); ++i) {
    Item& argument = *function.arguments()[i];
    const auto input = takes_number(called, i) ? count(argument) : translate_text(argument, charset);
    if (!input) return std::nullopt;
    all.push_back(*input);
  }
  return all;
}

std::optional<Expression> ExpressionTranslator::text_function(Item_func& function) {
  const auto called = function_of_texts(function);
  if (!called) return std::nullopt;
  Item& first = *function.arguments()[0];
  const CHARSET_INFO& charset =
      takes_bytes(*called) ? *first.collation.collation : *function.collation.collation;
  if (takes_bytes(*called) && !is_plain_text(first) && !is_json_extract(first)) return std::nullopt;
  // REPLACE() looks at its last argument only where it has to.
  if (*called == Function::Replace && function.arguments()[2]->maybe_null()) return std::nullopt;
  std::optional<std::vector<Expression>> inputs;
  if (typeid(function) == typeid(Item_func_space)) {
    const auto number = count(first);
    if (!number) return std::nullopt;
    inputs = {Expression::constant(std::string(" ")), *number};
  } else {
    inputs = inputs_of(*called, function, charset);
    if (!inputs) return std::nullopt;
    const bool fills_with_spaces =
        (*called == Function::PadLeft || *called == Function::PadRight) && inputs->size() == 2;
    if (fills_with_spaces) inputs->push_back(Expression::constant(std::string(" ")));
  }
  const Collation* const collation = collation_of(charset);
  if (collation == nullptr) return std::nullopt;
  const uint64_t most = columns_.sources().thd().variables.max_allowed_packet;
  const bool is_short = function.max_length <= std::min(most, longest_unmeasured_text);
  return Expression::call(*called, *inputs, {.collation = collation, .most_bytes = is_short ? 0 : most});
}

std::optional<Expression> ExpressionTranslator::of_pattern(Item_func& function, Function called,
                                                           const CHARSET_INFO* charset) {
  const std::span<Item*> arguments(function.arguments(), function.argument_count());
  Item& subject = *arguments[0];
  Item& pattern = *arguments[1];
  const THD& thd = columns_.sources().thd();
  if (charset == nullptr || thd.variables.default_regex_flags != 0 || !is_plain_text(subject) ||
      !is_plain_text(pattern) || !is_plain_constant(pattern))
    return std::nullopt;
  // The server looks at a text's own characters.
  const CHARSET_INFO& own = *subject.collation.collation;
  if ((charset == &my_charset_bin) != (&own == &my_charset_bin) || !are_same_bytes(own, *charset))
    return std::nullopt;
  const auto compiled = translate_text(pattern, *charset);
  auto inputs = texts(arguments.first(1), *charset);
  if (!compiled || !inputs) return std::nullopt;
  if (!compiled->is_constant()) return std::nullopt;
  if (called == Function::PatternReplaced) {
    const auto replacement = translate_text(*arguments[2], *charset);
    if (!replacement) return std::nullopt;
    inputs->push_back(*replacement);
  }
  auto of_texts = function_of_pattern(called, (*compiled)->text, *charset);
  if (of_texts == nullptr) return std::nullopt;
  return Expression::call(called, *inputs,
                          {.most_bytes = thd.variables.max_allowed_packet, .of_texts = std::move(of_texts)});
}

std::optional<Expression> ExpressionTranslator::number_of_text(Item_func& function) {
  const std::type_info& type = typeid(function);
  const std::span<Item*> arguments(function.arguments(), function.argument_count());
  if (type == typeid(Item_func_regexp_instr))
    return of_pattern(function, Function::PatternPlace, compared_as(arguments));
  Item& first = *arguments.front();
  const CHARSET_INFO* charset = first.collation.collation;
  std::optional<Function> called;
  if (type == typeid(Item_func_octet_length)) called = Function::Length;
  if (type == typeid(Item_func_char_length)) called = Function::Characters;
  if (type == typeid(Item_func_ascii)) called = Function::FirstByte;
  if (type == typeid(Item_func_crc32) && arguments.size() == 1 && function.func_name() == "crc32"sv)
    called = Function::Crc32;
  if (type == typeid(Item_func_locate)) {
    charset = compared_as(arguments.first(2));
    called = Function::Locate;
    if (arguments.size() == 3) {
      called = Function::LocateFrom;
      // It counts characters of the first text.
      if (charset == nullptr || !my_charset_same(charset, first.collation.collation)) return std::nullopt;
    }
  }
  if (type == typeid(Item_func_strcmp) || type == typeid(Item_func_field) ||
      type == typeid(Item_func_find_in_set)) {
    called = type == typeid(Item_func_strcmp)  ? Function::TextOrder
             : type == typeid(Item_func_field) ? Function::InList
                                               : Function::InSet;
    charset = compared_as(arguments);
    if (!std::ranges::all_of(arguments, is_text_or_null)) return std::nullopt;
    // In a SET column the server finds the number of a member among all that there may be.
    if (called == Function::InSet && is_set(*arguments[1])) return std::nullopt;
  }
  const bool counts = called == Function::Length || called == Function::Characters;
  // Of digits there are as many in every character set.
  if (counts && is_exact(first)) charset = &my_charset_utf8mb4_bin;
  if (!called || charset == nullptr || (first.cmp_type() != STRING_RESULT && !(counts && is_exact(first))))
    return std::nullopt;
  const bool searches_bytes = *called == Function::InSet || *called == Function::LocateFrom;
  if (searches_bytes && !is_plain_charset(*charset)) return std::nullopt;
  if (*called == Function::InSet && !has_all_characters(*charset)) return std::nullopt;
  const auto inputs = inputs_of(*called, function, *charset);
  const Collation* const collation = collation_of(*charset);
  if (!inputs || collation == nullptr) return std::nullopt;
  return Expression::call(*called, *inputs, {.collation = collation});
}

bool ExpressionTranslator::is_text_or_null(Item* item) {
  return is_plain_text(*item) || is_null_constant(*item);
}

std::optional<Expression> ExpressionTranslator::equal_texts(Item& one, Item& other) {
  if (!is_plain_text(one) || !is_plain_text(other)) return std::nullopt;
  const CHARSET_INFO* const charset = compared_as(std::array{&one, &other});
  const Collation* const collation = charset != nullptr ? collation_of(*charset) : nullptr;
  if (collation == nullptr) return std::nullopt;
  const auto first = translate_text(one, *charset);
  if (!first) return std::nullopt;
  const auto second = translate_text(other, *charset);
  if (!second) return std::nullopt;
  return Expression::call(Function::Equal, {*first, *second}, {.collation = collation});
}

bool ExpressionTranslator::compares_texts(Item_func& function) {
  if (const auto* const compares = dynamic_cast<Item_bool_rowready_func2*>(&function); compares != nullptr) {
    const Type_handler& handler = *compares->compare_type_handler();
    if (handler.cmp_type() != STRING_RESULT ||
        handler.type_collection() != type_handler_slong.type_collection())
      return false;
  }
  const std::span<Item*> arguments(function.arguments(), function.argument_count());
  return std::ranges::all_of(arguments, is_text_or_null) &&
         std::ranges::any_of(arguments, [](Item* item) { return is_plain_text(*item); });
}

std::optional<Expression> ExpressionTranslator::text_comparison(Item_func& function, Function called) {
  CHARSET_INFO* const charset = static_cast<Item_bool_func&>(function).compare_collation();
  if (charset == nullptr) return std::nullopt;
  const auto sides = texts({function.arguments(), 2}, *charset);
  const Collation* const collation = collation_of(*charset);
  if (!sides || collation == nullptr) return std::nullopt;
  const Expression& second = sides->back();
  if (called == Function::SameOrNull || !second.is_constant())
    return Expression::call(called, *sides, {.collation = collation});
  auto test = test_of_texts({.item = &function, .operation = function.functype(), .constants = {}}, charset,
                            {second->text}, true);
  return Expression::call(Function::Passes, {sides->front()}, {.test = std::move(test)});
}

std::optional<Expression> ExpressionTranslator::text_between(Item_func& function) {
  const CHARSET_INFO* const charset = static_cast<Item_bool_func&>(function).compare_collation();
  if (charset == nullptr) return std::nullopt;
  const auto all = texts({function.arguments(), 3}, *charset);
  const Collation* const collation = collation_of(*charset);
  if (!all || collation == nullptr) return std::nullopt;
  return negated(Expression::call(Function::Between, *all, {.collation = collation}),
                 static_cast<Item_func_between&>(function).negated);
}

std::optional<Expression> ExpressionTranslator::text_in_list(Item_func& function) {
  CHARSET_INFO* const charset = static_cast<Item_bool_func&>(function).compare_collation();
  if (charset == nullptr) return std::nullopt;
  const auto all = texts({function.arguments(), function.argument_count()}, *charset);
  const Collation* const collation = collation_of(*charset);
  if (!all || collation == nullptr) return std::nullopt;
  std::vector<std::string> constants;
  std::vector<Expression> others;
  for (const Expression& each : std::span(*all).subspan(1)) {
    if (each.is_constant()) {
      constants.push_back(each->text);
    } else {
      others.push_back(each);
    }
  }
  Expression value = all->front();
  std::optional<Expression> result;
  if (!constants.empty()) {
    auto test = test_of_texts({.item = &function, .operation = function.functype(), .constants = {}}, charset,
                              std::move(constants), true);
    result = Expression::call(Function::Passes, {value}, {.test = std::move(test)});
    value = silenced(value);
  }
  result = or_equal(result, value, others, {.collation = collation});
  if (!result) return std::nullopt;
  return negated(*result, static_cast<Item_func_in&>(function).negated);
}

std::optional<Expression> ExpressionTranslator::text_like(Item_func& function) {
  if (typeid(function) != typeid(Item_func_like) || !compares_texts(function)) return std::nullopt;
  auto& like = static_cast<Item_func_like&>(function);
  CHARSET_INFO* const charset = like.compare_collation();
  if (charset == nullptr) return std::nullopt;
  const auto sides = texts({function.arguments(), 2}, *charset);
  if (!sides) return std::nullopt;
  const Expression& pattern = sides->back();
  if (!pattern.is_constant()) return std::nullopt;
  auto test = test_of_texts({.item = &function, .operation = function.functype(), .constants = {}}, charset,
                            {pattern->text}, true);
  return negated(Expression::call(Function::Passes, {sides->front()}, {.test = std::move(test)}),
                 like.negated);
}

}  // namespace hailstone

// Texts in programs: functions of them, choices among them, comparisons. Of each it holds that the server,
// too, works on bytes of one character set: what it has to convert is left to it.
#include <algorithm>
#include <array>
#include <typeinfo>
#include <utility>

#include "collation.h"
#include "pushdown_text.h"
#include "select_numbers.h"
// clang-format off
#include <item_timefunc.h>
// clang-format on

namespace hailstone {

namespace {

/// So long, in bytes, the texts of all rows of a batch may be without a look at their lengths.
constexpr uint64_t longest_unmeasured_text = uint64_t{64} << 10;

/// Whether what stands for a byte in ASCII does so here, and no other byte of a character looks like one.
bool is_plain_charset(const CHARSET_INFO& charset) {
  if (charset.mbmaxlen == 1) return (charset.state & MY_CS_NONASCII) == 0;
  return my_charset_same(&charset, &my_charset_utf8mb4_bin) ||
         my_charset_same(&charset, &my_charset_utf8mb3_bin);
}

/// Whether texts of one are texts of the other as they are.
bool are_same_bytes(const CHARSET_INFO& from, const CHARSET_INFO& to) {
  return my_charset_same(&from, &to) || &to == &my_charset_bin ||
         (my_charset_same(&from, &my_charset_utf8mb3_bin) && my_charset_same(&to, &my_charset_utf8mb4_bin));
}

bool is_ascii(ByteView text) {
  return std::ranges::all_of(text, [](char byte) { return static_cast<unsigned char>(byte) < 0x80; });
}

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
  if (arguments != 1) return std::nullopt;
  if (type == typeid(Item_func_trim)) return Function::Trim;
  if (type == typeid(Item_func_ltrim)) return Function::TrimLeft;
  if (type == typeid(Item_func_rtrim)) return Function::TrimRight;
  return std::nullopt;
}

/// How many arguments of the function, the first ones, are texts; the others are whole numbers.
uint texts_of(Function function, uint arguments) {
  switch (function) {
    case Function::Substring:
    case Function::SubstringFrom:
    case Function::Left:
    case Function::Right:
      return 1;
    default:
      return arguments;
  }
}

/// How the server compares two texts, where that is plain.
const CHARSET_INFO* compared_as(const Item& one, const Item& other) {
  if (one.collation.collation == other.collation.collation ||
      one.collation.derivation < other.collation.derivation)
    return one.collation.collation;
  return nullptr;
}

bool is_null_constant(Item& item) { return item.real_item()->type() == Item::NULL_ITEM; }

}  // namespace

bool NumberTranslator::is_plain_text(const Item& item) {
  const std::array<const Type_handler*, 7> plain{
      &type_handler_varchar, &type_handler_string,      &type_handler_var_string, &type_handler_tiny_blob,
      &type_handler_blob,    &type_handler_medium_blob, &type_handler_long_blob};
  return std::ranges::find(plain, item.type_handler()) != plain.end();
}

std::optional<Program::Register> NumberTranslator::value(Item& item) {
  if (item.cmp_type() == STRING_RESULT) return translate_text(item, *item.collation.collation);
  const auto number = translate(item);
  return number ? std::optional(number->result) : std::nullopt;
}

std::optional<Program::Register> NumberTranslator::count(Item& item) {
  if (item.cmp_type() != INT_RESULT) return std::nullopt;
  const auto number = translate(item);
  return number ? std::optional(number->result) : std::nullopt;
}

std::optional<Program::Register> NumberTranslator::translate_text(Item& item, const CHARSET_INFO& charset) {
  Item& real = *item.real_item();
  if (real.type() == Item::FIELD_ITEM) {
    if (item.cmp_type() == INT_RESULT) return text_of_integer(real);
    return text_column(real, charset);
  }
  if (!is_plain_charset(charset)) return std::nullopt;
  if (is_plain_constant(real)) return text_constant(real, charset);
  if (real.type() == Item::CACHE_ITEM) {
    Item* const example = static_cast<Item_cache&>(real).get_example();
    return example != nullptr ? translate_text(*example, charset) : std::nullopt;
  }
  if (item.cmp_type() == INT_RESULT) return text_of_integer(real);
  if (real.type() != Item::FUNC_ITEM || !is_plain_text(real)) return std::nullopt;
  auto& function = static_cast<Item_func&>(real);
  const CHARSET_INFO& own = *function.collation.collation;
  if (!is_plain_charset(own) || !are_same_bytes(own, charset)) return std::nullopt;
  const std::type_info& type = typeid(function);
  const auto text = [&](Item& argument) { return translate_text(argument, own); };
  if (type == typeid(Item_func_case_searched) || type == typeid(Item_func_if))
    return chosen(function, ValueKind::Text, text);
  if (type == typeid(Item_func_coalesce) || type == typeid(Item_func_ifnull)) return first(function, text);
  if (type == typeid(Item_func_case_simple)) return switched_by_value(function, ValueKind::Text, text);
  if (type == typeid(Item_func_nullif)) return null_if(function, ValueKind::Text, text);
  if (type == typeid(Item_func_conv_charset)) {
    Item& converted = *function.arguments()[0];
    return is_plain_text(converted) ? translate_text(converted, own) : std::nullopt;
  }
  if (type == typeid(Item_func_date_format)) return text_of_moment(function);
  return text_function(function);
}

std::optional<Program::Register> NumberTranslator::text_column(Item& item, const CHARSET_INFO& charset) {
  const auto plain = columns_.field_of(item);
  if (!plain) return std::nullopt;
  const PlainField field = *plain;
  const auto type = field->real_type();
  if (type != MYSQL_TYPE_VARCHAR && type != MYSQL_TYPE_BLOB &&
      (type != MYSQL_TYPE_STRING || field->type_handler() != &type_handler_string))
    return std::nullopt;
  // CHAR values are stored without the spaces that this mode makes visible.
  if (type == MYSQL_TYPE_STRING &&
      (columns_.sources().thd().variables.sql_mode & MODE_PAD_CHAR_TO_FULL_LENGTH) != 0)
    return std::nullopt;
  const auto scanned = scan_column(*field);
  if (!scanned || scanned->integer || !are_same_bytes(*field->charset(), charset)) return std::nullopt;
  return program_.column(columns_.position_of(field), *scanned);
}

std::optional<Program::Register> NumberTranslator::text_constant(Item& item, const CHARSET_INFO& charset) {
  String buffer;
  const String* const text = item.val_str(&buffer);
  if (text == nullptr || item.null_value) return program_.null(ValueKind::Text);
  const ByteView bytes(text->ptr(), text->length());
  const bool fits =
      are_same_bytes(*text->charset(), charset) || (is_plain_charset(*text->charset()) && is_ascii(bytes));
  return fits ? std::optional(program_.constant(std::string(bytes))) : std::nullopt;
}

std::optional<Program::Register> NumberTranslator::text_of_integer(Item& item) {
  if (!is_whole_number(item.type_handler()->real_field_type())) return std::nullopt;
  // With zeros in front.
  if (item.type() == Item::FIELD_ITEM && (static_cast<Item_field&>(item).field->flags & ZEROFILL_FLAG) != 0)
    return std::nullopt;
  const auto number = count(item);
  return number ? std::optional(call(Function::IntegerText, {*number})) : std::nullopt;
}

std::optional<std::vector<Program::Register>> NumberTranslator::texts(Item_func& function,
                                                                      const CHARSET_INFO& charset, uint first,
                                                                      uint end) {
  std::vector<Register> all;
  for (uint i = first; i < end; ++i) {
    const auto text = translate_text(*function.arguments()[i], charset);
    if (!text) return std::nullopt;
    all.push_back(*text);
  }
  return all;
}

std::optional<Program::Register> NumberTranslator::text_function(Item_func& function) {
  const auto called = function_of_texts(function);
  if (!called) return std::nullopt;
  // HEX() has digits of whatever bytes there are.
  const CHARSET_INFO& charset = *called == Function::Hex ? *function.arguments()[0]->collation.collation
                                                         : *function.collation.collation;
  if (*called == Function::Hex && !is_plain_text(*function.arguments()[0])) return std::nullopt;
  const uint arguments = function.argument_count();
  // REPLACE() looks at its last argument only where it has to.
  if (*called == Function::Replace && function.arguments()[2]->maybe_null()) return std::nullopt;
  auto inputs = texts(function, charset, 0, texts_of(*called, arguments));
  if (!inputs) return std::nullopt;
  for (uint i = texts_of(*called, arguments); i < arguments; ++i) {
    const auto number = count(*function.arguments()[i]);
    if (!number) return std::nullopt;
    inputs->push_back(*number);
  }
  const Collation* const collation = collation_of(charset);
  if (collation == nullptr) return std::nullopt;
  const uint64_t most = columns_.sources().thd().variables.max_allowed_packet;
  const bool is_short = function.max_length <= std::min(most, longest_unmeasured_text);
  return program_.call(*called, *inputs, {.collation = collation, .most_bytes = is_short ? 0 : most});
}

std::optional<Program::Register> NumberTranslator::number_of_text(Item_func& function) {
  const std::type_info& type = typeid(function);
  Item& first = *function.arguments()[0];
  const CHARSET_INFO* charset = first.collation.collation;
  std::optional<Function> called;
  if (type == typeid(Item_func_octet_length)) called = Function::Length;
  if (type == typeid(Item_func_char_length)) called = Function::Characters;
  if (type == typeid(Item_func_locate) && function.argument_count() == 2) {
    called = Function::Locate;
    charset = compared_as(first, *function.arguments()[1]);
  }
  if (!called || charset == nullptr || first.cmp_type() != STRING_RESULT) return std::nullopt;
  const auto inputs = texts(function, *charset, 0, function.argument_count());
  const Collation* const collation = collation_of(*charset);
  if (!inputs || collation == nullptr) return std::nullopt;
  return program_.call(*called, *inputs, {.collation = collation});
}

std::optional<Program::Register> NumberTranslator::equal_texts(Item& one, Item& other) {
  if (!is_plain_text(one) || !is_plain_text(other)) return std::nullopt;
  const CHARSET_INFO* const charset = compared_as(one, other);
  const Collation* const collation = charset != nullptr ? collation_of(*charset) : nullptr;
  if (collation == nullptr) return std::nullopt;
  const auto first = translate_text(one, *charset);
  if (!first) return std::nullopt;
  const auto second = translate_text(other, *charset);
  if (!second) return std::nullopt;
  return program_.call(Function::Equal, std::array{*first, *second}, {.collation = collation});
}

bool NumberTranslator::compares_texts(Item_func& function) {
  if (const auto* const compares = dynamic_cast<Item_bool_rowready_func2*>(&function); compares != nullptr) {
    const Type_handler& handler = *compares->compare_type_handler();
    if (handler.cmp_type() != STRING_RESULT ||
        handler.type_collection() != type_handler_slong.type_collection())
      return false;
  }
  const std::span<Item*> arguments(function.arguments(), function.argument_count());
  return std::ranges::all_of(arguments,
                             [](Item* item) { return is_plain_text(*item) || is_null_constant(*item); }) &&
         std::ranges::any_of(arguments, [](Item* item) { return is_plain_text(*item); });
}

std::optional<Program::Register> NumberTranslator::text_comparison(Item_func& function, Function called) {
  CHARSET_INFO* const charset = static_cast<Item_bool_func&>(function).compare_collation();
  if (charset == nullptr) return std::nullopt;
  const auto sides = texts(function, *charset, 0, 2);
  const Collation* const collation = collation_of(*charset);
  if (!sides || collation == nullptr) return std::nullopt;
  const Program::Instruction& second = program_.instructions()[sides->back()];
  if (called == Function::SameOrNull || second.operation != Program::Opcode::Constant)
    return program_.call(called, *sides, {.collation = collation});
  auto test = test_of_texts({.item = &function, .operation = function.functype(), .constants = {}}, charset,
                            {second.text}, true);
  return program_.call(Function::Passes, std::array{sides->front()}, {.test = std::move(test)});
}

std::optional<Program::Register> NumberTranslator::text_between(Item_func& function) {
  const CHARSET_INFO* const charset = static_cast<Item_bool_func&>(function).compare_collation();
  if (charset == nullptr) return std::nullopt;
  const auto all = texts(function, *charset, 0, 3);
  const Collation* const collation = collation_of(*charset);
  if (!all || collation == nullptr) return std::nullopt;
  const Register result = program_.call(Function::Between, *all, {.collation = collation});
  return static_cast<Item_func_between&>(function).negated ? call(Function::Not, {result}) : result;
}

std::optional<Program::Register> NumberTranslator::text_in_list(Item_func& function) {
  CHARSET_INFO* const charset = static_cast<Item_bool_func&>(function).compare_collation();
  if (charset == nullptr) return std::nullopt;
  const auto all = texts(function, *charset, 0, function.argument_count());
  const Collation* const collation = collation_of(*charset);
  if (!all || collation == nullptr) return std::nullopt;
  std::vector<std::string> constants;
  std::vector<Register> others;
  for (const Register each : std::span(*all).subspan(1)) {
    const Program::Instruction& instruction = program_.instructions()[each];
    if (instruction.operation == Program::Opcode::Constant) {
      constants.push_back(instruction.text);
    } else {
      others.push_back(each);
    }
  }
  Register value = all->front();
  std::optional<Register> result;
  if (!constants.empty()) {
    auto test = test_of_texts({.item = &function, .operation = function.functype(), .constants = {}}, charset,
                              std::move(constants), true);
    result = program_.call(Function::Passes, std::array{value}, {.test = std::move(test)});
    value = call(Function::Silenced, {value});
  }
  for (const Register each : others) {
    const Register equal = program_.call(Function::Equal, std::array{value, each}, {.collation = collation});
    result = result ? call(Function::Or, {*result, equal}) : equal;
    // The server asks for it once.
    value = call(Function::Silenced, {value});
  }
  if (!result) return std::nullopt;
  return static_cast<Item_func_in&>(function).negated ? call(Function::Not, {*result}) : *result;
}

std::optional<Program::Register> NumberTranslator::text_like(Item_func& function) {
  if (typeid(function) != typeid(Item_func_like) || !compares_texts(function)) return std::nullopt;
  auto& like = static_cast<Item_func_like&>(function);
  CHARSET_INFO* const charset = like.compare_collation();
  if (charset == nullptr) return std::nullopt;
  const auto sides = texts(function, *charset, 0, 2);
  if (!sides) return std::nullopt;
  const Program::Instruction& pattern = program_.instructions()[sides->back()];
  if (pattern.operation != Program::Opcode::Constant) return std::nullopt;
  auto test = test_of_texts({.item = &function, .operation = function.functype(), .constants = {}}, charset,
                            {pattern.text}, true);
  const Register result =
      program_.call(Function::Passes, std::array{sides->front()}, {.test = std::move(test)});
  return like.negated ? call(Function::Not, {result}) : result;
}

}  // namespace hailstone

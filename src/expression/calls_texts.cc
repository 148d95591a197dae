// Texts by the names of SQL.
#include <array>

#include "expression/call_rules.h"

namespace hailstone {

namespace {

using Kind = SqlType::Kind;

/// Texts of so many bytes need no look at their lengths.
constexpr uint64_t longest_unmeasured_text = uint64_t{64} << 10, most_bytes_of_character = 4;

constexpr uint8_t no_number = 0, first = 1, second = 2, third = 4;

/// A function of texts, by the first of its names and how many arguments there are.
struct TextFunctionLine {
  std::string_view name;
  Function called;
  uint8_t arguments = 0;        // 0: any number
  uint8_t numbers = no_number;  // which arguments are whole numbers
  uint8_t digits = 0;           // of a result that is a number
};
constexpr std::array<TextFunctionLine, 21> text_functions{
    {{"CONCAT", Function::Concat},
     {"CONCAT_WS", Function::ConcatWith},
     {"SUBSTRING", Function::SubstringFrom, 2, second},
     {"SUBSTRING", Function::Substring, 3, second | third},
     {"LEFT", Function::Left, 2, second},
     {"RIGHT", Function::Right, 2, second},
     {"UPPER", Function::Upper},
     {"LOWER", Function::Lower},
     {"LTRIM", Function::TrimLeft},
     {"RTRIM", Function::TrimRight},
     {"REPLACE", Function::Replace},
     {"HEX", Function::Hex},
     {"MD5", Function::Md5},
     {"LPAD", Function::PadLeft, 2, second},
     {"LPAD", Function::PadLeft, 3, second},
     {"RPAD", Function::PadRight, 2, second},
     {"RPAD", Function::PadRight, 3, second},
     {"REPEAT", Function::Repeat, 2, second},
     {"REVERSE", Function::Reverse},
     {"SUBSTRING_INDEX", Function::AtSeparators, 3, third},
     {"ELT", Function::Numbered, 0, first}}};
constexpr std::array<TextFunctionLine, 10> functions_of_texts{
    {{"LENGTH", Function::Length, 0, no_number, 9},
     {"CHAR_LENGTH", Function::Characters, 0, no_number, 9},
     {"ASCII", Function::FirstByte, 0, no_number, 2},
     {"CRC32", Function::Crc32, 0, no_number, 10},
     {"INSTR", Function::Locate, 0, no_number, 10},
     {"LOCATE", Function::Locate, 2, no_number, 10},
     {"LOCATE", Function::LocateFrom, 3, third, 10},
     {"STRCMP", Function::TextOrder, 0, no_number, 1},
     {"FIELD", Function::InList, 0, no_number, 2},
     {"FIND_IN_SET", Function::InSet, 0, no_number, 2}}};

template <size_t size>
const TextFunctionLine& line_of_call(const std::array<TextFunctionLine, size>& lines, const CallRule& call) {
  return *std::ranges::find_if(lines, [&](const TextFunctionLine& line) {
    return line.name == call.line.name() && (line.arguments == 0 || line.arguments == call.arguments.size());
  });
}

/// What a call takes: texts of one collation, and whole numbers.
struct TextInputs {
  std::vector<Expression> inputs;
  std::vector<Expression> texts;  // of these
  const Collation* collation = nullptr;
};

Result<TextInputs> inputs_of(const CallRule& call, std::span<const Expression> arguments, uint8_t numbers) {
  TextInputs all;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool is_number = i < 8 && (numbers >> i & 1) != 0;
    HAILSTONE_ASSIGN(const Expression input,
                     is_number ? whole_of(call, arguments[i]) : text_of(call, arguments[i]));
    all.inputs.push_back(input);
    if (!is_number && arguments[i].sql().kind != Kind::Null) all.texts.push_back(input);
  }
  HAILSTONE_ASSIGN(all.collation, collation_of_texts(call, all.texts));
  return all;
}

/// How many characters the result has at most.
uint64_t characters_of(const CallRule& call, Function called, const TextInputs& of) {
  uint64_t all = 0, longest = 0;
  for (const Expression& text : of.texts) {
    all += text.sql().characters;
    longest = std::max(longest, text.sql().characters);
  }
  const uint64_t of_first = of.texts.empty() ? 0 : of.texts.front().sql().characters;
  const auto wanted = [&](size_t input) -> uint64_t {
    const auto number = of.inputs[input].whole_constant();
    return number ? static_cast<uint64_t>(std::max<int64_t>(*number, 0)) : call.settings.most_text_bytes;
  };
  const uint64_t most = call.settings.most_text_bytes;
  switch (called) {
    case Function::Concat:
      return std::min(all, most);
    case Function::ConcatWith:
      return std::min(all + of_first * (std::max<uint64_t>(of.texts.size(), 2) - 2), most);
    case Function::Left:
    case Function::Right:
      return std::min(of_first, wanted(1));
    case Function::PadLeft:
    case Function::PadRight:
      return std::min(wanted(1), most);
    case Function::Repeat:
      return of_first == 0 ? 0 : std::min(of_first * std::min(wanted(1), most), most);
    case Function::Replace:
      return std::min(of_first * std::max<uint64_t>(of.texts.back().sql().characters, 1), most);
    case Function::Hex:
      return std::min(2 * of_first * (of.collation->has_wide_characters() ? most_bytes_of_character : 1),
                      most);
    case Function::Md5:
      return 32;
    case Function::Numbered:
      return longest;
    case Function::Upper:
    case Function::Lower:
    default:
      return of_first;
  }
}

bool has_own_characters(Function called) { return called == Function::Hex || called == Function::Md5; }

Result<Expression> make_text_of(const CallRule& call, Function called, TextInputs of) {
  const Collation& collation = has_own_characters(called) ? *call.settings.collation : *of.collation;
  SqlType type = SqlType::text(characters_of(call, called, of), collation);
  type.gives_way = std::ranges::all_of(of.texts, [](const Expression& text) { return text.sql().gives_way; });
  const uint64_t most = call.settings.most_text_bytes;
  const bool is_short = type.characters * most_bytes_of_character <= std::min(most, longest_unmeasured_text);
  const bool may_be_null =
      called == Function::PadLeft || called == Function::PadRight || called == Function::Numbered;
  const Expression result = Expression::call(called, std::move(of.inputs),
                                             {.collation = of.collation, .most_bytes = is_short ? 0 : most});
  return may_be_null ? typed_nullable(result, type) : typed(call, result, type);
}

}  // namespace

Result<Expression> text_of(const CallRule& call, const Expression& argument) {
  const SqlType& type = argument.sql();
  if (type.kind == Kind::Text) return argument;
  if (type.kind == Kind::Null) return Expression::null(ValueKind::Text).as(SqlType::null());
  if (type.is_moment()) return text_of_moment(argument, call.settings);
  if (!type.is_exact()) return call.refuse("texts; CAST it AS DECIMAL first", type);
  HAILSTONE_ASSIGN(const Expression number, compared_number(call, argument));
  HAILSTONE_ASSIGN(const Expression shown, or_too_long(call, with_scale(number, type.scale)));
  // A sign and a point.
  SqlType text = SqlType::text(type.digits + 1 + (type.scale != 0 ? 1 : 0), *call.settings.collation);
  text.gives_way = true;
  text.is_nullable = type.is_nullable;
  return Expression::call(Function::NumberText, {shown}, {.digits = type.scale}).as(text);
}

Result<const Collation*> collation_of_texts(const CallRule& call, std::span<const Expression> texts) {
  const Collation* wins = nullptr;
  bool gives_way = true;
  for (const Expression& text : texts) {
    const SqlType& type = text.sql();
    if (wins == nullptr || (gives_way && !type.gives_way)) {
      wins = type.collation;
    } else if (gives_way == type.gives_way && wins != type.collation) {
      // Bytes are stronger than characters.
      if (wins != &binary_collation() && type.collation != &binary_collation())
        return call.left_out("texts of two collations");
      wins = &binary_collation();
    }
    gives_way &= type.gives_way;
  }
  if (wins != nullptr && !wins->has_weights())
    return call.left_out(
        "a text of a collation that only the program which made the table knows; CAST(… AS BINARY) "
        "makes bytes of it");
  return wins != nullptr ? wins : call.settings.collation;
}

Result<Expression> make_text(const CallRule& call) {
  const TextFunctionLine& line = line_of_call(text_functions, call);
  if (line.called == Function::Hex && call.type(0).kind != Kind::Text && call.type(0).kind != Kind::Null)
    return call.refuse("a text", call.type(0));
  // It looks at its last argument only where it has to.
  if (line.called == Function::Replace && call.type(2).is_nullable)
    return call.left_out("a last argument that may be NULL");
  HAILSTONE_ASSIGN(TextInputs of, inputs_of(call, call.arguments, line.numbers));
  const bool fills_with_spaces =
      (line.called == Function::PadLeft || line.called == Function::PadRight) && line.arguments == 2;
  if (fills_with_spaces) of.inputs.push_back(Expression::constant(std::string(" ")));
  return make_text_of(call, line.called, std::move(of));
}

Result<Expression> make_trim(const CallRule& call) {
  const bool is_of_spaces = call.arguments.size() == 1;
  HAILSTONE_ASSIGN(TextInputs of, inputs_of(call, call.arguments, no_number));
  Function called = is_of_spaces ? Function::Trim : Function::TrimOf;
  if (call.word == "LEADING") called = is_of_spaces ? Function::TrimLeft : Function::TrimLeftOf;
  if (call.word == "TRAILING") called = is_of_spaces ? Function::TrimRight : Function::TrimRightOf;
  return make_text_of(call, called, std::move(of));
}

Result<Expression> make_space(const CallRule& call) {
  const Expression space = constant_text(" ", call.settings);
  HAILSTONE_ASSIGN(TextInputs of, inputs_of(call, std::vector{space, call.argument(0)}, second));
  return make_text_of(call, Function::Repeat, std::move(of));
}

Result<Expression> make_number_of_texts(const CallRule& call) {
  const TextFunctionLine& line = line_of_call(functions_of_texts, call);
  std::vector<Expression> arguments(call.arguments.begin(), call.arguments.end());
  // The text in which something is looked for comes first.
  if (call.line.name() == "LOCATE") std::swap(arguments[0], arguments[1]);
  const bool any_text =
      std::ranges::any_of(arguments, [](const Expression& each) { return each.sql().kind == Kind::Text; });
  if (line.called == Function::InList && !any_text) return call.left_out("numbers");
  HAILSTONE_ASSIGN(TextInputs of, inputs_of(call, arguments, line.numbers));
  const Expression result = Expression::call(line.called, std::move(of.inputs), {.collation = of.collation});
  return typed(call, result, SqlType::integer(line.digits, line.called == Function::Crc32));
}

}  // namespace hailstone

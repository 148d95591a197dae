// The table of functions: what programs can do with values, a line each. A new function is a line and a
// kernel. docs/functions.md is written from it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "column/predicate.h"
#include "expression/computed.h"
#include "schema/collation.h"

namespace hailstone {

enum class Function : uint8_t {
  // Of two Integer or two Real values.
  Add,
  Subtract,
  Multiply,
  Divide,  // Real only
  DecimalDivide,
  IntegerDivide,
  Remainder,   // the dividend's sign
  InRange,     // an Integer value that is in the settings' range
  AsUnsigned,  // an Integer value whose 64 bits are a number without a sign
  ToReal,
  // Of one Integer or Real value.
  Absolute,
  Sign,
  Floor,
  Ceiling,
  Round,     // a half away from 0; of Real, to the even neighbour
  Truncate,  // towards 0
  InDigits,  // of an Integer: a row of more digits fails
  ToInteger,
  // Of the 64 bits of Integer values.
  BitAnd,
  BitOr,
  BitXor,
  BitNot,
  ShiftLeft,
  ShiftRight,
  BitCount,
  // Of values of one kind.
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  SameOrNull,  // 1 for two NULLs, else never NULL
  Between,
  Passes,
  Among,  // of an Integer
  // Of truths.
  And,
  Or,
  Not,
  IsTrue,
  IsNull,  // of any kind
  // Of values of one kind, which the result has.
  Choose,
  Coalesce,
  Greatest,
  Least,
  Silenced,   // the value without its failures, where they are told of already
  Otherwise,  // the first where it has no failure, else the second without its failures
  // Of moments (moment.h).
  PartOfMoment,
  MomentAfter,
  UnitsBetween,
  MomentOf,  // of one or two Integer values
  ByZone,    // of a moment or an Integer value, by the clocks of time zones
  DateFormat,
  // Of texts.
  Concat,
  ConcatWith,
  Substring,
  SubstringFrom,
  Left,
  Right,
  Upper,
  Lower,
  Trim,
  TrimLeft,
  TrimRight,
  Replace,
  Length,
  Characters,
  Locate,
  Hex,
  NumberText,  // of Integer
  WordText,    // of Integer, by a TextFunction
  FirstByte,
  PadLeft,
  PadRight,
  Repeat,
  Reverse,
  TrimOf,
  TrimLeftOf,
  TrimRightOf,
  AtSeparators,
  LocateFrom,
  InSet,
  TextOrder,
  GreatestText,
  LeastText,
  InList,
  Numbered,
  Md5,
  Crc32,
  // Of texts, by a TextFunction.
  MatchesPattern,
  PatternReplaced,
  PatternPart,
  PatternPlace,
  OfDocument,
  PartOfDocument,
};

/// A whole number made of one or two others. Thread-safe.
class NumberFunction {
 public:
  virtual ~NumberFunction() = default;
  enum class State : uint8_t {
    Known,
    Null,     // of which the embedding application warns once
    Unknown,  // not to be told here
  };
  /// Of `rows` numbers each, which may be any where they are a NULL's; `second`: null where there is but one.
  /// Where `state` becomes another one than Known, the number is any.
  virtual void of_all(uint32_t rows, const int64_t* first, const int64_t* second, int64_t* to,
                      State* state) const = 0;
  /// Of is_among(): the numbers, ascending. Nothing: it is another function.
  virtual std::optional<std::span<const int64_t>> listed() const { return std::nullopt; }
};

/// Whether a number is one of these.
std::shared_ptr<const NumberFunction> is_among(std::vector<int64_t> numbers);

struct FunctionCall;

/// What the embedding application makes of texts, in place of a kernel. Thread-safe.
class TextFunction {
 public:
  virtual ~TextFunction() = default;
  /// As a kernel whose line says Marks::Asked.
  virtual void of_all(const FunctionCall& call) const = 0;
};

/// Which Integer results there are; others are failures.
enum class NumberRange : uint8_t {
  Any,       // of 256 bits, which no program leaves
  Signed,    // of 64 bits
  Unsigned,  // of 64 bits without a sign
};

/// What a call has beside its arguments. What a function does not ask for stays as it is here.
struct FunctionSettings {
  /// Of divisions: one by zero is a failure, and not just NULL.
  bool tells_zero = false;
  /// Floor to Truncate of Integer, and ToReal, divide by 10^digits; DecimalDivide multiplies the dividend by
  /// it. Round and Truncate of Real keep so many digits behind the point. InDigits takes numbers of so many.
  /// NumberText has so many behind its point. At most 18; Round of Integer, ToReal, DecimalDivide and
  /// NumberText take up to 76.
  unsigned digits = 0;
  /// Of a function that is Marks::United: it is as Marks::InOrder, as sums and products of DECIMALs are.
  bool in_order = false;
  /// Of what computes Integer values of others.
  NumberRange range = NumberRange::Any;
  /// Of texts: how they are compared, and what their characters are.
  const Collation* collation = nullptr;
  /// A text that would be longer, in bytes, is a failure; 0: no result can be.
  uint64_t most_bytes = 0;
  /// Passes: what is asked of each text.
  std::shared_ptr<const BytesTest> test = nullptr;
  /// Of moments, and Among: what is made of them.
  std::shared_ptr<const NumberFunction> of_numbers = nullptr;
  /// What is made of texts by the application.
  std::shared_ptr<const TextFunction> of_texts = nullptr;

  bool operator==(const FunctionSettings&) const = default;
};

/// One call of a kernel, for the rows of a batch.
struct FunctionCall {
  std::span<const Computed* const> inputs;
  uint32_t rows;
  const FunctionSettings& settings;
  Arena& bytes;        // of texts that are made
  uint64_t most_made;  // a row that would make `bytes` greater fails
  Computed& to;

  const Computed& input(size_t number) const { return *inputs[number]; }
  /// Whether texts, of so many bytes at most and in all, are not too long.
  bool may_make(uint64_t longest, uint64_t all) const;
  /// Room for a text of the row's. Null: it would be too long, which is now a failure of the row.
  char* text(uint32_t row, uint64_t length) const;
};

/// How a result's NULLs and failures are found.
enum class Marks : uint8_t {
  United,   // NULL where an argument is, with the failures of all: set before the kernel, which may add some
  InOrder,  // as United, but behind a first NULL the other arguments are not looked at
  Asked,    // as United, but a failure of an argument makes the result unknown: the server is asked
  OfKernel,
};

enum class ResultKind : uint8_t { Integer, Real, Text, OfFirst, OfSecond };

struct FunctionLine {
  Function function;
  /// As SQL has it.
  std::string_view name;
  std::string_view arguments;
  ResultKind result;
  Marks marks;
  /// What may fail, and what the row has then; empty: nothing does.
  std::string_view failures;
  void (*kernel)(const FunctionCall& call);
  /// Whether it takes Integer values of more than 64 bits; else a row with one fails.
  bool takes_huge = false;
};

/// All lines, in the order of Function.
std::span<const FunctionLine> functions();
inline const FunctionLine& line_of(Function function) { return functions()[static_cast<size_t>(function)]; }

}  // namespace hailstone

// Translates the server's items to expressions of the library, where these compute exactly what the server
// would: numbers, texts, days and times, comparisons and choices. A row that an expression cannot compute has
// a Failure, so that the server is asked. Belongs to the connection's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "expression/expression.h"
#include "scan_columns.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Whether an item is a value that does not depend on rows, and is computed without a warning.
bool is_plain_constant(Item& item);

/// Whether an item is an INT or DECIMAL.
inline bool is_exact(const Item& item) {
  return item.cmp_type() == INT_RESULT || item.cmp_type() == DECIMAL_RESULT;
}

/// Of DECIMAL numbers; of others 0.
uint decimals_of(const Item& item);
/// What an INT, DECIMAL or DOUBLE item is, without its digits.
ValueType declared_type(const Item& item);

/// How the server compares numbers: as whole numbers or DECIMAL, as DOUBLE, or as days and times.
enum class ComparedAs : uint8_t { Exact, Real, Moment };
/// Whether days, or days with times, are compared; not TIMESTAMPs with each other, of which two may have the
/// same time on a clock.
bool compares_moments(const Type_handler& compared);
/// By the type that items are compared as; nothing: by another one.
std::optional<ComparedAs> compared_as(const Type_handler& compared);

class ExpressionTranslator {
 public:
  explicit ExpressionTranslator(ScanColumns& columns) : columns_(columns) {}

  /// Nothing: the item is not translated, and the columns are as they were.
  std::optional<Expression> number(Item& item);
  /// The text that an item is. Nothing: as above.
  std::optional<Expression> text(Item& item);
  /// The moment that an item of DATE or DATETIME is, as a column of its type has it. Nothing: as above.
  std::optional<Expression> moment_as_value(Item& item);
  /// 1 for the rows for which the item is TRUE, else 0.
  std::optional<Expression> condition(Item& item);
  /// Numbers or texts of both sides of an equality. They are equal where the server takes the sides for
  /// equal; texts in the collation of the equality. Nothing: they are not computed.
  struct EqualSides {
    Expression first, second;
    bool are_huge = false;  // numbers that may have more than 64 bits
  };
  std::optional<EqualSides> equal_sides(Item_bool_func2& equality);
  /// Numbers of one kind, of items each of which is compared with the first one: they have the order in which
  /// the server has the items. Nothing: they are not computed.
  struct ComparedNumbers {
    std::vector<Expression> numbers = {};
    bool are_huge = false;  // as above
  };
  std::optional<ComparedNumbers> compared_numbers(ComparedAs as, std::span<Item* const> items);

 private:
  /// An argument that may be the result.
  using ResultOf = std::function<std::optional<Expression>(Item& argument)>;

  /// What `result_of` gives for each argument.
  static std::optional<std::vector<Expression>> arguments_of(Item_func& function, const ResultOf& result_of);
  /// What `translate` gives; when that is nothing, the columns are as they were.
  template <typename Translate>
  auto or_nothing(Translate&& translate);
  std::optional<Expression> translate(Item& item);
  std::optional<Expression> translate_new(Item& item);
  std::optional<Expression> column(Item& item);
  std::optional<Expression> decimal_column(PlainField field, const ScanColumn& scanned);
  static std::optional<Expression> constant(Item& item);
  /// The moment that an item of days, or of days and times, has (select_moments.cc).
  std::optional<Expression> moment(Item& item);
  std::optional<Expression> moment_of(Item& item);
  std::optional<Expression> moment_of_column(Item& item);
  std::optional<Expression> moment_of_constant(Item& item);
  /// What functions tell of a TIME column.
  std::optional<Expression> of_span(Item_func& function);
  /// How moments are compared that a function compares as these two; null: not as moments.
  static const Type_handler* compared_moments(const Item& first, const Item& second);
  std::optional<Expression> equal_moments(Item& first, Item& second);
  std::optional<Expression> in_moments(Item_func& function);
  std::optional<Expression> first_moment(Item_func& function);
  /// Of a day that is one; or NULL itself.
  std::optional<Expression> whole_moment(Item& item);
  /// Of CASE, IF, GREATEST and LEAST.
  std::optional<Expression> chosen_moment(Item_func& function);
  /// Of MAKEDATE and FROM_DAYS.
  std::optional<Expression> moment_of_numbers(Item_func& function);
  /// 20240229, or 20240229235959.
  std::optional<Expression> number_of_moment(Item& item);
  /// WEEK and YEARWEEK.
  std::optional<Expression> week(Item_func& function);
  /// UNIX_TIMESTAMP, and moments of FROM_UNIXTIME and CONVERT_TZ: select_zones.cc.
  std::optional<Expression> seconds_of_moment(Item_func& function);
  std::optional<Expression> moment_by_zone(Item_func& function);
  std::optional<Expression> moved_moment(Item_date_add_interval& function);
  /// The same of a side of a comparison, which may be a text: as that is compared.
  std::optional<Expression> compared_moment(Item& item, const Type_handler& compared);
  /// The same of an argument that is taken for a moment.
  std::optional<Expression> moment_of_argument(Item& item);
  /// How many units there are in an interval.
  std::optional<Expression> units(Item& item);
  /// DATE_FORMAT(), of texts of one byte for each character of ASCII.
  std::optional<Expression> text_of_moment(Item_func& function);
  /// Of '2024-02-29' + INTERVAL … DAY, and longer units: as a text, the day.
  std::optional<Expression> text_of_moved_day(Item_date_add_interval& function);
  /// What functions of moments tell.
  std::optional<Expression> of_moments(Item_func& function);
  std::optional<Expression> arithmetic(Item_func& function, Function called);
  std::optional<Expression> whole_division(Item_func& function, Function called);
  std::optional<Expression> negative_number(Item_func& function);

  // Of one number: select_casts.cc.
  std::optional<Expression> of_number(Item_func& function);
  /// A number that has a register of 64 bits.
  std::optional<Expression> exact_or_real(Item& item);
  std::optional<Expression> rounded(Item_func& function);
  std::optional<Expression> cast_to_integer(Item_func& function);
  std::optional<Expression> cast_to_decimal(Item_func& function);
  /// The 64 bits of a whole number, also of BIGINT UNSIGNED beyond 2^63 where a function of bits makes them.
  std::optional<Expression> bits(Item& item);

  // Choices by values: select_choices.cc.
  std::optional<Expression> chosen_by_value(Item_func& function);
  /// Of CASE with values.
  std::optional<Expression> switched_by_value(Item_func& function, ValueKind kind, const ResultOf& result_of);
  std::optional<Expression> null_if(Item_func& function, ValueKind kind, const ResultOf& result_of);
  /// Of GREATEST and LEAST.
  std::optional<Expression> extreme_argument(Item_func& function, const ResultOf& result_of);
  /// IS TRUE and its like, and XOR.
  std::optional<Expression> truth_of_truth(Item_func& function);
  /// TRUE, FALSE or NULL of any number; TRUE may be any but 0.
  std::optional<Expression> truth_of_number(Item& item);
  /// Of CASE with conditions, and IF; `kind`: of the results.
  std::optional<Expression> chosen_argument(Item_func& function, ValueKind kind, const ResultOf& result_of);
  /// Of COALESCE and IFNULL.
  std::optional<Expression> first_argument(Item_func& function, const ResultOf& result_of);
  /// Of an argument, as the function's type has it; `whole_digits` gets those of the longest. Nothing: digits
  /// would be lost.
  ResultOf numbers_of(Item_func& function, unsigned& whole_digits);
  /// Of a function that gives one of its arguments.
  std::optional<Expression> one_of(Item_func& function, std::span<Item* const> results,
                                   const std::function<std::optional<Expression>(const ResultOf&)>& choose);
  /// The number under the function's own type, with so many digits. Not known where an INT result is none.
  static Expression number_of_choice(Item_func& function, const Expression& result, unsigned scale,
                                     unsigned whole_digits);
  std::optional<Expression> switched(Item_func& function);
  std::optional<Expression> first_number(Item_func& function);
  /// TRUE, FALSE or NULL.
  std::optional<Expression> truth(Item& item);
  std::optional<Expression> comparison(Item_func& function, Function called);
  std::optional<Expression> number_comparison(Function called, ComparedAs as, Item& first, Item& second);
  std::optional<Expression> between(Item_func& function);
  std::optional<Expression> between_moments(Item_func& function);
  std::optional<Expression> in_numbers(Item_func& function);
  std::optional<Expression> is_true(Item& item);
  /// `source`: the number of the table whose columns it reads.
  std::optional<Expression> of_predicate(const Predicate& predicate, size_t source);

  // Texts: select_texts.cc.
  /// Whether an item is a text, and no more.
  static bool is_plain_text(const Item& item);
  /// Of its collation: functions whose result is a text need others of it.
  std::optional<Expression> translate_text(Item& item, const CHARSET_INFO& charset);
  std::optional<Expression> translate_new_text(Item& item, const CHARSET_INFO& charset);
  std::optional<Expression> text_column(Item& item, const CHARSET_INFO& charset);
  /// Of an ENUM or SET column.
  std::optional<Expression> words(PlainField field, const CHARSET_INFO& charset);
  std::optional<Expression> text_constant(Item& item, const CHARSET_INFO& charset);
  std::optional<Expression> text_of_number(Item& item);
  std::optional<Expression> text_function(Item_func& function);
  /// Of REGEXP and its relatives, whose pattern is a constant; `charset`: as the server compares.
  std::optional<Expression> of_pattern(Item_func& function, Function called, const CHARSET_INFO* charset);
  /// JSON_VALUE() and JSON_EXTRACT() by constant paths, and JSON_UNQUOTE(): select_documents.cc.
  std::optional<Expression> of_document(Item_func& function);
  Expression document_call(Function called, const Expression& input,
                           std::shared_ptr<const TextFunction> of_texts) const;
  /// Of a JSON_EXTRACT() with another text.
  std::optional<Expression> document_comparison(Item_func& function, Function called);
  /// A whole number that is made of texts.
  std::optional<Expression> number_of_text(Item_func& function);
  /// Of all items, as texts of one character set.
  std::optional<std::vector<Expression>> texts(std::span<Item* const> items, const CHARSET_INFO& charset);
  /// Of all arguments, which are such texts, or whole numbers.
  std::optional<std::vector<Expression>> inputs_of(Function called, Item_func& function,
                                                   const CHARSET_INFO& charset);
  /// A whole number that a function of texts takes.
  std::optional<Expression> count(Item& item);
  static bool is_text_or_null(Item* item);
  static bool compares_texts(Item_func& function);
  /// Whether two texts are equal, where it is plain how the server compares them.
  std::optional<Expression> equal_texts(Item& one, Item& other);
  std::optional<Expression> text_comparison(Item_func& function, Function called);
  std::optional<Expression> text_between(Item_func& function);
  std::optional<Expression> text_in_list(Item_func& function);
  std::optional<Expression> text_like(Item_func& function);
  /// A number or a text; nothing of which but NULL is looked at.
  std::optional<Expression> value(Item& item);

  /// Whether a division by zero is more than NULL.
  bool tells_zero() const;

  ScanColumns& columns_;
  // What has been translated. NULLIF names its value twice, and many items may name one item of a view.
  // Nested ones would be translated again and again.
  std::map<const Item*, Expression> numbers_;
  std::map<std::pair<const Item*, const CHARSET_INFO*>, Expression> texts_;
};

}  // namespace hailstone

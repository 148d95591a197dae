// Translates the server's expressions to a Program of the library, where it computes exactly what the server
// would: numbers, texts, days and times, comparisons and choices. A DECIMAL is a whole number of its last
// digit. A row that the program cannot compute has a Failure, so that the server is asked. Belongs to the
// connection's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "expression/program.h"
#include "ha_hailstone.h"
#include "plain_field.h"
#include "source_tables.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// The columns that a statement reads of its tables.
class ScanColumns {
 public:
  explicit ScanColumns(std::shared_ptr<const SourceTables> sources) : sources_(std::move(sources)) {}

  /// The field of a table that an item is, with the item's value; nothing when it is none, or is not stored.
  std::optional<PlainField> field_of(Item& item) const;
  /// The same of all fields that are stored, for the server's items; null: none.
  Field* stored_field_of(Item& item) const;
  /// The position of a field among the scan's columns, to which it is added when it is new.
  uint16_t position_of(PlainField field) { return position_in_record(*field); }
  /// The same where the record gets the column as it is stored.
  uint16_t position_in_record(const Field& field);
  /// The same where only the server's items may read that.
  uint16_t position_for_items(const Field& field);
  /// The same of a DECIMAL as a scaled number. Nothing where a table of an earlier version does not tell that
  /// the column holds decimals.
  std::optional<uint16_t> scaled_position_of(PlainField field);
  /// Of the column at a position, which may be read as a scaled number.
  const Field& field_at(size_t position) const {
    return field_of_column(source_at(position), static_cast<uint16_t>(numbers_[position] & ~scaled_bit));
  }
  bool is_scaled_at(size_t position) const { return is_scaled(numbers_[position]); }
  /// The number of the table whose column is at a position.
  size_t source_at(size_t position) const { return of_sources_[position]; }
  const Field& field_of_column(size_t source, uint16_t column) const {
    const SourceTables::Source& of = sources_->all()[source];
    return *of.table->field[of.reader().field_of_column(column)];
  }
  /// The column of a field that is stored, as the library has it.
  uint16_t column_of(const Field& field) const;
  const SourceTables& sources() const { return *sources_; }
  const std::shared_ptr<const SourceTables>& shared_sources() const { return sources_; }
  /// numbers(). A column that only items would read gives way to its scaled number, if that is read, too, and
  /// `read_by_items` lacks the column. So it is not packed for nothing.
  std::vector<uint16_t> numbers_without_unread(const std::vector<const Field*>& read_by_items) const;
  /// Of each column, as the library has it among its table's.
  const std::vector<uint16_t>& numbers() const { return numbers_; }
  /// Null where the column is read as a scaled number.
  const std::vector<const Field*>& fields() const { return fields_; }

 private:
  size_t source_of(const Field& field) const { return *sources_->number_of(field); }
  size_t position_of_number(size_t source, uint16_t number) const;

  std::shared_ptr<const SourceTables> sources_;
  std::vector<uint16_t> numbers_;
  std::vector<size_t> of_sources_;    // of the same columns: their tables
  std::vector<const Field*> fields_;  // of those
  std::vector<bool> for_items_;       // of those: only items may read them
};

/// A register of a program: an Integer one is the number times 10^scale.
struct Number {
  /// Whether the server's number has so many digits behind the point, which may be zeros: a quotient has some
  /// more than its dividend has.
  enum class Scale : uint8_t { Sure, SureUnlessZero, Unsure };
  static constexpr unsigned most_whole_digits = 65;
  static constexpr unsigned digits_of_bigint = 20;

  Program::Register result = Program::none;
  unsigned scale = 0;
  /// Digits in front of the point, at most. Of an Integer one.
  unsigned whole_digits = most_whole_digits;
  Scale scale_is = Scale::Unsure;
};

/// What a scan has of a field's column.
std::optional<ScanColumn> scan_column(const Field& field);
/// Whether an item is a value that does not depend on rows, and is computed without a warning.
bool is_plain_constant(Item& item);

/// Whether an item is an INT or DECIMAL.
inline bool is_exact(const Item& item) {
  return item.cmp_type() == INT_RESULT || item.cmp_type() == DECIMAL_RESULT;
}

/// Of DECIMAL numbers; of others 0.
uint decimals_of(const Item& item);

/// How the server compares numbers: as whole numbers or DECIMAL, as DOUBLE, or as days and times.
enum class ComparedAs : uint8_t { Exact, Real, Moment };
/// Whether days, or days with times, are compared; not TIMESTAMPs with each other, of which two may have the
/// same time on a clock.
bool compares_moments(const Type_handler& compared);
/// By the type that items are compared as; nothing: by another one.
std::optional<ComparedAs> compared_as(const Type_handler& compared);

class NumberTranslator {
 public:
  NumberTranslator(ScanColumns& columns, Program& program) : columns_(columns), program_(program) {}

  /// Nothing: the expression is not translated, and program and columns are as they were.
  std::optional<Number> number(Item& item);
  /// The same with so many digits behind the point, rounded half away from 0 where it has more.
  std::optional<Number> to_decimals(const Number& number, unsigned scale);
  /// The same as DOUBLE.
  std::optional<Number> real(const Number& number);
  /// The text that an item is. Nothing: as above.
  std::optional<Program::Register> text(Item& item);
  /// The moment that an item of DATE or DATETIME is, as a column of its type has it. Nothing: as above.
  std::optional<Program::Register> moment_as_value(Item& item);
  /// A register that is 1 for the rows for which the item is TRUE, else 0.
  std::optional<Program::Register> condition(Item& item);
  /// Numbers or texts of both sides of an equality, each in a program of its own. They are equal where the
  /// server takes the sides for equal; texts in the collation of the equality. Nothing: they are not
  /// computed.
  struct EqualSides {
    Program::Register first = Program::none, second = Program::none;
    bool are_huge = false;  // numbers that may have more than 64 bits
  };
  static std::optional<EqualSides> equal_sides(Item_bool_func2& equality, ScanColumns& columns,
                                               Program& of_first, Program& of_second);
  struct Compared {
    Item* item;
    Program* program;
  };
  /// Numbers of one kind, of items each of which is compared with the first one, in their programs: they have
  /// the order in which the server has the items. Nothing: they are not computed.
  struct ComparedNumbers {
    std::vector<Program::Register> registers = {};
    bool are_huge = false;  // as above
  };
  static std::optional<ComparedNumbers> compared_numbers(ComparedAs as, std::span<const Compared> items,
                                                         ScanColumns& columns);

 private:
  using Register = Program::Register;
  /// The register of an argument that may be the result.
  using ResultOf = std::function<std::optional<Register>(Item& argument)>;

  /// What `translate` gives; when that is nothing, program and columns are as they were.
  template <typename Translate>
  auto or_nothing(Translate&& translate);
  std::optional<Number> translate(Item& item);
  std::optional<Number> translate_new(Item& item);
  std::optional<Number> column(Item& item);
  std::optional<Number> constant(Item& item);
  /// The moment that an item of days, or of days and times, has (select_moments.cc).
  std::optional<Register> moment(Item& item);
  std::optional<Register> moment_of_column(Item& item);
  std::optional<Register> moment_of_constant(Item& item);
  /// What functions tell of a TIME column.
  std::optional<Number> of_span(Item_func& function);
  /// How moments are compared that a function compares as these two; null: not as moments.
  static const Type_handler* compared_moments(const Item& first, const Item& second);
  std::optional<Register> equal_moments(Item& first, Item& second);
  std::optional<Register> in_moments(Item_func& function);
  std::optional<Register> first_moment(Item_func& function);
  /// Of a day that is one; or NULL itself.
  std::optional<Register> whole_moment(Item& item);
  /// Of CASE, IF, GREATEST and LEAST.
  std::optional<Register> chosen_moment(Item_func& function);
  /// Of MAKEDATE and FROM_DAYS.
  std::optional<Register> moment_of_numbers(Item_func& function);
  /// 20240229, or 20240229235959.
  std::optional<Number> number_of_moment(Item& item);
  /// WEEK and YEARWEEK.
  std::optional<Number> week(Item_func& function);
  /// UNIX_TIMESTAMP, and moments of FROM_UNIXTIME and CONVERT_TZ: select_zones.cc.
  std::optional<Number> seconds_of_moment(Item_func& function);
  std::optional<Register> moment_by_zone(Item_func& function);
  std::optional<Register> moved_moment(Item_date_add_interval& function);
  /// The same of a side of a comparison, which may be a text: as that is compared.
  std::optional<Register> compared_moment(Item& item, const Type_handler& compared);
  /// The same of an argument that is taken for a moment.
  std::optional<Register> moment_of_argument(Item& item);
  /// How many units there are in an interval.
  std::optional<Register> units(Item& item);
  /// DATE_FORMAT(), of texts of one byte for each character of ASCII.
  std::optional<Register> text_of_moment(Item_func& function);
  /// What functions of moments tell.
  std::optional<Number> of_moments(Item_func& function);
  std::optional<Number> arithmetic(Item_func& function, Function called);
  std::optional<Number> sum_or_difference(Item_func& function, Function called, const Number& left,
                                          const Number& right);
  std::optional<Number> product(Item_func& function, const Number& left, const Number& right);
  /// Of DECIMAL.
  std::optional<Number> quotient(const Item_func_div& function, const Number& left, const Number& right);
  std::optional<Number> whole_division(Item_func& function, Function called);
  std::optional<Number> negative(Item_func& function);

  // Of one number: select_casts.cc.
  std::optional<Number> of_number(Item_func& function);
  /// A number that has a register of 64 bits.
  std::optional<Number> exact_or_real(Item& item);
  std::optional<Number> rounded(Item_func& function);
  std::optional<Number> cast_to_integer(Item_func& function);
  std::optional<Number> cast_to_decimal(Item_func& function);
  /// A whole number without so many of its digits, the last ones; Floor, Ceiling or Round says how.
  Register divided(Function called, Register number, unsigned digits);
  /// The 64 bits of a whole number, also of BIGINT UNSIGNED beyond 2^63 where a function of bits makes them.
  std::optional<Register> bits(Item& item);
  /// Not known where the number of these bits is beyond 2^63.
  Register not_wide(Register bits);

  // Choices by values: select_choices.cc.
  std::optional<Number> chosen_by_value(Item_func& function);
  /// Of CASE with values.
  std::optional<Register> switched_by_value(Item_func& function, ValueKind kind, const ResultOf& result_of);
  std::optional<Register> null_if(Item_func& function, ValueKind kind, const ResultOf& result_of);
  /// Of GREATEST and LEAST.
  std::optional<Register> extreme(Item_func& function, const ResultOf& result_of);
  /// IS TRUE and its like, and XOR.
  std::optional<Register> truth_of_truth(Item_func& function);
  /// TRUE, FALSE or NULL of any number; TRUE may be any but 0.
  std::optional<Register> truth_of_number(Item& item);
  /// Whether a value is among constants, which are in order.
  Register among(Register value, std::vector<int64_t> constants, bool has_null);
  /// Of CASE with conditions, and IF; `kind`: of the results.
  std::optional<Register> chosen(Item_func& function, ValueKind kind, const ResultOf& result_of);
  /// Of COALESCE and IFNULL.
  std::optional<Register> first(Item_func& function, const ResultOf& result_of);
  /// Of an argument, as the function's type has it; `whole_digits` gets those of the longest. Nothing: digits
  /// would be lost.
  ResultOf numbers_of(Item_func& function, unsigned& whole_digits);
  /// Of a function that gives one of its arguments.
  std::optional<Number> one_of(Item_func& function, std::span<Item* const> results,
                               const std::function<std::optional<Register>(const ResultOf&)>& choose);
  std::optional<Number> switched(Item_func& function);
  std::optional<Number> first_not_null(Item_func& function);
  /// TRUE, FALSE or NULL.
  std::optional<Register> truth(Item& item);
  std::optional<Register> comparison(Item_func& function, Function called);
  std::optional<Register> number_comparison(Function called, ComparedAs as, Item& first, Item& second);
  std::optional<Number> as_compared(const Item& item, const Number& number);
  std::optional<Register> exact_comparison(Function called, const Number& left, const Number& right);
  std::optional<Register> between(Item_func& function);
  std::optional<Register> between_moments(Item_func& function);
  std::optional<Register> in_list(Item_func& function);
  std::optional<Register> is_true(Item& item);
  /// `source`: the number of the table whose columns it reads.
  std::optional<Register> of_predicate(const Predicate& predicate, size_t source);

  // Texts: select_texts.cc.
  /// Whether an item is a text, and no more.
  static bool is_plain_text(const Item& item);
  /// Of its collation: functions whose result is a text need others of it.
  std::optional<Register> translate_text(Item& item, const CHARSET_INFO& charset);
  std::optional<Register> translate_new_text(Item& item, const CHARSET_INFO& charset);
  std::optional<Register> text_column(Item& item, const CHARSET_INFO& charset);
  std::optional<Register> text_constant(Item& item, const CHARSET_INFO& charset);
  std::optional<Register> text_of_number(Item& item);
  std::optional<Register> text_function(Item_func& function);
  /// Of REGEXP and its relatives, whose pattern is a constant; `charset`: as the server compares.
  std::optional<Register> of_pattern(Item_func& function, Function called, const CHARSET_INFO* charset);
  /// JSON_VALUE() and JSON_EXTRACT() by constant paths, and JSON_UNQUOTE(): select_documents.cc.
  std::optional<Register> of_document(Item_func& function);
  Register document_call(Function called, Register input, std::shared_ptr<const TextFunction> of_texts);
  /// Of a JSON_EXTRACT() with another text.
  std::optional<Register> document_comparison(Item_func& function, Function called);
  /// A whole number that is made of texts.
  std::optional<Register> number_of_text(Item_func& function);
  /// Of all items, as texts of one character set.
  std::optional<std::vector<Register>> texts(std::span<Item* const> items, const CHARSET_INFO& charset);
  /// Of all arguments, which are such texts, or whole numbers.
  std::optional<std::vector<Register>> inputs_of(Function called, Item_func& function,
                                                 const CHARSET_INFO& charset);
  /// A whole number that a function of texts takes.
  std::optional<Register> count(Item& item);
  static bool is_text_or_null(Item* item);
  static bool compares_texts(Item_func& function);
  /// Whether two texts are equal, where it is plain how the server compares them.
  std::optional<Register> equal_texts(Item& one, Item& other);
  std::optional<Register> text_comparison(Item_func& function, Function called);
  std::optional<Register> text_between(Item_func& function);
  std::optional<Register> text_in_list(Item_func& function);
  std::optional<Register> text_like(Item_func& function);
  /// A number or a text; nothing of which but NULL is looked at.
  std::optional<Register> value(Item& item);

  std::optional<Register> as_real(const Number& number);
  /// Nothing: it may have too many digits, or would lose some.
  std::optional<Register> scaled(const Number& number, unsigned scale);
  /// Not known where an INT result is none.
  Register checked(const Item_func& function, Register result);
  Register call(Function called, std::initializer_list<Register> inputs, FunctionSettings settings = {}) {
    return program_.call(called, {inputs.begin(), inputs.size()}, std::move(settings));
  }
  Register divide(Function called, Register dividend, Register divisor);
  /// Whether a division by zero is more than NULL.
  bool tells_zero() const;

  ScanColumns& columns_;
  Program& program_;
  // What has been translated. NULLIF names its value twice, and many items may name one item of a view.
  // Nested ones would be translated again and again.
  std::map<const Item*, Number> numbers_;
  std::map<std::pair<const Item*, const CHARSET_INFO*>, Register> texts_;
};

}  // namespace hailstone

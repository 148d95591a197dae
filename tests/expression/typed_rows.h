// One row of each of some values, as a batch of typed columns, and what an expression makes of it.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "expression/evaluator.h"
#include "expression/expression_text.h"

namespace hailstone {

/// Columns of one row, by name. Texts are in UTF-8.
class TypedRow {
 public:
  TypedRow() = default;
  // Columns point to its texts.
  TypedRow(const TypedRow&) = delete;
  TypedRow& operator=(const TypedRow&) = delete;

  void add_integer(std::string name, std::optional<int64_t> value, bool is_unsigned = false,
                   unsigned digits = 19) {
    add_number(std::move(name), value,
               {.is_unsigned = is_unsigned,
                .whole_digits = digits + 1,
                .sql = SqlType::integer(digits, is_unsigned)});
  }
  /// `value`: times 10^scale.
  void add_decimal(std::string name, std::optional<int64_t> value, unsigned digits, unsigned scale) {
    ValueType type = ValueType::decimal(scale, digits - scale, ValueType::Scale::Sure);
    type.sql = SqlType::decimal(digits, scale);
    add_number(std::move(name), value, type);
  }
  void add_real(std::string name, std::optional<double> value) {
    ColumnVector& vector = add(value.has_value());
    vector.integers.push_back(order_double(value.value_or(0)));
    add_column(std::move(name), {.integer = true, .type = Type::Double, .width = 8},
               {.kind = ValueType::Kind::Double, .sql = SqlType::real()});
  }
  void add_text(std::string name, std::optional<std::string> value, uint64_t characters = 20) {
    texts_.push_back(value.value_or(""));
    ColumnVector& vector = add(value.has_value());
    vector.bytes.push_back(texts_.back());
    add_column(std::move(name), {.integer = false, .type = Type::Varchar, .width = 100},
               {.kind = ValueType::Kind::Text, .sql = SqlType::text(characters, utf8_collation())});
  }
  /// `value`: a constant_time() of the kind; or nothing.
  void add_time(std::string name, SqlType::Kind kind, std::optional<std::string> value, unsigned scale = 0) {
    const auto time = value ? constant_time(kind, *value) : constant_null();
    const bool is_span = kind == SqlType::Kind::Time;
    add_number(std::move(name), time->is_null() ? std::nullopt : time->whole_constant(),
               {.kind = is_span ? ValueType::Kind::Span : ValueType::Kind::Moment,
                .sql = SqlType::moment(kind, scale)});
  }

  const NamedColumns& columns() const { return columns_; }
  std::string name(uint16_t position) const { return quoted_name(names_[position]); }

  /// The value as SQL writes it; "failed" of a row that fails.
  std::string evaluate(const Expression& expression) {
    const auto shown = as_shown(expression);
    if (!shown) return shown.error().message();
    const auto program = std::make_shared<Program>();
    const auto result = program->add(*shown);
    Evaluator evaluator(program);
    std::vector<const ColumnVector*> columns;
    for (const ColumnVector& vector : vectors_) columns.push_back(&vector);
    evaluator.run({.rows = 1, .columns = columns});
    const Computed& made = evaluator.result(result);
    if (made.failure(0) >= unknown_value) return "failed";
    if (made.is_null(0)) return made.failure(0) != 0 ? "NULL, warned" : "NULL";
    return constant_text_of(*shown, made);
  }
  std::string evaluate(std::string_view text) {
    const auto parsed = parse_expression(text, columns_);
    return parsed ? evaluate(*parsed) : parsed.error().message();
  }
  std::string type_of(std::string_view text) const {
    const auto parsed = parse_expression(text, columns_);
    return parsed ? to_text(parsed->sql()) : parsed.error().message();
  }

 private:
  ColumnVector& add(bool is_known) {
    ColumnVector& vector = vectors_.emplace_back();
    vector.nulls.push_back(is_known ? 0 : 1);
    vector.any_nulls = !is_known;
    return vector;
  }
  void add_number(std::string name, std::optional<int64_t> value, const ValueType& type) {
    const bool is_unsigned = type.kind == ValueType::Kind::Integer && type.is_unsigned;
    ColumnVector& vector = add(value.has_value());
    vector.integers.push_back(is_unsigned ? static_cast<uint64_t>(value.value_or(0))
                                          : order_signed(value.value_or(0), 8));
    add_column(std::move(name),
               {.integer = true, .type = is_unsigned ? Type::Unsigned : Type::Signed, .width = 8}, type);
  }
  void add_column(std::string name, const ScanColumn& column, const ValueType& type) {
    const auto position = static_cast<uint16_t>(names_.size());
    columns_.add(name, Expression::column(position, column).as(type));
    names_.push_back(std::move(name));
  }
  static std::string constant_text_of(const Expression& of, const Computed& made) {
    switch (made.kind) {
      case ValueKind::Text:
        return std::string(made.texts[0]);
      case ValueKind::Real:
        return to_text(Expression::constant(made.reals[0]).as(of.type()), {});
      case ValueKind::Integer:
        break;
    }
    return to_text(Expression::constant(made.number(0)).as(of.type()), {});
  }

  NamedColumns columns_;
  std::vector<std::string> names_;
  std::deque<std::string> texts_;
  std::deque<ColumnVector> vectors_;
};

/// A column of each type, with the names that random_expressions.h has.
inline void add_all_types(TypedRow& row) {
  row.add_integer("n", 7);
  row.add_integer("i", -3, false, 10);
  row.add_integer("u", 5, true, 20);
  row.add_decimal("a", 1999, 10, 2);
  row.add_decimal("b", -5, 4, 4);
  row.add_decimal("w", 123'456'789'012'345'678, 18, 6);
  row.add_real("d", 2.5);
  row.add_text("t", "Ä b ");
  row.add_text("v", std::nullopt);
  row.add_time("day", SqlType::Kind::Date, "2024-01-31");
  row.add_time("at", SqlType::Kind::DateTime, "2024-02-29 10:20:30");
  row.add_time("fine", SqlType::Kind::DateTime, "1999-12-31 23:59:59.999999", 6);
  row.add_time("span", SqlType::Kind::Time, "-10:20:30");
}

}  // namespace hailstone

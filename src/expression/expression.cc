#include "expression/expression.h"

#include <bit>
#include <utility>

#include "base/check.h"

namespace hailstone {

void ColumnFunction::of_all(std::span<const uint64_t> ordered, int64_t* to, uint8_t* unknown) const {
  for (size_t i = 0; i < ordered.size(); ++i) {
    const auto number = of(Value::of(ordered[i]));
    to[i] = number.value_or(0);
    unknown[i] = number ? 0 : 1;
  }
}

HugeInteger ColumnFunction::huge_of(ByteView value) const {
  return HugeInteger::of(of(Value::of(value)).value_or(0));
}

namespace {

ValueType type_of(ValueKind values) {
  switch (values) {
    case ValueKind::Integer:
      return {};
    case ValueKind::Real:
      return {.kind = ValueType::Kind::Double};
    case ValueKind::Text:
      return {.kind = ValueType::Kind::Text};
  }
  return {};
}

/// The argument whose kind and type a function has; nothing: it has its own.
std::optional<size_t> argument_of_result(ResultKind kind) {
  switch (kind) {
    case ResultKind::OfFirst:
      return 0;
    case ResultKind::OfSecond:
      return 1;
    default:
      return std::nullopt;
  }
}

ValueKind values_of(ResultKind kind) {
  if (kind == ResultKind::Real) return ValueKind::Real;
  return kind == ResultKind::Text ? ValueKind::Text : ValueKind::Integer;
}

}  // namespace

Expression Expression::column(uint16_t position, const ScanColumn& column) {
  const bool is_real = column.type == Type::Float || column.type == Type::Double;
  const ValueKind values =
      column.integer ? (is_real ? ValueKind::Real : ValueKind::Integer) : ValueKind::Text;
  return Expression({.kind = Kind::Column,
                     .values = values,
                     .type = type_of(values),
                     .position = position,
                     .column = column});
}

Expression Expression::column_of_numbers(uint16_t position, const ScanColumn& column) {
  return Expression({.kind = Kind::Column, .position = position, .column = column});
}

Expression Expression::of_column(uint16_t position, const ScanColumn& column,
                                 std::shared_ptr<const ColumnFunction> function) {
  return Expression(
      {.kind = Kind::OfColumn, .position = position, .column = column, .of_column = std::move(function)});
}

Expression Expression::constant(int64_t value) {
  return Expression({.kind = Kind::Constant, .integer = value});
}

Expression Expression::constant(const HugeInteger& value) {
  if (value.has_64_bits()) return constant(value.narrow());
  return Expression({.kind = Kind::Constant, .huge = value});
}

Expression Expression::constant(double value) {
  return Expression(
      {.kind = Kind::Constant, .values = ValueKind::Real, .type = type_of(ValueKind::Real), .real = value});
}

Expression Expression::constant(std::string value) {
  return Expression({.kind = Kind::Constant,
                     .values = ValueKind::Text,
                     .type = type_of(ValueKind::Text),
                     .text = std::move(value)});
}

Expression Expression::null(ValueKind values) {
  return Expression({.kind = Kind::Null, .values = values, .type = type_of(values)});
}

Expression Expression::matches(const Predicate& predicate, uint16_t position, const ScanColumn& column) {
  switch (predicate.kind()) {
    case Predicate::Kind::Always:
      return constant(int64_t{1});
    case Predicate::Kind::Never:
      return constant(int64_t{0});
    default:
      break;
  }
  HAILSTONE_CHECK(predicate.parts().empty(), "a predicate of {} parts where a leaf is wanted",
                  predicate.parts().size());
  return Expression({.kind = Kind::Matches,
                     .position = position,
                     .column = column,
                     .predicate = std::make_shared<const Predicate>(predicate)});
}

Expression Expression::call(Function function, std::vector<Expression> arguments, FunctionSettings settings) {
  Node node{.kind = Kind::Call, .function = function};
  const ResultKind kind = line_of(function).result;
  if (const auto argument = argument_of_result(kind)) {
    node.values = arguments[*argument]->values;
    node.type = arguments[*argument].type();
  } else {
    node.values = values_of(kind);
    node.type = type_of(node.values);
  }
  node.settings = std::move(settings);
  node.arguments = std::move(arguments);
  return Expression(std::move(node));
}

Expression Expression::as(const ValueType& type) const {
  Node node = *node_;
  node.type = type;
  return Expression(std::move(node));
}

Expression Expression::as(const SqlType& type) const {
  Node node = *node_;
  node.type.sql = type;
  return Expression(std::move(node));
}

Expression Expression::said(Said words) const {
  Node node = *node_;
  node.said = std::make_shared<const Said>(std::move(words));
  return Expression(std::move(node));
}

bool Expression::Said::operator==(const Said& other) const {
  return name == other.name && word == other.word && arguments == other.arguments;
}

bool Expression::operator==(const Expression& other) const {
  const Node &one = *node_, &two = *other.node_;
  if (&one == &two) return true;
  if (one.kind != two.kind || one.type != two.type) return false;
  if (one.said != nullptr || two.said != nullptr)
    return one.said != nullptr && two.said != nullptr && *one.said == *two.said;
  return one.values == two.values && one.function == two.function && one.settings == two.settings &&
         one.arguments == two.arguments && one.position == two.position && one.column == two.column &&
         one.of_column == two.of_column && one.predicate == two.predicate && one.integer == two.integer &&
         one.huge == two.huge && std::bit_cast<uint64_t>(one.real) == std::bit_cast<uint64_t>(two.real) &&
         one.text == two.text;
}

std::optional<int64_t> Expression::whole_constant() const {
  const bool is_whole = is_constant() && node_->values == ValueKind::Integer && node_->huge == HugeInteger();
  return is_whole ? std::optional(node_->integer) : std::nullopt;
}

}  // namespace hailstone

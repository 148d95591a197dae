// An expression over the columns of a batch: an immutable tree of columns, constants and calls of the table
// of functions. A node knows the type of its values, and in which array of a register they are. Subtrees may
// be shared: a tree of n nodes is handled in n steps. Cheap to copy, safe to share between threads.
//
// What an expression computes is exact or marked (Failure): where a row's result leaves 64 bits, divides by
// zero, or is a value that a ColumnFunction cannot tell. A failure belongs to its row and node. It goes on to
// the nodes above. It ends behind what decides AND or OR, in a branch that CASE does not take, and behind a
// first NULL of a comparison: the embedding application would not have looked there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "column/predicate.h"
#include "expression/computed.h"
#include "expression/function.h"
#include "expression/value_type.h"
#include "table/scan.h"

namespace hailstone {

/// A whole number made of a stored value, by the embedding application's rules. Thread-safe. Of a column of
/// strings that is stored as codes it is asked once a code.
class ColumnFunction {
 public:
  virtual ~ColumnFunction() = default;
  /// Nothing: not to be told here. Of a value that is not NULL, of an Integer or a Bytes column.
  virtual std::optional<int64_t> of(const Value& value) const = 0;
  /// Sets bits in `unknown` for ordered values that are not to be told; their numbers are any.
  virtual void of_all(std::span<const uint64_t> ordered, int64_t* to, uint8_t* unknown) const;
  /// Whether numbers may have more than 64 bits: huge_of() gives them, of Bytes columns only.
  virtual bool is_huge() const { return false; }
  virtual HugeInteger huge_of(ByteView value) const;
};

class Expression {
 public:
  enum class Kind : uint8_t {
    Column,    // values of a column
    OfColumn,  // a ColumnFunction of a column
    Constant,
    Null,
    Matches,  // whether a predicate of a single leaf is true: 0 or 1
    Call,     // of a Function
  };

  /// The words of SQL that an expression was made of (calls.h).
  struct Said {
    std::string_view name;              // of the function or operator; it lives for ever
    std::vector<Expression> arguments;  // as they were said
    std::string word;                   // a unit of time, the type of a CAST, what TRIM cuts
    bool operator==(const Said& other) const;
  };

  struct Node {
    Kind kind = Kind::Null;
    ValueKind values = ValueKind::Integer;
    ValueType type = {};
    // Call
    Function function = Function::Add;
    FunctionSettings settings = {};
    std::vector<Expression> arguments = {};
    // Column, OfColumn, Matches
    uint16_t position = 0;  // of the column among the batch's
    ScanColumn column = {};
    std::shared_ptr<const ColumnFunction> of_column = nullptr;
    std::shared_ptr<const Predicate> predicate = nullptr;
    // Constant
    int64_t integer = 0;
    HugeInteger huge = {};  // of more bits, in the place of `integer`
    double real = 0;
    std::string text = {};
    /// Null: it was not made of words.
    std::shared_ptr<const Said> said = nullptr;
  };

  /// Of a column of Signed, Unsigned, Float or Double, or of bytes.
  static Expression column(uint16_t position, const ScanColumn& column);
  /// Of a column of OrderedBytes, of 16 or 32, which are a number (ordered_wide.h).
  static Expression column_of_numbers(uint16_t position, const ScanColumn& column);
  static Expression of_column(uint16_t position, const ScanColumn& column,
                              std::shared_ptr<const ColumnFunction> function);
  static Expression constant(int64_t value);
  static Expression constant(const HugeInteger& value);
  static Expression constant(double value);
  static Expression constant(std::string value);
  static Expression null(ValueKind values);
  /// `predicate` is Always, Never or one leaf, which reads the column at `position`.
  static Expression matches(const Predicate& predicate, uint16_t position, const ScanColumn& column);
  /// The arguments are of the kinds that the function's line says. The type is that of the line: of a
  /// function that has its first argument's, or its second one's, all of that.
  static Expression call(Function function, std::vector<Expression> arguments,
                         FunctionSettings settings = {});

  /// The same values under another type.
  Expression as(const ValueType& type) const;
  /// The same under a type of SQL.
  Expression as(const SqlType& type) const;
  /// The same, which was made of these words.
  Expression said(Said words) const;

  const Node* operator->() const { return node_.get(); }
  const Node& operator*() const { return *node_; }
  const ValueType& type() const { return node_->type; }
  const SqlType& sql() const { return node_->type.sql; }
  bool is_real() const { return node_->values == ValueKind::Real; }
  bool is_constant() const { return node_->kind == Kind::Constant; }
  bool is_null() const { return node_->kind == Kind::Null; }
  bool is_call(Function function) const { return node_->kind == Kind::Call && node_->function == function; }
  /// A whole number, where it is a constant of at most 64 bits.
  std::optional<int64_t> whole_constant() const;

  /// Whether both are made in the same way of the same columns and constants. What was made of words is
  /// compared by them.
  bool operator==(const Expression& other) const;

 private:
  explicit Expression(Node node) : node_(std::make_shared<const Node>(std::move(node))) {}
  std::shared_ptr<const Node> node_;
};

}  // namespace hailstone

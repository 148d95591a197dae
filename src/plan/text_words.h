// The words of plans as text that print.cc writes and parse.cc reads.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "plan/plan.h"

namespace hailstone::plan {

struct AggregateWord {
  hailstone::Aggregate::Kind kind;
  std::string_view word;
};
inline constexpr std::array aggregate_words{
    AggregateWord{hailstone::Aggregate::Kind::Rows, "count_rows"},
    AggregateWord{hailstone::Aggregate::Kind::Values, "count"},
    AggregateWord{hailstone::Aggregate::Kind::Minimum, "min"},
    AggregateWord{hailstone::Aggregate::Kind::Maximum, "max"},
    AggregateWord{hailstone::Aggregate::Kind::Sum, "sum"},
    AggregateWord{hailstone::Aggregate::Kind::Spread, "spread"},
    AggregateWord{hailstone::Aggregate::Kind::BitAnd, "bit_and"},
    AggregateWord{hailstone::Aggregate::Kind::BitOr, "bit_or"},
    AggregateWord{hailstone::Aggregate::Kind::BitXor, "bit_xor"},
};

struct WindowWord {
  Window::Kind kind;
  std::string_view word;
};
inline constexpr std::array window_words{
    WindowWord{Window::Kind::RowNumber, "row_number"},
    WindowWord{Window::Kind::Rank, "rank"},
    WindowWord{Window::Kind::DenseRank, "dense_rank"},
};

inline constexpr std::array all_join_kinds{JoinKind::Inner, JoinKind::Left,     JoinKind::Semi,
                                           JoinKind::Anti,  JoinKind::NullAnti, JoinKind::Mark,
                                           JoinKind::Single};

struct SqlWord {
  SqlType::Kind kind;
  std::string_view word;
};
inline constexpr std::array sql_words{
    SqlWord{SqlType::Kind::Unknown, "unknown"},   SqlWord{SqlType::Kind::Null, "null"},
    SqlWord{SqlType::Kind::Integer, "integer"},   SqlWord{SqlType::Kind::Decimal, "decimal"},
    SqlWord{SqlType::Kind::Float, "float"},       SqlWord{SqlType::Kind::Double, "double"},
    SqlWord{SqlType::Kind::Text, "text"},         SqlWord{SqlType::Kind::Date, "date"},
    SqlWord{SqlType::Kind::DateTime, "datetime"}, SqlWord{SqlType::Kind::Instant, "timestamp"},
    SqlWord{SqlType::Kind::Time, "time"},
};
struct ValueWord {
  ValueType::Kind kind;
  std::string_view word;
};
inline constexpr std::array value_words{
    ValueWord{ValueType::Kind::Integer, "integer"}, ValueWord{ValueType::Kind::Decimal, "decimal"},
    ValueWord{ValueType::Kind::Double, "double"},   ValueWord{ValueType::Kind::Text, "text"},
    ValueWord{ValueType::Kind::Moment, "moment"},   ValueWord{ValueType::Kind::Span, "span"},
};

}  // namespace hailstone::plan

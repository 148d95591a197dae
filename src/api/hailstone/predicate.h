// The predicates of hailstone.h: trees as the application builds them, and what the engine makes of them for
// one table. A tree belongs to one thread. A part of a tree is no handle any more.
//
// AND within AND, and OR within OR, are one list: a condition that is built alternative by alternative is
// flat. What is nested all the same is limited, as trees are walked by recursion.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/hailstone/handles.h"
#include "column/predicate.h"

namespace hailstone::capi {

struct PredicateNode : Handle {
  using Public = hs_predicate;
  static constexpr HandleKind its_kind = HandleKind::Predicate;
  enum class Kind : uint8_t { Compare, In, IsNull, Like, And, Or, Not };
  /// A value with its bytes.
  struct Constant {
    hs_value value = hs_null();
    std::string bytes;
    explicit Constant(const hs_value& given);
    hs_value get() const;
  };
  explicit PredicateNode(Kind predicate_kind) : Handle(its_kind), node(predicate_kind) {}
  const Kind node;
  std::string column;
  hs_comparison comparison = HS_EQUAL;
  std::vector<Constant> constants;
  std::string pattern;
  char escape = 0;
  std::vector<std::unique_ptr<PredicateNode>> parts;
  unsigned depth = 1;                   // of the tree from here on
  std::unique_ptr<PredicateNode> next;  // in the list of a call that makes a tree of its parts
  static constexpr unsigned most_depth = 1000;
};

/// The predicate for the table, with NOT pushed to the leaves. HS_NOT_FOUND, HS_INVALID.
Returned<Predicate> compile(const TableShape& table, const PredicateNode& predicate);

}  // namespace hailstone::capi

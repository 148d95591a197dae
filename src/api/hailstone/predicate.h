// The predicates of hailstone.h: trees as the application builds them, and what the engine makes of them for
// one table. A tree belongs to one thread. A part of a tree stays a handle, but one that nobody but the tree
// may use or free, and that tells so (`owned`).
//
// AND within AND, and OR within OR, are one list: a condition that is built alternative by alternative is
// flat. What is nested all the same is limited, as trees are walked by recursion.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/hailstone/handles.h"
#include "column/predicate.h"

struct hs_predicate : hailstone::capi::Handle {
  enum class Kind : uint8_t { Compare, In, IsNull, Like, And, Or, Not };
  /// A value with its bytes.
  struct Constant {
    hs_value value = hs_null();
    std::string bytes;
    explicit Constant(const hs_value& given);
    hs_value get() const;
  };
  explicit hs_predicate(Kind predicate_kind)
      : Handle(hailstone::capi::HandleKind::Predicate), node(predicate_kind) {}
  const Kind node;
  std::string column;
  hs_comparison comparison = HS_EQUAL;
  std::vector<Constant> constants;
  std::string pattern;
  char escape = 0;
  std::vector<std::unique_ptr<hs_predicate>> parts;
  /// Nodes whose parts have become those of this one: handles still, so that using one is an error, no crash.
  std::vector<std::unique_ptr<hs_predicate>> emptied;
  unsigned depth = 1;            // of the tree from here on
  bool owned = false;            // by a tree, or by a call that makes one
  hs_predicate* next = nullptr;  // in the list of such a call
  static constexpr unsigned most_depth = 1000;
};

namespace hailstone::capi {

/// The predicate for the table, with NOT pushed to the leaves. HS_NOT_FOUND, HS_INVALID.
Returned<Predicate> compile(const TableShape& table, const hs_predicate& predicate);

}  // namespace hailstone::capi

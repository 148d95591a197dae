// The predicates of hailstone.h: trees as the application builds them, and what the engine makes of them for
// one table. A tree belongs to one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/hailstone_handles.h"
#include "query/predicate.h"

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
};

namespace hailstone::capi {

/// The predicate for the table, with NOT pushed to the leaves. HS_NOT_FOUND, HS_INVALID.
Returned<Predicate> compile(const TableShape& table, const hs_predicate& predicate);

}  // namespace hailstone::capi

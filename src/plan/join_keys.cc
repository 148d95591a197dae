#include "plan/join_keys.h"

namespace hailstone::plan {

bool are_keys(const ScanColumn& probe, const ScanColumn& build, ValueKind values,
              const Collation* collation) {
  if (values == ValueKind::Text) return collation != nullptr;
  if (!probe.integer || !build.integer) return !probe.integer && !build.integer && probe.width == build.width;
  const auto is_whole = [](const ScanColumn& column) {
    return column.type == Type::Signed || column.type == Type::Unsigned;
  };
  if (values == ValueKind::Integer) return is_whole(probe) && is_whole(build);
  return probe.type == Type::Double && build.type == Type::Double;
}

}  // namespace hailstone::plan

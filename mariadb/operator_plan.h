// What the engine does for a block of a SELECT, operator by operator: what EXPLAIN EXTENDED tells, and
// INFORMATION_SCHEMA.HAILSTONE_QUERIES shows with what each has done.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace hailstone {

enum class Operator : uint8_t { Scan, Join, Filter, Evaluate, Compute, Group, Having, Sort, FirstRows };
constexpr std::array<const char*, 9> operator_names{"scan",  "join",   "filter", "evaluate",  "compute",
                                                    "group", "having", "sort",   "first rows"};

struct PlannedOperator {
  Operator kind = Operator::Scan;
  std::string what = {};      // what it does, in words
  uint64_t rows = 0;          // estimated: that come out of a join, or of a scan below one; of others at most
  uint64_t rows_to_read = 0;  // of a scan, estimated
  unsigned inside = 0;        // how many joins stand above it
  size_t source = 0;          // of a scan: the number of its table among those of the block
  bool is_small = false;      // of groups: there is one, of which only counts, sums and such are kept
};

/// Each takes the rows of the one behind it; the first hands them to the server. A join takes those of two:
/// first stands the side whose rows are looked up in the other's.
using OperatorPlan = std::vector<PlannedOperator>;

/// A line for each operator.
std::vector<std::string> lines_of(const OperatorPlan& plan);

}  // namespace hailstone

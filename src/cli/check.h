// Checks every byte of the tables of an open database.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"

namespace hailstone {

struct CheckResult {
  uint64_t sound = 0;
  uint64_t damaged = 0;
  uint64_t in_part = 0;    // that have nothing wrong, but keys that only the program that made them can make
  uint64_t unchecked = 0;  // that only the program that made them can read
};

/// Prints a line for each table that is not sound, and with `verbose` for all. `names` empty: all tables.
Result<CheckResult> check_tables(Session& session, std::vector<std::string> names, bool verbose);
/// A line about the manifest of a database that is not open, when its end is torn; else empty.
std::string torn_end(const std::string& directory);
/// "3 tables are sound, 0 damaged", and what was not checked.
std::string summary_of(const CheckResult& result);
void print_summary(const CheckResult& result);

}  // namespace hailstone

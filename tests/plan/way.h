// In which way a plan is computed: the choices that must not change its rows.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <random>
#include <string>

namespace hailstone::plan {

struct Way {
  unsigned threads = 1;
  bool pulled = true;
  size_t memory = size_t{1} << 30;  // of the database
  size_t query_limit = 0;           // 0: none
  bool limit_is_own = false;        // the query's; else that of all queries
  bool by_rules = false;            // what all rules have made of the plan, with another order of its joins
  bool by_statistics = false;       // of the tables; else this order is by chance
};

inline Way random_way(std::mt19937_64& random) {
  return {.threads = random() % 3 == 0 ? 2 + static_cast<unsigned>(random() % 3) : 1U,
          .pulled = random() % 4 != 0,
          .memory = random() % 3 == 0 ? size_t{16} << 20 : size_t{1} << 30,
          .query_limit = std::array<size_t, 4>{0, 0, 1, size_t{1} << 16}[random() % 4],
          .limit_is_own = random() % 2 == 0,
          .by_rules = random() % 2 == 0,
          .by_statistics = random() % 2 == 0};
}

inline std::string to_string(const Way& way) {
  return fmt::format("{} threads, {}, memory {}, limit {}{}{}", way.threads, way.pulled ? "pulled" : "pushed",
                     way.memory, way.query_limit, way.limit_is_own ? " of the query" : "",
                     !way.by_rules       ? ""
                     : way.by_statistics ? ", by rules and statistics"
                                         : ", by rules");
}

/// How many plans a test asks: HAILSTONE_PLANS, if it is set.
inline uint64_t plans_wanted(uint64_t fallback) {
  const char* const given = std::getenv("HAILSTONE_PLANS");
  return given == nullptr ? fallback : std::strtoull(given, nullptr, 0);
}

}  // namespace hailstone::plan

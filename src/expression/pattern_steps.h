// How many steps a regular expression may take, as a program that tries one way after the other counts them:
// such a program gives up behind a limit, and another way of matching must not answer where it would have
// given up. Of patterns that are made of the usual things; of others there is no bound. Stateless.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hailstone {

/// Steps from one place of a text of `bytes` bytes on, at most: factor * (bytes + 1)^degree.
struct PatternSteps {
  double factor = 1;
  unsigned degree = 0;

  double of(uint64_t bytes) const;
};

/// Of a pattern in Perl's syntax without options. Nothing: there is no bound, or it is not known.
std::optional<PatternSteps> pattern_steps(std::string_view pattern);

}  // namespace hailstone

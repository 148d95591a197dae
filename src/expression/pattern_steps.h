// How many steps a regular expression may take. PCRE2's interpreter tries one way after the other, counts its
// steps, and gives up behind a limit. Compiled code must not answer where the interpreter would have given
// up. There is a bound for patterns that are made of the usual things. Stateless.
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
  /// The longest text, in bytes, that takes at most so many. Nothing: even an empty one may take more.
  std::optional<uint64_t> most_bytes(double steps) const;
};

/// Of a pattern in Perl's syntax without options. Nothing: there is no bound, or it is not known.
std::optional<PatternSteps> pattern_steps(std::string_view pattern);

}  // namespace hailstone

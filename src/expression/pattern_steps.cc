#include "expression/pattern_steps.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace hailstone {

namespace {

constexpr unsigned most_degree = 6, most_depth = 50;

/// In how many ways something may match from one place on.
using Ways = PatternSteps;

/// Reads a pattern once. Each step of a match is at one item of the pattern, and belongs to one combination
/// of the ways of the items before. So there are no more steps than items times ways.
class PatternReader {
 public:
  explicit PatternReader(std::string_view pattern) : rest_(pattern) {}

  /// Of alternatives, up to the end or a closing bracket.
  std::optional<Ways> alternatives(unsigned depth) {
    if (depth > most_depth) return std::nullopt;
    Ways sum{.factor = 0}, greatest;
    std::string firsts;
    bool are_different = true;
    do {
      const char first = first_letter();
      are_different &= first != '\0' && !firsts.contains(first);
      firsts += first;
      const auto ways = sequence(depth);
      if (!ways) return std::nullopt;
      sum = {.factor = sum.factor + ways->factor, .degree = std::max(sum.degree, ways->degree)};
      greatest = {.factor = std::max(greatest.factor, ways->factor), .degree = sum.degree};
    } while (take('|'));
    // Of alternatives that begin with different letters, only one can match.
    return are_different ? greatest : sum;
  }
  bool is_at_end() const { return rest_.empty(); }

 private:
  bool take(char wanted) {
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// What all texts begin with that match what follows: a letter or digit, in lower case; else 0.
  char first_letter() const {
    if (rest_.empty() || (rest_.size() > 1 && std::string_view("?*+{").contains(rest_[1]))) return '\0';
    const char first = rest_.front();
    if (first >= 'A' && first <= 'Z') return static_cast<char>(first - 'A' + 'a');
    return (first >= 'a' && first <= 'z') || (first >= '0' && first <= '9') ? first : '\0';
  }

  std::optional<Ways> sequence(unsigned depth) {
    Ways all;
    while (!rest_.empty() && rest_.front() != '|' && rest_.front() != ')') {
      const auto ways = item(depth);
      if (!ways) return std::nullopt;
      all = {.factor = all.factor * ways->factor, .degree = all.degree + ways->degree};
      if (all.degree > most_degree) return std::nullopt;
    }
    return all;
  }

  std::optional<Ways> item(unsigned depth) {
    bool is_group = false;
    Ways ways;
    if (take('(')) {
      is_group = true;
      if (rest_.starts_with("?:")) {
        rest_.remove_prefix(2);
      } else if (rest_.starts_with('?') || rest_.starts_with('*')) {
        return std::nullopt;
      }
      const auto inner = alternatives(depth + 1);
      if (!inner || !take(')')) return std::nullopt;
      ways = *inner;
    } else if (!character()) {
      return std::nullopt;
    }
    return repeated(ways, is_group);
  }

  /// With the quantifier that follows.
  std::optional<Ways> repeated(Ways ways, bool is_group) {
    constexpr double most_of_range = 1000;
    if (take('?')) {
      ways.factor += 1;
    } else {
      const bool is_range = take_range();
      if (!is_range && !take('*') && !take('+')) return ways;
      // What has several ways, and is repeated, has as many as there are numbers.
      if (ways.degree > 0 || ways.factor > 1) return std::nullopt;
      ways = {.factor = is_group ? (is_range ? most_of_range : 2) : 1, .degree = 1};
    }
    // Lazy, or possessive.
    if (!take('?')) take('+');
    return ways;
  }

  /// {n}, {n,} or {n,m} of numbers below 1,000.
  bool take_range() {
    constexpr size_t most_digits = 3;
    if (!rest_.starts_with('{')) return false;
    const size_t end = rest_.find_first_not_of("0123456789,", 1);
    if (end == std::string_view::npos || rest_[end] != '}') return false;
    const std::string_view range = rest_.substr(1, end - 1);
    const size_t comma = std::min(range.find(','), range.size());
    const std::string_view second = comma == range.size() ? "" : range.substr(comma + 1);
    if (comma == 0 || comma > most_digits || second.size() > most_digits || second.contains(','))
      return false;
    rest_.remove_prefix(end + 1);
    return true;
  }

  bool character() {
    const char first = rest_.front();
    rest_.remove_prefix(1);
    if (first == '[') return bracket_class();
    if (first == '\\') return escaped();
    // A brace that is no range that is read here may be another one.
    return !std::string_view("*+?{").contains(first);
  }

  bool escaped() {
    if (rest_.empty()) return false;
    const char letter = rest_.front();
    rest_.remove_prefix(1);
    const bool is_alphanumeric = (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
                                 (letter >= 'a' && letter <= 'z') ||
                                 static_cast<unsigned char>(letter) >= 0x80;
    return !is_alphanumeric || std::string_view("dDwWsSbBntrfA").contains(letter);
  }

  bool bracket_class() {
    take('^');
    // First, it stands for itself.
    take(']');
    while (!rest_.empty()) {
      if (take(']')) return true;
      if (rest_.starts_with("[:")) {
        const size_t end = rest_.find(":]");
        if (end == std::string_view::npos) return false;
        rest_.remove_prefix(end + 2);
      } else if (take('\\')) {
        if (!escaped()) return false;
      } else if (take('[')) {
        // A character, or something that is not read here.
        if (rest_.starts_with('.') || rest_.starts_with('=')) return false;
      } else {
        rest_.remove_prefix(1);
      }
    }
    return false;
  }

  std::string_view rest_;
};

}  // namespace

double PatternSteps::of(uint64_t bytes) const {
  return factor * std::pow(static_cast<double>(bytes) + 1, degree);
}

std::optional<uint64_t> PatternSteps::most_bytes(double steps) const {
  if (of(0) > steps) return std::nullopt;
  uint64_t low = 0, above = uint64_t{1} << 32;
  while (low + 1 < above) {
    const uint64_t middle = low + (above - low) / 2;
    (of(middle) > steps ? above : low) = middle;
  }
  return low;
}

std::optional<PatternSteps> pattern_steps(std::string_view pattern) {
  constexpr std::string_view any_case = "(?i)";
  if (pattern.starts_with(any_case)) pattern.remove_prefix(any_case.size());
  PatternReader reader(pattern);
  auto ways = reader.alternatives(0);
  if (!ways || !reader.is_at_end()) return std::nullopt;
  // An item may count for several steps: the brackets of a group, and what is tried behind it.
  constexpr double steps_of_item = 8;
  ways->factor *= steps_of_item * (static_cast<double>(pattern.size()) + 1);
  return ways;
}

}  // namespace hailstone

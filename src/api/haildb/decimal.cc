#include "api/haildb/decimal.h"

#include <algorithm>

namespace hailstone::haildb {
namespace {

constexpr char below_zero = 1;
constexpr char zero = 2;
constexpr char above_zero = 3;
constexpr uint64_t exponent_bias = uint64_t{1} << 40;

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

class DecimalCollation final : public Collation {
 public:
  uint32_t id() const override { return decimal_collation_id; }
  int compare(ByteView a, ByteView b) const override {
    std::string of_a, of_b;
    append_weights(a, of_a);
    append_weights(b, of_b);
    return of_a.compare(of_b);
  }
  // The sign; of what is not zero then the exponent and the digits, of a negative number with all bits
  // flipped. The byte behind the digits of a negative number sorts above all digits, so that -1.25 comes
  // before -1.2.
  void append_weights(ByteView value, std::string& to) const override {
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    bool negative = false;
    if (!value.empty() && (value.front() == '-' || value.front() == '+')) {
      negative = value.front() == '-';
      value.remove_prefix(1);
    }
    const auto whole_end = std::find_if_not(value.begin(), value.end(), is_digit);
    ByteView whole(value.begin(), whole_end);
    ByteView fraction;
    if (whole_end != value.end() && *whole_end == '.') {
      fraction = ByteView(whole_end + 1, std::find_if_not(whole_end + 1, value.end(), is_digit));
    }
    while (!whole.empty() && whole.front() == '0') whole.remove_prefix(1);
    while (!fraction.empty() && fraction.back() == '0') fraction.remove_suffix(1);
    uint64_t exponent = exponent_bias + whole.size();
    if (whole.empty()) {
      while (!fraction.empty() && fraction.front() == '0') {
        fraction.remove_prefix(1);
        --exponent;
      }
    }
    if (whole.empty() && fraction.empty()) {
      to.push_back(zero);
      return;
    }
    to.push_back(negative ? below_zero : above_zero);
    const size_t from = to.size();
    char bytes[8];
    store_big_endian(bytes, exponent, sizeof bytes);
    to.append(bytes, sizeof bytes).append(whole);
    if (fraction.empty()) {
      // 100 and 1 followed by nothing differ in the exponent alone.
      while (to.back() == '0') to.pop_back();
    }
    to.append(fraction);
    if (!negative) return;
    for (size_t i = from; i < to.size(); ++i) to[i] = static_cast<char>(~static_cast<unsigned char>(to[i]));
    to.push_back('\xff');
  }
  size_t prefix_bytes(ByteView value, size_t characters) const override {
    return std::min(value.size(), characters);
  }
  Equality equality() const override { return Equality::Weights; }
  bool bytes_decide_order() const override { return false; }
};

class Resolver final : public CollationResolver {
 public:
  Result<const Collation*> resolve(uint32_t id) const override {
    if (id == decimal_collation_id) return &decimal_collation();
    return CollationResolver::resolve(id);
  }
};

}  // namespace

const Collation& decimal_collation() {
  static const DecimalCollation collation;
  return collation;
}

const CollationResolver& collations() {
  static const Resolver resolver;
  return resolver;
}

}  // namespace hailstone::haildb

#include "schema/collation.h"

#include <algorithm>

#include <fmt/format.h>

#include "schema/padding.h"

namespace hailstone {
namespace {

class BinaryCollation final : public Collation {
 public:
  uint32_t id() const override { return binary_collation_id; }
  int compare(ByteView a, ByteView b) const override { return a.compare(b); }
  void append_weights(ByteView value, std::string& to) const override { to.append(value); }
  size_t prefix_bytes(ByteView value, size_t characters) const override {
    return std::min(value.size(), characters);
  }
  Equality equality() const override { return Equality::Bytes; }
  bool bytes_decide_order() const override { return true; }
};

class BinaryPaddedCollation final : public Collation {
 public:
  uint32_t id() const override { return binary_padded_collation_id; }
  int compare(ByteView a, ByteView b) const override { return compare_padded_bytes(a, b, ' '); }
  void append_weights(ByteView value, std::string& to) const override {
    append_padded_weights(value, 1, ' ', to);
  }
  size_t prefix_bytes(ByteView value, size_t characters) const override {
    return std::min(value.size(), characters);
  }
  Equality equality() const override { return Equality::BytesBeforeSpaces; }
  bool bytes_decide_order() const override { return false; }
};

}  // namespace

const Collation& binary_collation() {
  static const BinaryCollation collation;
  return collation;
}

const Collation& binary_padded_collation() {
  static const BinaryPaddedCollation collation;
  return collation;
}

Result<const Collation*> CollationResolver::resolve(uint32_t id) const {
  if (id == binary_collation_id) return &binary_collation();
  if (id == binary_padded_collation_id) return &binary_padded_collation();
  return fail(ErrorCode::Unsupported, fmt::format("collation {} is unknown: the application that made the "
                                                  "table has to register its collations before "
                                                  "it opens the database",
                                                  id));
}

}  // namespace hailstone

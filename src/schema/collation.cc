#include "schema/collation.h"

#include <algorithm>

#include <memory>
#include <unordered_map>

#include <fmt/format.h>

#include "base/check.h"
#include "base/mutex.h"
#include "schema/padding.h"
#include "schema/utf8_characters.h"

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

class Utf8Collation final : public Collation {
 public:
  uint32_t id() const override { return utf8_collation_id; }
  int compare(ByteView a, ByteView b) const override { return a.compare(b); }
  void append_weights(ByteView value, std::string& to) const override { to.append(value); }
  size_t prefix_bytes(ByteView value, size_t characters) const override {
    size_t bytes = 0;
    for (; characters > 0 && bytes < value.size(); --characters)
      bytes += character_bytes(value.substr(bytes));
    return bytes;
  }
  bool has_wide_characters() const override { return true; }
  size_t characters(ByteView value) const override {
    size_t count = 0;
    for (; !value.empty(); ++count) value.remove_prefix(character_bytes(value));
    return count;
  }
  void append_upper(ByteView value, std::string& to) const override { append_cased(value, upper_case, to); }
  void append_lower(ByteView value, std::string& to) const override { append_cased(value, lower_case, to); }
  uint64_t locate(ByteView value, ByteView part) const override {
    for (uint64_t number = 1;; ++number) {
      if (value.starts_with(part)) return number;
      if (value.empty()) return 0;
      value.remove_prefix(character_bytes(value));
    }
  }
  Equality equality() const override { return Equality::Bytes; }
  bool bytes_decide_order() const override { return true; }

 private:
  static void append_cased(ByteView value, uint32_t (*cased)(uint32_t), std::string& to) {
    while (!value.empty()) {
      const size_t bytes = character_bytes(value);
      const uint32_t code = bytes == 2 ? two_byte_code(value) : static_cast<unsigned char>(value.front());
      // Of longer characters, and of what is none, the case stays.
      if (bytes > 2 || (bytes == 1 && code >= 0x80)) {
        to.append(value.substr(0, bytes));
      } else {
        append_code(cased(code), to);
      }
      value.remove_prefix(bytes);
    }
  }
};

/// Of another application.
class UnknownCollation final : public Collation {
 public:
  explicit UnknownCollation(uint32_t id) : id_(id) {}
  uint32_t id() const override { return id_; }
  bool has_weights() const override { return false; }
  int compare(ByteView a, ByteView b) const override { return a.compare(b); }
  void append_weights(ByteView, std::string&) const override {
    HAILSTONE_CHECK(false, "weights of collation {} were asked for, which this program does not know", id_);
  }
  size_t prefix_bytes(ByteView value, size_t characters) const override {
    return std::min(value.size(), characters);
  }
  Equality equality() const override { return Equality::Bytes; }
  bool bytes_decide_order() const override { return false; }

 private:
  const uint32_t id_;
};

class CollationsForReading final : public CollationResolver {
 public:
  Result<const Collation*> resolve(uint32_t id) const override {
    if (id < first_application_collation_id) return CollationResolver::resolve(id);
    const MutexLock guard(mutex_);
    auto& collation = known_[id];
    if (collation == nullptr) collation = std::make_unique<UnknownCollation>(id);
    return collation.get();
  }

 private:
  mutable Mutex mutex_;
  mutable std::unordered_map<uint32_t, std::unique_ptr<const UnknownCollation>> known_
      HAILSTONE_GUARDED_BY(mutex_);
};

}  // namespace

const CollationResolver& collations_for_reading() {
  static const CollationsForReading* const all = new CollationsForReading;  // tables may outlive main()
  return *all;
}

const Collation& binary_collation() {
  static const BinaryCollation collation;
  return collation;
}

const Collation& utf8_collation() {
  static const Utf8Collation collation;
  return collation;
}

const Collation& binary_padded_collation() {
  static const BinaryPaddedCollation collation;
  return collation;
}

Result<const Collation*> CollationResolver::resolve(uint32_t id) const {
  if (id == binary_collation_id) return &binary_collation();
  if (id == binary_padded_collation_id) return &binary_padded_collation();
  if (id == utf8_collation_id) return &utf8_collation();
  return fail(ErrorCode::Unsupported, fmt::format("collation {} is unknown: the application that made the "
                                                  "table has to register its collations before "
                                                  "it opens the database",
                                                  id));
}

}  // namespace hailstone

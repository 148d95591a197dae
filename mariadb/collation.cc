#include "collation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "schema/padding.h"

namespace hailstone {

namespace {

const uchar* bytes_of(ByteView value) { return reinterpret_cast<const uchar*>(value.data()); }

class MariaDbCollation final : public Collation {
 public:
  explicit MariaDbCollation(CHARSET_INFO* charset)
      : charset_(charset),
        pads_((charset->state & MY_CS_NOPAD) == 0 && charset != &my_charset_bin),
        by_bytes_((charset->state & MY_CS_BINSORT) != 0 && charset->mbminlen == 1),
        is_big5_(!by_bytes_ && ByteView(charset->cs_name.str, charset->cs_name.length) == "big5") {
    if (by_bytes_ || is_big5_) return;
    // The Czech collations go over a value several times.
    irregular_ = charset->uca == nullptr && charset->levels_for_order != 1;
    std::string space(charset->mbmaxlen, '\0');
    auto* const begin = reinterpret_cast<uchar*>(space.data());
    space.resize(static_cast<size_t>(std::max(charset->wc_mb(' ', begin, begin + space.size()), 0)));
    for (uint level = 0; level < MY_STRXFRM_NLEVELS; ++level) {
      if ((charset->levels_for_order >> level & 1) == 0) continue;
      const uint flag = MY_STRXFRM_LEVEL1 << level;
      std::string weight;
      append_level(space, flag, weight);
      // Weights that are no plain sequence of units, one a character.
      if (weight.empty() || weight.size() > 4) irregular_ = true;
      levels_.push_back({flag, pads_ || level > 0, weight});
    }
  }

  uint32_t id() const override { return first_application_collation_id + charset_->number; }

  int compare(ByteView a, ByteView b) const override {
    return charset_->strnncollsp(a.data(), a.size(), b.data(), b.size());
  }

  void append_weights(ByteView value, std::string& to) const override {
    if (by_bytes_) {
      if (pads_) {
        append_padded_weights(value, 1, ' ', to);
      } else {
        to.append(value);
      }
      return;
    }
    if (is_big5_) {
      std::string weights;
      append_big5(value, weights);
      if (pads_) {
        append_padded_weights(weights, 1, ' ', to);
      } else {
        to.append(weights);
      }
      return;
    }
    if (irregular_) {
      if (pads_) value = value.substr(0, charset_->lengthsp(value.data(), value.size()));
      append_level(value, 0, to);
      return;
    }
    for (size_t i = 0; i < levels_.size(); ++i) {
      if (levels_[i].pads) {
        const ByteView space = levels_[i].space;
        std::string weights;
        append_level(value, levels_[i].flag, weights);
        const auto unit = static_cast<unsigned>(space.size());
        append_padded_weights(weights, unit, static_cast<uint32_t>(load_big_endian(space.data(), unit)), to);
      } else {
        append_level(value, levels_[i].flag, to);
        // Below every weight, so that of two values with equal beginnings the shorter one is less on this
        // level already.
        if (i + 1 < levels_.size()) to.append(2, '\0');
      }
    }
  }

  size_t prefix_bytes(ByteView value, size_t characters) const override {
    if (charset_->mbmaxlen == 1) return std::min(value.size(), characters);
    return std::min(value.size(), charset_->charpos(value.data(), value.data() + value.size(), characters));
  }

  bool bytes_decide_equality() const override { return by_bytes_ && !pads_; }
  bool bytes_decide_order() const override { return by_bytes_ && !pads_; }

 private:
  struct Level {
    uint flag;
    bool pads;          // NO PAD collations pad all levels but the first
    std::string space;  // weight of the space
  };

  /// Big5's collations sort by strokes but compare by codes, and it is comparing that counts in keys.
  void append_big5(ByteView value, std::string& to) const {
    const uchar* at = bytes_of(value);
    const uchar* const end = at + value.size();
    while (at < end) {
      const int size = charset_->charlen(at, end);
      if (size == 2) {
        to.append(reinterpret_cast<const char*>(at), 2);
        at += 2;
        continue;
      }
      // No character: above all that are some.
      if (size != 1) to.push_back('\xff');
      to.push_back(static_cast<char>(size == 1 ? charset_->sort_order[*at] : *at));
      ++at;
    }
  }

  /// Appends the weights on one level, without padding.
  void append_level(ByteView value, uint flag, std::string& to) const {
    const size_t start = to.size();
    // A character may expand to more weights than strnxfrmlen foresees: whatever nearly fills the room is
    // done again in more of it.
    for (size_t room = charset_->strnxfrmlen(value.size()) + 16;; room *= 2) {
      to.resize(start + room);
      const size_t used = charset_->strnxfrm(reinterpret_cast<uchar*>(to.data() + start), room,
                                             static_cast<uint>(room), bytes_of(value), value.size(), flag);
      if (used + 8 > room) continue;
      to.resize(start + used);
      return;
    }
  }

  CHARSET_INFO* const charset_;
  const bool pads_;
  const bool by_bytes_;  // but for padding
  const bool is_big5_;
  bool irregular_ = false;
  std::vector<Level> levels_;
};

class MariaDbCollations final : public CollationResolver {
 public:
  Result<const Collation*> resolve(uint32_t id) const override {
    if (id < first_application_collation_id) return CollationResolver::resolve(id);
    CHARSET_INFO* charset = get_charset(id - first_application_collation_id, MYF(0));
    if (charset == nullptr) {
      return fail(
          ErrorCode::Unsupported,
          fmt::format(
              "collation number {} is unknown to this server; open the table with a server that has it, "
              "or add it to the server's character set files",
              id - first_application_collation_id));
    }
    return &of(charset);
  }

  const Collation& of(CHARSET_INFO* charset) const {
    const std::lock_guard guard(mutex_);
    auto& collation = known_[charset->number];
    if (!collation) collation = std::make_unique<MariaDbCollation>(charset);
    return *collation;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::unordered_map<uint, std::unique_ptr<const MariaDbCollation>> known_;
};

const MariaDbCollations& collations() {
  static const MariaDbCollations all;
  return all;
}

}  // namespace

const Collation& mariadb_collation(CHARSET_INFO* charset) {
  if (charset == &my_charset_bin) return binary_collation();
  return collations().of(charset);
}

const CollationResolver& mariadb_collations() { return collations(); }

}  // namespace hailstone

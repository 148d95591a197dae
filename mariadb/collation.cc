#include "collation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "base/mutex.h"
#include "schema/padding.h"

namespace hailstone {

namespace {

constexpr unsigned length_shift = 16;

const uchar* bytes_of(ByteView value) { return reinterpret_cast<const uchar*>(value.data()); }

bool has_name(const CHARSET_INFO& charset, ByteView name) {
  return ByteView(charset.cs_name.str, charset.cs_name.length) == name;
}

bool is_thai(const CHARSET_INFO& charset) {
  return has_name(charset, "tis620") && (charset.state & MY_CS_BINSORT) == 0;
}

bool is_big5(const CHARSET_INFO& charset) {
  return has_name(charset, "big5") && (charset.state & MY_CS_BINSORT) == 0;
}

class MariaDbCollation final : public Collation {
 public:
  /// `characters`: of a CHAR column whose values compare with the spaces that fill it; else 0.
  MariaDbCollation(CHARSET_INFO* charset, uint32_t characters)
      : charset_(charset),
        characters_(characters),
        pads_((charset->state & MY_CS_NOPAD) == 0 && charset != &my_charset_bin),
        by_bytes_((charset->state & MY_CS_BINSORT) != 0 && charset->mbminlen == 1),
        byte_weights_(weights_of_bytes(*charset)),
        is_big5_(is_big5(*charset)),
        is_thai_(is_thai(*charset)) {
    if (by_bytes_ || is_big5_) return;
    // The Czech collations go over a value several times.
    irregular_ = charset->uca == nullptr && charset->levels_for_order != 1;
    const std::string space = filled({}, 1);
    for (uint level = 0; level < MY_STRXFRM_NLEVELS; ++level) {
      if ((charset->levels_for_order >> level & 1) == 0) continue;
      const uint flag = MY_STRXFRM_LEVEL1 << level;
      std::string weight;
      append_level(space, flag, weight);
      // Weights that are no plain sequence of units, one a character.
      if (weight.empty() || weight.size() > 4) irregular_ = true;
      levels_.push_back({flag, pads_ || (level > 0 && characters_ == 0), weight});
    }
  }

  uint32_t id() const override {
    return first_application_collation_id + charset_->number + (characters_ << length_shift);
  }

  int compare(ByteView a, ByteView b) const override {
    if (characters_ != 0) {
      const std::string filled_a = filled(a, characters_), filled_b = filled(b, characters_);
      return charset_->coll->strnncollsp_nchars(charset_, bytes_of(filled_a), filled_a.size(),
                                                bytes_of(filled_b), filled_b.size(), characters_, 0);
    }
    return charset_->strnncollsp(a.data(), a.size(), b.data(), b.size());
  }

  void append_weights(ByteView value, std::string& to) const override {
    if (characters_ != 0) {
      append_weights_of(filled(value, characters_), to);
    } else {
      append_weights_of(value, to);
    }
  }

  bool has_padded_pairs() const override {
    const bool by_levels = !irregular_ && byte_weights_ == nullptr;
    return by_levels && levels_.size() == 1 && levels_[0].pads && levels_[0].space.size() == 2;
  }

  size_t prefix_bytes(ByteView value, size_t characters) const override {
    if (charset_->mbmaxlen == 1) return std::min(value.size(), characters);
    return std::min(value.size(), charset_->charpos(value.data(), value.data() + value.size(), characters));
  }

  bool has_wide_characters() const override { return charset_->mbmaxlen > 1; }

  size_t characters(ByteView value) const override {
    return charset_->numchars(value.data(), value.data() + value.size());
  }

  void append_upper(ByteView value, std::string& to) const override {
    append_in_case(value, charset_->caseup_multiply(), charset_->cset->caseup, to);
  }

  void append_lower(ByteView value, std::string& to) const override {
    append_in_case(value, charset_->casedn_multiply(), charset_->cset->casedn, to);
  }

  uint64_t locate(ByteView value, ByteView part) const override {
    if (part.empty()) return 1;
    my_match_t match;
    const uint found = charset_->instr(value.data(), value.size(), part.data(), part.size(), &match, 1);
    return found == 0 ? 0 : match.mb_len + 1;
  }

  bool equal_without_padding(ByteView a, ByteView b) const override {
    return charset_->strnncoll(a.data(), a.size(), b.data(), b.size()) == 0;
  }

  Equality equality() const override {
    if (!by_bytes_) return Equality::Weights;
    return pads_ ? Equality::BytesBeforeSpaces : Equality::Bytes;
  }
  bool bytes_decide_order() const override { return by_bytes_ && !pads_ && characters_ == 0; }

 private:
  struct Level {
    uint flag;
    bool pads;          // NO PAD collations pad all levels but the first, except in CHAR columns
    std::string space;  // weight of the space
  };

  /// The value as a CHAR column of so many characters holds it.
  std::string filled(ByteView value, size_t characters) const {
    const size_t there = charset_->numchars(value.data(), value.data() + value.size());
    std::string result(value);
    if (there >= characters) return result;
    result.resize(value.size() + (characters - there) * charset_->mbminlen);
    charset_->fill(result.data() + value.size(), result.size() - value.size(), ' ');
    return result;
  }

  void append_weights_of(ByteView value, std::string& to) const {
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
    if (byte_weights_ != nullptr && pads_) {
      std::string weights(value);
      for (char& byte : weights) byte = weight_of(byte);
      append_padded_weights(weights, 1, static_cast<uchar>(weight_of(' ')), to);
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

  /// `most`: so many times as long the result may be.
  void append_in_case(ByteView value, uint most, my_charset_conv_case convert, std::string& to) const {
    const size_t before = to.size();
    to.resize(before + value.size() * most);
    to.resize(before + convert(charset_, value.data(), value.size(), to.data() + before, to.size() - before));
  }

  char weight_of(char byte) const { return static_cast<char>(byte_weights_[static_cast<uchar>(byte)]); }

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
    if (is_thai_ && value.contains('\0')) {
      append_thai(value, flag, to);
      return;
    }
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

  /// TIS-620's collations take a zero for the end of the text when they make weights, but not when they
  /// compare. Another character stands in for it, and is found again: the characters below 0x80 keep their
  /// order, while some of those above move to the end.
  void append_thai(ByteView value, uint flag, std::string& to) const {
    std::string text(value);
    std::ranges::replace(text, '\0', '\x01');
    const size_t start = to.size();
    append_level(text, flag, to);
    std::string single;
    const auto moved = std::ranges::count_if(value, [&](char byte) {
      if (is_plain(byte)) return false;
      single.clear();
      append_level({&byte, 1}, flag, single);
      return single.front() != byte;
    });
    auto at = to.begin() + static_cast<std::ptrdiff_t>(start);
    const auto end = to.end() - moved;
    for (const char byte : value) {
      if (!is_plain(byte)) continue;
      at = std::find_if(at, end, is_plain);
      if (at == end) return;
      if (byte == '\0' && !pads_) {
        // Here comparing ends with a zero, after the characters have been moved.
        to.erase(at, to.end());
        return;
      }
      if (byte == '\0') *at = '\0';
      ++at;
    }
  }
  static bool is_plain(char byte) { return static_cast<unsigned char>(byte) < 0x80; }

  CHARSET_INFO* const charset_;
  const uint32_t characters_;
  const bool pads_;
  const bool by_bytes_;  // but for padding
  const uchar* const byte_weights_;
  const bool is_big5_;
  const bool is_thai_;
  bool irregular_ = false;
  std::vector<Level> levels_;
};

class MariaDbCollations final : public CollationResolver {
 public:
  Result<const Collation*> resolve(uint32_t id) const override {
    if (id < first_application_collation_id) return CollationResolver::resolve(id);
    const uint32_t number = (id & ((1U << length_shift) - 1)) - first_application_collation_id;
    CHARSET_INFO* charset = get_charset(number, MYF(0));
    if (charset == nullptr) {
      return fail(
          ErrorCode::Unsupported,
          fmt::format(
              "collation number {} is unknown to this server; open the table with a server that has it, "
              "or add it to the server's character set files",
              number));
    }
    const MutexLock guard(mutex_);
    auto& collation = known_[id];
    if (!collation) collation = std::make_unique<MariaDbCollation>(charset, id >> length_shift);
    return collation.get();
  }

 private:
  mutable Mutex mutex_;
  mutable std::unordered_map<uint32_t, std::unique_ptr<const MariaDbCollation>> known_
      HAILSTONE_GUARDED_BY(mutex_);
};

}  // namespace

uint32_t collation_id(const CHARSET_INFO& charset, uint32_t characters) {
  if (&charset == &my_charset_bin) return binary_collation_id;
  const uint32_t plain = first_application_collation_id + charset.number;
  // Elsewhere the spaces at the end of a value make no difference, whether they are there or not.
  const bool spaces_count = (charset.state & MY_CS_NOPAD) != 0 || is_thai(charset);
  return spaces_count ? plain + (characters << length_shift) : plain;
}

const uchar* weights_of_bytes(const CHARSET_INFO& charset) {
  const bool simple = charset.coll == &my_collation_8bit_simple_ci_handler ||
                      charset.coll == &my_collation_8bit_simple_nopad_ci_handler;
  return simple ? charset.sort_order : nullptr;
}

bool sorts_as_it_compares(const CHARSET_INFO& charset) { return !is_big5(charset) && !is_thai(charset); }

bool sorts_as_it_compares(const Item& item) {
  return item.cmp_type() != STRING_RESULT || sorts_as_it_compares(*item.collation.collation);
}

uint32_t earlier_collation_id(uint32_t id) { return id & ((1U << length_shift) - 1); }

const CollationResolver& mariadb_collations() {
  static const MariaDbCollations all;
  return all;
}

}  // namespace hailstone

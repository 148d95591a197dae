#include "pushdown_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <ranges>

#include "collation.h"
#include "field_probe.h"
#include "schema/padding.h"

namespace hailstone {

namespace {

/// By memcmp, no string that is at least `text` when padded with spaces is below this.
ByteView low_limit_padded(ByteView text) {
  // A byte below the space makes shorter strings, padded in its place, greater than the text.
  const auto control =
      std::ranges::find_if(text, [](char byte) { return static_cast<unsigned char>(byte) < ' '; });
  return without_trailing_spaces(text.substr(0, static_cast<size_t>(control - text.begin())));
}

/// By memcmp, no string that is at most `text` when padded with spaces is above this.
std::string high_limit_padded(ByteView text) { return std::string(without_trailing_spaces(text)) + '!'; }

/// Null: its order is not known.
const Collation* order_of(const CHARSET_INFO& charset) {
  if (!sorts_as_it_compares(charset)) return nullptr;
  return mariadb_collations().resolve(collation_id(charset, 0)).value_or(nullptr);
}

}  // namespace

namespace {

/// What of UTF-8 is a character by itself.
bool is_ascii(uchar byte) { return byte < 0x80; }

/// Whether the server compares each two ASCII characters as sort_order has them.
bool sorts_ascii_by_table(const CHARSET_INFO& charset) {
  if (charset.sort_order == nullptr) return false;
  for (uchar a = 0; is_ascii(a); ++a) {
    for (uchar b = 0; is_ascii(b); ++b) {
      const int by_table = charset.sort_order[a] - charset.sort_order[b];
      const int by_server =
          charset.strnncollsp(reinterpret_cast<const char*>(&a), 1, reinterpret_cast<const char*>(&b), 1);
      if ((by_table < 0) != (by_server < 0) || (by_table > 0) != (by_server > 0)) return false;
    }
  }
  return true;
}

/// The weight of each byte, or of each that is ASCII where characters may have several bytes. Null: the
/// collation does not compare texts character by character, or it is not known that it does.
const uchar* weights_of_characters(const CHARSET_INFO& charset) {
  static const auto bytes = [] {
    std::array<uchar, 256> all{};
    std::iota(all.begin(), all.end(), uchar{0});
    return all;
  }();
  if (charset.mbmaxlen == 1)
    return (charset.state & MY_CS_BINSORT) != 0 ? bytes.data() : weights_of_bytes(charset);
  if (&charset == &my_charset_utf8mb3_bin || &charset == &my_charset_utf8mb4_bin) return bytes.data();
  static const bool is_known_of_three = sorts_ascii_by_table(my_charset_utf8mb3_general_ci),
                    is_known_of_four = sorts_ascii_by_table(my_charset_utf8mb4_general_ci);
  if (&charset == &my_charset_utf8mb3_general_ci && is_known_of_three) return charset.sort_order;
  if (&charset == &my_charset_utf8mb4_general_ci && is_known_of_four) return charset.sort_order;
  return nullptr;
}

/// How many bytes two texts, of at least `most`, have in common from `from` on, up to `most`.
size_t end_of_common(const char* a, const char* b, size_t from, size_t most) {
  uint64_t of_a = 0, of_b = 0;
  for (; from + sizeof(of_a) <= most; from += sizeof(of_a)) {
    std::memcpy(&of_a, a + from, sizeof(of_a));
    std::memcpy(&of_b, b + from, sizeof(of_b));
    if (of_a != of_b) return from + static_cast<size_t>(std::countr_zero(of_a ^ of_b)) / 8;
  }
  while (from < most && a[from] == b[from]) ++from;
  return from;
}

}  // namespace

CollationTest::CollationTest(CHARSET_INFO* collation, std::vector<std::string> constants,
                             std::vector<bool> wanted)
    : collation_(collation),
      order_(order_of(*collation)),
      weights_(weights_of_characters(*collation)),
      constants_(std::move(constants)),
      wanted_(std::move(wanted)) {}

std::optional<int> CollationTest::order_of_bytes(char one, char other) const {
  const auto a = static_cast<uchar>(one), b = static_cast<uchar>(other);
  if (collation_->mbmaxlen > 1 && !(is_ascii(a) && is_ascii(b))) return std::nullopt;
  return weights_[a] - weights_[b];
}

int CollationTest::compare(ByteView value, const std::string& constant) const {
  const size_t most = weights_ == nullptr ? 0 : std::min(value.size(), constant.size());
  for (size_t at = 0; at < most; ++at) {
    at = end_of_common(value.data(), constant.data(), at, most);
    if (at == most) break;
    const auto order = order_of_bytes(value[at], constant[at]);
    if (!order) break;
    if (*order != 0) return *order;
  }
  return collation_->strnncollsp(value.data(), value.size(), constant.data(), constant.size());
}

bool CollationTest::matches(ByteView value) const {
  if (constants_.size() != 1) return wanted_[region(value)];
  const std::string& constant = constants_.front();
  // The first byte tells most texts apart.
  int order = 0;
  if (weights_ != nullptr && !value.empty() && !constant.empty())
    order = order_of_bytes(value.front(), constant.front()).value_or(0);
  if (order == 0) order = compare(value, constant);
  return wanted_[order < 0 ? 0 : order == 0 ? 1 : 2];
}

size_t CollationTest::region(ByteView value) const {
  size_t low = 0, high = constants_.size();
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const int order = compare(value, constants_[middle]);
    if (order == 0) return 2 * middle + 1;
    if (order < 0) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return 2 * low;
}

std::optional<BytesTest::Limits> CollationTest::limits_where(bool wanted) const {
  if ((collation_->state & MY_CS_BINSORT) == 0 || collation_->mbminlen != 1) return std::nullopt;
  const bool pads = (collation_->state & MY_CS_NOPAD) == 0 && collation_ != &my_charset_bin;
  Limits limits;
  // The lowest such region begins at (or just above) the constant before it, the highest ends at the one
  // after it.
  const auto first = static_cast<size_t>(std::ranges::find(wanted_, wanted) - wanted_.begin());
  if (first == wanted_.size()) return Limits{"", ""};
  if (first > 0) {
    const ByteView constant = constants_[(first - 1) / 2];
    limits.low = pads ? low_limit_padded(constant) : constant;
  }
  size_t last = wanted_.size() - 1;
  while (wanted_[last] != wanted) --last;
  if (first == 0 && last + 1 == wanted_.size()) return std::nullopt;
  if (last + 1 < wanted_.size()) {
    const ByteView constant = constants_[last / 2];
    limits.high = pads ? high_limit_padded(constant) : std::string(constant);
  }
  return limits;
}

namespace {

/// Whether the collation's LIKE compares the pattern's characters with those of any value, even a malformed
/// one, as bytes, and finds no match inside of a character.
bool likes_bytes(CHARSET_INFO* collation, const std::string& pattern) {
  const auto wildcmp = collation->coll->wildcmp;
  if (wildcmp == my_charset_bin.coll->wildcmp) return true;
  // In UTF-8 a well-formed character begins nowhere within another one, and the server steps over malformed
  // bytes one by one.
  if ((collation->state & MY_CS_BINSORT) == 0 || wildcmp != my_charset_utf8mb4_bin.coll->wildcmp ||
      !(my_charset_same(collation, &my_charset_utf8mb4_bin) ||
        my_charset_same(collation, &my_charset_utf8mb3_bin)))
    return false;
  return Well_formed_prefix(collation, pattern.data(), pattern.size()).length() == pattern.size();
}

std::optional<LikePattern> pattern_of_bytes(CHARSET_INFO* collation, const std::string& pattern, int escape) {
  // Escape characters of several bytes, and what the server makes of a wildcard that is one, are left to it.
  if (escape < 0 || escape >= 0x80 || escape == wild_one || escape == wild_many) return std::nullopt;
  if (!likes_bytes(collation, pattern)) return std::nullopt;
  return LikePattern::parse(pattern, static_cast<char>(escape));
}

}  // namespace

LikeTest::LikeTest(CHARSET_INFO* collation, std::string pattern, int escape, bool wanted)
    : collation_(collation),
      pattern_(std::move(pattern)),
      escape_(escape),
      wanted_(wanted),
      bytes_(pattern_of_bytes(collation_, pattern_, escape_)) {}

bool LikeTest::matches(ByteView value) const {
  if (bytes_) return bytes_->matches(value) == wanted_;
  const bool differs =
      collation_->wildcmp(value.data(), value.data() + value.size(), pattern_.data(),
                          pattern_.data() + pattern_.size(), escape_, wild_one, wild_many) != 0;
  return differs != wanted_;
}

// --- translation

namespace {

/// Whether the stored bytes are what the server compares.
bool compares_stored_bytes(const THD* thd, PlainField field, CHARSET_INFO* collation) {
  switch (field->real_type()) {
    case MYSQL_TYPE_STRING:
      if (field->type_handler() != &type_handler_string) return false;
      // CHAR values are stored without the spaces that this mode makes visible.
      if ((thd->variables.sql_mode & MODE_PAD_CHAR_TO_FULL_LENGTH) != 0) return false;
      break;
    case MYSQL_TYPE_VARCHAR:
    case MYSQL_TYPE_VAR_STRING:
    case MYSQL_TYPE_TINY_BLOB:
    case MYSQL_TYPE_BLOB:
    case MYSQL_TYPE_MEDIUM_BLOB:
    case MYSQL_TYPE_LONG_BLOB:
      break;
    default:
      return false;
  }
  return my_charset_same(field->charset(), collation) || collation == &my_charset_bin;
}

/// Constants may have become strings for the sake of one of them, while others are still compared as
/// numbers.
bool compares_as_strings(const Leaf& leaf) {
  if (leaf.operation == Item_func::IN_FUNC) {
    const auto& list = static_cast<Item_func_in&>(*leaf.item);
    return list.arg_types_compatible && list.array != nullptr;
  }
  if (!is_comparison(leaf.operation)) return true;
  return static_cast<Item_bool_rowready_func2&>(*leaf.item).compare_type_handler()->cmp_type() ==
         STRING_RESULT;
}

/// Asks the server about the constants themselves as values of the column, and the empty string: should it
/// compare otherwise than it seems (as JSON, as numbers), some of them will show it.
bool agrees(const TABLE& table, const Leaf& leaf, const std::vector<std::string>& texts,
            const BytesTest& test, bool truth) {
  constexpr size_t most_samples = 16;
  Field& field = *leaf.field;
  auto& function = static_cast<Item_func&>(*leaf.item);
  const FieldFormat format(field, table.record[0]);
  const SavedField saved(field);
  const auto agrees_on = [&](const std::string& text) {
    if (format.kind != FieldFormat::Kind::Blob && text.size() > format.width) return true;
    format.write(Value::of(ByteView(text)), field.ptr);
    const bool expected = test.matches(format.read(field.ptr).bytes) == truth;
    const bool value = function.val_bool();
    if (function.null_value) return leaf.has_null && !expected;
    return value == (expected != leaf.negated);
  };
  return agrees_on({}) && std::ranges::all_of(texts | std::views::take(most_samples), agrees_on);
}

std::optional<std::string> text_of(Item& constant) {
  if (constant.cmp_type() != STRING_RESULT || constant.result_type() != STRING_RESULT) return std::nullopt;
  String buffer;
  const String* text = constant.val_str(&buffer);
  if (text == nullptr) return std::nullopt;
  return std::string(text->ptr(), text->length());
}

}  // namespace

std::shared_ptr<const BytesTest> test_of_texts(const Leaf& leaf, CHARSET_INFO* collation,
                                               std::vector<std::string> texts, bool truth) {
  const auto order = [&](const std::string& a, const std::string& b) {
    return collation->strnncollsp(a.data(), a.size(), b.data(), b.size());
  };
  if (leaf.operation == Item_func::LIKE_FUNC) {
    const int escape = static_cast<Item_func_like*>(leaf.item)->escape;
    return std::make_shared<LikeTest>(collation, std::move(texts.front()), escape, truth);
  }
  std::vector<bool> wanted;
  if (leaf.operation == Item_func::BETWEEN) {
    const int limits = order(texts[0], texts[1]);
    if (limits > 0) {
      // No string lies between: all of them are equally far from TRUE.
      texts.resize(1);
      wanted.assign(3, !truth);
    } else if (limits == 0) {
      texts.resize(1);
      wanted = {!truth, truth, !truth};
    } else {
      wanted = {!truth, truth, truth, truth, !truth};
    }
  } else if (leaf.operation == Item_func::IN_FUNC) {
    std::ranges::sort(texts, [&](const auto& a, const auto& b) { return order(a, b) < 0; });
    const auto repeated =
        std::ranges::unique(texts, [&](const auto& a, const auto& b) { return order(a, b) == 0; });
    texts.erase(repeated.begin(), repeated.end());
    wanted.assign(2 * texts.size() + 1, !truth);
    for (size_t i = 0; i < texts.size(); ++i) wanted[2 * i + 1] = truth;
  } else {
    const Sides sides = sides_of(leaf.operation);
    wanted = {sides.below == truth, sides.equal == truth, sides.above == truth};
  }
  return std::make_shared<CollationTest>(collation, std::move(texts), std::move(wanted));
}

std::optional<Translation> translate_strings(TABLE& table, const Leaf& leaf, bool truth, bool& warns) {
  CHARSET_INFO* collation = static_cast<Item_bool_func*>(leaf.item)->compare_collation();
  if (!compares_as_strings(leaf)) {
    // As numbers or times, whatever the column holds may be worth a warning.
    warns = true;
    return std::nullopt;
  }
  const auto field = PlainField::of(*leaf.field);
  if (collation == nullptr || !field || !compares_stored_bytes(table.in_use, *field, collation))
    return std::nullopt;
  std::vector<std::string> texts;
  for (Item* constant : leaf.constants) {
    auto text = text_of(*constant);
    if (!text) return std::nullopt;
    texts.push_back(std::move(*text));
  }
  const std::vector<std::string> samples = texts;
  const auto test = test_of_texts(leaf, collation, std::move(texts), truth);
  if (!agrees(table, leaf, samples, *test, truth)) return std::nullopt;
  return Translation{Predicate::bytes(leaf.column, test), true};
}

}  // namespace hailstone

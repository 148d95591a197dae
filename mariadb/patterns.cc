#define PCRE2_CODE_UNIT_WIDTH 8
#include "patterns.h"

#include <dlfcn.h>
#include <pcre2.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "collation.h"
#include "expression/pattern_steps.h"

namespace hailstone {

namespace {

/// PCRE2 gives up behind so many steps from one place of a text on; half of them are far enough away.
constexpr double most_steps = 10'000'000 / 2.0;
constexpr unsigned char last_ascii = 0x7f, last_of_three_bytes = 0xef, any_byte = 0xff;

struct PatternFreed {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
using PatternCode = std::unique_ptr<pcre2_code, PatternFreed>;
using PatternData = std::unique_ptr<pcre2_match_data, PatternFreed>;

/// Another one might have other characters in a class.
bool is_library_of_server() {
  void* const server = dlopen(nullptr, RTLD_LAZY);
  if (server == nullptr) return false;
  void* const found = dlsym(server, "pcre2_match_8");
  dlclose(server);
  return found == reinterpret_cast<void*>(&pcre2_match);
}

bool is_ascii_text(ByteView text) {
  uint64_t any = 0;
  while (text.size() >= sizeof(any)) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, text.data(), sizeof(bytes));
    any |= bytes;
    text.remove_prefix(sizeof(bytes));
  }
  for (const char byte : text) any |= static_cast<unsigned char>(byte);
  return (any & 0x8080'8080'8080'8080) == 0;
}

/// Of a text of another character set. Nothing: it has bytes that are no characters.
std::optional<std::string> as_utf8(ByteView text, const CHARSET_INFO& charset) {
  constexpr size_t longest_character = 4;
  std::string made(text.size() * longest_character, '\0');
  uint errors = 0;
  made.resize(my_convert(made.data(), static_cast<uint32>(made.size()), &my_charset_utf8mb4_general_ci,
                         text.data(), static_cast<uint32>(text.size()), &charset, &errors));
  return errors == 0 ? std::optional(std::move(made)) : std::nullopt;
}

class PatternFunction final : public TextFunction {
 public:
  PatternFunction(Function called, const std::string& pattern, const CHARSET_INFO& compared)
      : called_(called), is_binary_(&compared == &my_charset_bin), compared_(compared) {
    uint32_t options = 0;
    // The server converts texts to UTF-8. These are texts of it as they are.
    if (compared.mbmaxlen == 1 && !is_binary_) last_byte_ = last_ascii;
    const auto converted = last_byte_ == last_ascii ? as_utf8(pattern, compared) : std::optional(pattern);
    if (!converted) return;
    if (my_charset_same(&compared, &my_charset_utf8mb3_bin)) last_byte_ = last_of_three_bytes;
    if (!is_binary_) options |= PCRE2_UTF | PCRE2_UCP;
    if ((compared.state & (MY_CS_BINSORT | MY_CS_CSSORT)) == 0) options |= PCRE2_CASELESS;
    collation_ = is_binary_ ? &binary_collation() : nullptr;
    if (!is_binary_) {
      const auto found = mariadb_collations().resolve(collation_id(my_charset_utf8mb4_general_ci, 0));
      if (found) collation_ = *found;
    }
    int error = 0;
    PCRE2_SIZE where = 0;
    if (last_byte_ != last_ascii && !has_plain_bytes(pattern)) return;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(converted->data()), converted->size(), options,
                              &error, &where, nullptr));
    if (code_ == nullptr) return;
    const auto steps = pattern_steps(*converted);
    if (steps && pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE) == 0)
      most_compiled_ = steps->most_bytes(most_steps);
  }

  bool is_usable() const { return code_ != nullptr && collation_ != nullptr; }

  void of_all(const FunctionCall& call) const override {
    Match match{.data = PatternData(pcre2_match_data_create_from_pattern(code_.get(), nullptr))};
    for (uint32_t row = 0; row < call.rows; ++row) {
      const bool is_known = call.to.is_null(row) || call.to.failure(row) != 0 ||
                            (match.data != nullptr && apply(call, row, match));
      if (call.to.kind == ValueKind::Text && (!is_known || call.to.is_null(row))) call.to.texts[row] = {};
      if (!is_known) call.to.add_failure(row, call.rows, unknown_value);
    }
  }

 private:
  enum class Found : uint8_t { Yes, No, Unknown };

  /// Where the last match was, and room for a text.
  struct Match {
    PatternData data;
    std::string made = {};

    std::pair<size_t, size_t> place_of(uint32_t group) const {
      const PCRE2_SIZE* const places = pcre2_get_ovector_pointer(data.get());
      return {places[2 * group], places[2 * group + 1]};
    }
  };

  bool has_plain_bytes(ByteView text) const {
    return last_byte_ == any_byte || std::ranges::all_of(text, [&](char byte) {
             return static_cast<unsigned char>(byte) <= last_byte_;
           });
  }

  bool is_compiled_for(ByteView text) const { return most_compiled_ && text.size() <= *most_compiled_; }

  Found find(ByteView text, bool is_ascii, size_t from, const Match& match) const {
    const auto find_by = [&](auto* of_library, uint32_t options) {
      return of_library(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from, options,
                        match.data.get(), nullptr);
    };
    uint32_t options = is_ascii ? PCRE2_NO_UTF_CHECK : 0;
    int found = PCRE2_ERROR_JIT_STACKLIMIT;
    if (is_compiled_for(text)) {
      // The former looks at nothing but the text.
      found = is_ascii ? find_by(pcre2_jit_match, 0) : find_by(pcre2_match, options);
    }
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = find_by(pcre2_match, options | PCRE2_NO_JIT);
    if (found > 0) return Found::Yes;
    return found == PCRE2_ERROR_NOMATCH ? Found::No : Found::Unknown;
  }

  /// False: it is not known.
  bool apply(const FunctionCall& call, uint32_t row, Match& match) const {
    // PCRE2 wants a place, of what is empty, too.
    ByteView text = call.input(0).texts[row].empty() ? ByteView("") : call.input(0).texts[row];
    const bool is_ascii = is_binary_ || is_ascii_text(text);
    std::optional<std::string> converted;
    if (!is_ascii && !has_plain_bytes(text)) {
      // A part of the text would have to be converted back.
      const bool is_number = called_ == Function::MatchesPattern || called_ == Function::PatternPlace;
      if (is_number && last_byte_ == last_ascii) converted = as_utf8(text, compared_);
      if (!converted) return false;
      text = *converted;
    }
    if (called_ == Function::PatternReplaced) return replace(call, row, text, is_ascii, match);
    const Found found = find(text, is_ascii, 0, match);
    if (found == Found::Unknown) return false;
    const auto [begin, end] = found == Found::Yes ? match.place_of(0) : std::pair<size_t, size_t>(0, 0);
    switch (called_) {
      case Function::MatchesPattern:
        call.to.integers[row] = found == Found::Yes ? 1 : 0;
        return true;
      case Function::PatternPlace:
        call.to.integers[row] = 0;
        if (found == Found::Yes)
          call.to.integers[row] =
              static_cast<int64_t>(is_ascii ? begin : collation_->characters(text.substr(0, begin))) + 1;
        return true;
      default:
        if (begin > end) return false;
        call.to.texts[row] = text.substr(begin, end - begin);
        return true;
    }
  }

  bool replace(const FunctionCall& call, uint32_t row, ByteView text, bool is_ascii, Match& match) const {
    const ByteView replacement = call.input(1).texts[row];
    if (!is_binary_ && !is_ascii_text(replacement) &&
        (!has_plain_bytes(replacement) || !is_well_formed_utf8(replacement)))
      return false;
    std::string& made = match.made;
    made.clear();
    size_t done = 0;
    // A pattern that is compiled finds nothing behind the text.
    while (done == 0 || done < text.size() || !is_compiled_for(text)) {
      const Found found = find(text, is_ascii, done, match);
      if (found == Found::Unknown) return false;
      const auto [begin, end] = found == Found::Yes ? match.place_of(0) : std::pair<size_t, size_t>(0, 0);
      // The server ends with a match of nothing.
      if (begin == end) break;
      if (begin < done || end < begin) return false;
      made += text.substr(done, begin - done);
      if (!append_replacement(text, replacement, match)) return false;
      done = end;
    }
    if (done == 0) {
      call.to.texts[row] = text;
      return true;
    }
    made += text.substr(done);
    char* const to = call.text(row, made.size());
    if (to != nullptr) {
      std::ranges::copy(made, to);
      call.to.texts[row] = {to, made.size()};
    }
    return true;
  }

  /// \0 to \9 stand for what groups have matched, and a backslash before another character for that one.
  static bool append_replacement(ByteView text, ByteView replacement, Match& match) {
    std::string& to = match.made;
    for (size_t at = 0; at < replacement.size(); ++at) {
      if (replacement[at] != '\\') {
        to += replacement[at];
        continue;
      }
      if (++at == replacement.size()) break;
      const char next = replacement[at];
      if (next < '0' || next > '9') {
        to += next;
        continue;
      }
      const auto group = static_cast<uint32_t>(next - '0');
      if (group >= pcre2_get_ovector_count(match.data.get())) continue;
      const auto [begin, end] = match.place_of(group);
      // It took no part.
      if (begin == PCRE2_UNSET) continue;
      if (end < begin) return false;
      to += text.substr(begin, end - begin);
    }
    return true;
  }

  const Function called_;
  const bool is_binary_;
  const CHARSET_INFO& compared_;
  unsigned char last_byte_ = any_byte;
  const Collation* collation_ = nullptr;
  PatternCode code_;
  /// Of what is compiled for the processor: texts of so many bytes. Nothing: it is not compiled.
  std::optional<uint64_t> most_compiled_;
};

}  // namespace

std::shared_ptr<const TextFunction> function_of_pattern(Function called, const std::string& pattern,
                                                        const CHARSET_INFO& compared) {
  static const bool is_available = is_library_of_server();
  if (!is_available) return nullptr;
  auto function = std::make_shared<const PatternFunction>(called, pattern, compared);
  return function->is_usable() ? function : nullptr;
}

}  // namespace hailstone

#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pattern_lines.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <map>
#include <optional>

#include "text/whole_lines.h"

namespace hailstone {

// Nothing is tried twice (possessive repetition), so a line takes time in proportion to its length. In quotes
// a server writes \" or \x22 for a quote. What stands there for a request may be anything that a client sent.
const std::string_view combined_pattern =
    R"re((?<host>\S++) \S++ (?<user>\S++(?: [^\s\[]\S*+)*+) \[(?<at>[^\]]++)\] )re"
    R"re("(?<request>(?:(?<method>[A-Z]++) (?<path>(?:[^ "\\]++|\\.)++) (?<protocol>HTTP/[0-9.]++)(?="))?+)re"
    R"re((?:[^"\\]++|\\.)*+)" (?<status>\d{3}) (?<bytes>\d++|-))re"
    R"re((?: "(?<referer>(?:[^"\\]++|\\.)*+)" "(?<agent>(?:[^"\\]++|\\.)*+)")?+(?: .*+)?+)re";

namespace {

/// Steps of a match: a pattern that tries without end is told, and blocks nothing.
constexpr uint32_t most_steps = 1'000'000;
constexpr size_t least_stack = size_t{32} << 10, most_stack = size_t{1} << 20;

struct Freed {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
};

std::string message_of(int error) {
  PCRE2_UCHAR text[200] = {};
  pcre2_get_error_message(error, text, std::size(text));
  return reinterpret_cast<const char*>(text);
}

class Pattern {
 public:
  static Result<Pattern> compile(std::string_view text) {
    int error = 0;
    PCRE2_SIZE where = 0;
    Pattern pattern;
    pattern.code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                      PCRE2_ANCHORED | PCRE2_ENDANCHORED, &error, &where, nullptr));
    if (pattern.code_ == nullptr) {
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("the regular expression is not valid at its character {}: {}", where + 1,
                              message_of(error)));
    }
    // Where the processor has no compiler for patterns, they are interpreted.
    static_cast<void>(pcre2_jit_compile(pattern.code_.get(), PCRE2_JIT_COMPLETE));
    pattern.data_.reset(pcre2_match_data_create_from_pattern(pattern.code_.get(), nullptr));
    pattern.context_.reset(pcre2_match_context_create(nullptr));
    pattern.stack_.reset(pcre2_jit_stack_create(least_stack, most_stack, nullptr));
    if (pattern.data_ == nullptr || pattern.context_ == nullptr || pattern.stack_ == nullptr) {
      return fail(ErrorCode::OutOfMemory, "there is not enough memory for a regular expression");
    }
    pcre2_set_match_limit(pattern.context_.get(), most_steps);
    pcre2_jit_stack_assign(pattern.context_.get(), nullptr, pattern.stack_.get());
    HAILSTONE_TRY(pattern.find_names());
    return pattern;
  }

  const std::map<uint32_t, std::string>& names() const { return names_; }  // by the number of the group

  /// False: the line does not match. ErrorCode::InvalidArgument: it takes too long.
  Result<bool> match(std::string_view line) {
    const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(line.data()), line.size(), 0, 0,
                                  data_.get(), context_.get());
    if (found > 0) return true;
    if (found == PCRE2_ERROR_NOMATCH) return false;
    return fail(ErrorCode::InvalidArgument,
                fmt::format("matching the line was given up: {}", message_of(found)));
  }
  /// Of the last match; nothing for a group that took no part in it.
  std::optional<std::string_view> group(uint32_t number, std::string_view line) const {
    const PCRE2_SIZE* const places = pcre2_get_ovector_pointer(data_.get());
    const PCRE2_SIZE begin = places[2 * number], end = places[2 * number + 1];
    if (begin == PCRE2_UNSET || end < begin) return std::nullopt;
    return line.substr(begin, end - begin);
  }

 private:
  Status find_names() {
    uint32_t count = 0, size = 0;
    PCRE2_SPTR entry = nullptr;
    pcre2_pattern_info(code_.get(), PCRE2_INFO_NAMECOUNT, &count);
    pcre2_pattern_info(code_.get(), PCRE2_INFO_NAMEENTRYSIZE, &size);
    pcre2_pattern_info(code_.get(), PCRE2_INFO_NAMETABLE, &entry);
    for (uint32_t i = 0; i < count; ++i, entry += size) {
      // Two bytes of the number, then the name and a zero.
      names_[256U * entry[0] + entry[1]] = reinterpret_cast<const char*>(entry + 2);
    }
    if (!names_.empty()) return {};
    return fail(ErrorCode::InvalidArgument,
                "the regular expression names no field; name the groups that are fields: (?<url>\\S+)");
  }

  std::unique_ptr<pcre2_code, Freed> code_;
  std::unique_ptr<pcre2_match_data, Freed> data_;
  std::unique_ptr<pcre2_match_context, Freed> context_;
  std::unique_ptr<pcre2_jit_stack, Freed> stack_;
  std::map<uint32_t, std::string> names_;
};

class PatternLines final : public WholeLines {
 public:
  PatternLines(std::unique_ptr<Input> input, const TextOptions& options, Pattern pattern)
      : WholeLines(std::move(input), options),
        pattern_(std::move(pattern)),
        is_combined_(options.format == TextFormat::Combined),
        null_text_(is_combined_ && !options.null_text ? "-" : options.null_text) {
    for (const auto& [number, name] : pattern_.names()) names_.push_back(name);
    fields_.resize(names_.size());
  }

 private:
  Status parse() override {
    std::string_view line = line_;
    // No field of it can end so.
    if (is_combined_ && line.ends_with('\r')) line.remove_suffix(1);
    const auto found = pattern_.match(line);
    if (!found) return wrong_row(line, row_line_, found.error().message());
    if (!*found) {
      return wrong_row(line, row_line_,
                       is_combined_ ? "the line is not of the format 'combined' of web servers"
                                    : "the line does not match the regular expression");
    }
    size_t place = 0;
    for (const auto& [number, name] : pattern_.names()) {
      const auto text = pattern_.group(number, line);
      const bool is_null = !text || (null_text_ && *text == *null_text_);
      fields_[place++] = is_null ? Field{} : Field{Field::Kind::Text, *text};
    }
    return {};
  }

  Pattern pattern_;
  const bool is_combined_;
  const std::optional<std::string> null_text_;
};

}  // namespace

Result<std::vector<std::string>> names_of_pattern(std::string_view pattern) {
  HAILSTONE_ASSIGN(const Pattern compiled, Pattern::compile(pattern));
  std::vector<std::string> names;
  for (const auto& [number, name] : compiled.names()) names.push_back(name);
  return names;
}

Result<std::unique_ptr<TextRows>> open_pattern_lines(std::unique_ptr<Input> input,
                                                     const TextOptions& options) {
  HAILSTONE_ASSIGN(Pattern pattern, Pattern::compile(options.format == TextFormat::Combined
                                                         ? combined_pattern
                                                         : std::string_view(options.pattern)));
  return std::make_unique<PatternLines>(std::move(input), options, std::move(pattern));
}

}  // namespace hailstone

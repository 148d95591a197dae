#include "article/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace hailstone {
namespace {

/// A whole number in decimal digits.
template <typename Number>
Status read_number(std::string_view option, std::string_view text, Number most, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end || number > most) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("{} takes a number from 0 to {}, not '{}'", option, most, text));
  }
  return {};
}

Status read_option(std::string_view option, std::string_view value, GenerateOptions& options) {
  if (option == "--rows") return read_number(option, value, ArticleRows::kLimitBig, options.rows.big);
  if (option == "--small-rows")
    return read_number(option, value, ArticleRows::kFullSmall, options.rows.small);
  if (option == "--threads") return read_number(option, value, 256U, options.threads);
  if (value.empty()) return fail(ErrorCode::InvalidArgument, fmt::format("{} takes a path", option));
  (option == "--output" ? options.directory : options.counts_file) = value;
  return {};
}

}  // namespace

Result<GenerateOptions> read_article_arguments(std::span<const std::string_view> arguments) {
  constexpr std::string_view known[] = {"--rows", "--small-rows", "--output", "--expect", "--threads"};
  GenerateOptions options;
  for (size_t at = 0; at < arguments.size(); at += 2) {
    const std::string_view option = arguments[at];
    if (std::ranges::find(known, option) == std::end(known))
      return fail(ErrorCode::InvalidArgument, fmt::format("there is no option '{}'", option));
    if (at + 1 == arguments.size())
      return fail(ErrorCode::InvalidArgument, fmt::format("{} needs a value", option));
    HAILSTONE_TRY(read_option(option, arguments[at + 1], options));
  }
  return options;
}

}  // namespace hailstone

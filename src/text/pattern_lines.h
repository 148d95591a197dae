// Lines that a regular expression divides into fields, by PCRE2: those of web servers' logs ("combined"), and
// any others ("regex"). The pattern's named groups are the fields. It must match the whole line.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/input.h"

namespace hailstone {

/// The access logs of nginx and Apache, in their formats "combined" and "common". Fields that a log adds
/// behind these are passed over.
extern const std::string_view combined_pattern;
/// The group of combined_pattern that is the time, and how it is written: as $time_local.
constexpr std::string_view combined_time = "at";

/// The names of the pattern's groups, in their order. ErrorCode::InvalidArgument: it is not valid, or names
/// none.
Result<std::vector<std::string>> names_of_pattern(std::string_view pattern);

/// For open_rows(): `options` are of TextFormat::Combined or TextFormat::Regex.
Result<std::unique_ptr<TextRows>> open_pattern_lines(std::unique_ptr<Input> input,
                                                     const TextOptions& options);

}  // namespace hailstone

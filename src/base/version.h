// The release that this is, and which one a file needs that this one does not know (docs/formats.md,
// "Versions").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hailstone {

/// "0.1.0", from the file VERSION.
std::string_view release();

/// The release that first wrote a format, from its version: 10,000 times the first number of the release, 100
/// times the second, and the third; 0.2.0 is 200. Nothing for the numbers below, which count the formats of
/// 0.1, and for those of no release.
std::optional<std::string> release_of_format(uint32_t format);

/// What an error says of a file with a format that this release does not know: "has format version 200, which
/// Hailstone 0.1.0 does not know; open the database with Hailstone 0.2.0 or later".
std::string unknown_format(uint32_t format);

}  // namespace hailstone

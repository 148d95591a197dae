#include "base/version.h"

#include <fmt/format.h>

namespace hailstone {

namespace {

constexpr uint32_t first_named_by_release = 200;
constexpr uint32_t beyond_all_releases = 1'000'000;

}  // namespace

std::string_view release() { return HAILSTONE_VERSION; }

std::optional<std::string> release_of_format(uint32_t format) {
  if (format < first_named_by_release || format >= beyond_all_releases) return std::nullopt;
  return fmt::format("{}.{}.{}", format / 10'000, format / 100 % 100, format % 100);
}

std::string unknown_format(uint32_t format) {
  const auto needed = release_of_format(format);
  return fmt::format("has format version {}, which Hailstone {} does not know; open the database with {}",
                     format, release(),
                     needed ? fmt::format("Hailstone {} or later", *needed)
                            : "the release of Hailstone that wrote it, or a later one");
}

}  // namespace hailstone

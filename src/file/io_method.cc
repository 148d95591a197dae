#include "file/io_method.h"

#include <algorithm>

namespace hailstone {

std::optional<IoMethod> parse_io_method(std::string_view name) {
  const auto* const found = std::ranges::find(io_method_names, name);
  if (found == io_method_names.end()) return std::nullopt;
  return static_cast<IoMethod>(found - io_method_names.begin());
}

}  // namespace hailstone

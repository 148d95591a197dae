// A configuration made from a sample of the data: what `hailstone collect init` writes, for people to go on
// from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "text/input.h"

namespace hailstone {

struct ConfigSample {
  std::string file;  // with rows as they will come
  TextOptions text;
  std::vector<std::string> columns;  // of a file without a header; else empty
  uint64_t rows = 10'000;            // that types are guessed from
};

/// What the rows of a file say of their format, whose name says nothing: an access log, or JSON lines.
/// ErrorCode::InvalidArgument for others.
Result<TextFormat> format_of_rows(const std::string& file);

/// The text of the file, in TOML, with comments. Columns have the types that `hailstone load` would guess;
/// the first one that has a time in each row decides on partitions. ErrorCode::InvalidArgument: a row of the
/// sample is wrong, or there is none.
Result<std::string> configuration_from(ConfigSample sample);

}  // namespace hailstone

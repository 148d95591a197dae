// Where the server's binary log ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hailstone {

struct BinaryLogPosition {
  std::string file;  // without its folder
  uint64_t offset = 0;
  std::string gtid;  // as @@gtid_binlog_pos
};

/// Nothing where the server writes no binary log. It moves on, but while the caller's thread keeps commits
/// out.
std::optional<BinaryLogPosition> binary_log_position();

}  // namespace hailstone

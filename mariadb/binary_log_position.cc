#include "binary_log_position.h"

// clang-format off
#include "server.h"
#include <log.h>
// clang-format on

namespace hailstone {

std::optional<BinaryLogPosition> binary_log_position() {
  if (!mysql_bin_log.is_open()) return std::nullopt;
  LOG_INFO at;
  if (mysql_bin_log.get_current_log(&at) != 0) return std::nullopt;
  BinaryLogPosition position;
  position.file = at.log_file_name;
  position.file.erase(0, position.file.find_last_of('/') + 1);
  position.offset = at.pos;
  StringBuffer<1024> gtid;
  if (!mysql_bin_log.append_state_pos(&gtid)) position.gtid.assign(gtid.ptr(), gtid.length());
  return position;
}

}  // namespace hailstone

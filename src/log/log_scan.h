// Reading the log's files from a position on: records for the replay, and the end of the log, where a tail
// that was never durable is told from damage. Single thread; changes nothing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/counters.h"
#include "file/filesystem.h"
#include "log/log.h"

namespace hailstone {

struct LogFileName {
  Lsn begin = 0;
  std::string path;
};

struct LogEnd {
  size_t file = 0;      // index of the file that the log ends in; those after it hold nothing durable
  Lsn end = 0;          // end of its last intact batch; its `begin` when even its header is not intact
  Lsn records_end = 0;  // end of the last intact batch that holds records
  Lsn durable = 0;      // greatest position that something intact says had been durable
};

/// Calls `apply` for the records at or after `from`. `files` are the log's files by ascending beginning. A
/// batch that is not intact ends the log when nothing behind it says that it had been durable, nor `from`
/// does; else it is ErrorCode::Corruption. `counters`: null where nobody counts.
Result<LogEnd> scan_log(Filesystem& filesystem, const std::vector<LogFileName>& files, Lsn from,
                        const std::function<Status(const LogRecord&)>& apply, Counters* counters = nullptr);

}  // namespace hailstone

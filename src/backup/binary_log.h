// What the binary logs of a server have from a position on, by MariaDB's own program mariadb-binlog. One
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <map>
#include <string>
#include <vector>

#include "backup/backup_record.h"
#include "base/status.h"

namespace hailstone {

struct LogSummary {
  struct Transaction {
    std::string time, gtid;
  };
  struct Statement {
    std::string time, text;  // of a definition, or of a change that is logged as text; in one line
  };
  struct Rows {
    uint64_t inserted = 0, updated = 0, deleted = 0;
  };
  uint64_t transactions = 0;
  Transaction first, last;
  std::vector<Statement> definitions;
  uint64_t statements = 0;             // other changes that are logged as text
  std::map<std::string, Rows> tables;  // `schema`.`table`
};

/// Of what mariadb-binlog prints with --base64-output=decode-rows.
LogSummary summary_of_log(std::istream& printed);

struct LogPart {
  std::string program = "mariadb-binlog";
  std::vector<std::string> files;  // in order
  uint64_t position = 0;           // in the first
  std::string until;               // as --stop-datetime takes it; empty: to the end
};

/// The files among `given`, files or folders of binary logs, from `position` on. ErrorCode::NotFound: the
/// first is not there, or one between.
Result<LogPart> logs_from(const BinaryLogRecord& position, const std::vector<std::string>& given);
/// What would be replayed. `folder` is for files meanwhile; `stop` as for ChildProcess::wait().
Result<LogSummary> summarise_log(const LogPart& part, const std::string& folder,
                                 const std::function<bool()>& stop);
/// Has the client `mariadb`, the program, execute it at the server of the option file.
Status replay_log(const LogPart& part, const std::string& client, const std::string& option_file,
                  const std::string& folder, const std::function<bool()>& stop);

}  // namespace hailstone

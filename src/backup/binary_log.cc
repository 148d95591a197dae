#include "backup/binary_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "backup/child_process.h"
#include "collect/config.h"
#include "collect/server_connection.h"

namespace hailstone {
namespace {

constexpr std::string_view end_of_statement = "/*!*/;";

/// The rest of `text` behind `begin`, up to `end`; empty when it has no such.
std::string_view between(std::string_view text, std::string_view begin, std::string_view end) {
  const size_t from = text.find(begin);
  if (from == std::string_view::npos) return {};
  text.remove_prefix(from + begin.size());
  return text.substr(0, text.find(end));
}

/// "261129  9:05:07" of the line of an event as 2026-11-29 09:05:07.
std::string time_of(std::string_view line) {
  if (line.size() < 16) return {};
  std::string time = fmt::format("20{}-{}-{} {}", line.substr(1, 2), line.substr(3, 2), line.substr(5, 2),
                                 line.substr(8, 8));
  std::ranges::replace(time.begin() + 11, time.end(), ' ', '0');
  return time;
}

/// "#261129 15:20:09 server id 1  end_log_pos 3617565 …"
bool is_event(std::string_view line) {
  return line.starts_with('#') && line.size() > 20 && line[1] >= '0' && line[1] <= '9' &&
         line.contains(" server id ");
}

class PrintedLog {
 public:
  LogSummary read(std::istream& printed) {
    for (std::string line; std::getline(printed, line);) {
      if (is_event(line)) {
        event(line);
      } else if (line.starts_with("# Number of rows: ")) {
        rows(line);
      } else if (in_statement_) {
        text(line);
      }
    }
    return std::move(summary_);
  }

 private:
  void event(std::string_view line) {
    in_statement_ = false;
    statement_.clear();
    const std::string time = time_of(line);
    if (const std::string_view gtid = between(line, "\tGTID ", " "); !gtid.empty()) {
      summary_.last = {.time = time, .gtid = std::string(gtid)};
      if (++summary_.transactions == 1) summary_.first = summary_.last;
      is_definition_ = line.contains(" ddl");
    } else if (line.contains("\tTable_map: ")) {
      table_ = between(line, "\tTable_map: ", " mapped to");
    } else if (line.contains("_rows")) {
      change_ = line.contains("Write_rows")    ? &LogSummary::Rows::inserted
                : line.contains("Update_rows") ? &LogSummary::Rows::updated
                : line.contains("Delete_rows") ? &LogSummary::Rows::deleted
                                               : nullptr;
    } else if (line.contains("\tQuery\t")) {
      in_statement_ = true;
      statement_time_ = time;
    }
  }

  void rows(std::string_view line) {
    if (change_ == nullptr || table_.empty()) return;
    line.remove_prefix(std::string_view("# Number of rows: ").size());
    uint64_t number = 0;
    std::from_chars(line.data(), line.data() + line.size(), number);
    summary_.tables[table_].*change_ += number;
  }

  void text(const std::string& line) {
    if (line == end_of_statement) {
      finish_statement();
    } else if (line.ends_with(end_of_statement) && statement_.empty()) {
      return;  // SET of the statement's session
    } else if (!line.starts_with("# at ")) {
      statement_ += (statement_.empty() ? "" : " ") + line;
    }
  }

  void finish_statement() {
    const std::string_view word = std::string_view(statement_).substr(0, statement_.find(' '));
    if (is_definition_) {
      summary_.definitions.push_back({.time = statement_time_, .text = statement_});
    } else if (word != "START" && word != "COMMIT" && word != "BEGIN" && word != "ROLLBACK" && word != "XA") {
      ++summary_.statements;
    }
    statement_.clear();
    in_statement_ = false;
  }

  LogSummary summary_;
  bool in_statement_ = false, is_definition_ = false;
  std::string statement_, statement_time_, table_;
  uint64_t LogSummary::Rows::*change_ = nullptr;
};

/// A binary log's name up to the number, and that.
std::optional<std::pair<std::string, uint64_t>> name_and_number(const std::string& file) {
  const size_t point = file.rfind('.');
  if (point == std::string::npos || point + 1 == file.size()) return std::nullopt;
  uint64_t number = 0;
  const char* const end = file.data() + file.size();
  const auto [stop, error] = std::from_chars(file.data() + point + 1, end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return std::pair{file.substr(0, point), number};
}

std::vector<std::string> command_of(const LogPart& part) {
  std::vector<std::string> command{part.program, "--no-defaults",
                                   fmt::format("--start-position={}", part.position)};
  if (!part.until.empty()) command.push_back("--stop-datetime=" + part.until);
  return command;
}

/// All rows of one statement come in one statement, however many they are; the server takes 16 MB by itself.
class LargeStatements {
 public:
  explicit LargeStatements(const std::string& option_file) : connection_(config_) {
    config_.option_file = option_file;
  }

  Status allow() {
    HAILSTONE_TRY(connection_.connect());
    HAILSTONE_ASSIGN(const auto rows, connection_.query("SELECT @@global.max_allowed_packet"));
    before_ = rows.at(0).at(0);
    return set(std::to_string(largest));
  }
  Status reset() { return set(before_); }

 private:
  static constexpr uint64_t largest = uint64_t{1} << 30;  // bytes: as many as the server can take

  Status set(const std::string& bytes) {
    // A new one, as the server may have ended one that was idle for a long replay.
    connection_.disconnect();
    HAILSTONE_TRY(connection_.connect());
    HAILSTONE_TRY(connection_.execute("SET GLOBAL max_allowed_packet = " + bytes));
    return {};
  }

  ServerConfig config_;
  ServerConnection connection_;
  std::string before_;
};

}  // namespace

LogSummary summary_of_log(std::istream& printed) { return PrintedLog().read(printed); }

Result<LogPart> logs_from(const BinaryLogRecord& position, const std::vector<std::string>& given) {
  const auto first = name_and_number(position.file);
  if (!first)
    return fail(ErrorCode::InvalidArgument, fmt::format("'{}' is no name of a binary log", position.file));
  std::map<uint64_t, std::string> found;
  const auto take = [&](const std::filesystem::path& path) {
    const auto named = name_and_number(path.filename().string());
    if (named && named->first == first->first && named->second >= first->second)
      found[named->second] = path.string();
  };
  for (const std::string& place : given) {
    std::error_code error;
    if (!std::filesystem::exists(place, error))
      return fail(ErrorCode::NotFound, fmt::format("there is no '{}'", place));
    if (!std::filesystem::is_directory(place, error)) {
      take(place);
      continue;
    }
    for (std::filesystem::directory_iterator entry(place, error), end; !error && entry != end;
         entry.increment(error))
      take(entry->path());
    if (error)
      return fail(ErrorCode::Io, fmt::format("cannot look through '{}': {}", place, error.message()));
  }
  LogPart part;
  part.position = position.position;
  uint64_t wanted = first->second;
  for (const auto& [number, path] : found) {
    if (number != wanted++) break;
    part.files.push_back(path);
  }
  if (part.files.size() < found.size() || part.files.empty()) {
    return fail(
        ErrorCode::NotFound,
        fmt::format(
            "the binary log {}.{:06} is not among what was given; without it nothing that came later can be "
            "replayed",
            first->first, first->second + part.files.size()));
  }
  return part;
}

Result<LogSummary> summarise_log(const LogPart& part, const std::string& folder,
                                 const std::function<bool()>& stop) {
  std::vector<std::string> command = command_of(part);
  command.push_back("--base64-output=decode-rows");
  command.insert(command.end(), part.files.begin(), part.files.end());
  const std::string printed = folder + "/binlog.txt";
  HAILSTONE_TRY(run_program(command, folder + "/log", stop, printed));
  std::ifstream file(printed);
  if (!file) return fail(ErrorCode::Io, fmt::format("cannot read '{}'", printed));
  return summary_of_log(file);
}

Status replay_log(const LogPart& part, const std::string& client, const std::string& option_file,
                  const std::string& folder, const std::function<bool()>& stop) {
  // The client's end is the shell's; that of the other program is looked at afterwards.
  constexpr const char* script =
      "status=$1 client=$2 options=$3; shift 3; "
      "{ \"$@\"; echo $? >\"$status\"; } | \"$client\" ${options:+\"--defaults-file=$options\"} "
      "--binary-mode --local-infile=1 --max-allowed-packet=1G";
  const std::string status = folder + "/status";
  std::vector<std::string> command{"sh", "-c", script, "replay", status, client, option_file};
  for (const std::string& word : command_of(part)) command.push_back(word);
  // Files of LOAD DATA would stay elsewhere.
  command.push_back("--local-load=" + folder);
  command.insert(command.end(), part.files.begin(), part.files.end());
  LargeStatements large(option_file);
  HAILSTONE_TRY(large.allow());
  const Status replayed = run_program(command, folder + "/log", stop);
  const Status reset = large.reset();
  HAILSTONE_TRY(replayed);
  HAILSTONE_TRY(reset);
  std::string ended;
  std::ifstream(status) >> ended;
  if (ended == "0") return {};
  return fail(ErrorCode::Io, fmt::format("{} has failed (exit code {}), so that not all was replayed:\n{}",
                                         part.program, ended, last_lines(folder + "/log")));
}

}  // namespace hailstone

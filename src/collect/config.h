// What `hailstone collect` is told by its configuration file, in TOML; docs/collect.md has every key.
// Everything is checked when it is read: errors name file, line and the cure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/input.h"

namespace hailstone {

struct ServerConfig {
  std::string option_file;  // of MariaDB's clients: where the server is, user, password
  std::string option_group = "client";
  std::string database;
};

struct SpoolConfig {
  std::string directory;
  uint64_t limit_bytes = uint64_t{4} << 30;  // of each stream
};

struct StreamConfig {
  enum class Source : uint8_t { StandardInput, File, Directory };

  std::string name;
  std::string table;
  Source source = Source::File;
  std::string path;           // of the file or directory
  std::string pattern = "*";  // of names in the directory
  TextOptions text;
  std::vector<std::string> columns;  // where the fields go; "-": nowhere. Empty: as the header says
  std::vector<std::pair<std::string, std::string>> computed;  // column, SQL expression
  std::string character_set = "utf8mb4";
  std::string time_zone;  // of the session; empty: the server's
  std::string reject_file;
  uint64_t batch_records = 40'000;
};

struct CollectConfig {
  ServerConfig server;
  SpoolConfig spool;
  std::vector<StreamConfig> streams;

  /// `text` is the content of the file of that name. ErrorCode::InvalidArgument.
  static Result<CollectConfig> parse(std::string_view text, const std::string& name);
  static Result<CollectConfig> read(const std::string& path);
};

}  // namespace hailstone

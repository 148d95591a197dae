// One connection to a MariaDB server, through MariaDB's own client library. Where the server is, and how to
// log in, is in an option file of the clients. One thread.
//
// Errors: ErrorCode::Busy for what passes by itself, so that the same is worth another try: a server that is
// away or stops, a lost connection, a deadlock, a read-only server, a full disk. All else is InvalidArgument,
// and says what the server said. The error's system_error() is the server's or the client's error number.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collect/config.h"

struct st_mysql;

namespace hailstone {

/// What the server keeps of a statement's warnings at most.
constexpr unsigned most_warnings = 65'535;

/// `name` in backquotes, as a statement takes it.
std::string quoted_name(std::string_view name);
/// `text` as a literal; for texts of plain characters and such as the configuration holds.
std::string quoted_text(std::string_view text);

class ServerConnection {
 public:
  using Row = std::vector<std::string>;  // NULL is an empty text
  struct Warning {
    unsigned number = 0;
    std::string message;
  };

  explicit ServerConnection(const ServerConfig& config) : config_(config) {}
  ~ServerConnection();
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;

  /// Connects anew.
  Status connect();
  bool is_connected() const { return handle_ != nullptr; }
  /// False: the last error was one of the connection itself, which is of no more use.
  bool is_usable() const;
  void disconnect();

  /// How many rows it changed.
  Result<uint64_t> execute(const std::string& statement);
  Result<std::vector<Row>> query(const std::string& statement);
  /// Executes a LOAD DATA LOCAL statement, which gets `text` as its file, whatever it names. The number of
  /// rows that the server read of it.
  Result<uint64_t> load(const std::string& statement, std::string_view text);
  /// Of the last statement, as many as the server keeps; `all` is how many there were, 65,535 at most.
  Result<std::vector<Warning>> warnings(unsigned& all);

 private:
  std::unexpected<Error> failed(std::string_view what);

  const ServerConfig& config_;
  st_mysql* handle_ = nullptr;
  std::string_view load_text_;  // what a LOAD DATA under way has not been given yet
};

}  // namespace hailstone

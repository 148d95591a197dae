// One connection to a MariaDB server, through MariaDB's own client library. Where the server is, and how to
// log in, is in an option file of the clients. One thread.
//
// Errors: ErrorCode::Busy for what passes by itself, so that the same is worth another try: a server that is
// away or stops, a lost connection, a deadlock, a read-only server, a full disk. All else is InvalidArgument,
// and says what the server said. The error's system_error() is the server's or the client's error number.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collect/config.h"
#include "collect/stop.h"

struct st_mysql;
struct st_mysql_res;

namespace hailstone {

/// What the server keeps of a statement's warnings at most.
constexpr unsigned most_warnings = 65'535;

/// `name` in backquotes, as a statement takes it.
std::string quoted_identifier(std::string_view name);
/// `text` as a literal; for texts of plain characters and such as the configuration holds.
std::string quoted_text(std::string_view text);
/// A whole number, as a row has it; 0 when it is none.
uint64_t number_of(std::string_view text);

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
  Status connect(bool is_interruptible = false);
  bool is_connected() const { return handle_ != nullptr; }
  /// False: the last error was one of the connection itself, which is of no more use.
  bool is_usable() const;
  void disconnect();

  /// How many rows it changed.
  Result<uint64_t> execute(const std::string& statement);
  Result<std::vector<Row>> query(const std::string& statement);
  /// Executes a SELECT whose rows may be too many for memory: `columns` gets their names, then `row` each row
  /// as literals, "1, 'a', NULL". ErrorCode::Interrupted when stop is asked for: the connection is of no more
  /// use then, as after an error of `row`, and the statement goes on in the server until thread_id() is
  /// killed. This needs connect(true).
  Status read(const std::string& statement, const Stop& stop,
              const std::function<Status(const std::vector<std::string>&)>& columns,
              const std::function<Status(const std::string&)>& row);
  /// The connection's number, as KILL takes it.
  uint64_t thread_id() const { return thread_id_; }
  /// Executes a LOAD DATA LOCAL statement, which gets `text` as its file, whatever it names. The number of
  /// rows that the server read of it.
  Result<uint64_t> load(const std::string& statement, std::string_view text);
  /// Of the last statement, as many as the server keeps; `all` is how many there were, 65,535 at most.
  Result<std::vector<Warning>> warnings(unsigned& all);

 private:
  std::unexpected<Error> failed(std::string_view what);
  Status read_rows(st_mysql_res* result, std::string_view shown, const Stop& stop,
                   const std::function<Status(const std::vector<std::string>&)>& columns,
                   const std::function<Status(const std::string&)>& row);
  /// Ends the connection without another word to the server; it is of no use from then on.
  void abandon();

  const ServerConfig& config_;
  st_mysql* handle_ = nullptr;
  uint64_t thread_id_ = 0;
  std::string_view load_text_;  // what a LOAD DATA under way has not been given yet
};

}  // namespace hailstone

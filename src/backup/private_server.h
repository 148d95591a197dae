// A MariaDB server on a data directory that was restored, for this program alone: to see that it starts, and
// to settle what only a server can. It is killed with its object when it runs. One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "backup/child_process.h"
#include "backup/file_tree.h"
#include "base/status.h"
#include "collect/config.h"
#include "collect/server_connection.h"

namespace hailstone {

struct PrivateServerOptions {
  std::string program = "mariadbd";
  std::string data_directory;
  std::string option_file;       // of the server; empty: none
  std::string plugin_directory;  // empty: the server's own
  std::string user;              // that it runs as; empty: this process's
  std::string log;               // what it prints goes there
};

class PrivateServer {
 public:
  explicit PrivateServer(PrivateServerOptions options);
  PrivateServer(const PrivateServer&) = delete;
  PrivateServer& operator=(const PrivateServer&) = delete;

  /// Starts it and waits until it answers. Transactions that it had prepared by itself, and that nothing
  /// decides about, are rolled back; `rolled_back` says whether there were any.
  Status start(const std::function<bool()>& stop, bool& rolled_back);
  /// Of a connection that may do everything.
  ServerConnection& connection() { return *connection_; }
  /// Of MariaDB's clients, for other programs.
  const std::string& client_option_file() const { return config_.option_file; }
  /// Ends it in good order.
  Status end(const std::function<bool()>& stop);

 private:
  std::vector<std::string> command(bool roll_back) const;
  Status start_once(const std::function<bool()>& stop);
  Status make_folder();

  const PrivateServerOptions options_;
  std::optional<TemporaryFolder> folder_;  // for the socket; made by start()
  ServerConfig config_;
  std::optional<ChildProcess> process_;
  std::optional<ServerConnection> connection_;
};

/// Gives all below the folder to the user, as chown -R does. Nothing when this process may not.
Status give_to_user(const std::string& folder, const std::string& user);
/// The name of the user that owns the folder.
Result<std::string> owner_of(const std::string& folder);
bool is_root();

}  // namespace hailstone

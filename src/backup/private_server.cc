#include "backup/private_server.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "backup/file_tree.h"

namespace hailstone {
namespace {

constexpr auto look_interval = std::chrono::milliseconds(100);

/// What the server says where transactions are prepared and no log decides about them.
constexpr std::string_view undecided = "--tc-heuristic-recover";

}  // namespace

PrivateServer::PrivateServer(PrivateServerOptions options) : options_(std::move(options)) {}

std::vector<std::string> PrivateServer::command(bool roll_back) const {
  std::vector<std::string> command{options_.program};
  command.push_back(options_.option_file.empty() ? "--no-defaults"
                                                 : "--defaults-file=" + options_.option_file);
  command.insert(command.end(),
                 {"--datadir=" + options_.data_directory, "--socket=" + folder_->path() + "/socket",
                  "--pid-file=" + folder_->path() + "/pid", "--skip-networking", "--skip-grant-tables",
                  "--skip-slave-start", "--skip-log-bin", "--plugin-maturity=unknown",
                  "--plugin-load-add=ha_hailstone", "--lc-messages=en_US"});
  if (!options_.plugin_directory.empty()) command.push_back("--plugin-dir=" + options_.plugin_directory);
  if (!options_.user.empty()) command.push_back("--user=" + options_.user);
  if (roll_back) command.push_back("--tc-heuristic-recover=ROLLBACK");
  return command;
}

Status PrivateServer::make_folder() {
  HAILSTONE_ASSIGN(auto folder, TemporaryFolder::make());
  folder_.emplace(std::move(folder));
  config_.option_file = folder_->path() + "/client.cnf";
  HAILSTONE_TRY(write_text(config_.option_file,
                           fmt::format("[client]\nsocket={}/socket\nuser=root\n", folder_->path())));
  return options_.user.empty() ? Status{} : give_to_user(folder_->path(), options_.user);
}

Status PrivateServer::start_once(const std::function<bool()>& stop) {
  HAILSTONE_ASSIGN(auto process, ChildProcess::start(command(false), options_.log));
  process_.emplace(std::move(process));
  connection_.emplace(config_);
  while (process_->is_running()) {
    if (stop && stop())
      return fail(ErrorCode::Interrupted, "the start of the restored server was interrupted");
    if (std::filesystem::exists(folder_->path() + "/socket") && connection_->connect()) return {};
    std::this_thread::sleep_for(look_interval);
  }
  return process_->wait(stop);
}

Status PrivateServer::start(const std::function<bool()>& stop, bool& rolled_back) {
  rolled_back = false;
  HAILSTONE_TRY(make_folder());
  Status started = start_once(stop);
  if (started) return {};
  const auto log = read_text(options_.log);
  if (!log || !log->contains(undecided)) return started;
  // It ends with an error by design, whatever it has rolled back.
  HAILSTONE_ASSIGN(auto process, ChildProcess::start(command(true), options_.log));
  const Status ended = process.wait(stop);
  if (!ended && ended.error().code() == ErrorCode::Interrupted) return ended;
  rolled_back = true;
  return start_once(stop);
}

Status PrivateServer::end(const std::function<bool()>& stop) {
  HAILSTONE_TRY(connection_->execute("SHUTDOWN"));
  connection_->disconnect();
  return process_->wait(stop);
}

bool is_root() { return geteuid() == 0; }

Result<std::string> owner_of(const std::string& folder) {
  struct stat facts {};
  if (stat(folder.c_str(), &facts) != 0)
    return fail(ErrorCode::NotFound, fmt::format("cannot look at '{}': {}", folder, std::strerror(errno)));
  const passwd* const user = getpwuid(facts.st_uid);
  if (user == nullptr)
    return fail(ErrorCode::NotFound,
                fmt::format("the owner of '{}', number {}, has no name", folder, facts.st_uid));
  return std::string(user->pw_name);
}

Status give_to_user(const std::string& folder, const std::string& user) {
  if (!is_root()) return {};
  const passwd* const found = getpwnam(user.c_str());
  if (found == nullptr)
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format("there is no user '{}' to own '{}'; name the one that the server runs as by --user", user,
                    folder));
  const auto give = [&](const std::string& path) -> Status {
    if (lchown(path.c_str(), found->pw_uid, found->pw_gid) == 0) return {};
    return fail(ErrorCode::Io,
                fmt::format("cannot give '{}' to the user '{}': {}", path, user, std::strerror(errno)));
  };
  HAILSTONE_TRY(give(folder));
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    HAILSTONE_TRY(give(entry->path().string()));
  if (error) return fail(ErrorCode::Io, fmt::format("cannot look through '{}': {}", folder, error.message()));
  return {};
}

}  // namespace hailstone

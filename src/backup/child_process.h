// Another program at work for this one: mariadb-backup, mariadb-dump, a server. It ends with this process,
// however that ends. One thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace hailstone {

class ChildProcess {
 public:
  /// Starts the program, which is looked for in PATH unless it has a slash. What it prints goes to the file
  /// `log`, behind what is there; with `output` its standard output goes to that file in place.
  /// ErrorCode::NotFound: there is no such program.
  static Result<ChildProcess> start(const std::vector<std::string>& command, const std::string& log,
                                    const std::string& output = {});
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  /// Kills it when it still runs.
  ~ChildProcess();

  bool is_running();
  /// Waits for its end, and asks `stop` some times a second, which may be empty: true kills it, and is
  /// ErrorCode::Interrupted. An end with another status than 0 is an error with the last lines of its log.
  Status wait(const std::function<bool()>& stop);

 private:
  ChildProcess(pid_t process, std::string name, std::string log)
      : process_(process), name_(std::move(name)), log_(std::move(log)) {}
  bool ended();

  pid_t process_ = -1;  // -1: it has ended
  int status_ = 0;
  std::string name_, log_;
};

/// The last lines of a text file, for a message; empty when it cannot be read.
std::string last_lines(const std::string& path);

/// start() and wait().
Status run_program(const std::vector<std::string>& command, const std::string& log,
                   const std::function<bool()>& stop, const std::string& output = {});

}  // namespace hailstone

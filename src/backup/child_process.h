// Another program at work for this one: mariadb-backup, mariadb-dump, a server. It ends with this process,
// however that ends. One thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "file/descriptor.h"
#include "text/input.h"

namespace hailstone {

class ChildProcess {
 public:
  /// Starts the program, which is looked for in PATH unless it has a slash. What it prints goes to the file
  /// `log`, behind what is there; with `output` its standard output goes to that file in place.
  /// ErrorCode::NotFound: there is no such program.
  static Result<ChildProcess> start(const std::vector<std::string>& command, const std::string& log,
                                    const std::string& output = {});
  /// The same, and its standard output is for output() to read.
  static Result<ChildProcess> start_to_read(const std::vector<std::string>& command, const std::string& log);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  /// Kills it when it still runs.
  ~ChildProcess();

  bool is_running();
  /// Waits for its end, and asks `stop` some times a second, which may be empty: true kills it, and is
  /// ErrorCode::Interrupted. An end with another status than 0 is an error with the last lines of its log.
  Status wait(const std::function<bool()>& stop);
  /// What it writes to its standard output, up to its end. Asks `stop` as wait() does.
  std::unique_ptr<Input> output(std::function<bool()> stop);

 private:
  ChildProcess(pid_t process, std::string name, std::string log, Descriptor output)
      : process_(process), name_(std::move(name)), log_(std::move(log)), output_(std::move(output)) {}
  /// `output`: -1 for the log.
  static Result<pid_t> launch(const std::vector<std::string>& command, const std::string& log, int output);
  bool ended();

  pid_t process_ = -1;  // -1: it has ended
  int status_ = 0;
  std::string name_, log_;
  Descriptor output_;  // of start_to_read(), until output() takes it
};

/// The last lines of a text file, for a message; empty when it cannot be read.
std::string last_lines(const std::string& path);

/// start() and wait().
Status run_program(const std::vector<std::string>& command, const std::string& log,
                   const std::function<bool()>& stop, const std::string& output = {});

}  // namespace hailstone

#include "backup/child_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <fstream>
#include <thread>
#include <utility>

#include "backup/posix_calls.h"

namespace hailstone {
namespace {

constexpr auto look_interval = std::chrono::milliseconds(50);
constexpr size_t told_lines = 5;
constexpr int cannot_execute = 127;

/// In the child: what is open here is not the other program's, signals are as in a new one.
[[noreturn]] void become(const std::vector<char*>& arguments, int log, int output, int failure,
                         pid_t parent) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // A terminal's Ctrl-C is for the parent, which decides.
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == parent) {
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execvp(arguments.front(), arguments.data());
  }
  const int reason = errno;
  static_cast<void>(!write(failure, &reason, sizeof reason));
  _exit(cannot_execute);
}

int open_to_append(const std::string& path) {
  return open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/// The end of a pipe that another program writes to.
class PipeInput final : public Input {
 public:
  PipeInput(const std::string& program, Descriptor pipe, std::function<bool()> stop)
      : name_(fmt::format("the output of {}", program)), pipe_(std::move(pipe)), stop_(std::move(stop)) {}

  Result<size_t> read(char* to, size_t size) override {
    while (true) {
      if (stop_ && stop_()) return fail(ErrorCode::Interrupted, "interrupted");
      pollfd waits{.fd = pipe_.number(), .events = POLLIN, .revents = 0};
      const int ready = poll(&waits, 1, static_cast<int>(look_interval.count()));
      if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
      const ssize_t bytes = ready < 0 ? -1 : ::read(pipe_.number(), to, size);
      if (bytes >= 0) return static_cast<size_t>(bytes);
      if (errno != EINTR) return failed_call(fmt::format("cannot read {}", name_), errno);
    }
  }
  const std::string& name() const override { return name_; }
  std::optional<uint64_t> size() const override { return std::nullopt; }

 private:
  const std::string name_;
  const Descriptor pipe_;
  const std::function<bool()> stop_;
};

}  // namespace

Result<pid_t> ChildProcess::launch(const std::vector<std::string>& command, const std::string& log,
                                   int output) {
  const auto failed = [](int reason, const std::string& what) {
    return fail(reason == ENOENT ? ErrorCode::NotFound : ErrorCode::Io,
                fmt::format("{}: {}", what, std::strerror(reason)));
  };
  const Descriptor log_file(open_to_append(log));
  if (!log_file.is_open()) return failed(errno, fmt::format("cannot write to '{}'", log));
  std::array<int, 2> failure{-1, -1};
  if (pipe2(failure.data(), O_CLOEXEC) != 0)
    return failed(errno, fmt::format("cannot start '{}'", command.front()));
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t process = fork();
  const int fork_error = errno;
  if (process == 0)
    become(arguments, log_file.number(), output < 0 ? log_file.number() : output, failure[1], parent);
  close(failure[1]);
  int reason = 0;
  const bool has_failed =
      process < 0 || read(failure[0], &reason, sizeof reason) == static_cast<ssize_t>(sizeof reason);
  close(failure[0]);
  if (process < 0) return failed(fork_error, fmt::format("cannot start '{}'", command.front()));
  if (has_failed) {
    waitpid(process, nullptr, 0);
    return failed(reason, fmt::format("cannot run '{}'", command.front()));
  }
  return process;
}

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& command, const std::string& log,
                                         const std::string& output) {
  const Descriptor file(output.empty() ? -1 : open_to_append(output));
  if (!output.empty() && !file.is_open())
    return failed_call(fmt::format("cannot write to '{}'", output), errno);
  HAILSTONE_ASSIGN(const pid_t process, launch(command, log, file.number()));
  return ChildProcess(process, command.front(), log, Descriptor(-1));
}

Result<ChildProcess> ChildProcess::start_to_read(const std::vector<std::string>& command,
                                                 const std::string& log) {
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return failed_call("cannot make a pipe", errno);
  Descriptor output(ends[0]);
  const Descriptor input(ends[1]);
  HAILSTONE_ASSIGN(const pid_t process, launch(command, log, input.number()));
  return ChildProcess(process, command.front(), log, std::move(output));
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      status_(other.status_),
      name_(std::move(other.name_)),
      log_(std::move(other.log_)),
      output_(std::move(other.output_)) {}

ChildProcess::~ChildProcess() {
  if (ended()) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

bool ChildProcess::ended() {
  if (process_ < 0) return true;
  if (waitpid(process_, &status_, WNOHANG) != process_) return false;
  process_ = -1;
  return true;
}

bool ChildProcess::is_running() { return !ended(); }

Status ChildProcess::wait(const std::function<bool()>& stop) {
  while (!ended()) {
    if (stop && stop()) return fail(ErrorCode::Interrupted, fmt::format("{} was interrupted", name_));
    std::this_thread::sleep_for(look_interval);
  }
  if (WIFEXITED(status_) && WEXITSTATUS(status_) == 0) return {};
  const std::string how = WIFEXITED(status_) ? fmt::format("exit code {}", WEXITSTATUS(status_))
                                             : fmt::format("signal {}", WTERMSIG(status_));
  return fail(ErrorCode::Io, fmt::format("{} has failed ({}); its output is in '{}' and ends with:\n{}",
                                         name_, how, log_, last_lines(log_)));
}

std::unique_ptr<Input> ChildProcess::output(std::function<bool()> stop) {
  return std::make_unique<PipeInput>(name_, std::move(output_), std::move(stop));
}

std::string last_lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> last;
  for (std::string line; std::getline(file, line);) {
    if (last.size() == told_lines) last.erase(last.begin());
    last.push_back(std::move(line));
  }
  return fmt::format("{}", fmt::join(last, "\n"));
}

Status run_program(const std::vector<std::string>& command, const std::string& log,
                   const std::function<bool()>& stop, const std::string& output) {
  HAILSTONE_ASSIGN(ChildProcess child, ChildProcess::start(command, log, output));
  return child.wait(stop);
}

}  // namespace hailstone

#include "cli/session.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "api/hailstone/handles.h"
#include "cli/in_use.h"
#include "database/server_folder.h"
#include "text/value_text.h"

namespace hailstone {
namespace {

sigset_t watched_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  return signals;
}

void show_message(void*, hs_log_level level, const char* message) {
  if (level == HS_LOG_NOTE) return;
  fmt::print(stderr, "hailstone: {}: {}\n", level == HS_LOG_WARNING ? "warning" : "error",
             safe_for_terminal(message));
}

}  // namespace

void add_database_arguments(Arguments& command, DatabaseArguments& arguments, bool or_server) {
  arguments.command = command.name();
  arguments.or_server = or_server;
  command
      .add("DATABASE", arguments.directory,
           or_server ? "the database's directory, or a server's data directory" : "the database's directory")
      .required();
  command
      .add("--memory", arguments.memory_bytes,
           "memory for rows, loads and the cache, in bytes or as 512MB, 2GB; at least 16MB")
      .as_bytes()
      .not_negative()
      .show_default("512MB");
}

SignalWatch::SignalWatch(std::function<void()> arrived, std::function<void()> hung_up) {
  const sigset_t signals = watched_signals();
  signal_descriptor_ = signalfd(-1, &signals, SFD_CLOEXEC);
  arrived_descriptor_ = eventfd(0, EFD_CLOEXEC);
  ending_descriptor_ = eventfd(0, EFD_CLOEXEC);
  // Without a descriptor a signal ends the process, which is safe, too.
  if (signal_descriptor_ >= 0) pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // The reader of the output may close its end: the write fails then, and the command looks at that.
  (void)signal(SIGPIPE, SIG_IGN);
  // So may a file reach the size that the user's limits permit.
  (void)signal(SIGXFSZ, SIG_IGN);
  thread_ = std::thread([this, arrived = std::move(arrived), hung_up = std::move(hung_up)] {
    while (!ending_.load(std::memory_order_relaxed)) {
      pollfd waits[] = {{.fd = signal_descriptor_, .events = POLLIN, .revents = 0},
                        {.fd = ending_descriptor_, .events = POLLIN, .revents = 0}};
      // Without the descriptor of the end that has to be looked for.
      constexpr int look_interval = 50;
      if (poll(waits, 2, ending_descriptor_ >= 0 ? -1 : look_interval) <= 0 || waits[0].revents == 0)
        continue;
      signalfd_siginfo taken{};
      if (hung_up) {
        (void)!read(signal_descriptor_, &taken, sizeof taken);
        if (taken.ssi_signo == SIGHUP) {
          hung_up();
          continue;
        }
      }
      // Before the signal is taken from the queue, so that has_been_sent() holds all the while.
      const bool is_second = arrived_.exchange(true);
      if (!hung_up) (void)!read(signal_descriptor_, &taken, sizeof taken);
      if (is_second) _exit(exit_interrupted);  // at once, which is safe
      const uint64_t one = 1;
      (void)!write(arrived_descriptor_, &one, sizeof one);
      arrived();
    }
  });
}

SignalWatch::~SignalWatch() {
  ending_.store(true);
  const uint64_t one = 1;
  (void)!write(ending_descriptor_, &one, sizeof one);
  thread_.join();
  if (ending_descriptor_ >= 0) ::close(ending_descriptor_);
  if (signal_descriptor_ >= 0) ::close(signal_descriptor_);
  if (arrived_descriptor_ >= 0) ::close(arrived_descriptor_);
}

bool SignalWatch::has_been_sent() const {
  pollfd waits = {.fd = signal_descriptor_, .events = POLLIN, .revents = 0};
  return poll(&waits, 1, 0) > 0 || has_arrived();
}

Session::Session()
    : watch_([this] {
        const MutexLock guard(mutex_);
        if (interruptible_ != nullptr) hs_interrupt(interruptible_, 1);
      }) {}

Session::~Session() {
  // A caller that needs to know whether closing worked has called close().
  static_cast<void>(close());
}

Status Session::open(const DatabaseArguments& arguments, bool may_make) {
  hs_options options;
  hs_options_init(&options);
  options.must_exist = may_make ? 0 : 1;
  return open(options, arguments);
}

Status Session::open_to_read(const DatabaseArguments& arguments) {
  hs_options options;
  hs_options_init(&options);
  options.must_exist = 1;
  options.read_only = 1;
  return open(options, arguments);
}

Status Session::open(hs_options& options, const DatabaseArguments& arguments) {
  options.retention_interval_seconds = 0;  // a command does what it was asked for
  options.memory_bytes = arguments.memory_bytes;
  options.log = show_message;
  std::string directory = arguments.directory;
  if (arguments.or_server) {
    HAILSTONE_ASSIGN(directory, find_database(posix_filesystem(), directory));
  }
  const int status = hs_open(directory.c_str(), &options, &database_);
  const Status opened = checked(status, database_);
  if (!opened) return std::unexpected(with_way_out(opened.error(), arguments.command, directory));
  return {};
}

Status Session::begin() {
  hs_transaction* begun = nullptr;
  const int status = hs_begin(database_, HS_REPEATABLE_READ, &begun);
  HAILSTONE_TRY(checked(status, database_));
  transaction_ = begun;
  const MutexLock guard(mutex_);
  interruptible_ = begun;
  if (is_interrupted()) hs_interrupt(transaction_, 1);
  return {};
}

Status Session::commit() {
  if (watch_.has_been_sent()) return fail(ErrorCode::Interrupted, "interrupted");
  return checked(hs_commit(transaction_), transaction_);
}

Status Session::close() {
  {
    const MutexLock guard(mutex_);
    interruptible_ = nullptr;
  }
  hs_transaction_close(transaction_);
  transaction_ = nullptr;
  hs_database* const database = database_;
  database_ = nullptr;
  // A handle that could not be opened is closed alike.
  const int status = hs_close(database);
  if (status == HS_OK) return {};
  return fail(capi::code_of(status),
              "closing the database failed; what was committed is safe, and the next start recovers it");
}

std::function<bool()> Session::stop() const {
  return [this] { return is_interrupted(); };
}

// Both stay as long as the session has the handles.
Database& Session::engine() const {
  const capi::Pin<capi::DatabaseHandle> database(database_);
  return *database->shared->database;
}
Transaction& Session::engine_transaction() const {
  const capi::Pin<capi::TransactionHandle> transaction(transaction_);
  return *transaction->shared->transaction;
}

Status checked(int status, const void* handle) {
  if (status == HS_OK) return {};
  const std::string message = hs_error_message(handle);
  return fail(capi::code_of(status), message.empty() ? hs_status_name(status) : message);
}

int finished(const std::string& command, const Status& status) {
  if (status) return 0;
  const Error& error = status.error();
  if (error.code() == ErrorCode::Interrupted) {
    fmt::print(stderr, "hailstone {}: interrupted; the database is as it was\n", command);
    return exit_interrupted;
  }
  // It may name what the database holds.
  fmt::print(stderr, "hailstone {}: {}\n", command, safe_for_terminal(error.message()));
  return error.code() == ErrorCode::Corruption ? exit_damage : exit_error;
}

std::string counted(uint64_t number, std::string_view noun, std::string_view plural) {
  if (number == 1 || !plural.empty()) return fmt::format("{} {}", number, number == 1 ? noun : plural);
  return fmt::format("{} {}s", number, noun);
}

std::string human_bytes(uint64_t bytes) {
  static constexpr const char* units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  auto number = static_cast<double>(bytes);
  size_t unit = 0;
  for (; number >= 999.5; number /= 1000) ++unit;
  return fmt::format("{:.{}f} {}", number, number < 9.95 ? 1 : 0, units[unit]);
}

}  // namespace hailstone

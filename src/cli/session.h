// What the subcommands that work on a database have in common: their options, an open database, a
// transaction, and the end by Ctrl-C.
//
// A Session belongs to one thread. It must be made before any other thread is (it blocks SIGINT and SIGTERM
// for them), so first thing in a subcommand. After such a signal the transaction under way is interrupted,
// and is_interrupted() holds; nothing has been changed unless the commit was through already.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "base/status.h"
#include "cli/arguments.h"
#include "database/database.h"
#include "hailstone.h"

namespace hailstone {

/// Exit codes; docs/tools.md has them for users. Wrong usage is 2.
constexpr int exit_error = 1, exit_usage = 2, exit_damage = 3, exit_in_part = 4, exit_interrupted = 130;

/// How the program ends; a subcommand sets it.
struct Ending {
  int exit_code = 0;
};

struct DatabaseArguments {
  std::string command;     // the subcommand that they are of
  bool or_server = false;  // the data directory of a server stands for the database in it
  std::string directory;
  uint64_t memory_bytes = uint64_t{512} << 20;
};
/// Adds the positional DATABASE and --memory.
void add_database_arguments(Arguments& command, DatabaseArguments& arguments, bool or_server = false);

/// Waits for SIGINT, SIGTERM and SIGHUP as long as it lives, in a thread of its own.
class SignalWatch {
 public:
  /// `arrived` is called once, in that thread. With `hung_up` each SIGHUP is a call of that, and no end.
  explicit SignalWatch(std::function<void()> arrived, std::function<void()> hung_up = {});
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// Costs a load; holds a moment after the signal, when the thread has seen it.
  bool has_arrived() const { return arrived_.load(std::memory_order_acquire); }
  /// Costs a system call; holds for each signal that was sent before the call.
  bool has_been_sent() const;
  /// Readable as soon as has_arrived() holds: for poll().
  int descriptor() const { return arrived_descriptor_; }

 private:
  std::atomic<bool> arrived_{false};
  std::atomic<bool> ending_{false};
  int signal_descriptor_ = -1;
  int arrived_descriptor_ = -1;
  int ending_descriptor_ = -1;  // readable once ending_ holds
  std::thread thread_;
};

class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Opens the database. ErrorCode::NotFound when there is none and `may_make` is not set. Warnings go to
  /// stderr.
  Status open(const DatabaseArguments& arguments, bool may_make = false);
  /// The same for a command that changes nothing: the directory may be one that cannot be written to, and
  /// stays as it is. What a crash has left in the log is applied in memory.
  Status open_to_read(const DatabaseArguments& arguments);
  Status begin();
  /// ErrorCode::Interrupted if a signal was sent before: Ctrl-C ends the other programs of a pipe, too, and
  /// half of their output must not pass for all of it.
  Status commit();
  /// Ends what is open. Rolls an open transaction back.
  Status close();

  bool is_interrupted() const { return watch_.has_arrived(); }
  int interrupt_descriptor() const { return watch_.descriptor(); }
  /// For Table::check() and the like.
  std::function<bool()> stop() const;

  hs_transaction* transaction() const { return transaction_; }
  /// The engine beneath the C interface, for what that does not show.
  Database& engine() const;
  Transaction& engine_transaction() const;

 private:
  Status open(hs_options& options, const DatabaseArguments& arguments);

  Mutex mutex_;
  /// transaction_, for the watch's thread.
  hs_transaction* interruptible_ HAILSTONE_GUARDED_BY(mutex_) = nullptr;
  hs_transaction* transaction_ = nullptr;
  hs_database* database_ = nullptr;
  SignalWatch watch_;  // last: its thread uses the others
};

/// The status of a call of hailstone.h as a Status, with the handle's sentence.
Status checked(int status, const void* handle);

/// The exit code of a subcommand's work; an error is printed as "hailstone COMMAND: …". ErrorCode::Corruption
/// is damage.
int finished(const std::string& command, const Status& status);

/// "1 table", "2 tables".
std::string counted(uint64_t number, std::string_view noun, std::string_view plural = {});
/// "1.5 MB".
std::string human_bytes(uint64_t bytes);

}  // namespace hailstone

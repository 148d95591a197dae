// The program that the crash test kills: opens a database, verifies it, and then runs transactions on several
// threads until it is killed.
//
// Arguments: directory, seed, threads, flush mode (1 or 2), "run" or "verify". Lines on standard output, each
// written at once:
//   P thread number   before work begins: the thread's last transaction that the database holds
//   V rows            the database holds exactly the transactions that the P lines say
//   B thread number   before a commit
//   C thread number   after it: the transaction must survive
//   E message         something failed; the exit status is 1
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "workload.h"

namespace hailstone {
namespace {

void say(const std::string& line) {
  // One call, so that lines of threads do not mix and none is lost with a buffer when the process is killed.
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::_Exit(2);
}

int give_up(const Error& error) {
  say(fmt::format("E {}\n", error.message()));
  return 1;
}

Status work(Database& database, const CrashWorkload& workload, unsigned thread) {
  HAILSTONE_ASSIGN(uint64_t number, workload.progress(database, thread));
  for (;;) {
    ++number;
    const auto transaction = database.transactions().begin(Isolation::RepeatableRead);
    HAILSTONE_TRY(workload.change(database, *transaction, thread, number));
    if (number % 16 == 0) {
      // The same once more, after a rollback.
      database.transactions().rollback(*transaction);
      const auto again = database.transactions().begin(Isolation::RepeatableRead);
      HAILSTONE_TRY(workload.change(database, *again, thread, number));
      say(fmt::format("B {} {}\n", thread, number));
      HAILSTONE_TRY(database.transactions().commit(*again));
    } else {
      say(fmt::format("B {} {}\n", thread, number));
      HAILSTONE_TRY(database.transactions().commit(*transaction));
    }
    say(fmt::format("C {} {}\n", thread, number));
  }
}

int run(const std::string& directory, uint64_t seed, unsigned threads, FlushLogAtCommit mode,
        bool only_verify) {
  DatabaseOptions options;
  options.memory_budget = size_t{32} << 20;
  // Small, so that there are some flushes between two checkpoints.
  options.delta_limit = size_t{128} << 10;
  options.checkpoint_log_bytes = size_t{1} << 20;
  options.flush_log_at_commit = mode;
  options.logger = [](DatabaseOptions::Severity severity, const std::string& message) {
    if (severity != DatabaseOptions::Severity::Note) say(fmt::format("E {}\n", message));
  };
  auto database = Database::open(posix_filesystem(), directory, options);
  if (!database) return give_up(database.error());
  const CrashWorkload workload(seed, threads);
  if (Status status = workload.prepare(**database); !status) return give_up(status.error());
  for (unsigned thread = 0; thread < threads; ++thread) {
    const auto number = workload.progress(**database, thread);
    if (!number) return give_up(number.error());
    say(fmt::format("P {} {}\n", thread, *number));
  }
  const auto rows = workload.verify(**database);
  if (!rows) return give_up(rows.error());
  say(fmt::format("V {}\n", *rows));
  if (only_verify) {
    const Status closed = (*database)->close();
    return closed ? 0 : give_up(closed.error());
  }
  std::vector<std::thread> workers;
  std::atomic<int> result{0};
  for (unsigned thread = 0; thread < threads; ++thread) {
    workers.emplace_back([&, thread] {
      if (Status status = work(**database, workload, thread); !status) result = give_up(status.error());
    });
  }
  for (std::thread& worker : workers) worker.join();
  return result;
}

}  // namespace
}  // namespace hailstone

int main(int count, char** arguments) {
  if (count != 6) {
    hailstone::say("E usage: hailstone_crash_worker directory seed threads flush-mode run|verify\n");
    return 2;
  }
  return hailstone::run(arguments[1], std::strtoull(arguments[2], nullptr, 0),
                        static_cast<unsigned>(std::strtoul(arguments[3], nullptr, 0)),
                        static_cast<hailstone::FlushLogAtCommit>(std::atoi(arguments[4])),
                        std::string(arguments[5]) == "verify");
}

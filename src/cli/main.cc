// The hailstone command: one subcommand for each job.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <system_error>

#include "cli/commands.h"
#include "hailstone.h"

namespace hailstone {
namespace {

int lost_output(const std::string& reason, int code) {
  // Not by fmt, which would throw where this cannot be written either.
  (void)std::fputs(("hailstone: the output could not be written: " + reason + "\n").c_str(), stderr);
  return code == 0 ? exit_error : code;
}

/// The exit code.
int run(int count, char** arguments) {
  ArgumentReader reader(
      "hailstone", "Hailstone's tools for a database directory that no other process has open", hs_version(),
      "Exit codes: 0 done, 1 error, 2 wrong usage, 3 damage found, 4 not all could be checked, 130 "
      "interrupted.\n"
      "A load, backup or restore that does not come to its end leaves nothing behind.");
  Arguments root = reader.root();
  Ending ending;
  add_tables_command(root, ending);
  add_describe_command(root, ending);
  add_load_command(root, ending);
  add_scan_command(root, ending);
  add_check_command(root, ending);
  add_inspect_command(root, ending);
  add_backup_command(root, ending);
  add_restore_command(root, ending);
  add_replay_command(root, ending);
  add_collect_command(root, ending);
  add_disk_command(root, ending);
  switch (reader.read(count, arguments)) {
    case ArgumentReader::Outcome::Run:
      return ending.exit_code;
    case ArgumentReader::Outcome::Shown:
      return 0;
    case ArgumentReader::Outcome::Wrong:
      return exit_usage;
  }
  return exit_usage;
}

}  // namespace
}  // namespace hailstone

int main(int argc, char** argv) {
  try {
    const int code = hailstone::run(argc, argv);
    // The reader of the output may close its end.
    if (std::fflush(stdout) == 0 || errno == EPIPE) return code;
    return hailstone::lost_output(std::generic_category().message(errno), code);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again)  // of fmt::print()
      return hailstone::lost_output(error.code().message(), 0);
    (void)std::fprintf(stderr,
                       "hailstone: cannot start a thread: %s; raise the limits on memory and threads of this "
                       "process (ulimit -v, ulimit -u)\n",
                       error.code().message().c_str());
    return hailstone::exit_error;
  } catch (const std::bad_alloc&) {
    (void)std::fputs("hailstone: there is not enough memory\n", stderr);
    return hailstone::exit_error;
  }
}

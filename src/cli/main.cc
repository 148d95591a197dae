// The hailstone command: one subcommand for each job.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "cli/commands.h"
#include "cli/text_table.h"
#include "hailstone.h"

int main(int argc, char** argv) {
  CLI::App app("Hailstone's tools for a database directory that no other process has open", "hailstone");
  app.require_subcommand(1);
  app.set_version_flag("--version", hs_version(), "print the version and exit");
  app.footer(
      "Exit codes: 0 done, 1 error, 2 wrong usage, 3 damage found, 130 interrupted. A load, backup or "
      "restore\n"
      "that does not come to its end leaves nothing behind.");
  hailstone::Ending ending;
  hailstone::add_tables_command(app, ending);
  hailstone::add_describe_command(app, ending);
  hailstone::add_load_command(app, ending);
  hailstone::add_scan_command(app, ending);
  hailstone::add_check_command(app, ending);
  hailstone::add_inspect_command(app, ending);
  hailstone::add_backup_command(app, ending);
  hailstone::add_restore_command(app, ending);
  hailstone::add_generate_command(app, ending);
  hailstone::add_disk_command(app, ending);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version are "errors" without a code.
    return app.exit(error) == 0 ? 0 : hailstone::exit_usage;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "hailstone: there is not enough memory\n");
    return hailstone::exit_error;
  }
  if (std::fflush(stdout) != 0 && ending.exit_code == 0) {
    fmt::print(stderr, "hailstone: the output could not be written\n");
    return hailstone::exit_error;
  }
  return ending.exit_code;
}

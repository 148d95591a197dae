// The subcommands. Each function adds one to the application; what is chosen runs and sets the exit code.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/session.h"

namespace hailstone {

void add_tables_command(CLI::App& app, Ending& ending);
void add_describe_command(CLI::App& app, Ending& ending);
void add_load_command(CLI::App& app, Ending& ending);
void add_scan_command(CLI::App& app, Ending& ending);
void add_check_command(CLI::App& app, Ending& ending);
void add_inspect_command(CLI::App& app, Ending& ending);
void add_backup_command(CLI::App& app, Ending& ending);
void add_restore_command(CLI::App& app, Ending& ending);
void add_generate_command(CLI::App& app, Ending& ending);
void add_disk_command(CLI::App& app, Ending& ending);

}  // namespace hailstone

// The subcommands. Each function adds one to the command; the one that is chosen runs and sets the exit code.
#pragma once

#include "cli/arguments.h"
#include "cli/session.h"

namespace hailstone {

void add_tables_command(Arguments& root, Ending& ending);
void add_describe_command(Arguments& root, Ending& ending);
void add_load_command(Arguments& root, Ending& ending);
void add_scan_command(Arguments& root, Ending& ending);
void add_check_command(Arguments& root, Ending& ending);
void add_inspect_command(Arguments& root, Ending& ending);
void add_backup_command(Arguments& root, Ending& ending);
void add_restore_command(Arguments& root, Ending& ending);
void add_replay_command(Arguments& root, Ending& ending);
void add_collect_command(Arguments& root, Ending& ending);
void add_disk_command(Arguments& root, Ending& ending);

}  // namespace hailstone

// The backup that the server's process makes of the engine's tables, for hailstone_create_backup and
// hailstone_backup_armed (docs/backup.md). At most one at a time.
//
// An armed backup is one whose moment somebody else chooses: the session that holds BACKUP STAGE
// BLOCK_COMMIT, such as mariadb-backup's, when it says FLUSH ENGINE LOGS. No engine can commit then. The last
// moment before BACKUP STAGE END counts: others, too, may keep commits out and flush logs later. It belongs
// to the session that has armed it, and is given up with it.
//
// All functions are thread-safe.
#pragma once

#include <string>

#include "base/status.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Makes a backup in `directory` at once, or finishes the armed one there, whose moment must have been.
Status create_backup(THD* thd, const std::string& directory);
/// Gets all ready for a backup in `directory`. ErrorCode::Busy while there is another one.
Status arm_backup(THD* thd, const std::string& directory);
/// Gives up what is armed, whoever has armed it, and removes what was made of it.
void give_up_backup();

/// For hton->flush_logs: whether this is the moment of an armed backup, `thd` may be null.
bool is_moment_of_backup(THD* thd);
Status take_moment_of_backup(THD* thd);
/// For hton->prepare_for_backup and end_backup: BACKUP STAGE START and END of any session.
void begin_stages_of_backup();
void end_stages_of_backup();
/// The session ends: what it has armed is given up.
void end_backup_of(const THD* thd);

/// Hailstone_backup_…, of SHOW STATUS.
extern st_mysql_show_var backup_variables[];

}  // namespace hailstone

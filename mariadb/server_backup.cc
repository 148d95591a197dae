#include "server_backup.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include "base/mutex.h"
#include "binary_log_position.h"
#include "database/online_backup.h"
#include "engine.h"
#include "session.h"
#include "variables.h"

namespace hailstone {

namespace {

enum class State { None, Preparing, Armed, Cut, Finishing, Done };

const char* name_of(State state) {
  switch (state) {
    case State::None:
      return "";
    case State::Preparing:
      return "preparing";
    case State::Armed:
      return "armed";
    case State::Cut:
      return "cut";
    case State::Finishing:
      return "finishing";
    case State::Done:
      return "done";
  }
  return "";
}

/// What SHOW STATUS tells of the last backup.
struct Shown {
  State state = State::None;
  std::string directory;
  std::optional<BinaryLogPosition> position;
  std::chrono::microseconds cut{0};
  std::string error;     // of the moment, whose session is not the one that has armed it
  bool is_over = false;  // the stages in which the moment was have ended: there is no later one
};

struct Current {
  Mutex working;  // one step at a time
  std::unique_ptr<OnlineBackup> backup HAILSTONE_GUARDED_BY(working);
  my_thread_id owner = 0;  // session; 0: none, it goes on by itself
  bool staged = false;     // in the engine's own folder: goes with the session, finished or not
};

Mutex mutex;  // of these two; taken inside of Current::working
std::shared_ptr<Current> current HAILSTONE_GUARDED_BY(mutex);
Shown shown HAILSTONE_GUARDED_BY(mutex);

Result<bool> is_staged(const std::string& directory) {
  return is_staged_backup(database().filesystem(), database().directory(), directory);
}

std::shared_ptr<Current> current_backup() {
  const MutexLock guard(mutex);
  return current;
}

/// The backup that is armed there and not whole yet; null: none.
std::shared_ptr<Current> armed_in(const std::string& directory) {
  const MutexLock guard(mutex);
  const bool is_armed =
      current != nullptr && current->owner != 0 && shown.directory == directory && shown.state != State::Done;
  return is_armed ? current : nullptr;
}

/// Of the backup, null: there is none.
bool awaits_moment(const Current* backup) HAILSTONE_REQUIRES(mutex) {
  return backup != nullptr && backup->owner != 0 && !shown.is_over &&
         (shown.state == State::Armed || shown.state == State::Cut);
}

void show(State state) {
  const MutexLock guard(mutex);
  shown.state = state;
}

/// The rules of SELECT … INTO OUTFILE: the server writes there with its own rights.
Status check_place(THD* thd, const std::string& directory) {
  if (!directory.starts_with('/')) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("the directory '{}' of a backup has to be a path from the root on", directory));
  }
  if ((thd->security_ctx->master_access & FILE_ACL) == NO_ACL)
    return fail(ErrorCode::InvalidArgument, "a backup in a directory needs the privilege FILE");
  std::string path = directory;
  if (!is_secure_file_path(path.data())) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("secure_file_priv = '{}' keeps the server from writing to '{}'",
                            opt_secure_file_priv, directory));
  }
  if (test_if_data_home_dir(path.c_str()) != 0) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("the directory '{}' is in the server's data directory, where each folder is a "
                            "database; give another",
                            directory));
  }
  return {};
}

/// A new backup, which nobody else has begun; `owner` as in Current.
Result<std::shared_ptr<Current>> claim(const std::string& directory, my_thread_id owner) {
  HAILSTONE_ASSIGN(const bool staged, is_staged(directory));
  const MutexLock guard(mutex);
  if (current != nullptr) {
    return fail(
        ErrorCode::Busy,
        fmt::format("there is a backup in '{}' already (connection {}); wait for its end, or give it up by "
                    "SET GLOBAL hailstone_backup_armed = ''",
                    shown.directory, current->owner));
  }
  current = std::make_shared<Current>();
  current->owner = owner;
  current->staged = staged;
  shown = Shown{};
  shown.state = State::Preparing;
  shown.directory = directory;
  return current;
}

/// Forgets the backup, and removes what it has made, but what is finished and not for its session only.
void let_go(const std::shared_ptr<Current>& backup, State last) {
  const MutexLock working(backup->working);
  backup->backup.reset();
  if (backup->staged && last != State::Done) {
    const Status removed = remove_staged_backup(database().filesystem(), database().directory());
    if (!removed) sql_print_warning("Hailstone: %s", removed.error().message().c_str());
  }
  const MutexLock guard(mutex);
  if (current != backup) return;
  current = nullptr;
  shown.state = last;
}

Status begin(THD* thd, Current& backup, const std::string& directory) {
  const MutexLock working(backup.working);
  const CopyProgress progress = [thd](uint64_t, uint64_t) { return thd_killed(thd) == 0; };
  if (backup.staged) HAILSTONE_TRY(remove_staged_backup(database().filesystem(), database().directory()));
  HAILSTONE_ASSIGN(backup.backup, database().begin_backup(directory, progress));
  return {};
}

/// Whether nobody can commit, as the session itself or another one holds BACKUP STAGE BLOCK_COMMIT. The
/// program mariadb-backup holds it in one session and has the logs flushed by another.
bool are_commits_out(THD* thd) {
  if (thd == nullptr) return false;
  if (thd->current_backup_stage == BACKUP_LOCK_COMMIT) return true;
  MDL_request request;
  MDL_REQUEST_INIT(&request, MDL_key::BACKUP, "", "", MDL_BACKUP_COMMIT, MDL_EXPLICIT);
  if (thd->mdl_context.try_acquire_lock(&request)) return false;
  if (request.ticket == nullptr) return true;
  thd->mdl_context.release_lock(request.ticket);
  return false;
}

Status cut(THD* thd, Current& backup, bool needs_no_commits) HAILSTONE_REQUIRES(backup.working) {
  if (backup.backup == nullptr) return {};  // given up
  if (needs_no_commits) {
    const MutexLock guard(mutex);
    if (!awaits_moment(&backup)) return {};
    // From here on it has an earlier moment no more, whatever becomes of this one.
    shown.state = State::Armed;
    shown.position.reset();
  }
  const auto begun = std::chrono::steady_clock::now();
  HAILSTONE_TRY(backup.backup->cut());
  const auto taken = std::chrono::steady_clock::now() - begun;
  std::optional<BinaryLogPosition> position = binary_log_position();
  if (!are_commits_out(thd)) {
    // Who held the commits has let go of them meanwhile.
    if (needs_no_commits) return {};
    position.reset();
  }
  const MutexLock guard(mutex);
  shown.position = std::move(position);
  shown.cut = std::chrono::duration_cast<std::chrono::microseconds>(taken);
  shown.state = State::Cut;
  return {};
}

/// What has the moment behind it gets whole.
Status finish(Current& backup) {
  const MutexLock working(backup.working);
  show(State::Finishing);
  return backup.backup->finish();
}

bool has_cut() {
  const MutexLock guard(mutex);
  return shown.state == State::Cut;
}

Status finish_armed(const std::shared_ptr<Current>& backup, const std::string& directory) {
  {
    const MutexLock working(backup->working);
    if (backup->backup == nullptr || !has_cut()) {
      return fail(
          ErrorCode::InvalidArgument,
          fmt::format("the armed backup in '{}' has had no moment yet: that is FLUSH ENGINE LOGS while a "
                      "session holds BACKUP STAGE BLOCK_COMMIT",
                      directory));
    }
  }
  const Status finished = finish(*backup);
  if (!finished || !backup->staged) {
    let_go(backup, finished ? State::Done : State::None);
  } else {
    show(State::Done);
  }
  return finished;
}

}  // namespace

Status create_backup(THD* thd, const std::string& directory) {
  if (const auto armed = armed_in(directory)) return finish_armed(armed, directory);
  HAILSTONE_TRY(check_place(thd, directory));
  HAILSTONE_ASSIGN(const auto backup, claim(directory, 0));
  Status made = begin(thd, *backup, directory);
  if (made) {
    const MutexLock working(backup->working);
    made = cut(thd, *backup, /*needs_no_commits=*/false);
  }
  if (made) made = finish(*backup);
  let_go(backup, made ? State::Done : State::None);
  return made;
}

Status arm_backup(THD* thd, const std::string& directory) {
  HAILSTONE_ASSIGN(const bool staged, is_staged(directory));
  if (!staged) HAILSTONE_TRY(check_place(thd, directory));
  Session::of(thd);  // so that the server tells of the connection's end
  HAILSTONE_ASSIGN(const auto backup, claim(directory, thd->thread_id));
  if (const Status begun = begin(thd, *backup, directory); !begun) {
    let_go(backup, State::None);
    return begun;
  }
  show(State::Armed);
  return {};
}

void give_up_backup() {
  if (const auto backup = current_backup()) let_go(backup, State::None);
}

bool is_moment_of_backup(THD* thd) {
  {
    const MutexLock guard(mutex);
    if (!awaits_moment(current.get())) return false;
  }
  return are_commits_out(thd);
}

Status take_moment_of_backup(THD* thd) {
  const auto backup = current_backup();
  if (backup == nullptr) return {};
  const MutexLock working(backup->working);
  Status taken = cut(thd, *backup, /*needs_no_commits=*/true);
  if (!taken) {
    const MutexLock guard(mutex);
    shown.error = taken.error().message();
  }
  return taken;
}

void begin_stages_of_backup() {
  const MutexLock guard(mutex);
  shown.is_over = false;
}

void end_stages_of_backup() {
  const MutexLock guard(mutex);
  shown.is_over = shown.state == State::Cut;
}

void end_backup_of(const THD* thd) {
  const auto backup = current_backup();
  if (backup != nullptr && backup->owner == thd->thread_id) let_go(backup, State::None);
}

namespace {

template <std::string (*text_of)(const Shown&)>
int show_text(THD*, st_mysql_show_var* variable, void* buffer, system_status_var*, enum_var_type) {
  Shown now;
  {
    const MutexLock guard(mutex);
    now = shown;
  }
  const std::string text = text_of(now);
  const size_t length = std::min<size_t>(text.size(), SHOW_VAR_FUNC_BUFF_SIZE - 1);
  std::memcpy(buffer, text.data(), length);
  static_cast<char*>(buffer)[length] = '\0';
  variable->type = SHOW_CHAR;
  variable->value = static_cast<char*>(buffer);
  return 0;
}

template <std::string (*text_of)(const Shown&)>
st_mysql_show_var shown_as(const char* name) {
  return {name, reinterpret_cast<void*>(&show_text<text_of>), SHOW_FUNC};
}

std::string state_text(const Shown& now) { return name_of(now.state); }
std::string directory_text(const Shown& now) { return now.directory; }
std::string file_text(const Shown& now) { return now.position ? now.position->file : ""; }
std::string offset_text(const Shown& now) { return now.position ? std::to_string(now.position->offset) : ""; }
std::string gtid_text(const Shown& now) { return now.position ? now.position->gtid : ""; }
std::string error_text(const Shown& now) { return now.error; }
std::string cut_text(const Shown& now) { return std::to_string(now.cut.count()); }

}  // namespace

st_mysql_show_var backup_variables[] = {
    shown_as<state_text>("state"),      shown_as<directory_text>("directory"),
    shown_as<file_text>("binlog_file"), shown_as<offset_text>("binlog_position"),
    shown_as<gtid_text>("binlog_gtid"), shown_as<cut_text>("cut_microseconds"),
    shown_as<error_text>("error"),      {nullptr, nullptr, SHOW_UNDEF}};

}  // namespace hailstone

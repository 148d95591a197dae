#include "two_phase.h"

#include <fmt/format.h>
#include <log_event.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string_view>

#include "base/bytes.h"
#include "base/guard.h"
#include "engine.h"
#include "server/hooks.h"
#include "session.h"

namespace hailstone {

namespace {

// X/Open's codes (CAE Specification C193).
constexpr int xa_done = 0, xa_resource_manager_failed = -3, xa_unknown = -4;

// The name of a prepared transaction: format (u64), the lengths of the identity's two parts (u8 each), the
// parts, and the number of the binary log that the server began with its start (u32; 0: it has none).
constexpr size_t header_bytes = sizeof(uint64_t) + 2;

/// The second part of an identity of the server's own, which has none, where its recovery has missed the
/// transaction: the server then takes it for a user's, and lets the user decide.
constexpr std::string_view missed_branch = "missed by recovery";

uint32_t number_of_log(const char* name) {
  const char* const end = std::strrchr(name, '.');
  return end == nullptr ? 0 : static_cast<uint32_t>(std::strtoul(end + 1, nullptr, 10));
}

/// Of the first binary log that this start of the server has written, or of one of those that followed it.
uint32_t log_of_this_start() {
  static std::atomic<uint32_t> number{0};
  if (number.load(std::memory_order_relaxed) == 0 && mysql_bin_log.is_open()) {
    LOG_INFO log;
    if (mysql_bin_log.get_current_log(&log) == 0) number.store(number_of_log(log.log_file_name));
  }
  return number.load(std::memory_order_relaxed);
}

/// Whether a start of the server has begun this binary log, and no rotation. False, too, when it cannot be
/// read: the server then finds that out by itself.
bool begins_with_a_start(const char* path) {
  std::array<char, BIN_LOG_HEADER_SIZE + LOG_EVENT_HEADER_LEN + ST_CREATED_OFFSET + sizeof(uint32_t)> begin;
  std::ifstream file(path, std::ios::binary);
  if (!file.read(begin.data(), begin.size())) return false;
  return load<uint32_t>(begin.data() + begin.size() - sizeof(uint32_t)) != 0;
}

/// Whether the server has been started, and has recovered without the engine, since it wrote this binary log.
bool was_missed(uint32_t log_number) {
  if (log_number == 0) return false;
  LOG_INFO log;
  for (int error = mysql_bin_log.find_log_pos(&log, NullS, true); error == 0;
       error = mysql_bin_log.find_next_log(&log, true)) {
    if (number_of_log(log.log_file_name) > log_number && begins_with_a_start(log.log_file_name)) return true;
  }
  return false;
}

/// What the server is told of the name's transaction. False: the name is none of name_of_xid(), so a program
/// that opened the database has given it.
bool xid_of_name(const std::string& name, XID& xid) {
  ByteReader reader(name);
  uint64_t format = 0;
  uint8_t global = 0, branch = 0;
  uint32_t log_number = 0;
  ByteView data;
  if (!reader.take(format) || !reader.take(global) || !reader.take(branch) ||
      !reader.take_bytes(size_t{global} + branch, data) || !reader.take(log_number) ||
      reader.remaining() != 0 || data.size() > XIDDATASIZE) {
    return false;
  }
  xid.set(static_cast<long>(format), data.data(), global, data.data() + global, branch);
  if (xid.get_my_xid() != 0 && was_missed(log_number))
    xid.set(xid.formatID, data.data(), global, missed_branch.data(), missed_branch.size());
  return true;
}

/// The part of the name that the identity gives.
std::string beginning_of_name(const XID& xid) {
  const auto global = static_cast<size_t>(xid.gtrid_length);
  auto branch = static_cast<size_t>(xid.bqual_length);
  if (std::string_view(xid.data + global, branch) == missed_branch) branch = 0;
  std::string name;
  name.reserve(header_bytes + global + branch + sizeof(uint32_t));
  append_number(name, static_cast<uint64_t>(xid.formatID));
  append_number(name, static_cast<uint8_t>(global));
  append_number(name, static_cast<uint8_t>(branch));
  name.append(xid.data, global + branch);
  return name;
}

/// Null: nobody has left such a transaction.
std::unique_ptr<Transaction> take_prepared(const XID& xid) {
  TransactionManager& transactions = database().transactions();
  const std::string beginning = beginning_of_name(xid);
  for (const std::string& name : transactions.prepared()) {
    if (name.starts_with(beginning)) return transactions.take_prepared(name);
  }
  return nullptr;
}

/// Ends what somebody has left prepared.
template <typename End>
int end_by_xid(const XID& xid, End&& end) noexcept {
  int result = xa_resource_manager_failed;
  try_to([&] {
    TransactionManager& transactions = database().transactions();
    std::unique_ptr<Transaction> transaction = take_prepared(xid);
    if (transaction == nullptr) {
      result = xa_unknown;
      return;
    }
    const Status ended = std::forward<End>(end)(transactions, *transaction);
    if (transaction->state() == Transaction::State::Prepared)
      transactions.leave_prepared(std::move(transaction));
    if (ended) {
      result = xa_done;
    } else {
      sql_print_error("Hailstone: %s", ended.error().message().c_str());
    }
  });
  return result;
}

int commit_by_xid(XID* xid) {
  return end_by_xid(*xid, [](TransactionManager& transactions, Transaction& transaction) {
    return transactions.commit(transaction);
  });
}

int rollback_by_xid(XID* xid) {
  return end_by_xid(*xid, [](TransactionManager& transactions, Transaction& transaction) {
    return transactions.roll_back_prepared(transaction);
  });
}

/// The server asks at its start, again and again until it gets less than it has room for.
int recover(XID* xids, uint room) {
  static std::string last_given;
  uint given = 0;
  try_to([&] {
    for (const std::string& name : database().transactions().prepared()) {
      if (given == room) break;
      if (name <= last_given || !xid_of_name(name, xids[given])) continue;
      ++given;
      last_given = name;
    }
    if (given < room) last_given.clear();
  });
  return static_cast<int>(given);
}

/// The binary log gives up a file whose transactions are all here for good.
void commit_checkpoint_request(void* cookie) {
  const Status synced = guarded([] { return database().transactions().sync_commits(); });
  if (synced) {
    commit_checkpoint_notify_ha(cookie);
  } else {
    // The server keeps the file, and asks again at the next one.
    sql_print_error("Hailstone: %s", synced.error().message().c_str());
  }
}

}  // namespace

std::string name_of_xid(const XID& xid) {
  std::string name = beginning_of_name(xid);
  append_number(name, log_of_this_start());
  return name;
}

void show_prepared_to_running_server() {
  for (const std::string& name : database().transactions().prepared()) {
    if (XID xid; xid_of_name(name, xid)) xid_cache_insert(&xid);
  }
}

std::string prepared_as_text() {
  std::string text;
  for (const std::string& name : database().transactions().prepared()) {
    XID xid;
    if (!xid_of_name(name, xid)) {
      text += fmt::format("prepared  by a program, under an identity of {} bytes\n", name.size());
      continue;
    }
    const auto hexadecimal = [](const char* data, long size) {
      std::string digits;
      for (const char byte : std::string_view(data, static_cast<size_t>(size)))
        digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
      return digits;
    };
    text += fmt::format("prepared  X'{}',X'{}',{}\n", hexadecimal(xid.data, xid.gtrid_length),
                        hexadecimal(xid.data + xid.gtrid_length, xid.bqual_length), xid.formatID);
  }
  return text;
}

Status wait_for_prepared(THD* thd, const std::string& table) {
  if (database().transactions().prepared().empty()) return {};
  const auto found = database().table(table);
  if (!found) return {};  // not there, or damaged: nobody has changed it
  const auto waiter = database().transactions().begin(Isolation::ReadCommitted);
  waiter->set_interruption_check([thd] { return thd_kill_level(thd) != THD_IS_NOT_KILLED; });
  waiter->set_lock_wait_timeout(lock_wait_limit(thd));
  return database().locks().lock_table(*waiter, (*found)->id(), TableLockMode::Exclusive);
}

void set_two_phase_hooks(handlerton* engine) {
  set_hook<recover>(engine->recover);
  set_hook<commit_by_xid>(engine->commit_by_xid);
  set_hook<rollback_by_xid>(engine->rollback_by_xid);
  engine->commit_checkpoint_request = commit_checkpoint_request;
}

}  // namespace hailstone

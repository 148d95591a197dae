// The server as the coordinator of two-phase commits: its identities (XIDs) as names of prepared
// transactions, and the transactions that a restart or a closed connection has left prepared.
#pragma once

#include <string>

#include "base/status.h"

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// The name under which a transaction of this identity is prepared now.
std::string name_of_xid(const XID& xid);

/// For a statement that makes the table another one, under the server's lock that keeps all connections out:
/// waits for the transactions that have changed it and are prepared, which are of no connection. Their table
/// locks are taken by Session::keep_table().
Status wait_for_prepared(THD* thd, const std::string& table);

/// Where the engine is loaded after the server's start, which asks for what is prepared: XA RECOVER shows it
/// then, too.
void show_prepared_to_running_server();

/// A line for each prepared transaction: what XA COMMIT and XA ROLLBACK want of it.
std::string prepared_as_text();

/// Sets the functions that the server calls for prepared transactions without a session.
void set_two_phase_hooks(handlerton* engine);

}  // namespace hailstone

// The library's errors as the server's.
#pragma once

#include <string>

#include "base/status.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// An error that the server has no number for; the handler gives its message. Users see the number: it is the
/// same in all series of the server.
constexpr int error_with_message = 300;
static_assert(error_with_message > HA_ERR_LAST);

/// The handler error number. The library's message goes to the statement's warnings where the server's own
/// message says less, and damage to the error log.
int handler_error(THD* thd, const Error& error);

/// Gives the statement a warning, which stands beside an error that follows.
void add_warning(THD* thd, uint code, const std::string& message);

/// Raises the library's message as the statement's error.
void raise_error(const Error& error);

}  // namespace hailstone

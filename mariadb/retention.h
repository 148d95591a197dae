// RETAIN='90 DAY' RETAIN_BY=column: how long rows stay, as the library's retention, and which values of the
// server's temporal columns have expired. docs/retention.md.
#pragma once

#include <expected>
#include <span>

#include "schema/retention.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// What the options say; null: nothing.
struct RetentionOptions {
  const char* retain = nullptr;
  const char* retain_by = nullptr;
};

/// An option that is wrong, its value, and which values are allowed: for the message.
struct WrongOption {
  const char* option;
  const char* value;
  const char* allowed;
};

/// The retention of a table of these fields; `columns`: of each field, the place of its column in the
/// definition, or RecordFormat::not_stored. Without RETAIN there is none, whatever RETAIN_BY says.
std::expected<Retention, WrongOption> read_retention(const TABLE& form, const RetentionOptions& options,
                                                     std::span<const uint16_t> columns);

/// The times of DATE and DATETIME columns are those of the server's global time_zone, those of TIMESTAMP
/// columns and of integers UTC.
const RetentionClock& mariadb_retention_clock();

}  // namespace hailstone

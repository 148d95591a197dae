// Which rows have expired at a moment: Retention as limits on the values of its column. docs/retention.md.
//
// A RetentionClock says what time it is and what the values of a column count; an embedding application that
// has times of its own, or a test that has to be at midnight, brings another one. Immutable or thread-safe:
// background threads ask it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "schema/table_definition.h"

namespace hailstone {

/// What integers count from 1970-01-01 00:00 UTC on.
enum class TimeScale : uint8_t { Seconds = 1, Microseconds = 2, Days = 3 };
/// Scales from here on mean what the application's clock makes of them.
constexpr uint8_t first_application_scale = 128;

/// The second of the calendar that lies the retention's interval before `second`; both count from 1970-01-01
/// 00:00 of one zone, whose days all have 24 hours. Months and years go back to the same day and time; where
/// the month has no such day, to its last one. Nothing before the year 1 is meant: it gives the first second.
int64_t second_before(int64_t second, const Retention& retention);

/// Values, as ordered numbers, with low <= value <= high.
struct ExpiredValues {
  uint64_t low = 0, high = 0;
  bool operator==(const ExpiredValues&) const = default;
};

class RetentionClock {
 public:
  virtual ~RetentionClock() = default;
  /// Seconds since 1970-01-01 00:00 UTC.
  virtual int64_t now() const;
  /// Values of the column, as ordered numbers, that have expired at `now`; nothing: none has.
  /// ErrorCode::Unsupported for a scale that it does not know.
  virtual Result<std::optional<ExpiredValues>> expired(const TableDefinition& table, int64_t now) const;
};

}  // namespace hailstone

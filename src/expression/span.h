// Spans: what a TIME has, as Integer registers. The order of the numbers is that of the spans.
#pragma once

#include <cstdint>
#include <memory>

#include "expression/moment.h"

namespace hailstone {

/// Hours, minutes, seconds and microseconds, the last three in 6, 6 and 24 bits; below 0 where the span is.
constexpr int64_t span_of(bool is_negative, const MomentParts& parts) {
  const uint64_t second = parts.hour << 12 | parts.minute << 6 | parts.second;
  const auto bits = static_cast<int64_t>(second << 24 | parts.microsecond);
  return is_negative ? -bits : bits;
}

/// Hours, minutes, seconds and microseconds of a span that span_of() has made, without its sign.
constexpr MomentParts parts_of_span(int64_t span) {
  const auto bits = static_cast<uint64_t>(span < 0 ? -span : span);
  return {.hour = bits >> 36,
          .minute = bits >> 30 & 63,
          .second = bits >> 24 & 63,
          .microsecond = bits & 0xff'ffff};
}

/// What a span tells, from Hour to SecondMicrosecond without days. `extracts`: as EXTRACT tells it, below 0
/// of a span that is, and without the hours of whole days.
std::shared_ptr<const NumberFunction> part_of_span(MomentPart part, bool extracts);
/// TIME_TO_SEC without the fraction.
std::shared_ptr<const NumberFunction> seconds_of_span();

}  // namespace hailstone

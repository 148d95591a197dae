#include "expression/span.h"

#include <algorithm>

#include "base/check.h"

namespace hailstone {

namespace {

uint64_t number_of(MomentPart part, const MomentParts& of) {
  constexpr uint64_t two_digits = 100, six_digits = 1'000'000;
  switch (part) {
    case MomentPart::Hour:
      return of.hour;
    case MomentPart::Minute:
      return of.minute;
    case MomentPart::Second:
      return of.second;
    case MomentPart::Microsecond:
      return of.microsecond;
    case MomentPart::HourMinute:
      return of.hour * two_digits + of.minute;
    case MomentPart::MinuteSecond:
      return of.minute * two_digits + of.second;
    case MomentPart::HourSecond:
      return (of.hour * two_digits + of.minute) * two_digits + of.second;
    case MomentPart::SecondMicrosecond:
      return of.second * six_digits + of.microsecond;
    case MomentPart::MinuteMicrosecond:
      return (of.minute * two_digits + of.second) * six_digits + of.microsecond;
    case MomentPart::HourMicrosecond:
      return ((of.hour * two_digits + of.minute) * two_digits + of.second) * six_digits + of.microsecond;
    default:
      HAILSTONE_CHECK(false, "a span has no part {}", static_cast<int>(part));
      return 0;
  }
}

class PartOfSpan final : public NumberFunction {
 public:
  PartOfSpan(MomentPart part, bool extracts) : part_(part), extracts_(extracts) {}

  void of_all(uint32_t rows, const int64_t* first, const int64_t*, int64_t* to, State* state) const override {
    for (uint32_t row = 0; row < rows; ++row) {
      MomentParts parts = parts_of_span(first[row]);
      if (extracts_) parts.hour %= 24;
      const auto number = static_cast<int64_t>(number_of(part_, parts));
      to[row] = extracts_ && first[row] < 0 ? -number : number;
    }
    std::fill_n(state, rows, State::Known);
  }

 private:
  const MomentPart part_;
  const bool extracts_;
};

class SecondsOfSpan final : public NumberFunction {
 public:
  void of_all(uint32_t rows, const int64_t* first, const int64_t*, int64_t* to, State* state) const override {
    for (uint32_t row = 0; row < rows; ++row) {
      const MomentParts parts = parts_of_span(first[row]);
      const auto seconds = static_cast<int64_t>((parts.hour * 60 + parts.minute) * 60 + parts.second);
      to[row] = first[row] < 0 ? -seconds : seconds;
    }
    std::fill_n(state, rows, State::Known);
  }
};

}  // namespace

std::shared_ptr<const NumberFunction> part_of_span(MomentPart part, bool extracts) {
  return std::make_shared<PartOfSpan>(part, extracts);
}

std::shared_ptr<const NumberFunction> seconds_of_span() { return std::make_shared<SecondsOfSpan>(); }

}  // namespace hailstone

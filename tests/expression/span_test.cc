// Parts of spans, with their signs.
#include "expression/span.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace hailstone {
namespace {

constexpr MomentParts great{.hour = 838, .minute = 59, .second = 58, .microsecond = 123'456};
constexpr std::array<int64_t, 4> spans{span_of(false, great), span_of(true, great), 0,
                                       span_of(true, {.second = 1})};

std::vector<int64_t> made_by(const std::shared_ptr<const NumberFunction>& function) {
  std::array<int64_t, spans.size()> to{};
  std::array<NumberFunction::State, spans.size()> states{};
  function->of_all(spans.size(), spans.data(), nullptr, to.data(), states.data());
  for (const auto state : states) EXPECT_EQ(state, NumberFunction::State::Known);
  return {to.begin(), to.end()};
}

using Numbers = std::vector<int64_t>;

TEST(SpanTest, HasPartsWithoutASign) {
  EXPECT_EQ(made_by(part_of_span(MomentPart::Hour, false)), (Numbers{838, 838, 0, 0}));
  EXPECT_EQ(made_by(part_of_span(MomentPart::Minute, false)), (Numbers{59, 59, 0, 0}));
  EXPECT_EQ(made_by(part_of_span(MomentPart::Second, false)), (Numbers{58, 58, 0, 1}));
  EXPECT_EQ(made_by(part_of_span(MomentPart::Microsecond, false)), (Numbers{123'456, 123'456, 0, 0}));
}

TEST(SpanTest, HasPartsAsExtracted) {
  const auto greatest = [](MomentPart part) { return made_by(part_of_span(part, true)); };
  EXPECT_EQ(greatest(MomentPart::Second), (Numbers{58, -58, 0, -1}));
  EXPECT_EQ(greatest(MomentPart::HourMinute), (Numbers{2'259, -2'259, 0, 0}));
  EXPECT_EQ(greatest(MomentPart::MinuteSecond), (Numbers{5'958, -5'958, 0, -1}));
  EXPECT_EQ(greatest(MomentPart::HourSecond), (Numbers{225'958, -225'958, 0, -1}));
  EXPECT_EQ(greatest(MomentPart::SecondMicrosecond), (Numbers{58'123'456, -58'123'456, 0, -1'000'000}));
  EXPECT_EQ(greatest(MomentPart::MinuteMicrosecond), (Numbers{5'958'123'456, -5'958'123'456, 0, -1'000'000}));
  EXPECT_EQ(greatest(MomentPart::HourMicrosecond),
            (Numbers{225'958'123'456, -225'958'123'456, 0, -1'000'000}));
}

TEST(SpanTest, HasSeconds) { EXPECT_EQ(made_by(seconds_of_span()), (Numbers{3'020'398, -3'020'398, 0, -1})); }

TEST(SpanTest, HasAnOrder) {
  EXPECT_LT(span_of(true, great), span_of(true, {.second = 1}));
  EXPECT_LT(span_of(false, {.second = 59}), span_of(false, {.minute = 1}));
}

}  // namespace
}  // namespace hailstone

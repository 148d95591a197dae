#include <algorithm>
#include <array>
#include <bit>

#include "base/number_map.h"
#include "segment/bit_packing.h"
#include "segment/integer_stream.h"

namespace hailstone {
namespace {

unsigned bits_of(uint64_t number) { return static_cast<unsigned>(std::bit_width(number)); }

/// How one unit is to be packed.
struct UnitPlan {
  uint64_t base = 0;
  int64_t slope = 0;
  unsigned width = 0;
};

/// The line from the first to the last number, when packing against it is narrower than against the minimum.
UnitPlan plan_unit(const uint64_t* numbers, uint32_t count) {
  UnitPlan plan;
  uint64_t maximum = 0;
  find_minimum_maximum(numbers, count, plan.base, maximum);
  const uint64_t range = maximum - plan.base;
  plan.width = bits_of(range);
  // A line pays only where numbers rise or fall through most of their range; and the arithmetic below needs
  // room.
  if (plan.width < 2 || count < 8 || range >= uint64_t{1} << 50) return plan;
  const auto rise = static_cast<int64_t>(numbers[count - 1] - numbers[0]);
  if (static_cast<uint64_t>(rise < 0 ? -rise : rise) < range / 2) return plan;
  const int64_t slope = rise * 1024 / static_cast<int64_t>(count - 1);
  if (slope == 0) return plan;
  int64_t least = INT64_MAX, greatest = INT64_MIN;
  for (uint32_t i = 0; i < count; ++i) {
    const auto difference =
        static_cast<int64_t>(numbers[i] - numbers[0]) - static_cast<int64_t>(PackedNumbers::line(slope, i));
    least = std::min(least, difference);
    greatest = std::max(greatest, difference);
  }
  const unsigned width = bits_of(static_cast<uint64_t>(greatest - least));
  // Adding the line costs time in scans that compare packed numbers: it must save a bit in eight, and two at
  // least.
  if (width + std::max(2U, plan.width / 8) > plan.width) return plan;
  return {numbers[0] + static_cast<uint64_t>(least), slope, width};
}

std::vector<UnitPlan> plan_units(std::span<const uint64_t> numbers) {
  std::vector<UnitPlan> plans;
  plans.reserve(numbers.size() / packing_unit + 1);
  for (size_t first = 0; first < numbers.size(); first += packing_unit) {
    plans.push_back(plan_unit(numbers.data() + first,
                              static_cast<uint32_t>(std::min<size_t>(packing_unit, numbers.size() - first))));
  }
  return plans;
}

size_t planned_bytes(const std::vector<UnitPlan>& plans, size_t count) {
  size_t bytes = 1;
  for (size_t i = 0; i < plans.size(); ++i) {
    bytes += 9 + packed_bytes(static_cast<uint32_t>(std::min<size_t>(packing_unit, count - i * packing_unit)),
                              plans[i].width);
  }
  return bytes;
}

/// Returns whether a unit has a slope.
bool append_planned(std::span<const uint64_t> numbers, const std::vector<UnitPlan>& plans, PageString& to) {
  const bool sloped =
      std::any_of(plans.begin(), plans.end(), [](const UnitPlan& plan) { return plan.slope != 0; });
  to.push_back(sloped ? 1 : 0);
  for (const auto& plan : plans) to.push_back(static_cast<char>(plan.width));
  for (const auto& plan : plans) append_number(to, plan.base);
  if (sloped) {
    for (const auto& plan : plans) append_number(to, plan.slope);
  }
  if (std::all_of(plans.begin(), plans.end(), [](const UnitPlan& plan) { return plan.width == 0; }))
    return sloped;
  to.resize((to.size() + 63) / 64 * 64);
  std::array<uint64_t, packing_unit> differences;
  for (size_t i = 0; i < plans.size(); ++i) {
    const UnitPlan& plan = plans[i];
    if (plan.width == 0) continue;
    const uint64_t* from = numbers.data() + i * packing_unit;
    const auto count =
        static_cast<uint32_t>(std::min<size_t>(packing_unit, numbers.size() - i * packing_unit));
    if (plan.slope == 0) {
      for (uint32_t k = 0; k < count; ++k) differences[k] = from[k] - plan.base;
    } else {
      for (uint32_t k = 0; k < count; ++k)
        differences[k] = from[k] - plan.base - PackedNumbers::line(plan.slope, k);
    }
    const size_t position = to.size();
    to.resize(position + packed_bytes(count, plan.width));
    pack_unit(differences.data(), count, plan.width, to.data() + position);
  }
  return sloped;
}

bool append_packed(std::span<const uint64_t> numbers, PageString& to) {
  return append_planned(numbers, plan_units(numbers), to);
}

/// The most frequent of a sample, when it looks like most of the numbers.
bool likely_common(std::span<const uint64_t> numbers, uint64_t& common) {
  std::array<uint64_t, 32> sample;
  const size_t step = numbers.size() / sample.size();
  if (step == 0) return false;
  for (size_t i = 0; i < sample.size(); ++i) sample[i] = numbers[i * step];
  std::sort(sample.begin(), sample.end());
  // What fills more than half of a sorted sample is in its middle.
  common = sample[sample.size() / 2];
  return static_cast<size_t>(std::count(sample.begin(), sample.end(), common)) > sample.size() * 5 / 8;
}

/// The distinct numbers, sorted, when there are at most `limit`.
bool few_distinct(std::span<const uint64_t> numbers, size_t limit, std::vector<uint64_t>& distinct) {
  std::array<uint64_t, 128> sample;
  if (numbers.size() < sample.size() * 4) return false;
  for (size_t i = 0; i < sample.size(); ++i) sample[i] = numbers[i * (numbers.size() / sample.size())];
  std::sort(sample.begin(), sample.end());
  // A sample of which nearly all differ comes from many.
  if (std::unique(sample.begin(), sample.end()) - sample.begin() > 96) return false;
  NumberMap<uint32_t> seen;
  uint64_t previous = ~numbers[0];
  for (const uint64_t number : numbers) {
    if (number == previous) continue;
    previous = number;
    if (seen.emplace(number, 0).second && seen.size() > limit) return false;
  }
  distinct.reserve(seen.size());
  seen.for_each([&](uint64_t number, uint32_t) { distinct.push_back(number); });
  std::sort(distinct.begin(), distinct.end());
  return true;
}

EncodedForm append_runs(std::span<const uint64_t> numbers, uint32_t runs, PageString& to) {
  std::vector<uint64_t> ends, values;
  ends.reserve(runs);
  values.reserve(runs);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i + 1 == numbers.size() || numbers[i + 1] != numbers[i]) {
      ends.push_back(i + 1);
      values.push_back(numbers[i]);
    }
  }
  to.push_back(static_cast<char>(IntegerForm::Runs));
  append_number(to, static_cast<uint32_t>(ends.size()));
  append_packed(ends, to);
  append_packed(values, to);
  return {IntegerForm::Runs};
}

EncodedForm append_sparse(std::span<const uint64_t> numbers, uint64_t common, PageString& to) {
  std::vector<uint64_t> positions, values;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == common) continue;
    positions.push_back(i);
    values.push_back(numbers[i]);
  }
  to.push_back(static_cast<char>(IntegerForm::Sparse));
  append_number(to, common);
  append_number(to, static_cast<uint32_t>(positions.size()));
  append_packed(positions, to);
  append_packed(values, to);
  return {IntegerForm::Sparse};
}

EncodedForm append_dictionary(std::span<const uint64_t> numbers, const std::vector<uint64_t>& distinct,
                              PageString& to) {
  NumberMap<uint32_t> code_of;
  code_of.reserve(distinct.size());
  for (size_t code = 0; code < distinct.size(); ++code)
    code_of.emplace(distinct[code], static_cast<uint32_t>(code));
  std::vector<uint64_t> codes(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    codes[i] = i > 0 && numbers[i] == numbers[i - 1] ? codes[i - 1] : *code_of.find(numbers[i]);
  }
  to.push_back(static_cast<char>(IntegerForm::Dictionary));
  append_number(to, static_cast<uint32_t>(distinct.size()));
  append_packed(distinct, to);
  append_packed(codes, to);
  return {IntegerForm::Dictionary};
}

}  // namespace

EncodedForm append_integer_stream(std::span<const uint64_t> numbers, PageString& to) {
  const auto plans = plan_units(numbers);
  const size_t packed_size = planned_bytes(plans, numbers.size());
  const auto count = static_cast<uint32_t>(numbers.size());
  const bool flat = std::all_of(plans.begin(), plans.end(), [&](const UnitPlan& plan) {
    return plan.width == 0 && plan.slope == 0 && plan.base == plans[0].base;
  });
  if (flat) {
    to.push_back(static_cast<char>(IntegerForm::Constant));
    append_number(to, numbers[0]);
    return {};
  }
  // Packed is the quickest to read: another form must be clearly smaller.
  if (packed_size > 512) {
    uint64_t minimum = 0, maximum = 0;
    find_minimum_maximum(numbers.data(), count, minimum, maximum);
    const size_t value_bits = bits_of(maximum - minimum);
    const uint32_t runs = count_changes(numbers.data(), count) + 1;
    const size_t runs_size = runs * (value_bits + 14) / 8 + 256;
    size_t sparse_size = SIZE_MAX;
    uint64_t common = 0;
    if (likely_common(numbers, common)) {
      const size_t exceptions = count - count_equal(numbers.data(), count, common);
      sparse_size = exceptions * (value_bits + 10) / 8 + 256;
    }
    if (std::min(runs_size, sparse_size) < packed_size / 3 * 2) {
      if (runs_size < sparse_size && runs < count / 8) return append_runs(numbers, runs, to);
      if (sparse_size < packed_size / 3 * 2) return append_sparse(numbers, common, to);
    }
    // Codes of at most 12 bits in place of wide values.
    const size_t packed_bits = packed_size * 8 / count;
    std::vector<uint64_t> distinct;
    if (packed_bits >= 8 && few_distinct(numbers, std::min<size_t>(4096, count / 4), distinct)) {
      const size_t size = distinct.size() * (value_bits + 1) / 8 + 256 +
                          (count + packing_unit - 1) / packing_unit *
                              packed_bytes(packing_unit, bits_of(distinct.size() - 1));
      if (size < packed_size / 10 * 7) return append_dictionary(numbers, distinct, to);
    }
  }
  to.push_back(static_cast<char>(IntegerForm::Packed));
  return {IntegerForm::Packed, append_planned(numbers, plans, to)};
}

}  // namespace hailstone

// Fuzz entry: arbitrary bytes as the text of a plan. What is read must be written and read again as the same
// text, and rules must make a plan of it.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plan/plan_text.h"
#include "plan/rules/rules.h"
#include "plan/validate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hailstone::plan;
  const auto plan = parse_plan(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!plan) return 0;
  if (!validate(optimized(*plan))) std::abort();
  const std::string written = to_text(*plan);
  const auto again = parse_plan(written);
  // What is written has parentheses of its own, and may so be nested too deeply.
  if (!again && again.error().message().find("nested") != std::string::npos) return 0;
  if (!again || to_text(*again) != written) std::abort();
  return 0;
}

// Fuzz entry: arbitrary bytes as the text of an expression. What is read must be written and read again as an
// equal one.
#include <cstdlib>
#include <string>

#include "expression/typed_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hailstone;
  TypedRow row;
  row.add_integer("n", 7);
  row.add_decimal("a", 150, 10, 2);
  row.add_real("d", 0.5);
  row.add_text("t", "ab");
  row.add_time("day", SqlType::Kind::Date, "2024-02-29");
  row.add_time("at", SqlType::Kind::DateTime, "2024-02-29 10:20:30");
  row.add_time("s", SqlType::Kind::Time, "10:20:30");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = parse_expression(text, row.columns());
  if (!parsed) return 0;
  row.evaluate(*parsed);
  const std::string written = to_text(*parsed, [&](uint16_t position) { return row.name(position); });
  const auto again = parse_expression(written, row.columns());
  // What is written has parentheses of its own, and may so be nested too deeply.
  if (!again && again.error().message().find("nested") != std::string::npos) return 0;
  if (!again || !(*again == *parsed)) std::abort();
  return 0;
}

// A fuzzer's bytes as a list of tables: parsing gives names or an error, and what it gives is written and
// read again alike. The first byte chooses whether the bytes are a whole file, or one without its checksum.
// Link with -fsanitize=fuzzer.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/hash.h"
#include "database/table_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hailstone;
  if (size == 0) return 0;
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 1) text += fmt::format("checksum {:016x}\n", checksum(text));
  const auto list = parse_table_list(text, "fuzz");
  if (!list) {
    if (list.error().message().find("fuzz") == std::string::npos) std::abort();  // names no file
    return 0;
  }
  for (const auto* names : {&list->missing, &list->tables}) {
    if (!std::ranges::is_sorted(*names)) std::abort();
    if (std::ranges::adjacent_find(*names) != names->end()) std::abort();
  }
  const auto again = parse_table_list(to_text(*list), "fuzz");
  if (!again || *again != *list) std::abort();
  return 0;
}

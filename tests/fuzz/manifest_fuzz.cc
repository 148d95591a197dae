// A fuzzer's bytes as a manifest: parsing gives what the tables are or an error. The first byte chooses
// whether the bytes are a whole file, or, after a byte for its type, one record behind a right header and
// before a seal; its checksum is made right. Link with -fsanitize=fuzzer.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/hash.h"
#include "database/manifest.h"

namespace {

using namespace hailstone;

/// As docs/formats.md has it.
void append_frame(std::string& file, uint8_t type, ByteView payload) {
  std::string head;
  append_number(head, static_cast<uint32_t>(payload.size()));
  append_number(head, type);
  std::string checked = head;
  append_number(checked, uint64_t{file.size()});
  append_number(checked, checksum(payload));
  file += head;
  append_number(file, checksum(checked));
  file += payload;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  ByteView input(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string file;
  const bool framed = data[0] % 2 == 1;
  if (framed) {
    file = "HAILMAN1";
    append_number(file, uint32_t{1});
    append_number(file, checksum(file));
    append_frame(file, data[1], input.substr(1));
    append_frame(file, 4, "HAILSEAL");
    input = file;
  }
  const auto content = parse_manifest(input, "fuzz");
  if (!content) {
    if (content.error().message().find("fuzz") == std::string::npos) std::abort();  // names no file
    return 0;
  }
  for (size_t i = 1; i < content->databases.size(); ++i) {
    if (content->databases[i - 1].first_file >= content->databases[i].first_file) std::abort();
  }
  for (const auto& [id, stored] : content->tables) {
    if (id != content->read(stored).id || content->dropped.contains(id)) std::abort();
  }
  return 0;
}

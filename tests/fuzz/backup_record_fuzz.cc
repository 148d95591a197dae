// A fuzzer's bytes as backup.json, and as what mariadb-binlog prints: the former gives an error or a record
// that is read again as it is written, whose paths stay below its folder. Link with -fsanitize=fuzzer.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "backup/backup_record.h"
#include "backup/binary_log.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hailstone;
  const std::string input(reinterpret_cast<const char*>(data), size);
  if (const auto record = parse_backup_record(input, "backup.json")) {
    const std::string json = to_json(*record);
    const auto again = parse_backup_record(json, "backup.json");
    bool is_same = again && to_json(*again) == json;
    for (const StoredFile& file : record->database_files) is_same = is_same && !file.path.starts_with('/');
    if (!is_same) {
      std::fprintf(stderr, "backup record fuzz: what is written is not what was read\n");
      std::abort();
    }
  }
  std::istringstream printed(input);
  static_cast<void>(summary_of_log(printed));
  return 0;
}

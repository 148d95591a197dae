// A fuzzer's bytes as log files: replay must give records or an error, and a log that opened must work on.
// The first byte chooses whether the bytes are one file as they are, the batches of a file with a right
// header, or a right batch's records. Link with -fsanitize=fuzzer.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/hash.h"
#include "file/fault_filesystem.h"
#include "file/temporary_directory.h"
#include "log/log.h"
#include "log/log_format.h"

namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "log fuzz: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hailstone;
  if (size == 0) return 0;
  const ByteView input(reinterpret_cast<const char*>(data) + 1, size - 1);
  static const TemporaryDirectory directory(TemporaryDirectory::Place::Memory);
  // Never really syncs.
  FaultFilesystem filesystem(posix_filesystem());

  std::string bytes;
  if (data[0] % 3 != 0) bytes = encode(LogFileHeader{});
  if (data[0] % 3 == 2) {
    std::string header(log_batch_header_size, '\0');
    encode(LogBatchHeader{.size = static_cast<uint32_t>(input.size()),
                          .begin = bytes.size(),
                          .durable = 0,
                          .records_checksum = checksum(input)},
           header.data());
    bytes += header;
  }
  bytes += input;
  const auto names = posix_filesystem().list(directory.path());
  require(names.has_value(), "cannot list the directory");
  for (const std::string& name : *names)
    require(posix_filesystem().remove(directory.file(name)).has_value(), "cannot remove");
  {
    const auto file = posix_filesystem().create(directory.file(log_file_name(0)));
    require(file && (*file)->append(bytes), "cannot write the file");
  }

  Counters counters;
  size_t records = 0;
  {
    const auto log = Log::open(filesystem, {.directory = directory.path()}, counters);
    require(log.has_value(), "opening reads nothing and cannot fail");
    Lsn position = 0;
    const Status replayed = (*log)->replay(0, [&](const LogRecord& record) -> Status {
      require(record.begin >= position &&
                  record.end == record.begin + log_record_header_size + record.payload.size(),
              "positions do not fit");
      position = record.end;
      ++records;
      return {};
    });
    if (!replayed) {
      require(!replayed.error().message().empty(), "an error says nothing");
      return 0;
    }
    const auto end = (*log)->append(LogRecordType::Commit, "after");
    require(end && (*log)->sync(*end), "a log that opened does not take a record");
  }
  const auto log = Log::open(filesystem, {.directory = directory.path()}, counters);
  size_t again = 0;
  const Status replayed = (*log)->replay(0, [&](const LogRecord&) -> Status {
    ++again;
    return {};
  });
  require(replayed && again == records + 1, "a log that was repaired does not open as it was left");
  return 0;
}

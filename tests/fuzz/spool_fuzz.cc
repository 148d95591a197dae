// A fuzzer's bytes as the files of a spool: opening must give records or an error, and a spool that opened
// must work on. The first byte chooses whether the bytes are one file as they are, the frames of a file with
// a right header, or a right frame's body. Link with -fsanitize=fuzzer.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/hash.h"
#include "collect/load_text.h"
#include "collect/source_position.h"
#include "collect/spool.h"
#include "collect/spool_reader.h"
#include "file/fault_filesystem.h"
#include "file/temporary_directory.h"

namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "spool fuzz: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hailstone;
  if (size == 0) return 0;
  const ByteView input(reinterpret_cast<const char*>(data) + 1, size - 1);
  static const TemporaryDirectory directory(TemporaryDirectory::Place::Memory);
  const SpoolOptions options{.directory = directory.file("spool"), .limit_bytes = ~uint64_t{0}};
  // Never really syncs.
  FaultFilesystem filesystem(posix_filesystem());

  std::string bytes;
  if (data[0] % 3 != 0) bytes = encode(SpoolFileHeader{.number = 7, .sequence = 3});
  if (data[0] % 3 == 2) {
    std::string header(spool_frame_header_size, '\0');
    encode({.body_bytes = static_cast<uint32_t>(input.size()),
            .records = data[0] / 3u % 8,
            .sequence = 3,
            .record_bytes = static_cast<uint32_t>(input.size() * (data[0] / 24u) / 10),
            .durable = bytes.size(),
            .body_checksum = checksum(input)},
           {.number = 7, .offset = bytes.size()}, header.data());
    bytes += header;
  }
  bytes += input;
  require(posix_filesystem().make_directory(options.directory).has_value(), "cannot make the directory");
  const auto names = posix_filesystem().list(options.directory);
  require(names.has_value(), "cannot list the directory");
  for (const std::string& name : *names)
    require(posix_filesystem().remove(options.directory + "/" + name).has_value(), "cannot remove");
  {
    const auto file = posix_filesystem().create(options.directory + "/" + spool_file_name(7));
    require(file && (*file)->append(bytes), "cannot write the file");
  }

  uint64_t end = 0;
  {
    const auto spool = Spool::open(filesystem, options);
    if (!spool) {
      require(!spool.error().message().empty(), "an error says nothing");
      return 0;
    }
    require((*spool)->sync().has_value(), "a spool that opened does not become durable");
    end = (*spool)->state().end;
    for (const auto& [source, position] : (*spool)->positions()) {
      RecordLayout layout;
      static_cast<void>(decode_layout(position, layout));
      if (const auto decoded = decode_source_position(position)) {
        const auto again = decode_source_position(encode(*decoded));
        require(again && again->offset == decoded->offset && again->newer == decoded->newer,
                "a position is not what it was");
      }
    }
    SpoolReader reader(**spool, (*spool)->state().begin);
    ByteView record;
    Result<bool> found = true;
    while (found && *found) found = reader.next(record);
    if (!found) {
      require(found.error().code() == ErrorCode::Corruption, "records are neither read nor damaged");
      return 0;
    }
    require(reader.sequence() == end, "records are missing");
    SpoolFrame frame;
    frame.add("after");
    require((*spool)->append(frame) && (*spool)->sync(), "a spool that opened does not take a record");
  }
  const auto spool = Spool::open(filesystem, options);
  require(spool && (*spool)->sync() && (*spool)->state().end == end + 1,
          "a spool that was repaired does not open as it was left");
  return 0;
}

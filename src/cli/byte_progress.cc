#include "cli/byte_progress.h"

#include <fmt/format.h>

#include "base/mutex.h"
#include "cli/progress.h"
#include "text/value_text.h"

namespace hailstone {

uint64_t bytes_of(const std::vector<StoredFile>& files) {
  uint64_t bytes = 0;
  for (const StoredFile& file : files) bytes += file.bytes;
  return bytes;
}

Status with_byte_progress(const Session& session, const char* what, uint64_t bytes,
                          const std::function<Status(const BytesDone&)>& work) {
  Progress bar(what, bytes);
  uint64_t done = 0;
  Mutex showing;
  return work([&](uint64_t more) {
    const MutexLock guard(showing);
    done += more;
    bar.update(done, bytes == 0 ? human_bytes(done)
                                : fmt::format("{} of {}", human_bytes(done), human_bytes(bytes)));
    return !session.is_interrupted();
  });
}

}  // namespace hailstone

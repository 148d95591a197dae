// Progress of work on bytes by several threads.
#pragma once

#include <functional>
#include <vector>

#include "backup/file_tree.h"
#include "cli/session.h"

namespace hailstone {

uint64_t bytes_of(const std::vector<StoredFile>& files);
/// Shows how many of so many bytes are done, as `work` tells; 0: it cannot be known how many. Ctrl-C ends it.
Status with_byte_progress(const Session& session, const char* what, uint64_t bytes,
                          const std::function<Status(const BytesDone&)>& work);

}  // namespace hailstone

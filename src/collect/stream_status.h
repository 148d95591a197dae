// How far a stream is, told from outside: by the spool's files, which may change meanwhile, and by the
// server. Nothing is locked or written, so that it can be asked while a collector runs, and while none does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "collect/config.h"
#include "collect/spool_format.h"
#include "file/filesystem.h"

namespace hailstone {

struct SpoolLook {
  SpoolId id{};
  uint64_t records = 0;  // that the spool has had, with those that are being written
  uint64_t bytes = 0;    // of the files that are there
};
/// Nothing when no spool has begun there.
Result<std::optional<SpoolLook>> look_at_spool(Filesystem& filesystem, const std::string& directory);

struct StreamStatus {
  SpoolLook spool;
  // As the bookkeeping table says.
  uint64_t delivered = 0;  // records that the table has taken
  uint64_t rejected = 0;   // of the spool, by the table
  uint64_t waiting = 0;
};
/// ErrorCode::Busy: the server cannot be asked for now.
Result<StreamStatus> status_of_stream(const CollectConfig& config, const StreamConfig& stream);

}  // namespace hailstone

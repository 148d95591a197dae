// Where a file that is a source has been read up to, as the spool keeps it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "collect/followed_file.h"

namespace hailstone {

struct SourcePosition {
  SourceIdentity identity;
  Fingerprint fingerprint;            // of what was read before the offset
  uint64_t offset = 0;                // behind the last record that was taken
  uint64_t line = 0;                  // lines before it
  std::vector<SourceIdentity> newer;  // files that have had its name since, oldest first
  std::vector<std::string> header;    // names of the fields, where the file's first line has them
};
/// The beginning of a file.
SourcePosition beginning_of(const SourceIdentity& file);

std::string encode(const SourcePosition& position);
/// Nothing when the bytes are no position.
std::optional<SourcePosition> decode_source_position(ByteView bytes);

/// Of a position that there may be: whether the file of this name is the one that it is of, and neither cut
/// nor written anew since.
Result<bool> is_still(const std::string& path, const FileFacts& facts, const SourcePosition& position);
/// Whether another file that has the name now is a copy of the position's file, or goes on behind a copy.
Result<bool> is_copy(const std::string& path, const FileFacts& facts, const SourcePosition& position);
/// The file of the position, which has another name now, in the folder of `path`, where it was; nothing when
/// it is not there.
Result<std::optional<std::string>> find_renamed(const std::string& path, const SourcePosition& position);

}  // namespace hailstone

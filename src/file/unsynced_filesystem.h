// A filesystem without its syncs: what is written reaches the disk when the system likes. After a loss of
// power nothing can be said about it. For files that nobody is to find then. Thread-safe.
#pragma once

#include "file/forwarding_filesystem.h"

namespace hailstone {

class UnsyncedFilesystem final : public ForwardingFilesystem {
 public:
  using ForwardingFilesystem::ForwardingFilesystem;
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create_whole(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override;
  Status sync_directory(const std::string&) override { return {}; }
};

}  // namespace hailstone

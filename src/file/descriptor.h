// A file descriptor, closed with the object.
#pragma once

#include <dirent.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace hailstone {

struct DirectoryCloser {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
/// Of opendir(); null when that failed.
using OpenDirectory = std::unique_ptr<DIR, DirectoryCloser>;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    // Whoever needs to know whether closing worked has called close().
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  /// False with errno set. The descriptor is gone in any case, as Linux frees it before it can fail; EINTR is
  /// no failure therefore.
  bool close() { return ::close(std::exchange(number_, -1)) == 0 || errno == EINTR; }

 private:
  int number_;
};

/// open() with O_CLOEXEC; files that it makes get the mode 0660. `what` begins the error: "open".
/// ErrorCode::Io for a pipe, a socket or a device, also behind a symbolic link: none of them is waited for.
Result<Descriptor> open_file(std::string_view what, const std::string& path, int flags);
/// The same for what must be a plain file: neither follows a symbolic link nor waits for the other end of a
/// pipe. ErrorCode::InvalidArgument when it is something else.
Result<Descriptor> open_plain_file(std::string_view what, const std::string& path, int flags);
Result<uint64_t> size_of(const Descriptor& file, const std::string& path);

}  // namespace hailstone

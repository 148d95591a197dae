#include "file/read_lock.h"

#include <fcntl.h>

#include <cerrno>

#include "file/descriptor.h"
#include "file/io_error.h"
#include "file/lock_holder.h"

namespace hailstone {
namespace {

/// As long as the file is open. It is the open file's lock, like the one of lock_directory().
class ReadLock final : public DirectoryLock {
 public:
  explicit ReadLock(Descriptor file) : file_(std::move(file)) {}

 private:
  const Descriptor file_;
};

}  // namespace

Result<std::unique_ptr<DirectoryLock>> lock_directory_to_read(const std::string& path) {
  const std::string lock_path = path + "/lock";
  auto file = open_plain_file("open lock file", lock_path, O_RDONLY);
  if (!file && file.error().code() == ErrorCode::NotFound) return nullptr;
  HAILSTONE_TRY(file);
  struct flock whole = {};
  whole.l_type = F_RDLCK;
  whole.l_whence = SEEK_SET;
  while (::fcntl(file->number(), F_OFD_SETLK, &whole) != 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EACCES) return directory_in_use(path, lock_path);
    return std::unexpected(io_error("lock", lock_path, errno));
  }
  return std::make_unique<ReadLock>(std::move(*file));
}

}  // namespace hailstone

#include "file/unsynced_filesystem.h"

#include <utility>

namespace hailstone {
namespace {

class UnsyncedFile final : public WritableFile {
 public:
  explicit UnsyncedFile(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
  Status append(ByteView bytes) override { return file_->append(bytes); }
  Status preallocate(uint64_t bytes) override { return file_->preallocate(bytes); }
  Status cut() override { return file_->cut(); }
  Status sync() override { return {}; }
  Status close() override { return file_->close(); }
  uint64_t size() const override { return file_->size(); }
  const std::string& path() const override { return file_->path(); }

 private:
  const std::unique_ptr<WritableFile> file_;
};

Result<std::unique_ptr<WritableFile>> wrap(Result<std::unique_ptr<WritableFile>> file) {
  HAILSTONE_ASSIGN(auto opened, std::move(file));
  return std::make_unique<UnsyncedFile>(std::move(opened));
}

}  // namespace

Result<std::unique_ptr<WritableFile>> UnsyncedFilesystem::create(const std::string& path) {
  return wrap(below().create(path));
}

Result<std::unique_ptr<WritableFile>> UnsyncedFilesystem::create_whole(const std::string& path) {
  return wrap(below().create_whole(path));
}

Result<std::unique_ptr<WritableFile>> UnsyncedFilesystem::append_to(const std::string& path) {
  return wrap(below().append_to(path));
}

}  // namespace hailstone

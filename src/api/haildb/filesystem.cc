#include "api/haildb/filesystem.h"

#include "file/forwarding_filesystem.h"

namespace hailstone::haildb {
namespace {

class NosyncFile final : public WritableFile {
 public:
  explicit NosyncFile(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
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

class NosyncFilesystem final : public ForwardingFilesystem {
 public:
  NosyncFilesystem() : ForwardingFilesystem(posix_filesystem()) {}
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    return wrap(below().create(path));
  }
  Result<std::unique_ptr<WritableFile>> create_whole(const std::string& path) override {
    return wrap(below().create_whole(path));
  }
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override {
    return wrap(below().append_to(path));
  }
  Status sync_directory(const std::string&) override { return {}; }

 private:
  static Result<std::unique_ptr<WritableFile>> wrap(Result<std::unique_ptr<WritableFile>> file) {
    HAILSTONE_ASSIGN(auto opened, std::move(file));
    return std::make_unique<NosyncFile>(std::move(opened));
  }
};

}  // namespace

Filesystem& nosync_filesystem() {
  static NosyncFilesystem filesystem;
  return filesystem;
}

}  // namespace hailstone::haildb

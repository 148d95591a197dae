#include "api/haildb_filesystem.h"

namespace hailstone::haildb {
namespace {

class NosyncFile final : public WritableFile {
 public:
  explicit NosyncFile(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
  Status append(ByteView bytes) override { return file_->append(bytes); }
  Status preallocate(uint64_t bytes) override { return file_->preallocate(bytes); }
  Status sync() override { return {}; }
  Status close() override { return file_->close(); }
  uint64_t size() const override { return file_->size(); }
  const std::string& path() const override { return file_->path(); }

 private:
  const std::unique_ptr<WritableFile> file_;
};

class NosyncFilesystem final : public Filesystem {
 public:
  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) override {
    return below_.open(path);
  }
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    return wrap(below_.create(path));
  }
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override {
    return wrap(below_.append_to(path));
  }
  Status rename(const std::string& from, const std::string& to) override { return below_.rename(from, to); }
  Status remove(const std::string& path) override { return below_.remove(path); }
  Status truncate(const std::string& path, uint64_t size) override { return below_.truncate(path, size); }
  Status sync_directory(const std::string&) override { return {}; }
  Status make_directory(const std::string& path) override { return below_.make_directory(path); }
  Result<std::vector<std::string>> list(const std::string& path) override { return below_.list(path); }
  bool exists(const std::string& path) override { return below_.exists(path); }
  Result<uint64_t> file_size(const std::string& path) override { return below_.file_size(path); }
  Result<std::unique_ptr<DirectoryLock>> lock_directory(const std::string& path) override {
    return below_.lock_directory(path);
  }

 private:
  static Result<std::unique_ptr<WritableFile>> wrap(Result<std::unique_ptr<WritableFile>> file) {
    HAILSTONE_ASSIGN(auto opened, std::move(file));
    return std::make_unique<NosyncFile>(std::move(opened));
  }
  Filesystem& below_ = posix_filesystem();
};

}  // namespace

Filesystem& nosync_filesystem() {
  static NosyncFilesystem filesystem;
  return filesystem;
}

}  // namespace hailstone::haildb

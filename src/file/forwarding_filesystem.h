// A filesystem that passes everything on to another one, which must outlive it. Others derive from it to do
// some of it differently.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "file/filesystem.h"

namespace hailstone {

class ForwardingFilesystem : public Filesystem {
 public:
  explicit ForwardingFilesystem(Filesystem& below) : below_(below) {}

  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) override {
    return below_.open(path);
  }
  Result<std::unique_ptr<RandomAccessFile>> open_plain(const std::string& path) override {
    return below_.open_plain(path);
  }
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    return below_.create(path);
  }
  Result<std::unique_ptr<WritableFile>> create_whole(const std::string& path) override {
    return below_.create_whole(path);
  }
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override {
    return below_.append_to(path);
  }
  Status rename(const std::string& from, const std::string& to) override { return below_.rename(from, to); }
  Status remove(const std::string& path) override { return below_.remove(path); }
  Status link(const std::string& from, const std::string& to) override { return below_.link(from, to); }
  Status truncate(const std::string& path, uint64_t size) override { return below_.truncate(path, size); }
  Status sync_directory(const std::string& path) override { return below_.sync_directory(path); }
  Status make_directory(const std::string& path) override { return below_.make_directory(path); }
  Status remove_directory(const std::string& path) override { return below_.remove_directory(path); }
  Result<std::vector<std::string>> list(const std::string& path) override { return below_.list(path); }
  bool exists(const std::string& path) override { return below_.exists(path); }
  Result<uint64_t> file_size(const std::string& path) override { return below_.file_size(path); }
  Result<std::unique_ptr<DirectoryLock>> lock_directory(const std::string& path) override {
    return below_.lock_directory(path);
  }
  Result<std::unique_ptr<DirectoryLock>> lock_directory_to_read(const std::string& path) override {
    return below_.lock_directory_to_read(path);
  }
  bool is_writable(const std::string& path) override { return below_.is_writable(path); }
  Result<std::string> canonical_path(const std::string& path) override { return below_.canonical_path(path); }

 protected:
  Filesystem& below() { return below_; }

 private:
  Filesystem& below_;
};

}  // namespace hailstone

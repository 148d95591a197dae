// The filesystem of the operating system with a method of reading and writing that can be chosen, for files
// that are opened from then on. It holds for reading, and for files written as a whole (create_whole());
// what is appended to create()d files is written at once by one system call, as their users need.
//
// Where the kernel or a file's filesystem does not offer what a method needs, files are read and written by
// IoMethod::Buffered, and one warning says so. Thread-safe; must outlive its files.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "file/forwarding_filesystem.h"
#include "file/io_method.h"
#include "file/stream_pool.h"

namespace hailstone {

/// A file read front to back by one thread.
class SequentialFile {
 public:
  virtual ~SequentialFile() = default;
  /// The next `size` bytes. ErrorCode::Corruption where there are fewer.
  Status read(size_t size, char* to) {
    HAILSTONE_TRY(read_at(position_, size, to));
    position_ += size;
    return {};
  }
  uint64_t size() const { return size_; }  // when it was opened

 protected:
  explicit SequentialFile(uint64_t size) : size_(size) {}

 private:
  virtual Status read_at(uint64_t offset, size_t size, char* to) = 0;

  const uint64_t size_;
  uint64_t position_ = 0;
};

class MethodFilesystem final : public ForwardingFilesystem {
 public:
  using Warning = std::function<void(const std::string&)>;
  /// `calls`: null for the system's own; must outlive this.
  explicit MethodFilesystem(const IoSettings& settings, Warning warning = {}, SystemCalls* calls = nullptr);

  void set_method(IoMethod method);
  /// As it was asked for.
  IoMethod method() const;
  /// What it comes to on this system.
  IoMethod method_in_use();
  /// Why the method asked for was not used for some file; empty while it was for all.
  std::string refused() const;
  IoCounts counts() const { return calls_.counts(); }

  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create_whole(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override;
  Result<std::unique_ptr<SequentialFile>> open_sequential(const std::string& path);

 private:
  /// What files are opened with.
  struct Choice {
    IoSettings settings;
    std::shared_ptr<StreamPool> pool;  // for methods with streams
  };
  /// Empty where the system allows the method; else why not.
  std::string refusal(IoMethod method);
  Choice choice();
  void use_buffered(Choice& chosen, const std::string& reason);
  void warn(const std::string& reason) HAILSTONE_REQUIRES(mutex_);
  /// Opens for the method; `chosen` becomes what can be had.
  Result<OpenFile> open_for(const std::string& path, std::string_view what, int flags, Choice& chosen);

  SystemCalls own_calls_;
  SystemCalls& calls_;
  const Warning warning_;
  mutable Mutex mutex_;
  IoSettings asked_ HAILSTONE_GUARDED_BY(mutex_);
  Choice choice_ HAILSTONE_GUARDED_BY(mutex_);
  /// For files that cannot be read by the method.
  std::shared_ptr<StreamPool> second_pool_ HAILSTONE_GUARDED_BY(mutex_);
  bool tried_ HAILSTONE_GUARDED_BY(mutex_) = false;   // choice_ is made
  std::string refused_ HAILSTONE_GUARDED_BY(mutex_);  // why not the method asked for
};

}  // namespace hailstone

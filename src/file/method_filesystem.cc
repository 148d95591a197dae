#include "file/method_filesystem.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "file/io_error.h"
#include "file/ring.h"
#include "file/sync_method.h"
#include "file/write_stream.h"

namespace hailstone {
namespace {

/// Read through a mapping of the whole file.
class MappedReader final : public RandomAccessFile {
 public:
  static Result<std::unique_ptr<RandomAccessFile>> make(OpenFile file) {
    char* address = nullptr;
    if (file.size > 0) {
      int error = 0;
      address = file.calls.map(file.number(), 0, static_cast<size_t>(file.size), false, error);
      if (address == nullptr) return std::unexpected(io_error("map", file.path, error));
    }
    return std::unique_ptr<RandomAccessFile>(new MappedReader(std::move(file), address));
  }
  ~MappedReader() override {
    if (address_ != nullptr) file_.calls.unmap(address_, static_cast<size_t>(file_.size));
  }
  MappedReader(const MappedReader&) = delete;
  MappedReader& operator=(const MappedReader&) = delete;

  Status read_at(uint64_t offset, size_t size, char* to) const override {
    // The file may have grown since it was mapped.
    if (offset + size > file_.size) return read_fully(file_, offset, size, to);
    return copy_mapped(file_, false, to, address_ + offset, size, offset);
  }
  Result<uint64_t> size() const override { return size_of(file_.descriptor, file_.path); }
  const std::string& path() const override { return file_.path; }

 private:
  MappedReader(OpenFile file, char* address) : file_(std::move(file)), address_(address) {}

  const OpenFile file_;
  char* const address_;
};

class StreamedSequentialFile final : public SequentialFile {
 public:
  StreamedSequentialFile(std::unique_ptr<ReadStream> stream, OpenFile file)
      : SequentialFile(file.size), stream_(std::move(stream)) {
    const uint64_t size = file.size;
    stream_->bind(std::make_shared<const OpenFile>(std::move(file)), size);
  }

 private:
  Status read_at(uint64_t offset, size_t size, char* to) override { return stream_->read(offset, size, to); }

  const std::unique_ptr<ReadStream> stream_;
};

class SyncSequentialFile final : public SequentialFile {
 public:
  SyncSequentialFile(std::unique_ptr<RandomAccessFile> file, uint64_t size)
      : SequentialFile(size), file_(std::move(file)) {}

 private:
  Status read_at(uint64_t offset, size_t size, char* to) override { return file_->read_at(offset, size, to); }

  const std::unique_ptr<RandomAccessFile> file_;
};

bool is_for_streams(IoMethod method) {
  return method == IoMethod::Buffered || method == IoMethod::Async || method == IoMethod::Direct;
}

}  // namespace

MethodFilesystem::MethodFilesystem(const IoSettings& settings, Warning warning, SystemCalls* calls)
    : ForwardingFilesystem(posix_filesystem()),
      calls_(calls != nullptr ? *calls : own_calls_),
      warning_(std::move(warning)),
      asked_(settings) {}

void MethodFilesystem::set_method(IoMethod method) {
  const MutexLock guard(mutex_);
  asked_.method = method;
  tried_ = false;
  refused_.clear();
}

IoMethod MethodFilesystem::method() const {
  const MutexLock guard(mutex_);
  return asked_.method;
}

std::string MethodFilesystem::refused() const {
  const MutexLock guard(mutex_);
  return refused_;
}

IoMethod MethodFilesystem::method_in_use() { return choice().settings.method; }

std::string MethodFilesystem::refusal(IoMethod method) {
  if (method == IoMethod::Async || method == IoMethod::Direct) {
    const auto ring = Ring::make(calls_, 1);
    if (!ring) return ring.error().message();
  }
  if (method == IoMethod::Mmap) {
    char from = 0, to = 0;
    if (const int64_t copied = calls_.copy(&to, &from, 1); copied < 0) {
      return fmt::format(
          "the kernel refuses process_vm_readv, without which a damaged file could end the process: {}",
          std::error_code(static_cast<int>(-copied), std::generic_category()).message());
    }
  }
  return {};
}

MethodFilesystem::Choice MethodFilesystem::choice() {
  std::string reason;
  const MutexLock guard(mutex_);
  if (!tried_) {
    tried_ = true;
    choice_.settings = asked_;
    reason = refusal(asked_.method);
    if (!reason.empty()) choice_.settings.method = IoMethod::Buffered;
    choice_.pool = is_for_streams(choice_.settings.method)
                       ? std::make_shared<StreamPool>(calls_, choice_.settings)
                       : nullptr;
    if (!reason.empty()) warn(reason);
  }
  return choice_;
}

void MethodFilesystem::warn(const std::string& reason) {
  if (!refused_.empty()) return;
  refused_ = reason;
  if (!warning_) return;
  warning_(fmt::format("files are read and written by the method 'buffered' in place of '{}': {}",
                       to_string(asked_.method), reason));
}

void MethodFilesystem::use_buffered(Choice& chosen, const std::string& reason) {
  const MutexLock guard(mutex_);
  chosen.settings.method = IoMethod::Buffered;
  if (choice_.settings.method == IoMethod::Buffered) {
    chosen.pool = choice_.pool;
  } else {
    if (second_pool_ == nullptr) second_pool_ = std::make_shared<StreamPool>(calls_, chosen.settings);
    chosen.pool = second_pool_;
  }
  warn(reason);
}

Result<OpenFile> MethodFilesystem::open_for(const std::string& path, std::string_view what, int flags,
                                            Choice& chosen) {
  const auto opened = [&](Descriptor file, bool is_direct) -> Result<OpenFile> {
    HAILSTONE_ASSIGN(const uint64_t size, size_of(file, path));
    return OpenFile{
        .calls = calls_, .descriptor = std::move(file), .path = path, .size = size, .is_direct = is_direct};
  };
  const bool wants_direct = chosen.settings.method == IoMethod::Direct;
  if (wants_direct) {
    auto file = open_file(what, path, flags | O_DIRECT);
    if (file) return opened(std::move(*file), true);
  }
  HAILSTONE_ASSIGN(Descriptor file, open_file(what, path, flags));
  if (wants_direct) {
    use_buffered(chosen, fmt::format("the filesystem of '{}' has no direct access (O_DIRECT)", path));
  }
  return opened(std::move(file), false);
}

Result<std::unique_ptr<RandomAccessFile>> MethodFilesystem::open(const std::string& path) {
  Choice chosen = choice();
  HAILSTONE_ASSIGN(OpenFile file, open_for(path, "open", O_RDONLY, chosen));
  switch (chosen.settings.method) {
    case IoMethod::Buffered:
    case IoMethod::Async:
    case IoMethod::Direct:
      return chosen.pool->open(std::move(file));
    case IoMethod::Mmap:
      return MappedReader::make(std::move(file));
    case IoMethod::Sync:
      break;
  }
  return make_sync_reader(std::move(file));
}

Result<std::unique_ptr<SequentialFile>> MethodFilesystem::open_sequential(const std::string& path) {
  Choice chosen = choice();
  HAILSTONE_ASSIGN(OpenFile file, open_for(path, "open", O_RDONLY, chosen));
  if (chosen.settings.method == IoMethod::Sync) {
    const uint64_t size = file.size;
    return std::make_unique<SyncSequentialFile>(make_sync_reader(std::move(file)), size);
  }
  HAILSTONE_ASSIGN(auto stream, ReadStream::make(calls_, chosen.settings));
  return std::make_unique<StreamedSequentialFile>(std::move(stream), std::move(file));
}

Result<std::unique_ptr<WritableFile>> MethodFilesystem::create(const std::string& path) {
  HAILSTONE_ASSIGN(Descriptor file, open_file("create", path, O_WRONLY | O_CREAT | O_TRUNC));
  return make_sync_writer({.calls = calls_, .descriptor = std::move(file), .path = path});
}

Result<std::unique_ptr<WritableFile>> MethodFilesystem::append_to(const std::string& path) {
  HAILSTONE_ASSIGN(Descriptor file, open_file("open for writing", path, O_WRONLY));
  HAILSTONE_ASSIGN(const uint64_t size, size_of(file, path));
  return make_sync_writer({.calls = calls_, .descriptor = std::move(file), .path = path, .size = size});
}

Result<std::unique_ptr<WritableFile>> MethodFilesystem::create_whole(const std::string& path) {
  Choice chosen = choice();
  if (chosen.settings.method == IoMethod::Sync) return create(path);
  // A shared mapping to write to must be readable as well.
  const int access = chosen.settings.method == IoMethod::Mmap ? O_RDWR : O_WRONLY;
  HAILSTONE_ASSIGN(OpenFile file, open_for(path, "create", access | O_CREAT | O_TRUNC, chosen));
  if (chosen.settings.method == IoMethod::Mmap) {
    const int allocated = calls_.allocate(file.number(), 0, io_alignment);
    if (allocated == -EOPNOTSUPP || allocated == -ENOSYS) {
      use_buffered(chosen, fmt::format("the filesystem of '{}' cannot take room ahead (fallocate)", path));
    } else if (const int cut = calls_.truncate(file.number(), 0); allocated == 0 && cut < 0) {
      return std::unexpected(io_error("cut", path, -cut));
    }
  }
  HAILSTONE_ASSIGN(auto stream, WriteStream::make(std::move(file), chosen.settings));
  return stream;
}

}  // namespace hailstone

#include "backup/file_target.h"

#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <utility>

#include "backup/compressor.h"
#include "backup/file_tree.h"
#include "backup/posix_calls.h"
#include "file/io_method.h"

namespace hailstone {
namespace {

namespace fs = std::filesystem;

constexpr mode_t file_mode = 0640;
/// What compression must save of a file so that it stays.
constexpr uint64_t least_saving = 16;  // one of so many bytes
constexpr size_t written_at_once = size_t{1} << 20;

/// A new file that is written from its beginning to its end. Past the page cache, where the filesystem can:
/// copies of what is there cost others much of the processor, and their files the cache.
class NewFile {
 public:
  explicit NewFile(std::string path)
      : path_(std::move(path)),
        file_(opened(path_, O_WRONLY | O_CREAT | O_EXCL, file_mode)),
        buffer_(static_cast<char*>(std::aligned_alloc(io_alignment, written_at_once))) {
    if (buffer_ == nullptr) throw std::bad_alloc();
    reason_ = file_.is_open() ? 0 : errno;
    if (file_.is_open()) set_direct(file_.number(), true);
  }
  Status is_open() const {
    return reason_ == 0 ? Status{} : failed_call(fmt::format("cannot make '{}'", path_), reason_);
  }
  Status write(std::string_view bytes) {
    bytes_ += bytes.size();
    while (!bytes.empty()) {
      const size_t more = std::min(bytes.size(), written_at_once - buffered_);
      std::memcpy(buffer_.get() + buffered_, bytes.data(), more);
      buffered_ += more;
      bytes.remove_prefix(more);
      if (buffered_ == written_at_once) HAILSTONE_TRY(write_buffered());
    }
    return {};
  }
  /// All of it has been given.
  Status end() { return write_buffered(); }
  uint64_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };

  Status write_buffered() {
    const std::string_view bytes(buffer_.get(), std::exchange(buffered_, 0));
    return write_all(file_.number(), path_, bytes);
  }

  const std::string path_;
  const Descriptor file_;
  const std::unique_ptr<char, Free> buffer_;
  size_t buffered_ = 0;
  int reason_ = 0;
  uint64_t bytes_ = 0;
};

class FileAsItIs final : public TargetFile {
 public:
  FileAsItIs(const std::string& folder, const std::string& path)
      : TargetFile(path), file_(folder + "/" + path) {}
  Status is_open() const { return file_.is_open(); }

 private:
  Status write(std::string_view bytes) override { return file_.write(bytes); }
  Result<std::optional<uint64_t>> close() override {
    HAILSTONE_TRY(file_.end());
    return std::nullopt;
  }

  NewFile file_;
};

class CompressedFile final : public TargetFile {
 public:
  CompressedFile(std::string folder, const std::string& path, int level, StoredForm form)
      : TargetFile(path),
        folder_(std::move(folder)),
        form_(form),
        file_(folder_ + "/" + stored_path({.path = path, .zstd_bytes = 0})),
        compressor_(level, 1, [this](std::string_view bytes) { return file_.write(bytes); }) {}
  Status is_open() const { return file_.is_open(); }

 private:
  Status write(std::string_view bytes) override { return compressor_.append(bytes); }

  Result<std::optional<uint64_t>> close() override {
    HAILSTONE_TRY(compressor_.finish());
    HAILSTONE_TRY(file_.end());
    if (form_ == StoredForm::Compressed || file_.bytes() + bytes() / least_saving < bytes())
      return file_.bytes();
    HAILSTONE_TRY(put_as_it_is());
    return std::nullopt;
  }

  /// It was not kept, as it may be larger than memory.
  Status put_as_it_is() {
    const StoredFile stored{.path = path(), .zstd_bytes = file_.bytes()};
    {
      HAILSTONE_ASSIGN(const auto input, open_stored(folder_, stored));
      NewFile copy(folder_ + "/" + path());
      HAILSTONE_TRY(copy.is_open());
      HAILSTONE_TRY(for_all_bytes(*input, [&](std::string_view bytes) { return copy.write(bytes); }));
      HAILSTONE_TRY(copy.end());
    }
    const std::string compressed = folder_ + "/" + stored_path(stored);
    if (unlink(compressed.c_str()) != 0)
      return failed_call(fmt::format("cannot remove '{}'", compressed), errno);
    return {};
  }

  const std::string folder_;
  const StoredForm form_;
  NewFile file_;
  Compressor compressor_;
};

template <typename File>
Result<std::unique_ptr<TargetFile>> when_open(std::unique_ptr<File> file) {
  HAILSTONE_TRY(file->is_open());
  return std::unique_ptr<TargetFile>(std::move(file));
}

}  // namespace

std::string stored_path(const StoredFile& file) { return file.path + (file.zstd_bytes ? ".zst" : ""); }

bool has_same_bytes(const StoredFile& one, const StoredFile& other) {
  return one.path == other.path && one.bytes == other.bytes && one.checksum == other.checksum;
}

Status compare(const std::string& what, StoredFile found, const StoredFile& wanted) {
  found.path = wanted.path;
  if (has_same_bytes(found, wanted)) return {};
  return fail(ErrorCode::Corruption,
              fmt::format("{} is not what was backed up ({} bytes with checksum {:016x}, for {} with "
                          "{:016x}); use another backup",
                          what, found.bytes, found.checksum, wanted.bytes, wanted.checksum));
}

RunningChecksum::RunningChecksum() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_64bits_reset(state_);
}

RunningChecksum::~RunningChecksum() { XXH3_freeState(state_); }

void RunningChecksum::append(std::string_view bytes) {
  XXH3_64bits_update(state_, bytes.data(), bytes.size());
  bytes_ += bytes.size();
}

uint64_t RunningChecksum::value() const { return XXH3_64bits_digest(state_); }

Status TargetFile::append(std::string_view bytes) {
  sum_.append(bytes);
  return write(bytes);
}

Result<StoredFile> TargetFile::finish() {
  HAILSTONE_ASSIGN(const auto zstd_bytes, close());
  return StoredFile{.path = path_, .bytes = sum_.bytes(), .checksum = sum_.value(), .zstd_bytes = zstd_bytes};
}

FolderTarget::FolderTarget(std::string folder) : folder_(std::move(folder)) {}

FolderTarget::FolderTarget(std::string folder, int level, FormOf form_of)
    : folder_(std::move(folder)), level_(level), form_of_(std::move(form_of)) {}

Result<std::unique_ptr<TargetFile>> FolderTarget::create(const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::path(folder_ + "/" + path).parent_path();
  fs::create_directories(folder, error);
  if (error) return failed_call(fmt::format("cannot make the folder '{}'", folder.string()), error.value());
  const StoredForm form = form_of_ ? form_of_(path) : StoredForm::AsItIs;
  if (form == StoredForm::AsItIs) return when_open(std::make_unique<FileAsItIs>(folder_, path));
  return when_open(std::make_unique<CompressedFile>(folder_, path, level_, form));
}

Status FolderTarget::sync() {
  const Descriptor folder = opened(folder_, O_RDONLY);
  if (!folder.is_open()) return failed_call(fmt::format("cannot open '{}'", folder_), errno);
  // Once for all: each file's own would have everybody's commits wait for the filesystem's journal.
  if (syncfs(folder.number()) != 0) return failed_call(fmt::format("cannot sync '{}'", folder_), errno);
  return {};
}

}  // namespace hailstone

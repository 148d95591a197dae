#include "backup/file_target.h"

#include <xxhash.h>

#include <filesystem>
#include <new>

#include "backup/compressor.h"
#include "backup/file_tree.h"
#include "backup/posix_calls.h"

namespace hailstone {
namespace {

namespace fs = std::filesystem;

constexpr mode_t file_mode = 0640;
/// What compression must save of a file so that it stays.
constexpr uint64_t least_saving = 16;  // one of so many bytes

/// A new file that is written from its beginning to its end.
class NewFile {
 public:
  explicit NewFile(std::string path)
      : path_(std::move(path)), file_(opened(path_, O_WRONLY | O_CREAT | O_EXCL, file_mode)) {
    reason_ = file_.is_open() ? 0 : errno;
  }
  Status is_open() const {
    return reason_ == 0 ? Status{} : failed_call(fmt::format("cannot make '{}'", path_), reason_);
  }
  Status write(std::string_view bytes) {
    HAILSTONE_TRY(write_all(file_.number(), path_, bytes));
    // The disk gets them now, and not much at once that others would wait for. An error is told by the end.
    static_cast<void>(sync_file_range(file_.number(), static_cast<off_t>(bytes_),
                                      static_cast<off_t>(bytes.size()),
                                      SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER));
    bytes_ += bytes.size();
    return {};
  }
  uint64_t bytes() const { return bytes_; }

 private:
  const std::string path_;
  const Descriptor file_;
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
  Result<std::optional<uint64_t>> close() override { return std::nullopt; }

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

#include "backup/file_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/mutex.h"

namespace hailstone {
namespace {

namespace fs = std::filesystem;

constexpr size_t read_at_once = size_t{1} << 20;

std::unexpected<Error> failed(const std::string& what, int reason) {
  const ErrorCode code = reason == ENOENT                       ? ErrorCode::NotFound
                         : reason == ENOSPC || reason == EDQUOT ? ErrorCode::DiskFull
                                                                : ErrorCode::Io;
  return std::unexpected<Error>(Error(code, fmt::format("{}: {}", what, std::strerror(reason)), reason));
}

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags, mode_t mode = 0)
      : number_(open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  int number_;
};

/// Goes on for all files with several threads, up to the first error.
Status for_all(std::vector<FileFacts>& files, unsigned threads,
               const std::function<Status(FileFacts&)>& work) {
  std::atomic<size_t> next{0};
  Mutex mutex;
  std::optional<Error> failure;
  const auto take = [&] {
    for (size_t i = next++; i < files.size(); i = next++) {
      Status done = work(files[i]);
      if (done) continue;
      next = files.size();
      const MutexLock guard(mutex);
      if (!failure) failure = done.error();
    }
  };
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < std::min<size_t>(std::max(1U, threads), files.size()); ++i)
    others.emplace_back(take);
  take();
  others.clear();
  if (failure) return std::unexpected(*failure);
  return {};
}

Status write_all(int file, const std::string& path, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = write(file, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(fmt::format("cannot write to '{}'", path), errno);
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return {};
}

/// Reads a plain file to its end, gives what it has read to `take`, and notes how much it was.
Status read_file(const std::string& path, FileFacts& facts, const BytesDone& done,
                 const std::function<Status(const char*, size_t)>& take) {
  const Descriptor file(path, O_RDONLY | O_NOFOLLOW);
  if (!file.is_open()) return failed(fmt::format("cannot open '{}'", path), errno);
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  if (state == nullptr) return fail(ErrorCode::OutOfMemory, "there is no memory for a checksum");
  XXH3_64bits_reset(state.get());
  std::string buffer(read_at_once, '\0');
  facts.bytes = 0;
  while (true) {
    const ssize_t bytes = read(file.number(), buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return failed(fmt::format("cannot read '{}'", path), errno);
    if (bytes == 0) break;
    const auto size = static_cast<size_t>(bytes);
    XXH3_64bits_update(state.get(), buffer.data(), size);
    facts.bytes += size;
    if (take) HAILSTONE_TRY(take(buffer.data(), size));
    if (done && !done(size))
      return fail(ErrorCode::Interrupted, fmt::format("reading '{}' was interrupted", path));
  }
  facts.checksum = XXH3_64bits_digest(state.get());
  return {};
}

Status sync_path(const std::string& path) {
  const Descriptor folder(path, O_RDONLY);
  if (!folder.is_open() || fsync(folder.number()) != 0)
    return failed(fmt::format("cannot sync '{}'", path), errno);
  return {};
}

}  // namespace

Result<std::vector<FileFacts>> files_below(const std::string& folder) {
  std::vector<FileFacts> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::file_status status = entry->symlink_status(error);
    if (error) break;
    if (fs::is_directory(status)) continue;
    if (!fs::is_regular_file(status)) {
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("'{}' is no plain file: a link, a pipe or a device", entry->path().string()));
    }
    const uint64_t bytes = entry->file_size(error);
    if (error) break;
    files.push_back(
        {.path = entry->path().lexically_relative(folder).string(), .bytes = bytes, .checksum = 0});
  }
  if (error) return failed(fmt::format("cannot look through '{}'", folder), error.value());
  std::ranges::sort(files, {}, &FileFacts::path);
  return files;
}

Result<std::vector<FileFacts>> files_in_folders(
    const std::string& folder,
    const std::function<bool(const std::string& inner_folder, const std::string& name)>& accept) {
  std::vector<FileFacts> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (!fs::is_directory(entry->symlink_status(error))) continue;
    const std::string inner = entry->path().filename().string();
    for (fs::directory_iterator file(entry->path(), error), last; !error && file != last;
         file.increment(error)) {
      const std::string name = file->path().filename().string();
      if (!accept(inner, name)) continue;
      const uint64_t bytes = file->file_size(error);
      if (!error) files.push_back({.path = inner + "/" + name, .bytes = bytes, .checksum = 0});
    }
    if (error) break;
  }
  if (error) return failed(fmt::format("cannot look through '{}'", folder), error.value());
  std::ranges::sort(files, {}, &FileFacts::path);
  return files;
}

Status read_checksums(const std::string& folder, std::vector<FileFacts>& files, unsigned threads,
                      const BytesDone& done) {
  return for_all(files, threads,
                 [&](FileFacts& file) { return read_file(folder + "/" + file.path, file, done, {}); });
}

Status copy_files(const std::string& from, const std::string& to, std::vector<FileFacts>& files,
                  unsigned threads, const BytesDone& done) {
  for (const FileFacts& file : files) {
    std::error_code error;
    const fs::path folder = fs::path(to + "/" + file.path).parent_path();
    fs::create_directories(folder, error);
    if (error) return failed(fmt::format("cannot make the folder '{}'", folder.string()), error.value());
  }
  const Descriptor all(to, O_RDONLY);
  if (!files.empty() && !all.is_open()) return failed(fmt::format("cannot open '{}'", to), errno);
  const auto copy_one = [&](FileFacts& file) -> Status {
    const std::string path = to + "/" + file.path;
    const Descriptor copy(path, O_WRONLY | O_CREAT | O_EXCL, 0640);
    if (!copy.is_open()) return failed(fmt::format("cannot make '{}'", path), errno);
    uint64_t offset = 0;
    return read_file(from + "/" + file.path, file, done, [&](const char* bytes, size_t size) -> Status {
      HAILSTONE_TRY(write_all(copy.number(), path, bytes, size));
      // The disk gets them now, and not much at once that others would wait for. An error is told by the end.
      static_cast<void>(sync_file_range(copy.number(), static_cast<off_t>(offset), static_cast<off_t>(size),
                                        SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER));
      offset += size;
      return {};
    });
  };
  HAILSTONE_TRY(for_all(files, threads, copy_one));
  if (files.empty()) return {};
  // Once for all: each file's own would have everybody's commits wait for the filesystem's journal.
  if (syncfs(all.number()) != 0) return failed(fmt::format("cannot sync '{}'", to), errno);
  return {};
}

Status sync_folders(const std::string& folder) {
  HAILSTONE_TRY(sync_path(folder));
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_directory(error) && !error) HAILSTONE_TRY(sync_path(entry->path().string()));
  }
  if (error) return failed(fmt::format("cannot look through '{}'", folder), error.value());
  return {};
}

Status remove_tree(const std::string& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) return failed(fmt::format("cannot remove '{}'", folder), error.value());
  return {};
}

Result<TemporaryFolder> TemporaryFolder::make() {
  const char* const place = std::getenv("TMPDIR");
  std::string path = fmt::format("{}/hailstone-XXXXXX", place != nullptr ? place : "/tmp");
  if (mkdtemp(path.data()) == nullptr) return failed(fmt::format("cannot make a folder '{}'", path), errno);
  return TemporaryFolder(path);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

TemporaryFolder::~TemporaryFolder() {
  if (!path_.empty()) static_cast<void>(remove_tree(path_));
}

Result<std::string> read_text(const std::string& path) {
  std::string text;
  FileFacts facts;
  HAILSTONE_TRY(read_file(path, facts, {}, [&](const char* bytes, size_t size) -> Status {
    text.append(bytes, size);
    return {};
  }));
  return text;
}

Status write_text(const std::string& path, const std::string& text) {
  const Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC, 0640);
  if (!file.is_open()) return failed(fmt::format("cannot make '{}'", path), errno);
  HAILSTONE_TRY(write_all(file.number(), path, text.data(), text.size()));
  if (fsync(file.number()) != 0) return failed(fmt::format("cannot sync '{}'", path), errno);
  return {};
}

}  // namespace hailstone

#include "backup/file_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "backup/posix_calls.h"
#include "base/mutex.h"
#include "text/plain_input.h"

namespace hailstone {
namespace {

namespace fs = std::filesystem;

constexpr size_t read_at_once = size_t{1} << 20;

/// Goes on for all files with several threads, up to the first error.
Status for_all(std::vector<StoredFile>& files, unsigned threads,
               const std::function<Status(StoredFile&)>& work) {
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

/// A plain file as it is.
class StoredInput final : public Input {
 public:
  StoredInput(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  Result<size_t> read(char* to, size_t size) override {
    while (true) {
      const ssize_t bytes = ::read(file_.number(), to, size);
      if (bytes >= 0) return static_cast<size_t>(bytes);
      if (errno != EINTR) return failed_call(fmt::format("cannot read '{}'", path_), errno);
    }
  }
  const std::string& name() const override { return path_; }
  std::optional<uint64_t> size() const override { return std::nullopt; }

 private:
  const std::string path_;
  const Descriptor file_;
};

/// Reads a file to its end and gives what it has read to `take`.
Status read_file(const std::string& folder, const StoredFile& file, const BytesDone& done,
                 const TakeBytes& take) {
  HAILSTONE_ASSIGN(const auto input, open_stored(folder, file));
  const Status read = for_all_bytes(*input, [&](std::string_view bytes) -> Status {
    HAILSTONE_TRY(take(bytes));
    if (!done || done(bytes.size())) return {};
    return fail(ErrorCode::Interrupted, fmt::format("reading '{}' was interrupted", input->name()));
  });
  if (read || !file.zstd_bytes || !is_of_decompressor(read.error())) return read;
  return fail(ErrorCode::Corruption, fmt::format("'{}' is not what was backed up: {}; use another backup",
                                                 input->name(), read.error().message()));
}

Status sync_path(const std::string& path) {
  const Descriptor folder = opened(path, O_RDONLY);
  if (!folder.is_open() || fsync(folder.number()) != 0)
    return failed_call(fmt::format("cannot sync '{}'", path), errno);
  return {};
}

}  // namespace

Result<std::vector<StoredFile>> files_below(const std::string& folder) {
  std::vector<StoredFile> files;
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
  if (error) return failed_call(fmt::format("cannot look through '{}'", folder), error.value());
  std::ranges::sort(files, {}, &StoredFile::path);
  return files;
}

Result<std::vector<StoredFile>> files_in_folders(
    const std::string& folder,
    const std::function<bool(const std::string& inner_folder, const std::string& name)>& accept) {
  std::vector<StoredFile> files;
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
  if (error) return failed_call(fmt::format("cannot look through '{}'", folder), error.value());
  std::ranges::sort(files, {}, &StoredFile::path);
  return files;
}

Status read_checksums(const std::string& folder, std::vector<StoredFile>& files, unsigned threads,
                      const BytesDone& done) {
  return for_all(files, threads, [&](StoredFile& file) -> Status {
    RunningChecksum sum;
    HAILSTONE_TRY(read_file(folder, file, done, [&](std::string_view bytes) -> Status {
      sum.append(bytes);
      return {};
    }));
    file.bytes = sum.bytes();
    file.checksum = sum.value();
    return {};
  });
}

Status copy_files(const std::string& from, FileTarget& to, const std::string& folder,
                  std::vector<StoredFile>& files, unsigned threads, const BytesDone& done) {
  const auto copy_one = [&](StoredFile& file) -> Status {
    HAILSTONE_ASSIGN(const auto copy, to.create(folder.empty() ? file.path : folder + "/" + file.path));
    HAILSTONE_TRY(read_file(from, file, done, [&](std::string_view bytes) { return copy->append(bytes); }));
    HAILSTONE_ASSIGN(StoredFile facts, copy->finish());
    facts.path = file.path;
    file = std::move(facts);
    return {};
  };
  HAILSTONE_TRY(for_all(files, threads, copy_one));
  return files.empty() ? Status{} : to.sync();
}

Status move_files(const std::string& from, const std::string& to, const std::vector<StoredFile>& files) {
  std::error_code error;
  for (const StoredFile& file : files) {
    const fs::path place = to + "/" + file.path;
    fs::create_directories(place.parent_path(), error);
    if (!error) fs::rename(from + "/" + file.path, place, error);
    if (error)
      return failed_call(fmt::format("cannot move '{}/{}' to '{}'", from, file.path, to), error.value());
  }
  return {};
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

Status sync_folders(const std::string& folder) {
  HAILSTONE_TRY(sync_path(folder));
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_directory(error) && !error) HAILSTONE_TRY(sync_path(entry->path().string()));
  }
  if (error) return failed_call(fmt::format("cannot look through '{}'", folder), error.value());
  return {};
}

Status remove_tree(const std::string& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) return failed_call(fmt::format("cannot remove '{}'", folder), error.value());
  return {};
}

std::string temporary_place() {
  const char* const place = std::getenv("TMPDIR");
  return place != nullptr ? place : "/tmp";
}

Result<TemporaryFolder> TemporaryFolder::make() {
  std::string path = temporary_place() + "/hailstone-XXXXXX";
  if (mkdtemp(path.data()) == nullptr)
    return failed_call(fmt::format("cannot make a folder '{}'", path), errno);
  return TemporaryFolder(path);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

TemporaryFolder::~TemporaryFolder() {
  if (!path_.empty()) static_cast<void>(remove_tree(path_));
}

Result<std::unique_ptr<Input>> open_stored(const std::string& folder, const StoredFile& file) {
  std::string path = folder + "/" + stored_path(file);
  Descriptor opened_file = opened(path, O_RDONLY | O_NOFOLLOW);
  if (!opened_file.is_open()) return failed_call(fmt::format("cannot open '{}'", path), errno);
  std::unique_ptr<Input> input = std::make_unique<StoredInput>(std::move(path), std::move(opened_file));
  return file.zstd_bytes ? plain_input(std::move(input)) : std::move(input);
}

bool is_of_decompressor(const Error& error) {
  // Its own words: no system call has failed.
  return error.code() == ErrorCode::Io && error.system_error() == 0;
}

Status for_all_bytes(Input& input, const TakeBytes& take) {
  std::string buffer(read_at_once, '\0');
  while (true) {
    HAILSTONE_ASSIGN(const size_t bytes, input.read(buffer.data(), buffer.size()));
    if (bytes == 0) return {};
    HAILSTONE_TRY(take({buffer.data(), bytes}));
  }
}

Result<std::string> read_text(const std::string& path) {
  const size_t slash = path.rfind('/');
  const bool is_here = slash == std::string::npos;
  std::string text;
  HAILSTONE_TRY(read_file(is_here ? "." : path.substr(0, slash),
                          {.path = is_here ? path : path.substr(slash + 1)}, {},
                          [&](std::string_view bytes) -> Status {
                            text += bytes;
                            return {};
                          }));
  return text;
}

Status write_text(const std::string& path, const std::string& text) {
  const Descriptor file = opened(path, O_WRONLY | O_CREAT | O_TRUNC, 0640);
  if (!file.is_open()) return failed_call(fmt::format("cannot make '{}'", path), errno);
  HAILSTONE_TRY(write_all(file.number(), path, text));
  if (fsync(file.number()) != 0) return failed_call(fmt::format("cannot sync '{}'", path), errno);
  return {};
}

}  // namespace hailstone

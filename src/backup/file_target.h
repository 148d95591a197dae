// Where a backup or a restore puts files: a folder, or a stream (backup_stream.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

typedef struct XXH3_state_s XXH3_state_t;

namespace hailstone {

struct StoredFile {
  std::string path;  // from the folder on
  uint64_t bytes = 0;
  uint64_t checksum = 0;  // XXH3, 64 bits
  /// Of the file beside, with `.zst` behind its name, that it is stored as; nothing: it is stored as it is.
  std::optional<uint64_t> zstd_bytes{};

  bool operator==(const StoredFile&) const = default;
};

/// The path that it is stored under.
std::string stored_path(const StoredFile& file);
/// Whether both have the same bytes, however they are stored.
bool has_same_bytes(const StoredFile& one, const StoredFile& other);
/// The same wherever the first was found. ErrorCode::Corruption where it is not; `what` names it.
Status compare(const std::string& what, StoredFile found, const StoredFile& wanted);

/// The checksum of bytes that come one after the other, and how many they are.
class RunningChecksum {
 public:
  RunningChecksum();
  RunningChecksum(const RunningChecksum&) = delete;
  RunningChecksum& operator=(const RunningChecksum&) = delete;
  ~RunningChecksum();

  void append(std::string_view bytes);
  uint64_t bytes() const { return bytes_; }
  uint64_t value() const;

 private:
  XXH3_state_t* const state_;
  uint64_t bytes_ = 0;
};

/// One file on its way. One thread. What is not finished is no file: its target goes with it.
class TargetFile {
 public:
  explicit TargetFile(std::string path) : path_(std::move(path)) {}
  virtual ~TargetFile() = default;
  TargetFile(const TargetFile&) = delete;
  TargetFile& operator=(const TargetFile&) = delete;

  Status append(std::string_view bytes);
  /// All of it has been appended. The facts are of what was.
  Result<StoredFile> finish();
  uint64_t bytes() const { return sum_.bytes(); }

 protected:
  const std::string& path() const { return path_; }
  virtual Status write(std::string_view bytes) = 0;
  /// The bytes that it is stored as when it is compressed.
  virtual Result<std::optional<uint64_t>> close() = 0;

 private:
  const std::string path_;
  RunningChecksum sum_;
};

class FileTarget {
 public:
  virtual ~FileTarget() = default;
  /// Begins a file; several threads may. There must be none of this path.
  virtual Result<std::unique_ptr<TargetFile>> create(const std::string& path) = 0;
  /// What was finished is durable then.
  virtual Status sync() = 0;
};

enum class StoredForm : uint8_t {
  AsItIs,
  Compressed,
  Smaller,  // compressed, unless that saves less than a sixteenth
};

/// Below a folder; folders in it are made.
class FolderTarget final : public FileTarget {
 public:
  using FormOf = std::function<StoredForm(const std::string& path)>;
  /// All as they are.
  explicit FolderTarget(std::string folder);
  FolderTarget(std::string folder, int level, FormOf form_of);

  Result<std::unique_ptr<TargetFile>> create(const std::string& path) override;
  Status sync() override;

 private:
  const std::string folder_;
  const int level_ = 0;
  const FormOf form_of_;
};

}  // namespace hailstone

// A backup as one stream (docs/formats.md): files in chunks, in the form that MariaDB's mbstream reads. Files
// may be interleaved. backup.json is the last one, so that a stream with it is a whole backup.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backup/backup_record.h"
#include "backup/compressor.h"
#include "backup/file_target.h"
#include "backup/file_tree.h"
#include "base/mutex.h"
#include "base/status.h"
#include "text/input.h"

namespace hailstone {

/// Names of files in a stream have so many bytes at most, as in mbstream.
inline constexpr size_t longest_stream_path = 511;

/// Gives chunks to what takes bytes. Several threads may write files, one each.
class StreamTarget final : public FileTarget {
 public:
  explicit StreamTarget(TakeBytes take) : take_(std::move(take)) {}

  Result<std::unique_ptr<TargetFile>> create(const std::string& path) override;
  /// Nothing: what becomes of the stream is up to its reader.
  Status sync() override { return {}; }

 private:
  friend class StreamedFile;
  Status write_payload(const std::string& path, uint64_t offset, std::string_view bytes);
  Status write_end(const std::string& path);

  Mutex mutex_;  // held while a chunk is written
  const TakeBytes take_;
};

/// Reads chunks, also those of mariadb-backup. One thread.
class StreamReader {
 public:
  explicit StreamReader(Input& input) : input_(input), buffer_(size_t{1} << 20, '\0') {}

  struct Piece {
    std::string_view path;
    uint64_t offset = 0;     // of the bytes, in the file
    std::string_view bytes;  // until the next call
    bool is_end = false;     // of the file; there are no bytes
  };
  /// Nothing: the stream has ended behind a chunk. A chunk's checksum is compared with its last piece.
  /// ErrorCode::Corruption: it is damaged or cut short.
  Result<std::optional<Piece>> next();

 private:
  /// Less only at the end.
  Result<size_t> read(char* to, size_t size);
  Status read_whole(char* to, size_t size);
  std::unexpected<Error> damaged(const std::string& what) const;

  Input& input_;
  std::string buffer_, path_;
  uint64_t position_ = 0;           // in the stream
  uint64_t left_ = 0, offset_ = 0;  // of the chunk under way
  uint32_t sum_ = 0, expected_sum_ = 0;
};

/// Puts the files of a stream into the target as they come. `offset` of each piece must be where the file
/// ends. A file that comes again takes the place of the first. One thread.
class StreamedFiles {
 public:
  /// `remove` takes a path away from the target.
  StreamedFiles(FileTarget& to, std::string folder, std::function<Status(const std::string& path)> remove)
      : to_(to), folder_(std::move(folder)), remove_(std::move(remove)) {}

  /// The file, when it has ended with the piece.
  Result<const StoredFile*> take(const StreamReader::Piece& piece);
  /// Those that have ended, by their paths.
  const std::map<std::string, StoredFile>& ended() const { return ended_; }
  /// A file that has begun and not ended; empty: there is none.
  std::string unended() const { return open_.empty() ? std::string() : open_.begin()->first; }

 private:
  FileTarget& to_;
  const std::string folder_;
  const std::function<Status(const std::string& path)> remove_;
  std::map<std::string, std::unique_ptr<TargetFile>> open_;
  std::map<std::string, StoredFile> ended_;
};

/// Whether what a user names is a stream: a file that is no folder, or "-", standard input.
bool is_backup_stream(const std::string& path);
/// The record of the stream, whose other files are passed by.
Result<BackupRecord> read_streamed_record(Input& input);
/// Makes `folder`, which must be there and empty, what the stream is of: a backup's folder with all files as
/// they were. Each must be as the record says. ErrorCode::Corruption where it is not, or the stream is cut
/// short.
Result<BackupRecord> unpack_stream(Input& input, const std::string& folder, const BytesDone& done);

}  // namespace hailstone

#include "backup/backup_stream.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/bytes.h"
#include "file/filesystem.h"

namespace hailstone {
namespace {

constexpr std::string_view magic = "XBSTCK01";
constexpr char payload_type = 'P', end_type = 'E';
constexpr size_t begin_bytes = 14;    // magic, flags, type, length of the path
constexpr size_t payload_bytes = 20;  // length, offset, checksum
constexpr size_t chunk_bytes = size_t{1} << 20;
/// Files under way at once: more than the threads of any backup have.
constexpr size_t most_open_files = 1024;

/// zlib's CRC-32.
uint32_t more_sum(uint32_t sum, std::string_view bytes) {
  return static_cast<uint32_t>(crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string begin_of(char type, const std::string& path) {
  std::string begin(magic);
  begin.push_back('\0');
  begin.push_back(type);
  append_number(begin, static_cast<uint32_t>(path.size()));
  return begin + path;
}

}  // namespace

/// Collects what makes a chunk.
class StreamedFile final : public TargetFile {
 public:
  StreamedFile(StreamTarget& to, const std::string& path) : TargetFile(path), to_(to) {}

 private:
  Status write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const std::string_view now = bytes.substr(0, chunk_bytes - pending_.size());
      pending_ += now;
      bytes.remove_prefix(now.size());
      if (pending_.size() == chunk_bytes) HAILSTONE_TRY(flush());
    }
    return {};
  }
  Status flush() {
    if (pending_.empty()) return {};
    HAILSTONE_TRY(to_.write_payload(path(), offset_, pending_));
    offset_ += pending_.size();
    pending_.clear();
    return {};
  }
  Result<std::optional<uint64_t>> close() override {
    HAILSTONE_TRY(flush());
    HAILSTONE_TRY(to_.write_end(path()));
    return std::nullopt;
  }

  StreamTarget& to_;
  std::string pending_;
  uint64_t offset_ = 0;
};

Result<std::unique_ptr<TargetFile>> StreamTarget::create(const std::string& path) {
  if (path.size() > longest_stream_path) {
    return fail(
        ErrorCode::Unsupported,
        fmt::format("the name of '{}' has {} bytes, more than the {} that a stream can hold; back up to "
                    "a folder",
                    path, path.size(), longest_stream_path));
  }
  return std::make_unique<StreamedFile>(*this, path);
}

Status StreamTarget::write_payload(const std::string& path, uint64_t offset, std::string_view bytes) {
  std::string begin = begin_of(payload_type, path);
  append_number(begin, static_cast<uint64_t>(bytes.size()));
  append_number(begin, offset);
  append_number(begin, more_sum(0, bytes));
  const MutexLock guard(mutex_);
  HAILSTONE_TRY(take_(begin));
  return take_(bytes);
}

Status StreamTarget::write_end(const std::string& path) {
  const MutexLock guard(mutex_);
  return take_(begin_of(end_type, path));
}

std::unexpected<Error> StreamReader::damaged(const std::string& what) const {
  return fail(ErrorCode::Corruption,
              fmt::format("{} is not what a backup has written: {} at byte {}; use another backup",
                          input_.name(), what, position_));
}

Result<size_t> StreamReader::read(char* to, size_t size) {
  size_t done = 0;
  while (done < size) {
    const auto now = input_.read(to + done, size - done);
    if (!now && is_of_decompressor(now.error())) return damaged(now.error().message());
    HAILSTONE_TRY(now);
    if (*now == 0) break;
    done += *now;
  }
  position_ += done;
  return done;
}

Status StreamReader::read_whole(char* to, size_t size) {
  HAILSTONE_ASSIGN(const size_t done, read(to, size));
  return done == size ? Status{} : damaged("it is cut short");
}

Result<std::optional<StreamReader::Piece>> StreamReader::next() {
  if (left_ == 0) {
    std::array<char, payload_bytes> numbers{};
    HAILSTONE_ASSIGN(const size_t begun, read(numbers.data(), begin_bytes));
    if (begun == 0) return std::nullopt;
    if (std::string_view(numbers.data(), std::min(begun, magic.size())) != magic.substr(0, begun))
      return damaged("no chunk begins");
    if (begun < begin_bytes) return damaged("it is cut short");
    const char type = numbers[magic.size() + 1];
    const auto length = load<uint32_t>(&numbers[magic.size() + 2]);
    if (type != payload_type && type != end_type)
      return damaged(fmt::format("a chunk of the kind {} is unknown", static_cast<unsigned char>(type)));
    if (length == 0 || length > longest_stream_path)
      return damaged(fmt::format("a name of {} bytes stands", length));
    path_.resize(length);
    HAILSTONE_TRY(read_whole(path_.data(), length));
    if (type == end_type) return Piece{.path = path_, .offset = 0, .bytes = {}, .is_end = true};
    HAILSTONE_TRY(read_whole(numbers.data(), payload_bytes));
    left_ = load<uint64_t>(numbers.data());
    offset_ = load<uint64_t>(&numbers[8]);
    expected_sum_ = load<uint32_t>(&numbers[16]);
    sum_ = 0;
    if (offset_ > std::numeric_limits<uint64_t>::max() - left_) return damaged("a chunk has no end");
    if (left_ == 0) {
      if (expected_sum_ != 0) return damaged(fmt::format("the checksum of a part of '{}' is wrong", path_));
      return Piece{.path = path_, .offset = offset_, .bytes = {}, .is_end = false};
    }
  }
  const auto size = static_cast<size_t>(std::min<uint64_t>(left_, buffer_.size()));
  HAILSTONE_TRY(read_whole(buffer_.data(), size));
  const Piece piece{.path = path_, .offset = offset_, .bytes = {buffer_.data(), size}, .is_end = false};
  sum_ = more_sum(sum_, piece.bytes);
  left_ -= size;
  offset_ += size;
  if (left_ == 0 && sum_ != expected_sum_)
    return damaged(fmt::format("the checksum of a part of '{}' is wrong", path_));
  return piece;
}

Result<const StoredFile*> StreamedFiles::take(const StreamReader::Piece& piece) {
  const std::string path(piece.path);
  const auto out_of_place = [&path](const char* what) {
    return fail(ErrorCode::Corruption,
                fmt::format("the stream is damaged: {} of '{}'; use another backup", what, path));
  };
  if (!is_path_below(path)) return out_of_place("a file has the name that leads elsewhere");
  auto open = open_.find(path);
  const bool begins = open == open_.end() || (!piece.is_end && piece.offset == 0 && !piece.bytes.empty());
  if (begins) {
    if (piece.offset != 0) return out_of_place("the beginning is not there");
    if (open != open_.end() || ended_.erase(path) > 0) {
      open_.erase(path);
      HAILSTONE_TRY(remove_(folder_ + path));
    }
    if (open_.size() == most_open_files)
      return out_of_place("too many files come at once with the beginning");
    HAILSTONE_ASSIGN(auto file, to_.create(folder_ + path));
    open = open_.emplace(path, std::move(file)).first;
  }
  TargetFile& file = *open->second;
  if (!piece.is_end) {
    if (piece.offset != file.bytes()) return out_of_place("a part is missing or comes twice");
    HAILSTONE_TRY(file.append(piece.bytes));
    return nullptr;
  }
  HAILSTONE_ASSIGN(StoredFile facts, file.finish());
  facts.path = path;
  open_.erase(open);
  return &(ended_[path] = std::move(facts));
}

namespace {

bool is_of_backup(std::string_view path) {
  return path.starts_with(fmt::format("{}/", BackupRecord::server_folder)) ||
         path.starts_with(fmt::format("{}/", BackupRecord::database_folder)) ||
         path == BackupRecord::log_name || path == BackupRecord::file_name;
}

std::unexpected<Error> cut_short(const Input& input) {
  return fail(ErrorCode::Corruption,
              fmt::format("{} is cut short: the end, {}, is missing; use another backup", input.name(),
                          BackupRecord::file_name));
}

Status check_unpacked(const std::map<std::string, StoredFile>& found, const char* folder,
                      const std::vector<StoredFile>& wanted) {
  for (const StoredFile& file : wanted) {
    const std::string path = fmt::format("{}/{}", folder, file.path);
    const auto one = found.find(path);
    if (one == found.end()) {
      return fail(ErrorCode::Corruption,
                  fmt::format("'{}' is not in the stream, or not whole; use another backup", path));
    }
    HAILSTONE_TRY(compare(fmt::format("'{}' in the stream", path), one->second, file));
  }
  return {};
}

}  // namespace

bool is_backup_stream(const std::string& path) {
  return path == "-" || (posix_filesystem().exists(path) && !is_folder(path));
}

Result<BackupRecord> read_streamed_record(Input& input) {
  StreamReader reader(input);
  std::string json;
  bool is_whole = false;
  while (true) {
    HAILSTONE_ASSIGN(const auto piece, reader.next());
    if (!piece) break;
    is_whole = piece->is_end && piece->path == BackupRecord::file_name;
    if (piece->path == BackupRecord::file_name) json += piece->bytes;
  }
  if (!is_whole) return cut_short(input);
  return parse_backup_record(json, fmt::format("{} in {}", BackupRecord::file_name, input.name()));
}

Result<BackupRecord> unpack_stream(Input& input, const std::string& folder, const BytesDone& done) {
  StreamReader reader(input);
  FolderTarget target(folder);
  StreamedFiles files(target, "", [&](const std::string& path) { return remove_tree(folder + "/" + path); });
  bool has_record = false;
  while (true) {
    HAILSTONE_ASSIGN(const auto piece, reader.next());
    if (!piece) break;
    if (has_record || !is_of_backup(piece->path)) {
      return fail(ErrorCode::Corruption,
                  fmt::format("{} is no backup of a server: '{}' {}", input.name(), piece->path,
                              has_record ? "comes behind its end" : "is of no backup"));
    }
    HAILSTONE_ASSIGN(const StoredFile* const ended, files.take(*piece));
    has_record = ended != nullptr && ended->path == BackupRecord::file_name;
    if (done && !done(piece->bytes.size()))
      return fail(ErrorCode::Interrupted, fmt::format("reading {} was interrupted", input.name()));
  }
  if (!has_record) return cut_short(input);
  HAILSTONE_ASSIGN(BackupRecord record, read_backup_record(folder));
  HAILSTONE_TRY(check_unpacked(files.ended(), BackupRecord::server_folder, record.server_files));
  HAILSTONE_TRY(check_unpacked(files.ended(), BackupRecord::database_folder, record.database_files));
  HAILSTONE_TRY(target.sync());
  return record;
}

}  // namespace hailstone

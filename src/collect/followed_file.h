// A file as an input that does not end while it grows, or standard input. Says before it waits, so that what
// was read can be made durable meanwhile; ends when stop is asked for (ErrorCode::Interrupted). A file that
// is followed ends when another file has its name and it did not grow for three seconds since, or when it was
// truncated. One thread.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "collect/stop.h"
#include "text/input.h"

namespace hailstone {

/// Tells a file from others, whatever its name is now.
struct SourceIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  auto operator<=>(const SourceIdentity&) const = default;
};

/// The first bytes of a file, as far as it was read when they were looked at: tells it from a later one with
/// the same identity.
struct FileHead {
  uint32_t bytes = 0;
  uint64_t hash = 0;
  bool operator==(const FileHead&) const = default;
};

struct FileFacts {
  SourceIdentity identity;
  uint64_t size = 0;
  bool is_regular = false;
};
/// Nothing when there is no file of this name.
Result<std::optional<FileFacts>> facts_of(const std::string& path);
/// Of the file's first bytes, `bytes` at most.
Result<FileHead> head_of(const std::string& path, uint64_t bytes);

class FollowedFile final : public Input {
 public:
  enum class End : uint8_t {
    Follow,    // waits for more
    Renamed,   // another file has its name already: waits for more until it did not grow for three seconds
    LastLine,  // ends behind the last line that is whole now
    LastByte,  // ends where the file ends now
  };
  using Clock = std::chrono::steady_clock;
  /// Seen of a file while another one had its name: it had so many bytes at that moment, and all before it.
  struct Quiet {
    uint64_t bytes = 0;
    Clock::time_point since;
  };
  struct Options {
    uint64_t offset = 0;  // where to begin
    End end = End::Follow;
    const Stop* stop = nullptr;
    std::function<Status()> before_wait;
    // Of End::Renamed: what was seen of the file before, so that it waits for less.
    std::optional<Quiet> quiet{};
  };
  static Result<std::unique_ptr<FollowedFile>> open(const std::string& path, Options options);
  static Result<std::unique_ptr<FollowedFile>> standard_input(Options options);
  ~FollowedFile() override;
  FollowedFile(const FollowedFile&) = delete;
  FollowedFile& operator=(const FollowedFile&) = delete;

  Result<size_t> read(char* to, size_t size) override;
  /// Of a file: waits as read() does, and takes nothing. False: it has ended.
  Result<bool> wait_for_bytes();
  /// It has ended because it was truncated.
  bool is_cut() const { return is_cut_; }
  const std::string& name() const override { return name_; }
  std::optional<uint64_t> size() const override { return std::nullopt; }
  SourceIdentity identity() const { return identity_; }
  /// Of the file up to `offset`.
  Result<FileHead> head(uint64_t offset) const;

 private:
  FollowedFile(std::string name, int descriptor, Options options)
      : name_(std::move(name)), descriptor_(descriptor), options_(std::move(options)) {}
  Status start();
  Result<size_t> read_stream(char* to, size_t size);
  /// The file had been read to its end at this moment or later; true: it will not grow.
  Result<bool> has_ended(Clock::time_point now);

  const std::string name_;
  const int descriptor_;
  const Options options_;
  SourceIdentity identity_;
  bool is_regular_ = false;
  uint64_t offset_ = 0;
  bool is_cut_ = false;
  std::optional<uint64_t> limit_;  // where it ends, unless it is followed
  std::optional<Quiet> quiet_;     // since another file, or none, has its name
};

}  // namespace hailstone

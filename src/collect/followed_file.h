// A file as an input that does not end while it grows, or standard input. Says before it waits, so that what
// was read can be made durable meanwhile; ends when stop is asked for (ErrorCode::Interrupted). A file that
// is followed ends when another file has its name and it did not grow for three seconds since. A file that
// was cut, or written anew in its place, ends with ErrorCode::Interrupted, so that no piece of a line of it
// is taken for a record: after each read, and while it waits, the file is asked whether it still begins and
// goes on as it was read. One thread.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.h"
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

/// Some bytes of a file.
struct FilePiece {
  uint32_t bytes = 0;
  uint64_t hash = 0;
  bool operator==(const FilePiece&) const = default;
};
/// Of what was read of a file: its first bytes and its last ones, 1,024 each at most. Tells it from another
/// content that the same file got later.
struct Fingerprint {
  FilePiece head;
  FilePiece tail;  // no bytes: not known
  /// Whether a file of which this was kept is the one with that fingerprint, as far as its end is known.
  bool is_of(const Fingerprint& found) const {
    return head == found.head && (tail.bytes == 0 || tail == found.tail);
  }
  /// That of no content.
  static Fingerprint of_none() { return {.head = {.bytes = 1, .hash = 0}, .tail = {.bytes = 1, .hash = 0}}; }
};

struct FileFacts {
  SourceIdentity identity;
  uint64_t size = 0;
  bool is_regular = false;
};
/// Nothing when there is no file of this name.
Result<std::optional<FileFacts>> facts_of(const std::string& path);
/// Whether a file goes on, behind `offset`, what the fingerprint is of.
Result<bool> has_fingerprint(const std::string& path, uint64_t offset, const Fingerprint& fingerprint);
/// Whether the file can be opened and read as a plain file now.
Status check_readable(const std::string& path);

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
    std::function<void()> cut{};  // called when the file turns out to be cut or written anew
  };
  static Result<std::unique_ptr<FollowedFile>> open(const std::string& path, Options options);
  static Result<std::unique_ptr<FollowedFile>> standard_input(Options options);
  ~FollowedFile() override;
  FollowedFile(const FollowedFile&) = delete;
  FollowedFile& operator=(const FollowedFile&) = delete;

  Result<size_t> read(char* to, size_t size) override;
  /// Of a file: waits as read() does, and takes nothing. False: it has ended.
  Result<bool> wait_for_bytes();
  /// Where a file begins with NULs, as it does that was cut under a writer who goes on where he was: passes
  /// them, waiting as wait_for_bytes() does. How many; nothing: the file has ended.
  Result<std::optional<uint64_t>> pass_nuls();
  const std::string& name() const override { return name_; }
  std::optional<uint64_t> size() const override { return std::nullopt; }
  SourceIdentity identity() const { return identity_; }
  /// Of a file: what was read before, from the first byte that is no NUL on. While the file is there.
  std::unique_ptr<Input> beginning() const;
  /// Of the file up to `offset`, which was read. That of no content once the file has been cut.
  Result<Fingerprint> fingerprint(uint64_t offset);

 private:
  FollowedFile(std::string name, int descriptor, Options options)
      : name_(std::move(name)), descriptor_(descriptor), options_(std::move(options)) {}
  Status start();
  Result<size_t> read_stream(char* to, size_t size);
  /// The file had been read to its end at this moment or later; true: it will not grow.
  Result<bool> has_ended(Clock::time_point now);
  /// Whether the file still begins with head_, and has tail_ before offset_.
  Result<bool> is_as_read() const;
  void note_read(ByteView bytes);
  std::unexpected<Error> cut();

  const std::string name_;
  const int descriptor_;
  const Options options_;
  SourceIdentity identity_;
  bool is_regular_ = false;
  uint64_t offset_ = 0;
  std::string head_, tail_;  // of what was read: the first bytes, the last ones
  bool is_cut_ = false;
  std::optional<std::pair<time_t, long>> settled_;  // when it was written that was looked at later
  std::optional<uint64_t> limit_;                   // where it ends, unless it is followed
  std::optional<Quiet> quiet_;                      // since another file, or none, has its name
};

}  // namespace hailstone

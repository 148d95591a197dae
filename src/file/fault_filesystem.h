// A filesystem that fails on demand: it passes everything to another one and, as its rules say, refuses
// calls, tears writes, forgets what a failed sync was to make durable, flips bits in what is read, runs out
// of space, or loses power. After a power failure, leave_crash_state() turns the files of the other
// filesystem into what a real disk could hold then: synced bytes stay; every write after the last sync of its
// file and every creation, renaming or removal after the last sync of its directory is kept, lost, or
// (writes) kept in part, each as a seed decides.
//
// The other filesystem's files are not really synced, as what is durable is this one's to say; tests that
// sync much are quick therefore.
//
// Thread-safe; calls run one at a time. Directories themselves are durable at once. Bytes not yet synced are
// held in memory twice, files removed and not yet forgotten once. Must outlive the files that it opened.
#pragma once

#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "file/filesystem.h"

namespace hailstone {

class FaultFilesystem final : public Filesystem {
 public:
  enum class Call : uint8_t {
    Open,
    Create,
    AppendTo,
    Read,
    Append,
    Preallocate,
    Sync,
    Close,
    Rename,
    Remove,
    Truncate,
    SyncDirectory,
    MakeDirectory,
    List,
    FileSize,
    LockDirectory,
    LockDirectoryToRead,
    Link,
    CanonicalPath,
  };
  enum class Effect : uint8_t {
    Fail,            // the call does nothing and fails
    Tear,            // an append or preallocation writes a part, then fails; other calls fail
    ForgetUnsynced,  // a sync fails, and what was not synced before it never becomes durable, though reads
                     // show it; other calls fail
    FlipBit,         // a read succeeds with one bit wrong; no effect on other calls
    PowerOff,        // this and all later calls fail; an append may have happened in part
  };
  struct Rule {
    std::optional<Call> call{};     // nothing: any call
    std::string path_part{};        // only paths that contain this (of a rename: either path)
    uint64_t skip = 0;              // so many matching calls pass first
    uint64_t times = ~uint64_t{0};  // then so many are hit
    Effect effect = Effect::Fail;
    int error_number = EIO;
  };

  /// `base` must outlive this.
  explicit FaultFilesystem(Filesystem& base, uint64_t seed = 1) : base_(base), random_(seed) {}

  void add_rule(Rule rule);
  void clear_rules();
  /// From now on so many more bytes can be written; then ErrorCode::DiskFull. Removing and cutting files
  /// gives nothing back; set again for that.
  void set_free_bytes(uint64_t bytes);
  /// Calls so far that change something or make it durable (Create, Append, Preallocate, Sync, Close, Rename,
  /// Remove, Truncate, SyncDirectory, Link): a test repeats its work and switches the power off at each of
  /// them in turn.
  uint64_t changes() const;
  /// Switches the power off at the change after so many more.
  void power_off_after(uint64_t changes);
  /// Every later call fails.
  void power_off();
  bool powered_off() const;
  /// Switches the power off and leaves in the other filesystem what survives. After it this object only
  /// refuses; go on with the other one.
  Status leave_crash_state(uint64_t seed);

  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) override;
  Result<std::unique_ptr<RandomAccessFile>> open_plain(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  /// Unless links are allowed, as of a filesystem that has none: callers copy then.
  Status link(const std::string& from, const std::string& to) override;
  void allow_links();
  Status truncate(const std::string& path, uint64_t size) override;
  Status sync_directory(const std::string& path) override;
  Status make_directory(const std::string& path) override;
  Status remove_directory(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  bool exists(const std::string& path) override;
  Result<uint64_t> file_size(const std::string& path) override;
  Result<std::unique_ptr<DirectoryLock>> lock_directory(const std::string& path) override;
  Result<std::unique_ptr<DirectoryLock>> lock_directory_to_read(const std::string& path) override;
  bool is_writable(const std::string& path) override;
  Result<std::string> canonical_path(const std::string& path) override;

 private:
  class ReadFile;
  class WriteFile;

  /// A write or cut: bytes [offset, offset + before.size()) became `after`, and the file's size changed.
  struct Change {
    enum class Fate : uint8_t { Open, Durable, Forgotten };
    uint64_t offset = 0;
    std::string before, after;
    uint64_t size_before = 0, size_after = 0;
    Fate fate = Fate::Open;
  };
  /// A file, whatever its names are.
  struct Node {
    uint64_t size = 0;            // as the base has it, zeros ahead included
    std::vector<Change> changes;  // since everything was durable last
    bool gone = false;            // it has no name any more; `content` is what it holds
    std::string content;
  };
  using NodePointer = std::shared_ptr<Node>;
  /// A creation (`from` empty), removal (`to` empty) or renaming, not yet durable.
  struct NameChange {
    std::string from, to;
    NodePointer node;
  };
  /// What a rule does to a call.
  struct Decision {
    std::optional<Effect> effect;
    int error_number = EIO;
  };

  Decision decide(Call call, const std::string& path, const std::string& second_path = {})
      HAILSTONE_REQUIRES(mutex_);
  /// The failure that a rule demands of a call that knows no finer effect.
  Status admit(Call call, std::string_view what, const std::string& path, const std::string& second_path = {})
      HAILSTONE_REQUIRES(mutex_);
  Result<NodePointer> node_of(const std::string& path) HAILSTONE_REQUIRES(mutex_);
  Result<std::string> content_of(const std::string& path);
  Status write(WritableFile& file, Node& node, ByteView bytes) HAILSTONE_REQUIRES(mutex_);
  Status record(Node& node, const std::string& path, uint64_t offset, ByteView after, uint64_t size_after);
  Status let_go_of(const std::string& path) HAILSTONE_REQUIRES(mutex_);
  void note_name_change(NameChange change) HAILSTONE_REQUIRES(mutex_);
  void settle(Node& node, Change::Fate fate);
  std::string surviving_content(std::string content, const Node& node) HAILSTONE_REQUIRES(mutex_);
  void keep_in_part(std::string& content, const Change& change) HAILSTONE_REQUIRES(mutex_);

  Filesystem& base_;
  mutable Mutex mutex_;  // held over every call of the base
  std::mt19937_64 random_ HAILSTONE_GUARDED_BY(mutex_);
  std::vector<Rule> rules_ HAILSTONE_GUARDED_BY(mutex_);
  std::optional<uint64_t> free_bytes_ HAILSTONE_GUARDED_BY(mutex_);
  uint64_t changes_ HAILSTONE_GUARDED_BY(mutex_) = 0;
  std::optional<uint64_t> power_off_at_ HAILSTONE_GUARDED_BY(mutex_);
  bool powered_off_ HAILSTONE_GUARDED_BY(mutex_) = false;
  bool has_links_ HAILSTONE_GUARDED_BY(mutex_) = false;
  /// Of files written or renamed through this. The nodes themselves are guarded, too.
  std::map<std::string, NodePointer> nodes_ HAILSTONE_GUARDED_BY(mutex_);
  /// Of the names in name_changes_: what the disk has there; null for nothing.
  std::map<std::string, NodePointer> durable_names_ HAILSTONE_GUARDED_BY(mutex_);
  std::vector<NameChange> name_changes_ HAILSTONE_GUARDED_BY(mutex_);  // in order
};

}  // namespace hailstone

#include "file/fault_filesystem.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/guard.h"
#include "file/io_error.h"

namespace hailstone {

namespace {

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

bool changes_something(FaultFilesystem::Call call) {
  using Call = FaultFilesystem::Call;
  switch (call) {
    case Call::Create:
    case Call::Append:
    case Call::Preallocate:
    case Call::Sync:
    case Call::Close:
    case Call::Rename:
    case Call::Remove:
    case Call::Truncate:
    case Call::SyncDirectory:
    case Call::Link:
      return true;
    default:
      return false;
  }
}

void overwrite(std::string& content, uint64_t offset, ByteView bytes) {
  const auto at = static_cast<size_t>(offset);
  if (content.size() < at + bytes.size()) content.resize(at + bytes.size(), '\0');
  content.replace(at, bytes.size(), bytes);
}

constexpr size_t sector_bytes = 512;  // what a disk writes whole or not at all

}  // namespace

class FaultFilesystem::ReadFile final : public RandomAccessFile {
 public:
  ReadFile(FaultFilesystem& owner, std::unique_ptr<RandomAccessFile> file)
      : owner_(owner), file_(std::move(file)) {}
  Status read_at(uint64_t offset, size_t size, char* to) const override {
    const MutexLock lock(owner_.mutex_);
    const Decision decision = owner_.decide(Call::Read, path());
    if (decision.effect && decision.effect != Effect::FlipBit) {
      return std::unexpected(io_error("read", path(), decision.error_number));
    }
    HAILSTONE_TRY(file_->read_at(offset, size, to));
    if (decision.effect && size != 0) {
      const uint64_t bit = owner_.random_() % (uint64_t{size} * 8);
      to[bit / 8] = static_cast<char>(to[bit / 8] ^ (1 << (bit % 8)));
    }
    return {};
  }
  Result<uint64_t> size() const override {
    const MutexLock lock(owner_.mutex_);
    if (owner_.powered_off_) return std::unexpected(io_error("get the size of", path(), EIO));
    return file_->size();
  }
  const std::string& path() const override { return file_->path(); }

 private:
  FaultFilesystem& owner_;
  const std::unique_ptr<RandomAccessFile> file_;
};

class FaultFilesystem::WriteFile final : public WritableFile {
 public:
  WriteFile(FaultFilesystem& owner, std::unique_ptr<WritableFile> file, NodePointer node)
      : owner_(owner), file_(std::move(file)), node_(std::move(node)), size_(file_->size()) {}
  ~WriteFile() override {
    const MutexLock lock(owner_.mutex_);
    // Without memory a power failure after this may leave more than it should, and no test has both.
    if (!owner_.powered_off_) try_to([&]() HAILSTONE_REQUIRES(owner_.mutex_) { note_cut(); });
    file_.reset();
  }

  Status append(ByteView bytes) override {
    const MutexLock lock(owner_.mutex_);
    const Decision decision = owner_.decide(Call::Append, path());
    if (!decision.effect || decision.effect == Effect::FlipBit) return write(bytes);
    if (decision.effect == Effect::Tear || decision.effect == Effect::PowerOff) tear(bytes);
    return std::unexpected(io_error("write to", path(), decision.error_number));
  }
  Status cut() override {
    const MutexLock lock(owner_.mutex_);
    HAILSTONE_TRY(owner_.admit(Call::Truncate, "cut", path()));
    return cut_to_size();
  }
  Status preallocate(uint64_t bytes) override {
    const MutexLock lock(owner_.mutex_);
    const Decision decision = owner_.decide(Call::Preallocate, path());
    if (!decision.effect || decision.effect == Effect::FlipBit) return allocate(bytes);
    if (decision.effect == Effect::Tear) HAILSTONE_TRY(allocate(bytes == 0 ? 0 : owner_.random_() % bytes));
    return std::unexpected(io_error("write to", path(), decision.error_number));
  }
  Status sync() override {
    const MutexLock lock(owner_.mutex_);
    const Decision decision = owner_.decide(Call::Sync, path());
    if (decision.effect && decision.effect != Effect::FlipBit) {
      if (decision.effect == Effect::ForgetUnsynced) owner_.settle(*node_, Change::Fate::Forgotten);
      return std::unexpected(io_error("sync", path(), decision.error_number));
    }
    owner_.settle(*node_, Change::Fate::Durable);
    return {};
  }
  Status close() override {
    const MutexLock lock(owner_.mutex_);
    HAILSTONE_TRY(owner_.admit(Call::Close, "close", path()));
    if (!torn_.empty()) HAILSTONE_TRY(cut_to_size());
    note_cut();
    return file_->close();
  }
  uint64_t size() const override { return size_; }
  const std::string& path() const override { return file_->path(); }

 private:
  Status write(ByteView bytes) HAILSTONE_REQUIRES(owner_.mutex_) {
    // What a failed append left is overwritten.
    if (!torn_.empty()) HAILSTONE_TRY(cut_to_size());
    Status written = owner_.write(*file_, *node_, bytes);
    if (written) {
      size_ = file_->size();
    } else {
      torn_ = bytes.substr(0, static_cast<size_t>(file_->size() - size_));
    }
    return written;
  }
  /// Part of an append that fails.
  void tear(ByteView bytes) HAILSTONE_REQUIRES(owner_.mutex_) {
    const ByteView part =
        bytes.substr(0, bytes.empty() ? 0 : static_cast<size_t>(owner_.random_() % bytes.size()));
    // The append fails in any case.
    static_cast<void>(write(part));
    if (file_->size() == size_) {
      size_ -= part.size();
      torn_ = part;
    }
  }
  /// The base file has no other way into the middle of a file than to be opened again.
  Status cut_to_size() HAILSTONE_REQUIRES(owner_.mutex_) {
    if (node_->size == size_) return {};
    Change cut;
    cut.offset = size_;
    cut.before = torn_;
    cut.before.resize(static_cast<size_t>(node_->size - size_), '\0');
    cut.size_before = node_->size;
    cut.size_after = size_;
    const std::string name = path();
    HAILSTONE_TRY(file_->close());
    HAILSTONE_TRY(owner_.base_.truncate(name, size_));
    HAILSTONE_ASSIGN(file_, owner_.base_.append_to(name));
    node_->size = size_;
    if (node_->gone) node_->content.resize(static_cast<size_t>(size_));
    node_->changes.push_back(std::move(cut));
    torn_.clear();
    return {};
  }
  Status allocate(uint64_t bytes) HAILSTONE_REQUIRES(owner_.mutex_) {
    if (!torn_.empty()) HAILSTONE_TRY(cut_to_size());
    if (owner_.free_bytes_ && bytes > *owner_.free_bytes_) {
      return std::unexpected(io_error("write to", path(), ENOSPC));
    }
    HAILSTONE_TRY(file_->preallocate(bytes));
    if (owner_.free_bytes_) *owner_.free_bytes_ -= bytes;
    const std::string zeros(static_cast<size_t>(bytes), '\0');
    return owner_.record(*node_, path(), node_->size, zeros, node_->size + bytes);
  }
  /// The base cuts unused zeros when it closes the file.
  void note_cut() HAILSTONE_REQUIRES(owner_.mutex_) {
    if (closed_) return;
    closed_ = true;
    if (!torn_.empty()) static_cast<void>(cut_to_size());
    const uint64_t used = file_->size();
    if (used >= node_->size) return;
    Change cut;
    cut.offset = used;
    cut.before.assign(static_cast<size_t>(node_->size - used), '\0');
    cut.size_before = node_->size;
    cut.size_after = used;
    node_->size = used;
    if (node_->gone) node_->content.resize(static_cast<size_t>(used));
    node_->changes.push_back(std::move(cut));
  }

  FaultFilesystem& owner_;
  std::unique_ptr<WritableFile> file_;
  const NodePointer node_;
  uint64_t size_;     // of what was appended with success
  std::string torn_;  // what a failed append has left behind it
  bool closed_ = false;
};

void FaultFilesystem::add_rule(Rule rule) {
  const MutexLock lock(mutex_);
  rules_.push_back(std::move(rule));
}

void FaultFilesystem::clear_rules() {
  const MutexLock lock(mutex_);
  rules_.clear();
}

void FaultFilesystem::set_free_bytes(uint64_t bytes) {
  const MutexLock lock(mutex_);
  free_bytes_ = bytes;
}

uint64_t FaultFilesystem::changes() const {
  const MutexLock lock(mutex_);
  return changes_;
}

void FaultFilesystem::power_off_after(uint64_t changes) {
  const MutexLock lock(mutex_);
  power_off_at_ = changes_ + changes;
}

void FaultFilesystem::power_off() {
  const MutexLock lock(mutex_);
  powered_off_ = true;
}

bool FaultFilesystem::powered_off() const {
  const MutexLock lock(mutex_);
  return powered_off_;
}

FaultFilesystem::Decision FaultFilesystem::decide(Call call, const std::string& path,
                                                  const std::string& second_path) {
  if (powered_off_) return {.effect = Effect::Fail};
  if (changes_something(call) && changes_++ == power_off_at_) {
    powered_off_ = true;
    return {.effect = Effect::PowerOff};
  }
  for (Rule& rule : rules_) {
    if (rule.call && *rule.call != call) continue;
    if (path.find(rule.path_part) == std::string::npos &&
        second_path.find(rule.path_part) == std::string::npos)
      continue;
    if (rule.skip > 0) {
      --rule.skip;
    } else if (rule.times > 0) {
      --rule.times;
      if (rule.effect == Effect::PowerOff) powered_off_ = true;
      return {.effect = rule.effect, .error_number = rule.error_number};
    }
  }
  return {};
}

Status FaultFilesystem::admit(Call call, std::string_view what, const std::string& path,
                              const std::string& second_path) {
  const Decision decision = decide(call, path, second_path);
  if (decision.effect && decision.effect != Effect::FlipBit) {
    return std::unexpected(io_error(what, path, decision.error_number));
  }
  return {};
}

/// The node of an existing file; one not met before is all durable.
Result<FaultFilesystem::NodePointer> FaultFilesystem::node_of(const std::string& path) {
  if (const auto found = nodes_.find(path); found != nodes_.end()) return found->second;
  HAILSTONE_ASSIGN(const uint64_t size, base_.file_size(path));
  auto node = std::make_shared<Node>();
  node->size = size;
  nodes_[path] = node;
  return node;
}

Result<std::string> FaultFilesystem::content_of(const std::string& path) {
  HAILSTONE_ASSIGN(const auto file, base_.open(path));
  HAILSTONE_ASSIGN(const uint64_t size, file->size());
  std::string content(static_cast<size_t>(size), '\0');
  HAILSTONE_TRY(file->read_at(0, content.size(), content.data()));
  return content;
}

/// Appends to the base as far as there is room.
Status FaultFilesystem::write(WritableFile& file, Node& node, ByteView bytes) {
  const uint64_t offset = file.size();
  bool full = false;
  if (free_bytes_) {
    // What overwrites zeros written ahead takes no new room.
    const uint64_t ahead = node.size > offset ? node.size - offset : 0;
    const uint64_t room = ahead + *free_bytes_;
    full = bytes.size() > room;
    if (full) bytes = bytes.substr(0, static_cast<size_t>(room));
    if (bytes.size() > ahead) *free_bytes_ -= bytes.size() - ahead;
  }
  HAILSTONE_TRY(record(node, file.path(), offset, bytes, std::max(node.size, offset + bytes.size())));
  HAILSTONE_TRY(file.append(bytes));
  if (full) return std::unexpected(io_error("write to", file.path(), ENOSPC));
  return {};
}

/// Notes a write at `offset`. Where it overwrites, that can only be zeros written ahead.
Status FaultFilesystem::record(Node& node, const std::string& path, uint64_t offset, ByteView after,
                               uint64_t size_after) {
  if (offset > node.size) {
    return fail(ErrorCode::Io, fmt::format("file '{}' was cut behind the back of who writes it", path));
  }
  Change change;
  change.offset = offset;
  change.before.assign(static_cast<size_t>(std::min<uint64_t>(node.size - offset, after.size())), '\0');
  change.after = after;
  change.size_before = node.size;
  change.size_after = size_after;
  node.size = size_after;
  if (node.gone) overwrite(node.content, offset, after);
  node.changes.push_back(std::move(change));
  return {};
}

void FaultFilesystem::settle(Node& node, Change::Fate fate) {
  bool all_durable = true;
  for (Change& change : node.changes) {
    if (change.fate == Change::Fate::Open) change.fate = fate;
    all_durable = all_durable && change.fate == Change::Fate::Durable;
  }
  if (all_durable) node.changes.clear();
}

/// Before the file at `path`, if any, loses that name in the base: its content may come back.
Status FaultFilesystem::let_go_of(const std::string& path) {
  HAILSTONE_ASSIGN(const NodePointer node, node_of(path));
  HAILSTONE_ASSIGN(node->content, content_of(path));
  node->gone = true;
  return {};
}

void FaultFilesystem::note_name_change(NameChange change) {
  for (const std::string& path : {change.from, change.to}) {
    if (path.empty() || durable_names_.contains(path)) continue;
    const auto found = nodes_.find(path);
    durable_names_[path] = found == nodes_.end() ? nullptr : found->second;
  }
  if (!change.from.empty()) nodes_.erase(change.from);
  if (!change.to.empty()) nodes_[change.to] = change.node;
  name_changes_.push_back(std::move(change));
}

Result<std::unique_ptr<RandomAccessFile>> FaultFilesystem::open(const std::string& path) {
  const MutexLock lock(mutex_);
  HAILSTONE_TRY(admit(Call::Open, "open", path));
  HAILSTONE_ASSIGN(auto file, base_.open(path));
  return std::make_unique<ReadFile>(*this, std::move(file));
}

Result<std::unique_ptr<RandomAccessFile>> FaultFilesystem::open_plain(const std::string& path) {
  const MutexLock lock(mutex_);
  HAILSTONE_TRY(admit(Call::Open, "open", path));
  HAILSTONE_ASSIGN(auto file, base_.open_plain(path));
  return std::make_unique<ReadFile>(*this, std::move(file));
}

Result<std::unique_ptr<WritableFile>> FaultFilesystem::create(const std::string& path) {
  const MutexLock lock(mutex_);
  HAILSTONE_TRY(admit(Call::Create, "create", path));
  if (base_.exists(path)) {
    // The same file, cut to nothing.
    HAILSTONE_ASSIGN(const NodePointer node, node_of(path));
    Change cut;
    HAILSTONE_ASSIGN(cut.before, content_of(path));
    HAILSTONE_ASSIGN(auto file, base_.create(path));
    cut.size_before = node->size;
    node->size = 0;
    node->changes.push_back(std::move(cut));
    return std::make_unique<WriteFile>(*this, std::move(file), node);
  }
  HAILSTONE_ASSIGN(auto file, base_.create(path));
  auto node = std::make_shared<Node>();
  note_name_change({.from = {}, .to = path, .node = node});
  return std::make_unique<WriteFile>(*this, std::move(file), node);
}

Result<std::unique_ptr<WritableFile>> FaultFilesystem::append_to(const std::string& path) {
  const MutexLock lock(mutex_);
  HAILSTONE_TRY(admit(Call::AppendTo, "open for writing", path));
  HAILSTONE_ASSIGN(auto file, base_.append_to(path));
  HAILSTONE_ASSIGN(const NodePointer node, node_of(path));
  return std::make_unique<WriteFile>(*this, std::move(file), node);
}

Status FaultFilesystem::rename(const std::string& from, const std::string& to) {
  const MutexLock lock(mutex_);
  HAILSTONE_TRY(admit(Call::Rename, "rename", from, to));
  HAILSTONE_ASSIGN(const NodePointer node, node_of(from));
  if (base_.exists(to)) HAILSTONE_TRY(let_go_of(to));
  HAILSTONE_TRY(base_.rename(from, to));
  note_name_change({.from = from, .to = to, .node = node});
  return {};
}

Status FaultFilesystem::remove(const std::string& path) {
  const MutexLock lock(mutex_);
  HAILSTONE_TRY(admit(Call::Remove, "remove", path));
  HAILSTONE_TRY(let_go_of(path));
  HAILSTONE_TRY(base_.remove(path));
  note_name_change({.from = path, .to = {}, .node = nullptr});
  return {};
}

void FaultFilesystem::allow_links() {
  const MutexLock lock(mutex_);
  has_links_ = true;
}

Status FaultFilesystem::link(const std::string& from, const std::string& to) {
  const MutexLock lock(mutex_);
  if (!has_links_) return Filesystem::link(from, to);
  HAILSTONE_TRY(admit(Call::Link, "link", from, to));
  HAILSTONE_ASSIGN(const NodePointer node, node_of(from));
  HAILSTONE_TRY(base_.link(from, to));
  note_name_change({.from = {}, .to = to, .node = node});
  return {};
}

Status FaultFilesystem::truncate(const std::string& path, uint64_t size) {
  const MutexLock lock(mutex_);
  HAILSTONE_TRY(admit(Call::Truncate, "cut", path));
  HAILSTONE_ASSIGN(const NodePointer node, node_of(path));
  HAILSTONE_ASSIGN(const std::string content, content_of(path));
  HAILSTONE_TRY(base_.truncate(path, size));
  Change cut;
  cut.offset = size;
  if (size < content.size()) cut.before = content.substr(static_cast<size_t>(size));
  cut.size_before = node->size;
  cut.size_after = node->size = size;
  node->changes.push_back(std::move(cut));
  settle(*node, Change::Fate::Durable);
  return {};
}

Status FaultFilesystem::sync_directory(const std::string& path) {
  const MutexLock lock(mutex_);
  HAILSTONE_TRY(admit(Call::SyncDirectory, "sync directory", path));
  std::vector<NameChange> left;
  for (NameChange& change : name_changes_) {
    if (directory_of(change.to.empty() ? change.from : change.to) != path) {
      left.push_back(std::move(change));
      continue;
    }
    if (!change.from.empty()) durable_names_[change.from] = nullptr;
    if (!change.to.empty()) durable_names_[change.to] = change.node;
  }
  name_changes_ = std::move(left);
  std::set<std::string> open;
  for (const NameChange& change : name_changes_) {
    open.insert(change.from);
    open.insert(change.to);
  }
  std::erase_if(durable_names_, [&](const auto& name) { return !open.contains(name.first); });
  return {};
}

Status FaultFilesystem::make_directory(const std::string& path) {
  const MutexLock lock(mutex_);
  HAILSTONE_TRY(admit(Call::MakeDirectory, "make directory", path));
  return base_.make_directory(path);
}

Status FaultFilesystem::remove_directory(const std::string& path) {
  const MutexLock lock(mutex_);
  HAILSTONE_TRY(admit(Call::Remove, "remove directory", path));
  return base_.remove_directory(path);
}

Result<std::vector<std::string>> FaultFilesystem::list(const std::string& path) {
  const MutexLock lock(mutex_);
  HAILSTONE_TRY(admit(Call::List, "list directory", path));
  return base_.list(path);
}

bool FaultFilesystem::exists(const std::string& path) {
  const MutexLock lock(mutex_);
  return base_.exists(path);
}

Result<uint64_t> FaultFilesystem::file_size(const std::string& path) {
  const MutexLock lock(mutex_);
  HAILSTONE_TRY(admit(Call::FileSize, "get the size of", path));
  return base_.file_size(path);
}

Result<std::unique_ptr<DirectoryLock>> FaultFilesystem::lock_directory(const std::string& path) {
  const MutexLock lock(mutex_);
  HAILSTONE_TRY(admit(Call::LockDirectory, "lock directory", path));
  return base_.lock_directory(path);
}

Result<std::unique_ptr<DirectoryLock>> FaultFilesystem::lock_directory_to_read(const std::string& path) {
  const MutexLock lock(mutex_);
  HAILSTONE_TRY(admit(Call::LockDirectoryToRead, "lock directory", path));
  return base_.lock_directory_to_read(path);
}

bool FaultFilesystem::is_writable(const std::string& path) {
  const MutexLock lock(mutex_);
  return base_.is_writable(path);
}

Result<std::string> FaultFilesystem::canonical_path(const std::string& path) {
  const MutexLock lock(mutex_);
  HAILSTONE_TRY(admit(Call::CanonicalPath, "find the whole path of", path));
  return base_.canonical_path(path);
}

/// What a disk holds of a write that it was in the middle of: a beginning of it, or any of its sectors.
void FaultFilesystem::keep_in_part(std::string& content, const Change& change) {
  const ByteView after = change.after;
  if (random_() % 2 == 0) {
    overwrite(content, change.offset, after.substr(0, static_cast<size_t>(random_() % (after.size() + 1))));
    return;
  }
  for (size_t at = 0; at < after.size();) {
    const size_t size = sector_bytes - static_cast<size_t>((change.offset + at) % sector_bytes);
    if (random_() % 2 == 0) overwrite(content, change.offset + at, after.substr(at, size));
    at += size;
  }
}

std::string FaultFilesystem::surviving_content(std::string content, const Node& node) {
  // The base may have cut zeros written ahead when the file was closed without power.
  content.resize(static_cast<size_t>(node.size), '\0');
  for (auto change = node.changes.rbegin(); change != node.changes.rend(); ++change) {
    overwrite(content, change->offset, change->before);
    content.resize(static_cast<size_t>(change->size_before), '\0');
  }
  for (const Change& change : node.changes) {
    const uint64_t choice = random_() % 3;
    if (change.fate == Change::Fate::Forgotten || (change.fate == Change::Fate::Open && choice == 0))
      continue;
    if (change.size_after < change.size_before) {
      content.resize(std::min(content.size(), static_cast<size_t>(change.size_after)));
    } else if (change.fate == Change::Fate::Open && choice == 1) {
      keep_in_part(content, change);
    } else {
      overwrite(content, change.offset, change.after);
    }
  }
  return content;
}

Status FaultFilesystem::leave_crash_state(uint64_t seed) {
  const MutexLock lock(mutex_);
  powered_off_ = true;
  random_.seed(seed);
  // The names that the disk has.
  std::map<std::string, NodePointer> names = durable_names_;
  for (const auto& [path, node] : nodes_) names.try_emplace(path, node);
  for (const NameChange& change : name_changes_) {
    if (random_() % 2 == 0) continue;
    if (!change.from.empty()) names[change.from] = nullptr;
    if (!change.to.empty()) names[change.to] = change.node;
  }
  // All contents are read before any file is replaced, as a node may survive under a name that another has
  // now.
  std::map<const Node*, std::string> present_paths;
  for (const auto& [path, node] : nodes_) present_paths[node.get()] = path;
  std::map<std::string, std::string> contents;
  for (const auto& [path, node] : names) {
    if (node == nullptr) continue;
    std::string content = node->content;
    if (!node->gone) {
      HAILSTONE_ASSIGN(content, content_of(present_paths.at(node.get())));
    }
    contents[path] = surviving_content(std::move(content), *node);
  }
  for (const auto& [path, node] : names) {
    // A new file in place of the old: files that are still open close into the old one.
    if (base_.exists(path)) HAILSTONE_TRY(base_.remove(path));
    if (node == nullptr) continue;
    HAILSTONE_ASSIGN(const auto file, base_.create(path));
    HAILSTONE_TRY(file->append(contents[path]));
    HAILSTONE_TRY(file->close());
  }
  return {};
}

}  // namespace hailstone

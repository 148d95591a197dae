#include "file/open_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

namespace hailstone {

class OpenFiles::File final : public RandomAccessFile {
 public:
  File(OpenFiles& owner, std::unique_ptr<RandomAccessFile> file)
      : owner_(owner), path_(file->path()), file_(std::move(file)) {
    owner_.note_opened(*this);
  }
  ~File() override { owner_.note_closed(*this); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  Status read_at(uint64_t offset, size_t size, char* to) const override {
    return with_file([&](const RandomAccessFile& file) { return file.read_at(offset, size, to); });
  }
  Result<uint64_t> size() const override {
    return with_file([](const RandomAccessFile& file) { return file.size(); });
  }
  const std::string& path() const override { return path_; }

  /// False: it has been read since the last call, or is being read, and stays open.
  bool close_if_idle() {
    if (used_.exchange(false, std::memory_order_relaxed)) return false;
    if (!mutex_.try_lock()) return false;
    const ExclusiveLock guard(mutex_, std::adopt_lock);
    file_.reset();
    return true;
  }

  // The owner's.
  bool listed HAILSTONE_GUARDED_BY(list_mutex) = false;
  Place place HAILSTONE_GUARDED_BY(list_mutex);

 private:
  template <typename Use>
  auto with_file(const Use& use) const -> decltype(use(std::declval<const RandomAccessFile&>())) {
    for (;;) {
      used_.store(true, std::memory_order_relaxed);
      {
        const SharedLock guard(mutex_);
        if (file_ != nullptr) return use(*file_);
      }
      HAILSTONE_TRY(open_again());
    }
  }

  Status open_again() const {
    {
      const ExclusiveLock guard(mutex_);
      if (file_ != nullptr) return {};
      HAILSTONE_ASSIGN(file_, owner_.with_descriptor([&] { return owner_.below().open(path_); }));
    }
    owner_.note_opened(const_cast<File&>(*this));
    return {};
  }

  OpenFiles& owner_;
  const std::string path_;
  mutable std::atomic<bool> used_{true};
  mutable SharedMutex mutex_;  // shared while the file is read
  mutable std::unique_ptr<RandomAccessFile> file_ HAILSTONE_GUARDED_BY(mutex_);  // null while it is closed
};

template <typename Call>
auto OpenFiles::with_descriptor(const Call& call) -> decltype(call()) {
  auto result = call();
  if (result) return result;
  const int error = result.error().system_error();
  if (error != EMFILE && error != ENFILE) return result;
  const size_t before = open_count();
  shrink(before / 2);
  if (open_count() == before) return result;
  return call();
}

void OpenFiles::shrink(size_t most) {
  const MutexLock guard(mutex());
  // Twice around: the first time may only find out which are idle.
  for (size_t looked = 0, all = 2 * open_.size(); looked < all && open_.size() > most; ++looked) {
    if (hand_ == open_.end()) hand_ = open_.begin();
    File& file = **hand_;
    if (file.close_if_idle()) {
      file.listed = false;
      hand_ = open_.erase(hand_);
    } else {
      ++hand_;
    }
  }
}

void OpenFiles::note_opened(File& file) {
  {
    const MutexLock guard(mutex());
    if (!file.listed) {
      // Behind the hand, so that it is the last to be looked at.
      file.place = open_.insert(hand_, &file);
      file.listed = true;
    }
    if (open_.size() <= limit_.load(std::memory_order_relaxed)) return;
  }
  shrink(limit_.load(std::memory_order_relaxed));
}

void OpenFiles::note_closed(File& file) {
  const MutexLock guard(mutex());
  if (!file.listed) return;
  if (hand_ == file.place) ++hand_;
  open_.erase(file.place);
}

void OpenFiles::set_limit(size_t limit) {
  limit_.store(limit, std::memory_order_relaxed);
  shrink(limit);
}

size_t OpenFiles::open_count() const {
  const MutexLock guard(mutex());
  return open_.size();
}

size_t OpenFiles::default_limit() {
  constexpr size_t least = 16, most = 1 << 20, usual = 512;
  struct rlimit descriptors;
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return usual;
  return std::clamp<size_t>(static_cast<size_t>(std::min<rlim_t>(descriptors.rlim_cur / 2, most)), least,
                            most);
}

Result<std::unique_ptr<RandomAccessFile>> OpenFiles::open(const std::string& path) {
  HAILSTONE_ASSIGN(auto file, with_descriptor([&] { return below().open(path); }));
  return std::make_unique<File>(*this, std::move(file));
}

Result<std::unique_ptr<WritableFile>> OpenFiles::create(const std::string& path) {
  return with_descriptor([&] { return below().create(path); });
}

Result<std::unique_ptr<WritableFile>> OpenFiles::create_whole(const std::string& path) {
  return with_descriptor([&] { return below().create_whole(path); });
}

Result<std::unique_ptr<WritableFile>> OpenFiles::append_to(const std::string& path) {
  return with_descriptor([&] { return below().append_to(path); });
}

Status OpenFiles::truncate(const std::string& path, uint64_t size) {
  return with_descriptor([&] { return below().truncate(path, size); });
}

Status OpenFiles::sync_directory(const std::string& path) {
  return with_descriptor([&] { return below().sync_directory(path); });
}

Result<std::vector<std::string>> OpenFiles::list(const std::string& path) {
  return with_descriptor([&] { return below().list(path); });
}

}  // namespace hailstone

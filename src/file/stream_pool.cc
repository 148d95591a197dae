#include "file/stream_pool.h"

#include <algorithm>

namespace hailstone {

class StreamPool::Reader final : public RandomAccessFile {
 public:
  Reader(std::shared_ptr<StreamPool> pool, OpenFile file)
      : pool_(std::move(pool)),
        file_(std::make_shared<const OpenFile>(std::move(file))),
        number_(pool_->next_file_.fetch_add(1, std::memory_order_relaxed)) {}
  ~Reader() override { pool_->forget(number_); }

  Status read_at(uint64_t offset, size_t size, char* to) const override {
    if (size == 0) return {};
    Status status;
    const uint64_t end = offset + size;
    // Much at once gains nothing by windows, but with O_DIRECT, where they are read side by side. What is
    // beyond the size that the file had at first is left to the kernel.
    const bool is_much = !file_->is_direct && size >= 2 * pool_->settings_.window_bytes;
    if (end <= file_->size && !is_much) {
      if (pool_->read_near(number_, offset, size, to, status)) return status;
      const bool goes_on = std::ranges::any_of(
          ends_, [&](const auto& known) { return known.load(std::memory_order_relaxed) == offset; });
      if (goes_on && pool_->read_on(number_, file_, offset, size, to, status)) return status;
    }
    const size_t slot = next_end_.fetch_add(1, std::memory_order_relaxed) % ends_.size();
    ends_[slot].store(end, std::memory_order_relaxed);
    if (file_->is_direct) return pool_->read_directly(file_, offset, size, to);
    return read_fully(*file_, offset, size, to);
  }
  Result<uint64_t> size() const override { return size_of(file_->descriptor, file_->path); }
  const std::string& path() const override { return file_->path; }

 private:
  const std::shared_ptr<StreamPool> pool_;
  const std::shared_ptr<const OpenFile> file_;
  const uint64_t number_;
  mutable std::array<std::atomic<uint64_t>, 8> ends_{};  // of the last reads that no stream served
  mutable std::atomic<size_t> next_end_{0};
};

std::unique_ptr<RandomAccessFile> StreamPool::open(OpenFile file) {
  return std::make_unique<Reader>(shared_from_this(), std::move(file));
}

void StreamPool::note(Lane& lane) {
  lane.begin.store(lane.stream->begin(), std::memory_order_relaxed);
  lane.end.store(lane.stream->end(), std::memory_order_relaxed);
  lane.used.store(clock_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
}

bool StreamPool::read_near(uint64_t file, uint64_t offset, size_t size, char* to, Status& status) {
  for (Lane& lane : lanes_) {
    if (lane.file.load(std::memory_order_relaxed) != file ||
        offset < lane.begin.load(std::memory_order_relaxed) ||
        offset > lane.end.load(std::memory_order_relaxed)) {
      continue;
    }
    const MutexLock guard(lane.mutex);
    if (lane.file.load(std::memory_order_relaxed) != file || !lane.stream->leads_to(offset)) continue;
    status = lane.stream->read(offset, size, to);
    note(lane);
    return true;
  }
  return false;
}

bool StreamPool::read_on(uint64_t number, const std::shared_ptr<const OpenFile>& file, uint64_t offset,
                         size_t size, char* to, Status& status) {
  Lane& oldest = *std::ranges::min_element(
      lanes_, {}, [](const Lane& lane) { return lane.used.load(std::memory_order_relaxed); });
  if (!oldest.mutex.try_lock()) return false;
  const MutexLock guard(oldest.mutex, std::adopt_lock);
  if (oldest.stream == nullptr) {
    auto made = ReadStream::make(calls_, settings_);
    if (!made) return false;  // reading works without, and says so if it does not
    oldest.stream = std::move(*made);
  }
  oldest.stream->bind(file, file->size);
  oldest.file.store(number, std::memory_order_relaxed);
  status = oldest.stream->read(offset, size, to);
  note(oldest);
  return true;
}

Status StreamPool::read_directly(const std::shared_ptr<const OpenFile>& file, uint64_t offset, size_t size,
                                 char* to) {
  for (Lane& lane : single_) {
    if (!lane.mutex.try_lock()) continue;
    const MutexLock guard(lane.mutex, std::adopt_lock);
    return read_directly(lane, file, offset, size, to);
  }
  Lane& lane = single_[clock_.fetch_add(1, std::memory_order_relaxed) % lane_count];
  const MutexLock guard(lane.mutex);
  return read_directly(lane, file, offset, size, to);
}

Status StreamPool::read_directly(Lane& lane, const std::shared_ptr<const OpenFile>& file, uint64_t offset,
                                 size_t size, char* to) {
  if (lane.stream == nullptr) {
    HAILSTONE_ASSIGN(lane.stream, ReadStream::make(calls_, settings_));
  }
  // The file's size now, as it may have grown.
  HAILSTONE_ASSIGN(const uint64_t end, size_of(file->descriptor, file->path));
  lane.stream->bind(file, std::min(end, offset + size));
  Status status = lane.stream->read(offset, size, to);
  lane.stream->unbind();
  return status;
}

void StreamPool::forget(uint64_t file) {
  for (Lane& lane : lanes_) {
    if (lane.file.load(std::memory_order_relaxed) != file) continue;
    const MutexLock guard(lane.mutex);
    if (lane.file.load(std::memory_order_relaxed) != file) continue;
    lane.stream->unbind();
    lane.file.store(no_file, std::memory_order_relaxed);
    lane.used.store(0, std::memory_order_relaxed);
  }
}

}  // namespace hailstone

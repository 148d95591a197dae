#include "cli/disk_work.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "cli/session.h"
#include "file/descriptor.h"
#include "file/io_error.h"
#include "file/method_filesystem.h"

namespace hailstone {
namespace {

constexpr uint64_t bytes_between_looks = uint64_t{4} << 20;
constexpr size_t compared_at_once = size_t{1} << 20;

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

/// Letters and digits, with room for the record's number at the front.
std::string first_record(size_t size) {
  static constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::string record(size, '\0');
  for (size_t i = 0; i < size; ++i) record[i] = letters[i * 7 % letters.size()];
  return record;
}

uint64_t sum_of(const char* bytes, size_t size) {
  return std::accumulate(bytes, bytes + size, uint64_t{0},
                         [](uint64_t sum, char byte) { return sum + static_cast<unsigned char>(byte); });
}

}  // namespace

void DiskClock::start() {
  rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  user_ = seconds_of(usage.ru_utime);
  system_ = seconds_of(usage.ru_stime);
  clock_ = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void DiskClock::stop(DiskCost& cost) {
  const DiskClock began = *this;
  start();
  cost.seconds += clock_ - began.clock_;
  cost.user_seconds += user_ - began.user_;
  cost.system_seconds += system_ - began.system_;
}

Result<DiskCost> write_records(const std::string& path, const DiskSetup& setup, const DiskWatch& watch,
                               const DiskWarning& warning) {
  MethodFilesystem filesystem(setup.io, warning);
  DiskCost cost;
  std::string record = first_record(setup.record_bytes);
  const size_t number_bytes = std::min(record.size(), sizeof(uint64_t));
  const uint64_t records_at_once = std::max<uint64_t>(1, bytes_between_looks / record.size());
  const auto write = [&]() -> Status {
    DiskClock clock;
    clock.start();
    HAILSTONE_ASSIGN(const auto file, filesystem.create_whole(path));
    for (uint64_t number = 0; number < setup.records;) {
      const uint64_t end = std::min(number + records_at_once, setup.records);
      for (; number < end; ++number) {
        std::memcpy(record.data(), &number, number_bytes);
        HAILSTONE_TRY(file->append(record));
      }
      if (!watch(file->size())) return std::unexpected(interrupted());
    }
    if (setup.fsync) HAILSTONE_TRY(file->sync());
    HAILSTONE_TRY(file->close());
    clock.stop(cost);
    return {};
  };
  if (const Status written = write(); !written) {
    // It may not even have been made; the error that matters is the first.
    static_cast<void>(filesystem.remove(path));
    return std::unexpected(written.error());
  }
  cost.records = setup.records;
  cost.bytes = setup.records * record.size();
  cost.counts = filesystem.counts();
  cost.method = filesystem.refused().empty() ? setup.io.method : IoMethod::Buffered;
  return cost;
}

Result<DiskCost> read_records(const std::string& path, const DiskSetup& setup, uint64_t* sum,
                              const DiskWatch& watch, const DiskWarning& warning) {
  MethodFilesystem filesystem(setup.io, warning);
  DiskCost cost;
  std::string record(setup.record_bytes, '\0');
  const uint64_t bytes_at_once = std::max<uint64_t>(1, bytes_between_looks / record.size()) * record.size();
  DiskClock clock;
  clock.start();
  {
    HAILSTONE_ASSIGN(const auto file, filesystem.open_sequential(path));
    cost.bytes = file->size();
    uint64_t total = 0;
    for (uint64_t at = 0; at < cost.bytes;) {
      const uint64_t end = std::min(at + bytes_at_once, cost.bytes);
      while (at < end) {
        const auto size = static_cast<size_t>(std::min<uint64_t>(record.size(), end - at));
        HAILSTONE_TRY(file->read(size, record.data()));
        if (sum != nullptr) total += sum_of(record.data(), size);
        at += size;
      }
      if (!watch(at)) return std::unexpected(interrupted());
    }
    if (sum != nullptr) *sum = total;
  }
  clock.stop(cost);
  cost.records = (cost.bytes + record.size() - 1) / record.size();
  cost.counts = filesystem.counts();
  cost.method = filesystem.refused().empty() ? setup.io.method : IoMethod::Buffered;
  return cost;
}

Status compare_files(std::span<const std::string> paths, const DiskWatch& watch) {
  MethodFilesystem filesystem({.method = IoMethod::Sync});
  std::vector<std::unique_ptr<SequentialFile>> files;
  for (const std::string& path : paths) {
    HAILSTONE_ASSIGN(auto file, filesystem.open_sequential(path));
    files.push_back(std::move(file));
  }
  std::string first(compared_at_once, '\0'), other(compared_at_once, '\0');
  const uint64_t size = files.front()->size();
  uint64_t common = size;
  for (const auto& file : files) common = std::min(common, file->size());
  for (uint64_t at = 0; at < common;) {
    const auto here = static_cast<size_t>(std::min<uint64_t>(compared_at_once, common - at));
    HAILSTONE_TRY(files.front()->read(here, first.data()));
    for (size_t i = 1; i < files.size(); ++i) {
      HAILSTONE_TRY(files[i]->read(here, other.data()));
      const auto place =
          std::mismatch(first.begin(), first.begin() + static_cast<ptrdiff_t>(here), other.begin());
      if (place.first == first.begin() + static_cast<ptrdiff_t>(here)) continue;
      return fail(ErrorCode::Corruption,
                  fmt::format("'{}' and '{}' differ at byte {}", paths[0], paths[i],
                              at + static_cast<uint64_t>(place.first - first.begin())));
    }
    at += here;
    if (!watch(at)) return std::unexpected(interrupted());
  }
  for (size_t i = 1; i < files.size(); ++i) {
    if (files[i]->size() == size) continue;
    return fail(ErrorCode::Corruption,
                fmt::format("'{}' has {} bytes and '{}' has {}", paths[0], size, paths[i], files[i]->size()));
  }
  return {};
}

Status evict_file(const std::string& path) {
  HAILSTONE_ASSIGN(const Descriptor file, open_file("open", path, O_RDWR));
  HAILSTONE_ASSIGN(const uint64_t size, size_of(file, path));
  if (size == 0) return {};
  // Only pages that the disk has can be dropped.
  if (::fsync(file.number()) != 0) return std::unexpected(io_error("sync", path, errno));
  if (const int number = ::posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED); number != 0)
    return std::unexpected(io_error("drop from the page cache", path, number));
  void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.number(), 0);
  if (mapped == MAP_FAILED) return std::unexpected(io_error("map", path, errno));
  std::vector<unsigned char> resident((size + 4095) / 4096);
  const int looked = ::mincore(mapped, size, resident.data());
  ::munmap(mapped, size);
  if (looked != 0) return std::unexpected(io_error("look for cached pages of", path, errno));
  const auto left = std::ranges::count_if(resident, [](unsigned char page) { return (page & 1) != 0; });
  if (static_cast<size_t>(left) * 100 <= resident.size()) return {};
  return fail(ErrorCode::Unsupported,
              fmt::format("{} of {} pages of '{}' stay in the page cache, so a cold read cannot be measured "
                          "there; choose a folder on a disk (not tmpfs)",
                          left, resident.size(), path));
}

Status need_disk(const std::string& folder, uint64_t bytes) {
  struct statvfs disk;
  if (::statvfs(folder.c_str(), &disk) != 0)
    return std::unexpected(io_error("get the free space of", folder, errno));
  const uint64_t available = uint64_t{disk.f_bavail} * disk.f_frsize;
  if (bytes <= available) return {};
  return fail(ErrorCode::DiskFull,
              fmt::format("the disk of '{}' has {} free and {} are needed; make room or use fewer records",
                          folder, human_bytes(available), human_bytes(bytes)));
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace hailstone

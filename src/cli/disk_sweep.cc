#include "cli/disk_sweep.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <memory>
#include <optional>
#include <random>

#include "base/number_text.h"
#include "cli/memory_limit.h"
#include "cli/session.h"
#include "file/io_error.h"
#include "file/method_filesystem.h"

namespace hailstone {
namespace {

/// A new folder in another one; goes with all files in it.
class TemporaryFolder {
 public:
  static Result<std::unique_ptr<TemporaryFolder>> make(const std::string& parent) {
    std::string path = parent + "/hailstone-disk-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr)
      return std::unexpected(io_error("make a folder like", path, errno));
    return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(std::move(path)));
  }
  ~TemporaryFolder() {
    clear();
    (void)::rmdir(path_.c_str());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  void clear() const {
    const auto names = posix_filesystem().list(path_);
    if (!names) return;
    // The next file of the same name fails if this one stays, or the user sees it in the folder.
    for (const std::string& name : *names) static_cast<void>(posix_filesystem().remove(file(name)));
  }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

class Sweep {
 public:
  Sweep(const SweepOptions& options, const DiskSupervision& supervision)
      : options_(options), supervision_(supervision), methods_(options.methods) {}

  Result<DiskResults> run() {
    uint64_t written = 0;
    for (uint64_t records = options_.from; records <= options_.to; records *= 2)
      written += records * options_.record_bytes;
    all_ = written * methods_.size() * options_.repeats * 2;
    const uint64_t most = std::bit_floor(options_.to / options_.from) * options_.from * options_.record_bytes;
    HAILSTONE_TRY(need_disk(options_.folder, most * methods_.size() + (uint64_t{64} << 20)));
    DiskResults results;
    results.conditions = conditions_here(options_.folder);
    results.conditions.record_bytes = options_.record_bytes;
    results.conditions.buffer_bytes = options_.buffer_bytes;
    results.conditions.queue_depth = options_.queue_depth;
    results.conditions.fsync = options_.fsync;
    results.conditions.cold = options_.cold;
    results.conditions.memory_limit = options_.memory_limit;
    std::unique_ptr<MemoryLimit> limit;
    if (options_.memory_limit > 0) {
      HAILSTONE_ASSIGN(limit, MemoryLimit::set(options_.memory_limit));
    }
    HAILSTONE_ASSIGN(folder_, TemporaryFolder::make(options_.folder));
    std::erase_if(methods_, [&](IoMethod method) { return refused(method); });
    for (uint64_t records = options_.from; records <= options_.to; records *= 2) {
      for (unsigned run = 1; run <= options_.repeats; ++run)
        HAILSTONE_TRY(measure(records, run, results.measurements));
    }
    return results;
  }

 private:
  Status measure(uint64_t records, unsigned run, std::vector<DiskMeasurement>& measurements) {
    std::vector<std::string> paths;
    std::optional<uint64_t> first_sum;
    for (const IoMethod method : methods_) {
      const DiskSetup setup{.io = {.method = method,
                                   .window_bytes = options_.buffer_bytes,
                                   .queue_depth = options_.queue_depth},
                            .record_bytes = options_.record_bytes,
                            .records = records,
                            .fsync = options_.fsync};
      const std::string path = folder_->file(std::string(to_string(method)));
      paths.push_back(path);
      const std::string what =
          fmt::format("{} records, run {}, {}", with_commas(records), run, to_string(method));
      const uint64_t bytes = records * options_.record_bytes;
      HAILSTONE_ASSIGN(const DiskCost written,
                       write_records(path, setup, watch("writing " + what), supervision_.warning));
      done_ += bytes;
      measurements.push_back({.job = DiskJob::Write, .run = run, .cost = written});
      if (options_.cold) HAILSTONE_TRY(evict_file(path));
      // The sum is of another pass, as it would be most of what reading costs.
      HAILSTONE_ASSIGN(const DiskCost read,
                       read_records(path, setup, nullptr, watch("reading " + what), supervision_.warning));
      done_ += bytes;
      measurements.push_back({.job = DiskJob::Read, .run = run, .cost = read});
      if (run != 1) continue;
      uint64_t sum = 0;
      HAILSTONE_TRY(read_records(path, setup, &sum, watch("checking " + what), supervision_.warning));
      if (first_sum.value_or(sum) != sum) {
        return fail(ErrorCode::Corruption,
                    fmt::format("the bytes of {} records add up to {} when read by '{}' and to {} by '{}'",
                                records, *first_sum, to_string(methods_.front()), sum, to_string(method)));
      }
      first_sum = sum;
    }
    if (run == 1 && paths.size() > 1)
      HAILSTONE_TRY(compare_files(paths, watch(fmt::format("comparing {} records", with_commas(records)))));
    folder_->clear();
    return {};
  }

  /// A method that the system refuses is left out, and the warning says why.
  bool refused(IoMethod method) {
    MethodFilesystem filesystem({.method = method});
    // The measurement meets the same error again, and tells it.
    static_cast<void>(filesystem.create_whole(folder_->file("attempt")));
    const std::string reason = filesystem.refused();
    if (reason.empty()) return false;
    supervision_.warning(fmt::format("the method '{}' is left out: {}", to_string(method), reason));
    return true;
  }

  DiskWatch watch(std::string what) {
    return [this, what = std::move(what)](uint64_t bytes) {
      supervision_.progress(std::min(done_ + bytes, all_), all_, what);
      return !supervision_.stop();
    };
  }

  const SweepOptions& options_;
  const DiskSupervision& supervision_;
  std::vector<IoMethod> methods_;
  std::unique_ptr<TemporaryFolder> folder_;
  uint64_t done_ = 0, all_ = 0;
};

/// Bytes of memory that the system can give.
uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  uint64_t kilobytes = 0;
  while (file >> name >> kilobytes && std::getline(file, unit)) {
    if (name == "MemAvailable:") return kilobytes << 10;
  }
  return ~uint64_t{0};
}

constexpr uint64_t rows_at_once = 50'000;
constexpr size_t fixed_row_bytes = 103, least_row_bytes = 57;

/// Rows to be written, made a chunk at a time, so that making them is no part of what is measured.
class SweptRows {
 public:
  SweptRows(bool fixed, uint64_t rows) : fixed_(fixed), rows_(rows), row_(fixed_row_bytes, 'x') {}

  bool next() {
    if (made_ == rows_) return false;
    const uint64_t end = std::min(made_ + rows_at_once, rows_);
    ends_.clear();
    bytes_.clear();
    for (; made_ < end; ++made_) {
      const size_t length =
          fixed_ ? fixed_row_bytes : least_row_bytes + lengths_() % (fixed_row_bytes - least_row_bytes + 1);
      bytes_.append(row_, 0, length);
      ends_.push_back(bytes_.size());
    }
    return true;
  }
  Status write(WritableFile& file) const {
    size_t begin = 0;
    for (const size_t end : ends_) {
      HAILSTONE_TRY(file.append(ByteView(bytes_).substr(begin, end - begin)));
      begin = end;
    }
    return {};
  }

 private:
  const bool fixed_;
  const uint64_t rows_;
  const std::string row_;
  std::mt19937_64 lengths_;  // from its own beginning: the same lengths for every buffer
  uint64_t made_ = 0;
  std::string bytes_;
  std::vector<size_t> ends_;
};

}  // namespace

Result<DiskResults> sweep(const SweepOptions& options, const DiskSupervision& supervision) {
  return Sweep(options, supervision).run();
}

Result<std::vector<BufferMeasurement>> measure_buffers(const BuffersOptions& options,
                                                       const DiskSupervision& supervision) {
  HAILSTONE_TRY(need_disk(options.folder, options.rows * fixed_row_bytes + (uint64_t{64} << 20)));
  HAILSTONE_ASSIGN(const auto folder, TemporaryFolder::make(options.folder));
  std::vector<std::pair<bool, size_t>> wanted;
  for (const bool fixed : {true, false}) {
    if (fixed ? !options.fixed : !options.variable) continue;
    for (size_t buffer = options.from; buffer <= options.to; buffer *= 2) wanted.emplace_back(fixed, buffer);
  }
  std::vector<BufferMeasurement> measured;
  for (const auto& [fixed, buffer] : wanted) {
    if (available_memory() < uint64_t{buffer} + (uint64_t{256} << 20)) {
      supervision.warning(fmt::format("buffers of {} bytes are left out, as there is not enough memory",
                                      with_commas(buffer)));
      continue;
    }
    BufferMeasurement& measurement = measured.emplace_back();
    measurement.fixed = fixed;
    measurement.buffer_bytes = buffer;
    DiskCost& cost = measurement.cost;
    const std::string path = folder->file("rows");
    MethodFilesystem filesystem({.method = IoMethod::Buffered, .window_bytes = buffer});
    SweptRows rows(fixed, options.rows);
    DiskClock clock;
    clock.start();
    HAILSTONE_ASSIGN(const auto file, filesystem.create_whole(path));
    clock.stop(cost);
    uint64_t done = 0;
    while (rows.next()) {
      clock.start();
      HAILSTONE_TRY(rows.write(*file));
      clock.stop(cost);
      done += rows_at_once;
      const uint64_t before = (measured.size() - 1) * options.rows;
      supervision.progress(
          std::min(before + done, before + options.rows), wanted.size() * options.rows,
          fmt::format("{} rows, buffer of {} bytes", fixed ? "fixed" : "variable", with_commas(buffer)));
      if (supervision.stop()) return std::unexpected(interrupted());
    }
    measurement.writes = filesystem.counts().writes;
    clock.start();
    if (options.fsync) HAILSTONE_TRY(file->sync());
    HAILSTONE_TRY(file->close());
    clock.stop(cost);
    cost.records = options.rows;
    cost.bytes = file->size();
    cost.method = IoMethod::Buffered;
    cost.counts = filesystem.counts();
    HAILSTONE_TRY(filesystem.remove(path));
  }
  return measured;
}

}  // namespace hailstone

#include "article/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "file/filesystem.h"

namespace hailstone {
namespace {

constexpr uint64_t kRowsPerChunk = 50'000;
constexpr size_t kBytesPerRow = 96;  // room for the longest usual row

using AppendRow = void (ArticleData::*)(uint64_t, std::string&) const;

/// Writes one table: threads make chunks of rows, and each waits for its turn to write what it made.
class TableWriter {
 public:
  TableWriter(const ArticleData& data, AppendRow append_row, uint64_t rows, WritableFile& file)
      : data_(data), append_row_(append_row), rows_(rows), file_(file) {}

  Status run(unsigned threads) {
    {
      std::vector<std::jthread> workers;
      workers.reserve(threads);
      for (unsigned i = 0; i < threads; ++i) workers.emplace_back([this] { work(); });
    }
    const MutexLock lock(mutex_);
    if (error_) return std::unexpected(*error_);
    return file_.close();
  }

 private:
  void work() {
    std::string chunk;
    chunk.reserve(kRowsPerChunk * kBytesPerRow);
    for (;;) {
      uint64_t turn;
      {
        const MutexLock lock(mutex_);
        if (error_ || next_chunk_ * kRowsPerChunk >= rows_) return;
        turn = next_chunk_++;
      }
      chunk.clear();
      const uint64_t end = std::min((turn + 1) * kRowsPerChunk, rows_);
      for (uint64_t row = turn * kRowsPerChunk; row < end; ++row) (data_.*append_row_)(row, chunk);

      const MutexLock lock(mutex_);
      while (!error_ && turn_ != turn) turn_came_.wait(mutex_);
      if (error_) return;
      // The lock is held while writing: nobody else could write before this anyway.
      if (Status status = file_.append(chunk); !status) error_ = status.error();
      ++turn_;
      turn_came_.notify_all();
    }
  }

  const ArticleData& data_;
  const AppendRow append_row_;
  const uint64_t rows_;

  Mutex mutex_;
  Condition turn_came_;
  WritableFile& file_ HAILSTONE_GUARDED_BY(mutex_);
  uint64_t next_chunk_ HAILSTONE_GUARDED_BY(mutex_) = 0;  // to be made
  uint64_t turn_ HAILSTONE_GUARDED_BY(mutex_) = 0;        // to be written
  std::optional<Error> error_ HAILSTONE_GUARDED_BY(mutex_);
};

}  // namespace

std::string counts_as_json(const ArticleData& data) {
  return fmt::format(
      "{{\n"
      "  \"small_rows\": {},\n"
      "  \"big_rows\": {},\n"
      "  \"small_{}\": {},\n"
      "  \"big_{}\": {},\n"
      "  \"big_{}\": 0,\n"
      "  \"joined\": {}\n"
      "}}\n",
      data.rows().small, data.rows().big, kSmallManufacturer, data.counts().small_manufacturer,
      kBigManufacturer, data.counts().big_manufacturer, kAbsentManufacturer, data.counts().joined);
}

Status generate(const GenerateOptions& options) {
  if (options.rows.small > ArticleRows::kFullSmall || options.rows.big > ArticleRows::kLimitBig) {
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format("at most {} rows of Small and {} of Big can be made, not {} and {}",
                    ArticleRows::kFullSmall, ArticleRows::kLimitBig, options.rows.small, options.rows.big));
  }
  const ArticleData data(options.rows);
  const unsigned threads =
      options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  Filesystem& filesystem = posix_filesystem();
  HAILSTONE_TRY(filesystem.make_directory(options.directory));

  const auto write_table = [&](const char* name, AppendRow append_row, uint64_t rows) -> Status {
    HAILSTONE_ASSIGN(const auto file, filesystem.create(options.directory + "/" + name));
    return TableWriter(data, append_row, rows, *file).run(threads);
  };
  HAILSTONE_TRY(write_table("small.tsv", &ArticleData::append_small_row, options.rows.small));
  HAILSTONE_TRY(write_table("big.tsv", &ArticleData::append_big_row, options.rows.big));

  if (!options.counts_file.empty()) {
    HAILSTONE_ASSIGN(const auto file, filesystem.create(options.counts_file));
    HAILSTONE_TRY(file->append(counts_as_json(data)));
    HAILSTONE_TRY(file->close());
  }
  return {};
}

}  // namespace hailstone

// Reads of an open file by many threads at any place, through streams where they go on one behind the other:
// a read that begins where an earlier one of the same file ended gets a stream, which then reads ahead, and
// is used by all who read near it. There are few streams for all files; who needs one takes the one that was
// not used for longest. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "base/mutex.h"
#include "file/filesystem.h"
#include "file/read_stream.h"

namespace hailstone {

class StreamPool : public std::enable_shared_from_this<StreamPool> {
 public:
  /// The method is one of those with streams, and the kernel allows it.
  StreamPool(SystemCalls& calls, const IoSettings& settings) : calls_(calls), settings_(settings) {}

  /// The pool must be owned by a shared pointer; files keep it.
  std::unique_ptr<RandomAccessFile> open(OpenFile file);

 private:
  class Reader;
  static constexpr size_t lane_count = 16;
  static constexpr uint64_t no_file = 0;

  struct Lane {
    Mutex mutex;  // also held by a thread that changes the others
    std::unique_ptr<ReadStream> stream HAILSTONE_GUARDED_BY(mutex);
    // What is worth trying; looked at again under the mutex.
    std::atomic<uint64_t> file{no_file};
    std::atomic<uint64_t> begin{0}, end{0};  // where reads are served
    std::atomic<uint64_t> used{0};
  };

  /// Reads through a stream that is at this place already. False: there is none.
  bool read_near(uint64_t file, uint64_t offset, size_t size, char* to, Status& status);
  /// Takes a stream for a reader who goes on from here. False: none is to be had now.
  bool read_on(uint64_t number, const std::shared_ptr<const OpenFile>& file, uint64_t offset, size_t size,
               char* to, Status& status);
  /// Reads just this, through aligned memory.
  Status read_directly(const std::shared_ptr<const OpenFile>& file, uint64_t offset, size_t size, char* to);
  void forget(uint64_t file);
  void note(Lane& lane) HAILSTONE_REQUIRES(lane.mutex);
  /// The same by the stream of this lane.
  Status read_directly(Lane& lane, const std::shared_ptr<const OpenFile>& file, uint64_t offset, size_t size,
                       char* to) HAILSTONE_REQUIRES(lane.mutex);

  SystemCalls& calls_;
  const IoSettings settings_;
  std::atomic<uint64_t> next_file_{1};
  std::atomic<uint64_t> clock_{1};
  std::array<Lane, lane_count> lanes_;
  std::array<Lane, lane_count> single_;  // for reads with O_DIRECT that no stream serves
};

}  // namespace hailstone

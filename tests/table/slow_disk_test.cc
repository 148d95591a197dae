// Who waits for a disk makes nobody else wait: files are not read under a table's write mutex.
#include <condition_variable>
#include <future>

#include "file/forwarding_filesystem.h"
#include "table/cursor.h"
#include "table/test_host.h"
#include "table/test_rows.h"

namespace hailstone {
namespace {

/// Reads of segments wait while it is closed.
class GateFilesystem : public ForwardingFilesystem {
 public:
  GateFilesystem() : ForwardingFilesystem(posix_filesystem()) {}
  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) override {
    HAILSTONE_ASSIGN(auto file, ForwardingFilesystem::open(path));
    return std::make_unique<File>(*this, std::move(file));
  }
  void set_open(bool open) {
    const std::lock_guard guard(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  void wait_for_a_reader() {
    std::unique_lock guard(mutex_);
    changed_.wait(guard, [&] { return waiting_ > 0; });
  }

 private:
  class File : public RandomAccessFile {
   public:
    File(GateFilesystem& gate, std::unique_ptr<RandomAccessFile> file)
        : gate_(gate), file_(std::move(file)) {}
    Status read_at(uint64_t offset, size_t size, char* to) const override {
      {
        std::unique_lock guard(gate_.mutex_);
        ++gate_.waiting_;
        gate_.changed_.notify_all();
        gate_.changed_.wait(guard, [&] { return gate_.open_; });
        --gate_.waiting_;
      }
      return file_->read_at(offset, size, to);
    }
    Result<uint64_t> size() const override { return file_->size(); }
    const std::string& path() const override { return file_->path(); }

   private:
    GateFilesystem& gate_;
    const std::unique_ptr<RandomAccessFile> file_;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  int waiting_ = 0;
};

TEST(SlowDiskConcurrentTest, AWriterThatWaitsForTheDiskKeepsNobodyFromWriting) {
  GateFilesystem gate;
  TestHost host(gate);
  const auto table = host.create(test_definition(true));
  const auto write = [&](int32_t id) {
    const auto transaction = host.transactions().begin(Isolation::RepeatableRead);
    Duplicate duplicate;
    const auto inserted =
        table->insert(*transaction, encode(*table, {.id = id, .number = id + 1'000'000}), duplicate);
    return inserted && host.transactions().commit(*transaction);
  };
  for (int32_t id = 0; id < 1000; id += 2) ASSERT_TRUE(write(id));
  ASSERT_TRUE(table->flush(true));
  const auto begin = [&](Isolation isolation) { return host.transactions().begin(isolation); };
  // Each of these has to look into the segment.
  const std::vector<std::function<bool()>> slow = {
      [&] { return write(501); },
      [&] {
        const auto transaction = begin(Isolation::RepeatableRead);
        return table->erase(*transaction, key_of(*table, 100)) && host.transactions().commit(*transaction);
      },
      [&] {
        const auto transaction = begin(Isolation::RepeatableRead);
        Duplicate duplicate;
        return table->update(*transaction, key_of(*table, 102), encode(*table, {.id = 102, .number = 5}),
                             duplicate) &&
               host.transactions().commit(*transaction);
      },
      [&] {
        const auto transaction = begin(Isolation::RepeatableRead);
        std::string row;
        return table->find_row(*transaction, key_of(*table, 104), ReadLock::Exclusive, row).value_or(false);
      },
      [&] {
        const auto transaction = begin(Isolation::ReadUncommitted);
        std::string row;
        return table->find_row(*transaction, key_of(*table, 106), ReadLock::None, row).value_or(false);
      },
      [&] {
        const auto transaction = begin(Isolation::Serializable);
        Cursor cursor(table, *transaction, 0, ReadLock::Shared, {id_column});
        return cursor.seek_at_or_after(key_of(*table, 105)).value_or(false);
      },
  };
  for (size_t i = 0; i < slow.size(); ++i) {
    // Nothing stays in the cache.
    host.cache().evict(~size_t{0} / 2);
    gate.set_open(false);
    auto waiting = std::async(std::launch::async, slow[i]);
    gate.wait_for_a_reader();
    // Keys behind those of the segment, in both unique indexes: files have nothing to say.
    auto quick = std::async(std::launch::async, [&] { return write(2000 + static_cast<int32_t>(i)); });
    const bool done = quick.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    gate.set_open(true);
    EXPECT_TRUE(done) << "while step " << i << " waited for the disk, a row could not be written";
    EXPECT_TRUE(quick.get());
    EXPECT_TRUE(waiting.get()) << i;
  }
}

}  // namespace
}  // namespace hailstone

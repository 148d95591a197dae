// A transaction manager on a real log in a temporary directory, and a store of versions to change.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

#include "file/fault_filesystem.h"
#include "transaction/statement.h"
#include "transaction/transaction_manager.h"

namespace hailstone {

class TransactionFixture : public testing::Test {
 protected:
  explicit TransactionFixture(Filesystem& filesystem = posix_filesystem()) : filesystem_(filesystem) {
    std::string pattern = (std::filesystem::temp_directory_path() / "hailstone-transaction-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    open_log();
    manager_ = std::make_unique<TransactionManager>(*log_, locks_, budget_, counters_, 100, 1);
  }
  ~TransactionFixture() override {
    manager_.reset();
    log_.reset();
    std::filesystem::remove_all(directory_);
  }

  /// Opens the log (again), reads its records. No transaction may be active.
  void open_log() {
    log_.reset();
    auto opened = Log::open(filesystem_, {.directory = directory_}, counters_);
    ASSERT_TRUE(opened) << opened.error().message();
    log_ = std::move(*opened);
    records_.clear();
    const Status replayed = log_->replay(0, [&](const LogRecord& record) -> Status {
      records_.push_back({record.type, std::string(record.payload)});
      return {};
    });
    ASSERT_TRUE(replayed) << replayed.error().message();
  }

  std::unique_ptr<Transaction> begin(Isolation isolation = Isolation::RepeatableRead) {
    auto transaction = manager_->begin(isolation);
    transaction->set_lock_wait_timeout(std::chrono::seconds(60));
    return transaction;
  }

  /// Runs `wait`, which is expected to wait for a lock, on another thread, and returns when it does wait.
  std::future<Status> start_waiting(std::function<Status()> wait) {
    const uint64_t before = counters_.lock_waits.load();
    auto result = std::async(std::launch::async, std::move(wait));
    while (counters_.lock_waits.load() == before) std::this_thread::yield();
    return result;
  }
  static bool waits(const std::future<Status>& result) {
    return result.wait_for(std::chrono::milliseconds(20)) == std::future_status::timeout;
  }

  struct StoredRecord {
    LogRecordType type;
    std::string payload;
  };

  Filesystem& filesystem_;
  std::string directory_;
  Counters counters_;
  MemoryBudget budget_{size_t{64} << 20};
  LockManager locks_{counters_, budget_};
  std::unique_ptr<Log> log_;
  std::unique_ptr<TransactionManager> manager_;
  std::vector<StoredRecord> records_;
};

/// A write of this redo and nothing else.
inline Status add_redo(Transaction& transaction, ByteView redo) {
  Write write(transaction);
  HAILSTONE_TRY(write.prepare(0));
  write.redo().append(redo);
  write.keep();
  return {};
}
inline void add_action(Transaction& transaction, std::unique_ptr<TransactionAction> action) {
  Write write(transaction);
  EXPECT_TRUE(write.prepare(1));
  transaction.add_action(std::move(action));
  write.keep();
}

/// Versions in a list; a slot is a place in it.
class ListStore final : public VersionStore {
 public:
  struct Version {
    Timestamp begin = 0;
    Timestamp end = infinity;
  };

  void commit(std::span<const Change> changes, Timestamp timestamp) override {
    const std::lock_guard guard(mutex_);
    for (const Change& change : changes) {
      ASSERT_EQ(change.store, this);
      Timestamp& stamp =
          change.kind == Change::Kind::Insert ? versions_[change.slot].begin : versions_[change.slot].end;
      ASSERT_TRUE(is_marker(stamp));
      stamp = timestamp;
    }
  }
  void undo(const Change& change) override {
    const std::lock_guard guard(mutex_);
    undone_.push_back(change.slot);
    if (change.kind == Change::Kind::End) {
      versions_[change.slot].end = infinity;
    } else {
      versions_[change.slot].begin = infinity;
    }
  }

  static uint64_t insert(const std::shared_ptr<ListStore>& store, Transaction& transaction) {
    Write write(transaction);
    EXPECT_TRUE(write.prepare(1));
    const std::lock_guard guard(store->mutex_);
    store->versions_.push_back({transaction.marker(), infinity});
    transaction.add_change(store, store->versions_.size() - 1, Change::Kind::Insert);
    write.keep();
    return store->versions_.size() - 1;
  }
  static void end(const std::shared_ptr<ListStore>& store, Transaction& transaction, uint64_t slot) {
    Write write(transaction);
    EXPECT_TRUE(write.prepare(1));
    const std::lock_guard guard(store->mutex_);
    store->versions_[slot].end = transaction.marker();
    transaction.add_change(store, slot, Change::Kind::End);
    write.keep();
  }

  Version version(uint64_t slot) const {
    const std::lock_guard guard(mutex_);
    return versions_[slot];
  }
  /// The newest begin that the snapshot sees; 0 when none.
  Timestamp newest(const Snapshot& snapshot) const {
    const std::lock_guard guard(mutex_);
    Timestamp newest = 0;
    for (const Version& each : versions_) {
      if (snapshot.sees(each.begin, each.end)) newest = std::max(newest, each.begin);
    }
    return newest;
  }
  std::vector<uint64_t> undone() const { return undone_; }

 private:
  mutable std::mutex mutex_;
  std::deque<Version> versions_;
  std::vector<uint64_t> undone_;
};

}  // namespace hailstone

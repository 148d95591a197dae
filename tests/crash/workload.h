// What the crash test's threads do to the database. Transaction number n of thread t is a function of (seed,
// t, n) and of nothing else, so what a thread has done up to n can be worked out again after a crash, and
// compared.
//
// Every thread has keys of its own in tables that all share, a table of its own, which it drops and makes
// again, and a row in the table `progress` that each of its transactions sets to its number. One of the
// shared tables has so many segments from the beginning that the manifest is told of many of its flushes at
// once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "database/database.h"

namespace hailstone {

class CrashWorkload {
 public:
  CrashWorkload(uint64_t seed, unsigned threads) : seed_(seed), threads_(threads) {}

  /// Makes the shared tables when they are not there.
  Status prepare(Database& database) const;
  /// The number of the thread's last transaction that is in the database.
  Result<uint64_t> progress(Database& database, unsigned thread) const;
  /// Does transaction `number`, all but its commit.
  Status change(Database& database, Transaction& transaction, unsigned thread, uint64_t number) const;
  /// Compares all rows with what transactions up to progress() of each thread must have left; the number of
  /// rows. ErrorCode::Corruption says what differs.
  Result<uint64_t> verify(Database& database) const;

 private:
  static constexpr unsigned shared_tables = 4;
  static constexpr unsigned large_table = 3;  // of them
  static constexpr unsigned keys_of_a_thread = 2000;

  struct Operation {
    enum class Kind : uint8_t { Put, Erase, Load, Recreate } kind = Kind::Put;
    unsigned table = 0;  // of the shared ones; beyond them: the thread's own
    int64_t key = 0;     // Load: the first one
    uint32_t count = 1;  // Load: keys that follow each other
    std::string text;
  };
  using Rows = std::map<int64_t, std::string>;

  std::vector<Operation> operations(unsigned thread, uint64_t number) const;
  std::string table_name(unsigned table, unsigned thread) const;
  /// Rows that the large table begins with: some for each segment that nothing changes, and those of all keys
  /// of the threads.
  int64_t large_rows() const;
  Status fill_large(Database& database, Transaction& transaction) const;
  Status apply(Database& database, Transaction& transaction, unsigned thread,
               const Operation& operation) const;
  static void apply(std::vector<Rows>& tables, const Operation& operation);

  const uint64_t seed_;
  const unsigned threads_;
};

}  // namespace hailstone

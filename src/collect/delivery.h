// The writing half of a stream: takes acknowledged records out of the spool and loads them into the table,
// batch by batch, each record exactly once. One thread, which is the spool's releasing one.
//
// How many records of the spool are in the table stands in a bookkeeping table, one row for each spool, which
// changes in the same transaction as the rows. So after a lost connection, and after any crash, the row tells
// whether a batch is there. The spool's own files say nothing of deliveries.
//
// A record that the table cannot take as it is (the server gives a warning other than that of a duplicate
// key) goes to the reject file, synced before the commit that passes over it. To find it, the batch is rolled
// back, and records are tried in transactions of their own that are rolled back, too: those that the warnings
// name, or halves.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "collect/config.h"
#include "collect/event_log.h"
#include "collect/load_text.h"
#include "collect/reject_file.h"
#include "collect/server_connection.h"
#include "collect/spool.h"
#include "collect/spool_reader.h"
#include "collect/stop.h"

namespace hailstone {

class Delivery {
 public:
  Delivery(const ServerConfig& server, const StreamConfig& config, Spool& spool, RejectFile& rejects,
           const Stop& stop)
      : config_(config),
        spool_(spool),
        rejects_(rejects),
        stop_(stop),
        connection_(server),
        trouble_(config.name),
        goal_(config.batch_records) {}

  /// Ends when stop is asked for, behind the batch under way; or, once finish() was called, when all
  /// acknowledged records have been delivered.
  Status run();
  /// No more records will come. Any thread.
  void finish() { finishing_ = true; }
  /// Records that have been delivered or rejected. Any thread.
  uint64_t delivered() const { return delivered_; }

 private:
  struct Record {
    uint64_t line = 0;
    uint32_t source = 0;        // among sources_
    size_t begin = 0, end = 0;  // in text_, with the line's end
  };
  /// Places in records_.
  using Places = std::vector<size_t>;
  using Warnings = std::vector<ServerConnection::Warning>;

  /// What one step of run() does; false: there is nothing to do for now.
  Result<bool> step();
  /// Connects when there is no connection, and finds out where the table stands.
  Status prepare();
  Status find_engine();
  Result<uint64_t> progress();
  /// Takes records of one layout out of the spool, up to a batch, and waits a second for more than a few.
  /// False: there are none.
  Result<bool> fill();
  /// Takes those that are there now.
  Status take_records();
  Status take(ByteView record);
  /// Loads the batch and commits; after ErrorCode::Busy it can be called again, on a new connection.
  Status deliver();
  /// In a transaction: loads these records. The warnings that are no duplicate keys.
  Result<Warnings> load(const Places& places);
  /// Loads these records, and takes that back.
  Result<Warnings> try_out(const Places& places);
  /// Takes those that the table cannot take out of `good`, and into bad_.
  Status part(Places& good, const Warnings& warnings);
  /// The same for these, by halves.
  Status search(const Places& places);
  void condemn(size_t place, const Warnings& warnings);
  Status write_rejections();

  const StreamConfig& config_;
  Spool& spool_;
  RejectFile& rejects_;
  const Stop& stop_;
  ServerConnection connection_;
  Trouble trouble_;
  std::atomic<bool> finishing_{false};
  std::atomic<uint64_t> delivered_{0};

  bool is_prepared_ = false;
  std::string spool_name_;   // as the bookkeeping table has it
  std::string bookkeeping_;  // quoted name of that table
  std::optional<SpoolReader> reader_;
  uint64_t goal_;  // records of a batch

  // The batch.
  RecordLayout layout_;
  std::string layout_bytes_;
  std::string text_;
  std::vector<Record> records_;
  std::vector<std::string> sources_;
  uint64_t begin_ = 0, end_ = 0;  // sequence numbers
  std::vector<std::pair<size_t, Rejection>> bad_;
};

}  // namespace hailstone

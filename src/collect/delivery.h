// The writing half of a stream: takes acknowledged records out of the spool and loads them into the table,
// batch by batch, each record exactly once. One thread, which is the spool's releasing one.
//
// How many records of the spool are in the table stands in a bookkeeping table, one row for each spool, which
// changes in the same transaction as the rows. So after a lost connection, and after any crash, the row tells
// whether a batch is there. The spool's own files say nothing of deliveries.
//
// A record that the table cannot take as it is (TableLoad complains of it) goes to the reject file, synced
// before the commit that passes over it. To find it, the batch is rolled back, and records are tried in
// transactions of their own that are rolled back, too: those that the complaints name, or halves.
//
// Of an engine without transactions nothing is rolled back. The row is changed last there: what a crash
// leaves is loaded again, which a key of the table makes harmless.
//
// Tables and partitions are made and dropped between batches (TableUpkeep), by the same thread: so no record
// is ever before its table.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "collect/batch.h"
#include "collect/config.h"
#include "collect/event_log.h"
#include "collect/reject_file.h"
#include "collect/server_connection.h"
#include "collect/spool.h"
#include "collect/spool_reader.h"
#include "collect/stop.h"
#include "collect/summary_counts.h"
#include "collect/table_load.h"
#include "collect/table_upkeep.h"

namespace hailstone {

class Delivery {
 public:
  Delivery(const CollectConfig& all, const StreamConfig& config, Spool& spool, RejectFile& rejects,
           const Stop& stop)
      : config_(config),
        spool_(spool),
        rejects_(rejects),
        stop_(stop),
        connection_(all.server),
        trouble_(config.name),
        upkeep_(config.table, config.name),
        load_(config, connection_),
        counts_(all, config),
        goal_(config.batch_records) {}

  /// Ends when stop is asked for, behind the batch under way; or, once finish() was called, when all
  /// acknowledged records have been delivered.
  Status run();
  /// No more records will come. Any thread.
  void finish() { finishing_ = true; }
  /// Records that the table has taken; no more than passed() is, when that is asked later. Any thread.
  uint64_t delivered() const { return delivered_; }
  /// Those, and the records that the table cannot take. Any thread.
  uint64_t passed() const { return passed_; }
  /// What goes wrong, and is tried again; empty: nothing. Any thread.
  std::string trouble() const { return trouble_.current(); }

 private:
  using Places = Batch::Places;
  using Complaints = std::vector<Complaint>;

  /// What one step of run() does; false: there is nothing to do for now.
  Result<bool> step();
  /// Connects when there is no connection, and finds out where the table stands once the spool has something.
  Status prepare();
  /// Once there is a table.
  Status find_engine();
  /// All tables of a batch must be of one engine, as it is committed by one.
  Status check_engine(const std::string& table);
  Status make_bookkeeping();
  /// What the bookkeeping row says of the spool.
  struct Progress {
    uint64_t records = 0;   // delivered or rejected
    uint64_t rejected = 0;  // of these
  };
  Result<Progress> progress();
  /// All before this record of the spool is done with.
  void pass(uint64_t records);
  /// Takes records of one layout out of the spool, up to a batch, and waits a second for more than a few.
  /// False: there are none.
  Result<bool> fill();
  /// Takes those that are there now. False: the next one has another layout.
  Result<bool> take_records();
  /// Tells each record its table, and makes those that are missing; condemns records that none is for.
  Status route();
  /// That the table has the columns of the batch.
  Status check_layout();
  /// Loads the batch and commits; after ErrorCode::Busy it can be called again, on a new connection.
  Status deliver();
  /// Changes the bookkeeping row. False: it says already that the batch is there.
  Result<bool> move_on();
  /// Takes those that the table cannot take out of `good`, and into bad_.
  Status part(Places& good, const Complaints& complaints);
  /// The same for these, by halves.
  Status search(const Places& places);
  void condemn(size_t place, std::string column, std::string reason);
  void leave_out_bad(Places& good) const;
  Status write_rejections();

  const StreamConfig& config_;
  Spool& spool_;
  RejectFile& rejects_;
  const Stop& stop_;
  ServerConnection connection_;
  Trouble trouble_;
  std::atomic<bool> finishing_{false};
  std::atomic<uint64_t> delivered_{0}, passed_{0};

  TableUpkeep upkeep_;
  TableLoad load_;
  SummaryCounts counts_;

  bool is_prepared_ = false;
  bool has_transactions_ = true;
  std::string engine_;
  RecordLayout checked_layout_;
  std::set<std::string> checked_tables_;  // of a day: those of the right engine
  std::string spool_name_;                // as the bookkeeping table has it
  std::string bookkeeping_;               // quoted name of that table
  std::optional<SpoolReader> reader_;     // once the spool has something
  uint64_t goal_;                         // records of a batch
  uint64_t rejected_ = 0;                 // of the spool, by the table

  Batch batch_;
  std::vector<std::pair<size_t, Rejection>> bad_;
};

}  // namespace hailstone

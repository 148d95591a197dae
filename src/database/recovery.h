// Brings a database back to exactly the committed transactions: the manifest's states, then the log.
//
// The log is read twice: to learn which operations take effect (committed_redo.h), and to apply them, as are
// the Carry records of the last checkpoint. What the manifest already holds is skipped, operation by
// operation, so a recovery that a crash ends is just done again. A table that is damaged is marked and passed
// over; the others come up.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "database/committed_redo.h"
#include "database/core.h"
#include "database/manifest.h"
#include "log/operation.h"

namespace hailstone {

class Recovery {
 public:
  /// `content`: what the manifest holds; empty for a new database. `names`: the directory's files.
  Recovery(DatabaseCore& core, ManifestContent content, std::vector<std::string> names)
      : core_(core), content_(std::move(content)), names_(std::move(names)) {}

  /// Fills the catalog and the tables and sets the core's counters. Call it once the core has its log,
  /// transaction manager and recorder, and nothing else runs.
  Status run();
  /// Removes spill files, whose statements ended with the process that made them. First: it makes room.
  void remove_leftovers();
  /// Removes segments and delete vectors that no table knows; afterwards.
  void remove_orphans();
  /// After run() has failed: removes the segments that it wrote, or each further attempt would leave some.
  void remove_new_files();

 private:
  Status adopt_manifest();
  Status apply(const LogRecord& record);
  Status look_ahead(const LogRecord& record);
  Status apply_commit(const RedoRecord& redo, const LogRecord& record);
  Status apply_operations(ByteView operations, Timestamp timestamp, const LogRecord& record);
  Status apply_catalog(const Operation& operation, Timestamp timestamp, const LogRecord& record);
  Status apply_row(const Operation& operation, Timestamp timestamp);
  /// What a transaction that is still prepared has done.
  Status restore(TransactionId id, ByteView operations, const LogRecord& record);
  Status restore_row(Transaction& transaction, const Operation& operation);
  Result<Operation> take(ByteReader& reader, const LogRecord& record);
  /// Hands them to the transaction manager.
  void finish_restored();
  /// Segments that replay makes must not take the numbers of loads' files that are missing.
  void note_files(const LogRecord& record);
  Status apply_carry(const LogRecord& record);
  /// Runs `work` on the open table of the id; damage of the table ends here.
  Status with_table(TableId id, const std::function<Status(Table&)>& work);
  Status flush_big_deltas();
  Status flush(Table& table);
  void remove_unused(const std::string& name);
  std::unexpected<Error> damaged(const LogRecord& record, std::string_view what) const;

  DatabaseCore& core_;
  ManifestContent content_;
  const std::vector<std::string> names_;
  CommittedRedo redo_{content_.mark.committed};
  std::unordered_set<TableId> touched_;             // by the transaction being applied
  std::unordered_set<TableId> passed_over_;         // damaged tables with operations that were not applied
  std::unordered_set<uint64_t> unpublished_files_;  // segments that such operations would have published
  std::unordered_map<TransactionId, std::unique_ptr<Transaction>> restored_;  // that are still prepared
  std::unordered_set<uint64_t> restored_files_;  // segments that they have loaded
  Timestamp last_committed_ = 0;
  Timestamp last_applied_ = 0;  // of the Commit records
  TransactionId last_transaction_ = 0;
  TableId last_table_ = 0;
  uint64_t last_file_ = 0;
  uint64_t first_new_file_ = 0;  // of those that a flush during the replay wrote; 0: none did
  bool disk_is_full_ = false;    // flushes have met it, and are not tried again
  uint64_t transactions_ = 0;
  uint64_t carried_rows_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace hailstone

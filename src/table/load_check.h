// Whether each row of a bulk load may come in, told as it comes: against the rows of the load itself, those
// of the table, and what other transactions have not decided yet. Used by the loading thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "table/load_keys.h"
#include "table/segment_builder.h"
#include "table/segment_readers.h"
#include "table/table_state.h"

namespace hailstone {

class LoadCheck {
 public:
  /// Until its end, other writers of the table look at the keys of the rows that were let in.
  LoadCheck(Table::State& state, Transaction& transaction);
  ~LoadCheck();

  /// A row that another one may not join.
  struct Conflict {
    size_t index = 0;             // position in TableDefinition::indexes; the first that refuses
    std::optional<uint32_t> row;  // among the rows being filled in; else it is in the table
    std::string clustered_key;    // of a row in the table
  };
  enum class Verdict : uint8_t { Admitted, Refused, Undecided };

  /// Waits for other transactions. An admitted row is the next that `filling` gets. Undecided: a row that was
  /// handed off may be in the way; it has to be in the table's view first. When none is handed off, those
  /// being filled in have to be.
  Result<Verdict> admit(ByteView row, const SegmentBuilder& filling, Conflict& conflict);
  /// A row that was admitted, and is still being filled in, is removed.
  Status forget(ByteView row);

  /// The rows being filled in are handed off; gives their keys.
  std::shared_ptr<const LoadKeys> hand_off();
  /// The rows with these keys are in the table's view.
  void joined(const std::shared_ptr<const LoadKeys>& keys) HAILSTONE_REQUIRES(table_write_mutex) {
    keys_.drop(keys);
  }
  size_t bytes() { return keys_.filling().bytes(); }

 private:
  struct UniqueKey {
    size_t index = 0;  // position in TableDefinition::indexes
    uint64_t hash = 0;
    std::string key;
    SegmentMatches rows;    // of a clustered key: what the table's segments have of it
    UniqueMatches entries;  // of another one
  };
  /// What a look at the newest state of the table gives: a transaction or a row lock to wait for, or a row.
  struct Look {
    TransactionId holder = 0;
    bool row_lock = false, found = false;
  };

  bool clustered(const UniqueKey& key) const { return key.index == 0 && !state_.keys->hidden_row_id(); }
  /// The keys that must be unique, into unique_[0, unique_count_).
  Status make_keys(ByteView row);
  Status add_key(size_t index, ByteView row);
  Result<bool> has_key(const SegmentBuilder& filling, uint32_t row, const UniqueKey& key);
  /// Reads what the segments of `places` have of the key. Not under the write mutex, as look() is.
  Status match(const TableView& places, UniqueKey& key);
  Look look(const TableView& places, const UniqueKey& key, Conflict& conflict, Timestamp& ended) const
      HAILSTONE_REQUIRES(table_write_mutex);
  Status wait(const Look& look, ByteView key);

  Table::State& state_;
  Transaction& transaction_;
  PendingKeys keys_;
  SegmentReaders readers_;
  std::vector<UniqueKey> unique_;
  size_t unique_count_ = 0;
  std::string other_row_, other_key_;  // scratch space
};

}  // namespace hailstone

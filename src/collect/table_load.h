// Loads records of a batch into their tables, and tells of which the server complains. A complaint is any
// warning but that of a duplicate key: it says that a record is not there, or not as it came.
//
// An engine with transactions stores, and the caller rolls back. For others the records go into a temporary
// table of the same columns first, where the server says what it would alter; only when it complains of none
// do they go on, by INSERT IGNORE, so that none is ever stored altered. One that the table has no place for
// is not stored at all, and complained of. Loading the same records again is harmless there, as a key tells
// them.
//
// The caller may want to look at what the server has made of the records, as where columns are computed: then
// records for an engine with transactions go into the temporary table, too, once they are stored. All
// statements have the same NOW() then.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "collect/batch.h"
#include "collect/config.h"
#include "collect/server_connection.h"

namespace hailstone {

struct Complaint {
  std::optional<size_t> place;  // of the record, when the server says which it is
  std::string column;           // empty: it does not say
  std::string reason;
};

class TableLoad {
 public:
  TableLoad(const StreamConfig& config, ServerConnection& connection)
      : config_(config), connection_(connection) {}

  /// Before anything is loaded, and after each new connection.
  void begin(bool has_transactions);
  /// Gets the name of a temporary table whose rows are records as the server has stored them; one after the
  /// other for each table that records of a batch go to.
  using Look = std::function<Status(const std::string&)>;
  /// Within the caller's transaction, when the engine has them. `look` may be called before there are
  /// complaints.
  Result<std::vector<Complaint>> load(const Batch& batch, const Batch::Places& places, const Look& look = {});
  /// What load() would complain of. Outside of transactions.
  Result<std::vector<Complaint>> try_out(const Batch& batch, const Batch::Places& places);
  /// Makes the temporary table, empty, with the columns of this one.
  Status make_stage(const std::string& table);

 private:
  Status load_of_table(const Batch& batch, const std::string& table, const Batch::Places& places,
                       const Look& look, std::vector<Complaint>& complaints);
  Status load_staged(const Batch& batch, const std::string& table, const Batch::Places& places,
                     const Look& look, std::vector<Complaint>& complaints);
  /// Of the last statement, which read the records at `places` in their order.
  Status take_complaints(const Batch::Places& places, const std::string& table,
                         std::vector<Complaint>& complaints);

  const StreamConfig& config_;
  ServerConnection& connection_;
  bool has_transactions_ = true;
  std::string clock_;   // before statements: gives all of them the same NOW()
  std::string staged_;  // the table whose columns the temporary table has; empty: it is not there
};

}  // namespace hailstone

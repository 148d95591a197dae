// How many records of a batch each job of the stream's summaries will have to read. One thread.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "collect/batch.h"
#include "collect/config.h"
#include "collect/server_connection.h"

namespace hailstone {

class SummaryCounts {
 public:
  /// Those of `config`'s summaries that are of this stream.
  SummaryCounts(const CollectConfig& config, const StreamConfig& stream);

  bool empty() const { return summaries_.empty(); }
  /// Once the stream's table is known: makes the table of counts.
  Status prepare(ServerConnection& connection, const std::string& table, const std::string& engine,
                 const std::string& spool);
  /// Adds these records to the counts, within the transaction that loads them.
  Status add(ServerConnection& connection, const Batch& batch, const Batch::Places& places) const;

 private:
  const StreamConfig& stream_;
  std::vector<const SummaryConfig*> summaries_;
  std::string table_, spool_;
};

}  // namespace hailstone

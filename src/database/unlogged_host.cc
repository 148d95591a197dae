#include "database/unlogged_host.h"

#include "database/core.h"

namespace hailstone {

BlockCache& UnloggedHost::cache() { return core_.cache(); }
MemoryBudget& UnloggedHost::budget() { return core_.budget(); }
SpillSpace& UnloggedHost::spill_space() { return core_.spill_space(); }
Counters& UnloggedHost::counters() { return core_.counters(); }
TransactionManager& UnloggedHost::transactions() { return core_.transactions(); }
LockManager& UnloggedHost::locks() { return core_.locks(); }
const CollationResolver& UnloggedHost::collations() { return core_.collations(); }
FileIdentity UnloggedHost::new_file(TableId table) { return core_.new_file(table); }
Status UnloggedHost::check_file(const std::string& path, TableId table, uint64_t file,
                                const std::optional<FileIdentity>& found) {
  return core_.check_file(path, table, file, found);
}

Status UnloggedHost::record(Table& table) {
  // There is nothing to be told: what the table does not need any more may go at once.
  table.recorded(table.record().generation);
  return {};
}

void UnloggedHost::request_flush(const std::shared_ptr<Table>& table) { core_.request_flush(table); }
bool UnloggedHost::working() { return core_.working(); }
void UnloggedHost::request_merge(const std::shared_ptr<Table>& table) { core_.request_merge(table); }
void UnloggedHost::request_merge_of_dead(const std::shared_ptr<Table>& table) {
  core_.request_merge_of_dead(table);
}

void UnloggedHost::request_analysis(const std::shared_ptr<Table>& table) { core_.request_analysis(table); }
void UnloggedHost::run(std::function<void()> job) { core_.run(std::move(job)); }
ProcessorTurns* UnloggedHost::processor_turns() { return core_.processor_turns(); }
std::atomic<size_t>& UnloggedHost::bulk_loads() { return core_.bulk_loads(); }
std::atomic<size_t>& UnloggedHost::merges() { return core_.merges(); }
uint32_t UnloggedHost::segment_rows_limit() { return core_.segment_rows_limit(); }

}  // namespace hailstone

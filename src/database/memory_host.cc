#include "database/memory_host.h"

#include <algorithm>
#include <string>

#include "database/core.h"
#include "database/state_recorder.h"

namespace hailstone {

namespace {

constexpr size_t mebibyte = size_t{1} << 20;
constexpr std::string_view directory = "in memory";

}  // namespace

BlockCache& MemoryHost::cache() { return core_.cache(); }
MemoryBudget& MemoryHost::budget() { return core_.budget(); }
SpillSpace& MemoryHost::spill_space() { return core_.spill_space(); }
Counters& MemoryHost::counters() { return core_.counters(); }
TransactionManager& MemoryHost::transactions() { return core_.transactions(); }
LockManager& MemoryHost::locks() { return core_.locks(); }
const CollationResolver& MemoryHost::collations() { return core_.collations(); }
FileIdentity MemoryHost::new_file(TableId table) { return core_.new_file(table); }
Status MemoryHost::check_file(const std::string& path, TableId table, uint64_t file,
                              const std::optional<FileIdentity>& found) {
  return core_.check_file(path, table, file, found);
}
std::string MemoryHost::segment_path(uint64_t file_number) {
  return segment_path_in(std::string(directory), file_number);
}
std::string MemoryHost::delete_vector_path(uint64_t file_number) {
  return delete_vector_path_in(std::string(directory), file_number);
}

Status MemoryHost::record(Table& table) {
  // There is nothing to be told: what the table does not need any more may go at once.
  table.recorded(table.record().generation);
  return {};
}

void MemoryHost::request_flush(const std::shared_ptr<Table>& table) { core_.request_flush(table); }
bool MemoryHost::working() { return core_.working(); }
void MemoryHost::request_merge(const std::shared_ptr<Table>& table) { core_.request_merge(table); }
void MemoryHost::run(std::function<void()> job) { core_.run(std::move(job)); }
std::atomic<size_t>& MemoryHost::bulk_loads() { return core_.bulk_loads(); }
std::atomic<size_t>& MemoryHost::merges() { return core_.merges(); }
uint32_t MemoryHost::segment_rows_limit() { return core_.segment_rows_limit(); }

size_t MemoryHost::segment_buffer_bytes() {
  // A merge needs memory for as much beside what it will give back.
  return std::min(std::clamp(row_budget_.limit() / 32, mebibyte, 32 * mebibyte),
                  core_.segment_buffer_bytes());
}

size_t MemoryHost::delta_limit_bytes() {
  return std::min(std::clamp(row_budget_.limit() / 32, mebibyte, 16 * mebibyte), core_.delta_limit_bytes());
}

Status MemoryHost::reclaim(size_t bytes, const StopToken& stop) {
  if (core_.catalog().has_dropped()) HAILSTONE_TRY(core_.recorder->finish_drops());
  const auto enough = [&] { return row_budget_.used() + bytes <= row_budget_.limit(); };
  for (const auto& [entry, table] : core_.catalog().open_tables()) {
    if (enough()) return {};
    // A damaged one is its own users' trouble.
    if (table->is_in_memory() && table->usable()) HAILSTONE_TRY(table->compact(enough, stop));
  }
  return {};
}

}  // namespace hailstone

// Room for rows of tables in memory. Two limits hold: that of the table, and that of all such tables. A
// writer that meets one gives back what rows take that nobody can see any more, first those of its table;
// when that is not enough, the table is full.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <unordered_set>

#include "table/table_state.h"

namespace hailstone {

namespace {

/// How long a writer waits for readers, and flushes, that hold memory which is given back when they end.
constexpr std::chrono::milliseconds patience{200};

/// Of what a table may take: so much in one delta is worth a flush for a quarter of it.
constexpr uint64_t delta_share = 16;

/// Whether others than the transaction still have deltas that segments have replaced: then rows count twice,
/// but not for long.
bool counts_twice(const Table::State& state, const Transaction& transaction) {
  const auto view = state.current_view();
  uint64_t staying = 0;
  const SharedLock guard(state.latch());
  for (const auto& delta : view->deltas) staying += delta->rows.bytes();
  std::unordered_set<const TableDelta*> own;
  for (const auto& store : transaction.stores()) {
    const auto delta = std::dynamic_pointer_cast<const TableDelta>(store);
    const bool is_of_table = delta != nullptr && &delta->latch() == &state.latch();
    if (!is_of_table || std::ranges::find(view->deltas, delta) != view->deltas.end()) continue;
    if (own.insert(delta.get()).second) staying += delta->rows.bytes();
  }
  return state.delta_memory.total->load(std::memory_order_relaxed) > staying;
}

}  // namespace

bool Table::State::flush_gives_room(const TableDelta& active) const {
  const uint64_t own = layout->definition().most_bytes, all = host.row_budget().limit();
  const uint64_t most = own == 0 ? all : std::min<uint64_t>(own, all);
  const uint64_t dead = active.dead_versions();
  return active.rows.bytes() > most / delta_share &&
         dead * 4 >= active.rows.version_count() + active.rows.removed_count();
}

Status Table::State::make_room_in_memory(Table& table, Transaction& transaction, size_t bytes,
                                         uint64_t loaded) {
  const uint64_t most = layout->definition().most_bytes;
  MemoryBudget& budget = host.row_budget();
  const auto fits_table = [&] { return most == 0 || table.memory_bytes() + loaded + bytes <= most; };
  const auto fits_all = [&] { return budget.used() + bytes <= budget.limit(); };
  const auto fits = [&] { return fits_table() && fits_all(); };
  // Later may be too late: what is dead in a delta stays until all that was written to it is decided, and the
  // transaction is going to write.
  const auto gives_room = [&] {
    const auto places = current_view();
    const TableDelta& active = *places->deltas.front();
    if (active.uncommitted.load(std::memory_order_acquire) != 0) return false;
    const SharedLock guard(latch());
    return flush_gives_room(active);
  };
  if (gives_room()) HAILSTONE_TRY(table.flush(true));
  if (fits()) [[likely]]
    return {};
  count(host.counters().memory_waits);
  const StopToken stop([&] { return transaction.interrupted(); });
  HAILSTONE_TRY(table.compact(fits, stop));
  if (!fits_table() && counts_twice(*this, transaction)) budget.wait_for_release(fits_table, patience);
  if (fits_table() && !fits_all()) {
    HAILSTONE_TRY(host.reclaim(bytes, stop));
    if (!fits_all()) budget.wait_for_release(fits_all, patience);
  }
  if (fits()) return {};
  if (!fits_table()) {
    return fail(
        ErrorCode::TableFull,
        fmt::format("table {} in memory is full: its rows take {} of the {} bytes that they may; delete "
                    "some, or make the table anew with a greater IN_MEMORY_SIZE (max_heap_table_size where "
                    "it has none)",
                    definition().name, table.memory_bytes() + loaded, most));
  }
  return fail(
      ErrorCode::TableFull,
      fmt::format("table {} in memory is full: all such tables together take {} of the {} bytes that "
                  "they may; delete rows, or raise hailstone_in_memory_size (hs_options.in_memory_bytes "
                  "of a program)",
                  definition().name, budget.used(), budget.limit()));
}

}  // namespace hailstone

// Memory for rows that are written: a writer waits for it while others may give some back.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "table/table_state.h"

namespace hailstone {

namespace {

/// Whether memory may come free without the transaction's end: from rows of others, which their ends and
/// flushes move out, from bulk loads, and from background work.
bool room_may_come(TableHost& host, const Transaction& transaction, size_t bytes) {
  const MemoryBudget& budget = host.budget();
  const size_t used = budget.used(), limit = budget.limit();
  if (used + bytes <= limit) return true;
  const size_t wanted = used + bytes - limit;
  const size_t rows = host.counters().delta_bytes.load(std::memory_order_relaxed);
  if (rows >= transaction.held_row_bytes() + wanted) return true;
  return host.bulk_loads().load(std::memory_order_relaxed) > 0 || host.working();
}

}  // namespace

Status Table::State::make_room(Table& table, Transaction& transaction, size_t bytes) {
  MemoryBudget& budget = host.budget();
  if (budget.used() + bytes <= budget.limit()) [[likely]]
    return {};
  constexpr size_t always_granted = size_t{256}
                                    << 10;  // so that small tables can be written however short memory is
  constexpr auto pause = std::chrono::milliseconds(2), between_requests = std::chrono::milliseconds(1000);
  constexpr auto patience = std::chrono::seconds(10);
  const auto begun = std::chrono::steady_clock::now();
  auto next_request = begun;
  for (;;) {
    // Makes the block cache give memory back.
    if (budget.try_reserve(bytes)) {
      budget.release(bytes);
      return {};
    }
    if (table.delta_bytes() + bytes <= always_granted) return {};
    if (transaction.interrupted()) {
      return fail(ErrorCode::Interrupted,
                  fmt::format("interrupted while waiting for memory for a row of table {}",
                              layout->definition().name));
    }
    const auto now = std::chrono::steady_clock::now();
    if (now >= begun + patience || !room_may_come(host, transaction, bytes)) break;
    if (now >= next_request) {
      next_request = now + between_requests;
      host.request_room();
    }
    std::this_thread::sleep_for(pause);
  }
  return fail(
      ErrorCode::OutOfMemory,
      fmt::format(
          "table {}: no memory for a row of {} bytes: {} of {} bytes of the memory budget are in use; commit "
          "more often, load in bulk, or raise the budget (hailstone_memory_budget of a server, "
          "hs_options.memory_bytes of a program)",
          layout->definition().name, bytes, budget.used(), budget.limit()));
}

}  // namespace hailstone

// Memory for rows that are written. A writer that finds none sleeps until there is some: back-pressure makes
// writers slower, and fails none. What holds the memory may be rows of transactions that wait themselves, for
// memory or for a lock that the writer has. So it sleeps for a second at most: then its rows go to a delta of
// its own, which is written to files before it grows.
#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "table/private_rows.h"
#include "table/table_state.h"

namespace hailstone {

namespace {

/// So that small tables can be written however short memory is.
constexpr size_t always_granted = size_t{256} << 10;

/// This part of the budget is for rows, whatever merges, loads and the cache take: a writer never waits for
/// those.
constexpr size_t row_share = 2;

/// How long a writer sleeps at most before it looks at its interruption check, and asks again for flushes.
constexpr std::chrono::milliseconds look_interval{50};

bool fits(TableHost& host, size_t bytes) {
  const MemoryBudget& budget = host.budget();
  const size_t rows = host.counters().delta_bytes.load(std::memory_order_relaxed);
  return budget.used() + bytes <= budget.limit() || rows + bytes <= budget.limit() / row_share;
}

/// How often in a row a writer must find that all writers wait: what was asked for has long begun then.
constexpr unsigned looks_before_refusal = 10;

/// How often a writer looks before its rows go to files of its own.
constexpr unsigned most_looks = 20;

/// How often a writer looks whose own rows take all that is for rows: others may still give back more than
/// they have to.
constexpr unsigned most_looks_of_the_greatest = 200;

/// Tells whether waiting for memory makes sense.
class Outlook {
 public:
  Outlook(TableHost& host, const Transaction& transaction, size_t bytes)
      : host_(host), transaction_(transaction), bytes_(bytes) {}

  /// Whether memory may come free without the transaction's end: from bulk loads, from background work, and
  /// from rows of others, which their ends and flushes move out.
  bool room_may_come() {
    const bool others_work = host_.bulk_loads().load(std::memory_order_relaxed) > 0 || host_.working();
    const size_t limit = host_.budget().limit() / row_share;
    const size_t rows = host_.counters().delta_bytes.load(std::memory_order_relaxed);
    const size_t own = transaction_.held_row_bytes();
    // Would there be room without the rows of others?
    if (rows <= own || own + bytes_ > limit) return others_work && ++looks_ < most_looks_of_the_greatest;
    // Transactions that all wait for the rows of each other wait in vain: one must give up.
    const bool in_vain =
        !others_work && transaction_.has_changes() && host_.transactions().all_writers_wait();
    looks_in_vain_ = in_vain ? looks_in_vain_ + 1 : 0;
    return looks_in_vain_ < looks_before_refusal;
  }

 private:
  TableHost& host_;
  const Transaction& transaction_;
  const size_t bytes_;
  unsigned looks_ = 0;
  unsigned looks_in_vain_ = 0;
};

}  // namespace

Status Table::State::make_room(Table& table, Transaction& transaction, size_t bytes) {
  if (is_in_memory()) return make_room_in_memory(table, transaction, bytes, 0);
  MemoryBudget& budget = host.budget();
  if (PrivateRows* const rows = transaction.private_rows(id);
      rows != nullptr && rows->bytes_in_memory() > host.delta_limit_bytes()) {
    HAILSTONE_TRY(rows->spill());
  }
  if (budget.used() + bytes <= budget.limit()) [[likely]]
    return {};
  std::optional<TransactionManager::MemoryWait> waiting;
  Outlook outlook(host, transaction, bytes);
  for (unsigned looks = 0;; ++looks) {
    // Makes the block cache give memory back.
    if (budget.make_room(bytes)) return {};
    if (fits(host, bytes) || table.delta_bytes() + bytes <= always_granted) return {};
    HAILSTONE_ASSIGN(const bool spilled, transaction.spill_rows(always_granted / 2));
    if (spilled) continue;
    const PrivateRows* const own = transaction.private_rows(id);
    if (own != nullptr && own->bytes_in_memory() + bytes <= always_granted) return {};
    if (transaction.interrupted()) {
      return fail(
          ErrorCode::Interrupted,
          fmt::format("interrupted while waiting for memory for a row of table {}", definition().name));
    }
    if (!waiting) {
      waiting.emplace(host.transactions(), transaction);
      count(host.counters().memory_waits);
    }
    const bool room_may_come = outlook.room_may_come();
    const bool is_too_large = bytes > budget.limit() / row_share;
    if (!is_too_large && (!room_may_come || looks >= most_looks)) {
      if (own == nullptr) TablePrivateRows::make(table, *this, transaction);
      return {};
    }
    if (!room_may_come) break;
    host.request_room();
    budget.wait_for_release([&] { return fits(host, bytes); }, look_interval);
  }
  return fail(
      ErrorCode::OutOfMemory,
      fmt::format("table {}: a row of {} bytes is more than rows may take of the memory budget of {} bytes; "
                  "load it in bulk, or raise the budget (hailstone_memory_budget of a server, "
                  "hs_options.memory_bytes of a program)",
                  definition().name, bytes, budget.limit()));
}

}  // namespace hailstone

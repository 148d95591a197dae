// Status variables: HailDB's names, computed from Hailstone's counters, and all counters under their own
// names.
#include <strings.h>

#include <cstdlib>
#include <limits>

#include "api/haildb/cursor.h"
#include "api/haildb/engine.h"

namespace hailstone::haildb {
namespace {

constexpr uint64_t microseconds_a_second = 1'000'000;

uint64_t get(const std::atomic<uint64_t>& counter) { return counter.load(std::memory_order_relaxed); }
uint64_t none(const Counters&) { return 0; }

uint64_t rows_read(const Counters&) {
  uint64_t rows = engine().rows_read.load(std::memory_order_relaxed);
  for (const auto* const cursor : cursors().in_use())
    rows += cursor->rows_read.load(std::memory_order_relaxed);
  return rows;
}

struct StatusVariable {
  const char* name;
  uint64_t (*value)(const Counters& counters);
};

constexpr StatusVariable variables[] = {
    {"read_req_pending", none},
    {"write_req_pending", none},
    {"fsync_req_pending", none},
    {"write_req_done",
     [](const Counters& c) { return get(c.segment_writes) + get(c.log_writes) + get(c.manifest_writes); }},
    {"read_req_done",
     [](const Counters& c) { return get(c.segment_reads) + get(c.log_reads) + get(c.manifest_reads); }},
    {"fsync_req_done",
     [](const Counters& c) { return get(c.segment_fsyncs) + get(c.log_fsyncs) + get(c.manifest_fsyncs); }},
    {"bytes_total_written",
     [](const Counters& c) {
       return get(c.segment_write_bytes) + get(c.log_write_bytes) + get(c.manifest_write_bytes);
     }},
    {"bytes_total_read",
     [](const Counters& c) {
       return get(c.segment_read_bytes) + get(c.log_read_bytes) + get(c.manifest_read_bytes);
     }},
    {"buffer_pool_current_size", [](const Counters& c) { return get(c.memory_budget); }},
    {"buffer_pool_data_pages",
     [](const Counters& c) { return (get(c.block_cache_bytes) + get(c.delta_bytes)) / page_bytes; }},
    {"buffer_pool_dirty_pages", [](const Counters& c) { return get(c.delta_bytes) / page_bytes; }},
    {"buffer_pool_misc_pages", none},
    {"buffer_pool_free_pages",
     [](const Counters& c) {
       return (get(c.memory_budget) - std::min(get(c.memory_budget), get(c.memory_used))) / page_bytes;
     }},
    {"buffer_pool_read_reqs",
     [](const Counters& c) { return get(c.block_cache_hits) + get(c.block_cache_misses); }},
    {"buffer_pool_reads", [](const Counters& c) { return get(c.block_cache_misses); }},
    {"buffer_pool_waited_for_free", none},
    {"buffer_pool_pages_flushed", [](const Counters& c) { return get(c.segment_write_bytes) / page_bytes; }},
    {"buffer_pool_write_reqs",
     [](const Counters& c) { return get(c.rows_inserted) + get(c.rows_updated) + get(c.rows_deleted); }},
    {"buffer_pool_total_pages", [](const Counters& c) { return get(c.memory_budget) / page_bytes; }},
    {"buffer_pool_pages_read", [](const Counters& c) { return get(c.segment_read_bytes) / page_bytes; }},
    {"buffer_pool_pages_written", [](const Counters& c) { return get(c.segment_write_bytes) / page_bytes; }},
    {"double_write_pages_written", none},
    {"double_write_invoked", none},
    {"log_buffer_slot_waits", none},
    {"log_write_reqs", [](const Counters& c) { return get(c.transactions_committed); }},
    {"log_write_flush_count", [](const Counters& c) { return get(c.log_writes); }},
    {"log_bytes_written", [](const Counters& c) { return get(c.log_write_bytes); }},
    {"log_fsync_req_done", [](const Counters& c) { return get(c.log_fsyncs); }},
    {"log_write_req_pending", none},
    {"log_fsync_req_pending", none},
    {"lock_row_waits", [](const Counters& c) { return get(c.lock_waits); }},
    {"lock_row_waiting", [](const Counters& c) { return get(c.lock_waiting); }},
    {"lock_total_wait_time_in_secs",
     [](const Counters& c) { return get(c.lock_wait_microseconds) / microseconds_a_second; }},
    {"lock_wait_time_avg_in_secs",
     [](const Counters& c) {
       return get(c.lock_waits) == 0
                  ? 0
                  : get(c.lock_wait_microseconds) / get(c.lock_waits) / microseconds_a_second;
     }},
    {"lock_max_wait_time_in_secs",
     [](const Counters& c) { return get(c.lock_wait_longest_microseconds) / microseconds_a_second; }},
    {"row_total_read", rows_read},
    {"row_total_inserted", [](const Counters& c) { return get(c.rows_inserted) + get(c.rows_bulk_loaded); }},
    {"row_total_updated", [](const Counters& c) { return get(c.rows_updated); }},
    {"row_total_deleted", [](const Counters& c) { return get(c.rows_deleted); }},
    {"page_size", [](const Counters&) { return page_bytes; }},
    {"have_atomic_builtins", [](const Counters&) { return uint64_t{1}; }},
};

}  // namespace
}  // namespace hailstone::haildb

using namespace hailstone::haildb;

ib_err_t ib_status_get_all(const char*** names, ib_u32_t* names_num) try {
  if (!engine().running.load(std::memory_order_acquire)) return DB_ERROR;
  if (names == nullptr || names_num == nullptr) return DB_INVALID_INPUT;
  const size_t count = std::size(variables) + hailstone::counter_descriptions.size();
  auto* const all = static_cast<const char**>(std::malloc((count + 1) * sizeof(const char*)));
  if (all == nullptr) return DB_OUT_OF_MEMORY;
  size_t i = 0;
  for (const auto& variable : variables) all[i++] = variable.name;
  for (const auto& counter : hailstone::counter_descriptions) all[i++] = counter.name.data();
  all[i] = nullptr;
  *names = all;
  *names_num = static_cast<ib_u32_t>(count);
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_status_get_i64(const char* name, ib_i64_t* dst) try {
  if (!engine().running.load(std::memory_order_acquire)) return DB_ERROR;
  if (name == nullptr || dst == nullptr) return DB_INVALID_INPUT;
  const hailstone::Counters& counters = engine().database->counters();
  for (const auto& variable : variables) {
    if (strcasecmp(variable.name, name) != 0) continue;
    *dst = static_cast<ib_i64_t>(variable.value(counters));
    return DB_SUCCESS;
  }
  for (const auto& counter : hailstone::counter_descriptions) {
    if (strcasecmp(counter.name.data(), name) != 0) continue;
    *dst = static_cast<ib_i64_t>((counters.*counter.value).load(std::memory_order_relaxed));
    return DB_SUCCESS;
  }
  return DB_NOT_FOUND;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

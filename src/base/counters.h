// Status counters of a database. A line added to the list below appears in SHOW STATUS, INFORMATION_SCHEMA
// and the C API without another line of code. Counters only grow; gauges are set. Safe from any thread,
// relaxed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace hailstone {

// name, description
#define HAILSTONE_COUNTERS(COUNTER)                                                                        \
  COUNTER(rows_inserted, "rows inserted one by one")                                                       \
  COUNTER(rows_updated, "rows updated")                                                                    \
  COUNTER(rows_deleted, "rows deleted")                                                                    \
  COUNTER(rows_bulk_loaded, "rows written straight to segments")                                           \
  COUNTER(row_bytes_written, "bytes of rows that were inserted, updated or loaded")                        \
  COUNTER(rows_scanned, "rows that a scan's predicate was evaluated on")                                   \
  COUNTER(rows_returned, "rows that scans and cursors returned")                                           \
  COUNTER(blocks_skipped, "column blocks not read because their minimum and maximum excluded a match")     \
  COUNTER(block_cache_hits, "column blocks found in the cache")                                            \
  COUNTER(block_cache_misses, "column blocks read from a file")                                            \
  COUNTER(block_cache_evicted_bytes, "bytes of column blocks dropped from the cache to make room")         \
  COUNTER(block_cache_bytes, "bytes of column blocks in the cache")                                        \
  COUNTER(block_cache_unpacked,                                                                            \
          "column blocks decompressed as a whole, as single values of them are read often")                \
  COUNTER(point_lookups, "keys looked up")                                                                 \
  COUNTER(bloom_filter_skips, "segments not searched because their Bloom filter excluded the key")         \
  COUNTER(bloom_filter_reads, "looks at one key's 32 bytes of a Bloom filter that memory had no room for") \
  COUNTER(transactions_committed, "transactions committed")                                                \
  COUNTER(transactions_rolled_back, "transactions rolled back")                                            \
  COUNTER(transactions_recovered, "transactions that the start found in the log: done again, or left out") \
  COUNTER(rows_recovered, "changes of rows that the start applied, as they were in the log only")          \
  COUNTER(transactions_active, "transactions that have begun and not ended")                               \
  COUNTER(snapshots_expired, "snapshots that were ended because they were too old")                        \
  COUNTER(memory_waits, "times a writer waited for memory for a row")                                      \
  COUNTER(query_waits, "times a query waited until others had given memory back")                          \
  COUNTER(queries_waiting, "queries that wait for memory to begin with now")                               \
  COUNTER(turn_waits, "times a thread of a long query waited while others had the processors")             \
  COUNTER(row_locks, "row locks that transactions hold")                                                   \
  COUNTER(lock_escalations, "times that all rows of a table were locked by one lock, for want of memory")  \
  COUNTER(lock_waits, "times a transaction waited for a row or table lock")                                \
  COUNTER(lock_waiting, "transactions that wait for a lock now")                                           \
  COUNTER(lock_wait_microseconds, "time that ended lock waits took")                                       \
  COUNTER(lock_wait_longest_microseconds, "the longest lock wait")                                         \
  COUNTER(lock_wait_timeouts, "lock waits that ended by their timeout")                                    \
  COUNTER(deadlocks, "deadlocks found")                                                                    \
  COUNTER(commit_mutex_microseconds, "time that the mutex of commits was held, by samples")                \
  COUNTER(snapshot_mutex_microseconds, "time that the mutex of snapshots was held, by samples")            \
  COUNTER(lock_mutex_microseconds, "time that the mutex of row and table locks was held, by samples")      \
  COUNTER(log_mutex_microseconds, "time that the mutex of the log was held, by samples")                   \
  COUNTER(log_writes, "write calls on log files")                                                          \
  COUNTER(log_write_bytes, "bytes written to log files")                                                   \
  COUNTER(log_fsyncs, "fdatasync calls on log files")                                                      \
  COUNTER(log_stalls, "times the log could not be written and commits had to wait")                        \
  COUNTER(log_reads, "read calls on log files, at recovery")                                               \
  COUNTER(log_read_bytes, "bytes read from log files")                                                     \
  COUNTER(segment_reads, "read calls on segment files and delete vectors")                                 \
  COUNTER(segment_read_bytes, "bytes read from segment files and delete vectors")                          \
  COUNTER(segment_writes, "write calls on segment files and delete vectors")                               \
  COUNTER(segment_write_bytes, "bytes written to segment files and delete vectors")                        \
  COUNTER(segment_fsyncs, "fsync calls on segment files and delete vectors")                               \
  COUNTER(manifest_writes, "records appended to the manifest")                                             \
  COUNTER(manifest_write_bytes, "bytes written to manifest files")                                         \
  COUNTER(manifest_fsyncs, "fsync calls on manifest files")                                                \
  COUNTER(manifest_reads, "read calls on the manifest, at the start")                                      \
  COUNTER(manifest_read_bytes, "bytes read from the manifest")                                             \
  COUNTER(spills, "times that a large transaction moved rows from memory to files of its own")             \
  COUNTER(spill_writes, "write calls on spill files, for groups that memory had no room for")              \
  COUNTER(spill_write_bytes, "bytes written to spill files")                                               \
  COUNTER(spill_reads, "read calls on spill files")                                                        \
  COUNTER(spill_read_bytes, "bytes read from spill files")                                                 \
  COUNTER(spill_bytes, "bytes in spill files now")                                                         \
  COUNTER(retention_runs, "times that all tables with a retention were looked through for expired rows")   \
  COUNTER(rows_expired, "rows that ended as their retention was over")                                     \
  COUNTER(rows_expired_locked, "expired rows left to a later run, as transactions had locked them")        \
  COUNTER(segments_expired, "segments that went as a whole since all their rows had expired")              \
  COUNTER(flushes, "deltas written to segments")                                                           \
  COUNTER(merges, "merges of segments")                                                                    \
  COUNTER(checkpoints, "checkpoints taken")                                                                \
  COUNTER(flush_backlog, "deltas waiting to be flushed")                                                   \
  COUNTER(merge_backlog, "tables waiting for a merge")                                                     \
  COUNTER(delta_bytes, "bytes of rows in deltas")                                                          \
  COUNTER(memory_used, "bytes reserved from the memory budget")                                            \
  COUNTER(memory_kept, "bytes of pages that are kept for some seconds for whoever needs some next")        \
  COUNTER(memory_budget, "the memory budget in bytes")                                                     \
  COUNTER(in_memory_used, "bytes that the rows of tables in memory take")                                  \
  COUNTER(temporary_memory_used, "bytes that files of temporary tables take in memory")                    \
  COUNTER(in_memory_size, "bytes that the rows of tables in memory may take")                              \
  COUNTER(tables, "tables in the catalog")                                                                 \
  COUNTER(tables_open, "table objects in memory")                                                          \
  COUNTER(table_hits, "times a table was asked for and its object was in memory")                          \
  COUNTER(table_opens, "table objects made for tables that were not in memory")                            \
  COUNTER(table_evictions, "table objects let go because more than open_tables were in memory")            \
  COUNTER(tables_corrupt, "tables marked corrupt")                                                         \
  COUNTER(segments, "segments in use")                                                                     \
  COUNTER(files_open, "files of segments that hold a descriptor")                                          \
  COUNTER(background_errors, "flushes, merges and checkpoints that failed and will be retried")

struct Counters {
#define HAILSTONE_COUNTER(name, description) std::atomic<uint64_t> name{0};
  HAILSTONE_COUNTERS(HAILSTONE_COUNTER)
#undef HAILSTONE_COUNTER
};

struct CounterDescription {
  std::string_view name;
  std::string_view description;
  std::atomic<uint64_t> Counters::*value;
};

inline constexpr auto counter_descriptions = std::to_array<CounterDescription>({
#define HAILSTONE_COUNTER(name, description) {#name, description, &Counters::name},
    HAILSTONE_COUNTERS(HAILSTONE_COUNTER)
#undef HAILSTONE_COUNTER
});

inline void count(std::atomic<uint64_t>& counter, uint64_t by = 1) {
  counter.fetch_add(by, std::memory_order_relaxed);
}

}  // namespace hailstone

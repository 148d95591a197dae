// The names of the system variables, for the engine, which has them in variables.cc, and for what stands in
// for it where it cannot run (loader/stand_in.cc). A SWITCH may stand alone on a command line.
#pragma once

#define HAILSTONE_VARIABLES(VALUE, SWITCH) \
  VALUE(memory_budget)                     \
  VALUE(delta_size)                        \
  VALUE(segment_rows)                      \
  VALUE(in_memory_size)                    \
  VALUE(temporary_memory_size)             \
  VALUE(checkpoint_log_size)               \
  SWITCH(checkpoint_now)                   \
  VALUE(create_backup)                     \
  VALUE(backup_armed)                      \
  VALUE(background_threads)                \
  VALUE(flush_log_at_trx_commit)           \
  VALUE(io_method)                         \
  VALUE(data_dir)                          \
  SWITCH(columnar_default)                 \
  VALUE(lock_wait_timeout)                 \
  SWITCH(lock_escalation)                  \
  VALUE(table_cache_size)                  \
  SWITCH(trace)                            \
  SWITCH(trace_log)                        \
  VALUE(open_files_limit)                  \
  VALUE(log_write_timeout)                 \
  VALUE(snapshot_too_old)                  \
  VALUE(retention_interval)                \
  VALUE(retention_lag)                     \
  VALUE(query_memory)                      \
  VALUE(spill_limit)                       \
  VALUE(select_pushdown)                   \
  VALUE(query_threads)                     \
  VALUE(plan_again_rows)                   \
  VALUE(query_history)

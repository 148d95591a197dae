// The configuration variables of the HailDB interface: one table of names, types, limits and defaults; values
// as programs read them back. docs/haildb.md says which have a meaning here. Thread-safe.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <string_view>

#include "haildb.h"

namespace hailstone::haildb {

enum class Variable : uint8_t {
  AdaptiveHashIndex,
  AdaptiveFlushing,
  AdditionalMemPoolSize,
  AutoextendIncrement,
  BufferPoolSize,
  Checksums,
  DataFilePath,
  DataHomeDir,
  Doublewrite,
  FileFormat,
  FileIoThreads,
  FilePerTable,
  FlushLogAtTrxCommit,
  FlushMethod,
  ForceRecovery,
  IoCapacity,
  LockWaitTimeout,
  LogBufferSize,
  LogFileSize,
  LogFilesInGroup,
  LogGroupHomeDir,
  MaxDirtyPagesPct,
  MaxPurgeLag,
  LruOldBlocksPct,
  LruBlockAccessRecency,
  OpenFiles,
  ReadIoThreads,
  WriteIoThreads,
  PreRollbackHook,
  PrintVerboseLog,
  RollbackOnTimeout,
  StatsSamplePages,
  StatusFile,
  SyncSpinLoops,
  UseSysMalloc,
  Version,
};
constexpr size_t variable_count = 36;

/// All variables back to their defaults.
void reset_configuration();
/// From here to the next reset, variables that belong to the start cannot be set.
void set_configuration_started();
/// Sets a variable from inside: neither when nor in which limits is checked.
void set_number(Variable variable, ib_ulint_t value);
void set_text(Variable variable, const char* value);

ib_ulint_t number_of(Variable variable);
bool is_on(Variable variable);
const char* text_of(Variable variable);  // may be null
ib_cb_t callback_of(Variable variable);

/// The static name of a file format: "Antelope" or "Barracuda"; null when `text` is none. A null text is
/// Antelope.
const char* file_format_of(const char* text);

}  // namespace hailstone::haildb

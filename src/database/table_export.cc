#include "database/table_export.h"

#include <fmt/format.h>

#include "database/core.h"
#include "database/state_recorder.h"
#include "database/table_folder.h"

namespace hailstone {
namespace {

/// Fewer bytes of rows are not worth a file of their own.
constexpr size_t few_row_bytes = size_t{64} << 10;

/// So that the folder's manifest does not hold what a file can.
Status flush_rows(Table& table) {
  while (table.delta_row_bytes() > few_row_bytes) {
    const size_t before = table.delta_bytes();
    HAILSTONE_ASSIGN(const bool more, table.flush(true));
    // What is left waits for open transactions.
    if (!more || table.delta_bytes() >= before) break;
  }
  return {};
}

}  // namespace

Status export_table(DatabaseCore& core, const std::string& name, const std::string& target,
                    const CopyProgress& progress) {
  HAILSTONE_ASSIGN(const auto entry, core.catalog().find(name, nullptr));
  HAILSTONE_ASSIGN(const auto table, core.catalog().open(entry));
  HAILSTONE_TRY(table->usable());
  if (!table->is_durable()) {
    return fail(ErrorCode::Unsupported,
                fmt::format("the rows of table '{}' are in memory only, so that there are no files of them; "
                            "copy the rows to a table on the disk, and export that",
                            name));
  }
  HAILSTONE_TRY(flush_rows(*table));
  TableFolder folder(core.filesystem(), core.directory(), target, progress);
  HAILSTONE_TRY(folder.begin());
  const auto make = [&](const TableRecord& record, Timestamp committed) -> Status {
    HAILSTONE_TRY(folder.add_files(files_of(record), TableFolder::How::Link));
    return folder.finish({.databases = core.file_numbers.databases(),
                          .table = &record,
                          .mark = {.committed = committed,
                                   .next_table = core.next_table.load(),
                                   .next_file = core.file_numbers.next()}});
  };
  return core.recorder->with_table_kept(*table, make);
}

}  // namespace hailstone

#include "collect/stream_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "collect/server_connection.h"
#include "collect/spool_scan.h"
#include "collect/target_table.h"

namespace hailstone {
namespace {

/// Often enough: a file goes when all its records have been delivered, and others follow.
constexpr int looks = 10;

Result<std::optional<SpoolLook>> look_once(Filesystem& filesystem, const std::string& directory) {
  HAILSTONE_ASSIGN(const auto names, filesystem.list(directory));
  SpoolLook look;
  std::optional<uint64_t> last;
  for (const std::string& name : names) {
    const auto number = parse_spool_file_name(name);
    if (!number) continue;
    HAILSTONE_ASSIGN(const uint64_t size, filesystem.file_size(directory + "/" + name));
    look.bytes += size;
    last = std::max(last.value_or(0), *number);
  }
  if (!last) return std::nullopt;
  HAILSTONE_ASSIGN(auto scan,
                   SpoolFileScan::open(filesystem, directory + "/" + spool_file_name(*last), *last));
  for (;;) {
    HAILSTONE_ASSIGN(const bool found, scan.next(scan.size()));
    if (!found) break;
  }
  look.id = scan.header().id;
  look.records = scan.sequence();
  return look;
}

}  // namespace

Result<std::optional<SpoolLook>> look_at_spool(Filesystem& filesystem, const std::string& directory) {
  if (!filesystem.exists(directory)) return std::nullopt;
  for (int i = 1;; ++i) {
    auto look = look_once(filesystem, directory);
    if (look || look.error().code() != ErrorCode::NotFound || i == looks) return look;
  }
}

Result<StreamStatus> status_of_stream(const CollectConfig& config, const StreamConfig& stream) {
  StreamStatus status;
  HAILSTONE_ASSIGN(const auto look,
                   look_at_spool(posix_filesystem(), config.spool.directory + "/" + stream.name));
  if (!look) return status;
  status.spool = *look;
  ServerConnection connection(config.server);
  HAILSTONE_TRY(connection.connect());
  // The table's engine decides on the bookkeeping table, and a table a day may not be there yet: so all are
  // asked.
  HAILSTONE_ASSIGN(const auto tables,
                   connection.query(fmt::format("SELECT TABLE_NAME FROM information_schema.TABLES WHERE "
                                                "TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE '{}'",
                                                bookkeeping_table("%"))));
  uint64_t passed = 0;
  for (const auto& table : tables) {
    // A collector that does not count rejected records by themselves may have made it.
    HAILSTONE_ASSIGN(const auto type, column_type(connection, table.at(0), "rejected"));
    HAILSTONE_ASSIGN(
        const auto rows,
        connection.query(fmt::format("SELECT records, {} FROM {} WHERE spool = '{}'", type ? "rejected" : "0",
                                     quoted_identifier(table.at(0)), to_text(status.spool.id))));
    if (rows.empty() || number_of(rows[0][0]) < passed) continue;
    passed = number_of(rows[0][0]);
    status.rejected = number_of(rows[0][1]);
  }
  status.delivered = passed - std::min(passed, status.rejected);
  status.waiting = status.spool.records - std::min(status.spool.records, passed);
  return status;
}

}  // namespace hailstone

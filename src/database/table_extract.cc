// extract_table(): the table's record of the manifest, its files, and what the log has of it.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "database/committed_redo.h"
#include "database/core.h"
#include "database/database.h"
#include "database/table_export.h"
#include "database/table_folder.h"
#include "file/overlay_filesystem.h"
#include "log/operation.h"

namespace hailstone {
namespace {

/// Writes what a log has of one table to another log, where recovery of the table gives the same: what
/// committed transactions did to it, without what they took back, and what a checkpoint carried.
class TableRedo {
 public:
  TableRedo(const std::string& directory, TableId table, const CheckpointMark& mark, Log& to)
      : directory_(directory), table_(table), mark_(mark), to_(to), redo_(mark.committed) {}

  Status copy(Log& from) {
    HAILSTONE_TRY(from.scan(mark_.log_start, [this](const LogRecord& record) -> Status {
      if (record.type == LogRecordType::Carry) return {};
      const std::string_view wrong = redo_.add(record);
      return wrong.empty() ? Status() : damaged(record, wrong);
    }));
    redo_.finish();
    return from.scan(mark_.log_start, [this](const LogRecord& record) { return copy_record(record); });
  }
  /// Segments that the log names.
  const std::set<uint64_t>& files() const { return files_; }
  std::vector<std::string> prepared() const {
    std::vector<std::string> names;
    for (const TransactionId id : prepared_) names.push_back(redo_.prepared().at(id).name);
    return names;
  }

 private:
  std::unexpected<Error> damaged(const LogRecord& record, std::string_view what) const {
    return fail(ErrorCode::Corruption,
                fmt::format("the log in '{}' holds a record at position {} that {}; use another backup",
                            directory_, record.begin, what));
  }

  /// Those of the operations that are of the table.
  Result<std::string> of_table(ByteView operations, const LogRecord& record) {
    std::string found;
    for (ByteReader reader(operations); !reader.empty();) {
      Operation operation;
      if (take_operation(reader, operation) != TakenOperation::Whole)
        return damaged(record, "ends within an operation, or holds one that this program does not know");
      if (operation.table != table_) continue;
      append_operation(found, operation);
      for (const LoadedFile& each : operation.files) files_.insert(each.file);
    }
    return found;
  }

  Status append(LogRecordType type, const std::string& payload) {
    HAILSTONE_TRY(to_.append(type, payload));
    return {};
  }

  Status copy_record(const LogRecord& record) {
    if (record.type == LogRecordType::Carry) return copy_carry(record);
    RedoRecord redo;
    if (!redo.parse(record)) return damaged(record, "is too short");
    switch (record.type) {
      case LogRecordType::Operations:
      case LogRecordType::Prepare:
        return copy_operations(redo, record);
      case LogRecordType::Commit:
        return copy_commit(redo, record);
      case LogRecordType::Truncate:
      case LogRecordType::Rollback:
      case LogRecordType::Carry:
        break;  // nothing of them is void in the other log
    }
    return {};
  }

  /// The earlier operations of a large transaction stay ahead of its commit, so that memory need not hold
  /// them.
  Status copy_operations(const RedoRecord& redo, const LogRecord& record) {
    const CommittedRedo::Valid* const valid = redo_.find(record.begin);
    if (valid == nullptr) return {};
    const std::set<uint64_t> before = files_;
    HAILSTONE_ASSIGN(const std::string found, of_table(redo.operations.substr(0, valid->bytes), record));
    if (found.empty()) return {};
    if (valid->commit == 0) {
      files_ = before;
      prepared_.insert(redo.id);
      return {};
    }
    std::string payload;
    append_number(payload, redo.id);
    append_number(payload, std::exchange(written_[redo.id], written_[redo.id] + found.size()));
    return append(LogRecordType::Operations, payload + found);
  }

  Status copy_commit(const RedoRecord& redo, const LogRecord& record) {
    if (redo.timestamp <= mark_.committed) return {};
    HAILSTONE_ASSIGN(const std::string found, of_table(redo.operations, record));
    const auto written = written_.find(redo.id);
    if (found.empty() && written == written_.end()) return {};
    std::string payload;
    append_number(payload, redo.id);
    append_number(payload, redo.timestamp);
    append_number(payload, written == written_.end() ? uint64_t{0} : written->second);
    if (written != written_.end()) written_.erase(written);
    return append(LogRecordType::Commit, payload + found);
  }

  Status copy_carry(const LogRecord& record) {
    if (record.begin < mark_.carried) return {};
    std::string payload;
    for (ByteReader reader(record.payload); !reader.empty();) {
      Timestamp begin = 0;
      ByteView operation;
      if (!reader.take_varint(begin) || !reader.take_string(operation))
        return damaged(record, "ends within an operation");
      if (begin > mark_.committed) continue;
      HAILSTONE_ASSIGN(const std::string found, of_table(operation, record));
      if (found.empty()) continue;
      append_varint(payload, begin);
      append_string(payload, found);
    }
    return payload.empty() ? Status() : append(LogRecordType::Carry, payload);
  }

  const std::string& directory_;
  const TableId table_;
  const CheckpointMark& mark_;
  Log& to_;
  CommittedRedo redo_;
  std::unordered_map<TransactionId, uint64_t> written_;  // bytes of redo ahead of the commit
  std::unordered_set<TransactionId> prepared_;
  std::set<uint64_t> files_;
};

constexpr size_t most_named_tables = 20;

std::unexpected<Error> no_such_table(Database& database, const std::string& name) {
  std::string present;
  const auto names = database.table_names();
  for (size_t i = 0; i < std::min(names.size(), most_named_tables); ++i)
    present += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most_named_tables) present += ", …";
  return fail(ErrorCode::NotFound, fmt::format("there is no table '{}' of Hailstone; there {}", name,
                                               names.empty() ? "is none" : "are: " + present));
}

}  // namespace

Result<ExtractedTable> extract_table(Filesystem& filesystem, const std::string& from, const std::string& name,
                                     const std::string& target, const BringFiles& bring,
                                     const CopyProgress& progress) {
  // Tells what there is when the log has been applied, and keeps others from changing it.
  DatabaseOptions options;
  options.read_only = true;
  options.background_threads = 1;
  HAILSTONE_ASSIGN(const auto database, Database::open(filesystem, from, std::move(options)));
  TableId id = 0;
  bool is_in_memory = false;
  database->visit_tables([&](TableId table, const TableDefinition& definition) {
    if (definition.name != name) return;
    id = table;
    is_in_memory = definition.in_memory;
  });
  if (id == 0) return no_such_table(*database, name);
  if (is_in_memory) {
    return fail(ErrorCode::Unsupported,
                fmt::format("the rows of table '{}' were in memory only: no backup has them", name));
  }
  HAILSTONE_ASSIGN(const auto content, Manifest::load(filesystem, from));
  if (!content) return fail(ErrorCode::NotFound, fmt::format("the manifest in '{}' is gone", from));
  std::optional<TableRecord> record;
  if (const auto stored = content->tables.find(id); stored != content->tables.end())
    record = content->read(stored->second);
  TableFolder folder(filesystem, from, target, progress);
  HAILSTONE_TRY(folder.begin());
  OverlayFilesystem unchanged(filesystem);
  Counters counters;
  HAILSTONE_ASSIGN(const auto log, Log::open(unchanged, {.directory = from}, counters));
  TableRedo redo(from, id, content->mark, folder.log());
  HAILSTONE_TRY(redo.copy(*log));
  std::set<std::string> files;
  if (record) {
    const auto recorded = files_of(*record);
    files.insert(recorded.begin(), recorded.end());
  }
  std::vector<std::string> logged;
  for (const uint64_t file : redo.files()) {
    if (std::string name_of_file = segment_file_name(file); !files.contains(name_of_file))
      logged.push_back(std::move(name_of_file));
  }
  std::vector<std::string> wanted(files.begin(), files.end());
  if (bring) {
    wanted.insert(wanted.end(), logged.begin(), logged.end());
    HAILSTONE_TRY(bring(wanted));
    wanted.assign(files.begin(), files.end());
  }
  // What has been merged since it was loaded is there no more.
  std::ranges::copy_if(logged, std::back_inserter(wanted),
                       [&](const std::string& file) { return filesystem.exists(from + "/" + file); });
  HAILSTONE_TRY(folder.add_files(wanted, bring ? TableFolder::How::Link : TableFolder::How::Copy));
  // Files from the new database's first one on carry its number.
  CheckpointMark mark = content->mark;
  if (!redo.files().empty()) mark.next_file = std::max(mark.next_file, *redo.files().rbegin() + 1);
  HAILSTONE_TRY(
      folder.finish({.databases = content->databases, .table = record ? &*record : nullptr, .mark = mark}));
  return ExtractedTable{.prepared = redo.prepared()};
}

}  // namespace hailstone

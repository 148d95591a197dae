// `hailstone inspect`: what the files of a database hold, without opening it as a database: nothing is
// recovered, nothing is written.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "cli/column_text.h"
#include "cli/commands.h"
#include "cli/in_use.h"
#include "cli/segment_files.h"
#include "cli/text_table.h"
#include "database/core.h"
#include "database/manifest.h"
#include "database/server_folder.h"
#include "log/log_format.h"
#include "log/log_scan.h"
#include "text/value_text.h"

namespace hailstone {
namespace {

struct InspectOptions {
  std::string directory;
  std::vector<std::string> tables;
  bool columns = false;
};

class Inspection {
 public:
  explicit Inspection(const InspectOptions& options) : options_(options), segments_(options.directory) {}

  Status run() {
    if (!filesystem_.exists(Manifest::path_in(options_.directory))) {
      return fail(ErrorCode::NotFound,
                  fmt::format("there is no database in directory '{}'", options_.directory));
    }
    const auto lock = filesystem_.lock_directory_to_read(options_.directory);
    if (!lock) return std::unexpected(with_way_out(lock.error(), "inspect", options_.directory));
    HAILSTONE_ASSIGN(const auto content, Manifest::load(filesystem_, options_.directory));
    if (!content) return fail(ErrorCode::NotFound, "the manifest is gone");
    if (options_.tables.empty()) {
      show_manifest(*content);
      HAILSTONE_TRY(show_log(*content));
    }
    return show_tables(*content);
  }

  bool found_damage() const { return damage_; }

 private:
  void damaged(const Error& error) {
    damage_ = true;
    fmt::print("  damaged: {}\n", safe_for_terminal(error.message()));
  }

  void show_manifest(const ManifestContent& content) const {
    const CheckpointMark& mark = content.mark;
    fmt::print("manifest {}: {}, {}, {} remembered{}\n", Manifest::path_in(options_.directory),
               human_bytes(content.file.size()), counted(content.tables.size(), "table"),
               counted(content.dropped.size(), "drop"), content.torn ? ", a torn end that is left out" : "");
    fmt::print(
        "checkpoint: commits up to {} need no log; replay begins at {:#x}, carried rows count from {:#x}\n",
        mark.committed, mark.log_start, mark.carried);
    fmt::print("next table {}, next file {:#x}\n", mark.next_table, mark.next_file);
    if (content.databases.empty()) fmt::print("files do not say whose they are yet\n");
    for (const DatabaseIdentity& each : content.databases) {
      fmt::print("files from {:#x} on are of database {:016x}\n", each.first_file, each.database);
    }
    fmt::print("\n");
  }

  Status show_log(const ManifestContent& content) {
    HAILSTONE_ASSIGN(const auto names, filesystem_.list(options_.directory));
    std::vector<LogFileName> files;
    for (const std::string& name : names) {
      if (const auto begin = parse_log_file_name(name))
        files.push_back({*begin, options_.directory + "/" + name});
    }
    std::ranges::sort(files, {}, &LogFileName::begin);
    struct Count {
      uint64_t records = 0, commits = 0, carried = 0, bytes = 0;
    };
    std::vector<Count> counts(files.size());
    const auto end =
        scan_log(filesystem_, files, content.mark.log_start, [&](const LogRecord& record) -> Status {
          const auto next = std::ranges::upper_bound(files, record.begin, {}, &LogFileName::begin);
          Count& count = counts[static_cast<size_t>(next - files.begin()) - 1];
          ++count.records;
          if (record.type == LogRecordType::Commit) ++count.commits;
          if (record.type == LogRecordType::Carry) ++count.carried;
          return {};
        });
    TextTable shown({"log file", ">bytes", ">records to replay", ">commits", ">carry records"});
    for (size_t i = 0; i < files.size(); ++i) {
      HAILSTONE_ASSIGN(const uint64_t size, filesystem_.file_size(files[i].path));
      shown.add({log_file_name(files[i].begin), human_bytes(size), std::to_string(counts[i].records),
                 std::to_string(counts[i].commits), std::to_string(counts[i].carried)});
    }
    fmt::print("{}", shown.text());
    if (end) {
      fmt::print("the log ends at {:#x}; {:#x} is known to be durable\n\n", end->end, end->durable);
    } else if (end.error().code() == ErrorCode::Corruption) {
      damaged(end.error());
      fmt::print("\n");
    } else {
      return std::unexpected(end.error());
    }
    return {};
  }

  Status show_tables(const ManifestContent& content) {
    std::map<std::string, TableRecord> by_name;
    for (const auto& [id, stored] : content.tables) {
      TableRecord table = content.read(stored);
      std::string name(table.definition.name());
      by_name.emplace(std::move(name), std::move(table));
    }
    for (const std::string& name : options_.tables) {
      if (by_name.contains(name)) continue;
      return fail(
          ErrorCode::NotFound,
          fmt::format("the manifest has no table '{}' (one that was made since the last checkpoint is in the "
                      "log only)",
                      name));
    }
    for (const auto& [name, table] : by_name) {
      if (options_.tables.empty() || std::ranges::find(options_.tables, name) != options_.tables.end()) {
        HAILSTONE_TRY(show_table(content, table));
      }
    }
    return {};
  }

  Status show_table(const ManifestContent& content, const TableRecord& table) {
    const TableDefinition definition = table.definition.unpack();
    fmt::print(
        "table {} (id {}): {}, {}, next row id {}, {}{}\n", printable(definition.name), table.id,
        counted(definition.columns.size(), "column"), counted(definition.indexes.size(), "index", "indexes"),
        table.next_row_id, counted(table.segments.size(), "segment"),
        table.rows.empty() ? ""
                           : fmt::format(", {} of rows in the manifest", human_bytes(table.rows.size())));
    for (const auto& entry : table.segments) {
      const auto opened = segments_.open(content, table.id, entry);
      const Status shown =
          opened ? show_segment(definition, entry, *opened) : std::unexpected(opened.error());
      if (shown) continue;
      if (shown.error().code() != ErrorCode::Corruption) return std::unexpected(shown.error());
      damaged(shown.error());
    }
    return {};
  }

  Status show_segment(const TableDefinition& definition, const TableRecord::SegmentEntry& entry,
                      const SegmentFiles::Opened& opened) {
    const Segment& segment = *opened.segment;
    fmt::print("  {:016x}: {}, {} of them ended, {}, {}{}\n", entry.file, counted(segment.rows(), "row"),
               opened.ended, counted(segment.blocks(), "block"), human_bytes(segment.file_bytes()),
               segment.identity() ? "" : ", without identity");
    if (!options_.columns) return {};
    TextTable shown(
        {"column", "stored as", "encoding", ">bytes", ">raw bytes", ">distinct", ">NULLs", "from", "to"});
    for (size_t i = 0; i < segment.columns().size(); ++i) {
      const ColumnStorage storage = segment.storage(i);
      HAILSTONE_ASSIGN(const Zone zone, zone_of(definition, segment, i));
      shown.add({column_name(definition, segment.columns()[i].id), storage.form, storage.encoding,
                 human_bytes(storage.stored_bytes), human_bytes(storage.raw_bytes),
                 std::to_string(storage.distinct), std::to_string(zone.nulls), zone.low, zone.high});
    }
    fmt::print("{}", shown.text(4));
    return {};
  }

  static std::string column_name(const TableDefinition& table, uint16_t id) {
    if (id == StoredColumn::row_group) return "(columns stored as rows)";
    if (id == StoredColumn::row_id) return "(row id)";
    if (id == StoredColumn::begin) return "(begin)";
    return id < table.columns.size() ? printable(table.columns[id].name) : fmt::format("({})", id);
  }

  struct Zone {
    uint64_t nulls = 0;
    std::string low, high;
  };

  /// The range of the zone maps of all blocks.
  Result<Zone> zone_of(const TableDefinition& table, const Segment& segment, size_t position) const {
    Zone zone;
    const StoredColumn column = segment.columns()[position];
    std::optional<uint64_t> low, high;
    std::optional<ByteView> low_bytes, high_bytes;
    for (uint32_t block = 0; block < segment.blocks(); ++block) {
      const BlockSummary summary = segment.summary(position, block);
      zone.nulls += summary.nulls;
      if (summary.nulls == summary.rows) continue;
      if (!low || summary.low < *low) low = summary.low;
      if (!high || summary.high > *high) high = summary.high;
      if (!low_bytes || summary.low_bytes < *low_bytes) low_bytes = summary.low_bytes;
      if (!high_bytes || summary.high_bytes > *high_bytes) high_bytes = summary.high_bytes;
    }
    if (!low) return zone;
    if (column.integer) {
      const bool known = column.id < table.columns.size();
      const auto text = [&](uint64_t ordered) {
        return known ? ordered_text(table, table.columns[column.id], ordered) : std::to_string(ordered);
      };
      zone.low = text(*low);
      zone.high = text(*high);
    } else if (segment.has_dictionary(position)) {
      HAILSTONE_ASSIGN(const auto dictionary, segment.dictionary(position));
      zone.low = bytes_text(dictionary->value(static_cast<uint32_t>(*low)));
      zone.high = bytes_text(dictionary->value(static_cast<uint32_t>(*high)));
    } else if (column.id != StoredColumn::row_group) {
      zone.low = bytes_text(*low_bytes);
      zone.high = bytes_text(*high_bytes);
    }
    return zone;
  }

  static std::string bytes_text(ByteView bytes) {
    constexpr size_t longest = 24;
    std::string text;
    append_bytes(bytes, text);
    text = printable(text);
    if (text.size() <= longest) return text;
    size_t end = longest;
    while (end > 0 && (text[end] & 0xc0) == 0x80) --end;  // not within a character
    return text.substr(0, end) + "…";
  }

  const InspectOptions& options_;
  Filesystem& filesystem_ = posix_filesystem();
  SegmentFiles segments_;
  bool damage_ = false;
};

}  // namespace

void add_inspect_command(Arguments& root, Ending& ending) {
  Arguments command = root.add_subcommand(
      "inspect", "show manifest, checkpoint, log files, and the tables' segments, changing nothing");
  const auto options = std::make_shared<InspectOptions>();
  command.add("DATABASE", options->directory, "the database's directory, or a server's data directory")
      .required();
  command.add("TABLE", options->tables, "only these tables; default: all, with manifest and log");
  command.add_flag("--columns", options->columns,
                   "of each segment also the columns: what they are stored as, encodings, bytes, and the "
                   "ranges of their values");
  command.run([options, &ending] {
    const auto directory = find_database(posix_filesystem(), options->directory);
    if (!directory) {
      ending.exit_code = finished("inspect", std::unexpected(directory.error()));
      return;
    }
    options->directory = *directory;
    Inspection inspection(*options);
    const Status status = inspection.run();
    ending.exit_code = finished("inspect", status);
    const bool damage =
        inspection.found_damage() || (!status && status.error().code() == ErrorCode::Corruption);
    if (damage) ending.exit_code = exit_damage;
  });
}

}  // namespace hailstone

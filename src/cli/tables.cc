// `hailstone tables`: the tables of a database. `hailstone describe`: all about one.
#include <fmt/format.h>

#include <memory>

#include "api/hailstone/handles.h"
#include "cli/column_text.h"
#include "cli/commands.h"
#include "cli/text_table.h"
#include "text/value_text.h"

namespace hailstone {
namespace {

struct TablesOptions {
  DatabaseArguments database;
  std::string prefix;
  bool names_only = false;
};

std::string state_of(const Table& table) {
  const Status usable = table.usable();
  if (usable) return {};
  return fmt::format("{}: see hailstone check",
                     usable.error().code() == ErrorCode::Unsupported ? "not up to date" : "damaged");
}

Status list_tables(const TablesOptions& options) {
  Session session;
  HAILSTONE_TRY(session.open_to_read(options.database));
  Database& database = session.engine();
  TextTable shown({"table", ">rows", ">columns", ">segments", ">bytes", ""});
  for (const std::string& name : database.table_names(options.prefix)) {
    if (session.is_interrupted()) return fail(ErrorCode::Interrupted, "interrupted");
    if (options.names_only) {
      fmt::print("{}\n", printable(name));
      continue;
    }
    const auto table = database.table(name);
    if (!table) {
      shown.add({printable(name), "", "", "", "",
                 "cannot be opened: " + safe_for_terminal(table.error().message())});
      continue;
    }
    const TableStatistics statistics = (*table)->statistics();
    shown.add({printable(name), std::to_string(statistics.rows),
               std::to_string((*table)->definition().columns.size()), std::to_string(statistics.segments),
               human_bytes(statistics.data_bytes + statistics.index_bytes), state_of(**table)});
  }
  if (!options.names_only) fmt::print("{}", shown.text());
  return session.close();
}

struct DescribeOptions {
  DatabaseArguments database;
  std::string table;
};

std::string index_text(const TableDefinition& definition, const Index& index) {
  std::string parts;
  for (const IndexPart& part : index.parts) {
    parts += fmt::format(
        "{}{}{}{}", parts.empty() ? "" : ", ", printable(definition.columns[part.column].name),
        part.prefix > 0 ? fmt::format("({})", part.prefix) : "", part.descending ? " descending" : "");
  }
  return parts;
}

Status describe(const DescribeOptions& options) {
  Session session;
  HAILSTONE_TRY(session.open_to_read(options.database));
  {
    HAILSTONE_ASSIGN(const auto table, session.engine().table(options.table));
    HAILSTONE_TRY(table->usable());
    const TableDefinition& definition = table->definition();
    const TableStatistics statistics = table->statistics();
    fmt::print("table {}\n", printable(definition.name));
    fmt::print("about {}; {} of values and {} of indexes in {} and memory; {}\n\n",
               counted(statistics.rows, "row"), human_bytes(statistics.data_bytes),
               human_bytes(statistics.index_bytes), counted(statistics.segments, "segment"),
               counted(statistics.deleted_rows, "dead row"));
    TextTable columns({"column", "type", "NULL", "stored", ">bytes", ">raw bytes", "encoding"});
    for (size_t i = 0; i < definition.columns.size(); ++i) {
      const Column& column = definition.columns[i];
      const ColumnStatistics stored = table->column_statistics(static_cast<uint16_t>(i));
      columns.add({printable(column.name), column_type_text(definition, column),
                   column.nullable ? "yes" : "no", stored.columnar ? "by itself" : "as rows",
                   human_bytes(stored.storage.stored_bytes), human_bytes(stored.storage.raw_bytes),
                   stored.storage.encoding});
    }
    fmt::print("{}", columns.text());
    for (size_t i = 0; i < definition.indexes.size(); ++i) {
      const Index& index = definition.indexes[i];
      const bool primary = i == 0 && definition.has_primary_key;
      fmt::print("{}{} ({})\n", i == 0 ? "\n" : "",
                 primary ? std::string("primary key")
                         : fmt::format("{}index {}", index.unique ? "unique " : "", printable(index.name)),
                 index_text(definition, index));
    }
    if (!definition.has_primary_key) fmt::print("{}no primary key\n", definition.indexes.empty() ? "\n" : "");
  }
  return session.close();
}

}  // namespace

void add_tables_command(Arguments& root, Ending& ending) {
  Arguments command = root.add_subcommand("tables", "list the tables of a database");
  const auto options = std::make_shared<TablesOptions>();
  add_database_arguments(command, options->database, /*or_server=*/true);
  command.add("--prefix", options->prefix, "only tables whose names begin so; default: all");
  command.add_flag("--names", options->names_only, "print the names only, one a line");
  command.run([options, &ending] { ending.exit_code = finished("tables", list_tables(*options)); });
}

void add_describe_command(Arguments& root, Ending& ending) {
  Arguments command =
      root.add_subcommand("describe", "show a table's columns, how they are stored, and its indexes");
  const auto options = std::make_shared<DescribeOptions>();
  add_database_arguments(command, options->database, /*or_server=*/true);
  command.add("TABLE", options->table, "the table, as group/table").required();
  command.run([options, &ending] { ending.exit_code = finished("describe", describe(*options)); });
}

}  // namespace hailstone

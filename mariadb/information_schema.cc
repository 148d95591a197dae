#include "information_schema.h"

#include <string_view>

#include "engine.h"
#include "rights.h"
#include "schema_table.h"
#include "select_outcome.h"
#include "session.h"
#include "table/table.h"
#include "trace.h"

namespace hailstone {

namespace {

// --- HAILSTONE_STATUS

ST_FIELD_INFO status_fields[] = {Show::Column("VARIABLE_NAME", Show::Varchar(64), NOT_NULL),
                                 Show::Column("VARIABLE_VALUE", Show::ULonglong(), NOT_NULL),
                                 Show::Column("DESCRIPTION", Show::Varchar(200), NOT_NULL), Show::CEnd()};

int fill_status(THD* thd, TABLE_LIST* tables, COND*) {
  Database* open = database_if_open();
  if (open == nullptr) return 0;
  TABLE* const table = tables->table;
  const Counters& counters = open->counters();
  for (const CounterDescription& counter : counter_descriptions) {
    restore_record(table, s->default_values);
    store_text(table->field[0], counter.name);
    store_number(table->field[1], (counters.*counter.value).load(std::memory_order_relaxed));
    store_text(table->field[2], counter.description);
    if (schema_table_store_record(thd, table)) return 1;
  }
  for (size_t i = 0; i < select_outcomes.size(); ++i) {
    const std::string text = std::string("blocks of SELECTs ") +
                             (i == 0 ? "that the engine answered" : "left to the server: ") +
                             select_outcomes[i].text;
    restore_record(table, s->default_values);
    store_text(table->field[0], std::string("selects_") + select_outcomes[i].name);
    store_number(table->field[1], static_cast<uint64_t>(select_counts[i].load(std::memory_order_relaxed)));
    store_text(table->field[2], text);
    if (schema_table_store_record(thd, table)) return 1;
  }
  return 0;
}

// --- HAILSTONE_COLUMNS

ST_FIELD_INFO columns_fields[] = {Show::Column("TABLE_SCHEMA", Show::Varchar(NAME_CHAR_LEN), NOT_NULL),
                                  // with the partition, where there is one
                                  Show::Column("TABLE_NAME", Show::Varchar(3 * NAME_CHAR_LEN + 16), NOT_NULL),
                                  Show::Column("COLUMN_NAME", Show::Varchar(NAME_CHAR_LEN), NOT_NULL),
                                  Show::Column("ORDINAL_POSITION", Show::ULonglong(), NOT_NULL),
                                  Show::Column("LAYOUT", Show::Varchar(8), NOT_NULL),
                                  Show::Column("STORED_AS", Show::Varchar(128), NOT_NULL),
                                  Show::Column("ENCODING", Show::Varchar(512), NOT_NULL),
                                  Show::Column("BYTES_RAW", Show::ULonglong(), NOT_NULL),
                                  Show::Column("BYTES_STORED", Show::ULonglong(), NOT_NULL),
                                  Show::Column("DISTINCT_VALUES", Show::ULonglong(), NOT_NULL),
                                  Show::Column("BLOCKS", Show::ULonglong(), NOT_NULL), Show::CEnd()};

int fill_columns(THD* thd, TABLE_LIST* tables, COND*) {
  Database* open = database_if_open();
  if (open == nullptr) return 0;
  TABLE* const to = tables->table;
  for (const std::string& name : open->table_names()) {
    if (is_temporary_name(name)) continue;
    if (thd_kill_level(thd) != THD_IS_NOT_KILLED) return 1;
    TableRights rights(thd, name);
    if (!rights.any()) continue;
    const auto [schema, sql_name] = sql_names(name);
    const auto found = open->table(name);
    if (!found) continue;  // dropped since
    const TableDefinition& definition = (*found)->definition();
    for (size_t i = 0; i < definition.columns.size(); ++i) {
      if (!rights.may_read(definition.columns[i].name)) continue;
      const ColumnStatistics statistics = (*found)->column_statistics(static_cast<uint16_t>(i));
      restore_record(to, s->default_values);
      store_text(to->field[0], schema);
      store_text(to->field[1], sql_name);
      store_text(to->field[2], definition.columns[i].name);
      store_number(to->field[3], i + 1);
      store_text(to->field[4],
                 (*found)->layout()->group_position(static_cast<uint16_t>(i)) < 0 ? "COLUMNAR" : "ROW");
      store_text(to->field[5], statistics.storage.form);
      store_text(to->field[6], statistics.storage.encoding);
      store_number(to->field[7], statistics.storage.raw_bytes);
      store_number(to->field[8], statistics.storage.stored_bytes);
      store_number(to->field[9], statistics.storage.distinct);
      store_number(to->field[10], statistics.storage.blocks);
      if (schema_table_store_record(thd, to)) return 1;
    }
  }
  return 0;
}

// --- HAILSTONE_TRACE

ST_FIELD_INFO trace_fields[] = {
    Show::Column("STATEMENT", Show::ULonglong(), NOT_NULL), Show::Column("STEP", Show::ULonglong(), NOT_NULL),
    // with the partition, where there is one
    Show::Column("TABLE_NAME", Show::Varchar(3 * NAME_CHAR_LEN + 16), NULLABLE),
    Show::Column("FUNCTION", Show::Varchar(64), NOT_NULL),
    Show::Column("ARGUMENTS", Show::Varchar(256), NOT_NULL),
    Show::Column("CALLS", Show::ULonglong(), NOT_NULL), Show::Column("IN_TURNS", Show::Varchar(16), NOT_NULL),
    Show::Column("ROW_COUNT", Show::ULonglong(), NOT_NULL),
    Show::Column("RESULT", Show::Varchar(64), NOT_NULL),
    // 16 digits, 1 of them after the point
    Show::Column("MICROSECONDS", Show::Decimal(1601), NOT_NULL),
    Show::Column("QUERY", Show::Varchar(256), NOT_NULL), Show::CEnd()};

/// Whether the user may know of a line: a trigger, a view or a routine of another user may work on tables
/// that this one has no rights on.
bool may_see(THD* thd, const TracedStatement& statement, const TraceLine& line) {
  const std::string& name = line.catalog_name;
  if (name.empty()) return !statement.of_another || line.arguments.empty();
  // Tables of this connection alone; in a statement of another user's, only that one knows them.
  if (is_temporary_name(name) || name.find("/#sql") != std::string::npos) return !statement.of_another;
  return TableRights(thd, name).any();
}

bool store_line(THD* thd, TABLE* to, const TracedStatement& statement, size_t step) {
  const TraceLine& line = statement.lines[step];
  restore_record(to, s->default_values);
  store_number(to->field[0], statement.number);
  store_number(to->field[1], step + 1);
  if (!line.table.empty()) {
    to->field[2]->set_notnull();
    store_text(to->field[2], line.table);
  }
  store_text(to->field[3], line.function);
  store_text(to->field[4], line.arguments);
  store_number(to->field[5], line.calls);
  if (line.loop != 0) {
    const auto [first, last] = statement.loop_of(step);
    store_text(to->field[6], std::to_string(first + 1) + "-" + std::to_string(last + 1));
  }
  store_number(to->field[7], line.rows);
  store_text(to->field[8], line.result_text());
  to->field[9]->store(line.microseconds());
  if (statement.query_charset != nullptr && !statement.of_another)
    to->field[10]->store(statement.query.data(), statement.query.size(), statement.query_charset);
  return schema_table_store_record(thd, to);
}

/// The last line of a statement whose other lines were too many.
bool store_calls_not_kept(THD* thd, TABLE* to, const TracedStatement& statement) {
  restore_record(to, s->default_values);
  store_number(to->field[0], statement.number);
  store_number(to->field[1], statement.lines.size() + 1);
  store_text(to->field[3], "(further calls)");
  store_number(to->field[5], statement.calls_not_kept);
  return schema_table_store_record(thd, to);
}

int fill_trace(THD* thd, TABLE_LIST* tables, COND*) {
  Session* const session = Session::find(thd);
  if (session == nullptr) return 0;
  Trace& trace = session->trace();
  trace.hide_current_statement();
  const auto& statements = trace.statements();
  const size_t shown = statements.size() - (!statements.empty() && statements.back().reads_trace ? 1 : 0);
  for (size_t i = shown - std::min(shown, Trace::statements_kept); i < shown; ++i) {
    const TracedStatement& statement = statements[i];
    for (size_t step = 0; step < statement.lines.size(); ++step) {
      if (!may_see(thd, statement, statement.lines[step])) continue;
      if (store_line(thd, tables->table, statement, step)) return 1;
    }
    if (statement.calls_not_kept != 0 && store_calls_not_kept(thd, tables->table, statement)) return 1;
  }
  return 0;
}

}  // namespace

int initialise_status_table(void* schema_table) {
  return initialise_schema_table<fill_status>(schema_table, status_fields);
}

int initialise_columns_table(void* schema_table) {
  return initialise_schema_table<fill_columns>(schema_table, columns_fields);
}

int initialise_trace_table(void* schema_table) {
  return initialise_schema_table<fill_trace>(schema_table, trace_fields);
}

}  // namespace hailstone

#include "queries_table.h"

#include <chrono>

#include "query_history.h"
#include "schema_table.h"
// clang-format off
#include <tztime.h>
// clang-format on

namespace hailstone {

namespace {

// 16 digits, 3 of them after the point
constexpr uint milliseconds = 1603;

ST_FIELD_INFO queries_fields[] = {Show::Column("CONNECTION_ID", Show::ULonglong(), NOT_NULL),
                                  Show::Column("QUERY_ID", Show::ULonglong(), NOT_NULL),
                                  Show::Column("USER", Show::Varchar(USERNAME_CHAR_LENGTH), NULLABLE),
                                  Show::Column("STARTED", Show::Datetime(6), NOT_NULL),
                                  Show::Column("SELECT_ID", Show::ULonglong(), NOT_NULL),
                                  Show::Column("HOOK", Show::Varchar(16), NOT_NULL),
                                  Show::Column("STATE", Show::Varchar(16), NOT_NULL),
                                  Show::Column("ELAPSED_MILLISECONDS", Show::Decimal(milliseconds), NULLABLE),
                                  Show::Column("OPERATOR_ID", Show::ULonglong(), NULLABLE),
                                  Show::Column("PARENT_ID", Show::ULonglong(), NULLABLE),
                                  Show::Column("OPERATOR", Show::Varchar(16), NULLABLE),
                                  Show::Column("DETAIL", Show::Varchar(512), NOT_NULL),
                                  Show::Column("ROWS_ESTIMATED", Show::ULonglong(), NULLABLE),
                                  Show::Column("ROWS_TO_READ", Show::ULonglong(), NULLABLE),
                                  Show::Column("ROWS_IN", Show::ULonglong(), NULLABLE),
                                  Show::Column("ROWS_OUT", Show::ULonglong(), NULLABLE),
                                  Show::Column("THREADS", Show::ULonglong(), NULLABLE),
                                  Show::Column("MEMORY_PEAK", Show::ULonglong(), NULLABLE),
                                  Show::Column("BYTES_SPILLED", Show::ULonglong(), NULLABLE),
                                  Show::Column("MILLISECONDS", Show::Decimal(milliseconds), NULLABLE),
                                  Show::Column("MILLISECONDS_ALONE", Show::Decimal(milliseconds), NULLABLE),
                                  Show::Column("QUERY", Show::Longtext(1024), NULLABLE),
                                  Show::CEnd()};

/// As SHOW PROCESSLIST: what runs with the rights of a user is that user's.
bool may_see(const THD& thd, const BlockRecord& record) {
  if ((thd.security_ctx->master_access & PRIV_STMT_SHOW_PROCESSLIST) != NO_ACL) return true;
  return record.user && *record.user == thd.security_ctx->priv_user;
}

class RowWriter {
 public:
  explicit RowWriter(TABLE& table) : table_(table) { restore_record(&table, s->default_values); }

  void number(uint64_t value) { store_number(next(), value); }
  void text(std::string_view value) { store_text(next(), value); }
  void text(std::string_view value, CHARSET_INFO* charset) {
    next()->store(value.data(), value.size(), charset);
  }
  void time(my_hrtime_t value, const THD& thd) {
    MYSQL_TIME shown;
    thd.variables.time_zone->gmt_sec_to_TIME(&shown, static_cast<my_time_t>(value.val / 1'000'000));
    shown.second_part = static_cast<ulong>(value.val % 1'000'000);
    next()->store_time(&shown);
  }
  void duration(std::chrono::nanoseconds value) {
    next()->store(std::chrono::duration<double, std::milli>(value).count());
  }
  void skip(uint columns = 1) { place_ += columns; }

 private:
  Field* next() {
    Field* const field = table_.field[place_++];
    field->set_notnull();
    return field;
  }

  TABLE& table_;
  uint place_ = 0;
};

/// The number of the operator that takes the rows of another one; not of the first.
size_t parent_of(const BlockRecord& record, size_t step) {
  const unsigned inside = record.steps()[step].planned.inside;
  size_t parent = step - 1;
  // Of the two sides of a join, the one before this one may have joins of its own.
  while (inside != 0 && record.steps()[parent].planned.inside >= inside) --parent;
  return parent;
}

/// `step`: the number of the operator; none of a block that was left to the server.
bool store_row(THD& thd, TABLE& table, const BlockRecord& record, std::optional<size_t> step) {
  RowWriter row(table);
  row.number(record.connection);
  row.number(record.query);
  if (record.user) {
    row.text(*record.user);
  } else {
    row.skip();
  }
  row.time(record.offered, thd);
  row.number(record.block);
  row.text(record.hook);
  row.text(block_state_names[static_cast<size_t>(record.state())]);
  if (step) {
    const BlockRecord::Step& from = record.steps()[*step];
    const OperatorCounts& counts = from.counts;
    const auto value = [](const std::atomic<uint64_t>& count) {
      return count.load(std::memory_order_relaxed);
    };
    row.duration(record.time());
    row.number(*step + 1);
    if (*step == 0) {
      row.skip();
    } else {
      row.number(parent_of(record, *step) + 1);
    }
    row.text(operator_names[static_cast<size_t>(from.planned.kind)]);
    row.text(from.planned.what);
    row.number(from.planned.rows);
    if (from.planned.kind == Operator::Scan) {
      row.number(from.planned.rows_to_read);
    } else {
      row.skip();
    }
    row.number(value(counts.rows_in));
    row.number(value(counts.rows_out));
    row.number(counts.threads());
    row.number(value(counts.most_memory));
    row.number(value(counts.spilled));
    row.duration(std::chrono::nanoseconds(static_cast<int64_t>(value(counts.nanoseconds))));
    row.duration(std::chrono::nanoseconds(static_cast<int64_t>(value(counts.alone))));
  } else {
    row.skip(4);
    row.text(record.reason);
    row.skip(9);
  }
  if (record.text_charset != nullptr) row.text(record.text, record.text_charset);
  return schema_table_store_record(&thd, &table);
}

int fill_queries(THD* thd, TABLE_LIST* tables, COND*) {
  for (const auto& record : query_history().records()) {
    if (thd_kill_level(thd) != THD_IS_NOT_KILLED) return 1;
    if (!may_see(*thd, *record)) continue;
    if (record->steps().empty() && store_row(*thd, *tables->table, *record, std::nullopt)) return 1;
    for (size_t step = 0; step < record->steps().size(); ++step) {
      if (store_row(*thd, *tables->table, *record, step)) return 1;
    }
  }
  return 0;
}

}  // namespace

int initialise_queries_table(void* schema_table) {
  return initialise_schema_table<fill_queries>(schema_table, queries_fields);
}

}  // namespace hailstone

// Queries: rows, what is done to them, and their streams.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/hailstone/arrow_rows.h"
#include "api/hailstone/arrow_stream.h"
#include "api/hailstone/query_columns.h"
#include "plan/plan_text.h"
#include "plan/query.h"
#include "plan/query_builder.h"
#include "plan/rules/rules.h"
#include "plan/stored_statistics.h"
#include "plan/validate.h"
#include "query/query_memory.h"
#include "table/statement_host.h"

using namespace hailstone;
using namespace hailstone::capi;

namespace hailstone::capi {

namespace {

constexpr unsigned most_threads = 64;

/// What the scans of a query read, by the names that its plan has for them.
struct Inputs {
  std::map<std::string, std::shared_ptr<const TableShape>, std::less<>> tables;
  std::map<std::string, std::shared_ptr<GivenStream>, std::less<>> streams;
};

/// One run of a query. Belongs to the transaction's thread, but for its figures; whoever lets it go last,
/// that thread destroys it.
class Run final : public plan::TableSource, public Guarded {
 public:
  static Returned<std::shared_ptr<Run>> make(const Inputs& inputs,
                                             const std::shared_ptr<SharedTransaction>& shared,
                                             plan::Plan plan, unsigned threads, uint64_t memory) {
    Database& database = *shared->database->database;
    const Transaction& transaction = *shared->transaction;
    // A stream may be read beside others of the transaction: it does not wait for these.
    std::shared_ptr<MemoryBudget> budget =
        database.query_gate().enter_at_once(floor_of_query(database.budget()));
    if (memory != 0) budget->set_query_limit(memory);
    const std::shared_ptr<Run> run(
        new Run(inputs, *shared, std::move(budget), std::move(plan)),
        [shared](Run* gone) { shared->calls.discard(std::unique_ptr<Guarded>(gone)); });
    run->host_.emplace(database.statement_host(), transaction, run->memory_);
    plan::StoredStatistics statistics(*run, [&inputs](std::string_view table) {
      return std::vector<std::shared_ptr<const Table>>{inputs.tables.find(table)->second->table};
    });
    run->plan_ = plan::planned(run->plan_, statistics);
    run->rows_of_tables_ = 0;
    auto query = plan::Query::make(run->plan_, *run, threads);
    if (!query) return std::unexpected(Failure(query.error()));
    run->query_ = *std::move(query);
    return run;
  }

  Result<const TableDefinition*> definition(std::string_view table) override {
    return &inputs_.tables.find(table)->second->table->definition();
  }
  Result<Scans> scan(std::string_view name, std::shared_ptr<const Predicate> predicate,
                     std::vector<uint16_t> columns) override {
    const std::shared_ptr<Table>& table = inputs_.tables.find(name)->second->table;
    // Operators look at a value that has a code once for each code.
    std::vector<bool> as_codes(columns.size(), true);
    Scans scans(std::make_unique<Scan>(table, *shared_.transaction, ReadLock::None, std::move(predicate),
                                       std::move(columns), std::move(as_codes)));
    scans.take_memory_from(memory_);
    // All scans see one moment, also those that are opened later.
    HAILSTONE_TRY(scans.begin());
    rows_of_tables_ += table->statistics().rows;
    return scans;
  }
  Result<std::unique_ptr<RowBatches>> host_rows(std::string_view name) override {
    return GivenStream::rows(inputs_.streams.find(name)->second, *host_);
  }
  const QueryHost& host() const override { return *host_; }

  plan::Query& query() { return *query_; }
  const plan::Query& query() const { return *query_; }
  const plan::Plan& plan() const { return plan_; }
  uint64_t rows_of_tables() const { return rows_of_tables_; }

 private:
  Run(Inputs inputs, SharedTransaction& shared, std::shared_ptr<MemoryBudget> memory, plan::Plan plan)
      : inputs_(std::move(inputs)), shared_(shared), memory_(std::move(memory)), plan_(std::move(plan)) {}

  const Inputs inputs_;
  SharedTransaction& shared_;
  const std::shared_ptr<MemoryBudget> memory_;
  plan::Plan plan_;
  std::optional<StatementHost> host_;
  uint64_t rows_of_tables_ = 0;
  std::unique_ptr<plan::Query> query_;
};

class QueriedRows final : public StreamedRows {
 public:
  QueriedRows(std::vector<ExportedColumn> columns, std::shared_ptr<Run> run)
      : StreamedRows(std::move(columns)), run_(std::move(run)) {}

 private:
  Returned<std::optional<RowBatch>> read() override {
    if (failed_) return std::unexpected(*failed_);
    const Result<const RowBatch*> next = run_->query().next();
    if (!next) {
      failed_ = Failure(next.error());
      return std::unexpected(*failed_);
    }
    if (*next == nullptr) return std::nullopt;
    return **next;
  }

  const std::shared_ptr<Run> run_;
  std::optional<Failure> failed_;  // there is nothing to be had any more
};

struct QueryHandle : OfTransaction {
  using Public = hs_query;
  static constexpr HandleKind its_kind = HandleKind::Query;
  QueryHandle(std::shared_ptr<SharedTransaction> transaction, plan::QueryBuilder begun, Inputs of)
      : OfTransaction(its_kind, std::move(transaction), nullptr),
        builder(std::move(begun)),
        inputs(std::move(of)) {}

  std::optional<plan::QueryBuilder> builder;  // nothing: another query has it
  Inputs inputs;
  unsigned threads = 2;
  uint64_t memory = 0;
  std::string explained;
  bool is_changed = true;  // since the last run

  /// That of the stream which was started last; null: it is gone.
  std::shared_ptr<Run> last_run() const {
    const MutexLock guard(mutex_);
    return run_.lock();
  }
  void set_run(const std::shared_ptr<Run>& run) {
    const MutexLock guard(mutex_);
    run_ = run;
  }

 private:
  mutable Mutex mutex_;
  std::weak_ptr<Run> run_ HAILSTONE_GUARDED_BY(mutex_);
};

Outcome outcome_of(const Status& status) {
  if (status) return {};
  return std::unexpected(Failure(status.error()));
}

/// The texts that were given.
Returned<std::vector<std::string_view>> texts_of(const char* const* texts, size_t count, const char* what) {
  if (texts == nullptr && count != 0) return refuse(HS_INVALID, fmt::format("the {} are NULL", what));
  std::vector<std::string_view> views;
  for (size_t i = 0; i < count; ++i) {
    if (texts[i] == nullptr)
      return refuse(HS_INVALID, fmt::format("number {} of the {} is NULL", i + 1, what));
    views.emplace_back(texts[i]);
  }
  return views;
}

/// An operation on a query's rows.
template <typename Work>
int operate(hs_query* given, Work&& work) noexcept {
  const Call<QueryHandle> query(given);
  if (!query) return HS_INVALID;
  return run_statement(*query, *query->shared, [&]() -> Outcome {
    if (!query->builder)
      return refuse(HS_INVALID, "the query has been joined or united with another one, which has its rows");
    return std::forward<Work>(work)(*query);
  });
}

/// The same, which changes what the query gives.
template <typename Work>
int change(hs_query* given, Work&& work) noexcept {
  return operate(given, [&](QueryHandle& query) -> Outcome {
    HAILSTONE_TRY(std::forward<Work>(work)(query));
    query.is_changed = true;
    return {};
  });
}

/// Another query of the same transaction, whose rows `work` uses up.
template <typename Work>
int combine(hs_query* given, hs_query* given_right, Work&& work) noexcept {
  const Pin<QueryHandle> right(given_right);
  return change(given, [&](QueryHandle& left) -> Outcome {
    if (!right) return refuse(HS_INVALID, "the other query is closed, or is none");
    if (&*right == &left || right->shared != left.shared || !right->builder)
      return refuse(HS_INVALID,
                    "the other query is this one, of another transaction, or used up by a query already");
    Inputs both = left.inputs;
    for (const auto& [name, table] : right->inputs.tables) {
      const auto [known, is_new] = both.tables.emplace(name, table);
      if (!is_new && known->second->table->id() != table->table->id())
        return refuse(HS_INVALID, fmt::format("table '{}' has been made anew between two queries", name));
    }
    for (const auto& [name, stream] : right->inputs.streams) {
      if (!both.streams.emplace(name, stream).second)
        return refuse(HS_INVALID, fmt::format("two Arrow streams have the name '{}'", name));
    }
    HAILSTONE_TRY(std::forward<Work>(work)(left, *right));
    left.inputs = std::move(both);
    right->builder.reset();
    right->inputs = {};
    return {};
  });
}

Returned<plan::Plan> plan_of(const QueryHandle& query) {
  HAILSTONE_ASSIGN(plan::Plan plan, returned(query.builder->plan()));
  HAILSTONE_TRY(outcome_of(plan::validate(plan)));
  return plan;
}

/// What stands behind the slash.
std::string last_name(const std::string& table) { return table.substr(table.find('/') + 1); }

Expression value_constant(const hs_value& value, const plan::Column& column) {
  switch (value.kind) {
    case HS_VALUE_INT:
      return Expression::constant(value.as.i);
    case HS_VALUE_UINT: {
      HugeInteger number;
      number.words[0] = value.as.u;
      return number.has_64_bits() ? Expression::constant(number.narrow()) : Expression::constant(number);
    }
    case HS_VALUE_DOUBLE:
      return Expression::constant(value.as.d);
    case HS_VALUE_BYTES:
      return Expression::constant(
          std::string(static_cast<const char*>(value.as.bytes.data), value.as.bytes.size));
    case HS_VALUE_NULL:
      break;
  }
  return Expression::null(plan::read(column)->values);
}

/// A kind and a type for each column of values that are given.
struct GivenValues {
  plan::Values values;
  std::vector<plan::NamedColumn> named;
};
Returned<GivenValues> given_values(const char* alias, std::span<const std::string_view> names,
                                   const hs_value* values, size_t rows, plan::ColumnIds& ids) {
  GivenValues given;
  for (size_t i = 0; i < names.size(); ++i) {
    const hs_value* first = nullptr;
    for (size_t row = 0; row < rows; ++row) {
      const hs_value& value = values[row * names.size() + i];
      if (value.kind == HS_VALUE_NULL) continue;
      if (first == nullptr) first = &value;
      if (value.kind != first->kind)
        return refuse(HS_INVALID, fmt::format("column '{}' has values of several kinds", names[i]));
    }
    if (first == nullptr || first->kind < HS_VALUE_NULL || first->kind > HS_VALUE_BYTES)
      return refuse(HS_INVALID, fmt::format("column '{}' has no value that is not NULL", names[i]));
    const hs_type type = first->kind == HS_VALUE_INT      ? HS_INT64
                         : first->kind == HS_VALUE_UINT   ? HS_UINT64
                         : first->kind == HS_VALUE_DOUBLE ? HS_DOUBLE
                                                          : HS_STRING;
    HAILSTONE_ASSIGN(const ColumnShape shape, shape_of_type(std::string(names[i]), type));
    HAILSTONE_ASSIGN(BaseColumns base, returned(base_columns({&shape, 1}, alias, ids)));
    given.values.columns.push_back(base.columns.front());
    given.named.push_back(std::move(base.named.front()));
  }
  for (size_t row = 0; row < rows; ++row) {
    auto& to = given.values.rows.emplace_back();
    for (size_t i = 0; i < names.size(); ++i) {
      const hs_value& value = values[row * names.size() + i];
      if (value.kind == HS_VALUE_BYTES && value.as.bytes.data == nullptr && value.as.bytes.size != 0)
        return refuse(HS_INVALID, fmt::format("the bytes of a value of column '{}' are NULL", names[i]));
      to.push_back(value_constant(value, given.values.columns[i]));
    }
  }
  return given;
}

Returned<std::shared_ptr<Run>> make_run(const QueryHandle& query) {
  HAILSTONE_ASSIGN(plan::Plan plan, plan_of(query));
  return Run::make(query.inputs, query.shared, std::move(plan), query.threads, query.memory);
}

/// What the last run has done, or, where the query has been changed since, what another one would do.
Returned<std::string> explain(const QueryHandle& query) {
  std::shared_ptr<Run> run = query.is_changed ? nullptr : query.last_run();
  if (run == nullptr) {
    HAILSTONE_ASSIGN(run, make_run(query));
  }
  return plan::explained(run->plan(), [&](const plan::Node& node) -> std::string {
    const OperatorCounts* const counts = run->query().counts(node);
    if (counts == nullptr || counts->threads() == 0) return {};
    return fmt::format(
        "rows in: {}; out: {}; {:.3f} ms, {:.3f} of them on one thread alone; threads: {}; bytes of memory: "
        "{}; of files: {}",
        counts->rows_in.load(), counts->rows_out.load(),
        static_cast<double>(counts->nanoseconds.load()) / 1e6,
        static_cast<double>(counts->alone.load()) / 1e6, counts->threads(), counts->most_memory.load(),
        counts->spilled.load());
  });
}

/// Makes a query of what `begin` gives.
struct Begun {
  plan::Plan plan;
  std::vector<plan::NamedColumn> columns;
  Inputs inputs;
};
template <typename Begin>
int begin_query(hs_transaction* given, hs_query** query, Begin&& begin) noexcept {
  const Call<TransactionHandle> transaction(given);
  if (!transaction) return HS_INVALID;
  SharedTransaction& shared = *transaction->shared;
  return run_statement(*transaction, shared, [&]() -> Outcome {
    std::shared_ptr<plan::ColumnIds> ids = shared.query_columns.lock();
    if (ids == nullptr) {
      ids = std::make_shared<plan::ColumnIds>();
      shared.query_columns = ids;
    }
    HAILSTONE_ASSIGN(Begun begun, std::forward<Begin>(begin)(shared, *ids));
    plan::QueryBuilder builder(std::move(ids), std::move(begun.plan), std::move(begun.columns));
    return give_out(
        std::make_unique<QueryHandle>(transaction->shared, std::move(builder), std::move(begun.inputs)),
        query);
  });
}

Returned<plan::JoinKind> kind_of(hs_join_kind kind) {
  switch (kind) {
    case HS_JOIN_INNER:
      return plan::JoinKind::Inner;
    case HS_JOIN_LEFT:
      return plan::JoinKind::Left;
    case HS_JOIN_SEMI:
      return plan::JoinKind::Semi;
    case HS_JOIN_ANTI:
      return plan::JoinKind::Anti;
  }
  return refuse(HS_INVALID, fmt::format("there is no kind of join {}", static_cast<int>(kind)));
}

}  // namespace

}  // namespace hailstone::capi

int hs_query_table(hs_transaction* transaction, hs_table* given_table, const char* alias, hs_query** query) {
  if (query == nullptr)
    return misuse<TransactionHandle>(transaction, "the place for the query's handle is NULL");
  *query = nullptr;
  const Pin<TableHandle> table(given_table);
  return begin_query(
      transaction, query, [&](SharedTransaction& shared, plan::ColumnIds& ids) -> Returned<Begun> {
        if (!table || &*table->database != &*shared.database)
          return refuse(HS_INVALID, "the table's handle is closed, or of another database");
        HAILSTONE_TRY(shared.check_read(*table->shape->table, ReadLock::None));
        const std::string& name = table->shape->name();
        HAILSTONE_ASSIGN(
            BaseColumns base,
            returned(base_columns(table->shape->columns, alias == nullptr ? last_name(name) : alias, ids)));
        return Begun{plan::make(plan::Scan{name, std::move(base.columns)}),
                     std::move(base.named),
                     {.tables = {{name, table->shape}}, .streams = {}}};
      });
}

int hs_query_arrow(hs_transaction* transaction, ArrowArrayStream* stream, const char* alias,
                   hs_query** query) {
  // It is the library's, whatever happens.
  Released<ArrowArrayStream> owned;
  if (stream != nullptr && stream->release != nullptr) {
    owned.structure = *stream;
    stream->release = nullptr;
  }
  if (query == nullptr)
    return misuse<TransactionHandle>(transaction, "the place for the query's handle is NULL");
  *query = nullptr;
  return begin_query(transaction, query, [&](SharedTransaction&, plan::ColumnIds& ids) -> Returned<Begun> {
    if (alias == nullptr) return refuse(HS_INVALID, "the Arrow stream's alias is NULL");
    HAILSTONE_ASSIGN(std::shared_ptr<GivenStream> given, GivenStream::take(&owned.structure, alias));
    HAILSTONE_ASSIGN(BaseColumns base, returned(base_columns(given->columns(), alias, ids)));
    return Begun{plan::make(plan::HostScan{alias, std::move(base.columns)}),
                 std::move(base.named),
                 {.tables = {}, .streams = {{alias, std::move(given)}}}};
  });
}

int hs_query_values(hs_transaction* transaction, const char* alias, const char* const* columns,
                    size_t column_count, const hs_value* values, size_t row_count, hs_query** query) {
  if (query == nullptr)
    return misuse<TransactionHandle>(transaction, "the place for the query's handle is NULL");
  *query = nullptr;
  return begin_query(transaction, query, [&](SharedTransaction&, plan::ColumnIds& ids) -> Returned<Begun> {
    if (alias == nullptr) return refuse(HS_INVALID, "the alias of the values is NULL");
    HAILSTONE_ASSIGN(const auto names, texts_of(columns, column_count, "columns"));
    if (names.empty() || row_count == 0 || values == nullptr)
      return refuse(HS_INVALID, "there are no values");
    HAILSTONE_ASSIGN(GivenValues given, given_values(alias, names, values, row_count, ids));
    return Begun{plan::make(std::move(given.values)), std::move(given.named), {}};
  });
}

void hs_query_close(hs_query* query) { close_handle<QueryHandle>(query); }

int hs_query_filter(hs_query* query, const char* condition, const hs_value* parameters,
                    size_t parameter_count) {
  return change(query, [&](QueryHandle& of) -> Outcome {
    if (condition == nullptr) return refuse(HS_INVALID, "the condition is NULL");
    HAILSTONE_ASSIGN(const Parameters given, parameters_of(parameters, parameter_count));
    return outcome_of(of.builder->filter(condition, given));
  });
}

int hs_query_project(hs_query* query, const char* const* items, size_t item_count, const hs_value* parameters,
                     size_t parameter_count) {
  return change(query, [&](QueryHandle& of) -> Outcome {
    HAILSTONE_ASSIGN(const auto texts, texts_of(items, item_count, "items"));
    HAILSTONE_ASSIGN(const Parameters given, parameters_of(parameters, parameter_count));
    return outcome_of(of.builder->project(texts, given));
  });
}

int hs_query_join(hs_query* query, hs_query* right, hs_join_kind kind, const char* condition,
                  const hs_value* parameters, size_t parameter_count) {
  return combine(query, right, [&](QueryHandle& left, QueryHandle& other) -> Outcome {
    HAILSTONE_ASSIGN(const plan::JoinKind join, kind_of(kind));
    HAILSTONE_ASSIGN(const Parameters given, parameters_of(parameters, parameter_count));
    return outcome_of(left.builder->join(*other.builder, join, condition == nullptr ? "" : condition, given));
  });
}

int hs_query_aggregate(hs_query* query, const char* const* keys, size_t key_count,
                       const char* const* aggregates, size_t aggregate_count, const hs_value* parameters,
                       size_t parameter_count) {
  return change(query, [&](QueryHandle& of) -> Outcome {
    HAILSTONE_ASSIGN(const auto key_texts, texts_of(keys, key_count, "keys"));
    HAILSTONE_ASSIGN(const auto texts, texts_of(aggregates, aggregate_count, "aggregates"));
    if (key_texts.empty() && texts.empty()) return refuse(HS_INVALID, "there are no keys and no aggregates");
    HAILSTONE_ASSIGN(const Parameters given, parameters_of(parameters, parameter_count));
    return outcome_of(of.builder->aggregate(key_texts, texts, given));
  });
}

int hs_query_distinct(hs_query* query) {
  return change(query, [](QueryHandle& of) { return outcome_of(of.builder->distinct()); });
}

int hs_query_sort(hs_query* query, const char* const* keys, size_t key_count, const hs_value* parameters,
                  size_t parameter_count) {
  return change(query, [&](QueryHandle& of) -> Outcome {
    HAILSTONE_ASSIGN(const auto texts, texts_of(keys, key_count, "keys"));
    HAILSTONE_ASSIGN(const Parameters given, parameters_of(parameters, parameter_count));
    return outcome_of(of.builder->sort(texts, given));
  });
}

int hs_query_limit(hs_query* query, uint64_t offset, uint64_t most) {
  return change(query, [&](QueryHandle& of) { return outcome_of(of.builder->limit(offset, most)); });
}

int hs_query_union(hs_query* query, hs_query* right) {
  return combine(query, right, [](QueryHandle& left, QueryHandle& other) {
    return outcome_of(left.builder->unite(*other.builder));
  });
}

int hs_query_threads(hs_query* query, unsigned threads) {
  return operate(query, [&](QueryHandle& of) -> Outcome {
    if (threads < 1 || threads > most_threads)
      return refuse(HS_INVALID,
                    fmt::format("a query works with 1 to {} threads, not {}", most_threads, threads));
    of.threads = threads;
    return {};
  });
}

int hs_query_memory(hs_query* query, uint64_t bytes) {
  return operate(query, [&](QueryHandle& of) -> Outcome {
    of.memory = bytes;
    return {};
  });
}

int hs_query_explain(hs_query* query, const char** text) {
  return operate(query, [&](QueryHandle& of) -> Outcome {
    if (text == nullptr) return refuse(HS_INVALID, "the place for the text is NULL");
    HAILSTONE_ASSIGN(of.explained, explain(of));
    *text = of.explained.c_str();
    return {};
  });
}

int hs_query_progress(hs_query* given, uint64_t* rows, uint64_t* rows_of_tables) {
  // Not in turn with the thread that reads the stream.
  const Pin<QueryHandle> query(given);
  if (!query) return HS_INVALID;
  return run(*query, [&]() -> Outcome {
    if (rows == nullptr || rows_of_tables == nullptr)
      return refuse(HS_INVALID, "a place for a number is NULL");
    const std::shared_ptr<Run> run = query->last_run();
    if (run == nullptr) return refuse(HS_INVALID, "no stream of the query is there");
    *rows = run->query().rows_read();
    *rows_of_tables = run->rows_of_tables();
    return {};
  });
}

int hs_query_stream(hs_query* query, ArrowArrayStream* stream) {
  if (stream != nullptr) *stream = {};
  return operate(query, [&](QueryHandle& of) -> Outcome {
    if (stream == nullptr) return refuse(HS_INVALID, "the place for the stream is NULL");
    HAILSTONE_ASSIGN(std::shared_ptr<Run> run, make_run(of));
    std::vector<ExportedColumn> columns = exported_columns(of.builder->columns(), run->plan()->columns);
    of.set_run(run);
    of.is_changed = false;
    return open_stream(of.shared, nullptr, std::make_unique<QueriedRows>(std::move(columns), std::move(run)),
                       stream);
  });
}

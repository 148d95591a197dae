// Scans: their columns and filter, streams of Arrow arrays, aggregates.
#include <fmt/format.h>

#include <limits>

#include "api/hailstone/arrow_stream.h"
#include "api/hailstone/predicate.h"
#include "api/hailstone/values.h"
#include "table/scans.h"

using namespace hailstone;
using namespace hailstone::capi;

namespace hailstone::capi {

namespace {

struct ScanHandle : OfTransaction {
  using Public = hs_scan;
  static constexpr HandleKind its_kind = HandleKind::Scan;
  ScanHandle(std::shared_ptr<SharedTransaction> reader, std::shared_ptr<const TableShape> read)
      : OfTransaction(its_kind, std::move(reader), std::move(read)) {}
  std::vector<uint16_t> columns;  // empty: all
  std::vector<bool> as_dictionary;
  std::shared_ptr<const Predicate> predicate;
  unsigned threads = 2;
  std::shared_ptr<std::vector<AggregateResult>> results;  // own the bytes given out last
};

constexpr unsigned most_threads = 64;

class ScannedRows final : public StreamedRows {
 public:
  ScannedRows(std::vector<ExportedColumn> exported, std::shared_ptr<Table> table, Transaction& transaction,
              std::shared_ptr<const Predicate> predicate, std::vector<uint16_t> columns,
              std::vector<bool> as_codes)
      : StreamedRows(std::move(exported)),
        scan_(std::move(table), transaction, ReadLock::None, std::move(predicate), std::move(columns),
              std::move(as_codes)) {}

 private:
  Returned<std::optional<RowBatch>> read() override {
    HAILSTONE_ASSIGN(const Batch* const batch, scan_.next());
    if (batch == nullptr) return std::nullopt;
    vectors_.clear();
    for (const ColumnVector& vector : batch->columns) vectors_.push_back(&vector);
    return RowBatch{.rows = batch->rows, .columns = vectors_};
  }

  Scan scan_;
  std::vector<const ColumnVector*> vectors_;
};

Outcome open_stream(const ScanHandle& scan, ArrowArrayStream* stream) {
  std::vector<uint16_t> columns = scan.columns;
  std::vector<bool> as_codes = scan.as_dictionary;
  if (columns.empty()) {
    columns = scan.shape->all_columns();
    as_codes.assign(columns.size(), false);
  }
  std::vector<ExportedColumn> exported;
  for (size_t i = 0; i < columns.size(); ++i)
    exported.push_back({.shape = scan.shape->columns[columns[i]], .as_dictionary = as_codes[i]});
  return open_stream(
      scan.shared, scan.shape,
      std::make_unique<ScannedRows>(std::move(exported), scan.shape->table, *scan.shared->transaction,
                                    scan.predicate, std::move(columns), std::move(as_codes)),
      stream);
}

Returned<Aggregate::Kind> kind_of(hs_aggregate_kind kind) {
  switch (kind) {
    case HS_COUNT_ROWS:
      return Aggregate::Kind::Rows;
    case HS_COUNT:
      return Aggregate::Kind::Values;
    case HS_MIN:
      return Aggregate::Kind::Minimum;
    case HS_MAX:
      return Aggregate::Kind::Maximum;
    case HS_SUM:
      return Aggregate::Kind::Sum;
  }
  return refuse(HS_INVALID, fmt::format("there is no aggregate {}", static_cast<int>(kind)));
}

Returned<hs_value> sum_value(const ColumnShape& column, const AggregateResult& result) {
  if (is_floating(column)) return hs_double(result.real_sum);
  if (result.integer_sum >= std::numeric_limits<int64_t>::min() &&
      result.integer_sum <= std::numeric_limits<int64_t>::max()) {
    return hs_int(static_cast<int64_t>(result.integer_sum));
  }
  if (result.integer_sum >= 0 && result.integer_sum <= WideInteger{std::numeric_limits<uint64_t>::max()}) {
    return hs_uint(static_cast<uint64_t>(result.integer_sum));
  }
  return refuse(HS_OUT_OF_RANGE,
                fmt::format("the sum of column '{}' does not fit into 64 bits", column.name));
}

/// The column of an aggregate other than HS_COUNT_ROWS.
Returned<hs_value> shown(const ColumnShape& column, hs_aggregate_kind kind, const AggregateResult& result) {
  if (kind == HS_COUNT) return hs_uint(result.count);
  if (result.count == 0) return hs_null();
  if (kind == HS_SUM) return sum_value(column, result);
  return from_engine(column, column.integer ? Value::of(result.integer) : Value::of(ByteView(result.bytes)));
}

Outcome aggregate(ScanHandle& scan, const hs_aggregate* aggregates, hs_value* results, size_t count) {
  std::vector<Aggregate> wanted;
  std::vector<uint16_t> columns;
  for (size_t i = 0; i < count; ++i) {
    HAILSTONE_ASSIGN(const Aggregate::Kind kind, kind_of(aggregates[i].kind));
    wanted.push_back({.kind = kind, .position = static_cast<uint16_t>(columns.size())});
    if (kind == Aggregate::Kind::Rows) continue;
    if (aggregates[i].column == nullptr) return refuse(HS_INVALID, "the column of an aggregate is NULL");
    HAILSTONE_ASSIGN(const uint16_t column, scan.shape->column(aggregates[i].column));
    if (kind == Aggregate::Kind::Sum && is_text(scan.shape->columns[column])) {
      return refuse(HS_INVALID,
                    fmt::format("column '{}' holds no numbers to be added", aggregates[i].column));
    }
    columns.push_back(column);
  }
  Scans scanned(std::make_unique<Scan>(scan.shape->table, *scan.shared->transaction, ReadLock::None,
                                       scan.predicate, columns));
  HAILSTONE_ASSIGN(auto aggregated, scanned.aggregate(wanted, scan.threads));
  scan.results = std::make_shared<std::vector<AggregateResult>>(std::move(aggregated));
  keep_for_this_thread(scan.results);
  const std::vector<AggregateResult>& computed = *scan.results;
  std::vector<hs_value> shown_results(count);
  for (size_t i = 0; i < count; ++i) {
    if (wanted[i].kind == Aggregate::Kind::Rows) {
      shown_results[i] = hs_uint(computed[i].count);
      continue;
    }
    const ColumnShape& column = scan.shape->columns[columns[wanted[i].position]];
    HAILSTONE_ASSIGN(shown_results[i], shown(column, aggregates[i].kind, computed[i]));
  }
  std::ranges::copy(shown_results, results);
  return {};
}

}  // namespace

}  // namespace hailstone::capi

int hs_scan_open(hs_transaction* given_transaction, hs_table* given_table, hs_scan** scan) {
  if (scan == nullptr) {
    return misuse<TransactionHandle>(given_transaction, "the place for the scan's handle is NULL");
  }
  *scan = nullptr;
  const Call<TransactionHandle> transaction(given_transaction);
  const Pin<TableHandle> table(given_table);
  if (!fit(transaction, table)) return misfit(transaction);
  SharedTransaction& shared = *transaction->shared;
  return run_statement(*transaction, shared, [&]() -> Outcome {
    HAILSTONE_TRY(shared.check_read(*table->shape->table, ReadLock::None));
    return give_out(std::make_unique<ScanHandle>(transaction->shared, table->shape), scan);
  });
}

void hs_scan_close(hs_scan* given_scan) { close_handle<ScanHandle>(given_scan); }

int hs_scan_column(hs_scan* given_scan, const char* column, int flags) {
  const Call<ScanHandle> scan(given_scan);
  if (!scan) return HS_INVALID;
  return run_statement(*scan, *scan->shared, [&]() -> Outcome {
    if (column == nullptr) return refuse(HS_INVALID, "the column's name is NULL");
    HAILSTONE_ASSIGN(const uint16_t found, scan->shape->column(column));
    const bool as_dictionary = flags == HS_AS_DICTIONARY;
    if ((flags != 0 && !as_dictionary) || (as_dictionary && !is_text(scan->shape->columns[found]))) {
      return refuse(HS_INVALID, fmt::format("column '{}' cannot be scanned with flags {}", column, flags));
    }
    scan->columns.push_back(found);
    scan->as_dictionary.push_back(as_dictionary);
    return {};
  });
}

int hs_scan_filter(hs_scan* given_scan, const hs_predicate* given_predicate) {
  const Call<ScanHandle> scan(given_scan);
  if (!scan) return HS_INVALID;
  return run_statement(*scan, *scan->shared, [&]() -> Outcome {
    if (given_predicate == nullptr) {
      scan->predicate = nullptr;
      return {};
    }
    const Pin<PredicateNode> predicate(given_predicate);
    if (!predicate) return refuse(HS_INVALID, "the predicate is not one, or was freed");
    HAILSTONE_ASSIGN(auto compiled, compile(*scan->shape, *predicate));
    scan->predicate = std::make_shared<const Predicate>(std::move(compiled));
    return {};
  });
}

int hs_scan_threads(hs_scan* given_scan, unsigned threads) {
  const Call<ScanHandle> scan(given_scan);
  if (!scan) return HS_INVALID;
  return run_statement(*scan, *scan->shared, [&]() -> Outcome {
    if (threads < 1 || threads > most_threads) {
      return refuse(HS_INVALID,
                    fmt::format("{} threads are not possible; give 1 to {}", threads, most_threads));
    }
    scan->threads = threads;
    return {};
  });
}

int hs_scan_stream(hs_scan* given_scan, ArrowArrayStream* stream) {
  if (stream == nullptr) return misuse<ScanHandle>(given_scan, "the place for the Arrow stream is NULL");
  *stream = {};
  const Call<ScanHandle> scan(given_scan);
  if (!scan) return HS_INVALID;
  return run_statement(*scan, *scan->shared, [&]() -> Outcome {
    HAILSTONE_TRY(scan->shared->check_table(*scan->shape->table, false));
    return open_stream(*scan, stream);
  });
}

int hs_scan_aggregate(hs_scan* given_scan, const hs_aggregate* aggregates, hs_value* results, size_t count) {
  const Call<ScanHandle> scan(given_scan);
  if (!scan) return HS_INVALID;
  return run_statement(*scan, *scan->shared, [&]() -> Outcome {
    if ((aggregates == nullptr || results == nullptr) && count > 0) {
      return refuse(HS_INVALID, "the aggregates or the place for their results are NULL");
    }
    HAILSTONE_TRY(scan->shared->check_table(*scan->shape->table, false));
    return aggregate(*scan, aggregates, results, count);
  });
}

int hs_scan_count(hs_scan* given_scan, uint64_t* rows) {
  if (rows == nullptr) return misuse<ScanHandle>(given_scan, "the place for the number of rows is NULL");
  const hs_aggregate all = {HS_COUNT_ROWS, nullptr};
  hs_value result = hs_null();
  const int status = hs_scan_aggregate(given_scan, &all, &result, 1);
  if (status == HS_OK) *rows = result.as.u;
  return status;
}

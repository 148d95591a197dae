// Scans: their columns and filter, streams of Arrow arrays, aggregates.
#include <fmt/format.h>

#include <cerrno>
#include <limits>

#include "api/hailstone/arrow_export.h"
#include "api/hailstone/predicate.h"
#include "api/hailstone/values.h"
#include "table/scans.h"

using namespace hailstone;
using namespace hailstone::capi;

struct hs_scan : Handle {
  hs_scan(std::shared_ptr<SharedTransaction> reader, std::shared_ptr<const TableShape> read)
      : Handle(HandleKind::Scan), shared(std::move(reader)), shape(std::move(read)) {}
  std::shared_ptr<SharedTransaction> shared;
  std::shared_ptr<const TableShape> shape;
  std::vector<uint16_t> columns;  // empty: all
  std::vector<bool> as_dictionary;
  std::shared_ptr<const Predicate> predicate;
  unsigned threads = 2;
  std::vector<AggregateResult> results;  // own the bytes given out last
};

namespace hailstone::capi {

namespace {

constexpr unsigned most_threads = 64;

/// What is behind an ArrowArrayStream.
class Stream {
 public:
  explicit Stream(const hs_scan& scan) : shared_(scan.shared), shape_(scan.shape) {
    std::vector<uint16_t> columns = scan.columns;
    std::vector<bool> as_codes = scan.as_dictionary;
    if (columns.empty()) {
      for (size_t i = 0; i < shape_->columns.size(); ++i) columns.push_back(static_cast<uint16_t>(i));
      as_codes.assign(columns.size(), false);
    }
    for (size_t i = 0; i < columns.size(); ++i) {
      exported_.push_back({shape_->columns[columns[i]], as_codes[i]});
    }
    builder_ = std::make_unique<ArrayBuilder>(exported_);
    scan_ = std::make_unique<Scan>(shape_->table, *shared_->transaction, ReadLock::None, scan.predicate,
                                   std::move(columns), std::move(as_codes));
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void fill(ArrowArrayStream* stream) {
    *stream = {};
    stream->get_schema = [](ArrowArrayStream* of, ArrowSchema* out) { return self(of).get_schema(out); };
    stream->get_next = [](ArrowArrayStream* of, ArrowArray* out) { return self(of).get_next(out); };
    stream->get_last_error = [](ArrowArrayStream* of) { return self(of).last_error(); };
    stream->release = [](ArrowArrayStream* of) {
      delete &self(of);
      of->release = nullptr;
    };
    stream->private_data = this;
  }

 private:
  static Stream& self(ArrowArrayStream* stream) { return *static_cast<Stream*>(stream->private_data); }

  /// The interface wants numbers of errno.
  static int error_number(int status) {
    switch (status) {
      case HS_OK:
        return 0;
      case HS_NO_MEMORY:
        return ENOMEM;
      case HS_INTERRUPTED:
        return ECANCELED;
      case HS_CORRUPT:
      case HS_IO:
        return EIO;
      default:
        return EINVAL;
    }
  }

  int get_schema(ArrowSchema* out) {
    return error_number(run(error_, [&]() -> Outcome {
      export_schema(exported_, out);
      return {};
    }));
  }

  int get_next(ArrowArray* out) {
    *out = {};
    return error_number(run_statement(error_, *shared_, [&]() -> Outcome {
      for (;;) {
        if (batch_ == nullptr || taken_ == batch_->rows) {
          if (!ended_) {
            HAILSTONE_ASSIGN(batch_, scan_->next());
          }
          ended_ = batch_ == nullptr;
          taken_ = 0;
          if (ended_) break;
        }
        const uint32_t took = builder_->append(*batch_, taken_);
        if (took == 0) break;
        taken_ += took;
      }
      // Released, as it is zeroed: the end.
      if (builder_->rows() > 0) builder_->finish(out);
      return {};
    }));
  }

  const char* last_error() const { return error_.message.c_str(); }

  const std::shared_ptr<SharedTransaction> shared_;
  const std::shared_ptr<const TableShape> shape_;
  std::vector<ExportedColumn> exported_;
  std::unique_ptr<ArrayBuilder> builder_;
  std::unique_ptr<Scan> scan_;
  const Batch* batch_ = nullptr;
  uint32_t taken_ = 0;  // rows of the batch that are in the builder or given out
  bool ended_ = false;
  Handle error_{HandleKind::Scan};
};

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

Outcome aggregate(hs_scan& scan, const hs_aggregate* aggregates, hs_value* results, size_t count) {
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
  HAILSTONE_ASSIGN(scan.results, scanned.aggregate(wanted, scan.threads));
  std::vector<hs_value> shown_results(count);
  for (size_t i = 0; i < count; ++i) {
    if (wanted[i].kind == Aggregate::Kind::Rows) {
      shown_results[i] = hs_uint(scan.results[i].count);
      continue;
    }
    const ColumnShape& column = scan.shape->columns[columns[wanted[i].position]];
    HAILSTONE_ASSIGN(shown_results[i], shown(column, aggregates[i].kind, scan.results[i]));
  }
  std::ranges::copy(shown_results, results);
  return {};
}

}  // namespace

}  // namespace hailstone::capi

int hs_scan_open(hs_transaction* transaction, hs_table* table, hs_scan** scan) {
  if (scan == nullptr) return misuse(transaction, "the place for the scan's handle is NULL");
  *scan = nullptr;
  if (!fit(transaction, table)) return misfit(transaction);
  SharedTransaction& shared = *transaction->shared;
  return run_statement(*transaction, shared, [&]() -> Outcome {
    HAILSTONE_TRY(shared.check_read(*table->shape->table, ReadLock::None));
    *scan = new hs_scan(transaction->shared, table->shape);
    return {};
  });
}

void hs_scan_close(hs_scan* scan) {
  if (is_live(scan, HandleKind::Scan)) delete scan;
}

int hs_scan_column(hs_scan* scan, const char* column, int flags) {
  if (!is_live(scan, HandleKind::Scan)) return HS_INVALID;
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

int hs_scan_filter(hs_scan* scan, const hs_predicate* predicate) {
  if (!is_live(scan, HandleKind::Scan)) return HS_INVALID;
  return run_statement(*scan, *scan->shared, [&]() -> Outcome {
    if (predicate == nullptr) {
      scan->predicate = nullptr;
      return {};
    }
    if (!is_live(predicate, HandleKind::Predicate)) {
      return refuse(HS_INVALID, "the predicate is not one, or was freed");
    }
    HAILSTONE_ASSIGN(auto compiled, compile(*scan->shape, *predicate));
    scan->predicate = std::make_shared<const Predicate>(std::move(compiled));
    return {};
  });
}

int hs_scan_threads(hs_scan* scan, unsigned threads) {
  if (!is_live(scan, HandleKind::Scan)) return HS_INVALID;
  return run_statement(*scan, *scan->shared, [&]() -> Outcome {
    if (threads < 1 || threads > most_threads) {
      return refuse(HS_INVALID,
                    fmt::format("{} threads are not possible; give 1 to {}", threads, most_threads));
    }
    scan->threads = threads;
    return {};
  });
}

int hs_scan_stream(hs_scan* scan, ArrowArrayStream* stream) {
  if (stream == nullptr) return misuse(scan, HandleKind::Scan, "the place for the Arrow stream is NULL");
  *stream = {};
  if (!is_live(scan, HandleKind::Scan)) return HS_INVALID;
  return run_statement(*scan, *scan->shared, [&]() -> Outcome {
    HAILSTONE_TRY(scan->shared->check_table(*scan->shape->table, false));
    (new Stream(*scan))->fill(stream);
    return {};
  });
}

int hs_scan_aggregate(hs_scan* scan, const hs_aggregate* aggregates, hs_value* results, size_t count) {
  if (!is_live(scan, HandleKind::Scan)) return HS_INVALID;
  return run_statement(*scan, *scan->shared, [&]() -> Outcome {
    if ((aggregates == nullptr || results == nullptr) && count > 0) {
      return refuse(HS_INVALID, "the aggregates or the place for their results are NULL");
    }
    HAILSTONE_TRY(scan->shared->check_table(*scan->shape->table, false));
    return aggregate(*scan, aggregates, results, count);
  });
}

int hs_scan_count(hs_scan* scan, uint64_t* rows) {
  if (rows == nullptr) return misuse(scan, HandleKind::Scan, "the place for the number of rows is NULL");
  const hs_aggregate all = {HS_COUNT_ROWS, nullptr};
  hs_value result = hs_null();
  const int status = hs_scan_aggregate(scan, &all, &result, 1);
  if (status == HS_OK) *rows = result.as.u;
  return status;
}

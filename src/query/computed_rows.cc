#include "query/computed_rows.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"
#include "query/aside_rows.h"
#include "query/pipeline.h"
#include "schema/ordered_wide.h"
#include "table/helpers.h"

namespace hailstone {

namespace {

/// An Integer register's values as those of a column of ordered bytes.
void store_bytes(const Computed& from, uint32_t rows, uint32_t width, ColumnVector& to, Arena& bytes) {
  to.bytes.assign(rows, {});
  char* at = bytes.allocate(static_cast<size_t>(rows) * width);
  for (uint32_t row = 0; row < rows; ++row, at += width) {
    if (from.is_null(row)) continue;
    const HugeInteger number = from.number(row);
    if (width == sizeof(WideInteger)) {
      order_wide(number.wide(), at);
    } else {
      order_huge(number, at);
    }
    to.bytes[row] = {at, width};
  }
}

/// A register's values as those of a column. `bytes` gets those of numbers.
void store(const Computed& from, const ScanColumn& column, uint32_t rows, ColumnVector& to, Arena& bytes) {
  to.any_nulls = from.any_nulls;
  if (from.any_nulls) to.nulls.assign(from.nulls.begin(), from.nulls.begin() + rows);
  if (from.kind == ValueKind::Text) {
    to.bytes.assign(from.texts.begin(), from.texts.begin() + rows);
    return;
  }
  if (!column.integer) return store_bytes(from, rows, column.width, to, bytes);
  to.integers.resize(rows);
  if (from.kind == ValueKind::Real) {
    // A reader of ordered numbers takes the two zeros for two values.
    for (uint32_t row = 0; row < rows; ++row) to.integers[row] = order_double(from.reals[row] + 0.0);
  } else if (column.type == Type::Unsigned) {
    for (uint32_t row = 0; row < rows; ++row) to.integers[row] = from.number(row).words[0];
  } else {
    for (uint32_t row = 0; row < rows; ++row)
      to.integers[row] = order_signed(from.integers[row], sizeof(int64_t));
    to.bytes.clear();
    if (!from.any_huge) return;
    to.bytes.resize(rows);
    for (uint32_t row = 0; row < rows; ++row) {
      if (!from.is_huge(row) || from.is_null(row)) continue;
      char* const at = bytes.allocate(sizeof(HugeInteger));
      order_huge(from.huge[row], at);
      to.bytes[row] = {at, sizeof(HugeInteger)};
    }
  }
}

/// Whether a number of a register is one of the column.
bool is_of_column(const HugeInteger& number, const ScanColumn& column) {
  if (!column.integer) return column.width == sizeof(HugeInteger) || number.has_128_bits();
  if (column.type == Type::Unsigned) return (number.words[1] | number.words[2] | number.words[3]) == 0;
  return column.may_be_huge || number.has_64_bits();
}

/// Calls take(row, failure) for the first so many rows that have one; mostly few do.
template <typename Take>
void each_failure(std::span<const Failure> failures, uint32_t rows, const Take& take) {
  uint64_t word = 0;
  for (uint32_t row = 0; row < rows;) {
    if (row + sizeof word <= rows) {
      std::memcpy(&word, failures.data() + row, sizeof word);
      if (word == 0) {
        row += sizeof word;
        continue;
      }
    }
    if (failures[row] != 0) take(row, failures[row]);
    ++row;
  }
}

std::vector<Program::Register> registers(const std::vector<Computation::Column>& columns) {
  std::vector<Program::Register> all;
  for (const Computation::Column& column : columns) {
    if (column.result != Program::none) all.push_back(column.result);
  }
  return all;
}

}  // namespace

Computation::Column Computation::Column::of(const Program& program, Program::Register result) {
  const bool real = program.kind(result) == ValueKind::Real;
  return {.type = {.integer = true, .type = real ? Type::Double : Type::Signed, .width = sizeof(int64_t)},
          .result = result};
}

/// The rows that are put aside, once there are any, by threads that share it.
struct ComputedRows::Aside {
  Aside(const ComputedRows& all, unsigned used) : rows(all), threads(used), by_thread(used) {}

  /// What each thread has done by itself.
  struct OfThread {
    bool any = false;
    uint64_t warning = 0;   // rows put aside that warn for sure
    uint64_t warnings = 0;  // of rows that were not put aside
  };

  Status add(unsigned part, const RowBatch& batch, std::span<const uint16_t> chosen) {
    if (!std::exchange(by_thread[part].any, true)) HAILSTONE_TRY(make_kept(batch));
    return kept->add(part, batch, chosen, [this, part] { return rows.host().go_on(part); });
  }

  const ComputedRows& rows;
  const unsigned threads;
  std::vector<OfThread> by_thread;
  std::unique_ptr<AsideRows> kept;

 private:
  /// The first row tells which columns batches have.
  Status make_kept(const RowBatch& batch) {
    const MutexLock guard(mutex_);
    if (kept != nullptr) return {};
    std::vector<AsideRows::Column> columns;
    for (size_t i = 0; i < batch.columns.size(); ++i) {
      if (batch.columns[i] == nullptr) continue;
      // Behind the source's own there are places.
      ScanColumn column{.integer = true, .type = Type::Unsigned, .width = sizeof(uint64_t)};
      if (i < rows.source_columns_) {
        HAILSTONE_ASSIGN(column, rows.source_->column(i));
      }
      columns.push_back({.position = static_cast<uint16_t>(i), .column = column});
    }
    kept = std::make_unique<AsideRows>(
        rows.host(), std::move(columns), batch.columns.size(), threads,
        rows.counts_.filter != nullptr ? rows.counts_.filter : rows.counts_.compute);
    return {};
  }
  Mutex mutex_;
};

/// What one thread computes.
class ComputedRows::Worker {
 public:
  Worker(const ComputedRows& rows, const Computation& computation, const RowCounts& counts, unsigned part = 0)
      : computation_(computation),
        counts_(counts),
        part_(part),
        host_(part == 0 || computation.host == nullptr ? computation.host
                                                       : computation.host->for_another_thread()),
        has_places_(rows.has_places_) {
    if (computation_.conditions != nullptr)
      conditions_.emplace(computation_.conditions, std::vector{computation_.passes});
    if (computation_.values != nullptr) values_.emplace(computation_.values, registers(computation_.columns));
    kept_.resize(rows.source_columns_ + (has_places_ ? 1 : 0));
    computed_.resize(computation_.columns.size());
    for (size_t i = 0; i < computed_.size(); ++i) {
      if (computation_.columns[i].result == Program::none) of_host_.push_back(i);
    }
    host_values_.resize(of_host_.size());
    all_values_.resize(computed_.size());
  }

  /// The rows of the batch that are left when the program's conditions have been looked at: those that pass,
  /// and those that have a failure, of which the fallback is to be asked (failures_). There may be none.
  Status filter(const RowBatch& batch, Aside* aside, RowBatch& rows) {
    begin(batch, rows);
    if (!conditions_) return {};
    const OperatorWork work(counts_.filter, part_);
    conditions_->run(rows);
    const Computed& passes = conditions_->result(computation_.passes);
    const bool any_failures = has_failures(passes, rows.rows);
    if (any_failures && computation_.fallback == nullptr) return not_computed();
    find_true_rows(passes, rows.rows, chosen_);
    if (any_failures && (aside == nullptr || !counts_only(passes.failures, rows.rows, *aside)))
      keep_failures(passes, rows.rows);
    keep_chosen(rows);
    // Those that have a failure are counted when it is known whether they pass.
    work.add_rows(batch.rows, rows.rows - static_cast<uint64_t>(std::ranges::count_if(
                                              failures_, [](Failure failure) { return failure != 0; })));
    return {};
  }

  /// Which rows of a batch have a failure in their condition.
  void find_failed_conditions(const RowBatch& batch, std::vector<uint8_t>& failed) {
    failed.assign(batch.rows, 0);
    if (!conditions_) return;
    conditions_->run(batch);
    const Computed& passes = conditions_->result(computation_.passes);
    for (uint32_t row = 0; row < batch.rows; ++row) failed[row] = passes.failure(row) != 0 ? 1 : 0;
  }

  /// Goes on from `row` to the first of the rows that filter() has left for which the conditions of the host
  /// or the fallback hold. False: there is none.
  Result<bool> find(const RowBatch& rows, uint32_t& row) {
    if (host_ == nullptr && failures_.empty()) return row != rows.rows;
    const OperatorWork work(counts_of_asked(), part_);
    for (; row != rows.rows; ++row) {
      HAILSTONE_ASSIGN(const bool passes, ask_of(rows, row, work));
      if (passes) return true;
    }
    return false;
  }

  /// Of the rows that the host was asked of last: those that passed.
  std::span<const uint16_t> chosen() const { return chosen_; }

  /// The rows that pass, with what is computed of them; there may be none. `aside` gets those that have
  /// failures; null: the fallback is asked at once.
  Status compute(const RowBatch& batch, Aside* aside, RowBatch& rows) {
    HAILSTONE_TRY(filter(batch, aside, rows));
    if (values_ && rows.rows != 0) {
      const OperatorWork work(counts_.compute, part_);
      HAILSTONE_TRY(compute_values(rows, aside));
    }
    const uint32_t computed_of = rows.rows;
    uint64_t failed = 0;  // rows that were put aside by their columns
    if (aside != nullptr && !failures_.empty()) {
      HAILSTONE_ASSIGN(failed, put_aside(rows, *aside));
    }
    if (rows.rows != 0 && (host_ != nullptr || !failures_.empty())) {
      HAILSTONE_TRY(ask_caller([&] { return ask(rows); }));
    } else {
      replaced_.clear();
    }
    if (values_) {
      const OperatorWork work(counts_.compute, part_);
      work.add_rows(rows.rows + (aside != nullptr && host_ == nullptr ? failed : 0), rows.rows);
      if (rows.rows != computed_of && rows.rows != 0) values_->run(rows);
    }
    if (rows.rows != 0) add_computed(rows);
    return {};
  }

 private:
  void begin(const RowBatch& batch, RowBatch& rows) {
    columns_.assign(batch.columns.begin(), batch.columns.end());
    rows = {.rows = batch.rows, .columns = columns_, .order = batch.order};
    failures_.clear();
    host_begins_ = fallback_begins_ = true;
  }

  /// The error of a failure that ends the run, which has_failed gets to know.
  std::unexpected<Error> not_computed() const {
    if (computation_.has_failed != nullptr) computation_.has_failed->store(true, std::memory_order_relaxed);
    return hailstone::not_computed();
  }

  void keep_chosen(RowBatch& rows) {
    if (chosen_.size() == rows.rows) return;
    // A batch that has been narrowed before is narrowed in place: the chosen rows are in order.
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i] == nullptr) continue;
      choose_rows(*columns_[i], chosen_, spare_);
      std::swap(kept_[i], spare_);
      columns_[i] = &kept_[i];
    }
    rows.rows = static_cast<uint32_t>(chosen_.size());
    rows.columns = columns_;
  }

  /// Adds to chosen_ the rows whose condition has a failure; failures_ gets those of all that are chosen.
  void keep_failures(const Computed& passes, uint32_t rows) {
    std::swap(passing_, chosen_);
    chosen_.clear();
    passed_.clear();
    counted_.clear();
    auto next = passing_.begin();
    for (uint32_t row = 0; row < rows; ++row) {
      const bool passed = next != passing_.end() && *next == row;
      if (passed) ++next;
      const Failure failure = passes.failures[row];
      if (!passed && failure == 0) continue;
      chosen_.push_back(static_cast<uint16_t>(row));
      failures_.push_back(failure);
      passed_.push_back(passed ? 1 : 0);
      counted_.push_back(failure == 0 ? 1 : 0);
    }
  }

  /// Whether the server need not be asked of any of the rows: enough were told of, and all failures are
  /// warnings, which are counted then. Each row has the value that it has.
  bool counts_only(std::span<const Failure> failures, uint32_t rows, Aside& aside) const {
    if (!has_told_all(aside) || has_unknown(failures.data(), rows)) return false;
    count_warnings(failures.data(), rows, aside);
    return true;
  }
  /// Whether rows that warn for sure need not be put aside any more.
  bool has_told_all(const Aside& aside) const {
    return aside.by_thread[part_].warning >= computation_.fallback->most_told();
  }
  static bool has_unknown(const Failure* failures, uint32_t rows) {
    Failure all = 0;
    for (uint32_t row = 0; row < rows; ++row) all |= failures[row];
    return all > most_warnings;
  }
  void count_warnings(const Failure* failures, uint32_t rows, Aside& aside) const {
    uint64_t warnings = 0;
    for (uint32_t row = 0; row < rows; ++row) warnings += failures[row];
    aside.by_thread[part_].warnings += warnings;
  }

  /// The same of the columns' program, of rows that all pass.
  bool counts_only_columns(uint32_t rows, Aside& aside) const {
    if (!has_told_all(aside)) return false;
    const auto each_value = [&](const auto& holds) {
      return std::ranges::all_of(computation_.columns, [&](const Computation::Column& column) {
        return column.result == Program::none || holds(values_->result(column.result), column.type);
      });
    };
    const bool are_known = each_value([&](const Computed& value, const ScanColumn& column) {
      const bool any_unknown = value.any_failures && has_unknown(value.failures.data(), rows);
      return !any_unknown && !may_leave_column(value, column, rows);
    });
    if (!are_known) return false;
    return each_value([&](const Computed& value, const ScanColumn&) {
      if (value.any_failures) count_warnings(value.failures.data(), rows, aside);
      return true;
    });
  }

  /// Divides the rows, of which failures_ tells, and whether they have passed otherwise passed_. How many are
  /// aside that are counted among those that pass.
  Result<uint64_t> put_aside(RowBatch& rows, Aside& aside) {
    Aside::OfThread& own = aside.by_thread[part_];
    const uint64_t most = computation_.fallback->most_told();
    const bool all_pass = std::ranges::find(passed_, 0) == passed_.end();
    if (all_pass && counts_only(failures_, rows.rows, aside)) {
      failures_.clear();
      return 0;
    }
    uint64_t counted = 0;
    chosen_.clear();
    aside_.clear();
    for (uint32_t row = 0; row < rows.rows; ++row) {
      const Failure failure = failures_[row];
      if (failure == 0) {
        chosen_.push_back(static_cast<uint16_t>(row));
      } else if (failure <= most_warnings && own.warning >= most) {
        own.warnings += failure;
        if (passed_[row] != 0) chosen_.push_back(static_cast<uint16_t>(row));
      } else {
        aside_.push_back(static_cast<uint16_t>(row));
        own.warning += failure <= most_warnings ? 1 : 0;
        counted += counted_[row];
      }
    }
    failures_.clear();
    if (!aside_.empty()) HAILSTONE_TRY(aside.add(part_, rows, aside_));
    keep_chosen(rows);
    return counted;
  }

  /// Whether the row passes. Its columns are left in host_values_, or in all_values_ where the row has a
  /// failure and the fallback was asked.
  Result<bool> ask_of(const RowBatch& rows, uint32_t row, const OperatorWork& work) {
    if (!is_failed(row)) {
      if (host_ == nullptr) return true;
      HAILSTONE_ASSIGN(const bool passes,
                       host_->compute(rows, row, std::exchange(host_begins_, false), host_values_));
      work.add_rows(1, passes ? 1 : 0);
      return passes;
    }
    HAILSTONE_ASSIGN(const bool passes, computation_.fallback->compute(
                                            rows, row, std::exchange(fallback_begins_, false), all_values_));
    const bool is_counted = counted_[row] != 0;
    if (!is_counted && counts_.filter != nullptr) counts_.filter->add_rows(0, passes ? 1 : 0);
    if (host_ != nullptr) work.add_rows(is_counted || passes ? 1 : 0, passes ? 1 : 0);
    return passes;
  }
  /// Where rows are counted of which the host or the fallback is asked.
  OperatorCounts* counts_of_asked() const { return host_ != nullptr ? counts_.host : counts_.filter; }
  bool is_failed(uint32_t row) const { return !failures_.empty() && failures_[row] != 0; }

  /// Leaves the rows that pass, with the host's columns. replaced_ gets those whose columns are all the
  /// fallback's.
  Status ask(RowBatch& rows) {
    const OperatorWork work(counts_of_asked(), part_);
    chosen_.clear();
    replaced_.clear();
    replacements_.clear();
    for (const size_t i : of_host_) {
      ColumnVector& column = computed_[i];
      column.integers.assign(computation_.columns[i].type.integer ? rows.rows : 0, 0);
      column.bytes.assign(computation_.columns[i].type.integer ? 0 : rows.rows, {});
      column.any_nulls = false;
    }
    for (uint32_t row = 0; row < rows.rows; ++row) {
      HAILSTONE_ASSIGN(const bool passes, ask_of(rows, row, work));
      if (!passes) continue;
      const auto place = static_cast<uint32_t>(chosen_.size());
      chosen_.push_back(static_cast<uint16_t>(row));
      const bool failed = is_failed(row);
      if (failed) {
        replaced_.push_back(place);
        replacements_.insert(replacements_.end(), all_values_.begin(), all_values_.end());
      }
      for (size_t i = 0; i < of_host_.size(); ++i)
        put(failed ? all_values_[of_host_[i]] : host_values_[i], of_host_[i], place, rows.rows);
    }
    for (const size_t i : of_host_) {
      ColumnVector& column = computed_[i];
      if (!column.integers.empty()) column.integers.resize(chosen_.size());
      if (!column.bytes.empty()) column.bytes.resize(chosen_.size());
      if (column.any_nulls) column.nulls.resize(chosen_.size());
    }
    failures_.clear();
    keep_chosen(rows);
    return {};
  }

  /// Makes the value that of a row, in the computed column `number` of so many rows.
  void put(const Value& value, size_t number, uint32_t row, uint32_t rows) {
    const ScanColumn& type = computation_.columns[number].type;
    ColumnVector& column = computed_[number];
    if (type.integer) column.integers[row] = value.integer;
    if (type.may_be_huge && !value.bytes.empty() && column.bytes.empty()) column.bytes.resize(rows);
    if (!type.integer || !column.bytes.empty()) column.bytes[row] = value.bytes;
    if (value.null && !std::exchange(column.any_nulls, true)) column.nulls.assign(rows, 0);
    if (column.any_nulls) column.nulls[row] = value.null ? 1 : 0;
  }

  /// Runs the program of the columns, and adds its failures to failures_. Rows that do not pass get none.
  Status compute_values(const RowBatch& rows, Aside* aside) {
    values_->run(rows);
    bytes_.clear();
    const bool may_count = failures_.empty() && aside != nullptr && computation_.fallback != nullptr;
    if (may_count && counts_only_columns(rows.rows, *aside)) return {};
    for (const auto& column : computation_.columns) {
      if (column.result == Program::none) continue;
      const Computed& value = values_->result(column.result);
      const bool may_leave = may_leave_column(value, column.type, rows.rows);
      if (!has_failures(value, rows.rows) && !may_leave) continue;
      if (failures_.empty()) {
        failures_.assign(rows.rows, Failure{0});
        passed_.assign(rows.rows, 1);
        counted_.assign(rows.rows, 1);
      }
      const auto add = [&](uint32_t row, Failure failure) {
        if (passed_[row] != 0) failures_[row] = both_failures(failures_[row], failure);
      };
      if (value.any_failures) each_failure(value.failures, rows.rows, add);
      for (uint32_t row = 0; may_leave && row < rows.rows; ++row) {
        if (!value.is_null(row) && !is_of_column(value.number(row), column.type)) add(row, unknown_value);
      }
    }
    if (std::ranges::none_of(failures_, [](Failure failure) { return failure != 0; })) failures_.clear();
    if (!failures_.empty() && computation_.fallback == nullptr) return not_computed();
    return {};
  }

  /// Whether one of the first so many numbers may be none of the column.
  static bool may_leave_column(const Computed& value, const ScanColumn& column, uint32_t rows) {
    if (value.any_huge) return true;
    if (value.kind != ValueKind::Integer || !column.integer || column.type != Type::Unsigned) return false;
    const auto numbers = std::span(value.integers).first(rows);
    return std::accumulate(numbers.begin(), numbers.end(), int64_t{0}, std::bit_or()) < 0;
  }

  /// Puts what is computed behind the source's columns.
  void add_computed(RowBatch& rows) {
    const ColumnVector* const places = has_places_ ? columns_.back() : nullptr;
    if (has_places_) columns_.pop_back();
    for (size_t i = 0; i < computed_.size(); ++i) {
      const auto& column = computation_.columns[i];
      if (column.result != Program::none) {
        store(values_->result(column.result), column.type, rows.rows, computed_[i], bytes_);
        for (size_t k = 0; k < replaced_.size(); ++k)
          put(replacements_[k * computed_.size() + i], i, replaced_[k], rows.rows);
      }
      columns_.push_back(&computed_[i]);
    }
    if (has_places_) columns_.push_back(places);
    rows.columns = columns_;
  }

  const Computation& computation_;
  const RowCounts counts_;
  const unsigned part_;
  const std::shared_ptr<HostExpressions> host_;
  const bool has_places_;
  std::optional<Evaluator> conditions_, values_;
  std::vector<const ColumnVector*> columns_;  // of the rows at hand
  std::vector<ColumnVector> kept_;            // the source's columns, of the rows that passed
  std::vector<ColumnVector> computed_;
  std::vector<size_t> of_host_;  // places in computed_
  ColumnVector spare_;
  std::vector<uint16_t> chosen_, passing_, aside_;
  // Of the rows at hand; failures_ empty: there are none.
  std::vector<Failure> failures_;
  std::vector<uint8_t> passed_;                       // whether they pass with the values that they have
  std::vector<uint8_t> counted_;                      // whether they are counted among those that pass
  bool host_begins_ = true, fallback_begins_ = true;  // are yet to be asked of the batch
  std::vector<Value> host_values_, all_values_;
  std::vector<uint32_t> replaced_;
  std::vector<Value> replacements_;  // of each of these, one for each of computed_
  Arena bytes_;                      // of numbers in computed_
};

/// The rows that have been put aside, once all others have been taken: all that is computed of them is the
/// fallback's.
struct ComputedRows::Late {
  explicit Late(const ComputedRows& all)
      : rows(all),
        by_fallback(computed_by_fallback(all.computation_)),
        programs(all, all.computation_, {}),
        worker(all, by_fallback, {}) {}

  static Computation computed_by_fallback(const Computation& computation) {
    Computation all{.columns = computation.columns, .host = computation.fallback};
    for (Computation::Column& column : all.columns) column.result = Program::none;
    return all;
  }

  /// Leaves those that pass; there may be none.
  Status compute(const RowBatch& batch, RowBatch& passing) {
    programs.find_failed_conditions(batch, of_condition);
    HAILSTONE_TRY(worker.compute(batch, nullptr, passing));
    uint64_t passed = 0;
    for (const uint16_t row : worker.chosen()) passed += of_condition[row];
    // Others have been counted as what passes the conditions, and where a host is not asked first, too, as
    // what is computed.
    const auto others = static_cast<uint64_t>(std::ranges::count(of_condition, 0));
    const bool has_host = rows.computation_.host != nullptr;
    const RowCounts& counts = rows.counts_;
    if (counts.filter != nullptr) counts.filter->add_rows(0, passed);
    if (has_host && counts.host != nullptr) counts.host->add_rows(passed + others, passing.rows);
    if (counts.compute != nullptr) counts.compute->add_rows(has_host ? passing.rows : passed, passing.rows);
    return {};
  }

  const ComputedRows& rows;
  const Computation by_fallback;
  Worker programs, worker;
  std::vector<uint8_t> of_condition;  // rows that failed there
};

class ComputedRows::Go final : public Step {
 public:
  Go(const ComputedRows& rows, unsigned threads, bool is_pulled)
      : rows_(rows), puts_aside_(!is_pulled && !rows.asks_in_order()), aside_(rows, threads) {
    for (unsigned i = 0; i < threads; ++i) parts_.emplace_back(*this, i);
  }

  Step::Worker& worker(unsigned part) override { return parts_[part]; }

  /// One round, of the rows that are aside.
  Result<unsigned> begin_round() override {
    if (aside_.kept != nullptr && late_ == nullptr) {
      late_ = std::make_unique<Late>(rows_);
      return 1;
    }
    uint64_t warnings = 0;
    for (const Aside::OfThread& own : aside_.by_thread) warnings += own.warnings;
    if (warnings != 0) rows_.computation_.fallback->count_warnings(warnings);
    return 0;
  }

 private:
  struct Part final : Step::Worker {
    Part(Go& all, unsigned number)
        : go(all), worker(all.rows_, all.rows_.computation_, all.rows_.counts_, number) {}
    Status begin(const RowBatch& batch) override {
      is_given = false;
      return worker.compute(batch, go.puts_aside_ ? &go.aside_ : nullptr, rows);
    }
    Result<const RowBatch*> next() override {
      return rows.rows == 0 || std::exchange(is_given, true) ? nullptr : &rows;
    }
    Result<bool> begin_late() override {
      HAILSTONE_ASSIGN(const RowBatch* const batch, go.aside_.kept->next());
      if (batch == nullptr) return false;
      is_given = false;
      HAILSTONE_TRY(go.late_->compute(*batch, rows));
      return true;
    }

    Go& go;
    ComputedRows::Worker worker;
    RowBatch rows = {};
    bool is_given = false;
  };

  const ComputedRows& rows_;
  const bool puts_aside_;
  Aside aside_;
  std::unique_ptr<Late> late_;
  std::deque<Part> parts_;
};

/// Where next_row() is.
struct ComputedRows::NextRow {
  explicit NextRow(const ComputedRows& all)
      : batches(*all.source_), worker(all, all.computation_, all.counts_) {}
  PulledRows batches;
  Worker worker;
  RowBatch rows = {};
  uint32_t row = 0;  // not yet looked at
};

ComputedRows::~ComputedRows() = default;

ComputedRows::ComputedRows(std::unique_ptr<RowBatches> source, size_t columns, Computation computation)
    : source_(std::move(source)), source_columns_(columns), computation_(std::move(computation)) {}

uint16_t ComputedRows::add_places(const std::vector<uint16_t>& columns) {
  source_->add_places(columns);
  has_places_ = true;
  return static_cast<uint16_t>(width());
}

Result<ScanColumn> ComputedRows::column(size_t position) const {
  if (position < source_columns_) return source_->column(position);
  position -= source_columns_;
  if (has_places_ && position == computation_.columns.size()) return ScanColumn{};
  if (position >= computation_.columns.size())
    return fail(ErrorCode::InvalidArgument, "rows were asked for a column that they have not got");
  return computation_.columns[position].type;
}

Status ComputedRows::open(Pipeline& to) {
  to.add_step(std::make_unique<Go>(*this, to.threads(), to.is_pulled()));
  return source_->open(to);
}

Result<ComputedRows::Row> ComputedRows::next_row() {
  HAILSTONE_CHECK(computation_.columns.empty(), "{} columns are to be computed of rows that come one by one",
                  computation_.columns.size());
  if (next_ == nullptr) next_ = std::make_unique<NextRow>(*this);
  for (;;) {
    HAILSTONE_ASSIGN(const bool found, next_->worker.find(next_->rows, next_->row));
    if (found) return Row{.rows = &next_->rows, .number = next_->row++};
    HAILSTONE_ASSIGN(const RowBatch* const batch, next_->batches.next());
    if (batch == nullptr) return Row{};
    next_->row = 0;
    HAILSTONE_TRY(next_->worker.filter(*batch, nullptr, next_->rows));
  }
}

}  // namespace hailstone

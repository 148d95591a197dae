#include "query/pipeline.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/guard.h"
#include "base/mutex.h"

namespace hailstone {

Status Source::each_batch(const QueryHost& host, unsigned, const RowBatches::TakeRows& take) {
  for (;;) {
    HAILSTONE_TRY(host.check_interruption());
    HAILSTONE_ASSIGN(const RowBatch* const rows, next());
    if (rows == nullptr) return {};
    HAILSTONE_TRY(take(0, *rows));
  }
}

Status SharedSource::each_batch(const QueryHost& host, unsigned threads, const RowBatches::TakeRows& take) {
  const auto used = static_cast<unsigned>(std::clamp<size_t>(pieces(), 1, threads));
  return work_by_threads(host, used, nullptr, [&](unsigned part, const GoOn& go_on) -> Status {
    for (;;) {
      HAILSTONE_TRY(go_on());
      HAILSTONE_ASSIGN(const RowBatch* const rows, next_of(part));
      if (rows == nullptr) return {};
      HAILSTONE_TRY(take(part, *rows));
    }
  });
}

Result<std::unique_ptr<Pipeline>> Pipeline::open(RowBatches& rows, Way way, unsigned wanted) {
  std::unique_ptr<Pipeline> pipeline(new Pipeline(rows, way, wanted));
  HAILSTONE_TRY(rows.open(*pipeline));
  return pipeline;
}

void Pipeline::add_step(std::unique_ptr<Step> step) { stages_.push_back({.step = std::move(step)}); }

Status Pipeline::begin(Step& step, unsigned part, const RowBatch& batch) {
  const OperatorWork work(step.counts(), part);
  work.add_rows(batch.rows, 0);
  return step.worker(part).begin(batch);
}

Result<bool> Pipeline::begin_late(Step& step, unsigned part) {
  const OperatorWork work(step.counts(), part);
  return step.worker(part).begin_late();
}

Result<const RowBatch*> Pipeline::next(Step& step, unsigned part) {
  const OperatorWork work(step.counts(), part);
  HAILSTONE_ASSIGN(const RowBatch* const rows, step.worker(part).next());
  if (rows != nullptr) work.add_rows(0, rows->rows);
  return rows;
}

/// Rows on their way by threads that call back. It tells the end that was wanted from errors: of what is
/// beyond it none matters, but what is on this side of it has been taken.
class Pipeline::Phase {
 public:
  /// What the callback returns, of rows that go to `take()`, as Push has it.
  template <typename Take>
  Status note(const Take& take) {
    const Result<bool> more = guarded(take);
    if (more && *more) return {};
    const MutexLock guard(mutex_);
    if (more) {
      has_enough_ = true;
      return fail(ErrorCode::Interrupted, "no more rows are wanted");
    }
    if (!failure_) failure_ = more.error();
    return std::unexpected(more.error());
  }
  /// Once all threads have returned.
  Status outcome(Status status, const QueryHost& host) {
    const MutexLock guard(mutex_);
    if (failure_) return std::unexpected(std::move(*failure_));
    return has_enough_ ? host.check_interruption() : status;
  }

 private:
  Mutex mutex_;
  bool has_enough_ HAILSTONE_GUARDED_BY(mutex_) = false;
  std::optional<Error> failure_ HAILSTONE_GUARDED_BY(mutex_);  // the first
};

Status Pipeline::push(const Push& take) {
  const Push push_all = [&](unsigned part, const RowBatch& batch) {
    return push_through(stages_.size(), part, batch, take);
  };
  if (source_ != nullptr) HAILSTONE_TRY(push_source(push_all));
  HAILSTONE_TRY(push_branches(push_all));
  for (size_t stage = stages_.size(); stage-- > 0;) HAILSTONE_TRY(push_rounds(stage, take));
  return {};
}

Status Pipeline::push_source(const Push& take) {
  Phase phase;
  Status status = source_->each_batch(rows_.host(), threads_, [&](unsigned part, const RowBatch& batch) {
    return phase.note([&] { return take(part, batch); });
  });
  return phase.outcome(std::move(status), rows_.host());
}

namespace {

/// Behind what the branches before have. Their own orders lose what tells batches of one block apart; these
/// are one thread's.
uint64_t order_of_branch(uint64_t branch, uint64_t order) {
  constexpr unsigned bits = 8;
  return std::min<uint64_t>(branch, (1U << bits) - 1) << (64 - bits) | order >> bits;
}

}  // namespace

Status Pipeline::push_branches(const Push& take) {
  bool more = true;
  for (auto branch = branches_.begin(); more && branch != branches_.end(); ++branch) {
    HAILSTONE_ASSIGN(const auto pipeline, open(**branch, way_, threads_));
    const auto number = static_cast<uint64_t>(branch - branches_.begin());
    HAILSTONE_TRY(pipeline->push([&](unsigned part, RowBatch batch) {
      batch.order = order_of_branch(number, batch.order);
      return take(part, batch);
    }));
    more = is_wanted(stages_.size());
  }
  return {};
}

void Pipeline::note_enough(size_t above) {
  size_t most = most_wanted_.load(std::memory_order_relaxed);
  while (above < most && !most_wanted_.compare_exchange_weak(most, above, std::memory_order_relaxed)) {
  }
}

Result<bool> Pipeline::push_through(size_t above, unsigned part, const RowBatch& batch, const Push& take) {
  bool more = true;
  if (above == 0) {
    HAILSTONE_ASSIGN(more, take(part, batch));
    if (!more) note_enough(0);
    return more;
  }
  Step& step = *stages_[above - 1].step;
  HAILSTONE_TRY(begin(step, part, batch));
  HAILSTONE_ASSIGN(more, push_on(above - 1, part, take));
  if (!more || !step.has_enough()) return more;
  note_enough(above);
  return false;
}

Result<bool> Pipeline::push_on(size_t stage, unsigned part, const Push& take) {
  for (bool more = true; more;) {
    HAILSTONE_ASSIGN(const RowBatch* const rows, next(*stages_[stage].step, part));
    if (rows == nullptr) return true;
    HAILSTONE_ASSIGN(more, push_through(stage, part, *rows, take));
  }
  return false;
}

Status Pipeline::push_rounds(size_t stage, const Push& take) {
  Step& step = *stages_[stage].step;
  const auto push_some = [&](unsigned part, bool& found) -> Result<bool> {
    HAILSTONE_ASSIGN(found, begin_late(step, part));
    if (!found) return true;
    return push_on(stage, part, take);
  };
  while (is_wanted(stage)) {
    HAILSTONE_ASSIGN(const unsigned threads, step.begin_round());
    if (threads == 0) return {};
    Phase phase;
    const PartWork push_all = [&](unsigned part, const GoOn& go_on) -> Status {
      for (bool found = true; found;) {
        HAILSTONE_TRY(go_on());
        HAILSTONE_TRY(phase.note([&] { return push_some(part, found); }));
      }
      return {};
    };
    Status status = work_by_threads(rows_.host(), threads, nullptr, push_all);
    HAILSTONE_TRY(phase.outcome(std::move(status), rows_.host()));
  }
  return {};
}

Result<const RowBatch*> Pipeline::pull_source() {
  if (source_ != nullptr) return source_->next();
  for (; next_branch_ < branches_.size(); ++next_branch_) {
    if (branch_ == nullptr) {
      HAILSTONE_ASSIGN(branch_, open(*branches_[next_branch_], way_, threads_));
    }
    HAILSTONE_ASSIGN(const RowBatch* const rows, branch_->pull());
    if (rows != nullptr) return rows;
    branch_.reset();
  }
  return nullptr;
}

Result<const RowBatch*> Pipeline::pull_below(size_t above) {
  if (above == stages_.size()) return pull_source();
  Stage& stage = stages_[above];
  for (;;) {
    if (stage.within_batch) {
      HAILSTONE_ASSIGN(const RowBatch* const rows, next(*stage.step, 0));
      if (rows != nullptr) return rows;
    }
    if (stage.step->has_enough()) return nullptr;
    HAILSTONE_ASSIGN(stage.within_batch, begin_next(above));
    if (!stage.within_batch) return nullptr;
  }
}

Result<bool> Pipeline::begin_next(size_t number) {
  Stage& stage = stages_[number];
  if (!stage.is_late) {
    HAILSTONE_ASSIGN(const RowBatch* const batch, pull_below(number + 1));
    if (batch != nullptr) {
      HAILSTONE_TRY(begin(*stage.step, 0, *batch));
      return true;
    }
  }
  while (!stage.has_ended) {
    if (std::exchange(stage.is_late, true)) {
      HAILSTONE_TRY(rows_.host().check_interruption());
      HAILSTONE_ASSIGN(const bool found, begin_late(*stage.step, 0));
      if (found) return true;
    }
    HAILSTONE_ASSIGN(const unsigned threads, stage.step->begin_round());
    stage.has_ended = threads == 0;
  }
  return false;
}

Status run(RowBatches& rows, unsigned threads, Sink& sink) {
  const GoOn of_caller = [&rows] { return rows.host().check_interruption(); };
  const GoOn of_helper = [&rows] { return rows.host().check_interruption_seen(); };
  const Pipeline::Push consume = [&](unsigned part, const RowBatch& batch) -> Result<bool> {
    const OperatorWork work(sink.counts(), part);
    work.add_rows(batch.rows, 0);
    HAILSTONE_TRY(sink.consume(part, batch, part == 0 ? of_caller : of_helper));
    return !sink.has_enough();
  };
  {
    // What workers have goes before the sink puts together what it has.
    HAILSTONE_ASSIGN(const auto pipeline, Pipeline::open(rows, Pipeline::Way::Pushed, threads));
    HAILSTONE_TRY(pipeline->push(consume));
  }
  const OperatorWork ending(sink.counts(), 0);
  HAILSTONE_ASSIGN(const size_t pieces, sink.end_rows());
  if (pieces != 0) {
    HAILSTONE_TRY(
        each_by_threads(rows.host(), threads, sink.counts(), pieces,
                        [&](size_t piece, const GoOn& go_on) { return sink.combine(piece, go_on); }));
  }
  return sink.finish();
}

Result<const RowBatch*> PulledRows::next() {
  if (pipeline_ == nullptr) {
    HAILSTONE_ASSIGN(pipeline_, Pipeline::open(rows_, Pipeline::Way::Pulled, 1));
  }
  return pipeline_->pull();
}

Status RowBatches::each_batch(unsigned wanted, const TakeRows& take) {
  HAILSTONE_ASSIGN(const auto pipeline, Pipeline::open(*this, Pipeline::Way::Pushed, wanted));
  return pipeline->push([&take](unsigned part, const RowBatch& batch) -> Result<bool> {
    HAILSTONE_TRY(take(part, batch));
    return true;
  });
}

}  // namespace hailstone

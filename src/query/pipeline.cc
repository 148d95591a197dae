#include "query/pipeline.h"

#include <utility>

namespace hailstone {

Status Source::each_batch(const QueryHost& host, unsigned, const RowBatches::TakeRows& take) {
  for (;;) {
    HAILSTONE_TRY(host.check_interruption());
    HAILSTONE_ASSIGN(const RowBatch* const rows, next());
    if (rows == nullptr) return {};
    HAILSTONE_TRY(take(0, *rows));
  }
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

Status Pipeline::push(const RowBatches::TakeRows& take) {
  if (source_ != nullptr) {
    const RowBatches::TakeRows push_all = [&](unsigned part, const RowBatch& batch) {
      return push_through(stages_.size(), part, batch, take);
    };
    HAILSTONE_TRY(source_->each_batch(rows_.host(), threads_, push_all));
  }
  for (size_t stage = stages_.size(); stage-- > 0;) HAILSTONE_TRY(push_rounds(stage, take));
  return {};
}

Status Pipeline::push_through(size_t above, unsigned part, const RowBatch& batch,
                              const RowBatches::TakeRows& take) {
  if (above == 0) return take(part, batch);
  HAILSTONE_TRY(begin(*stages_[above - 1].step, part, batch));
  return push_on(above - 1, part, take);
}

Status Pipeline::push_on(size_t stage, unsigned part, const RowBatches::TakeRows& take) {
  for (;;) {
    HAILSTONE_ASSIGN(const RowBatch* const rows, next(*stages_[stage].step, part));
    if (rows == nullptr) return {};
    HAILSTONE_TRY(push_through(stage, part, *rows, take));
  }
}

Status Pipeline::push_rounds(size_t stage, const RowBatches::TakeRows& take) {
  Step& step = *stages_[stage].step;
  const PartWork push_late = [&](unsigned part, const GoOn& go_on) -> Status {
    for (;;) {
      HAILSTONE_TRY(go_on());
      HAILSTONE_ASSIGN(const bool found, begin_late(step, part));
      if (!found) return {};
      HAILSTONE_TRY(push_on(stage, part, take));
    }
  };
  for (;;) {
    HAILSTONE_ASSIGN(const unsigned threads, step.begin_round());
    if (threads == 0) return {};
    HAILSTONE_TRY(work_by_threads(rows_.host(), threads, nullptr, push_late));
  }
}

Result<const RowBatch*> Pipeline::pull_below(size_t above) {
  if (above == stages_.size()) return source_ == nullptr ? nullptr : source_->next();
  Stage& stage = stages_[above];
  for (;;) {
    if (stage.within_batch) {
      HAILSTONE_ASSIGN(const RowBatch* const rows, next(*stage.step, 0));
      if (rows != nullptr) return rows;
    }
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
  HAILSTONE_TRY(rows.each_batch(threads, [&](unsigned part, const RowBatch& batch) {
    const OperatorWork work(sink.counts(), part);
    work.add_rows(batch.rows, 0);
    return sink.consume(part, batch, part == 0 ? of_caller : of_helper);
  }));
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
  return pipeline->push(take);
}

}  // namespace hailstone

// How rows go through the operators of a query: a *source* gives them in batches, each *step* makes others of
// these, and what comes of the last one goes to a *sink*. A pipeline is one go through them.
//
//   RowBatches::open()   each operator, from the last one down, puts its part of the go into the pipeline
//   run()                the driver: several threads take batches of the source through all steps to a sink
//   PulledRows           the adapter: one thread asks for a batch, the rows in the order of their scans
//
// Steps are written once: the driver and the adapter call the same Step::Worker. docs/design/operators.md.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/operator_counts.h"
#include "query/row_batches.h"
#include "query/work_by_threads.h"

namespace hailstone {

/// Where the rows of a go come from.
class Source {
 public:
  virtual ~Source() = default;
  /// The next rows, on one thread, valid until the next call; null: there are no more.
  virtual Result<const RowBatch*> next() = 0;
  /// All rows, instead of next(), by up to `threads` threads, as RowBatches::each_batch() gives them. Here:
  /// those of next(), by the caller's.
  virtual Status each_batch(const QueryHost& host, unsigned threads, const RowBatches::TakeRows& take);
};

/// What an operator does with the rows of a go. Belongs to the caller's thread but for its workers.
class Step {
 public:
  /// Belongs to one thread.
  class Worker {
   public:
    virtual ~Worker() = default;
    /// A batch goes in. It stays until all has come out of it.
    virtual Status begin(const RowBatch& rows) = 0;
    /// The next rows that come out, at least one, valid until the next call; null: no more of this batch.
    virtual Result<const RowBatch*> next() = 0;
    /// In place of a batch from below: rows of the round. False: this thread has no more.
    virtual Result<bool> begin_late() { return false; }
  };

  virtual ~Step() = default;
  virtual Worker& worker(unsigned part) = 0;
  /// Called once all rows from below have gone in, and after each round until there is none: begins a round
  /// of rows that the step has kept back. By how many threads it goes; 0: there is none.
  virtual Result<unsigned> begin_round() { return 0; }
  /// Where rows and the time of workers are counted; null: nowhere, or the workers do it themselves.
  virtual OperatorCounts* counts() const { return nullptr; }
};

/// What takes the rows of a go, and has made something of them in the end. Belongs to the caller's thread but
/// for consume() and combine().
class Sink {
 public:
  virtual ~Sink() = default;
  /// A batch of the thread `part`. `go_on` is asked now and then whether long work is to go on.
  virtual Status consume(unsigned part, const RowBatch& rows, const GoOn& go_on) = 0;
  /// Once all rows are there, and no thread is at work: how many pieces of work combine() has.
  virtual Result<size_t> end_rows() { return 0; }
  /// One of these, by one of several threads.
  virtual Status combine(size_t /*piece*/, const GoOn& /*go_on*/) { return {}; }
  /// Once all of it is done.
  virtual Status finish() = 0;
  /// Where the rows that come in, and the time of consume() and combine(), are counted; null: nowhere.
  virtual OperatorCounts* counts() const { return nullptr; }
};

/// The driver: takes all rows to the sink, and ends it. `threads`: how many may work, the caller's included.
Status run(RowBatches& rows, unsigned threads, Sink& sink);

/// One go through the rows of an operator, which outlives it. Belongs to the caller's thread.
class Pipeline {
 public:
  enum class Way : uint8_t {
    Pushed,  // by several threads, in any order
    Pulled,  // by the caller's, in the order of the scans
  };
  /// Opens the operators. `wanted`: how many threads may work, the caller's included.
  static Result<std::unique_ptr<Pipeline>> open(RowBatches& rows, Way way, unsigned wanted);

  // For RowBatches::open(). Without a source there are no rows.
  unsigned threads() const { return threads_; }
  bool is_pulled() const { return way_ == Way::Pulled; }
  /// Above what is added later.
  void add_step(std::unique_ptr<Step> step);
  void set_source(std::unique_ptr<Source> source) { source_ = std::move(source); }

  /// All rows, as RowBatches::each_batch() gives them. Once.
  Status push(const RowBatches::TakeRows& take);
  /// The next rows, valid until the next call; null: there are no more.
  Result<const RowBatch*> pull() { return pull_below(0); }

 private:
  /// A step, and where pull() is with it.
  struct Stage {
    std::unique_ptr<Step> step;
    bool within_batch = false;
    bool is_late = false;  // among rounds
    bool has_ended = false;
  };
  Pipeline(RowBatches& rows, Way way, unsigned wanted)
      : rows_(rows), way_(way), threads_(std::max(1U, rows.threads(wanted))) {}
  /// Takes a batch through the steps that are above `stages` of them.
  Status push_through(size_t above, unsigned part, const RowBatch& batch, const RowBatches::TakeRows& take);
  /// The same with what comes out of a step.
  Status push_on(size_t stage, unsigned part, const RowBatches::TakeRows& take);
  Status push_rounds(size_t stage, const RowBatches::TakeRows& take);
  /// What comes of the source and of all steps but the last `above`.
  Result<const RowBatch*> pull_below(size_t above);
  /// Makes a step's worker begin with the next rows. False: there are none.
  Result<bool> begin_next(size_t stage);
  static Status begin(Step& step, unsigned part, const RowBatch& batch);
  static Result<bool> begin_late(Step& step, unsigned part);
  static Result<const RowBatch*> next(Step& step, unsigned part);

  RowBatches& rows_;
  const Way way_;
  const unsigned threads_;
  std::unique_ptr<Source> source_;
  std::vector<Stage> stages_;  // the last one first
};

/// Rows one batch after the other, on the caller's thread. Nothing is read before the first is asked for, and
/// nothing behind those that were.
class PulledRows {
 public:
  /// They outlive it, and are gone through once.
  explicit PulledRows(RowBatches& rows) : rows_(rows) {}
  /// Valid until the next call; null: there are no more.
  Result<const RowBatch*> next();

 private:
  RowBatches& rows_;
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace hailstone

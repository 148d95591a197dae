// How rows go through the operators of a query: a *source* gives them in batches, each *step* makes others of
// these, and what comes of the last one goes to a *sink*. A pipeline is one go through them.
//
//   RowBatches::open()   each operator, from the last one down, puts its part of the go into the pipeline
//   run()                the driver: several threads take batches of the source through all steps to a sink
//   PulledRows           the adapter: one thread asks for a batch, the rows in the order of their scans
//
// Steps are written once: the driver and the adapter call the same Step::Worker. docs/design/operators.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
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

/// A source that threads may ask at once, each for batches of its own.
class SharedSource : public Source {
 public:
  /// Valid until the part's next call.
  virtual Result<const RowBatch*> next_of(unsigned part) = 0;
  /// In how many pieces the rows are shared out: more threads are not woken.
  virtual size_t pieces() const = 0;
  Result<const RowBatch*> next() final { return next_of(0); }
  Status each_batch(const QueryHost& host, unsigned threads, const RowBatches::TakeRows& take) final;
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
  /// Whether nothing more is wanted from below. Asked by any thread once a batch has been through.
  virtual bool has_enough() const { return false; }
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
  /// Whether no more rows are wanted. Asked by any thread once a batch has been consumed.
  virtual bool has_enough() const { return false; }
  /// Once all rows are there, or enough, and no thread is at work: how many pieces of work combine() has.
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

  // For RowBatches::open(). Without a source and branches there are no rows.
  unsigned threads() const { return threads_; }
  bool is_pulled() const { return way_ == Way::Pulled; }
  /// Above what is added later.
  void add_step(std::unique_ptr<Step> step);
  void set_source(std::unique_ptr<Source> source) { source_ = std::move(source); }
  /// In place of a source: all rows of others, which outlive the go. Each is opened when those before have
  /// ended.
  void add_branch(RowBatches& rows) { branches_.push_back(&rows); }

  /// Takes what RowBatches::each_batch() gives. False: no more rows are wanted.
  using Push = std::function<Result<bool>(unsigned part, const RowBatch& rows)>;
  /// All rows, or enough. Once.
  Status push(const Push& take);
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
  class Phase;
  /// Takes a batch through the last `above` steps. False: from there on no more is wanted.
  Result<bool> push_through(size_t above, unsigned part, const RowBatch& batch, const Push& take);
  /// The same with what comes out of a step.
  Result<bool> push_on(size_t stage, unsigned part, const Push& take);
  Status push_source(const Push& take);
  Status push_branches(const Push& take);
  Status push_rounds(size_t stage, const Push& take);
  /// Whether rows that come out of the step are wanted.
  bool is_wanted(size_t stage) const { return stage < most_wanted_.load(std::memory_order_relaxed); }
  void note_enough(size_t above);
  Result<const RowBatch*> pull_source();
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
  std::vector<RowBatches*> branches_;
  std::vector<Stage> stages_;                    // the last one first
  std::atomic<size_t> most_wanted_{~size_t{0}};  // rows of stages from this one on are wanted no more
  std::unique_ptr<Pipeline> branch_;             // where pull() is
  size_t next_branch_ = 0;                       // of pull()
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

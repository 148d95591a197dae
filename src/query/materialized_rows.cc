#include "query/materialized_rows.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "query/pipeline.h"

namespace hailstone {

namespace {

/// Records are not divided: all have this hash.
constexpr uint64_t no_hash = 0;
constexpr RecordDivision division{.chunk = RecordMemory::most_chunk, .first_bits = 1};

}  // namespace

Materialization::Materialization(std::unique_ptr<RowBatches> rows, const Memory& memory,
                                 const std::vector<RecordColumns::Column>& columns, unsigned threads,
                                 OperatorCounts* counts)
    : rows_(std::move(rows)),
      columns_(columns, rows_->width()),
      threads_(std::max(1U, rows_->threads(threads))),
      counts_(counts),
      memory_(rows_->host().budget(), rows_->host().spill_space(), memory.share, division,
              {.bytes = memory.floor, .partitions = threads_}, counts) {}

Result<std::shared_ptr<Materialization>> Materialization::make(std::unique_ptr<RowBatches> rows,
                                                               const Memory& memory, unsigned threads,
                                                               OperatorCounts* counts) {
  std::vector<RecordColumns::Column> columns;
  for (uint16_t position = 0; position < rows->width(); ++position) {
    const auto column = rows->column(position);
    if (!column) continue;  // it is missing
    if (column->may_be_huge)
      return fail(ErrorCode::InvalidArgument, "numbers that may be huge are kept by sums only");
    columns.push_back({.position = position, .type = *column});
  }
  return std::shared_ptr<Materialization>(
      new Materialization(std::move(rows), memory, columns, threads, counts));
}

class Materialization::Filling final : public Sink {
 public:
  explicit Filling(Materialization& all) : all_(all) {
    for (unsigned i = 0; i < all.threads_; ++i) parts_.emplace_back(all);
  }

  Status consume(unsigned number, const RowBatch& batch, const GoOn& go_on) override {
    Part& part = parts_[number];
    HAILSTONE_TRY(part.writer.write(batch, part.records));
    part.records.hashes.assign(batch.rows, no_hash);
    return part.partitions.append(part.records, go_on);
  }
  Result<size_t> end_rows() override { return parts_.size(); }
  Status combine(size_t part, const GoOn& go_on) override { return parts_[part].partitions.finish(go_on); }
  Status finish() override {
    uint64_t rows = 0;
    for (Part& part : parts_) {
      for (RecordRun& run : part.partitions.take_runs()) {
        if (run.empty()) continue;
        rows += run.extent().records;
        all_.runs_.push_back(std::move(run));
      }
    }
    for (const RecordRun& run : all_.runs_) RecordPiece::add_all(run, all_.pieces_);
    if (all_.counts_ != nullptr) all_.counts_->add_rows(0, rows);
    return {};
  }
  OperatorCounts* counts() const override { return all_.counts_; }

 private:
  struct Part {
    explicit Part(Materialization& all) : writer(all.columns_.records()), partitions(all.memory_, 0) {}
    RowRecords::Writer writer;
    RecordPartitions partitions;
    HashedRecords records{.kind = RecordKind::Rows, .bytes = {}, .places = {}, .hashes = {}};
  };
  Materialization& all_;
  std::deque<Part> parts_;
};

Status Materialization::fill() {
  if (!filled_) {
    Filling filling(*this);
    filled_ = run(*rows_, threads_, filling);
  }
  return *filled_;
}

/// Threads take piece by piece.
class MaterializedRows::Go final : public SharedSource {
 public:
  Go(const Materialization& made, unsigned threads) : made_(made) {
    for (unsigned i = 0; i < threads; ++i) parts_.emplace_back(made.columns());
  }

  Result<const RowBatch*> next_of(unsigned number) override {
    Part& part = parts_[number];
    for (;;) {
      if (part.within_piece) {
        if (const RowBatch* const rows = part.batches.next(); rows != nullptr) return rows;
      }
      const size_t piece = next_piece_++;
      part.within_piece = piece < made_.pieces().size();
      if (!part.within_piece) return nullptr;
      HAILSTONE_TRY(part.batches.begin(made_.pieces()[piece]));
    }
  }

  size_t pieces() const override { return made_.pieces().size(); }

 private:
  struct Part {
    explicit Part(const RecordColumns& columns) : batches(columns) {}
    RecordBatches batches;
    bool within_piece = false;
  };
  const Materialization& made_;
  std::deque<Part> parts_;
  std::atomic<size_t> next_piece_{0};
};

Status MaterializedRows::open(Pipeline& to) {
  HAILSTONE_TRY(made_->fill());
  to.set_source(std::make_unique<Go>(*made_, to.threads()));
  return {};
}

}  // namespace hailstone

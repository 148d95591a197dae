// The passes of a join over the rows that are not in memory: those of the probe side whose partners are aside
// (BuildSide) go aside, too, divided alike. Then, pass by pass, some partitions of the build side become a
// table, in which the rows of the same partitions of the probe side are looked up. A partition that has no
// room is divided again, on both sides; one that cannot be, as nearly all of its rows have one key, comes in
// *blocks*: a pass for each, over all rows of its probe side, which tell from pass to pass whether they have
// met a partner.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "query/join/build_side.h"

namespace hailstone {

/// Of one go through the rows of a join. Belongs to its thread but for put_aside() and next().
class JoinPasses {
 public:
  /// `columns`: of the rows of the probe side, `width` in all; `keys`: positions; `only_partners`: rows that
  /// have no partner are not wanted; `parts`: how many threads have rows. The build side is divided, and
  /// outlives the passes.
  JoinPasses(BuildSide& build, const std::vector<RecordColumns::Column>& columns, size_t width,
             std::vector<uint16_t> keys, bool only_partners, unsigned parts, const QueryHost& host,
             OperatorCounts* counts);

  /// Gives those rows of the batch whose partners are in the build side's table, or that have none: there may
  /// be no such row; valid until the part's next call. The others go aside. Each part belongs to one thread.
  Result<RowBatch> put_aside(unsigned part, const RowBatch& batch, const GoOn& go_on);

  /// Once all rows have been met: to the first pass, and from there to the next one. False: there are no
  /// more.
  Result<bool> go_to_next(unsigned threads);
  /// Of the pass.
  const JoinTable& table() const { return *table_; }
  /// Whether rows that have met no partner by the pass's end will meet none.
  bool is_last_block() const { return next_block_ == block_pieces_.size(); }

  /// Some rows of the pass.
  struct Rows {
    const RowBatch* rows = nullptr;
    /// Which rows have met a partner in a pass before, from `first` on; null: there was none before, and will
    /// be none.
    std::vector<bool>* paired = nullptr;
    size_t first = 0;
  };
  /// The next ones, valid until the part's next call; none: the pass has no more.
  Result<std::optional<Rows>> next(unsigned part);

 private:
  /// A partition of both sides.
  struct Pair {
    BuildPartition* build = nullptr;
    RecordRun probe;
    unsigned used_bits = 0;  // of the hashes, that all its rows have in common
  };
  /// What one thread has.
  struct Part {
    Part(BuildSide& build, const RecordColumns& of_rows, std::vector<uint16_t> keys)
        : hashes(build.columns(), KeyHashes::Side::Probe, std::move(keys)),
          partitions(build.record_memory(), 0),
          writer(of_rows.records()),
          batches(of_rows) {}
    KeyHashes hashes;
    RecordPartitions partitions;
    RowRecords::Writer writer;
    HashedRecords records{.kind = RecordKind::Rows, .bytes = {}, .places = {}, .hashes = {}};
    std::vector<uint16_t> staying, going;
    std::vector<ColumnVector> chosen;
    std::vector<const ColumnVector*> columns;
    // Of a pass.
    RecordBatches batches;
    size_t piece = 0;
    size_t row = 0;  // of the piece
    bool within_piece = false;
  };
  RowBatch choose(Part& part, const RowBatch& batch, const std::vector<uint16_t>& rows) const;
  Status end_rows(unsigned threads);
  static bool can_be_divided(const Pair& pair);
  Status divide(Pair&& pair, unsigned threads);
  void let_go_of_parts();
  Status begin_block(unsigned threads);
  Status fill_table(std::span<const RecordPiece> pieces, unsigned threads);

  BuildSide& build_;
  const bool only_partners_;
  const std::vector<uint16_t> keys_;
  const RecordColumns columns_;
  const QueryHost& host_;
  OperatorCounts* const counts_;
  std::deque<Part> parts_;
  bool rows_ended_ = false;
  std::vector<Pair> waiting_;
  // Of the pass:
  std::vector<BuildPartition*> builds_;
  std::vector<RecordRun> probes_;
  std::vector<RecordPiece> pieces_;        // of these
  std::vector<std::vector<bool>> paired_;  // by piece; none where nothing comes in blocks
  std::atomic<size_t> next_piece_{0};
  std::vector<RecordPiece> block_pieces_;  // of a build side that comes in blocks
  size_t next_block_ = 0;                  // the first of its pieces that are not in a block yet
  std::optional<JoinTable> table_;
  OperatorMemory memory_;  // of the table, beyond what the build side has for it
};

}  // namespace hailstone

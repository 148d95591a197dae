#include "query/join/join_passes.h"

#include <algorithm>
#include <utility>

#include "query/join/divide_records.h"

namespace hailstone {

JoinPasses::JoinPasses(BuildSide& build, const std::vector<RecordColumns::Column>& columns, size_t width,
                       std::vector<uint16_t> keys, bool only_partners, unsigned parts, const QueryHost& host,
                       OperatorCounts* counts)
    : build_(build),
      only_partners_(only_partners),
      keys_(std::move(keys)),
      columns_(columns, width),
      host_(host),
      counts_(counts),
      memory_(build.budget(), counts) {
  for (unsigned i = 0; i < parts; ++i) parts_.emplace_back(build, columns_, keys_);
}

RowBatch JoinPasses::choose(Part& part, const RowBatch& batch, const std::vector<uint16_t>& rows) const {
  part.columns.assign(batch.columns.begin(), batch.columns.end());
  part.chosen.resize(part.columns.size());
  for (size_t i = 0; i < part.columns.size(); ++i) {
    if (part.columns[i] == nullptr) continue;
    choose_rows(*part.columns[i], rows, part.chosen[i]);
    part.columns[i] = &part.chosen[i];
  }
  return {.rows = static_cast<uint32_t>(rows.size()), .columns = part.columns, .order = batch.order};
}

Result<RowBatch> JoinPasses::put_aside(unsigned number, const RowBatch& batch, const GoOn& go_on) {
  Part& part = parts_[number];
  const std::span<const uint64_t> hashes = part.hashes.hash(batch);
  const std::span<const uint8_t> valid = part.hashes.valid();
  part.staying.clear();
  part.going.clear();
  part.records.hashes.clear();
  for (uint32_t row = 0; row < batch.rows; ++row) {
    if (valid[row] != 0 && build_.is_aside(hashes[row])) {
      part.going.push_back(static_cast<uint16_t>(row));
      part.records.hashes.push_back(hashes[row]);
    } else {
      part.staying.push_back(static_cast<uint16_t>(row));
    }
  }
  if (part.going.empty()) return batch;
  const bool all = part.staying.empty();
  HAILSTONE_TRY(part.writer.write(all ? batch : choose(part, batch, part.going), part.records));
  HAILSTONE_TRY(part.partitions.append(part.records, go_on));
  return all ? RowBatch{} : choose(part, batch, part.staying);
}

Status JoinPasses::end_rows(unsigned threads) {
  const PieceWork finish = [&](size_t part, const GoOn& go_on) {
    return parts_[part].partitions.finish(go_on);
  };
  HAILSTONE_TRY(each_by_threads(host_, threads, counts_, parts_.size(), finish));
  std::vector<RecordRun> runs;
  for (Part& part : parts_) take_runs(part.partitions, runs);
  const unsigned used_bits = build_.record_memory().first_bits();
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].empty())
      waiting_.push_back(
          {.build = &build_.partitions()[i], .probe = std::move(runs[i]), .used_bits = used_bits});
  }
  // An earlier go through the rows has used up the rows of parts.
  for (BuildPartition& partition : build_.partitions()) partition.parts.clear();
  rows_ended_ = true;
  return {};
}

/// What parts of partitions hold in memory would else be all of the build side in the end.
void JoinPasses::let_go_of_parts() {
  for (BuildPartition* const build : builds_) {
    if (build->is_part) build->rows = RecordRun();
  }
  builds_.clear();
}

Result<bool> JoinPasses::go_to_next(unsigned threads) {
  if (!rows_ended_) HAILSTONE_TRY(end_rows(threads));
  if (!is_last_block()) {
    HAILSTONE_TRY(begin_block(threads));
    return true;
  }
  let_go_of_parts();
  probes_.clear();
  paired_.clear();
  block_pieces_.clear();
  next_block_ = 0;
  std::vector<RecordPiece> of_build;
  size_t bytes = 0;
  while (!waiting_.empty()) {
    BuildPartition& build = *waiting_.back().build;
    const bool fits = build.parts.empty() && bytes + build.table_bytes <= build_.memory_of_pass();
    if (!fits && !probes_.empty()) break;
    Pair pair = std::move(waiting_.back());
    waiting_.pop_back();
    if (!fits && can_be_divided(pair)) {
      HAILSTONE_TRY(divide(std::move(pair), threads));
      continue;
    }
    builds_.push_back(&build);
    // Of rows that have no partner nothing may come.
    if (build.rows.empty() && only_partners_) continue;
    probes_.push_back(std::move(pair.probe));
    RecordPiece::add_all(build.rows, fits ? of_build : block_pieces_);
    if (!fits) break;
    bytes += build.table_bytes;
  }
  pieces_.clear();
  for (const RecordRun& probe : probes_) RecordPiece::add_all(probe, pieces_);
  if (pieces_.empty()) return false;
  if (block_pieces_.empty()) {
    HAILSTONE_TRY(fill_table(of_build, threads));
    let_go_of_parts();
    return true;
  }
  for (const RecordPiece& piece : pieces_) paired_.emplace_back(piece.extent.records);
  HAILSTONE_TRY(begin_block(threads));
  return true;
}

bool JoinPasses::can_be_divided(const Pair& pair) {
  return !pair.build->parts.empty() ||
         (pair.build->divisible &&
          pair.used_bits + RecordPartitions::later_bits <= RecordPartitions::hash_bits);
}

Status JoinPasses::divide(Pair&& pair, unsigned threads) {
  BuildPartition& build = *pair.build;
  if (build.parts.empty()) HAILSTONE_TRY(build_.divide(build, pair.used_bits, threads));
  const auto make_hashes = [this] { return KeyHashes(build_.columns(), KeyHashes::Side::Probe, keys_); };
  HAILSTONE_ASSIGN(std::vector<RecordRun> runs,
                   divide_records(pair.probe, columns_, make_hashes, pair.used_bits, build_.record_memory(),
                                  host_, threads, counts_));
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].empty()) {
      build.parts[i].rows = RecordRun();
      continue;
    }
    waiting_.push_back({.build = &build.parts[i],
                        .probe = std::move(runs[i]),
                        .used_bits = pair.used_bits + RecordPartitions::later_bits});
  }
  return {};
}

Status JoinPasses::begin_block(unsigned threads) {
  const size_t first = next_block_;
  for (size_t bytes = 0; next_block_ < block_pieces_.size(); ++next_block_) {
    bytes += build_.columns().table_bytes(block_pieces_[next_block_].extent);
    if (next_block_ != first && bytes > build_.memory_of_pass()) break;
  }
  return fill_table(std::span(block_pieces_).subspan(first, next_block_ - first), threads);
}

Status JoinPasses::fill_table(std::span<const RecordPiece> pieces, unsigned threads) {
  table_.reset();
  memory_.clear();
  size_t bytes = 0;
  for (const RecordPiece& piece : pieces) bytes += build_.columns().table_bytes(piece.extent);
  if (bytes > build_.memory_of_pass()) memory_.grow(bytes - build_.memory_of_pass());
  table_.emplace(build_.columns());
  HAILSTONE_TRY(build_.load(pieces, threads, *table_));
  if (const size_t used = table_->memory(), charged = memory_.bytes() + build_.memory_of_pass();
      used > charged)
    memory_.grow(used - charged);
  next_piece_ = 0;
  return {};
}

Result<std::optional<JoinPasses::Rows>> JoinPasses::next(unsigned number) {
  Part& part = parts_[number];
  for (;;) {
    if (part.within_piece) {
      if (const RowBatch* const rows = part.batches.next(); rows != nullptr) {
        const Rows found{.rows = rows,
                         .paired = paired_.empty() ? nullptr : &paired_[part.piece],
                         .first = std::exchange(part.row, part.row + rows->rows)};
        return found;
      }
      part.within_piece = false;
    }
    part.piece = next_piece_++;
    if (part.piece >= pieces_.size()) return std::nullopt;
    HAILSTONE_TRY(part.batches.begin(pieces_[part.piece]));
    part.row = 0;
    part.within_piece = true;
  }
}

}  // namespace hailstone

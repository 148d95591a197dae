#include "query/group_partitions.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace hailstone {

namespace {

/// A partition with less stays in memory, also where other queries have used it up: frames of few records
/// would take longer than anything else.
constexpr size_t least_spilled = size_t{16} << 10;

}  // namespace

RecordRun::Piece::Piece(Piece&& other) noexcept
    : memory(std::exchange(other.memory, nullptr)), chunk(other.chunk), size(other.size), kind(other.kind) {}

RecordRun::Piece::~Piece() {
  if (memory != nullptr) memory->give_back(chunk);
}

size_t RecordRun::bytes() const {
  size_t bytes = 0;
  for (const Piece& piece : pieces_) bytes += piece.size;
  for (const Spilled& spilled : spilled_) {
    for (const Spilled::Frame& frame : spilled.frames) bytes += frame.frame.size;
  }
  return bytes;
}

void RecordRun::append(RecordRun&& other) {
  pieces_.reserve(pieces_.size() + other.pieces_.size());
  for (Piece& piece : other.pieces_) pieces_.push_back(std::move(piece));
  other.pieces_.clear();
  std::ranges::move(other.spilled_, std::back_inserter(spilled_));
  other.spilled_.clear();
}

Status GroupPartitions::append(const GroupRecords& records, const GoOn& go_on) {
  HAILSTONE_TRY(go_on());
  const uint64_t mask = partitions_.size() - 1;
  const auto kind = static_cast<size_t>(records.kind);
  for (size_t i = 0; i < records.size(); ++i) {
    const ByteView record = records.record(i);
    Partition& partition = partitions_[records.hashes[i] >> shift_ & mask];
    Open& open = partition.open[kind];
    if (open.room < record.size()) [[unlikely]]
      HAILSTONE_TRY(add_piece(partition, records.kind, record.size(), go_on));
    std::memcpy(open.next, record.data(), record.size());
    open.next += record.size();
    open.room -= record.size();
  }
  return {};
}

void GroupPartitions::close_piece(Partition& partition, Open& open) {
  if (open.next == nullptr) return;
  RecordRun::Piece& piece = partition.run.pieces_[open.number];
  piece.size = piece.chunk.size - open.room;
  open = {};
}

void GroupPartitions::close_pieces(Partition& partition) {
  for (Open& open : partition.open) close_piece(partition, open);
}

Status GroupPartitions::add_piece(Partition& partition, RecordKind kind, size_t least, const GoOn& go_on) {
  Open& open = partition.open[static_cast<size_t>(kind)];
  close_piece(partition, open);
  // Few records take little memory.
  const size_t wanted = std::min(partition.in_memory, memory_.chunk_bytes());
  RecordMemory::Chunk chunk = memory_.try_take(wanted, least);
  while (chunk.bytes == nullptr) {
    HAILSTONE_ASSIGN(const bool spilled, spill_largest(go_on));
    chunk = spilled ? memory_.try_take(wanted, least) : memory_.take(least);
  }
  RecordRun::Piece piece(memory_, chunk, kind);
  auto& pieces = partition.run.pieces_;
  pieces.push_back(std::move(piece));
  open = {.next = chunk.bytes, .room = chunk.size, .number = pieces.size() - 1};
  partition.in_memory += chunk.size;
  return {};
}

Result<bool> GroupPartitions::spill_largest(const GoOn& go_on) {
  Partition& largest = *std::ranges::max_element(
      partitions_,
      [](const Partition& left, const Partition& right) { return left.in_memory < right.in_memory; });
  if (largest.in_memory < least_spilled) return false;
  if (file_ == nullptr) {
    HAILSTONE_ASSIGN(file_, memory_.space().create());
  }
  close_pieces(largest);
  auto& pieces = largest.run.pieces_;
  auto& spilled = largest.run.spilled_;
  if (spilled.empty()) spilled.push_back({file_, {}});
  while (!pieces.empty()) {
    HAILSTONE_TRY(go_on());
    const RecordRun::Piece piece = std::move(pieces.back());
    pieces.pop_back();
    HAILSTONE_ASSIGN(const SpilledFrame frame, file_->append({piece.chunk.bytes, piece.size}));
    memory_.note_spilled(frame.stored);
    spilled.back().frames.push_back({frame, piece.kind});
  }
  largest.in_memory = 0;
  return true;
}

Status GroupPartitions::finish() {
  for (Partition& partition : partitions_) close_pieces(partition);
  return file_ == nullptr ? Status() : file_->finish();
}

std::vector<RecordRun> GroupPartitions::take_runs() {
  std::vector<RecordRun> runs;
  runs.reserve(partitions_.size());
  for (Partition& partition : partitions_) runs.push_back(std::move(partition.run));
  return runs;
}

}  // namespace hailstone

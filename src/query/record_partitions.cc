#include "query/record_partitions.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace hailstone {

RecordRun::Piece::Piece(Piece&& other) noexcept
    : memory(std::exchange(other.memory, nullptr)),
      chunk(other.chunk),
      size(other.size),
      records(other.records),
      kind(other.kind) {}

RecordRun::Piece::~Piece() {
  if (memory != nullptr) memory->give_back(chunk);
}

RecordRun::Extent RecordRun::extent() const {
  Extent all;
  for (const Extent& extent : extents()) {
    all.bytes += extent.bytes;
    all.records += extent.records;
  }
  return all;
}

void RecordRun::append(RecordRun&& other) {
  pieces_.reserve(pieces_.size() + other.pieces_.size());
  for (Piece& piece : other.pieces_) pieces_.push_back(std::move(piece));
  other.pieces_.clear();
  std::ranges::move(other.spilled_, std::back_inserter(spilled_));
  other.spilled_.clear();
}

std::vector<RecordRun::Extent> RecordRun::extents() const {
  std::vector<Extent> extents;
  for (const Piece& piece : pieces_) extents.push_back({.bytes = piece.size, .records = piece.records});
  for (const Spilled& spilled : spilled_) {
    for (const Spilled::Frame& frame : spilled.frames)
      extents.push_back({.bytes = frame.frame.size, .records = frame.records});
  }
  return extents;
}

Result<ByteView> RecordRun::Reader::read(const RecordRun& run, size_t piece) {
  if (piece < run.pieces_.size()) {
    const Piece& found = run.pieces_[piece];
    return ByteView(found.chunk.bytes, found.size);
  }
  size_t frame = piece - run.pieces_.size();
  auto spilled = run.spilled_.begin();
  for (; spilled != run.spilled_.end() && frame >= spilled->frames.size(); ++spilled)
    frame -= spilled->frames.size();
  HAILSTONE_CHECK(spilled != run.spilled_.end(), "records were asked for piece {}, behind their last", piece);
  HAILSTONE_TRY(spilled->file->read(spilled->frames[frame].frame, scratch_, unpacked_));
  return ByteView(unpacked_);
}

Status RecordRun::spill(std::shared_ptr<SpillFile>& file, const GoOn& go_on) {
  if (pieces_.empty()) return {};
  if (file == nullptr) {
    HAILSTONE_ASSIGN(file, pieces_.front().memory->space().create());
  }
  if (spilled_.empty() || spilled_.back().file != file) spilled_.push_back({file, {}});
  while (!pieces_.empty()) {
    HAILSTONE_TRY(go_on());
    const Piece piece = std::move(pieces_.back());
    pieces_.pop_back();
    HAILSTONE_ASSIGN(const SpilledFrame frame, file->append({piece.chunk.bytes, piece.size}));
    piece.memory->note_spilled(frame.stored);
    spilled_.back().frames.push_back({.frame = frame, .records = piece.records, .kind = piece.kind});
  }
  return {};
}

Status RecordPartitions::append(const HashedRecords& records, const GoOn& go_on) {
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
    ++open.records;
  }
  return {};
}

void RecordPartitions::close_piece(Partition& partition, Open& open) {
  if (open.next == nullptr) return;
  RecordRun::Piece& piece = partition.run.pieces_[open.number];
  piece.size = piece.chunk.size - open.room;
  piece.records = open.records;
  open = {};
}

void RecordPartitions::close_pieces(Partition& partition) {
  for (Open& open : partition.open) close_piece(partition, open);
}

Status RecordPartitions::add_piece(Partition& partition, RecordKind kind, size_t least, const GoOn& go_on) {
  Open& open = partition.open[static_cast<size_t>(kind)];
  close_piece(partition, open);
  // Few records take little memory.
  const size_t wanted = std::min(partition.in_memory, memory_.chunk_bytes());
  RecordMemory::Chunk chunk = memory_.try_take(wanted, least);
  while (chunk.bytes == nullptr) {
    // Frames of few records take longer than anything else: the share is filled first.
    const bool has_room = in_memory_ + std::max(least, RecordMemory::least_chunk) <= memory_.share();
    bool spilled = false;
    if (!has_room) {
      HAILSTONE_ASSIGN(spilled, spill_large_one(go_on));
    }
    chunk = spilled ? memory_.try_take(wanted, least) : memory_.take(least);
  }
  RecordRun::Piece piece(memory_, chunk, kind);
  auto& pieces = partition.run.pieces_;
  pieces.push_back(std::move(piece));
  open = {.next = chunk.bytes, .room = chunk.size, .records = 0, .number = pieces.size() - 1};
  partition.in_memory += chunk.size;
  in_memory_ += chunk.size;
  return {};
}

Result<bool> RecordPartitions::spill_large_one(const GoOn& go_on) {
  size_t most = 0;
  for (const Partition& partition : partitions_) most = std::max(most, partition.in_memory);
  if (most == 0) return false;
  // The first that is nearly the largest: where several threads divide rows alike, they put the same
  // partitions aside, and leave others whole.
  Partition& large = *std::ranges::find_if(
      partitions_, [most](const Partition& partition) { return partition.in_memory >= most / 4 * 3; });
  close_pieces(large);
  HAILSTONE_TRY(large.run.spill(file_, go_on));
  in_memory_ -= std::exchange(large.in_memory, 0);
  return true;
}

Status RecordPartitions::finish(const GoOn& go_on) {
  for (bool more = true; more && (!memory_.has_chunks() || memory_.is_short());) {
    HAILSTONE_ASSIGN(more, spill_large_one(go_on));
  }
  for (Partition& partition : partitions_) close_pieces(partition);
  return file_ == nullptr ? Status() : file_->finish();
}

std::vector<RecordRun> RecordPartitions::take_runs() {
  std::vector<RecordRun> runs;
  runs.reserve(partitions_.size());
  for (Partition& partition : partitions_) runs.push_back(std::move(partition.run));
  return runs;
}

}  // namespace hailstone

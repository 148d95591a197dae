#include "database/committed_redo.h"

namespace hailstone {

bool RedoRecord::parse(const LogRecord& record) {
  ByteReader reader(record.payload);
  if (!reader.take(id)) return false;
  switch (record.type) {
    case LogRecordType::Commit:
      if (!reader.take(timestamp)) return false;
      [[fallthrough]];
    case LogRecordType::Operations:
      return reader.take(offset) && reader.take_bytes(reader.remaining(), operations);
    case LogRecordType::Prepare:
      return reader.take(offset) && reader.take_string(name) &&
             reader.take_bytes(reader.remaining(), operations);
    case LogRecordType::Truncate:
      return reader.take(offset);
    default:
      return true;
  }
}

std::string_view CommittedRedo::add(const LogRecord& record) {
  constexpr std::string_view gap = "does not continue the operations of its transaction";
  RedoRecord redo;
  if (!redo.parse(record)) return "is too short";
  const auto found = pieces_.find(redo.id);
  if (found == pieces_.end() && redo.offset > 0) ended_before_.insert(redo.id);
  if (ended_before_.contains(redo.id)) {
    return record.type == LogRecordType::Commit && redo.timestamp > applied_ ? gap : std::string_view();
  }
  switch (record.type) {
    case LogRecordType::Operations:
    case LogRecordType::Prepare: {
      std::vector<Piece>& pieces = pieces_[redo.id];
      if (!cut(pieces, redo.offset)) return gap;
      pieces.push_back({record.begin, redo.offset, redo.operations.size()});
      // One that goes on behind the record was told that it could not be prepared.
      prepared_.erase(redo.id);
      if (record.type == LogRecordType::Prepare) {
        prepared_[redo.id] = {.name = std::string(redo.name), .first = pieces.front().record};
      }
      return {};
    }
    case LogRecordType::Truncate:
      if (!cut(pieces_[redo.id], redo.offset))
        return "takes back operations that its transaction has not got";
      return {};
    case LogRecordType::Rollback:
      pieces_.erase(redo.id);
      prepared_.erase(redo.id);
      return {};
    case LogRecordType::Commit: {
      prepared_.erase(redo.id);
      if (found == pieces_.end()) return {};
      const bool whole = cut(found->second, redo.offset);
      if (redo.timestamp > applied_) {
        for (const Piece& piece : found->second) valid_[piece.record] = {redo.timestamp, piece.bytes};
      }
      pieces_.erase(found);
      return whole ? std::string_view() : gap;
    }
    default:
      return {};
  }
}

void CommittedRedo::finish() {
  for (const auto& [id, prepared] : prepared_) {
    for (const Piece& piece : pieces_[id]) valid_[piece.record] = {.commit = 0, .bytes = piece.bytes};
  }
  open_transactions_ = pieces_.size() - prepared_.size();
  pieces_.clear();
}

bool CommittedRedo::cut(std::vector<Piece>& pieces, uint64_t offset) {
  while (!pieces.empty() && pieces.back().offset >= offset) pieces.pop_back();
  const uint64_t end = pieces.empty() ? 0 : pieces.back().offset + pieces.back().bytes;
  if (end < offset) return false;
  if (!pieces.empty()) pieces.back().bytes = offset - pieces.back().offset;
  return true;
}

const CommittedRedo::Valid* CommittedRedo::find(Lsn begin) const {
  const auto found = valid_.find(begin);
  return found == valid_.end() ? nullptr : &found->second;
}

}  // namespace hailstone

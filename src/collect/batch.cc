#include "collect/batch.h"

#include <fmt/format.h>

#include <numeric>

namespace hailstone {

void Batch::clear(uint64_t sequence) {
  text_.clear();
  all_bytes_ = 0;
  records_.clear();
  sources_.clear();
  tables_.clear();
  begin_ = end_ = sequence;
  frame_end_ = 0;
}

Result<bool> Batch::enter_frame(const SpoolReader& reader) {
  const auto layout = reader.positions().find(layout_key);
  if (layout == reader.positions().end()) {
    return fail(ErrorCode::Corruption, fmt::format("record {} of the spool has no layout", end_));
  }
  if (layout->second != layout_bytes_) {
    if (!records_.empty()) return false;
    layout_bytes_ = layout->second;
    if (!decode_layout(layout_bytes_, layout_)) {
      return fail(ErrorCode::Corruption,
                  fmt::format("the layout of record {} of the spool cannot be read", end_));
    }
  }
  // A frame's records are of one source.
  for (const auto& [source, position] : reader.frame_positions()) {
    if (source == layout_key) continue;
    if (sources_.empty() || sources_.back() != source) sources_.push_back(source);
  }
  frame_end_ = reader.frame_end();
  return true;
}

Result<bool> Batch::add(const SpoolReader& reader, ByteView record) {
  if (reader.frame_end() != frame_end_) {
    HAILSTONE_ASSIGN(const bool is_same, enter_frame(reader));
    if (!is_same) return false;
  }
  ByteReader bytes(record);
  Record& taken = records_.emplace_back();
  ByteView text;
  if (!bytes.take_varint(taken.line) || !bytes.take_bytes(bytes.remaining(), text)) {
    return fail(ErrorCode::Corruption, fmt::format("record {} of the spool has no line", end_));
  }
  taken.source = static_cast<uint32_t>(sources_.size() - 1);
  taken.begin = text_.size();
  for (const char c : text) all_bytes_ |= static_cast<unsigned char>(c);
  text_ += text;
  text_ += '\n';
  taken.end = text_.size();
  end_ = reader.sequence();
  return true;
}

Batch::Places Batch::all() const {
  Places places(records_.size());
  std::iota(places.begin(), places.end(), size_t{0});
  return places;
}

std::string_view Batch::record(size_t place) const {
  const Record& record = records_[place];
  return std::string_view(text_).substr(record.begin, record.end - record.begin - 1);
}

std::string_view Batch::text(const Places& places, std::string& scratch) const {
  if (places.size() == records_.size()) return text_;
  scratch.clear();
  for (const size_t place : places) {
    scratch += record(place);
    scratch += '\n';
  }
  return scratch;
}

Rejection Batch::rejection_of(size_t place, std::string column, std::string reason) const {
  return {.source = sources_[records_[place].source],
          .line = records_[place].line,
          .column = std::move(column),
          .reason = std::move(reason),
          .record = std::string(record(place))};
}

}  // namespace hailstone

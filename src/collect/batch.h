// Records on their way from a spool into tables: their text, as LOAD DATA reads it, where each came from, and
// where it goes. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collect/load_text.h"
#include "collect/reject_file.h"
#include "collect/spool_reader.h"

namespace hailstone {

class Batch {
 public:
  /// Of records, in ascending order.
  using Places = std::vector<size_t>;

  /// Removes all records; the next one is behind the first `sequence` ones of the spool.
  void clear(uint64_t sequence);
  /// Adds the record that the reader has just given. False: it has another layout than those that are here;
  /// the reader is beyond it.
  Result<bool> add(const SpoolReader& reader, ByteView record);

  size_t size() const { return records_.size(); }
  bool empty() const { return records_.empty(); }
  size_t bytes() const { return text_.size(); }
  /// Whether all text is ASCII.
  bool is_ascii() const { return (all_bytes_ & 0x80U) == 0; }
  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  const RecordLayout& layout() const { return layout_; }
  Places all() const;
  /// Of one record, without the line's end.
  std::string_view record(size_t place) const;
  /// Of these, a line each. `scratch` may hold it.
  std::string_view text(const Places& places, std::string& scratch) const;
  Rejection rejection_of(size_t place, std::string column, std::string reason) const;

  /// Where records go: the first of tables() unless another one is set.
  std::vector<std::string>& tables() { return tables_; }
  const std::vector<std::string>& tables() const { return tables_; }
  void set_table(size_t place, uint32_t table) { records_[place].table = table; }
  uint32_t table(size_t place) const { return records_[place].table; }

 private:
  struct Record {
    uint64_t line = 0;
    uint32_t source = 0;        // among sources_
    uint32_t table = 0;         // among tables_
    size_t begin = 0, end = 0;  // in text_, with the line's end
  };

  /// The reader's next records are of another frame. As add().
  Result<bool> enter_frame(const SpoolReader& reader);

  RecordLayout layout_;
  std::string layout_bytes_;
  std::string text_;
  unsigned all_bytes_ = 0;  // the bits that any byte of the text has
  std::vector<Record> records_;
  std::vector<std::string> sources_, tables_;
  uint64_t begin_ = 0, end_ = 0;  // sequence numbers
  uint64_t frame_end_ = 0;        // of the frame of the last record; 0: there is none
};

}  // namespace hailstone

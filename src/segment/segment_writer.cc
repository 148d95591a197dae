#include "segment/segment_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>

#include "base/guard.h"
#include "base/hash.h"
#include "base/page_allocator.h"
#include "segment/bit_packing.h"
#include "segment/bytes_encoder.h"
#include "segment/dictionary_builder.h"
#include "segment/distinct_sketch.h"
#include "segment/integer_stream.h"
#include "segment/segment_format.h"
#include "segment/wide_halves.h"

namespace hailstone {
namespace {

constexpr size_t write_bytes = size_t{1} << 20;
constexpr double dictionary_text_wanted = 48 << 20;  // bytes; larger ones cost more to load than they save
constexpr double long_value = 200;                   // bytes
constexpr double small_dictionary_text = 64 << 10;   // bytes

/// Appends to the file in large writes.
class SegmentOutput {
 public:
  SegmentOutput(std::unique_ptr<WritableFile> file, Counters& counters)
      : file_(std::move(file)), counters_(counters) {
    // No more is ever in it; and less than a huge page, so that a small segment touches little.
    buffer_.reserve(write_bytes * 2 - 1);
  }

  Status append(ByteView bytes) {
    size_ += bytes.size();
    if (bytes.size() >= write_bytes) {
      HAILSTONE_TRY(flush());
      return write(bytes);
    }
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    return buffer_.size() >= write_bytes ? flush() : Status();
  }
  Status append_piece(ByteView bytes, Piece& piece) {
    piece = {size_, bytes.size(), checksum(bytes)};
    return append(bytes);
  }
  uint64_t size() const { return size_; }

  Status finish() {
    HAILSTONE_TRY(flush());
    count(counters_.segment_fsyncs);
    HAILSTONE_TRY(file_->sync());
    return file_->close();
  }

 private:
  Status flush() {
    if (buffer_.empty()) return {};
    HAILSTONE_TRY(write({buffer_.data(), buffer_.size()}));
    buffer_.clear();
    return {};
  }
  Status write(ByteView bytes) {
    count(counters_.segment_writes);
    count(counters_.segment_write_bytes, bytes.size());
    return file_->append(bytes);
  }

  std::unique_ptr<WritableFile> file_;
  Counters& counters_;
  PageVector<char> buffer_;
  uint64_t size_ = 0;
};

Encoding encoding_of(EncodedForm form) {
  switch (form.form) {
    case IntegerForm::Constant:
      return Encoding::Constant;
    case IntegerForm::Packed:
      return form.sloped ? Encoding::Delta : Encoding::BitPacked;
    case IntegerForm::Runs:
      return Encoding::RunLength;
    case IntegerForm::Dictionary:
      return Encoding::IntegerDictionary;
    case IntegerForm::Sparse:
      return Encoding::Sparse;
  }
  return Encoding::BitPacked;
}

class Writer {
 public:
  Writer(std::unique_ptr<WritableFile> file, const SegmentInput& input, Counters& counters,
         const std::function<bool()>& stop)
      : input_(input), output_(std::move(file), counters), stop_(stop) {}

  Status write() {
    footer_.identity = input_.identity;
    footer_.rows = input_.rows;
    bool any_scaled = false;
    std::vector<bool> scaled;
    for (const ColumnBuffer* column : input_.columns) {
      HAILSTONE_ASSIGN(const bool can, can_be_scaled({*column, input_.order, input_.rows}));
      scaled.push_back(can);
      any_scaled = any_scaled || can;
    }
    HAILSTONE_TRY(output_.append(any_scaled ? segment_header : segment_header_2));
    for (size_t i = 0; i < input_.columns.size(); ++i) {
      const OrderedColumn column{*input_.columns[i], input_.order, input_.rows};
      StoredColumn& stored = footer_.columns.emplace_back().column;
      stored = column.column.column();
      if (!scaled[i]) stored.decimal = {};
      HAILSTONE_TRY(stored.decimal.any() ? write_decimals(column)
                    : stored.integer     ? write_integers(column)
                                         : write_bytes_column(column));
    }
    HAILSTONE_TRY(write_keys());
    for (const auto& run : input_.indexes) HAILSTONE_TRY(write_index(run));
    const uint64_t footer_offset = output_.size();
    const std::string footer = footer_.serialise();
    HAILSTONE_TRY(output_.append(footer));
    std::string trailer;
    append_number(trailer, footer_offset);
    append_number(trailer, static_cast<uint64_t>(footer.size()));
    append_number(trailer, checksum(footer));
    trailer.append(segment_trailer_magic);
    HAILSTONE_TRY(output_.append(trailer));
    return output_.finish();
  }

 private:
  Status check_stop() const {
    if (stop_ && stop_()) return fail(ErrorCode::Interrupted, "writing a segment was interrupted");
    return {};
  }

  /// The part of a block that comes before its values; gathers the NULLs of rows [first, first + rows).
  void begin_block(const OrderedColumn& column, uint32_t first, uint32_t rows, BlockEntry& entry) {
    nulls_.clear();
    if (column.column.has_nulls()) {
      nulls_.resize((rows + 63) / 64);
      for (uint32_t i = 0; i < rows; ++i) {
        if (!column.null(first + i)) continue;
        nulls_[i / 64] |= uint64_t{1} << (i % 64);
        ++entry.nulls;
      }
      if (entry.nulls == 0) nulls_.clear();
    }
    payload_.assign(2, '\0');
    payload_[1] = entry.nulls != 0 ? 1 : 0;
    payload_.append(reinterpret_cast<const char*>(nulls_.data()), nulls_.size() * 8);
  }
  bool null_here(uint32_t row) const { return !nulls_.empty() && (nulls_[row / 64] >> (row % 64) & 1) != 0; }

  Status end_block(BlockKind kind, BlockEntry& entry) {
    payload_[0] = static_cast<char>(kind);
    return output_.append_piece(payload_, entry.piece);
  }

  /// Gives NULL rows of numbers a value that costs little and lies among the others; `alone` when there are
  /// no others.
  void fill_nulls(uint32_t rows, PageVector<uint64_t>& numbers, uint64_t alone = 0) {
    if (nulls_.empty()) return;
    uint32_t leading = 0;
    while (leading < rows && null_here(leading)) ++leading;
    const uint64_t first = leading < rows ? numbers[leading] : alone;
    std::fill_n(numbers.begin(), leading, first);
    for (uint32_t i = leading; i < rows; ++i) {
      if (null_here(i)) numbers[i] = numbers[i - 1];
    }
  }

  Status write_numbers_block(BlockKind kind, uint32_t rows, BlockEntry& entry) {
    fill_nulls(rows, numbers_);
    find_minimum_maximum(numbers_.data(), rows, entry.low, entry.high);
    const EncodedForm form = append_integer_stream({numbers_.data(), rows}, payload_);
    entry.encoding = kind == BlockKind::Codes ? Encoding::Dictionary : encoding_of(form);
    return end_block(kind, entry);
  }

  void set_distinct(const DistinctSketch& sketch) {
    ColumnEntry& entry = footer_.columns.back();
    entry.distinct = sketch.estimate();
    sketch.append_stored(sketches_.emplace_back());
    entry.sketch = sketches_.back();
  }

  /// Whether the column is of decimals, and each value is what their format packs.
  Result<bool> can_be_scaled(const OrderedColumn& column) {
    const DecimalDigits digits = column.column.column().decimal;
    if (!digits.any()) return false;
    const DecimalFormat format(digits);
    for (uint32_t first = 0; first < input_.rows; first += block_rows) {
      HAILSTONE_TRY(check_stop());
      if (!scale_block(column, format, first, std::min(block_rows, input_.rows - first))) return false;
    }
    return true;
  }

  /// As scaled numbers.
  Status write_decimals(const OrderedColumn& column) {
    const DecimalFormat format(footer_.columns.back().column.decimal);
    ColumnEntry& entry = footer_.columns.back();
    DistinctSketch sketch;
    for (uint32_t first = 0; first < input_.rows; first += block_rows) {
      HAILSTONE_TRY(check_stop());
      const uint32_t rows = std::min(block_rows, input_.rows - first);
      BlockEntry& block = entry.blocks.emplace_back();
      begin_block(column, first, rows, block);
      static_cast<void>(scale_block(column, format, first, rows));
      const uint32_t values = rows - block.nulls;
      entry.raw_bytes += uint64_t{values} * format.width();
      if (values != 0) {
        if (format.is_integer()) {
          fill_nulls(rows, packed_);
          find_minimum_maximum(packed_.data(), rows, block.low, block.high);
          sketch.add(DistinctSketch::mix(packed_[0]));
          for (uint32_t i = 1; i < rows; ++i) {
            if (packed_[i] != packed_[i - 1]) sketch.add(DistinctSketch::mix(packed_[i]));
          }
        } else {
          summarise_bytes(column, first, rows, block);
        }
      }
      BlockKind kind = BlockKind::Integers;
      const WideHalves zero = WideHalves::of(0);
      if (!format.digits().is_short()) {
        kind = BlockKind::WideIntegers;
        fill_nulls(rows, high_numbers_, zero.high);
        append_integer_stream({high_numbers_.data(), rows}, payload_);
      }
      fill_nulls(rows, numbers_, zero.low);
      block.encoding = encoding_of(append_integer_stream({numbers_.data(), rows}, payload_));
      HAILSTONE_TRY(end_block(kind, block));
    }
    if (format.is_integer()) {
      set_distinct(sketch);
    } else {
      set_distinct(sketch_distinct(column));
    }
    return {};
  }

  /// Makes packed_ of integers, numbers_ and, of numbers that are not short, high_numbers_ of some rows.
  /// Those of NULL rows are any. False: a value is not what the format packs.
  bool scale_block(const OrderedColumn& column, const DecimalFormat& format, uint32_t first, uint32_t rows) {
    const bool has_nulls = column.column.has_nulls();
    if (format.is_integer()) {
      uint64_t zero = WideHalves::of(0).low;
      format.pack({&zero, 1}, &zero);
      for (uint32_t i = 0; i < rows; ++i)
        packed_[i] = has_nulls && column.null(first + i) ? zero : column.integer(first + i);
      return format.numbers({packed_.data(), rows}, numbers_.data());
    }
    for (uint32_t i = 0; i < rows; ++i) {
      std::optional<WideInteger> number = 0;
      if (!has_nulls || !column.null(first + i)) {
        const ByteView packed = column.bytes(first + i);
        number = packed.size() == format.width() ? format.number(packed) : std::nullopt;
      }
      if (!number) return false;
      const auto halves = WideHalves::of(*number);
      high_numbers_[i] = halves.high;
      numbers_[i] = halves.low;
    }
    return true;
  }

  /// The least and the greatest value of a block, some of which are not NULL.
  void summarise_bytes(const OrderedColumn& column, uint32_t first, uint32_t rows, BlockEntry& entry) {
    bool any = false;
    ByteView low, high;
    for (uint32_t i = 0; i < rows; ++i) {
      if (null_here(i)) continue;
      const ByteView value = column.bytes(first + i);
      if (!any || value < low) low = value;
      if (!any || value > high) high = value;
      any = true;
    }
    entry.low_bytes = low.substr(0, summary_bytes);
    entry.high_bytes = high.substr(0, summary_bytes);
  }

  Status write_integers(const OrderedColumn& column) {
    ColumnEntry& entry = footer_.columns.back();
    DistinctSketch sketch;
    for (uint32_t first = 0; first < input_.rows; first += block_rows) {
      HAILSTONE_TRY(check_stop());
      const uint32_t rows = std::min(block_rows, input_.rows - first);
      BlockEntry& block = entry.blocks.emplace_back();
      begin_block(column, first, rows, block);
      if (input_.order.empty()) {
        for (uint32_t i = 0; i < rows; ++i) numbers_[i] = column.column.integer(first + i);
      } else {
        for (uint32_t i = 0; i < rows; ++i) numbers_[i] = column.column.integer(input_.order[first + i]);
      }
      HAILSTONE_TRY(write_numbers_block(BlockKind::Integers, rows, block));
      entry.raw_bytes += uint64_t{rows - block.nulls} * entry.column.width;
      if (block.nulls == rows) continue;
      sketch.add(DistinctSketch::mix(numbers_[0]));
      for (uint32_t i = 1; i < rows; ++i) {
        if (numbers_[i] != numbers_[i - 1]) sketch.add(DistinctSketch::mix(numbers_[i]));
      }
    }
    set_distinct(sketch);
    return {};
  }

  Status write_bytes_column(const OrderedColumn& column) {
    ColumnEntry& entry = footer_.columns.back();
    uint64_t values = 0;
    for (uint32_t row = 0; row < input_.rows; ++row) {
      if (column.null(row)) continue;
      ++values;
      entry.raw_bytes += column.bytes(row).size();
    }
    set_distinct(sketch_distinct(column));
    HAILSTONE_TRY(check_stop());
    HAILSTONE_ASSIGN(const bool wanted, dictionary_pays(column, values));
    if (wanted) {
      const uint64_t limit =
          std::min<uint64_t>(max_dictionary_entries, entry.distinct + entry.distinct / 4 + 1024);
      const auto built = build_dictionary(column, entry.distinct, limit);
      uint64_t text = 0;
      if (built) {
        for (const ByteView value : built->values) text += value.size();
      }
      if (built && !built->values.empty() && text <= max_dictionary_text) return write_codes(column, *built);
    }
    for (uint32_t first = 0; first < input_.rows; first += block_rows) {
      HAILSTONE_TRY(check_stop());
      HAILSTONE_TRY(write_bytes_block(column, first, entry.blocks.emplace_back(),
                                      [&](ByteView frame) { return output_.append(frame); }));
      HAILSTONE_TRY(output_.append_piece(payload_, entry.blocks.back().piece));
    }
    return {};
  }

  Status write_codes(const OrderedColumn& column, const BuiltDictionary& built) {
    ColumnEntry& entry = footer_.columns.back();
    entry.dictionary_size = static_cast<uint32_t>(built.values.size());
    entry.distinct = built.values.size();
    HAILSTONE_TRY(output_.append_piece(encode_dictionary(built.values), entry.dictionary));
    for (uint32_t first = 0; first < input_.rows; first += block_rows) {
      HAILSTONE_TRY(check_stop());
      const uint32_t rows = std::min(block_rows, input_.rows - first);
      BlockEntry& block = entry.blocks.emplace_back();
      begin_block(column, first, rows, block);
      for (uint32_t i = 0; i < rows; ++i) numbers_[i] = built.codes[first + i];
      HAILSTONE_TRY(write_numbers_block(BlockKind::Codes, rows, block));
    }
    return {};
  }

  /// Encodes a block without dictionary to payload_.
  Status write_bytes_block(const OrderedColumn& column, uint32_t first, BlockEntry& entry,
                           const BytesEncoder::FarWriter& write_far) {
    const uint32_t rows = std::min(block_rows, input_.rows - first);
    begin_block(column, first, rows, entry);
    values_.resize(rows);
    for (uint32_t i = 0; i < rows; ++i) values_[i] = null_here(i) ? ByteView() : column.bytes(first + i);
    summarise_bytes(column, first, rows, entry);
    BlockKind kind = BlockKind::Plain;
    HAILSTONE_TRY(encoder_.encode(values_, nulls_, write_far, payload_, kind, entry));
    payload_[0] = static_cast<char>(kind);
    return {};
  }

  /// Whether codes and a dictionary are worth it against the encodings of single blocks.
  Result<bool> dictionary_pays(const OrderedColumn& column, uint64_t values) {
    const ColumnEntry& entry = footer_.columns.back();
    const uint64_t distinct = entry.distinct;
    if (distinct == 0 || distinct > max_dictionary_entries || distinct > values / 2 + 16) return false;
    const double mean = static_cast<double>(entry.raw_bytes) / static_cast<double>(values);
    const auto rows = static_cast<double>(input_.rows);
    // Reading any row loads the whole dictionary, so long values belong in it only when they repeat.
    const double text = static_cast<double>(distinct) * mean;
    if (text > dictionary_text_wanted || (mean > long_value && distinct > values / 4)) return false;
    // Front coding and ZSTD leave about a third of the text, and two bytes for lengths.
    const double dictionary = static_cast<double>(distinct) * (mean / 3 + 2);
    const double codes = rows * static_cast<double>(std::bit_width(distinct)) / 8;
    // Codes are by far the fastest to filter: when values repeat a lot, nothing else is tried.
    if (distinct <= values / 256 || (distinct <= 256 && text <= small_dictionary_text)) return true;
    uint64_t sampled_rows = 0, sampled_bytes = 0;
    bool framed = false;
    const uint32_t blocks = footer_.blocks();
    for (uint32_t i = 0; i < std::min(blocks, 3U); ++i) {
      const uint32_t first = static_cast<uint32_t>(uint64_t{i} * blocks / 3) * block_rows;
      BlockEntry trial;
      uint64_t far = 0;
      HAILSTONE_TRY(write_bytes_block(column, first, trial, [&](ByteView frame) {
        far += frame.size();
        return Status();
      }));
      sampled_rows += std::min(block_rows, input_.rows - first);
      sampled_bytes += payload_.size() + far;
      framed = static_cast<BlockKind>(payload_[0]) == BlockKind::Frames;
    }
    const double blocks_alone = rows * static_cast<double>(sampled_bytes) / static_cast<double>(sampled_rows);
    // Frames must be decompressed whole for one value, so codes may cost more than they do.
    return dictionary + codes <= blocks_alone * (framed ? 1.6 : 1.25);
  }

  Status write_filter(std::span<const uint64_t> hashes, FilterEntry& entry) {
    if (hashes.empty()) return {};
    const std::vector<char> filter = build_bloom_filter(hashes);
    entry.bytes = filter.size();
    for (size_t first = 0; first < filter.size(); first += bloom_piece_bytes) {
      const size_t size = std::min(bloom_piece_bytes, filter.size() - first);
      HAILSTONE_TRY(output_.append_piece({filter.data() + first, size}, entry.pieces.emplace_back()));
    }
    return {};
  }

  Status write_keys() {
    footer_.keys.samples.assign(input_.key_samples.begin(), input_.key_samples.end());
    footer_.keys.last_key = input_.last_key;
    footer_.keys.distinct_prefixes = input_.distinct_prefixes;
    return write_filter(input_.key_hashes, footer_.keys.filter);
  }

  Status write_index(const IndexRun& run) {
    IndexEntry& entry = footer_.indexes.emplace_back();
    entry.entries = static_cast<uint32_t>(run.ordinals.size());
    entry.keys.samples.assign(run.samples.begin(), run.samples.end());
    entry.keys.last_key = run.last_key;
    entry.keys.distinct_prefixes = run.distinct_prefixes;
    for (uint32_t first = 0; first < entry.entries; first += block_rows) {
      HAILSTONE_TRY(check_stop());
      const uint32_t count = std::min(block_rows, entry.entries - first);
      for (uint32_t i = 0; i < count; ++i) numbers_[i] = run.ordinals[first + i];
      payload_.assign({static_cast<char>(BlockKind::Integers), '\0'});
      append_integer_stream({numbers_.data(), count}, payload_);
      HAILSTONE_TRY(output_.append_piece(payload_, entry.pieces.emplace_back()));
    }
    return write_filter(run.key_hashes, entry.keys.filter);
  }

  const SegmentInput& input_;
  SegmentOutput output_;
  const std::function<bool()>& stop_;
  Footer footer_;
  std::deque<std::string> sketches_;  // which the footer points into
  BytesEncoder encoder_;
  PageString payload_;
  std::vector<uint64_t> nulls_;  // of the block being encoded; empty when it has none
  PageVector<uint64_t> numbers_ = PageVector<uint64_t>(block_rows);
  // Of decimals: the high halves of wide numbers, and packed ones.
  PageVector<uint64_t> high_numbers_ = PageVector<uint64_t>(block_rows);
  PageVector<uint64_t> packed_ = PageVector<uint64_t>(block_rows);
  PageVector<ByteView> values_;
};

size_t sample_count(size_t entries) { return (entries + key_sample_stride - 1) / key_sample_stride; }

Status check_input(const std::string& path, const SegmentInput& input) {
  const auto wrong = [&](std::string_view what) {
    return fail(ErrorCode::InvalidArgument, fmt::format("cannot write segment file {}: {}", path, what));
  };
  if (input.rows == 0 || input.rows > max_segment_rows)
    return wrong(fmt::format("{} rows; 1 to {} are allowed", input.rows, max_segment_rows));
  if (!input.order.empty() && input.order.size() != input.rows)
    return wrong("the order has another number of rows");
  for (const ColumnBuffer* column : input.columns) {
    if (input.order.empty() ? column->rows() < input.rows
                            : std::any_of(input.order.begin(), input.order.end(),
                                          [&](uint32_t row) { return row >= column->rows(); })) {
      return wrong(fmt::format("column {} has too few rows", column->column().id));
    }
  }
  if (input.key_samples.size() != sample_count(input.rows))
    return wrong("the number of key samples does not fit the rows");
  for (const auto& run : input.indexes) {
    if (run.ordinals.size() > input.rows || run.samples.size() != sample_count(run.ordinals.size()) ||
        std::any_of(run.ordinals.begin(), run.ordinals.end(),
                    [&](uint32_t ordinal) { return ordinal >= input.rows; })) {
      return wrong("the entries or samples of an index do not fit the rows");
    }
  }
  return {};
}

}  // namespace

Status write_segment(Filesystem& filesystem, const std::string& path, const SegmentInput& input,
                     Counters& counters, const std::function<bool()>& stop) {
  HAILSTONE_TRY(check_input(path, input));
  const Status written = guarded([&]() -> Status {
    HAILSTONE_ASSIGN(auto file, filesystem.create_whole(path));
    return Writer(std::move(file), input, counters, stop).write();
  });
  if (!written) {
    // The first error is what the caller has to hear; a file that stays behind is not in the manifest and is
    // removed at the next start.
    static_cast<void>(filesystem.remove(path));
  }
  return written;
}

}  // namespace hailstone

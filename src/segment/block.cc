#include "segment/block.h"

#include <fmt/format.h>
#include <lz4.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <ranges>

#include "base/hash.h"
#include "schema/row_codec.h"
#include "segment/bit_packing.h"
#include "segment/block_state.h"
#include "segment/bytes_encoder.h"
#include "segment/zstd_frame.h"

namespace hailstone {
namespace {

/// As many scans of a whole block make it worth keeping decompressed.
constexpr size_t scans_to_unpack = 4;

/// Calls `each(i, begin, end)` for the i-th row with where its value lies in the block's text. Ends of rows
/// that lie close are decoded together.
template <typename Each>
void for_each_extent(const IntegerStream& ends, std::span<const uint16_t> rows, const Each& each) {
  uint64_t decoded[packing_unit + 1];
  for (size_t i = 0; i < rows.size();) {
    const uint32_t unit = rows[i] / packing_unit * packing_unit;
    size_t last = i + 1;
    while (last < rows.size() && rows[last] < unit + packing_unit) ++last;
    if (last - i > 48) {
      const uint32_t count = rows[last - 1] - unit + 1U;
      decoded[0] = unit == 0 ? 0 : ends.at(unit - 1);
      ends.decode(unit, count, decoded + 1);
      for (; i < last; ++i) each(i, decoded[rows[i] - unit], decoded[rows[i] - unit + 1]);
    } else {
      for (; i < last; ++i) each(i, rows[i] == 0 ? 0 : ends.at(rows[i] - 1U), ends.at(rows[i]));
    }
  }
}

/// Writes the digits of a number that starts with a 1 which is not part of them; returns how many.
size_t write_digits(uint64_t number, char* to) {
  char digits[24];
  char* const end = digits + sizeof digits;
  char* next = end;
  while (number >= 100) {
    const uint64_t pair = number % 100;
    number /= 100;
    *--next = static_cast<char>('0' + pair % 10);
    *--next = static_cast<char>('0' + pair / 10);
  }
  if (number >= 10) *--next = static_cast<char>('0' + number % 10);
  const auto size = static_cast<size_t>(end - next);
  std::memcpy(to, next, size);
  return size;
}

}  // namespace

void BlockBitmap::set_first(uint32_t rows) {
  const uint32_t full = std::min<uint32_t>(rows / 64, words);
  std::fill_n(bits, full, ~uint64_t{0});
  std::fill(bits + full, bits + words, 0);
  if (full < words) bits[full] = (uint64_t{1} << (rows % 64)) - 1;
}

bool BlockBitmap::none() const {
  uint64_t any = 0;
  for (const uint64_t word : bits) any |= word;
  return any == 0;
}

uint32_t BlockBitmap::count() const { return count_bits(bits, words); }

void BlockBitmap::append_rows(uint32_t first, uint32_t last, UnclearedVector<uint16_t>& rows) const {
  last = std::min(last, block_rows);
  if (first >= last) return;
  const size_t before = rows.size();
  const uint32_t first_word = first / 64;
  rows.resize(before + count_bits(bits + first_word, (last + 63) / 64 - first_word) + vector_slack);
  rows.resize(before + list_bits(bits, first, last, rows.data() + before));
}

std::span<const uint16_t> BlockBitmap::rows(UnclearedVector<uint16_t>& scratch) const {
  static const auto first_rows = [] {
    std::array<uint16_t, block_rows> numbers;
    std::iota(numbers.begin(), numbers.end(), uint16_t{0});
    return numbers;
  }();
  const uint32_t set = count();
  BlockBitmap first;
  first.set_first(set);
  if (std::ranges::equal(bits, first.bits)) return std::span(first_rows).first(set);
  scratch.clear();
  append_rows(0, block_rows, scratch);
  return scratch;
}

void BlockBitmap::append_counts(std::span<const uint16_t> rows, std::vector<uint32_t>& counts) const {
  uint32_t word = 0, before = 0;
  for (const uint16_t row : rows) {
    for (; word < row / 64U; ++word) before += static_cast<uint32_t>(std::popcount(bits[word]));
    const uint64_t in_word = bits[word] & ((uint64_t{1} << (row % 64)) - 1);
    counts.push_back(before + static_cast<uint32_t>(std::popcount(in_word)));
  }
}

std::shared_ptr<const Dictionary> Dictionary::of(std::span<const ByteView> values) {
  const auto dictionary = std::make_shared<Dictionary>();
  dictionary->ends_.reserve(values.size());
  for (const ByteView value : values) {
    dictionary->text_.insert(dictionary->text_.end(), value.begin(), value.end());
    dictionary->ends_.push_back(static_cast<uint32_t>(dictionary->text_.size()));
  }
  return dictionary;
}

ByteView Dictionary::value(uint32_t code) const {
  const uint32_t begin = code == 0 ? 0 : ends_[code - 1];
  return {text_.data() + begin, ends_[code] - begin};
}

bool Dictionary::has_order_of(const Collation& collation) const {
  if (collation.bytes_decide_order()) return true;
  const uint64_t yes = uint64_t{collation.id()} << 2 | 3, no = yes - 2;
  const uint64_t known = known_order_.load(std::memory_order_relaxed);
  if (known == yes || known == no) return known == yes;
  bool in_order = true;
  for (uint32_t code = 1; in_order && code < size(); ++code)
    in_order = collation.compare(value(code - 1), value(code)) <= 0;
  known_order_.store(in_order ? yes : no, std::memory_order_relaxed);
  return in_order;
}

size_t Dictionary::memory() const { return sizeof *this + ends_.capacity() * 4 + text_.capacity(); }

Block::~Block() = default;

void Block::State::restrict(BlockBitmap& bitmap) const {
  if (rows < block_rows) {
    const size_t full = rows / 64;
    bitmap.bits[full] &= (uint64_t{1} << (rows % 64)) - 1;
    std::fill(bitmap.bits + full + 1, bitmap.bits + BlockBitmap::words, 0);
  }
  if (nulls != nullptr) {
    for (size_t word = 0; word * 64 < rows; ++word) bitmap.bits[word] &= ~null_word(word);
  }
}

Result<ByteView> Block::State::frame_text(const Frame& frame, Arena& scratch) const {
  const size_t stored_size = frame.stored_end - frame.stored_begin;
  const size_t size = frame.text_end - frame.text_begin;
  ByteView stored;
  if (far_offset == 0) {
    stored = text.substr(frame.stored_begin, stored_size);
  } else {
    const uint64_t offset = far_offset + frame.stored_begin;
    const char* bytes = file->lent(offset, stored_size);
    if (bytes == nullptr) {
      char* const read = scratch.allocate(stored_size);
      HAILSTONE_TRY(file->read(offset, stored_size, read));
      bytes = read;
    }
    stored = {bytes, stored_size};
    if (checksum(stored) != frame.checksum) {
      return file->corrupt(offset, "the checksum of a value does not match");
    }
  }
  if (frame.codec == FrameCodec::Raw) return stored;
  char* to = scratch.allocate(size);
  if (frame.codec == FrameCodec::Zstd) {
    HAILSTONE_TRY(decompress_zstd(*file, piece_offset, stored, to, size));
  } else if (LZ4_decompress_safe(stored.data(), to, static_cast<int>(stored_size), static_cast<int>(size)) !=
             static_cast<int>(size)) {
    return file->corrupt(piece_offset, "a compressed value cannot be decompressed in the block");
  }
  return ByteView(to, size);
}

void Block::State::decode_decimals(uint32_t first, uint32_t count, WideInteger* to) const {
  uint64_t low[packing_unit], high[packing_unit];
  numbers.decode(first, count, low);
  if (kind == BlockKind::WideIntegers) high_numbers.decode(first, count, high);
  for (uint32_t i = 0; i < count; ++i) {
    to[i] = kind == BlockKind::WideIntegers ? WideHalves{high[i], low[i]}.number()
                                            : native_signed(low[i], sizeof(uint64_t));
  }
}

void Block::State::gather_decimals(std::span<const uint16_t> chosen, WideInteger* to) const {
  uint64_t low[packing_unit], high[packing_unit];
  for (size_t done = 0; done < chosen.size();) {
    const auto here = chosen.subspan(done, std::min<size_t>(packing_unit, chosen.size() - done));
    numbers.gather(here, low);
    if (kind == BlockKind::WideIntegers) high_numbers.gather(here, high);
    for (size_t i = 0; i < here.size(); ++i) {
      to[done + i] = kind == BlockKind::WideIntegers ? WideHalves{high[i], low[i]}.number()
                                                     : native_signed(low[i], sizeof(uint64_t));
    }
    done += here.size();
  }
}

uint32_t Block::rows() const { return state_->rows; }
bool Block::has_nulls() const { return state_->nulls != nullptr; }
bool Block::null(uint32_t row) const { return state_->is_null(row); }

void Block::nulls(BlockBitmap& bitmap) const {
  bitmap.clear();
  if (state_->nulls == nullptr) return;
  for (size_t word = 0; word * 64 < state_->rows; ++word) bitmap.bits[word] = state_->null_word(word);
}

uint64_t Block::integer(uint32_t row) const {
  uint64_t value = state_->numbers.at(row);
  if (state_->decimal) state_->decimal->pack({&value, 1}, &value);
  return value;
}
uint32_t Block::lower_bound(uint32_t first, uint32_t last, uint64_t number) const {
  if (state_->decimal)
    number = order_signed(static_cast<int64_t>(state_->decimal->first_from(number)), sizeof number);
  const auto rows = std::views::iota(first, last);
  const auto found =
      std::ranges::partition_point(rows, [&](uint32_t row) { return state_->numbers.at(row) < number; });
  return first + static_cast<uint32_t>(found - rows.begin());
}
void Block::integers(uint32_t first, uint32_t count, uint64_t* to) const {
  state_->numbers.decode(first, count, to);
  if (state_->decimal) state_->decimal->pack({to, count}, to);
}
void Block::gather_integers(std::span<const uint16_t> rows, uint64_t* to) const {
  state_->numbers.gather(rows, to);
  if (state_->decimal) state_->decimal->pack({to, rows.size()}, to);
}

void Block::select_ranges(std::span<const IntegerRange> ranges, BlockBitmap& bitmap) const {
  if (state_->decimal) {
    std::vector<State::NumberRange> numbers;
    for (const IntegerRange& range : ranges)
      numbers.push_back({state_->decimal->first_from(range.low), state_->decimal->last_until(range.high)});
    return state_->select_decimals(numbers, bitmap);
  }
  state_->numbers.select(ranges, bitmap);
  state_->restrict(bitmap);
}

void Block::select_packed(std::span<const BytesRange> ranges, BlockBitmap& bitmap) const {
  std::vector<State::NumberRange> numbers;
  for (const BytesRange& range : ranges)
    numbers.push_back({state_->decimal->first_from(range.low), state_->decimal->last_until(range.high)});
  state_->select_decimals(numbers, bitmap);
}

DecimalDigits Block::decimal() const { return state_->decimal ? state_->decimal->digits() : DecimalDigits{}; }
void Block::gather_numbers(std::span<const uint16_t> rows, uint64_t* to) const {
  state_->numbers.gather(rows, to);
}
void Block::gather_wide_numbers(std::span<const uint16_t> rows, WideInteger* to) const {
  state_->gather_decimals(rows, to);
}

void Block::State::select_decimals(std::vector<NumberRange> ranges, BlockBitmap& bitmap) const {
  // Bounds between two numbers may have left nothing of a range.
  std::erase_if(ranges, [](const NumberRange& range) { return range.low > range.high; });
  if (kind == BlockKind::Integers) {
    std::vector<IntegerRange> ordered;
    ordered.reserve(ranges.size());
    for (const NumberRange& range : ranges) {
      ordered.push_back({order_signed(static_cast<int64_t>(range.low), sizeof(int64_t)),
                         order_signed(static_cast<int64_t>(range.high), sizeof(int64_t))});
    }
    numbers.select(ordered, bitmap);
  } else {
    select_halves(ranges, bitmap);
  }
  restrict(bitmap);
}

void Block::State::select_halves(std::span<const NumberRange> ranges, BlockBitmap& bitmap) const {
  if (high_numbers.form() == IntegerForm::Constant) {
    // Then the low halves alone decide.
    const uint64_t shared = high_numbers.at(0);
    std::vector<IntegerRange> low_halves;
    for (const NumberRange& range : ranges) {
      const auto low = WideHalves::of(range.low), high = WideHalves::of(range.high);
      if (low.high > shared || high.high < shared) continue;
      low_halves.push_back({low.high < shared ? 0 : low.low, high.high > shared ? ~uint64_t{0} : high.low});
    }
    numbers.select(low_halves, bitmap);
    return;
  }
  bitmap.clear();
  WideInteger values[packing_unit];
  for (uint32_t first = 0; first < rows; first += packing_unit) {
    const uint32_t here = std::min(packing_unit, rows - first);
    decode_decimals(first, here, values);
    for (uint32_t i = 0; i < here; ++i) {
      const auto range = std::ranges::lower_bound(ranges, values[i], {}, &NumberRange::high);
      if (range == ranges.end() || range->low > values[i]) continue;
      bitmap.bits[(first + i) / 64] |= uint64_t{1} << ((first + i) % 64);
    }
  }
}

bool Block::has_codes() const { return state_->kind == BlockKind::Codes; }
uint32_t Block::code(uint32_t row) const { return static_cast<uint32_t>(state_->numbers.at(row)); }

void Block::gather_codes(std::span<const uint16_t> rows, uint32_t* to) const {
  state_->numbers.gather(rows, to);
}

void Block::select_code_ranges(std::span<const IntegerRange> ranges, BlockBitmap& bitmap) const {
  select_ranges(ranges, bitmap);
}

void Block::select_codes(std::span<const uint64_t> codes, BlockBitmap& bitmap) const {
  // A few runs of codes are found faster as ranges.
  constexpr size_t few_runs = 6;
  std::vector<IntegerRange> runs;
  bool inside = false;
  for (size_t word = 0; word < codes.size() && runs.size() <= few_runs; ++word) {
    uint64_t changes = codes[word] ^ (codes[word] << 1 | (inside ? 1 : 0));
    for (; changes != 0; changes &= changes - 1) {
      const uint64_t code = word * 64 + static_cast<uint64_t>(std::countr_zero(changes));
      inside = !inside;
      if (inside) {
        runs.push_back({code, ~uint64_t{0}});
      } else {
        runs.back().high = code - 1;
      }
    }
  }
  if (runs.size() <= few_runs) {
    if (inside) runs.back().high = codes.size() * 64 - 1;
    state_->numbers.select(runs, bitmap);
  } else {
    state_->numbers.select_members(codes, bitmap);
  }
  state_->restrict(bitmap);
}

void Block::State::gather_packed(std::span<const uint16_t> chosen, Arena& scratch, ByteView* to) const {
  WideInteger values[packing_unit];
  const size_t width = decimal->width();
  for (size_t done = 0; done < chosen.size();) {
    const auto here = chosen.subspan(done, std::min<size_t>(packing_unit, chosen.size() - done));
    gather_decimals(here, values);
    char* bytes = scratch.allocate(here.size() * width);
    for (size_t i = 0; i < here.size(); ++i, bytes += width) {
      decimal->pack(values[i], bytes);
      to[done + i] = {bytes, width};
    }
    done += here.size();
  }
}

Status Block::gather_bytes(std::span<const uint16_t> rows, const Dictionary* dictionary, Arena& scratch,
                           ByteView* to) const {
  const State& state = *state_;
  if (state.decimal) {
    state.gather_packed(rows, scratch, to);
    return {};
  }
  switch (state.kind) {
    case BlockKind::Codes: {
      uint32_t codes[packing_unit];
      for (size_t done = 0; done < rows.size();) {
        const size_t here = std::min<size_t>(packing_unit, rows.size() - done);
        state.numbers.gather(rows.subspan(done, here), codes);
        for (size_t i = 0; i < here; ++i) to[done + i] = dictionary->value(codes[i]);
        done += here;
      }
      return {};
    }
    case BlockKind::ConstantBytes:
      std::fill_n(to, rows.size(), state.text);
      return {};
    case BlockKind::Digits: {
      uint64_t numbers[packing_unit];
      for (size_t done = 0; done < rows.size();) {
        const size_t here = std::min<size_t>(packing_unit, rows.size() - done);
        state.numbers.gather(rows.subspan(done, here), numbers);
        char* text = scratch.allocate(here * max_digits);
        for (size_t i = 0; i < here; ++i) {
          const size_t size = write_digits(numbers[i], text);
          to[done + i] = {text, size};
          text += size;
        }
        done += here;
      }
      return {};
    }
    case BlockKind::Plain:
      for_each_extent(state.numbers, rows, [&](size_t i, uint64_t begin, uint64_t end) {
        to[i] = {state.text.data() + begin, end - begin};
      });
      return {};
    case BlockKind::Frames: {
      const State::Frame* frame = nullptr;
      ByteView text;
      Status status;
      for_each_extent(state.numbers, rows, [&](size_t i, uint64_t begin, uint64_t end) {
        if (!status) return;
        if (begin == end) {
          to[i] = {};
          return;
        }
        if (frame == nullptr || rows[i] >= frame->end_row) {
          frame = &*std::upper_bound(
              state.frames.begin(), state.frames.end(), rows[i],
              [](uint32_t row, const State::Frame& candidate) { return row < candidate.end_row; });
          auto decoded = state.frame_text(*frame, scratch);
          if (!decoded) {
            status = std::unexpected(std::move(decoded).error());
            return;
          }
          text = *decoded;
          state.decompressed_again.fetch_add(rows.size() == 1 ? text.size() : text.size() / scans_to_unpack,
                                             std::memory_order_relaxed);
        }
        to[i] = text.substr(begin - frame->text_begin, end - begin);
      });
      return status;
    }
    case BlockKind::Integers:
    case BlockKind::WideIntegers:
      break;
  }
  return fail(ErrorCode::InvalidArgument, "a block of integers has no byte strings; ask it for integers");
}

bool Block::pays_to_unpack() const {
  // Once as much was decompressed for single values as the whole block has, to have kept it would have cost
  // nothing. Scans use all that they decompress: only a few of them tell that more are likely to come.
  const State& state = *state_;
  return state.kind == BlockKind::Frames && state.far_offset == 0 &&
         state.decompressed_again.load(std::memory_order_relaxed) >= state.text_size &&
         state.decompressed_again.exchange(0, std::memory_order_relaxed) >= state.text_size;
}

bool Block::is_compressed() const { return state_->kind == BlockKind::Frames; }

size_t Block::unpacked_memory() const {
  return sizeof(Block) + sizeof(State) + state_->numbers_end + state_->text_size + state_->numbers.memory();
}

size_t Block::memory() const {
  return sizeof(Block) + sizeof(State) + state_->piece.memory() + state_->numbers.memory() +
         state_->high_numbers.memory() + state_->frames.capacity() * sizeof(State::Frame);
}

}  // namespace hailstone

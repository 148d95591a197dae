#include "segment/delete_vector.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/hash.h"
#include "base/version.h"

namespace hailstone {
namespace {

constexpr ByteView magic_of_all("HAILDELV", 8);
constexpr ByteView magic("HAILDELV\2\0\0\0", 12);    // and version
constexpr ByteView magic_1("HAILDELV\1\0\0\0", 12);  // of files without an identity
constexpr size_t sparse_limit = 512;
constexpr size_t palette_limit = 255;

/// Frees the memory of a list, too: assigning {} would keep it.
template <typename T>
void give_back(std::vector<T>& list) {
  std::vector<T>().swap(list);
}

/// The ended rows of one block. While they are few, a sorted list of rows and ends. Then a bit for each row,
/// and its end in one of three forms: nothing more when all ends are the same (a statement that ended many
/// rows), the number of its end in the list of the different ones, or the end itself.
class Chunk {
 public:
  Chunk() { ended_.clear(); }
  uint32_t count() const { return count_; }
  bool is_wide() const { return !wide_.empty(); }

  Timestamp end(uint16_t row) const {
    if (!is_dense_) {
      const auto place = find(row);
      return place != sparse_.end() && place->row == row ? place->end : infinity;
    }
    return (ended_.bits[row / 64] >> (row % 64) & 1) != 0 ? dense_end(row) : infinity;
  }

  /// `value` may be infinity, which forgets the row. Needs memory for a row only that was live.
  void set(uint16_t row, Timestamp value) {
    const Timestamp before = end(row);
    if (before == value) return;
    if (!is_dense_ && before == infinity && sparse_.size() == sparse_limit) make_dense();
    if (is_dense_) {
      set_dense(row, value);
    } else {
      const auto place = sparse_.begin() + (find(row) - sparse_.cbegin());
      if (value == infinity) {
        sparse_.erase(place);
      } else if (before != infinity) {
        place->end = value;
      } else {
        sparse_.insert(place, {row, value});
      }
    }
    if (before != infinity) {
      --count_;
      markers_ -= is_marker(before) ? 1U : 0U;
    }
    if (value == infinity) return;
    ++count_;
    if (is_marker(value)) {
      ++markers_;
    } else {
      newest_ = std::max(newest_, value);
    }
  }

  /// DeleteVector::stamp().
  void stamp(uint16_t row, Timestamp value) {
    const Timestamp marker = end(row);
    const auto has_value = [&](const Ends& ends) { return ends.end == value; };
    if (!is_dense_ || !wide_.empty() || marker == value || std::ranges::any_of(palette_, has_value))
      return set(row, value);
    Ends& ends = palette_[code_of(row)];
    ends.end = value;
    markers_ -= ends.rows;
    newest_ = std::max(newest_, value);
  }

  /// Replaces each end that is no marker by `same(end)`, which never rises.
  void compact(const std::function<Timestamp(Timestamp)>& same) {
    const auto replaced = [&](Timestamp end) { return is_marker(end) ? end : same(end); };
    for (auto& entry : sparse_) entry.end = replaced(entry.end);
    if (is_dense_) {
      // Made anew from its rows, with the ends that are left.
      Chunk made;
      for_each([&](uint16_t row, Timestamp end) { made.set_dense(row, replaced(end)); });
      made.palette_.shrink_to_fit();
      take_dense(made);
    }
    newest_ = same(newest_);
  }

  /// DeleteVector::make_room().
  void make_room() {
    if (!is_dense_) make_dense();
    if (is_wide()) return;
    palette_.reserve(palette_.size() + 2);
    if (codes_.empty()) codes_.assign(block_rows, 0);
    keeps_codes_ = true;
  }
  void give_back_room() noexcept {
    keeps_codes_ = false;
    if (!is_wide()) drop_codes();
  }

  size_t memory() const {
    return sizeof(Chunk) + sparse_.capacity() * sizeof(End) + wide_.capacity() * sizeof(Timestamp) +
           palette_.capacity() * sizeof(Ends) + codes_.capacity();
  }

  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const auto& entry : sparse_) visit(entry.row, entry.end);
    if (!is_dense_) return;
    for (size_t word = 0; word < BlockBitmap::words; ++word) {
      for (uint64_t bits = ended_.bits[word]; bits != 0; bits &= bits - 1) {
        const auto row = static_cast<uint16_t>(word * 64 + static_cast<size_t>(std::countr_zero(bits)));
        visit(row, dense_end(row));
      }
    }
  }

  void mask(const Snapshot& snapshot, BlockBitmap& bitmap) const {
    const bool all_included = (markers_ == 0 && newest_ <= snapshot.read) ||
                              (palette_.size() == 1 && snapshot.includes(palette_.front().end));
    if (is_dense_ && all_included) {
      for (size_t word = 0; word < BlockBitmap::words; ++word) bitmap.bits[word] &= ~ended_.bits[word];
      return;
    }
    for_each([&](uint16_t row, Timestamp end) {
      if (snapshot.includes(end)) bitmap.bits[row / 64] &= ~(uint64_t{1} << (row % 64));
    });
  }

 private:
  struct End {
    uint16_t row;
    Timestamp end;
  };
  struct Ends {
    Timestamp end = 0;
    uint32_t rows = 0;  // that have it; none: the place is free
  };

  std::vector<End>::const_iterator find(uint16_t row) const {
    return std::lower_bound(sparse_.begin(), sparse_.end(), row,
                            [](const End& entry, uint16_t wanted) { return entry.row < wanted; });
  }

  Timestamp dense_end(uint16_t row) const {
    if (!wide_.empty()) return wide_[row];
    return palette_[code_of(row)].end;
  }

  void make_dense() {
    Chunk made;
    for (const auto& entry : sparse_) made.set_dense(entry.row, entry.end);
    take_dense(made);
    is_dense_ = true;
    give_back(sparse_);
  }

  void take_dense(Chunk& from) noexcept {
    ended_ = from.ended_;
    palette_.swap(from.palette_);
    codes_.swap(from.codes_);
    wide_.swap(from.wide_);
  }

  size_t code_of(uint16_t row) const { return codes_.empty() ? 0 : codes_[row]; }

  void set_dense(uint16_t row, Timestamp value) {
    uint64_t& word = ended_.bits[row / 64];
    const uint64_t bit = uint64_t{1} << (row % 64);
    const bool had_code = (word & bit) != 0 && wide_.empty();
    const size_t code_before = had_code ? code_of(row) : 0;
    if (value == infinity) {
      word &= ~bit;
    } else {
      if (wide_.empty() && !set_code(row, value)) make_wide();
      if (!wide_.empty()) wide_[row] = value;
      word |= bit;
    }
    if (had_code && wide_.empty()) forget_code(code_before);
  }

  /// False: there are too many different ends.
  bool set_code(uint16_t row, Timestamp value) {
    const auto has_value = [&](const Ends& ends) { return ends.end == value; };
    auto found = std::find_if(palette_.begin(), palette_.end(), has_value);
    if (found == palette_.end()) {
      found = std::find_if(palette_.begin(), palette_.end(), [](const Ends& ends) { return ends.rows == 0; });
      if (found == palette_.end()) {
        if (palette_.size() == palette_limit) return false;
        found = palette_.insert(found, Ends());
      }
      if (found != palette_.begin() && codes_.empty()) codes_.assign(block_rows, 0);
      found->end = value;
    }
    ++found->rows;
    if (!codes_.empty()) codes_[row] = static_cast<uint8_t>(found - palette_.begin());
    return true;
  }

  /// A row has this end no more.
  void forget_code(size_t code) {
    if (--palette_[code].rows == 0 && !keeps_codes_) drop_codes();
  }

  /// When all rows have the same end they need no codes.
  void drop_codes() noexcept {
    const auto used = [](const Ends& ends) { return ends.rows != 0; };
    if (std::count_if(palette_.begin(), palette_.end(), used) > 1) return;
    const auto last = std::find_if(palette_.begin(), palette_.end(), used);
    if (last != palette_.end()) palette_.front() = *last;
    palette_.resize(last == palette_.end() ? 0 : 1);  // shrinks: needs no memory
    give_back(codes_);
  }

  void make_wide() {
    std::vector<Timestamp> ends(block_rows, infinity);
    for (uint32_t row = 0; row < block_rows; ++row) ends[row] = palette_[codes_[row]].end;
    wide_ = std::move(ends);
    give_back(palette_);
    give_back(codes_);
  }

  uint32_t count_ = 0;
  uint32_t markers_ = 0;  // entries with a marker
  Timestamp newest_ = 0;  // no timestamp (not marker) in here is greater
  bool is_dense_ = false;
  bool keeps_codes_ = false;     // also while it needs none
  std::vector<End> sparse_;      // while it is not dense
  BlockBitmap ended_;            // of a dense one, as all that follows
  std::vector<Ends> palette_;    // different ends, while they are few
  std::vector<uint8_t> codes_;   // of each row, its end in palette_; empty while that has one
  std::vector<Timestamp> wide_;  // in place of both: the end of each row
};

}  // namespace

struct DeleteVector::State {
  State(uint32_t row_count, MemoryBudget& memory_budget) : rows(row_count), budget(memory_budget) {}
  const uint32_t rows;
  MemoryBudget& budget;
  size_t charged = 0;
  uint32_t count = 0;
  uint64_t changes = 0;
  std::vector<std::unique_ptr<Chunk>> chunks;  // by block; empty until a row ends

  void stamp(uint32_t ordinal, Timestamp end) {
    chunks[ordinal / block_rows]->stamp(static_cast<uint16_t>(ordinal % block_rows), end);
    ++changes;
  }

  void set(uint32_t ordinal, Timestamp end) {
    const uint32_t block = ordinal / block_rows;
    if (chunks.empty()) {
      if (end == infinity) return;
      chunks.resize((rows + block_rows - 1) / block_rows);
      charge(chunks.capacity() * sizeof(chunks[0]), 0);
    }
    auto& chunk = chunks[block];
    size_t before = 0;
    if (!chunk) {
      if (end == infinity) return;
      chunk = std::make_unique<Chunk>();
    } else {
      before = chunk->memory();
    }
    const ChargeAtEnd charge_at_end{*this, *chunk, before};
    const uint32_t ended = chunk->count();
    chunk->set(static_cast<uint16_t>(ordinal % block_rows), end);
    count += chunk->count() - ended;
    ++changes;
  }
  /// Also when there was memory for a part of the change only.
  struct ChargeAtEnd {
    State& state;
    const Chunk& chunk;
    size_t before;
    ~ChargeAtEnd() { state.charge(chunk.memory(), before); }
  };
  void charge(size_t now, size_t before) {
    if (now > before) budget.reserve(now - before);
    if (now < before) budget.release(before - now);
    charged += now - before;
  }
};

DeleteVector::DeleteVector(uint32_t rows, MemoryBudget& budget)
    : state_(std::make_unique<State>(rows, budget)) {}
DeleteVector::~DeleteVector() { state_->budget.release(state_->charged); }

bool DeleteVector::empty() const { return state_->count == 0; }
uint32_t DeleteVector::count() const { return state_->count; }
uint64_t DeleteVector::change_count() const { return state_->changes; }

Timestamp DeleteVector::end(uint32_t ordinal) const {
  if (state_->count == 0) return infinity;
  const auto& chunk = state_->chunks[ordinal / block_rows];
  return chunk ? chunk->end(static_cast<uint16_t>(ordinal % block_rows)) : infinity;
}

void DeleteVector::set(uint32_t ordinal, Timestamp end) { state_->set(ordinal, end); }
void DeleteVector::stamp(uint32_t ordinal, Timestamp end) { state_->stamp(ordinal, end); }
void DeleteVector::reset(uint32_t ordinal) { state_->set(ordinal, infinity); }

void DeleteVector::make_room() {
  const size_t blocks = (state_->rows + block_rows - 1) / block_rows;
  if (state_->chunks.empty()) {
    state_->chunks.resize(blocks);
    state_->charge(state_->chunks.capacity() * sizeof(state_->chunks[0]), 0);
  }
  for (auto& chunk : state_->chunks) {
    const size_t before = chunk ? chunk->memory() : 0;
    if (!chunk) chunk = std::make_unique<Chunk>();
    const State::ChargeAtEnd charge_at_end{*state_, *chunk, before};
    chunk->make_room();
  }
}

void DeleteVector::give_back_room() noexcept {
  for (auto& chunk : state_->chunks) {
    if (!chunk) continue;
    const size_t before = chunk->memory();
    chunk->give_back_room();
    if (chunk->count() == 0) chunk.reset();
    state_->charge(chunk ? chunk->memory() : 0, before);
  }
}

void DeleteVector::compact(const std::function<Timestamp(Timestamp)>& same) {
  for (auto& chunk : state_->chunks) {
    if (!chunk || !chunk->is_wide()) continue;
    const size_t before = chunk->memory();
    chunk->compact(same);
    state_->charge(chunk->memory(), before);
  }
}

bool DeleteVector::is_wide() const {
  return std::any_of(state_->chunks.begin(), state_->chunks.end(),
                     [](const auto& chunk) { return chunk && chunk->is_wide(); });
}

void DeleteVector::mask(uint32_t block, const Snapshot& snapshot, BlockBitmap& bitmap) const {
  if (state_->count == 0) return;
  const auto& chunk = state_->chunks[block];
  if (chunk && chunk->count() != 0) chunk->mask(snapshot, bitmap);
}

void DeleteVector::for_each(const std::function<void(uint32_t ordinal, Timestamp end)>& visit) const {
  for (size_t block = 0; block < state_->chunks.size(); ++block) {
    if (!state_->chunks[block]) continue;
    const auto first = static_cast<uint32_t>(block) * block_rows;
    state_->chunks[block]->for_each([&](uint16_t row, Timestamp end) { visit(first + row, end); });
  }
}

std::string DeleteVector::serialise(const FileIdentity& identity) const {
  std::string entries;
  uint32_t entry_count = 0, next = 0;
  for_each([&](uint32_t ordinal, Timestamp end) {
    if (is_marker(end)) return;
    append_varint(entries, ordinal - next);
    append_varint(entries, end);
    next = ordinal + 1;
    ++entry_count;
  });
  std::string to(magic);
  append_identity(to, identity);
  append_number(to, state_->rows);
  append_number(to, entry_count);
  to.append(entries);
  append_number(to, checksum(to));
  return to;
}

Result<DeleteVector::Stored> DeleteVector::parse(ByteView bytes, uint32_t rows, MemoryBudget& budget,
                                                 const std::string& path) {
  const auto damaged = [&](size_t offset, std::string_view what) {
    return fail(
        ErrorCode::Corruption,
        fmt::format("delete vector file {} is damaged: {} at offset {}; restore the table from a backup",
                    path, what, offset));
  };
  const bool with_identity = bytes.substr(0, magic.size()) == magic;
  constexpr size_t least_bytes = magic.size() + 16;
  const bool is_known = with_identity || bytes.substr(0, magic_1.size()) == magic_1;
  if (bytes.size() < least_bytes || (!is_known && !bytes.starts_with(magic_of_all)))
    return damaged(0, "this is not the header of a delete vector of a known version");
  const ByteView content = bytes.substr(0, bytes.size() - 8);
  if (checksum(content) != load<uint64_t>(bytes.data() + content.size()))
    return damaged(content.size(), "the checksum does not match");
  if (!is_known) {
    const auto format = load<uint32_t>(bytes.data() + magic_of_all.size());
    return fail(ErrorCode::Unsupported,
                fmt::format("delete vector file {} {}; nothing was changed", path, unknown_format(format)));
  }
  ByteReader reader(content.substr(magic.size()));
  Stored stored;
  uint32_t stored_rows = 0, entry_count = 0;
  if (with_identity && !take_identity(reader, stored.identity.emplace()))
    return damaged(magic.size(), "the file is cut short");
  if (!reader.take(stored_rows) || !reader.take(entry_count) || stored_rows != rows || entry_count > rows) {
    return damaged(magic.size(), fmt::format("it is not for a segment of {} rows", rows));
  }
  auto vector = std::make_unique<DeleteVector>(rows, budget);
  uint64_t next = 0;
  for (uint32_t i = 0; i < entry_count; ++i) {
    uint64_t gap = 0;
    Timestamp end = 0;
    if (!reader.take_varint(gap) || !reader.take_varint(end) || gap >= rows || next + gap >= rows ||
        (end & marker_bit) != 0) {
      return damaged(content.size() - reader.remaining(), "an entry is wrong");
    }
    vector->set(static_cast<uint32_t>(next + gap), end);
    next += gap + 1;
  }
  if (!reader.empty())
    return damaged(content.size() - reader.remaining(), "there are bytes behind the last entry");
  vector->state_->changes = 0;
  stored.vector = std::move(vector);
  return stored;
}

}  // namespace hailstone

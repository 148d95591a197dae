#include "segment/delete_vector.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/hash.h"

namespace hailstone {
namespace {

constexpr ByteView magic("HAILDELV\2\0\0\0", 12);    // and version
constexpr ByteView magic_1("HAILDELV\1\0\0\0", 12);  // of files without an identity
constexpr size_t sparse_limit = 512;

/// The ended rows of one block: a sorted list while they are few, then an array.
struct Chunk {
  struct End {
    uint16_t row;
    Timestamp end;
  };
  uint32_t count = 0;
  std::vector<End> sparse;       // while dense is empty
  std::vector<Timestamp> dense;  // end of every row
  BlockBitmap ended;             // kept with dense
  uint32_t markers = 0;          // entries with a marker
  Timestamp newest = 0;          // no timestamp (not marker) in here is greater

  Timestamp end(uint16_t row) const {
    if (!dense.empty()) return dense[row];
    const auto place = find(row);
    return place != sparse.end() && place->row == row ? place->end : infinity;
  }
  std::vector<End>::const_iterator find(uint16_t row) const {
    return std::lower_bound(sparse.begin(), sparse.end(), row,
                            [](const End& entry, uint16_t wanted) { return entry.row < wanted; });
  }
  /// `value` may be infinity, which forgets the row.
  void set(uint16_t row, Timestamp value) {
    const Timestamp before = end(row);
    if (before == value) return;
    if (before != infinity) {
      --count;
      markers -= is_marker(before) ? 1U : 0U;
    }
    if (value != infinity) {
      ++count;
      if (is_marker(value)) {
        ++markers;
      } else {
        newest = std::max(newest, value);
      }
    }
    if (dense.empty() && value != infinity && sparse.size() == sparse_limit) make_dense();
    if (!dense.empty()) {
      dense[row] = value;
      const uint64_t bit = uint64_t{1} << (row % 64);
      ended.bits[row / 64] = value == infinity ? ended.bits[row / 64] & ~bit : ended.bits[row / 64] | bit;
      return;
    }
    const auto place = sparse.begin() + (find(row) - sparse.cbegin());
    if (value == infinity) {
      sparse.erase(place);
    } else if (place != sparse.end() && place->row == row) {
      place->end = value;
    } else {
      sparse.insert(place, {row, value});
    }
  }
  void make_dense() {
    dense.assign(block_rows, infinity);
    ended.clear();
    for (const auto& entry : sparse) {
      dense[entry.row] = entry.end;
      ended.bits[entry.row / 64] |= uint64_t{1} << (entry.row % 64);
    }
    sparse = {};
  }
  size_t memory() const {
    return sizeof(Chunk) + sparse.capacity() * sizeof(End) + dense.capacity() * sizeof(Timestamp);
  }
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const auto& entry : sparse) visit(entry.row, entry.end);
    if (dense.empty()) return;
    for (size_t word = 0; word < BlockBitmap::words; ++word) {
      for (uint64_t bits = ended.bits[word]; bits != 0; bits &= bits - 1) {
        const auto row = static_cast<uint16_t>(word * 64 + static_cast<size_t>(std::countr_zero(bits)));
        visit(row, dense[row]);
      }
    }
  }
  void mask(const Snapshot& snapshot, BlockBitmap& bitmap) const {
    if (!dense.empty() && markers == 0 && newest <= snapshot.read) {
      for (size_t word = 0; word < BlockBitmap::words; ++word) bitmap.bits[word] &= ~ended.bits[word];
      return;
    }
    for_each([&](uint16_t row, Timestamp end) {
      if (snapshot.includes(end)) bitmap.bits[row / 64] &= ~(uint64_t{1} << (row % 64));
    });
  }
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
    count -= chunk->count;
    chunk->set(static_cast<uint16_t>(ordinal % block_rows), end);
    count += chunk->count;
    charge(chunk->memory(), before);
    ++changes;
  }
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
void DeleteVector::reset(uint32_t ordinal) { state_->set(ordinal, infinity); }

void DeleteVector::mask(uint32_t block, const Snapshot& snapshot, BlockBitmap& bitmap) const {
  if (state_->count == 0) return;
  const auto& chunk = state_->chunks[block];
  if (chunk && chunk->count != 0) chunk->mask(snapshot, bitmap);
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
  if (bytes.size() < magic.size() + 16 || (!with_identity && bytes.substr(0, magic_1.size()) != magic_1)) {
    return damaged(0, "this is not the header of a delete vector of a known version");
  }
  const ByteView content = bytes.substr(0, bytes.size() - 8);
  if (checksum(content) != load<uint64_t>(bytes.data() + content.size()))
    return damaged(content.size(), "the checksum does not match");
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

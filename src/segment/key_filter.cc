#include "segment/key_filter.h"

#include <array>

#include "segment/segment_codec.h"

namespace hailstone {

namespace {

/// One look in so many at a piece that is not cached puts it there, in place of what nobody has asked for:
/// so what stays in the cache changes slowly where all pieces are asked for, and soon where some are.
constexpr uint8_t misses_to_keep = 64;

}  // namespace

/// A piece in the cache.
class FilterPiece final : public BlockCache::Entry {
 public:
  explicit FilterPiece(PieceBuffer bytes) : bytes_(std::move(bytes)) {}
  ByteView bytes() const { return bytes_.bytes(); }
  size_t memory() const override { return sizeof *this + bytes_.memory(); }

 private:
  PieceBuffer bytes_;
};

KeyFilter::KeyFilter(BlockCache& cache, std::shared_ptr<const SegmentFile> file, uint64_t file_number,
                     const FilterEntry& entry)
    : cache_(cache),
      file_(std::move(file)),
      file_number_(file_number),
      entry_(entry),
      uses_(entry.pieces.size()) {}

bool KeyFilter::may_keep(size_t number) const {
  return cache_.has_room(bloom_piece_bytes) ||
         uses_[number].misses.fetch_add(1, std::memory_order_relaxed) % misses_to_keep == 0;
}

Result<std::shared_ptr<const FilterPiece>> KeyFilter::piece(size_t number, bool keep) const {
  const Piece& piece = entry_.pieces[number];
  HAILSTONE_ASSIGN(auto entry, cache_.get(
                                   {file_number_, piece.offset},
                                   [&]() -> Result<std::shared_ptr<const BlockCache::Entry>> {
                                     HAILSTONE_ASSIGN(PieceBuffer bytes, PieceBuffer::read(*file_, piece));
                                     uses_[number].checked.store(true, std::memory_order_relaxed);
                                     return std::make_shared<FilterPiece>(std::move(bytes));
                                   },
                                   keep));
  return std::static_pointer_cast<const FilterPiece>(std::move(entry));
}

/// Null: it is not cached, and it is cheaper to read a block of it.
Result<std::shared_ptr<const FilterPiece>> KeyFilter::piece_of_one(size_t number) const {
  if (auto found = cache_.find({file_number_, entry_.pieces[number].offset}))
    return std::static_pointer_cast<const FilterPiece>(std::move(found));
  if (!may_keep(number) && uses_[number].checked.load(std::memory_order_relaxed)) return nullptr;
  return piece(number, true);
}

Result<bool> KeyFilter::block_admits(uint64_t hash) const {
  const uint64_t offset = bloom_block_offset(hash, entry_.bytes);
  const Piece& piece = entry_.pieces[static_cast<size_t>(offset / bloom_piece_bytes)];
  count(file_->counters().bloom_filter_reads);
  std::array<char, bloom_block_bytes> block;
  HAILSTONE_TRY(file_->read(piece.offset + offset % bloom_piece_bytes, block.size(), block.data()));
  return bloom_block_contains(block.data(), hash);
}

Result<bool> KeyFilter::admits(uint64_t hash, FilterPins* pins) const {
  if (entry_.bytes == 0) return true;
  if (const auto known = pins == nullptr ? std::nullopt : pins->admits(hash)) return *known;
  const uint64_t offset = bloom_block_offset(hash, entry_.bytes);
  const auto number = static_cast<size_t>(offset / bloom_piece_bytes);
  HAILSTONE_ASSIGN(auto found, piece_of_one(number));
  if (found == nullptr) return block_admits(hash);
  const char* const bytes = found->bytes().data();
  const bool admitted = bloom_block_contains(bytes + offset % bloom_piece_bytes, hash);
  if (pins != nullptr) pins->hold(cache_, entry_.bytes, number, bytes, std::move(found));
  return admitted;
}

Status KeyFilter::admits(std::span<const BloomKey> keys, std::vector<uint32_t>& to) const {
  if (entry_.bytes == 0) {
    for (const BloomKey& key : keys) to.push_back(key.number);
    return {};
  }
  while (!keys.empty()) {
    const auto number =
        static_cast<size_t>(bloom_block_offset(keys.front().hash, entry_.bytes) / bloom_piece_bytes);
    HAILSTONE_ASSIGN(const auto found, piece(number, may_keep(number)));
    keys = keys.subspan(
        bloom_piece_admitted(found->bytes(), number * bloom_piece_bytes, entry_.bytes, keys, to));
  }
  return {};
}

Status KeyFilter::check() const {
  for (const Piece& piece : entry_.pieces) HAILSTONE_TRY(PieceBuffer::read(*file_, piece));
  return {};
}

}  // namespace hailstone

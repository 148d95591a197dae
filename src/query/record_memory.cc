#include "query/record_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace hailstone {

namespace {

constexpr size_t least_slab = size_t{64} << 10;
/// A slab takes no more of the query's share than this part.
constexpr size_t slabs_of_share = 16;

}  // namespace

RecordDivision RecordDivision::of(size_t most_of_thread) {
  // So many partitions where each then has pieces of this length at least.
  constexpr unsigned most_first_bits = 8, fewest_first_bits = 5;
  constexpr size_t usual_piece = size_t{64} << 10;
  constexpr size_t pieces_of_partition = 8;
  const unsigned bits =
      most_of_thread >> most_first_bits >= usual_piece ? most_first_bits : fewest_first_bits;
  return {.chunk = (most_of_thread >> bits) / pieces_of_partition, .first_bits = bits};
}

RecordMemory::RecordMemory(MemoryBudget& budget, SpillSpace& space, size_t most,
                           const RecordDivision& division, const RecordFloor& floor, OperatorCounts* counts)
    : chunk_bytes_(std::bit_floor(std::clamp(division.chunk, least_chunk, most_chunk))),
      first_bits_(division.first_bits),
      share_(floor.bytes / std::max<size_t>(floor.partitions, 1)),
      given_of_(budget, 0),
      needed_of_(budget, floor.bytes),
      space_(space),
      most_(most),
      counts_(counts) {}

RecordMemory::Pages::~Pages() {
  bytes_.reset();
  if (size_ != 0) memory_.release(size_, needed_);
}

bool RecordMemory::Pages::map(size_t size, bool whatever) {
  if (!memory_.reserve(size, whatever)) return false;
  size_ = size;
  needed_ = whatever;
  bytes_ = make_page_bytes(size);
  return true;
}

RecordMemory::Chunk RecordMemory::Pages::take() {
  return {bytes_.release(), std::exchange(size_, 0), needed_};
}

size_t RecordMemory::class_of(size_t size) {
  return static_cast<size_t>(std::countr_zero(std::bit_ceil(std::max(size, least_chunk)) / least_chunk));
}

bool RecordMemory::reserve(size_t size, bool whatever) {
  const size_t before = used_.fetch_add(size, std::memory_order_relaxed);
  if (whatever) {
    needed_of_.reserve(size);
  } else if (before + size > most_ || !given_of_.try_reserve(size)) {
    used_.fetch_sub(size, std::memory_order_relaxed);
    return false;
  }
  if (counts_ != nullptr) counts_->take_memory(size);
  return true;
}

void RecordMemory::release(size_t size, bool needed) {
  used_.fetch_sub(size, std::memory_order_relaxed);
  (needed ? needed_of_ : given_of_).release(size);
  if (counts_ != nullptr) counts_->give_back_memory(size);
}

RecordMemory::Chunk RecordMemory::take_free(size_t number, size_t most) {
  for (; number < classes && least_chunk << number <= most; ++number) {
    char* const bytes = free_[number];
    if (bytes == nullptr) continue;
    std::memcpy(static_cast<void*>(&free_[number]), bytes, sizeof(char*));
    return {.bytes = bytes, .size = least_chunk << number};
  }
  return {};
}

void RecordMemory::put_free(Chunk chunk) {
  char*& first = free_[class_of(chunk.size)];
  std::memcpy(chunk.bytes, static_cast<const void*>(&first), sizeof(char*));
  first = chunk.bytes;
}

RecordMemory::Chunk RecordMemory::cut(size_t size) {
  const Chunk chunk{.bytes = next_, .size = size};
  next_ += size;
  room_ -= size;
  return chunk;
}

bool RecordMemory::add_slab(size_t size, bool whatever) {
  size_t bytes = std::max(size, std::clamp(slab_bytes_, least_slab, huge_page_bytes));
  if (whatever || bytes > most_ / slabs_of_share) bytes = size;
  auto slab = std::make_unique<Pages>(*this);
  if (!slab->map(bytes, whatever)) {
    if (bytes == size || !slab->map(size, false)) return false;
    bytes = size;
  }
  slabs_.push_back(std::move(slab));
  // What is left of the one before is used all the same.
  while (room_ >= least_chunk) put_free(cut(std::min(std::bit_floor(room_), most_chunk)));
  next_ = slabs_.back()->begin();
  room_ = bytes;
  slab_bytes_ += bytes;
  if (!whatever) given_.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

RecordMemory::Chunk RecordMemory::note_given_out(Chunk chunk) {
  if (chunk.bytes == nullptr) return chunk;
  ++given_out_;
  given_out_bytes_.fetch_add(chunk.size, std::memory_order_relaxed);
  return chunk;
}

RecordMemory::Chunk RecordMemory::try_take(size_t wanted, size_t least) {
  if (least > most_chunk) return take_alone(least, false);
  const MutexLock guard(mutex_);
  const size_t size = std::bit_ceil(std::clamp(std::max(wanted, least), least_chunk, most_chunk));
  // Beyond what was given, chunks that are there are for those who need them.
  const auto left = [this] { return given_ - std::min(given_.load(), given_out_bytes_.load()); };
  Chunk chunk = take_free(class_of(size), left());
  if (chunk.bytes == nullptr && ((room_ >= size && left() >= size) || add_slab(size, false))) {
    chunk = cut(size);
  }
  for (size_t i = class_of(size); i-- > class_of(least) && chunk.bytes == nullptr;)
    chunk = take_free(i, std::min(left(), least_chunk << i));
  return note_given_out(chunk);
}

RecordMemory::Chunk RecordMemory::take(size_t least) {
  if (least > most_chunk) return take_alone(least, true);
  const MutexLock guard(mutex_);
  const size_t size = std::bit_ceil(std::max(least, least_chunk));
  Chunk chunk = take_free(class_of(size), most_chunk);
  if (chunk.bytes == nullptr) {
    if (room_ < size) add_slab(size, true);
    chunk = cut(size);
  }
  return note_given_out(chunk);
}

/// A chunk that is longer than others, without a slab.
RecordMemory::Chunk RecordMemory::take_alone(size_t size, bool whatever) {
  Pages pages(*this);
  return pages.map(size, whatever) ? pages.take() : Chunk{};
}

void RecordMemory::give_back(Chunk chunk) {
  if (chunk.size > most_chunk) {
    PageAllocator<char>().deallocate(chunk.bytes, chunk.size);
    release(chunk.size, chunk.needed);
    return;
  }
  const MutexLock guard(mutex_);
  put_free(chunk);
  given_out_bytes_.fetch_sub(chunk.size, std::memory_order_relaxed);
  if (--given_out_ != 0) return;
  free_.fill(nullptr);
  next_ = nullptr;
  room_ = slab_bytes_ = 0;
  given_ = 0;
  slabs_.clear();
}

}  // namespace hailstone

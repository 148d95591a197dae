#include "api/hailstone/registry.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <bit>
#include <new>
#include <unordered_set>

#include "base/check.h"

namespace hailstone::capi {

namespace {

constexpr unsigned slot_shift = 4, slot_bits = 24, generation_shift = 28, generation_bits = 28,
                   process_shift = 56;
constexpr uint32_t last_generation = (uint32_t{1} << generation_bits) - 1;
constexpr uint32_t retired = uint32_t{1} << 31;  // beside the generation in a slot's state
constexpr uint32_t no_slot = ~uint32_t{0};
constexpr uint32_t most_processes = 255;

struct Slot {
  /// The generation and `retired` above, the pins below. Generation 0: free.
  std::atomic<uint64_t> state{0};
  Handle* object = nullptr;  // as long as the slot is not free
  uint32_t used = 0;         // generations so far
  uint32_t next_free = no_slot;
};

constexpr uint64_t state_of(uint32_t generation) { return uint64_t{generation} << 32; }
constexpr uint32_t top_of(uint64_t state) { return static_cast<uint32_t>(state >> 32); }
constexpr uint32_t pins_of(uint64_t state) { return static_cast<uint32_t>(state); }

constexpr uint32_t slot_of(uintptr_t bits) { return bits >> slot_shift & ((uint32_t{1} << slot_bits) - 1); }
constexpr uint32_t generation_of(uintptr_t bits) { return bits >> generation_shift & last_generation; }
constexpr uint32_t process_of(uintptr_t bits) { return static_cast<uint32_t>(bits >> process_shift); }

/// The slots of a process. They lie in pieces, each twice as long as the one before, and never move.
class Registry {
 public:
  Registry(uint32_t process, Registry* parents) : process_(process), parents_(parents) {}

  uint32_t process() const { return process_; }

  Slot* find(uintptr_t bits) const {
    if (process_of(bits) != process_ || (bits & ((1U << slot_shift) - 1)) != 0) return nullptr;
    const uint32_t number = slot_of(bits);
    const unsigned piece = piece_of(number);
    Slot* const slots = pieces_[piece].load(std::memory_order_acquire);
    return slots == nullptr ? nullptr : slots + (number - first_of(piece));
  }

  uintptr_t give_out(std::unique_ptr<Handle> object) {
    uint32_t number;
    Slot* slot;
    {
      const MutexLock guard(mutex_);
      number = take_slot();
      slot = find_slot(number);
    }
    const uint32_t generation = ++slot->used;
    const uintptr_t bits = uintptr_t{process_} << process_shift | uintptr_t{generation} << generation_shift |
                           uintptr_t{number} << slot_shift;
    object->bits = bits;
    slot->object = object.release();
    slot->state.store(state_of(generation), std::memory_order_release);
    return bits;
  }

  /// Behind the last use of the slot's object.
  void free_slot(Slot& slot, uint32_t number) noexcept {
    slot.object = nullptr;
    slot.state.store(0, std::memory_order_relaxed);
    if (slot.used == last_generation) return;
    const MutexLock guard(mutex_);
    slot.next_free = first_free_;
    first_free_ = number;
  }

 private:
  static constexpr uint32_t first_slots = 64;
  static constexpr unsigned pieces = slot_bits - 6;  // of 64, 128, 256 … slots
  static unsigned piece_of(uint32_t number) {
    return static_cast<unsigned>(std::bit_width(number / first_slots + 1)) - 1;
  }
  static uint32_t first_of(unsigned piece) { return first_slots * ((uint32_t{1} << piece) - 1); }

  Slot* find_slot(uint32_t number) const {
    const unsigned piece = piece_of(number);
    return pieces_[piece].load(std::memory_order_relaxed) + (number - first_of(piece));
  }

  uint32_t take_slot() HAILSTONE_REQUIRES(mutex_) {
    if (first_free_ != no_slot) {
      const uint32_t number = first_free_;
      first_free_ = find_slot(number)->next_free;
      return number;
    }
    if (used_ == first_of(pieces)) throw std::bad_alloc();  // 16 million handles are live
    const unsigned piece = piece_of(used_);
    if (pieces_[piece].load(std::memory_order_relaxed) == nullptr) {
      pieces_[piece].store(new Slot[size_t{first_slots} << piece], std::memory_order_release);
    }
    return used_++;
  }

  const uint32_t process_;
  const Registry* const parents_;  // of the process that forked: never used again
  Mutex mutex_;
  uint32_t used_ HAILSTONE_GUARDED_BY(mutex_) = 0;
  uint32_t first_free_ HAILSTONE_GUARDED_BY(mutex_) = no_slot;
  std::array<std::atomic<Slot*>, pieces + 1> pieces_{};
};

std::atomic<Registry*> current{
    nullptr};  // of this process; never freed, as handles may be asked about for ever

/// In a child of fork(), which has one thread. All that it does is legal there: the one allocation comes with
/// the first handle.
std::atomic<Registry*> of_parent{nullptr};
void forget_parent() {
  Registry* const parents = current.exchange(nullptr);
  if (parents != nullptr) of_parent.store(parents);
}

Registry& registry() {
  Registry* found = current.load(std::memory_order_acquire);
  if (found != nullptr) [[likely]]
    return *found;
  static const int watched = pthread_atfork(nullptr, nullptr, forget_parent);
  if (watched != 0) throw std::bad_alloc();
  Registry* const parents = of_parent.load();
  const uint32_t process = parents == nullptr ? 1 : parents->process() % most_processes + 1;
  auto made = std::make_unique<Registry>(process, parents);
  if (current.compare_exchange_strong(found, made.get())) return *made.release();
  return *found;
}

/// Of the thread that made the last pin go after the handle was retired, or retired it without any.
void destroy_object(Registry& of, Slot& slot, uint32_t number) noexcept {
  delete slot.object;
  of.free_slot(slot, number);
}

Slot* find_slot(uintptr_t bits, Registry*& of) {
  of = current.load(std::memory_order_acquire);
  return of == nullptr ? nullptr : of->find(bits);
}

/// Adds a pin; false when the handle is not live.
bool try_pin(Slot& slot, uint32_t generation) {
  if (generation == 0) return false;  // as free slots have it
  uint64_t state = slot.state.load(std::memory_order_relaxed);
  do {
    if (top_of(state) != generation) return false;
  } while (!slot.state.compare_exchange_weak(state, state + 1, std::memory_order_acquire,
                                             std::memory_order_relaxed));
  return true;
}

}  // namespace

void Handle::set_message(std::string&& sentence) noexcept {
  const MutexLock guard(message_mutex_);
  message_ = std::move(sentence);
  no_memory_ = false;
}

void Handle::set_no_memory() noexcept {
  const MutexLock guard(message_mutex_);
  no_memory_ = true;
}

const char* Handle::message(std::string& to) const noexcept {
  const MutexLock guard(message_mutex_);
  if (no_memory_) return no_memory_sentence;
  try {
    to = message_;
    return to.c_str();
  } catch (const std::bad_alloc&) {
    return no_memory_sentence;
  }
}

uintptr_t give_out(std::unique_ptr<Handle> object) { return registry().give_out(std::move(object)); }

Handle* pin(uintptr_t bits, HandleKind kind) noexcept {
  Registry* of;
  Slot* const slot = find_slot(bits, of);
  if (slot == nullptr || !try_pin(*slot, generation_of(bits))) return nullptr;
  if (slot->object->kind == kind) [[likely]]
    return slot->object;
  unpin(bits);
  return nullptr;
}

void unpin(uintptr_t bits) noexcept {
  Registry* of;
  Slot* const slot = find_slot(bits, of);
  // A child that was forked within a call keeps what it cannot use.
  if (slot == nullptr) return;
  const uint64_t before = slot->state.fetch_sub(1, std::memory_order_acq_rel);
  HAILSTONE_CHECK(pins_of(before) > 0, "handle {:x} is unpinned once too often", bits);
  if (before == state_of(generation_of(bits) | retired) + 1) destroy_object(*of, *slot, slot_of(bits));
}

bool retire(uintptr_t bits) noexcept {
  Registry* of;
  Slot* const slot = find_slot(bits, of);
  if (slot == nullptr) return false;
  uint64_t state = slot->state.load(std::memory_order_relaxed);
  do {
    if (top_of(state) != generation_of(bits) || generation_of(bits) == 0) return false;
  } while (!slot->state.compare_exchange_weak(state, state | state_of(retired), std::memory_order_acq_rel,
                                              std::memory_order_relaxed));
  if (pins_of(state) == 0) destroy_object(*of, *slot, slot_of(bits));
  return true;
}

std::unique_ptr<Handle> take_back(uintptr_t bits, HandleKind kind) noexcept {
  Registry* of;
  Slot* const slot = find_slot(bits, of);
  const uint32_t generation = generation_of(bits);
  if (slot == nullptr || !try_pin(*slot, generation)) return nullptr;
  uint64_t mine = state_of(generation) + 1;
  if (slot->object->kind != kind ||
      !slot->state.compare_exchange_strong(mine, state_of(generation | retired), std::memory_order_acq_rel)) {
    unpin(bits);
    return nullptr;
  }
  std::unique_ptr<Handle> object(slot->object);
  of->free_slot(*slot, slot_of(bits));
  return object;
}

void keep_for_this_thread(std::shared_ptr<const void> given) noexcept {
  struct Kept {
    std::array<std::shared_ptr<const void>, 4> last;
    size_t next = 0;
  };
  thread_local Kept kept;
  if (kept.last[kept.next] == given) return;
  kept.next = (kept.next + 1) % kept.last.size();
  kept.last[kept.next] = std::move(given);
}

const char* for_ever(const std::string& text) {
  struct Texts {
    Mutex mutex;
    std::unordered_set<std::string> all HAILSTONE_GUARDED_BY(mutex);
  };
  static Texts& texts = *new Texts;
  const MutexLock guard(texts.mutex);
  return texts.all.insert(text).first->c_str();
}

const char* why_not_live(uintptr_t bits) noexcept {
  if (bits == 0) return "the handle is NULL";
  const Registry* const mine = current.load(std::memory_order_acquire);
  const Registry* const parents = of_parent.load(std::memory_order_acquire);
  const uint32_t process = process_of(bits);
  if (mine != nullptr && process == mine->process() && mine->find(bits) != nullptr) {
    return "the handle is closed, or not of the kind that the call takes";
  }
  if (parents != nullptr && process != 0 && process <= parents->process()) {
    return "the handle is of the parent of this process; a child of fork() opens a database of its own";
  }
  return "this is no handle of the library";
}

}  // namespace hailstone::capi

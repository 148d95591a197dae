// The handles of hailstone.h. What a program holds is a number that looks like a pointer and is never
// followed: the slot that the object stands in, how often the slot was used before, and the process. So a
// handle that was closed, one of a parent process, and a pointer to anything else are told from live ones
// without a look at freed memory, for ever: a slot whose uses are counted out is not used again.
//
//   bits 63 … 56   how many forks lie between the first process and the one that made it, modulo 255, plus 1
//   bits 55 … 28   generation: the use of the slot
//   bits 27 …  4   slot; bits 3 … 0 are zero
//
// A call pins the handles that it is given. Whoever closes one ends all later use at once; the object goes
// when the last pin does. Thread-safe. A child of fork() has an empty registry of its own: it takes no lock
// that a thread of its parent may have held.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"

namespace hailstone::capi {

enum class HandleKind : uint8_t {
  Database,
  Transaction,
  Table,
  Schema,
  Cursor,
  Load,
  Scan,
  Stream,
  Predicate,
  Query,
};

/// What stands behind a handle.
class Handle {
 public:
  explicit Handle(HandleKind handle_kind) : kind(handle_kind) {}
  virtual ~Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  /// Keeps the sentence of a failure.
  void set_message(std::string&& sentence) noexcept;
  /// The same for a failing allocation, which leaves no memory for a sentence.
  void set_no_memory() noexcept;
  /// The sentence, or a copy of it in `to`: another thread may replace it.
  const char* message(std::string& to) const noexcept;

  const HandleKind kind;
  uintptr_t bits = 0;  // the handle; set when it is given out

 private:
  mutable Mutex message_mutex_;
  std::string message_ HAILSTONE_GUARDED_BY(message_mutex_);
  bool no_memory_ HAILSTONE_GUARDED_BY(message_mutex_) = false;
};

/// Of a call that failed for lack of memory; valid for ever.
constexpr const char* no_memory_sentence =
    "there was no memory for the call; make memory free, or lower hs_options.memory_bytes, and call again";

/// The handle of the object, which it also keeps. Throws std::bad_alloc.
uintptr_t give_out(std::unique_ptr<Handle> object);
/// The object, which stays until unpin(); null when the handle is not live, or not of this kind.
Handle* pin(uintptr_t bits, HandleKind kind) noexcept;
void unpin(uintptr_t bits) noexcept;
/// Ends the use of the handle, and of the object unless calls still have it. False: the handle was not live.
bool retire(uintptr_t bits) noexcept;
/// The same, with the object for the caller; null, with nothing done, when a call has it.
std::unique_ptr<Handle> take_back(uintptr_t bits, HandleKind kind) noexcept;
/// Why a handle is not live, in words: closed, of the parent process, or never one.
const char* why_not_live(uintptr_t bits) noexcept;

inline uintptr_t bits_of(const void* handle) { return reinterpret_cast<uintptr_t>(handle); }
template <typename Public>
Public* public_handle(uintptr_t bits) {
  return reinterpret_cast<Public*>(bits);  // NOLINT(performance-no-int-to-ptr): never followed
}

/// Pins a handle for a call.
template <typename T>
class Pin {
 public:
  explicit Pin(const typename T::Public* handle) noexcept
      : bits_(bits_of(handle)), object_(static_cast<T*>(pin(bits_, T::its_kind))) {}
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;
  ~Pin() {
    if (object_ != nullptr) unpin(bits_);
  }
  explicit operator bool() const { return object_ != nullptr; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }

 private:
  const uintptr_t bits_;
  T* const object_;
};

/// Keeps what a call gives out, bytes of a row, in memory until this thread has made some more such calls:
/// the handle may be closed by another thread before the caller has read them.
void keep_for_this_thread(std::shared_ptr<const void> given) noexcept;
/// The text as one that is valid for ever: names of columns and indexes, which are few. Throws
/// std::bad_alloc.
const char* for_ever(const std::string& text);

/// Closes a handle, when it is one of this kind; the object goes with the last call that has it.
template <typename T>
void close_handle(const typename T::Public* handle) noexcept {
  {
    const Pin<T> pinned(handle);
    if (!pinned) return;
  }
  retire(bits_of(handle));
}

/// Gives out an object of a kind that depends on nothing.
template <typename T>
typename T::Public* give_out_free(std::unique_ptr<T> object) {
  return public_handle<typename T::Public>(give_out(std::move(object)));
}

}  // namespace hailstone::capi

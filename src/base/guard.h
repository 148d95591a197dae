// Where std::bad_alloc ends: at each function of an API, each function that a server calls, each thread. All
// below may let it pass; what it must not leave half done is made ready before, or taken back on the way.
//
// The work runs under the mutexes that the caller holds, whose names are not known here: so these two are not
// analysed, and work that needs a mutex says so itself.
#pragma once

#include <new>
#include <utility>

#include "base/mutex.h"
#include "base/status.h"

namespace hailstone {

/// Short enough to need no memory itself.
inline Error no_memory() { return {ErrorCode::OutOfMemory, "no memory"}; }

/// The Status or Result of `work`; no_memory() when it throws std::bad_alloc.
template <typename Work>
HAILSTONE_NO_THREAD_SAFETY_ANALYSIS auto guarded(Work&& work) noexcept -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::bad_alloc&) {
    return std::unexpected(no_memory());
  }
}

/// For what is worth a try only: without memory it does not happen.
template <typename Work>
HAILSTONE_NO_THREAD_SAFETY_ANALYSIS void try_to(Work&& work) noexcept {
  try {
    std::forward<Work>(work)();
  } catch (const std::bad_alloc&) {  // not worth more
  }
}

}  // namespace hailstone

#include "transaction/superseded.h"

#include "base/check.h"

namespace hailstone {

void SupersededKeys::undo(const Change& change) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a slot is a number, as segments put ordinals there
  const auto key = keys_.find(*reinterpret_cast<const std::string*>(change.slot));
  HAILSTONE_CHECK(key != keys_.end());
  keys_.erase(key);
}

}  // namespace hailstone

#include "transaction/superseded.h"

namespace hailstone {

void SupersededKeys::undo(const Change& change) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a slot is a number, as segments put ordinals there
  keys_.erase(keys_.find(*reinterpret_cast<const std::string*>(change.slot)));
}

}  // namespace hailstone

#include "table/delta_scan.h"

namespace hailstone {

bool DeltaScan::next(size_t most, DeltaRows& rows) {
  const MutexLock turn(mutex_);
  for (; delta_ < view_->deltas.size(); ++delta_, begun_ = false) {
    const DeltaReader reader(view_->deltas[delta_], DeltaReader::clustered, visibility_);
    reader.forward(begun_ ? last_ : ByteView(), begun_, most, rows.entries);
    if (rows.entries.empty()) continue;
    begun_ = true;
    last_ = rows.entries.back().key;
    rows.delta = delta_;
    return true;
  }
  rows.entries.clear();
  return false;
}

uint64_t DeltaScan::versions() const {
  uint64_t versions = 0;
  for (const auto& delta : view_->deltas) {
    const SharedLock guard(delta->latch());
    versions += delta->rows.version_count();
  }
  return versions;
}

}  // namespace hailstone

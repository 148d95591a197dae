#include "transaction/statement.h"

namespace hailstone {

void Statement::roll_back() noexcept {
  if (transaction_ == nullptr || transaction_->state() != Transaction::State::Active) {
    transaction_ = nullptr;
    return;
  }
  transaction_->roll_back_to(start_);
  end();
}

}  // namespace hailstone

#include "transaction/statement.h"

#include <utility>

namespace hailstone {

void Statement::end() noexcept {
  Transaction* const transaction = std::exchange(transaction_, nullptr);
  if (transaction != nullptr && transaction->state() == Transaction::State::Active) {
    transaction->next_statement();
  }
}

void Statement::roll_back() noexcept {
  if (transaction_ == nullptr || transaction_->state() != Transaction::State::Active) {
    transaction_ = nullptr;
    return;
  }
  transaction_->roll_back_to(start_);
  end();
}

}  // namespace hailstone

#include "table/superseded.h"

namespace hailstone {

/// One key: goes with the change that it belongs to.
class SupersededKeys::Action : public TransactionAction {
 public:
  Action(std::shared_ptr<void> owner, SupersededKeys& keys, TransactionId transaction, ByteView key)
      : owner_(std::move(owner)), keys_(keys), transaction_(transaction), key_(key) {}
  void commit(Timestamp) override { keys_.remove(transaction_, key_); }
  void undo() override { keys_.remove(transaction_, key_); }

 private:
  const std::shared_ptr<void> owner_;
  SupersededKeys& keys_;
  const TransactionId transaction_;
  const std::string key_;
};

void SupersededKeys::add(const std::shared_ptr<void>& owner, Transaction& transaction, ByteView key) {
  {
    const std::lock_guard guard(mutex_);
    keys_[transaction.id()].emplace(key);
  }
  count_.fetch_add(1, std::memory_order_relaxed);
  transaction.add_action(std::make_unique<Action>(owner, *this, transaction.id(), key));
}

void SupersededKeys::remove(TransactionId transaction, const std::string& key) {
  const std::lock_guard guard(mutex_);
  const auto keys = keys_.find(transaction);
  keys->second.erase(keys->second.find(key));
  if (keys->second.empty()) keys_.erase(keys);
  count_.fetch_sub(1, std::memory_order_relaxed);
}

std::shared_ptr<const KeySet> SupersededKeys::of(const Transaction& transaction) const {
  // Only the transaction's own thread, which calls this, adds its keys.
  if (count_.load(std::memory_order_relaxed) == 0) [[likely]]
    return nullptr;
  const std::lock_guard guard(mutex_);
  const auto keys = keys_.find(transaction.id());
  return keys == keys_.end() ? nullptr : std::make_shared<const KeySet>(keys->second);
}

}  // namespace hailstone

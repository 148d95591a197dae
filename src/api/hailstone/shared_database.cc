// How calls enter an open database, and how it closes beside them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/hailstone/handles.h"
#include "base/check.h"

namespace hailstone::capi {

void SharedDatabase::note(const Failure& failure, bool while_committing) {
  const hs_status status = failure.status;
  const bool disk = status == HS_IO || status == HS_DISK_FULL;
  if (options.panic == nullptr) return;
  if (status != HS_CORRUPT && status != HS_READ_ONLY && !(disk && while_committing)) return;
  {
    const MutexLock guard(panic_mutex);
    if (last_panic == failure.message) return;
    last_panic = failure.message;
  }
  options.panic(options.panic_context, status, failure.message.c_str());
}

void SharedDatabase::watch_checks() {
  if (options.panic == nullptr) return;
  add_check_handler(
      [](void* context, const char* message) {
        const hs_options& told = static_cast<SharedDatabase*>(context)->options;
        told.panic(told.panic_context, HS_CORRUPT, message);
      },
      this);
}

SharedDatabase::~SharedDatabase() { remove_check_handler(this); }

Use::~Use() {
  const size_t users = database_->users_.fetch_sub(1);
  HAILSTONE_CHECK(users > 0, "database {} is left by more than use it", database_->number);
  if (users > 1 || !database_->closing.load()) return;
  const MutexLock guard(database_->mutex_);
  database_->changed_.notify_all();
}

Dependent::~Dependent() {
  SharedDatabase& shared = *database;
  const MutexLock guard(shared.mutex_);
  if (!listed_) return;
  if (next_ != nullptr) next_->previous_ = previous_;
  (previous_ != nullptr ? previous_->next_ : shared.first_) = next_;
}

bool SharedDatabase::enlist(Dependent& made) {
  const MutexLock guard(mutex_);
  if (state_ != Closing::No) return false;
  made.next_ = first_;
  if (first_ != nullptr) first_->previous_ = &made;
  first_ = &made;
  made.listed_ = true;
  return true;
}

Returned<uintptr_t> give_out_dependent(std::unique_ptr<Dependent> object) {
  const Use use = object->database;
  Dependent& given = *object;
  const uintptr_t bits = give_out(std::unique_ptr<Handle>(std::move(object)));
  // Nobody knows the handle yet, so that the object is there.
  if (use->enlist(given)) return bits;
  retire(bits);
  return refuse(HS_INVALID, use->refusal());
}

const char* SharedDatabase::refusal() const {
  if (database == nullptr) return "the database could not be opened";
  return closing.load() ? "the database is being closed" : "";
}

void SharedDatabase::retire_all() {
  for (;;) {
    // Retiring destroys handles, which takes the mutex; so some are noted at a time.
    std::array<uintptr_t, 64> some{};
    size_t count = 0;
    {
      const MutexLock guard(mutex_);
      for (Dependent* each = first_; each != nullptr && count < some.size(); each = each->next_) {
        if (!std::exchange(each->retired_, true)) some[count++] = each->bits;
      }
    }
    for (size_t i = 0; i < count; ++i) retire(some[i]);
    if (count < some.size()) return;
  }
}

void SharedDatabase::wake_all() {
  for (const Dependent* each = first_; each != nullptr; each = each->next_) {
    if (each->transaction_ != 0) database->locks().wake(each->transaction_);
  }
}

Outcome SharedDatabase::close(std::chrono::milliseconds most) {
  // What begins to wait when it has been woken is woken again soon.
  constexpr auto between_wakes = std::chrono::milliseconds(50);
  const auto until = std::chrono::steady_clock::now() + most;
  {
    const MutexLock guard(mutex_);
    if (state_ == Closing::No) state_ = Closing::Waiting;
    closing.store(true);
  }
  retire_all();
  const MutexLock guard(mutex_);
  while (state_ != Closing::Done && (users_.load() != 0 || state_ == Closing::Working)) {
    if (state_ == Closing::Waiting) wake_all();
    const auto now = std::chrono::steady_clock::now();
    if (now >= until) {
      return refuse(HS_LOCK_TIMEOUT,
                    fmt::format("calls of other threads go on after {} ms; the database takes no new "
                                "ones: close it again when they have ended",
                                most.count()));
    }
    changed_.wait_until(mutex_, std::min(until, now + between_wakes));
  }
  if (state_ == Closing::Done) return {};
  state_ = Closing::Working;
  Outcome closed;
  {
    const MutexUnlock free(mutex_);
    closed = close_unused();
  }
  state_ = Closing::Done;
  changed_.notify_all();
  return closed;
}

Outcome SharedDatabase::close_unused() {
  const Status closed = database->close();
  if (closed) return {};
  if (options.log != nullptr)
    options.log(options.log_context, HS_LOG_ERROR, closed.error().message().c_str());
  return std::unexpected(Failure(closed.error()));
}

const Frame*& Frame::innermost() {
  thread_local const Frame* of_this_thread = nullptr;
  return of_this_thread;
}

bool Frame::any_in(const SharedDatabase& database) {
  for (const Frame* each = innermost(); each != nullptr; each = each->outer_) {
    if (each->database_ == &database) return true;
  }
  return false;
}

DatabaseCall::DatabaseCall(const hs_database* handle) : pin_(handle) {
  if (!pin_) return;
  SharedDatabase& shared = *pin_->shared;
  if (shared.database == nullptr) return;  // its sentence says why
  use_.emplace(pin_->shared);
  frame_.emplace(&shared);
  if (shared.closing.load()) set_database_message(shared, shared.refusal());
}

bool fit(const Call<TransactionHandle>& transaction, const Pin<TableHandle>& table) {
  return transaction && table && &*transaction->database == &*table->database;
}

int misfit(const Call<TransactionHandle>& transaction) noexcept {
  if (!transaction) return HS_INVALID;
  return run(*transaction, [&]() -> Outcome {
    return refuse(HS_INVALID, "the table is NULL, closed, or of another database");
  });
}

}  // namespace hailstone::capi

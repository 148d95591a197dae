#include "query_history.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine.h"
#include "query/query_memory.h"
#include "rights.h"
#include "server/differences.h"
#include "session.h"
#include "source_tables.h"
#include "variables.h"

namespace hailstone {

namespace {

constexpr size_t text_characters_kept = 1024;

int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

std::optional<std::string> user_of(const THD& thd) {
  const char* const user = thd.security_ctx->user;
  return user == nullptr ? std::nullopt : std::optional<std::string>(user);
}

std::string text_of(THD& thd) {
  if (thd.query() == nullptr || thd.query_charset() == nullptr) return {};
  // In a function or trigger the text is the caller's, and the record its definer's.
  if (thd.in_sub_stmt != 0 && runs_with_rights_of_another(&thd)) return {};
  const Well_formed_prefix beginning(thd.query_charset(), thd.query(), thd.query_length(),
                                     text_characters_kept);
  return {thd.query(), beginning.length()};
}

}  // namespace

BlockRecord::BlockRecord(THD& thd, const SELECT_LEX& select, const char* by, OperatorPlan plan,
                         std::string why)
    : connection(thd.thread_id),
      query(static_cast<uint64_t>(thd.query_id)),
      block(select.select_number),
      user(user_of(thd)),
      hook(by),
      reason(std::move(why)),
      offered(my_hrtime()),
      text_charset(thd.query_charset()),
      text(text_of(thd)) {
  for (PlannedOperator& each : plan) steps_.emplace_back(std::move(each));
  if (!reason.empty()) state_.store(BlockState::Declined, std::memory_order_relaxed);
}

BlockRecord::BlockRecord(const BlockRecord& before, OperatorPlan plan)
    : connection(before.connection),
      query(before.query),
      block(before.block),
      user(before.user),
      hook(before.hook),
      reason(before.reason),
      offered(before.offered),
      text_charset(before.text_charset),
      text(before.text) {
  for (PlannedOperator& each : plan) steps_.emplace_back(std::move(each));
}

OperatorPlan BlockRecord::plan_over(OperatorPlan sources) const {
  OperatorPlan plan;
  for (const Step& step : steps_) {
    if (step.planned.kind == Operator::Join || step.planned.kind == Operator::Scan) break;
    plan.push_back(step.planned);
  }
  plan.insert(plan.end(), std::make_move_iterator(sources.begin()), std::make_move_iterator(sources.end()));
  return plan;
}

OperatorCounts* BlockRecord::counts(Operator kind, size_t before) {
  for (Step& step : steps_) {
    if (step.planned.kind == kind && before-- == 0) return &step.counts;
  }
  return nullptr;
}

void BlockRecord::begin() {
  if (begun_.load(std::memory_order_relaxed) == 0) begun_.store(now(), std::memory_order_relaxed);
  state_.store(BlockState::Running, std::memory_order_release);
}

void BlockRecord::restart() {
  for (Step& step : steps_) step.counts.restart();
}

void BlockRecord::end(BlockState how) {
  ended_.store(now(), std::memory_order_relaxed);
  state_.store(how, std::memory_order_release);
}

std::chrono::nanoseconds BlockRecord::time() const {
  const bool runs = state() == BlockState::Running;
  const int64_t begun = begun_.load(std::memory_order_relaxed);
  const int64_t ended = runs ? now() : ended_.load(std::memory_order_relaxed);
  return std::chrono::nanoseconds(begun == 0 ? 0 : std::max<int64_t>(ended - begun, 0));
}

void QueryHistory::add(std::shared_ptr<BlockRecord> record) {
  {
    const MutexLock guard(mutex_);
    (record->state() == BlockState::Declined ? declined_ : pushed_).push_back(std::move(record));
  }
  trim();
}

void QueryHistory::trim() noexcept {
  const size_t most = query_history_size();
  std::list<std::shared_ptr<BlockRecord>> gone;  // their memory goes without the mutex
  const MutexLock guard(mutex_);
  for (auto* const kept : {&pushed_, &declined_}) {
    size_t more = kept->size() - std::min(kept->size(), most);
    for (auto each = kept->begin(); more != 0 && each != kept->end();) {
      const BlockState state = (*each)->state();
      // A block that has not begun may yet.
      const bool may_run =
          state == BlockState::Running || (state == BlockState::NotRun && each->use_count() > 1);
      if (may_run) {
        ++each;
      } else {
        gone.splice(gone.end(), *kept, each++);
        --more;
      }
    }
  }
}

std::vector<std::shared_ptr<const BlockRecord>> QueryHistory::records() const {
  const MutexLock guard(mutex_);
  std::vector<std::shared_ptr<const BlockRecord>> all(pushed_.begin(), pushed_.end());
  all.insert(all.end(), declined_.begin(), declined_.end());
  return all;
}

QueryHistory& query_history() {
  static QueryHistory history;
  return history;
}

void BlockRun::tell_of_scans() {
  size_t scan = 0;
  for (const BlockRecord::Step& step : record_->steps()) {
    if (step.planned.kind != Operator::Scan) continue;
    if (told_.size() == scan) told_.push_back(0);
    const uint64_t rows = step.counts.rows_in.load(std::memory_order_relaxed);
    const uint64_t more = rows - std::exchange(told_[scan++], rows);
    count_examined_rows(thd_, more);
    count_rows_read(*sources_.all()[step.planned.source].table->file, more);
    // The server asks once more at the end.
    status_var_add(thd_.status_var.ha_read_rnd_next_count, more + 1);
  }
}

void BlockRun::restart() {
  tell_of_scans();
  told_.clear();
  record_->restart();
}

void BlockRun::begin() {
  runs_ = true;
  failed_ = false;
  record_->begin();
  work_.emplace(hailstone::database().processor_turns());
  Session& session = Session::of(&thd_);
  // What goes on around it reports by itself.
  reports_progress_ = session.running() == nullptr && thd_.progress.arena == nullptr;
  if (!reports_progress_) return;
  session.set_running(this);
  thd_progress_init(&thd_, 1);
  // The client gets rows, and nothing between them.
  thd_.progress.report = false;
}

Result<std::shared_ptr<MemoryBudget>> BlockRun::memory() {
  if (memory_ != nullptr) return memory_;
  const auto needs_much = [](const BlockRecord::Step& step) {
    constexpr uint64_t rows_without_floor = 1'000;
    const PlannedOperator& planned = step.planned;
    switch (planned.kind) {
      case Operator::Join:
      case Operator::Sort:
        return true;
      case Operator::Group:
        return !planned.is_small;
      case Operator::FirstRows:
        return planned.rows > rows_without_floor;
      default:
        return false;
    }
  };
  if (std::ranges::none_of(record_->steps(), needs_much)) return memory_;
  Database& database = hailstone::database();
  const size_t floor = floor_of_query(database.budget());
  Session& session = Session::of(&thd_);
  // It would wait for itself, or for those who wait for what it has locked.
  if (session.blocks_with_memory() > 0 || session.may_hold_locks()) {
    memory_ = database.query_gate().enter_at_once(floor);
  } else {
    HAILSTONE_ASSIGN(memory_, database.query_gate().enter(
                                  floor, [&] { return thd_kill_level(&thd_) != THD_IS_NOT_KILLED; }));
  }
  session.note_block_with_memory(1);
  return memory_;
}

void BlockRun::plan_again(OperatorPlan sources) {
  auto other = std::make_shared<BlockRecord>(*record_, record_->plan_over(std::move(sources)));
  tell_of_scans();
  told_.clear();
  record_->end(BlockState::PlannedAgain);
  record_ = std::move(other);
  record_->begin();
  query_history().add(record_);
}

void BlockRun::report_progress() {
  uint64_t all = 0, read = 0;
  for (const BlockRecord::Step& step : record_->steps()) {
    if (step.planned.kind != Operator::Scan) continue;
    all += step.planned.rows_to_read;
    read += step.counts.rows_in.load(std::memory_order_relaxed);
  }
  if (all != 0) thd_progress_report(&thd_, std::min(read, all), all);
}

void BlockRun::end() {
  if (std::exchange(memory_, nullptr) != nullptr) Session::of(&thd_).note_block_with_memory(-1);
  if (!std::exchange(runs_, false)) return;
  work_.reset();
  tell_of_scans();
  if (std::exchange(reports_progress_, false)) {
    thd_progress_end(&thd_);
    Session::of(&thd_).set_running(nullptr);
  }
  const bool killed = thd_kill_level(&thd_) != THD_IS_NOT_KILLED;
  record_->end(killed                       ? BlockState::Killed
               : failed_ || thd_.is_error() ? BlockState::Failed
                                            : BlockState::Finished);
  query_history().trim();
}

}  // namespace hailstone

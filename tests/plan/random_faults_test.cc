// Random plans under faults: they are cancelled, have memory that comes and goes, meet failing allocations, a
// full disk, or errors of spill files, at a moment by chance. Each ends with its rows or with the error of
// the fault, gives back what it has taken, and has its rows when it is asked again.
//
// A plan is asked three times: without a fault, which tells how much it does; with one somewhere in that; and
// without once more. HAILSTONE_PLANS says how many plans are asked, HAILSTONE_TEST_SEED which ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "base/failing_allocations.h"
#include "base/mutex.h"
#include "base/test_seed.h"
#include "plan/plan_text.h"
#include "plan/random_plans.h"

namespace hailstone::plan {
namespace {

constexpr uint64_t most_steps = 100'000;

enum class Fault : uint8_t {
  Cancel,               // when the statement asks for the n-th time whether it is to end
  CancelByThread,       // at some moment
  CancelByCaller,       // after some batches
  EndByCaller,          // who takes the rows wants no more
  Memory,               // is taken away and given back whenever the statement asks
  Allocation,           // the n-th one of the statement's thread, and some more
  AllocationsOfOthers,  // some of its helpers'
  FullDisk,             // after some bytes
  SpillLimit,           // of some bytes
  Write,                // of a spill file fails, or is done in part
  Read,                 // of a spill file fails
  FlippedBit,           // in what is read of a spill file
  Open,                 // of a spill file, to write or to read it, fails
  Close,                // of a spill file that has been written fails
};
constexpr std::array<std::pair<Fault, std::string_view>, 14> faults{{
    {Fault::Cancel, "cancel"},
    {Fault::CancelByThread, "cancel by a thread"},
    {Fault::CancelByCaller, "cancel by the caller"},
    {Fault::EndByCaller, "end by the caller"},
    {Fault::Memory, "memory"},
    {Fault::Allocation, "allocation"},
    {Fault::AllocationsOfOthers, "allocations of helpers"},
    {Fault::FullDisk, "full disk"},
    {Fault::SpillLimit, "spill limit"},
    {Fault::Write, "write"},
    {Fault::Read, "read"},
    {Fault::FlippedBit, "flipped bit"},
    {Fault::Open, "open"},
    {Fault::Close, "close"},
}};
std::string_view name_of(Fault fault) {
  return std::ranges::find(faults, fault, &std::pair<Fault, std::string_view>::first)->second;
}
bool is_of_allocations(Fault fault) {
  return fault == Fault::Allocation || fault == Fault::AllocationsOfOthers;
}
bool is_of_files(Fault fault) { return fault >= Fault::FullDisk; }

/// The error that a query may end with; nothing: it must not.
std::optional<ErrorCode> error_of(Fault fault) {
  switch (fault) {
    case Fault::Cancel:
    case Fault::CancelByThread:
    case Fault::CancelByCaller:
      return ErrorCode::Interrupted;
    case Fault::EndByCaller:
      return ErrorCode::Busy;
    case Fault::Memory:
      return std::nullopt;
    case Fault::Allocation:
    case Fault::AllocationsOfOthers:
      return ErrorCode::OutOfMemory;
    case Fault::FullDisk:
    case Fault::SpillLimit:
      return ErrorCode::DiskFull;
    case Fault::Write:
    case Fault::Read:
    case Fault::FlippedBit:
    case Fault::Open:
    case Fault::Close:
      return ErrorCode::Io;
  }
  std::unreachable();
}

/// How much a query does without a fault.
struct Done {
  uint64_t asked = 0;  // whether it is to end
  uint64_t batches = 0;
  uint64_t allocations = 0;
  uint64_t writes = 0, reads = 0, written = 0;  // of spill files
  std::chrono::nanoseconds time{};
};

class FaultyQuery {
 public:
  FaultyQuery(PlanTables& tables, Plan plan, Plan asked, Way way)
      : tables_(tables), plan_(std::move(plan)), asked_(std::move(asked)), way_(way) {}

  /// What is wrong; empty: nothing, or the plan cannot be asked. The fault and its moment are by chance.
  std::string wrong(uint64_t seed, std::optional<Fault> wanted = {}) {
    random_.seed(seed);
    met_.reset();
    const auto expected = tables_.interpreter(most_steps).rows(plan_);
    if (!expected) return {};
    expected_ = *expected;
    const auto first = measured();
    if (!first && first.error().code() == ErrorCode::Unsupported) return {};
    if (std::string wrong = wrong_without(first); !wrong.empty()) return "before the fault: " + wrong;
    const std::optional<Fault> fault = wanted ? possible(*wanted) : any();
    if (!fault) return {};
    met_ = *fault;
    const auto answer = disturbed(*fault);
    ended_ = !answer;
    if (std::string wrong = wrong_with(*fault, answer); !wrong.empty())
      return fmt::format("{}: {}", name_of(*fault), wrong);
    if (std::string wrong = wrong_without(tables_.answer(asked_, way_)); !wrong.empty())
      return fmt::format("after {}: {}", name_of(*fault), wrong);
    return {};
  }
  /// The fault that was tried last; nothing: the plan was not asked.
  std::optional<Fault> met() const { return met_; }
  /// Whether it ended the query.
  bool ended() const { return ended_; }

 private:
  uint64_t below(uint64_t limit) { return limit == 0 ? 0 : random_() % limit; }

  Result<Relation> measured() {
    Counters& counters = tables_.tables_host.counters();
    const uint64_t writes = counters.spill_writes, reads = counters.spill_reads,
                   written = counters.spill_write_bytes;
    std::atomic<uint64_t> asked{0};
    done_ = {};
    tables_.set_interruption_check([&asked] { return ++asked == 0; });
    const PlanTables::EachBatch each = [this]() -> Status {
      ++done_.batches;
      return {};
    };
    FailingAllocations::arm(most_allocations, 0);
    const auto began = std::chrono::steady_clock::now();
    auto answer = FailingAllocations::call([&] { return tables_.answer(asked_, way_, each); });
    done_.time = std::chrono::steady_clock::now() - began;
    done_.allocations = FailingAllocations::met();
    FailingAllocations::disarm();
    tables_.set_interruption_check({});
    done_.asked = asked;
    done_.writes = counters.spill_writes - writes;
    done_.reads = counters.spill_reads - reads;
    done_.written = counters.spill_write_bytes - written;
    return answer;
  }

  /// The fault, if the query does what may meet it.
  std::optional<Fault> possible(Fault fault) const {
    if (is_of_files(fault) && done_.writes == 0) return std::nullopt;
    if ((fault == Fault::Read || fault == Fault::FlippedBit) && done_.reads == 0) return std::nullopt;
    if (is_of_allocations(fault) && !FailingAllocations::possible()) return std::nullopt;
    if (fault == Fault::AllocationsOfOthers && way_.threads == 1) return std::nullopt;
    return fault;
  }
  /// Queries with spill files are few: half of them meet a fault of these.
  std::optional<Fault> any() {
    const bool of_files = done_.writes != 0 && random_() % 2 == 0;
    for (;;) {
      const Fault fault = faults[below(faults.size())].first;
      if (is_of_files(fault) == of_files && possible(fault)) return fault;
    }
  }

  Result<Relation> disturbed(Fault fault) {
    TestHost& host = tables_.tables_host;
    std::atomic<bool> cancelled{false};
    std::atomic<uint64_t> asked{0};
    uint64_t batches = 0;
    const uint64_t at = 1 + below(done_.asked), last_batch = 1 + below(done_.batches);
    std::mt19937_64 sizes(random_());
    tables_.set_interruption_check([&] {
      if (fault == Fault::Cancel) return ++asked >= at;
      if (fault == Fault::Memory) host.budget().set_limit(sizes() % 3 == 0 ? way_.memory : sizes() % 100'000);
      return cancelled.load();
    });
    std::thread other;
    if (fault == Fault::CancelByThread) {
      const std::chrono::nanoseconds after(below(static_cast<uint64_t>(done_.time.count())));
      other = std::thread([&cancelled, after] {
        std::this_thread::sleep_for(after);
        cancelled = true;
      });
    }
    const PlanTables::EachBatch each = [&]() -> Status {
      ++batches;
      if (fault == Fault::EndByCaller && batches == last_batch)
        return fail(ErrorCode::Busy, "no more rows are wanted");
      if (fault == Fault::CancelByCaller && batches == last_batch) cancelled = true;
      return {};
    };
    set_faults(fault);
    auto answer = FailingAllocations::call([&] { return tables_.answer(asked_, way_, each); });
    FailingAllocations::disarm();
    host.filesystem().clear_rules();
    host.filesystem().set_free_bytes(~uint64_t{0});
    host.spill_space().set_limit(0);
    if (other.joinable()) other.join();
    tables_.set_interruption_check({});
    was_told_ = fault == Fault::Cancel && asked >= at;
    return answer;
  }

  /// Of memory and files.
  void set_faults(Fault fault) {
    using Call = FaultFilesystem::Call;
    using Effect = FaultFilesystem::Effect;
    TestHost& host = tables_.tables_host;
    const auto add = [&](Call call, uint64_t calls, Effect effect) {
      host.filesystem().add_rule({.call = call,
                                  .path_part = "spill-",
                                  .skip = below(calls),
                                  .times = random_() % 2 == 0 ? 1 : ~uint64_t{0},
                                  .effect = effect});
    };
    switch (fault) {
      case Fault::Cancel:
      case Fault::CancelByThread:
      case Fault::CancelByCaller:
      case Fault::EndByCaller:
      case Fault::Memory:
        break;
      case Fault::Allocation:
        FailingAllocations::arm(below(done_.allocations),
                                random_() % 2 == 0 ? 1 : 1 + below(most_allocations));
        break;
      case Fault::AllocationsOfOthers:
        FailingAllocations::arm_others(static_cast<uint32_t>(1 + below(40)), random_());
        break;
      case Fault::FullDisk:
        host.filesystem().set_free_bytes(below(done_.written));
        break;
      case Fault::SpillLimit:
        host.spill_space().set_limit(1 + below(done_.written));
        break;
      case Fault::Write:
        add(Call::Append, done_.writes, random_() % 2 == 0 ? Effect::Fail : Effect::Tear);
        break;
      case Fault::Read:
        add(Call::Read, done_.reads, Effect::Fail);
        break;
      case Fault::FlippedBit:
        add(Call::Read, done_.reads, Effect::FlipBit);
        break;
      case Fault::Open:
        // A file has a write, but for a file of nothing.
        add(random_() % 2 == 0 ? Call::Create : Call::Open, done_.writes, Effect::Fail);
        break;
      case Fault::Close:
        add(Call::Close, done_.writes, Effect::Fail);
        break;
    }
  }

  std::string wrong_without(const Result<Relation>& answer) {
    if (!answer) return "the query has an error: " + answer.error().message();
    return wrong_rows(*answer) + tables_.left_behind();
  }
  std::string wrong_rows(const Relation& answer) const {
    if (is_answer(plan_, way_, expected_, answer)) return {};
    return "expected:\n" + to_string(expected_) + "but the query has:\n" + to_string(answer);
  }
  std::string wrong_with(Fault fault, const Result<Relation>& answer) {
    // Without memory a spill file may stay until the database is opened.
    if (is_of_allocations(fault)) remove_spill_files();
    std::string wrong = tables_.left_behind();
    // What waits for helpers asks for them, and may have all rows by then.
    if (answer && was_told_ && way_.threads == 1) wrong += "the query goes on though it is to end\n";
    if (answer) return wrong + wrong_rows(*answer);
    const Error& error = answer.error();
    const bool names_file = error.message().find("spill-") != std::string::npos;
    if (error_of(fault) != error.code() || is_of_files(fault) != names_file ||
        error.message().find("another thread") != std::string::npos)
      wrong += fmt::format("the query ended with {}: {}", to_string(error.code()), error.message());
    return wrong;
  }
  void remove_spill_files() {
    const std::string directory = std::filesystem::path(tables_.tables_host.segment_path(0)).parent_path();
    const auto names = tables_.tables_host.filesystem().list(directory);
    ASSERT_TRUE(names);
    for (const std::string& name : *names) {
      if (SpillSpace::is_spill_name(name)) std::filesystem::remove(directory + "/" + name);
    }
  }

  static constexpr uint64_t most_allocations = 1'000'000'000;
  PlanTables& tables_;
  const Plan plan_, asked_;
  const Way way_;
  std::mt19937_64 random_;
  Relation expected_;
  Done done_;
  std::optional<Fault> met_;
  bool ended_ = false;
  bool was_told_ = false;  // that it is to end
};

/// A fault is another one at each try, as threads are.
bool goes_wrong_again(PlanTables& tables, const Plan& plan, const Way& way, uint64_t seed, Fault fault) {
  FaultyQuery query(tables, plan, planned_by(tables, plan, way), way);
  for (uint64_t again = 0; again < 30; ++again) {
    if (!query.wrong(seed + again, fault).empty()) return true;
  }
  return false;
}

TEST(RandomPlansFaultsConcurrentTest, QueriesEndWithTheFaultOrTheirRows) {
  const uint64_t seed = test_seed(46), wanted = plans_wanted(1200);
  std::mt19937_64 random(seed);
  std::map<Fault, uint64_t> tried, ended;
  for (uint64_t done = 0; done < wanted;) {
    PlanTables tables(random(), random() % 4 != 0);
    for (size_t i = 0; i < 200 && done < wanted; ++i, ++done) {
      RandomPlans plans(tables, random(), {.depth = 1 + static_cast<unsigned>(random() % 5)});
      const Plan plan = plans.next();
      Way way = random_way(random);
      if (random() % 2 == 0) way.query_limit = 1;
      const uint64_t seed_of_fault = random();
      FaultyQuery query(tables, plan, planned_by(tables, plan, way), way);
      const std::string wrong = query.wrong(seed_of_fault);
      if (query.met()) {
        ++tried[*query.met()];
        if (query.ended()) ++ended[*query.met()];
      }
      if (wrong.empty()) continue;
      const auto goes_wrong = [&](const Plan& less) {
        return goes_wrong_again(tables, less, way, seed_of_fault, query.met().value_or(Fault::Cancel));
      };
      FAIL() << "plan " << done << " by " << to_string(way) << "\n"
             << wrong << "\n"
             << to_text(goes_wrong(plan) ? smallest(plan, goes_wrong) : plan) << "of\n"
             << to_text(planned_by(tables, plan, way));
    }
  }
  for (const auto& [fault, name] : faults) {
    std::cout << name << ": ended " << ended[fault] << " of " << tried[fault] << '\n';
    if (is_of_allocations(fault) && !FailingAllocations::possible()) continue;
    EXPECT_GT(tried[fault], 0) << name;
    // Whether other threads come in time is up to the system.
    if (fault == Fault::CancelByThread || fault == Fault::AllocationsOfOthers) continue;
    EXPECT_EQ(ended[fault] > 0, error_of(fault).has_value()) << name;
  }
}

}  // namespace
}  // namespace hailstone::plan

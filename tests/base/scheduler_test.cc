#include "base/scheduler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace hailstone {
namespace {

TEST(SchedulerConcurrentTest, RunsEveryTaskAndDrains) {
  auto scheduler = Scheduler::start(3, nullptr);
  ASSERT_TRUE(scheduler);
  std::atomic<int> sum = 0;
  std::vector<std::thread> submitters;
  for (int t = 0; t < 4; ++t) {
    submitters.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        EXPECT_TRUE((*scheduler)->submit(WorkClass::Flush, [&]() -> Status {
          ++sum;
          return {};
        }));
      }
    });
  }
  for (auto& thread : submitters) thread.join();
  (*scheduler)->drain();
  EXPECT_EQ(sum, 2000);
  EXPECT_EQ((*scheduler)->unfinished(), 0U);
}

TEST(SchedulerTest, OneThreadKeepsTheOrder) {
  auto scheduler = Scheduler::start(1, nullptr);
  ASSERT_TRUE(scheduler);
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE((*scheduler)->submit(WorkClass::Flush, [&order, i]() -> Status {
      order.push_back(i);
      return {};
    }));
  }
  (*scheduler)->drain();
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(SchedulerConcurrentTest, MergesHaveHalfOfTheThreads) {
  for (const auto& [threads, most] : {std::pair<size_t, int>{1, 1}, {2, 1}, {3, 1}, {4, 2}}) {
    auto scheduler = Scheduler::start(threads, nullptr);
    ASSERT_TRUE(scheduler);
    std::atomic<int> running = 0, greatest = 0, done = 0;
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE((*scheduler)->submit(WorkClass::Merge, [&]() -> Status {
        const int now = ++running;
        for (int seen = greatest; seen < now && !greatest.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        --running;
        ++done;
        return {};
      }));
    }
    (*scheduler)->drain();
    EXPECT_EQ(greatest, most) << threads << " threads";
    EXPECT_EQ(done, 20);
  }
}

TEST(SchedulerTest, ErrorsGoToTheHandlerAndTheThreadLivesOn) {
  std::atomic<int> errors = 0;
  auto scheduler = Scheduler::start(1, [&](const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::DiskFull);
    ++errors;
  });
  ASSERT_TRUE(scheduler);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(
        (*scheduler)->submit(WorkClass::Flush, []() -> Status { return fail(ErrorCode::DiskFull, "full"); }));
  }
  (*scheduler)->drain();
  EXPECT_EQ(errors, 3);
}

TEST(SchedulerConcurrentTest, StopDropsWhatIsQueuedAndWaitsForWhatRuns) {
  auto scheduler = Scheduler::start(1, nullptr);
  ASSERT_TRUE(scheduler);
  std::latch running(1);
  std::latch finish(1);
  std::atomic<bool> first_ended = false;
  std::atomic<bool> second_ran = false;
  EXPECT_TRUE((*scheduler)->submit(WorkClass::Flush, [&]() -> Status {
    running.count_down();
    finish.wait();
    first_ended = true;
    return {};
  }));
  EXPECT_TRUE((*scheduler)->submit(WorkClass::Flush, [&]() -> Status {
    second_ran = true;
    return {};
  }));
  running.wait();
  std::thread stopper([&] { (*scheduler)->stop(); });
  // stop() has taken effect once submissions are refused.
  while ((*scheduler)->submit(WorkClass::Flush, []() -> Status { return {}; })) std::this_thread::yield();
  finish.count_down();
  stopper.join();
  EXPECT_TRUE(first_ended);
  EXPECT_FALSE(second_ran);
  EXPECT_EQ((*scheduler)->unfinished(), 0U);
  (*scheduler)->stop();
}

TEST(SchedulerTest, ATaskMaySubmitAnotherAndDrainWaitsForBoth) {
  auto scheduler = Scheduler::start(2, nullptr);
  ASSERT_TRUE(scheduler);
  std::atomic<int> depth = 0;
  std::function<Status()> job = [&]() -> Status {
    if (++depth < 50) {
      EXPECT_TRUE((*scheduler)->submit(WorkClass::Flush, job));
    }
    return {};
  };
  EXPECT_TRUE((*scheduler)->submit(WorkClass::Flush, job));
  (*scheduler)->drain();
  EXPECT_EQ(depth, 50);
}

/// Holds the only thread of a scheduler until it is told to go on.
class HeldThread {
 public:
  explicit HeldThread(Scheduler& scheduler, WorkClass work_class) {
    EXPECT_TRUE(scheduler.submit(work_class, [this]() -> Status {
      running_.count_down();
      go_on_.wait();
      return {};
    }));
    running_.wait();
  }
  void let_go() { go_on_.count_down(); }

 private:
  std::latch running_{1}, go_on_{1};
};

TEST(SchedulerTest, EarlierClassesGoFirst) {
  auto scheduler = Scheduler::start(1, nullptr);
  ASSERT_TRUE(scheduler);
  HeldThread held(**scheduler, WorkClass::Flush);
  std::vector<WorkClass> order;
  for (const WorkClass each :
       {WorkClass::Merge, WorkClass::Query, WorkClass::Merge, WorkClass::Checkpoint, WorkClass::Flush}) {
    EXPECT_TRUE((*scheduler)->submit(each, [&order, each]() -> Status {
      order.push_back(each);
      return {};
    }));
  }
  EXPECT_EQ((*scheduler)->unfinished(WorkClass::Merge), 2U);
  EXPECT_EQ((*scheduler)->unfinished(WorkClass::Flush), 2U);  // one holds the thread
  held.let_go();
  (*scheduler)->drain();
  EXPECT_EQ(order, (std::vector<WorkClass>{WorkClass::Flush, WorkClass::Checkpoint, WorkClass::Query,
                                           WorkClass::Merge, WorkClass::Merge}));
}

TEST(SchedulerTest, ATaskThatYieldsLetsOneOfAnEarlierClassRunAndNoneOfItsOwn) {
  auto scheduler = Scheduler::start(1, nullptr);
  ASSERT_TRUE(scheduler);
  HeldThread held(**scheduler, WorkClass::Flush);
  std::string order;
  const auto note = [&](WorkClass work_class, char what) {
    EXPECT_TRUE((*scheduler)->submit(work_class, [&order, what]() -> Status {
      order.push_back(what);
      return {};
    }));
  };
  EXPECT_TRUE((*scheduler)->submit(WorkClass::Merge, [&]() -> Status {
    note(WorkClass::Merge, 'm');
    note(WorkClass::Query, 'q');
    note(WorkClass::Flush, 'f');
    for (int step = 0; step < 4; ++step) {
      order.push_back(static_cast<char>('0' + step));
      Scheduler::yield();
    }
    return {};
  }));
  held.let_go();
  (*scheduler)->drain();
  EXPECT_EQ(order, "0f1q23m");
  Scheduler::yield();  // nothing happens on a thread that is not a scheduler's
}

TEST(SchedulerTest, ATaskInsideAnotherYieldsByItsOwnClass) {
  auto scheduler = Scheduler::start(1, nullptr);
  ASSERT_TRUE(scheduler);
  std::string order;
  EXPECT_TRUE((*scheduler)->submit(WorkClass::Merge, [&]() -> Status {
    EXPECT_TRUE((*scheduler)->submit(WorkClass::Checkpoint, [&]() -> Status {
      const auto add = [&](char what) {
        return [&order, what]() -> Status {
          order.push_back(what);
          return {};
        };
      };
      EXPECT_TRUE((*scheduler)->submit(WorkClass::Query, add('q')));
      EXPECT_TRUE((*scheduler)->submit(WorkClass::Flush, add('f')));
      Scheduler::yield();
      order.push_back('c');
      Scheduler::yield();  // a query is no earlier than a checkpoint
      return {};
    }));
    Scheduler::yield();
    order.push_back('m');
    return {};
  }));
  (*scheduler)->drain();
  EXPECT_EQ(order, "fcmq");
}

TEST(SchedulerTest, HelpersAreTakenOnlyWhenAThreadIsFreeForThem) {
  auto scheduler = Scheduler::start(1, nullptr);
  ASSERT_TRUE(scheduler);
  bool ran = false;
  Scheduler::Task task = [&]() -> Status {
    ran = true;
    return {};
  };
  {
    HeldThread held(**scheduler, WorkClass::Flush);
    EXPECT_FALSE((*scheduler)->submit_if_free(WorkClass::Query, task));
    ASSERT_TRUE(task);  // untouched
    held.let_go();
    (*scheduler)->drain();
  }
  // A merge yields to it.
  HeldThread merging(**scheduler, WorkClass::Merge);
  EXPECT_TRUE((*scheduler)->submit_if_free(WorkClass::Query, task));
  merging.let_go();
  (*scheduler)->drain();
  EXPECT_TRUE(ran);
}

TEST(SchedulerConcurrentTest, StopAsksLongTasksToEnd) {
  auto scheduler = Scheduler::start(2, nullptr);
  ASSERT_TRUE(scheduler);
  std::latch running(1);
  EXPECT_TRUE((*scheduler)->submit(WorkClass::Merge, [&]() -> Status {
    running.count_down();
    const StopToken token = (*scheduler)->stop_token();
    while (!token.stop_requested()) Scheduler::yield();
    return {};
  }));
  running.wait();
  EXPECT_FALSE((*scheduler)->stop_token().stop_requested());
  (*scheduler)->stop();
  EXPECT_TRUE((*scheduler)->stop_token().stop_requested());
}

TEST(StopTokenTest, AFunctionOrASourceRequestsTheStop) {
  EXPECT_FALSE(StopToken().stop_requested());
  EXPECT_FALSE(StopToken(std::function<bool()>()).stop_requested());
  bool asked = false;
  const StopToken by_function([&] { return asked; });
  EXPECT_FALSE(by_function.stop_requested());
  asked = true;
  EXPECT_TRUE(by_function.stop_requested());
  StopSource source;
  const StopToken token = source.token();
  EXPECT_FALSE(token.stop_requested());
  source.request_stop();
  EXPECT_TRUE(token.stop_requested());
}

}  // namespace
}  // namespace hailstone

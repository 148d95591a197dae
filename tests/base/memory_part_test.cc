// Parts of a memory budget when memory for the part itself is missing.
#include <gtest/gtest.h>

#include "base/failing_allocations.h"
#include "base/guard.h"
#include "base/memory_budget.h"

namespace hailstone {
namespace {

TEST(MemoryPartTest, WithoutMemoryForItselfReservesNothing) {
  if (!FailingAllocations::possible()) GTEST_SKIP() << "this build has an operator new of its own";
  MemoryBudget whole(1000);
  FailingAllocations::arm(0, 1);
  const auto made = FailingAllocations::call([&] {
    return guarded([&]() -> Result<bool> { return MemoryBudget::try_part(whole, 100) != nullptr; });
  });
  EXPECT_EQ(FailingAllocations::disarm(), 1);
  EXPECT_FALSE(made);
  EXPECT_EQ(whole.used(), 0);
}

}  // namespace
}  // namespace hailstone

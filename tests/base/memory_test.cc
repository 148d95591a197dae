#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/arena.h"
#include "base/kept_pages.h"
#include "base/memory_budget.h"
#include "base/page_allocator.h"
#include "base/test_seed.h"

namespace hailstone {
namespace {

TEST(ArenaTest, KeepsWhatWasCopiedAlignedAndApart) {
  std::mt19937_64 random(test_seed(2));
  MemoryBudget budget(size_t{1} << 30);
  {
    Arena arena(&budget);
    std::vector<std::pair<std::string, ByteView>> copies;
    for (int i = 0; i < 3000; ++i) {
      const size_t size = i % 500 == 0 ? random() % 3000000 : random() % 200;
      std::string bytes(size, static_cast<char>('a' + i % 26));
      copies.emplace_back(bytes, arena.copy(bytes));
      if (size != 0) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(copies.back().second.data()) % 8, 0U);
      }
    }
    for (const auto& [expected, copy] : copies) EXPECT_EQ(copy, expected);
    EXPECT_EQ(budget.used(), arena.bytes());
    arena.clear();
    EXPECT_EQ(budget.used(), 0U);
    EXPECT_EQ(arena.copy("again"), "again");
  }
  EXPECT_EQ(budget.used(), 0U);
}

TEST(ArenaTest, ASmallArenaIsSmall) {
  Arena arena;
  EXPECT_EQ(arena.bytes(), 0U);
  arena.allocate(100);
  EXPECT_LE(arena.bytes(), 1024U);
}

TEST(ArenaTest, WhatIsReservedLosesNoRoom) {
  constexpr size_t chunk = size_t{64} << 10, piece = 72, reserved = 5000, pieces = 100'000;
  Arena arena(nullptr, chunk);
  for (size_t i = 0; i < pieces; ++i) {
    arena.allocate(piece);
    arena.reserve(reserved);
    const size_t before = arena.bytes();
    if (i % 10 == 0) {
      // In pieces that no chunk's end fits: they need no further chunk.
      for (size_t left = reserved; left >= 256; left -= 256) arena.allocate(256);
      ASSERT_EQ(arena.bytes(), before);
    }
  }
  const size_t used = pieces * piece + pieces / 10 * (reserved / 256 * 256);
  EXPECT_LE(arena.bytes(), used + used / 100 + 2 * chunk);
}

TEST(ArenaTest, PiecesOfMoreThanAChunkLoseNoRoom) {
  constexpr size_t chunk = size_t{64} << 10, rounds = 1000, small = 2000, great = 100'000;
  Arena arena(nullptr, chunk);
  for (size_t i = 0; i < rounds; ++i) {
    arena.allocate(small);
    arena.allocate(great);
  }
  const size_t used = rounds * (small + great);
  EXPECT_LE(arena.bytes(), used + used / 100);
}

size_t resident_bytes() {
  size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(ArenaTest, ChargedMemoryGoesBackToTheSystem) {
  constexpr size_t bytes = size_t{64} << 20, piece = 1024, chunk = size_t{512} << 10;
  // From here on malloc keeps blocks of the size of chunks.
  ::operator delete(::operator new (size_t{8} << 20));
  MemoryBudget budget(size_t{1} << 30);
  Arena arena(&budget, chunk);
  for (size_t i = 0; i < bytes / piece; ++i) std::memset(arena.allocate(piece), 'x', piece);
  // Behind them in malloc's heap, if that is where they are.
  const auto behind = std::make_unique<std::array<char, chunk>>();
  const size_t filled = resident_bytes();
  arena.clear();
  EXPECT_LT(resident_bytes(), filled - bytes * 3 / 4);
  EXPECT_EQ((*behind)[0], 0);
}

TEST(MemoryBudgetTest, RefusesBeyondTheLimitAndReservesNothing) {
  MemoryBudget budget(100);
  EXPECT_TRUE(budget.try_reserve(100));
  EXPECT_FALSE(budget.try_reserve(1));
  EXPECT_EQ(budget.used(), 100U);
  budget.reserve(50);
  EXPECT_EQ(budget.used(), 150U);
  budget.release(150);
  EXPECT_TRUE(budget.try_reserve(1));
}

TEST(MemoryBudgetTest, AsksTheReclaimerForWhatIsShort) {
  MemoryBudget budget(100);
  size_t asked = 0;
  budget.set_reclaimer({.reclaim =
                            [&](size_t bytes) {
                              asked = bytes;
                              budget.release(bytes);
                              return bytes;
                            },
                        .reclaimable = {}});
  EXPECT_TRUE(budget.try_reserve(90));
  EXPECT_TRUE(budget.try_reserve(30));
  EXPECT_EQ(asked, 20U);
  EXPECT_EQ(budget.used(), 100U);
}

TEST(MemoryBudgetTest, WhatIsSpareLeavesHalfToOthers) {
  MemoryBudget budget(100);
  EXPECT_TRUE(budget.is_spare(50));
  EXPECT_FALSE(budget.is_spare(51));
  EXPECT_TRUE(budget.try_reserve(80));
  EXPECT_FALSE(budget.is_spare(1));
  size_t reclaimable = 60;
  budget.set_reclaimer({.reclaim = {}, .reclaimable = [&] { return reclaimable; }});
  EXPECT_TRUE(budget.is_spare(30));
  EXPECT_FALSE(budget.is_spare(31));
  // It may be known late what has been reclaimed.
  reclaimable = 90;
  EXPECT_TRUE(budget.is_spare(50));
  EXPECT_FALSE(budget.is_spare(51));
}

TEST(MemoryBudgetTest, AReservationReleasesWhatItHolds) {
  MemoryBudget budget(100);
  {
    Reservation first(budget);
    EXPECT_TRUE(first.try_grow(60));
    EXPECT_FALSE(first.try_grow(60));
    Reservation second(std::move(first));
    EXPECT_EQ(second.bytes(), 60U);
    second.grow(100);
    EXPECT_EQ(budget.used(), 160U);
  }
  EXPECT_EQ(budget.used(), 0U);
}

TEST(MemoryBudgetConcurrentTest, AReleaseWakesTheWaiter) {
  MemoryBudget budget(100);
  ASSERT_TRUE(budget.try_reserve(100));
  const auto ready = [&] { return budget.used() + 50 <= budget.limit(); };
  // Nothing is released: the wait ends by its time.
  budget.wait_for_release(ready, std::chrono::milliseconds(1));
  EXPECT_FALSE(ready());
  std::thread releasing([&] {
    for (int i = 0; i < 10; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      budget.release(5);
    }
  });
  // Far beyond what the releases take: the test would hang if none of them woke it.
  budget.wait_for_release(ready, std::chrono::hours(24));
  EXPECT_TRUE(ready());
  releasing.join();
  std::thread raising([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    budget.set_limit(500);
  });
  budget.wait_for_release([&] { return budget.used() + 400 <= budget.limit(); }, std::chrono::hours(24));
  raising.join();
}

TEST(MemoryBudgetConcurrentTest, NeverExceedsTheLimit) {
  MemoryBudget budget(1000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&budget, t] {
      for (int i = 0; i < 20000; ++i) {
        const auto bytes = static_cast<size_t>(100 + (i * 7 + t * 13) % 400);
        if (budget.try_reserve(bytes)) {
          EXPECT_LE(budget.used(), 1000U);
          budget.release(bytes);
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(budget.used(), 0U);
}

char* new_pages(size_t bytes) { return PageAllocator<char>().allocate(bytes); }
void give_back(char* pages, size_t bytes) { PageAllocator<char>().deallocate(pages, bytes); }

TEST(KeptPagesTest, WhatWasGivenBackIsTakenAgain) {
  const KeptPages& kept = KeptPages::of_process();
  {
    const KeptPages::User user;
    // A tail shorter than a huge page goes.
    constexpr size_t bytes = 5 * huge_page_bytes + 12345;
    char* const first = new_pages(bytes);
    first[0] = 'x';
    give_back(first, bytes);
    EXPECT_EQ(kept.bytes(), 5 * huge_page_bytes);

    char* const again = new_pages(2 * huge_page_bytes);
    char* const part = new_pages(huge_page_bytes + 1);
    EXPECT_EQ(kept.bytes(), huge_page_bytes);
    for (const char* const pages : {again, part}) {
      EXPECT_GE(pages, first);
      EXPECT_LT(pages, first + bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(pages) % huge_page_bytes, 0U);
    }
    std::memset(again, 1, 2 * huge_page_bytes);
    std::memset(part, 2, huge_page_bytes + 1);
    EXPECT_EQ(again[2 * huge_page_bytes - 1], 1);
    give_back(part, huge_page_bytes + 1);
    give_back(again, 2 * huge_page_bytes);
    EXPECT_EQ(kept.bytes(), 4 * huge_page_bytes);
    // Longer than all that is kept.
    char* const longer = new_pages(8 * huge_page_bytes);
    EXPECT_EQ(kept.bytes(), 4 * huge_page_bytes);
    give_back(longer, 8 * huge_page_bytes);
    EXPECT_EQ(kept.bytes(), 12 * huge_page_bytes);
    // A long array is kept to its end.
    constexpr size_t much = 20 * huge_page_bytes + 1;
    give_back(new_pages(much), much);
    EXPECT_EQ(kept.bytes(), (12 + 21) * huge_page_bytes);
    give_back(new_pages(much), much);
    EXPECT_EQ(kept.bytes(), (12 + 21) * huge_page_bytes);
  }
  EXPECT_EQ(kept.bytes(), 0U);
  give_back(new_pages(huge_page_bytes), huge_page_bytes);
  EXPECT_EQ(kept.bytes(), 0U);
}

TEST(KeptPagesTest, NeighboursBecomeOnePiece) {
  const KeptPages::User user;
  const KeptPages& kept = KeptPages::of_process();
  std::mt19937_64 random(test_seed(3));
  for (int round = 0; round < 50; ++round) {
    constexpr size_t pieces = 8;
    char* const all = new_pages(pieces * huge_page_bytes);
    std::array<size_t, pieces> order{0, 1, 2, 3, 4, 5, 6, 7};
    std::ranges::shuffle(order, random);
    for (const size_t piece : order) give_back(all + piece * huge_page_bytes, huge_page_bytes);
    EXPECT_EQ(kept.bytes(), pieces * huge_page_bytes);
    EXPECT_EQ(new_pages(pieces * huge_page_bytes), all);
    give_back(all, pieces * huge_page_bytes);
  }
}

TEST(KeptPagesTest, PiecesThatAreTooShortDoNotPileUp) {
  const KeptPages::User user;
  const KeptPages& kept = KeptPages::of_process();
  // Its tail goes when it is given back, so that what stays is too short for the next one.
  constexpr size_t bytes = 3 * huge_page_bytes + 1;
  for (int round = 0; round < 50; ++round) {
    give_back(new_pages(bytes), bytes);
    EXPECT_LE(kept.bytes(), 6 * huge_page_bytes);
  }
}

TEST(KeptPagesTest, TheyHaveWhatTheBudgetHasLeft) {
  const KeptPages::User user;
  KeptPages& kept = KeptPages::of_process();
  MemoryBudget budget(10 * huge_page_bytes), other(huge_page_bytes);
  budget.share_with(kept);
  give_back(new_pages(8 * huge_page_bytes), 8 * huge_page_bytes);
  ASSERT_TRUE(budget.try_reserve(2 * huge_page_bytes));
  ASSERT_TRUE(other.try_reserve(huge_page_bytes));
  EXPECT_EQ(kept.bytes(), 8 * huge_page_bytes);
  other.release(huge_page_bytes);
  ASSERT_TRUE(budget.try_reserve(1));
  EXPECT_EQ(kept.bytes(), 7 * huge_page_bytes);
  budget.set_limit(5 * huge_page_bytes);
  EXPECT_EQ(kept.bytes(), 2 * huge_page_bytes);
  budget.reserve(4 * huge_page_bytes);  // beyond the limit
  EXPECT_EQ(kept.bytes(), 0U);
  budget.release(6 * huge_page_bytes + 1);
}

TEST(KeptPagesTest, WhatNobodyNeedsGoes) {
  const KeptPages::User user;
  KeptPages& kept = KeptPages::of_process();
  auto now = KeptPages::Clock::now() + 2 * KeptPages::time_to_keep;
  const auto look = [&] {
    kept.release_idle(now);
    now += KeptPages::time_to_keep;
    return kept.bytes() / huge_page_bytes;
  };
  look();
  give_back(new_pages(8 * huge_page_bytes), 8 * huge_page_bytes);
  EXPECT_EQ(look(), 8U);
  give_back(new_pages(5 * huge_page_bytes), 5 * huge_page_bytes);
  EXPECT_EQ(look(), 5U);
  kept.release_idle(now - 2 * KeptPages::time_to_keep);  // too early
  EXPECT_EQ(kept.bytes(), 5 * huge_page_bytes);
  EXPECT_EQ(look(), 0U);
}

TEST(KeptPagesTest, ThreadsTakeAndGiveBack) {
  const KeptPages::User user;
  std::vector<std::thread> threads;
  for (uint64_t number = 0; number < 4; ++number) {
    threads.emplace_back([number] {
      std::mt19937_64 random(test_seed(4 + number));
      for (int i = 0; i < 300; ++i) {
        const size_t bytes = huge_page_bytes + random() % (3 * huge_page_bytes);
        char* const pages = new_pages(bytes);
        std::memcpy(pages, &number, sizeof number);
        std::memcpy(pages + bytes - sizeof number, &number, sizeof number);
        if (i % 10 == 0) KeptPages::of_process().release(random() % (2 * huge_page_bytes));
        EXPECT_EQ(std::memcmp(pages, &number, sizeof number), 0);
        EXPECT_EQ(std::memcmp(pages + bytes - sizeof number, &number, sizeof number), 0);
        give_back(pages, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hailstone

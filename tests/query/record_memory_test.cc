// Chunks of records: none overlaps another, all keep to the share, and all memory goes back.
#include "query/record_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>
#include <thread>

#include "base/test_seed.h"
#include "table/test_host.h"

namespace hailstone {
namespace {

/// Takes chunks and gives them back at random; each is filled with a byte of its own.
void use_chunks(RecordMemory& memory, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](size_t limit) {
    return std::uniform_int_distribution<size_t>(0, limit - 1)(random);
  };
  struct Held {
    RecordMemory::Chunk chunk;
    char mark;
  };
  std::vector<Held> held;
  const auto give_back = [&](size_t number) {
    const Held last = std::exchange(held[number], held.back());
    held.pop_back();
    for (const size_t place : {size_t{0}, last.chunk.size / 2, last.chunk.size - 1})
      ASSERT_EQ(last.chunk.bytes[place], last.mark);
    memory.give_back(last.chunk);
  };
  for (int step = 0; step < 20'000; ++step) {
    if (!held.empty() && below(5) < 2) {
      give_back(below(held.size()));
      continue;
    }
    const size_t least = below(20) == 0 ? below(300'000) + 1 : below(200) + 1;
    RecordMemory::Chunk chunk = memory.try_take(below(100'000), least);
    if (chunk.bytes == nullptr && below(100) == 0) chunk = memory.take(least);
    if (chunk.bytes == nullptr) {
      while (!held.empty()) give_back(held.size() - 1);
      continue;
    }
    ASSERT_GE(chunk.size, least);
    held.push_back({chunk, static_cast<char>(below(256))});
    std::memset(chunk.bytes, held.back().mark, chunk.size);
  }
  while (!held.empty()) give_back(held.size() - 1);
}

TEST(RecordMemoryConcurrentTest, ChunksAreTakenAndGivenBack) {
  const uint64_t seed = test_seed(53);
  TestHost host;
  const size_t before = host.budget().used();
  for (const size_t most : {size_t{1}, size_t{1} << 20, size_t{64} << 20}) {
    OperatorCounts counts;
    std::optional<RecordMemory> shared(std::in_place, host.budget(), host.spill_space(), most,
                                       RecordDivision{.chunk = size_t{64} << 10, .first_bits = 8},
                                       RecordFloor{.bytes = size_t{64} << 10, .partitions = 3}, &counts);
    RecordMemory& memory = *shared;
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < 3; ++i)
      threads.emplace_back([&memory, seed, i] { use_chunks(memory, seed + i); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(memory.is_ample() || most == 1);
    EXPECT_EQ(counts.memory.load(), 0);
    shared.reset();
    EXPECT_EQ(host.budget().used(), before);
  }
}

TEST(RecordMemoryTest, KeepsToItsShare) {
  TestHost host;
  constexpr size_t most = size_t{1} << 20;
  RecordMemory memory(host.budget(), host.spill_space(), most, {.chunk = size_t{64} << 10, .first_bits = 5},
                      {}, nullptr);
  const size_t before = host.budget().used();
  std::vector<RecordMemory::Chunk> chunks;
  size_t taken = 0;
  for (;;) {
    const RecordMemory::Chunk chunk = memory.try_take(size_t{64} << 10, 100);
    if (chunk.bytes == nullptr) break;
    taken += chunk.size;
    chunks.push_back(chunk);
  }
  EXPECT_EQ(taken, most);
  EXPECT_EQ(host.budget().used(), before + most);
  EXPECT_FALSE(memory.is_ample());
  EXPECT_EQ(memory.try_take(1, 1).bytes, nullptr);
  chunks.push_back(memory.take(1));
  EXPECT_GT(host.budget().used(), before + most);
  // What comes back is given out again, but not while others have taken what they need beyond what was given.
  EXPECT_TRUE(memory.is_short());
  memory.give_back(chunks.front());
  EXPECT_FALSE(memory.is_short());
  EXPECT_EQ(memory.try_take(size_t{64} << 10, size_t{64} << 10).bytes, nullptr);
  memory.give_back(chunks.back());
  chunks.pop_back();
  const RecordMemory::Chunk again = memory.try_take(size_t{64} << 10, 100);
  EXPECT_EQ(again.bytes, chunks.front().bytes);
  EXPECT_EQ(again.size, chunks.front().size);
  for (const RecordMemory::Chunk& chunk : chunks) memory.give_back(chunk);
  EXPECT_EQ(host.budget().used(), before);
}

}  // namespace
}  // namespace hailstone

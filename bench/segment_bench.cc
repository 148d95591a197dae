// How fast segments are written, filtered and read, on one thread. Figures are in values a second; nothing
// here is a test.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>
#include <random>

#include "file/filesystem.h"
#include "segment/segment.h"
#include "segment/segment_writer.h"

namespace hailstone {
namespace {

constexpr uint32_t rows = 64 * block_rows;

/// What a column holds.
enum Shape : int64_t { Names, ManyNames, Prices, RandomIntegers, Counting, SparseDigits, Text };

struct Fixture {
  MemoryBudget budget{size_t{4} << 30};
  Counters counters;
  BlockCache cache{budget, counters};
  std::unique_ptr<ColumnBuffer> column;
  std::string path =
      (std::filesystem::temp_directory_path() / ("hailstone-bench-" + std::to_string(getpid()))).string();

  explicit Fixture(int64_t shape) {
    std::mt19937_64 random(1);
    const bool integer = shape == RandomIntegers || shape == Counting;
    column = std::make_unique<ColumnBuffer>(StoredColumn{1, integer, 8, false}, budget);
    for (uint32_t row = 0; row < rows; ++row) {
      const uint64_t number = random();
      switch (shape) {
        case Names: {
          // Skewed, as manufacturers are.
          const double skew = static_cast<double>(number >> 11) / static_cast<double>(uint64_t{1} << 53);
          column->append_bytes(std::to_string(10000 + static_cast<int>(7000 * skew * skew * skew)));
          break;
        }
        case ManyNames:
          column->append_bytes("Article number " + std::to_string(number % 300000));
          break;
        case Prices:
          column->append_bytes(std::to_string(10000000 + number % 1000000));
          break;
        case RandomIntegers:
          column->append_integer(number % 100000);
          break;
        case Counting:
          column->append_integer(1000 + row);
          break;
        case SparseDigits:
          column->append_bytes(number % 50 == 0 ? std::to_string(1000000 + number % 900000) : "999999");
          break;
        default: {
          std::string text;
          for (unsigned word = 0; word < 8; ++word)
            text += "word" + std::to_string(number >> (word * 8) & 255) + " ";
          column->append_bytes(text);
        }
      }
    }
  }
  ~Fixture() { std::filesystem::remove(path); }

  SegmentInput input() const {
    SegmentInput result;
    result.columns = {&pointer_, 1};
    result.rows = rows;
    result.key_samples.resize((rows + key_sample_stride - 1) / key_sample_stride);
    return result;
  }
  std::shared_ptr<Segment> segment() {
    pointer_ = column.get();
    if (!write_segment(posix_filesystem(), path, input(), counters)) return nullptr;
    return *Segment::open(posix_filesystem(), path, cache, counters);
  }
  const ColumnBuffer* pointer_ = nullptr;
};

void report(benchmark::State& state, uint64_t values_each) {
  state.counters["values/s"] =
      benchmark::Counter(static_cast<double>(values_each) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}

void write_column(benchmark::State& state) {
  Fixture fixture(state.range(0));
  std::shared_ptr<Segment> segment;
  for (auto _ : state) segment = fixture.segment();
  const ColumnStorage storage = segment->storage(0);
  state.SetLabel(storage.encoding);
  state.counters["bytes/value"] = static_cast<double>(storage.stored_bytes) / rows;
  report(state, rows);
}
BENCHMARK(write_column)->DenseRange(Names, Text)->Unit(benchmark::kMillisecond)->UseRealTime();

void select_range(benchmark::State& state) {
  Fixture fixture(state.range(0));
  const auto segment = fixture.segment();
  std::vector<std::shared_ptr<const Block>> blocks;
  for (uint32_t block = 0; block < segment->blocks(); ++block) blocks.push_back(*segment->block(0, block));
  const bool coded = blocks[0]->has_codes();
  const uint64_t middle = coded ? segment->dictionary_size(0) / 2 : 50000;
  const IntegerRange range{middle, middle + 10};
  BlockBitmap bitmap;
  for (auto _ : state) {
    for (const auto& block : blocks) {
      coded ? block->select_code_ranges({&range, 1}, bitmap) : block->select_ranges({&range, 1}, bitmap);
      benchmark::DoNotOptimize(bitmap);
    }
  }
  report(state, rows);
}
BENCHMARK(select_range)->Arg(Names)->Arg(ManyNames)->Arg(RandomIntegers)->Arg(Counting);

void select_members(benchmark::State& state) {
  Fixture fixture(state.range(0));
  const auto segment = fixture.segment();
  std::vector<std::shared_ptr<const Block>> blocks;
  for (uint32_t block = 0; block < segment->blocks(); ++block) blocks.push_back(*segment->block(0, block));
  std::vector<uint64_t> codes((segment->dictionary_size(0) + 63) / 64, 0x1001001001001001);
  BlockBitmap bitmap;
  for (auto _ : state) {
    for (const auto& block : blocks) {
      block->select_codes(codes, bitmap);
      benchmark::DoNotOptimize(bitmap);
    }
  }
  report(state, rows);
}
BENCHMARK(select_members)->Arg(Names)->Arg(ManyNames);

/// One row in so many is read.
void gather(benchmark::State& state) {
  Fixture fixture(state.range(0));
  const auto segment = fixture.segment();
  std::vector<std::shared_ptr<const Block>> blocks;
  for (uint32_t block = 0; block < segment->blocks(); ++block) blocks.push_back(*segment->block(0, block));
  std::shared_ptr<const Dictionary> dictionary;
  if (segment->has_dictionary(0)) dictionary = *segment->dictionary(0);
  std::vector<uint16_t> wanted;
  for (uint32_t row = 0; row < block_rows; row += static_cast<uint32_t>(state.range(1)))
    wanted.push_back(static_cast<uint16_t>(row));
  std::vector<uint64_t> numbers(wanted.size());
  std::vector<ByteView> values(wanted.size());
  for (auto _ : state) {
    for (const auto& block : blocks) {
      if (fixture.column->column().integer) {
        block->gather_integers(wanted, numbers.data());
      } else {
        Arena scratch;
        if (!block->gather_bytes(wanted, dictionary.get(), scratch, values.data()))
          state.SkipWithError("cannot read");
      }
    }
  }
  report(state, segment->blocks() * wanted.size());
}
BENCHMARK(gather)->ArgsProduct({benchmark::CreateDenseRange(Names, Text, 1), {1, 40}});

void cache_hit(benchmark::State& state) {
  Fixture fixture(RandomIntegers);
  const auto segment = fixture.segment();
  uint32_t block = 0;
  for (auto _ : state) benchmark::DoNotOptimize(segment->block(0, block++ % 64));
}
BENCHMARK(cache_hit);

}  // namespace
}  // namespace hailstone

BENCHMARK_MAIN();

#include "segment/segment.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/failing_allocations.h"
#include "base/guard.h"
#include "segment/filter_pins.h"
#include "segment/key_filter.h"
#include "segment/segment_format.h"
#include "segment_test_support.h"

namespace hailstone {
namespace {

uint64_t low_bits(uint64_t number, unsigned bits) {
  return bits == 64 ? number : number & ((uint64_t{1} << bits) - 1);
}

/// Fills a column with integers of the shape; every shape makes the writer choose another form.
void fill_integers(TestColumn& column, const std::string& shape, size_t rows, unsigned null_percent,
                   std::mt19937_64& random) {
  uint64_t value = random() >> 20;
  std::vector<uint64_t> few;
  for (int i = 0; i < 50; ++i) few.push_back(random());
  const unsigned bits = static_cast<unsigned>(random() % 64) + 1;
  const uint64_t base = low_bits(random(), 40);
  for (size_t row = 0; row < rows; ++row) {
    if (random() % 100 < null_percent) {
      column.add_null();
      continue;
    }
    if (shape == "random") value = low_bits(random(), bits);
    if (shape == "wide") value = random();
    if (shape == "based") value = base + random() % 1000;
    if (shape == "rising") value += random() % 200 + 1000;
    if (shape == "falling") value -= random() % 7 + 3;
    if (shape == "counting") ++value;
    if (shape == "runs" && random() % 900 == 0) value = random();
    if (shape == "few") value = few[random() % few.size()];
    if (shape == "sparse") value = random() % 40 == 0 ? random() % 100000 : 999999;
    if (shape == "extreme") value = random() % 2 == 0 ? 0 : ~uint64_t{0};
    column.add(std::optional<uint64_t>(value));
  }
}

std::string random_text(std::mt19937_64& random, size_t size, unsigned letters = 256) {
  std::string text(size, '\0');
  for (auto& c : text) c = static_cast<char>(random() % letters + (letters < 64 ? 'a' : 0));
  return text;
}

void fill_strings(TestColumn& column, const std::string& shape, size_t rows, unsigned null_percent,
                  std::mt19937_64& random) {
  std::vector<std::string> few;
  for (int i = 0; i < 300; ++i) few.push_back(random_text(random, random() % 12));
  for (size_t row = 0; row < rows; ++row) {
    if (random() % 100 < null_percent) {
      column.add_null();
      continue;
    }
    std::string value;
    if (shape == "constant") value = "same";
    if (shape == "few") value = few[random() % few.size()];
    if (shape == "digits") value = std::to_string(random() % 1000000000);
    if (shape == "padded digits") {
      value = std::to_string(row * 3);
      value.insert(0, 12 - std::min<size_t>(12, value.size()), '0');
    }
    if (shape == "mixed digits") value = std::string(random() % 19, static_cast<char>('0' + random() % 10));
    if (shape == "random") value = random_text(random, random() % 60);
    if (shape == "fixed") value = random_text(random, 16);
    if (shape == "text") {
      for (size_t i = random() % 12; i > 0; --i) value += "word" + std::to_string(random() % 400) + " ";
    }
    if (shape == "prefixed") value = "a prefix longer than a summary " + std::to_string(random());
    if (shape == "empty") value = random() % 3 == 0 ? "x" : "";
    column.add(std::optional<std::string>(value));
  }
}

constexpr std::string_view integer_shapes[] = {"constant", "random", "wide", "based",  "rising", "falling",
                                               "counting", "runs",   "few",  "sparse", "extreme"};
constexpr std::string_view string_shapes[] = {"constant", "few",   "digits", "padded digits", "mixed digits",
                                              "random",   "fixed", "text",   "prefixed",      "empty"};

TEST(SegmentTest, EveryShapeAndSizeComesBack) {
  std::mt19937_64 random(test_seed());
  for (const size_t rows :
       {size_t{1}, size_t{2}, size_t{63}, size_t{1025}, size_t{block_rows}, size_t{2 * block_rows + 777}}) {
    for (const unsigned null_percent : {0U, 20U, 100U}) {
      TestTable table;
      for (const auto shape : integer_shapes)
        fill_integers(table.integer_column(), std::string(shape), rows, null_percent, random);
      for (const auto shape : string_shapes)
        fill_strings(table.bytes_column(), std::string(shape), rows, null_percent, random);
      for (const bool in_memory : {false, true}) {
        const auto segment = table.segment("segment", in_memory ? table.memory : posix_filesystem());
        ASSERT_NE(segment, nullptr);
        ASSERT_EQ(segment->rows(), rows);
        ASSERT_EQ(segment->columns().size(), table.columns.size());
        for (size_t i = 0; i < table.columns.size(); ++i) {
          SCOPED_TRACE(fmt::format("{} rows, {} % NULL, column {}, {}", rows, null_percent, i,
                                   in_memory ? "in memory" : "in a file"));
          ASSERT_EQ(segment->columns()[i], table.columns[i]->buffer.column());
          expect_column(*segment, i, *table.columns[i], {}, random);
          if (::testing::Test::HasFatalFailure()) return;
        }
        const Status checked = segment->check();
        ASSERT_TRUE(checked) << checked.error().message();
      }
    }
  }
}

TEST(SegmentTest, BlocksOfFilesInMemoryAreReadWhereTheyLie) {
  std::mt19937_64 random(test_seed());
  TestTable table;
  constexpr size_t rows = 12'000;
  fill_integers(table.integer_column(), "wide", rows, 10, random);
  fill_strings(table.bytes_column(), "random", rows, 10, random);
  auto segment = table.segment("segment", table.memory);
  ASSERT_NE(segment, nullptr);
  std::vector<std::shared_ptr<const Block>> blocks;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    auto block = segment->block(i, 0);
    ASSERT_TRUE(block);
    EXPECT_LT((*block)->memory(), 4096U);
    blocks.push_back(*std::move(block));
  }
  EXPECT_EQ(table.counters.segment_reads.load(), 3U);  // header, trailer, footer
  // A block that is held keeps the file, also of a segment that a merge has replaced.
  segment->remove_when_unused();
  segment.reset();
  EXPECT_TRUE(table.memory.exists(table.directory.file("segment")));
  std::vector<uint16_t> all(rows);
  std::iota(all.begin(), all.end(), uint16_t{0});
  std::vector<uint64_t> numbers(rows);
  blocks[0]->gather_integers(all, numbers.data());
  Arena scratch;
  std::vector<ByteView> texts(rows);
  ASSERT_TRUE(blocks[1]->gather_bytes(all, nullptr, scratch, texts.data()));
  for (size_t row = 0; row < rows; ++row) {
    if (const auto& number = table.columns[0]->integers[row]) {
      ASSERT_EQ(numbers[row], *number);
    }
    if (const auto& text = table.columns[1]->strings[row]) {
      ASSERT_EQ(texts[row], *text);
    }
  }
  blocks.clear();
  EXPECT_FALSE(table.memory.exists(table.directory.file("segment")));
}

/// A segment whose filter has some pieces, opened beside a cache that has room for about one of them.
struct FilterBesideLittleMemory {
  static constexpr size_t rows = 200'000;
  static constexpr size_t pieces = (rows * 12 / 8 + bloom_piece_bytes - 1) / bloom_piece_bytes;

  FilterBesideLittleMemory() {
    TestColumn& column = table.integer_column();
    for (size_t row = 0; row < rows; ++row) column.add(std::optional<uint64_t>(row));
    const Status written = write_segment(posix_filesystem(), path, table.input(), table.counters);
    EXPECT_TRUE(written);
    budget.reserve(budget.limit() - 2 * bloom_piece_bytes);
  }
  ~FilterBesideLittleMemory() { budget.release(budget.limit() - 2 * bloom_piece_bytes); }
  std::shared_ptr<Segment> open() {
    auto opened = Segment::open(posix_filesystem(), path, cache, counters);
    EXPECT_TRUE(opened);
    return opened ? *opened : nullptr;
  }

  TestTable table;
  const std::string path = table.directory.file("s");
  MemoryBudget budget{4 * bloom_piece_bytes};  // readers may not hold one of them
  Counters counters;
  BlockCache cache{budget, counters};
};

TEST(SegmentTest, KeysAreLookedUpInFiltersThatMemoryHasNoRoomFor) {
  std::mt19937_64 random(test_seed());
  FilterBesideLittleMemory test;
  const auto segment = test.open();
  ASSERT_NE(segment, nullptr);
  constexpr size_t looks = 20'000;
  FilterPins pins;
  size_t let_through = 0;
  std::vector<BloomKey> keys;
  for (uint32_t i = 0; i < looks; ++i) {
    const auto row = static_cast<uint32_t>(random() % (2 * test.rows));
    const uint64_t hash = hash_bytes(TestTable::key_of(row));
    const auto admits = segment->key_filter().admits(hash, &pins);
    ASSERT_TRUE(admits) << admits.error().message();
    if (row < test.rows) {
      ASSERT_TRUE(*admits);
    }
    if (*admits) ++let_through;
    keys.push_back({hash, i});
  }
  EXPECT_LT(let_through, looks * 53 / 100);
  // A look reads little; a piece is read once in a while.
  EXPECT_GT(test.counters.bloom_filter_reads.load(), looks / 3);
  EXPECT_LT(test.counters.block_cache_misses.load(), test.pieces + looks / 50);
  std::ranges::sort(keys, {}, &BloomKey::hash);
  std::vector<uint32_t> together;
  ASSERT_TRUE(segment->key_filter().admits(keys, together));
  EXPECT_EQ(together.size(), let_through);
}

TEST(SegmentTest, DamageToAFilterThatMemoryHasNoRoomForIsFound) {
  FilterBesideLittleMemory test;
  {
    // Nearly all of the file is the filter.
    std::fstream file(test.path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(test.path) / 2));
    file.put('\x5a');
    file.put('\xa5');
  }
  const auto segment = test.open();
  ASSERT_NE(segment, nullptr);
  size_t refused = 0, looks = 0;
  for (uint32_t row = 0; row < test.rows; row += 40, ++looks) {
    const auto admits = segment->key_filter().admits(hash_bytes(TestTable::key_of(row)));
    if (admits) {
      ASSERT_TRUE(*admits);
      continue;
    }
    ASSERT_EQ(admits.error().code(), ErrorCode::Corruption);
    ++refused;
  }
  // Every key of the damaged piece, not only the first that is looked for.
  EXPECT_GT(refused, looks / test.pieces / 2);
  EXPECT_LT(refused, looks * 2 / test.pieces);
}

TEST(SegmentTest, RowsAreWrittenInTheGivenOrder) {
  std::mt19937_64 random(test_seed());
  TestTable table;
  constexpr size_t rows = block_rows + 5000;
  fill_integers(table.integer_column(), "random", rows, 10, random);
  fill_strings(table.bytes_column(), "few", rows, 10, random);
  fill_strings(table.bytes_column(), "text", rows, 0, random);
  table.order.resize(rows);
  std::iota(table.order.begin(), table.order.end(), 0);
  std::shuffle(table.order.begin(), table.order.end(), random);
  const auto segment = table.segment();
  for (size_t i = 0; i < table.columns.size(); ++i)
    expect_column(*segment, i, *table.columns[i], table.order, random);
}

TEST(SegmentTest, TheDataChoosesTheEncoding) {
  std::mt19937_64 random(7);
  TestTable table;
  constexpr size_t rows = 2 * block_rows;
  for (const auto shape : integer_shapes)
    fill_integers(table.integer_column(), std::string(shape), rows, 0, random);
  for (const auto shape : string_shapes)
    fill_strings(table.bytes_column(), std::string(shape), rows, 0, random);
  const auto segment = table.segment();
  std::vector<std::string> encodings;
  for (size_t i = 0; i < table.columns.size(); ++i) encodings.push_back(segment->storage(i).encoding);
  EXPECT_EQ(encodings[0], "constant");
  EXPECT_EQ(encodings[1], "bit packed");
  EXPECT_EQ(encodings[4], "delta");
  EXPECT_EQ(encodings[5], "delta");
  EXPECT_EQ(encodings[6], "delta");
  EXPECT_EQ(encodings[7], "run length");
  EXPECT_EQ(encodings[8], "integer dictionary");
  EXPECT_EQ(encodings[9], "sparse");
  EXPECT_EQ(encodings[10], "integer dictionary");
  EXPECT_EQ(encodings[12], "dictionary");
  EXPECT_EQ(encodings[13], "digits");
  EXPECT_EQ(encodings[14], "digits");
  EXPECT_EQ(encodings[16], "plain");
  EXPECT_EQ(encodings[18], "zstd");
  EXPECT_EQ(segment->storage(12).distinct, segment->dictionary_size(12));
  EXPECT_NEAR(static_cast<double>(segment->storage(6).distinct), rows, rows * 0.13);
}

TEST(SegmentTest, SelectionsAgreeWithAPlainLoop) {
  std::mt19937_64 random(test_seed());
  TestTable table;
  constexpr size_t rows = block_rows + 4321;
  for (const auto shape : integer_shapes)
    fill_integers(table.integer_column(), std::string(shape), rows, random() % 2 * 15, random);
  for (const auto shape : {"few", "constant", "empty"})
    fill_strings(table.bytes_column(), shape, rows, random() % 2 * 15, random);
  const auto segment = table.segment("segment", random() % 2 == 0 ? table.memory : posix_filesystem());
  for (size_t position = 0; position < table.columns.size(); ++position) {
    const TestColumn& column = *table.columns[position];
    const bool integer = column.buffer.column().integer;
    if (!integer && !segment->has_dictionary(position)) continue;
    for (uint32_t number = 0; number < segment->blocks(); ++number) {
      const auto block = *segment->block(position, number);
      const auto value = [&](uint32_t row) { return integer ? block->integer(row) : block->code(row); };
      for (const size_t range_count : {1U, 2U, 5U, 40U}) {
        std::vector<uint64_t> bounds;
        for (size_t i = 0; i < range_count * 2; ++i) {
          bounds.push_back(value(static_cast<uint32_t>(random() % block->rows())) + random() % 3 - 1);
        }
        if (random() % 4 == 0) bounds[0] = 0;
        if (random() % 4 == 0) bounds[1] = ~uint64_t{0};
        std::sort(bounds.begin(), bounds.end());
        bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
        std::vector<IntegerRange> ranges;
        for (size_t i = 0; i + 1 < bounds.size(); i += 2)
          ranges.push_back({bounds[i], random() % 3 == 0 ? bounds[i] : bounds[i + 1]});
        BlockBitmap found;
        integer ? block->select_ranges(ranges, found) : block->select_code_ranges(ranges, found);
        for (uint32_t row = 0; row < block_rows; ++row) {
          const bool expected = row < block->rows() && !block->null(row) &&
                                std::any_of(ranges.begin(), ranges.end(), [&](const IntegerRange& range) {
                                  return range.low <= value(row) && value(row) <= range.high;
                                });
          ASSERT_EQ(found.test(row), expected)
              << "row " << row << " column " << position << " " << segment->storage(position).encoding;
        }
      }
      if (integer) continue;
      for (const unsigned one_in : {1U, 2U, 100U}) {
        std::vector<uint64_t> codes((segment->dictionary_size(position) + 63) / 64);
        for (uint32_t code = 0; code < segment->dictionary_size(position); ++code) {
          if (random() % one_in == 0) codes[code / 64] |= uint64_t{1} << (code % 64);
        }
        BlockBitmap found;
        block->select_codes(codes, found);
        for (uint32_t row = 0; row < block_rows; ++row) {
          const bool expected = row < block->rows() && !block->null(row) &&
                                (codes[value(row) / 64] >> (value(row) % 64) & 1) != 0;
          ASSERT_EQ(found.test(row), expected) << "row " << row;
        }
      }
    }
  }
}

TEST(SegmentTest, HugeValuesAreReadOneByOne) {
  std::mt19937_64 random(test_seed());
  TestTable table;
  TestColumn& column = table.bytes_column();
  for (int i = 0; i < 12; ++i) {
    const size_t size = random() % 3 == 0 ? random() % 200 : random() % 2000000;
    column.add(std::optional<std::string>(random() % 2 == 0 ? random_text(random, size)
                                                            : random_text(random, size, 3)));
  }
  column.add_null();
  column.add(std::optional<std::string>(std::string(size_t{9} << 20, 'z')));
  const auto segment = table.segment();
  expect_column(*segment, 0, column, {}, random);
  const Status checked = segment->check();
  ASSERT_TRUE(checked) << checked.error().message();
  // The block itself stays small: the values are outside.
  EXPECT_LT((*segment->block(0, 0))->memory(), 100000U);
}

TEST(SegmentTest, KeysAndIndexesComeBack) {
  std::mt19937_64 random(test_seed());
  TestTable table;
  constexpr uint32_t rows = 3 * block_rows + 11;
  fill_integers(table.integer_column(), "random", rows, 0, random);
  SegmentInput input = table.input();
  IndexRun run;
  for (uint32_t row = 0; row < rows; ++row) {
    if (random() % 3 != 0) run.ordinals.push_back(row);
  }
  std::shuffle(run.ordinals.begin(), run.ordinals.end(), random);
  for (size_t i = 0; i < run.ordinals.size(); ++i) {
    const std::string key = "k" + TestTable::key_of(static_cast<uint32_t>(i));
    if (i % key_sample_stride == 0) run.samples.push_back(key);
    run.key_hashes.push_back(hash_bytes(key));
    run.last_key = key;
  }
  run.distinct_prefixes = {5, 77};
  input.indexes = {run, IndexRun()};
  ASSERT_TRUE(write_segment(posix_filesystem(), table.directory.file("s"), input, table.counters));
  const auto opened =
      Segment::open(posix_filesystem(), table.directory.file("s"), table.cache, table.counters);
  ASSERT_TRUE(opened) << opened.error().message();
  const Segment& segment = **opened;
  ASSERT_TRUE(segment.check());
  ASSERT_EQ(segment.key_sample_count(), (rows + key_sample_stride - 1) / key_sample_stride);
  for (size_t i = 0; i < segment.key_sample_count(); ++i)
    ASSERT_EQ(segment.key_sample(i), input.key_samples[i]);
  EXPECT_EQ(segment.last_key(), input.last_key);
  EXPECT_EQ(segment.distinct_prefixes()[0], rows);
  uint32_t admitted = 0;
  for (uint32_t row = 0; row < 2 * rows; ++row) {
    const auto admits = segment.key_filter().admits(hash_bytes(TestTable::key_of(row)));
    ASSERT_TRUE(admits);
    if (row < rows) {
      ASSERT_TRUE(*admits);
    }
    if (row >= rows && *admits) ++admitted;
  }
  EXPECT_LT(admitted, rows / 40);
  ASSERT_EQ(segment.index_count(), 2U);
  ASSERT_EQ(segment.index_entries(0), run.ordinals.size());
  EXPECT_EQ(segment.index_entries(1), 0U);
  EXPECT_EQ(segment.index_sample_count(1), 0U);
  EXPECT_EQ(segment.index_last_key(0), run.last_key);
  EXPECT_EQ(segment.index_distinct_prefixes(0)[1], 77U);
  for (size_t i = 0; i < segment.index_sample_count(0); ++i)
    ASSERT_EQ(segment.index_sample(0, i), run.samples[i]);
  for (const uint64_t hash : run.key_hashes) ASSERT_TRUE(*segment.index_filter(0).admits(hash));
  EXPECT_TRUE(*segment.index_filter(1).admits(5));
  BlockPins pins;
  for (int i = 0; i < 50; ++i) {
    const auto first = static_cast<uint32_t>(random() % run.ordinals.size());
    const auto count = static_cast<uint32_t>(random() % (run.ordinals.size() - first + 1));
    std::vector<uint32_t> got(count);
    ASSERT_TRUE(segment.index_ordinals(0, first, count, got.data(), pins));
    for (uint32_t k = 0; k < count; ++k) ASSERT_EQ(got[k], run.ordinals[first + k]);
  }
  uint32_t none = 0;
  EXPECT_EQ(segment.index_ordinals(0, segment.index_entries(0), 1, &none, pins).error().code(),
            ErrorCode::InvalidArgument);
}

TEST(SegmentTest, KeysThatAreLookedUpTogetherFindWhatEachFindsAlone) {
  std::mt19937_64 random(test_seed());
  TestTable table;
  // More than two pieces of the filter.
  constexpr uint32_t rows = 100'000;
  static_assert(bloom_filter_bytes(rows) > 2 * bloom_piece_bytes);
  fill_integers(table.integer_column(), "random", rows, 0, random);
  const auto segment = table.segment();
  std::vector<BloomKey> keys;
  for (uint32_t row = 0; row < 2 * rows; ++row) keys.push_back({hash_bytes(TestTable::key_of(row)), row});
  std::ranges::sort(keys, {}, &BloomKey::hash);
  std::vector<uint32_t> together, alone;
  ASSERT_TRUE(segment->key_filter().admits(keys, together));
  for (const BloomKey& key : keys) {
    const auto admits = segment->key_filter().admits(key.hash);
    ASSERT_TRUE(admits);
    if (*admits) alone.push_back(key.number);
  }
  EXPECT_EQ(together, alone);
  EXPECT_EQ(std::ranges::count_if(alone, [](uint32_t row) { return row < rows; }), rows);
  EXPECT_LT(alone.size(), rows + rows / 100);
}

TEST(SegmentTest, BlocksAreCachedAndAccountedFor) {
  std::mt19937_64 random(test_seed());
  TestTable table;
  fill_integers(table.integer_column(), "wide", block_rows * 4, 0, random);
  auto segment = table.segment();
  const size_t before = table.budget.used();
  {
    const auto first = *segment->block(0, 0);
    const auto again = *segment->block(0, 0);
    EXPECT_EQ(first, again);
    EXPECT_EQ(table.counters.block_cache_hits, 1U);
    EXPECT_EQ(table.counters.block_cache_misses, 1U);
    EXPECT_GE(table.budget.used(), before + first->memory());
    EXPECT_EQ(table.cache.evict(SIZE_MAX), 0U) << "a pinned block must stay";
    EXPECT_EQ(first->integer(5), *table.columns[0]->integers[5]);
  }
  EXPECT_GT(table.cache.evict(SIZE_MAX), 0U);
  EXPECT_EQ(table.budget.used(), before);
  EXPECT_EQ(table.counters.block_cache_bytes, 0U);
  // Short of memory, blocks are still read; they do not stay.
  table.budget.set_limit(0);
  ASSERT_TRUE(segment->block(0, 1));
  EXPECT_EQ(table.budget.used(), before);
  table.budget.set_limit(size_t{1} << 30);
  ASSERT_TRUE(segment->block(0, 2));
  segment.reset();
  EXPECT_LT(table.budget.used(), before);
}

/// Reads single values of random rows, as point lookups do.
void read_points(const Segment& segment, size_t position, const TestColumn& column, size_t reads,
                 std::mt19937_64& random) {
  for (size_t i = 0; i < reads; ++i) {
    const auto ordinal = static_cast<uint32_t>(random() % segment.rows());
    const auto block = segment.block(position, ordinal / block_rows);
    ASSERT_TRUE(block) << block.error().message();
    if (!column.strings[ordinal]) {
      ASSERT_TRUE((*block)->null(ordinal % block_rows));
      continue;
    }
    const auto row = static_cast<uint16_t>(ordinal % block_rows);
    Arena scratch;
    ByteView value;
    const Status read = (*block)->gather_bytes({&row, 1}, nullptr, scratch, &value);
    ASSERT_TRUE(read) << read.error().message();
    ASSERT_EQ(value, *column.strings[ordinal]);
  }
}

TEST(SegmentTest, ABlockReadValueByValueIsDecompressedAsAWhole) {
  std::mt19937_64 random(test_seed());
  TestTable table;
  TestColumn& column = table.bytes_column();
  fill_strings(column, "text", 2 * block_rows, 10, random);
  auto segment = table.segment();
  ASSERT_EQ(segment->storage(0).encoding, "zstd");
  // No room: the blocks stay as they are stored.
  ASSERT_TRUE(segment->block(0, 0));
  ASSERT_TRUE(segment->block(0, 1));
  const size_t limit = table.budget.limit();
  table.budget.set_limit(table.budget.used() + 1000);
  read_points(*segment, 0, column, 2000, random);
  EXPECT_EQ(table.counters.block_cache_unpacked, 0U);
  table.budget.set_limit(limit);
  const uint64_t packed_bytes = table.counters.block_cache_bytes;
  // One scan decompresses what it reads, and leaves the cache alone.
  expect_column(*segment, 0, column, {}, random);
  read_points(*segment, 0, column, 4000, random);
  EXPECT_EQ(table.counters.block_cache_unpacked, 2U);
  EXPECT_GT(table.counters.block_cache_bytes, packed_bytes * 3 / 2);
  EXPECT_GE(table.budget.used(), table.counters.block_cache_bytes);
  expect_column(*segment, 0, column, {}, random);
  segment.reset();
  EXPECT_EQ(table.counters.block_cache_bytes, 0U);
}

TEST(SegmentTest, ABlockScannedAgainAndAgainIsDecompressedAsAWhole) {
  std::mt19937_64 random(test_seed());
  TestTable table;
  TestColumn& column = table.bytes_column();
  fill_strings(column, "text", 2 * block_rows, 10, random);
  auto segment = table.segment();
  ASSERT_EQ(segment->storage(0).encoding, "zstd");
  std::vector<uint16_t> rows(block_rows);
  std::iota(rows.begin(), rows.end(), uint16_t{0});
  std::vector<ByteView> values(rows.size());
  const auto scan = [&] {
    for (uint32_t number = 0; number < 2; ++number) {
      const auto block = segment->block(0, number);
      ASSERT_TRUE(block) << block.error().message();
      Arena scratch;
      const Status read = (*block)->gather_bytes(rows, nullptr, scratch, values.data());
      ASSERT_TRUE(read) << read.error().message();
    }
  };
  for (int i = 0; i < 3; ++i) scan();
  EXPECT_EQ(table.counters.block_cache_unpacked, 0U);
  // Memory is short: nothing changes.
  const size_t limit = table.budget.limit();
  table.budget.set_limit(table.budget.used() + 1000);
  for (int i = 0; i < 10; ++i) scan();
  EXPECT_EQ(table.counters.block_cache_unpacked, 0U);
  table.budget.set_limit(limit);
  for (int i = 0; i < 10; ++i) scan();
  EXPECT_EQ(table.counters.block_cache_unpacked, 2U);
  expect_column(*segment, 0, column, {}, random);
}

TEST(SegmentTest, TheFileGoesWithTheLastReader) {
  std::mt19937_64 random(test_seed());
  TestTable table;
  TestColumn& column = table.bytes_column();
  column.add(std::optional<std::string>(random_text(random, 5000000)));
  auto segment = table.segment();
  auto block = *segment->block(0, 0);
  segment->remove_when_unused();
  segment.reset();
  EXPECT_TRUE(posix_filesystem().exists(table.directory.file("segment"))) << "the block still reads from it";
  Arena scratch;
  const uint16_t row = 0;
  ByteView value;
  ASSERT_TRUE(block->gather_bytes({&row, 1}, nullptr, scratch, &value));
  EXPECT_EQ(value, *column.strings[0]);
  block.reset();
  EXPECT_FALSE(posix_filesystem().exists(table.directory.file("segment")));
}

TEST(SegmentTest, TheFileGoesWithoutMemory) {
  if (!FailingAllocations::possible()) GTEST_SKIP() << "this build has an operator new of its own";
  std::mt19937_64 random(test_seed());
  TestTable table;
  fill_integers(table.integer_column(), "wide", 100, 0, random);
  auto segment = table.segment();
  segment->remove_when_unused();
  FailingAllocations::arm(0, 1'000'000);
  FailingAllocations::call([&] { segment.reset(); });
  EXPECT_EQ(FailingAllocations::disarm(), 0U);
  EXPECT_FALSE(posix_filesystem().exists(table.directory.file("segment")));
}

TEST(SegmentTest, AWriteWithoutMemoryLeavesNoFile) {
  if (!FailingAllocations::possible()) GTEST_SKIP() << "this build has an operator new of its own";
  std::mt19937_64 random(test_seed());
  TestTable table;
  fill_integers(table.integer_column(), "wide", block_rows + 100, 0, random);
  const SegmentInput input = table.input();
  const std::string path = table.directory.file("segment");
  for (uint64_t n = 0;; ++n) {
    SCOPED_TRACE(n);
    FailingAllocations::arm(n, 1);
    const Status written = FailingAllocations::call([&] {
      return guarded([&] { return write_segment(posix_filesystem(), path, input, table.counters); });
    });
    const uint64_t failed = FailingAllocations::disarm();
    ASSERT_EQ(posix_filesystem().exists(path), written.has_value());
    if (failed == 0) break;
  }
}

TEST(SegmentTest, AnInterruptedWriteLeavesNoFile) {
  std::mt19937_64 random(test_seed());
  TestTable table;
  fill_integers(table.integer_column(), "wide", block_rows * 4, 0, random);
  int asked = 0;
  const Status written = write_segment(posix_filesystem(), table.directory.file("s"), table.input(),
                                       table.counters, [&] { return ++asked == 3; });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::Interrupted);
  EXPECT_FALSE(posix_filesystem().exists(table.directory.file("s")));
}

TEST(SegmentTest, WrongInputIsRefused) {
  TestTable table;
  table.integer_column().add(std::optional<uint64_t>(1));
  SegmentInput input = table.input();
  input.rows = 0;
  EXPECT_EQ(
      write_segment(posix_filesystem(), table.directory.file("s"), input, table.counters).error().code(),
      ErrorCode::InvalidArgument);
  input.rows = 2;
  EXPECT_EQ(
      write_segment(posix_filesystem(), table.directory.file("s"), input, table.counters).error().code(),
      ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace hailstone

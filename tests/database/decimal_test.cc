// Tables whose older segments hold decimals packed, and the newer ones as scaled numbers.
#include <algorithm>
#include <map>
#include <optional>

#include "database/database_fixture.h"
#include "table/scans.h"

namespace hailstone {
namespace {

constexpr std::array<DecimalDigits, 4> column_digits{{{7, 2}, {18, 2}, {30, 6}, {38, 38}}};

/// A row's decimals, as scaled numbers.
using Numbers = std::array<std::optional<WideInteger>, column_digits.size()>;

class DecimalTest : public DatabaseTest {
 protected:
  static TableDefinition definition_of(bool knows_decimals, bool columnar) {
    TableDefinition definition = pair_definition("d/t");
    definition.columns.pop_back();
    for (const DecimalDigits digits : column_digits) {
      definition.columns.push_back({.name = "d" + std::to_string(digits.precision),
                                    .type = Type::OrderedBytes,
                                    .width = DecimalFormat(digits).width(),
                                    .columnar = columnar,
                                    .decimal = knows_decimals ? digits : DecimalDigits{}});
    }
    definition.indexes.push_back({.name = "by_d7", .unique = false, .parts = {{.column = 1}}});
    return definition;
  }

  static void set_packed(DecimalDigits digits, std::optional<WideInteger> number, std::string& bytes,
                         Value& to) {
    const DecimalFormat format(digits);
    to = {};
    if (!number) return;
    bytes.resize(format.width());
    format.pack(*number, bytes.data());
    to = format.is_integer() ? Value::of(load_big_endian(bytes.data(), format.width()))
                             : Value::of(ByteView(bytes));
  }

  std::optional<WideInteger> random_number(DecimalDigits digits) {
    if (random_() % 7 == 0) return std::nullopt;
    const WideInteger bits =
        static_cast<WideInteger>(random_() >> 1) << 64 | static_cast<WideInteger>(random_());
    const WideInteger number = bits % (random_() % 2 == 0 ? 5'000 : DecimalFormat(digits).greatest() + 1);
    return random_() % 2 == 0 ? number % (DecimalFormat(digits).greatest() + 1)
                              : -number % (DecimalFormat(digits).greatest() + 1);
  }

  void write(int64_t first, int64_t last) {
    const auto table = database_->table("d/t");
    ASSERT_OK(table);
    const auto transaction = begin();
    for (int64_t id = first; id < last; ++id) {
      std::array<Value, column_digits.size() + 1> values;
      std::array<std::string, column_digits.size()> bytes;
      values[0] = Value::of(order_signed(id, 8));
      Numbers& numbers = rows_[id];
      for (size_t i = 0; i < column_digits.size(); ++i) {
        numbers[i] = random_number(column_digits[i]);
        set_packed(column_digits[i], numbers[i], bytes[i], values[i + 1]);
      }
      std::string row;
      ASSERT_OK((*table)->layout()->row_codec().encode(values, row));
      Duplicate duplicate;
      ASSERT_OK((*table)->insert(*transaction, row, duplicate));
    }
    ASSERT_OK(commit(*transaction));
  }

  static WideInteger wide(ByteView bytes) {
    const char* const last = bytes.data() + bytes.size() - 16;
    uint64_t high = load_big_endian(last, 8);
    if (bytes.size() == 16) high ^= sign_of_width(8);
    return (static_cast<WideInteger>(static_cast<int64_t>(high)) << 64) +
           static_cast<WideInteger>(load_big_endian(last + 8, 8));
  }

  /// Reads all rows, packed and scaled.
  void expect_all(const std::shared_ptr<Table>& table) {
    const auto reader = begin();
    std::vector<uint16_t> columns{0};
    for (uint16_t i = 1; i <= column_digits.size(); ++i)
      columns.insert(columns.end(), {i, scaled(i), scaled(i)});
    Scans scans(std::make_unique<Scan>(table, *reader, ReadLock::None, nullptr, columns));
    std::map<int64_t, Numbers> found;
    std::mutex found_mutex;
    const Status read = scans.each_batch(2, [&](unsigned, const Batch& batch) -> Status {
      const std::lock_guard guard(found_mutex);
      for (uint32_t row = 0; row < batch.rows; ++row) {
        Numbers& numbers = found[native_signed(batch.columns[0].value(row).integer, 8)];
        for (size_t i = 0; i < column_digits.size(); ++i) {
          const Value packed = batch.columns[1 + 3 * i].value(row);
          const Value number = batch.columns[2 + 3 * i].value(row);
          EXPECT_EQ(batch.columns[3 + 3 * i].value(row), number);
          EXPECT_EQ(packed.null, number.null);
          if (number.null) continue;
          const bool is_short = column_digits[i].is_short();
          numbers[i] = is_short ? native_signed(number.integer, 8) : wide(number.bytes);
          std::string bytes;
          Value expected;
          set_packed(column_digits[i], numbers[i], bytes, expected);
          EXPECT_EQ(packed, expected);
        }
      }
      return {};
    });
    ASSERT_OK(read);
    EXPECT_TRUE(found == rows_);
  }

  void expect_ranges(const std::shared_ptr<Table>& table) {
    for (uint16_t column = 1; column <= column_digits.size(); ++column) {
      const DecimalDigits digits = column_digits[column - 1U];
      for (int round = 0; round < 20; ++round) {
        WideInteger low = random_number(digits).value_or(0), high = random_number(digits).value_or(0);
        if (low > high) std::swap(low, high);
        std::string low_bytes, high_bytes;
        Value low_value, high_value;
        set_packed(digits, low, low_bytes, low_value);
        set_packed(digits, high, high_bytes, high_value);
        Predicate predicate =
            DecimalFormat(digits).is_integer()
                ? Predicate::integer(column, {{low_value.integer, high_value.integer}})
                : Predicate::bytes(column, std::make_shared<Between>(BytesRange{low_bytes, high_bytes}));
        const auto reader = begin();
        Scan scan(table, *reader, ReadLock::None, std::make_shared<Predicate>(std::move(predicate)), {0});
        const auto counted = scan.count_rest();
        ASSERT_OK(counted);
        EXPECT_EQ(*counted, std::ranges::count_if(rows_, [&](const auto& row) {
          const auto& number = row.second[column - 1U];
          return number && *number >= low && *number <= high;
        }));
      }
    }
  }

  void expect_least_and_greatest(const std::shared_ptr<Table>& table, int64_t first_id, int64_t last_id) {
    const auto reader = begin();
    auto predicate = std::make_shared<Predicate>(
        Predicate::integer(0, {{order_signed(first_id, 8), order_signed(last_id, 8)}}));
    Scans scans(std::make_unique<Scan>(table, *reader, ReadLock::None, std::move(predicate),
                                       std::vector<uint16_t>{1, scaled(1), 2, scaled(2), 3, scaled(3)}));
    constexpr uint16_t columns = 3;
    std::vector<Aggregate> wanted;
    for (uint16_t position = 0; position < 2 * columns; ++position) {
      wanted.push_back({.kind = Aggregate::Kind::Minimum, .position = position});
      wanted.push_back({.kind = Aggregate::Kind::Maximum, .position = position});
    }
    wanted.push_back({.kind = Aggregate::Kind::Sum, .position = 1});
    wanted.push_back({.kind = Aggregate::Kind::Sum, .position = 3});
    const auto results = scans.aggregate(wanted, 2);
    ASSERT_OK(results);
    for (size_t number = 0; number < columns; ++number) {
      std::optional<WideInteger> least, greatest;
      WideInteger sum = 0;
      uint64_t count = 0;
      for (const auto& [id, numbers] : rows_) {
        if (id < first_id || id > last_id || !numbers[number]) continue;
        sum += *numbers[number];
        ++count;
        if (!least || *numbers[number] < *least) least = numbers[number];
        if (!greatest || *numbers[number] > *greatest) greatest = numbers[number];
      }
      const DecimalFormat format(column_digits[number]);
      for (const bool of_greatest : {false, true}) {
        const AggregateResult& packed = (*results)[4 * number + (of_greatest ? 1 : 0)];
        const AggregateResult& scaled_one = (*results)[4 * number + (of_greatest ? 3 : 2)];
        const WideInteger expected = of_greatest ? *greatest : *least;
        std::string bytes;
        Value value;
        set_packed(column_digits[number], expected, bytes, value);
        EXPECT_EQ(packed.count, count);
        EXPECT_EQ(scaled_one.count, count);
        if (format.is_integer()) {
          EXPECT_EQ(packed.integer, value.integer);
        } else {
          EXPECT_EQ(packed.bytes, value.bytes);
        }
        if (format.digits().is_short()) {
          EXPECT_TRUE(native_signed(scaled_one.integer, 8) == expected);
        } else {
          EXPECT_TRUE(wide(scaled_one.bytes) == expected);
        }
      }
      if (format.digits().is_short()) {
        EXPECT_TRUE((*results)[4 * columns + number].integer_sum == sum);
      }
    }
  }

  void expect_forms(const std::shared_ptr<Table>& table, uint64_t packed, uint64_t numbers) {
    expect_all(table);
    expect_ranges(table);
    expect_least_and_greatest(table, 0, rows_.rbegin()->first);
    expect_least_and_greatest(table, 1'000, 3'200);
    const auto checker = begin();
    ASSERT_OK(table->check(*checker, {}));
    uint64_t found_packed = 0, found_numbers = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      if (!entry.path().filename().string().starts_with("segment-")) continue;
      MemoryBudget budget(size_t{64} << 20);
      Counters counters;
      BlockCache cache(budget, counters);
      const auto segment = Segment::open(posix_filesystem(), entry.path().string(), cache, counters);
      ASSERT_OK(segment);
      const auto position = (*segment)->find_column(1);
      ++((*segment)->columns()[*position].decimal.any() ? found_numbers : found_packed);
    }
    EXPECT_EQ(found_packed, packed);
    EXPECT_EQ(found_numbers, numbers);
  }

  class Between final : public BytesTest {
   public:
    explicit Between(BytesRange range) : range_{std::move(range)} {}
    bool matches(ByteView value) const override { return value >= range_[0].low && value <= range_[0].high; }
    std::optional<Limits> limits() const override { return Limits{range_[0].low, range_[0].high}; }
    std::span<const BytesRange> ranges() const override { return range_; }

   private:
    const std::array<BytesRange, 1> range_;
  };

  void write_both_forms(bool columnar) {
    open();
    {
      const auto transaction = begin();
      ASSERT_OK(database_->create_table(*transaction, definition_of(false, columnar)));
      ASSERT_OK(commit(*transaction));
    }
    write(0, 3'000);
    ASSERT_OK((*database_->table("d/t"))->flush(true));
    write(3'000, 3'500);
    {
      const auto transaction = begin();
      ASSERT_OK(database_->replace_definition(*transaction, "d/t", definition_of(true, columnar)));
      ASSERT_OK(commit(*transaction));
    }
    {
      // What a column has been told to hold stays.
      const auto transaction = begin();
      TableDefinition other = definition_of(true, columnar);
      other.columns[1].decimal = {.precision = 6, .scale = 2};
      EXPECT_EQ(code_of(database_->replace_definition(*transaction, "d/t", other)),
                ErrorCode::InvalidArgument);
    }
    reopen();
    auto table = *database_->table("d/t");
    write(3'500, 6'000);
    expect_forms(table, 1, 0);
    ASSERT_OK(table->flush(true));
    write(6'000, 6'400);
    expect_forms(table, 1, 1);
    ASSERT_OK(table->optimize({}));
    expect_forms(table, 0, 1);
    table.reset();
    reopen();
    expect_forms(*database_->table("d/t"), 0, 1);
  }

  std::mt19937_64 random_{test_seed(77)};
  std::map<int64_t, Numbers> rows_;
};

TEST_F(DecimalTest, BothFormsAnswerTogether) { write_both_forms(true); }
TEST_F(DecimalTest, RowsAnswerBesideThem) { write_both_forms(false); }

}  // namespace
}  // namespace hailstone

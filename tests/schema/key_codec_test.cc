#include "schema/key_codec.h"

#include <gtest/gtest.h>

#include "base/test_seed.h"
#include "schema/random_schema.h"

namespace hailstone {
namespace {

int sign(int order) { return (order > 0) - (order < 0); }

/// The order of two values of an index part, said without keys.
int compare_values(const Column& column, const IndexPart& part, const Value& a, const Value& b) {
  int order = 0;
  if (a.null || b.null) {
    order = static_cast<int>(b.null) - static_cast<int>(a.null);
  } else if (column.is_integer()) {
    const unsigned dropped =
        part.prefix != 0 && part.prefix < column.width ? 8 * (column.width - part.prefix) : 0;
    const auto number = [&](const Value& value) {
      const bool is_negative_zero = (column.type == Type::Float && value.integer == order_float(-0.0F)) ||
                                    (column.type == Type::Double && value.integer == order_double(-0.0));
      return is_negative_zero ? value.integer + 1 : value.integer >> dropped;
    };
    const uint64_t left = number(a), right = number(b);
    order = left < right ? -1 : left > right ? 1 : 0;
  } else {
    const Collation& collation =
        column.type != Type::OrderedBytes && column.collation == binary_padded_collation_id
            ? binary_padded_collation()
            : binary_collation();
    const size_t prefix = part.prefix == 0 ? ByteView::npos : part.prefix;
    order = sign(collation.compare(a.bytes.substr(0, prefix), b.bytes.substr(0, prefix)));
  }
  return part.descending ? -order : order;
}

TEST(KeyCodecTest, OrderOfKeysIsOrderOfValues) {
  RandomSchema random(test_seed(6));
  const CollationResolver collations;
  for (int round = 0; round < 3'000; ++round) {
    const TableDefinition table = random.table();
    const Index index = random.index(table, "i");
    const auto codec = KeyCodec::make(table, index, collations);
    ASSERT_TRUE(codec) << codec.error().message();
    ASSERT_EQ(codec->part_count(), index.parts.size());
    const RowCodec row_codec(table.columns);
    std::vector<std::vector<Value>> rows;
    std::vector<std::string> keys;
    for (int i = 0; i < 8; ++i) {
      std::vector<Value> values = random.row(table);
      if (i > 0 && random.one_in(2)) {  // share all but one column with an earlier row
        const std::vector<Value> earlier = rows[random.below(rows.size())];
        const size_t changed = random.below(values.size());
        for (size_t c = 0; c < values.size(); ++c) {
          if (c != changed) values[c] = earlier[c];
        }
      }
      std::string row;
      ASSERT_TRUE(row_codec.encode(values, row));
      std::string key = "k";
      const Status appended = codec->append_row(row_codec, row, key);
      ASSERT_TRUE(appended) << appended.error().message();

      std::vector<Value> parts;
      bool null = false;
      for (const IndexPart& part : index.parts) {
        parts.push_back(values[part.column]);
        null |= parts.back().null;
      }
      std::string from_values = "k";
      ASSERT_TRUE(codec->append(parts, from_values));
      ASSERT_EQ(from_values, key);
      ASSERT_EQ(codec->has_null(row_codec, row), null);
      // A key of the first parts is a prefix of the whole key.
      parts.resize(random.below(parts.size() + 1));
      std::string partial = "k";
      ASSERT_TRUE(codec->append(parts, partial));
      ASSERT_TRUE(key.starts_with(partial));
      ASSERT_EQ(codec->prefix_size(ByteView(key).substr(1), parts.size()), partial.size() - 1);
      rows.push_back(std::move(values));
      keys.push_back(std::move(key));
    }
    for (size_t a = 0; a < rows.size(); ++a) {
      for (size_t b = 0; b < rows.size(); ++b) {
        int expected = 0;
        for (const IndexPart& part : index.parts) {
          if (expected == 0) {
            expected =
                compare_values(table.columns[part.column], part, rows[a][part.column], rows[b][part.column]);
          }
        }
        ASSERT_EQ(sign(keys[a].compare(keys[b])), expected)
            << "round " << round << " rows " << a << " and " << b;
        if (expected != 0) {
          ASSERT_FALSE(keys[a].starts_with(keys[b]));
        }
      }
    }
  }
}

TEST(KeyCodecTest, BothZerosAreOneKey) {
  TableDefinition table;
  table.columns = {{.name = "f", .type = Type::Float, .width = 4},
                   {.name = "d", .type = Type::Double, .width = 8}};
  for (const bool descending : {false, true}) {
    const Index index{.name = "i", .parts = {{0, 0, descending}, {1, 0, descending}}};
    const auto codec = KeyCodec::make(table, index, CollationResolver());
    ASSERT_TRUE(codec);
    const auto key = [&](float number, double wide) {
      std::string made;
      EXPECT_TRUE(
          codec->append(std::vector{Value::of(order_float(number)), Value::of(order_double(wide))}, made));
      return made;
    };
    EXPECT_EQ(key(-0.0F, -0.0), key(0.0F, 0.0));
    EXPECT_NE(key(-0.0F, -0.0), key(0.0F, -5e-324));
    EXPECT_NE(key(-0.0F, -0.0), key(-1e-45F, 0.0));
    EXPECT_EQ(key(-1e-45F, 0) < key(-0.0F, 0), !descending);
    EXPECT_EQ(key(0.0F, 5e-324) > key(0.0F, -0.0), !descending);
  }
  const Index alone{.name = "i", .parts = {{1, 0, false}}};
  EXPECT_EQ(KeyCodec::make(table, alone, CollationResolver())->integer_width(), 0u);
}

TEST(KeyCodecTest, RefusesWhatItCannotEncodeAndLeavesTheTargetAlone) {
  TableDefinition table;
  table.name = "test/t";
  table.columns = {{.name = "a", .type = Type::Unsigned, .width = 4, .nullable = false},
                   {.name = "b", .type = Type::Blob},
                   {.name = "c", .type = Type::Varchar, .width = 10, .collation = 99}};
  const CollationResolver collations;
  const auto codec = KeyCodec::make(table, {"k", false, {{0}, {1}}}, collations);
  ASSERT_TRUE(codec);
  std::string key = "kept";
  const Status null = codec->append(std::vector{Value{}}, key);
  ASSERT_FALSE(null);
  EXPECT_EQ(null.error().code(), ErrorCode::InvalidArgument);
  const std::string huge(max_key_bytes, 'x');
  const Status too_long = codec->append(std::vector{Value::of(1), Value::of(ByteView(huge))}, key);
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().code(), ErrorCode::RowTooLarge);
  EXPECT_NE(too_long.error().message().find("'k'"), std::string::npos);
  EXPECT_FALSE(codec->append(std::vector<Value>(3), key));
  EXPECT_EQ(key, "kept");
  EXPECT_TRUE(codec->whole_values());

  const auto prefix = KeyCodec::make(table, {"p", false, {{1, 5}}}, collations);
  ASSERT_TRUE(prefix);
  EXPECT_FALSE(prefix->whole_values());
  EXPECT_TRUE(prefix->append(std::vector{Value::of(ByteView(huge))}, key));

  const auto unknown = KeyCodec::make(table, {"u", false, {{2}}}, collations);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), ErrorCode::Unsupported);
}

TEST(KeyCodecTest, KeyAfterPrefix) {
  EXPECT_EQ(key_after_prefix("ab"), "ac");
  EXPECT_EQ(key_after_prefix("a\xff\xff"), "b");
  EXPECT_EQ(key_after_prefix("\xff"), "");
  EXPECT_EQ(key_after_prefix(""), "");
}

/// Keys of a collation without weights are read part by part, and not made.
TEST(KeyCodecTest, KeysWithoutWeightsAreReadOnly) {
  TableDefinition table;
  table.name = "t";
  table.columns.push_back({.name = "a", .type = Type::Signed, .width = 4, .nullable = false});
  table.columns.push_back({.name = "b", .type = Type::Varchar, .width = 40});
  table.columns.push_back({.name = "c", .type = Type::Signed, .width = 4, .nullable = false});
  for (const bool descending : {false, true}) {
    const Index index{.name = "i",
                      .parts = {{.column = 0}, {.column = 1, .descending = descending}, {.column = 2}}};
    const auto known = KeyCodec::make(table, index, CollationResolver());
    TableDefinition foreign = table;
    foreign.columns[1].collation = first_application_collation_id + 3;
    const auto codec = KeyCodec::make(foreign, index, collations_for_reading());
    ASSERT_TRUE(known && codec);
    EXPECT_TRUE(known->makes_keys());
    EXPECT_FALSE(codec->makes_keys());
    for (const ByteView text : {ByteView("text"), ByteView("a\0b\0\1", 5), ByteView(), ByteView("\0", 1)}) {
      const Value values[] = {Value::of(order_signed(-5, 4)), Value::of(text), Value::of(order_signed(7, 4))};
      std::string key;
      ASSERT_TRUE(known->append(values, key));
      std::string made;
      EXPECT_EQ(codec->append(values, made).error().code(), ErrorCode::Unsupported);
      EXPECT_TRUE(made.empty());
      const std::string more = key + "more";
      ByteView rest = more;
      EXPECT_TRUE(*codec->agrees(values, rest));
      EXPECT_EQ(rest, "more");
      const Value others[] = {values[0], Value::of("another text"), Value::of(order_signed(8, 4))};
      rest = key;
      EXPECT_TRUE(*codec->agrees({others, 2}, rest)) << "the weights are not known";
      rest = key;
      EXPECT_FALSE(*codec->agrees(others, rest));
      const Value null[] = {values[0], Value{}, values[2]};
      rest = key;
      EXPECT_FALSE(*codec->agrees(null, rest));
      for (size_t size = 0; size < key.size(); ++size) {
        rest = ByteView(key).substr(0, size);
        EXPECT_FALSE(*codec->agrees(values, rest)) << size;
      }
      std::string null_key;
      ASSERT_TRUE(known->append(null, null_key));
      rest = null_key;
      EXPECT_TRUE(*codec->agrees(null, rest) && rest.empty());
      rest = null_key;
      EXPECT_FALSE(*codec->agrees(values, rest));
    }
  }
}

}  // namespace
}  // namespace hailstone

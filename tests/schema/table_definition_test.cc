#include "schema/table_definition.h"

#include <gtest/gtest.h>

#include "base/test_seed.h"
#include "schema/packed_definition.h"
#include "schema/random_schema.h"

namespace hailstone {
namespace {

TableDefinition people() {
  TableDefinition table;
  table.name = "test/people";
  table.columns = {
      {.name = "id", .type = Type::Signed, .width = 4, .nullable = false},
      {.name = "name", .type = Type::Varchar, .width = 40, .collation = binary_padded_collation_id},
      {.name = "photo", .type = Type::Blob, .columnar = false}};
  table.indexes = {{"PRIMARY", true, {{0}}}, {"name", false, {{1, 10, true}}}};
  table.has_primary_key = true;
  return table;
}

void expect_invalid(const TableDefinition& table, std::string_view part_of_message) {
  const Status valid = table.validate();
  ASSERT_FALSE(valid) << part_of_message;
  EXPECT_EQ(valid.error().code(), ErrorCode::InvalidArgument);
  EXPECT_NE(valid.error().message().find(part_of_message), std::string::npos) << valid.error().message();
}

TEST(TableDefinitionTest, ReadsWhatItWrote) {
  RandomSchema random(test_seed(1));
  for (int round = 0; round < 500; ++round) {
    const TableDefinition table = random.table();
    ASSERT_TRUE(table.validate()) << table.validate().error().message();
    std::string bytes = "x";
    table.append_to(bytes);
    bytes += "rest";
    ByteReader reader(ByteView(bytes).substr(1));
    const auto parsed = TableDefinition::parse(reader);
    ASSERT_TRUE(parsed) << parsed.error().message();
    ASSERT_EQ(*parsed, table);
    ASSERT_EQ(reader.remaining(), 4u);
  }
}

TEST(TableDefinitionTest, CutAndFlippedBytesNeverCrash) {
  RandomSchema random(test_seed(2));
  for (int round = 0; round < 300; ++round) {
    std::string bytes;
    random.table().append_to(bytes);
    // An own copy of exactly the bytes, so that a sanitizer sees a read past the end.
    const std::string cut(bytes, 0, random.below(bytes.size()));
    ByteReader cut_reader(cut);
    const auto parsed = TableDefinition::parse(cut_reader);
    ASSERT_FALSE(parsed);
    ASSERT_EQ(parsed.error().code(), ErrorCode::Corruption);
    for (int flips = 0; flips < 20; ++flips) {
      std::string flipped = bytes;
      flipped[random.below(flipped.size())] = static_cast<char>(random.below(256));
      ByteReader reader(flipped);
      if (const auto definition = TableDefinition::parse(reader)) {
        ASSERT_TRUE(definition->validate());
      }
    }
  }
}

TEST(TableDefinitionTest, PackedDefinitionsAreTakenAsParsed) {
  // The same definitions again and again, with other names, whole, cut or damaged, and something behind them.
  RandomSchema random(test_seed(3));
  std::vector<TableDefinition> shapes(100);
  for (TableDefinition& shape : shapes) shape = random.table();
  for (int round = 0; round < 20'000; ++round) {
    TableDefinition table = shapes[random.below(random.one_in(2) ? 5 : shapes.size())];
    table.name = random.one_in(20) ? "" : "d/t" + std::to_string(random.below(1000));
    std::string bytes;
    table.append_to(bytes);
    if (random.one_in(5)) bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    if (random.one_in(10)) bytes.resize(random.below(bytes.size()));
    if (random.one_in(3)) bytes.append("behind it");
    ByteReader parsing(bytes), taking(bytes);
    const auto parsed = TableDefinition::parse(parsing);
    const auto taken = PackedDefinition::take(taking);
    ASSERT_EQ(taken.has_value(), parsed.has_value());
    if (!parsed) {
      ASSERT_EQ(taken.error().message(), parsed.error().message());
      continue;
    }
    ASSERT_EQ(taking.remaining(), parsing.remaining());
    ASSERT_EQ(taken->bytes(), ByteView(bytes).substr(0, bytes.size() - taking.remaining()));
    ASSERT_EQ(taken->name(), parsed->name);
    ASSERT_EQ(taken->unpack(), *parsed);
  }
}

TEST(TableDefinitionTest, ValidateNamesWhatIsWrong) {
  EXPECT_TRUE(people().validate());
  TableDefinition table = people();
  table.columns[1].name = "id";
  expect_invalid(table, "two columns are named 'id'");
  table = people();
  table.columns[0].width = 5;
  expect_invalid(table, "column 'id' of type 1 cannot be 5 bytes wide");
  table = people();
  table.indexes[1].parts[0].column = 3;
  expect_invalid(table, "index 'name' names column number 3 of 3");
  table = people();
  table.indexes[0].parts[0].prefix = 2;
  expect_invalid(table, "which is a number");
  table = people();
  table.columns[0].nullable = true;
  expect_invalid(table, "'id', which may be NULL");
  table = people();
  table.indexes[0].unique = false;
  expect_invalid(table, "not a unique one");
  table = people();
  table.indexes.clear();
  expect_invalid(table, "not a unique one");
  table = people();
  table.indexes[1].parts.push_back({1});
  expect_invalid(table, "index 'name' names column 'name' twice");
  table = people();
  table.columns.clear();
  expect_invalid(table, "no columns");
  table = people();
  for (size_t i = 0; i < max_columns; ++i) table.columns.push_back({.name = std::to_string(i), .width = 4});
  expect_invalid(table, "4099 columns");
}

}  // namespace
}  // namespace hailstone

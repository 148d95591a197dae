#include "log/operation.h"

#include <gtest/gtest.h>

#include <random>

#include "base/test_seed.h"

namespace hailstone {
namespace {

constexpr OperationKind kinds[] = {OperationKind::Put,         OperationKind::Delete,
                                   OperationKind::Publish,     OperationKind::Counter,
                                   OperationKind::CreateTable, OperationKind::DropTable,
                                   OperationKind::RenameTable, OperationKind::ReplaceDefinition};

TEST(OperationTest, ManyInARowAreReadAsTheyWereWritten) {
  std::mt19937_64 random(test_seed(1));
  const std::string text(300, 'x');
  for (int round = 0; round < 200; ++round) {
    std::vector<Operation> written;
    std::string bytes;
    for (uint64_t i = random() % 10; i > 0; --i) {
      Operation operation{.kind = kinds[random() % std::size(kinds)], .table = random() >> random() % 64};
      switch (operation.kind) {
        case OperationKind::Put:
          operation.number = random() >> random() % 64;
          [[fallthrough]];
        case OperationKind::Delete:
        case OperationKind::CreateTable:
        case OperationKind::RenameTable:
        case OperationKind::ReplaceDefinition:
          operation.bytes = ByteView(text).substr(0, random() % text.size());
          break;
        case OperationKind::Counter:
          operation.number = random();
          break;
        case OperationKind::Publish:
          for (uint64_t file = random() % 5; file > 0; --file)
            operation.files.push_back({random(), random() % 9});
          break;
        case OperationKind::DropTable:
          break;
      }
      append_operation(bytes, operation);
      written.push_back(operation);
    }
    ByteReader reader(bytes);
    for (const Operation& expected : written) {
      Operation found;
      ASSERT_EQ(take_operation(reader, found), TakenOperation::Whole);
      EXPECT_EQ(found, expected);
    }
    EXPECT_TRUE(reader.empty());
  }
}

TEST(OperationTest, WhatIsCutOrUnknownIsSaidToBe) {
  for (const OperationKind kind : kinds) {
    std::string bytes;
    append_operation(bytes,
                     {.kind = kind, .table = 1000, .number = 1000, .bytes = "bytes", .files = {{500, 700}}});
    for (size_t size = 0; size < bytes.size(); ++size) {
      ByteReader reader(ByteView(bytes).substr(0, size));
      Operation operation;
      EXPECT_EQ(take_operation(reader, operation), TakenOperation::Cut)
          << static_cast<int>(kind) << " " << size;
    }
  }
  for (const int kind : {0, 5, 15, 20, 255}) {
    const std::string bytes{static_cast<char>(kind), '\1', '\1', '\1'};
    ByteReader reader(bytes);
    Operation operation;
    EXPECT_EQ(take_operation(reader, operation), TakenOperation::Unknown);
    EXPECT_EQ(static_cast<int>(operation.kind), kind);
  }
  // A count of files that cannot be there takes no memory.
  std::string bytes{static_cast<char>(OperationKind::Publish), '\1'};
  append_varint(bytes, ~uint64_t{0});
  bytes += "\1\1\1\1";
  ByteReader reader(bytes);
  Operation operation;
  EXPECT_EQ(take_operation(reader, operation), TakenOperation::Cut);
}

}  // namespace
}  // namespace hailstone

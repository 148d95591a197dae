// A table of random rows, in segments and deltas, for the tests of queries. Its first column is a whole
// number of four bytes, which is its key.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>

#include "base/test_seed.h"
#include "table/bulk_load.h"
#include "table/test_host.h"

namespace hailstone {

/// What may happen to spill files.
struct SpillFault {
  FaultFilesystem::Call call;
  FaultFilesystem::Effect effect;
  int error_number = 0;
};
/// Each ends the query that meets it.
inline constexpr std::array<SpillFault, 6> spill_faults{{
    {FaultFilesystem::Call::Create, FaultFilesystem::Effect::Fail, EACCES},
    {FaultFilesystem::Call::Append, FaultFilesystem::Effect::Fail, ENOSPC},
    {FaultFilesystem::Call::Close, FaultFilesystem::Effect::Fail, EIO},
    {FaultFilesystem::Call::Open, FaultFilesystem::Effect::Fail, EMFILE},
    {FaultFilesystem::Call::Read, FaultFilesystem::Effect::Fail, EIO},
    {FaultFilesystem::Call::Read, FaultFilesystem::Effect::FlipBit},
}};

class QueryTest : public testing::Test {
 protected:
  QueryTest(uint64_t seed, const TableDefinition& definition)
      : random_(test_seed(seed)), table_(host_.create(definition)) {}

  size_t below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }

  /// Commits rows with the keys [first, last): each(key, take) calls take(values) once.
  template <typename Each>
  void write_rows(int32_t first, int32_t last, bool in_bulk, Each&& each) {
    const auto transaction = host_.transactions().begin(Isolation::RepeatableRead);
    Duplicate duplicate;
    std::optional<BulkLoad> load;
    if (in_bulk) load.emplace(table_, *transaction);
    for (int32_t key = first; key < last; ++key) {
      each(key, [&](std::span<const Value> values) {
        if (load) {
          ASSERT_TRUE(load->append(values));
        } else {
          std::string row;
          ASSERT_TRUE(table_->layout()->row_codec().encode(values, row));
          ASSERT_TRUE(table_->insert(*transaction, row, duplicate));
        }
      });
    }
    if (load) {
      ASSERT_TRUE(load->finish(duplicate));
    }
    ASSERT_TRUE(host_.transactions().commit(*transaction));
  }

  void erase_rows(int32_t first, int32_t last, int32_t step) {
    const auto transaction = host_.transactions().begin(Isolation::RepeatableRead);
    for (int32_t number = first; number < last; number += step) {
      const Value value = Value::of(order_signed(number, 4));
      std::string key;
      ASSERT_TRUE(table_->key_codec(0).append({&value, 1}, key));
      ASSERT_TRUE(table_->erase(*transaction, key));
    }
    ASSERT_TRUE(host_.transactions().commit(*transaction));
  }

  size_t spill_files() {
    size_t files = 0;
    const std::filesystem::path directory = std::filesystem::path(host_.segment_path(1)).parent_path();
    for (const auto& entry : std::filesystem::directory_iterator(directory))
      files += size_t{SpillSpace::is_spill_name(entry.path().filename().string())};
    return files;
  }
  /// Nothing is left of a query that is no more.
  void expect_nothing_left(size_t memory_before) {
    EXPECT_EQ(spill_files(), 0);
    EXPECT_EQ(host_.spill_space().bytes(), 0);
    EXPECT_LE(host_.budget().used(), memory_before);
  }

  /// So many calls of its kind go well before the fault is met, once.
  void add_spill_fault(const SpillFault& fault, uint64_t skip) {
    host_.filesystem().clear_rules();
    host_.filesystem().add_rule({.call = fault.call,
                                 .path_part = "spill-",
                                 .skip = skip,
                                 .times = 1,
                                 .effect = fault.effect,
                                 .error_number = fault.error_number});
  }
  /// Of a query that has met the fault.
  static void expect_error_of(const SpillFault& fault, const Error& error) {
    EXPECT_NE(error.message().find("spill-"), std::string::npos) << error.message();
    EXPECT_EQ(error.code(), fault.error_number == ENOSPC ? ErrorCode::DiskFull : ErrorCode::Io)
        << error.message();
  }

  TestHost host_;
  std::mt19937_64 random_;
  std::shared_ptr<Table> table_;
  std::unique_ptr<Transaction> reader_;
};

}  // namespace hailstone

// A database whose power can fail, and a model of what it must hold then.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "database/database_fixture.h"

namespace hailstone {

class CrashTest : public DatabaseTest {
 protected:
  void SetUp() override { open_with_faults(); }
  void TearDown() override {
    snapshots_.clear();
    database_.reset();
  }

  void open_with_faults() {
    filesystem_ = std::make_unique<FaultFilesystem>(posix_filesystem());
    auto opened = Database::open(*filesystem_, directory_.path(), options());
    ASSERT_OK(opened);
    database_ = std::move(*opened);
  }
  /// The power fails: what was not synced may be gone. The database is closed then.
  void lose_power(uint64_t seed) {
    snapshots_.clear();
    filesystem_->power_off();
    database_.reset();
    ASSERT_OK(filesystem_->leave_crash_state(seed));
  }

  std::shared_ptr<Table> table(const std::string& name) {
    const auto found = database_->table(name);
    EXPECT_OK(found);
    return found.value_or(nullptr);
  }
  void write(const std::string& name, int64_t id, const std::string& text) {
    put_rows(name, {{id, text}});
    model_[name][id] = text;
  }
  void erase(const std::string& name, int64_t id) {
    const auto transaction = begin();
    ASSERT_OK(table(name)->erase(*transaction, pair_key(*table(name), id)));
    ASSERT_OK(commit(*transaction));
    model_[name].erase(id);
  }
  using Changes = std::map<int64_t, std::optional<std::string>>;
  /// Loads the rows in bulk, with so many others that they go straight to a segment. The same transaction
  /// then changes rows, or erases those that get no text.
  void load(const std::string& name, const Rows& wanted, const Changes& changes = {}) {
    Rows rows = wanted;
    for (int i = 0; i < 300; ++i) rows[next_filler_++] = std::string(4000, 'f');
    const auto transaction = begin();
    const auto into = table(name);
    BulkLoad load(into, *transaction);
    for (const auto& [id, text] : rows) ASSERT_OK(load.append(pair_values(id, text)));
    Duplicate duplicate;
    ASSERT_OK(load.finish(duplicate));
    model_[name].insert(rows.begin(), rows.end());
    for (const auto& [id, text] : changes) {
      ASSERT_OK(text ? put(*into, *transaction, id, *text) : into->erase(*transaction, pair_key(*into, id)));
      model_[name].erase(id);
      if (text) model_[name][id] = *text;
    }
    ASSERT_OK(commit(*transaction));
  }
  void flush(const std::string& name) { ASSERT_OK(table(name)->flush(true)); }
  /// All segments become one.
  void merge(const std::string& name) { ASSERT_OK(table(name)->optimize({})); }

  void expect_model(const std::string& name) { expect_rows(name, model_[name]); }
  /// A transaction that goes on to see what is there now.
  void keep_snapshot(const std::string& name) {
    auto transaction = begin();
    const auto seen = read_rows(table(name), *transaction);
    ASSERT_OK(seen);
    ASSERT_EQ(*seen, model_[name]);
    snapshots_.emplace_back(std::move(transaction), model_[name]);
  }
  void check_snapshots(const std::string& name) {
    for (const auto& [transaction, rows] : snapshots_) {
      const auto seen = read_rows(table(name), *transaction);
      ASSERT_OK(seen);
      EXPECT_EQ(*seen, rows);
    }
  }

  std::unique_ptr<FaultFilesystem> filesystem_;
  std::map<std::string, Rows> model_;  // by table
  std::vector<std::pair<std::unique_ptr<Transaction>, Rows>> snapshots_;
  int64_t next_filler_ = 1'000'000;
};

}  // namespace hailstone

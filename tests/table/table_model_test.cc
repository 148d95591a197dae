// A table against a model of it: several transactions at once insert, change, delete, lock, load, read by
// every way there is, commit, roll back, while the table is flushed, merged and opened again at random
// moments.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "base/test_seed.h"
#include "table/bulk_load.h"
#include "table/cursor.h"
#include "table/row_reads.h"
#include "table/scan.h"
#include "table/test_host.h"
#include "table/test_rows.h"

namespace hailstone {
namespace {

using Rows = std::map<std::string, TestRow>;                    // by clustered key
using Changes = std::map<std::string, std::optional<TestRow>>;  // nothing: deleted

void apply_changes(Rows& rows, const Changes& changes) {
  for (const auto& [key, row] : changes) {
    if (row) {
      rows.insert_or_assign(key, *row);
    } else {
      rows.erase(key);
    }
  }
}

/// Names the first few rows in which the two differ, not all of both.
void expect_same(const Rows& found, const Rows& expected) {
  int differences = 0;
  for (const auto& [key, row] : expected) {
    const auto other = found.find(key);
    if (other != found.end() && other->second == row) continue;
    if (++differences > 3) return;
    ADD_FAILURE() << "expected " << testing::PrintToString(row) << ", found "
                  << (other == found.end() ? "nothing" : testing::PrintToString(other->second));
  }
  for (const auto& [key, row] : found) {
    if (expected.contains(key)) continue;
    if (++differences > 3) return;
    ADD_FAILURE() << "found " << testing::PrintToString(row) << ", which is not there";
  }
}

struct OpenTransaction {
  std::unique_ptr<Transaction> transaction;
  std::optional<Rows> base;  // the committed rows when its snapshot was taken
  Changes changes;
  std::set<std::string> touched;  // keys that it has written, also what it took back: their locks may be held
  std::set<std::string> locked;   // by locking reads
  std::set<int32_t> numbers;      // unique numbers that its writes have met
  std::vector<std::pair<Savepoint, Changes>> savepoints;
  std::unique_ptr<RowReads> reads;   // of all its reads by key, whatever happens to the table meanwhile
  std::unique_ptr<KeyReads> writes;  // the same of its writes, but for some
};

class TableModel {
 public:
  TableModel(uint64_t seed, bool primary_key, size_t delta_bytes = size_t{1} << 20)
      : host_(posix_filesystem(), seed % 2 == 0 ? 256 : 0, seed % 4 < 2 ? 0 : 256),
        random_(seed),
        primary_key_(primary_key) {
    host_.buffer_bytes = size_t{64} << 10;
    host_.delta_bytes = delta_bytes;
    table_ = host_.create(test_definition(primary_key));
  }

  uint64_t spills() { return host_.counters().spills; }
  bool settled_apart() const { return settled_apart_; }

  void run(int steps) {
    for (step_ = 0; step_ < steps && !testing::Test::HasFailure(); ++step_) {
      SCOPED_TRACE("step " + std::to_string(step_));
      act();
    }
    end_all(100);
    if (!testing::Test::HasFailure()) check_all();
  }

 private:
  uint64_t number(uint64_t below) { return random_() % below; }
  bool chance(uint64_t percent) { return number(100) < percent; }

  TestRow random_row() {
    TestRow row;
    row.id = static_cast<int32_t>(number(key_range)) - 40;
    if (!chance(30)) row.number = static_cast<int32_t>(number(200)) - 100;
    if (!chance(20)) row.name = "name " + std::to_string(number(12));
    row.note = std::string(number(60), 'x') + std::to_string(step_);
    return row;
  }

  OpenTransaction& some_transaction() {
    if (open_.empty() || (open_.size() < 4 && chance(10))) {
      OpenTransaction fresh;
      fresh.transaction =
          host_.transactions().begin(chance(70) ? Isolation::RepeatableRead : Isolation::ReadCommitted);
      fresh.transaction->set_lock_wait_timeout(std::chrono::milliseconds(1));
      open_.push_back(std::move(fresh));
    }
    return open_[number(open_.size())];
  }

  const Rows& base(OpenTransaction& open) {
    if (!open.base) {
      open.base = committed_;
      static_cast<void>(open.transaction->snapshot());
    }
    return *open.base;
  }
  Rows visible(OpenTransaction& open) {
    Rows rows = base(open);
    apply_changes(rows, open.changes);
    return rows;
  }
  Rows newest(const OpenTransaction& open) const {
    Rows rows = committed_;
    apply_changes(rows, open.changes);
    return rows;
  }
  /// Whether another transaction may be in the way of a write or locking read.
  bool contended(const OpenTransaction& open, const std::string& key, std::optional<int32_t> unique) const {
    return any_other(open, [&](const OpenTransaction& other) {
      return other.touched.contains(key) || other.locked.contains(key) ||
             (unique && other.numbers.contains(*unique));
    });
  }
  /// Of those that have their locks.
  template <typename Holds>
  bool any_other(const OpenTransaction& open, const Holds& holds) const {
    const auto is_other = [&](const OpenTransaction& other) { return &other != &open && holds(other); };
    return std::ranges::any_of(open_, is_other) || std::ranges::any_of(settling_, is_other);
  }
  static bool has_written(const OpenTransaction& other) { return !other.touched.empty(); }
  static bool has_locked(const OpenTransaction& other) {
    return !other.touched.empty() || !other.locked.empty();
  }

  std::string some_key(OpenTransaction& open) {
    const Rows rows = newest(open);
    if (!rows.empty() && chance(90))
      return std::next(rows.begin(), static_cast<long>(number(rows.size())))->first;
    if (primary_key_) return key_of(*table_, static_cast<int32_t>(number(key_range)));
    return std::string(8, '\x7f');
  }

  /// Acts on an error that only a conflict excuses.
  void excuse(const Error& error, bool contended) {
    const bool conflict = error.code() == ErrorCode::LockWaitTimeout || error.code() == ErrorCode::Deadlock;
    EXPECT_TRUE(conflict && contended) << error.message();
  }

  /// Which row refuses `row` in the newest state: its key, or nothing.
  std::optional<size_t> expected_duplicate(const Rows& rows, const std::string& key, const TestRow& row,
                                           const std::string& replaced) const {
    if (primary_key_ && key != replaced && rows.contains(key)) return 0;
    if (!row.number) return std::nullopt;
    for (const auto& [other_key, other] : rows) {
      if (other_key != replaced && other.number == row.number) return primary_key_ ? 1 : 0;
    }
    return std::nullopt;
  }

  KeyReads* key_reads(OpenTransaction& open) {
    if (open.writes == nullptr) open.writes = std::make_unique<KeyReads>(*table_);
    return chance(80) ? open.writes.get() : nullptr;
  }

  void insert() {
    OpenTransaction& open = some_transaction();
    const TestRow row = random_row();
    const std::string key = primary_key_ ? key_of(*table_, row.id) : std::string();
    const Rows before = newest(open);
    const bool in_the_way = contended(open, key, row.number);
    Duplicate duplicate;
    const auto inserted = table_->insert(*open.transaction, encode(*table_, row), duplicate, key_reads(open));
    if (inserted) {
      EXPECT_EQ(expected_duplicate(before, *inserted, row, {}), std::nullopt);
      note_write(open, *inserted, row);
    } else if (inserted.error().code() == ErrorCode::DuplicateKey) {
      const auto expected = expected_duplicate(before, key, row, {});
      ASSERT_TRUE(expected) << "a row was refused without reason";
      EXPECT_EQ(duplicate.index, *expected);
      EXPECT_TRUE(before.contains(duplicate.clustered_key));
    } else {
      excuse(inserted.error(), in_the_way);
    }
  }

  void update() {
    OpenTransaction& open = some_transaction();
    const std::string key = some_key(open);
    TestRow row = random_row();
    const Rows before = newest(open);
    if (before.contains(key)) {
      if (chance(80)) row.id = before.at(key).id;
      if (chance(50)) row.number = before.at(key).number;
    }
    const std::string new_key = primary_key_ ? key_of(*table_, row.id) : key;
    const bool in_the_way = contended(open, key, row.number) || contended(open, new_key, row.number);
    Duplicate duplicate;
    const auto updated =
        table_->update(*open.transaction, key, encode(*table_, row), duplicate, key_reads(open));
    if (updated) {
      EXPECT_EQ(*updated, new_key);
      EXPECT_TRUE(before.contains(key));
      EXPECT_EQ(expected_duplicate(before, new_key, row, key), std::nullopt);
      if (new_key != key) note_delete(open, key);
      if (before.contains(key) && before.at(key).number) open.numbers.insert(*before.at(key).number);
      note_write(open, new_key, row);
    } else if (updated.error().code() == ErrorCode::NotFound) {
      EXPECT_FALSE(before.contains(key));
    } else if (updated.error().code() == ErrorCode::DuplicateKey) {
      EXPECT_TRUE(expected_duplicate(before, new_key, row, key));
    } else {
      excuse(updated.error(), in_the_way);
    }
  }

  void erase() {
    OpenTransaction& open = some_transaction();
    const std::string key = some_key(open);
    const Rows before = newest(open);
    const bool in_the_way = contended(open, key, std::nullopt);
    const Status erased = table_->erase(*open.transaction, key, key_reads(open));
    if (erased) {
      ASSERT_TRUE(before.contains(key));
      if (before.at(key).number) open.numbers.insert(*before.at(key).number);
      note_delete(open, key);
    } else if (erased.error().code() == ErrorCode::NotFound) {
      EXPECT_FALSE(before.contains(key));
    } else {
      excuse(erased.error(), in_the_way);
    }
  }

  void note_write(OpenTransaction& open, const std::string& key, const TestRow& row) {
    open.changes.insert_or_assign(key, row);
    open.touched.insert(key);
    if (row.number) open.numbers.insert(*row.number);
  }
  void note_delete(OpenTransaction& open, const std::string& key) {
    open.changes.insert_or_assign(key, std::nullopt);
    open.touched.insert(key);
  }

  void find() {
    OpenTransaction& open = some_transaction();
    const std::string key = some_key(open);
    const ReadLock lock = chance(60) ? ReadLock::None : chance(50) ? ReadLock::Shared : ReadLock::Exclusive;
    const bool in_the_way = contended(open, key, std::nullopt);
    const Rows rows = lock == ReadLock::None ? visible(open) : newest(open);
    if (open.reads == nullptr) open.reads = std::make_unique<RowReads>(*table_, all_columns());
    std::vector<Value> values(4);
    const auto found = table_->find(*open.transaction, key, lock, *open.reads, values);
    if (!found) {
      EXPECT_NE(lock, ReadLock::None) << message(found);
      return excuse(found.error(), in_the_way);
    }
    EXPECT_EQ(*found, rows.contains(key));
    if (*found && rows.contains(key)) {
      EXPECT_EQ(decode(values), rows.at(key));
    }
    if (lock != ReadLock::None) open.locked.insert(key);
  }

  void end(size_t which, bool commit) {
    OpenTransaction open = std::move(open_[which]);
    open_.erase(open_.begin() + static_cast<long>(which));
    if (commit) {
      const Status status = host_.transactions().commit_in_order(*open.transaction);
      ASSERT_TRUE(status) << message(status);
      apply_changes(committed_, open.changes);
      if (open.transaction->state() != Transaction::State::Settling) return;
      settled_apart_ = true;
      settling_.push_back(std::move(open));
      if (chance(60)) settle();
    } else {
      host_.transactions().rollback(*open.transaction);
    }
  }
  void settle() {
    if (settling_.empty()) return;
    const auto some = settling_.begin() + static_cast<long>(number(settling_.size()));
    host_.transactions().settle(*some->transaction);
    settling_.erase(some);
  }
  void end_all(uint64_t percent_committed) {
    while (!open_.empty() && !testing::Test::HasFailure()) end(open_.size() - 1, chance(percent_committed));
    while (!settling_.empty()) settle();
  }

  void savepoint() {
    OpenTransaction& open = some_transaction();
    if (open.savepoints.empty() || chance(60)) {
      open.savepoints.emplace_back(open.transaction->savepoint(), open.changes);
      return;
    }
    const size_t to = number(open.savepoints.size());
    open.transaction->roll_back_to(open.savepoints[to].first);
    open.changes = open.savepoints[to].second;
    open.savepoints.resize(to + 1);
  }

  void next_statement() {
    OpenTransaction& open = some_transaction();
    open.transaction->next_statement();
    if (open.transaction->isolation() <= Isolation::ReadCommitted) open.base.reset();
  }

  void scan() {
    OpenTransaction& open = some_transaction();
    const auto low = static_cast<int32_t>(number(200)) - 100;
    const bool filtered = chance(60);
    std::shared_ptr<const Predicate> predicate;
    if (filtered) {
      predicate = std::make_shared<Predicate>(
          Predicate::integer(number_column, {{order_signed(low, 4), order_signed(low + 60, 4)}}));
    }
    const auto matches = [&](const TestRow& row) {
      return !filtered || (row.number && *row.number >= low && *row.number <= low + 60);
    };
    Rows expected;
    for (const auto& [key, row] : visible(open)) {
      if (matches(row)) expected.emplace(key, row);
    }
    if (chance(25)) {
      Scan counting(table_, *open.transaction, ReadLock::None, predicate, {});
      const auto rows = counting.count_rest();
      ASSERT_TRUE(rows) << message(rows);
      EXPECT_EQ(*rows, expected.size());
    }
    Scan scan(table_, *open.transaction, ReadLock::None, predicate, all_columns());
    Rows found;
    for (;;) {
      const auto batch = scan.next();
      ASSERT_TRUE(batch) << message(batch);
      if (*batch == nullptr) break;
      for (uint32_t i = 0; i < (*batch)->rows; ++i) {
        std::vector<Value> values;
        for (const auto& column : (*batch)->columns) values.push_back(column.value(i));
        const TestRow row = decode(values);
        const auto key = scan.clustered_key(i);
        ASSERT_TRUE(key);
        EXPECT_TRUE(found.emplace(std::string(*key), row).second) << "a row came twice";
      }
    }
    expect_same(found, expected);
  }

  void locking_scan() {
    OpenTransaction& open = some_transaction();
    const bool in_the_way = any_other(open, has_locked);
    const Rows expected = newest(open);
    Scan scan(table_, *open.transaction, ReadLock::Exclusive, nullptr, all_columns());
    Rows found;
    for (;;) {
      const auto batch = scan.next();
      if (!batch) {
        for (const auto& [key, row] : expected) open.locked.insert(key);
        return excuse(batch.error(), in_the_way);
      }
      if (*batch == nullptr) break;
      for (uint32_t i = 0; i < (*batch)->rows; ++i) {
        std::vector<Value> values;
        for (const auto& column : (*batch)->columns) values.push_back(column.value(i));
        const auto key = scan.clustered_key(i);
        ASSERT_TRUE(key);
        EXPECT_TRUE(found.emplace(std::string(*key), decode(values)).second) << "a row came twice";
      }
    }
    for (const auto& [key, row] : found) open.locked.insert(key);
    expect_same(found, expected);
  }

  void cursor() {
    OpenTransaction& open = some_transaction();
    const size_t indexes = table_->definition().indexes.size();
    size_t index = number(indexes + (primary_key_ ? 0 : 1));
    if (index == indexes) index = Cursor::by_row_id;
    std::vector<std::pair<std::string, TestRow>> entries;
    for (const auto& [key, row] : visible(open)) {
      std::string entry;
      if (index != Cursor::by_row_id && !(index == 0 && primary_key_)) {
        ASSERT_TRUE(
            table_->key_codec(index).append_row(table_->layout()->row_codec(), encode(*table_, row), entry));
      }
      entries.emplace_back(entry + key, row);
    }
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const auto some_bound = [&] {
      std::string bound;
      if (entries.empty() || chance(30)) return bound;
      bound = entries[number(entries.size())].first;
      if (chance(50)) bound.resize(number(bound.size() + 1));
      if (chance(20)) bound.push_back('\0');
      return bound;
    };
    Cursor cursor(table_, *open.transaction, index, ReadLock::None, all_columns());
    const auto check_entry = [&](const std::pair<std::string, TestRow>& entry) {
      if (chance(70)) {
        ASSERT_EQ(cursor.entry_key().value(), entry.first);
        ASSERT_TRUE(entry.first.ends_with(cursor.clustered_key().value()));
      }
      if (chance(80)) {
        ASSERT_TRUE(cursor.load_values());
        ASSERT_EQ(decode(cursor.values()), entry.second);
      }
    };
    for (uint64_t searches = number(6); searches != 0; --searches) {
      const std::string prefix = some_bound();
      const auto less = [](const auto& entry, const std::string& key) { return entry.first < key; };
      auto next = std::lower_bound(entries.begin(), entries.end(), prefix, less);
      auto moved = cursor.seek_prefix(prefix);
      // Mostly to the end of the prefix, at times past it.
      for (bool in_prefix = true;; ++next) {
        ASSERT_TRUE(moved) << message(moved);
        ASSERT_EQ(*moved, next != entries.end() && (!in_prefix || next->first.starts_with(prefix)));
        if (!*moved || chance(2)) break;
        ASSERT_NO_FATAL_FAILURE(check_entry(*next));
        ASSERT_EQ(cursor.is_in_prefix(), in_prefix);
        in_prefix = in_prefix && !chance(10);
        moved = in_prefix ? cursor.next_in_prefix() : cursor.next();
      }
      if (chance(50)) cursor.begin_anew();
    }
    const std::string bound = some_bound();
    const auto first_not_less =
        std::lower_bound(entries.begin(), entries.end(), bound,
                         [](const auto& entry, const std::string& key) { return entry.first < key; });
    bool forward = chance(50);
    auto at = static_cast<long>(first_not_less - entries.begin());
    if (!forward) at = bound.empty() ? static_cast<long>(entries.size()) - 1 : at - 1;
    auto moved = forward ? cursor.seek_at_or_after(bound) : cursor.seek_before(bound);
    for (uint64_t moves = 0; moves < 400; ++moves) {
      ASSERT_TRUE(moved) << message(moved);
      const bool expected = at >= 0 && at < static_cast<long>(entries.size());
      ASSERT_EQ(*moved, expected) << "index " << index << " at " << at << " of " << entries.size();
      if (!expected) break;
      ASSERT_NO_FATAL_FAILURE(check_entry(entries[static_cast<size_t>(at)]));
      if (chance(3)) forward = !forward;
      at += forward ? 1 : -1;
      moved = forward ? cursor.next() : cursor.previous();
    }
  }

  void bulk_load() {
    OpenTransaction& open = some_transaction();
    const Rows before = newest(open);
    const bool in_the_way = any_other(open, has_written);
    const bool big = chance(60);
    const size_t count = big ? 180 + number(100) : number(10);
    const auto first = static_cast<int32_t>(1000 + number(100000));
    std::vector<TestRow> rows;
    for (size_t i = 0; i < count; ++i) {
      TestRow row = random_row();
      row.id = first + static_cast<int32_t>(i);
      if (chance(1)) row.id = static_cast<int32_t>(number(key_range));
      row.number = chance(98) ? std::nullopt : row.number;
      if (big) row.padding = 9000;
      rows.push_back(std::move(row));
    }
    if (chance(30)) std::shuffle(rows.begin(), rows.end(), random_);
    BulkLoad load(table_, *open.transaction);
    for (const TestRow& row : rows) {
      const Status appended = append(load, row);
      ASSERT_TRUE(appended) << message(appended);
    }
    EXPECT_EQ(load.rows(), rows.size());
    if (chance(10)) return;  // thrown away
    // What the rows are expected to meet, and the keys that they get.
    std::set<int32_t> ids, numbers;
    bool duplicate_expected = false;
    for (const auto& [key, row] : before) {
      if (primary_key_) ids.insert(row.id);
      if (row.number) numbers.insert(*row.number);
    }
    for (const TestRow& row : rows) {
      if (primary_key_ && !ids.insert(row.id).second) duplicate_expected = true;
      if (row.number && !numbers.insert(*row.number).second) duplicate_expected = true;
    }
    Duplicate duplicate;
    const Status finished = load.finish(duplicate);
    if (!finished) {
      if (finished.error().code() == ErrorCode::DuplicateKey) {
        EXPECT_TRUE(duplicate_expected);
        EXPECT_FALSE(duplicate.row.empty());
      } else {
        excuse(finished.error(), in_the_way);
      }
      return;
    }
    EXPECT_FALSE(duplicate_expected);
    if (primary_key_) {
      for (const TestRow& row : rows) note_write(open, key_of(*table_, row.id), row);
      return;
    }
    learn_loaded(open, {rows.begin(), rows.end()});
  }

  /// The hidden keys of rows that were loaded are learnt from the table.
  void learn_loaded(OpenTransaction& open, std::multiset<TestRow> loaded) {
    const Rows known = visible(open);
    Cursor cursor(table_, *open.transaction, Cursor::by_row_id, ReadLock::None, all_columns());
    auto on_row = cursor.seek_at_or_after({});
    for (; on_row && *on_row; on_row = cursor.next()) {
      if (known.contains(std::string(cursor.clustered_key().value()))) continue;
      ASSERT_TRUE(cursor.load_values());
      const TestRow row = decode(cursor.values());
      const auto match = loaded.find(row);
      ASSERT_NE(match, loaded.end());
      loaded.erase(match);
      note_write(open, std::string(cursor.clustered_key().value()), row);
    }
    EXPECT_TRUE(loaded.empty());
  }

  /// A load that is told of duplicates row by row, and leaves them out or replaces what is there.
  void load_by_row() {
    OpenTransaction& open = some_transaction();
    Rows now = newest(open);
    const bool in_the_way = any_other(open, has_locked);
    const bool replaces = chance(50), big = chance(70);
    const auto first = static_cast<int32_t>(1000 + number(100000));
    const size_t count = big ? 200 + number(150) : number(20);
    const Savepoint before = open.transaction->savepoint();
    const Changes changes_before = open.changes;
    std::set<std::string> deleted;
    std::map<std::string, TestRow> loaded;  // of a table with hidden keys: by a name of ours
    BulkLoad load(table_, *open.transaction, BulkLoad::Duplicates::AreToldByRow);
    bool failed = false;
    for (size_t i = 0; i < count && !failed && !testing::Test::HasFailure(); ++i) {
      TestRow row = random_row();
      if (chance(80)) row.id = first + static_cast<int32_t>(chance(90) ? i : number(count));
      if (chance(60)) row.number = std::nullopt;
      if (row.number && chance(50)) row.number = 1000 + static_cast<int32_t>(number(1000));
      if (big) row.padding = 9000;
      const std::string key = primary_key_ ? key_of(*table_, row.id) : "new " + std::to_string(i);
      open.touched.insert(key);
      if (row.number) open.numbers.insert(*row.number);
      for (;;) {
        Duplicate duplicate;
        std::string note;
        const Status appended = load.append(values_of(row, note), duplicate);
        const auto expected = expected_duplicate(now, key, row, {});
        if (appended) {
          ASSERT_EQ(expected, std::nullopt);
          now.insert_or_assign(key, row);
          loaded.insert_or_assign(key, row);
          break;
        }
        if (appended.error().code() != ErrorCode::DuplicateKey) {
          excuse(appended.error(), in_the_way);
          failed = true;
          break;
        }
        ASSERT_TRUE(expected) << "a row was refused without reason";
        ASSERT_EQ(duplicate.index, *expected);
        ASSERT_TRUE(load.has_duplicate());
        if (!replaces) break;
        const auto there = primary_key_ && *expected == 0
                               ? now.find(key)
                               : std::find_if(now.begin(), now.end(), [&](const auto& other) {
                                   return other.second.number == row.number;
                                 });
        std::string bytes;
        const auto found = load.find_duplicate(bytes);
        if (!found) {
          excuse(found.error(), in_the_way);
          failed = true;
          break;
        }
        ASSERT_TRUE(*found);
        std::vector<Value> values(4);
        table_->layout()->row_codec().decode(bytes, values);
        ASSERT_EQ(decode(values), there->second);
        const Status removed = load.remove_duplicate();
        if (!removed) {
          excuse(removed.error(), in_the_way);
          failed = true;
          break;
        }
        if (there->second.number) open.numbers.insert(*there->second.number);
        if (loaded.erase(there->first) == 0) deleted.insert(there->first);
        now.erase(there);
      }
    }
    if (testing::Test::HasFailure()) return;
    Duplicate duplicate;
    if (!failed && chance(90)) {
      const Status finished = load.finish(duplicate);
      if (!finished) excuse(finished.error(), in_the_way);
      failed = !finished;
    } else {
      failed = true;
    }
    open.touched.insert(deleted.begin(), deleted.end());
    if (failed) {
      open.transaction->roll_back_to(before);
      open.changes = changes_before;
      return;
    }
    for (const std::string& key : deleted) note_delete(open, key);
    std::multiset<TestRow> rows;
    for (const auto& [key, row] : loaded) {
      if (primary_key_) note_write(open, key, row);
      rows.insert(row);
    }
    if (!primary_key_) learn_loaded(open, std::move(rows));
  }

  void maintain() {
    const uint64_t what = number(10);
    if (what < 6) {
      const auto flushed = table_->flush(true);
      ASSERT_TRUE(flushed) << message(flushed);
    } else if (what < 9) {
      const auto merged = table_->merge();
      ASSERT_TRUE(merged) << message(merged);
    } else {
      const Status optimized = table_->optimize({});
      ASSERT_TRUE(optimized) << message(optimized);
    }
  }

  void reopen() {
    if (!open_.empty() || !settling_.empty() || table_->has_delta_rows()) return;
    ASSERT_TRUE(host_.record(*table_));
    table_.reset();
    auto opened = Table::open(host_, host_.recorded(1));
    ASSERT_TRUE(opened) << message(opened);
    table_ = *opened;
    ASSERT_TRUE(table_->usable()) << message(table_->usable());
  }

  void check_all() {
    const auto reader = host_.transactions().begin(Isolation::RepeatableRead);
    const Status checked = table_->check(*reader, {});
    ASSERT_TRUE(checked) << message(checked);
    Scan scan(table_, *reader, ReadLock::None, nullptr, {});
    const auto rows = scan.count_rest();
    ASSERT_TRUE(rows) << message(rows);
    EXPECT_EQ(*rows, committed_.size());
  }

  void act() {
    const uint64_t what = number(1000);
    if (what < 250) return insert();
    if (what < 400) return update();
    if (what < 500) return erase();
    if (what < 620) return find();
    if (what < 720) return cursor();
    if (what < 800) return scan();
    if (what < 820) return locking_scan();
    if (what < 870) return savepoint();
    if (what < 890) return next_statement();
    if (what < 900) return chance(50) ? bulk_load() : load_by_row();
    if (what < 950) {
      if (!open_.empty()) end(number(open_.size()), chance(75));
      settle();
      return;
    }
    if (what < 985) return maintain();
    if (what < 990) return check_all();
    if (what < 995) return reopen();
    end_all(75);
  }

  static constexpr uint64_t key_range = 150;
  TestHost host_;
  std::mt19937_64 random_;
  const bool primary_key_;
  std::shared_ptr<Table> table_;
  Rows committed_;
  std::vector<OpenTransaction> open_;
  std::vector<OpenTransaction> settling_;  // committed, but their changes have still their markers
  bool settled_apart_ = false;
  int step_ = 0;
};

TEST(TableModelTest, RandomTransactionsWithPrimaryKey) {
  const uint64_t seed = test_seed(1);
  for (uint64_t i = 0; i < 4 && !HasFailure(); ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed + i));
    TableModel model(seed + i, true);
    model.run(1200);
    EXPECT_EQ(model.settled_apart(), (seed + i) % 4 < 2);
  }
}

TEST(TableModelTest, RandomTransactionsWithHiddenRowId) {
  const uint64_t seed = test_seed(1000);
  for (uint64_t i = 0; i < 4 && !HasFailure(); ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed + i));
    TableModel model(seed + i, false);
    model.run(1200);
    EXPECT_EQ(model.settled_apart(), (seed + i) % 4 < 2);
  }
}

/// Deltas that hold so little make most transactions large ones.
constexpr size_t small_delta_bytes = 4096;

TEST(TableModelTest, RandomLargeTransactionsWithPrimaryKey) {
  const uint64_t seed = test_seed(2000);
  for (uint64_t i = 0; i < 2 && !HasFailure(); ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed + i));
    TableModel model(seed + i, true, small_delta_bytes);
    model.run(1200);
    EXPECT_GT(model.spills(), 0U);
  }
}

TEST(TableModelTest, RandomLargeTransactionsWithHiddenRowId) {
  const uint64_t seed = test_seed(3000);
  for (uint64_t i = 0; i < 2 && !HasFailure(); ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed + i));
    TableModel model(seed + i, false, small_delta_bytes);
    model.run(1200);
    EXPECT_GT(model.spills(), 0U);
  }
}

}  // namespace
}  // namespace hailstone

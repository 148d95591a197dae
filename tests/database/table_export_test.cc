// A table that moves as files: out of an open database, out of a closed one such as a backup, and in.
#include "database/table_export.h"

#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "database/database_fixture.h"
#include "database/online_backup.h"
#include "database/table_folder.h"
#include "database/table_import.h"

namespace hailstone {
namespace {

class TableExportTest : public DatabaseTest {
 protected:
  std::string exported(const std::string& name = "d/t") { return export_path(directory_.path(), name); }

  Status export_table(const std::string& name = "d/t") {
    HAILSTONE_TRY(make_folders_above(posix_filesystem(), directory_.path(), exported(name)));
    return database_->export_table(name, exported(name));
  }

  static DatabaseOptions to_read() {
    DatabaseOptions options;
    options.memory_budget = size_t{32} << 20;
    options.background_threads = 1;
    return options;
  }

  /// Rows of `folder` become those of the table; the error when they do not.
  Status import(const std::string& folder, const std::string& name, const StopToken& stop = {},
                Filesystem& filesystem = posix_filesystem()) {
    HAILSTONE_ASSIGN(const auto imported, ImportedTable::open(filesystem, folder, to_read()));
    const auto transaction = begin();
    const auto replaced = imported->replace(*database_, *transaction, name, stop);
    if (!replaced) {
      database_->transactions().rollback(*transaction);
      return std::unexpected(replaced.error());
    }
    return commit(*transaction);
  }

  static Result<Rows> rows_in(const std::string& folder) {
    DatabaseOptions options = to_read();
    options.read_only = true;
    HAILSTONE_ASSIGN(const auto database, Database::open(posix_filesystem(), folder, options));
    const auto names = database->table_names();
    if (names.size() != 1) return fail(ErrorCode::Corruption, fmt::format("{} tables", names.size()));
    return read_table(*database, names[0]);
  }

  static void expect_rows_in(const std::string& folder, const Rows& rows) {
    const auto found = rows_in(folder);
    ASSERT_OK(found);
    EXPECT_EQ(found->size(), rows.size());
    EXPECT_TRUE(*found == rows);
  }

  void erase(const std::string& name, int64_t id) {
    const auto transaction = begin();
    const auto table = *database_->table(name, transaction.get());
    ASSERT_OK(table->erase(*transaction, pair_key(*table, id)));
    ASSERT_OK(commit(*transaction));
  }

  /// Rows in several segments, with ended ones, and in the delta.
  Rows fill(const std::string& name = "d/t") {
    Rows rows;
    for (int round = 0; round < 3; ++round) {
      Rows some;
      for (int64_t id = 0; id < 400; ++id) some[round * 300 + id] = fmt::format("{} of {}", id, round);
      put_rows(name, some);
      for (const auto& [id, text] : some) rows[id] = text;
      EXPECT_OK(database_->checkpoint());
      if (round < 2) EXPECT_OK((*database_->table(name))->flush(true));
    }
    for (const int64_t id : {5, 350, 999}) {
      erase(name, id);
      rows.erase(id);
    }
    put_rows(name, {{2000, "last"}, {7, "changed"}});
    rows[2000] = "last";
    rows[7] = "changed";
    return rows;
  }
};

TEST_F(TableExportTest, ExportHasTheRowsOfOneTableAndNothingElse) {
  open();
  create("d/t");
  create("d/other");
  put_rows("d/other", {{1, "SECRET"}});
  const Rows rows = fill();
  ASSERT_OK(export_table());
  expect_rows_in(exported(), rows);
  for (const auto& file : std::filesystem::directory_iterator(exported())) {
    std::ifstream stream(file.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    EXPECT_EQ(bytes.find("SECRET"), std::string::npos) << file.path();
  }
  // The original goes on, and the export stays as it was.
  put_rows("d/t", {{1, "later"}});
  ASSERT_OK((*database_->table("d/t"))->optimize({}));
  expect_rows_in(exported(), rows);
}

TEST_F(TableExportTest, ImportBringsRowsAndCounterIntoAnotherDatabase) {
  open();
  create("d/t");
  const Rows rows = fill();
  {
    const auto transaction = begin();
    ASSERT_OK((*database_->table("d/t"))->raise_auto_increment(*transaction, 4711));
    ASSERT_OK(commit(*transaction));
  }
  ASSERT_OK(export_table());
  const TemporaryDirectory elsewhere;
  const std::string copy = elsewhere.path() + "/copy";
  std::filesystem::copy(exported(), copy);
  const TemporaryDirectory second;
  database_.reset();
  auto opened = Database::open(posix_filesystem(), second.path(), options());
  ASSERT_OK(opened);
  database_ = std::move(*opened);
  create("e/u");
  ASSERT_OK(import(copy, "e/u"));
  expect_rows("e/u", rows);
  EXPECT_EQ((*database_->table("e/u"))->next_auto_increment(), 4711U);
  put_rows("e/u", {{5, "new"}});
  // The folder stays as it is, and can be imported again, but not over rows.
  expect_rows_in(copy, rows);
  EXPECT_EQ(code_of(import(copy, "e/u")), ErrorCode::AlreadyExists);
  database_.reset();
}

TEST_F(TableExportTest, TableWithoutPrimaryKeyKeepsEqualRows) {
  open();
  create("d/t", /*primary_key=*/false);
  create("d/u", /*primary_key=*/false);
  {
    const auto transaction = begin();
    const auto table = *database_->table("d/t");
    Duplicate duplicate;
    for (int i = 0; i < 3; ++i)
      ASSERT_OK(table->insert(*transaction, pair_row(*table, 1, "same"), duplicate));
    ASSERT_OK(commit(*transaction));
  }
  ASSERT_OK(export_table());
  ASSERT_OK(import(exported(), "d/u"));
  EXPECT_EQ((*database_->table("d/u"))->statistics().rows, 3U);
}

TEST_F(TableExportTest, RowsThatAreNotCommittedAreNotExported) {
  open();
  create("d/t");
  put_rows("d/t", {{1, "one"}});
  ASSERT_OK(database_->checkpoint());
  const auto other = begin();
  ASSERT_OK(put(**database_->table("d/t"), *other, 2, "two"));
  ASSERT_OK(put(**database_->table("d/t"), *other, 1, "changed"));
  ASSERT_OK(export_table());
  expect_rows_in(exported(), (Rows{{1, "one"}}));
  ASSERT_OK(commit(*other));
  expect_rows("d/t", {{1, "changed"}, {2, "two"}});
}

TEST_F(TableExportTest, MergesFlushesAndOtherWritersGoOnBesideAnExport) {
  options_.segment_rows_limit = 100;
  open();
  create("d/t");
  create("d/other");
  Rows rows = fill();
  std::atomic<bool> done{false};
  std::thread merges([&] {
    while (!done) EXPECT_OK((*database_->table("d/t"))->optimize({}));
  });
  std::thread writes([&] {
    for (int64_t id = 0; !done; ++id) {
      put_rows("d/other", {{id % 50, fmt::format("{}", id)}});
      if (id % 10 == 0) EXPECT_OK(database_->checkpoint());
    }
  });
  for (int64_t round = 0; round < 25; ++round) {
    ASSERT_OK(export_table());
    expect_rows_in(exported(), rows);
    ASSERT_OK(remove_table_folder(posix_filesystem(), exported()));
    // Only the export needs the table to itself.
    put_rows("d/t", {{20'000 + round, "more"}});
    rows[20'000 + round] = "more";
    erase("d/t", 100 + round);
    rows.erase(100 + round);
  }
  done = true;
  merges.join();
  writes.join();
  expect_rows("d/t", rows);
}

TEST_F(TableExportTest, WhatACrashLeavesInTheFolderOfExportsGoesAtTheNextOpening) {
  open();
  create("d/t");
  create("e/t");
  put_rows("d/t", {{1, "one"}});
  ASSERT_OK(export_table("d/t"));
  ASSERT_OK(export_table("e/t"));
  ASSERT_OK(remove_table_folder(posix_filesystem(), exported("e/t")));
  EXPECT_FALSE(posix_filesystem().exists(directory_.path() + "/export/e"));
  ASSERT_TRUE(posix_filesystem().exists(exported("d/t")));
  reopen();
  EXPECT_FALSE(posix_filesystem().exists(directory_.path() + "/export"));
  EXPECT_TRUE(messages_.empty()) << messages_[0];
  expect_rows("d/t", {{1, "one"}});
}

TEST_F(TableExportTest, TableInMemoryIsNotExported) {
  open();
  const auto transaction = begin();
  TableDefinition definition = pair_definition("d/t");
  definition.in_memory = true;
  ASSERT_OK(database_->create_table(*transaction, definition));
  ASSERT_OK(commit(*transaction));
  EXPECT_EQ(code_of(export_table()), ErrorCode::Unsupported);
  EXPECT_FALSE(posix_filesystem().exists(exported()));
}

// --- out of a backup

TEST_F(TableExportTest, TableOfABackupHasWhatOnlyTheLogHas) {
  open();
  create("d/t");
  create("d/other");
  Rows rows = fill();
  ASSERT_OK(database_->checkpoint());
  // After the last checkpoint: rows of one and of many records, a rollback to a savepoint, a load, a new
  // name, another table in between.
  put_rows("d/t", {{3000, "in the log"}});
  rows[3000] = "in the log";
  put_rows("d/other", {{1, "SECRET"}});
  {
    const auto transaction = begin();
    const auto table = *database_->table("d/t");
    ASSERT_OK(put(*table, *transaction, 4000, "kept"));
    for (int64_t id = 0; id < 300; ++id) {
      ASSERT_OK(put(*table, *transaction, 5000 + id, std::string(3900, 'x')));
      rows[5000 + id] = std::string(3900, 'x');
    }
    rows[4000] = "kept";
    ASSERT_OK(put(**database_->table("d/other"), *transaction, 2, "SECRET"));
    ASSERT_OK(commit(*transaction));
  }
  {
    const auto transaction = begin();
    BulkLoad load(*database_->table("d/t"), *transaction);
    const std::string loaded(1000, 'l');  // enough for a segment of its own
    for (int64_t id = 10'000; id < 15'000; ++id) {
      ASSERT_OK(load.append(pair_values(id, loaded)));
      rows[id] = loaded;
    }
    Duplicate duplicate;
    ASSERT_OK(load.finish(duplicate));
    ASSERT_OK(commit(*transaction));
  }
  erase("d/t", 12'000);
  rows.erase(12'000);
  {
    const auto transaction = begin();
    ASSERT_OK(database_->rename_table(*transaction, "d/t", "d/renamed"));
    ASSERT_OK(commit(*transaction));
  }
  // As a crash leaves it: nothing is checkpointed at its end.
  const TemporaryDirectory places;
  const std::string backup = places.path() + "/backup";
  std::filesystem::create_directory(backup);
  for (const auto& file : std::filesystem::directory_iterator(directory_.path()))
    if (file.is_regular_file()) std::filesystem::copy(file.path(), backup);
  std::map<std::string, std::filesystem::file_time_type> before;
  for (const auto& file : std::filesystem::directory_iterator(backup))
    before[file.path()] = file.last_write_time();

  const auto extracted =
      extract_table(posix_filesystem(), backup, "d/renamed", places.path() + "/table", {}, {});
  ASSERT_OK(extracted);
  EXPECT_TRUE(extracted->prepared.empty());
  expect_rows_in(places.path() + "/table", rows);
  for (const auto& file : std::filesystem::directory_iterator(places.path() + "/table")) {
    std::ifstream stream(file.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    EXPECT_EQ(bytes.find("SECRET"), std::string::npos) << file.path();
  }
  for (const auto& file : std::filesystem::directory_iterator(backup))
    EXPECT_EQ(before[file.path()], file.last_write_time()) << file.path();

  // From a folder that has no file before it is asked for.
  const std::string scratch = places.path() + "/scratch";
  std::filesystem::create_directory(scratch);
  const auto take = [&](const std::function<bool(const std::string&)>& is_wanted) {
    for (const auto& file : std::filesystem::directory_iterator(backup))
      if (is_wanted(file.path().filename())) std::filesystem::copy(file.path(), scratch);
  };
  take([](const std::string& file) { return file == "manifest" || file.starts_with("log-"); });
  size_t brought = 0;
  const auto bring = [&](const std::vector<std::string>& names) -> Status {
    brought = names.size();
    take([&](const std::string& file) { return std::ranges::find(names, file) != names.end(); });
    return {};
  };
  ASSERT_OK(extract_table(posix_filesystem(), scratch, "d/renamed", places.path() + "/again", bring, {}));
  EXPECT_GT(brought, 0U);
  expect_rows_in(places.path() + "/again", rows);

  const auto missing = extract_table(posix_filesystem(), backup, "d/t", places.path() + "/none", {}, {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::NotFound);
  EXPECT_NE(missing.error().message().find("d/renamed"), std::string::npos) << missing.error().message();
  EXPECT_FALSE(posix_filesystem().exists(places.path() + "/none"));
}

TEST_F(TableExportTest, TableThatOnlyTheLogHasComesOutOfABackup) {
  open();
  create("d/new");
  put_rows("d/new", {{1, "one"}});
  const TemporaryDirectory places;
  std::filesystem::create_directory(places.path() + "/backup");
  for (const auto& file : std::filesystem::directory_iterator(directory_.path()))
    if (file.is_regular_file()) std::filesystem::copy(file.path(), places.path() + "/backup");
  ASSERT_OK(extract_table(posix_filesystem(), places.path() + "/backup", "d/new", places.path() + "/table",
                          {}, {}));
  expect_rows_in(places.path() + "/table", (Rows{{1, "one"}}));
}

TEST_F(TableExportTest, PreparedTransactionsAreCountedAndLeftOut) {
  open();
  create("d/t");
  create("d/other");
  put_rows("d/t", {{1, "one"}});
  const auto transaction = begin();
  ASSERT_OK(put(**database_->table("d/t"), *transaction, 2, "prepared"));
  ASSERT_OK(database_->transactions().prepare(*transaction, "by name"));
  const auto of_other = begin();
  ASSERT_OK(put(**database_->table("d/other"), *of_other, 2, "prepared"));
  ASSERT_OK(database_->transactions().prepare(*of_other, "another"));
  const TemporaryDirectory places;
  ASSERT_OK(database_->backup(places.path() + "/backup"));
  const auto extracted =
      extract_table(posix_filesystem(), places.path() + "/backup", "d/t", places.path() + "/table", {}, {});
  ASSERT_OK(extracted);
  EXPECT_EQ(extracted->prepared, std::vector<std::string>{"by name"});
  expect_rows_in(places.path() + "/table", (Rows{{1, "one"}}));
  database_->transactions().rollback(*transaction);
  database_->transactions().rollback(*of_other);
}

TEST_F(TableExportTest, RandomChangesComeOutOfABackup) {
  const uint64_t seed = test_seed(7);
  SCOPED_TRACE(fmt::format("HAILSTONE_TEST_SEED={}", seed));
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t limit) { return random() % limit; };
  options_.segment_rows_limit = 200;
  open();
  create("d/t");
  create("d/other");
  Rows rows;
  uint64_t texts_to_a_long_one = 60;
  const auto change = [&](Table& table, Transaction& transaction, Rows* model) {
    const auto id = static_cast<int64_t>(below(400));
    if (below(4) == 0 && (model == nullptr || model->contains(id))) {
      if (model == nullptr) return;
      ASSERT_OK(table.erase(transaction, pair_key(table, id)));
      model->erase(id);
      return;
    }
    const std::string text(below(texts_to_a_long_one) == 0 ? 3900 : below(30),
                           static_cast<char>('a' + below(26)));
    ASSERT_OK(put(table, transaction, id, text));
    if (model != nullptr) (*model)[id] = text;
  };
  const TemporaryDirectory places;
  const uint64_t rounds = test_rounds(8);
  for (uint64_t round = 0; round < rounds; ++round) {
    // Its moment comes when most has happened, so that the log has it.
    const std::string backup = places.path() + fmt::format("/backup{}", round);
    auto online = database_->begin_backup(backup);
    ASSERT_OK(online);
    for (uint64_t step = 0, steps = 1 + below(40); step < steps; ++step) {
      const auto transaction = begin();
      Rows mine = rows;
      // A large transaction has redo ahead of its commit.
      const bool is_large = below(12) == 0;
      texts_to_a_long_one = is_large ? 1 : 60;
      const uint64_t changes = is_large ? 600 : 1 + below(20);
      for (uint64_t i = 0; i < changes; ++i) {
        change(**database_->table("d/t"), *transaction, &mine);
        if (below(3) == 0) change(**database_->table("d/other"), *transaction, nullptr);
        if (below(20) != 0) continue;
        const auto savepoint = transaction->savepoint();
        Rows undone = mine;
        for (uint64_t j = 0, more = below(300); j < more; ++j)
          change(**database_->table("d/t"), *transaction, &undone);
        if (below(2) == 0) {
          transaction->roll_back_to(savepoint);
        } else {
          mine = std::move(undone);
        }
      }
      if (below(12) == 0) {
        BulkLoad load(*database_->table("d/t"), *transaction);
        const int64_t first = 1'000'000 + static_cast<int64_t>(below(1'000'000)) * 1000;
        const std::string text(2000, 'l');
        for (int64_t id = first; id < first + 800; ++id) {
          if (mine.contains(id)) continue;
          ASSERT_OK(load.append(pair_values(id, text)));
          mine[id] = text;
        }
        Duplicate duplicate;
        ASSERT_OK(load.finish(duplicate));
      }
      if (below(6) == 0) {
        database_->transactions().rollback(*transaction);
      } else {
        ASSERT_OK(commit(*transaction));
        rows = std::move(mine);
      }
      if (below(15) == 0) ASSERT_OK(database_->checkpoint());
      if (below(15) == 0) ASSERT_OK((*database_->table("d/t"))->flush(true));
      if (below(25) == 0) ASSERT_OK((*database_->table("d/t"))->optimize({}));
      if (below(40) == 0) {
        const auto ddl = begin();
        ASSERT_OK(database_->truncate_table(*ddl, "d/t"));
        ASSERT_OK(commit(*ddl));
        rows.clear();
      }
    }
    ASSERT_FALSE(HasFailure()) << "round " << round;
    // A transaction that is open at that moment keeps the log, and has Carry records made.
    const auto pending = begin();
    change(**database_->table("d/other"), *pending, nullptr);
    if (below(2) == 0) ASSERT_OK(put(**database_->table("d/t"), *pending, -5, "open"));
    if (below(2) == 0) ASSERT_OK(database_->checkpoint());
    ASSERT_OK((*online)->cut());
    ASSERT_OK((*online)->finish());
    database_->transactions().rollback(*pending);
    const std::string table = places.path() + fmt::format("/table{}", round);
    ASSERT_OK(extract_table(posix_filesystem(), backup, "d/t", table, {}, {}));
    expect_rows_in(table, rows);
    ASSERT_FALSE(HasFailure()) << "round " << round;
    std::filesystem::remove_all(backup);
    std::filesystem::remove_all(table);
  }
}

// --- what goes wrong

TEST_F(TableExportTest, EachFailureOfAnExportLeavesNothing) {
  FaultFilesystem faults(posix_filesystem());
  auto opened = Database::open(faults, directory_.path(), options());
  ASSERT_OK(opened);
  database_ = std::move(*opened);
  create("d/t");
  const Rows rows = fill();
  ASSERT_OK(make_folders_above(faults, directory_.path(), exported()));
  for (const bool by_links : {false, true}) {
    if (by_links) faults.allow_links();
    size_t failures = 0, in_a_row = 0;
    for (uint64_t skip = 0; in_a_row < 5; ++skip) {
      faults.add_rule({.path_part = "export/", .skip = skip, .times = 1});
      const Status made = database_->export_table("d/t", exported());
      faults.clear_rules();
      if (made) {
        ++in_a_row;
        expect_rows_in(exported(), rows);
        ASSERT_OK(remove_copied_database(faults, exported()));
        continue;
      }
      in_a_row = 0;
      ++failures;
      EXPECT_FALSE(faults.exists(exported())) << made.error().message();
    }
    EXPECT_GT(failures, 10U);
  }
  expect_rows("d/t", rows);
  database_.reset();
}

TEST_F(TableExportTest, EachFailureOfAnImportLeavesTheTableEmptyOrWhole) {
  open();
  create("d/t");
  Rows rows;
  for (int64_t id = 0; id < 20'000; ++id) rows[id] = fmt::format("{} {:0100}", id * 7919 % 10'007, id);
  put_rows("d/t", rows);
  ASSERT_OK(export_table());
  const TemporaryDirectory elsewhere;
  const std::string copy = elsewhere.path() + "/copy";
  std::filesystem::copy(exported(), copy);
  database_.reset();
  const TemporaryDirectory second;
  size_t failures = 0;
  for (uint64_t after = 0;; ++after) {
    FaultFilesystem faults(posix_filesystem(), after);
    const std::string directory = second.path() + fmt::format("/{}", after);
    auto opened = Database::open(faults, directory, options());
    ASSERT_OK(opened);
    database_ = std::move(*opened);
    create("d/u");
    faults.power_off_after(after);
    const Status done = import(copy, "d/u", {}, faults);
    const bool was_reached = faults.powered_off();
    database_.reset();
    ASSERT_OK(faults.leave_crash_state(after));
    opened = Database::open(posix_filesystem(), directory, options());
    ASSERT_OK(opened);
    database_ = std::move(*opened);
    const auto found = read_table(*database_, "d/u");
    ASSERT_OK(found);
    if (!done) {
      ++failures;
      EXPECT_TRUE(found->empty() || *found == rows) << "after " << after << ": " << found->size() << " rows";
    } else {
      EXPECT_EQ(*found, rows);
    }
    if (found->empty()) {
      // Nothing of it takes room.
      const auto names = posix_filesystem().list(directory);
      ASSERT_OK(names);
      for (const std::string& name : *names) EXPECT_FALSE(name.starts_with("segment-")) << name;
    }
    database_.reset();
    if (!was_reached) break;
  }
  EXPECT_GT(failures, 4U);
}

TEST_F(TableExportTest, DamageOfAnImportedFolderIsToldOrHarmless) {
  open();
  create("d/t");
  create("d/u");
  const Rows rows = fill();
  ASSERT_OK(export_table());
  const TemporaryDirectory elsewhere;
  const std::string copy = elsewhere.path() + "/copy";
  std::filesystem::copy(exported(), copy);
  size_t told = 0;
  for (const auto& file : std::filesystem::directory_iterator(copy)) {
    const std::string path = file.path();
    const auto size = std::filesystem::file_size(path);
    for (uintmax_t at = 0; at <= size; at += 1 + size / 40) {
      const std::string kept = elsewhere.path() + "/kept";
      std::filesystem::copy_file(path, kept, std::filesystem::copy_options::overwrite_existing);
      if (at == size) {
        std::filesystem::remove(path);
      } else {
        std::fstream stream(path, std::ios::binary | std::ios::in | std::ios::out);
        stream.seekg(static_cast<std::streamoff>(at));
        const char byte = static_cast<char>(stream.get());
        stream.seekp(static_cast<std::streamoff>(at));
        stream.put(static_cast<char>(byte ^ 0x10));
      }
      const Status done = import(copy, "d/u");
      if (!done) {
        ++told;
        EXPECT_FALSE(done.error().message().empty());
        expect_rows("d/u", {});
      } else {
        expect_rows("d/u", rows);
        const auto transaction = begin();
        ASSERT_OK(database_->truncate_table(*transaction, "d/u"));
        ASSERT_OK(commit(*transaction));
      }
      std::filesystem::copy_file(kept, path, std::filesystem::copy_options::overwrite_existing);
    }
  }
  EXPECT_GT(told, 50U);
}

TEST_F(TableExportTest, WhatIsNoExportIsRefused) {
  open();
  create("d/t");
  create("d/u");
  put_rows("d/t", {{1, "one"}});
  const TemporaryDirectory places;
  EXPECT_EQ(code_of(import(places.path() + "/nothing", "d/u")), ErrorCode::NotFound);
  std::filesystem::create_directory(places.path() + "/empty");
  EXPECT_EQ(code_of(import(places.path() + "/empty", "d/u")), ErrorCode::NotFound);
  ASSERT_OK(database_->backup(places.path() + "/backup"));
  EXPECT_EQ(code_of(import(places.path() + "/backup", "d/u")), ErrorCode::InvalidArgument);
  ASSERT_OK(export_table());
  std::filesystem::create_symlink("/etc/passwd", exported() + "/segment-00000000000000ff");
  EXPECT_EQ(code_of(import(exported(), "d/u")), ErrorCode::InvalidArgument);
  std::filesystem::remove(exported() + "/segment-00000000000000ff");
  EXPECT_EQ(code_of(import(exported(), "d/u", [] { return true; })), ErrorCode::Interrupted);
  expect_rows("d/u", {});
  ASSERT_OK(import(exported(), "d/u"));
  expect_rows("d/u", {{1, "one"}});
}

}  // namespace
}  // namespace hailstone

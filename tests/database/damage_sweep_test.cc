// Every kind of file of a small database, damaged in every kind of way: it is told, or nothing is lost.
//
// The files lie in memory, so that thousands of cases take seconds. HAILSTONE_TEST_ROUNDS is how many cases
// there are for each file and kind of damage; 0: each byte of each file.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <random>

#include "base/test_seed.h"
#include "database/database_fixture.h"
#include "database/manifest.h"
#include "file/memory_filesystem.h"

namespace hailstone {
namespace {

using Files = std::map<std::string, std::string>;  // by name
constexpr const char* directory = "database";

Files read_files(Filesystem& filesystem, const std::string& from = directory) {
  Files files;
  const auto names = filesystem.list(from);
  EXPECT_OK(names);
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    const auto file = filesystem.open(from + "/" + name);
    EXPECT_OK(file);
    const auto size = (*file)->size();
    EXPECT_OK(size);
    std::string& bytes = files[name];
    bytes.resize(static_cast<size_t>(size.value_or(0)));
    EXPECT_OK((*file)->read_at(0, bytes.size(), bytes.data()));
  }
  return files;
}

void write_files(Filesystem& filesystem, const Files& files) {
  ASSERT_OK(filesystem.make_directory(directory));
  for (const auto& [name, bytes] : files) {
    const auto file = filesystem.create(std::string(directory) + "/" + name);
    ASSERT_OK(file);
    ASSERT_OK((*file)->append(bytes));
    ASSERT_OK((*file)->close());
  }
}

/// "segment" of "segment-0000000000000001".
std::string kind_of(const std::string& name) { return name.substr(0, name.find('-')); }

/// A manifest whose end is torn is left by crashes, too; `hailstone check` tells of it.
enum class Told : uint8_t { Damage, TornManifest, Nothing };

/// What a check of the whole database says, as `hailstone check` makes it; and whether all rows are there.
struct Finding {
  Told told = Told::Nothing;
  bool whole = false;
  std::string words;
};

class DamageSweepTest : public ::testing::Test {
 protected:
  void SetUp() override {
    {
      MemoryFilesystem disk;
      make_database(disk);
    }
    SCOPED_TRACE(seed_);
  }

  /// Two tables with segments, of which one has delete vectors; one whose rows are in the manifest; changes
  /// of all that only the log has.
  void make_database(MemoryFilesystem& disk) {
    auto opened = Database::open(disk, directory, {});
    ASSERT_OK(opened);
    database_ = std::move(*opened);
    for (const char* name : {"d/first", "d/second", "d/small"}) {
      TableDefinition definition = pair_definition(name, std::string_view(name) != "d/second");
      definition.columns[1].columnar = std::string_view(name) == "d/first";
      definition.indexes.push_back({.name = "by_text", .unique = false, .parts = {{.column = 1}}});
      change([&](Transaction& transaction) { ASSERT_OK(database_->create_table(transaction, definition)); });
    }
    const auto fill = [&](const char* name, int64_t first, int64_t last) {
      change([&](Transaction& transaction) {
        for (int64_t id = first; id < last; ++id)
          write(transaction, name, id, fmt::format("{:x}", random_()));
      });
    };
    fill("d/first", 0, 300);
    fill("d/second", 0, 200);
    for (const char* name : {"d/first", "d/second"}) ASSERT_OK((*database_->table(name))->flush(true));
    fill("d/small", 0, 5);
    change([&](Transaction& transaction) {
      for (int64_t id = 0; id < 300; id += 7) erase(transaction, "d/first", id);
    });
    ASSERT_OK(database_->checkpoint());
    fill("d/first", 1000, 1010);
    fill("d/small", 5, 8);
    change([&](Transaction& transaction) { erase(transaction, "d/first", 1001); });
    crashed_ = read_files(disk);
    ASSERT_OK(database_->backup("copy"));
    backup_ = read_files(disk, "copy");
    std::string& log = crashed_[last_log()];
    last_batch_ = log.rfind("HBAT");
    batches_end_ = log.size();
    log.append(3000, '\0');  // as they are written ahead on a disk
    ASSERT_OK(database_->close());
    database_.reset();
    closed_ = read_files(disk);
  }

  template <typename Work>
  void change(const Work& work) {
    const auto transaction = database_->transactions().begin(Isolation::RepeatableRead);
    work(*transaction);
    ASSERT_OK(database_->transactions().commit(*transaction));
  }
  void write(Transaction& transaction, const std::string& name, int64_t id, const std::string& text) {
    ASSERT_OK(put(**database_->table(name), transaction, id, text));
    rows_[name][id] = text;
  }
  void erase(Transaction& transaction, const std::string& name, int64_t id) {
    Table& table = **database_->table(name);
    ASSERT_OK(table.erase(transaction, pair_key(table, id)));
    rows_[name].erase(id);
  }

  /// The name of the log's last file.
  std::string last_log() const {
    std::string name;
    for (const auto& file : crashed_) name = file.first.starts_with("log-") ? file.first : name;
    return name;
  }

  Finding look_at(const Files& files) const {
    MemoryFilesystem disk;
    write_files(disk, files);
    Finding found;
    const auto content = Manifest::load(disk, directory);
    if (content && *content && (*content)->torn) found.told = Told::TornManifest;
    auto opened = Database::open(disk, directory, {});
    if (!opened) return {Told::Damage, false, opened.error().message()};
    const auto transaction = (*opened)->transactions().begin(Isolation::RepeatableRead);
    found.whole = true;
    for (const auto& [name, rows] : rows_) {
      const auto table = (*opened)->table(name);
      const Status sound = table ? (*table)->check(*transaction, {}) : std::unexpected(table.error());
      if (!sound) return {Told::Damage, false, sound.error().message()};
      const auto read = read_rows(*table, *transaction);
      found.whole = found.whole && read && *read == rows;
    }
    return found;
  }

  struct Damage {
    std::string what;
    std::function<void(std::string& bytes, uint64_t at)> apply;
  };
  static const std::vector<Damage>& damages() {
    static const std::vector<Damage> all = {
        {"a byte changed",
         [](std::string& bytes, uint64_t at) { bytes[at] ^= static_cast<char>(1 + at % 255); }},
        {"512 bytes zeroed",
         [](std::string& bytes, uint64_t at) {
           const uint64_t first = at / 512 * 512;
           std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(first),
                       std::min<uint64_t>(512, bytes.size() - first), '\0');
         }},
        {"cut", [](std::string& bytes, uint64_t at) { bytes.resize(at); }},
        {"a byte left out", [](std::string& bytes, uint64_t at) { bytes.erase(at, 1); }},
        {"bytes added at the end",
         [](std::string& bytes, uint64_t at) { bytes.append(1 + at % 5000, static_cast<char>(at % 7)); }},
    };
    return all;
  }

  std::vector<uint64_t> places(uint64_t size) {
    const uint64_t rounds = test_rounds(40);
    std::vector<uint64_t> result;
    if (rounds == 0) {
      for (uint64_t at = 0; at < size; ++at) result.push_back(at);
      return result;
    }
    for (uint64_t i = 0; i < std::min(rounds, size); ++i) result.push_back(random_() % size);
    return result;
  }

  /// Looks at each damage of each file. `excused`: where rows may be gone without a word.
  void sweep(const Files& files,
             const std::function<bool(const std::string& name, const Damage&, uint64_t at)>& excused) {
    ASSERT_TRUE(look_at(files).whole);
    for (const auto& [name, bytes] : files) {
      for (const Damage& damage : damages()) {
        size_t told = 0, harmless = 0;
        for (const uint64_t at : places(bytes.size())) {
          Files changed = files;
          damage.apply(changed[name], at);
          if (changed[name] == bytes) continue;
          const Finding found = look_at(changed);
          (found.told == Told::Nothing ? harmless : told) += 1;
          if (found.told == Told::Damage || found.whole || excused(name, damage, at)) continue;
          ADD_FAILURE() << name << " of " << bytes.size() << " bytes, " << damage.what << " at " << at
                        << ": rows are gone, and "
                        << (found.told == Told::Nothing ? "nothing is told" : "only a torn manifest is told")
                        << "; seed " << seed_;
        }
        if (harmless > 0) harmless_[kind_of(name) + ": " + damage.what] += harmless;
        if (told > 0) told_[kind_of(name) + ": " + damage.what] += told;
      }
    }
    for (const auto& [what, count] : harmless_)
      fmt::print("{}: {} changed nothing, {} were told\n", what, count, told_[what]);
  }

  const uint64_t seed_ = test_seed(std::random_device{}());
  std::mt19937_64 random_{seed_};
  std::unique_ptr<Database> database_;
  std::map<std::string, Rows> rows_;
  Files crashed_, backup_, closed_;
  uint64_t last_batch_ = 0, batches_end_ = 0;  // offsets in the last file of crashed_'s log
  std::map<std::string, size_t> harmless_, told_;
};

TEST_F(DamageSweepTest, NothingIsLostFromAClosedDatabaseWithoutAWord) {
  sweep(closed_, [](const std::string&, const Damage&, uint64_t) { return false; });
}

TEST_F(DamageSweepTest, NothingIsLostFromABackupWithoutAWord) {
  sweep(backup_, [](const std::string&, const Damage&, uint64_t) { return false; });
}

// What a crash leaves may end anywhere behind what was synced, so nothing proves that the last batch was
// there; and each one before it only by a header behind it.
TEST_F(DamageSweepTest, OnlyTheEndOfTheLogOfACrashIsLostWithoutAWord) {
  ASSERT_GT(last_batch_, 500U);
  sweep(crashed_, [this](const std::string& name, const Damage& damage, uint64_t at) {
    if (name != last_log()) return false;
    if (damage.what == "cut" || damage.what == "a byte left out") return true;
    const bool is_block = damage.what == "512 bytes zeroed";
    const uint64_t first = is_block ? at / 512 * 512 : at, end = is_block ? first + 512 : at + 1;
    return end > last_batch_ && first < batches_end_;
  });
}

}  // namespace
}  // namespace hailstone

// Databases of every released format open, are whole, can be changed, backed up and opened again; and what
// this release does not know it names, and changes nothing. tests/fixtures/RELEASE/database is a database as
// that release left it at a crash: HAILSTONE_NEW_FIXTURE=DIRECTORY makes this test write the present one.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "base/version.h"
#include "database/database_fixture.h"
#include "schema/decimal_format.h"

namespace hailstone {
namespace {

namespace fs = std::filesystem;

constexpr const char* all_types = "f/types";
constexpr const char* by_row_id = "f/log";
constexpr const char* in_memory = "f/memory";
constexpr const char* prepared_name = "prepared in the fixture";
constexpr int64_t rows_made = 3000;

std::vector<fs::path> fixtures() {
  std::vector<fs::path> found;
  for (const auto& release : fs::directory_iterator(HAILSTONE_FIXTURES)) {
    if (fs::exists(release.path() / "database")) found.push_back(release.path() / "database");
  }
  return found;
}

std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    files[entry.path().filename()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return files;
}

TableDefinition definition_of(const std::string& name) {
  TableDefinition definition;
  definition.name = name;
  definition.application = "of the application, " + name;
  const auto column = [&](std::string called, Type type, uint32_t width) -> Column& {
    return definition.columns.emplace_back(Column{.name = std::move(called), .type = type, .width = width});
  };
  column("id", Type::Signed, 8).nullable = false;
  column("u", Type::Unsigned, 4).application = "of the application, u";
  column("f", Type::Float, 4);
  column("d", Type::Double, 8);
  column("bytes", Type::OrderedBytes, 16);
  for (const DecimalDigits digits : {DecimalDigits{7, 2}, DecimalDigits{30, 6}})
    column(fmt::format("d{}", digits.precision), Type::OrderedBytes, DecimalFormat(digits).width()).decimal =
        digits;
  column("c", Type::Char, 20).collation = binary_padded_collation_id;
  column("v", Type::Varchar, 200);
  column("words", Type::Varchar, 500).columnar = false;
  column("blob", Type::Blob, 0).columnar = false;
  if (name == by_row_id) {
    definition.retention = {.amount = 1000, .unit = Retention::Unit::Year, .column = 0, .scale = 1};
  } else {
    definition.indexes.push_back({.name = "PRIMARY", .unique = true, .parts = {{.column = 0}}});
    definition.has_primary_key = true;
    definition.indexes.push_back(
        {.name = "down", .unique = true, .parts = {{.column = 1, .descending = true}, {.column = 0}}});
    definition.indexes.push_back({.name = "start", .unique = false, .parts = {{.column = 8, .prefix = 5}}});
  }
  definition.in_memory = name == in_memory;
  return definition;
}

/// A value as it can be compared: nothing is NULL.
using Kept = std::optional<std::pair<uint64_t, std::string>>;
using Row = std::vector<Kept>;

Row row_of(int64_t id, uint64_t turn) {
  const auto n = static_cast<uint64_t>(id);
  const auto number = [](uint64_t value) { return Kept({value, ""}); };
  const auto bytes = [](std::string value) { return Kept({0, std::move(value)}); };
  const auto decimal = [&](DecimalDigits digits, WideInteger value) {
    const DecimalFormat format(digits);
    std::string packed(format.width(), '\0');
    format.pack(value, packed.data());
    return format.is_integer() ? number(load_big_endian(packed.data(), format.width())) : bytes(packed);
  };
  Row row;
  row.push_back(number(order_signed(id, 8)));
  row.push_back(number(n * 7 % 1009 + turn));
  row.push_back(n % 5 == 0 ? Kept() : number(n % 1000 << 8));
  row.push_back(number(n % 13 << 40));
  row.push_back(bytes(fmt::format("{:016}", n * 31 % 500)));
  row.push_back(n % 9 == 0 ? Kept() : decimal({7, 2}, static_cast<WideInteger>(n % 99'999) - 50'000));
  row.push_back(
      decimal({30, 6}, static_cast<WideInteger>(n) * 1'000'000'000'000'000 * (n % 2 == 0 ? 1 : -1)));
  row.push_back(bytes(fmt::format("c{}", n % 40)));
  row.push_back(n % 11 == 0 ? Kept() : bytes(fmt::format("{} of turn {}", n % 300, turn)));
  row.push_back(bytes(fmt::format("{} words", n % 17)));
  row.push_back(n % 4 == 0 ? Kept() : bytes(std::string(n % 50, static_cast<char>('a' + n % 26))));
  return row;
}

std::string encoded(const Table& table, const Row& row) {
  std::vector<Value> values;
  for (size_t i = 0; i < row.size(); ++i) {
    if (!row[i]) {
      values.emplace_back();
    } else {
      const bool integer = table.definition().columns[i].is_integer();
      values.push_back(integer ? Value::of(row[i]->first) : Value::of(ByteView(row[i]->second)));
    }
  }
  std::string bytes;
  EXPECT_OK(table.layout()->row_codec().encode(values, bytes));
  return bytes;
}

std::string key_of(const Table& table, int64_t id) {
  const Value value = Value::of(order_signed(id, 8));
  std::string key;
  EXPECT_OK(table.key_codec(0).append({&value, 1}, key));
  return key;
}

class ReleasedFormatsTest : public DatabaseTest {
 protected:
  using Table_rows = std::map<int64_t, Row>;

  /// What a fixture's tables hold.
  static Table_rows expected(const std::string& name) {
    Table_rows rows;
    if (name == in_memory) return rows;
    for (int64_t id = 0; id < rows_made; ++id) rows[id] = row_of(id, 0);
    if (name == by_row_id) return rows;
    for (int64_t id = 3; id < rows_made; id += 7) rows.erase(id);
    for (int64_t id = 5; id < rows_made; id += 11) {
      if (rows.contains(id)) rows[id] = row_of(id, 1);
    }
    for (int64_t id = rows_made; id < rows_made + 10; ++id) rows[id] = row_of(id, 1);
    return rows;
  }

  void insert(Transaction& transaction, const std::string& name, int64_t first, int64_t last, uint64_t turn) {
    const auto table = database_->table(name, &transaction);
    ASSERT_OK(table);
    for (int64_t id = first; id < last; ++id) {
      Duplicate duplicate;
      ASSERT_OK((*table)->insert(transaction, encoded(**table, row_of(id, turn)), duplicate));
    }
  }

  void expect_table(Database& database, const std::string& name, const Table_rows& rows) {
    const auto table = database.table(name);
    ASSERT_OK(table);
    EXPECT_EQ((*table)->definition(), definition_of(name)) << name;
    const auto transaction = database.transactions().begin(Isolation::RepeatableRead);
    std::vector<uint16_t> columns((*table)->definition().columns.size());
    for (size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<uint16_t>(i);
    Scan scan(*table, *transaction, ReadLock::None, nullptr, columns);
    Table_rows found;
    for (;;) {
      const auto batch = scan.next();
      ASSERT_OK(batch);
      if (*batch == nullptr) break;
      for (uint32_t i = 0; i < (*batch)->rows; ++i) {
        Row row;
        for (size_t c = 0; c < columns.size(); ++c) {
          const Value value = (*batch)->columns[c].value(i);
          const bool integer = (*table)->definition().columns[c].is_integer();
          row.push_back(value.null
                            ? Kept()
                            : Kept({integer ? value.integer : 0, integer ? "" : std::string(value.bytes)}));
        }
        found.emplace(native_signed(row[0]->first, 8), std::move(row));
      }
    }
    EXPECT_EQ(found, rows) << name;
    EXPECT_OK((*table)->check(*transaction, {}));
  }

  void expect_all(Database& database) {
    for (const char* name : {all_types, by_row_id, in_memory}) expect_table(database, name, expected(name));
  }

  /// A database with a bit of everything, and what a crash leaves of it.
  void make(const fs::path& to) {
    options_.retention_interval = std::chrono::seconds(0);
    open();
    for (const char* name : {all_types, by_row_id, in_memory}) {
      const auto transaction = begin();
      ASSERT_OK(database_->create_table(*transaction, definition_of(name)));
      insert(*transaction, name, 0, rows_made, 0);
      ASSERT_OK(commit(*transaction));
      ASSERT_OK((*database_->table(name))->optimize({}));
    }
    const auto table = *database_->table(all_types);
    auto transaction = begin();
    for (int64_t id = 3; id < rows_made; id += 7) ASSERT_OK(table->erase(*transaction, key_of(*table, id)));
    ASSERT_OK(commit(*transaction));
    ASSERT_OK(database_->checkpoint());
    // From here on it is in the log.
    transaction = begin();
    Duplicate duplicate;
    const Table_rows rows = expected(all_types);
    for (int64_t id = 5; id < rows_made; id += 11) {
      if (rows.contains(id))
        ASSERT_OK(table->update(*transaction, key_of(*table, id), encoded(*table, row_of(id, 1)), duplicate));
    }
    insert(*transaction, all_types, rows_made, rows_made + 10, 1);
    ASSERT_OK(commit(*transaction));
    transaction = begin();
    insert(*transaction, all_types, 9999, 10'000, 1);
    ASSERT_OK(database_->transactions().prepare(*transaction, prepared_name));
    database_->transactions().leave_prepared(std::move(transaction));
    database_->wait_for_background_work();
    fs::create_directories(to);
    for (const auto& entry : fs::directory_iterator(directory_.path())) {
      if (entry.path().filename() != "lock") fs::copy_file(entry.path(), to / entry.path().filename());
    }
  }

  void take(const fs::path& fixture) {
    for (const auto& entry : fs::directory_iterator(fixture))
      fs::copy_file(entry.path(), fs::path(directory_.path()) / entry.path().filename());
  }

  /// Gives a file of the fixture a format of a later release; its checksum fits.
  static constexpr size_t format_offset = 8;
  void write_later_format(const std::string& start, size_t checked_bytes) {
    for (const auto& [name, bytes] : files_of(directory_.path())) {
      if (!name.starts_with(start)) continue;
      std::string changed = bytes;
      constexpr uint32_t later = 123;
      constexpr uint32_t major = 10'000;
      store(later + major, changed.data() + format_offset);
      const size_t checked = checked_bytes == 0 ? changed.size() - sizeof(uint64_t) : checked_bytes;
      if (!start.starts_with("segment"))
        store(checksum(ByteView(changed).substr(0, checked)), changed.data() + checked);
      std::ofstream(fs::path(directory_.path()) / name, std::ios::binary) << changed;
    }
  }
  template <typename Number>
  static void store(Number number, char* to) {
    std::memcpy(to, &number, sizeof number);
  }
};

TEST_F(ReleasedFormatsTest, EachOpensAndGoesOn) {
  if (const char* const wanted = std::getenv("HAILSTONE_NEW_FIXTURE"); wanted != nullptr) {
    make(fs::path(wanted) / release() / "database");
    return;
  }
  ASSERT_FALSE(fixtures().empty());
  for (const fs::path& fixture : fixtures()) {
    SCOPED_TRACE(fixture);
    const TemporaryDirectory directory, backups;
    const auto copied = [&] {
      for (const auto& entry : fs::directory_iterator(fixture))
        fs::copy_file(entry.path(), fs::path(directory.path()) / entry.path().filename());
    };
    copied();
    auto opened = Database::open(posix_filesystem(), directory.path(), options());
    ASSERT_OK(opened);
    database_ = std::move(*opened);
    EXPECT_EQ(database_->transactions().prepared(), std::vector<std::string>{prepared_name});
    expect_all(*database_);
    // A backup of what was not changed yet, then the changes.
    ASSERT_OK(database_->backup(backups.file("before")));
    auto transaction = database_->transactions().take_prepared(prepared_name);
    ASSERT_NE(transaction, nullptr);
    ASSERT_OK(commit(*transaction));
    Table_rows rows = expected(all_types);
    rows[9999] = row_of(9999, 1);
    transaction = begin();
    insert(*transaction, all_types, 20'000, 20'100, 2);
    for (int64_t id = 20'000; id < 20'100; ++id) rows[id] = row_of(id, 2);
    auto table = *database_->table(all_types, transaction.get());
    ASSERT_OK(table->erase(*transaction, key_of(*table, 0)));
    rows.erase(0);
    ASSERT_OK(commit(*transaction));
    transaction.reset();
    ASSERT_OK(table->optimize({}));
    table.reset();
    expect_table(*database_, all_types, rows);
    ASSERT_OK(database_->backup(backups.file("after")));
    ASSERT_OK(database_->close());
    database_.reset();
    for (const std::string& again : {directory.path(), backups.file("after")}) {
      auto reopened = Database::open(posix_filesystem(), again, options());
      ASSERT_OK(reopened);
      expect_table(**reopened, all_types, rows);
      expect_table(**reopened, by_row_id, expected(by_row_id));
    }
    auto before = Database::open(posix_filesystem(), backups.file("before"), options());
    ASSERT_OK(before);
    expect_all(**before);
  }
}

TEST_F(ReleasedFormatsTest, OfLaterReleasesAreNamedAndLeftAlone) {
  const fs::path fixture = fixtures().front();
  struct File {
    const char* start;
    size_t checked_bytes;  // from the first on, which a checksum follows; 0: all but the last eight
  };
  // The log has changes of the table that the last two are of.
  for (const File file : {File{"manifest", 12}, File{"log-", 32}, File{"segment-", 0}, File{"deletes-", 0}}) {
    SCOPED_TRACE(file.start);
    fs::remove_all(directory_.path());
    fs::create_directory(directory_.path());
    take(fixture);
    write_later_format(file.start, file.checked_bytes);
    const auto before = files_of(directory_.path());
    const auto opened = Database::open(posix_filesystem(), directory_.path(), options());
    EXPECT_EQ(code_of(opened), ErrorCode::Unsupported);
    const std::string message = opened ? "" : opened.error().message();
    EXPECT_NE(message.find("Hailstone 1.1.23 or later"), std::string::npos) << message;
    auto after = files_of(directory_.path());
    after.erase("lock");
    EXPECT_EQ(before, after);
  }
}

}  // namespace
}  // namespace hailstone

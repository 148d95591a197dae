// Tables with keys of texts in a collation that only the program that made them has, read by one that does
// not have it.
#include <algorithm>
#include <cctype>
#include <filesystem>

#include "database/database_fixture.h"
#include "table/cursor.h"

namespace hailstone {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t folding_id = first_application_collation_id + 7;

/// Upper and lower case are the same, and z comes first.
class FoldingCollation final : public Collation {
 public:
  uint32_t id() const override { return folding_id; }
  int compare(ByteView a, ByteView b) const override { return weights(a).compare(weights(b)); }
  void append_weights(ByteView value, std::string& to) const override { to += weights(value); }
  size_t prefix_bytes(ByteView value, size_t characters) const override {
    return std::min(value.size(), characters);
  }
  Equality equality() const override { return Equality::Weights; }
  bool bytes_decide_order() const override { return false; }

 private:
  static std::string weights(ByteView value) {
    std::string result;
    for (const char c : value) {
      const int folded = std::tolower(static_cast<unsigned char>(c));
      result.push_back(static_cast<char>(folded == 'z' ? 0 : folded));
    }
    return result;
  }
};

class FoldingCollations final : public CollationResolver {
 public:
  Result<const Collation*> resolve(uint32_t id) const override {
    if (id != folding_id) return CollationResolver::resolve(id);
    return &folding_;
  }

 private:
  FoldingCollation folding_;
};

TableDefinition definition_of(const std::string& name, bool text_key) {
  TableDefinition definition;
  definition.name = name;
  definition.columns.push_back({.name = "id", .type = Type::Signed, .width = 8, .nullable = false});
  definition.columns.push_back(
      {.name = "text", .type = Type::Varchar, .width = 400, .collation = folding_id, .nullable = !text_key});
  const IndexPart id{.column = 0}, text{.column = 1},
      descending{.column = 1, .prefix = 3, .descending = true};
  definition.indexes.push_back({.name = "PRIMARY", .unique = true, .parts = {text_key ? text : id}});
  definition.indexes.push_back({.name = "by_id", .parts = {id}});
  definition.indexes.push_back({.name = "by_text", .parts = {descending, id}});
  definition.has_primary_key = true;
  return definition;
}

class UnknownCollationTest : public DatabaseTest {
 protected:
  void SetUp() override {
    options_.collations = &collations_;
    options_.flush_log_at_commit = FlushLogAtCommit::Write;
    open();
    const auto transaction = begin();
    for (const bool text_key : {true, false})
      ASSERT_OK(
          database_->create_table(*transaction, definition_of(text_key ? "d/texts" : "d/numbers", text_key)));
    ASSERT_OK(commit(*transaction));
    for (int64_t id = 0; id < 1000; ++id) change(id, (id % 2 == 0 ? "Text " : "zEXT ") + std::to_string(id));
    for (const char* name : {"d/texts", "d/numbers"}) ASSERT_OK((*database_->table(name))->flush(true));
    ASSERT_OK(database_->checkpoint());
    // To the manifest: few rows, some of which replace others.
    change(4, "TEXT 4");
    change(2000, "new");
  }

  std::string key_of(const Table& table, int64_t id, const std::string& text) {
    const Value value =
        table.definition().name == "d/texts" ? Value::of(ByteView(text)) : Value::of(order_signed(id, 8));
    std::string key;
    EXPECT_OK(table.key_codec(0).append({&value, 1}, key));
    return key;
  }
  void change(int64_t id, const std::string& text) {
    for (const char* name : {"d/texts", "d/numbers"}) {
      const auto table = *database_->table(name);
      const auto transaction = begin();
      Duplicate duplicate;
      const std::string row = pair_row(*table, id, text);
      auto key = table->insert(*transaction, row, duplicate);
      if (!key) key = table->update(*transaction, key_of(*table, id, text), row, duplicate);
      ASSERT_OK(key);
      ASSERT_OK(commit(*transaction));
    }
    rows_[id] = text;
  }
  void erase(int64_t id) {
    for (const char* name : {"d/texts", "d/numbers"}) {
      const auto table = *database_->table(name);
      const auto transaction = begin();
      ASSERT_OK(table->erase(*transaction, key_of(*table, id, rows_[id])));
      ASSERT_OK(commit(*transaction));
    }
    rows_.erase(id);
  }
  /// By a program that does not have the collation, from a copy as a crash leaves it.
  void open_copy() {
    fs::copy(directory_.path(), copy_.path(), fs::copy_options::recursive);
    database_.reset();
    options_.collations = nullptr;
    options_.read_only = true;
    auto opened = Database::open(posix_filesystem(), copy_.path(), options());
    ASSERT_OK(opened);
    database_ = std::move(*opened);
  }
  Status check(const std::string& name, std::vector<std::string>& in_part) {
    const auto transaction = begin();
    HAILSTONE_ASSIGN(const auto table, database_->table(name));
    return table->check(*transaction, {}, &in_part);
  }

  FoldingCollations collations_;
  TemporaryDirectory copy_;
  Rows rows_;
};

TEST_F(UnknownCollationTest, AllRowsAreReadAfterACheckpoint) {
  erase(6);
  ASSERT_OK(database_->checkpoint());
  open_copy();
  for (const char* name : {"d/texts", "d/numbers"}) {
    const auto found = read_table(*database_, name);
    ASSERT_OK(found);
    EXPECT_EQ(*found, rows_) << name;
  }
  std::vector<std::string> in_part;
  EXPECT_OK(check("d/texts", in_part));
  EXPECT_EQ(in_part, (std::vector<std::string>{"PRIMARY", "by_id", "by_text"}));
  EXPECT_OK(check("d/numbers", in_part));
  EXPECT_EQ(in_part, (std::vector<std::string>{"by_text"}));
  EXPECT_TRUE(messages_.empty()) << messages_.front();
}

/// Without weights, nothing tells which row a row of the log replaces.
TEST_F(UnknownCollationTest, ChangesInTheLogNeedTheProgramThatMadeThem) {
  ASSERT_OK(database_->checkpoint());
  change(8, "TEXT 8");
  erase(10);
  open_copy();
  EXPECT_EQ(code_of(read_table(*database_, "d/texts")), ErrorCode::Unsupported);
  std::vector<std::string> in_part;
  const Status texts = check("d/texts", in_part);
  ASSERT_FALSE(texts);
  EXPECT_EQ(texts.error().code(), ErrorCode::Unsupported);
  EXPECT_TRUE(texts.error().message().contains("start that server")) << texts.error().message();
  // Its clustered keys are numbers, so the log's changes find their rows.
  const auto found = read_table(*database_, "d/numbers");
  ASSERT_OK(found);
  EXPECT_EQ(*found, rows_);
  EXPECT_OK(check("d/numbers", in_part));
}

TEST_F(UnknownCollationTest, IndexesOfTextsAreNotReadAndNothingIsWritten) {
  ASSERT_OK(database_->checkpoint());
  open_copy();
  const auto table = *database_->table("d/numbers");
  const auto transaction = begin();
  for (const size_t index : {size_t{0}, size_t{1}}) {
    Cursor cursor(table, *transaction, index, ReadLock::None, {0});
    EXPECT_OK(cursor.seek_at_or_after({}));
  }
  Cursor by_text(table, *transaction, 2, ReadLock::None, {0});
  EXPECT_EQ(code_of(by_text.seek_at_or_after({})), ErrorCode::Unsupported);
  Cursor by_id(*database_->table("d/texts"), *transaction, 1, ReadLock::None, {0});
  EXPECT_EQ(code_of(by_id.seek_at_or_after({})), ErrorCode::Unsupported);
  Duplicate duplicate;
  EXPECT_EQ(code_of(table->insert(*transaction, pair_row(*table, 1, "a"), duplicate)),
            ErrorCode::Unsupported);
  EXPECT_FALSE(*table->flush(true));
  EXPECT_OK(table->analyze());
}

TEST_F(UnknownCollationTest, DamageIsFound) {
  ASSERT_OK(database_->checkpoint());
  fs::path segment;
  for (const auto& each : fs::directory_iterator(directory_.path()))
    if (each.path().filename().string().starts_with("segment-")) segment = each.path();
  const auto size = fs::file_size(segment);
  {
    ASSERT_GT(size, 100U);
    std::FILE* const file = std::fopen(segment.c_str(), "r+b");
    ASSERT_NE(file, nullptr);
    std::fseek(file, static_cast<long>(size / 3), SEEK_SET);
    const int byte = std::fgetc(file);
    std::fseek(file, static_cast<long>(size / 3), SEEK_SET);
    std::fputc(byte ^ 16, file);
    std::fclose(file);
  }
  open_copy();
  std::vector<std::string> in_part;
  unsigned damaged = 0;
  for (const char* name : {"d/texts", "d/numbers"}) {
    const Status checked = check(name, in_part);
    if (checked) continue;
    ++damaged;
    EXPECT_EQ(checked.error().code(), ErrorCode::Corruption);
  }
  EXPECT_EQ(damaged, 1U);
}

}  // namespace
}  // namespace hailstone

// A backup as a stream: what is written is what is read, and what is damaged or cut short is never taken for
// a whole backup.
#include "backup/backup_stream.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <thread>

#include "file/temporary_directory.h"

namespace hailstone {
namespace {

/// Gives a text in pieces.
class TextInput final : public Input {
 public:
  explicit TextInput(std::string text, size_t at_once = 7) : text_(std::move(text)), at_once_(at_once) {}
  Result<size_t> read(char* to, size_t size) override {
    const size_t now = text_.copy(to, std::min(size, at_once_), position_);
    position_ += now;
    return now;
  }
  const std::string& name() const override { return name_; }
  std::optional<uint64_t> size() const override { return std::nullopt; }

 private:
  const std::string text_, name_ = "a stream";
  const size_t at_once_;
  size_t position_ = 0;
};

std::string header(char type, const std::string& path) {
  std::string begin("XBSTCK01\0", 9);
  begin += type;
  begin += static_cast<char>(path.size());
  return begin + std::string(3, '\0') + path;
}

std::string number(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text.push_back(static_cast<char>(value >> (8 * i)));
  return text;
}

std::string payload(const std::string& path, uint64_t offset, const std::string& bytes) {
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
  return header('P', path) + number(bytes.size(), 8) + number(offset, 8) + number(sum, 4) + bytes;
}

std::string end(const std::string& path) { return header('E', path); }

TakeBytes appending_to(std::string& to) {
  return [&to](std::string_view bytes) -> Status {
    to += bytes;
    return {};
  };
}

void add(FileTarget& to, const std::string& path, const std::string& bytes) {
  auto file = to.create(path);
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->append(bytes));
  ASSERT_TRUE((*file)->finish());
}

class BackupStreamTest : public testing::Test {
 protected:
  /// A stream of these files, and backup.json about them.
  std::string whole() {
    std::string stream;
    StreamTarget target(appending_to(stream));
    BackupRecord record;
    record.id = "0123456789abcdef";
    record.method = BackupRecord::by_mariadb_backup;
    const auto add_file = [&](const std::string& path, const std::string& bytes,
                              std::vector<StoredFile>& to) {
      auto file = target.create(path);
      ASSERT_TRUE(file);
      ASSERT_TRUE((*file)->append(bytes));
      StoredFile facts = *(*file)->finish();
      facts.path = path.substr(path.find('/') + 1);
      to.push_back(facts);
    };
    add_file("server/shop/db.opt", "charset", record.server_files);
    add_file("server/empty", "", record.server_files);
    add_file("hailstone/manifest", std::string(300, 'm'), record.database_files);
    add(target, "backup.log", "printed");
    add(target, "backup.json", to_json(record));
    return stream;
  }

  Result<BackupRecord> unpack(const std::string& stream) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    TextInput input(stream, 100);
    return unpack_stream(input, folder_, {});
  }

  TemporaryDirectory directory_;
  const std::string folder_ = directory_.file("unpacked");
};

/// The form to the byte: that of MariaDB's mbstream.
TEST_F(BackupStreamTest, IsWrittenInChunks) {
  std::string stream;
  StreamTarget target(appending_to(stream));
  add(target, "server/a", "abc");
  add(target, "hailstone/b", "");
  EXPECT_EQ(stream, payload("server/a", 0, "abc") + end("server/a") + end("hailstone/b"));
}

TEST_F(BackupStreamTest, LargeFilesComeInSeveralChunks) {
  std::string stream;
  StreamTarget target(appending_to(stream));
  const std::string bytes(2'500'000, 'x');
  add(target, "a", bytes);
  TextInput input(stream, 1 << 20);
  StreamReader reader(input);
  uint64_t read = 0;
  while (true) {
    const auto piece = reader.next();
    ASSERT_TRUE(piece) << piece.error().message();
    if (!*piece) break;
    EXPECT_EQ((*piece)->path, "a");
    if (!(*piece)->is_end) {
      EXPECT_EQ((*piece)->offset, read);
    }
    read += (*piece)->bytes.size();
  }
  EXPECT_EQ(read, bytes.size());
  EXPECT_GT(stream.size(), bytes.size() + 2 * 34);
}

TEST_F(BackupStreamTest, ThreadsMayWriteFilesAtOnce) {
  std::string stream;
  StreamTarget target(appending_to(stream));
  {
    std::vector<std::jthread> threads;
    for (char name = 'a'; name < 'e'; ++name)
      threads.emplace_back([&target, name] { add(target, {name}, std::string(3'000'000, name)); });
  }
  std::filesystem::create_directory(folder_);
  FolderTarget folder(folder_);
  StreamedFiles files(folder, "", [](const std::string&) -> Status { return {}; });
  TextInput input(stream, 1 << 20);
  StreamReader reader(input);
  while (true) {
    const auto piece = reader.next();
    ASSERT_TRUE(piece);
    if (!*piece) break;
    ASSERT_TRUE(files.take(**piece));
  }
  EXPECT_EQ(files.ended().size(), 4U);
  EXPECT_EQ(files.unended(), "");
  for (char name = 'a'; name < 'e'; ++name)
    EXPECT_EQ(*read_text(folder_ + "/" + name), std::string(3'000'000, name));
}

TEST_F(BackupStreamTest, ALongNameIsRefused) {
  StreamTarget target([](std::string_view) -> Status { return {}; });
  EXPECT_TRUE(target.create(std::string(511, 'x')));
  EXPECT_FALSE(target.create(std::string(512, 'x')));
}

TEST_F(BackupStreamTest, AnErrorOfTheTakerIsTheFiles) {
  StreamTarget target([](std::string_view) { return Status(fail(ErrorCode::Io, "gone")); });
  const auto file = target.create("a");
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->append("bytes"));  // they are collected
  const auto finished = (*file)->finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().message(), "gone");
}

TEST_F(BackupStreamTest, IsUnpackedAsItWas) {
  const auto record = unpack(whole());
  ASSERT_TRUE(record) << record.error().message();
  EXPECT_EQ(record->id, "0123456789abcdef");
  TextInput input(whole());
  EXPECT_EQ(to_json(*read_streamed_record(input)), to_json(*record));
  EXPECT_EQ(*read_text(folder_ + "/server/shop/db.opt"), "charset");
  EXPECT_EQ(*read_text(folder_ + "/server/empty"), "");
  EXPECT_EQ(*read_text(folder_ + "/hailstone/manifest"), std::string(300, 'm'));
}

/// At each byte, so also at the end of each chunk.
TEST_F(BackupStreamTest, CutShortIsRefused) {
  const std::string stream = whole();
  for (size_t end = 0; end < stream.size(); ++end) {
    TextInput input(stream.substr(0, end), 100);
    const auto record = read_streamed_record(input);
    ASSERT_FALSE(record) << end;
    EXPECT_EQ(record.error().code(), ErrorCode::Corruption) << record.error().message();
    EXPECT_TRUE(record.error().message().contains("cut short")) << end << record.error().message();
    const bool at_chunk = end == 0 || stream.substr(end).starts_with("XBSTCK01");
    if (!at_chunk && end % 50 != 0) continue;
    const auto unpacked = unpack(stream.substr(0, end));
    ASSERT_FALSE(unpacked) << end;
    EXPECT_EQ(unpacked.error().code(), ErrorCode::Corruption);
  }
}

/// Of each byte of the first chunks, and of some in the others.
TEST_F(BackupStreamTest, DamageIsFound) {
  const std::string stream = whole();
  const std::string json = to_json(*unpack(stream));
  for (size_t i = 0; i < stream.size(); i += i < 200 ? 1 : 13) {
    std::string damaged = stream;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    const auto record = unpack(damaged);
    // A chunk's flags tell nothing of a backup.
    EXPECT_TRUE(!record || to_json(*record) == json) << i;
    EXPECT_TRUE(!record || *read_text(folder_ + "/server/shop/db.opt") == "charset") << i;
  }
}

TEST_F(BackupStreamTest, MoreBehindTheEndIsRefused) {
  EXPECT_FALSE(unpack(whole() + payload("server/x", 0, "x") + end("server/x")));
  EXPECT_FALSE(unpack(whole() + "x"));
  EXPECT_FALSE(unpack(whole() + whole()));
}

TEST_F(BackupStreamTest, NamesOfNoBackupAreRefused) {
  for (const char* const path : {"/etc/x", "server/../../x", "x", "server", "serverx/y", "hailstone/.."})
    EXPECT_FALSE(unpack(payload(path, 0, "x") + end(path) + whole())) << path;
  EXPECT_FALSE(std::filesystem::exists(directory_.file("x")));
}

TEST_F(BackupStreamTest, PartsComeInOrder) {
  const std::string first = payload("server/x", 0, "ab"), second = payload("server/x", 2, "cd");
  ASSERT_TRUE(unpack(first + second + end("server/x") + whole()));
  EXPECT_EQ(*read_text(folder_ + "/server/x"), "abcd");
  EXPECT_FALSE(unpack(first + second + second + end("server/x") + whole()));
  EXPECT_FALSE(unpack(second + end("server/x") + whole()));
  EXPECT_FALSE(unpack(first + payload("server/x", 3, "cd") + whole()));
  EXPECT_FALSE(unpack(payload("server/x", UINT64_MAX, "cd") + whole()));
}

/// As where mariadb-backup has run again: the last one counts, whether the first has ended or not.
TEST_F(BackupStreamTest, AFileThatComesAgainTakesTheFirstsPlace) {
  const std::string early = payload("server/shop/db.opt", 0, "earlier one");
  for (const std::string& begin : {early, early + end("server/shop/db.opt")}) {
    const auto record = unpack(begin + whole());
    ASSERT_TRUE(record) << record.error().message();
    EXPECT_EQ(*read_text(folder_ + "/server/shop/db.opt"), "charset");
  }
  EXPECT_FALSE(unpack(whole().substr(0, 100) + early));
}

TEST_F(BackupStreamTest, UnknownChunksAreRefused) {
  EXPECT_FALSE(unpack(header('S', "server/x") + whole()));
  EXPECT_FALSE(unpack(header('E', "") + whole()));
  EXPECT_FALSE(unpack("XBSTCK02" + whole().substr(8)));
}

}  // namespace
}  // namespace hailstone

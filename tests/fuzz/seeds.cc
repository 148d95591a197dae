// Writes inputs for the fuzzers to begin with: right files and parts of them. Argument: a directory; each
// fuzzer gets a folder of its name in it.
#include <cstdio>
#include <filesystem>
#include <random>

#include "backup/backup_record.h"
#include "backup/backup_stream.h"
#include "collect/load_text.h"
#include "collect/source_position.h"
#include "collect/spool.h"
#include "database/manifest.h"
#include "database/table_list.h"
#include "expression/random_expressions.h"
#include "file/temporary_directory.h"
#include "log/log.h"
#include "log/log_format.h"
#include "log/operation.h"
#include "plan/plan_texts.h"
#include "query/exact_sum.h"
#include "schema/random_schema.h"
#include "segment/delete_vector.h"
#include "segment/segment_format.h"
#include "segment/segment_writer.h"

namespace {

using namespace hailstone;

/// Ends the program with the error of what must succeed here.
template <typename T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "fuzz_seeds: %s\n", result.error().message().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

class Folder {
 public:
  Folder(const std::string& directory, const std::string& fuzzer) : path_(directory + "/" + fuzzer) {
    std::filesystem::create_directories(path_);
  }
  /// `prefix`: the bytes that choose how the fuzzer takes the rest.
  void add(ByteView prefix, ByteView bytes) {
    const std::string name = path_ + "/seed-" + std::to_string(count_++);
    std::filesystem::remove(name);
    const auto file = must(posix_filesystem().create(name));
    must(file->append(prefix));
    must(file->append(bytes));
    must(file->close());
  }

 private:
  std::string path_;
  int count_ = 0;
};

std::string content_of(const std::string& path) {
  const auto file = must(posix_filesystem().open(path));
  std::string bytes(static_cast<size_t>(must(file->size())), '\0');
  must(file->read_at(0, bytes.size(), bytes.data()));
  return bytes;
}

void expression_seeds(Folder folder) {
  constexpr int texts = 50;
  constexpr unsigned depth = 2;
  RandomExpressions random(1);
  for (int i = 0; i < texts; ++i) folder.add({}, random.any(depth));
}

void plan_seeds(Folder folder) {
  for (const std::string& text : plan::plan_texts) folder.add({}, text);
}

void schema_seeds(Folder folder) {
  RandomSchema random(1);
  for (int i = 0; i < 30; ++i) {
    const TableDefinition table = random.table();
    std::string bytes;
    table.append_to(bytes);
    std::string row;
    if (RowCodec(table.columns).encode(random.row(table), row)) bytes += row;
    folder.add({}, bytes);
  }
}

void log_seeds(Folder folder) {
  const TemporaryDirectory directory(TemporaryDirectory::Place::Memory);
  Counters counters;
  {
    const auto log = must(Log::open(posix_filesystem(), {.directory = directory.path()}, counters));
    must(log->replay(0, [](const LogRecord&) -> Status { return {}; }));
    for (uint8_t type = 1; type <= 6; ++type) {
      const Lsn end = must(log->append(static_cast<LogRecordType>(type), std::string(type * size_t{3}, 'r')));
      if (type % 2 == 0) must(log->sync(end));
    }
  }
  const std::string file = content_of(directory.file(log_file_name(0))).substr(0, 4096);
  folder.add({"\0", 1}, file);
  folder.add({"\1", 1}, ByteView(file).substr(log_file_header_size));
  folder.add({"\2", 1}, ByteView(file).substr(log_file_header_size + log_batch_header_size, 60));
}

void operation_seeds(Folder folder) {
  std::string all;
  for (const auto kind : {OperationKind::Put, OperationKind::Delete, OperationKind::Publish,
                          OperationKind::Counter, OperationKind::CreateTable, OperationKind::DropTable,
                          OperationKind::RenameTable, OperationKind::ReplaceDefinition}) {
    std::string one;
    append_operation(
        one, {.kind = kind, .table = 300, .number = 7, .bytes = "bytes", .files = {{20, 30}, {40, 50}}});
    folder.add({}, one);
    all += one;
  }
  folder.add({}, all);
}

void segment_seeds(Folder folder) {
  const TemporaryDirectory directory(TemporaryDirectory::Place::Memory);
  MemoryBudget budget(size_t{64} << 20);
  Counters counters;
  constexpr uint32_t rows = 161;  // 10 * 16 + 1, as the fuzzer counts them
  std::mt19937_64 random(1);
  std::vector<std::unique_ptr<ColumnBuffer>> columns;
  const auto column = [&](bool integer, uint8_t width = 8, DecimalDigits decimal = {}) -> ColumnBuffer& {
    const StoredColumn stored{.id = static_cast<uint16_t>(columns.size()),
                              .integer = integer,
                              .width = width,
                              .nullable = true,
                              .decimal = decimal};
    return *columns.emplace_back(std::make_unique<ColumnBuffer>(stored, budget));
  };
  ColumnBuffer& counting = column(true);
  ColumnBuffer& small = column(true);
  ColumnBuffer& wide = column(true);
  ColumnBuffer& few = column(false);
  ColumnBuffer& digits = column(false);
  ColumnBuffer& noise = column(false);
  ColumnBuffer& text = column(false);
  ColumnBuffer& constant = column(false);
  const DecimalFormat price({.precision = 9, .scale = 2}), total({.precision = 30, .scale = 6});
  ColumnBuffer& prices = column(true, static_cast<uint8_t>(price.width()), price.digits());
  ColumnBuffer& totals = column(false, 8, total.digits());
  for (uint32_t row = 0; row < rows; ++row) {
    counting.append_integer(1000 + row * uint64_t{3});
    small.append_integer(random() % 10 == 0 ? random() : random() % 5);
    wide.append_integer(random());
    few.append_bytes("value " + std::to_string(random() % 3));
    digits.append_bytes(std::to_string(1'000'000 + random() % 1'000'000));
    std::string bytes(9, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    noise.append_bytes(bytes);
    text.append_bytes("a long text that repeats itself, number " + std::to_string(row));
    std::string packed(total.width(), '\0');
    price.pack(static_cast<WideInteger>(random() % 100'000), packed.data());
    prices.append_integer(load_big_endian(packed.data(), price.width()));
    total.pack(static_cast<WideInteger>(random()) * row - 1'000'000, packed.data());
    totals.append_bytes(packed);
    row % 5 == 0 ? constant.append_null() : constant.append_bytes("constant");
  }
  std::vector<const ColumnBuffer*> pointers;
  for (const auto& each : columns) pointers.push_back(each.get());
  SegmentInput input;
  input.identity = {.database = 1, .table = 2, .file = 3};
  input.columns = pointers;
  input.rows = rows;
  const auto key_of = [](uint32_t row) {
    std::string key;
    append_number(key, row);
    std::ranges::reverse(key);
    return key;
  };
  IndexRun run;
  for (uint32_t row = 0; row < rows; ++row) {
    input.key_hashes.push_back(row * 0x9e3779b97f4a7c15);
    run.ordinals.push_back(rows - 1 - row);
    if (row % key_sample_stride != 0) continue;
    input.key_samples.push_back(key_of(row));
    run.samples.push_back(key_of(row));
  }
  input.last_key = run.last_key = key_of(rows - 1);
  input.distinct_prefixes = run.distinct_prefixes = {rows};
  input.indexes.push_back(run);
  must(write_segment(posix_filesystem(), directory.file("segment"), input, counters));

  const std::string file = content_of(directory.file("segment"));
  folder.add({"\0\0\0\0", 4}, file);
  const char* const trailer = file.data() + file.size() - segment_trailer_bytes;
  const auto footer_offset = load<uint64_t>(trailer);
  const ByteView footer_bytes = ByteView(file).substr(footer_offset, load<uint64_t>(trailer + 8));
  folder.add({"\1\0\0\0", 4}, footer_bytes);
  folder.add({"\1\1\0\0", 4}, footer_bytes.substr(file_identity_bytes));
  folder.add({"\1\2\0\0", 4}, footer_bytes);
  Footer footer;
  if (!footer.parse(footer_bytes, footer_offset, 3))
    must<void>(fail(ErrorCode::Corruption, "a footer just written"));
  for (const ColumnEntry& entry : footer.columns) {
    const BlockEntry& block = entry.blocks.front();
    const char prefix[] = {
        2, 10, static_cast<char>((entry.column.integer ? 1 : 0) + (entry.column.decimal.any() ? 2 : 0)),
        static_cast<char>(block.nulls != 0 ? 0 : 1)};
    folder.add({prefix, sizeof prefix}, ByteView(file).substr(block.piece.offset, block.piece.size));
  }
  DeleteVector ends(1000, budget);
  for (uint32_t row = 0; row < 1000; row += 7) ends.set(row, 100 + row);
  const std::string bytes = ends.serialise({.database = 1, .table = 2, .file = 3});
  const size_t entries = 16 + file_identity_bytes;
  for (const char* const prefix : {"\3\0\0\0", "\3\1\0\0"}) {
    folder.add({prefix, 4}, ByteView(bytes).substr(entries, bytes.size() - entries - 8));
  }
}

void manifest_seeds(Folder folder) {
  const TemporaryDirectory directory(TemporaryDirectory::Place::Memory);
  Counters counters;
  RandomSchema random(1);
  Manifest manifest(posix_filesystem(), directory.path(), counters, 0, false);
  ManifestRecords records;
  for (uint64_t id = 1; id < 6; ++id) {
    TableRecord record;
    record.id = id;
    const TableDefinition table = random.table();
    record.definition = table;
    record.segments = {{.file = id * 10, .delete_vector = id * 10 + 1, .begin = 0},
                       {.file = id * 10 + 2, .delete_vector = 0, .begin = 7}};
    std::string row;
    if (RowCodec(table.columns).encode(random.row(table), row)) {
      append_varint(record.rows, 40 + id);
      append_varint(record.rows, id);
      append_string(record.rows, row);
    }
    records.add_table(record);
  }
  records.add_dropped(2, 40);
  records.add_database({.first_file = 1, .database = 7});
  records.add_database({.first_file = 50, .database = 8});
  records.add_mark({.log_start = 100, .carried = 200, .committed = 50, .next_table = 9, .next_file = 90});
  must(manifest.rewrite(std::move(records)));
  const std::string file = content_of(Manifest::path_in(directory.path()));
  folder.add({"\0", 1}, file);
  constexpr size_t file_header = 20, frame_header = 13;
  for (size_t at = file_header; at + frame_header <= file.size();) {
    const auto size = load<uint32_t>(file.data() + at);
    const char prefix[] = {1, file[at + 4]};
    folder.add({prefix, sizeof prefix}, ByteView(file).substr(at + frame_header, size));
    at += frame_header + size;
  }
}

void spool_seeds(Folder folder) {
  // As the fuzzer's own file header says.
  const uint64_t begin = encode(SpoolFileHeader{}).size();
  for (int frames = 1; frames <= 3; ++frames) {
    std::string bytes;
    uint64_t sequence = 3;
    for (int i = 0; i < frames; ++i) {
      SpoolFrame frame;
      for (int record = 0; record < i; ++record) frame.add("1\tone");
      frame.set_position("", encode_layout({"id", "name"}));
      SourcePosition position = beginning_of({.device = 1, .inode = 2});
      position.newer.push_back({.device = 1, .inode = 3});
      position.header = {"id", "name"};
      frame.set_position("/var/log/source", encode(position));
      const uint64_t offset = begin + bytes.size();
      bytes += frame.encoded({.id = {}, .number = 7, .offset = offset}, sequence, offset);
      sequence += frame.records();
    }
    folder.add("\1", bytes);
  }
}

void exact_sum_seeds(Folder folder) {
  ExactSums sums;
  for (uint32_t i = 0; i < 3; ++i) sums.push_back();
  sums.add(0, 0.1);
  sums.add(1, 1e300);
  sums.add(1, 1e-300);
  for (uint32_t i = 0; i < 3; ++i) {
    std::string bytes;
    sums.append_to(bytes, i);
    // Added to itself, and to another sum.
    folder.add({"\377\1", 2}, bytes);
    folder.add({}, bytes + bytes);
  }
  std::string numbers;
  for (const double number : {1e16, 1.0, -1e16, 1e-320}) {
    numbers.append("\0\0", 2);
    append_number(numbers, number);
    numbers.append("\2\1", 2);
  }
  folder.add({}, numbers);
}

void table_list_seeds(Folder folder) {
  const std::string text = to_text({.database = 0x0123456789abcdef,
                                    .defined = 12345,
                                    .missing = {"customers", "two\nlines"},
                                    .tables = {"back\\slash", "caf@00e9", "orders"}});
  folder.add(std::string(1, '\0'), text);
  // Without the checksum, which the fuzzer makes.
  folder.add("\1", text.substr(0, text.rfind('\n', text.size() - 2) + 1));
  folder.add("\1", "hailstone-tables 10500\n");
}

void backup_record_seeds(Folder folder) {
  BackupRecord record;
  record.id = "0123456789abcdef";
  record.base = BaseRecord{.id = "fedcba9876543210", .path = "/backup"};
  record.binary_log = BinaryLogRecord{.file = "master-bin.000003", .position = 343, .gtid = "0-1-11"};
  record.identities = {{.first_file = 1, .database = 0x330f9cc09411a0cc}};
  record.server_files = {{.path = "shop/db.opt", .bytes = 65, .checksum = 1, .zstd_bytes = 40}};
  record.database_files = {{.path = "manifest", .bytes = 700, .checksum = 2}};
  record.base_files = {{.path = "segment-0000000000000001", .bytes = 5, .checksum = 3}};
  folder.add({}, to_json(record));
  folder.add({},
             "#261129  9:05:07 server id 1  end_log_pos 361 CRC32 0x6b1cb9d7 \tGTID 0-1-16 ddl\n"
             "#261129  9:05:07 server id 1  end_log_pos 366 CRC32 0x3ae784a0 \tQuery\tthread_id=24\n"
             "SET TIMESTAMP=1795965609/*!*/;\nCREATE TABLE t (a INT)\n/*!*/;\n"
             "#261129  9:05:07 server id 1  end_log_pos 361 CRC32 0x7729e362 \tTable_map: `shop`.`h` mapped "
             "to number 2\n"
             "#261129  9:05:07 server id 1  end_log_pos 361 CRC32 0xb92941b4 \tDelete_rows: table id 26\n"
             "# Number of rows: 41\n");
}

void backup_stream_seeds(Folder folder) {
  std::string stream;
  StreamTarget target([&](std::string_view bytes) -> Status {
    stream += bytes;
    return {};
  });
  const auto first = *target.create("server/shop/db.opt"), second = *target.create("hailstone/manifest");
  static_cast<void>(first->append("default-character-set=utf8mb4\n") && second->append("manifest"));
  static_cast<void>(first->finish() && second->finish());
  static_cast<void>((*target.create("backup.json"))->finish());
  folder.add({}, stream);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds DIRECTORY\n");
    return 2;
  }
  const std::string directory = arguments[1];
  expression_seeds({directory, "expression_text_fuzz"});
  plan_seeds({directory, "plan_text_fuzz"});
  schema_seeds({directory, "schema_fuzz"});
  log_seeds({directory, "log_fuzz"});
  operation_seeds({directory, "operation_fuzz"});
  segment_seeds({directory, "segment_fuzz"});
  manifest_seeds({directory, "manifest_fuzz"});
  table_list_seeds({directory, "table_list_fuzz"});
  backup_record_seeds({directory, "backup_record_fuzz"});
  backup_stream_seeds({directory, "backup_stream_fuzz"});
  spool_seeds({directory, "spool_fuzz"});
  exact_sum_seeds({directory, "exact_sum_fuzz"});
  return 0;
}

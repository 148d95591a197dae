#include "workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>

#include "base/hash.h"
#include "table/bulk_load.h"
#include "table/scan.h"

namespace hailstone {
namespace {

constexpr const char* progress_table = "crash/progress";
constexpr int64_t loaded_keys_begin = 1'000'000'000;
/// A table of more segments is recorded with some of its flushes only.
constexpr uint64_t many_segments = 256;
/// Rows of a segment of the large table: too many bytes to be merged with others for being small, where the
/// worker's memory makes buffers of 8 MiB.
constexpr uint32_t rows_of_segment = 270;
constexpr size_t large_text_bytes = 4000;
/// A longer text is compared by its hash.
constexpr size_t short_text_bytes = 1000;

TableDefinition definition_of(const std::string& name) {
  TableDefinition definition;
  definition.name = name;
  definition.columns.push_back({.name = "id", .type = Type::Signed, .width = 8, .nullable = false});
  definition.columns.push_back({.name = "text", .type = Type::Varchar, .width = 4000});
  definition.indexes.push_back({.name = "PRIMARY", .unique = true, .parts = {{.column = 0}}});
  definition.indexes.push_back({.name = "by_text", .parts = {{.column = 1, .prefix = 20}}});
  definition.has_primary_key = true;
  return definition;
}

/// The text that a row of the large table begins with.
std::string large_text(int64_t key) {
  std::string text = fmt::format("{}-large-", key);
  text.resize(large_text_bytes, '=');
  return text;
}

/// What of a text is compared.
std::string compared(ByteView text) {
  if (text.size() <= short_text_bytes) return std::string(text);
  return fmt::format("{}... {} bytes with checksum {:x}", text.substr(0, 40), text.size(), checksum(text));
}

std::array<Value, 2> values_of(int64_t key, const std::string& text) {
  return {Value::of(order_signed(key, 8)), Value::of(ByteView(text))};
}

Result<std::string> row_of(const Table& table, int64_t key, const std::string& text) {
  std::string row;
  HAILSTONE_TRY(table.layout()->row_codec().encode(values_of(key, text), row));
  return row;
}

Result<std::string> key_of(const Table& table, int64_t key) {
  const Value value = Value::of(order_signed(key, 8));
  std::string bytes;
  HAILSTONE_TRY(table.key_codec(0).append({&value, 1}, bytes));
  return bytes;
}

Status put(Table& table, Transaction& transaction, int64_t key, const std::string& text) {
  Duplicate duplicate;
  HAILSTONE_ASSIGN(const std::string row, row_of(table, key, text));
  HAILSTONE_ASSIGN(const std::string bytes, key_of(table, key));
  auto result = table.update(transaction, bytes, row, duplicate);
  if (!result && result.error().code() == ErrorCode::NotFound)
    result = table.insert(transaction, row, duplicate);
  return result ? Status() : std::unexpected(std::move(result).error());
}

Result<std::map<int64_t, std::string>> read(Database& database, const std::string& name) {
  HAILSTONE_ASSIGN(const auto table, database.table(name));
  const auto transaction = database.transactions().begin(Isolation::RepeatableRead);
  std::map<int64_t, std::string> rows;
  Scan scan(table, *transaction, ReadLock::None, nullptr, {0, 1});
  for (;;) {
    HAILSTONE_ASSIGN(const Batch* const batch, scan.next());
    if (batch == nullptr) break;
    for (uint32_t row = 0; row < batch->rows; ++row) {
      const int64_t key = native_signed(batch->columns[0].value(row).integer, 8);
      if (rows.emplace(key, compared(batch->columns[1].value(row).bytes)).second) continue;
      return fail(ErrorCode::Corruption, fmt::format("table {}: row {} is there twice", name, key));
    }
  }
  HAILSTONE_TRY(table->check(*transaction, {}));
  return rows;
}

}  // namespace

std::string CrashWorkload::table_name(unsigned table, unsigned thread) const {
  if (table == large_table) return "crash/large";
  return table < shared_tables ? fmt::format("crash/shared{}", table) : fmt::format("crash/own{}", thread);
}

int64_t CrashWorkload::large_rows() const {
  const uint64_t changed = uint64_t{threads_} * keys_of_a_thread;
  return static_cast<int64_t>((many_segments + 16) * rows_of_segment + changed);
}

Status CrashWorkload::fill_large(Database& database, Transaction& transaction) const {
  HAILSTONE_ASSIGN(const auto table, database.table(table_name(large_table, 0), &transaction));
  for (int64_t key = 0; key < large_rows();) {
    // Each load makes a segment.
    BulkLoad load(table, transaction);
    const int64_t end = std::min(key + rows_of_segment, large_rows());
    for (; key < end; ++key) HAILSTONE_TRY(load.append(values_of(key, large_text(key))));
    Duplicate duplicate;
    HAILSTONE_TRY(load.finish(duplicate));
  }
  return {};
}

Status CrashWorkload::prepare(Database& database) const {
  std::vector<std::string> wanted{progress_table};
  for (unsigned table = 0; table < shared_tables; ++table) wanted.push_back(table_name(table, 0));
  for (unsigned thread = 0; thread < threads_; ++thread) wanted.push_back(table_name(shared_tables, thread));
  for (const std::string& name : wanted) {
    if (database.table(name)) continue;
    const auto transaction = database.transactions().begin(Isolation::RepeatableRead);
    HAILSTONE_TRY(database.create_table(*transaction, definition_of(name)));
    if (name == table_name(large_table, 0)) HAILSTONE_TRY(fill_large(database, *transaction));
    HAILSTONE_TRY(database.transactions().commit(*transaction));
  }
  return {};
}

Result<uint64_t> CrashWorkload::progress(Database& database, unsigned thread) const {
  HAILSTONE_ASSIGN(const auto rows, read(database, progress_table));
  const auto found = rows.find(thread);
  return found == rows.end() ? 0 : std::stoull(found->second);
}

std::vector<CrashWorkload::Operation> CrashWorkload::operations(unsigned thread, uint64_t number) const {
  std::seed_seq mix{seed_, uint64_t{thread}, number};
  std::mt19937_64 random(mix);
  std::vector<Operation> result;
  const uint64_t count = random() % 20 == 0 ? 200 : 1 + random() % 8;
  for (uint64_t i = 0; i < count; ++i) {
    Operation operation;
    operation.table = static_cast<unsigned>(random() % (shared_tables + 1));
    operation.key = static_cast<int64_t>(thread + threads_ * (random() % keys_of_a_thread));
    operation.text = fmt::format("{}-{}-{}-{}", thread, number, i,
                                 std::string(random() % 300, static_cast<char>('a' + random() % 26)));
    const uint64_t choice = random() % 300;
    if (choice == 0) {
      operation.kind = Operation::Kind::Recreate;
      operation.table = shared_tables;
    } else if (choice == 1 && i == 0) {
      operation.kind = Operation::Kind::Load;
      operation.key = loaded_keys_begin + static_cast<int64_t>((number * threads_ + thread) * 10'000);
      operation.count = static_cast<uint32_t>(random() % 4000);
      operation.text += std::string(500, 'L');
    } else if (choice < 100) {
      operation.kind = Operation::Kind::Erase;
    }
    result.push_back(std::move(operation));
  }
  return result;
}

Status CrashWorkload::change(Database& database, Transaction& transaction, unsigned thread,
                             uint64_t number) const {
  for (const Operation& operation : operations(thread, number)) {
    HAILSTONE_TRY(apply(database, transaction, thread, operation));
  }
  HAILSTONE_ASSIGN(const auto table, database.table(progress_table, &transaction));
  return put(*table, transaction, thread, std::to_string(number));
}

Status CrashWorkload::apply(Database& database, Transaction& transaction, unsigned thread,
                            const Operation& operation) const {
  const std::string name = table_name(operation.table, thread);
  if (operation.kind == Operation::Kind::Recreate) {
    HAILSTONE_TRY(database.drop_table(transaction, name));
    HAILSTONE_TRY(database.create_table(transaction, definition_of(name)));
    return {};
  }
  HAILSTONE_ASSIGN(const auto table, database.table(name, &transaction));
  switch (operation.kind) {
    case Operation::Kind::Put:
      return put(*table, transaction, operation.key, operation.text);
    case Operation::Kind::Erase: {
      HAILSTONE_ASSIGN(const std::string key, key_of(*table, operation.key));
      const Status erased = table->erase(transaction, key);
      return !erased && erased.error().code() == ErrorCode::NotFound ? Status() : erased;
    }
    case Operation::Kind::Load: {
      BulkLoad load(table, transaction);
      for (uint32_t i = 0; i < operation.count; ++i) {
        HAILSTONE_TRY(load.append(values_of(operation.key + i, operation.text)));
      }
      Duplicate duplicate;
      return load.finish(duplicate);
    }
    case Operation::Kind::Recreate:
      break;
  }
  return {};
}

void CrashWorkload::apply(std::vector<Rows>& tables, const Operation& operation) {
  Rows& rows = tables[operation.table];
  switch (operation.kind) {
    case Operation::Kind::Put:
      rows[operation.key] = operation.text;
      break;
    case Operation::Kind::Erase:
      rows.erase(operation.key);
      break;
    case Operation::Kind::Load:
      for (uint32_t i = 0; i < operation.count; ++i) rows[operation.key + i] = operation.text;
      break;
    case Operation::Kind::Recreate:
      rows.clear();
      break;
  }
}

Result<uint64_t> CrashWorkload::verify(Database& database) const {
  std::vector<Rows> shared(shared_tables + 1);
  for (int64_t key = 0; key < large_rows(); ++key) shared[large_table][key] = compared(large_text(key));
  std::map<std::string, Rows> expected;
  for (unsigned thread = 0; thread < threads_; ++thread) {
    HAILSTONE_ASSIGN(const uint64_t last, progress(database, thread));
    for (uint64_t number = 1; number <= last; ++number) {
      for (const Operation& operation : operations(thread, number)) apply(shared, operation);
    }
    expected[table_name(shared_tables, thread)] = std::exchange(shared[shared_tables], {});
  }
  for (unsigned table = 0; table < shared_tables; ++table)
    expected[table_name(table, 0)] = std::move(shared[table]);
  uint64_t count = 0;
  for (const auto& [name, rows] : expected) {
    HAILSTONE_ASSIGN(const Rows found, read(database, name));
    count += found.size();
    for (const auto& [key, text] : rows) {
      const auto row = found.find(key);
      if (row == found.end()) {
        return fail(ErrorCode::Corruption,
                    fmt::format("table {}: row {} is missing, it held '{:.60}'", name, key, text));
      }
      if (row->second != text) {
        return fail(ErrorCode::Corruption, fmt::format("table {}: row {} holds '{:.60}' in place of '{:.60}'",
                                                       name, key, row->second, text));
      }
    }
    for (const auto& [key, text] : found) {
      if (!rows.contains(key)) {
        return fail(ErrorCode::Corruption,
                    fmt::format("table {}: row {} should not be there, it holds '{:.60}'", name, key, text));
      }
    }
  }
  HAILSTONE_ASSIGN(const auto large, database.table(table_name(large_table, 0)));
  if (const uint64_t segments = large->statistics().segments; segments <= many_segments) {
    return fail(ErrorCode::Corruption,
                fmt::format("table {} has {} segments: too few for flushes that the manifest is not told of",
                            large->definition().name, segments));
  }
  return count;
}

}  // namespace hailstone

#include "plan/plan_tables.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/guard.h"
#include "base/mutex.h"
#include "query/query_memory.h"
#include "table/bulk_load.h"

namespace hailstone::plan {

namespace {

TableDefinition definition_of(const std::string& name) {
  TableDefinition definition;
  definition.name = name;
  definition.columns = {
      {.name = "id", .type = Type::Signed, .width = 4, .nullable = false},
      {.name = "a", .type = Type::Signed, .width = 8},
      {.name = "b", .type = Type::Signed, .width = 1},
      {.name = "u", .type = Type::Unsigned, .width = 8},
      {.name = "r", .type = Type::Double, .width = 8},
      {.name = "w", .type = Type::Varchar, .width = 20, .collation = binary_collation_id},
  };
  definition.indexes = {{.name = "PRIMARY", .unique = true, .parts = {{.column = 0}}}};
  definition.has_primary_key = true;
  return definition;
}

ScanColumn stored_of(const hailstone::Column& column) {
  return {.integer = column.is_integer(),
          .type = column.type,
          .width = column.width,
          .collation = column.is_integer() ? nullptr : &binary_collation()};
}

}  // namespace

PlanTables::PlanTables(uint64_t seed, bool few) : random_(seed) {
  tables_host.background = true;
  make("few", 1, 5);
  make("some", 2, 20);
  make("wide", 3, few ? 40 : 3000);
  reader_ = tables_host.transactions().begin(Isolation::RepeatableRead);
  host_.emplace(tables_host, *reader_, nullptr);
  tables_host.cache().evict(tables_host.budget().used());
  memory_of_tables_ = tables_host.budget().used();
}

void PlanTables::make(const std::string& name, TableId id, int64_t rows) {
  Made& made = made_.emplace_back();
  made.table = tables_host.create(definition_of(name), id);
  const auto below = [this](uint64_t limit) { return random_() % limit; };
  const auto write = [&](int64_t first, int64_t last, bool in_bulk) {
    const auto transaction = tables_host.transactions().begin(Isolation::RepeatableRead);
    Duplicate duplicate;
    std::optional<BulkLoad> load;
    if (in_bulk) load.emplace(made.table, *transaction);
    for (int64_t key = first; key < last; ++key) {
      const auto unless_null = [&](Value value) { return below(6) == 0 ? Value() : value; };
      const std::string word = std::array<std::string, 5>{"", "a", "ab", "b", "word"}[below(5)];
      const std::array<Value, 6> values{
          Value::of(order_signed(key, 4)),
          unless_null(Value::of(order_signed(static_cast<int64_t>(below(10)) - 3, 8))),
          unless_null(Value::of(order_signed(static_cast<int64_t>(below(5)) - 2, 1))),
          unless_null(Value::of(below(50) == 0 ? ~uint64_t{0} : below(6))),
          unless_null(Value::of(order_double(static_cast<double>(below(8)) / 4 - 0.5))),
          unless_null(Value::of(ByteView(word)))};
      if (load) {
        EXPECT_TRUE(load->append(values));
      } else {
        std::string row;
        EXPECT_TRUE(made.table->layout()->row_codec().encode(values, row));
        EXPECT_TRUE(made.table->insert(*transaction, row, duplicate));
      }
      DatumRow& row = made.rows.emplace_back();
      for (size_t i = 0; i < values.size(); ++i)
        row.push_back(datum_of(values[i], stored_of(made.table->definition().columns[i])));
    }
    if (load) {
      EXPECT_TRUE(load->finish(duplicate));
    }
    EXPECT_TRUE(tables_host.transactions().commit(*transaction));
  };
  write(0, rows * 2 / 3, /*in_bulk=*/true);
  write(rows * 2 / 3, rows, /*in_bulk=*/false);
}

const PlanTables::Made& PlanTables::find(std::string_view table) const {
  return *std::ranges::find_if(made_,
                               [&](const Made& made) { return made.table->definition().name == table; });
}

Result<const TableDefinition*> PlanTables::definition(std::string_view table) {
  for (const Made& made : made_) {
    if (made.table->definition().name == table) return &made.table->definition();
  }
  return fail(ErrorCode::NotFound, "there is no table " + std::string(table));
}

Result<Scans> PlanTables::scan(std::string_view table, std::shared_ptr<const Predicate> predicate,
                               std::vector<uint16_t> columns) {
  std::vector<bool> as_codes(columns.size(), true);
  Scans scans(std::make_unique<hailstone::Scan>(find(table).table, *reader_, ReadLock::None,
                                                std::move(predicate), std::move(columns),
                                                std::move(as_codes)));
  if (memory_ != nullptr) scans.take_memory_from(memory_);
  HAILSTONE_TRY(scans.begin());
  return scans;
}

StoredStatistics PlanTables::statistics() {
  return {*this, [this](std::string_view table) {
            return std::vector<std::shared_ptr<const Table>>{find(table).table};
          }};
}

std::vector<Column> PlanTables::columns(const std::string& table, ColumnId first) const {
  std::vector<Column> columns;
  for (const hailstone::Column& each : find(table).table->definition().columns) {
    Column column{.id = first++, .name = each.name, .stored = stored_of(each)};
    column.type = usual_type(column.stored);
    columns.push_back(std::move(column));
  }
  return columns;
}

std::vector<DatumRow> PlanTables::rows(const std::string& table, const std::vector<Column>& columns) const {
  const Made& made = find(table);
  const auto& all = made.table->definition().columns;
  std::vector<size_t> places;
  for (const Column& column : columns)
    places.push_back(
        static_cast<size_t>(std::ranges::find(all, column.name, &hailstone::Column::name) - all.begin()));
  std::vector<DatumRow> rows;
  for (const DatumRow& whole : made.rows) {
    DatumRow& row = rows.emplace_back();
    for (const size_t place : places) row.push_back(whole[place]);
  }
  return rows;
}

Result<Relation> PlanTables::answer(const Plan& plan, const Way& way, const EachBatch& each) {
  MemoryBudget& budget = tables_host.budget();
  budget.set_limit(way.memory);
  // The server's setting is there before a query begins, that of hs_query_memory() is the query's own.
  budget.set_query_limit(way.limit_is_own ? 0 : way.query_limit);
  auto answer = guarded([&] {
    memory_ = std::make_shared<MemoryBudget>(budget, floor_of_query(budget));
    if (way.limit_is_own) memory_->set_query_limit(way.query_limit);
    host_.emplace(tables_host, *reader_, memory_);
    return rows_of(plan, way, each);
  });
  memory_left_ = memory_ == nullptr ? 0 : memory_->used();
  host_.emplace(tables_host, *reader_, nullptr);
  memory_.reset();
  return answer;
}

Result<Relation> PlanTables::rows_of(const Plan& plan, const Way& way, const EachBatch& each) {
  HAILSTONE_ASSIGN(const auto query, Query::make(plan, *this, way.threads));
  Relation answer;
  for (const Column& column : query->columns()) answer.columns.push_back(column.id);
  const auto take = [&](const RowBatch& batch) -> Status {
    if (each) HAILSTONE_TRY(each());
    EXPECT_EQ(batch.columns.size(), answer.columns.size());
    EXPECT_GT(batch.rows, 0);
    for (uint32_t row = 0; row < batch.rows; ++row) {
      DatumRow& values = answer.rows.emplace_back();
      for (size_t i = 0; i < batch.columns.size(); ++i)
        values.push_back(datum_of(batch.columns[i]->value(row), query->columns()[i].stored));
    }
    return {};
  };
  if (!way.pulled) {
    Mutex mutex;
    HAILSTONE_TRY(query->each_batch([&](unsigned, const RowBatch& batch) -> Status {
      const MutexLock guard(mutex);
      return take(batch);
    }));
    return answer;
  }
  for (;;) {
    HAILSTONE_ASSIGN(const RowBatch* const batch, query->next());
    if (batch == nullptr) return answer;
    HAILSTONE_TRY(take(*batch));
  }
}

std::string PlanTables::left_behind() {
  std::string left;
  if (memory_left_ != 0) left += fmt::format("{} bytes of the query's memory are in use\n", memory_left_);
  tables_host.join_jobs();
  tables_host.cache().evict(tables_host.budget().used());
  if (const size_t used = tables_host.budget().used(); used != memory_of_tables_)
    left += fmt::format("{} bytes of memory are in use, not {}\n", used, memory_of_tables_);
  if (const uint64_t bytes = tables_host.spill_space().bytes(); bytes != 0)
    left += fmt::format("{} bytes are in spill files\n", bytes);
  const std::string directory = std::filesystem::path(tables_host.segment_path(0)).parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (SpillSpace::is_spill_name(name)) left += fmt::format("file {} is there\n", name);
  }
  return left;
}

}  // namespace hailstone::plan

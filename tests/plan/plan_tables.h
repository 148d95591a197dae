// Three tables of random rows, in segments and deltas, as operators and as the interpreter read them.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "plan/interpreter.h"
#include "plan/query.h"
#include "plan/stored_statistics.h"
#include "plan/way.h"
#include "table/statement_host.h"
#include "table/test_host.h"

namespace hailstone::plan {

/// `few`: no table has more than some dozen rows; else `wide` has some thousands.
class PlanTables final : public TableSource {
 public:
  PlanTables(uint64_t seed, bool few);

  Result<const TableDefinition*> definition(std::string_view table) override;
  Result<Scans> scan(std::string_view table, std::shared_ptr<const Predicate> predicate,
                     std::vector<uint16_t> columns) override;
  const QueryHost& host() const override { return *host_; }
  /// What segments and samples tell of the tables.
  StoredStatistics statistics();

  /// Those of a table, with ids from `first` on.
  std::vector<Column> columns(const std::string& table, ColumnId first) const;
  static std::vector<std::string> names() { return {"few", "some", "wide"}; }
  /// All rows, with these columns.
  std::vector<DatumRow> rows(const std::string& table, const std::vector<Column>& columns) const;
  Interpreter interpreter(uint64_t most_steps) const {
    return Interpreter(
        [this](const std::string& table, const std::vector<Column>& columns) { return rows(table, columns); },
        most_steps);
  }
  /// Called for each batch that operators give; an error ends the query.
  using EachBatch = std::function<Status()>;
  /// All that operators get of the plan, in their order, as a statement of its own. Its memory is a part of
  /// the database's, as that of hs_query_stream(). ErrorCode::OutOfMemory also where an allocation fails.
  Result<Relation> answer(const Plan& plan, const Way& way, const EachBatch& each = {});
  /// What the last answer should have given back, and has not: memory, files. Empty: all is there. Reads of
  /// the tables begin with an empty cache then.
  std::string left_behind();
  /// Whether statements are to end; empty: they are not.
  void set_interruption_check(std::function<bool()> check) {
    reader_->set_interruption_check(std::move(check));
  }

  TestHost tables_host;

 private:
  struct Made {
    std::shared_ptr<Table> table;
    std::vector<DatumRow> rows;
  };
  const Made& find(std::string_view table) const;
  void make(const std::string& name, TableId id, int64_t rows);
  Result<Relation> rows_of(const Plan& plan, const Way& way, const EachBatch& each);

  std::mt19937_64 random_;
  std::vector<Made> made_;
  std::unique_ptr<Transaction> reader_;
  std::shared_ptr<MemoryBudget> memory_;  // of the query
  std::optional<StatementHost> host_;
  size_t memory_left_ = 0;  // that the last query has not given back
  size_t memory_of_tables_ = 0;
};

}  // namespace hailstone::plan

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
#include "table/test_host.h"

namespace hailstone::plan {

/// `few`: no table has more than some dozen rows; else `wide` has some thousands.
class PlanTables final : public TableSource {
 public:
  PlanTables(uint64_t seed, bool few);
  ~PlanTables() override;

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
  /// All that operators get of the plan, in their order.
  Result<Relation> answer(const Plan& plan, unsigned threads, bool pulled = true);

  TestHost tables_host;

 private:
  class Host;
  struct Made {
    std::shared_ptr<Table> table;
    std::vector<DatumRow> rows;
  };
  const Made& find(std::string_view table) const;
  void make(const std::string& name, TableId id, int64_t rows);

  std::mt19937_64 random_;
  std::vector<Made> made_;
  std::unique_ptr<Transaction> reader_;
  std::unique_ptr<QueryHost> host_;
};

}  // namespace hailstone::plan

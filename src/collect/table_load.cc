#include "collect/table_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "collect/target_table.h"

namespace hailstone {
namespace {

constexpr unsigned duplicate_key = 1062, no_default = 1364;
const std::string stage = "hailstone_collect_stage";

/// The row, from 0, that a warning names at its end, as "… at row 7".
std::optional<size_t> row_of(std::string_view message) {
  constexpr std::string_view before = " at row ";
  const size_t at = message.rfind(before);
  if (at == std::string_view::npos) return std::nullopt;
  size_t row = 0;
  const std::string_view digits = message.substr(at + before.size());
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), row);
  if (error != std::errc() || row == 0) return std::nullopt;
  return row - 1;
}

/// The column that a warning names, as "… for column 'a' at row 7" or "… for column `d`.`t`.`a` at row 7".
std::string column_of(std::string_view message) {
  size_t at = message.find("column ");
  if (at == std::string_view::npos) return {};
  std::string_view rest = message.substr(at + 7);
  if (const size_t end = rest.rfind(" at row "); end != std::string_view::npos) rest = rest.substr(0, end);
  if (rest.size() < 3 || (rest.front() != '\'' && rest.front() != '`')) return {};
  const char quote = rest.front();
  const size_t last = quote == '`' ? rest.rfind('`') : rest.find('\'', 1);
  if (last == std::string_view::npos || last == 0) return {};
  const size_t first = quote == '`' ? rest.rfind('`', last - 1) : 0;
  if (first == std::string_view::npos) return {};
  return std::string(rest.substr(first + 1, last - first - 1));
}

/// A temporary table can have none. `definition` is the server's, whose lines are one column, key or
/// constraint each.
void without_foreign_keys(std::string& definition) {
  for (size_t at = 0; (at = definition.find(",\n  CONSTRAINT ", at)) != std::string::npos;) {
    size_t end = definition.find('\n', at + 2);
    if (end == std::string::npos) return;
    if (definition[end - 1] == ',') --end;
    const std::string_view line = std::string_view(definition).substr(at, end - at);
    if (line.find("` FOREIGN KEY (`") == std::string_view::npos) {
      at = end;
    } else {
      definition.erase(at, end - at);
    }
  }
}

}  // namespace

void TableLoad::begin(bool has_transactions) {
  has_transactions_ = has_transactions;
  staged_.clear();
}

Result<std::vector<Complaint>> TableLoad::load(const Batch& batch, const Batch::Places& places,
                                               const Look& look) {
  std::vector<Complaint> complaints;
  clock_.clear();
  if (look) {
    HAILSTONE_ASSIGN(const auto rows, connection_.query("SELECT @@timestamp"));
    clock_ = fmt::format("SET STATEMENT timestamp = {} FOR ", rows.at(0).at(0));
  }
  if (batch.tables().size() == 1) {
    HAILSTONE_TRY(load_of_table(batch, batch.tables()[0], places, look, complaints));
    return complaints;
  }
  std::vector<Batch::Places> of_tables(batch.tables().size());
  for (const size_t place : places) of_tables[batch.table(place)].push_back(place);
  for (size_t i = 0; i < of_tables.size(); ++i) {
    if (!of_tables[i].empty())
      HAILSTONE_TRY(load_of_table(batch, batch.tables()[i], of_tables[i], look, complaints));
  }
  return complaints;
}

Result<std::vector<Complaint>> TableLoad::try_out(const Batch& batch, const Batch::Places& places) {
  if (!has_transactions_) return load(batch, places);
  HAILSTONE_TRY(connection_.execute("START TRANSACTION"));
  HAILSTONE_ASSIGN(auto complaints, load(batch, places));
  HAILSTONE_TRY(connection_.execute("ROLLBACK"));
  return complaints;
}

Status TableLoad::load_of_table(const Batch& batch, const std::string& table, const Batch::Places& places,
                                const Look& look, std::vector<Complaint>& complaints) {
  if (!has_transactions_) return load_staged(batch, table, places, look, complaints);
  std::string scratch;
  const std::string_view text = batch.text(places, scratch);
  HAILSTONE_ASSIGN(
      const uint64_t loaded,
      connection_.load(clock_ + load_statement(config_, table, batch.layout(), batch.is_ascii()), text));
  HAILSTONE_TRY(take_complaints(places, table, complaints));
  if (complaints.empty() && loaded != places.size()) {
    complaints.push_back({.place = {},
                          .column = {},
                          .reason = fmt::format("the server read {} records of {}", loaded, places.size())});
  }
  if (!look || !complaints.empty()) return {};
  HAILSTONE_TRY(make_stage(table));
  HAILSTONE_TRY(
      connection_.load(clock_ + load_statement(config_, stage, batch.layout(), batch.is_ascii()), text));
  return look(stage);
}

Status TableLoad::load_staged(const Batch& batch, const std::string& table, const Batch::Places& places,
                              const Look& look, std::vector<Complaint>& complaints) {
  HAILSTONE_TRY(make_stage(table));
  std::string scratch;
  HAILSTONE_TRY(connection_.load(clock_ + load_statement(config_, stage, batch.layout(), batch.is_ascii()),
                                 batch.text(places, scratch)));
  const size_t before = complaints.size();
  HAILSTONE_TRY(take_complaints(places, table, complaints));
  if (complaints.size() > before) return {};
  // Columns that nothing gives a value have the table's own default.
  std::string columns;
  const auto add = [&columns](const std::string& column) {
    columns += (columns.empty() ? "" : ", ") + quoted_identifier(column);
  };
  for (const std::string& column : batch.layout()) add(column);
  for (const auto& [column, expression] : config_.computed) {
    if (!place_of(batch.layout(), column)) add(column);
  }
  HAILSTONE_TRY(
      connection_.execute(fmt::format("{}INSERT IGNORE INTO {} ({}) SELECT {} FROM {}", clock_,
                                      quoted_identifier(table), columns, columns, quoted_identifier(stage))));
  // Its rows are those of the temporary table, which lacks repeats.
  const size_t staged = complaints.size();
  HAILSTONE_TRY(take_complaints(places, table, complaints));
  for (size_t i = staged; i < complaints.size(); ++i) complaints[i].place.reset();
  return look && complaints.empty() ? look(stage) : Status();
}

Status TableLoad::make_stage(const std::string& table) {
  if (staged_ == table) {
    HAILSTONE_TRY(connection_.execute(fmt::format("DELETE FROM {}", quoted_identifier(stage))));
    return {};
  }
  HAILSTONE_ASSIGN(const auto rows,
                   connection_.query(fmt::format("SHOW CREATE TABLE {}", quoted_identifier(table))));
  std::string definition = rows.at(0).at(1);
  without_foreign_keys(definition);
  // A temporary table has no partitions.
  const size_t partitions = definition.rfind("\n PARTITION BY ");
  if (partitions != std::string::npos) definition.resize(partitions);
  const size_t columns =
      definition.find('(', std::string_view("CREATE TABLE ").size() + quoted_identifier(table).size());
  if (columns == std::string::npos) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("records cannot be loaded into '{}', which is not a table", table));
  }
  HAILSTONE_TRY(
      connection_.execute(fmt::format("CREATE OR REPLACE TEMPORARY TABLE {} {}", quoted_identifier(stage),
                                      std::string_view(definition).substr(columns))));
  staged_ = table;
  return {};
}

Status TableLoad::take_complaints(const Batch::Places& places, const std::string& table,
                                  std::vector<Complaint>& complaints) {
  unsigned all = 0;
  HAILSTONE_ASSIGN(auto warnings, connection_.warnings(all));
  std::erase_if(warnings, [](const auto& warning) { return warning.number == duplicate_key; });
  const size_t before = complaints.size();
  for (const auto& warning : warnings) {
    if (warning.number == no_default) {
      // It is wrong with all records.
      return fail(
          ErrorCode::InvalidArgument,
          fmt::format("table '{}': {}; add it to the stream's 'columns' or 'computed', or give it a default",
                      table, warning.message));
    }
    Complaint& complaint = complaints.emplace_back();
    const auto row = row_of(warning.message);
    if (row && *row < places.size()) complaint.place = places[*row];
    complaint.column = column_of(warning.message);
    complaint.reason = warning.message.substr(0, warning.message.rfind(" at row "));
  }
  if (complaints.size() == before && all >= most_warnings) {
    complaints.push_back({.place = {}, .column = {}, .reason = "more warnings than the server keeps"});
  }
  return {};
}

}  // namespace hailstone

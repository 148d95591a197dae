#include "trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_text.h"
#include "discovery.h"
#include "engine.h"
#include "rights.h"
#include "session.h"
#include "trace_text.h"
#include "variables.h"

namespace hailstone {

namespace {

constexpr size_t query_characters_kept = 200;
/// How far back the line of a loop may lie.
constexpr size_t longest_loop = 64;

/// Functions that come again because there are more rows. Others are called again for other reasons.
bool repeats_with_rows(const TracedCall& call) {
  return call.returns == Returns::Row || call.argument == Argument::Scan ||
         call.argument == Argument::SortedIndex;
}

bool is_of(const TraceLine& line, const TracedCall& call, const TracedTable& table) {
  return line.function == call.function && line.handler == table.handler && line.first == call.first &&
         line.second == call.second;
}

std::string table_text(const TracedCall& call, const TracedTable& table) {
  if (call.path != nullptr) return shown_name(table_name_of_path(call.path));
  // A partition, and the new table that ALTER TABLE fills, have the alias of the whole or the old one.
  if (table.name != nullptr &&
      (is_partition_name(*table.name) || table.name->find("/#sql-alter") != std::string::npos))
    return shown_name(*table.name);
  if (table.table == nullptr) return {};
  const String& alias = table.table->alias;
  return {alias.ptr(), alias.length()};
}

std::string catalog_name(const TracedCall& call, const TracedTable& table) {
  if (call.path != nullptr) return table_name_of_path(call.path);
  return table.name != nullptr ? *table.name : std::string();
}

std::string log_line(const TraceLine& line) {
  std::string text = line.loop != 0 ? "| " : "  ";
  if (!line.table.empty()) text += line.table + ": ";
  text += line.function;
  if (!line.arguments.empty()) text += "(" + line.arguments + ")";
  if (line.calls > 1) text += " x " + with_commas(line.calls);
  if (const std::string result = line.result_text(); !result.empty()) text += " -> " + result;
  if (line.rows > 0) text += fmt::format(", {} {}", with_commas(line.rows), line.rows == 1 ? "row" : "rows");
  text += fmt::format(", {:.1f} us", line.microseconds());
  return text;
}

}  // namespace

std::string TraceLine::result_text() const { return hailstone::result_text(returns, result); }

std::pair<size_t, size_t> TracedStatement::loop_of(size_t line) const {
  size_t from = line;
  size_t to = line;
  while (from > 0 && lines[from - 1].loop == lines[line].loop) --from;
  while (to + 1 < lines.size() && lines[to + 1].loop == lines[line].loop) ++to;
  return {from, to};
}

Trace* Trace::find(THD* thd) {
  if (thd == nullptr || !trace_wanted(thd)) return nullptr;
  // The server may call for another connection that has to give up its lock.
  if (thd != current_thd) return nullptr;
  return &Session::of(thd).trace();
}

void Trace::start_statement() {
  if (!statements_.empty() && statements_.back().reads_trace) {
    statements_.pop_back();
  } else if (statements_.size() > statements_kept) {
    // One more than is shown, as the next may turn out to be one that reads the trace.
    statements_.pop_front();
  }
  TracedStatement statement{.number = ++last_number_,
                            .query_id = thd_->query_id,
                            .query = {},
                            .query_charset = thd_->query_charset(),
                            .of_another = runs_with_rights_of_another(thd_),
                            .lines = {}};
  if (const char* query = thd_->query(); query != nullptr && statement.query_charset != nullptr) {
    const Well_formed_prefix beginning(statement.query_charset, query, thd_->query_length(),
                                       query_characters_kept);
    statement.query.assign(query, beginning.length());
  }
  statements_.push_back(std::move(statement));
}

size_t Trace::find_line(const TracedCall& call, const TracedTable& table) {
  TracedStatement& statement = statements_.back();
  std::vector<TraceLine>& lines = statement.lines;
  const size_t count = lines.size();
  const size_t floor = std::max(statement.logged, count - std::min(count, longest_loop));
  for (size_t i = count; i-- > floor;) {
    if (!is_of(lines[i], call, table)) continue;
    const uint32_t loop = lines[i].loop;
    const bool in_last_loop = loop != 0 && lines.back().loop == loop;
    if (i + 1 == count || in_last_loop) return i;
    if (!repeats_with_rows(call)) break;
    const size_t from = loop == 0 ? i : std::max(floor, statement.loop_of(i).first);
    const uint32_t number = ++statement.loops;
    for (size_t j = from; j < count; ++j) lines[j].loop = number;
    return i;
  }
  if (count >= lines_kept) return count;
  lines.push_back({.handler = table.handler,
                   .function = call.function,
                   .first = call.first,
                   .second = call.second,
                   .returns = call.returns,
                   .table = table_text(call, table),
                   .catalog_name = catalog_name(call, table),
                   .arguments = argument_text(call, table.table)});
  return count;
}

void Trace::begin(const TracedCall& call, const TracedTable& table) noexcept {
  // Within a call that is left out nothing is kept, so that each end() belongs to the right call.
  if (left_out_ == 0) {
    try {
      return keep(call, table);
    } catch (const std::bad_alloc&) {  // it is left out
    }
  }
  ++left_out_;
}

void Trace::keep(const TracedCall& call, const TracedTable& table) {
  // Statements of triggers and stored functions belong to the statement that makes them run.
  if (statements_.empty() || (statements_.back().query_id != thd_->query_id && thd_->in_sub_stmt == 0))
    start_statement();
  TracedStatement& statement = statements_.back();
  const size_t line = find_line(call, table);
  if (line < statement.lines.size()) {
    ++statement.lines[line].calls;
  } else {
    ++statement.calls_not_kept;
  }
  running_.push_back({statement.number, line, std::chrono::steady_clock::now()});
}

void Trace::end(int64_t result) noexcept {
  if (left_out_ > 0) {
    --left_out_;
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  const Running running = running_.back();
  running_.pop_back();
  TracedStatement& statement = statements_.back();
  if (running.statement == statement.number && running.line < statement.lines.size()) {
    TraceLine& line = statement.lines[running.line];
    line.time += now - running.start;
    if (result != 0 || line.returns == Returns::Number) line.result = result;
    if (result == 0 && line.returns == Returns::Row) ++line.rows;
  }
  if (handlers_at_work_ == 0) try_to([&] { write_log(); });
}

void Trace::hide_current_statement() {
  if (!statements_.empty() && statements_.back().query_id == thd_->query_id)
    statements_.back().reads_trace = true;
}

void Trace::write_log() {
  if (!trace_log_wanted() || statements_.empty()) return;
  TracedStatement& statement = statements_.back();
  if (statement.reads_trace || statement.logged == statement.lines.size()) return;
  const std::string prefix =
      fmt::format("Hailstone trace: {}.{}", static_cast<uint64_t>(thd_->thread_id), statement.number);
  if (statement.logged == 0) {
    std::string query = statement.query;
    std::replace_if(
        query.begin(), query.end(), [](char c) { return c >= 0 && c < ' '; }, ' ');
    sql_print_information("%s: %s", prefix.c_str(), query.c_str());
  }
  for (; statement.logged < statement.lines.size(); ++statement.logged)
    sql_print_information("%s: %s", prefix.c_str(), log_line(statement.lines[statement.logged]).c_str());
}

}  // namespace hailstone

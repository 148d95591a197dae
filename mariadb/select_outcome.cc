#include "select_outcome.h"

#include <string>
#include <utility>

#include "query_history.h"
#include "variables.h"

namespace hailstone {

std::array<std::atomic<long long>, select_outcomes.size()> select_counts{};

namespace {

constexpr size_t reason_characters_kept = 512;

/// Whether it is explained only, and whether notes tell of it.
bool is_explained(const THD& thd) { return thd.lex->describe != 0; }
bool is_told(const THD& thd) { return (thd.lex->describe & (DESCRIBE_EXTENDED | DESCRIBE_PARTITIONS)) != 0; }

void count_outcome(const THD& thd, SelectOutcome outcome) {
  if (!is_explained(thd)) select_counts[static_cast<size_t>(outcome)].fetch_add(1, std::memory_order_relaxed);
}

void tell(const OfferedBlock& block, const std::string& text) {
  push_warning(&block.thd, Sql_condition::WARN_LEVEL_NOTE, ER_YES, text.c_str());
}

std::string number_of(const SELECT_LEX& select) { return "select " + std::to_string(select.select_number); }

/// The item may be one that only the definer of a view knows.
bool is_of_view(const SELECT_LEX& select) {
  for (const TABLE_LIST* table = select.table_list.first; table != nullptr; table = table->next_local) {
    if (table->belong_to_view != nullptr || table->view != nullptr) return true;
    // A derived table that the server merges.
    if (table->derived != nullptr && is_of_view(*table->derived->first_select())) return true;
  }
  return false;
}

std::string text_of(const Declined& declined, bool with_item) {
  std::string text = select_outcomes[static_cast<size_t>(declined.reason)].text;
  // Printing IN, ALL or ANY puts back what the server has put in the place of their left side.
  if (declined.item != nullptr && with_item && !declined.item->with_subquery()) {
    StringBuffer<STRING_BUFFER_USUAL_SIZE> shown(system_charset_info);
    declined.item->print(&shown, QT_ORDINARY);
    text.append(": ").append(shown.ptr(), shown.length());
  }
  return text;
}

}  // namespace

std::shared_ptr<BlockRecord> note_pushed(const OfferedBlock& block, OperatorPlan plan) {
  count_outcome(block.thd, SelectOutcome::Pushed);
  if (is_told(block.thd)) {
    for (const std::string& line : lines_of(plan))
      tell(block, "HAILSTONE, " + number_of(block.select) + ": " + line);
  }
  auto record =
      std::make_shared<BlockRecord>(block.thd, block.select, block.hook, std::move(plan), std::string());
  if (!is_explained(block.thd)) query_history().add(record);
  return record;
}

void note_declined(const OfferedBlock& block, const Declined& declined) {
  count_outcome(block.thd, declined.reason);
  if (is_told(block.thd))
    tell(block, "HAILSTONE leaves " + number_of(block.select) + " to the server: " + text_of(declined, true));
  if (is_explained(block.thd) || query_history_size() == 0) return;
  std::string reason = text_of(declined, !is_of_view(block.select));
  reason.resize(
      Well_formed_prefix(system_charset_info, reason.data(), reason.size(), reason_characters_kept).length());
  query_history().add(
      std::make_shared<BlockRecord>(block.thd, block.select, block.hook, OperatorPlan(), std::move(reason)));
}

}  // namespace hailstone

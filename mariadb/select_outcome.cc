#include "select_outcome.h"

#include <string>

namespace hailstone {

std::array<std::atomic<long long>, select_outcomes.size()> select_counts{};

void note_outcome(THD& thd, SelectOutcome outcome, Item* item, const char* plan) {
  const auto number = static_cast<size_t>(outcome);
  if (thd.lex->describe == 0) select_counts[number].fetch_add(1, std::memory_order_relaxed);
  if ((thd.lex->describe & DESCRIBE_EXTENDED) == 0) return;
  std::string text;
  if (outcome == SelectOutcome::Pushed) {
    text = std::string("HAILSTONE: ") + plan;
  } else {
    text = std::string("HAILSTONE leaves this to the server: ") + select_outcomes[number].text;
    if (item != nullptr) {
      StringBuffer<STRING_BUFFER_USUAL_SIZE> shown(system_charset_info);
      item->print(&shown, QT_ORDINARY);
      text.append(": ").append(shown.ptr(), shown.length());
    }
  }
  push_warning(&thd, Sql_condition::WARN_LEVEL_NOTE, ER_YES, text.c_str());
}

}  // namespace hailstone

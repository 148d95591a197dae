// The order of groups by their keys, their results and values of the host's: column by column, as a
// comparison and as bytes.
#pragma once

#include <optional>
#include <string>

#include "query/group_table.h"

namespace hailstone {

/// One column of the order of groups: a key, an aggregate, or a value of the host's; NULL comes first when
/// ascending.
struct GroupOrder {
  enum class By : uint8_t { Key, Aggregate, Host };
  By by = By::Key;
  size_t number = 0;  // of the key, the aggregate or the value
  bool descending = false;
  /// Of a sum: what counts is the mean. That of floating-point numbers is not rounded.
  struct Mean {
    unsigned digits = 0;  // behind those of the sum, at most 8
    bool is_cut = false;  // behind these, and not rounded
  };
  std::optional<Mean> mean = std::nullopt;
};

/// Whether results have sums of the column as integer_sum.
bool has_integer_sum(const ScanColumn& column);

/// Two results by a column of the order, without its direction.
int compare_results(const GroupOrder& by, const GroupingPlan::Item& item, const AggregateResult& left,
                    const AggregateResult& right);
/// Appends bytes (sort_key.h) that are in the order of compare_results().
void append_result(const GroupOrder& by, const GroupingPlan::Item& item, const AggregateResult& result,
                   std::string& to);

}  // namespace hailstone

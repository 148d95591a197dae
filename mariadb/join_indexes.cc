// Whether the server would be quicker with a join by indexes than the engine by scans.
#include <algorithm>
#include <limits>
#include <optional>

#include "ha_hailstone.h"
#include "index_use.h"
#include "join_tree.h"

namespace hailstone {

namespace {

/// How many rows an index that begins with the field has for one of its values; nothing: there is no such
/// index.
std::optional<double> rows_for_value(const Field& field) {
  std::optional<double> least;
  for (uint i = 0; i < field.table->s->keys; ++i) {
    const KEY& key = field.table->key_info[i];
    if (key.key_part[0].field->field_index != field.field_index) continue;
    const bool one = (key.flags & HA_NOSAME) != 0 && key.user_defined_key_parts == 1;
    const double rows = one ? 1 : std::max(1.0, key.actual_rec_per_key(0));
    least = std::min(least.value_or(rows), rows);
  }
  return least;
}

/// How many rows of each table the server reads that begins where indexes lead to few rows.
class IndexWay {
 public:
  explicit IndexWay(const FromClause& from)
      : shared_(from.sources),
        sources_(*shared_),
        conditions_(from.all_conditions()),
        rows_(sources_.all().size()) {}

  /// The condition that leads to the first rows; null: none does.
  Item* begin() {
    Item* leading = nullptr;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const SourceTables::Source& source = sources_.all()[i];
      source.table->file->info(HA_STATUS_VARIABLE | HA_STATUS_CONST | HA_STATUS_NO_LOCK);
      std::vector<Item*> own;
      std::vector<PushedCondition> pushed;
      for (Item* const condition : conditions_) {
        if (sources_.only_one_of(*condition) != i) continue;
        own.push_back(condition);
        pushed.push_back(source.reader().condition(condition));
      }
      const FewRows few = leads_to_few_rows(*source.table, source.readers, own, pushed);
      if (few.condition == nullptr) continue;
      rows_[i] = few.rows;
      if (leading == nullptr) leading = few.condition;
    }
    return leading;
  }

  /// From the tables that are reached on to the one of which the fewest rows are read, and so on. False: no
  /// index leads to some table.
  bool go_on() {
    while (std::ranges::any_of(rows_, [](const auto& rows) { return !rows; })) {
      std::optional<size_t> nearest;
      double fewest = std::numeric_limits<double>::infinity();
      for (Item* const condition : conditions_) {
        const auto key = key_of_condition(*condition, shared_);
        if (!key || key->computed != nullptr) continue;
        for (const auto& [one, other] : {std::pair(key->one, key->other), std::pair(key->other, key->one)}) {
          const size_t at = *sources_.number_of(*one), to = *sources_.number_of(*other);
          const auto rows = rows_[at] && !rows_[to] ? rows_for_value(*other) : std::nullopt;
          if (!rows || *rows_[at] * *rows >= fewest) continue;
          fewest = *rows_[at] * *rows;
          nearest = to;
        }
      }
      if (!nearest) return false;
      rows_[*nearest] = fewest;
    }
    return true;
  }

  bool is_quicker_than_scans() const {
    double by_indexes = 0, by_scans = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      by_indexes += *rows_[i];
      by_scans += static_cast<double>(sources_.all()[i].table->file->stats.records);
    }
    return by_indexes * rows_scanned_in_time_of_one < by_scans ||
           by_indexes < few_rows * static_cast<double>(rows_.size());
  }

 private:
  const std::shared_ptr<const SourceTables> shared_;
  const SourceTables& sources_;
  const std::vector<Item*> conditions_;
  std::vector<std::optional<double>> rows_;  // of each table; nothing: it is not reached
};

}  // namespace

Item* leads_by_indexes(const FromClause& from) {
  IndexWay way(from);
  Item* const leading = way.begin();
  return leading != nullptr && way.go_on() && way.is_quicker_than_scans() ? leading : nullptr;
}

}  // namespace hailstone

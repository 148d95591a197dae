#include "join_limits.h"

#include <algorithm>

#include "join_estimate.h"

namespace hailstone {

namespace {

/// All rows of a small table are looked at; a large one is worth a sample.
constexpr double most_rows_of_small = 131'072, fewest_rows_of_large = 500'000;
/// A range is worth it if it leaves at most so many of a column's values.
constexpr double most_values_left = 0.5;
/// From a table with conditions to the next one, and from there to another.
constexpr unsigned longest_way = 2;
/// Two tables have one order: what their conditions leave would be asked for nothing.
constexpr size_t fewest_members = 3;

class Search {
 public:
  Search(const LimitsByKeys& of, JoinGraph& graph) : of_(of), graph_(graph) {
    for (const JoinNode* const member : of_.members)
      rows_.push_back(rows_of_table(of_.sources.all()[*member->source]));
  }

  void run() {
    if (rows_.size() < fewest_members) return;
    if (std::ranges::none_of(rows_, [](double rows) { return rows >= fewest_rows_of_large; })) return;
    for (size_t member = 0; member < rows_.size(); ++member) {
      const auto& pushed = of_.members[member]->pushed;
      if (std::ranges::any_of(pushed, [](const PushedCondition& condition) {
            return condition.predicate->kind() != Predicate::Kind::Always;
          }))
        go_on_from(member, pushed, bit_of(member), /*from=*/graph_.equalities.size(), longest_way);
    }
  }

 private:
  const SourceTables::Source& source_of(size_t member) const {
    return of_.sources.all()[*of_.members[member]->source];
  }

  /// `conditions`: what is known of the member's rows once those of `by`, which it is one of, are joined; by
  /// the equality `from`, or its own.
  void go_on_from(size_t member, const std::vector<PushedCondition>& conditions, JoinMembers by, size_t from,
                  unsigned way_left) {
    if (rows_[member] > most_rows_of_small) return;
    std::vector<size_t> equalities;
    std::vector<const Field*> fields;
    for (size_t i = 0; i < graph_.equalities.size(); ++i) {
      const LimitsByKeys::Column* const own = column_of(i, member);
      if (i == from || own == nullptr || !is_of_use(i, *own, by, way_left)) continue;
      equalities.push_back(i);
      fields.push_back(own->field);
    }
    if (fields.empty()) return;
    const auto found = find_rows(source_of(member), conditions, fields);
    if (!found) return;
    for (size_t i = 0; i < fields.size(); ++i)
      add_limit(equalities[i], *fields[i], found->ranges[i], found->rows, by, way_left);
  }

  const LimitsByKeys::Column* column_of(size_t equality, size_t member) const {
    const auto& columns = of_.columns[equality];
    const auto found = std::ranges::find(columns, member, &LimitsByKeys::Column::member);
    return found == columns.end() ? nullptr : &*found;
  }

  /// Whether it leads to a large table, or to one from which others may lead on.
  bool is_of_use(size_t equality, const LimitsByKeys::Column& own, JoinMembers by, unsigned way_left) const {
    return std::ranges::any_of(of_.columns[equality], [&](const LimitsByKeys::Column& column) {
      return (by & bit_of(column.member)) == 0 && are_stored_alike(*own.field, *column.field) &&
             (rows_[column.member] >= fewest_rows_of_large ||
              (way_left > 1 && rows_[column.member] <= most_rows_of_small &&
               has_others(column.member, equality)));
    });
  }
  bool has_others(size_t member, size_t equality) const {
    for (size_t i = 0; i < graph_.equalities.size(); ++i) {
      if (i != equality && column_of(i, member) != nullptr) return true;
    }
    return false;
  }

  void add_limit(size_t equality, const Field& field, const IntegerRange& range, double rows, JoinMembers by,
                 unsigned way_left) {
    const auto& columns = of_.columns[equality];
    auto& to = graph_.equalities[equality];
    const double values = static_cast<double>(range.high - range.low) + 1;
    const auto own = std::ranges::find(columns, &field, &LimitsByKeys::Column::field);
    if (values > most_values_left * to.columns[static_cast<size_t>(own - columns.begin())].distinct) return;
    JoinGraph::Equality::Limit limit{.by = by};
    for (const LimitsByKeys::Column& column : columns) {
      auto& left = limit.columns.emplace_back();
      left.distinct = column.field == &field ? std::min(values, rows) : values;
      if ((by & bit_of(column.member)) != 0 || !are_stored_alike(field, *column.field)) continue;
      const SourceTables::Source& source = source_of(column.member);
      std::vector<PushedCondition> conditions = of_.members[column.member]->pushed;
      const double all = rows_that_match(source, conditions).all;
      conditions.push_back({.predicate = std::make_shared<Predicate>(Predicate::integer(
                                source.reader().column_of_field(column.field->field_index), {range})),
                            .complete = true});
      left.share = rows_that_match(source, conditions).all / all;
      if (way_left > 1)
        go_on_from(column.member, conditions, by | bit_of(column.member), equality, way_left - 1);
    }
    to.limits.push_back(std::move(limit));
  }

  const LimitsByKeys& of_;
  JoinGraph& graph_;
  std::vector<double> rows_;  // of the members' tables
};

}  // namespace

void LimitsByKeys::add_to(JoinGraph& graph) const { Search(*this, graph).run(); }

}  // namespace hailstone

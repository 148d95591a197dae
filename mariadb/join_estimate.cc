#include "join_estimate.h"

#include <algorithm>
#include <array>
#include <limits>

#include "ha_hailstone.h"
#include "row_block.h"

namespace hailstone {

namespace {

/// How many whole numbers there are between the least and the greatest of a column.
double numbers_between(const SourceTables::Source& source, const Field& field) {
  constexpr double any = std::numeric_limits<double>::infinity();
  if (!is_whole_number(field) ||
      source.reader().column_of_field(field.field_index) == RecordFormat::not_stored)
    return any;
  const auto found = find_rows(source, {}, {&field});
  if (!found) return any;
  return static_cast<double>(found->ranges.front().high - found->ranges.front().low) + 1;
}

/// As the table knows of an index that begins with the columns, in any order; 0: there is none. Not of
/// partitions, of which each knows its own.
double distinct_by_index(const SourceTables::Source& source, const std::vector<const Field*>& fields) {
  if (source.readers.size() != 1) return 0;
  const TableStatistics statistics = source.reader().stored_table()->statistics();
  for (uint i = 0; i < source.table->s->keys && i < statistics.distinct.size(); ++i) {
    const KEY& key = source.table->key_info[i];
    if (key.user_defined_key_parts < fields.size()) continue;
    bool begins = true;
    for (size_t part = 0; part < fields.size(); ++part) {
      const KEY_PART_INFO& info = key.key_part[part];
      begins = begins && (info.key_part_flag & HA_PART_KEY_SEG) == 0 &&
               std::ranges::any_of(
                   fields, [&](const Field* field) { return field->field_index == info.field->field_index; });
    }
    if (begins) return static_cast<double>(statistics.distinct[i][fields.size() - 1]);
  }
  return 0;
}

Predicate all_of(const std::vector<PushedCondition>& conditions) {
  std::vector<Predicate> predicates;
  for (const PushedCondition& condition : conditions) predicates.push_back(*condition.predicate);
  return predicates.empty() ? Predicate::always() : Predicate::all_of(std::move(predicates));
}

}  // namespace

bool are_stored_alike(const Field& one, const Field& other) {
  const auto type = one.real_type();
  return one.stored_in_db() && other.stored_in_db() && type == other.real_type() &&
         (type == MYSQL_TYPE_NEWDATE ||
          (is_whole_number(one) && (one.flags & UNSIGNED_FLAG) == (other.flags & UNSIGNED_FLAG)));
}

double rows_of_table(const SourceTables::Source& source) {
  source.table->file->info(HA_STATUS_VARIABLE | HA_STATUS_NO_LOCK);
  return std::max(1.0, static_cast<double>(source.table->file->stats.records));
}

MatchingRows rows_that_match(const SourceTables::Source& source,
                             const std::vector<PushedCondition>& conditions) {
  double rows = rows_of_table(source), share_of_rest = 1;
  if (conditions.empty()) return {rows, rows};
  // Of what only a row can tell, something.
  constexpr double share_of_unknown = 0.3;
  for (const PushedCondition& condition : conditions) {
    if (!condition.complete) share_of_rest *= share_of_unknown;
  }
  std::optional<Scans> scans;
  if (open_scans(source.readers, std::make_shared<Predicate>(all_of(conditions)), {}, scans) == 0) {
    if (const auto share = scans->sample()) rows *= *share;
  }
  return {std::max(1.0, rows), std::max(1.0, rows * share_of_rest)};
}

std::optional<FoundRows> find_rows(const SourceTables::Source& source,
                                   const std::vector<PushedCondition>& conditions,
                                   const std::vector<const Field*>& fields) {
  std::vector<uint16_t> columns;
  std::vector<Aggregate> wanted{{.kind = Aggregate::Kind::Rows}};
  for (const Field* const field : fields) {
    const auto position = static_cast<uint16_t>(columns.size());
    columns.push_back(source.reader().column_of_field(field->field_index));
    wanted.push_back({.kind = Aggregate::Kind::Minimum, .position = position});
    wanted.push_back({.kind = Aggregate::Kind::Maximum, .position = position});
  }
  std::optional<Scans> scans;
  if (open_scans(source.readers, std::make_shared<Predicate>(all_of(conditions)), columns, scans) != 0)
    return std::nullopt;
  const auto found = scans->aggregate(wanted, 1);
  if (!found) return std::nullopt;
  FoundRows rows{.rows = static_cast<double>(found->front().count)};
  for (size_t i = 1; i < found->size(); i += 2) {
    if ((*found)[i].count == 0) return std::nullopt;
    rows.ranges.push_back({(*found)[i].integer, (*found)[i + 1].integer});
  }
  return rows.rows == 0 ? std::nullopt : std::optional(rows);
}

DistinctValues distinct_values_of(const SourceTables::Source& source,
                                  const std::vector<const Field*>& fields) {
  if (const double known = distinct_by_index(source, fields); known != 0) return {known, /*is_known=*/true};
  double most = 1;
  bool all_known = true;
  for (const Field* const field : fields) {
    const uint16_t column = source.reader().column_of_field(field->field_index);
    const auto found = static_cast<double>(distinct_values(source.readers, column));
    all_known = all_known && found != 0;
    most *= found != 0 ? found : numbers_between(source, *field);
  }
  return {std::max(1.0, std::min(most, rows_of_table(source))), all_known && fields.size() == 1};
}

}  // namespace hailstone

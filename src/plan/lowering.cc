// From nodes to operators. Each node becomes rows, and a map that tells at which position of their batches
// its columns stand; what no node above reads has no place in it. So a Project that only keeps columns, or
// leaves some out, costs nothing.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "column/segment_columns.h"
#include "expression/conditions.h"
#include "expression/stored_values.h"
#include "plan/expressions.h"
#include "plan/join_keys.h"
#include "plan/query.h"
#include "plan/scan_conditions.h"
#include "query/arranged_rows.h"
#include "query/computed_rows.h"
#include "query/given_rows.h"
#include "query/grouped_rows.h"
#include "query/grouping.h"
#include "query/join/hash_join.h"
#include "query/join/join_memory.h"
#include "query/limited_rows.h"
#include "query/materialized_rows.h"
#include "query/one_row.h"
#include "query/ordered_rows.h"
#include "query/query_memory.h"
#include "query/sorted_rows.h"
#include "query/sourced_rows.h"
#include "query/united_rows.h"
#include "schema/ordered_wide.h"

namespace hailstone::plan {

class Lowering {
 public:
  Lowering(const Plan& plan, TableSource& tables, unsigned threads)
      : tables_(tables),
        threads_(std::max(1U, threads)),
        counts_(std::make_unique<std::deque<Query::Counted>>()) {
    size_t joins = 0;
    each_node(plan, [&](const Plan& node) {
      if (as<Join>(node) != nullptr || as<SetOperation>(node) != nullptr) ++joins;
      if (const auto* const aggregate = as<Aggregate>(node))
        groupings_ += std::max<size_t>(1, aggregate->sets.size());
      if (as<Materialize>(node) != nullptr || as<SetOperation>(node) != nullptr ||
          as<HostScan>(node) != nullptr)
        ++groupings_;
    });
    const MemoryBudget& budget = tables.host().budget();
    join_memory_ =
        std::make_shared<JoinMemory>(query_memory(budget), joins, floor_part(budget, FloorPart::JoinTables));
  }

  static Result<std::unique_ptr<Query>> make(const Plan& plan, TableSource& tables, unsigned threads) {
    Lowering lowering(plan, tables, threads);
    HAILSTONE_ASSIGN(auto rows, lowering.in_order(plan));
    return std::unique_ptr<Query>(
        new Query(plan, std::move(lowering.counts_), std::move(rows), lowering.threads_));
  }

 private:
  using Kind = hailstone::Aggregate::Kind;
  /// So many first rows are kept in memory, however long they are; more are sorted as all are.
  static constexpr uint64_t most_first_rows = 4096;

  struct Rows {
    std::unique_ptr<RowBatches> batches;
    std::map<ColumnId, uint16_t> at;  // the positions of columns
  };

  static std::unexpected<Error> missing(std::string_view what) {
    return fail(ErrorCode::Unsupported, fmt::format("no operator does {} yet", what));
  }

  OperatorCounts* counts_of(const Node& node) {
    for (Query::Counted& counted : *counts_) {
      if (counted.node == &node) return &counted.counts;
    }
    Query::Counted& counted = counts_->emplace_back();
    counted.node = &node;
    return &counted.counts;
  }

  /// `wanted`: those of the node's columns that are read above.
  Result<Rows> lower(const Plan& node, const ColumnSet& wanted) {
    return std::visit([&](const auto& operation) { return of(*node, operation, wanted); }, node->operation);
  }
  Result<Rows> lower_input(const Node& node, ColumnSet wanted) {
    ColumnSet of_input;
    wanted.add(columns_read(node));
    for (const ColumnId id : wanted) {
      if (find_column(node.inputs[0]->columns, id) != nullptr) of_input.add(id);
    }
    return lower(node.inputs[0], of_input);
  }

  // Expressions.
  static uint16_t width_of(const Rows& rows) { return static_cast<uint16_t>(rows.batches->width()); }
  static Expression placed(const Expression& expression, const Rows& rows) {
    return renumbered(expression, [&](ColumnId id) { return rows.at.at(id); });
  }
  struct Condition {
    std::shared_ptr<const Program> program;
    Program::Register passes = Program::none;
  };
  static Condition condition_of(std::span<const Expression> conditions,
                                const std::map<ColumnId, uint16_t>& at) {
    auto program = std::make_shared<Program>();
    const Expression all = *all_of(conditions);
    const Program::Register passes = program->add(renumbered(all, [&](ColumnId id) { return at.at(id); }));
    return {.program = std::move(program), .passes = passes};
  }
  static void compute(Rows& rows, Computation computation, const RowCounts& counts) {
    if (computation.is_empty()) return;
    const size_t width = rows.batches->width();
    auto computed = std::make_unique<ComputedRows>(std::move(rows.batches), width, std::move(computation));
    computed->count_in(counts);
    rows.batches = std::move(computed);
  }
  static std::vector<uint16_t> positions(const Rows& rows, std::span<const ColumnId> ids) {
    std::vector<uint16_t> places;
    for (const ColumnId id : ids) places.push_back(rows.at.at(id));
    return places;
  }

  // Leaves.
  Result<Rows> of(const Node& node, const Scan& scan, const ColumnSet& wanted) {
    return scan_of(node, scan, wanted, Predicate::always());
  }
  Result<Ordinals> ordinals_of(const Scan& scan) {
    HAILSTONE_ASSIGN(const TableDefinition* const table, tables_.definition(scan.table));
    return plan::ordinals_of(scan, *table);
  }
  Result<Rows> scan_of(const Node& node, const Scan& scan, const ColumnSet& wanted, Predicate predicate) {
    HAILSTONE_ASSIGN(const auto ordinals, ordinals_of(scan));
    Rows rows;
    std::vector<uint16_t> columns;
    for (const ColumnId id : wanted) {
      rows.at.emplace(id, static_cast<uint16_t>(columns.size()));
      columns.push_back(ordinals.at(id));
    }
    HAILSTONE_ASSIGN(
        Scans scans,
        tables_.scan(scan.table, std::make_shared<const Predicate>(std::move(predicate)), columns));
    rows.batches = std::make_unique<ScannedBatches>(std::move(scans));
    for (const auto& [id, position] : rows.at) {
      HAILSTONE_ASSIGN(const ScanColumn stored, rows.batches->column(position));
      const Column& column = *find_column(scan.columns, id);
      if (stored != column.stored)
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("column {} of table {} is of another type", column.name, scan.table));
    }
    rows.batches->count_scan_in(*counts_of(node));
    return rows;
  }
  /// They are kept: others may go through their rows again.
  Result<Rows> of(const Node& node, const HostScan& scan, const ColumnSet&) {
    HAILSTONE_ASSIGN(auto rows, tables_.host_rows(scan.table));
    HAILSTONE_ASSIGN(auto kept, materialize(std::move(rows), counts_of(node)));
    return in_order(scan.columns, std::make_unique<MaterializedRows>(std::move(kept)));
  }
  Result<Rows> of(const Node&, const Values& values, const ColumnSet& wanted) {
    Rows rows;
    std::vector<ScanColumn> columns;
    for (const Column& column : values.columns) {
      if (wanted.has(column.id)) rows.at.emplace(column.id, static_cast<uint16_t>(columns.size()));
      columns.push_back(column.stored);
    }
    auto given = std::make_unique<GivenRows>(tables_.host(), columns);
    std::vector<Value> row(columns.size());
    std::vector<std::string> bytes(columns.size());
    for (const std::vector<Expression>& each : values.rows) {
      for (size_t i = 0; i < row.size(); ++i) {
        HAILSTONE_ASSIGN(row[i], value_of(each[i], columns[i], bytes[i]));
      }
      given->add(row);
    }
    rows.batches = std::move(given);
    return rows;
  }
  static Result<Value> value_of(const Expression& constant, const ScanColumn& column, std::string& bytes) {
    if (constant.is_null()) return Value();
    if (constant->values == ValueKind::Real) return Value::of(order_double(constant->real + 0.0));
    if (constant->values == ValueKind::Text) return Value::of(ByteView(constant->text));
    const HugeInteger number =
        constant->huge == HugeInteger() ? HugeInteger::of(constant->integer) : constant->huge;
    if (!column.integer) {
      bytes.resize(column.width);
      if (column.width == sizeof(HugeInteger)) {
        order_huge(number, bytes.data());
        return Value::of(ByteView(bytes));
      }
      if (number.has_128_bits()) {
        order_wide(number.wide(), bytes.data());
        return Value::of(ByteView(bytes));
      }
    } else if (column.type == Type::Signed && number.has_64_bits()) {
      return Value::of(order_signed(number.narrow(), sizeof(int64_t)));
    } else if (column.type == Type::Unsigned && (number.words[1] | number.words[2] | number.words[3]) == 0) {
      return Value::of(number.words[0]);
    }
    return fail(ErrorCode::InvalidArgument, "a number among values is beyond its column's range");
  }

  // Conditions and columns.
  Result<Rows> of(const Node& node, const Filter& filter, const ColumnSet& wanted) {
    HAILSTONE_ASSIGN(auto filtered, filtered_of(node, filter, wanted));
    auto& [rows, computation] = filtered;
    compute(rows, std::move(computation), {.filter = counts_of(node)});
    return std::move(rows);
  }
  /// What comes below the filter, and what is left to be asked of it: a scan looks at some conditions by
  /// itself.
  Result<std::pair<Rows, Computation>> filtered_of(const Node& node, const Filter& filter,
                                                   const ColumnSet& wanted) {
    const Plan& input = node.inputs[0];
    std::vector<Expression> conditions;
    for (const Expression& condition : filter.conditions) add_parts(condition, conditions);
    Rows rows;
    if (const auto* const scan = as<Scan>(input)) {
      HAILSTONE_ASSIGN(const auto ordinals, ordinals_of(*scan));
      Predicate predicate = taken_by_scan(conditions, ordinals);
      ColumnSet read = wanted;
      for (const Expression& condition : conditions) read.add(columns_read(condition));
      HAILSTONE_ASSIGN(rows, scan_of(*input, *scan, read, std::move(predicate)));
    } else {
      HAILSTONE_ASSIGN(rows, lower_input(node, wanted));
    }
    Computation computation;
    if (!conditions.empty()) {
      Condition condition = condition_of(conditions, rows.at);
      computation.conditions = std::move(condition.program);
      computation.passes = condition.passes;
    }
    return std::pair{std::move(rows), std::move(computation)};
  }
  Result<Rows> of(const Node& node, const Project& project, const ColumnSet& wanted) {
    ColumnSet read;
    for (const Project::Item& item : project.items) {
      if (wanted.has(item.column.id)) read.add(columns_read(item.value));
    }
    const Plan& input = node.inputs[0];
    Rows rows;
    Computation computation;
    RowCounts counts{.compute = counts_of(node)};
    if (const auto* const filter = as<Filter>(input)) {
      HAILSTONE_ASSIGN(auto filtered, filtered_of(*input, *filter, read));
      rows = std::move(filtered.first);
      computation = std::move(filtered.second);
      counts.filter = counts_of(*input);
    } else {
      HAILSTONE_ASSIGN(rows, lower(input, read));
    }
    auto program = std::make_shared<Program>();
    std::map<ColumnId, uint16_t> at;
    const uint16_t width = width_of(rows);
    for (const Project::Item& item : project.items) {
      if (!wanted.has(item.column.id)) continue;
      if (item.is_copy()) {
        at.emplace(item.column.id, rows.at.at(item.value->position));
        continue;
      }
      at.emplace(item.column.id, static_cast<uint16_t>(width + computation.columns.size()));
      computation.columns.push_back(
          {.type = item.column.stored, .result = program->add(placed(item.value, rows))});
    }
    if (!computation.columns.empty()) computation.values = std::move(program);
    compute(rows, std::move(computation), counts);
    rows.at = std::move(at);
    return rows;
  }

  // Joins.
  Result<Rows> of(const Node& node, const Join& join, const ColumnSet& wanted) {
    if (join.kind == JoinKind::Mark) return missing("a mark join");
    if (join.kind == JoinKind::Single && !join.conditions.empty())
      return missing("a single join with conditions");
    ColumnSet of_left, of_right;
    const auto add = [&](const ColumnSet& ids) {
      for (const ColumnId id : ids)
        (find_column(node.inputs[0]->columns, id) != nullptr ? of_left : of_right).add(id);
    };
    add(columns_read(node));
    const ColumnSet read_right = of_right;
    add(wanted);
    HAILSTONE_ASSIGN(Rows left, lower(node.inputs[0], of_left));
    HAILSTONE_ASSIGN(Rows right, lower(node.inputs[1], of_right));
    JoinPlan plan;
    std::vector<Expression> conditions = join.conditions;
    switch (join.kind) {
      case JoinKind::Inner:
        plan.kind = JoinPlan::Kind::Inner;
        break;
      case JoinKind::Left:
        plan.kind = JoinPlan::Kind::Left;
        break;
      case JoinKind::Semi:
        plan.kind = JoinPlan::Kind::Semi;
        break;
      case JoinKind::Anti:
        plan.kind = JoinPlan::Kind::Anti;
        break;
      case JoinKind::NullAnti:
        // No pair for which the conditions are TRUE or NULL.
        plan.kind = JoinPlan::Kind::Anti;
        if (const auto all = all_of(conditions))
          conditions = {first_not_null(std::array{*all, Expression::constant(int64_t{1})})};
        break;
      case JoinKind::Single:
        plan.kind = JoinPlan::Kind::Left;
        right.batches = std::make_unique<OneRow>(
            std::move(right.batches),
            Error(ErrorCode::InvalidArgument, "a subquery that stands for a value has more than one row"));
        break;
      case JoinKind::Mark:
        break;
    }
    add_keys(node, left, right, conditions, plan);
    ColumnSet kept;  // of the right side
    for (const Expression& condition : conditions) {
      for (const ColumnId id : columns_read(condition)) {
        if (read_right.has(id)) kept.add(id);
      }
    }
    for (const ColumnId id : wanted) {
      if (of_right.has(id)) kept.add(id);
    }
    return joined(node, std::move(left), std::move(right), kept, conditions, std::move(plan));
  }

  /// Those of the conditions that are keys of the join leave the list.
  static void add_keys(const Node& node, const Rows& left, const Rows& right,
                       std::vector<Expression>& conditions, JoinPlan& plan) {
    const auto shift = width_of(left);
    const auto column_of = [&](const Expression& side, size_t input) -> const Column* {
      const bool is_ascending = dynamic_cast<const AscendingFunction*>(side->of_column.get()) != nullptr;
      if (side->kind != Expression::Kind::Column && !is_ascending) return nullptr;
      return find_column(node.inputs[input]->columns, side->position);
    };
    std::erase_if(conditions, [&](const Expression& condition) {
      const bool is_equal = condition.is_call(Function::Equal);
      if (!is_equal && !condition.is_call(Function::SameOrNull)) return false;
      const std::vector<Expression>& sides = condition->arguments;
      const size_t first = column_of(sides[0], 0) != nullptr ? 0 : 1;
      const Column* const probe = column_of(sides[first], 0);
      const Column* const build = column_of(sides[1 - first], 1);
      if (probe == nullptr || build == nullptr || sides[0]->values != sides[1]->values) return false;
      // Of the same function of both, what is stored alike is equal, and in the calendar nothing else.
      if (sides[0]->of_column != sides[1]->of_column) return false;
      if (sides[0]->of_column != nullptr && probe->stored != build->stored) return false;
      const Collation* const collation = condition->settings.collation;
      if (!are_keys(probe->stored, build->stored, sides[0]->values, collation)) return false;
      plan.keys.push_back({.probe = left.at.at(probe->id),
                           .build = static_cast<uint16_t>(shift + right.at.at(build->id)),
                           .nulls_are_equal = !is_equal,
                           .collation = sides[0]->values == ValueKind::Text ? collation : nullptr});
      return true;
    });
  }

  /// `kept`: columns of the right side that are read above, or by the conditions.
  Result<Rows> joined(const Node& node, Rows left, Rows right, const ColumnSet& kept,
                      std::span<const Expression> conditions, JoinPlan plan) {
    const uint16_t shift = width_of(left);
    // The columns of the right side stand behind those of the left.
    std::vector<uint16_t> columns(shift, ArrangedRows::missing);
    for (uint16_t i = 0; i < width_of(right); ++i) columns.push_back(i);
    plan.width = columns.size();
    auto build = std::make_unique<ArrangedRows>(std::move(right.batches), std::move(columns));
    Rows rows;
    rows.at = left.at;
    for (const ColumnId id : kept) {
      const auto position = static_cast<uint16_t>(shift + right.at.at(id));
      plan.from_build.push_back(position);
      rows.at.emplace(id, position);
    }
    if (!conditions.empty()) {
      Condition condition = condition_of(conditions, rows.at);
      plan.conditions = std::move(condition.program);
      plan.passes = condition.passes;
    }
    if (plan.kind == JoinPlan::Kind::Semi || plan.kind == JoinPlan::Kind::Anti) {
      for (const ColumnId id : kept) rows.at.erase(id);
    }
    HAILSTONE_ASSIGN(rows.batches, HashJoin::make(std::move(left.batches), std::move(build), std::move(plan),
                                                  join_memory_, threads_, counts_of(node)));
    return rows;
  }
  Result<Rows> of(const Node&, const Apply&, const ColumnSet&) {
    return missing("a join whose right input depends on the left");
  }

  // Groups.
  Result<Rows> of(const Node& node, const Aggregate& aggregate, const ColumnSet&) {
    HAILSTONE_ASSIGN(Rows input, lower_input(node, {}));
    if (aggregate.sets.empty()) return grouped(node, aggregate, aggregate.keys, std::move(input));
    HAILSTONE_ASSIGN(auto made, materialize(std::move(input.batches), counts_of(node)));
    std::vector<std::unique_ptr<RowBatches>> sets;
    for (const std::vector<ColumnId>& set : aggregate.sets) {
      Rows again{.batches = std::make_unique<MaterializedRows>(made), .at = input.at};
      HAILSTONE_ASSIGN(Rows groups, groups_of_set(node, aggregate, set, std::move(again)));
      sets.push_back(arranged(node.columns, std::move(groups)));
    }
    HAILSTONE_ASSIGN(auto united, UnitedRows::make(std::move(sets)));
    return in_order(node.columns, std::move(united));
  }
  Result<Rows> grouped(const Node& node, const Aggregate& aggregate, std::span<const ColumnId> keys,
                       Rows input) {
    // Equal ones are kept once: a sum, and a mean of the same numbers.
    std::vector<hailstone::Aggregate> wanted;
    std::vector<uint16_t> places;  // of each item
    for (const Aggregate::Item& item : aggregate.aggregates) {
      const hailstone::Aggregate each{.kind = item.kind,
                                      .position = item.argument ? input.at.at(*item.argument) : uint16_t{0},
                                      .distinct = item.distinct};
      const auto known = std::ranges::find_if(wanted, [&](const hailstone::Aggregate& other) {
        return other.kind == each.kind && other.position == each.position && other.distinct == each.distinct;
      });
      places.push_back(static_cast<uint16_t>(known - wanted.begin()));
      if (known == wanted.end()) wanted.push_back(each);
    }
    HAILSTONE_ASSIGN(auto grouping, Grouping::make(std::move(input.batches), positions(input, keys), wanted,
                                                   threads_, counts_of(node)));
    grouping->share_floor(groupings_);
    Rows rows;
    uint16_t position = 0;
    for (const ColumnId key : keys) rows.at.emplace(key, position++);
    for (size_t i = 0; i < places.size(); ++i)
      rows.at.emplace(aggregate.aggregates[i].column.id, static_cast<uint16_t>(position + places[i]));
    rows.batches = std::make_unique<GroupedRows>(std::move(grouping));
    return rows;
  }
  /// With all keys, NULL where the set has not got them.
  Result<Rows> groups_of_set(const Node& node, const Aggregate& aggregate, std::span<const ColumnId> set,
                             Rows input) {
    Aggregate of_set = aggregate;
    // Of no rows there is no group.
    if (set.empty()) {
      of_set.aggregates.push_back(
          {.column = aggregate_column(no_column, "", Kind::Rows, nullptr), .kind = Kind::Rows});
    }
    HAILSTONE_ASSIGN(Rows rows, grouped(node, of_set, set, std::move(input)));
    Computation computation;
    if (set.empty()) {
      const Column column = of_set.aggregates.back().column;
      Condition condition = condition_of(
          std::array{Expression::call(Function::Greater, {read(column), Expression::constant(int64_t{0})})},
          rows.at);
      computation.conditions = std::move(condition.program);
      computation.passes = condition.passes;
    }
    auto nulls = std::make_shared<Program>();
    const uint16_t width = width_of(rows);
    for (const ColumnId key : aggregate.keys) {
      if (rows.at.contains(key)) continue;
      const Column& column = *find_column(node.columns, key);
      rows.at.emplace(key, static_cast<uint16_t>(width + computation.columns.size()));
      computation.columns.push_back(
          {.type = column.stored, .result = nulls->add(Expression::null(kind_of(column)))});
    }
    if (!computation.columns.empty()) computation.values = std::move(nulls);
    compute(rows, std::move(computation), {});
    return rows;
  }
  static ValueKind kind_of(const Column& column) { return read(column)->values; }
  Result<Rows> of(const Node&, const Window&, const ColumnSet&) { return missing("windows"); }

  // Orders.
  Result<Rows> of(const Node& node, const Sort& sort, const ColumnSet& wanted) {
    return sorted(node, sort, wanted, std::nullopt);
  }
  Result<Rows> of(const Node& node, const Limit& limit, const ColumnSet& wanted) {
    if (limit.with_ties) return missing("a limit with ties");
    const uint64_t most = limit.most.value_or(~uint64_t{0});
    const uint64_t end = most > ~uint64_t{0} - limit.offset ? ~uint64_t{0} : limit.offset + most;
    const Plan& input = node.inputs[0];
    Rows rows;
    const auto* const sort = as<Sort>(input);
    if (sort != nullptr && end != 0 && end <= most_first_rows) {
      HAILSTONE_ASSIGN(rows, sorted(*input, *sort, wanted, end));
    } else {
      HAILSTONE_ASSIGN(rows, lower_input(node, wanted));
    }
    rows.batches = std::make_unique<LimitedRows>(std::move(rows.batches), limit.offset, most);
    return rows;
  }
  /// `first`: how many rows are wanted; nothing: all.
  Result<Rows> sorted(const Node& node, const Sort& sort, const ColumnSet& wanted,
                      std::optional<uint64_t> first) {
    HAILSTONE_ASSIGN(Rows input, lower_input(node, wanted));
    std::vector<RowOrder> order;
    for (const SortKey& key : sort.order)
      order.push_back({.position = input.at.at(key.column), .descending = key.descending});
    Rows rows;
    std::vector<uint16_t> values;
    std::vector<ScanColumn> columns;
    for (const ColumnId id : wanted) {
      rows.at.emplace(id, static_cast<uint16_t>(values.size()));
      values.push_back(input.at.at(id));
      columns.push_back(find_column(node.columns, id)->stored);
    }
    std::unique_ptr<RowSource> source;
    if (first) {
      HAILSTONE_ASSIGN(source, SortedRows::make(std::move(input.batches),
                                                {.order = std::move(order),
                                                 .most = *first,
                                                 .values = SortedRows::Values::Kept,
                                                 .columns = values,
                                                 .operator_counts = counts_of(node)},
                                                threads_));
    } else {
      HAILSTONE_ASSIGN(source, OrderedRows::make(std::move(input.batches), std::move(order),
                                                 OrderedRows::Equal::Any, values, threads_, counts_of(node)));
    }
    rows.batches = std::make_unique<SourcedRows>(std::move(source), std::move(columns));
    return rows;
  }

  // Several inputs, several readers.
  /// The columns at positions 0, 1, …
  static std::unique_ptr<RowBatches> arranged(std::span<const Column> columns, Rows rows) {
    std::vector<uint16_t> order;
    for (const Column& column : columns) order.push_back(rows.at.at(column.id));
    return std::make_unique<ArrangedRows>(std::move(rows.batches), std::move(order));
  }
  static Rows in_order(std::span<const Column> columns, std::unique_ptr<RowBatches> batches) {
    Rows rows{.batches = std::move(batches), .at = {}};
    for (const Column& column : columns) rows.at.emplace(column.id, static_cast<uint16_t>(rows.at.size()));
    return rows;
  }
  Result<std::unique_ptr<RowBatches>> in_order(const Plan& input) {
    HAILSTONE_ASSIGN(Rows rows, lower(input, ColumnSet(input->columns)));
    return arranged(input->columns, std::move(rows));
  }
  Result<Rows> of(const Node& node, const SetOperation& operation, const ColumnSet&) {
    std::vector<std::unique_ptr<RowBatches>> inputs;
    for (const Plan& input : node.inputs) {
      HAILSTONE_ASSIGN(inputs.emplace_back(), in_order(input));
    }
    Rows rows;
    if (operation.kind == SetOperation::Kind::Union) {
      HAILSTONE_ASSIGN(auto united, UnitedRows::make(std::move(inputs)));
      rows = in_order(node.columns, std::move(united));
      if (operation.all) return rows;
    } else {
      if (operation.all) return missing("INTERSECT ALL and EXCEPT ALL");
      HAILSTONE_ASSIGN(rows, with_partners(node, operation, std::move(inputs)));
    }
    std::vector<ColumnId> keys;
    for (const Column& column : node.columns) keys.push_back(column.id);
    return grouped(node, {}, keys, std::move(rows));
  }
  /// Rows of the first input that the second one has, or has not got.
  Result<Rows> with_partners(const Node& node, const SetOperation& operation,
                             std::vector<std::unique_ptr<RowBatches>> inputs) {
    Rows left = in_order(node.columns, std::move(inputs[0]));
    Rows right = in_order(node.columns, std::move(inputs[1]));
    JoinPlan plan{.kind = operation.kind == SetOperation::Kind::Intersect ? JoinPlan::Kind::Semi
                                                                          : JoinPlan::Kind::Anti};
    for (uint16_t i = 0; i < node.columns.size(); ++i) {
      plan.keys.push_back(
          {.probe = i, .build = static_cast<uint16_t>(node.columns.size() + i), .nulls_are_equal = true});
    }
    return joined(node, std::move(left), std::move(right), {}, {}, std::move(plan));
  }

  Result<std::shared_ptr<Materialization>> materialize(std::unique_ptr<RowBatches> rows,
                                                       OperatorCounts* counts) {
    const MemoryBudget& budget = rows->host().budget();
    const Materialization::Memory memory{.share = query_memory(budget),
                                         .floor = floor_part(budget, FloorPart::GroupRecords) / groupings_};
    return Materialization::make(std::move(rows), memory, threads_, counts);
  }
  Result<Rows> of(const Node& node, const Materialize& materialized, const ColumnSet&) {
    std::shared_ptr<Materialization>& made = made_[node.inputs[0].get()];
    if (made == nullptr) {
      HAILSTONE_ASSIGN(auto rows, in_order(node.inputs[0]));
      HAILSTONE_ASSIGN(made, materialize(std::move(rows), counts_of(node)));
    }
    return in_order(materialized.columns, std::make_unique<MaterializedRows>(made));
  }
  Result<Rows> of(const Node&, const Recurse&, const ColumnSet&) { return missing("recursion"); }
  Result<Rows> of(const Node&, const RoundRows&, const ColumnSet&) { return missing("recursion"); }

  TableSource& tables_;
  const unsigned threads_;
  std::unique_ptr<std::deque<Query::Counted>> counts_;
  size_t groupings_ = 0;  // and others with a part of their memory
  std::shared_ptr<JoinMemory> join_memory_;
  std::unordered_map<const Node*, std::shared_ptr<Materialization>> made_;  // by their inputs
};

Result<std::unique_ptr<RowBatches>> TableSource::host_rows(std::string_view table) {
  return fail(ErrorCode::Unsupported, fmt::format("nobody gives the rows of {}", table));
}

Result<std::unique_ptr<Query>> Query::make(const Plan& plan, TableSource& tables, unsigned threads) {
  return Lowering::make(plan, tables, threads);
}

const OperatorCounts* Query::counts(const Node& node) const {
  for (const Counted& counted : *counts_) {
    if (counted.node == &node) return &counted.counts;
  }
  return nullptr;
}

}  // namespace hailstone::plan

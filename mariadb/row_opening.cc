// Opens the rows of a RowBlock: scans, joins, what is computed of them.
#include <utility>

#include "base/check.h"
#include "item_parts.h"
#include "query/query_memory.h"
#include "query_history.h"
#include "row_block.h"
#include "statement_items.h"

namespace hailstone {

namespace {

/// As what the server gives values of the column of a number.
ServerValue kind_of_column(const ScanColumn& column, const RowExpression& expression) {
  if (!column.integer) return ServerValue::Exact;
  // A DECIMAL may be wanted as DOUBLE.
  const bool is_real = column.type == Type::Double && expression.item->cmp_type() != REAL_RESULT;
  return is_real ? ServerValue::Real : ServerValue::Number;
}

}  // namespace

/// What the scans read.
std::vector<uint16_t> RowBlock::scanned_columns() const {
  if (compares_pairs) return columns.numbers();
  std::vector<const Field*> read;
  const auto add = [&](Item& item) {
    for (const Item_field* const column : columns_read_by(item)) read.push_back(column->field);
  };
  const auto add_evaluated = [&](const Conditions& conditions) {
    for (Item* const item : conditions.evaluated) add(*item);
  };
  add_evaluated(rest);
  const auto add_side = [&](const auto& add_sides, const Join& side) -> void {
    add_evaluated(side.where);
    for (Item* const item : side.on_by_server() ? side.on.all : std::vector<Item*>()) add(*item);
    if (side.source) return;
    for (const Join::ComputedKey& key : side.computed_keys) {
      if (!key.has_program()) add(*key.condition);
    }
    add_sides(add_sides, *side.probe);
    add_sides(add_sides, *side.build);
  };
  if (join != nullptr) add_side(add_side, *join);
  for (const RowExpression& expression : computed) {
    if (!expression.value) add(*expression.item);
  }
  return columns.numbers_without_unread(read);
}

/// Makes the rows of one run.
class RowBlock::Opening {
 public:
  Opening(const RowBlock& block, unsigned threads, BlockRun& run)
      : block_(block), threads_(threads), run_(run), numbers_(block.scanned_columns()) {}

  Result<std::unique_ptr<ComputedRows>> open(const ImageField& image) {
    Computation computation = conditions(block_.rest);
    std::vector<ServerExpressions::Value> by_server, all;
    for (const RowExpression& expression : block_.computed) {
      Field* const field = expression.kind == ServerValue::Image ? image(expression) : nullptr;
      ServerExpressions::Value value{.item = expression.item,
                                     .kind = expression.kind,
                                     .field = field,
                                     .is_moment = expression.is_moment(),
                                     .decimals = expression.decimals()};
      Computation::Column column;
      if (expression.value) {
        computation.values = block_.values;
        column.result = expression.result;
        if ((*expression.value)->values == ValueKind::Text) {
          // Of a presence, there is the text itself.
          if (value.kind == ServerValue::Presence) value.kind = ServerValue::Text;
          HAILSTONE_ASSIGN(column.type, ServerExpressions::type_of(value));
        } else {
          column.type = column_of_number(expression);
          if (!expression.is_moment()) {
            value.kind = kind_of_column(column.type, expression);
            value.field = nullptr;
          }
        }
      } else {
        HAILSTONE_ASSIGN(column.type, ServerExpressions::type_of(value));
        by_server.push_back(value);
      }
      computation.columns.push_back(column);
      all.push_back(value);
    }
    if (!block_.rest.evaluated.empty() || !by_server.empty())
      computation.host = by_host(block_.rest.evaluated, by_server);
    if (computation.conditions != nullptr || computation.values != nullptr)
      computation.fallback = by_host(block_.rest.all, all);
    std::unique_ptr<RowBatches> source;
    if (block_.join == nullptr) {
      HAILSTONE_ASSIGN(Scans scans, open_scans(0, numbers_));
      source = std::make_unique<ScannedBatches>(std::move(scans));
    } else {
      if (block_.watch != nullptr) block_.watch->begin();
      HAILSTONE_ASSIGN(source, open_side(*block_.join, {}));
    }
    auto rows = std::make_unique<ComputedRows>(std::move(source), block_.width(), std::move(computation));
    RowCounts counts = row_counts(run_);
    if (block_.join != nullptr) counts.scan = nullptr;
    rows->count_in(counts);
    return rows;
  }

 private:
  std::shared_ptr<ServerExpressions> by_host(const std::vector<Item*>& checked,
                                             const std::vector<ServerExpressions::Value>& values) const {
    std::vector<bool> scaled;
    for (const uint16_t number : numbers_) scaled.push_back(is_scaled(number));
    return std::make_shared<ServerExpressions>(block_.columns.shared_sources(), block_.columns.fields(),
                                               scaled, checked, values, block_.keys_have_failed,
                                               block_.evaluations);
  }

  /// Those that a program checks.
  Computation conditions(const Conditions& of) const {
    Computation computation;
    if (!of.passes) return computation;
    computation.conditions = of.program;
    computation.passes = *of.passes;
    return computation;
  }

  Result<Scans> open_scans(size_t number, const std::vector<uint16_t>& columns) const {
    std::optional<Scans> scans;
    const SourceTables::Source& source = block_.columns.sources().all()[number];
    // Partitions may have been ruled out since.
    if (hailstone::open_scans(readers_of(*source.table), block_.predicates[number], columns, scans) != 0)
      return fail(ErrorCode::Deadlock, "the transaction has been rolled back");
    HAILSTONE_ASSIGN(auto memory, run_.memory());
    scans->take_memory_from(std::move(memory));
    return std::move(*scans);
  }

  /// `above`: positions of keys of the joins above.
  Result<std::unique_ptr<RowBatches>> open_side(const Join& side, const std::vector<uint16_t>& above) {
    std::unique_ptr<RowBatches> rows;
    if (side.source) {
      HAILSTONE_ASSIGN(rows, open_table(*side.source));
    } else {
      HAILSTONE_ASSIGN(rows, open_join(side, above));
    }
    Computation computation = conditions(side.where);
    if (!side.where.evaluated.empty()) computation.host = by_host(side.where.evaluated, {});
    if (computation.conditions != nullptr) computation.fallback = by_host(side.where.all, {});
    if (computation.is_empty()) return rows;
    return std::make_unique<ComputedRows>(std::move(rows), block_.width(), std::move(computation));
  }

  Result<std::unique_ptr<RowBatches>> open_table(size_t number) {
    std::vector<uint16_t> positions, columns;
    for (uint16_t i = 0; i < numbers_.size(); ++i) {
      if (block_.columns.source_at(i) != number) continue;
      positions.push_back(i);
      columns.push_back(numbers_[i]);
    }
    HAILSTONE_ASSIGN(Scans scans, open_scans(number, columns));
    auto rows = std::make_unique<ScannedBatches>(std::move(scans), std::move(positions), block_.width());
    if (OperatorCounts* const counts = run_.counts(Operator::Scan, scans_++); counts != nullptr)
      rows->count_scan_in(*counts);
    return rows;
  }

  Result<std::unique_ptr<RowBatches>> open_join(const Join& side, const std::vector<uint16_t>& above) {
    OperatorCounts* const counts = run_.counts(Operator::Join, joins_++);
    JoinPlan plan{.kind = side.kind,
                  .keys = side.keys,
                  .probe_first = !block_.compares_pairs && side.reads_probe_first(),
                  .width = block_.width()};
    std::vector<uint16_t> probe_above = above, build_above = above;
    for (const JoinPlan::Key& key : side.keys) {
      probe_above.push_back(key.probe);
      build_above.push_back(key.build);
    }
    const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    for (const Join::ComputedKey& key : side.computed_keys) {
      append(probe_above, key.probe_reads);
      append(build_above, key.build_reads);
    }
    HAILSTONE_ASSIGN(auto probe, open_side(*side.probe, probe_above));
    HAILSTONE_ASSIGN(auto build, open_side(*side.build, build_above));
    const bool uses_programs = !block_.compares_pairs || !side.programs_may_end();
    std::vector<Item*> compared;
    HAILSTONE_TRY(add_computed_keys(side, uses_programs, probe, build, plan.keys, compared));
    if (side.range && uses_programs) plan.range = add_range(side, probe, build);
    std::vector<Item*> conditions = side.on.all;
    append(conditions, compared);
    if (side.kind != JoinPlan::Kind::Semi || !conditions.empty())
      add_columns_of(*side.build, above, plan.from_build);
    if (!block_.compares_pairs) add_only_keys_of(side, above, plan.left_behind);
    if (!conditions.empty()) plan.host = by_host(conditions, {});
    if (compared.empty() && !side.on_by_server() && side.on.passes) {
      plan.conditions = side.on.program;
      plan.passes = *side.on.passes;
    }
    if (memory_ == nullptr) {
      const MemoryBudget& budget = probe->host().budget();
      memory_ = std::make_shared<JoinMemory>(query_memory(budget), joins_of(*block_.join),
                                             floor_part(budget, FloorPart::JoinTables));
    }
    HAILSTONE_ASSIGN(auto join, HashJoin::make(std::move(probe), std::move(build), std::move(plan), memory_,
                                               threads_, counts));
    if (!block_.compares_pairs && block_.watch != nullptr)
      join->watch_build(
          block_.watch->watch({.probe = side.probe->tables(),
                               .build = side.build->tables(),
                               .rows = side.build->rows_out,
                               .scanned = side.build->source ? static_cast<double>(side.build->rows) : 0}));
    return std::unique_ptr<RowBatches>(std::move(join));
  }

  static Result<Computation::Column> column_of_key(const Join::ComputedKey& key, bool is_of_build,
                                                   const Program& program) {
    const Program::Register result = is_of_build ? key.build : key.probe;
    if (key.is_huge) {
      const ScanColumn type{.integer = false,
                            .type = Type::OrderedBytes,
                            .width = sizeof(HugeInteger),
                            .collation = &binary_collation()};
      return Computation::Column{.type = type, .result = result};
    }
    if (program.kind(result) != ValueKind::Text) return Computation::Column::of(program, result);
    HAILSTONE_CHECK(key.by_server.has_value(), "texts are equal by what no equality of the server has");
    HAILSTONE_ASSIGN(const ScanColumn type, key.by_server->type_of(key.side(is_of_build)));
    return Computation::Column{.type = type, .result = result};
  }

  /// Puts what keys are computed to behind the columns of each side's rows; the join drops it again.
  /// `conditions` gets those that stay for pairs.
  Status add_computed_keys(const Join& join, bool uses_programs, std::unique_ptr<RowBatches>& probe,
                           std::unique_ptr<RowBatches>& build, std::vector<JoinPlan::Key>& keys,
                           std::vector<Item*>& conditions) const {
    Computation of_probe{.has_failed = block_.keys_have_failed},
        of_build{.has_failed = block_.keys_have_failed};
    std::vector<ServerExpressions::Value> server_probe, server_build;
    const auto add_by_server = [](const Join::ComputedKey& key, bool is_of_build, Computation& to,
                                  std::vector<ServerExpressions::Value>& values) -> Status {
      values.push_back(
          {.item = &key.side(is_of_build), .kind = ServerValue::Equal, .equal = &*key.by_server});
      HAILSTONE_ASSIGN(const ScanColumn type, ServerExpressions::type_of(values.back()));
      to.columns.push_back(Computation::Column::of_host(type));
      return {};
    };
    for (const Join::ComputedKey& key : join.computed_keys) {
      const auto position = static_cast<uint16_t>(block_.width() + of_probe.columns.size());
      if (key.has_program() && uses_programs) {
        of_probe.values = join.probe_values;
        of_build.values = join.build_values;
        HAILSTONE_ASSIGN(auto of_probe_side, column_of_key(key, false, *join.probe_values));
        HAILSTONE_ASSIGN(auto of_build_side, column_of_key(key, true, *join.build_values));
        of_probe.columns.push_back(of_probe_side);
        of_build.columns.push_back(of_build_side);
      } else if (key.by_server && (!block_.compares_pairs || key.raises_nothing)) {
        HAILSTONE_TRY(add_by_server(key, false, of_probe, server_probe));
        HAILSTONE_TRY(add_by_server(key, true, of_build, server_build));
      } else {
        conditions.push_back(key.condition);
        continue;
      }
      keys.push_back({.probe = position, .build = position, .nulls_are_equal = key.nulls_are_equal});
    }
    if (of_probe.columns.empty()) return {};
    if (!server_probe.empty()) {
      of_probe.host = by_host({}, std::move(server_probe));
      of_build.host = by_host({}, std::move(server_build));
    }
    probe = std::make_unique<ComputedRows>(std::move(probe), block_.width(), std::move(of_probe));
    build = std::make_unique<ComputedRows>(std::move(build), block_.width(), std::move(of_build));
    return {};
  }

  /// The same of the numbers of a range.
  JoinPlan::Range add_range(const Join& join, std::unique_ptr<RowBatches>& probe,
                            std::unique_ptr<RowBatches>& build) const {
    Computation of_probe{.has_failed = block_.keys_have_failed},
        of_build{.has_failed = block_.keys_have_failed};
    of_probe.values = join.probe_values;
    of_build.values = join.build_values;
    const auto add = [&](Computation& to, Program::Register number) -> std::optional<uint16_t> {
      if (number == Program::none) return std::nullopt;
      to.columns.push_back(Computation::Column::of(*to.values, number));
      return static_cast<uint16_t>(block_.width() + to.columns.size() - 1);
    };
    const JoinPlan::Range range{.build = *add(of_build, join.range->number),
                                .end = add(of_build, join.range->end),
                                .least = add(of_probe, join.range->least),
                                .greatest = add(of_probe, join.range->greatest)};
    probe = std::make_unique<ComputedRows>(std::move(probe), block_.width(), std::move(of_probe));
    build = std::make_unique<ComputedRows>(std::move(build), block_.width(), std::move(of_build));
    return range;
  }

  static size_t joins_of(const Join& side) {
    return side.source ? 0 : 1 + joins_of(*side.probe) + joins_of(*side.build);
  }

  /// The positions of what is read of a side's tables behind a join.
  void add_columns_of(const Join& side, const std::vector<uint16_t>& above, std::vector<uint16_t>& to) const {
    if (!side.source) {
      add_columns_of(*side.probe, above, to);
      if (side.kind != JoinPlan::Kind::Semi) add_columns_of(*side.build, above, to);
      return;
    }
    for (uint16_t i = 0; i < numbers_.size(); ++i) {
      if (block_.columns.source_at(i) != *side.source) continue;
      // Conditions read what keys would be computed of.
      const bool for_keys =
          !block_.compares_pairs && std::ranges::find(block_.only_for_keys, i) != block_.only_for_keys.end();
      if (!for_keys || std::ranges::find(above, i) != above.end()) to.push_back(i);
    }
  }

  /// The positions of what only this join reads of its probe side's tables.
  void add_only_keys_of(const Join& side, const std::vector<uint16_t>& above,
                        std::vector<uint16_t>& to) const {
    for (const JoinPlan::Key& key : side.keys) {
      const bool for_keys = std::ranges::find(block_.only_for_keys, key.probe) != block_.only_for_keys.end();
      if (for_keys && std::ranges::find(above, key.probe) == above.end()) to.push_back(key.probe);
    }
  }

  const RowBlock& block_;
  const unsigned threads_;
  BlockRun& run_;
  const std::vector<uint16_t> numbers_;
  size_t scans_ = 0, joins_ = 0;  // opened so far, in the order of row_plan()
  std::shared_ptr<JoinMemory> memory_;
};

Result<std::unique_ptr<ComputedRows>> RowBlock::open(unsigned threads, BlockRun& run,
                                                     const ImageField& image) const {
  return Opening(*this, threads, run).open(image);
}

}  // namespace hailstone

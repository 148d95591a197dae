// Plans as text.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "expression/expression_text.h"
#include "plan/plan_text.h"
#include "plan/text_words.h"

namespace hailstone::plan {

namespace {

std::string stored_text(const ScanColumn& stored) {
  std::string text;
  switch (stored.type) {
    case Type::Signed:
      text = fmt::format("int{}", stored.width);
      break;
    case Type::Unsigned:
      text = fmt::format("uint{}", stored.width);
      break;
    case Type::Float:
      text = "float";
      break;
    case Type::Double:
      text = "double";
      break;
    case Type::OrderedBytes:
      text = fmt::format("bytes({})", stored.width);
      break;
    case Type::Char:
      text = fmt::format("char({})", stored.width);
      break;
    case Type::Varchar:
      text = fmt::format("varchar({})", stored.width);
      break;
    case Type::Blob:
      text = "blob";
      break;
  }
  if (stored.collation != nullptr && stored.collation->id() != binary_collation_id)
    text += fmt::format(" collate {}", stored.collation->id());
  return text;
}

std::string declared_text(const SqlType& type, const Collation* of_column) {
  std::string text(std::ranges::find(sql_words, type.kind, &SqlWord::kind)->word);
  if (type.is_unsigned) text += " unsigned";
  // All that tells one type from another, whether or not it means anything for the kind.
  text += fmt::format("({}, {}, {})", type.digits, type.scale, type.characters);
  const Collation* const usual = type.kind == SqlType::Kind::Text ? of_column : nullptr;
  if (type.collation != usual)
    text += type.collation == nullptr ? " no collation" : fmt::format(" collate {}", type.collation->id());
  if (!type.is_nullable) text += " not null";
  if (type.gives_way) text += " gives way";
  return text;
}

std::string type_text(const Column& column) {
  std::string text = stored_text(column.stored);
  const ValueType& type = column.type;
  if (type == usual_type(column.stored)) return text;
  text += fmt::format(" as {}", declared_text(type.sql, column.stored.collation));
  if (type == type_of(type.sql)) return text;
  text += fmt::format(" held {}{}({}, {})", std::ranges::find(value_words, type.kind, &ValueWord::kind)->word,
                      type.is_unsigned ? " unsigned" : "", type.whole_digits, type.scale);
  if (type.scale_is == ValueType::Scale::SureUnlessZero) text += " unless zero";
  if (type.scale_is == ValueType::Scale::Unsure) text += " unsure";
  return text;
}

class Printer {
 public:
  explicit Printer(const Plan& plan, const NodeNote& note = {}, bool shows_types = true)
      : note_(note), shows_types_(shows_types) {
    each_node(plan, [this](const Plan& node) { add_names(*node); });
  }
  explicit Printer(const Node& node) {
    for (const Plan& input : node.inputs) add_names(*input);
    add_names(node);
  }

  void print(const Plan& plan, size_t depth, std::string& to) {
    const auto* const materialize = as<Materialize>(plan);
    bool is_shown = false;
    size_t number = 0;
    if (materialize != nullptr) {
      const auto [at, is_new] = made_.emplace(plan->inputs[0].get(), made_.size() + 1);
      number = at->second;
      is_shown = !is_new;
    }
    to.append(2 * depth, ' ');
    to += line(*plan, number);
    if (const std::string note = note_ ? note_(*plan) : std::string(); !note.empty()) to += "  -- " + note;
    to += '\n';
    if (is_shown) return;
    for (const Plan& input : plan->inputs) print(input, depth + 1, to);
  }

  /// `made`: of a Materialize, the number of what it reads.
  std::string line(const Node& node, size_t made) {
    std::string text(name_of(node.operation));
    std::visit([&](const auto& operation) { of(operation, text); }, node.operation);
    if (const auto* const materialize = std::get_if<Materialize>(&node.operation))
      text += fmt::format(" {} {}", made, defined(materialize->columns, false));
    return text;
  }

 private:
  void add_names(const Node& node) {
    for (const Column& column : node.columns) names_.emplace(column.id, column.name);
  }

  static std::string name(std::string_view name, ColumnId id) {
    return fmt::format("{}#{}", quoted_name(name), id);
  }
  static std::string name(const Column& column) { return name(column.name, column.id); }
  std::string name(ColumnId id) const {
    const auto found = names_.find(id);
    return name(found == names_.end() ? std::string_view("?") : found->second, id);
  }
  std::string text_of(const Expression& expression) const {
    return hailstone::to_text(expression, [this](uint16_t id) { return name(id); });
  }
  template <typename List, typename Text>
  static std::string listed(const List& list, const Text& text) {
    std::string all;
    for (const auto& each : list) all += fmt::format("{}{}", all.empty() ? "" : ", ", text(each));
    return all;
  }
  std::string ids(const std::vector<ColumnId>& list) const {
    return listed(list, [this](ColumnId id) { return name(id); });
  }
  std::string order_text(const std::vector<SortKey>& order) const {
    return listed(order, [this](const SortKey& key) {
      return fmt::format("{}{}", name(key.column), key.descending ? " desc" : "");
    });
  }
  std::string defined(const std::vector<Column>& columns, bool with_types) const {
    with_types = with_types && shows_types_;
    return fmt::format("({})", listed(columns, [with_types](const Column& column) {
                         return with_types ? fmt::format("{} {}", name(column), type_text(column))
                                           : name(column);
                       }));
  }
  std::string aggregate_text(hailstone::Aggregate::Kind kind, const std::optional<ColumnId>& argument,
                             bool distinct) const {
    const auto word = std::ranges::find(aggregate_words, kind, &AggregateWord::kind);
    return fmt::format("{}({}{})", word->word, distinct ? "distinct " : "", argument ? name(*argument) : "");
  }
  std::string texts(const std::vector<Expression>& expressions) const {
    return listed(expressions, [this](const Expression& each) { return text_of(each); });
  }
  void add_conditions(const std::vector<Expression>& conditions, std::string& text) const {
    if (!conditions.empty()) text += fmt::format(" {}", texts(conditions));
  }

  void of(const Scan& scan, std::string& text) const {
    text += fmt::format(" {} {}", quoted_name(scan.table), defined(scan.columns, true));
  }
  void of(const HostScan& scan, std::string& text) const {
    text += fmt::format(" {} {}", quoted_name(scan.table), defined(scan.columns, true));
  }
  void of(const Values& values, std::string& text) const {
    text += fmt::format(" {}", defined(values.columns, true));
    for (const std::vector<Expression>& row : values.rows) text += fmt::format(" ({})", texts(row));
  }
  void of(const Filter& filter, std::string& text) const { add_conditions(filter.conditions, text); }
  void of(const Project& project, std::string& text) const {
    text += fmt::format(" {}", listed(project.items, [this](const Project::Item& item) {
                          if (item.is_kept()) return name(item.column);
                          const Column& column = item.column;
                          // NULL says nothing of its type.
                          const bool is_usual = !item.value.is_null() &&
                                                column == computed_column(column.id, column.name, item.value);
                          return fmt::format("{}{}{} := {}", name(column), is_usual ? "" : " ",
                                             is_usual || !shows_types_ ? "" : type_text(column),
                                             text_of(item.value));
                        }));
  }
  void of(const Join& join, std::string& text) const { of_join(join.kind, join.mark, join.conditions, text); }
  void of(const Apply& apply, std::string& text) const {
    of_join(apply.kind, apply.mark, apply.conditions, text);
  }
  void of_join(JoinKind kind, const std::optional<Column>& mark, const std::vector<Expression>& conditions,
               std::string& text) const {
    text = fmt::format("{} {}", name_of(kind), text);
    if (mark) text += fmt::format(" {}:", name(*mark));
    add_conditions(conditions, text);
  }
  void of(const Aggregate& aggregate, std::string& text) const {
    text += fmt::format(" ({})", ids(aggregate.keys));
    if (!aggregate.aggregates.empty()) {
      text += fmt::format(" {}", listed(aggregate.aggregates, [this](const Aggregate::Item& item) {
                            return fmt::format("{} := {}", name(item.column),
                                               aggregate_text(item.kind, item.argument, item.distinct));
                          }));
    }
    if (aggregate.sets.empty()) return;
    text += fmt::format(" sets {}", listed(aggregate.sets, [this](const std::vector<ColumnId>& set) {
                          return fmt::format("({})", ids(set));
                        }));
  }
  void of(const Window& window, std::string& text) const {
    text += fmt::format(" ({}) order ({}) ", ids(window.partition), order_text(window.order));
    text += listed(window.items, [this](const Window::Item& item) {
      const auto word = std::ranges::find(window_words, item.kind, &WindowWord::kind);
      const std::string made = word == window_words.end()
                                   ? aggregate_text(item.aggregate, item.argument, false)
                                   : fmt::format("{}()", word->word);
      return fmt::format("{} := {}", name(item.column), made);
    });
  }
  void of(const Sort& sort, std::string& text) const { text += fmt::format(" {}", order_text(sort.order)); }
  static void of(const Limit& limit, std::string& text) {
    if (limit.most) text += fmt::format(" {}", *limit.most);
    if (limit.offset != 0) text += fmt::format(" offset {}", limit.offset);
    if (limit.with_ties) text += " with ties";
  }
  void of(const SetOperation& operation, std::string& text) {
    text += fmt::format(" {} {}", operation.all ? "all" : "distinct", defined(operation.columns, false));
  }
  static void of(const Materialize&, std::string&) {}
  void of(const Recurse& recurse, std::string& text) {
    text += fmt::format(" {} {} {}", recurse.number, recurse.all ? "all" : "distinct",
                        defined(recurse.columns, false));
  }
  void of(const RoundRows& rows, std::string& text) {
    text += fmt::format(" {} {}", rows.number, defined(rows.columns, true));
  }

  NodeNote note_ = {};
  bool shows_types_ = true;
  std::map<ColumnId, std::string> names_;
  std::map<const Node*, size_t> made_;  // inputs of Materialize, and their numbers
};

}  // namespace

std::string to_text(const Plan& plan) {
  std::string text;
  Printer(plan).print(plan, 0, text);
  return text;
}

std::string explained(const Plan& plan, const NodeNote& note) {
  std::string text;
  Printer(plan, note, /*shows_types=*/false).print(plan, 0, text);
  return text;
}

std::string node_text(const Node& node) { return Printer(node).line(node, 1); }

}  // namespace hailstone::plan

#include "plan/query_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "expression/expression_lexer.h"
#include "plan/expressions.h"

namespace hailstone::plan {

namespace {

using Kind = hailstone::Aggregate::Kind;

/// A division by zero is NULL, and nothing is told of it.
const LanguageSettings settings{.tells_zero = false};

std::unexpected<Error> wrong(std::string_view text, std::string_view why) {
  return fail(ErrorCode::InvalidArgument, fmt::format("'{}': {}", text, why));
}
/// The error with the text that it is of.
template <typename T>
Result<T> of_text(Result<T> result, std::string_view text) {
  if (result) return result;
  return fail(result.error().code(), fmt::format("'{}': {}", text, result.error().message()));
}

/// Of what is to be equal, or in an order.
Status check_comparable(std::string_view text, const Expression& value) {
  const SqlType& type = value.sql();
  if (type.kind != SqlType::Kind::Text || type.collation == nullptr || type.collation->has_weights())
    return {};
  return fail(ErrorCode::Unsupported,
              fmt::format("'{}': only the program that made the table knows the text's collation; CAST(… AS "
                          "BINARY) makes bytes of it, which have an order",
                          text));
}

bool is_name(const Token& token) {
  return token.kind == Token::Kind::Word || token.kind == Token::Kind::Name;
}

bool is_truth(const Expression& value) {
  if (value->kind == Expression::Kind::Matches) return true;
  if (value->kind != Expression::Kind::Call || value.sql().digits != 1) return false;
  switch (value->function) {
    case Function::Equal:
    case Function::NotEqual:
    case Function::Less:
    case Function::LessEqual:
    case Function::Greater:
    case Function::GreaterEqual:
    case Function::SameOrNull:
    case Function::Between:
    case Function::Passes:
    case Function::Among:
    case Function::InList:
    case Function::And:
    case Function::Or:
    case Function::Not:
    case Function::IsTrue:
    case Function::IsNull:
      return true;
    default:
      return false;
  }
}

/// Of "*" and "t.*": t, or an empty text; nothing: it is something else.
Result<std::optional<std::string>> all_of_qualifier(std::string_view text) {
  ExpressionLexer words(text);
  std::string qualifier;
  if (is_name(words.token()) && words.is_before(".")) {
    qualifier = words.token().text;
    words.advance();
    words.advance();
  }
  if (!is_sign(words.token(), "*")) return std::nullopt;
  words.advance();
  if (words.token().kind != Token::Kind::End) return wrong(text, "nothing may stand behind *");
  return qualifier;
}

/// An aggregate, up to its argument.
struct Asked {
  enum class What : uint8_t { Count, Sum, Mean, Minimum, Maximum };
  What what = What::Count;
  bool of_rows = false;  // COUNT(*)
  bool distinct = false;
  std::string_view rest = {};  // from the argument on, or behind *
};
Result<Asked> asked_aggregate(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, Asked::What>, 5> names{
      {{"COUNT", Asked::What::Count},
       {"SUM", Asked::What::Sum},
       {"AVG", Asked::What::Mean},
       {"MIN", Asked::What::Minimum},
       {"MAX", Asked::What::Maximum}}};
  ExpressionLexer words(text);
  const auto found =
      std::ranges::find_if(names, [&](const auto& name) { return is_word(words.token(), name.first); });
  if (found == names.end() || !words.is_before("("))
    return wrong(text, "an aggregate is COUNT, SUM, AVG, MIN or MAX of something in parentheses");
  Asked asked{.what = found->second};
  words.advance();
  words.advance();
  if (is_sign(words.token(), "*")) {
    if (asked.what != Asked::What::Count) return wrong(text, "only COUNT takes *");
    asked.of_rows = true;
    words.advance();
  } else if (is_word(words.token(), "DISTINCT")) {
    asked.distinct = true;
    words.advance();
  }
  asked.rest = text.substr(std::min(text.size(), words.token().position));
  return asked;
}

Kind kind_of(const Asked& asked) {
  switch (asked.what) {
    case Asked::What::Count:
      return asked.of_rows ? Kind::Rows : Kind::Values;
    case Asked::What::Sum:
    case Asked::What::Mean:
      return Kind::Sum;
    case Asked::What::Minimum:
      return Kind::Minimum;
    case Asked::What::Maximum:
      return Kind::Maximum;
  }
  std::unreachable();
}

/// Signed, as the server has it: COUNT(*) - 10 may be below 0.
ValueType type_of_count() {
  constexpr unsigned digits = 19;
  ValueType type{.whole_digits = digits, .sql = SqlType::integer(digits)};
  type.sql.is_nullable = false;
  return type;
}

/// Values that stand for each other in a union. Numbers become such of a type that has room for both.
Result<std::pair<Expression, Expression>> in_one_form(const NamedColumn& left, const NamedColumn& right) {
  const SqlType &one = left.value.sql(), &other = right.value.sql();
  const bool are_texts =
      one.kind == SqlType::Kind::Text && other.kind == one.kind && one.collation == other.collation;
  if (are_texts || (left.mark == right.mark && left.value->column == right.value->column &&
                    left.value->of_column == right.value->of_column &&
                    left.value.type().scale == right.value.type().scale && one.kind == other.kind))
    return std::pair(left.value, right.value);
  if (!one.is_number() || !other.is_number())
    return fail(ErrorCode::InvalidArgument,
                fmt::format("column '{}' is {}, and '{}', which is united with it, {}: CAST one of them",
                            left.name, to_text(one), right.name, to_text(other)));
  HAILSTONE_ASSIGN(const Expression either, sql_call("COALESCE", {left.value, right.value}, settings));
  const SqlType& common = either.sql();
  const std::string word = common.is_real() ? "DOUBLE"
                           : common.kind == SqlType::Kind::Decimal
                               ? to_text(SqlType::decimal(common.digits, common.scale))
                           : common.is_unsigned ? "UNSIGNED"
                                                : "SIGNED";
  HAILSTONE_ASSIGN(Expression first, sql_call("CAST", {left.value}, settings, word));
  HAILSTONE_ASSIGN(Expression second, sql_call("CAST", {right.value}, settings, word));
  return std::pair(std::move(first), std::move(second));
}

/// The same of another column, which is stored alike.
Expression of_other(const Expression& value, const Column& column) {
  return replaced(value, [&](ColumnId) { return std::optional(read(column)); });
}

}  // namespace

class QueryBuilder::Names final : public ColumnResolver {
 public:
  /// `others`: what has no name among the columns.
  explicit Names(std::span<const NamedColumn> columns, std::span<const NamedColumn> others = {})
      : columns_(columns), others_(others) {}

  Result<Expression> resolve(const ColumnName& name) const override {
    HAILSTONE_ASSIGN(const NamedColumn* const column, find(name));
    return column->value;
  }
  Result<const NamedColumn*> find(const ColumnName& name) const {
    for (const std::span<const NamedColumn> columns : {columns_, others_}) {
      HAILSTONE_ASSIGN(const NamedColumn* const found, find_among(columns, name));
      if (found != nullptr) return found;
    }
    return fail(ErrorCode::NotFound, fmt::format("there is no column {}", shown(name)));
  }
  /// The column that has exactly this value; null: none has.
  const NamedColumn* of_value(const Expression& value) const {
    for (const std::span<const NamedColumn> columns : {columns_, others_}) {
      const auto found = std::ranges::find(columns, value, &NamedColumn::value);
      if (found != columns.end()) return &*found;
    }
    return nullptr;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const NamedColumn& column : columns_) names.push_back(column.name);
    for (const NamedColumn& column : others_) names.push_back(column.name);
    return names;
  }

 private:
  /// Null: there is none. Of several whose names are one in another case, the one that is meant to the
  /// letter.
  static Result<const NamedColumn*> find_among(std::span<const NamedColumn> columns, const ColumnName& name) {
    const NamedColumn *found = nullptr, *other = nullptr;
    for (const NamedColumn& column : columns) {
      if (name.id ? column.value->position != *name.id : !is_same_name(column.name, name.name)) continue;
      if (!name.qualifier.empty() && !is_same_name(column.qualifier, name.qualifier)) continue;
      const bool is_better = found != nullptr && column.name == name.name && found->name != name.name;
      if (found == nullptr || is_better) {
        found = &column;
        other = nullptr;
      } else if ((column.name == name.name || found->name != name.name) && !(column.value == found->value)) {
        other = &column;
      }
    }
    if (other == nullptr) return found;
    return fail(ErrorCode::InvalidArgument, fmt::format("column {} is there twice: as {} and as {}",
                                                        name.name, shown(*found), shown(*other)));
  }
  static std::string shown(const NamedColumn& column) {
    return column.qualifier.empty() ? column.name : fmt::format("{}.{}", column.qualifier, column.name);
  }
  static std::string shown(const ColumnName& name) {
    return name.qualifier.empty() ? name.name : fmt::format("{}.{}", name.qualifier, name.name);
  }
  const std::span<const NamedColumn> columns_, others_;
};

/// Reads the texts of one call, whose parameters stand in their order.
class QueryBuilder::Reader {
 public:
  Reader(std::span<const NamedColumn> columns, const Parameters& parameters,
         std::span<const NamedColumn> others = {})
      : names_(columns, others), parameters_(parameters) {}

  Result<Expression> take(std::string_view& text) {
    const std::string_view whole = text;
    Result<Expression> taken = take_expression(text, names_, parameters_, settings);
    // Those that it has used up.
    for (ExpressionLexer words(whole.substr(0, whole.size() - text.size()));
         words.token().kind != Token::Kind::End && words.token().kind != Token::Kind::Wrong;
         words.advance()) {
      if (words.token().kind == Token::Kind::Parameter && words.token().text.empty() &&
          !parameters_.in_order.empty())
        parameters_.in_order.erase(parameters_.in_order.begin());
    }
    return taken;
  }
  Result<Expression> whole(std::string_view text) {
    std::string_view rest = text;
    HAILSTONE_ASSIGN(Expression value, of_text(take(rest), text));
    if (ExpressionLexer words(rest); words.token().kind != Token::Kind::End)
      return wrong(text, fmt::format("nothing may stand behind it, but '{}' does", rest));
    return value;
  }
  /// The value AS name; without a name, its text, or the column's name.
  Result<Item> item(std::string_view text) {
    std::string_view rest = text;
    HAILSTONE_ASSIGN(Expression value, of_text(take(rest), text));
    HAILSTONE_ASSIGN(std::string name, name_behind(text, rest));
    if (name.empty()) name = name_of(value, text.substr(0, text.size() - rest.size()));
    return Item{std::move(name), std::move(value)};
  }
  /// What AS gives; empty: there is none.
  static Result<std::string> name_behind(std::string_view text, std::string_view rest) {
    ExpressionLexer words(rest);
    if (words.token().kind == Token::Kind::End) return std::string();
    if (!is_word(words.token(), "AS"))
      return wrong(text, fmt::format("AS and a name may stand behind it, but '{}' does", rest));
    words.advance();
    if (!is_name(words.token())) return wrong(text, "a name is to stand behind AS");
    std::string name = words.token().text;
    words.advance();
    if (words.token().kind != Token::Kind::End) return wrong(text, "nothing may stand behind the name");
    return name;
  }
  /// All that were given have been used.
  Status end() const {
    if (parameters_.in_order.empty()) return {};
    return fail(ErrorCode::InvalidArgument,
                fmt::format("{} parameters more were given than there are ? in the texts",
                            parameters_.in_order.size()));
  }

 private:
  std::string name_of(const Expression& value, std::string_view text) const {
    if (const NamedColumn* const column = names_.of_value(value)) return column->name;
    const auto is_space = [](char byte) { return byte == ' ' || byte == '\t' || byte == '\n'; };
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    return std::string(text);
  }

  const Names names_;
  Parameters parameters_;
};

/// The input's columns that are named, and those that were asked for.
struct QueryBuilder::MadeColumns {
  Plan plan;
  std::vector<NamedColumn> asked;
};

Result<ColumnId> ColumnIds::take() {
  if (next_ == no_column) return fail(ErrorCode::InvalidArgument, "queries of more than 65,535 columns");
  return next_++;
}

Result<Column> QueryBuilder::new_column(std::string name, const Expression& value) const {
  HAILSTONE_ASSIGN(const ColumnId id, ids_->take());
  return computed_column(id, std::move(name), value);
}

/// Those that are no columns yet are computed.
Result<QueryBuilder::MadeColumns> QueryBuilder::with_columns(std::span<const Item> items) const {
  MadeColumns made{.plan = plan_, .asked = {}};
  Project project;
  ColumnSet kept;
  for (const NamedColumn& column : columns_) kept.add(column.value->position);
  for (const Item& item : items) {
    if (const NamedColumn* const known = Names(columns_, left_out_).of_value(item.value)) {
      kept.add(known->value->position);
      made.asked.push_back(*known);
      made.asked.back().name = item.name;
      continue;
    }
    HAILSTONE_ASSIGN(const Expression shown, as_shown(item.value));
    HAILSTONE_ASSIGN(const Column column, new_column(item.name, shown));
    project.items.push_back({column, shown});
    made.asked.push_back(
        {.qualifier = {}, .name = item.name, .value = read(column), .is_truth = is_truth(item.value)});
  }
  if (project.items.empty()) return made;
  for (const ColumnId id : kept) {
    const Column& column = *find_column(plan_->columns, id);
    project.items.push_back({column, read(column)});
  }
  made.plan = make(std::move(project), {plan_});
  return made;
}

Status QueryBuilder::filter(std::string_view condition, const Parameters& parameters) {
  Reader reader(columns_, parameters);
  HAILSTONE_ASSIGN(const Expression value, reader.whole(condition));
  HAILSTONE_TRY(reader.end());
  HAILSTONE_ASSIGN(const Expression truth, of_text(as_truth(value), condition));
  plan_ = make(Filter{{truth}}, {plan_});
  left_out_.clear();
  return {};
}

Status QueryBuilder::project(Texts items, const Parameters& parameters) {
  Reader reader(columns_, parameters);
  std::vector<Item> wanted;
  std::vector<std::string> qualifiers;  // of `wanted`
  for (const std::string_view text : items) {
    HAILSTONE_ASSIGN(const auto qualifier, all_of_qualifier(text));
    if (!qualifier) {
      HAILSTONE_ASSIGN(Item item, reader.item(text));
      wanted.push_back(std::move(item));
      qualifiers.emplace_back();
      continue;
    }
    const size_t before = wanted.size();
    for (const NamedColumn& column : columns_) {
      if (!qualifier->empty() && !is_same_name(column.qualifier, *qualifier)) continue;
      wanted.push_back({column.name, column.value});
      qualifiers.push_back(column.qualifier);
    }
    if (wanted.size() == before) return wrong(text, "there is no such column");
  }
  HAILSTONE_TRY(reader.end());
  if (wanted.empty()) return fail(ErrorCode::InvalidArgument, "rows without a column");
  HAILSTONE_ASSIGN(MadeColumns made, with_columns(wanted));
  for (size_t i = 0; i < qualifiers.size(); ++i) made.asked[i].qualifier = qualifiers[i];
  plan_ = std::move(made.plan);
  left_out_ = std::exchange(columns_, std::move(made.asked));
  return {};
}

Status QueryBuilder::join(QueryBuilder& right, JoinKind kind, std::string_view condition,
                          const Parameters& parameters) {
  std::vector<NamedColumn> both = columns_;
  both.insert(both.end(), right.columns_.begin(), right.columns_.end());
  Join join{.kind = kind};
  Reader reader(both, parameters);
  if (!condition.empty()) {
    HAILSTONE_ASSIGN(const Expression value, reader.whole(condition));
    HAILSTONE_ASSIGN(const Expression truth, of_text(as_truth(value), condition));
    add_parts(truth, join.conditions);
  }
  HAILSTONE_TRY(reader.end());
  plan_ = make(std::move(join), {plan_, std::move(right.plan_)});
  if (shows_right(kind)) columns_ = std::move(both);
  left_out_.clear();
  right.columns_.clear();
  return {};
}

Status QueryBuilder::aggregate(Texts keys, Texts aggregates, const Parameters& parameters) {
  Reader reader(columns_, parameters);
  std::vector<Item> read_below;
  for (const std::string_view key : keys) {
    HAILSTONE_ASSIGN(Item item, reader.item(key));
    HAILSTONE_TRY(check_comparable(key, item.value));
    read_below.push_back(std::move(item));
  }
  struct Wanted {
    Asked asked;
    std::string name;
    size_t argument = 0;  // of read_below
  };
  std::vector<Wanted> wanted;
  for (const std::string_view text : aggregates) {
    HAILSTONE_ASSIGN(const Asked asked, asked_aggregate(text));
    std::string_view rest = asked.rest;
    Wanted& each = wanted.emplace_back(asked, std::string(), read_below.size());
    if (!asked.of_rows) {
      HAILSTONE_ASSIGN(Expression argument, of_text(reader.take(rest), text));
      const bool adds = asked.what == Asked::What::Sum || asked.what == Asked::What::Mean;
      if (adds && !argument.sql().is_number())
        return wrong(text,
                     fmt::format("{} cannot be added; CAST makes numbers of it", to_text(argument.sql())));
      if (asked.distinct && asked.what == Asked::What::Mean)
        return wrong(text, "AVG takes no DISTINCT; SUM and COUNT do");
      if (asked.distinct || asked.what == Asked::What::Minimum || asked.what == Asked::What::Maximum)
        HAILSTONE_TRY(check_comparable(text, argument));
      const std::string_view shown = asked.rest.substr(0, asked.rest.size() - rest.size());
      read_below.push_back({std::string(shown), std::move(argument)});
    }
    ExpressionLexer words(rest);
    if (!is_sign(words.token(), ")")) return wrong(text, "a closing parenthesis is missing");
    rest.remove_prefix(std::min(rest.size(), words.token().position + 1));
    HAILSTONE_ASSIGN(each.name, Reader::name_behind(text, rest));
    if (each.name.empty()) each.name = std::string(text);
  }
  HAILSTONE_TRY(reader.end());
  HAILSTONE_ASSIGN(MadeColumns below, with_columns(read_below));

  Aggregate groups;
  std::vector<NamedColumn> columns(below.asked.begin(), below.asked.begin() + std::ssize(keys));
  for (const NamedColumn& key : columns) {
    if (std::ranges::find(groups.keys, key.value->position) == groups.keys.end())
      groups.keys.push_back(key.value->position);
  }
  const auto add = [&](const std::string& name, Kind kind, bool distinct,
                       const Column* argument) -> Result<Column> {
    HAILSTONE_ASSIGN(const ColumnId id, ids_->take());
    Column column = aggregate_column(id, name, kind, argument);
    if (kind == Kind::Rows || kind == Kind::Values) column.type = type_of_count();
    groups.aggregates.push_back({.column = column,
                                 .kind = kind,
                                 .argument = argument == nullptr ? std::nullopt : std::optional(argument->id),
                                 .distinct = distinct});
    return column;
  };
  std::vector<Project::Item> means;
  for (const Wanted& each : wanted) {
    const NamedColumn* const argument = each.asked.of_rows ? nullptr : &below.asked[each.argument];
    const Column* const of =
        argument == nullptr ? nullptr : find_column(below.plan->columns, argument->value->position);
    const Kind kind = kind_of(each.asked);
    HAILSTONE_ASSIGN(Column column, add(each.name, kind, each.asked.distinct, of));
    NamedColumn named{.qualifier = {}, .name = each.name, .value = read(column)};
    if (kind == Kind::Minimum || kind == Kind::Maximum) {
      named.value = of_other(argument->value, column);
      named.mark = argument->mark;
    } else if (each.asked.what == Asked::What::Mean) {
      HAILSTONE_ASSIGN(const Column values, add(each.name, Kind::Values, false, of));
      HAILSTONE_ASSIGN(const Expression quotient, sql_call("/", {read(column), read(values)}, settings));
      HAILSTONE_ASSIGN(Expression mean, as_shown(quotient));
      // It has no more digits in front of the point than what it is the mean of.
      if (const SqlType& type = argument->value.sql(); type.is_exact()) {
        const unsigned more = settings.quotient_digits;
        mean = mean.as(SqlType::decimal(type.digits + more, type.scale + more));
      }
      HAILSTONE_ASSIGN(column, new_column(each.name, mean));
      means.push_back({column, mean});
      named.value = read(column);
    }
    columns.push_back(std::move(named));
  }
  Plan plan = make(std::move(groups), {std::move(below.plan)});
  if (!means.empty()) {
    Project project{std::move(means)};
    for (const Column& column : plan->columns) project.items.push_back({column, read(column)});
    plan = make(std::move(project), {plan});
  }
  plan_ = std::move(plan);
  columns_ = std::move(columns);
  left_out_.clear();
  return {};
}

Status QueryBuilder::unite(QueryBuilder& right) {
  if (right.columns_.size() != columns_.size())
    return fail(ErrorCode::InvalidArgument, fmt::format("rows of {} columns, and of {}, are not united",
                                                        columns_.size(), right.columns_.size()));
  // Both sides with columns of one form.
  std::vector<Item> of_left, of_right;
  for (size_t i = 0; i < columns_.size(); ++i) {
    HAILSTONE_ASSIGN(auto both, in_one_form(columns_[i], right.columns_[i]));
    of_left.push_back({columns_[i].name, std::move(both.first)});
    of_right.push_back({columns_[i].name, std::move(both.second)});
  }
  HAILSTONE_ASSIGN(MadeColumns left_made, with_columns(of_left));
  HAILSTONE_ASSIGN(MadeColumns right_made, right.with_columns(of_right));
  SetOperation operation;
  std::vector<NamedColumn> columns;
  Project of_left_places, of_right_places;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const NamedColumn& named = left_made.asked[i];
    Column column = *find_column(left_made.plan->columns, named.value->position);
    const Column& other = *find_column(right_made.plan->columns, right_made.asked[i].value->position);
    // Texts may be as long as the longer ones.
    column.stored.width = std::max(column.stored.width, other.stored.width);
    column.type.sql.characters = std::max(column.type.sql.characters, other.type.sql.characters);
    for (Project* const places : {&of_left_places, &of_right_places}) {
      const Column& from =
          places == &of_left_places ? *find_column(left_made.plan->columns, named.value->position) : other;
      HAILSTONE_ASSIGN(column.id, ids_->take());
      places->items.push_back({column, read(from)});
    }
    HAILSTONE_ASSIGN(column.id, ids_->take());
    operation.columns.push_back(column);
    columns.push_back(
        {named.qualifier, named.name, of_other(named.value, column), named.mark, named.is_truth});
  }
  plan_ = make(std::move(operation), {make(std::move(of_left_places), {std::move(left_made.plan)}),
                                      make(std::move(of_right_places), {std::move(right_made.plan)})});
  columns_ = std::move(columns);
  left_out_.clear();
  right.columns_.clear();
  return {};
}

Status QueryBuilder::distinct() {
  Aggregate groups;
  for (const NamedColumn& column : columns_) {
    HAILSTONE_TRY(check_comparable(column.name, column.value));
    if (std::ranges::find(groups.keys, column.value->position) == groups.keys.end())
      groups.keys.push_back(column.value->position);
  }
  plan_ = make(std::move(groups), {plan_});
  left_out_.clear();
  return {};
}

Status QueryBuilder::sort(Texts keys, const Parameters& parameters) {
  Reader reader(columns_, parameters, left_out_);
  std::vector<Item> wanted;
  std::vector<bool> descending;
  for (const std::string_view text : keys) {
    std::string_view rest = text;
    HAILSTONE_ASSIGN(Expression value, of_text(reader.take(rest), text));
    HAILSTONE_TRY(check_comparable(text, value));
    ExpressionLexer words(rest);
    descending.push_back(is_word(words.token(), "DESC"));
    if (descending.back() || is_word(words.token(), "ASC")) words.advance();
    if (words.token().kind != Token::Kind::End)
      return wrong(text, fmt::format("ASC or DESC may stand behind it, but '{}' does", rest));
    wanted.push_back({std::string(text), std::move(value)});
  }
  HAILSTONE_TRY(reader.end());
  if (wanted.empty()) return fail(ErrorCode::InvalidArgument, "an order by nothing");
  HAILSTONE_ASSIGN(MadeColumns made, with_columns(wanted));
  Sort sort;
  for (size_t i = 0; i < wanted.size(); ++i)
    sort.order.push_back({.column = made.asked[i].value->position, .descending = descending[i]});
  plan_ = make(std::move(sort), {std::move(made.plan)});
  left_out_.clear();
  return {};
}

Status QueryBuilder::limit(uint64_t offset, std::optional<uint64_t> most) {
  plan_ = make(Limit{.offset = offset, .most = most}, {plan_});
  left_out_.clear();
  return {};
}

Result<Plan> QueryBuilder::plan() const {
  Project project;
  for (const NamedColumn& column : columns_) {
    Column shown = *find_column(plan_->columns, column.value->position);
    const Expression value = read(shown);
    const bool is_there_twice = std::ranges::any_of(
        project.items, [&](const Project::Item& item) { return item.column.id == shown.id; });
    if (is_there_twice) {
      HAILSTONE_ASSIGN(shown.id, ids_->take());
      shown.name = column.name;
    }
    project.items.push_back({std::move(shown), value});
  }
  return make(std::move(project), {plan_});
}

}  // namespace hailstone::plan

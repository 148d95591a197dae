// Plans from text. A line is read when the inputs below it have been: these say which columns it may name.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <utility>

#include "expression/expression_lexer.h"
#include "expression/expression_text.h"
#include "plan/expressions.h"
#include "plan/plan_text.h"
#include "plan/text_words.h"
#include "plan/validate.h"

namespace hailstone::plan {

namespace {

/// So deep plans are read, and no deeper: each level is a call.
constexpr size_t most_depth = 200;
/// Of numbers, and a number's scale: more than any type has.
constexpr unsigned most_digits = 255;

struct Line {
  size_t number = 0;  // from 1 on
  size_t depth = 0;
  std::string_view text;  // behind the spaces
};

std::unexpected<Error> wrong_at(const Line& line, size_t place, std::string_view what) {
  return fail(ErrorCode::InvalidArgument,
              fmt::format("line {}, column {}: {}", line.number, 2 * line.depth + place + 1, what));
}

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Where the first line ends: a name may have any bytes between its backticks.
size_t end_of_line(std::string_view text) {
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    if (quote == 0) {
      if (byte == '\n') return i;
      if (byte == '`' || byte == '\'' || byte == '"') quote = byte;
    } else if (byte == '\\' && quote != '`') {
      ++i;
    } else if (byte == quote) {
      quote = 0;
    }
  }
  return text.size();
}

/// Columns that an expression may name: by ids, whose names must be right.
class Visible final : public ColumnResolver {
 public:
  void add(std::span<const Column> columns) {
    columns_.insert(columns_.end(), columns.begin(), columns.end());
  }
  std::span<const Column> columns() const { return columns_; }

  Result<Expression> resolve(const ColumnName& name) const override {
    if (!name.qualifier.empty() || !name.id)
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("a column of a plan has an id, as {}#1", name.name));
    for (const Column& column : columns_) {
      if (column.id != *name.id) continue;
      if (column.name != name.name)
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("column #{} has the name {}", column.id, column.name));
      return read(column);
    }
    return fail(ErrorCode::InvalidArgument,
                fmt::format("no input has the column {}#{}", name.name, *name.id));
  }
  std::vector<std::string> names() const override { return {}; }

 private:
  std::vector<Column> columns_;
};

/// One line from the left to the right.
class Reader {
 public:
  Reader(const Line& line, const Visible& visible, const CollationResolver& collations)
      : line_(line), visible_(visible), collations_(collations), left_(line.text) {}

  template <typename... Values>
  std::unexpected<Error> wrong(fmt::format_string<Values...> what, Values&&... values) const {
    return wrong_at(line_, line_.text.size() - left_.size(),
                    fmt::format(what, std::forward<Values>(values)...));
  }

  void skip_spaces() {
    while (!left_.empty() && left_.front() == ' ') left_.remove_prefix(1);
  }
  bool is_at_end() {
    skip_spaces();
    return left_.empty();
  }
  bool take(std::string_view sign) {
    skip_spaces();
    if (!left_.starts_with(sign)) return false;
    left_.remove_prefix(sign.size());
    return true;
  }
  Status expect(std::string_view sign) {
    if (take(sign)) return {};
    return wrong("'{}' is wanted here", sign);
  }
  Status expect_end() {
    if (is_at_end()) return {};
    return wrong("this is more than the node takes");
  }
  /// Letters, digits and '-'. Empty: there is none.
  std::string_view word() {
    skip_spaces();
    size_t size = 0;
    if (!left_.empty() && is_letter(left_.front())) {
      while (size < left_.size() && (is_letter(left_[size]) || is_digit(left_[size]) || left_[size] == '-'))
        ++size;
    }
    const std::string_view word = left_.substr(0, size);
    left_.remove_prefix(size);
    return word;
  }
  bool take_word(std::string_view wanted) {
    const std::string_view before = left_;
    if (word() == wanted) return true;
    left_ = before;
    return false;
  }
  Status expect_word(std::string_view wanted) {
    if (take_word(wanted)) return {};
    return wrong("'{}' is wanted here", wanted);
  }
  bool is_digit_next() {
    skip_spaces();
    return !left_.empty() && is_digit(left_.front());
  }
  template <typename Number>
  Result<Number> number(Number most = std::numeric_limits<Number>::max()) {
    skip_spaces();
    Number value = 0;
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), value);
    if (error != std::errc() || value > most) return wrong("a number up to {} is wanted here", most);
    left_.remove_prefix(static_cast<size_t>(end - left_.data()));
    return value;
  }
  /// A name, in backticks or not.
  Result<std::string> name() {
    skip_spaces();
    if (!left_.starts_with('`')) {
      const auto end = std::ranges::find_if_not(left_, is_byte_of_name);
      const auto plain = left_.substr(0, static_cast<size_t>(end - left_.begin()));
      if (plain.empty() || is_digit(plain.front())) return wrong("a name is wanted here");
      left_.remove_prefix(plain.size());
      return std::string(plain);
    }
    std::string name;
    for (size_t i = 1; i < left_.size(); ++i) {
      if (left_[i] != '`') {
        name += left_[i];
      } else if (i + 1 < left_.size() && left_[i + 1] == '`') {
        name += left_[i++];
      } else {
        left_.remove_prefix(i + 1);
        return name;
      }
    }
    return wrong("the name has no end");
  }
  /// name#id
  Result<Column> new_column() {
    Column column;
    HAILSTONE_ASSIGN(column.name, name());
    HAILSTONE_TRY(expect("#"));
    HAILSTONE_ASSIGN(column.id, number<ColumnId>(no_column - 1));
    return column;
  }
  /// The same, of an input.
  Result<ColumnId> column() {
    skip_spaces();
    const std::string_view before = left_;
    HAILSTONE_ASSIGN(const Column named, new_column());
    const Column* const found = find_column(visible_.columns(), named.id);
    if (found != nullptr && found->name == named.name) return named.id;
    left_ = before;
    if (found != nullptr) return wrong("column #{} has the name {}", named.id, found->name);
    return wrong("no input has the column {}#{}", named.name, named.id);
  }
  Result<std::vector<ColumnId>> columns_in_parentheses() {
    std::vector<ColumnId> ids;
    HAILSTONE_TRY(expect("("));
    if (take(")")) return ids;
    do {
      HAILSTONE_ASSIGN(ids.emplace_back(), column());
    } while (take(","));
    HAILSTONE_TRY(expect(")"));
    return ids;
  }
  Result<std::vector<SortKey>> order() {
    std::vector<SortKey> order;
    do {
      SortKey& key = order.emplace_back();
      HAILSTONE_ASSIGN(key.column, column());
      key.descending = take_word("desc");
    } while (take(","));
    return order;
  }
  Result<std::vector<Column>> defined(bool with_types) {
    std::vector<Column> columns;
    HAILSTONE_TRY(expect("("));
    if (take(")")) return columns;
    do {
      HAILSTONE_ASSIGN(Column column, new_column());
      if (with_types) HAILSTONE_TRY(take_type(column));
      columns.push_back(std::move(column));
    } while (take(","));
    HAILSTONE_TRY(expect(")"));
    return columns;
  }
  /// `columns` with the types of others, by their places.
  Status type_as(std::vector<Column>& columns, const Plan& input) {
    if (columns.size() != input->columns.size())
      return wrong("the input has {} columns, and not {}", input->columns.size(), columns.size());
    for (size_t i = 0; i < columns.size(); ++i) {
      columns[i].stored = input->columns[i].stored;
      columns[i].type = input->columns[i].type;
    }
    return {};
  }
  Status take_type(Column& column) {
    HAILSTONE_TRY(take_stored(column.stored));
    column.type = usual_type(column.stored);
    if (!take_word("as")) return {};
    SqlType declared;
    HAILSTONE_ASSIGN(declared.kind, one_of(sql_words));
    declared.is_unsigned = take_word("unsigned");
    HAILSTONE_TRY(expect("("));
    HAILSTONE_ASSIGN(declared.digits, number<unsigned>(most_digits));
    HAILSTONE_TRY(expect(","));
    HAILSTONE_ASSIGN(declared.scale, number<unsigned>(most_digits));
    HAILSTONE_TRY(expect(","));
    HAILSTONE_ASSIGN(declared.characters, number<uint64_t>());
    HAILSTONE_TRY(expect(")"));
    if (declared.scale > declared.digits && declared.kind == SqlType::Kind::Decimal)
      return wrong("a decimal has no more digits behind the point than in all");
    declared.collation = declared.kind == SqlType::Kind::Text ? column.stored.collation : nullptr;
    if (take_word("no")) {
      HAILSTONE_TRY(expect_word("collation"));
      declared.collation = nullptr;
    } else if (take_word("collate")) {
      HAILSTONE_ASSIGN(declared.collation, collation());
    }
    if (take_word("not")) {
      HAILSTONE_TRY(expect_word("null"));
      declared.is_nullable = false;
    }
    if (take_word("gives")) {
      HAILSTONE_TRY(expect_word("way"));
      declared.gives_way = true;
    }
    ValueType& type = column.type;
    type = type_of(declared);
    if (!take_word("held")) return {};
    HAILSTONE_ASSIGN(type.kind, one_of(value_words));
    type.is_unsigned = take_word("unsigned");
    HAILSTONE_TRY(expect("("));
    HAILSTONE_ASSIGN(type.whole_digits, number<unsigned>(most_digits));
    HAILSTONE_TRY(expect(","));
    HAILSTONE_ASSIGN(type.scale, number<unsigned>(most_digits));
    HAILSTONE_TRY(expect(")"));
    if (take_word("unless")) {
      HAILSTONE_TRY(expect_word("zero"));
      type.scale_is = ValueType::Scale::SureUnlessZero;
    } else if (take_word("unsure")) {
      type.scale_is = ValueType::Scale::Unsure;
    }
    return {};
  }
  /// As the parser of expressions has it, whose errors say where in the rest of the line.
  Result<Expression> expression() {
    skip_spaces();
    const std::string_view before = left_;
    auto found = take_expression(left_, visible_);
    if (found) return *found;
    left_ = before;
    std::string_view what = found.error().message();
    size_t place = 1;
    if (what.starts_with("at ")) {
      const auto [end, error] = std::from_chars(what.data() + 3, what.data() + what.size(), place);
      if (error == std::errc()) what.remove_prefix(static_cast<size_t>(end - what.data()) + 2);
    }
    left_.remove_prefix(std::min(left_.size(), place - 1));
    return wrong("{}", what);
  }
  Result<std::vector<Expression>> expressions() {
    std::vector<Expression> all;
    if (is_at_end()) return all;
    do {
      HAILSTONE_ASSIGN(Expression each, expression());
      all.push_back(std::move(each));
    } while (take(","));
    return all;
  }
  struct Called {
    std::string_view word;
    std::optional<ColumnId> argument = {};
    bool distinct = false;
  };
  /// word(distinct column), of which the word alone is there always.
  Result<Called> called() {
    Called called{.word = word()};
    HAILSTONE_TRY(expect("("));
    if (take(")")) return called;
    called.distinct = take_word("distinct");
    HAILSTONE_ASSIGN(called.argument, column());
    HAILSTONE_TRY(expect(")"));
    return called;
  }

 private:
  Status take_stored(ScanColumn& stored) {
    skip_spaces();
    const std::string_view before = left_;
    const std::string_view name = word();
    const auto with_width = [&](std::string_view prefix) -> std::optional<unsigned> {
      if (!name.starts_with(prefix) || name.size() != prefix.size() + 1) return std::nullopt;
      const char digit = name.back();
      return digit >= '1' && digit <= '8' ? std::optional(static_cast<unsigned>(digit - '0')) : std::nullopt;
    };
    if (const auto width = with_width("uint")) {
      stored = {.integer = true, .type = Type::Unsigned, .width = *width};
      return {};
    }
    if (const auto width = with_width("int")) {
      stored = {.integer = true, .type = Type::Signed, .width = *width};
      return {};
    }
    if (name == "float" || name == "double") {
      const bool is_double = name == "double";
      stored = {
          .integer = true, .type = is_double ? Type::Double : Type::Float, .width = is_double ? 8U : 4U};
      return {};
    }
    stored = {.integer = false, .type = Type::Blob, .width = 0, .collation = &binary_collation()};
    if (name == "bytes" || name == "char" || name == "varchar") {
      stored.type = name == "bytes" ? Type::OrderedBytes : name == "char" ? Type::Char : Type::Varchar;
      HAILSTONE_TRY(expect("("));
      HAILSTONE_ASSIGN(stored.width, number<unsigned>());
      HAILSTONE_TRY(expect(")"));
    } else if (name != "blob") {
      left_ = before;
      return wrong("a type is wanted here, as int8, double or varchar(20)");
    }
    if (stored.type == Type::OrderedBytes && stored.width <= sizeof(uint64_t)) {
      stored.integer = true;
      stored.collation = nullptr;
    }
    if (!take_word("collate")) return {};
    HAILSTONE_ASSIGN(stored.collation, collation());
    return {};
  }
  Result<const Collation*> collation() {
    HAILSTONE_ASSIGN(const auto id, number<uint32_t>());
    const auto found = collations_.resolve(id);
    if (!found) return wrong("{}", found.error().message());
    return *found;
  }
  /// The kind whose word is next.
  template <typename Words>
  auto one_of(const Words& words) -> Result<decltype(words.front().kind)> {
    for (const auto& each : words) {
      if (take_word(each.word)) return each.kind;
    }
    return wrong("a kind of values is wanted here, as decimal or text");
  }

  const Line& line_;
  const Visible& visible_;
  const CollationResolver& collations_;
  std::string_view left_;
};

class Parser {
 public:
  explicit Parser(const CollationResolver& collations) : collations_(collations) {}

  Result<Plan> parse(std::string_view text) {
    HAILSTONE_TRY(split(text));
    if (lines_.empty()) return fail(ErrorCode::InvalidArgument, "line 1, column 1: a plan has a node");
    HAILSTONE_ASSIGN(const Plan plan, node({}));
    if (next_ != lines_.size()) return wrong_at(lines_[next_], 0, "a plan has one node that is no input");
    HAILSTONE_TRY(validate(plan));
    return plan;
  }

 private:
  using Outer = std::vector<Column>;

  Status split(std::string_view text) {
    for (size_t number = 1; !text.empty(); ++number) {
      const size_t end = end_of_line(text);
      Line line{.number = number, .text = text.substr(0, end)};
      text.remove_prefix(std::min(end + 1, text.size()));
      const size_t spaces = std::min(line.text.find_first_not_of(' '), line.text.size());
      line.text.remove_prefix(spaces);
      if (line.text.empty()) continue;
      line.depth = spaces / 2;
      if (spaces % 2 != 0 || line.depth > (lines_.empty() ? 0 : lines_.back().depth + 1) ||
          line.depth > most_depth)
        return fail(
            ErrorCode::InvalidArgument,
            fmt::format(
                "line {}, column 1: {} spaces, where a node is two further in than the one that it is an "
                "input of",
                number, spaces));
      lines_.push_back(line);
    }
    return {};
  }

  /// The node of the next line, and its inputs.
  Result<Plan> node(const Outer& outer) {
    const Line& line = lines_[next_++];
    Visible none;
    Reader first(line, none, collations_);
    std::string_view word = first.word();
    std::optional<JoinKind> join_kind;
    for (const JoinKind kind : all_join_kinds) {
      if (name_of(kind) == word) join_kind = kind;
    }
    if (join_kind) word = first.word();
    const bool depends = join_kind && word == "apply";
    std::vector<Plan> inputs;
    while (next_ < lines_.size() && lines_[next_].depth > line.depth) {
      Outer of_input = outer;
      if (depends && !inputs.empty())
        of_input.insert(of_input.end(), inputs[0]->columns.begin(), inputs[0]->columns.end());
      HAILSTONE_ASSIGN(inputs.emplace_back(), node(of_input));
    }
    Visible visible;
    for (const Plan& input : inputs) visible.add(input->columns);
    visible.add(outer);
    Reader reader(line, visible, collations_);
    reader.word();
    if (join_kind) reader.word();
    if (join_kind && word != "join" && !depends) return reader.wrong("'join' or 'apply' is wanted here");
    HAILSTONE_ASSIGN(auto operation, operation_of(line, word, join_kind, reader, inputs));
    HAILSTONE_TRY(reader.expect_end());
    return make(std::move(operation), std::move(inputs));
  }

  Result<Operation> operation_of(const Line& line, std::string_view word, std::optional<JoinKind> join_kind,
                                 Reader& reader, std::vector<Plan>& inputs) {
    const auto wants = [&](size_t least, size_t most) -> Status {
      if (inputs.size() >= least && inputs.size() <= most) return {};
      return wrong_at(line, 0, fmt::format("a node {} has {} inputs here", word, inputs.size()));
    };
    if (word == "scan" || word == "host-scan") {
      HAILSTONE_TRY(wants(0, 0));
      HAILSTONE_ASSIGN(std::string table, reader.name());
      HAILSTONE_ASSIGN(std::vector<Column> columns, reader.defined(true));
      if (word == "scan") return Scan{.table = std::move(table), .columns = std::move(columns)};
      return HostScan{.table = std::move(table), .columns = std::move(columns)};
    }
    if (word == "values") {
      HAILSTONE_TRY(wants(0, 0));
      return values(reader);
    }
    if (word == "round") {
      HAILSTONE_TRY(wants(0, 0));
      RoundRows rows;
      HAILSTONE_ASSIGN(rows.number, reader.number<uint32_t>());
      HAILSTONE_ASSIGN(rows.columns, reader.defined(true));
      return rows;
    }
    if (word == "materialize") {
      HAILSTONE_TRY(wants(0, 1));
      return materialize(reader, inputs);
    }
    if (join_kind) {
      HAILSTONE_TRY(wants(2, 2));
      return join(word == "apply", *join_kind, reader);
    }
    if (word == "union" || word == "intersect" || word == "except") {
      HAILSTONE_TRY(wants(2, ~size_t{0}));
      SetOperation set{.kind = word == "union"       ? SetOperation::Kind::Union
                               : word == "intersect" ? SetOperation::Kind::Intersect
                                                     : SetOperation::Kind::Except};
      HAILSTONE_ASSIGN(set.all, is_all(reader));
      HAILSTONE_ASSIGN(set.columns, reader.defined(false));
      HAILSTONE_TRY(reader.type_as(set.columns, inputs[0]));
      return set;
    }
    if (word == "recurse") {
      HAILSTONE_TRY(wants(2, 2));
      Recurse recurse;
      HAILSTONE_ASSIGN(recurse.number, reader.number<uint32_t>());
      HAILSTONE_ASSIGN(recurse.all, is_all(reader));
      HAILSTONE_ASSIGN(recurse.columns, reader.defined(false));
      HAILSTONE_TRY(reader.type_as(recurse.columns, inputs[0]));
      return recurse;
    }
    constexpr std::array<std::string_view, 6> others{"filter", "project", "aggregate",
                                                     "window", "sort",    "limit"};
    if (std::ranges::find(others, word) == others.end())
      return wrong_at(line, 0, fmt::format("there is no node '{}'", word));
    HAILSTONE_TRY(wants(1, 1));
    if (word == "project") return project(reader, *inputs[0]);
    if (word == "aggregate") return aggregate(reader, *inputs[0]);
    if (word == "window") return window(reader, *inputs[0]);
    if (word == "limit") return limit(reader);
    if (word == "sort") {
      HAILSTONE_ASSIGN(std::vector<SortKey> order, reader.order());
      return Sort{.order = std::move(order)};
    }
    HAILSTONE_ASSIGN(std::vector<Expression> conditions, reader.expressions());
    return Filter{.conditions = std::move(conditions)};
  }

  static Result<bool> is_all(Reader& reader) {
    if (reader.take_word("all")) return true;
    HAILSTONE_TRY(reader.expect_word("distinct"));
    return false;
  }
  static Result<Operation> values(Reader& reader) {
    Values values;
    HAILSTONE_ASSIGN(values.columns, reader.defined(true));
    while (reader.take("(")) {
      std::vector<Expression>& row = values.rows.emplace_back();
      do {
        HAILSTONE_ASSIGN(const Expression written, reader.expression());
        const size_t place = row.size();
        if (place == values.columns.size())
          return reader.wrong("the row has more values than there are columns");
        const auto value = constant_value(written);
        if (!value) return reader.wrong("the value is not a constant");
        const Column& column = values.columns[place];
        row.push_back(value->is_null() ? Expression::null(read(column)->values).as(column.type) : *value);
      } while (reader.take(","));
      HAILSTONE_TRY(reader.expect(")"));
    }
    return values;
  }
  Result<Operation> materialize(Reader& reader, std::vector<Plan>& inputs) {
    HAILSTONE_ASSIGN(const auto number, reader.number<uint32_t>());
    const auto made = made_.find(number);
    if (inputs.empty()) {
      if (made == made_.end()) return reader.wrong("there is nothing made above with the number {}", number);
      inputs.push_back(made->second);
    } else if (!made_.emplace(number, inputs[0]).second) {
      return reader.wrong("rows are made with the number {} above", number);
    }
    Materialize materialize;
    HAILSTONE_ASSIGN(materialize.columns, reader.defined(false));
    HAILSTONE_TRY(reader.type_as(materialize.columns, inputs[0]));
    return materialize;
  }
  static Result<Operation> join(bool depends, JoinKind kind, Reader& reader) {
    std::optional<Column> mark;
    if (kind == JoinKind::Mark) {
      HAILSTONE_ASSIGN(const Column named, reader.new_column());
      mark = truth_column(named.id, named.name);
      HAILSTONE_TRY(reader.expect(":"));
    }
    HAILSTONE_ASSIGN(std::vector<Expression> conditions, reader.expressions());
    if (depends) return Apply{.kind = kind, .conditions = std::move(conditions), .mark = std::move(mark)};
    return Join{.kind = kind, .conditions = std::move(conditions), .mark = std::move(mark)};
  }
  static Result<Operation> project(Reader& reader, const Node& input) {
    Project project;
    do {
      HAILSTONE_ASSIGN(Column column, reader.new_column());
      if (const Column* const kept = find_column(input.columns, column.id)) {
        if (kept->name != column.name)
          return reader.wrong("column #{} has the name {}", kept->id, kept->name);
        project.items.push_back({.column = *kept, .value = read(*kept)});
        continue;
      }
      const bool is_usual = reader.take(":=");
      if (!is_usual) {
        HAILSTONE_TRY(reader.take_type(column));
        HAILSTONE_TRY(reader.expect(":="));
      }
      HAILSTONE_ASSIGN(Expression value, reader.expression());
      if (is_usual) {
        column = computed_column(column.id, std::move(column.name), value);
      } else if (value.is_null())
        value = Expression::null(read(column)->values).as(column.type);
      project.items.push_back({.column = std::move(column), .value = std::move(value)});
    } while (reader.take(","));
    return project;
  }
  struct Aggregated {
    hailstone::Aggregate::Kind kind;
    Column column;
  };
  static Result<Aggregated> aggregated(Reader& reader, const Column& named, const Reader::Called& called,
                                       const Node& input) {
    const auto word = std::ranges::find(aggregate_words, called.word, &AggregateWord::word);
    if (word == aggregate_words.end()) return reader.wrong("there is no aggregate '{}'", called.word);
    const bool is_of_rows = word->kind == hailstone::Aggregate::Kind::Rows;
    const Column* const argument = called.argument ? find_column(input.columns, *called.argument) : nullptr;
    if (is_of_rows == (argument != nullptr))
      return reader.wrong("'{}' has another number of arguments", called.word);
    return Aggregated{.kind = word->kind,
                      .column = aggregate_column(named.id, named.name, word->kind, argument)};
  }
  static Result<Operation> aggregate(Reader& reader, const Node& input) {
    Aggregate aggregate;
    HAILSTONE_ASSIGN(aggregate.keys, reader.columns_in_parentheses());
    while (!reader.is_at_end() && !reader.take_word("sets")) {
      HAILSTONE_ASSIGN(const Column named, reader.new_column());
      HAILSTONE_TRY(reader.expect(":="));
      HAILSTONE_ASSIGN(const Reader::Called called, reader.called());
      HAILSTONE_ASSIGN(Aggregated made, aggregated(reader, named, called, input));
      aggregate.aggregates.push_back({.column = std::move(made.column),
                                      .kind = made.kind,
                                      .argument = called.argument,
                                      .distinct = called.distinct});
      if (reader.take(",")) continue;
      if (reader.is_at_end()) return aggregate;
      HAILSTONE_TRY(reader.expect_word("sets"));
      break;
    }
    if (reader.is_at_end()) return aggregate;
    do {
      HAILSTONE_ASSIGN(aggregate.sets.emplace_back(), reader.columns_in_parentheses());
    } while (reader.take(","));
    return aggregate;
  }
  static Result<Operation> window(Reader& reader, const Node& input) {
    Window window;
    HAILSTONE_ASSIGN(window.partition, reader.columns_in_parentheses());
    HAILSTONE_TRY(reader.expect_word("order"));
    HAILSTONE_TRY(reader.expect("("));
    if (!reader.take(")")) {
      HAILSTONE_ASSIGN(window.order, reader.order());
      HAILSTONE_TRY(reader.expect(")"));
    }
    do {
      HAILSTONE_ASSIGN(const Column named, reader.new_column());
      HAILSTONE_TRY(reader.expect(":="));
      HAILSTONE_ASSIGN(const Reader::Called called, reader.called());
      if (called.distinct) return reader.wrong("windows have no distinct values");
      const auto word = std::ranges::find(window_words, called.word, &WindowWord::word);
      if (word != window_words.end()) {
        if (called.argument) return reader.wrong("'{}' has another number of arguments", called.word);
        const Column number =
            aggregate_column(named.id, named.name, hailstone::Aggregate::Kind::Rows, nullptr);
        window.items.push_back({.column = number, .kind = word->kind});
        continue;
      }
      HAILSTONE_ASSIGN(Aggregated made, aggregated(reader, named, called, input));
      window.items.push_back({.column = std::move(made.column),
                              .kind = Window::Kind::Aggregate,
                              .aggregate = made.kind,
                              .argument = called.argument});
    } while (reader.take(","));
    return window;
  }
  static Result<Operation> limit(Reader& reader) {
    Limit limit;
    if (reader.is_digit_next()) {
      HAILSTONE_ASSIGN(limit.most, reader.number<uint64_t>());
    }
    if (reader.take_word("offset")) {
      HAILSTONE_ASSIGN(limit.offset, reader.number<uint64_t>());
    }
    if (reader.take_word("with")) {
      HAILSTONE_TRY(reader.expect_word("ties"));
      limit.with_ties = true;
    }
    return limit;
  }

  const CollationResolver& collations_;
  std::vector<Line> lines_;
  size_t next_ = 0;
  std::map<uint32_t, Plan> made_;  // inputs of Materialize by their numbers
};

}  // namespace

Result<Plan> parse_plan(std::string_view text, const CollationResolver& collations) {
  return Parser(collations).parse(text);
}

}  // namespace hailstone::plan

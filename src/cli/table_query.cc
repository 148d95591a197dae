#include "cli/table_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/expression_list.h"
#include "cli/session.h"
#include "expression/expression_text.h"

namespace hailstone {
namespace {

std::unexpected<Error> wrong(std::string_view sentence) {
  return fail(ErrorCode::InvalidArgument, std::string(sentence));
}

/// A column of the rows so far: how it was asked for, and its name.
struct KnownColumn {
  std::string text, name;
};

/// Puts one operation after the other on the rows of the table.
class QueryMaker {
 public:
  QueryMaker(hs_query* query, hs_table* table, const QueryTexts& texts) : query_(query), texts_(texts) {
    for (size_t i = 0; i < hs_table_columns(table); ++i) {
      const char* name = nullptr;
      hs_type type{};
      hs_table_column(table, i, &name, &type, nullptr);
      columns_.push_back({name, name});
    }
  }

  Status run() {
    HAILSTONE_TRY(checked(hs_query_threads(query_, texts_.threads), query_));
    for (const auto& [option, text] : {std::pair("--where", &texts_.condition),
                                       {"--group-by", &texts_.keys},
                                       {"--agg", &texts_.aggregates},
                                       {"--columns", &texts_.columns},
                                       {"--order-by", &texts_.order}}) {
      HAILSTONE_TRY(check_quotes(option, *text));
    }
    HAILSTONE_TRY(filter());
    HAILSTONE_TRY(group());
    HAILSTONE_TRY(choose_columns());
    HAILSTONE_TRY(sort());
    if (!texts_.limit) return {};
    return checked(hs_query_limit(query_, 0, *texts_.limit), query_);
  }

 private:
  using Items = std::vector<std::string>;

  Status filter() {
    if (!texts_.condition) return {};
    if (const auto aggregate = aggregate_in(*texts_.condition))
      return wrong(
          fmt::format("--where chooses rows before they are groups, so {}(…) has no place in it: "
                      "aggregates go into --agg",
                      *aggregate));
    return done("--where", hs_query_filter(query_, texts_.condition->c_str(), nullptr, 0));
  }

  Status group() {
    if (texts_.count) {
      const char* const rows = "COUNT(*)";
      return checked(hs_query_aggregate(query_, nullptr, 0, &rows, 1, nullptr, 0), query_);
    }
    if (!texts_.has_groups()) return {};
    Items keys, aggregates;
    if (texts_.keys) {
      HAILSTONE_ASSIGN(keys, divided_list("--group-by", *texts_.keys));
      for (std::string& key : keys) {
        if (const auto aggregate = aggregate_in(key))
          return wrong(fmt::format("--group-by '{}': groups are made before {}(…) is: it goes into --agg",
                                   key, *aggregate));
        key = by_name(key);
      }
      HAILSTONE_TRY(check_names("--group-by", keys));
    }
    if (texts_.aggregates) {
      HAILSTONE_ASSIGN(aggregates, divided_list("--agg", *texts_.aggregates));
    }
    columns_.clear();
    for (const Items& items : {keys, aggregates}) add_known(items);
    const std::string_view option = !texts_.aggregates ? "--group-by"
                                    : texts_.keys      ? "--group-by, --agg"
                                                       : "--agg";
    const auto of_keys = pointers(keys), of_aggregates = pointers(aggregates);
    return done(option, hs_query_aggregate(query_, of_keys.data(), of_keys.size(), of_aggregates.data(),
                                           of_aggregates.size(), nullptr, 0));
  }

  Status choose_columns() {
    if (!texts_.columns) return {};
    HAILSTONE_ASSIGN(const Items items, items_of_columns("--columns", *texts_.columns));
    const std::vector<KnownColumn> before = std::exchange(columns_, {});
    add_known(items);
    columns_.insert(columns_.end(), before.begin(), before.end());
    const auto texts = pointers(items);
    return done("--columns", hs_query_project(query_, texts.data(), texts.size(), nullptr, 0));
  }

  Status sort() {
    if (!texts_.order) return {};
    HAILSTONE_ASSIGN(const Items items, items_of_columns("--order-by", *texts_.order));
    HAILSTONE_TRY(check_names("--order-by", items));
    const auto texts = pointers(items);
    return done("--order-by", hs_query_sort(query_, texts.data(), texts.size(), nullptr, 0));
  }

  /// Of rows, or of groups: their aggregates are those of --agg.
  Result<Items> items_of_columns(std::string_view option, std::string_view list) const {
    HAILSTONE_ASSIGN(Items items, divided_list(option, list));
    for (std::string& item : items) {
      item = by_name(item);
      if (const auto aggregate = aggregate_in(item))
        return wrong(
            fmt::format("{} '{}': {}(…) is computed by --agg; name it there with AS, and here by that name",
                        option, item, *aggregate));
    }
    return items;
  }

  /// In SQL a number may name the column at that place. Here it may not.
  static Status check_names(std::string_view option, const Items& items) {
    const auto found = std::ranges::find_if(items, [](const std::string& item) {
      return parts_of_item(item).text.find_first_not_of("0123456789") == std::string::npos;
    });
    if (found == items.end()) return {};
    return wrong(fmt::format("{} '{}': columns are named, a number is only that number", option, *found));
  }

  void add_known(const Items& items) {
    for (const std::string& item : items) {
      const ListedExpression parts = parts_of_item(item);
      columns_.push_back({parts.text, parts.name.empty() ? name_of(parts.text) : parts.name});
    }
  }

  /// The item with the name of the column that it is, which may be no plain word: `a b` as that stands in the
  /// table, and SUM(n) of groups that have it.
  std::string by_name(const std::string& item) const {
    const ListedExpression parts = parts_of_item(item);
    auto found = std::ranges::find(columns_, parts.text, &KnownColumn::name);
    // What is only a column in parentheses has that one's name.
    if (found == columns_.end() && !parts.text.starts_with('(') && !parts.text.starts_with('+'))
      found = std::ranges::find_if(
          columns_, [&](const auto& column) { return are_same_words(column.text, parts.text); });
    if (found == columns_.end()) return item;
    std::string named = quoted_name(found->name);
    if (!parts.name.empty()) named += " AS " + quoted_name(parts.name);
    return parts.order.empty() ? named : named + " " + parts.order;
  }

  /// What could be said beside the library's sentence.
  std::string_view advice(std::string_view option, std::string_view sentence) const {
    const auto says = [sentence](std::string_view words) {
      return sentence.find(words) != std::string_view::npos;
    };
    const bool is_of_groups = option == "--columns" || option == "--order-by";
    if (texts_.has_groups() && is_of_groups && says("there is no column"))
      return "; of groups there is what --group-by and --agg name";
    // SUM(n) / 2
    constexpr std::string_view behind = "may stand behind it, but '";
    const size_t at = sentence.find(behind);
    const size_t next =
        at == std::string_view::npos ? at : sentence.find_first_not_of(' ', at + behind.size());
    if (next != std::string_view::npos &&
        std::string_view("+-*/%").find(sentence[next]) != std::string_view::npos)
      return "; --columns computes with what --agg has named";
    if (says("no column 'DISTINCT'") || says("no column 'distinct'"))
      return "; --group-by gives each value once";
    return "";
  }
  Status done(std::string_view option, int status) const {
    const Status made = checked(status, query_);
    if (made) return {};
    const std::string& sentence = made.error().message();
    return fail(made.error().code(), fmt::format("{} {}{}", option, sentence, advice(option, sentence)));
  }

  /// What SQL takes for a text, and is easily meant to be a column, or bytes as `hailstone load` reads them.
  Status check_quotes(std::string_view option, const std::optional<std::string>& text) const {
    if (text.value_or("").find("'\\x") != std::string::npos)
      return wrong(fmt::format("{}: in a text \\x is only x; bytes are written as x'00ff'", option));
    for (const std::string& quoted : texts_in_double_quotes(text.value_or(""))) {
      if (std::ranges::find(columns_, quoted, &KnownColumn::name) == columns_.end()) continue;
      return wrong(
          fmt::format("{}: \"{}\" is a text, not the column of that name: that is {}, or with single "
                      "quotes the text is meant",
                      option, quoted, quoted_name(quoted)));
    }
    return {};
  }

  static std::vector<const char*> pointers(const Items& items) {
    std::vector<const char*> pointers;
    for (const std::string& item : items) pointers.push_back(item.c_str());
    return pointers;
  }

  hs_query* const query_;
  const QueryTexts& texts_;
  std::vector<KnownColumn> columns_;
};

}  // namespace

Status check_texts(const QueryTexts& texts) {
  if (texts.count && (texts.columns || texts.limit || texts.keys || texts.aggregates || texts.order))
    return wrong(
        "--count prints one number, and goes with --where only; --agg 'COUNT(*)' counts the rows of groups");
  if (texts.condition && texts.condition->find_first_not_of(" \t\r\n") == std::string::npos)
    return wrong("--where is empty: give a condition, as \"price >= 9.5\", or leave it out for all rows");
  return {};
}

Result<OwnedQuery> make_query(hs_transaction* transaction, hs_table* table, const QueryTexts& texts) {
  hs_query* begun = nullptr;
  HAILSTONE_TRY(checked(hs_query_table(transaction, table, nullptr, &begun), transaction));
  OwnedQuery query(begun);
  HAILSTONE_TRY(QueryMaker(query.get(), table, texts).run());
  return query;
}

}  // namespace hailstone

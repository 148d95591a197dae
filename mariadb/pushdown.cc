#include "pushdown.h"

#include <optional>
#include <utility>

#include "evaluated_items.h"
#include "field_probe.h"
#include "item_parts.h"
#include "pushdown_leaf.h"
#include "pushdown_ordered.h"
#include "pushdown_text.h"
#include "pushdown_warnings.h"
#include "statement_items.h"

namespace hailstone {

namespace {

/// Keeps what evaluation reports from the user: a condition whose evaluation reports anything worth a warning
/// is left to the server, which will report it as it should (strict modes make errors of warnings).
class QuietEvaluation final : public Internal_error_handler {
 public:
  explicit QuietEvaluation(THD* thd) : thd_(thd) { thd->push_internal_handler(this); }
  QuietEvaluation(const QuietEvaluation&) = delete;
  QuietEvaluation& operator=(const QuietEvaluation&) = delete;
  ~QuietEvaluation() override { thd_->pop_internal_handler(); }
  bool handle_condition(THD*, uint, const char*, Sql_condition::enum_warning_level* level, const char*,
                        Sql_condition**) override {
    warned_ = warned_ || *level != Sql_condition::WARN_LEVEL_NOTE;
    return true;
  }
  bool warned() const { return warned_; }

 private:
  THD* const thd_;
  bool warned_ = false;
};

class Translator {
 public:
  Translator(TABLE& table, const RecordFormat& format)
      : thd_(table.in_use),
        table_(table),
        format_(format),
        warnings_are_errors_(thd_->is_strict_mode() && thd_->lex->sql_command != SQLCOM_SELECT) {}

  /// Whether the condition holds something that the server will warn of.
  bool warns() const { return warns_; }

  /// For the rows for which `item` is TRUE, or (`truth` false) for which it is FALSE; never for those where
  /// it is NULL.
  Translation translate(Item& item, bool truth) {
    Item& real = *item.real_item();
    if (is_constant(real)) return constant(real, truth);
    if (!is_made_of_columns(real) || !reads_only(real, table_)) return {};
    if (real.type() == Item::COND_ITEM) return combination(static_cast<Item_cond&>(real), truth);
    if (real.type() != Item::FUNC_ITEM) return {};
    auto& function = static_cast<Item_func&>(real);
    switch (function.functype()) {
      case Item_func::NOT_FUNC:
        return translate(*function.arguments()[0], !truth);
      case Item_func::ISNULL_FUNC:
        return null_test(function, truth);
      case Item_func::ISNOTNULL_FUNC:
        return null_test(function, !truth);
      default:
        break;
    }
    auto leaf = take_apart(function, table_, format_);
    if (!leaf) return {};
    const QuietEvaluation quiet(thd_);
    const auto predicate = comparison(*leaf, truth != leaf->negated, quiet);
    warns_ = warns_ || quiet.warned() || thd_->is_error();
    if (!predicate || warns_) return {};
    return *predicate;
  }

  /// What combination() does of a condition that is to be TRUE, with the parts that are left to the server.
  Translation translate_parts(Item_cond& item, std::vector<Item*>& rest) {
    // The server sees that, too, and evaluates no other part.
    if (is_never_true(item, Constants::AreLeft)) return {Predicate::never(), true};
    std::vector<Predicate> parts;
    bool all_before = true;
    List_iterator<Item> arguments(*item.argument_list());
    while (Item* argument = arguments++) {
      if (!all_before) {
        rest.push_back(argument);
        continue;
      }
      Translation part = translate(*argument, true);
      parts.push_back(std::move(part.predicate));
      if (part.exact) continue;
      rest.push_back(argument);
      // What the server evaluates for a row may be worth a warning or an error, which no later part of the
      // condition prevents.
      all_before = !warnings_are_errors_ && !may_warn(*thd_, *argument);
    }
    return {Predicate::all_of(std::move(parts)), rest.empty()};
  }

 private:
  Translation constant(Item& item, bool truth) {
    // Others may keep values that it took warnings to make.
    if (!item.basic_const_item()) return {};
    const QuietEvaluation quiet(thd_);
    const bool value = item.val_bool();
    if (quiet.warned() || thd_->is_error()) return {};
    const bool holds = !item.null_value && value == truth;
    return {holds ? Predicate::always() : Predicate::never(), true};
  }

  Translation combination(Item_cond& item, bool truth) {
    if (item.functype() != Item_func::COND_AND_FUNC && item.functype() != Item_func::COND_OR_FUNC) return {};
    const bool all = (item.functype() == Item_func::COND_AND_FUNC) == truth;
    std::vector<Predicate> parts;
    bool exact = true;
    List_iterator<Item> arguments(*item.argument_list());
    while (Item* argument = arguments++) {
      Translation part = translate(*argument, truth);
      exact = exact && part.exact;
      if (!exact && !all && warnings_are_errors_) return {};
      parts.push_back(std::move(part.predicate));
      // What the server evaluates for a row may be worth a warning or an error, which no later part of the
      // condition prevents.
      if (all && !part.exact && (warnings_are_errors_ || may_warn(*thd_, *argument))) break;
    }
    return {all ? Predicate::all_of(std::move(parts)) : Predicate::any_of(std::move(parts)), exact};
  }

  Translation null_test(Item_func& function, bool null) {
    const auto column = column_of(*function.arguments()[0], table_, format_);
    if (!column) return {};
    return {null ? Predicate::is_null(*column) : Predicate::is_not_null(*column), true};
  }

  /// `truth` is about the leaf without its own NOT.
  std::optional<Translation> comparison(Leaf& leaf, bool truth, const QuietEvaluation& quiet) {
    return leaf.of_whole_numbers ? by_column(leaf, truth) : converting_comparison(leaf, truth, quiet);
  }

  /// Of what the server's own comparison may convert, and report.
  std::optional<Translation> converting_comparison(Leaf& leaf, bool truth, const QuietEvaluation& quiet) {
    // What a NULL among the constants does needs no value of the column.
    bool null_seen = false;
    for (Item* constant : leaf.constants) null_seen = constant->is_null() || null_seen;
    if (quiet.warned()) return std::nullopt;
    Item* const copy = copy_of(thd_, leaf);
    if (copy == nullptr) return std::nullopt;
    if (!compares_alike(leaf, *leaf.item, *copy)) {
      warns_ = true;
      return std::nullopt;
    }
    leaf.item = copy;
    if (null_seen) {
      if (leaf.operation == Item_func::EQUAL_FUNC) {
        return Translation{truth ? Predicate::is_null(leaf.column) : Predicate::is_not_null(leaf.column),
                           true};
      }
      if (leaf.operation == Item_func::IN_FUNC) {
        if (!truth) return Translation{Predicate::never(), true};
        leaf.has_null = true;
        std::erase_if(leaf.constants, [](Item* constant) { return constant->is_null(); });
      } else if (leaf.operation == Item_func::BETWEEN && !truth) {
        return std::nullopt;
      } else {
        return Translation{Predicate::never(), true};
      }
    }
    if (leaf.constants.empty()) return Translation{Predicate::never(), true};
    return by_column(leaf, truth);
  }

  std::optional<Translation> by_column(const Leaf& leaf, bool truth) {
    const auto field = PlainField::of(*leaf.field);
    std::optional<Translation> result;
    if (const auto kind = field ? FieldProbe::kind_of(*field) : std::nullopt) {
      result = translate_ordered(table_, leaf, *kind, truth);
    } else {
      result = translate_strings(table_, leaf, truth, warns_);
    }
    // Here NULL compares as a value, so that its rows are FALSE and not NULL.
    if (result && leaf.operation == Item_func::EQUAL_FUNC && !truth) {
      result->predicate = Predicate::any_of({std::move(result->predicate), Predicate::is_null(leaf.column)});
    }
    return result;
  }

  THD* const thd_;
  TABLE& table_;
  const RecordFormat& format_;
  const bool warnings_are_errors_;
  bool warns_ = false;
};

}  // namespace

PushedCondition translate_condition(TABLE& table, const RecordFormat& format, const Item& condition,
                                    bool row_is_there) {
  // In the inner table of an outer join a row of NULLs may stand for no row at all.
  // A constant table's row has been read, and its columns look like constants.
  // The server's items are evaluated by members that are not const.
  auto& item = const_cast<Item&>(condition);
  if (table.in_use == nullptr || (table.maybe_null != 0 && !row_is_there) || table.const_table)
    return {.predicate = nullptr, .complete = false, .rest = {&item}};
  std::vector<Item*> rest;
  Translator translator(table, format);
  const bool has_parts =
      item.type() == Item::COND_ITEM && static_cast<Item_cond&>(item).functype() == Item_func::COND_AND_FUNC;
  Translation translation = has_parts ? translator.translate_parts(static_cast<Item_cond&>(item), rest)
                                      : translator.translate(item, true);
  // A row that is passed over warns of nothing.
  if (translator.warns()) return {.predicate = nullptr, .complete = false, .rest = {&item}};
  if (!has_parts && !translation.exact) rest.push_back(&item);
  PushedCondition pushed{.predicate = nullptr, .complete = translation.exact, .rest = std::move(rest)};
  if (translation.predicate.kind() != Predicate::Kind::Always)
    pushed.predicate = std::make_shared<const Predicate>(std::move(translation.predicate));
  return pushed;
}

}  // namespace hailstone

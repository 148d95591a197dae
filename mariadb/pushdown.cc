#include "pushdown.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>

#include "field_probe.h"
#include "pushdown_text.h"
// clang-format off
#include <tztime.h>
// clang-format on

namespace hailstone {

namespace {

/// A predicate that is true wherever the condition is; `exact` when it is true nowhere else.
struct Translation {
  Predicate predicate = Predicate::always();
  bool exact = false;
};

// More constants in one list than this are left to the server, which sorts them once and for all.
constexpr size_t most_constants = 2'000;

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

/// A leaf taken apart: `column OP constants`.
struct Leaf {
  Item* item = nullptr;                                     // the whole comparison
  Item_func::Functype operation = Item_func::UNKNOWN_FUNC;  // with the column on its left
  bool negated = false;                                     // NOT BETWEEN, NOT IN, NOT LIKE
  Field* field = nullptr;
  uint16_t column = 0;
  std::vector<Item*> constants;
  bool has_null = false;  // IN: a NULL has been taken out of the constants
};

bool is_comparison(Item_func::Functype operation) {
  switch (operation) {
    case Item_func::EQ_FUNC:
    case Item_func::EQUAL_FUNC:
    case Item_func::NE_FUNC:
    case Item_func::LT_FUNC:
    case Item_func::LE_FUNC:
    case Item_func::GT_FUNC:
    case Item_func::GE_FUNC:
      return true;
    default:
      return false;
  }
}

/// The operation that says the same with its sides exchanged.
Item_func::Functype mirrored(Item_func::Functype operation) {
  switch (operation) {
    case Item_func::LT_FUNC:
      return Item_func::GT_FUNC;
    case Item_func::LE_FUNC:
      return Item_func::GE_FUNC;
    case Item_func::GT_FUNC:
      return Item_func::LT_FUNC;
    case Item_func::GE_FUNC:
      return Item_func::LE_FUNC;
    default:
      return operation;
  }
}

/// Whether a comparison is true below, at and above its constant.
struct Sides {
  bool below = false, equal = false, above = false;
};

Sides sides_of(Item_func::Functype operation) {
  switch (operation) {
    case Item_func::NE_FUNC:
      return {true, false, true};
    case Item_func::LT_FUNC:
      return {true, false, false};
    case Item_func::LE_FUNC:
      return {true, true, false};
    case Item_func::GT_FUNC:
      return {false, false, true};
    case Item_func::GE_FUNC:
      return {false, true, true};
    default:
      return {false, true, false};
  }
}

bool is_constant(Item& item) {
  return item.const_item() && !item.is_expensive() && !item.with_subquery() && item.cols() == 1;
}

/// The constant itself where the server would keep its value at the first evaluation: that one is the
/// server's, as it may report something.
Item* without_cache(Item* constant) {
  if (constant->type() != Item::CACHE_ITEM) return constant;
  Item* const cached = static_cast<Item_cache*>(constant)->get_example();
  return cached != nullptr ? cached : constant;
}

/// Times of day differ from UTC by the same amount all the year round, so that they grow as the timestamps
/// do.
bool time_zone_is_fixed(THD* thd) {
  const String* name = thd->variables.time_zone->get_name();
  const ByteView zone(name->ptr(), name->length());
  if (zone == "SYSTEM") return ByteView(system_time_zone) == "UTC";
  return zone == "UTC" || zone.starts_with('+') || zone.starts_with('-');
}

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
    if (real.with_subquery() || real.used_tables() != table_.map) return {};
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
    auto leaf = take_apart(function);
    if (!leaf) return {};
    const QuietEvaluation quiet(thd_);
    const auto predicate = comparison(*leaf, truth != leaf->negated, quiet);
    warns_ = warns_ || quiet.warned() || thd_->is_error();
    if (!predicate || warns_) return {};
    return *predicate;
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
      // What the server evaluates for a row may be an error, which no later part of the condition prevents.
      if (!exact && warnings_are_errors_) break;
    }
    return {all ? Predicate::all_of(std::move(parts)) : Predicate::any_of(std::move(parts)), exact};
  }

  Translation null_test(Item_func& function, bool null) {
    const auto column = column_of(*function.arguments()[0]);
    if (!column) return {};
    return {null ? Predicate::is_null(*column) : Predicate::is_not_null(*column), true};
  }

  /// The field of an item that is a column of the table, as it is stored.
  Field* field_of(Item& item) const {
    Item* real = item.real_item();
    if (real->type() != Item::FIELD_ITEM) return nullptr;
    Field* field = static_cast<Item_field*>(real)->field;
    return field->table == &table_ && field->stored_in_db() ? field : nullptr;
  }

  /// A comparison like the leaf's. The server's own one keeps what it has converted its constants to, once
  /// and for all, and has reported then what there is to report: it is left alone until the server evaluates
  /// it.
  Item* copy_of(const Leaf& leaf) const {
    // Converts nothing.
    if (leaf.operation == Item_func::LIKE_FUNC) return leaf.item;
    MEM_ROOT* const root = thd_->mem_root;
    Item* const column = new (root) Item_field(thd_, leaf.field);
    Item* const first = leaf.constants.front();
    Item_func* copy = nullptr;
    switch (leaf.operation) {
      case Item_func::EQ_FUNC:
        copy = new (root) Item_func_eq(thd_, column, first);
        break;
      case Item_func::EQUAL_FUNC:
        copy = new (root) Item_func_equal(thd_, column, first);
        break;
      case Item_func::NE_FUNC:
        copy = new (root) Item_func_ne(thd_, column, first);
        break;
      case Item_func::LT_FUNC:
        copy = new (root) Item_func_lt(thd_, column, first);
        break;
      case Item_func::LE_FUNC:
        copy = new (root) Item_func_le(thd_, column, first);
        break;
      case Item_func::GT_FUNC:
        copy = new (root) Item_func_gt(thd_, column, first);
        break;
      case Item_func::GE_FUNC:
        copy = new (root) Item_func_ge(thd_, column, first);
        break;
      case Item_func::BETWEEN:
        copy = new (root) Item_func_between(thd_, column, first, leaf.constants[1]);
        break;
      case Item_func::IN_FUNC: {
        List<Item> arguments;
        arguments.push_back(column, root);
        for (Item* constant : leaf.constants) arguments.push_back(constant, root);
        copy = new (root) Item_func_in(thd_, arguments);
        break;
      }
      default:
        return nullptr;
    }
    if (leaf.negated) static_cast<Item_func_opt_neg*>(copy)->negated = true;
    Item* fixed = copy;
    return copy->fix_fields(thd_, &fixed) || fixed != copy ? nullptr : copy;
  }

  /// In a list of several types the server makes strings of all constants, and still compares each by the
  /// type that it had: the copy, which meets the strings, would compare strings.
  static bool compares_alike(const Leaf& leaf, const Item& original, const Item& copy) {
    if (leaf.operation != Item_func::IN_FUNC) return true;
    const auto& one = static_cast<const Item_func_in&>(original);
    const auto& other = static_cast<const Item_func_in&>(copy);
    return one.arg_types_compatible == other.arg_types_compatible &&
           (one.array == nullptr) == (other.array == nullptr);
  }

  std::optional<uint16_t> column_of(Item& item) const {
    const Field* field = field_of(item);
    if (field == nullptr) return std::nullopt;
    const uint16_t column = format_.column_of_field(field->field_index);
    if (column == RecordFormat::not_stored) return std::nullopt;
    return column;
  }

  std::optional<Leaf> take_apart(Item_func& function) const {
    Leaf leaf;
    leaf.item = &function;
    leaf.operation = function.functype();
    Item** arguments = function.arguments();
    size_t count = function.argument_count();
    size_t column_argument = 0;
    if (is_comparison(leaf.operation)) {
      if (column_of(*arguments[0]) == std::nullopt) {
        column_argument = 1;
        leaf.operation = mirrored(leaf.operation);
      }
    } else if (leaf.operation == Item_func::BETWEEN || leaf.operation == Item_func::IN_FUNC) {
      leaf.negated = static_cast<Item_func_opt_neg&>(function).negated;
    } else if (leaf.operation == Item_func::LIKE_FUNC) {
      leaf.negated = static_cast<Item_func_like&>(function).negated;
      count = 2;
    } else {
      return std::nullopt;
    }
    const auto column = column_of(*arguments[column_argument]);
    if (!column || count - 1 > most_constants) return std::nullopt;
    leaf.field = field_of(*arguments[column_argument]);
    leaf.column = *column;
    for (size_t i = 0; i < count; ++i) {
      if (i == column_argument) continue;
      if (!is_constant(*arguments[i])) return std::nullopt;
      leaf.constants.push_back(without_cache(arguments[i]));
    }
    return leaf;
  }

  /// `truth` is about the leaf without its own NOT.
  std::optional<Translation> comparison(Leaf& leaf, bool truth, const QuietEvaluation& quiet) {
    // What a NULL among the constants does needs no value of the column.
    bool null_seen = false;
    for (Item* constant : leaf.constants) null_seen = constant->is_null() || null_seen;
    if (quiet.warned()) return std::nullopt;
    Item* const copy = copy_of(leaf);
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

    std::optional<Translation> result;
    if (const auto kind = FieldProbe::kind_of(*leaf.field)) {
      result = by_probing(leaf, *kind, truth);
    } else {
      result = by_collation(leaf, truth);
    }
    // Here NULL compares as a value, so that its rows are FALSE and not NULL.
    if (result && leaf.operation == Item_func::EQUAL_FUNC && !truth) {
      result->predicate = Predicate::any_of({std::move(result->predicate), Predicate::is_null(leaf.column)});
    }
    return result;
  }

  // --- numbers and times

  /// Whether the server compares values of this kind, in the type that it chose, in an order that is that of
  /// the stored values. `steady` is cleared where that holds but for jumps of local time.
  bool keeps_order(const Field& field, FieldProbe::Kind kind, const Type_handler& handler,
                   bool& steady) const {
    const Item_result type = handler.cmp_type();
    const bool is_time = type == TIME_RESULT && handler.mysql_timestamp_type() == MYSQL_TIMESTAMP_TIME;
    switch (kind) {
      case FieldProbe::Kind::Integer:
        // As floating point numbers, BITs from 2^63 on are negative.
        if (field.real_type() == MYSQL_TYPE_BIT && type == REAL_RESULT) return false;
        return type == INT_RESULT || type == DECIMAL_RESULT || type == REAL_RESULT;
      case FieldProbe::Kind::Real:
        return type == REAL_RESULT;
      case FieldProbe::Kind::Decimal:
        return type == DECIMAL_RESULT || type == REAL_RESULT;
      case FieldProbe::Kind::Date:
      case FieldProbe::Kind::DateTime:
        return type == TIME_RESULT && !is_time;
      case FieldProbe::Kind::Time:
        return is_time;
      case FieldProbe::Kind::Timestamp:
        if (type != TIME_RESULT || is_time) return false;
        if (handler.type_handler_for_native_format() != &type_handler_timestamp2)
          steady = time_zone_is_fixed(thd_);
        return true;
      case FieldProbe::Kind::Enumerated:
        return false;
    }
    return false;
  }

  std::optional<Translation> by_probing(const Leaf& leaf, FieldProbe::Kind kind, bool truth) {
    FieldProbe probe(table_, *leaf.field, kind);
    if (kind == FieldProbe::Kind::Enumerated) return by_trying_all(leaf, probe, truth);
    if (leaf.operation == Item_func::LIKE_FUNC) {
      return probe.has_few_values() ? by_trying_all(leaf, probe, truth) : std::nullopt;
    }
    bool steady = true;
    std::vector<RankRange> matching, edges;
    if (leaf.operation == Item_func::BETWEEN) {
      const auto low = equal_to(leaf, *leaf.constants[0], probe, steady);
      const auto high = equal_to(leaf, *leaf.constants[1], probe, steady);
      if (!low || !high) return std::nullopt;
      edges = {*low, *high};
      if (low->low <= high->high) matching.push_back({low->low, high->high});
    } else {
      const Sides sides = sides_of(leaf.operation);
      for (Item* constant : leaf.constants) {
        const auto equal = equal_to(leaf, *constant, probe, steady);
        if (!equal) return std::nullopt;
        edges.push_back(*equal);
        if (sides.below) matching.push_back({probe.least(), equal->low - 1});
        if (sides.equal) matching.push_back(*equal);
        if (sides.above) matching.push_back({equal->high + 1, probe.greatest()});
      }
    }
    matching = normalised(std::move(matching));
    if (!steady) {
      // Local time jumps by hours at most: a superset, from which the server takes its pick.
      if (!truth) return std::nullopt;
      return Translation{probe.predicate(leaf.column, probe.widened_by_a_day(std::move(matching))), false};
    }
    if (!agrees(leaf, probe, edges, matching)) return std::nullopt;
    return Translation{probe.predicate(leaf.column, truth ? matching : complement(matching, probe)), true};
  }

  /// The ranks that compare as equal to the constant: empty (high = low - 1) when it lies between two of
  /// them.
  std::optional<RankRange> equal_to(const Leaf& leaf, Item& constant, FieldProbe& probe, bool& steady) {
    auto* at_least =
        new (thd_->mem_root) Item_func_ge(thd_, new (thd_->mem_root) Item_field(thd_, leaf.field), &constant);
    auto* above =
        new (thd_->mem_root) Item_func_gt(thd_, new (thd_->mem_root) Item_field(thd_, leaf.field), &constant);
    Item* first = at_least;
    Item* second = above;
    if (at_least->fix_fields(thd_, &first) || above->fix_fields(thd_, &second)) return std::nullopt;
    if (!keeps_order(*leaf.field, probe.kind(), *at_least->compare_type_handler(), steady))
      return std::nullopt;
    bool null_met = false;
    const auto first_where = [&](Item_func& compare) {
      return probe.first_where([&](Rank rank) {
        probe.put(rank);
        const bool holds = compare.val_bool();
        null_met = null_met || compare.null_value;
        return holds;
      });
    };
    const Rank low = first_where(*at_least), after = first_where(*above);
    if (null_met) return std::nullopt;
    return RankRange{low, after - 1};
  }

  static std::vector<RankRange> normalised(std::vector<RankRange> ranges) {
    std::erase_if(ranges, [](const RankRange& range) { return range.low > range.high; });
    std::ranges::sort(ranges, {}, &RankRange::low);
    std::vector<RankRange> result;
    for (const RankRange& range : ranges) {
      if (!result.empty() && range.low <= result.back().high + 1) {
        result.back().high = std::max(result.back().high, range.high);
      } else {
        result.push_back(range);
      }
    }
    return result;
  }

  static std::vector<RankRange> complement(const std::vector<RankRange>& ranges, const FieldProbe& probe) {
    std::vector<RankRange> result;
    Rank next = probe.least();
    for (const RankRange& range : ranges) {
      if (next < range.low) result.push_back({next, range.low - 1});
      next = range.high + 1;
    }
    if (next <= probe.greatest()) result.push_back({next, probe.greatest()});
    return result;
  }

  /// Asks the whole leaf on both sides of every edge, as BETWEEN and IN choose one type for all their
  /// constants, which need not be the one of each single comparison; and here and there, should an order not
  /// be what it is taken for.
  bool agrees(const Leaf& leaf, FieldProbe& probe, const std::vector<RankRange>& edges,
              const std::vector<RankRange>& matching) {
    auto& function = static_cast<Item_func&>(*leaf.item);
    const auto agrees_at = [&](Rank rank) {
      if (rank < probe.least() || rank > probe.greatest()) return true;
      const auto range = std::ranges::lower_bound(matching, rank, {}, &RankRange::high);
      const bool expected = range != matching.end() && range->low <= rank;
      probe.put(rank);
      const bool value = function.val_bool();
      if (function.null_value) return leaf.has_null && !expected;
      return value == (expected != leaf.negated);
    };
    constexpr int samples = 16;
    const Rank step = (probe.greatest() - probe.least()) / samples;
    for (int i = 0; i < samples; ++i) {
      if (!agrees_at(probe.least() + i * step)) return false;
    }
    if (!agrees_at(probe.greatest())) return false;
    return std::ranges::all_of(edges, [&](const RankRange& edge) {
      return agrees_at(edge.low - 1) && agrees_at(edge.low) && agrees_at(edge.high) &&
             agrees_at(edge.high + 1);
    });
  }

  std::optional<Translation> by_trying_all(const Leaf& leaf, FieldProbe& probe, bool truth) {
    auto& function = static_cast<Item_func&>(*leaf.item);
    std::vector<RankRange> matching;
    for (Rank rank = probe.least(); rank <= probe.greatest(); ++rank) {
      probe.put(rank);
      const bool value = function.val_bool();
      if (function.null_value || value != (truth != leaf.negated)) continue;
      matching.push_back({rank, rank});
    }
    return Translation{probe.predicate(leaf.column, normalised(std::move(matching))), true};
  }

  // --- strings

  /// Whether the stored bytes are what the server compares.
  bool compares_stored_bytes(const Field& field, CHARSET_INFO* collation) const {
    // Its type does not tell that a column is COMPRESSED.
    if (field.compression_method() != nullptr) return false;
    switch (field.real_type()) {
      case MYSQL_TYPE_STRING:
        if (field.type_handler() != &type_handler_string) return false;
        // CHAR values are stored without the spaces that this mode makes visible.
        if ((thd_->variables.sql_mode & MODE_PAD_CHAR_TO_FULL_LENGTH) != 0) return false;
        break;
      case MYSQL_TYPE_VARCHAR:
      case MYSQL_TYPE_VAR_STRING:
      case MYSQL_TYPE_TINY_BLOB:
      case MYSQL_TYPE_BLOB:
      case MYSQL_TYPE_MEDIUM_BLOB:
      case MYSQL_TYPE_LONG_BLOB:
        break;
      default:
        return false;
    }
    return my_charset_same(field.charset(), collation) || collation == &my_charset_bin;
  }

  /// Constants may have become strings for the sake of one of them, while others are still compared as
  /// numbers.
  static bool compares_as_strings(const Leaf& leaf) {
    if (leaf.operation == Item_func::IN_FUNC) {
      const auto& list = static_cast<Item_func_in&>(*leaf.item);
      return list.arg_types_compatible && list.array != nullptr;
    }
    if (!is_comparison(leaf.operation)) return true;
    return static_cast<Item_bool_rowready_func2&>(*leaf.item).compare_type_handler()->cmp_type() ==
           STRING_RESULT;
  }

  /// Asks the server about the constants themselves as values of the column, and the empty string: should it
  /// compare otherwise than it seems (as JSON, as numbers), some of them will show it.
  bool agrees(const Leaf& leaf, const std::vector<std::string>& texts, const BytesTest& test, bool truth) {
    constexpr size_t most_samples = 16;
    Field& field = *leaf.field;
    auto& function = static_cast<Item_func&>(*leaf.item);
    const FieldFormat format(field, table_.record[0]);
    const SavedField saved(field);
    const auto agrees_on = [&](const std::string& text) {
      if (format.kind != FieldFormat::Kind::Blob && text.size() > format.width) return true;
      format.write(Value::of(ByteView(text)), field.ptr);
      const bool expected = test.matches(format.read(field.ptr).bytes) == truth;
      const bool value = function.val_bool();
      if (function.null_value) return leaf.has_null && !expected;
      return value == (expected != leaf.negated);
    };
    return agrees_on({}) && std::ranges::all_of(texts | std::views::take(most_samples), agrees_on);
  }

  std::optional<Translation> by_collation(const Leaf& leaf, bool truth) {
    CHARSET_INFO* collation = static_cast<Item_bool_func*>(leaf.item)->compare_collation();
    if (!compares_as_strings(leaf)) {
      // As numbers or times, whatever the column holds may be worth a warning.
      warns_ = true;
      return std::nullopt;
    }
    if (collation == nullptr || !compares_stored_bytes(*leaf.field, collation)) return std::nullopt;
    std::vector<std::string> texts;
    for (Item* constant : leaf.constants) {
      auto text = text_of(*constant);
      if (!text) return std::nullopt;
      texts.push_back(std::move(*text));
    }
    const std::vector<std::string> samples = texts;
    std::shared_ptr<const BytesTest> test;
    if (leaf.operation == Item_func::LIKE_FUNC) {
      const int escape = static_cast<Item_func_like*>(leaf.item)->escape;
      test = std::make_shared<LikeTest>(collation, std::move(texts.front()), escape, truth);
    } else {
      test = collation_test(leaf, collation, std::move(texts), truth);
    }
    if (!agrees(leaf, samples, *test, truth)) return std::nullopt;
    return Translation{Predicate::bytes(leaf.column, std::move(test)), true};
  }

  std::optional<std::string> text_of(Item& constant) const {
    if (constant.cmp_type() != STRING_RESULT || constant.result_type() != STRING_RESULT) return std::nullopt;
    String buffer;
    const String* text = constant.val_str(&buffer);
    if (text == nullptr) return std::nullopt;
    return std::string(text->ptr(), text->length());
  }

  static std::shared_ptr<const BytesTest> collation_test(const Leaf& leaf, CHARSET_INFO* collation,
                                                         std::vector<std::string> texts, bool truth) {
    const auto order = [&](const std::string& a, const std::string& b) {
      return collation->strnncollsp(a.data(), a.size(), b.data(), b.size());
    };
    std::vector<bool> wanted;
    if (leaf.operation == Item_func::BETWEEN) {
      const int limits = order(texts[0], texts[1]);
      if (limits > 0) {
        // No string lies between: all of them are equally far from TRUE.
        texts.resize(1);
        wanted.assign(3, !truth);
      } else if (limits == 0) {
        texts.resize(1);
        wanted = {!truth, truth, !truth};
      } else {
        wanted = {!truth, truth, truth, truth, !truth};
      }
    } else if (leaf.operation == Item_func::IN_FUNC) {
      std::ranges::sort(texts, [&](const auto& a, const auto& b) { return order(a, b) < 0; });
      const auto repeated =
          std::ranges::unique(texts, [&](const auto& a, const auto& b) { return order(a, b) == 0; });
      texts.erase(repeated.begin(), repeated.end());
      wanted.assign(2 * texts.size() + 1, !truth);
      for (size_t i = 0; i < texts.size(); ++i) wanted[2 * i + 1] = truth;
    } else {
      const Sides sides = sides_of(leaf.operation);
      wanted = {sides.below == truth, sides.equal == truth, sides.above == truth};
    }
    return std::make_shared<CollationTest>(collation, std::move(texts), std::move(wanted));
  }

  THD* const thd_;
  TABLE& table_;
  const RecordFormat& format_;
  const bool warnings_are_errors_;
  bool warns_ = false;
};

}  // namespace

PushedCondition translate_condition(TABLE& table, const RecordFormat& format, const Item& condition) {
  // In the inner table of an outer join a row of NULLs may stand for no row at all.
  // A constant table's row has been read, and its columns look like constants.
  if (table.in_use == nullptr || table.maybe_null != 0 || table.const_table) return {};
  // The server's items are evaluated by members that are not const.
  Translator translator(table, format);
  Translation translation = translator.translate(const_cast<Item&>(condition), true);
  // A row that is passed over warns of nothing.
  if (translator.warns()) return {};
  if (translation.predicate.kind() == Predicate::Kind::Always) return {nullptr, translation.exact};
  return {std::make_shared<const Predicate>(std::move(translation.predicate)), translation.exact};
}

}  // namespace hailstone

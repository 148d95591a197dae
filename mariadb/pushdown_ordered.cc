#include "pushdown_ordered.h"

#include <algorithm>
#include <utility>

// clang-format off
#include <tztime.h>
// clang-format on

namespace hailstone {

namespace {

/// Times of day differ from UTC by the same amount all the year round, so that they grow as the timestamps
/// do.
bool time_zone_is_fixed(THD* thd) {
  const String* name = thd->variables.time_zone->get_name();
  const ByteView zone(name->ptr(), name->length());
  if (zone == "SYSTEM") return ByteView(system_time_zone) == "UTC";
  return zone == "UTC" || zone.starts_with('+') || zone.starts_with('-');
}

class Comparison {
 public:
  Comparison(TABLE& table, const Leaf& leaf) : thd_(table.in_use), table_(table), leaf_(leaf) {}

  std::optional<Translation> by_probing(FieldProbe::Kind kind, bool truth) {
    FieldProbe probe(table_, *leaf_.field, kind);
    if (kind == FieldProbe::Kind::Enumerated) return by_trying_all(probe, truth);
    if (leaf_.operation == Item_func::LIKE_FUNC) {
      return probe.has_few_values() ? by_trying_all(probe, truth) : std::nullopt;
    }
    bool steady = true;
    std::vector<RankRange> matching, edges;
    if (leaf_.operation == Item_func::BETWEEN) {
      const auto low = equal_to(*leaf_.constants[0], probe, steady);
      const auto high = equal_to(*leaf_.constants[1], probe, steady);
      if (!low || !high) return std::nullopt;
      edges = {*low, *high};
      if (low->low <= high->high) matching.push_back({low->low, high->high});
    } else {
      const Sides sides = sides_of(leaf_.operation);
      for (Item* constant : leaf_.constants) {
        const auto equal = equal_to(*constant, probe, steady);
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
      return Translation{probe.predicate(leaf_.column, probe.widened_by_a_day(std::move(matching))), false};
    }
    // What whole numbers are compared by is known.
    if (!leaf_.of_whole_numbers && !agrees(probe, edges, matching)) return std::nullopt;
    return Translation{probe.predicate(leaf_.column, truth ? matching : complement(matching, probe)), true};
  }

 private:
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
      case FieldProbe::Kind::TimeStamp:
        if (type != TIME_RESULT || is_time) return false;
        if (handler.type_handler_for_native_format() != &type_handler_timestamp2)
          steady = time_zone_is_fixed(thd_);
        return true;
      case FieldProbe::Kind::Enumerated:
        return false;
    }
    return false;
  }

  /// The ranks that compare as equal to the constant: empty (high = low - 1) when it lies between two of
  /// them.
  std::optional<RankRange> equal_to(Item& constant, FieldProbe& probe, bool& steady) {
    if (leaf_.of_whole_numbers) return probe.place_of_whole_number(constant);
    auto* at_least = new (thd_->mem_root)
        Item_func_ge(thd_, new (thd_->mem_root) Item_field(thd_, leaf_.field), &constant);
    auto* above = new (thd_->mem_root)
        Item_func_gt(thd_, new (thd_->mem_root) Item_field(thd_, leaf_.field), &constant);
    Item* first = at_least;
    Item* second = above;
    if (at_least->fix_fields(thd_, &first) || above->fix_fields(thd_, &second)) return std::nullopt;
    if (!keeps_order(*leaf_.field, probe.kind(), *at_least->compare_type_handler(), steady))
      return std::nullopt;
    bool null_met = false;
    const auto holds_at = [&](Item_func& compare, Rank rank) {
      probe.put(rank);
      const bool holds = compare.val_bool();
      null_met = null_met || compare.null_value;
      return holds;
    };
    // A whole number is mostly found where it should be: four questions in place of some for each bit.
    if (probe.kind() == FieldProbe::Kind::Integer && constant.cmp_type() == INT_RESULT) {
      const RankRange place = probe.place_of_whole_number(constant);
      const Rank rank = place.low;
      const bool is_there = rank <= place.high && holds_at(*at_least, rank) && !holds_at(*above, rank) &&
                            (rank == probe.least() || !holds_at(*at_least, rank - 1)) &&
                            (rank == probe.greatest() || holds_at(*above, rank + 1));
      if (is_there && !null_met) return place;
    }
    const auto first_where = [&](Item_func& compare) {
      return probe.first_where([&](Rank rank) { return holds_at(compare, rank); });
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
  bool agrees(FieldProbe& probe, const std::vector<RankRange>& edges,
              const std::vector<RankRange>& matching) {
    auto& function = static_cast<Item_func&>(*leaf_.item);
    const auto agrees_at = [&](Rank rank) {
      if (rank < probe.least() || rank > probe.greatest()) return true;
      const auto range = std::ranges::lower_bound(matching, rank, {}, &RankRange::high);
      const bool expected = range != matching.end() && range->low <= rank;
      probe.put(rank);
      const bool value = function.val_bool();
      if (function.null_value) return leaf_.has_null && !expected;
      return value == (expected != leaf_.negated);
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

  std::optional<Translation> by_trying_all(FieldProbe& probe, bool truth) {
    auto& function = static_cast<Item_func&>(*leaf_.item);
    std::vector<RankRange> matching;
    for (Rank rank = probe.least(); rank <= probe.greatest(); ++rank) {
      probe.put(rank);
      const bool value = function.val_bool();
      if (function.null_value || value != (truth != leaf_.negated)) continue;
      matching.push_back({rank, rank});
    }
    return Translation{probe.predicate(leaf_.column, normalised(std::move(matching))), true};
  }

  THD* const thd_;
  TABLE& table_;
  const Leaf& leaf_;
};

}  // namespace

std::optional<Translation> translate_ordered(TABLE& table, const Leaf& leaf, FieldProbe::Kind kind,
                                             bool truth) {
  return Comparison(table, leaf).by_probing(kind, truth);
}

}  // namespace hailstone

// What the engine computes for the server's aggregates, piece by piece of a GroupBlock. Belongs to the
// connection's thread.
#pragma once

#include <optional>

#include "group_block.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

class AggregateTranslator {
 public:
  /// `order`: of the block's groups, if any.
  AggregateTranslator(GroupBlock& block, RowTranslator& rows, const ORDER* order)
      : block_(block), rows_(rows), order_(order) {}

  /// What becomes of digits of summands that do not show, as those of a quotient.
  enum class HiddenDigits : uint8_t {
    Unsure,   // that is up to the server's plan: such sums are not computed here
    Summed,   // they are added up
    Rounded,  // each summand is rounded, as a column of a table of the groups has it
  };
  void set_hidden_digits(HiddenDigits hidden) { hidden_ = hidden; }
  /// Whether a sum has digits that do not show.
  bool sums_hidden_digits() const { return sums_hidden_digits_; }

  /// Adds an item that is an aggregate to the block and its outputs; false: the engine does not compute it.
  bool add(Item& item, size_t place);

 private:
  using Counted = GroupBlock::Counted;
  std::optional<Counted> count_of(Item& argument, bool distinct);
  std::optional<Counted> counted_number(Aggregate::Kind kind, Item& argument, bool distinct);
  std::optional<Counted> summed_number(Item& argument);
  std::optional<Counted> spread_of(Item& argument);
  /// The position of a DECIMAL that is no short number, as the number that it is.
  std::optional<uint16_t> wide_number_of(PlainField field);
  std::optional<Counted> sum_of(Item& argument, bool distinct);
  std::optional<Counted> sum_of_shifted(Item& argument, const Item& sum, GroupOutput& output);
  bool is_ordered_by(const Item& item) const;
  std::optional<Counted> extreme_of(Item& argument, Aggregate::Kind kind);
  ServerValue kind_of_extreme(const Item& argument) const;
  std::optional<Counted> bits_of(Item& argument, Item_sum& sum);

  GroupBlock& block_;
  RowTranslator& rows_;
  const ORDER* const order_;
  HiddenDigits hidden_ = HiddenDigits::Unsure;
  bool sums_hidden_digits_ = false;
};

}  // namespace hailstone

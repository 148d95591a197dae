// Which of several texts: the greatest, the one that equals another one, the one of a number.
#include <algorithm>

#include "expression/kernels.h"
#include "expression/text_rows.h"

namespace hailstone {

namespace {

/// `beats` of the order of a text and of the best one before it.
template <typename Beats>
void find_best(const FunctionCall& call, const Beats& beats) {
  each_row(call, [&](uint32_t row) {
    ByteView best = call.input(0).texts[row];
    for (const Computed* const other : call.inputs.subspan(1)) {
      const ByteView text = other->texts[row];
      if (beats(call.settings.collation->compare(text, best))) best = text;
    }
    call.to.texts[row] = best;
  });
}

bool any_failure(std::span<const Computed* const> inputs, uint32_t row) {
  return std::ranges::any_of(inputs, [row](const Computed* input) { return input->failure(row) != 0; });
}

}  // namespace

void compare_order(const FunctionCall& call) {
  each_row(call, [&](uint32_t row) {
    const int order = call.settings.collation->compare(call.input(0).texts[row], call.input(1).texts[row]);
    call.to.integers[row] = order < 0 ? -1 : (order > 0 ? 1 : 0);
  });
}

void find_greatest(const FunctionCall& call) {
  find_best(call, [](int order) { return order > 0; });
}

void find_least(const FunctionCall& call) {
  find_best(call, [](int order) { return order < 0; });
}

void find_number_in_list(const FunctionCall& call) {
  const Computed& wanted = call.input(0);
  const auto others = call.inputs.subspan(1);
  call.to.any_nulls = false;
  call.to.any_failures = false;
  for (uint32_t row = 0; row < call.rows; ++row) {
    call.to.integers[row] = 0;
    if (any_failure(call.inputs, row)) call.to.add_failure(row, call.rows, unknown_value);
    if (wanted.is_null(row)) continue;
    const auto found = std::ranges::find_if(others, [&](const Computed* other) {
      return !other->is_null(row) &&
             call.settings.collation->compare(wanted.texts[row], other->texts[row]) == 0;
    });
    if (found != others.end()) call.to.integers[row] = found - others.begin() + 1;
  }
}

void choose_by_number(const FunctionCall& call) {
  const Computed& number = call.input(0);
  call.to.any_nulls = false;
  call.to.any_failures = false;
  for (uint32_t row = 0; row < call.rows; ++row) {
    call.to.texts[row] = {};
    // The server takes its lower 32 bits.
    const auto chosen = static_cast<uint32_t>(number.integers[row]);
    const bool is_one = !number.is_null(row) && chosen != 0 && chosen < call.inputs.size();
    const Computed* const text = is_one ? &call.input(chosen) : nullptr;
    if (number.failure(row) != 0 || (is_one && text->failure(row) != 0))
      call.to.add_failure(row, call.rows, unknown_value);
    if (!is_one || text->is_null(row)) {
      call.to.set_null(row, call.rows);
    } else {
      call.to.texts[row] = text->texts[row];
    }
  }
}

}  // namespace hailstone

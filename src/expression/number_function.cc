// Functions that are objects, of whole numbers and moments: their rows, and lists of numbers.
#include <algorithm>
#include <array>
#include <utility>

#include "column/projection.h"
#include "expression/kernels.h"

namespace hailstone {

namespace {

class AmongNumbers final : public NumberFunction {
 public:
  explicit AmongNumbers(std::vector<int64_t> numbers) : numbers_(std::move(numbers)) {
    std::ranges::sort(numbers_);
  }

  void of_all(uint32_t rows, const int64_t* first, const int64_t*, int64_t* to, State* state) const override {
    for (uint32_t row = 0; row < rows; ++row)
      to[row] = std::ranges::binary_search(numbers_, first[row]) ? 1 : 0;
    std::fill_n(state, rows, State::Known);
  }

 private:
  std::vector<int64_t> numbers_;
};

}  // namespace

std::shared_ptr<const NumberFunction> is_among(std::vector<int64_t> numbers) {
  return std::make_shared<AmongNumbers>(std::move(numbers));
}

void apply_number_function(const FunctionCall& call) {
  using State = NumberFunction::State;
  Computed& to = call.to;
  std::array<State, batch_rows> states;
  call.settings.of_numbers->of_all(call.rows, call.input(0).integers.data(),
                                   call.inputs.size() > 1 ? call.input(1).integers.data() : nullptr,
                                   to.integers.data(), states.data());
  for (uint32_t row = 0; row < call.rows; ++row) {
    // The first is looked at before it is known that the second is NULL.
    if (states[row] == State::Known || call.input(0).is_null(row) ||
        (to.is_null(row) && states[row] != State::Unknown))
      continue;
    const bool is_null = states[row] == State::Null;
    to.add_failure(row, call.rows, is_null ? Failure{1} : unknown_value);
    if (is_null) to.set_null(row, call.rows);
  }
}

}  // namespace hailstone

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
  std::optional<std::span<const int64_t>> listed() const override { return numbers_; }

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
  // The first is looked at before it is known that the second is NULL, which is any number. Whether the first
  // alone is told: with one of these beside it, it is.
  const auto is_first_known = [&](uint32_t row) {
    const int64_t first = call.input(0).integers[row];
    return std::ranges::any_of(std::array{int64_t{0}, int64_t{1}, first}, [&](int64_t second) {
      int64_t number = 0;
      State state = State::Unknown;
      call.settings.of_numbers->of_all(1, &first, &second, &number, &state);
      return state != State::Unknown;
    });
  };
  for (uint32_t row = 0; row < call.rows; ++row) {
    if (states[row] == State::Known || call.input(0).is_null(row) ||
        (to.is_null(row) && (states[row] != State::Unknown || is_first_known(row))))
      continue;
    const bool is_null = states[row] == State::Null;
    to.add_failure(row, call.rows, is_null ? Failure{1} : unknown_value);
    if (is_null) to.set_null(row, call.rows);
  }
}

}  // namespace hailstone

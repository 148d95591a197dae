// Runs a Program over batches. Belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "column/projection.h"
#include "query/expression/program.h"

namespace hailstone {

/// Rows, and where their columns are.
struct RowBatch {
  uint32_t rows = 0;
  std::span<const ColumnVector* const> columns;
  /// Where they come in their scans: before those of batches with a greater number. It grows from batch to
  /// batch of one thread.
  uint64_t order = 0;
};

/// What an instruction has computed of the rows of a batch: `integers` or `reals`, as its kind says. What
/// stands there for a NULL is any value.
struct Computed {
  PageVector<int64_t> integers;
  PageVector<double> reals;
  PageVector<uint8_t> nulls;     // 1: NULL; one a row
  bool any_nulls = false;        // false: `nulls` need not be looked at (and may be stale)
  PageVector<Failure> failures;  // one a row
  bool any_failures = false;     // false: the same of these

  bool is_null(uint32_t row) const { return any_nulls && nulls[row] != 0; }
  Failure failure(uint32_t row) const { return any_failures ? failures[row] : Failure{0}; }
};

class Evaluator {
 public:
  explicit Evaluator(std::shared_ptr<const Program> program);

  /// Computes all registers, of at most batch_rows rows.
  void run(const RowBatch& batch);
  const Computed& result(Program::Register number) const { return registers_[number]; }

 private:
  /// What is known of the values of the dictionary at hand.
  struct Codes {
    std::shared_ptr<const Dictionary> dictionary;
    std::vector<int64_t> numbers;
    std::vector<uint8_t> known;  // 0: not asked yet, 1: a number, 2: not to be told
  };
  void execute(const Program::Instruction& instruction, size_t number, const RowBatch& batch);
  static void load_column(const Program::Instruction& instruction, const ColumnVector& vector, uint32_t rows,
                          Computed& to);
  void apply_function(const Program::Instruction& instruction, Codes& codes, const ColumnVector& vector,
                      uint32_t rows, Computed& to);
  static void match(const Program::Instruction& instruction, Codes& codes, const ColumnVector& vector,
                    uint32_t rows, Computed& to);
  void check_sign(const Program::Instruction& instruction, uint32_t rows, Computed& to) const;
  void to_real(const Program::Instruction& instruction, uint32_t rows, Computed& to) const;
  void calculate(const Program::Instruction& instruction, uint32_t rows, Computed& to) const;
  void divide(const Program::Instruction& instruction, uint32_t rows, Computed& to) const;
  void compare(const Program::Instruction& instruction, uint32_t rows, Computed& to) const;
  void compare_with_both(const Program::Instruction& instruction, uint32_t rows, Computed& to) const;
  void combine_truths(const Program::Instruction& instruction, uint32_t rows, Computed& to) const;
  void apply_to_numbers(const Program::Instruction& instruction, uint32_t rows, Computed& to);
  void replace_failures(const Program::Instruction& instruction, uint32_t rows, Computed& to) const;
  void choose(const Program::Instruction& instruction, uint32_t rows, Computed& to) const;
  void choose_first(const Program::Instruction& instruction, uint32_t rows, Computed& to) const;

  const Computed& input(const Program::Instruction& instruction, size_t number) const {
    return registers_[instruction.inputs[number]];
  }

  const std::shared_ptr<const Program> program_;
  std::vector<Computed> registers_;
  std::vector<Codes> codes_;
  std::vector<uint8_t> unknown_;
  std::vector<NumberFunction::State> states_;
};

}  // namespace hailstone

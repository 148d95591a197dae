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
};

/// What an instruction has computed of the rows of a batch: `integers` or `reals`, as its kind says. What
/// stands there for a NULL is any value.
struct Computed {
  PageVector<int64_t> integers;
  PageVector<double> reals;
  PageVector<uint8_t> nulls;  // 1: NULL; one a row
  bool any_nulls = false;     // false: `nulls` need not be looked at (and may be stale)
};

class Evaluator {
 public:
  explicit Evaluator(std::shared_ptr<const Program> program);

  /// Computes all registers, of at most batch_rows rows. ErrorCode::Unsupported: see Program.
  Status run(const RowBatch& batch);
  const Computed& result(Program::Register number) const { return registers_[number]; }

 private:
  /// What is known of the values of the dictionary at hand.
  struct Codes {
    std::shared_ptr<const Dictionary> dictionary;
    std::vector<int64_t> numbers;
    std::vector<uint8_t> known;  // 0: not asked yet, 1: a number, 2: not to be told
  };
  /// False: a row's result is out of range.
  bool execute(const Program::Instruction& instruction, size_t number, const RowBatch& batch);
  bool load_column(const Program::Instruction& instruction, const ColumnVector& vector, uint32_t rows,
                   Computed& to);
  bool apply_function(const Program::Instruction& instruction, Codes& codes, const ColumnVector& vector,
                      uint32_t rows, Computed& to);
  void match(const Program::Instruction& instruction, Codes& codes, const ColumnVector& vector, uint32_t rows,
             Computed& to);
  bool check_sign(const Program::Instruction& instruction, uint32_t rows, Computed& to);
  bool to_real(const Program::Instruction& instruction, uint32_t rows, Computed& to);
  bool calculate(const Program::Instruction& instruction, uint32_t rows, Computed& to);
  void compare(const Program::Instruction& instruction, uint32_t rows, Computed& to);
  void combine_truths(const Program::Instruction& instruction, uint32_t rows, Computed& to);
  void choose(const Program::Instruction& instruction, uint32_t rows, Computed& to);
  /// Makes live_ 1 for the rows whose results count: those that are not NULL and have the mask.
  void find_live(const Program::Instruction& instruction, const Computed& of, uint32_t rows);

  const std::shared_ptr<const Program> program_;
  std::vector<Computed> registers_;
  std::vector<Codes> codes_;
  std::vector<uint8_t> live_, unknown_;
};

}  // namespace hailstone

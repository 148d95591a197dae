// Runs a Program over batches. Belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/arena.h"
#include "base/status.h"
#include "column/projection.h"
#include "expression/computed.h"
#include "expression/program.h"

namespace hailstone {

/// Rows, and where their columns are.
struct RowBatch {
  uint32_t rows = 0;
  std::span<const ColumnVector* const> columns;
  /// Where they come in their scans: before those of batches with a greater number. It grows from batch to
  /// batch of one thread.
  uint64_t order = 0;
};

class Evaluator {
 public:
  /// `wanted`: the registers that result() is asked for; none: all.
  explicit Evaluator(std::shared_ptr<const Program> program, std::vector<Program::Register> wanted = {});

  /// Computes all registers, of at most batch_rows rows.
  void run(const RowBatch& batch);
  /// Valid until the next run.
  const Computed& result(Program::Register number) const { return registers_[number]; }

 private:
  using Register = Program::Register;
  using Columns = std::span<const ColumnVector* const>;

  /// Instructions that read one column of bytes and nothing else. Where the column is stored as codes they
  /// are computed once a code. Their values stay until the column has another dictionary.
  struct ByCode {
    uint16_t position = 0;
    std::vector<Register> instructions;
    std::vector<Register> outputs;  // of these: what others read, and what result() is asked for
    std::shared_ptr<const Dictionary> dictionary = nullptr;
    std::vector<uint8_t> known;    // of each code, and, as the last one, of NULL
    std::vector<Computed> values;  // of each output: by code
    Arena bytes;                   // of these
  };

  void find_by_code(const std::vector<Register>& wanted);
  void run_by_code(ByCode& of, const RowBatch& batch);
  void execute(Register number, Columns columns, uint32_t rows, Arena& bytes);
  static void load_column(const Expression::Node& node, const ColumnVector& vector, uint32_t rows,
                          Computed& to);
  void apply_function(const Expression::Node& node, const ColumnVector& vector, uint32_t rows, Computed& to);
  void call(const Program::Instruction& instruction, uint32_t rows, Arena& bytes, Computed& to);

  const std::shared_ptr<const Program> program_;
  std::vector<Computed> registers_;
  std::vector<std::unique_ptr<ByCode>> by_code_;
  std::vector<ByCode*> of_instruction_;  // null: it is none's
  Arena bytes_;                          // of the batch at hand
  std::vector<uint8_t> unknown_;
  std::vector<const Computed*> inputs_;
  // Of run_by_code().
  std::vector<uint32_t> codes_, new_codes_;
  ColumnVector new_values_;
  std::vector<const ColumnVector*> new_columns_;
};

}  // namespace hailstone

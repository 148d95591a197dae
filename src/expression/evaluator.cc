#include "expression/evaluator.h"

#include <algorithm>
#include <utility>

#include "schema/ordered_wide.h"

namespace hailstone {

namespace {

using Node = Expression::Node;

/// So many bytes of text may a batch make, of results that may be long. Rows that would make more fail: the
/// embedding application is asked of them one at a time.
constexpr uint64_t most_bytes_made = uint64_t{64} << 20;

void match(const Node& node, const ColumnVector& vector, uint32_t rows, Computed& to) {
  const Predicate& predicate = *node.predicate;
  to.any_nulls = false;
  to.any_failures = false;
  if (predicate.kind() == Predicate::Kind::IsNull || predicate.kind() == Predicate::Kind::IsNotNull) {
    const int64_t of_null = predicate.kind() == Predicate::Kind::IsNull ? 1 : 0;
    for (uint32_t row = 0; row < rows; ++row) to.integers[row] = vector.is_null(row) ? of_null : 1 - of_null;
    return;
  }
  if (node.column.integer) {
    for (uint32_t row = 0; row < rows; ++row)
      to.integers[row] = in_ranges(predicate.ranges(), vector.integers[row]) ? 1 : 0;
  } else {
    for (uint32_t row = 0; row < rows; ++row) {
      if (!vector.is_null(row)) to.integers[row] = predicate.test().matches(vector.bytes[row]) ? 1 : 0;
    }
  }
  for (uint32_t row = 0; vector.any_nulls && row < rows; ++row) {
    if (vector.nulls[row] != 0) to.integers[row] = 0;
  }
}

}  // namespace

Evaluator::Evaluator(std::shared_ptr<const Program> program, std::vector<Program::Register> wanted)
    : program_(std::move(program)), unknown_(batch_rows) {
  const auto instructions = program_->instructions();
  registers_.resize(instructions.size());
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Node& node = *instructions[i].of;
    Computed& to = registers_[i];
    to.kind = node.values;
    to.resize(batch_rows);
    std::ranges::fill(to.integers, node.integer);
    std::ranges::fill(to.reals, node.real);
    std::ranges::fill(to.texts, ByteView(node.text));
    if (!node.huge.has_64_bits()) to.make_numbers(batch_rows, [&](uint32_t) { return node.huge; });
    if (node.kind == Expression::Kind::Null) {
      to.any_nulls = true;
      std::ranges::fill(to.nulls, uint8_t{1});
    }
  }
  if (wanted.empty()) {
    for (size_t i = 0; i < instructions.size(); ++i) wanted.push_back(static_cast<Register>(i));
  }
  find_by_code(wanted);
}

void Evaluator::find_by_code(const std::vector<Program::Register>& wanted) {
  const auto instructions = program_->instructions();
  of_instruction_.assign(instructions.size(), nullptr);
  std::vector<bool> is_constant(instructions.size());
  const auto of_position = [this](uint16_t position) {
    const auto found = std::ranges::find(by_code_, position, [](const auto& each) { return each->position; });
    if (found != by_code_.end()) return found->get();
    by_code_.push_back(std::make_unique<ByCode>());
    by_code_.back()->position = position;
    return by_code_.back().get();
  };
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Program::Instruction& instruction = instructions[i];
    ByCode* of = nullptr;
    switch (instruction.of->kind) {
      case Expression::Kind::Constant:
      case Expression::Kind::Null:
        is_constant[i] = true;
        break;
      case Expression::Kind::Column:
      case Expression::Kind::OfColumn:
      case Expression::Kind::Matches:
        if (!instruction.of->column.integer) of = of_position(instruction.of->position);
        break;
      case Expression::Kind::Call: {
        bool is_of_one = true;
        for (const Register input : instruction.inputs) {
          if (is_constant[input]) continue;
          is_of_one &= of_instruction_[input] != nullptr && (of == nullptr || of == of_instruction_[input]);
          of = of_instruction_[input];
        }
        if (!is_of_one) of = nullptr;
        break;
      }
    }
    of_instruction_[i] = of;
    if (of != nullptr) of->instructions.push_back(static_cast<Register>(i));
  }
  std::vector<bool> is_output(instructions.size());
  for (const Register number : wanted) is_output[number] = true;
  for (size_t i = 0; i < instructions.size(); ++i) {
    for (const Register input : instructions[i].inputs) {
      if (of_instruction_[i] != of_instruction_[input]) is_output[input] = true;
    }
  }
  for (const auto& of : by_code_) {
    for (const Register number : of->instructions) {
      // A column's own values are looked up as quickly in the dictionary.
      if (is_output[number] && instructions[number].of->kind != Expression::Kind::Column)
        of->outputs.push_back(number);
    }
    of->values.resize(of->outputs.size());
    for (size_t i = 0; i < of->outputs.size(); ++i)
      of->values[i].kind = instructions[of->outputs[i]].of->values;
  }
}

void Evaluator::run(const RowBatch& batch) {
  bytes_.clear();
  for (const auto& of : by_code_) {
    if (!of->outputs.empty() && batch.columns[of->position]->dictionary != nullptr) run_by_code(*of, batch);
  }
  const auto instructions = program_->instructions();
  for (size_t i = 0; i < instructions.size(); ++i) {
    const ByCode* const of = of_instruction_[i];
    if (of != nullptr && instructions[i].of->kind != Expression::Kind::Column &&
        batch.columns[of->position]->dictionary != nullptr)
      continue;
    execute(static_cast<Register>(i), batch.columns, batch.rows, bytes_);
  }
}

/// Values that are met for the first time are the rows of a batch of their own.
void Evaluator::run_by_code(ByCode& of, const RowBatch& batch) {
  const ColumnVector& vector = *batch.columns[of.position];
  const Dictionary& dictionary = *vector.dictionary;
  const auto null_code = static_cast<uint32_t>(dictionary.size());
  if (of.dictionary != vector.dictionary) {
    of.dictionary = vector.dictionary;
    of.known.assign(dictionary.size() + 1, 0);
    of.bytes.clear();
    for (Computed& values : of.values) {
      values.resize(dictionary.size() + 1);
      values.any_huge = false;
    }
  }
  codes_.resize(batch.rows);
  new_codes_.clear();
  for (uint32_t row = 0; row < batch.rows; ++row) {
    const uint32_t code = vector.is_null(row) ? null_code : vector.codes[row];
    codes_[row] = code;
    if (std::exchange(of.known[code], uint8_t{1}) == 0) new_codes_.push_back(code);
  }
  if (!new_codes_.empty()) {
    new_values_.bytes.clear();
    new_values_.nulls.clear();
    new_values_.any_nulls = false;
    for (const uint32_t code : new_codes_) {
      const bool is_null = code == null_code;
      new_values_.bytes.push_back(is_null ? ByteView() : dictionary.value(code));
      new_values_.nulls.push_back(is_null ? 1 : 0);
      new_values_.any_nulls |= is_null;
    }
    new_columns_.assign(batch.columns.size(), nullptr);
    new_columns_[of.position] = &new_values_;
    const auto rows = static_cast<uint32_t>(new_codes_.size());
    for (const Register number : of.instructions) execute(number, new_columns_, rows, of.bytes);
    for (size_t i = 0; i < of.outputs.size(); ++i) {
      for (uint32_t row = 0; row < rows; ++row)
        of.values[i].copy_row(new_codes_[row], registers_[of.outputs[i]], row);
    }
  }
  for (size_t i = 0; i < of.outputs.size(); ++i) {
    const Computed& values = of.values[i];
    Computed& to = registers_[of.outputs[i]];
    to.any_huge = false;
    with_values(
        to.kind,
        [&](auto* results, const auto* by_code) {
          for (uint32_t row = 0; row < batch.rows; ++row) results[row] = by_code[codes_[row]];
        },
        to, values);
    uint8_t any_nulls = 0, any_failures = 0;
    for (uint32_t row = 0; row < batch.rows; ++row) {
      any_nulls |= to.nulls[row] = values.nulls[codes_[row]];
      any_failures |= to.failures[row] = values.failures[codes_[row]];
    }
    to.any_nulls = any_nulls != 0;
    to.any_failures = any_failures != 0;
    if (values.any_huge) to.make_numbers(batch.rows, [&](uint32_t row) { return values.huge[codes_[row]]; });
  }
}

void Evaluator::execute(Program::Register number, Columns columns, uint32_t rows, Arena& bytes) {
  const Program::Instruction& instruction = program_->instructions()[number];
  const Node& node = *instruction.of;
  Computed& to = registers_[number];
  if (node.kind != Expression::Kind::Constant) to.any_huge = false;
  switch (node.kind) {
    case Expression::Kind::Column:
      return load_column(node, *columns[node.position], rows, to);
    case Expression::Kind::OfColumn:
      return apply_function(node, *columns[node.position], rows, to);
    case Expression::Kind::Matches:
      return match(node, *columns[node.position], rows, to);
    case Expression::Kind::Constant:
    case Expression::Kind::Null:
      return;
    case Expression::Kind::Call:
      return call(instruction, rows, bytes, to);
  }
}

void Evaluator::call(const Program::Instruction& instruction, uint32_t rows, Arena& bytes, Computed& to) {
  const FunctionSettings& settings = instruction.of->settings;
  const FunctionLine& line = line_of(instruction.of->function);
  inputs_.clear();
  for (const Register input : instruction.inputs) inputs_.push_back(&registers_[input]);
  if (line.marks != Marks::OfKernel) {
    const bool in_order = line.marks == Marks::InOrder || settings.in_order;
    to.copy_marks(*inputs_.front(), rows);
    for (const Computed* const input : std::span(inputs_).subspan(1)) {
      if (in_order) {
        to.unite_in_order(to, *input, rows);
        continue;
      }
      to.unite_nulls(to, *input, rows);
      to.unite_failures(to, *input, rows);
    }
  }
  if (line.marks == Marks::Asked && to.any_failures) {
    for (uint32_t row = 0; row < rows; ++row) {
      if (to.failures[row] != 0) to.failures[row] = unknown_value;
    }
  }
  line.kernel({.inputs = inputs_,
               .rows = rows,
               .settings = settings,
               .bytes = bytes,
               .most_made = most_bytes_made,
               .to = to});
  if (line.takes_huge) return;
  for (const Computed* const input : inputs_) {
    for (uint32_t row = 0; input->any_huge && row < rows; ++row) {
      // Also where the kernel, which has met another number, gave NULL.
      if (input->is_huge(row)) to.add_failure(row, rows, unknown_value);
    }
  }
}

namespace {

/// The numbers of a column of ordered bytes.
void load_numbers(const ColumnVector& vector, uint32_t rows, Computed& to) {
  to.make_numbers(rows, [&](uint32_t row) { return native_number(vector.value(row).bytes); });
}

}  // namespace

void Evaluator::load_column(const Node& node, const ColumnVector& vector, uint32_t rows, Computed& to) {
  to.copy_nulls(vector.nulls.data(), vector.any_nulls, rows);
  to.any_failures = false;
  if (!node.column.integer && node.values == ValueKind::Integer) return load_numbers(vector, rows, to);
  if (node.values == ValueKind::Text) {
    const auto load = [&](const auto& text_of) {
      for (uint32_t row = 0; row < rows; ++row) to.texts[row] = to.is_null(row) ? ByteView() : text_of(row);
    };
    if (vector.dictionary == nullptr) return load([&](uint32_t row) { return vector.bytes[row]; });
    return load(
        [&, &dictionary = *vector.dictionary](uint32_t row) { return dictionary.value(vector.codes[row]); });
  }
  const uint64_t* const values = vector.integers.data();
  switch (node.column.type) {
    case Type::Float:
      for (uint32_t row = 0; row < rows; ++row) to.reals[row] = native_float(values[row]);
      return;
    case Type::Double:
      for (uint32_t row = 0; row < rows; ++row) to.reals[row] = native_double(values[row]);
      return;
    case Type::Signed: {
      // A NULL row has any bits, so that it may wrap around.
      const uint64_t bias = sign_of_width(node.column.width);
      for (uint32_t row = 0; row < rows; ++row) to.integers[row] = static_cast<int64_t>(values[row] - bias);
      return;
    }
    default:
      break;
  }
  uint64_t all = 0;
  for (uint32_t row = 0; row < rows; ++row) {
    to.integers[row] = static_cast<int64_t>(values[row]);
    all |= values[row];
  }
  if (all >> 63 == 0) return;
  to.make_numbers(rows, [&](uint32_t row) { return HugeInteger{{values[row], 0, 0, 0}}; });
}

void Evaluator::apply_function(const Node& node, const ColumnVector& vector, uint32_t rows, Computed& to) {
  to.copy_nulls(vector.nulls.data(), vector.any_nulls, rows);
  to.any_failures = false;
  const ColumnFunction& function = *node.of_column;
  if (node.column.integer) {
    function.of_all({vector.integers.data(), rows}, to.integers.data(), unknown_.data());
    uint8_t any = 0;
    for (uint32_t row = 0; row < rows; ++row) any |= unknown_[row];
    for (uint32_t row = 0; any != 0 && row < rows; ++row) {
      if (unknown_[row] != 0 && !to.is_null(row)) to.add_failure(row, rows, unknown_value);
    }
    return;
  }
  if (function.is_huge())
    return to.make_numbers(rows, [&](uint32_t row) { return function.huge_of(vector.bytes[row]); });
  for (uint32_t row = 0; row < rows; ++row) {
    if (to.is_null(row)) continue;
    const auto number = function.of(Value::of(vector.bytes[row]));
    to.integers[row] = number.value_or(0);
    if (!number) to.add_failure(row, rows, unknown_value);
  }
}

}  // namespace hailstone

// What the kernels of texts share: the rows that have a value, and texts that are made of them.
#pragma once

#include <algorithm>

#include "expression/function.h"

namespace hailstone {

/// Calls `work` with each row whose result is not NULL. Of others the text is empty.
template <typename Work>
void each_row(const FunctionCall& call, const Work& work) {
  for (uint32_t row = 0; row < call.rows; ++row) {
    if (call.to.is_null(row)) {
      if (call.to.kind == ValueKind::Text) call.to.texts[row] = {};
    } else {
      work(row);
    }
  }
}

/// A text that is a part of the argument's.
template <typename Part>
void take_parts(const FunctionCall& call, const Part& part) {
  each_row(call, [&](uint32_t row) { call.to.texts[row] = part(row, call.input(0).texts[row]); });
}

inline void make_text(const FunctionCall& call, uint32_t row, ByteView text) {
  char* const to = call.text(row, text.size());
  if (to == nullptr) return;
  std::copy(text.begin(), text.end(), to);
  call.to.texts[row] = {to, text.size()};
}

}  // namespace hailstone

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "expression/kernels.h"
#include "expression/text_rows.h"
#include "schema/padding.h"

namespace hailstone {

bool FunctionCall::may_make(uint64_t longest, uint64_t all) const {
  return settings.most_bytes == 0 || (longest <= settings.most_bytes && bytes.bytes() + all <= most_made);
}

char* FunctionCall::text(uint32_t row, uint64_t length) const {
  if (may_make(length, length)) return bytes.allocate(std::max<uint64_t>(length, 1));
  to.texts[row] = {};
  to.add_failure(row, rows, unknown_value);
  return nullptr;
}

namespace {

ByteView without_leading_spaces(ByteView text) {
  const size_t first = text.find_first_not_of(' ');
  return first == ByteView::npos ? ByteView() : text.substr(first);
}

/// From the character `start`, counted from 1, or from the end where it is negative; at most `characters`.
ByteView cut(const Collation& collation, ByteView text, int64_t start, int64_t characters) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (characters <= 0 || start == 0 || start > most || start < -most - 1) return {};
  size_t before = 0;
  if (start < 0) {
    const auto all = static_cast<int64_t>(collation.characters(text));
    if (all + start < 0) return {};
    before = static_cast<size_t>(all + start);
  } else {
    before = static_cast<size_t>(start - 1);
  }
  // There are no more characters than bytes.
  if (before >= text.size()) return {};
  text.remove_prefix(collation.prefix_bytes(text, before));
  if (characters >= static_cast<int64_t>(text.size())) return text;
  return text.substr(0, collation.prefix_bytes(text, static_cast<size_t>(characters)));
}

template <typename Append>
void make_by(const FunctionCall& call, const Append& append) {
  std::string made;
  each_row(call, [&](uint32_t row) {
    made.clear();
    append(call.input(0).texts[row], made);
    make_text(call, row, made);
  });
}

}  // namespace

namespace {

/// Most texts are short: they are copied without a call.
char* write_text(ByteView text, char* to) {
  const char* const from = text.data();
  const size_t size = text.size();
  const auto copy_ends = [&](auto width) {
    std::memcpy(to, from, width());
    std::memcpy(to + size - width(), from + size - width(), width());
  };
  if (size > 16) {
    std::memcpy(to, from, size);
  } else if (size >= 8) {
    copy_ends(std::integral_constant<size_t, 8>());
  } else if (size >= 4) {
    copy_ends(std::integral_constant<size_t, 4>());
  } else if (size > 0) {
    // All of up to three: the first, the middle and the last.
    to[0] = from[0];
    to[size / 2] = from[size / 2];
    to[size - 1] = from[size - 1];
  }
  return to + size;
}

}  // namespace

namespace {

/// Of rows of `parts`, which are the arguments' texts.
template <typename Parts>
void concatenate_parts(const FunctionCall& call, const Parts& parts) {
  constexpr uint32_t rows_ahead = 16;
  const auto length_of = [&parts](uint32_t row) {
    uint64_t length = 0;
    for (const ByteView* const part : parts) length += part[row].size();
    return length;
  };
  uint64_t longest = 0, all = 0;
  each_row(call, [&](uint32_t row) {
    const uint64_t length = length_of(row);
    longest = std::max(longest, length);
    all += length;
  });
  // In one piece, where none is too long.
  char* piece = call.may_make(longest, all) ? call.bytes.allocate(std::max<uint64_t>(all, 1)) : nullptr;
  ByteView* const made = call.to.texts.data();
  const uint32_t last = call.rows - 1;
  each_row(call, [&](uint32_t row) {
    char* const begin = piece != nullptr ? piece : call.text(row, length_of(row));
    if (begin == nullptr) return;
    char* to = begin;
    for (const ByteView* const part : parts) {
      // Texts of a dictionary lie all over it.
      __builtin_prefetch(part[std::min(row + rows_ahead, last)].data());
      to = write_text(part[row], to);
    }
    made[row] = {begin, static_cast<size_t>(to - begin)};
    if (piece != nullptr) piece = to;
  });
}

}  // namespace

void concatenate(const FunctionCall& call) {
  const auto texts_of = [&call](size_t number) { return call.input(number).texts.data(); };
  // Mostly there are two, whose loops need no loop of their own.
  if (call.inputs.size() == 2) return concatenate_parts(call, std::array{texts_of(0), texts_of(1)});
  std::vector<const ByteView*> parts;
  for (size_t i = 0; i < call.inputs.size(); ++i) parts.push_back(texts_of(i));
  concatenate_parts(call, parts);
}

void concatenate_with(const FunctionCall& call) {
  const Computed& separator = call.input(0);
  call.to.copy_nulls(separator.nulls.data(), separator.any_nulls, call.rows);
  call.to.any_failures =
      std::ranges::any_of(call.inputs, [](const Computed* input) { return input->any_failures; });
  if (call.to.any_failures) {
    call.to.make_failures(call.rows, [&](uint32_t row) {
      const bool any =
          std::ranges::any_of(call.inputs, [row](const Computed* input) { return input->failure(row) != 0; });
      return any ? unknown_value : Failure{0};
    });
  }
  std::string made;
  each_row(call, [&](uint32_t row) {
    made.clear();
    bool is_first = true;
    for (const Computed* const part : call.inputs.subspan(1)) {
      if (part->is_null(row)) continue;
      if (!is_first) made += separator.texts[row];
      made += part->texts[row];
      is_first = false;
    }
    make_text(call, row, made);
  });
}

void cut_out(const FunctionCall& call) {
  take_parts(call, [&](uint32_t row, ByteView text) {
    return cut(*call.settings.collation, text, call.input(1).integers[row], call.input(2).integers[row]);
  });
}

void cut_from(const FunctionCall& call) {
  take_parts(call, [&](uint32_t row, ByteView text) {
    return cut(*call.settings.collation, text, call.input(1).integers[row],
               std::numeric_limits<int32_t>::max());
  });
}

void cut_left(const FunctionCall& call) {
  take_parts(call, [&](uint32_t row, ByteView text) -> ByteView {
    const int64_t characters = call.input(1).integers[row];
    if (characters <= 0) return {};
    if (characters >= static_cast<int64_t>(text.size())) return text;
    return text.substr(0, call.settings.collation->prefix_bytes(text, static_cast<size_t>(characters)));
  });
}

void cut_right(const FunctionCall& call) {
  take_parts(call, [&](uint32_t row, ByteView text) -> ByteView {
    const int64_t characters = call.input(1).integers[row];
    if (characters <= 0) return {};
    if (characters >= static_cast<int64_t>(text.size())) return text;
    const auto all = static_cast<int64_t>(call.settings.collation->characters(text));
    if (all <= characters) return text;
    return text.substr(call.settings.collation->prefix_bytes(text, static_cast<size_t>(all - characters)));
  });
}

void make_upper(const FunctionCall& call) {
  make_by(call, [&](ByteView text, std::string& to) { call.settings.collation->append_upper(text, to); });
}

void make_lower(const FunctionCall& call) {
  make_by(call, [&](ByteView text, std::string& to) { call.settings.collation->append_lower(text, to); });
}

void trim_both(const FunctionCall& call) {
  take_parts(call,
             [](uint32_t, ByteView text) { return without_trailing_spaces(without_leading_spaces(text)); });
}

void trim_left(const FunctionCall& call) {
  take_parts(call, [](uint32_t, ByteView text) { return without_leading_spaces(text); });
}

void trim_right(const FunctionCall& call) {
  take_parts(call, [](uint32_t, ByteView text) { return without_trailing_spaces(text); });
}

void replace_all(const FunctionCall& call) {
  std::string made;
  each_row(call, [&](uint32_t row) {
    const ByteView text = call.input(0).texts[row], from = call.input(1).texts[row];
    size_t next = from.empty() ? ByteView::npos : text.find(from);
    if (next == ByteView::npos) {
      call.to.texts[row] = text;
      return;
    }
    made.clear();
    size_t done = 0;
    for (; next != ByteView::npos; next = text.find(from, done)) {
      made += text.substr(done, next - done);
      made += call.input(2).texts[row];
      done = next + from.size();
    }
    made += text.substr(done);
    make_text(call, row, made);
  });
}

void count_bytes(const FunctionCall& call) {
  each_row(call, [&](uint32_t row) {
    call.to.integers[row] = static_cast<int64_t>(call.input(0).texts[row].size());
  });
}

void count_characters(const FunctionCall& call) {
  each_row(call, [&](uint32_t row) {
    call.to.integers[row] =
        static_cast<int64_t>(call.settings.collation->characters(call.input(0).texts[row]));
  });
}

void take_first_bytes(const FunctionCall& call) {
  each_row(call, [&](uint32_t row) {
    const ByteView text = call.input(0).texts[row];
    call.to.integers[row] = text.empty() ? 0 : static_cast<unsigned char>(text.front());
  });
}

void locate(const FunctionCall& call) {
  each_row(call, [&](uint32_t row) {
    call.to.integers[row] = static_cast<int64_t>(
        call.settings.collation->locate(call.input(0).texts[row], call.input(1).texts[row]));
  });
}

void make_hex(const FunctionCall& call) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  make_by(call, [&](ByteView text, std::string& to) {
    for (const char byte : text) {
      to += digits[static_cast<unsigned char>(byte) >> 4];
      to += digits[static_cast<unsigned char>(byte) & 15];
    }
  });
}

void apply_to_texts(const FunctionCall& call) { call.settings.of_texts->of_all(call); }

}  // namespace hailstone

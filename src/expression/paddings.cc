// Texts that are filled up, repeated or turned round.
#include <algorithm>
#include <cstring>
#include <limits>

#include "expression/kernels.h"
#include "expression/text_rows.h"

namespace hailstone {

namespace {

/// More characters than a text has.
constexpr int64_t most_repeated = std::numeric_limits<int32_t>::max();
/// So many bytes SQL foresees for a character, at most.
constexpr uint64_t most_bytes_of_character = 4;

void fail(const FunctionCall& call, uint32_t row) {
  call.to.texts[row] = {};
  call.to.add_failure(row, call.rows, unknown_value);
}

/// `work` gets the text, and the characters that fill it up: so many whole fillings, and the bytes of a part
/// of one.
template <typename Work>
void fill_up(const FunctionCall& call, const Work& work) {
  const Collation& collation = *call.settings.collation;
  const uint64_t most = call.settings.most_bytes;
  each_row(call, [&](uint32_t row) {
    const ByteView text = call.input(0).texts[row], filling = call.input(2).texts[row];
    const int64_t wanted = std::min(call.input(1).integers[row], most_repeated);
    call.to.texts[row] = {};
    if (wanted < 0) return call.to.set_null(row, call.rows);
    const auto characters = static_cast<size_t>(wanted);
    const size_t there = collation.characters(text);
    if (characters <= there) {
      call.to.texts[row] = text.substr(0, collation.prefix_bytes(text, characters));
      return;
    }
    if (most != 0 && characters > most / most_bytes_of_character) return fail(call, row);
    const size_t of_filling = collation.characters(filling);
    if (of_filling == 0) return call.to.set_null(row, call.rows);
    const size_t missing = characters - there;
    const size_t times = missing / of_filling;
    const ByteView rest = filling.substr(0, collation.prefix_bytes(filling, missing % of_filling));
    const uint64_t length = text.size() + times * filling.size() + rest.size();
    char* const to = call.text(row, length);
    if (to == nullptr) return;
    call.to.texts[row] = {to, length};
    work(to, text, filling, times, rest);
  });
}

char* append(char* to, ByteView text) { return std::ranges::copy(text, to).out; }

char* append_filling(char* to, ByteView filling, size_t times, ByteView rest) {
  if (filling.size() == 1) {
    std::fill_n(to, times, filling.front());
    to += times;
  } else {
    for (; times > 0; --times) to = append(to, filling);
  }
  return append(to, rest);
}

}  // namespace

void pad_left(const FunctionCall& call) {
  fill_up(call, [](char* to, ByteView text, ByteView filling, size_t times, ByteView rest) {
    append(append_filling(to, filling, times, rest), text);
  });
}

void pad_right(const FunctionCall& call) {
  fill_up(call, [](char* to, ByteView text, ByteView filling, size_t times, ByteView rest) {
    append_filling(append(to, text), filling, times, rest);
  });
}

void repeat_texts(const FunctionCall& call) {
  const uint64_t most = call.settings.most_bytes;
  each_row(call, [&](uint32_t row) {
    const ByteView text = call.input(0).texts[row];
    const int64_t times = std::min(call.input(1).integers[row], most_repeated);
    call.to.texts[row] = {};
    if (times <= 0 || text.empty()) return;
    if (times == 1) {
      call.to.texts[row] = text;
      return;
    }
    if (most != 0 && text.size() > most / static_cast<uint64_t>(times)) return fail(call, row);
    const uint64_t length = text.size() * static_cast<uint64_t>(times);
    char* const to = call.text(row, length);
    if (to == nullptr) return;
    call.to.texts[row] = {to, length};
    append_filling(to, text, static_cast<size_t>(times), {});
  });
}

void reverse_texts(const FunctionCall& call) {
  const Collation& collation = *call.settings.collation;
  each_row(call, [&](uint32_t row) {
    const ByteView text = call.input(0).texts[row];
    char* const to = call.text(row, text.size());
    if (to == nullptr) return;
    call.to.texts[row] = {to, text.size()};
    if (!collation.has_wide_characters()) {
      std::ranges::reverse_copy(text, to);
      return;
    }
    char* before = to + text.size();
    for (ByteView rest = text; !rest.empty();) {
      const bool is_ascii = static_cast<unsigned char>(rest.front()) < 0x80;
      const size_t size = is_ascii ? 1 : collation.prefix_bytes(rest, 1);
      before -= size;
      append(before, rest.substr(0, size));
      rest.remove_prefix(size);
    }
  });
}

}  // namespace hailstone

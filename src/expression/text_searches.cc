// What is looked for in texts: pieces at their ends, between separators, and behind a place.
#include <algorithm>
#include <limits>

#include "expression/kernels.h"
#include "expression/text_rows.h"

namespace hailstone {

namespace {

ByteView without_beginnings(ByteView text, ByteView piece) {
  while (!piece.empty() && text.starts_with(piece)) text.remove_prefix(piece.size());
  return text;
}

ByteView without_ends(ByteView text, ByteView piece) {
  while (!piece.empty() && text.ends_with(piece)) text.remove_suffix(piece.size());
  return text;
}

/// Where the piece number `number`, from 1 on, begins that does not overlap the one before it.
size_t find_from_front(ByteView text, ByteView piece, int64_t number) {
  size_t at = text.find(piece);
  for (; at != ByteView::npos && number > 1; --number) at = text.find(piece, at + piece.size());
  return at;
}

/// The same from the end.
size_t find_from_back(ByteView text, ByteView piece, int64_t number) {
  size_t at = text.rfind(piece);
  for (; at != ByteView::npos && number > 1; --number) {
    if (at < piece.size()) return ByteView::npos;
    at = text.rfind(piece, at - piece.size());
  }
  return at;
}

int64_t count_pieces(ByteView text, ByteView piece) {
  int64_t count = 0;
  for (size_t at = text.find(piece); at != ByteView::npos; at = text.find(piece, at + piece.size())) ++count;
  return count;
}

/// Before the separator `count`, or, where that is negative, behind it, counted from the end.
ByteView part_of(ByteView text, ByteView separator, int32_t count, bool has_wide_characters) {
  if (text.empty() || separator.empty() || count == 0) return {};
  if (count > 0) return text.substr(0, find_from_front(text, separator, count));
  size_t at = ByteView::npos;
  if (has_wide_characters) {
    // The server counts them from the front.
    const int64_t number = count_pieces(text, separator) + 1 + count;
    if (number > 0) at = find_from_front(text, separator, number);
  } else {
    at = find_from_back(text, separator, -int64_t{count});
  }
  return at == ByteView::npos ? text : text.substr(at + separator.size());
}

}  // namespace

void trim_both_of(const FunctionCall& call) {
  take_parts(call, [&](uint32_t row, ByteView text) {
    const ByteView piece = call.input(1).texts[row];
    return without_ends(without_beginnings(text, piece), piece);
  });
}

void trim_left_of(const FunctionCall& call) {
  take_parts(call,
             [&](uint32_t row, ByteView text) { return without_beginnings(text, call.input(1).texts[row]); });
}

void trim_right_of(const FunctionCall& call) {
  take_parts(call, [&](uint32_t row, ByteView text) { return without_ends(text, call.input(1).texts[row]); });
}

void cut_at_separators(const FunctionCall& call) {
  take_parts(call, [&](uint32_t row, ByteView text) {
    return part_of(text, call.input(1).texts[row], static_cast<int32_t>(call.input(2).integers[row]),
                   call.settings.collation->has_wide_characters());
  });
}

void locate_from(const FunctionCall& call) {
  const Collation& collation = *call.settings.collation;
  each_row(call, [&](uint32_t row) {
    const ByteView text = call.input(0).texts[row], piece = call.input(1).texts[row];
    const int64_t start = call.input(2).integers[row];
    int64_t& result = call.to.integers[row] = 0;
    if (start <= 0 || start > static_cast<int64_t>(text.size())) return;
    const auto before = static_cast<size_t>(start - 1);
    const size_t skipped = collation.prefix_bytes(text, before);
    if (skipped + piece.size() > text.size()) return;
    if (piece.empty()) {
      // The server counts bytes then.
      if (skipped < text.size() || collation.characters(text) == before)
        result = static_cast<int64_t>(skipped) + 1;
      return;
    }
    const uint64_t found = collation.locate(text.substr(skipped), piece);
    if (found != 0) result = static_cast<int64_t>(found + before);
  });
}

void find_in_set(const FunctionCall& call) {
  const Collation& collation = *call.settings.collation;
  each_row(call, [&](uint32_t row) {
    const ByteView text = call.input(0).texts[row];
    ByteView rest = call.input(1).texts[row];
    call.to.integers[row] = 0;
    if (rest.size() < text.size() || rest.empty()) return;
    for (int64_t number = 1;; ++number) {
      const size_t end = std::min(rest.find(','), rest.size());
      if (collation.equal_without_padding(rest.substr(0, end), text)) {
        call.to.integers[row] = number;
        return;
      }
      if (end == rest.size()) return;
      rest.remove_prefix(end + 1);
      if (rest.empty()) {
        // Behind the last separator the server compares nothing.
        if (text.empty()) call.to.integers[row] = number + 1;
        return;
      }
    }
  });
}

}  // namespace hailstone

// Moments as texts: DATE_FORMAT().
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "expression/kernels.h"
#include "expression/moment.h"

namespace hailstone {

namespace {

/// Two digits each of the numbers below 100.
constexpr auto pairs_of_digits = [] {
  std::array<std::array<char, 2>, 100> pairs{};
  for (size_t i = 0; i < pairs.size(); ++i)
    pairs[i] = {static_cast<char>('0' + i / 10), static_cast<char>('0' + i % 10)};
  return pairs;
}();

inline char* write_two(uint64_t number, char* to) {
  std::memcpy(to, pairs_of_digits[number % 100].data(), 2);
  return to + 2;
}

inline char* write_four(uint64_t number, char* to) { return write_two(number, write_two(number / 100, to)); }

inline char* write_digit(uint64_t number, char* to) {
  *to = static_cast<char>('0' + number % 10);
  return to + 1;
}

/// One or two digits.
inline char* write_short(uint64_t number, char* to) {
  return number < 10 ? write_digit(number, to) : write_two(number, to);
}

inline char* write_text(std::string_view text, char* to) { return std::ranges::copy(text, to).out; }

std::string_view ordinal_end(uint64_t number) {
  if (number >= 10 && number <= 19) return "th";
  switch (number % 10) {
    case 1:
      return "st";
    case 2:
      return "nd";
    case 3:
      return "rd";
    default:
      return "th";
  }
}

uint64_t hour_of_twelve(const MomentParts& parts) { return (parts.hour + 11) % 12 + 1; }

inline char* write_half_of_day(const MomentParts& parts, char* to) {
  return write_text(parts.hour < 12 ? "AM" : "PM", to);
}

inline char* write_time(uint64_t hour, const MomentParts& parts, char* to) {
  to = write_two(hour, to);
  *to++ = ':';
  to = write_two(parts.minute, to);
  *to++ = ':';
  return write_two(parts.second, to);
}

/// What stands for `%` and a letter.
struct Directive {
  char letter;
  /// So many bits of a moment do not show in its text: those of the time of the day, or its smaller parts.
  unsigned unseen;
  /// Of the text in bytes, at most.
  size_t most_bytes;
  /// Writes the text of a moment. Where it ends.
  char* (*write)(const MomentParts& parts, char* to);
  /// Where all texts have `most_bytes`: writes those of moments, `stride` bytes apart. Else null.
  void (*write_all)(std::span<const int64_t> moments, char* to, size_t stride);
};

/// `write`: a lambda without captures, of which there can be another one.
template <typename Write>
requires std::is_empty_v<Write>
constexpr Directive of_one_length(char letter, unsigned unseen, size_t bytes, Write write) {
  return {.letter = letter,
          .unseen = unseen,
          .most_bytes = bytes,
          .write = write,
          .write_all = [](std::span<const int64_t> moments, char* to, size_t stride) {
            for (const int64_t moment : moments) {
              Write()(parts_of(moment), to);
              to += stride;
            }
          }};
}
constexpr Directive of_any_length(char letter, unsigned unseen, size_t most_bytes,
                                  char* (*write)(const MomentParts&, char*)) {
  return {.letter = letter, .unseen = unseen, .most_bytes = most_bytes, .write = write, .write_all = nullptr};
}

/// Bits of a moment that do not show where a day is the smallest part, an hour and so on.
constexpr unsigned below_day = 41, below_hour = 36, below_minute = 30, below_second = 24;

using Parts = MomentParts;
constexpr auto directives = std::to_array<Directive>({
    of_one_length('Y', below_day, 4, [](const Parts& of, char* to) { return write_four(of.year, to); }),
    of_one_length('y', below_day, 2, [](const Parts& of, char* to) { return write_two(of.year, to); }),
    of_one_length('m', below_day, 2, [](const Parts& of, char* to) { return write_two(of.month, to); }),
    of_any_length('c', below_day, 2, [](const Parts& of, char* to) { return write_short(of.month, to); }),
    of_one_length('d', below_day, 2, [](const Parts& of, char* to) { return write_two(of.day, to); }),
    of_any_length('e', below_day, 2, [](const Parts& of, char* to) { return write_short(of.day, to); }),
    of_any_length(
        'D', below_day, 4,
        [](const Parts& of, char* to) { return write_text(ordinal_end(of.day), write_short(of.day, to)); }),
    of_one_length('j', below_day, 3,
                  [](const Parts& of, char* to) {
                    const unsigned day = day_of_year(of);
                    return write_two(day, write_digit(day / 100, to));
                  }),
    of_one_length('w', below_day, 1, [](const Parts& of, char* to) { return write_digit(weekday(of), to); }),
    of_one_length('H', below_hour, 2, [](const Parts& of, char* to) { return write_two(of.hour, to); }),
    of_any_length('k', below_hour, 2, [](const Parts& of, char* to) { return write_short(of.hour, to); }),
    of_one_length('h', below_hour, 2,
                  [](const Parts& of, char* to) { return write_two(hour_of_twelve(of), to); }),
    of_one_length('I', below_hour, 2,
                  [](const Parts& of, char* to) { return write_two(hour_of_twelve(of), to); }),
    of_any_length('l', below_hour, 2,
                  [](const Parts& of, char* to) { return write_short(hour_of_twelve(of), to); }),
    of_one_length('p', below_hour, 2, [](const Parts& of, char* to) { return write_half_of_day(of, to); }),
    of_one_length('i', below_minute, 2, [](const Parts& of, char* to) { return write_two(of.minute, to); }),
    of_one_length('s', below_second, 2, [](const Parts& of, char* to) { return write_two(of.second, to); }),
    of_one_length('S', below_second, 2, [](const Parts& of, char* to) { return write_two(of.second, to); }),
    of_one_length('r', below_second, 11,
                  [](const Parts& of, char* to) {
                    to = write_time(hour_of_twelve(of), of, to);
                    *to++ = ' ';
                    return write_half_of_day(of, to);
                  }),
    of_one_length('T', below_second, 8,
                  [](const Parts& of, char* to) { return write_time(of.hour, of, to); }),
    of_one_length('f', 0, 6,
                  [](const Parts& of, char* to) {
                    return write_four(of.microsecond, write_two(of.microsecond / 10'000, to));
                  }),
});
/// Directives of month and day names, and of weeks. Any other letter stands for itself.
constexpr std::string_view unknown_letters = "MbWaUuVvXx";

/// Calls of_text(bytes) with what stands for itself in a format, and of_directive(letter) with other parts,
/// in their order.
template <typename OfText, typename OfDirective>
void read_format(ByteView format, const OfText& of_text, const OfDirective& of_directive) {
  for (size_t i = 0; i < format.size(); ++i) {
    const bool is_directive = format[i] == '%' && i + 1 < format.size();
    if (!is_directive) {
      of_text(format.substr(i, 1));
      continue;
    }
    const auto found = std::ranges::find(directives, format[++i], &Directive::letter);
    if (found == directives.end()) {
      of_text(format.substr(i, 1));
    } else {
      of_directive(*found);
    }
  }
}

/// A format that has been read once.
class Format {
 public:
  explicit Format(ByteView text) {
    read_format(
        text, [this](ByteView itself) { add({.itself = itself}, itself.size()); },
        [this](const Directive& directive) {
          unseen_ = std::min(unseen_, directive.unseen);
          has_one_length_ = has_one_length_ && directive.write_all != nullptr;
          add({.directive = &directive}, directive.most_bytes);
        });
  }

  /// How many bits of a moment do not show in its text. In a table that grows with time, most rows have the
  /// text of the one before.
  unsigned unseen() const { return unseen_; }
  /// Of a text.
  size_t most_bytes() const { return most_bytes_; }
  /// Whether the texts of all moments have `most_bytes()`.
  bool has_one_length() const { return has_one_length_; }

  /// Where the text ends.
  char* write(int64_t moment, char* to) const {
    const MomentParts parts = parts_of(moment);
    for (const Piece& piece : pieces_)
      to = piece.directive == nullptr ? write_text(piece.itself, to) : piece.directive->write(parts, to);
    return to;
  }

  /// One after the other, where they have one length.
  void write_all(std::span<const int64_t> moments, char* to) const {
    if (moments.empty()) return;
    for (const Piece& piece : pieces_) write_text(piece.itself, to + piece.begin);
    // What stands for itself goes from text to text, of twice as many each time.
    for (size_t done = 1; done < moments.size(); done *= 2)
      std::memcpy(to + done * most_bytes_, to, std::min(done, moments.size() - done) * most_bytes_);
    for (const Piece& piece : pieces_) {
      if (piece.directive != nullptr) piece.directive->write_all(moments, to + piece.begin, most_bytes_);
    }
  }

 private:
  struct Piece {
    ByteView itself = {};
    const Directive* directive = nullptr;
    size_t begin = 0;  // in a text, where they have one length
  };
  void add(Piece piece, size_t bytes) {
    piece.begin = most_bytes_;
    most_bytes_ += bytes;
    pieces_.push_back(piece);
  }

  std::vector<Piece> pieces_;
  unsigned unseen_ = below_day;
  size_t most_bytes_ = 0;
  bool has_one_length_ = true;
};

/// As is_in_calendar(), which most days need not be asked for.
inline bool has_day(int64_t moment) {
  constexpr uint64_t first_month = 13 + 1, last_month = 9'999 * 13 + 12, days_of_each_month = 28;
  const auto bits = static_cast<uint64_t>(moment);
  const uint64_t months = bits >> 46, day = bits >> 41 & 31;
  const bool is_plain = months >= first_month && months <= last_month && months % 13 != 0 && day != 0 &&
                        day <= days_of_each_month;
  return is_plain || is_in_calendar(parts_of(moment));
}

/// Gives each row what make(row, moment) says: nothing where it has failed. Rows that follow each other, and
/// whose moments show the same, have one text.
template <typename Make>
void each_text(const FunctionCall& call, const Format& format, uint32_t begin, uint32_t end,
               const Make& make) {
  const int64_t* const moments = call.input(0).integers.data();
  ByteView* const texts = call.to.texts.data();
  const unsigned unseen = format.unseen();
  int64_t seen_last = -1;  // of the moment whose text is `last`
  ByteView last;
  for (uint32_t row = begin; row < end; ++row) {
    texts[row] = {};
    if (call.to.is_null(row)) continue;
    const int64_t moment = moments[row];
    if (moment >> unseen != seen_last) {
      if (!has_day(moment)) {
        call.to.add_failure(row, call.rows, unknown_value);
        continue;
      }
      const std::optional<ByteView> made = make(row, moment);
      if (!made) continue;
      last = *made;
      seen_last = moment >> unseen;
    }
    texts[row] = last;
  }
}

/// Of rows that have one format.
void write_rows(const FunctionCall& call, const Format& format, uint32_t begin, uint32_t end) {
  const size_t bytes = format.most_bytes(), most = bytes * (end - begin);
  if (format.has_one_length() && call.may_make(bytes, most)) {
    char* const texts = call.bytes.allocate(most);
    std::vector<int64_t> moments(end - begin);
    size_t made = 0;
    each_text(call, format, begin, end, [&](uint32_t, int64_t moment) {
      moments[made] = moment;
      return std::optional(ByteView(texts + bytes * made++, bytes));
    });
    return format.write_all(std::span(moments).first(made), texts);
  }
  std::vector<char> made(bytes);
  each_text(call, format, begin, end, [&](uint32_t row, int64_t moment) -> std::optional<ByteView> {
    const auto written = static_cast<size_t>(format.write(moment, made.data()) - made.data());
    char* const to = call.text(row, written);
    if (to == nullptr) return std::nullopt;
    std::memcpy(to, made.data(), written);
    return ByteView(to, written);
  });
}

}  // namespace

bool knows_format(ByteView format) {
  const auto is_ascii = [](char byte) { return static_cast<unsigned char>(byte) < 0x80; };
  if (!std::ranges::all_of(format, is_ascii)) return false;
  for (size_t i = 0; i + 1 < format.size(); ++i) {
    if (format[i] == '%' && unknown_letters.contains(format[++i])) return false;
  }
  // Of an empty one the answer is NULL.
  return !format.empty();
}

void format_moments(const FunctionCall& call) {
  const auto format_of = [&call](uint32_t row) { return call.input(1).texts[row]; };
  const auto is_same = [](ByteView a, ByteView b) { return a.data() == b.data() && a.size() == b.size(); };
  for (uint32_t begin = 0, end = 0; begin < call.rows; begin = end) {
    while (end < call.rows && is_same(format_of(begin), format_of(end))) ++end;
    write_rows(call, Format(format_of(begin)), begin, end);
  }
}

}  // namespace hailstone

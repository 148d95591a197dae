// What an Arrow stream of the library has, as texts to compare: a row with its values separated by spaces.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/wide_integer.h"
#include "hailstone.h"

namespace hailstone {

inline std::string decimal_text(WideInteger number, unsigned scale) {
  std::string digits;
  for (WideInteger rest = number < 0 ? -number : number; rest != 0 || digits.size() <= scale; rest /= 10)
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  if (scale != 0) digits.insert(digits.size() - scale, ".");
  return (number < 0 ? "-" : "") + digits;
}

inline std::string arrow_value(const ArrowSchema& schema, const ArrowArray& array, int64_t row) {
  const auto* const validity = static_cast<const uint8_t*>(array.buffers[0]);
  if (validity != nullptr && (validity[row / 8] >> (row % 8) & 1) == 0) return "NULL";
  const std::string_view format = schema.format;
  const auto* const bytes = static_cast<const char*>(array.buffers[1]);
  const auto at = [&]<typename T>(T) { return load<T>(bytes + row * static_cast<int64_t>(sizeof(T))); };
  if (format == "b") return (bytes[row / 8] >> (row % 8) & 1) != 0 ? "true" : "false";
  if (format == "c") return fmt::format("{}", at(int8_t{}));
  if (format == "C") return fmt::format("{}", at(uint8_t{}));
  if (format == "s") return fmt::format("{}", at(int16_t{}));
  if (format == "i" || format == "tdD") return fmt::format("{}", at(int32_t{}));
  if (format == "l" || format.starts_with("ts") || format == "tDu") return fmt::format("{}", at(int64_t{}));
  if (format == "L") return fmt::format("{}", at(uint64_t{}));
  if (format == "f") return fmt::format("{}", at(float{}));
  if (format == "g") return fmt::format("{}", at(double{}));
  if (format == "u" || format == "z") {
    const auto begin = at(int32_t{});
    const auto end = load<int32_t>(bytes + (row + 1) * static_cast<int64_t>(sizeof(int32_t)));
    return {static_cast<const char*>(array.buffers[2]) + begin, static_cast<size_t>(end - begin)};
  }
  if (format.starts_with("d:")) {
    const auto scale = static_cast<unsigned>(std::stoul(std::string(format.substr(format.find(',') + 1))));
    return decimal_text(at(WideInteger{}), scale);
  }
  return fmt::format("a value of format {}", format);
}

/// All rows; releases the stream. An error is the last one.
inline std::vector<std::string> rows_of_stream(ArrowArrayStream& stream) {
  std::vector<std::string> rows;
  ArrowSchema schema{};
  EXPECT_EQ(stream.get_schema(&stream, &schema), 0);
  for (;;) {
    ArrowArray array{};
    if (const int error = stream.get_next(&stream, &array); error != 0) {
      const char* const reason = stream.get_last_error(&stream);
      rows.push_back(fmt::format("error {}: {}", error, reason == nullptr ? "" : reason));
      break;
    }
    if (array.release == nullptr) break;
    for (int64_t row = 0; row < array.length; ++row) {
      std::string text;
      for (int64_t i = 0; i < array.n_children; ++i)
        text += (i == 0 ? "" : " ") + arrow_value(*schema.children[i], *array.children[i], row);
      rows.push_back(std::move(text));
    }
    array.release(&array);
  }
  schema.release(&schema);
  stream.release(&stream);
  return rows;
}

/// "name:format" of each column.
inline std::string columns_of_stream(ArrowArrayStream& stream) {
  ArrowSchema schema{};
  EXPECT_EQ(stream.get_schema(&stream, &schema), 0);
  std::string text;
  for (int64_t i = 0; i < schema.n_children; ++i)
    text += fmt::format("{}{}:{}", i == 0 ? "" : " ", schema.children[i]->name, schema.children[i]->format);
  schema.release(&schema);
  return text;
}

}  // namespace hailstone

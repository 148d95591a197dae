// JSON lines: an object a line, parsed by simdjson.
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <map>

#include "text/input.h"

namespace hailstone {
namespace {

static_assert(InputWindow::padding >= simdjson::SIMDJSON_PADDING);

class JsonLinesReader final : public TextRows {
 public:
  JsonLinesReader(std::unique_ptr<Input> input, size_t longest_row)
      : TextRows(std::move(input), longest_row) {}

  Result<bool> next() override {
    for (;;) {
      HAILSTONE_ASSIGN(const bool found, next_line());
      if (!found) return false;
      if (line_.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      HAILSTONE_TRY(parse());
      return true;
    }
  }

 private:
  /// Puts the next line into line_.
  Result<bool> next_line() {
    window_.skip(consumed_);
    consumed_ = 0;
    row_line_ = ++lines_;
    size_t searched = 0;
    for (;;) {
      const std::string_view window(window_.begin(), window_.size());
      const size_t end = window.find('\n', searched);
      if (end != std::string_view::npos || window_.at_end()) {
        if (window.empty()) return false;
        if (std::min(end, window.size()) > longest_row_) return pass_long_line();
        line_ = window.substr(0, end);
        consumed_ = std::min(line_.size() + 1, window.size());
        lines_passed_ = lines_;
        return true;
      }
      if (window.size() > longest_row_) return pass_long_line();
      searched = window.size();
      HAILSTONE_TRY(window_.more());
    }
  }

  uint64_t ahead_bytes() const override { return consumed_; }

  Result<bool> pass_long_line() {
    const std::string text(window_.begin(), longest_row_);
    for (;;) {
      const size_t end = std::string_view(window_.begin(), window_.size()).find('\n');
      window_.skip(end == std::string_view::npos ? window_.size() : end + 1);
      if (end != std::string_view::npos) break;
      HAILSTONE_ASSIGN(const bool more, window_.more());
      if (!more) break;
    }
    lines_passed_ = lines_;
    return wrong_row(text, row_line_, fmt::format("the line is longer than {} bytes", longest_row_));
  }

  std::unexpected<Error> no_json(simdjson::error_code error) {
    return wrong_row(line_, row_line_,
                     fmt::format("the line is no JSON object: {}", simdjson::error_message(error)));
  }

  Status parse() {
    ++row_;
    for (Field& field : fields_) field = {};
    simdjson::ondemand::document document;
    if (const auto error =
            parser_.iterate(line_.data(), line_.size(), line_.size() + InputWindow::padding).get(document);
        error != simdjson::SUCCESS) {
      return no_json(error);
    }
    simdjson::ondemand::object object;
    if (const auto error = document.get_object().get(object); error != simdjson::SUCCESS) {
      return no_json(error);
    }
    size_t expected = 0;  // rows mostly have the same keys in the same order
    for (auto member : object) {
      std::string_view key;
      if (const auto error = member.unescaped_key().get(key); error != simdjson::SUCCESS)
        return no_json(error);
      const size_t place = place_of(key, expected);
      if (seen_[place] == row_) {
        return wrong_row(line_, row_line_, fmt::format("the key '{}' is there twice", names_[place]));
      }
      seen_[place] = row_;
      expected = place + 1;
      simdjson::ondemand::value value;
      if (const auto error = member.value().get(value); error != simdjson::SUCCESS) return no_json(error);
      if (const auto error = read(value, fields_[place]); error != simdjson::SUCCESS) return no_json(error);
    }
    const char* rest = nullptr;
    if (document.current_location().get(rest) == simdjson::SUCCESS && rest < line_.data() + line_.size()) {
      return wrong_row(line_, row_line_, "something follows the JSON object on its line");
    }
    return {};
  }

  size_t place_of(std::string_view key, size_t expected) {
    if (expected < names_.size() && names_[expected] == key) return expected;
    if (const auto found = places_.find(key); found != places_.end()) return found->second;
    places_.emplace(key, names_.size());
    names_.emplace_back(key);
    fields_.emplace_back();
    seen_.push_back(0);
    return names_.size() - 1;
  }

  static bool is_whole(std::string_view token) {
    if (token.starts_with('-')) token.remove_prefix(1);
    return !token.empty() && token[0] != '0' &&
           std::ranges::all_of(token, [](char digit) { return digit >= '0' && digit <= '9'; });
  }

  static simdjson::error_code read(simdjson::ondemand::value& value, Field& field) {
    simdjson::ondemand::json_type type{};
    if (const auto error = value.type().get(type); error != simdjson::SUCCESS) return error;
    switch (type) {
      case simdjson::ondemand::json_type::null: {
        bool is_null = false;
        if (const auto error = value.is_null().get(is_null); error != simdjson::SUCCESS) return error;
        return is_null ? simdjson::SUCCESS : simdjson::N_ATOM_ERROR;
      }
      case simdjson::ondemand::json_type::string:
        field.kind = Field::Kind::String;
        return value.get_string().get(field.text);
      case simdjson::ondemand::json_type::boolean: {
        bool flag = false;
        if (const auto error = value.get_bool().get(flag); error != simdjson::SUCCESS) return error;
        field = {Field::Kind::Bool, flag ? "true" : "false"};
        return simdjson::SUCCESS;
      }
      case simdjson::ondemand::json_type::number: {
        std::string_view token = value.raw_json_token();
        token = token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
        // Only checks the form: what the number is read as depends on the column. A whole number that is too
        // great for 64 bits may still go to a floating column.
        simdjson::ondemand::number number;
        const auto error = value.get_number().get(number);
        if (error != simdjson::SUCCESS && !is_whole(token)) return error;
        field = {Field::Kind::Number, token};
        return simdjson::SUCCESS;
      }
      case simdjson::ondemand::json_type::array:
      case simdjson::ondemand::json_type::object: {
        field.kind = Field::Kind::Nested;
        return simdjson::to_json_string(value).get(field.text);
      }
    }
    return simdjson::UNEXPECTED_ERROR;
  }

  simdjson::ondemand::parser parser_;
  std::string_view line_;
  size_t consumed_ = 0;
  uint64_t lines_ = 0;
  uint64_t row_ = 0;
  std::vector<uint64_t> seen_;  // by name: the last row that had it
  std::map<std::string, size_t, std::less<>> places_;
};

}  // namespace

Result<std::unique_ptr<TextRows>> open_json_lines(std::unique_ptr<Input> input, size_t longest_row) {
  return std::make_unique<JsonLinesReader>(std::move(input), longest_row);
}

}  // namespace hailstone

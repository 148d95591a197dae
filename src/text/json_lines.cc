// JSON lines: an object a line, parsed by simdjson.
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <map>

#include "text/whole_lines.h"

namespace hailstone {
namespace {

static_assert(InputWindow::padding >= simdjson::SIMDJSON_PADDING);

class JsonLinesReader final : public WholeLines {
 public:
  JsonLinesReader(std::unique_ptr<Input> input, const TextOptions& options)
      : WholeLines(std::move(input), options) {}

 private:
  std::unexpected<Error> no_json(simdjson::error_code error) {
    const std::string_view rest = behind_object();
    if (error == simdjson::INCOMPLETE_ARRAY_OR_OBJECT && !rest.empty()) return more_follows(rest);
    return wrong_row(line_, row_line_, reason_of(error));
  }
  /// What the line is, and for a file that is JSON, but not an object a line, what makes it so.
  std::string reason_of(simdjson::error_code error) const {
    if (line_.find('\0') != std::string_view::npos) {
      return "the file is UTF-16, or no text; convert it: iconv -f UTF-16 -t UTF-8 FILE";
    }
    const size_t first = std::min(line_.find_first_not_of(" \t\r"), line_.size());
    const std::string_view begin = line_.substr(first);
    if (begin.starts_with('[')) {
      return fmt::format(
          "the line is a JSON array, not an object; its elements become lines by: jq -c '{}' FILE",
          holds_objects(begin.substr(1)) ? ".[]" : ".[] | {value: .}");
    }
    if (!begin.starts_with('{')) return "the line is not a JSON object";
    if (error == simdjson::INCOMPLETE_ARRAY_OR_OBJECT) {
      return "the line ends within a JSON object; objects that go over several lines "
             "become "
             "one line each by: jq -c . FILE";
    }
    std::string_view message = simdjson::error_message(error);
    while (message.ends_with('.')) message.remove_suffix(1);
    return fmt::format("the line is not a JSON object: {}", message);
  }
  /// Whether the array that goes on so on this line, or on those behind it, has an object first.
  bool holds_objects(std::string_view rest) const {
    // line_ lies in the window.
    const std::string_view window(rest.data(),
                                  static_cast<size_t>(window_.begin() + window_.size() - rest.data()));
    const size_t first = window.find_first_not_of(" \t\r\n]");
    return first == std::string_view::npos || window[first] == '{';
  }
  /// What is behind the object that the line begins with, without spaces around it.
  std::string_view behind_object() const {
    uint64_t depth = 0;
    bool is_text = false;
    for (size_t i = 0; i < line_.size(); ++i) {
      const char c = line_[i];
      if (c == '"') is_text = !is_text;
      if (is_text) {
        if (c == '\\') ++i;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if ((c == '}' || c == ']') && (depth == 0 || --depth == 0)) {
        const size_t begin = line_.find_first_not_of(" \t\r", i + 1);
        return begin == std::string_view::npos ? std::string_view() : line_.substr(begin);
      }
    }
    return {};
  }
  /// `rest`: what follows the object.
  std::unexpected<Error> more_follows(std::string_view rest) {
    std::string_view cure;
    if (line_.find('\r') != std::string_view::npos) {
      cure = "; if the file's lines end in carriage returns, convert it: tr '\\r' '\\n' < FILE";
    } else if (rest.starts_with('{')) {
      cure = "; objects become one line each by: jq -c . FILE";
    } else if (rest.starts_with(',')) {
      cure = "; take commas at the ends of lines away: sed 's/,$//' FILE";
    }
    return wrong_row(line_, row_line_, fmt::format("something follows the JSON object on its line{}", cure));
  }

  Status parse() override {
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
      return more_follows({rest, static_cast<size_t>(line_.data() + line_.size() - rest)});
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
  uint64_t row_ = 0;
  std::vector<uint64_t> seen_;  // by name: the last row that had it
  std::map<std::string, size_t, std::less<>> places_;
};

}  // namespace

Result<std::unique_ptr<TextRows>> open_json_lines(std::unique_ptr<Input> input, const TextOptions& options) {
  return std::make_unique<JsonLinesReader>(std::move(input), options);
}

}  // namespace hailstone

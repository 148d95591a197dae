// One table of a configuration file, whose keys are taken one by one; all that is wrong is told with file and
// line. One thread.
#pragma once

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collect/wall_time.h"
#include "text/value_text.h"

namespace hailstone {

/// What is wrong with a configuration file.
class ConfigErrors {
 public:
  explicit ConfigErrors(std::string file) : file_(std::move(file)) {}

  void add(const toml::source_region& where, const std::string& what) {
    const uint32_t line = std::max<uint32_t>(1, where.begin.line);
    errors_.emplace(line, fmt::format("{}:{}: {}", file_, line, what));
  }
  /// ErrorCode::InvalidArgument with all errors, a line each, in the order of the file's lines.
  Status status() const {
    if (errors_.empty()) return {};
    std::string all;
    for (const auto& [line, error] : errors_) all += (all.empty() ? "" : "\n") + error;
    return fail(ErrorCode::InvalidArgument, all);
  }

 private:
  const std::string file_;
  std::multimap<uint32_t, std::string> errors_;  // by line
};

/// Takes keys, and then tells those that nobody knows.
class ConfigSection {
 public:
  ConfigSection(const toml::table& table, std::string name, ConfigErrors& errors)
      : table_(table), name_(std::move(name)), errors_(errors) {}

  void take(std::string_view key, std::string& to, bool required = false) {
    if (const toml::node* node = find(key, required, "a text in quotes")) {
      if (const auto* text = node->as_string()) {
        to = text->get();
        if (required && to.empty()) wrong_value(key, "a text that is not empty");
      } else {
        wrong_value(key, "a text in quotes");
      }
    }
  }
  void take(std::string_view key, bool& to) {
    if (const toml::node* node = find(key, false, "")) {
      if (const auto* flag = node->as_boolean()) {
        to = flag->get();
      } else {
        wrong_value(key, "true or false");
      }
    }
  }
  void take(std::string_view key, uint64_t& to, uint64_t low, uint64_t high) {
    if (const toml::node* node = find(key, false, "")) {
      const auto* number = node->as_integer();
      if (number != nullptr && number->get() >= 0 && static_cast<uint64_t>(number->get()) >= low &&
          static_cast<uint64_t>(number->get()) <= high) {
        to = static_cast<uint64_t>(number->get());
      } else {
        wrong_value(key, fmt::format("a whole number from {} to {}", low, high));
      }
    }
  }
  /// A text as "512 MiB", "4GiB".
  void take_bytes(std::string_view key, uint64_t& to, uint64_t low) {
    if (const toml::node* node = find(key, false, "")) {
      const auto* text = node->as_string();
      const auto bytes = text != nullptr ? bytes_of(text->get()) : std::nullopt;
      if (bytes && *bytes >= low) {
        to = *bytes;
      } else {
        wrong_value(key, fmt::format("a size as \"512 MiB\" or \"4 GiB\", at least {} MiB", low >> 20));
      }
    }
  }
  /// A text as "90 days". Nothing stays nothing when the key is not there.
  void take(std::string_view key, std::optional<TimeStep>& to, bool required = false) {
    if (const toml::node* node = find(key, required, "a time in quotes")) {
      const auto* text = node->as_string();
      to = text != nullptr ? parse_time_step(text->get()) : std::nullopt;
      if (!to) wrong_value(key, "a time as \"5 minutes\", \"2 hours\", \"90 days\" or \"1 month\"");
    }
  }
  void take(std::string_view key, std::vector<std::string>& to) {
    if (const toml::node* node = find(key, false, "")) {
      const auto* list = node->as_array();
      if (list == nullptr) return wrong_value(key, "a list of texts: [\"a\", \"b\"]");
      for (const toml::node& element : *list) {
        const auto* text = element.as_string();
        if (text == nullptr) {
          told_.emplace(key);
          return wrong(element,
                       fmt::format("'{}' holds {}; it must hold texts in quotes only", key, shown(element)));
        }
        to.push_back(text->get());
      }
    }
  }
  const toml::table* table(std::string_view key) {
    const toml::node* node = find(key, false, "");
    if (node == nullptr) return nullptr;
    if (const auto* table = node->as_table()) return table;
    wrong_value(key, "a table: { column = \"expression\" }");
    return nullptr;
  }
  const toml::node* node(std::string_view key) const { return table_.get(key); }

  void wrong(const toml::node& node, const std::string& what) { errors_.add(node.source(), what); }
  void wrong(const std::string& what) { errors_.add(table_.source(), what); }
  /// Of a key that is there.
  void wrong_value(std::string_view key, std::string_view must_be) {
    told_.emplace(key);
    wrong(*node(key), fmt::format("'{}' is {}; it must be {}", key, shown(*node(key)), must_be));
  }
  /// It was told that the key lacks, or has a wrong value; what follows from that need not be told.
  bool is_told(std::string_view key) const { return told_.contains(key); }
  void tell(std::string_view key) { told_.emplace(key); }
  /// A value, about as the file has it.
  static std::string shown(const toml::node& node) {
    if (const auto* text = node.as_string()) return fmt::format("\"{}\"", beginning(text->get()));
    if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
    if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
    if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
    return node.is_table() ? "a table" : node.is_array() ? "a list" : "a time without quotes";
  }
  /// Keys that were not taken.
  void finish() {
    for (const auto& [key, value] : table_) {
      if (!known_.contains(key.str())) {
        errors_.add(key.source(), fmt::format("{} has no key '{}'; it knows: {}", name_, key.str(),
                                              fmt::join(known_, ", ")));
      }
    }
  }
  void know(std::string_view key) { known_.emplace(key); }

 private:
  const toml::node* find(std::string_view key, bool required, std::string_view kind) {
    known_.emplace(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr && required) {
      told_.emplace(key);
      wrong(fmt::format("{} lacks the key '{}'; give it {}: {} = \"…\"", name_, key, kind, key));
    }
    return node;
  }
  static std::optional<uint64_t> bytes_of(std::string_view text) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.starts_with(' ')) text.remove_prefix(1);
    for (const auto& [unit, shift] : {std::pair("MiB", 20), std::pair("GiB", 30), std::pair("TiB", 40)}) {
      if (text == unit && number < uint64_t{1} << 20) return number << shift;
    }
    return std::nullopt;
  }

  const toml::table& table_;
  const std::string name_;
  ConfigErrors& errors_;
  std::set<std::string, std::less<>> known_, told_;
};

}  // namespace hailstone

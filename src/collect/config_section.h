// One table of a configuration file, whose keys are taken one by one; what is wrong is told with file and
// line.
#pragma once

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collect/wall_time.h"

namespace hailstone {

/// Takes keys, and then tells those that nobody knows. The first error stays.
class ConfigSection {
 public:
  ConfigSection(const toml::table& table, const std::string& file, std::string name, Status& status)
      : table_(table), file_(file), name_(std::move(name)), status_(status) {}

  void take(std::string_view key, std::string& to, bool required = false) {
    if (const toml::node* node = find(key, required, "a text in quotes")) {
      if (const auto* text = node->as_string()) {
        to = text->get();
        if (required && to.empty()) wrong(*node, fmt::format("'{}' is empty", key));
      } else {
        wrong(*node, fmt::format("'{}' must be a text in quotes", key));
      }
    }
  }
  void take(std::string_view key, bool& to) {
    if (const toml::node* node = find(key, false, "")) {
      if (const auto* flag = node->as_boolean()) {
        to = flag->get();
      } else {
        wrong(*node, fmt::format("'{}' must be true or false", key));
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
        wrong(*node, fmt::format("'{}' must be a whole number from {} to {}", key, low, high));
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
        wrong(*node, fmt::format("'{}' must be a size as \"512 MiB\" or \"4 GiB\", at least {} MiB", key,
                                 low >> 20));
      }
    }
  }
  /// A text as "90 days". Nothing stays nothing when the key is not there.
  void take(std::string_view key, std::optional<TimeStep>& to, bool required = false) {
    if (const toml::node* node = find(key, required, "a time in quotes")) {
      const auto* text = node->as_string();
      to = text != nullptr ? parse_time_step(text->get()) : std::nullopt;
      if (!to)
        wrong(*node, fmt::format("'{}' must be a time as \"2 hours\", \"90 days\" or \"1 month\"", key));
    }
  }
  void take(std::string_view key, std::vector<std::string>& to) {
    if (const toml::node* node = find(key, false, "")) {
      const auto* list = node->as_array();
      if (list == nullptr)
        return wrong(*node, fmt::format("'{}' must be a list of texts: [\"a\", \"b\"]", key));
      for (const toml::node& element : *list) {
        const auto* text = element.as_string();
        if (text == nullptr) return wrong(element, fmt::format("'{}' must hold texts in quotes only", key));
        to.push_back(text->get());
      }
    }
  }
  const toml::table* table(std::string_view key) {
    const toml::node* node = find(key, false, "");
    if (node == nullptr) return nullptr;
    if (const auto* table = node->as_table()) return table;
    wrong(*node, fmt::format("'{}' must be a table: {{ column = \"expression\" }}", key));
    return nullptr;
  }
  const toml::node* node(std::string_view key) const { return table_.get(key); }

  void wrong(const toml::node& node, const std::string& what) { wrong(node.source(), what); }
  void wrong(const std::string& what) { wrong(table_.source(), what); }
  /// Keys that were not taken.
  void finish() {
    for (const auto& [key, value] : table_) {
      if (!known_.contains(key.str())) {
        wrong(key.source(),
              fmt::format("{} has no key '{}'; it knows: {}", name_, key.str(), fmt::join(known_, ", ")));
      }
    }
  }
  void know(std::string_view key) { known_.emplace(key); }

 private:
  const toml::node* find(std::string_view key, bool required, std::string_view kind) {
    known_.emplace(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr && required) {
      wrong(fmt::format("{} lacks the key '{}'; give it {}: {} = \"…\"", name_, key, kind, key));
    }
    return node;
  }
  void wrong(const toml::source_region& where, const std::string& what) {
    if (!status_) return;
    status_ = fail(ErrorCode::InvalidArgument,
                   fmt::format("{}:{}: {}", file_, std::max<uint32_t>(1, where.begin.line), what));
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
  const std::string& file_;
  const std::string name_;
  Status& status_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace hailstone

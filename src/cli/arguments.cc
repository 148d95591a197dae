#include "cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <sstream>

#include "cli/session.h"
#include "text/value_text.h"

namespace hailstone {
namespace {

std::string joined_names(const std::vector<const CLI::App*>& commands) {
  std::string names;
  for (const CLI::App* command : commands)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", command->get_name());
  return names;
}

/// What is wrong with the names of subcommands that begin the arguments; CLI11 does not name them.
std::string wrong_subcommand(const CLI::App& app, int count, char** arguments) {
  const CLI::App* at = &app;
  std::string command = app.get_name();
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    const auto known = at->get_subcommands([](const CLI::App*) { return true; });
    if (known.empty()) return {};
    if (name.starts_with('-')) {
      if (at->get_option_no_throw(name) == nullptr) {
        return fmt::format("{0}: there is no option '{1}'; '{0} --help' says which there are", command,
                           printable(name));
      }
      return {};  // help, or the version
    }
    const auto found = std::ranges::find(known, name, &CLI::App::get_name);
    if (found == known.end()) {
      return fmt::format("{0}: there is no subcommand '{1}', only {2}; '{0} --help' says what they do",
                         command, printable(name), joined_names(known));
    }
    at = *found;
    command += " " + name;
  }
  const auto known = at->get_subcommands([](const CLI::App*) { return true; });
  if (known.empty()) return {};
  return fmt::format("{0}: a subcommand is missing, one of {1}; '{0} --help' says what they do", command,
                     joined_names(known));
}

}  // namespace

Argument Argument::required() {
  option_->required();
  return *this;
}

Argument Argument::show_default() {
  option_->capture_default_str();
  return *this;
}

Argument Argument::show_default(const std::string& text) {
  option_->default_str(text);
  return *this;
}

Argument Argument::as_bytes() {
  option_->transform(CLI::AsSizeValue(false));
  return *this;
}

Argument Argument::as_count() {
  option_->transform(CLI::AsNumberWithUnit(std::map<std::string, uint64_t>{{"k", 1000}, {"m", 1'000'000}}));
  return *this;
}

Argument Argument::not_negative() {
  // CLI11 takes -1 for a very great number without a sign.
  option_->transform(CLI::Validator(
      [](std::string& text) {
        return text.starts_with('-') ? fmt::format("{} is less than 0", text) : std::string();
      },
      ""));
  return *this;
}

Argument Argument::between(uint64_t low, uint64_t high) {
  option_->check(CLI::Range(low, high));
  return *this;
}

Argument Argument::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

Argument Argument::check(const std::function<std::string(const std::string&)>& wrong) {
  option_->check(wrong);
  return *this;
}

Argument Argument::comma_list() {
  option_->delimiter(',');
  option_->allow_extra_args(false);
  return *this;
}

Argument Argument::count_between(int low, int high) {
  option_->expected(low, high);
  return *this;
}

Arguments Arguments::add_subcommand(const std::string& name, const std::string& description) {
  app_->require_subcommand(1);
  return Arguments(app_->add_subcommand(name, description));
}

Argument Arguments::add(const std::string& name, std::string& to, const std::string& description) {
  return Argument(app_->add_option(name, to, description));
}

Argument Arguments::add(const std::string& name, std::vector<std::string>& to,
                        const std::string& description) {
  return Argument(app_->add_option(name, to, description));
}

Argument Arguments::add(const std::string& name, uint64_t& to, const std::string& description) {
  return Argument(app_->add_option(name, to, description));
}

Argument Arguments::add(const std::string& name, unsigned& to, const std::string& description) {
  return Argument(app_->add_option(name, to, description));
}

Argument Arguments::add(const std::string& name, const std::function<void(const std::string&)>& take,
                        const std::string& description) {
  return Argument(app_->add_option_function<std::string>(name, take, description));
}

Argument Arguments::add(const std::string& name,
                        const std::function<void(const std::vector<std::string>&)>& take,
                        const std::string& description) {
  return Argument(app_->add_option_function<std::vector<std::string>>(name, take, description));
}

void Arguments::add_flag(const std::string& name, bool& to, const std::string& description) {
  app_->add_flag(name, to, description);
}

Argument Arguments::add_flag(const std::string& name, unsigned& to, unsigned usual,
                             const std::string& description) {
  return Argument(app_->add_flag(fmt::format("{}{{{}}}", name, usual), to, description));
}

void Arguments::describe(const std::string& name, const std::string& description) {
  app_->get_option(name)->description(description);
}

void Arguments::make_optional(const std::string& name) { app_->get_option(name)->required(false); }

std::string Arguments::name() const { return app_->get_name(); }

bool Arguments::given(const std::string& name) const { return app_->count(name) > 0; }

void Arguments::run(std::function<void()> work) { app_->callback(std::move(work)); }

ArgumentReader::ArgumentReader(const std::string& name, const std::string& description,
                               const std::string& version, const std::string& footer)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->set_version_flag("--version", version, "print the version and exit");
  app_->footer(footer);
}

ArgumentReader::~ArgumentReader() = default;

ArgumentReader::Outcome ArgumentReader::read(int count, char** arguments) {
  if (const std::string wrong = wrong_subcommand(*app_, count, arguments); !wrong.empty()) {
    fmt::print(stderr, "{}\n", wrong);
    return Outcome::Wrong;
  }
  try {
    app_->parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, wrong;
    const bool is_wrong = app_->exit(error, out, wrong) != 0;
    fmt::print("{}", out.str());
    if (!is_wrong) return Outcome::Shown;
    std::string command = app_->get_name();
    for (const CLI::App* at = app_.get(); !at->get_subcommands().empty();) {
      at = at->get_subcommands().front();
      command += " " + at->get_name();
    }
    std::string what = printable(error.what());
    while (what.ends_with('.')) what.pop_back();
    fmt::print(stderr, "{0}: {1}; '{0} --help' says what it takes\n", command, what);
    return Outcome::Wrong;
  }
  return Outcome::Run;
}

}  // namespace hailstone

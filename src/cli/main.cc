// The hailstone command: one subcommand for each job.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <sstream>
#include <system_error>

#include "cli/commands.h"
#include "cli/text_table.h"
#include "hailstone.h"

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
      return fmt::format("{}: there is no subcommand '{}', only {}", command, printable(name),
                         joined_names(known));
    }
    at = *found;
    command += " " + name;
  }
  const auto known = at->get_subcommands([](const CLI::App*) { return true; });
  if (known.empty()) return {};
  return fmt::format("{0}: a subcommand is missing, one of {1}; '{0} --help' says what they do", command,
                     joined_names(known));
}

int lost_output(const std::string& reason, int code) {
  // Not by fmt, which would throw where this cannot be written either.
  (void)std::fputs(("hailstone: the output could not be written: " + reason + "\n").c_str(), stderr);
  return code == 0 ? exit_error : code;
}

/// Help, the version, or what is wrong with the arguments.
int show(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out, wrong;
  const bool is_wrong = app.exit(error, out, wrong) != 0;
  fmt::print("{}", out.str());
  fmt::print(stderr, "{}", wrong.str());
  return is_wrong ? exit_usage : 0;
}

/// The exit code.
int run(int count, char** arguments) {
  CLI::App app("Hailstone's tools for a database directory that no other process has open", "hailstone");
  app.require_subcommand(1);
  app.set_version_flag("--version", hs_version(), "print the version and exit");
  app.footer(
      "Exit codes: 0 done, 1 error, 2 wrong usage, 3 damage found, 130 interrupted. A load, backup or "
      "restore\n"
      "that does not come to its end leaves nothing behind.");
  Ending ending;
  add_tables_command(app, ending);
  add_describe_command(app, ending);
  add_load_command(app, ending);
  add_scan_command(app, ending);
  add_check_command(app, ending);
  add_inspect_command(app, ending);
  add_backup_command(app, ending);
  add_restore_command(app, ending);
  add_generate_command(app, ending);
  add_disk_command(app, ending);
  if (const std::string wrong = wrong_subcommand(app, count, arguments); !wrong.empty()) {
    fmt::print(stderr, "{}\n", wrong);
    return exit_usage;
  }
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return show(app, error);
  }
  return ending.exit_code;
}

}  // namespace
}  // namespace hailstone

int main(int argc, char** argv) {
  try {
    const int code = hailstone::run(argc, argv);
    // Who reads our output may have had enough.
    if (std::fflush(stdout) == 0 || errno == EPIPE) return code;
    return hailstone::lost_output(std::generic_category().message(errno), code);
  } catch (const std::system_error& error) {  // of fmt::print()
    return hailstone::lost_output(error.code().message(), 0);
  } catch (const std::bad_alloc&) {
    (void)std::fputs("hailstone: there is not enough memory\n", stderr);
    return hailstone::exit_error;
  }
}

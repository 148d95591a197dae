// The arguments of the command and its subcommands: what each takes, what is said about it, and where its
// value goes. CLI11 reads them. Only arguments.cc includes that library, whose header takes longer to compile
// than all else that a subcommand needs.
//
// Arguments and Argument are handles, cheap to copy, and valid as long as the ArgumentReader. The variables
// that values go to must live until the subcommand runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace hailstone {

/// One argument.
class Argument {
 public:
  explicit Argument(CLI::Option* option) : option_(option) {}
  Argument required();
  /// The help shows the variable's value as the default, or this text.
  Argument show_default();
  Argument show_default(const std::string& text);
  /// Numbers as 512, 64K, 512MB, 2GB.
  Argument as_bytes();
  /// Numbers as 500, 20K, 1M, by thousands.
  Argument as_count();
  Argument not_negative();
  Argument between(uint64_t low, uint64_t high);
  Argument one_of(const std::vector<std::string>& words);
  /// `wrong` says what is wrong with a value; empty: nothing.
  Argument check(const std::function<std::string(const std::string& value)>& wrong);
  /// A list of values, with commas between.
  Argument comma_list();
  /// So many values.
  Argument count_between(int low, int high);

 private:
  CLI::Option* option_;
};

/// The arguments of one subcommand. Names with -- are options, all others are positional.
class Arguments {
 public:
  explicit Arguments(CLI::App* app) : app_(app) {}
  /// A subcommand of its own; one must then be given.
  Arguments add_subcommand(const std::string& name, const std::string& description);

  Argument add(const std::string& name, std::string& to, const std::string& description);
  Argument add(const std::string& name, std::vector<std::string>& to, const std::string& description);
  Argument add(const std::string& name, uint64_t& to, const std::string& description);
  Argument add(const std::string& name, unsigned& to, const std::string& description);
  /// `take` gets the value, or the values of a list.
  Argument add(const std::string& name, const std::function<void(const std::string& value)>& take,
               const std::string& description);
  Argument add(const std::string& name,
               const std::function<void(const std::vector<std::string>& values)>& take,
               const std::string& description);
  void add_flag(const std::string& name, bool& to, const std::string& description);
  /// A flag that may have a number: --name, which is `usual`, or --name=5.
  Argument add_flag(const std::string& name, unsigned& to, unsigned usual, const std::string& description);
  /// Replaces the description of an argument.
  void describe(const std::string& name, const std::string& description);
  /// It need not be given, though it was said to be required.
  void make_optional(const std::string& name);
  bool given(const std::string& name) const;
  /// Of the subcommand.
  std::string name() const;

  /// What the subcommand does once its arguments have been read.
  void run(std::function<void()> work);

 private:
  CLI::App* app_;
};

class ArgumentReader {
 public:
  ArgumentReader(const std::string& name, const std::string& description, const std::string& version,
                 const std::string& footer);
  ~ArgumentReader();
  ArgumentReader(const ArgumentReader&) = delete;
  ArgumentReader& operator=(const ArgumentReader&) = delete;

  /// Of the command itself: subcommands are added to it.
  Arguments root() { return Arguments(app_.get()); }

  enum class Outcome : uint8_t {
    Run,    // the subcommand has run
    Shown,  // help or the version was asked for and printed
    Wrong,  // what is wrong has been printed to stderr
  };
  Outcome read(int count, char** arguments);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace hailstone

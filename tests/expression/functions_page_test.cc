// docs/functions.md has the tables of functions and of calls by name as they are. HAILSTONE_WRITE_PAGES=1
// writes them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "expression/calls.h"
#include "expression/function.h"

namespace hailstone {
namespace {

std::string_view name_of(ResultKind kind) {
  switch (kind) {
    case ResultKind::Integer:
      return "INT";
    case ResultKind::Real:
      return "DOUBLE";
    case ResultKind::Text:
      return "text";
    case ResultKind::OfFirst:
    case ResultKind::OfSecond:
      break;
  }
  return "as the values";
}

std::string table() {
  std::string text = "| function | arguments | result | what may fail |\n| --- | --- | --- | --- |\n";
  for (const FunctionLine& line : functions()) {
    text += "| ";
    text += line.name;
    text += " | ";
    text += line.arguments;
    text += " | ";
    text += name_of(line.result);
    text += " | ";
    text += line.failures;
    text += line.failures.empty() ? "|\n" : " |\n";
  }
  return text;
}

std::string table_of_calls() {
  std::string text = "| call | arguments | type |\n| --- | --- | --- |\n";
  for (const SqlFunction& line : sql_functions()) {
    std::string names(line.names);
    // A bar ends a cell.
    for (size_t at = 0; (at = names.find('|', at)) != std::string::npos; at += 2) names.insert(at, "\\");
    text += "| " + names + " | ";
    text += line.arguments;
    text += " | ";
    text += line.rule;
    text += " |\n";
  }
  return text;
}

/// The page's table that begins with `head` is `wanted`, or becomes it.
void has_table(std::string_view head, const std::string& wanted) {
  const std::string path = HAILSTONE_DOCS "/functions.md";
  std::stringstream read;
  read << std::ifstream(path).rdbuf();
  std::string page = read.str();
  const size_t begin = page.find(head);
  ASSERT_NE(begin, std::string::npos) << path;
  const size_t end = page.find("\n\n", begin);
  ASSERT_NE(end, std::string::npos) << path;
  if (std::getenv("HAILSTONE_WRITE_PAGES") != nullptr) {
    page.replace(begin, end + 1 - begin, wanted);
    std::ofstream(path) << page;
    return;
  }
  EXPECT_EQ(page.substr(begin, end + 1 - begin), wanted)
      << path << " is not as the table of functions: run expression_tests with HAILSTONE_WRITE_PAGES=1";
}

TEST(FunctionsPageTest, HasTheTableOfFunctions) { has_table("| function |", table()); }
TEST(FunctionsPageTest, HasTheTableOfCalls) { has_table("| call |", table_of_calls()); }

}  // namespace
}  // namespace hailstone

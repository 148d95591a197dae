// docs/functions.md has the table of functions as it is. HAILSTONE_WRITE_PAGES=1 writes it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

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

TEST(FunctionsPageTest, HasTheTableOfFunctions) {
  const std::string path = HAILSTONE_DOCS "/functions.md";
  std::stringstream read;
  read << std::ifstream(path).rdbuf();
  std::string page = read.str();
  const size_t begin = page.find("| function |");
  ASSERT_NE(begin, std::string::npos) << path;
  const size_t end = page.find("\n\n", begin);
  ASSERT_NE(end, std::string::npos) << path;
  if (std::getenv("HAILSTONE_WRITE_PAGES") != nullptr) {
    page.replace(begin, end + 1 - begin, table());
    std::ofstream(path) << page;
    return;
  }
  EXPECT_EQ(page.substr(begin, end + 1 - begin), table())
      << path << " is not as the table of functions: run expression_tests with HAILSTONE_WRITE_PAGES=1";
}

}  // namespace
}  // namespace hailstone

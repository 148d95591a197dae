// `hailstone collect`: records from files and standard input into a MariaDB server.
#include <fmt/format.h>

#include "cli/commands.h"
#include "collect/collector.h"

namespace hailstone {
namespace {

struct RunArguments {
  std::string config;
  CollectOptions options;
};

Status run(const RunArguments& arguments) {
  HAILSTONE_ASSIGN(const auto config, CollectConfig::read(arguments.config));
  HAILSTONE_ASSIGN(const auto stop, Stop::make());
  // Before there are other threads.
  const SignalWatch watch([&stop] { stop->request(); });
  return collect(config, arguments.options, *stop);
}

}  // namespace

void add_collect_command(Arguments& root, Ending& ending) {
  Arguments command = root.add_subcommand(
      "collect", "moves records from files and standard input into a MariaDB server, each exactly once");
  Arguments run_command = command.add_subcommand(
      "run", "collects until the sources end, or until a signal: TERM and INT finish the batch");
  const auto arguments = std::make_shared<RunArguments>();
  run_command.add("CONFIG", arguments->config, "configuration file, in TOML: docs/collect.md").required();
  run_command.add_flag("--once", arguments->options.once,
                       "ends when all that is there now has been delivered");
  run_command.run([arguments, &ending] { ending.exit_code = finished("collect run", run(*arguments)); });
}

}  // namespace hailstone

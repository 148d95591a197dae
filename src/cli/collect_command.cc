// `hailstone collect`: records from files and standard input into a MariaDB server.
#include <fmt/format.h>

#include <algorithm>

#include "cli/collect_output.h"
#include "cli/commands.h"
#include "collect/collector.h"
#include "collect/config_check.h"
#include "collect/event_log.h"
#include "collect/stream_status.h"
#include "text/value_text.h"

namespace hailstone {
namespace {

struct CollectArguments {
  std::string config;
  bool once = false;
  std::string log_format = "text";
  bool as_json = false;
};

Status run(const CollectArguments& arguments) {
  HAILSTONE_ASSIGN(const auto config, CollectConfig::read(arguments.config));
  HAILSTONE_ASSIGN(const auto stop, Stop::make());
  // Before there are other threads.
  const SignalWatch watch([&stop] { stop->request(); });
  CollectOutput output(arguments.log_format == "json");
  set_event_sink([&](std::string_view stream, std::string_view message) { output.tell(stream, message); });
  Status status = collect(
      config,
      {.once = arguments.once, .watch = [&](const std::vector<StreamState>& states) { output.show(states); }},
      *stop);
  set_event_sink({});
  return status;
}

/// The exit code.
int check(const CollectArguments& arguments) {
  const auto config = CollectConfig::read(arguments.config);
  if (!config) return finished("collect check", std::unexpected(config.error()));
  const auto stop = Stop::make();
  if (!stop) return finished("collect check", std::unexpected(stop.error()));
  int code = 0;
  for (const Finding& finding : check_config(*config, **stop)) {
    fmt::print("{}: {}{}\n", finding.stream, finding.is_error ? "wrong: " : "", printable(finding.text));
    if (finding.is_error) code = exit_error;
  }
  return code;
}

/// The exit code.
int show_status(const CollectArguments& arguments) {
  const auto config = CollectConfig::read(arguments.config);
  if (!config) return finished("collect status", std::unexpected(config.error()));
  int code = 0;
  for (const StreamConfig& stream : config->streams) {
    const auto status = status_of_stream(*config, stream);
    if (!status) {
      code = finished(fmt::format("collect status: {}", stream.name), std::unexpected(status.error()));
      continue;
    }
    const SpoolLook& spool = status->spool;
    const uint64_t waiting = spool.records - std::min(spool.records, status->delivered);
    if (arguments.as_json) {
      fmt::print("{{\"stream\":\"{}\",\"delivered\":{},\"waiting\":{},\"spool_bytes\":{}}}\n", stream.name,
                 status->delivered, waiting, spool.bytes);
    } else {
      fmt::print("{}: {} delivered, {} in the spool ({})\n", stream.name,
                 counted(status->delivered, "record"), waiting, human_bytes(spool.bytes));
    }
  }
  return code;
}

}  // namespace

void add_collect_command(Arguments& root, Ending& ending) {
  Arguments command = root.add_subcommand(
      "collect", "moves records from files and standard input into a MariaDB server, each exactly once");
  const auto arguments = std::make_shared<CollectArguments>();
  const auto add_config = [&arguments](Arguments& to) {
    to.add("CONFIG", arguments->config, "configuration file, in TOML: docs/collect.md").required();
  };
  Arguments run_command = command.add_subcommand(
      "run", "collects until the sources end, or until a signal: TERM and INT finish the batch");
  add_config(run_command);
  run_command.add_flag("--once", arguments->once, "ends when all that is there now has been delivered");
  run_command.add("--log-format", arguments->log_format, "how events are told on standard error")
      .one_of({"text", "json"})
      .show_default();
  run_command.run([arguments, &ending] { ending.exit_code = finished("collect run", run(*arguments)); });
  Arguments check_command = command.add_subcommand(
      "check",
      "tells what is wrong with a configuration: its keys, sources, server and tables; writes nothing");
  add_config(check_command);
  check_command.run([arguments, &ending] { ending.exit_code = check(*arguments); });
  Arguments status_command = command.add_subcommand(
      "status",
      "tells how many records of each stream are delivered and how many wait, also while a collector runs");
  add_config(status_command);
  status_command.add_flag("--json", arguments->as_json, "an object a line, for programs");
  status_command.run([arguments, &ending] { ending.exit_code = show_status(*arguments); });
}

}  // namespace hailstone

// `hailstone collect`: records from files and standard input into a MariaDB server.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/mutex.h"

#include "cli/collect_output.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "collect/collector.h"
#include "collect/config_check.h"
#include "collect/config_sample.h"
#include "collect/event_log.h"
#include "collect/metrics.h"
#include "collect/stream_status.h"
#include "collect/summary_report.h"
#include "file/filesystem.h"
#include "text/value_text.h"

namespace hailstone {
namespace {

struct CollectArguments {
  std::string config;
  bool once = false;
  std::string log_format = "text";
  std::optional<uint16_t> metrics;
  bool as_json = false;
  uint64_t periods = 10;
};

/// Collects until the sources end or a signal comes. SIGHUP begins anew with the configuration as it is then.
class CollectRun {
 public:
  explicit CollectRun(const CollectArguments& arguments)
      : arguments_(arguments), output_(arguments.log_format == "json") {}

  Status run() {
    HAILSTONE_ASSIGN(auto config, CollectConfig::read(arguments_.config));
    HAILSTONE_TRY(prepare(config));
    // Before there are other threads. A terminal that is closed ends what it began.
    const bool is_service = isatty(STDERR_FILENO) == 0;
    const SignalWatch watch([this] { end(); }, is_service ? [this] { reload(); } : std::function<void()>());
    const Status status = work(config);
    is_over_ = true;
    return status;
  }

 private:
  Status work(CollectConfig& config) {
    set_event_sink(
        [this](std::string_view stream, std::string_view message) { output_.tell(stream, message); });
    std::unique_ptr<MetricsServer> metrics;
    if (arguments_.metrics) {
      HAILSTONE_ASSIGN(metrics, MetricsServer::start(*arguments_.metrics));
      log_event({}, fmt::format("metrics are at http://127.0.0.1:{}/metrics", metrics->port()));
    }
    const auto watch = [&](const CollectState& state) {
      output_.show(state);
      if (metrics) metrics->set(metrics_text(state));
    };
    Status status;
    do {
      status = collect(config, {.once = arguments_.once, .watch = watch}, *stop_);
    } while (status && take_next(config));
    set_event_sink({});
    return status;
  }

  Status prepare(const CollectConfig& config) {
    HAILSTONE_ASSIGN(stop_, Stop::make());
    reads_standard_input_ = std::ranges::any_of(config.streams, [](const StreamConfig& stream) {
      return stream.source == StreamConfig::Source::StandardInput;
    });
    return {};
  }

  /// Whether there is to be another run, of the configuration that has been read for it.
  bool take_next(CollectConfig& config) {
    const MutexLock lock(mutex_);
    if (is_ending_ || !next_) return false;
    config = std::move(*next_);
    next_.reset();
    const Status prepared = prepare(config);
    if (!prepared) log_event({}, prepared.error().message());
    return prepared.has_value();
  }

  /// A signal, in the thread that waits for them.
  void end() {
    {
      const MutexLock lock(mutex_);
      is_ending_ = true;
      stop_->request();
    }
    for (auto left = longest_end; left.count() > 0 && !is_over_; left -= end_step) {
      std::this_thread::sleep_for(end_step);
    }
    if (is_over_) return;
    // A server or a disk that does not answer. It is as safe as a crash: what is not committed comes again.
    output_.tell({}, "the batch under way does not end; it is left, and loaded at the next start");
    _exit(0);
  }

  void reload() {
    auto config = CollectConfig::read(arguments_.config);
    const MutexLock lock(mutex_);
    if (!config) {
      return log_event({}, fmt::format("the configuration stays as it was, as the new one is wrong: {}",
                                       config.error().message()));
    }
    if (reads_standard_input_) {
      return log_event({},
                       "the configuration stays as it was, as what has come of standard input would be lost");
    }
    log_event({}, "the configuration has been read; the batches under way end first");
    next_ = std::move(*config);
    stop_->request();
  }

  // A service manager kills what has not ended some time later; people wait for two seconds.
  static constexpr std::chrono::milliseconds longest_end{1000}, end_step{10};

  const CollectArguments& arguments_;
  CollectOutput output_;
  std::atomic<bool> is_over_{false};
  Mutex mutex_;
  // Changed between two runs only, and with the mutex held.
  std::unique_ptr<Stop> stop_;
  bool reads_standard_input_ = false;
  bool is_ending_ HAILSTONE_GUARDED_BY(mutex_) = false;
  std::optional<CollectConfig> next_ HAILSTONE_GUARDED_BY(mutex_);
};

Status run(const CollectArguments& arguments) { return CollectRun(arguments).run(); }

/// The exit code.
int check(const CollectArguments& arguments) {
  const auto config = CollectConfig::read(arguments.config);
  if (!config) return finished("collect check", std::unexpected(config.error()));
  const auto stop = Stop::make();
  if (!stop) return finished("collect check", std::unexpected(stop.error()));
  int code = 0;
  for (const Finding& finding : check_config(*config, **stop)) {
    fmt::print("{}: {}{}\n", finding.name, finding.is_error ? "wrong: " : "", printable(finding.text));
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
    if (arguments.as_json) {
      fmt::print("{{\"stream\":\"{}\",\"delivered\":{},\"rejected\":{},\"waiting\":{},\"spool_bytes\":{}}}\n",
                 stream.name, status->delivered, status->rejected, status->waiting, spool.bytes);
    } else {
      const std::string rejected =
          status->rejected > 0 ? fmt::format("{} rejected by the table, ", status->rejected) : "";
      fmt::print("{}: {} delivered, {}{} in the spool ({})\n", stream.name,
                 counted(status->delivered, "record"), rejected, status->waiting, human_bytes(spool.bytes));
    }
  }
  return code;
}

struct InitArguments {
  ConfigSample sample;
  std::string format, output = "-";
};

Status init(InitArguments arguments) {
  ConfigSample& sample = arguments.sample;
  auto format = arguments.format.empty() ? format_of_path(sample.file) : format_of_name(arguments.format);
  if (!format) {
    HAILSTONE_ASSIGN(format, format_of_rows(sample.file));
  }
  sample.text.format = *format;
  if (!names_its_fields(*format) && sample.text.has_header != sample.columns.empty()) {
    return fail(ErrorCode::InvalidArgument,
                sample.text.has_header
                    ? "--columns names the columns of a file without a header: give --no-header, too"
                    : "--no-header needs --columns");
  }
  HAILSTONE_TRY(check_text_options(sample.text));
  HAILSTONE_ASSIGN(const std::string text, configuration_from(sample));
  if (arguments.output != "-" && posix_filesystem().exists(arguments.output)) {
    return fail(ErrorCode::AlreadyExists,
                fmt::format("'{}' is there already; remove it, or choose another name", arguments.output));
  }
  HAILSTONE_ASSIGN(const auto file, OutputFile::create(arguments.output));
  HAILSTONE_TRY(file->write(text));
  return file->finish();
}

std::string seconds_text(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.3f}", *seconds) : "null";
}

/// The exit code.
int report(const CollectArguments& arguments) {
  const auto config = CollectConfig::read(arguments.config);
  if (!config) return finished("collect report", std::unexpected(config.error()));
  const auto periods = report_of_summaries(*config, arguments.periods);
  if (!periods) return finished("collect report", std::unexpected(periods.error()));
  for (const SummaryConfig& summary : config->summaries) {
    const bool is_there = std::ranges::find(*periods, summary.name, &PeriodReport::summary) != periods->end();
    if (!is_there && !arguments.as_json) {
      fmt::print("{}: no records yet\n", summary.name);
    }
  }
  if (config->summaries.empty() && !arguments.as_json) fmt::print("the configuration has no summary\n");
  for (const PeriodReport& period : *periods) {
    if (arguments.as_json) {
      fmt::print(
          "{{\"summary\":\"{}\",\"begin\":\"{}\",\"jobs\":{},\"done\":{},\"started\":{:.3f},\"half\":{},"
          "\"most\":{},\"all\":{}}}\n",
          period.summary, to_text(period.begin), period.jobs, period.done, period.started,
          seconds_text(period.half), seconds_text(period.most), seconds_text(period.all));
      continue;
    }
    std::string text = fmt::format("{}, {}: {} of {} jobs done", period.summary, to_text(period.begin),
                                   period.done, period.jobs);
    if (period.half) text += fmt::format("; 50 % after {:.1f} s", *period.half);
    if (period.most) text += fmt::format(", 97 % after {:.1f} s", *period.most);
    if (period.all) text += fmt::format(", all after {:.1f} s", *period.all);
    if (period.all && *period.all > 0) {
      text += fmt::format(": 97 % in {:.0f} % of the time", 100 * *period.most / *period.all);
    }
    fmt::print("{}\n", text);
  }
  return 0;
}

}  // namespace

void add_collect_command(Arguments& root, Ending& ending) {
  Arguments command = root.add_subcommand(
      "collect", "moves records from files and standard input into a MariaDB server, each exactly once");
  const auto arguments = std::make_shared<CollectArguments>();
  const auto add_config = [&arguments](Arguments& to) {
    to.add("CONFIG", arguments->config, "configuration file, in TOML: docs/collect.md").required();
  };
  Arguments init_command = command.add_subcommand(
      "init", "writes a configuration, with comments, from a sample of the data, whose types it guesses");
  const auto init_arguments = std::make_shared<InitArguments>();
  const auto header = std::make_shared<bool>(false);
  const auto null_text = std::make_shared<std::string>();
  const auto delimiter = std::make_shared<std::string>(",");
  init_command.add("SAMPLE", init_arguments->sample.file, "a file with rows as they will come").required();
  init_command
      .add("--format", init_arguments->format,
           "csv, tsv, jsonl or combined; default: as the file's name ends, or its first line says")
      .one_of({"csv", "tsv", "jsonl", "combined"});
  init_command.add_flag("--no-header", *header, "CSV, TSV: the first line is a row");
  init_command.add("--columns", init_arguments->sample.columns, "names of the columns, with --no-header")
      .comma_list();
  init_command
      .add("--delimiter", *delimiter,
           "CSV: the character between fields; default: that of , ; | and tab which the header has, else ,")
      .check(check_delimiter);
  init_command.add(
      "--null", *null_text,
      "CSV, TSV: fields without quotes that stand for NULL; default: empty ones in CSV, \\N in TSV");
  init_command.add("--sample", init_arguments->sample.rows, "rows that types are guessed from")
      .show_default();
  init_command.add("--output", init_arguments->output, "the file to write; - is the standard output")
      .show_default();
  init_command.run([init_command, init_arguments, header, null_text, delimiter, &ending] {
    TextOptions& text = init_arguments->sample.text;
    text.has_header = !*header;
    text.delimiter = delimiter_of(*delimiter);
    text.finds_delimiter = !init_command.given("--delimiter");
    if (init_command.given("--null")) text.null_text = *null_text;
    ending.exit_code = finished("collect init", init(*init_arguments));
  });
  Arguments run_command = command.add_subcommand(
      "run", "collects until the sources end, or until a signal: TERM and INT finish the batch");
  add_config(run_command);
  run_command.add_flag("--once", arguments->once, "ends when all that is there now has been delivered");
  run_command.add("--log-format", arguments->log_format, "how events are told on standard error")
      .one_of({"text", "json"})
      .show_default();
  const auto port = std::make_shared<uint64_t>(0);
  run_command.add("--metrics", *port,
                  "a port of 127.0.0.1: answers GET /metrics in Prometheus's text format; 0: any free one");
  run_command.run([run_command, port, arguments, &ending] {
    if (run_command.given("--metrics")) {
      if (*port > 65'535) {
        ending.exit_code =
            finished("collect run", fail(ErrorCode::InvalidArgument, "--metrics is a port, 0 to 65535"));
        return;
      }
      arguments->metrics = static_cast<uint16_t>(*port);
    }
    ending.exit_code = finished("collect run", run(*arguments));
  });
  Arguments check_command = command.add_subcommand(
      "check",
      "tells what is wrong with a configuration: its keys, sources, server and tables; writes nothing");
  add_config(check_command);
  check_command.run([arguments, &ending] { ending.exit_code = check(*arguments); });
  Arguments status_command = command.add_subcommand(
      "status",
      "tells how many records of each stream are delivered, rejected by its table, and waiting, also while a "
      "collector runs");
  add_config(status_command);
  status_command.add_flag("--json", arguments->as_json, "an object a line, for programs");
  Arguments report_command = command.add_subcommand(
      "report", "tells when 50 % and 97 % of the jobs of each summary were done, for its last periods");
  add_config(report_command);
  report_command.add("--periods", arguments->periods, "how many of each summary").show_default();
  report_command.add_flag("--json", arguments->as_json, "an object a line, for programs");
  report_command.run([arguments, &ending] { ending.exit_code = report(*arguments); });
  status_command.run([arguments, &ending] { ending.exit_code = show_status(*arguments); });
}

}  // namespace hailstone

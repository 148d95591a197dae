// `hailstone disk …`: arguments, progress, and what is printed. The work is done by disk_work and disk_sweep.
#include <fmt/format.h>

#include <memory>

#include "base/number_text.h"
#include "cli/commands.h"
#include "cli/disk_report.h"
#include "cli/disk_results.h"
#include "cli/disk_sweep.h"
#include "cli/disk_work.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/svg_plot.h"
#include "cli/text_table.h"
#include "file/filesystem.h"
#include "text/value_text.h"

namespace hailstone {
namespace {

// What the article measured with 10 million rows of 103 bytes: (buffer, writes before the last).
constexpr std::pair<size_t, uint64_t> article_writes[] = {{256, 3'906'250},
                                                          {512, 2'000'000},
                                                          {size_t{128} << 10, 7856},
                                                          {size_t{1} << 20, 982},
                                                          {size_t{1} << 30, 0}};

struct DiskArguments {
  DiskSetup setup;
  SweepOptions sweep;
  BuffersOptions buffers;
  std::vector<std::string> files;
  std::string results;           // a file to write to
  std::string html, svg_folder;  // of report and buffers
  bool verify = false, replace = false, all_sizes = false;
  std::string rows = "both";
};

int ended(const std::string& command, const Status& status) {
  if (!status && status.error().code() == ErrorCode::Interrupted) {
    fmt::print(stderr, "hailstone disk {}: interrupted; its files are removed\n", command);
    return exit_interrupted;
  }
  const bool differs = !status && status.error().code() == ErrorCode::Corruption;
  const int code = finished("disk " + command, status);
  return differs ? exit_damage : code;
}

void warn(const std::string& message) {
  fmt::print(stderr, "hailstone: warning: {}\n", safe_for_terminal(message));
}

/// A bar of bytes, and the end by Ctrl-C.
class Supervised {
 public:
  Supervised(const std::string& what, uint64_t all) : bar_(what, all) {}
  DiskWatch watch() {
    return [this](uint64_t bytes) {
      bar_.update(bytes, human_bytes(bytes));
      return !signals_.has_arrived();
    };
  }
  bool has_arrived() const { return signals_.has_arrived(); }
  void clear() { bar_.clear(); }

 private:
  SignalWatch signals_{[] {}};
  Progress bar_;
};

void print_cost(std::string_view job, const DiskCost& cost) {
  DiskSummary summary{DiskJob::Write, cost, {}};
  TextTable table(
      {"", "method", ">records", ">bytes", ">elapsed s", ">user s", ">system s", ">system calls", ">MB/s"});
  table.add({std::string(job), std::string(to_string(cost.method)), with_commas(cost.records),
             with_commas(cost.bytes), fmt::format("{:.3f}", cost.seconds),
             fmt::format("{:.3f}", cost.user_seconds), fmt::format("{:.3f}", cost.system_seconds),
             with_commas(cost.counts.calls), fmt::format("{:.0f}", summary.megabytes_per_second())});
  fmt::print("{}", table.text());
}

Status save(const DiskArguments& arguments, DiskJob job, const DiskCost& cost) {
  if (arguments.results.empty()) return {};
  DiskResults results;
  results.conditions = conditions_here(folder_of(arguments.files.front()));
  results.conditions.record_bytes = arguments.setup.record_bytes;
  results.conditions.buffer_bytes = arguments.setup.io.window_bytes;
  results.conditions.queue_depth = arguments.setup.io.queue_depth;
  results.conditions.fsync = arguments.setup.fsync;
  results.conditions.cold = arguments.sweep.cold;
  results.measurements.push_back({.job = job, .run = 1, .cost = cost});
  return write_results(arguments.results, results);
}

Status run_write(const DiskArguments& arguments) {
  const std::string& path = arguments.files.front();
  if (posix_filesystem().exists(path) && !arguments.replace) {
    return fail(ErrorCode::AlreadyExists,
                fmt::format("'{}' exists already; give another name, or --replace to lose it", path));
  }
  const uint64_t bytes = arguments.setup.records * arguments.setup.record_bytes;
  HAILSTONE_TRY(need_disk(folder_of(path), bytes));
  Supervised supervised("writing", bytes);
  HAILSTONE_ASSIGN(const DiskCost cost, write_records(path, arguments.setup, supervised.watch(), warn));
  supervised.clear();
  print_cost("write", cost);
  return save(arguments, DiskJob::Write, cost);
}

Status run_read(const DiskArguments& arguments) {
  const std::string& path = arguments.files.front();
  HAILSTONE_ASSIGN(const uint64_t bytes, posix_filesystem().file_size(path));
  if (arguments.sweep.cold) HAILSTONE_TRY(evict_file(path));
  Supervised supervised("reading", bytes);
  uint64_t sum = 0;
  HAILSTONE_ASSIGN(const DiskCost cost, read_records(path, arguments.setup, arguments.verify ? &sum : nullptr,
                                                     supervised.watch(), warn));
  supervised.clear();
  print_cost("read", cost);
  if (arguments.verify) fmt::print("sum of all bytes: {}\n", sum);
  return save(arguments, DiskJob::Read, cost);
}

Status run_compare(const DiskArguments& arguments) {
  HAILSTONE_ASSIGN(const uint64_t bytes, posix_filesystem().file_size(arguments.files.front()));
  Supervised supervised("comparing", bytes);
  HAILSTONE_TRY(compare_files(arguments.files, supervised.watch()));
  supervised.clear();
  fmt::print("{} of {} bytes are the same\n", counted(arguments.files.size(), "file"), with_commas(bytes));
  return {};
}

template <typename Work>
auto supervised_series(const std::string& what, Work&& work) {
  const SignalWatch signals([] {});
  std::unique_ptr<Progress> bar;
  DiskSupervision supervision;
  supervision.stop = [&] { return signals.has_arrived(); };
  supervision.progress = [&](uint64_t done, uint64_t all, const std::string& detail) {
    if (bar == nullptr) bar = std::make_unique<Progress>(what, all);
    bar->update(done, detail);
  };
  supervision.warning = [&](const std::string& message) {
    if (bar != nullptr) bar->clear();
    warn(message);
  };
  return work(supervision);
}

Status write_text(const std::string& path, const std::string& text) {
  HAILSTONE_ASSIGN(const auto file, OutputFile::create(path));
  HAILSTONE_TRY(file->write(text));
  return file->finish();
}

Status write_plots(const std::string& folder, const std::vector<NamedPlot>& plots) {
  HAILSTONE_TRY(posix_filesystem().make_directory(folder));
  for (const NamedPlot& plot : plots) HAILSTONE_TRY(write_text(folder + "/" + plot.name + ".svg", plot.svg));
  return {};
}

Status run_sweep(const DiskArguments& arguments) {
  if (arguments.sweep.from > arguments.sweep.to)
    return fail(ErrorCode::InvalidArgument, "--from is greater than --to");
  HAILSTONE_ASSIGN(const DiskResults results,
                   supervised_series("measuring", [&](const DiskSupervision& supervision) {
                     return sweep(arguments.sweep, supervision);
                   }));
  fmt::print("{}", report_text(results, false));
  if (!arguments.html.empty()) HAILSTONE_TRY(write_text(arguments.html, report_html({results})));
  if (!arguments.results.empty()) HAILSTONE_TRY(write_results(arguments.results, results));
  return {};
}

Status run_report(const DiskArguments& arguments) {
  std::vector<DiskResults> all;
  for (const std::string& path : arguments.files) {
    HAILSTONE_ASSIGN(DiskResults results, read_results(path));
    fmt::print("{}{}", all.empty() ? "" : "\n", report_text(results, arguments.all_sizes));
    all.push_back(std::move(results));
  }
  if (!arguments.html.empty()) HAILSTONE_TRY(write_text(arguments.html, report_html(all)));
  if (arguments.svg_folder.empty()) return {};
  std::vector<NamedPlot> plots;
  for (size_t i = 0; i < all.size(); ++i) {
    for (NamedPlot& plot : report_plots(all[i])) {
      if (all.size() > 1) plot.name = fmt::format("{}-{}", i + 1, plot.name);
      plots.push_back(std::move(plot));
    }
  }
  return write_plots(arguments.svg_folder, plots);
}

std::string buffers_csv(const std::vector<BufferMeasurement>& measured) {
  std::string text =
      "rows,buffer_bytes,row_count,bytes,writes_before_last,writes,seconds,user_seconds,system_seconds\n";
  for (const BufferMeasurement& one : measured) {
    text +=
        fmt::format("{},{},{},{},{},{},{:.6f},{:.6f},{:.6f}\n", one.fixed ? "fixed" : "variable",
                    one.buffer_bytes, one.cost.records, one.cost.bytes, one.writes, one.cost.counts.writes,
                    one.cost.seconds, one.cost.user_seconds, one.cost.system_seconds);
  }
  return text;
}

std::string buffers_json(const std::vector<BufferMeasurement>& measured) {
  std::string text = "[";
  const char* comma = "";
  for (const BufferMeasurement& one : measured) {
    text += fmt::format(
        "{}\n  {{\"rows\": \"{}\", \"buffer_bytes\": {}, \"row_count\": {}, \"bytes\": {}, "
        "\"writes_before_last\": {}, \"writes\": {}, \"seconds\": {:.6f}, \"user_seconds\": {:.6f}, "
        "\"system_seconds\": {:.6f}}}",
        comma, one.fixed ? "fixed" : "variable", one.buffer_bytes, one.cost.records, one.cost.bytes,
        one.writes, one.cost.counts.writes, one.cost.seconds, one.cost.user_seconds, one.cost.system_seconds);
    comma = ",";
  }
  return text + "\n]\n";
}

std::vector<NamedPlot> buffers_plots(const std::vector<BufferMeasurement>& measured) {
  std::vector<PlotLine> writes, seconds;
  for (const bool fixed : {true, false}) {
    const char* const name = fixed ? "fixed rows" : "variable rows";
    PlotLine of_writes{name, {}};
    PlotLine of_seconds{name, {}};
    for (const BufferMeasurement& one : measured) {
      if (one.fixed != fixed) continue;
      const auto buffer = static_cast<double>(one.buffer_bytes);
      if (one.writes > 0) of_writes.points.emplace_back(buffer, static_cast<double>(one.writes));
      if (one.cost.seconds > 0) of_seconds.points.emplace_back(buffer, one.cost.seconds);
    }
    if (!of_writes.points.empty()) writes.push_back(std::move(of_writes));
    if (!of_seconds.points.empty()) seconds.push_back(std::move(of_seconds));
  }
  return {{"buffers-writes",
           line_plot("Writes over the size of the buffer", "bytes of the buffer", "writes", writes)},
          {"buffers-time", line_plot("Time over the size of the buffer", "bytes of the buffer",
                                     "seconds (lower is better)", seconds)}};
}

Status run_buffers(const DiskArguments& arguments) {
  BuffersOptions options = arguments.buffers;
  if (options.from > options.to) return fail(ErrorCode::InvalidArgument, "--from is greater than --to");
  options.fixed = arguments.rows != "variable";
  options.variable = arguments.rows != "fixed";
  HAILSTONE_ASSIGN(const auto measured, supervised_series("writing", [&](const DiskSupervision& supervision) {
                     return measure_buffers(options, supervision);
                   }));
  for (const bool fixed : {true, false}) {
    if (fixed ? !options.fixed : !options.variable) continue;
    const bool as_in_article = fixed && options.rows == BuffersOptions().rows;
    std::vector<std::string> head{">buffer", ">writes", ">elapsed s", ">user s", ">system s"};
    if (as_in_article) head.emplace_back(">writes in the article");
    TextTable table(head);
    uint64_t bytes = 0;
    for (const BufferMeasurement& one : measured) {
      if (one.fixed != fixed) continue;
      bytes = one.cost.bytes;
      std::vector<std::string> row{
          with_commas(one.buffer_bytes), with_commas(one.writes), fmt::format("{:.3f}", one.cost.seconds),
          fmt::format("{:.3f}", one.cost.user_seconds), fmt::format("{:.3f}", one.cost.system_seconds)};
      if (as_in_article) {
        row.emplace_back();
        for (const auto& [buffer, writes] : article_writes) {
          if (buffer == one.buffer_bytes) row.back() = with_commas(writes);
        }
      }
      table.add(std::move(row));
    }
    fmt::print("{} rows of {}, {}; writes before the last one, which writes what is left\n{}\n",
               with_commas(options.rows), fixed ? "103 bytes" : "57 to 103 bytes", human_bytes(bytes),
               table.text(2));
  }
  const auto plots = buffers_plots(measured);
  if (!arguments.svg_folder.empty()) HAILSTONE_TRY(write_plots(arguments.svg_folder, plots));
  if (arguments.results.empty()) return {};
  return write_text(arguments.results,
                    arguments.results.ends_with(".csv") ? buffers_csv(measured) : buffers_json(measured));
}

void add_method(Arguments& command, DiskArguments& arguments) {
  command
      .add(
          "--method",
          [&arguments](const std::string& name) { arguments.setup.io.method = *parse_io_method(name); },
          "how: sync, buffered, async, mmap or direct")
      .required()
      .one_of(std::vector<std::string>(io_method_names.begin(), io_method_names.end()));
}

void add_setting_options(Arguments& command, size_t& record_bytes, size_t& buffer_bytes,
                         unsigned& queue_depth) {
  command.add("--record-size", record_bytes, "bytes of a record")
      .show_default()
      .between(size_t{1}, size_t{64} << 20);
  command.add("--buffer", buffer_bytes, "the buffer of all methods but sync, as 128K or 1M")
      .as_bytes()
      .show_default("128K")
      .between(size_t{1}, size_t{1} << 30);
  command.add("--queue-depth", queue_depth, "buffers on their way at once with direct")
      .show_default()
      .between(1, 1024);
}

void add_results_option(Arguments& command, DiskArguments& arguments) {
  command.add("--output", arguments.results, "also write the figures to this file, .json or .csv")
      .check(check_results_path);
}

}  // namespace

void add_disk_command(Arguments& root, Ending& ending) {
  Arguments disk = root.add_subcommand(
      "disk", "measure how fast files are written and read, by each method of the engine");
  const auto add = [&](const char* name, const char* description, Status (*run)(const DiskArguments&)) {
    Arguments command = disk.add_subcommand(name, description);
    const auto arguments = std::make_shared<DiskArguments>();
    command.run([arguments, run, &ending, name] { ending.exit_code = ended(name, run(*arguments)); });
    return std::pair(command, arguments.get());
  };
  {
    auto [command, arguments] = add("write", "write a new file of records", run_write);
    arguments->files.resize(1);
    command.add("FILE", arguments->files.front(), "the file to make").required();
    add_method(command, *arguments);
    command.add("--records", arguments->setup.records, "so many records, as 1000000 or 1M")
        .required()
        .as_count();
    add_setting_options(command, arguments->setup.record_bytes, arguments->setup.io.window_bytes,
                        arguments->setup.io.queue_depth);
    command.add_flag("--fsync", arguments->setup.fsync, "until the file is durable");
    command.add_flag("--replace", arguments->replace, "write over a file that is there");
    add_results_option(command, *arguments);
  }
  {
    auto [command, arguments] = add("read", "read a file record by record", run_read);
    arguments->files.resize(1);
    command.add("FILE", arguments->files.front(), "the file to read").required();
    add_method(command, *arguments);
    add_setting_options(command, arguments->setup.record_bytes, arguments->setup.io.window_bytes,
                        arguments->setup.io.queue_depth);
    command.add_flag("--verify", arguments->verify, "also print the sum of all bytes read");
    command.add_flag("--cold", arguments->sweep.cold, "drop the file from the page cache before");
    add_results_option(command, *arguments);
  }
  {
    auto [command, arguments] = add("compare", "compare files byte for byte", run_compare);
    command.add("FILE", arguments->files, "two files or more").required().count_between(2, 1'000'000);
  }
  {
    auto [command, arguments] = add(
        "sweep", "write and read files of doubling size by each method, and compare the times", run_sweep);
    SweepOptions& sweep = arguments->sweep;
    sweep.folder = ".";
    sweep.methods = {IoMethod::Sync, IoMethod::Buffered, IoMethod::Async, IoMethod::Mmap, IoMethod::Direct};
    command.add("FOLDER", sweep.folder, "where to write; on the disk that is of interest").show_default();
    command
        .add(
            "--methods",
            [&sweep](const std::vector<std::string>& names) {
              sweep.methods.clear();
              for (const std::string& name : names) sweep.methods.push_back(*parse_io_method(name));
            },
            "only these, with commas between")
        .comma_list()
        .one_of(std::vector<std::string>(io_method_names.begin(), io_method_names.end()));
    command.add("--from", sweep.from, "records of the smallest file")
        .show_default()
        .as_count()
        .between(uint64_t{1}, uint64_t{1} << 40);
    command.add("--to", sweep.to, "records of the greatest file, at most")
        .show_default()
        .as_count()
        .between(uint64_t{1}, uint64_t{1} << 40);
    add_setting_options(command, sweep.record_bytes, sweep.buffer_bytes, sweep.queue_depth);
    command.add("--repeat", sweep.repeats, "measure each so often; the median counts")
        .show_default()
        .between(1, 1000);
    command.add_flag("--fsync", sweep.fsync, "writing lasts until the file is durable");
    command.add_flag("--cold", sweep.cold, "drop a file from the page cache before it is read");
    command
        .add(
            "--memory-limit", sweep.memory_limit,
            "run in so little memory, page cache included, as 256M (needs root or a delegated control group)")
        .as_bytes()
        .not_negative();
    command.add("--html", arguments->html, "also write a page with tables and plots");
    add_results_option(command, *arguments);
  }
  {
    auto [command, arguments] = add("report", "show what sweeps have measured", run_report);
    command.add("RESULTS", arguments->files, "files that 'sweep --output X.json' wrote").required();
    command.add("--html", arguments->html, "write a page with tables and plots");
    command.add("--svg", arguments->svg_folder, "write the plots to this folder");
    command.add_flag("--all", arguments->all_sizes, "all figures of every size, not of the greatest only");
  }
  {
    auto [command, arguments] =
        add("buffers", "count writes and measure time for buffers of doubling size", run_buffers);
    BuffersOptions& buffers = arguments->buffers;
    buffers.folder = ".";
    command.add("FOLDER", buffers.folder, "where to write").show_default();
    command.add("--rows", buffers.rows, "so many rows")
        .show_default()
        .between(uint64_t{1}, uint64_t{100'000'000});
    command.add("--kind", arguments->rows, "of rows: fixed (103 bytes), variable (57 to 103 bytes), both")
        .show_default()
        .one_of({"fixed", "variable", "both"});
    command.add("--from", buffers.from, "the smallest buffer, in bytes or as 128, 4K")
        .as_bytes()
        .show_default("128")
        .between(size_t{16}, size_t{1} << 30);
    command.add("--to", buffers.to, "the greatest buffer, at most 1G")
        .as_bytes()
        .show_default("1G")
        .between(size_t{16}, size_t{1} << 30);
    command.add_flag("--fsync", buffers.fsync, "until the file is durable");
    command.add("--svg", arguments->svg_folder, "write plots to this folder");
    add_results_option(command, *arguments);
  }
}

}  // namespace hailstone

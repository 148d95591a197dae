#include "cli/disk_results.h"

#include <fmt/format.h>
#include <simdjson.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <tuple>

#include "cli/output.h"
#include "cli/session.h"
#include "text/json_text.h"

namespace hailstone {
namespace {

/// The type of the filesystem mounted at or above the folder.
std::string filesystem_type(const std::string& folder) {
  char* const resolved = ::realpath(folder.c_str(), nullptr);
  if (resolved == nullptr) return "unknown";
  const std::string path = std::string(resolved) + "/";
  std::free(resolved);
  std::ifstream mounts("/proc/self/mounts");
  std::string device, place, type, rest, best_type = "unknown";
  size_t best = 0;
  while (mounts >> device >> place >> type && std::getline(mounts, rest)) {
    if (place.back() != '/') place += '/';
    if (!path.starts_with(place) || place.size() < best) continue;
    best = place.size();
    best_type = type;
  }
  return best_type;
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

Result<DiskResults> parse_results(const std::string& path, const std::string& text) {
  namespace dom = simdjson::dom;
  const auto wrong = [&](std::string_view what) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("'{}' is not a result file of 'hailstone disk sweep' ({})", path, what));
  };
  dom::parser parser;
  dom::element document;
  if (const auto error = parser.parse(text).get(document)) return wrong(simdjson::error_message(error));
  std::string_view tool;
  if (document["tool"].get(tool) || tool != "hailstone disk") return wrong("it does not say so");
  DiskResults results;
  DiskConditions& conditions = results.conditions;
  std::string_view machine, folder, filesystem;
  uint64_t record = 0, buffer = 0, depth = 0;
  dom::array measurements;
  if (document["machine"].get(machine) || document["folder"].get(folder) ||
      document["filesystem"].get(filesystem) || document["record_bytes"].get(record) ||
      document["buffer_bytes"].get(buffer) || document["queue_depth"].get(depth) ||
      document["fsync"].get(conditions.fsync) || document["cold"].get(conditions.cold) ||
      document["memory_limit"].get(conditions.memory_limit) || document["measurements"].get(measurements)) {
    return wrong("something is missing");
  }
  conditions.machine = machine;
  conditions.folder = folder;
  conditions.filesystem = filesystem;
  conditions.record_bytes = static_cast<size_t>(record);
  conditions.buffer_bytes = static_cast<size_t>(buffer);
  conditions.queue_depth = static_cast<unsigned>(depth);
  for (const dom::element element : measurements) {
    DiskMeasurement& measurement = results.measurements.emplace_back();
    DiskCost& cost = measurement.cost;
    std::string_view job, method;
    uint64_t run = 0;
    if (element["job"].get(job) || element["method"].get(method) || element["run"].get(run) ||
        element["records"].get(cost.records) || element["bytes"].get(cost.bytes) ||
        element["seconds"].get(cost.seconds) || element["user_seconds"].get(cost.user_seconds) ||
        element["system_seconds"].get(cost.system_seconds) ||
        element["system_calls"].get(cost.counts.calls) || element["reads"].get(cost.counts.reads) ||
        element["writes"].get(cost.counts.writes) || element["syncs"].get(cost.counts.syncs)) {
      return wrong("a measurement is not whole");
    }
    const auto known = parse_io_method(method);
    if (!known || (job != "write" && job != "read")) return wrong("a measurement is of an unknown method");
    cost.method = *known;
    measurement.job = job == "write" ? DiskJob::Write : DiskJob::Read;
    measurement.run = static_cast<unsigned>(run);
  }
  return results;
}

}  // namespace

DiskConditions conditions_here(const std::string& folder) {
  DiskConditions conditions;
  utsname system;
  ::uname(&system);
  const auto memory =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGE_SIZE));
  conditions.machine =
      fmt::format("{} × {}, {:.0f} GiB, {} {}", ::sysconf(_SC_NPROCESSORS_ONLN), processor(),
                  memory / static_cast<double>(uint64_t{1} << 30), system.sysname, system.release);
  conditions.folder = folder;
  conditions.filesystem = filesystem_type(folder);
  return conditions;
}

std::string as_json(const DiskResults& results) {
  const DiskConditions& conditions = results.conditions;
  std::string text = fmt::format(
      "{{\n  \"tool\": \"hailstone disk\",\n  \"machine\": {},\n  \"folder\": {},\n  \"filesystem\": {},\n"
      "  \"record_bytes\": {},\n  \"buffer_bytes\": {},\n  \"queue_depth\": {},\n  \"fsync\": {},\n"
      "  \"cold\": {},\n  \"memory_limit\": {},\n  \"measurements\": [",
      json_text(conditions.machine), json_text(conditions.folder), json_text(conditions.filesystem),
      conditions.record_bytes, conditions.buffer_bytes, conditions.queue_depth, conditions.fsync,
      conditions.cold, conditions.memory_limit);
  const char* comma = "";
  for (const DiskMeasurement& measurement : results.measurements) {
    const DiskCost& cost = measurement.cost;
    text += fmt::format(
        "{}\n    {{\"job\": \"{}\", \"method\": \"{}\", \"run\": {}, \"records\": {}, \"bytes\": {}, "
        "\"seconds\": {:.6f}, \"user_seconds\": {:.6f}, \"system_seconds\": {:.6f}, \"system_calls\": {}, "
        "\"reads\": {}, \"writes\": {}, \"syncs\": {}}}",
        comma, to_string(measurement.job), to_string(cost.method), measurement.run, cost.records, cost.bytes,
        cost.seconds, cost.user_seconds, cost.system_seconds, cost.counts.calls, cost.counts.reads,
        cost.counts.writes, cost.counts.syncs);
    comma = ",";
  }
  return text + "\n  ]\n}\n";
}

std::string as_csv(const DiskResults& results) {
  std::string text =
      "job,method,run,records,bytes,seconds,user_seconds,system_seconds,system_calls,reads,writes,syncs,"
      "record_bytes,buffer_bytes,queue_depth,fsync,cold,memory_limit\n";
  const DiskConditions& conditions = results.conditions;
  for (const DiskMeasurement& measurement : results.measurements) {
    const DiskCost& cost = measurement.cost;
    text += fmt::format("{},{},{},{},{},{:.6f},{:.6f},{:.6f},{},{},{},{},{},{},{},{},{},{}\n",
                        to_string(measurement.job), to_string(cost.method), measurement.run, cost.records,
                        cost.bytes, cost.seconds, cost.user_seconds, cost.system_seconds, cost.counts.calls,
                        cost.counts.reads, cost.counts.writes, cost.counts.syncs, conditions.record_bytes,
                        conditions.buffer_bytes, conditions.queue_depth, conditions.fsync ? 1 : 0,
                        conditions.cold ? 1 : 0, conditions.memory_limit);
  }
  return text;
}

Result<DiskResults> read_results(const std::string& path) {
  HAILSTONE_ASSIGN(const auto file, posix_filesystem().open(path));
  HAILSTONE_ASSIGN(const uint64_t size, file->size());
  std::string text(static_cast<size_t>(size), '\0');
  HAILSTONE_TRY(file->read_at(0, text.size(), text.data()));
  return parse_results(path, text);
}

std::string check_results_path(const std::string& path) {
  if (path.ends_with(".json") || path.ends_with(".csv")) return {};
  return fmt::format("'{}' must end in .json or .csv, which says what it becomes", path);
}

Status write_results(const std::string& path, const DiskResults& results) {
  HAILSTONE_ASSIGN(const auto file, OutputFile::create(path));
  HAILSTONE_TRY(file->write(path.ends_with(".csv") ? as_csv(results) : as_json(results)));
  return file->finish();
}

std::vector<DiskSummary> summarise(const DiskResults& results) {
  std::map<std::tuple<uint64_t, DiskJob, IoMethod>, std::vector<const DiskCost*>> runs;
  for (const DiskMeasurement& measurement : results.measurements)
    runs[{measurement.cost.records, measurement.job, measurement.cost.method}].push_back(&measurement.cost);
  std::vector<DiskSummary> summaries;
  double sync_seconds = 0;
  uint64_t sync_records = 0;
  std::optional<DiskJob> sync_job;
  for (auto& [key, costs] : runs) {
    std::ranges::sort(costs, {}, &DiskCost::seconds);
    const auto& [records, job, method] = key;
    DiskSummary& summary = summaries.emplace_back(DiskSummary{job, *costs[costs.size() / 2], {}});
    if (method == IoMethod::Sync) {
      sync_seconds = summary.cost.seconds;
      sync_records = records;
      sync_job = job;
    }
    if (sync_job == job && sync_records == records && sync_seconds > 0)
      summary.percent_of_sync = 100 * summary.cost.seconds / sync_seconds;
  }
  return summaries;
}

std::string title_of(const DiskConditions& conditions, DiskJob job) {
  if (job == DiskJob::Write) return conditions.fsync ? "writing, made durable" : "writing, not made durable";
  if (conditions.memory_limit > 0)
    return fmt::format("reading, {}memory limited to {}", conditions.cold ? "not in the page cache, " : "",
                       fmt::format("{} MiB", conditions.memory_limit >> 20));
  return conditions.cold ? "reading, not in the page cache" : "reading, in the page cache";
}

std::string description_of(const DiskConditions& conditions) {
  return fmt::format("records of {} bytes, buffers of {} bytes, direct with {} on their way; {} at {}; {}",
                     conditions.record_bytes, conditions.buffer_bytes, conditions.queue_depth,
                     conditions.filesystem, conditions.folder, conditions.machine);
}

}  // namespace hailstone

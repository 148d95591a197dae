#include "collect/summary_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "collect/summary_tables.h"
#include "collect/target_table.h"
#include "expression/expression_lexer.h"

namespace hailstone {
namespace {

constexpr std::chrono::seconds between_looks(30), look_again(60);
constexpr std::chrono::minutes until_next_try(10);
/// Jobs of so few records share a transaction as long as it has not lasted so long: what it costs to make it
/// durable is more than the work for most of them.
constexpr uint64_t small_job_records = 10'000;
constexpr std::chrono::milliseconds shared_transaction(100);
constexpr size_t jobs_at_once = 10'000, rows_at_once = 1000, bytes_at_once = size_t{1} << 20;
const std::string owner = "summaries";

}  // namespace

struct SummaryRun::Summary {
  Summary(const CollectConfig& all, const SummaryConfig& summary)
      : config(summary), stream(all.stream_of(summary)), upkeep(summary.table, summary.name) {}

  const SummaryConfig& config;
  const StreamConfig& stream;
  TableUpkeep upkeep;
  bool is_prepared = false;
  bool has_lock = false;
  bool is_others = false;      // another collector has it; this has been told
  std::string engine;          // of its table
  std::string stream_engine;   // empty: the stream has no table yet
  std::set<std::string> keys;  // columns of unique keys of its table
};

SummaryRun::SummaryRun(const CollectConfig& config, const Stop& stop)
    : config_(config), stop_(stop), reader_(config.server), writer_(config.server), trouble_(owner) {
  for (const SummaryConfig& summary : config.summaries) {
    summaries_.push_back(std::make_unique<Summary>(config, summary));
  }
}

SummaryRun::~SummaryRun() = default;

SummaryRun::JobKey SummaryRun::key_of(const Job& job) {
  return {job.summary->config.name, job.begin, job.value};
}

Status SummaryRun::run() {
  while (!stop_.is_requested()) {
    const bool may_end = finishing_;
    const auto did = step();
    if (did) {
      trouble_.over();
      if (*did) continue;
      if (may_end) break;
      const auto until = Clock::now() + between_looks;
      while (Clock::now() < until && finishing_ == may_end) {
        if (stop_.wait(std::chrono::milliseconds(100))) return {};
      }
      continue;
    }
    if (did.error().code() == ErrorCode::Interrupted) return {};
    reader_.disconnect();
    writer_.disconnect();
    if (did.error().code() != ErrorCode::Busy && did.error().code() != ErrorCode::DiskFull) {
      return std::unexpected(did.error());
    }
    trouble_.met(fmt::format("{}; trying again", did.error().message()));
    static_cast<void>(stop_.wait(trouble_.next_wait()));
  }
  if (given_up_.empty() || stop_.is_requested()) return {};
  return fail(ErrorCode::InvalidArgument, fmt::format("{} jobs of summaries failed", given_up_.size()));
}

Result<bool> SummaryRun::step() {
  HAILSTONE_TRY(prepare());
  HAILSTONE_ASSIGN(const auto jobs, due_jobs());
  due_ = jobs.size();
  const auto begun = Clock::now();
  // Shorter ones may have become due after a while.
  for (std::span<const Job> left = jobs; !left.empty() && Clock::now() - begun <= look_again;) {
    if (stop_.is_requested()) return fail(ErrorCode::Interrupted, "interrupted");
    std::vector<Clock::time_point> starts;
    const Status status = run_jobs(left, starts);
    if (!status && status.error().code() != ErrorCode::InvalidArgument)
      return std::unexpected(status.error());
    if (!status) {
      // It is the last one's. Those before it are run again with it on another connection, or without it.
      give_up(left[std::max<size_t>(starts.size(), 1) - 1], status.error());
      break;
    }
    for (const Job& job : left.first(starts.size())) given_up_.erase(key_of(job));
    done_ += starts.size();
    due_ -= starts.size();
    left = left.subspan(starts.size());
  }
  return !jobs.empty();
}

void SummaryRun::give_up(const Job& job, const Error& error) {
  ++failed_;
  given_up_[key_of(job)] = Clock::now() + until_next_try;
  log_event(job.summary->config.name,
            fmt::format("the job of {}{}{} failed: {}; it is tried again in 10 minutes", to_text(job.begin),
                        job.value.empty() ? "" : ", ", job.value, error.message()));
  reader_.disconnect();
  writer_.disconnect();
}

Status SummaryRun::prepare() {
  if (!reader_.is_connected() || !writer_.is_connected()) {
    HAILSTONE_TRY(reader_.connect(true));
    HAILSTONE_TRY(writer_.connect());
    used_ = nullptr;
    for (const auto& summary : summaries_) {
      summary->upkeep.forget();
      summary->has_lock = false;
    }
  }
  for (const auto& summary : summaries_) {
    HAILSTONE_TRY(use(*summary));
    HAILSTONE_TRY(summary->upkeep.keep_up(writer_));
    if (!summary->is_prepared) HAILSTONE_TRY(prepare(*summary));
  }
  return {};
}

Status SummaryRun::prepare(Summary& summary) {
  const std::string& table = summary.config.table.name;
  HAILSTONE_ASSIGN(const TargetEngine engine, engine_of_table(writer_, table, true));
  summary.engine = engine.name;
  HAILSTONE_ASSIGN(const bool has_key, has_record_key(writer_, table));
  if (!has_key) {
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format(
            "table '{}' of summary '{}' has no primary or unique key of NOT NULL columns; without it a job "
            "that runs again could not replace its rows",
            table, summary.config.name));
  }
  HAILSTONE_ASSIGN(
      const auto keys,
      writer_.query(fmt::format("SELECT DISTINCT COLUMN_NAME FROM information_schema.STATISTICS WHERE "
                                "TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {} AND NON_UNIQUE = 0",
                                quoted_text(table))));
  for (const auto& row : keys) summary.keys.insert(row.at(0));
  HAILSTONE_TRY(make_jobs_table(writer_, summary.engine));
  summary.is_prepared = true;
  return {};
}

Status SummaryRun::use(const Summary& summary) {
  if (used_ != nullptr && used_->stream.time_zone == summary.stream.time_zone) return {};
  for (ServerConnection* connection : {&reader_, &writer_}) {
    HAILSTONE_TRY(set_session(*connection, summary.stream));
    // While rows are being stored, others wait to be read.
    HAILSTONE_TRY(connection->execute(summary.stream.time_zone.empty()
                                          ? "SET SESSION net_write_timeout = 600, time_zone = DEFAULT"
                                          : "SET SESSION net_write_timeout = 600"));
  }
  used_ = &summary;
  return {};
}

Result<bool> SummaryRun::take_lock(Summary& summary) {
  if (summary.has_lock) return true;
  // At the end only a collector that has just been killed is waited for: one that runs does what is due.
  HAILSTONE_ASSIGN(const auto got,
                   writer_.query(fmt::format(
                       "SELECT GET_LOCK(CONCAT('hailstone_summary ', MD5(CONCAT(DATABASE(), '.{}'))), {})",
                       summary.config.name, finishing_ ? 10 : 0)));
  summary.has_lock = got.at(0).at(0) == "1";
  if (!summary.has_lock && !summary.is_others) {
    log_event(summary.config.name, "another collector runs this summary");
  }
  summary.is_others = !summary.has_lock;
  return summary.has_lock;
}

Result<std::vector<SummaryRun::Job>> SummaryRun::due_jobs() {
  std::vector<Job> jobs;
  for (const auto& summary : summaries_) {
    HAILSTONE_ASSIGN(const bool is_mine, take_lock(*summary));
    if (!is_mine) continue;
    HAILSTONE_TRY(use(*summary));
    HAILSTONE_TRY(due_jobs_of(*summary, jobs));
  }
  std::ranges::stable_sort(jobs, {}, &Job::records);
  return jobs;
}

Status SummaryRun::due_jobs_of(Summary& summary, std::vector<Job>& jobs) {
  const SummaryConfig& config = summary.config;
  if (summary.stream_engine.empty()) {
    const auto engine = engine_of_table(writer_, summary.stream.table.name_of(summary.upkeep.now()), true);
    if (!engine && engine.error().code() == ErrorCode::NotFound) return {};
    HAILSTONE_TRY(engine);
    HAILSTONE_TRY(make_counts_table(writer_, engine->name));
    summary.stream_engine = engine->name;
  }
  HAILSTONE_ASSIGN(const WallTime now, server_time(writer_));
  std::string kept_condition;
  if (summary.stream.table.keep) {
    // Rows of a period that has begun before may have been dropped.
    const WallTime kept = minus(now, *summary.stream.table.keep);
    HAILSTONE_TRY(forget_old(summary, kept));
    kept_condition = fmt::format(" AND c.begin >= '{}'", to_text(kept));
  }
  HAILSTONE_ASSIGN(
      const auto rows,
      writer_.query(fmt::format(
          "SELECT c.begin, c.value, SUM(c.records) AS all_records FROM {} c LEFT JOIN {} j ON j.summary = "
          "c.summary AND "
          "j.begin = c.begin AND j.value = c.value WHERE c.summary = '{}' AND c.begin < '{}'{} GROUP BY "
          "c.begin, "
          "c.value HAVING all_records > COALESCE(MAX(j.records), 0) ORDER BY all_records LIMIT {}",
          quoted_identifier(counts_table(summary.stream_engine)),
          quoted_identifier(jobs_table(summary.engine)), config.name,
          to_text(beginning_of(minus(now, config.delay), config.every)), kept_condition,
          jobs_at_once + given_up_.size())));
  for (const auto& row : rows) {
    Job job{.summary = &summary, .begin = {}, .value = row.at(1)};
    const auto begin = parse_wall_time(row.at(0));
    if (!begin) {
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("table '{}' has the begin '{}'", counts_table(summary.stream_engine), row[0]));
    }
    job.begin = *begin;
    job.records = number_of(row.at(2));
    const auto failed = given_up_.find(key_of(job));
    if (failed == given_up_.end() || failed->second <= Clock::now()) jobs.push_back(std::move(job));
  }
  return {};
}

Status SummaryRun::forget_old(const Summary& summary, WallTime kept) {
  for (const std::string& table : {counts_table(summary.stream_engine), jobs_table(summary.engine)}) {
    HAILSTONE_TRY(writer_.execute(fmt::format("DELETE FROM {} WHERE summary = '{}' AND begin < '{}'",
                                              quoted_identifier(table), summary.config.name, to_text(kept))));
  }
  return {};
}

Status SummaryRun::run_jobs(std::span<const Job> jobs, std::vector<Clock::time_point>& starts) {
  const auto begun = Clock::now();
  const Job& first = jobs.front();
  HAILSTONE_TRY(use(*first.summary));
  HAILSTONE_TRY(writer_.execute("START TRANSACTION"));
  for (const Job& job : jobs) {
    const bool may_share = job.records <= small_job_records && job.summary == first.summary &&
                           Clock::now() - begun < shared_transaction;
    if (!starts.empty() && !may_share) break;
    starts.push_back(Clock::now());
    const Status stored = store(job);
    if (stored) continue;
    if (stored.error().code() == ErrorCode::Interrupted) {
      // It may have ended meanwhile: then there is nothing to kill.
      static_cast<void>(writer_.execute(fmt::format("KILL CONNECTION {}", reader_.thread_id())));
    }
    return stored;
  }
  // When a job is run again, the times stay those of the first run.
  std::string done;
  for (size_t i = 0; i < starts.size(); ++i) {
    const Job& job = jobs[i];
    done += fmt::format(
        "{}('{}', '{}', {}, {}, UNIX_TIMESTAMP(SYSDATE(6)) - {:.6f}, "
        "UNIX_TIMESTAMP(SYSDATE(6)), 1)",
        i == 0 ? "" : ", ", job.summary->config.name, to_text(job.begin), quoted_text(job.value), job.records,
        std::chrono::duration<double>(Clock::now() - starts[i]).count());
  }
  HAILSTONE_TRY(writer_.execute(fmt::format(
      "INSERT INTO {} (summary, begin, value, records, started, finished, runs) VALUES {} ON DUPLICATE KEY "
      "UPDATE records = VALUES(records), runs = runs + 1",
      quoted_identifier(jobs_table(first.summary->engine)), done)));
  HAILSTONE_TRY(writer_.execute("COMMIT"));
  return {};
}

Status SummaryRun::store(const Job& job) {
  const Summary& summary = *job.summary;
  std::string insert, update, rows;
  size_t count = 0;
  const auto flush = [&]() -> Status {
    if (count == 0) return {};
    HAILSTONE_TRY(writer_.execute(insert + rows + update));
    rows.clear();
    count = 0;
    return {};
  };
  const auto take_columns = [&](const std::vector<std::string>& names) -> Status {
    std::string columns;
    for (const std::string& name : names) {
      columns += (columns.empty() ? "" : ", ") + quoted_identifier(name);
      const bool is_key =
          std::ranges::any_of(summary.keys, [&](const auto& key) { return is_same_name(key, name); });
      if (is_key) continue;
      update += fmt::format("{}{} = VALUES({})", update.empty() ? " ON DUPLICATE KEY UPDATE " : ", ",
                            quoted_identifier(name), quoted_identifier(name));
    }
    if (update.empty()) {
      update = fmt::format(" ON DUPLICATE KEY UPDATE {} = {}", quoted_identifier(names.at(0)),
                           quoted_identifier(names.at(0)));
    }
    insert =
        fmt::format("INSERT INTO {} ({}) VALUES ", quoted_identifier(summary.config.table.name), columns);
    return {};
  };
  const auto take_row = [&](const std::string& literals) -> Status {
    rows += fmt::format("{}({})", count == 0 ? "" : ", ", literals);
    return ++count == rows_at_once || rows.size() >= bytes_at_once ? flush() : Status();
  };
  HAILSTONE_TRY(reader_.read(select_statement(summary.config, summary.stream, job.begin, job.value), stop_,
                             take_columns, take_row));
  return flush();
}

}  // namespace hailstone

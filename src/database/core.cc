#include "database/core.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "database/checkpoint.h"
#include "database/maintenance.h"
#include "database/state_recorder.h"

namespace hailstone {
namespace {

constexpr size_t mebibyte = size_t{1} << 20;
constexpr size_t file_number_digits = 16;
constexpr std::string_view segment_prefix = "segment-";
constexpr std::string_view delete_vector_prefix = "deletes-";

}  // namespace

DatabaseCore::DatabaseCore(Filesystem& filesystem, std::string directory, DatabaseOptions options)
    : checkpoint_log_bytes(options.checkpoint_log_bytes),
      open_tables(options.open_tables),
      snapshot_too_old(options.snapshot_too_old),
      retention_interval(options.retention_interval),
      retention_lag(options.retention_lag),
      directory_(std::move(directory)),
      options_(std::move(options)),
      files_read_(filesystem, options_.open_files != 0 ? options_.open_files : OpenFiles::default_limit()),
      budget_(options_.memory_budget),
      spill_files_(options_.read_only ? std::make_unique<NamelessFiles>() : nullptr),
      spill_space_(spill_files_ ? static_cast<Filesystem&>(*spill_files_) : files_read_,
                   spill_files_ ? folder_of_temporary_files() : directory_, counters_, options_.spill_limit),
      cache_(budget_, counters_),
      locks_(counters_, budget_),
      memory_host_(*this, options_.in_memory_size),
      temporary_host_(*this, files_read_, options_.temporary_memory_size),
      catalog_({.durable = *this, .in_memory = memory_host_, .temporary = temporary_host_}) {
  budget_.share_with(KeptPages::of_process());
  budget_.set_query_limit(options_.query_memory);
}

DatabaseCore::~DatabaseCore() = default;

const CollationResolver& DatabaseCore::collations() {
  if (options_.collations != nullptr) return *options_.collations;
  return options_.read_only ? collations_for_reading() : default_collations_;
}

std::string DatabaseCore::segment_path(uint64_t file_number) {
  return segment_path_in(directory_, file_number);
}

std::string DatabaseCore::delete_vector_path(uint64_t file_number) {
  return delete_vector_path_in(directory_, file_number);
}

std::string segment_file_name(uint64_t file_number) {
  return fmt::format("{}{:016x}", segment_prefix, file_number);
}

std::string segment_path_in(const std::string& directory, uint64_t file_number) {
  return directory + "/" + segment_file_name(file_number);
}

std::string delete_vector_file_name(uint64_t file_number) {
  return fmt::format("{}{:016x}", delete_vector_prefix, file_number);
}

std::string delete_vector_path_in(const std::string& directory, uint64_t file_number) {
  return directory + "/" + delete_vector_file_name(file_number);
}

std::optional<uint64_t> file_number_of(std::string_view name) {
  if (name.starts_with(segment_prefix)) {
    name.remove_prefix(segment_prefix.size());
  } else if (name.starts_with(delete_vector_prefix)) {
    name.remove_prefix(delete_vector_prefix.size());
  } else {
    return std::nullopt;
  }
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number, 16);
  const bool whole = error == std::errc() && end == name.data() + name.size();
  return whole && name.size() == file_number_digits ? std::optional(number) : std::nullopt;
}

Status DatabaseCore::record(Table& table) { return recorder->record(table); }

void DatabaseCore::request_flush(const std::shared_ptr<Table>& table) {
  if (maintenance != nullptr) maintenance->request_flush(table, false);
}

void DatabaseCore::request_room() {
  if (maintenance != nullptr) maintenance->request_room();
}

bool DatabaseCore::working() { return maintenance != nullptr && maintenance->working(); }

void DatabaseCore::request_merge(const std::shared_ptr<Table>& table) {
  if (maintenance != nullptr) maintenance->request_merge(table);
}

void DatabaseCore::request_merge_of_dead(const std::shared_ptr<Table>& table) {
  if (maintenance != nullptr) maintenance->request_merge_of_dead(table);
}

void DatabaseCore::request_analysis(const std::shared_ptr<Table>& table) {
  if (maintenance != nullptr) maintenance->request_analysis(table);
}

void DatabaseCore::request_checkpoint() noexcept {
  if (maintenance != nullptr) maintenance->request_checkpoint();
}

void DatabaseCore::run(std::function<void()> job) {
  if (maintenance != nullptr) {
    maintenance->run(std::move(job));
  } else {
    job();
  }
}

size_t DatabaseCore::segment_buffer_bytes() {
  // Of much memory a smaller part, as several merges and loads have one each.
  const size_t most = std::max(256 * mebibyte, budget_.limit() / 32);
  return std::clamp(budget_.limit() / 4, 8 * mebibyte, most);
}

size_t DatabaseCore::delta_limit_bytes() {
  // A second delta fills up while the first is written.
  if (options_.delta_limit != 0) return std::min(options_.delta_limit, budget_.limit() / 2);
  return std::min(std::max(64 * mebibyte, budget_.limit() / 64), budget_.limit() / 8);
}

void DatabaseCore::log_message(DatabaseOptions::Severity severity, const std::string& message) const {
  if (options_.logger) options_.logger(severity, message);
}

}  // namespace hailstone

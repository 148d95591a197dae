#include "backup/backup_record.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <charconv>
#include <iterator>
#include <map>
#include <sstream>

#include "file/filesystem.h"
#include "text/json_text.h"

namespace hailstone {
namespace {

using simdjson::dom::element;

void append_files(const char* name, const std::vector<StoredFile>& files, std::string& to) {
  fmt::format_to(std::back_inserter(to), "  \"{}\": [", name);
  for (size_t i = 0; i < files.size(); ++i) {
    fmt::format_to(std::back_inserter(to), "{}\n    {{\"path\": {}, \"bytes\": {}, \"xxh3\": \"{:016x}\"",
                   i == 0 ? "" : ",", json_text(files[i].path), files[i].bytes, files[i].checksum);
    if (files[i].zstd_bytes)
      fmt::format_to(std::back_inserter(to), ", \"zstd_bytes\": {}", *files[i].zstd_bytes);
    to += "}";
  }
  to += files.empty() ? "]" : "\n  ]";
}

/// Collects what is missing or of the wrong type, so that each value can be asked for in one line.
class Reader {
 public:
  explicit Reader(element object) : object_(object) {}
  std::string text(const char* key) { return text_of(object_, key); }
  uint64_t number(const char* key) { return number_of(object_, key); }
  bool truth(const char* key) {
    bool value = false;
    note(object_[key].get(value), key);
    return value;
  }
  std::string text_of(element from, const char* key) {
    std::string_view value;
    note(from[key].get(value), key);
    return std::string(value);
  }
  uint64_t number_of(element from, const char* key) {
    uint64_t value = 0;
    note(from[key].get(value), key);
    return value;
  }
  uint64_t hexadecimal_of(element from, const char* key) {
    const std::string text = text_of(from, key);
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc() || end != text.data() + text.size()) note(simdjson::INCORRECT_TYPE, key);
    return value;
  }
  std::optional<uint64_t> number_if_any_of(element from, const char* key) {
    if (element value; from[key].get(value) != simdjson::SUCCESS) return std::nullopt;
    return number_of(from, key);
  }
  std::vector<element> list(const char* key) {
    simdjson::dom::array value;
    const simdjson::error_code error = object_[key].get(value);
    note(error, key);
    if (error != simdjson::SUCCESS) return {};
    return {value.begin(), value.end()};
  }
  bool has(const char* key) const {
    element value;
    return object_[key].get(value) == simdjson::SUCCESS && !value.is_null();
  }
  element part(const char* key) const { return object_[key].value_unsafe(); }
  const std::string& wrong() const { return wrong_; }

 private:
  void note(simdjson::error_code error, const char* key) {
    if (error != simdjson::SUCCESS && wrong_.empty()) wrong_ = key;
  }

  element object_;
  std::string wrong_;  // the first key that is
};

std::vector<StoredFile> read_files(Reader& reader, const char* key) {
  std::vector<StoredFile> files;
  if (!reader.wrong().empty()) return files;
  for (const element file : reader.list(key)) {
    files.push_back({.path = reader.text_of(file, "path"),
                     .bytes = reader.number_of(file, "bytes"),
                     .checksum = reader.hexadecimal_of(file, "xxh3"),
                     .zstd_bytes = reader.number_if_any_of(file, "zstd_bytes")});
    if (!reader.wrong().empty()) break;
  }
  return files;
}

}  // namespace

bool is_path_below(const std::string& path) {
  return !path.empty() && path.front() != '/' && !path.contains('\0') && !("/" + path + "/").contains("/../");
}

uint64_t format_of(const BackupRecord& record) {
  for (const auto* files : {&record.server_files, &record.database_files}) {
    for (const StoredFile& file : *files) {
      if (file.zstd_bytes) return BackupRecord::format;
    }
  }
  return BackupRecord::format_without_compressed;
}

std::string to_json(const BackupRecord& record) {
  std::string json = "{\n";
  const auto add = [&json](const char* key, const std::string& value) {
    fmt::format_to(std::back_inserter(json), "  \"{}\": {},\n", key, value);
  };
  add("format", std::to_string(format_of(record)));
  add("id", json_text(record.id));
  add("base", record.base ? fmt::format("{{\"id\": {}, \"path\": {}}}", json_text(record.base->id),
                                        json_text(record.base->path))
                          : "null");
  add("method", json_text(record.method));
  add("begun", json_text(record.begun));
  add("cut", json_text(record.cut));
  add("ended", json_text(record.ended));
  add("program", json_text(record.program));
  add("server_version", json_text(record.server_version));
  add("plugin_version", json_text(record.plugin_version));
  add("host", json_text(record.host));
  add("data_directory", json_text(record.data_directory));
  if (const auto& log = record.binary_log) {
    add("binary_log", fmt::format("{{\"file\": {}, \"position\": {}, \"gtid\": {}}}", json_text(log->file),
                                  log->position, json_text(log->gtid)));
  } else {
    add("binary_log", "null");
  }
  add("gtid_slave_pos", json_text(record.gtid_slave_pos));
  add("cut_microseconds", std::to_string(record.cut_microseconds));
  std::string identities;
  for (const DatabaseIdentity& identity : record.identities) {
    fmt::format_to(std::back_inserter(identities), "{}{{\"first_file\": {}, \"database\": \"{:016x}\"}}",
                   identities.empty() ? "" : ", ", identity.first_file, identity.database);
  }
  add("identities", "[" + identities + "]");
  add("checked", record.is_checked ? "true" : "false");
  append_files("server_files", record.server_files, json);
  json += ",\n";
  append_files("database_files", record.database_files, json);
  json += ",\n";
  append_files("base_files", record.base_files, json);
  return json + "\n}\n";
}

Result<BackupRecord> parse_backup_record(const std::string& json, const std::string& name) {
  const auto damaged = [&name](std::string_view what) {
    return fail(ErrorCode::Corruption, fmt::format("'{}' is damaged: {}; take another backup", name, what));
  };
  simdjson::dom::parser parser;
  element object;
  if (const auto error = parser.parse(json).get(object); error != simdjson::SUCCESS)
    return damaged(simdjson::error_message(error));
  Reader reader(object);
  const uint64_t format = reader.number("format");
  if (reader.wrong().empty() && format > BackupRecord::format) {
    return fail(
        ErrorCode::Unsupported,
        fmt::format("'{}' is of form {}, of a later release; this one reads up to {}: take the release that "
                    "has made the backup",
                    name, format, BackupRecord::format));
  }
  BackupRecord record;
  record.id = reader.text("id");
  if (reader.has("base")) {
    const element base = reader.part("base");
    record.base = BaseRecord{.id = reader.text_of(base, "id"), .path = reader.text_of(base, "path")};
  }
  record.method = reader.text("method");
  record.begun = reader.text("begun");
  record.cut = reader.text("cut");
  record.ended = reader.text("ended");
  record.program = reader.text("program");
  record.server_version = reader.text("server_version");
  record.plugin_version = reader.text("plugin_version");
  record.host = reader.text("host");
  record.data_directory = reader.text("data_directory");
  if (reader.has("binary_log")) {
    const element log = reader.part("binary_log");
    record.binary_log = BinaryLogRecord{.file = reader.text_of(log, "file"),
                                        .position = reader.number_of(log, "position"),
                                        .gtid = reader.text_of(log, "gtid")};
  }
  record.gtid_slave_pos = reader.text("gtid_slave_pos");
  record.cut_microseconds = reader.number("cut_microseconds");
  record.is_checked = reader.truth("checked");
  if (!reader.wrong().empty()) return damaged(fmt::format("'{}' is not as it has to be", reader.wrong()));
  for (const element identity : reader.list("identities")) {
    record.identities.push_back({.first_file = reader.number_of(identity, "first_file"),
                                 .database = reader.hexadecimal_of(identity, "database")});
  }
  record.server_files = read_files(reader, "server_files");
  record.database_files = read_files(reader, "database_files");
  record.base_files = read_files(reader, "base_files");
  if (!reader.wrong().empty()) return damaged(fmt::format("'{}' is not as it has to be", reader.wrong()));
  for (const auto* files : {&record.server_files, &record.database_files, &record.base_files}) {
    for (const StoredFile& file : *files) {
      if (!is_path_below(file.path)) return damaged(fmt::format("the path '{}' leads elsewhere", file.path));
    }
  }
  return record;
}

std::vector<DatabaseIdentity> identities_of_original(const BackupRecord& record) {
  std::vector<DatabaseIdentity> identities = record.identities;
  if (!identities.empty()) identities.pop_back();
  return identities;
}

std::string later_in_each_domain(const std::string& one, const std::string& other) {
  struct Last {
    uint64_t number = 0;
    std::string gtid;
  };
  std::map<uint64_t, Last> domains;
  std::istringstream gtids(one + "," + other);
  for (std::string gtid; std::getline(gtids, gtid, ',');) {
    uint64_t domain = 0, server = 0, number = 0;
    char dash = 0;
    if (!(std::istringstream(gtid) >> domain >> dash >> server >> dash >> number)) continue;
    Last& last = domains[domain];
    if (number >= last.number) last = {.number = number, .gtid = gtid};
  }
  std::string all;
  for (const auto& [domain, last] : domains) all += (all.empty() ? "" : ",") + last.gtid;
  return all;
}

Result<BackupRecord> read_backup_record(const std::string& folder) {
  if (posix_filesystem().exists(folder) && !is_folder(folder)) {
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format(
            "'{0}' is no folder; where it is a backup as a stream, unpack it: mkdir -p "
            "FOLDER/server && mbstream -x -C FOLDER < '{0}', or zstd -dc '{0}' | mbstream -x -C FOLDER "
            "when it is compressed",
            folder));
  }
  const std::string path = folder + "/" + BackupRecord::file_name;
  const auto json = read_text(path);
  if (!json && json.error().code() == ErrorCode::NotFound) {
    return fail(ErrorCode::NotFound,
                fmt::format("'{}' is no backup of a server: it has no {}", folder, BackupRecord::file_name));
  }
  HAILSTONE_TRY(json);
  return parse_backup_record(*json, path);
}

}  // namespace hailstone

#include "collect/server_connection.h"

#include <errmsg.h>
#include <fmt/format.h>
#include <mysql.h>
#include <mysqld_error.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace hailstone {
namespace {

constexpr unsigned connect_seconds = 10, answer_seconds = 600;

bool is_of_connection(unsigned number) { return number >= CR_MIN_ERROR && number <= CR_MAX_ERROR; }

bool passes_by_itself(unsigned number) {
  if (is_of_connection(number)) {
    // But what no other try changes.
    return number != CR_OUT_OF_MEMORY && number != CR_VERSION_ERROR && number != CR_AUTH_PLUGIN_CANNOT_LOAD;
  }
  switch (number) {
    case ER_LOCK_DEADLOCK:
    case ER_LOCK_WAIT_TIMEOUT:
    case ER_LOCK_TABLE_FULL:
    case ER_OPTION_PREVENTS_STATEMENT:  // --read-only
    case ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION:
    case ER_DISK_FULL:
    case ER_RECORD_FILE_FULL:
    case ER_ERROR_ON_WRITE:
    case ER_GET_ERRNO:
    case ER_ERROR_DURING_COMMIT:
    case ER_SERVER_SHUTDOWN:
    case ER_NORMAL_SHUTDOWN:
    case ER_SHUTDOWN_COMPLETE:
    case ER_CON_COUNT_ERROR:
    case ER_TOO_MANY_USER_CONNECTIONS:
    case ER_USER_LIMIT_REACHED:
    case ER_HOST_IS_BLOCKED:
    case ER_OUT_OF_RESOURCES:
    case ER_OUTOFMEMORY:
    case ER_QUERY_INTERRUPTED:
    case ER_CONNECTION_KILLED:
    case ER_STATEMENT_TIMEOUT:
    case ER_NET_READ_ERROR:
    case ER_NET_READ_INTERRUPTED:
    case ER_NET_ERROR_ON_WRITE:
    case ER_NET_WRITE_INTERRUPTED:
    case ER_NET_PACKETS_OUT_OF_ORDER:
    case ER_TABLE_DEF_CHANGED:
      return true;
    default:
      return false;
  }
}

/// The LOAD DATA LOCAL protocol: the text that is left, as a view that the calls move on.
int load_begin(void** context, const char*, void* rest) {
  *context = rest;
  return 0;
}
int load_read(void* context, char* to, unsigned size) {
  auto& rest = *static_cast<std::string_view*>(context);
  const size_t now = std::min<size_t>(size, rest.size());
  std::memcpy(to, rest.data(), now);
  rest.remove_prefix(now);
  return static_cast<int>(now);
}
void load_end(void*) {}
int load_error(void*, char* to, unsigned size) {
  if (size > 0) *to = '\0';
  return 0;
}

}  // namespace

std::string quoted_name(std::string_view name) {
  std::string quoted = "`";
  for (const char c : name) {
    if (c == '`') quoted += '`';
    quoted += c;
  }
  return quoted + '`';
}

std::string quoted_text(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '\'';
}

ServerConnection::~ServerConnection() { disconnect(); }

bool ServerConnection::is_usable() const {
  return handle_ != nullptr && !is_of_connection(mysql_errno(handle_));
}

void ServerConnection::disconnect() {
  if (handle_ != nullptr) mysql_close(handle_);
  handle_ = nullptr;
}

Status ServerConnection::connect() {
  disconnect();
  // Told first, as the client library passes over a file that it cannot read.
  HAILSTONE_TRY(InputFile::open(config_.option_file, -1));
  handle_ = mysql_init(nullptr);
  if (handle_ == nullptr) return fail(ErrorCode::OutOfMemory, "there is no memory for a connection");
  const unsigned yes = 1;
  mysql_optionsv(handle_, MYSQL_READ_DEFAULT_FILE, config_.option_file.c_str());
  mysql_optionsv(handle_, MYSQL_READ_DEFAULT_GROUP, config_.option_group.c_str());
  mysql_optionsv(handle_, MYSQL_OPT_LOCAL_INFILE, &yes);
  mysql_optionsv(handle_, MYSQL_OPT_CONNECT_TIMEOUT, &connect_seconds);
  mysql_optionsv(handle_, MYSQL_OPT_READ_TIMEOUT, &answer_seconds);
  mysql_optionsv(handle_, MYSQL_OPT_WRITE_TIMEOUT, &answer_seconds);
  mysql_optionsv(handle_, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  if (mysql_real_connect(handle_, nullptr, nullptr, nullptr, config_.database.c_str(), 0, nullptr, 0) ==
      nullptr) {
    const auto error = failed(fmt::format("cannot connect to the server of '{}'", config_.option_file));
    disconnect();
    return error;
  }
  load_text_ = {};
  mysql_set_local_infile_handler(handle_, load_begin, load_read, load_end, load_error, &load_text_);
  return {};
}

std::unexpected<Error> ServerConnection::failed(std::string_view what) {
  const unsigned number = mysql_errno(handle_);
  return std::unexpected(Error(passes_by_itself(number) ? ErrorCode::Busy : ErrorCode::InvalidArgument,
                               fmt::format("{}: {} (error {})", what, mysql_error(handle_), number),
                               static_cast<int>(number)));
}

Result<uint64_t> ServerConnection::execute(const std::string& statement) {
  HAILSTONE_TRY(query(statement));
  return mysql_affected_rows(handle_);
}

Result<std::vector<ServerConnection::Row>> ServerConnection::query(const std::string& statement) {
  const std::string_view shown = std::string_view(statement).substr(0, 200);
  if (mysql_real_query(handle_, statement.data(), statement.size()) != 0) return failed(shown);
  std::vector<Row> rows;
  MYSQL_RES* result = mysql_store_result(handle_);
  if (result == nullptr) {
    if (mysql_field_count(handle_) != 0) return failed(shown);
    return rows;
  }
  const unsigned columns = mysql_num_fields(result);
  while (MYSQL_ROW row = mysql_fetch_row(result)) {
    const unsigned long* const sizes = mysql_fetch_lengths(result);
    Row& texts = rows.emplace_back();
    for (unsigned i = 0; i < columns; ++i) {
      texts.emplace_back(row[i] == nullptr ? "" : row[i], row[i] == nullptr ? 0 : sizes[i]);
    }
  }
  mysql_free_result(result);
  return rows;
}

Result<uint64_t> ServerConnection::load(const std::string& statement, std::string_view text) {
  load_text_ = text;
  const auto status = execute(statement);
  load_text_ = {};
  HAILSTONE_TRY(status);
  // "Records: 3  Deleted: 0  Skipped: 0  Warnings: 0"
  const char* info = mysql_info(handle_);
  const std::string_view shown = info == nullptr ? "" : info;
  const size_t at = shown.find("Records: ");
  uint64_t records = 0;
  if (at != std::string_view::npos) {
    const char* begin = shown.data() + at + std::strlen("Records: ");
    std::from_chars(begin, shown.data() + shown.size(), records);
  }
  return records;
}

Result<std::vector<ServerConnection::Warning>> ServerConnection::warnings(unsigned& all) {
  all = mysql_warning_count(handle_);
  std::vector<Warning> warnings;
  if (all == 0) return warnings;
  HAILSTONE_ASSIGN(const auto rows, query("SHOW WARNINGS"));
  for (const Row& row : rows) {
    Warning& warning = warnings.emplace_back();
    std::from_chars(row[1].data(), row[1].data() + row[1].size(), warning.number);
    warning.message = row[2];
  }
  return warnings;
}

}  // namespace hailstone

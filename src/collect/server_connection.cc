#include "collect/server_connection.h"

#include <errmsg.h>
#include <fmt/format.h>
#include <mysql.h>
#include <mysqld_error.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <optional>

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

/// Waits until the connection's socket is ready for what the client library waits for; what it has become
/// ready for. Nothing: stop was asked for.
std::optional<int> wait_for(MYSQL* handle, int what, const Stop& stop) {
  pollfd waits[2] = {{.fd = mysql_get_socket(handle), .events = 0, .revents = 0},
                     {.fd = stop.descriptor(), .events = POLLIN, .revents = 0}};
  const auto wanted = [what](int flag, int events) {
    return static_cast<short>((what & flag) != 0 ? events : 0);
  };
  waits[0].events = static_cast<short>(wanted(MYSQL_WAIT_READ, POLLIN) | wanted(MYSQL_WAIT_WRITE, POLLOUT) |
                                       wanted(MYSQL_WAIT_EXCEPT, POLLPRI));
  const bool is_timed = (what & MYSQL_WAIT_TIMEOUT) != 0;
  for (;;) {
    const int ready =
        ::poll(waits, 2, is_timed ? static_cast<int>(1000 * mysql_get_timeout_value(handle)) : -1);
    if (ready < 0) continue;  // a signal
    if (waits[1].revents != 0) return std::nullopt;
    if (ready == 0) return MYSQL_WAIT_TIMEOUT;
    int got = 0;
    if ((waits[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) got |= MYSQL_WAIT_READ;
    if ((waits[0].revents & POLLOUT) != 0) got |= MYSQL_WAIT_WRITE;
    if ((waits[0].revents & POLLPRI) != 0) got |= MYSQL_WAIT_EXCEPT;
    return got;
  }
}

/// A value of a row as a literal of a statement.
void append_literal(std::string& to, MYSQL* handle, const MYSQL_FIELD& field, const char* value,
                    size_t size) {
  constexpr unsigned binary = 63;
  const auto is_any_of = [&field](std::initializer_list<enum_field_types> types) {
    return std::ranges::find(types, field.type) != types.end();
  };
  if (value == nullptr) {
    to += "NULL";
  } else if (is_any_of({MYSQL_TYPE_TINY, MYSQL_TYPE_SHORT, MYSQL_TYPE_INT24, MYSQL_TYPE_LONG,
                        MYSQL_TYPE_LONGLONG, MYSQL_TYPE_FLOAT, MYSQL_TYPE_DOUBLE, MYSQL_TYPE_DECIMAL,
                        MYSQL_TYPE_NEWDECIMAL})) {
    to.append(value, size);
  } else if (field.charsetnr == binary &&
             is_any_of({MYSQL_TYPE_BIT, MYSQL_TYPE_STRING, MYSQL_TYPE_VAR_STRING, MYSQL_TYPE_VARCHAR,
                        MYSQL_TYPE_TINY_BLOB, MYSQL_TYPE_BLOB, MYSQL_TYPE_MEDIUM_BLOB, MYSQL_TYPE_LONG_BLOB,
                        MYSQL_TYPE_GEOMETRY})) {
    to += "X'";
    for (size_t i = 0; i < size; ++i) {
      fmt::format_to(std::back_inserter(to), "{:02X}", static_cast<unsigned char>(value[i]));
    }
    to += '\'';
  } else {
    const size_t before = to.size();
    to.resize(before + 2 * size + 2);
    to[before] = '\'';
    const size_t escaped = mysql_real_escape_string(handle, to.data() + before + 1, value, size);
    to.resize(before + 1 + escaped);
    to += '\'';
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

std::string quoted_identifier(std::string_view name) {
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

uint64_t number_of(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

ServerConnection::~ServerConnection() { disconnect(); }

bool ServerConnection::is_usable() const {
  return handle_ != nullptr && !is_of_connection(mysql_errno(handle_));
}

void ServerConnection::disconnect() {
  if (handle_ != nullptr) mysql_close(handle_);
  handle_ = nullptr;
}

Status ServerConnection::connect(bool is_interruptible) {
  disconnect();
  // Told first, as the client library passes over a file that it cannot read.
  if (!config_.option_file.empty()) HAILSTONE_TRY(InputFile::open(config_.option_file, -1));
  handle_ = mysql_init(nullptr);
  if (handle_ == nullptr) return fail(ErrorCode::OutOfMemory, "there is no memory for a connection");
  const unsigned yes = 1;
  if (!config_.option_file.empty())
    mysql_optionsv(handle_, MYSQL_READ_DEFAULT_FILE, config_.option_file.c_str());
  mysql_optionsv(handle_, MYSQL_READ_DEFAULT_GROUP, config_.option_group.c_str());
  mysql_optionsv(handle_, MYSQL_OPT_LOCAL_INFILE, &yes);
  mysql_optionsv(handle_, MYSQL_OPT_CONNECT_TIMEOUT, &connect_seconds);
  mysql_optionsv(handle_, MYSQL_OPT_READ_TIMEOUT, &answer_seconds);
  mysql_optionsv(handle_, MYSQL_OPT_WRITE_TIMEOUT, &answer_seconds);
  mysql_optionsv(handle_, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  if (is_interruptible) mysql_optionsv(handle_, MYSQL_OPT_NONBLOCK, nullptr);
  if (mysql_real_connect(handle_, nullptr, nullptr, nullptr, config_.database.c_str(), 0, nullptr, 0) ==
      nullptr) {
    const auto error = failed(config_.option_file.empty()
                                  ? std::string("cannot connect to the server of the clients' option files")
                                  : fmt::format("cannot connect to the server of '{}'", config_.option_file));
    disconnect();
    return error;
  }
  thread_id_ = mysql_thread_id(handle_);
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

Status ServerConnection::read(const std::string& statement, const Stop& stop,
                              const std::function<Status(const std::vector<std::string>&)>& columns,
                              const std::function<Status(const std::string&)>& row) {
  const std::string_view shown = std::string_view(statement).substr(0, 200);
  int error = 0;
  int waits = mysql_real_query_start(&error, handle_, statement.data(), statement.size());
  while (waits != 0) {
    const auto ready = wait_for(handle_, waits, stop);
    if (!ready) {
      abandon();
      return fail(ErrorCode::Interrupted, "interrupted");
    }
    waits = mysql_real_query_cont(&error, handle_, *ready);
  }
  if (error != 0) return failed(shown);
  MYSQL_RES* const result = mysql_use_result(handle_);
  if (result == nullptr) {
    if (mysql_errno(handle_) != 0) return failed(shown);
    return fail(ErrorCode::InvalidArgument, fmt::format("{}: it gives no rows; it must be a SELECT", shown));
  }
  const Status status = read_rows(result, shown, stop, columns, row);
  // What is left of the rows is not waited for: the connection goes with them.
  if (!status) abandon();
  mysql_free_result(result);
  return status;
}

void ServerConnection::abandon() { ::shutdown(mysql_get_socket(handle_), SHUT_RDWR); }

Status ServerConnection::read_rows(st_mysql_res* result, std::string_view shown, const Stop& stop,
                                   const std::function<Status(const std::vector<std::string>&)>& columns,
                                   const std::function<Status(const std::string&)>& row) {
  const unsigned count = mysql_num_fields(result);
  const MYSQL_FIELD* const fields = mysql_fetch_fields(result);
  std::vector<std::string> names;
  names.reserve(count);
  for (unsigned i = 0; i < count; ++i) names.emplace_back(fields[i].name, fields[i].name_length);
  HAILSTONE_TRY(columns(names));
  std::string literals;
  for (;;) {
    MYSQL_ROW values = nullptr;
    int waits = mysql_fetch_row_start(&values, result);
    while (waits != 0) {
      const auto ready = wait_for(handle_, waits, stop);
      if (!ready) return fail(ErrorCode::Interrupted, "interrupted");
      waits = mysql_fetch_row_cont(&values, result, *ready);
    }
    if (values == nullptr) {
      if (mysql_errno(handle_) != 0) return failed(shown);
      return {};
    }
    const unsigned long* const sizes = mysql_fetch_lengths(result);
    literals.clear();
    for (unsigned i = 0; i < count; ++i) {
      if (i > 0) literals += ", ";
      append_literal(literals, handle_, fields[i], values[i], sizes[i]);
    }
    HAILSTONE_TRY(row(literals));
  }
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

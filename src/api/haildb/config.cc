#include "api/haildb/config.h"

#include <strings.h>

#include <cstring>

#include <array>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <string>

#include "api/haildb/engine.h"
#include "base/mutex.h"

namespace hailstone::haildb {
namespace {

enum class When : uint8_t { Always, BeforeStart, Never };

struct Description {
  const char* name;
  ib_cfg_type_t type;
  When when;
  ib_ulint_t least = 0;
  ib_ulint_t most = 0;
  ib_ulint_t number = 0;
  const char* text = nullptr;
};

constexpr ib_ulint_t unlimited = std::numeric_limits<ib_ulint_t>::max();
constexpr ib_ulint_t kibibyte = 1024;
constexpr ib_ulint_t mebibyte = 1024 * kibibyte;
constexpr ib_ulint_t file_io_threads_before_start = 18446744073709551614U;

constexpr Description flag(const char* name, When when, bool on) {
  return {name, IB_CFG_IBOOL, when, 0, 1, on ? IB_TRUE : IB_FALSE};
}
constexpr Description number(const char* name, ib_cfg_type_t type, When when, ib_ulint_t least,
                             ib_ulint_t most, ib_ulint_t value) {
  return {name, type, when, least, most, value};
}
constexpr Description words(const char* name, When when, const char* value) {
  return {name, IB_CFG_TEXT, when, 0, 0, 0, value};
}

// In the order of Variable.
constexpr std::array<Description, variable_count> descriptions{
    flag("adaptive_hash_index", When::BeforeStart, true),
    flag("adaptive_flushing", When::BeforeStart, true),
    number("additional_mem_pool_size", IB_CFG_ULINT, When::BeforeStart, 512 * kibibyte, unlimited,
           4 * mebibyte),
    number("autoextend_increment", IB_CFG_ULONG, When::Always, 1, 1000, 8),
    number("buffer_pool_size", IB_CFG_ULINT, When::BeforeStart, 5 * mebibyte, unlimited, 8 * mebibyte),
    flag("checksums", When::BeforeStart, true),
    words("data_file_path", When::BeforeStart, nullptr),
    words("data_home_dir", When::BeforeStart, "./"),
    flag("doublewrite", When::BeforeStart, true),
    words("file_format", When::Always, "Antelope"),
    number("file_io_threads", IB_CFG_ULINT, When::Never, 0, unlimited, file_io_threads_before_start),
    flag("file_per_table", When::Always, true),
    number("flush_log_at_trx_commit", IB_CFG_ULONG, When::Always, 0, 2, 1),
    words("flush_method", When::BeforeStart, "fsync"),
    number("force_recovery", IB_CFG_ULINT, When::BeforeStart, 0, 6, 0),
    number("io_capacity", IB_CFG_ULONG, When::Always, 100, 1'000'000, 200),
    number("lock_wait_timeout", IB_CFG_ULINT, When::Always, 1, 1024 * mebibyte, 60),
    number("log_buffer_size", IB_CFG_ULINT, When::BeforeStart, 256 * kibibyte, unlimited, 384 * kibibyte),
    number("log_file_size", IB_CFG_ULINT, When::BeforeStart, mebibyte, unlimited, 16 * mebibyte),
    number("log_files_in_group", IB_CFG_ULINT, When::BeforeStart, 2, 100, 2),
    words("log_group_home_dir", When::BeforeStart, nullptr),
    number("max_dirty_pages_pct", IB_CFG_ULONG, When::Always, 0, 100, 75),
    number("max_purge_lag", IB_CFG_ULONG, When::Always, 0, unlimited, 0),
    number("lru_old_blocks_pct", IB_CFG_ULINT, When::Always, 5, 95, 37),
    number("lru_block_access_recency", IB_CFG_ULINT, When::Always, 0, 0xFFFFFFFFUL, 0),
    number("open_files", IB_CFG_ULINT, When::BeforeStart, 10, unlimited, 300),
    number("read_io_threads", IB_CFG_ULINT, When::BeforeStart, 1, 64, 4),
    number("write_io_threads", IB_CFG_ULINT, When::BeforeStart, 1, 64, 4),
    Description{"pre_rollback_hook", IB_CFG_CB, When::Always},
    flag("print_verbose_log", When::Always, true),
    flag("rollback_on_timeout", When::Always, true),
    number("stats_sample_pages", IB_CFG_ULINT, When::Always, 1, unlimited, 8),
    flag("status_file", When::Always, false),
    number("sync_spin_loops", IB_CFG_ULONG, When::Always, 0, unlimited, 30),
    flag("use_sys_malloc", When::Always, false),
    words("version", When::Never, "2.3.2"),
};

struct Setting {
  ib_ulint_t number = 0;
  const char* text = nullptr;
  ib_cb_t callback = nullptr;
};

Mutex mutex;
std::array<Setting, variable_count> settings HAILSTONE_GUARDED_BY(mutex);
bool started HAILSTONE_GUARDED_BY(mutex) = false;

int find(const char* name) {
  for (size_t i = 0; name != nullptr && i < variable_count; ++i) {
    if (strcasecmp(descriptions[i].name, name) == 0) return static_cast<int>(i);
  }
  return -1;
}

/// "name:size[K/M/G][:autoextend[:max:size]][;…]"
bool is_data_file_path(std::string_view text) {
  const auto take_size = [&text] {
    size_t digits = 0;
    while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0) ++digits;
    if (digits == 0) return false;
    text.remove_prefix(digits);
    if (!text.empty() && std::string_view("KMGkmg").find(text.front()) != std::string_view::npos)
      text.remove_prefix(1);
    return true;
  };
  const auto take = [&text](std::string_view word) {
    if (!text.starts_with(word)) return false;
    text.remove_prefix(word.size());
    return true;
  };
  while (true) {
    const size_t colon = text.find(':');
    if (colon == 0 || colon == std::string_view::npos) return false;
    text.remove_prefix(colon + 1);
    if (!take_size()) return false;
    if (take(":autoextend")) {
      if (take(":max:") && !take_size()) return false;
      if (!text.empty()) return false;  // only the last file grows
    }
    if (text.empty()) return true;
    if (!take(";")) return false;
    if (text.empty()) return true;
  }
}

/// Whether the text is allowed; it may be replaced by a static one of the same meaning.
bool check_text(Variable variable, const char*& text) HAILSTONE_REQUIRES(mutex) {
  switch (variable) {
    case Variable::DataFilePath:
      return text != nullptr && is_data_file_path(text);
    case Variable::DataHomeDir: {
      const std::string_view path = text == nullptr ? std::string_view() : std::string_view(text);
      return !path.empty() && (path.back() == '/' || path.back() == '\\');
    }
    case Variable::FileFormat: {
      const char* const format = text == nullptr ? nullptr : file_format_of(text);
      if (format != nullptr) text = format;
      return format != nullptr;
    }
    case Variable::FlushMethod: {
      const std::string_view method = text == nullptr ? std::string_view() : std::string_view(text);
      for (const std::string_view known : {"fsync", "O_DSYNC", "O_DIRECT", "littlesync", "nosync"}) {
        if (method == known) return true;
      }
      // As the original has it, a wrong method is not the one before either.
      settings[static_cast<size_t>(variable)].text = nullptr;
      return false;
    }
    case Variable::LogGroupHomeDir:
      return text != nullptr && *text != '\0';
    default:
      return text != nullptr;
  }
}

Setting& setting(Variable variable) HAILSTONE_REQUIRES(mutex) {
  return settings[static_cast<size_t>(variable)];
}

ib_err_t set(const char* name, va_list values) {
  const int found = find(name);
  if (found < 0) return name == nullptr ? DB_INVALID_INPUT : DB_NOT_FOUND;
  const Description& description = descriptions[static_cast<size_t>(found)];
  const MutexLock guard(mutex);
  if (description.when == When::Never || (description.when == When::BeforeStart && started))
    return DB_READONLY;
  Setting& target = settings[static_cast<size_t>(found)];
  switch (description.type) {
    case IB_CFG_IBOOL:
    case IB_CFG_ULINT:
    case IB_CFG_ULONG: {
      const ib_ulint_t value = va_arg(values, ib_ulint_t);
      if (value < description.least || value > description.most) return DB_INVALID_INPUT;
      target.number = value;
      return DB_SUCCESS;
    }
    case IB_CFG_TEXT: {
      const char* value = va_arg(values, const char*);
      if (!check_text(static_cast<Variable>(found), value)) return DB_INVALID_INPUT;
      target.text = value;
      return DB_SUCCESS;
    }
    case IB_CFG_CB:
      target.callback = va_arg(values, ib_cb_t);
      return DB_SUCCESS;
  }
  return DB_ERROR;
}

}  // namespace

const char* file_format_of(const char* text) {
  if (text == nullptr || strcasecmp(text, "Antelope") == 0 || strcmp(text, "0") == 0) return "Antelope";
  if (strcasecmp(text, "Barracuda") == 0 || strcmp(text, "1") == 0) return "Barracuda";
  return nullptr;
}

void reset_configuration() {
  const MutexLock guard(mutex);
  started = false;
  for (size_t i = 0; i < variable_count; ++i)
    settings[i] = {descriptions[i].number, descriptions[i].text, nullptr};
}

void set_configuration_started() {
  const MutexLock guard(mutex);
  started = true;
}

void set_number(Variable variable, ib_ulint_t value) {
  const MutexLock guard(mutex);
  setting(variable).number = value;
}

void set_text(Variable variable, const char* value) {
  const MutexLock guard(mutex);
  setting(variable).text = value;
}

ib_ulint_t number_of(Variable variable) {
  const MutexLock guard(mutex);
  return setting(variable).number;
}

bool is_on(Variable variable) { return number_of(variable) != IB_FALSE; }

const char* text_of(Variable variable) {
  const MutexLock guard(mutex);
  return setting(variable).text;
}

ib_cb_t callback_of(Variable variable) {
  const MutexLock guard(mutex);
  return setting(variable).callback;
}

}  // namespace hailstone::haildb

using namespace hailstone::haildb;

ib_err_t ib_cfg_set(const char* name, ...) try {
  if (!initialised()) return DB_ERROR;
  va_list values;
  va_start(values, name);
  const ib_err_t result = set(name, values);
  va_end(values);
  if (result == DB_SUCCESS) configuration_changed();
  return result;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_cfg_get(const char* name, void* value) try {
  if (!initialised()) return DB_ERROR;
  if (name == nullptr || value == nullptr) return DB_INVALID_INPUT;
  const int found = find(name);
  if (found < 0) return DB_NOT_FOUND;
  const hailstone::MutexLock guard(mutex);
  const Setting& from = settings[static_cast<size_t>(found)];
  switch (descriptions[static_cast<size_t>(found)].type) {
    case IB_CFG_IBOOL:
    case IB_CFG_ULINT:
    case IB_CFG_ULONG:
      *static_cast<ib_ulint_t*>(value) = from.number;
      break;
    case IB_CFG_TEXT:
      *static_cast<const char**>(value) = from.text;
      break;
    case IB_CFG_CB:
      *static_cast<ib_cb_t*>(value) = from.callback;
      break;
  }
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_cfg_get_all(const char*** names, ib_u32_t* names_num) try {
  if (!initialised()) return DB_ERROR;
  if (names == nullptr || names_num == nullptr) return DB_INVALID_INPUT;
  auto* const all = static_cast<const char**>(std::malloc(variable_count * sizeof(const char*)));
  if (all == nullptr) return DB_OUT_OF_MEMORY;
  for (size_t i = 0; i < variable_count; ++i) all[i] = descriptions[i].name;
  *names = all;
  *names_num = variable_count;
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_cfg_var_get_type(const char* name, ib_cfg_type_t* type) try {
  if (!initialised()) return DB_ERROR;
  if (name == nullptr || type == nullptr) return DB_INVALID_INPUT;
  const int found = find(name);
  if (found < 0) return DB_NOT_FOUND;
  *type = descriptions[static_cast<size_t>(found)].type;
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

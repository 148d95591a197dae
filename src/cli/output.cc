#include "cli/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/wide_integer.h"
#include "file/io_error.h"
#include "text/json_text.h"
#include "text/value_text.h"

namespace hailstone {

Result<std::unique_ptr<OutputFile>> OutputFile::create(const std::string& path, std::function<bool()> stop) {
  std::unique_ptr<OutputFile> file(new OutputFile);
  file->path_ = path;
  file->stop_ = std::move(stop);
  if (path == "-") {
    file->path_ = "(standard output)";
    file->descriptor_ = STDOUT_FILENO;
    struct stat facts;
    if (::fstat(STDOUT_FILENO, &facts) == 0 && S_ISFIFO(facts.st_mode)) {
      // A description of its own, which does not wait: other processes that have the pipe go on to do so.
      const int own = ::open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
      if (own >= 0) file->descriptor_ = own;
      file->is_opened_ = own >= 0;
    }
    file->is_terminal_ = ::isatty(STDOUT_FILENO) != 0;
    return file;
  }
  struct stat attributes;
  const bool is_there = ::stat(path.c_str(), &attributes) == 0;
  if (is_there && S_ISDIR(attributes.st_mode)) return std::unexpected(io_error("write", path, EISDIR));
  if (is_there && !S_ISREG(attributes.st_mode)) {
    // As /dev/null, which a file of its name would replace.
    file->descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file->descriptor_ < 0) return std::unexpected(io_error("open", path, errno));
    file->is_opened_ = true;
    return file;
  }
  // A symbolic link stays, and the file that it names is written.
  std::error_code failed;
  const auto target = is_there ? std::filesystem::canonical(path, failed) : std::filesystem::path();
  if (is_there && !failed) file->path_ = target;
  file->temporary_ = file->path_ + ".part";
  file->descriptor_ = ::open(file->temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file->descriptor_ < 0) return std::unexpected(io_error("create", file->temporary_, errno));
  file->owned_ = true;
  return file;
}

OutputFile::~OutputFile() {
  if (is_opened_) ::close(descriptor_);
  if (!owned_) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

Status OutputFile::write(std::string_view bytes) {
  return is_terminal_ ? write_all(safe_for_terminal(bytes)) : write_all(bytes);
}

Status OutputFile::write_all(std::string_view bytes) {
  while (!bytes.empty() && !closed_) {
    const ssize_t now = ::write(descriptor_, bytes.data(), bytes.size());
    if (now >= 0) {
      bytes.remove_prefix(static_cast<size_t>(now));
    } else if (errno == EPIPE && !owned_) {
      closed_ = true;
    } else if (errno == EAGAIN) {
      HAILSTONE_TRY(wait());
    } else if (errno != EINTR) {
      return std::unexpected(io_error("write", path_, errno));
    }
  }
  return {};
}

Status OutputFile::wait() const {
  constexpr int look_interval = 50;  // milliseconds
  pollfd waits{.fd = descriptor_, .events = POLLOUT, .revents = 0};
  while (::poll(&waits, 1, look_interval) == 0) {
    if (stop_ && stop_()) return fail(ErrorCode::Interrupted, "interrupted");
  }
  return {};
}

Status OutputFile::finish() {
  if (!owned_) return {};
  owned_ = false;
  const bool complete = ::fsync(descriptor_) == 0 || errno == EINVAL;
  const int error = errno;
  if (::close(descriptor_) != 0 || !complete) {
    const int number = complete ? errno : error;
    ::unlink(temporary_.c_str());
    return std::unexpected(io_error("write", temporary_, number));
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int number = errno;
    ::unlink(temporary_.c_str());
    return std::unexpected(io_error(fmt::format("rename '{}' to", temporary_), path_, number));
  }
  return {};
}

Result<std::vector<OutputColumn>> OutputColumn::of(const ArrowSchema& rows) {
  static constexpr std::array<std::pair<std::string_view, hs_type>, 14> types{{{"c", HS_INT8},
                                                                               {"C", HS_UINT8},
                                                                               {"s", HS_INT16},
                                                                               {"S", HS_UINT16},
                                                                               {"i", HS_INT32},
                                                                               {"I", HS_UINT32},
                                                                               {"l", HS_INT64},
                                                                               {"L", HS_UINT64},
                                                                               {"f", HS_FLOAT},
                                                                               {"g", HS_DOUBLE},
                                                                               {"b", HS_BOOL},
                                                                               {"tdD", HS_DATE},
                                                                               {"u", HS_STRING},
                                                                               {"z", HS_BYTES}}};
  std::vector<OutputColumn> columns;
  for (int64_t i = 0; i < rows.n_children; ++i) {
    const ArrowSchema& child = *rows.children[i];
    const std::string_view format = child.format;
    OutputColumn& column = columns.emplace_back(OutputColumn{.name = child.name});
    if (const auto* const found =
            std::ranges::find(types, format, &std::pair<std::string_view, hs_type>::first);
        found != types.end()) {
      column.type = found->second;
    } else if (format.starts_with("tsu:")) {
      column.type = format == "tsu:" ? HS_DATETIME : HS_TIMESTAMP;
    } else if (format == "tDu") {
      column.form = Form::Duration;
    } else if (format.starts_with("d:")) {
      column.form = Form::Decimal;
      column.scale = static_cast<unsigned>(parse_int(format.substr(format.find(',') + 1)).value_or(0));
    } else {
      return fail(
          ErrorCode::Unsupported,
          fmt::format("column '{}' is of a type that has no form as text: '{}'", column.name, format));
    }
  }
  return columns;
}

RowFormatter::RowFormatter(TextOptions options, std::vector<OutputColumn> columns)
    : options_(std::move(options)),
      columns_(std::move(columns)),
      null_text_(options_.null_text.value_or(options_.format == TextFormat::Tsv ? "\\N" : "")) {}

void RowFormatter::append_header(std::string& to) const {
  if (options_.format == TextFormat::JsonLines || !options_.has_header) return;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) to += options_.format == TextFormat::Csv ? options_.delimiter : '\t';
    append_text(columns_[i].name, to);
  }
  to += '\n';
}

void RowFormatter::append_text(std::string_view text, std::string& to) const {
  switch (options_.format) {
    case TextFormat::Csv:
      return append_csv(text, to);
    case TextFormat::Tsv:
      return append_tsv(text, to);
    case TextFormat::JsonLines:
    case TextFormat::Combined:  // these are only read
    case TextFormat::Regex:
      return append_json_text(text, to);
  }
}

Status RowFormatter::append_rows(const ArrowArray& array, int64_t first, int64_t last, std::string& to) {
  const bool json = options_.format == TextFormat::JsonLines;
  for (int64_t row = first; row < last; ++row) {
    if (json) to += '{';
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (json) {
        if (i > 0) to += ',';
        append_json_text(columns_[i].name, to);
        to += ':';
      } else if (i > 0) {
        to += options_.format == TextFormat::Csv ? options_.delimiter : '\t';
      }
      HAILSTONE_TRY(append_value(columns_[i], *array.children[i], array.offset + row, to));
    }
    to += json ? "}\n" : "\n";
  }
  return {};
}

namespace {

template <typename Number>
Number at(const ArrowArray& array, int64_t row) {
  return static_cast<const Number*>(array.buffers[1])[row];
}

bool is_null(const ArrowArray& array, int64_t row) {
  const auto* const bits = static_cast<const uint8_t*>(array.buffers[0]);
  return bits != nullptr && (bits[row / 8] >> (row % 8) & 1) == 0;
}

/// All digits: 1.50, -0.05.
void append_decimal(WideInteger number, unsigned scale, std::string& to) {
  std::string digits;  // the last one first
  for (WideInteger rest = number; rest != 0 || digits.size() <= scale; rest /= 10)
    digits += static_cast<char>('0' + static_cast<int>(rest < 0 ? -(rest % 10) : rest % 10));
  if (number < 0) to += '-';
  to.append(digits.rbegin(), digits.rend() - scale);
  if (scale == 0) return;
  to += '.';
  to.append(digits.rend() - scale, digits.rend());
}

/// -838:59:59.000001
void append_duration(int64_t microseconds, std::string& to) {
  constexpr uint64_t second = 1'000'000;
  const uint64_t all =
      microseconds < 0 ? 0 - static_cast<uint64_t>(microseconds) : static_cast<uint64_t>(microseconds);
  const uint64_t seconds = all / second;
  fmt::format_to(std::back_inserter(to), "{}{:02}:{:02}:{:02}", microseconds < 0 ? "-" : "", seconds / 3600,
                 seconds / 60 % 60, seconds % 60);
  if (all % second != 0) fmt::format_to(std::back_inserter(to), ".{:06}", all % second);
}

template <typename Number>
void append_whole(Number number, std::string& to) {
  fmt::format_to(std::back_inserter(to), "{}", number);
}

}  // namespace

Status RowFormatter::append_value(const OutputColumn& column, const ArrowArray& array, int64_t row,
                                  std::string& to) {
  row += array.offset;
  if (options_.format == TextFormat::JsonLines) return append_present(column, array, row, to);
  if (is_null(array, row)) {
    to += null_text_;
    return {};
  }
  const size_t begin = to.size();
  HAILSTONE_TRY(append_present(column, array, row, to));
  const std::string_view written = std::string_view(to).substr(begin);
  if (options_.format == TextFormat::Csv) {
    // A value that looks like NULL must not become one, nor a number or a time two fields. Texts have their
    // quotes already where they need them.
    const bool is_text =
        column.form == OutputColumn::Form::OfType && (column.type == HS_STRING || column.type == HS_BYTES);
    const bool is_cut = !is_text && written.find(options_.delimiter) != std::string_view::npos;
    if (!is_cut && written != null_text_) return {};
    to.insert(begin, "\"");
    to += '"';
    return {};
  }
  if (written != null_text_) return {};
  static constexpr std::string_view escapes = "tnr0bZ";
  if (null_text_.empty() || escapes.find(null_text_[0]) != std::string_view::npos) {
    return fail(
        ErrorCode::Unsupported,
        fmt::format(
            "column '{}' holds the text '{}', which --null makes the spelling of NULL; choose another",
            column.name, null_text_));
  }
  to.insert(begin, "\\");
  return {};
}

Status RowFormatter::append_present(const OutputColumn& column, const ArrowArray& array, int64_t row,
                                    std::string& to) {
  const bool json = options_.format == TextFormat::JsonLines;
  if (is_null(array, row)) {
    to += "null";
    return {};
  }
  const auto real = [&](double number, bool single) {
    if (json && !std::isfinite(number)) {
      to += std::isnan(number) ? "\"nan\"" : number > 0 ? "\"inf\"" : "\"-inf\"";
    } else if (single) {
      append_float(static_cast<float>(number), to);
    } else {
      append_double(number, to);
    }
  };
  switch (column.form) {
    case OutputColumn::Form::OfType:
      break;
    case OutputColumn::Form::Decimal:
      append_decimal(at<WideInteger>(array, row), column.scale, to);
      return {};
    case OutputColumn::Form::Duration:
      if (json) to += '"';
      append_duration(at<int64_t>(array, row), to);
      if (json) to += '"';
      return {};
  }
  switch (column.type) {
    case HS_INT8:
      append_whole(int{at<int8_t>(array, row)}, to);
      return {};
    case HS_INT16:
      append_whole(at<int16_t>(array, row), to);
      return {};
    case HS_INT32:
      append_whole(at<int32_t>(array, row), to);
      return {};
    case HS_INT64:
      append_whole(at<int64_t>(array, row), to);
      return {};
    case HS_UINT8:
      append_whole(unsigned{at<uint8_t>(array, row)}, to);
      return {};
    case HS_UINT16:
      append_whole(at<uint16_t>(array, row), to);
      return {};
    case HS_UINT32:
      append_whole(at<uint32_t>(array, row), to);
      return {};
    case HS_UINT64:
      append_whole(at<uint64_t>(array, row), to);
      return {};
    case HS_FLOAT:
      real(static_cast<double>(at<float>(array, row)), true);
      return {};
    case HS_DOUBLE:
      real(at<double>(array, row), false);
      return {};
    case HS_BOOL:
      to += (static_cast<const uint8_t*>(array.buffers[1])[row / 8] >> (row % 8) & 1) != 0 ? "true" : "false";
      return {};
    case HS_DATE:
    case HS_TIMESTAMP:
    case HS_DATETIME:
      if (json) to += '"';
      if (column.type == HS_DATE) {
        append_date(at<int32_t>(array, row), to);
      } else {
        append_timestamp(at<int64_t>(array, row), to);
      }
      if (json) to += '"';
      return {};
    case HS_STRING:
    case HS_BYTES:
      break;
  }
  const int32_t begin = at<int32_t>(array, row), end = at<int32_t>(array, row + 1);
  // The buffer may be absent when all texts are empty.
  std::string_view text(begin == end ? "" : static_cast<const char*>(array.buffers[2]) + begin,
                        static_cast<size_t>(end - begin));
  if (column.type == HS_BYTES) {
    scratch_.clear();
    append_bytes(text, scratch_);
    text = scratch_;
  } else if (json && !is_utf8(text)) {
    return fail(
        ErrorCode::Unsupported,
        fmt::format("column '{}' holds text that is not UTF-8, which JSON cannot hold; use csv or tsv",
                    column.name));
  }
  append_text(text, to);
  return {};
}

void RowFormatter::append_csv(std::string_view text, std::string& to) const {
  const char marks[] = {options_.delimiter, '"', '\n', '\r', '\0'};
  if (!text.empty() && text.find_first_of(marks) == std::string_view::npos) {
    to += text;
    return;
  }
  to += '"';
  for (const char character : text) {
    if (character == '"') to += '"';
    to += character;
  }
  to += '"';
}

void RowFormatter::append_tsv(std::string_view text, std::string& to) {
  for (const char character : text) {
    switch (character) {
      case '\t':
        to += "\\t";
        break;
      case '\n':
        to += "\\n";
        break;
      case '\r':
        to += "\\r";
        break;
      case '\0':
        to += "\\0";
        break;
      case '\\':
        to += "\\\\";
        break;
      default:
        to += character;
    }
  }
}

}  // namespace hailstone

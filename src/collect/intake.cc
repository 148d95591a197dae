#include "collect/intake.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "text/plain_input.h"
#include "text/value_text.h"

namespace hailstone {
namespace {

constexpr size_t frame_bytes = size_t{1} << 20;
constexpr std::chrono::milliseconds between_scans(500), between_steps(100);
/// Rows are not kept from the spool for longer, whatever comes behind them.
constexpr std::chrono::seconds longest_unflushed(1);
constexpr uint64_t rows_between_looks = 256;

}  // namespace

Status Intake::run() {
  // What a crash left in the spool comes first.
  Status read = wait_out([this] { return spool_.sync(); });
  if (read) read = read_source();
  if (!read && read.error().code() != ErrorCode::Interrupted) return read;
  const Status closed = spool_.close();
  if (closed || closed.error().code() != ErrorCode::DiskFull) return closed;
  // What the spool has it keeps; only its end mark is missing.
  log_event(config_.name, closed.error().message());
  return {};
}

Status Intake::read_source() {
  switch (config_.source) {
    case StreamConfig::Source::StandardInput:
      return read_standard_input();
    case StreamConfig::Source::File:
      return read_followed_file();
    case StreamConfig::Source::Directory:
      return read_directory();
  }
  std::unreachable();
}

Status Intake::read_standard_input() {
  source_ = "(standard input)";
  begin_ = {};
  HAILSTONE_ASSIGN(auto input, FollowedFile::standard_input({.offset = 0,
                                                             .end = FollowedFile::End::LastByte,
                                                             .stop = &stop_,
                                                             .before_wait = [this] { return flush(); }}));
  std::vector<std::string> names;
  if (!config_.text.has_header) names = config_.columns;
  HAILSTONE_ASSIGN(const auto rows, open_rows(plain_input(std::move(input)), config_.text, std::move(names)));
  return take_rows(*rows);
}

Status Intake::read_followed_file() {
  const std::string& path = config_.path;
  for (;;) {
    if (stop_.is_requested()) return fail(ErrorCode::Interrupted, "interrupted");
    const auto looked = facts_of(path);
    if (!looked) {
      HAILSTONE_TRY(wait_for_source(looked.error()));
      continue;
    }
    const auto& facts = *looked;
    if (facts) {
      if (const Status readable = check_readable(path);
          !readable && readable.error().code() != ErrorCode::NotFound) {
        HAILSTONE_TRY(wait_for_source(readable.error()));
        continue;
      }
    }
    const auto position = position_of(path);
    if (!facts && once_) return fail(ErrorCode::NotFound, fmt::format("'{}' is not there", path));
    bool is_current = facts && !position;
    if (facts && position) {
      HAILSTONE_ASSIGN(is_current, is_still(path, *facts, *position));
    }
    bool is_over = false;  // the position's file
    if (is_current) {
      trouble_.over();
      const auto end = once_ ? FollowedFile::End::LastLine : FollowedFile::End::Follow;
      HAILSTONE_ASSIGN(const Reading reading, read_file(path, position, end));
      if (once_ && reading != Reading::OtherFile) return {};
      // A file that has gone without another one in its place may come back.
      is_over = reading == Reading::Whole && !begin_.newer.empty();
      if (!is_over) continue;
    } else if (position) {
      HAILSTONE_ASSIGN(const auto renamed, find_renamed(path, *position));
      bool is_same_content = false;
      if (facts && !renamed) {
        HAILSTONE_ASSIGN(is_same_content, is_copy(path, *facts, *position));
      }
      if (renamed) {
        HAILSTONE_TRY(note_quiet(position->newer));
        const auto end = once_ ? FollowedFile::End::LastByte : FollowedFile::End::Renamed;
        HAILSTONE_ASSIGN(const Reading reading, read_file(*renamed, position, end));
        is_over = reading != Reading::OtherFile;
      } else if (facts && is_same_content) {
        // An editor or rsync has put its own copy in the file's place.
        SourcePosition copied = *position;
        copied.identity = facts->identity;
        copied.newer.clear();
        HAILSTONE_TRY(set_position(path, copied));
        continue;
      } else if (facts) {
        log_event(
            config_.name,
            fmt::format(
                "'{}' is another file now, or was cut or written again; what the former one had behind byte "
                "{} is lost",
                path, position->offset));
        is_over = true;
      }
    }
    if (is_over) {
      HAILSTONE_ASSIGN(const auto next, position_after(path));
      HAILSTONE_TRY(set_position(path, next));
      continue;
    }
    if (!facts) trouble_.met(fmt::format("'{}' is not there; waiting for it", path));
    static_cast<void>(stop_.wait(between_steps));
  }
}

Result<std::optional<SourcePosition>> Intake::position_after(const std::string& path) {
  const auto ended = position_of(path);
  if (!ended) return std::nullopt;
  quiet_.erase(ended->identity);
  if (ended->newer.empty()) return std::nullopt;
  SourcePosition next = beginning_of(ended->newer.front());
  HAILSTONE_ASSIGN(const auto facts, facts_of(path));
  if (facts && facts->identity == ended->newer.front()) {
    // A copy, unless the file is still there under another name: then it was rotated.
    HAILSTONE_ASSIGN(const bool is_same_content, is_copy(path, *facts, *ended));
    HAILSTONE_ASSIGN(const auto renamed, find_renamed(path, *ended));
    if (is_same_content && !renamed) {
      next = *ended;
      next.identity = facts->identity;
    }
  }
  next.newer.assign(ended->newer.begin() + 1, ended->newer.end());
  return next;
}

Status Intake::wait_for_source(const Error& error) {
  if (once_) return std::unexpected(error);
  trouble_.met(fmt::format("{}; the source waits", error.message()));
  static_cast<void>(stop_.wait(between_scans));
  return {};
}

Status Intake::note_newer() {
  if (config_.source != StreamConfig::Source::File || file_ == nullptr) return {};
  HAILSTONE_ASSIGN(const auto facts, facts_of(config_.path));
  if (!facts || facts->identity == begin_.identity) return {};
  if (std::ranges::find(begin_.newer, facts->identity) != begin_.newer.end()) return {};
  begin_.newer.push_back(facts->identity);
  is_dirty_ = true;
  return note_quiet(begin_.newer);
}

Status Intake::note_quiet(const std::vector<SourceIdentity>& files) {
  HAILSTONE_ASSIGN(const auto current, facts_of(config_.path));
  for (const SourceIdentity& file : files) {
    if (quiet_.contains(file) || (current && current->identity == file)) continue;
    HAILSTONE_ASSIGN(const auto renamed, find_renamed(config_.path, beginning_of(file)));
    if (!renamed) continue;
    HAILSTONE_ASSIGN(const auto facts, facts_of(*renamed));
    if (!facts || facts->identity != file) continue;
    quiet_[file] = {.bytes = facts->size, .since = FollowedFile::Clock::now()};
  }
  return {};
}

Status Intake::read_directory() {
  for (;;) {
    if (stop_.is_requested()) return fail(ErrorCode::Interrupted, "interrupted");
    auto listed = posix_filesystem().list(config_.path);
    if (!listed) {
      HAILSTONE_TRY(wait_for_source(listed.error()));
      continue;
    }
    trouble_.over();
    std::vector<std::string> names = std::move(*listed);
    std::ranges::sort(names);
    std::set<std::string> there;
    std::set<SourceIdentity> read_now;  // a file with several names is read once
    Status failed;
    for (const std::string& name : names) {
      if (::fnmatch(config_.pattern.c_str(), name.c_str(), FNM_PERIOD) != 0) continue;
      const std::string path = config_.path + "/" + name;
      const auto facts = facts_of(path);
      if (!facts) {
        refuse(path, facts.error().message());
        continue;
      }
      if (!*facts || !(*facts)->is_regular || !is_inside(path)) continue;
      if (const Status readable = check_readable(path); !readable) {
        refuse(path, readable.error().message());
        failed = std::unexpected(readable.error());
        continue;
      }
      if (!read_now.insert((*facts)->identity).second) continue;
      there.insert(path);
      HAILSTONE_ASSIGN(const auto position, position_in_directory(path, **facts));
      if (position && position->offset == (*facts)->size) continue;
      const auto read = read_file(path, position, FollowedFile::End::LastByte);
      if (read) {
        refused_.erase(path);
      } else if (read.error().code() == ErrorCode::InvalidArgument) {
        refuse(path, read.error().message());
        failed = std::unexpected(read.error());
      } else if (read.error().code() != ErrorCode::NotFound) {  // it may have gone meanwhile
        return std::unexpected(read.error());
      }
    }
    const SourcePositions known = spool_.positions();
    for (const auto& [path, position] : known) {
      if (path.starts_with(config_.path + "/") && !there.contains(path)) {
        HAILSTONE_TRY(set_position(path, std::nullopt));
      }
    }
    if (once_) return failed;
    static_cast<void>(stop_.wait(between_scans));
  }
}

void Intake::refuse(const std::string& path, const std::string& why) {
  if (refused_.insert(path).second) log_event(config_.name, why);
}

bool Intake::is_inside(const std::string& path) {
  if (config_.follow_symlinks) return true;
  std::error_code failed;
  if (!std::filesystem::is_symlink(path, failed)) return !failed;
  const auto folder = std::filesystem::canonical(config_.path, failed);
  const auto file = failed ? std::filesystem::path() : std::filesystem::canonical(path, failed);
  if (!failed && file.parent_path() == folder) return true;
  refuse(path, fmt::format("'{}' is a symbolic link out of the directory and is not read; 'follow_symlinks = "
                           "true' in the configuration would read it",
                           path));
  return false;
}

Result<std::optional<SourcePosition>> Intake::position_in_directory(const std::string& path,
                                                                    const FileFacts& facts) {
  if (const auto position = position_of(path)) {
    HAILSTONE_ASSIGN(const bool same, is_still(path, facts, *position));
    return same ? position : std::nullopt;
  }
  const SourcePositions known = spool_.positions();
  for (const auto& [name, bytes] : known) {
    if (!name.starts_with(config_.path + "/")) continue;
    const auto position = decode_source_position(bytes);
    if (!position || position->identity != facts.identity) continue;
    HAILSTONE_ASSIGN(const bool same, is_still(path, facts, *position));
    if (!same) continue;
    HAILSTONE_TRY(set_position(path, position));
    HAILSTONE_TRY(set_position(name, std::nullopt));
    return position;
  }
  return std::nullopt;
}

Result<Intake::Reading> Intake::read_file(const std::string& path, std::optional<SourcePosition> position,
                                          FollowedFile::End end) {
  const bool is_growing = config_.source == StreamConfig::Source::File;
  source_ = is_growing ? config_.path : path;
  begin_ = position.value_or(SourcePosition());
  TextOptions text = config_.text;
  std::vector<std::string> names;
  if (begin_.offset > 0) {
    text.is_rest = true;
    text.has_header = false;
    names = begin_.header;
  }
  if (names.empty()) names = config_.columns;
  const auto before_wait = [this]() -> Status {
    HAILSTONE_TRY(note_newer());
    return flush();
  };
  std::optional<FollowedFile::Quiet> quiet;
  if (const auto found = quiet_.find(begin_.identity); found != quiet_.end()) quiet = found->second;
  bool is_cut = false;
  HAILSTONE_ASSIGN(auto input, FollowedFile::open(path, {.offset = begin_.offset,
                                                         .end = end,
                                                         .stop = &stop_,
                                                         .before_wait = before_wait,
                                                         .quiet = quiet,
                                                         .cut = [&] { is_cut = true; }}));
  if (!position) {
    begin_ = beginning_of(input->identity());
    // Known before it has anything, so that it is found when it has another name by the next start.
    if (is_growing) HAILSTONE_TRY(set_position(source_, begin_));
  } else if (input->identity() != position->identity) {
    return Reading::OtherFile;
  } else {
    // It may have been written anew since it was looked at.
    HAILSTONE_ASSIGN(const Fingerprint opened, input->fingerprint(begin_.offset));
    if (!begin_.fingerprint.is_of(opened)) return Reading::Cut;
    HAILSTONE_ASSIGN(text.line_end, line_end_of(*input));
  }
  file_ = input.get();
  const auto reading = [&]() -> Status {
    if (is_growing) {
      // A file that was replaced while it was empty lacks its header, too, and is as whole as others.
      HAILSTONE_ASSIGN(const auto nuls, input->pass_nuls());
      if (!nuls) {
        is_dirty_ = true;  // files that were noted
        return flush();
      }
      begin_.offset += *nuls;
    }
    HAILSTONE_ASSIGN(const auto rows, open_rows(std::move(input), text, std::move(names)));
    if (text.has_header) begin_.header = rows->names();
    return take_rows(*rows);
  }();
  file_ = nullptr;
  if (is_cut && (reading || reading.error().code() == ErrorCode::Interrupted)) return Reading::Cut;
  if (!reading) return std::unexpected(reading.error());
  return Reading::Whole;
}

Result<std::optional<LineEnd>> Intake::line_end_of(const FollowedFile& file) const {
  auto rows = open_rows(file.beginning(), config_.text, config_.columns);
  // No header yet; or a first row that was wrong, whose end is known all the same.
  if (!rows) {
    return rows.error().code() == ErrorCode::InvalidArgument ? Result<std::optional<LineEnd>>(std::nullopt)
                                                             : std::unexpected(rows.error());
  }
  const auto first = (*rows)->next();
  if (!first && first.error().code() != ErrorCode::InvalidArgument) return std::unexpected(first.error());
  return (*rows)->line_end();
}

Status Intake::take_rows(TextRows& rows) {
  rows_ = &rows;
  mapped_names_ = 0;
  Status status = [&]() -> Status {
    if (config_.text.format != TextFormat::JsonLines) HAILSTONE_TRY(take_layout(rows));
    flushed_ = std::chrono::steady_clock::now();
    for (;;) {
      const auto found = rows.next();
      if (found && !*found) return {};
      if (found) {
        if (rows.names().size() != mapped_names_) HAILSTONE_TRY(take_layout(rows));
        HAILSTONE_TRY(take(rows));
      } else if (found.error().code() == ErrorCode::InvalidArgument) {
        HAILSTONE_TRY(reject(rows));
      } else {
        return std::unexpected(found.error());
      }
      is_dirty_ = true;
      HAILSTONE_TRY(pause());
    }
  }();
  // What was read before an end, of whatever kind, is whole.
  if (status || status.error().code() == ErrorCode::Interrupted) {
    is_dirty_ = is_dirty_ || file_ != nullptr;  // blank lines, or a header, are passed over, too
    if (const Status flushed = flush(); !flushed) status = flushed;
  }
  rows_ = nullptr;
  return status;
}

Status Intake::pause() {
  if (frame_.bytes() >= frame_bytes) return flush();
  if (++since_flush_ % rows_between_looks != 0) return {};
  // What has been read of a pipe is gone from there, so it is taken.
  if (file_ != nullptr && stop_.is_requested()) return fail(ErrorCode::Interrupted, "interrupted");
  return std::chrono::steady_clock::now() - flushed_ >= longest_unflushed ? flush() : Status();
}

Status Intake::take_layout(const TextRows& rows) {
  const auto& names = rows.names();
  const bool by_name = names_its_fields(config_.text.format) || config_.columns.empty();
  const auto& columns = config_.columns.empty() ? names : config_.columns;
  if (!by_name && columns.size() != names.size()) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("{}: the header has {} columns where 'columns' names {}", rows.input().name(),
                            names.size(), columns.size()));
  }
  RecordLayout layout;
  fields_.clear();
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] == "-") continue;
    layout.push_back(columns[i]);
    if (!by_name) {
      fields_.emplace_back(i);
      continue;
    }
    const auto found = std::ranges::find(names, config_.columns.empty() ? names[i] : config_.field_of(i));
    fields_.emplace_back();
    if (found != names.end()) fields_.back() = static_cast<size_t>(found - names.begin());
  }
  mapped_names_ = names.size();
  times_.clear();
  for (const std::string& column : layout) {
    times_.emplace_back();
    const std::string format = config_.time_format(column);
    if (format.empty()) continue;
    HAILSTONE_ASSIGN(times_.back(), TimeReader::make(format, config_.time_zone));
  }
  if (layout != layout_) {
    HAILSTONE_TRY(flush());
    layout_ = std::move(layout);
  }
  return {};
}

Status Intake::take(const TextRows& rows) {
  record_.clear();
  append_varint(record_, begin_.line + rows.line());
  const auto fields = rows.fields();
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (i > 0) record_ += '\t';
    Field field = fields_[i] && *fields_[i] < fields.size() ? fields[*fields_[i]] : Field{};
    if (times_[i] && field.kind != Field::Kind::Null) {
      time_.clear();
      if (!times_[i]->append(field.text, time_)) return reject_time(rows, i, field);
      field = {Field::Kind::Text, time_};
    }
    append_load_field(record_, field);
  }
  frame_.add(record_);
  return {};
}

Status Intake::reject_time(const TextRows& rows, size_t column, const Field& field) {
  std::string record(rows.row_text());
  if (record.empty()) {
    for (const Field& each : rows.fields()) {
      if (&each != rows.fields().data()) record += '\t';
      append_load_field(record, each);
    }
  }
  return reject({.source = source_,
                 .line = begin_.line + rows.line(),
                 .column = layout_[column],
                 .reason = fmt::format("'{}' is not a time of the format '{}'", beginning(field.text),
                                       times_[column]->format()),
                 .record = std::move(record)});
}

Status Intake::reject(const TextRows& rows) {
  return reject({.source = source_,
                 .line = begin_.line + rows.line(),
                 .column = {},
                 .reason = rows.reason(),
                 .record = std::string(rows.wrong_row())});
}

Status Intake::reject(const Rejection& rejection) {
  return wait_out([&] { return rejects_.add_later(rejection); });
}

Status Intake::flush() {
  since_flush_ = 0;
  flushed_ = std::chrono::steady_clock::now();
  if (!is_dirty_) return {};
  HAILSTONE_TRY(note_newer());
  // A rejected record is in its file before the spool says that it has been passed.
  HAILSTONE_TRY(wait_out([this] { return rejects_.sync(); }));
  SourcePosition position = begin_;
  position.offset += rows_ != nullptr ? rows_->bytes_passed() : 0;
  position.line += rows_ != nullptr ? rows_->lines_passed() : 0;
  if (file_ != nullptr) {
    HAILSTONE_ASSIGN(position.fingerprint, file_->fingerprint(position.offset));
  }
  frame_.set_position(source_, encode(position));
  const std::string layout = encode_layout(layout_);
  const auto known = spool_.positions().find(layout_key);
  if (!layout.empty() && (known == spool_.positions().end() || known->second != layout)) {
    frame_.set_position(std::string(layout_key), layout);
  }
  is_dirty_ = false;  // what is noted while the spool is full is for the next flush
  if (const Status appended = wait_out([this] { return spool_.append(frame_); }); !appended) {
    is_dirty_ = true;
    return appended;
  }
  return spool_.sync();
}

Status Intake::wait_out(const std::function<Status()>& work) {
  for (;;) {
    Status status = work();
    if (status) {
      trouble_.over();
      return {};
    }
    const ErrorCode code = status.error().code();
    if (code != ErrorCode::Busy && code != ErrorCode::DiskFull) return status;
    trouble_.met(fmt::format("{}; the source waits", status.error().message()));
    // The wait may be as long as a server is away, and the file replaced more than once meanwhile.
    for (auto left = trouble_.next_wait(); left.count() > 0; left -= between_steps) {
      HAILSTONE_TRY(note_newer());
      if (stop_.wait(std::min(left, between_steps))) return fail(ErrorCode::Interrupted, "interrupted");
    }
  }
}

std::optional<SourcePosition> Intake::position_of(const std::string& path) const {
  const auto found = spool_.positions().find(path);
  return found == spool_.positions().end() ? std::nullopt : decode_source_position(found->second);
}

Status Intake::set_position(const std::string& path, const std::optional<SourcePosition>& position) {
  frame_.set_position(path, position ? encode(*position) : "");
  HAILSTONE_TRY(wait_out([this] { return spool_.append(frame_); }));
  return spool_.sync();
}

}  // namespace hailstone

#include "database/manifest.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/version.h"

namespace hailstone {
namespace {

constexpr ByteView file_magic = "HAILMAN1";
constexpr uint32_t format_version = 1;
constexpr size_t frame_header_size = 13;  // u32 payload size, u8 type, u64 checksum
constexpr size_t checksum_offset = 5;
constexpr ByteView seal_payload = "HAILSEAL";

enum RecordType : uint8_t {
  table_record = 1,
  dropped_record = 2,
  mark_record = 3,
  seal_record = 4,
  rows_record = 5,
  database_record = 6,
  applied_record = 7
};

std::string file_header() {
  std::string header(file_magic);
  append_number(header, format_version);
  append_number(header, checksum(header));
  return header;
}

/// Of a frame at `offset` of the file: size and type, then the payload. The offset makes a frame that lies
/// where it was not written a damaged one.
uint64_t frame_checksum(ByteView frame, uint64_t offset) {
  std::string head(frame.substr(0, checksum_offset));
  append_number(head, offset);
  append_number(head, checksum(frame.substr(frame_header_size)));
  return checksum(head);
}

/// The whole frame that begins at `offset`; nothing when it is damaged or cut.
std::optional<ByteView> intact_frame(ByteView bytes, uint64_t offset) {
  const ByteView rest = bytes.substr(offset);
  if (rest.size() < frame_header_size) return std::nullopt;
  const auto size = load<uint32_t>(rest.data());
  if (size > rest.size() - frame_header_size) return std::nullopt;
  const ByteView frame = rest.substr(0, frame_header_size + size);
  if (load<uint64_t>(frame.data() + checksum_offset) != frame_checksum(frame, offset)) return std::nullopt;
  return frame;
}

/// Whether bytes before some point behind `offset` were once durable.
bool sealed_behind(ByteView bytes, uint64_t offset) {
  for (size_t at = bytes.find(seal_payload, offset); at != ByteView::npos;
       at = bytes.find(seal_payload, at + 1)) {
    if (at >= offset + frame_header_size && intact_frame(bytes, at - frame_header_size)) return true;
  }
  return false;
}

bool take_table(ByteReader& reader, TableRecord& record) {
  uint64_t segments = 0;
  if (!reader.take_varint(record.id) || !reader.take_varint(record.definition_timestamp) ||
      !reader.take_varint(record.next_row_id) || !reader.take_varint(record.next_auto_increment) ||
      !reader.take_varint(record.last_publish) || !reader.take_varint(segments) ||
      segments > reader.remaining()) {
    return false;
  }
  record.segments.resize(static_cast<size_t>(segments));
  for (auto& segment : record.segments) {
    if (!reader.take_varint(segment.file) || !reader.take_varint(segment.delete_vector) ||
        !reader.take_varint(segment.begin)) {
      return false;
    }
  }
  return true;
}

/// The record of a table, of either type; false when it is not one.
bool parse_table(uint8_t type, ByteView payload, TableRecord& record) {
  ByteReader reader(payload);
  if (!take_table(reader, record)) return false;
  auto definition = PackedDefinition::take(reader);
  if (!definition) return false;
  record.definition = std::move(*definition);
  ByteView rows;
  if (type == rows_record) {
    if (!reader.take_bytes(reader.remaining(), rows) || rows.empty()) return false;
    record.rows = rows;
  }
  return reader.empty();
}

uint8_t type_of(ByteView frame) { return static_cast<uint8_t>(frame[4]); }

bool take_mark(ByteReader& reader, CheckpointMark& mark) {
  return reader.take_varint(mark.log_start) && reader.take_varint(mark.carried) &&
         reader.take_varint(mark.committed) && reader.take_varint(mark.next_table) &&
         reader.take_varint(mark.next_file);
}

/// False when the frame at `offset` does not hold what its type says.
bool apply_record(ByteView frame, uint64_t offset, ManifestContent& content) {
  const uint8_t type = type_of(frame);
  const ByteView payload = frame.substr(frame_header_size);
  ByteReader reader(payload);
  switch (type) {
    case table_record:
    case rows_record: {
      TableRecord record;
      if (!parse_table(type, payload, record)) return false;
      content.dropped.erase(record.id);
      content.tables[record.id] = {.offset = offset};
      return true;
    }
    case applied_record: {
      TableId table = 0;
      Timestamp timestamp = 0;
      if (!reader.take_varint(table) || !reader.take_varint(timestamp) || !reader.empty()) return false;
      const auto found = content.tables.find(table);
      if (found == content.tables.end()) return false;
      found->second.applied_until = timestamp;
      return true;
    }
    case dropped_record: {
      TableId table = 0;
      Timestamp timestamp = 0;
      if (!reader.take_varint(table) || !reader.take_varint(timestamp) || !reader.empty()) return false;
      content.tables.erase(table);
      content.dropped.insert_or_assign(table, timestamp);
      return true;
    }
    case mark_record:
      if (!take_mark(reader, content.mark) || !reader.empty()) return false;
      // Replay skips what these drops would have to be known for.
      std::erase_if(content.dropped, [&](const auto& each) { return each.second <= content.mark.committed; });
      return true;
    case database_record: {
      DatabaseIdentity identity;
      if (!reader.take_varint(identity.first_file) || !reader.take(identity.database) || !reader.empty() ||
          identity.first_file == 0 || identity.database == 0) {
        return false;
      }
      // The same again was written by a second attempt.
      if (!content.databases.empty() && content.databases.back() == identity) return true;
      if (!content.databases.empty() && content.databases.back().first_file >= identity.first_file)
        return false;
      content.databases.push_back(identity);
      return true;
    }
    case seal_record:
      return payload == seal_payload;
    default:
      return false;
  }
}

std::string seal_frame(uint64_t offset) {
  std::string frame;
  append_number(frame, static_cast<uint32_t>(seal_payload.size()));
  frame.push_back(static_cast<char>(seal_record));
  append_number(frame, uint64_t{0});
  frame.append(seal_payload);
  store(frame.data() + checksum_offset, frame_checksum(frame, offset));
  return frame;
}

}  // namespace

void ManifestRecords::begin(uint8_t type) {
  begin_ = frames_.size();
  append_number(frames_, uint32_t{0});
  frames_.push_back(static_cast<char>(type));
  append_number(frames_, uint64_t{0});
}

void ManifestRecords::end() {
  store(frames_.data() + begin_, static_cast<uint32_t>(frames_.size() - begin_ - frame_header_size));
  ++count_;
}

void ManifestRecords::add_table(const TableRecord& record) {
  begin(record.rows.empty() ? table_record : rows_record);
  append_varint(frames_, record.id);
  append_varint(frames_, record.definition_timestamp);
  append_varint(frames_, record.next_row_id);
  append_varint(frames_, record.next_auto_increment);
  append_varint(frames_, record.last_publish);
  append_varint(frames_, record.segments.size());
  for (const auto& segment : record.segments) {
    append_varint(frames_, segment.file);
    append_varint(frames_, segment.delete_vector);
    append_varint(frames_, segment.begin);
  }
  frames_.append(record.definition.bytes());
  frames_.append(record.rows);
  end();
  // What is in no segment is replayed anyway.
  if (record.applied_until == 0 || record.segments.empty()) return;
  begin(applied_record);
  append_varint(frames_, record.id);
  append_varint(frames_, record.applied_until);
  end();
}

void ManifestRecords::add_dropped(TableId table, Timestamp timestamp) {
  begin(dropped_record);
  append_varint(frames_, table);
  append_varint(frames_, timestamp);
  end();
}

void ManifestRecords::add_mark(const CheckpointMark& mark) {
  begin(mark_record);
  for (const uint64_t number :
       {mark.log_start, mark.carried, mark.committed, mark.next_table, mark.next_file}) {
    append_varint(frames_, number);
  }
  end();
}

void ManifestRecords::add_database(const DatabaseIdentity& identity) {
  begin(database_record);
  append_varint(frames_, identity.first_file);
  append_number(frames_, identity.database);
  end();
}

size_t ManifestContent::bytes_of(const StoredTable& table) const {
  return frame_header_size + load<uint32_t>(file.data() + table.offset);
}

TableRecord ManifestContent::read(const StoredTable& table) const {
  const ByteView frame = file.substr(table.offset, bytes_of(table));
  TableRecord record;
  const bool whole = parse_table(type_of(frame), frame.substr(frame_header_size), record);
  HAILSTONE_CHECK(whole, "the manifest's record at offset {} has changed since it was checked", table.offset);
  record.applied_until = table.applied_until;
  return record;
}

Result<ManifestContent> parse_manifest(ByteView bytes, const std::string& path) {
  const std::string header = file_header();
  if (bytes.size() < header.size() || bytes.substr(0, file_magic.size()) != file_magic ||
      checksum(bytes.substr(0, header.size() - sizeof(uint64_t))) !=
          load<uint64_t>(bytes.data() + header.size() - sizeof(uint64_t))) {
    return fail(
        ErrorCode::Corruption,
        fmt::format("manifest '{}' does not begin with an intact header; restore the database from a backup",
                    path));
  }
  if (const auto version = load<uint32_t>(bytes.data() + file_magic.size()); version != format_version) {
    return fail(ErrorCode::Unsupported,
                fmt::format("manifest '{}' {}; nothing was changed", path, unknown_format(version)));
  }
  ManifestContent content;
  content.file = bytes;
  content.intact_bytes = bytes.size();
  for (uint64_t offset = header.size(); offset < bytes.size();) {
    const auto frame = intact_frame(bytes, offset);
    if (!frame) {
      if (sealed_behind(bytes, offset)) {
        return fail(ErrorCode::Corruption,
                    fmt::format("manifest '{}' is damaged at offset {}; restore the database from a backup",
                                path, offset));
      }
      content.torn = true;
      content.intact_bytes = offset;
      return content;
    }
    if (!apply_record(*frame, offset, content)) {
      return fail(
          ErrorCode::Corruption,
          fmt::format(
              "manifest '{}' holds a record at offset {} that Hailstone {} does not understand, though its "
              "checksum is right; open the database with the later release that wrote it, or restore a "
              "backup",
              path, offset, release()));
    }
    offset += frame->size();
  }
  return content;
}

std::string Manifest::path_in(const std::string& directory) { return directory + "/" + file_name; }

Result<std::optional<ManifestContent>> Manifest::load(Filesystem& filesystem, const std::string& directory,
                                                      Counters* counters) {
  const std::string path = path_in(directory);
  if (!filesystem.exists(path)) return std::nullopt;
  HAILSTONE_ASSIGN(const auto file, filesystem.open_plain(path));
  HAILSTONE_ASSIGN(const uint64_t size, file->size());
  PageBytes bytes = make_page_bytes(static_cast<size_t>(size));
  HAILSTONE_TRY(file->read_at(0, static_cast<size_t>(size), bytes.get()));
  if (counters != nullptr) {
    count(counters->manifest_reads);
    count(counters->manifest_read_bytes, size);
  }
  HAILSTONE_ASSIGN(ManifestContent content, parse_manifest({bytes.get(), static_cast<size_t>(size)}, path));
  content.held_file = std::move(bytes);
  return std::optional(std::move(content));
}

Manifest::Manifest(Filesystem& filesystem, std::string directory, Counters& counters, uint64_t bytes,
                   bool torn)
    : filesystem_(filesystem),
      directory_(std::move(directory)),
      counters_(counters),
      bytes_(bytes),
      must_be_rewritten_(torn) {}

Status Manifest::write_and_sync(WritableFile& file, ManifestRecords& records) {
  std::string& frames = records.frames_;
  for (size_t at = 0; at < frames.size();) {
    const size_t size = frame_header_size + hailstone::load<uint32_t>(frames.data() + at);
    const ByteView frame(frames.data() + at, size);
    store(frames.data() + at + checksum_offset, frame_checksum(frame, file.size() + at));
    at += size;
  }
  HAILSTONE_TRY(file.append(frames));
  count(counters_.manifest_writes, records.count_);
  count(counters_.manifest_write_bytes, frames.size());
  HAILSTONE_TRY(file.sync());
  count(counters_.manifest_fsyncs);
  bytes_ = file.size();
  return {};
}

Status Manifest::append(ManifestRecords records) {
  if (must_be_rewritten_) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("manifest '{}' must be rewritten before it is appended to", path_in(directory_)));
  }
  if (file_ == nullptr) {
    HAILSTONE_ASSIGN(file_, filesystem_.append_to(path_in(directory_)));
  }
  // Nothing is known of the file's end after a failure.
  must_be_rewritten_ = true;
  HAILSTONE_TRY(write_and_sync(*file_, records));
  // The records are durable whether or not this arrives; without it they only could not be told from a torn
  // tail.
  must_be_rewritten_ = !file_->append(seal_frame(file_->size())).has_value();
  return {};
}

Status Manifest::rewrite(ManifestRecords records) {
  must_be_rewritten_ = true;
  file_.reset();
  const std::string path = path_in(directory_);
  const std::string new_path = path + ".new";
  HAILSTONE_ASSIGN(auto file, filesystem_.create(new_path));
  HAILSTONE_TRY(file->append(file_header()));
  HAILSTONE_TRY(write_and_sync(*file, records));
  HAILSTONE_TRY(file->append(seal_frame(file->size())));
  HAILSTONE_TRY(file->sync());
  count(counters_.manifest_fsyncs);
  bytes_ = file->size();
  HAILSTONE_TRY(file->close());
  HAILSTONE_TRY(filesystem_.rename(new_path, path));
  HAILSTONE_TRY(filesystem_.sync_directory(directory_));
  must_be_rewritten_ = false;
  return {};
}

}  // namespace hailstone

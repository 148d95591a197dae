// The bytes of log files; docs/formats.md has the picture. A file is a header and batches, one for each write
// call; a batch is a header and records. Every byte of a file has a position (Lsn): the file's beginning,
// which names the file, plus the offset.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "log/log.h"

namespace hailstone {

constexpr size_t log_file_header_size = 40;
constexpr size_t log_batch_header_size = 40;
constexpr size_t log_record_header_size = 5;
constexpr uint32_t log_format_version = 1;
constexpr size_t log_record_limit = size_t{1} << 30;  // bytes of a payload
/// The first bytes of every batch.
constexpr ByteView log_batch_magic = "HBAT";

struct LogFileHeader {
  uint32_t version = log_format_version;
  Lsn begin = 0;
  Lsn durable = 0;  // the log was known to be durable up to here when the header was written
};

struct LogBatchHeader {
  uint32_t size = 0;  // bytes of the records behind the header
  Lsn begin = 0;
  Lsn durable = 0;  // as in the file header
  uint64_t records_checksum = 0;
};

std::string encode(const LogFileHeader& header);
/// Nothing when the bytes are no header or damaged.
std::optional<LogFileHeader> decode_file_header(ByteView bytes);

/// Writes log_batch_header_size bytes.
void encode(const LogBatchHeader& header, char* to);
/// Nothing when the bytes are no header, damaged, or the header of another position than `begin`.
std::optional<LogBatchHeader> decode_batch_header(ByteView bytes, Lsn begin);

std::string log_file_name(Lsn begin);
/// Where the file begins; nothing for the name of another kind of file.
std::optional<Lsn> parse_log_file_name(std::string_view name);

}  // namespace hailstone

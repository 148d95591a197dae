#include "log/log_format.h"

#include <fmt/format.h>

#include <charconv>

#include "base/hash.h"

namespace hailstone {

namespace {

constexpr ByteView file_magic = "HAILLOG1";
constexpr std::string_view name_prefix = "log-";
constexpr size_t name_digits = 16;

}  // namespace

std::string encode(const LogFileHeader& header) {
  std::string bytes(file_magic);
  append_number(bytes, header.version);
  append_number<uint32_t>(bytes, log_file_header_size);
  append_number(bytes, header.begin);
  append_number(bytes, header.durable);
  append_number(bytes, checksum(bytes));
  return bytes;
}

std::optional<LogFileHeader> decode_file_header(ByteView bytes) {
  if (bytes.size() < log_file_header_size || !bytes.starts_with(file_magic)) return std::nullopt;
  if (load<uint64_t>(bytes.data() + 32) != checksum(bytes.substr(0, 32))) return std::nullopt;
  return LogFileHeader{.version = load<uint32_t>(bytes.data() + 8),
                       .begin = load<Lsn>(bytes.data() + 16),
                       .durable = load<Lsn>(bytes.data() + 24)};
}

void encode(const LogBatchHeader& header, char* to) {
  std::memcpy(to, log_batch_magic.data(), log_batch_magic.size());
  store(to + 4, header.size);
  store(to + 8, header.begin);
  store(to + 16, header.durable);
  store(to + 24, header.records_checksum);
  store(to + 32, checksum({to, 32}));
}

std::optional<LogBatchHeader> decode_batch_header(ByteView bytes, Lsn begin) {
  if (bytes.size() < log_batch_header_size || !bytes.starts_with(log_batch_magic)) return std::nullopt;
  if (load<Lsn>(bytes.data() + 8) != begin) return std::nullopt;
  if (load<uint64_t>(bytes.data() + 32) != checksum(bytes.substr(0, 32))) return std::nullopt;
  return LogBatchHeader{.size = load<uint32_t>(bytes.data() + 4),
                        .begin = begin,
                        .durable = load<Lsn>(bytes.data() + 16),
                        .records_checksum = load<uint64_t>(bytes.data() + 24)};
}

std::string log_file_name(Lsn begin) { return fmt::format("{}{:016x}", name_prefix, begin); }

std::optional<Lsn> parse_log_file_name(std::string_view name) {
  if (name.size() != name_prefix.size() + name_digits || !name.starts_with(name_prefix)) return std::nullopt;
  Lsn begin = 0;
  const auto [end, error] =
      std::from_chars(name.data() + name_prefix.size(), name.data() + name.size(), begin, 16);
  // Comparing with the name that it would have keeps upper case and signs out.
  if (error != std::errc() || end != name.data() + name.size() || log_file_name(begin) != name)
    return std::nullopt;
  return begin;
}

}  // namespace hailstone

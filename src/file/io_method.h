// The ways in which the bytes of a file can move between it and memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hailstone {

enum class IoMethod : uint8_t {
  Sync,      // one system call for each read or append
  Buffered,  // through a window in memory; one system call fills or writes it
  Async,     // two windows, through io_uring: the next is on its way while this one is used
  Mmap,      // through memory mappings of the file
  Direct,    // past the page cache (O_DIRECT), through io_uring with many windows on their way
};

/// In the order of IoMethod.
inline constexpr std::array<std::string_view, 5> io_method_names{"sync", "buffered", "async", "mmap",
                                                                 "direct"};
constexpr std::string_view to_string(IoMethod method) { return io_method_names[static_cast<size_t>(method)]; }
std::optional<IoMethod> parse_io_method(std::string_view name);

/// What files begin, and memory they are read to directly from the disk must be aligned to.
constexpr size_t io_alignment = 4096;
/// The next multiple of io_alignment that is not less.
constexpr size_t io_aligned(size_t size) { return (size + io_alignment - 1) / io_alignment * io_alignment; }

/// What databases use unless they are told otherwise; docs/io.md has the measurements that it follows from.
constexpr IoMethod default_io_method = IoMethod::Sync;

struct IoSettings {
  IoMethod method = default_io_method;
  /// Of one window. Reading and IoMethod::Direct take at least io_alignment, rounded up to it.
  size_t window_bytes = size_t{128} << 10;
  unsigned queue_depth = 8;  // windows on their way at once with IoMethod::Direct, at least 1
};

}  // namespace hailstone

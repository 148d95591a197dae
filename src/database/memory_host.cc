#include "database/memory_host.h"

#include <algorithm>
#include <string>

#include "database/core.h"
#include "database/state_recorder.h"

namespace hailstone {

namespace {

constexpr size_t mebibyte = size_t{1} << 20;
constexpr std::string_view directory = "in memory";

}  // namespace

std::string MemoryHost::segment_path(uint64_t file_number) {
  return segment_path_in(std::string(directory), file_number);
}
std::string MemoryHost::delete_vector_path(uint64_t file_number) {
  return delete_vector_path_in(std::string(directory), file_number);
}

size_t MemoryHost::segment_buffer_bytes() {
  // A merge needs memory for as much beside what it will give back.
  return std::min(std::clamp(row_budget_.limit() / 32, mebibyte, 32 * mebibyte),
                  core().segment_buffer_bytes());
}

size_t MemoryHost::delta_limit_bytes() {
  return std::min(std::clamp(row_budget_.limit() / 32, mebibyte, 16 * mebibyte), core().delta_limit_bytes());
}

Status MemoryHost::reclaim(size_t bytes, const StopToken& stop) {
  if (core().catalog().has_dropped()) HAILSTONE_TRY(core().recorder->finish_drops());
  const auto enough = [&] { return row_budget_.used() + bytes <= row_budget_.limit(); };
  for (const auto& [entry, table] : core().catalog().open_tables()) {
    if (enough()) return {};
    // A damaged one is its own users' trouble.
    if (table->is_in_memory() && table->usable()) HAILSTONE_TRY(table->compact(enough, stop));
  }
  return {};
}

}  // namespace hailstone

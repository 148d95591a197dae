#include "database/temporary_host.h"

#include <string>

#include "database/core.h"

namespace hailstone {

std::string TemporaryHost::segment_path(uint64_t file_number) { return core().segment_path(file_number); }
std::string TemporaryHost::delete_vector_path(uint64_t file_number) {
  return core().delete_vector_path(file_number);
}
void TemporaryHost::request_room() { core().request_room(); }
size_t TemporaryHost::segment_buffer_bytes() { return core().segment_buffer_bytes(); }
size_t TemporaryHost::delta_limit_bytes() { return core().delta_limit_bytes(); }

}  // namespace hailstone

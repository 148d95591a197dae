#include "segment/zstd_frame.h"

#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

namespace hailstone {

namespace {

struct ZstdContext {
  ZSTD_DCtx* zstd = nullptr;
  ~ZstdContext() { ZSTD_freeDCtx(zstd); }
};

}  // namespace

Status decompress_zstd(const SegmentFile& file, uint64_t offset, ByteView frame, char* to, size_t size) {
  thread_local ZstdContext context;
  const auto no_memory_for_it = [&] {
    return fail(ErrorCode::OutOfMemory, fmt::format("no memory to decompress a part of {}", file.path()));
  };
  if (context.zstd == nullptr) context.zstd = ZSTD_createDCtx();
  if (context.zstd == nullptr) return no_memory_for_it();
  const size_t got = ZSTD_decompressDCtx(context.zstd, to, size, frame.data(), frame.size());
  if (got == size) [[likely]]
    return {};
  if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation) return no_memory_for_it();
  return file.corrupt(offset, "a compressed value cannot be decompressed in the part");
}

}  // namespace hailstone

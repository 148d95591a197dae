#include "backup/compressor.h"

#include <fmt/format.h>

namespace hailstone {

Compressor::Compressor(int level, unsigned threads, TakeBytes take)
    : context_(ZSTD_createCCtx()), take_(std::move(take)), made_(ZSTD_CStreamOutSize(), '\0') {
  if (context_ == nullptr) return;
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  // A library without threads refuses it, and compresses in the caller's.
  if (threads > 1) ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_nbWorkers, static_cast<int>(threads));
}

Status Compressor::step(std::string_view bytes, ZSTD_EndDirective how) {
  if (context_ == nullptr) return fail(ErrorCode::OutOfMemory, "there is no memory to compress with");
  ZSTD_inBuffer in{.src = bytes.data(), .size = bytes.size(), .pos = 0};
  while (true) {
    ZSTD_outBuffer out{.dst = made_.data(), .size = made_.size(), .pos = 0};
    const size_t left = ZSTD_compressStream2(context_.get(), &out, &in, how);
    if (ZSTD_isError(left) != 0)
      return fail(ErrorCode::OutOfMemory, fmt::format("cannot compress: {}", ZSTD_getErrorName(left)));
    if (out.pos > 0) HAILSTONE_TRY(take_({made_.data(), out.pos}));
    if (how == ZSTD_e_end ? left == 0 : in.pos == in.size) return {};
  }
}

Status Compressor::append(std::string_view bytes) {
  return bytes.empty() ? Status{} : step(bytes, ZSTD_e_continue);
}

Status Compressor::finish() { return step({}, ZSTD_e_end); }

}  // namespace hailstone

// Bytes on their way through Zstandard. What comes out is one frame, which `zstd -d` reads. One thread.
#pragma once

#include <zstd.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace hailstone {

/// Takes the bytes that are next.
using TakeBytes = std::function<Status(std::string_view bytes)>;

class Compressor {
 public:
  static constexpr int least_level = 1, usual_level = 3, greatest_level = 19;

  /// `threads`: that compress beside the caller's; 1: none.
  Compressor(int level, unsigned threads, TakeBytes take);
  Status append(std::string_view bytes);
  /// Ends the frame.
  Status finish();

 private:
  Status step(std::string_view bytes, ZSTD_EndDirective how);

  struct Freed {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  const std::unique_ptr<ZSTD_CCtx, Freed> context_;
  const TakeBytes take_;
  std::string made_;
};

}  // namespace hailstone

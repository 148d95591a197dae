// The standard output as the place of a stream that another program reads, or a file. One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/status.h"
#include "file/descriptor.h"

namespace hailstone {

class StreamOutput {
 public:
  /// Takes the standard output: what this program prints goes to standard error from then on. `stop` is asked
  /// some times a second while a reader is waited for. ErrorCode::InvalidArgument: it is a terminal.
  static Result<std::unique_ptr<StreamOutput>> take_standard_output(std::function<bool()> stop);

  Status write(std::string_view bytes);
  /// Nothing more comes. A file is durable then.
  Status finish();

 private:
  StreamOutput(Descriptor output, std::function<bool()> stop)
      : output_(std::move(output)), stop_(std::move(stop)) {}

  Descriptor output_;
  const std::function<bool()> stop_;
};

}  // namespace hailstone

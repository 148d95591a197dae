// An input whose bytes come decompressed, where they begin as those of gzip or Zstandard do; others as they
// are. One thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "text/input.h"

namespace hailstone {

/// What the first bytes of a compressed file tell: "gzip", "Zstandard", "xz"; empty for others. Four suffice.
std::string_view compression_of(std::string_view begin);
/// The command that writes a file of this compression to its standard output.
std::string_view decompressor_of(std::string_view compression);

/// The compression is told by the first bytes that are read.
std::unique_ptr<Input> plain_input(std::unique_ptr<Input> input);
/// The file at `path`, "-" for standard input. As InputFile::open().
Result<std::unique_ptr<Input>> open_plain_input(const std::string& path, int interrupt_descriptor);

}  // namespace hailstone

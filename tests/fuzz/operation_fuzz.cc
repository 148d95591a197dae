// A fuzzer's bytes as the operations of a log record: what can be taken must be written and taken to the same
// again, and nothing is read beyond the bytes. Link with -fsanitize=fuzzer.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "log/operation.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hailstone;
  const ByteView input(reinterpret_cast<const char*>(data), size);
  ByteReader reader(input);
  while (!reader.empty()) {
    const size_t before = reader.remaining();
    Operation operation;
    if (take_operation(reader, operation) != TakenOperation::Whole) break;
    if (reader.remaining() >= before) std::abort();
    const char* const bytes = operation.bytes.data();
    if (!operation.bytes.empty() &&
        (bytes < input.data() || bytes + operation.bytes.size() > input.data() + input.size())) {
      std::abort();
    }
    std::string written;
    append_operation(written, operation);
    ByteReader again_reader(written);
    Operation again;
    if (take_operation(again_reader, again) != TakenOperation::Whole || again != operation ||
        !again_reader.empty()) {
      std::abort();
    }
  }
  return 0;
}

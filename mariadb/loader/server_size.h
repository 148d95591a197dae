// What the engine tells the loader of the server that it was compiled for: hailstone_server_sizes, an array
// that ends with a null name.
#pragma once

#include <cstddef>

namespace hailstone {

struct ServerSize {
  const char* variable;  // of the server, by the name of its symbol
  size_t bytes;
};

}  // namespace hailstone

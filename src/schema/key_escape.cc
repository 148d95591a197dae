#include "schema/key_escape.h"

#include <algorithm>
#include <cstring>

namespace hailstone {

void escape_and_end(std::string& to, size_t from) {
  const size_t size = to.size();
  if (size > from && std::memchr(to.data() + from, 0, size - from) != nullptr) {
    const auto zeros =
        static_cast<size_t>(std::count(to.begin() + static_cast<std::ptrdiff_t>(from), to.end(), '\0'));
    to.resize(size + zeros);
    size_t write = to.size();
    for (size_t read = size; read-- > from;) {
      if (to[read] == '\0') to[--write] = '\xff';
      to[--write] = to[read];
    }
  }
  to.push_back('\0');
  to.push_back('\x01');
}

}  // namespace hailstone

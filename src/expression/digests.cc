// MD5 and CRC32.
#include "base/crc32.h"
#include "base/md5.h"
#include "expression/kernels.h"
#include "expression/text_rows.h"

namespace hailstone {

void make_md5(const FunctionCall& call) {
  constexpr std::string_view digits = "0123456789abcdef";
  each_row(call, [&](uint32_t row) {
    const Md5Digest digest = md5(call.input(0).texts[row]);
    char* to = call.text(row, 2 * digest.size());
    if (to == nullptr) return;
    call.to.texts[row] = {to, 2 * digest.size()};
    for (const uint8_t byte : digest) {
      *to++ = digits[byte >> 4];
      *to++ = digits[byte & 15];
    }
  });
}

void make_crc32(const FunctionCall& call) {
  each_row(call, [&](uint32_t row) { call.to.integers[row] = crc32(call.input(0).texts[row]); });
}

}  // namespace hailstone

#include "huge_pages.h"

#include <sys/prctl.h>

#include <mutex>

namespace hailstone {

void allow_advised_huge_pages() {
  // Linux 6.18's PR_THP_DISABLE_EXCEPT_ADVISED, which the headers of Debian 12 do not know.
  constexpr unsigned long except_advised = 1UL << 1;
  static std::once_flag once;
  std::call_once(once, [] {
    // Only where the server has forbidden them. An older kernel refuses, which is as good as no call.
    if (::prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1)
      static_cast<void>(::prctl(PR_SET_THP_DISABLE, 1, except_advised, 0, 0));
  });
}

}  // namespace hailstone

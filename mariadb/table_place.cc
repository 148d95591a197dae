#include "table_place.h"

#include <climits>
#include <cstring>
#include <string>
#include <string_view>

#include "discovery.h"
#include "engine.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

int check_place(const char* path) {
  const std::string_view whole(path);
  const size_t slash = whole.rfind('/');
  if (slash == std::string_view::npos) return 0;
  const std::string folder(whole.substr(0, slash));
  const std::string name = table_name_of_path(path);
  if (my_access(folder.c_str(), F_OK) != 0) {
    my_error(ER_BAD_DB_ERROR, MYF(0), sql_names(name).first.c_str());
    return HA_ERR_NO_SUCH_TABLE;
  }
  // A name that no file can have would make every later ALTER and DROP fail.
  const std::string_view file = whole.substr(slash + 1);
  const size_t length = table_of_partition(std::string(file)).size() + std::strlen(reg_ext);
  if (length <= NAME_MAX) return 0;
  my_printf_error(ER_TOO_LONG_IDENT,
                  "Identifier name '%s' is too long: written as a file name it has %zu of %d bytes", MYF(0),
                  sql_names(name).second.c_str(), length, NAME_MAX);
  return ENAMETOOLONG;
}

}  // namespace hailstone

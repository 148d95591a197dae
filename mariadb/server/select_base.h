// The server's handler of whole SELECTs: what it takes to make one differs between the server's series.
#pragma once

// clang-format off
#include "../server.h"
#include <select_handler.h>
// clang-format on

namespace hailstone {

class SelectBase : public select_handler {
 protected:
#if MYSQL_VERSION_ID < 110400
  SelectBase(THD& connection, handlerton* engine, SELECT_LEX& statement)
      : select_handler(&connection, engine) {
    select = &statement;
  }
#else
  SelectBase(THD& connection, handlerton* engine, SELECT_LEX& statement)
      : select_handler(&connection, engine, &statement) {}
#endif
};

}  // namespace hailstone

// Sets hooks of the handlerton whose parameters differ between the server's series.
//
// | hooks | difference |
// | --- | --- |
// | transactions, savepoints, two-phase commit | before 11.8 the handlerton comes first |
// | discover_table_names | from 11.8 on the database is const |
// | create_select | from 11.4 on it is told the UNION, too, of which a SELECT is an arm |
//
// The type of the slot decides, not the number of a version: a hook that fits neither way does not compile.
#pragma once

// clang-format off
#include "../server.h"
#include <select_handler.h>
// clang-format on

namespace hailstone {

/// `hook` has no parameter for the handlerton.
template <auto hook, typename Returned, typename... Given>
void set_hook(Returned (*&slot)(Given...)) {
  slot = [](Given... given) -> Returned {
    if constexpr (requires { hook(given...); }) {
      return hook(given...);
    } else {
      return [](handlerton*, auto... others) -> Returned { return hook(others...); }(given...);
    }
  };
}

/// `hook` takes the connection and a whole statement. Arms of a UNION, EXCEPT or INTERSECT stay with the
/// server, which offers them again as groups (part_pushdown.h). From 11.4 on the server asks once for each
/// table until it gets a handler; the hook is asked once a statement.
template <auto hook, typename... Given>
void set_select_hook(select_handler* (*&slot)(Given...)) {
  slot = [](Given... given) -> select_handler* {
    if constexpr (requires { hook(given...); }) {
      return hook(given...);
    } else {
      return [](THD* thd, SELECT_LEX* select, SELECT_LEX_UNIT* unit) -> select_handler* {
        if (unit != nullptr) return nullptr;
        thread_local query_id_t declined_statement = 0;
        thread_local const SELECT_LEX* declined = nullptr;
        if (declined == select && declined_statement == thd->query_id) return nullptr;
        select_handler* const handler = hook(thd, select);
        if (handler == nullptr) {
          declined = select;
          declined_statement = thd->query_id;
        }
        return handler;
      }(given...);
    }
  };
}

}  // namespace hailstone

// The server's collations for the library's keys. A column of collation number n in the server has the id
// first_application_collation_id + n in table definitions. Any thread; what is handed out lives as long as
// the plugin.
#pragma once

#include "schema/collation.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// The collation of a column with this character set; never fails, as the server has loaded it already.
const Collation& mariadb_collation(CHARSET_INFO* charset);

/// Finds them by the id in a table definition, loading a character set of the server where need be.
const CollationResolver& mariadb_collations();

}  // namespace hailstone

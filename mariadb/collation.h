// The server's collations for the library's keys. A column of collation number n in the server has the id
// first_application_collation_id + n in table definitions; a CHAR column whose order depends on the spaces
// that fill it has its length in characters above that (from bit 16 on). Any thread; what is handed out lives
// as long as the plugin.
#pragma once

#include "schema/collation.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Of a column that holds strings of this character set: CHAR(`characters`), or 0 for those that are not
/// filled with spaces.
uint32_t collation_id(const CHARSET_INFO& charset, uint32_t characters);

/// The id that tables of earlier versions have in place of `id`: they took no notice of the spaces.
uint32_t earlier_collation_id(uint32_t id);

/// The weight of each byte, where the collation compares these one by one; null: it does not.
const uchar* weights_of_bytes(const CHARSET_INFO& charset);

/// Whether the server sorts strings as it compares them. It sorts Big5 by strokes, but compares codes; and
/// Thai texts end with a zero when they are sorted.
bool sorts_as_it_compares(const CHARSET_INFO& charset);
/// Of what is no string, always.
bool sorts_as_it_compares(const Item& item);

/// Finds them by the id in a table definition, loading a character set of the server where need be.
const CollationResolver& mariadb_collations();

/// Of whole texts of this character set; null: the engine does not know it.
inline const Collation* collation_of(const CHARSET_INFO& charset) {
  return mariadb_collations().resolve(collation_id(charset, 0)).value_or(nullptr);
}

}  // namespace hailstone

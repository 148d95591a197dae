// What the engine's INFORMATION_SCHEMA tables have in common.
#pragma once

#include <cstdint>
#include <new>
#include <string_view>

// clang-format off
#include "server.h"
#include <sql_i_s.h>
// clang-format on

namespace hailstone {

inline void store_text(Field* field, std::string_view text) {
  field->store(text.data(), text.size(), system_charset_info);
}
inline void store_number(Field* field, uint64_t number) { field->store(static_cast<longlong>(number), true); }

using FillSchemaTable = int (*)(THD*, TABLE_LIST*, COND*);
/// Here ends what had no memory.
template <FillSchemaTable fill>
int guarded_fill(THD* thd, TABLE_LIST* tables, COND* condition) noexcept {
  try {
    return fill(thd, tables, condition);
  } catch (const std::bad_alloc&) {
    my_error(ER_OUT_OF_RESOURCES, MYF(0));
    return 1;
  }
}

/// Makes `schema_table` one of these columns.
template <FillSchemaTable fill>
int initialise_schema_table(void* schema_table, ST_FIELD_INFO* columns) {
  auto* const table = static_cast<ST_SCHEMA_TABLE*>(schema_table);
  table->fields_info = columns;
  table->fill_table = guarded_fill<fill>;
  return 0;
}

}  // namespace hailstone

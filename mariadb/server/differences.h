// What the server's series have under different names, behind one name each. As far as possible the compiler
// finds out which of them there is, so that no number of a version has to be known.
#pragma once

#include <string>

// clang-format off
#include "../server.h"
#include <sql_acl.h>
// clang-format on

namespace hailstone {

/// A copying ALTER TABLE lets others change the table meanwhile from 11.2 on, and copies their changes by the
/// server's events of rows. Rows that RETAIN expires have none, so the server must lock the table as before.
#ifdef HA_NO_ONLINE_ALTER
inline constexpr handler::Table_flags no_online_alter = HA_NO_ONLINE_ALTER;
#else
inline constexpr handler::Table_flags no_online_alter = 0;
#endif

/// The options of a table. 12.3 has another name for them.
template <typename Share>
const auto* options_of(const Share& share) {
  if constexpr (requires { share.option_struct; }) {
    return share.option_struct;
  } else {
    return share.option_struct_table;
  }
}

/// From 11.8 on: the server keeps a vector index in a second table of the same engine.
template <typename Share>
bool has_vector_index(Share& share) {
  if constexpr (requires { share.hlindexes(); }) {
    return share.hlindexes() != 0;
  } else {
    return false;
  }
}

/// Makes a share ready for a definition that is of no table of the server. From 11.8 on it is told that one
/// thread has it.
template <typename Share>
void begin_share(THD* thd, Share& share, const char* schema, const char* table, const char* path) {
  if constexpr (requires { init_tmp_table_share(thd, &share, schema, 0, table, path); }) {
    init_tmp_table_share(thd, &share, schema, 0, table, path);
  } else {
    init_tmp_table_share(thd, &share, schema, 0, table, path, true);
  }
}

/// Of names and words of SQL.
inline bool is_same_name(const char* one, const char* other) {
#ifdef my_strcasecmp
  return my_strcasecmp(system_charset_info, one, other) == 0;
#else
  return system_charset_info->streq(Lex_cstring_strlen(one), Lex_cstring_strlen(other));
#endif
}

/// The words of a variable; 11.8 has more members in the structure.
inline TYPELIB typelib_of(unsigned count, const char** words) {
  TYPELIB all{};
  all.count = count;
  all.name = "";
  all.type_names = words;
  return all;
}

/// The words of an ENUM or SET column.
template <typename Column>
const TYPELIB& words_of(const Column& column) {
  if constexpr (requires { column.typelib(); }) {
    return *column.typelib();
  } else {
    return *column.typelib;
  }
}

template <typename Name>
privilege_t rights_on_column(THD* thd, GRANT_INFO* grant, const char* schema, const char* table,
                             const Name& column) {
  if constexpr (requires { get_column_grant(thd, grant, schema, table, column.c_str()); }) {
    return get_column_grant(thd, grant, schema, table, column.c_str());
  } else {
    return get_column_grant(thd, grant, schema, table, {column.data(), column.size()});
  }
}

/// Counts rows as examined by the statement. The function of the usual name adds 1 in 11.8, whatever it is
/// given.
template <typename Connection>
void count_examined_rows(Connection& thd, ha_rows rows) {
  if constexpr (requires { thd.inc_examined_row_count_fast(rows); }) {
    if (rows == 0) return;
    thd.inc_examined_row_count_fast(rows - 1);
    thd.inc_examined_row_count();
  } else {
    thd.inc_examined_row_count(rows);
  }
}

/// Counts rows in the statistics of tables.
template <typename Handler>
void count_rows_read(Handler& file, ha_rows rows) {
  if constexpr (requires { file.rows_stats.read += rows; }) {
    file.rows_stats.read += rows;
  } else {
    file.rows_read += rows;
  }
}

/// A copying ALTER TABLE, or CREATE … SELECT, gives up.
template <typename Operation>
bool is_abort_of_copy(Operation operation) {
  if constexpr (requires { Operation::HA_EXTRA_ABORT_ALTER_COPY; }) {
    return operation == Operation::HA_EXTRA_ABORT_ALTER_COPY;
  } else {
    return operation == Operation::HA_EXTRA_ABORT_COPY;
  }
}

/// The server's name of an operation that has to do with copying, null of another.
template <typename Operation>
const char* name_of_copy_operation(Operation operation) {
  if constexpr (requires { Operation::HA_EXTRA_ABORT_ALTER_COPY; }) {
    switch (operation) {
      case Operation::HA_EXTRA_BEGIN_ALTER_COPY:
        return "HA_EXTRA_BEGIN_ALTER_COPY";
      case Operation::HA_EXTRA_END_ALTER_COPY:
        return "HA_EXTRA_END_ALTER_COPY";
      case Operation::HA_EXTRA_ABORT_ALTER_COPY:
        return "HA_EXTRA_ABORT_ALTER_COPY";
      default:
        return nullptr;
    }
  } else {
    switch (operation) {
      case Operation::HA_EXTRA_BEGIN_COPY:
        return "HA_EXTRA_BEGIN_COPY";
      case Operation::HA_EXTRA_BEGIN_ALTER_IGNORE_COPY:
        return "HA_EXTRA_BEGIN_ALTER_IGNORE_COPY";
      case Operation::HA_EXTRA_END_COPY:
        return "HA_EXTRA_END_COPY";
      case Operation::HA_EXTRA_ABORT_COPY:
        return "HA_EXTRA_ABORT_COPY";
      default:
        return nullptr;
    }
  }
}

}  // namespace hailstone

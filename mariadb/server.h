// The server's own headers, in the order that they need. Include it after the library's headers: the server
// defines macros with everyday names.
#pragma once

#include <my_global.h>

#include <handler.h>
#include <key.h>
#include <log.h>
#include <mysql/plugin.h>
#include <mysql/service_my_snprintf.h>
#include <sql_base.h>
#include <sql_class.h>
#include <sql_parse.h>
#include <sql_priv.h>
#include <sql_select.h>
#include <sql_show.h>
#include <sql_table.h>
#include <strfunc.h>
#include <tztime.h>

#undef test
#undef min
#undef max

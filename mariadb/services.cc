// The server's service pointers. The server fills those of the library that it loads itself, which is the
// loader (loader/loader.cc); so the engine points its own at the functions of the server. A pointer that is
// missing here is an undefined symbol, which `./run build` names.
#include "server.h"

#ifdef MYSQL_DYNAMIC_PLUGIN
#error "with it the names below stand for the pointers, not for the server's functions"
#endif

namespace {

my_print_error_service_st print_errors = {my_error, my_printf_error, my_printv_error};
progress_report_service_st report_progress = {thd_progress_init, thd_progress_report, thd_progress_next_stage,
                                              thd_progress_end, set_thd_proc_info};
thd_alloc_service_st allocate = {thd_alloc,   thd_calloc, thd_strdup,
                                 thd_strmake, thd_memdup, thd_make_lex_string};
kill_statement_service_st tell_kills = {thd_kill_level};

}  // namespace

my_print_error_service_st* my_print_error_service = &print_errors;
progress_report_service_st* progress_report_service = &report_progress;
thd_alloc_service_st* thd_alloc_service = &allocate;
kill_statement_service_st* thd_kill_statement_service = &tell_kills;

#include "rights.h"

#include "discovery.h"
#include "engine.h"
#include "server/differences.h"
// clang-format off
#include <sql_acl.h>
#include <sql_parse.h>
// clang-format on

namespace hailstone {

TableRights::TableRights(THD* thd, const std::string& name) : thd_(thd) {
  std::tie(schema_, table_) = sql_names(table_of_partition(name));
  const LEX_CSTRING schema{schema_.data(), schema_.size()};
  const LEX_CSTRING table{table_.data(), table_.size()};
  list_.init_one_table(&schema, &table, nullptr, TL_READ);
  if (schema_.empty()) return;
  // True means a refusal, here as in the server's other functions of this kind.
  const bool refused = check_access(thd, SELECT_ACL, schema_.c_str(), &list_.grant.privilege,
                                    &list_.grant.m_internal, false, true);
  if (refused && (list_.grant.privilege & TABLE_ACLS) == NO_ACL) return;
  any_ =
      (list_.grant.privilege & TABLE_ACLS) != NO_ACL || !check_grant(thd, TABLE_ACLS, &list_, true, 1, true);
}

bool TableRights::may_read(const std::string& column) {
  if (!any_) return false;
  // Fills in the rights on the table and its columns, which a right on the whole database makes needless.
  static_cast<void>(check_grant(thd_, SELECT_ACL, &list_, true, 1, true));
  const privilege_t rights = rights_on_column(thd_, &list_.grant, schema_.c_str(), table_.c_str(), column);
  return (rights & SELECT_ACL) != NO_ACL;
}

bool runs_with_rights_of_another(THD* thd) { return thd->security_ctx != &thd->main_security_ctx; }

}  // namespace hailstone

// CREATE, DROP, RENAME, TRUNCATE, ALTER in place; CHECK, ANALYZE, OPTIMIZE.
#include <climits>
#include <cstring>
#include <string_view>

#include "definition.h"
#include "discovery.h"
#include "engine.h"
#include "error.h"
#include "ha_hailstone.h"
#include "missing_tables.h"
#include "server/differences.h"
#include "table_place.h"
#include "two_phase.h"
#include "variables.h"

namespace hailstone {

namespace {

void warn_of_ignored(THD* thd, const char* option) {
  push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, WARN_OPTION_IGNORED,
                      ER_DEFAULT(WARN_OPTION_IGNORED), option);
}

/// What the statement says and the engine does not do.
void warn_of_what_is_ignored(THD* thd, const HA_CREATE_INFO& info) {
  if (info.data_file_name != nullptr) warn_of_ignored(thd, "DATA DIRECTORY");
  if (info.index_file_name != nullptr) warn_of_ignored(thd, "INDEX DIRECTORY");
  if (const int command = thd_sql_command(thd);
      command != SQLCOM_CREATE_TABLE && command != SQLCOM_ALTER_TABLE && command != SQLCOM_CREATE_INDEX)
    return;
  List_iterator<Key> keys(thd->lex->alter_info.key_list);
  while (const Key* const key = keys++) {
    if (key->type == Key::FOREIGN_KEY) warn_of_ignored(thd, "FOREIGN KEY");
  }
}

/// The server's own error of a wrong option, with what is allowed.
void raise_wrong_option(const WrongOption& wrong) {
  my_printf_error(ER_BAD_OPTION_VALUE, "Incorrect value '%-.64s' for option '%-.64s'; allowed: %s", MYF(0),
                  wrong.value, wrong.option, wrong.allowed);
}

/// Whether a wrong value of a column's option is only warned of, as by the server.
bool passes_wrong_options(const THD& thd) {
  return (thd.variables.sql_mode & MODE_IGNORE_BAD_TABLE_OPTIONS) != 0 || thd.slave_thread;
}

}  // namespace

int HailstoneHandler::create(const char* name, TABLE* form, HA_CREATE_INFO* info) {
  return on_path({.function = "create", .path = name}, [&]() -> int {
    if (const int error = check_place(name); error != 0) return error;
    if (has_vector_index(*form->s)) {
      my_error(ER_ILLEGAL_HA_CREATE_OPTION, MYF(0), "HAILSTONE", "VECTOR INDEX");
      return HA_WRONG_CREATE_OPTION;
    }
    if (const auto wrong = wrong_retention(*form)) {
      raise_wrong_option(*wrong);
      return HA_WRONG_CREATE_OPTION;
    }
    if (const auto wrong = wrong_layout(*form)) {
      if (!passes_wrong_options(*ha_thd())) {
        raise_wrong_option(*wrong);
        return HA_WRONG_CREATE_OPTION;
      }
      push_warning_printf(ha_thd(), Sql_condition::WARN_LEVEL_WARN, ER_BAD_OPTION_VALUE,
                          ER_THD(ha_thd(), ER_BAD_OPTION_VALUE), wrong->value, wrong->option);
    }
    // The server opens every partition by the options of the table.
    if (!same_in_memory(options_of(*form->s), info->option_struct)) {
      my_error(ER_PARTITION_EXCHANGE_DIFFERENT_OPTION, MYF(0), "IN_MEMORY");
      return HA_WRONG_CREATE_OPTION;
    }
    auto definition = define_table(*form, table_name_of_path(name), columnar_by_default(ha_thd()));
    if (!definition) return report(definition.error());
    if (!is_temporary_name(definition->name) && !is_partition_name(definition->name))
      definition->application = pack_image(*form->s, *form->s);
    // As MEMORY has it: the limit is that of the session which makes the table.
    if (definition->in_memory && definition->most_bytes == 0)
      definition->most_bytes = ha_thd()->variables.max_heap_table_size;
    const Status created = in_own_transaction([&](Transaction& transaction) -> Status {
      HAILSTONE_ASSIGN(const auto made, database().create_table(transaction, *definition));
      if (info->auto_increment_value > 1)
        return made->raise_auto_increment(transaction, info->auto_increment_value);
      return {};
    });
    if (created) {
      warn_of_what_is_ignored(ha_thd(), *info);
      // A database under its old name can be given its new one: the server then moves the files that it sees.
      if (sql_names(definition->name).first.starts_with(MYSQL50_TABLE_NAME_PREFIX))
        return ensure_definition_file(name);
      return 0;
    }
    // The server's own message names no reason, and not the partition.
    if (created.error().code() == ErrorCode::AlreadyExists) {
      char shown[FN_REFLEN];
      explain_filename(ha_thd(), definition->name.c_str(), shown, sizeof shown,
                       EXPLAIN_PARTITIONS_AS_COMMENT);
      my_error(ER_TABLE_EXISTS_ERROR, MYF(0), shown);
    }
    if (created.error().code() == ErrorCode::InvalidArgument ||
        created.error().code() == ErrorCode::Unsupported) {
      raise_error(created.error());
    }
    return report(created.error());
  });
}

int drop_table_of_path(THD* thd, const char* path) {
  const std::string name = table_name_of_path(path);
  const Status dropped = in_own_transaction([&](Transaction& transaction) -> Status {
    HAILSTONE_TRY(wait_for_prepared(thd, name));
    return database().drop_table(transaction, name);
  });
  if (dropped) {
    // Not when the whole table goes.
    if (is_partition_name(name) && thd_sql_command(thd) == SQLCOM_ALTER_TABLE) note_partition_gone(name);
    return 0;
  }
  if (dropped.error().code() == ErrorCode::NotFound) return HA_ERR_NO_SUCH_TABLE;
  raise_error(dropped.error());
  return handler_error(thd, dropped.error());
}

int HailstoneHandler::delete_table(const char* name) {
  return on_path({.function = "delete_table", .path = name},
                 [&]() -> int { return drop_table_of_path(ha_thd(), name); });
}

int HailstoneHandler::rename_table(const char* from, const char* to) {
  return on_path({.function = "rename_table", .argument = Argument::RenamedTo, .text = to, .path = from},
                 [&]() -> int {
                   const std::string name = table_name_of_path(from);
                   const std::string new_name = table_name_of_path(to);
                   if (const int error = check_place(to); error != 0) return error;
                   note_exchange(name, new_name);
                   const Status renamed = in_own_transaction([&](Transaction& transaction) -> Status {
                     HAILSTONE_TRY(wait_for_prepared(ha_thd(), name));
                     HAILSTONE_TRY(database().rename_table(transaction, name, new_name));
                     auto image = image_after_rename(name, new_name);
                     if (!image) return {};
                     HAILSTONE_ASSIGN(TableDefinition definition, database().definition(name));
                     definition.name = new_name;
                     definition.application = std::move(*image);
                     return database().replace_definition(transaction, new_name, std::move(definition));
                   });
                   if (renamed) {
                     if (is_partition_name(name) && table_of_partition(name) != table_of_partition(new_name))
                       note_partition_gone(name);
                     return 0;
                   }
                   if (renamed.error().code() != ErrorCode::NotFound) return report(renamed.error());
                   warn_of_missing_table(ha_thd(), name);
                   return HA_ERR_NO_SUCH_TABLE;
                 });
}

int HailstoneHandler::truncate() {
  return entry({"truncate"}, [&]() -> int {
    std::shared_ptr<Table> empty;
    const Status truncated = in_own_transaction([&](Transaction& transaction) -> Status {
      HAILSTONE_TRY(wait_for_prepared(ha_thd(), name_));
      HAILSTONE_ASSIGN(empty, database().truncate_table(transaction, name_));
      return {};
    });
    if (!truncated) return report(truncated.error());
    put_in_place(std::move(empty));
    return 0;
  });
}

void HailstoneHandler::put_in_place(std::shared_ptr<Table> other) {
  release_readers();
  shared_->replace(std::move(other));
  generation_ = shared_->generation();
  table_ = shared_->table();
  read_set_.clear();
}

int HailstoneHandler::discard_or_import_tablespace(my_bool discard) {
  if (is_temporary_name(name_)) {
    my_error(ER_CANNOT_DISCARD_TEMPORARY_TABLE, MYF(0));
    return HA_ERR_WRONG_COMMAND;
  }
  // A sequence without its row is none.
  if (table->s->sequence != nullptr) {
    my_error(ER_ILLEGAL_HA, MYF(0), "HAILSTONE", table->s->db.str, table->s->table_name.str);
    return HA_ERR_WRONG_COMMAND;
  }
  if (discard != 0) return truncate();
  return entry({"import_tablespace"}, [&]() -> int {
    auto imported = import_table(ha_thd(), *table, name_);
    if (!imported) return report(imported.error());
    put_in_place(std::move(*imported));
    return 0;
  });
}

// --- in place: only what the stored rows know nothing of

enum_alter_inplace_result HailstoneHandler::check_if_supported_inplace_alter(TABLE* altered,
                                                                             Alter_inplace_info* changes) {
  return entry({"check_if_supported_inplace_alter", Returns::Alter}, [&]() -> enum_alter_inplace_result {
    constexpr alter_table_operations names_and_defaults =
        ALTER_COLUMN_NAME | ALTER_RENAME_COLUMN | ALTER_RENAME | ALTER_RENAME_INDEX |
        ALTER_CHANGE_COLUMN_DEFAULT | ALTER_COLUMN_DEFAULT | ALTER_OPTIONS | ALTER_CHANGE_COLUMN |
        ALTER_COLUMN_OPTION | ALTER_CHANGE_INDEX_COMMENT | ALTER_CHANGE_CREATE_OPTION |
        ALTER_INDEX_IGNORABILITY | ALTER_DROP_CHECK_CONSTRAINT;
    if (transaction_ == nullptr) take_newest_table();
    if ((changes->handler_flags & ~names_and_defaults) != 0) return HA_ALTER_INPLACE_NOT_SUPPORTED;
    // A table that becomes a sequence, or is one no more, is checked by the server while it copies the row.
    if ((changes->create_info->used_fields & (HA_CREATE_USED_AUTO | HA_CREATE_USED_SEQUENCE)) != 0)
      return HA_ALTER_INPLACE_NOT_SUPPORTED;
    // The copy says what is wrong.
    if (wrong_layout(*altered)) return HA_ALTER_INPLACE_NOT_SUPPORTED;
    const auto before = define_table(*table, name_, columnar_by_default(ha_thd()));
    const auto after = define_table(*altered, name_, columnar_by_default(ha_thd()));
    if (!before || !after || !difference(table_->definition(), *after).empty())
      return HA_ALTER_INPLACE_NOT_SUPPORTED;
    if (before->most_bytes != after->most_bytes) return HA_ALTER_INPLACE_NOT_SUPPORTED;
    for (size_t i = 0; i < before->columns.size(); ++i) {
      // The words of a column or its comment now want it stored otherwise.
      if (before->columns[i].columnar != after->columns[i].columnar) return HA_ALTER_INPLACE_NOT_SUPPORTED;
      // The keys of an earlier version are in another order: a copy puts them right.
      if (table_->definition().columns[i].collation != after->columns[i].collation)
        return HA_ALTER_INPLACE_NOT_SUPPORTED;
    }
    return HA_ALTER_INPLACE_INSTANT;
  });
}

bool HailstoneHandler::check_if_incompatible_data(HA_CREATE_INFO* info, uint changes) {
  // A partition that is exchanged keeps its definition: the table would not say how long its rows stay, and
  // where they are.
  const bool same = changes == IS_EQUAL_YES && same_retention(options_of(*table->s), info->option_struct) &&
                    same_in_memory(options_of(*table->s), info->option_struct);
  return same ? COMPATIBLE_DATA_YES : COMPATIBLE_DATA_NO;
}

bool HailstoneHandler::inplace_alter_table(TABLE*, Alter_inplace_info*) {
  return entry({"inplace_alter_table"}, [] { return false; });
}

bool HailstoneHandler::commit_inplace_alter_table(TABLE* altered, Alter_inplace_info* changes, bool commit) {
  return entry({.function = "commit_inplace_alter_table",
                .argument = Argument::Text,
                .text = commit ? "commit" : "roll back"},
               [&]() -> bool {
                 changes->group_commit_ctx = nullptr;
                 if (!commit) return false;
                 const TableDefinition& stored = table_->definition();
                 auto definition = define_table(*altered, name_, true);
                 Status replaced = definition ? Status{} : Status(std::unexpected(definition.error()));
                 if (replaced) {
                   for (size_t i = 0; i < stored.columns.size(); ++i) {
                     definition->columns[i].columnar = stored.columns[i].columnar;
                     definition->columns[i].application = stored.columns[i].application;
                   }
                   definition->application = stored.application;
                   definition->most_bytes = stored.most_bytes;
                   // The server has put the new image where the old one was.
                   if (!is_temporary_name(name_) && !is_partition_name(name_)) {
                     if (std::string image = pack_image(*table->s, *altered->s); !image.empty())
                       definition->application = std::move(image);
                   }
                   definition->name = stored.name;
                   if (*definition == stored) return false;
                   definition->name = name_;
                   replaced = in_own_transaction([&](Transaction& transaction) {
                     return database().replace_definition(transaction, name_, std::move(*definition));
                   });
                 }
                 if (replaced) return false;
                 raise_error(replaced.error());
                 return true;
               });
}

// --- care

int HailstoneHandler::check(THD* thd, HA_CHECK_OPT*) {
  return entry({"check", Returns::Admin}, [&]() -> int {
    if (transaction_ == nullptr) take_newest_table();
    Status checked = table_->usable();
    if (checked) {
      checked = in_own_transaction([&](Transaction& transaction) {
        return table_->check(transaction, [thd] { return thd_kill_level(thd) != THD_IS_NOT_KILLED; });
      });
    }
    if (checked) return HA_ADMIN_OK;
    if (checked.error().code() == ErrorCode::Interrupted) return HA_ADMIN_FAILED;
    raise_error(checked.error());
    sql_print_error("Hailstone: %s", checked.error().message().c_str());
    return checked.error().code() == ErrorCode::Corruption ? HA_ADMIN_CORRUPT : HA_ADMIN_FAILED;
  });
}

int HailstoneHandler::analyze(THD* thd, HA_CHECK_OPT*) {
  return entry({"analyze", Returns::Admin}, [&]() -> int {
    if (transaction_ == nullptr) take_newest_table();
    if (const Status analyzed = table_->analyze(); !analyzed) {
      raise_error(analyzed.error());
      return HA_ADMIN_FAILED;
    }
    // All sessions have the server's numbers of the keys in common.
    if (is_partition_name(name_)) {
      Session::of(thd).note_partition_analysis();
    } else {
      update_statistics(HA_STATUS_VARIABLE | HA_STATUS_CONST);
    }
    return HA_ADMIN_OK;
  });
}

int HailstoneHandler::optimize(THD* thd, HA_CHECK_OPT*) {
  return entry({"optimize", Returns::Admin}, [&]() -> int {
    if (transaction_ == nullptr) take_newest_table();
    const Status optimized = table_->optimize([thd] { return thd_kill_level(thd) != THD_IS_NOT_KILLED; });
    if (optimized) return HA_ADMIN_OK;
    if (optimized.error().code() != ErrorCode::Interrupted) raise_error(optimized.error());
    return HA_ADMIN_FAILED;
  });
}

}  // namespace hailstone

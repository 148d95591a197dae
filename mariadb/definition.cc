#include "definition.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "collation.h"
#include "engine.h"
#include "fmt/format.h"
#include "retention.h"
#include "server/differences.h"

// The server gives each column an object of this type, with what its COLUMNAR attribute said.
struct ha_field_option_struct {
  char* columnar;  // null: it said nothing
};

// What the table's own options said.
struct ha_table_option_struct {
  bool in_memory;
  ulonglong size;
  char* retain;
  char* retain_by;
};

namespace hailstone {

namespace {

/// How a column's own words want it stored.
enum class Wish { None, Columnar, Rows };

constexpr const char* allowed_layouts = "1, YES, ON (by column), 0, NO, OFF (with the row) or DEFAULT";

/// Of a value of COLUMNAR; nothing: there is no such value. Read by hand, as the server's own list of values
/// would not say what is allowed.
std::optional<Wish> wish_of_value(const char* value) {
  struct Named {
    const char* name;
    Wish wish;
  };
  static constexpr std::array<Named, 7> all{{{"DEFAULT", Wish::None},
                                             {"0", Wish::Rows},
                                             {"1", Wish::Columnar},
                                             {"NO", Wish::Rows},
                                             {"YES", Wish::Columnar},
                                             {"OFF", Wish::Rows},
                                             {"ON", Wish::Columnar}}};
  const auto is_it = [&](const Named& each) { return is_same_name(each.name, value); };
  const auto found = std::ranges::find_if(all, is_it);
  if (found == all.end()) return std::nullopt;
  return found->wish;
}

Wish wish_of(const Field& field) {
  if (field.option_struct != nullptr && field.option_struct->columnar != nullptr) {
    // A value that is none was warned of when it was written, and then says nothing.
    const Wish wish = wish_of_value(field.option_struct->columnar).value_or(Wish::None);
    if (wish != Wish::None) return wish;
  }
  const std::string_view comment(field.comment.str != nullptr ? field.comment.str : "", field.comment.length);
  return comment.find("columnar_storage") != std::string_view::npos ? Wish::Columnar : Wish::None;
}

IndexPart index_part(const KEY_PART_INFO& part, const Field& field, uint16_t column) {
  IndexPart result;
  result.column = column;
  result.descending = (part.key_part_flag & HA_REVERSE_SORT) != 0;
  const bool whole = (field.flags & BLOB_FLAG) == 0 && part.length == field.key_length();
  if (!whole) result.prefix = part.length / field.charset()->mbmaxlen;
  return result;
}

/// The place of each field's column among those that are stored, or RecordFormat::not_stored.
std::vector<uint16_t> places_of_columns(const TABLE& form) {
  std::vector<uint16_t> places(form.s->fields, RecordFormat::not_stored);
  uint16_t next = 0;
  for (uint i = 0; i < form.s->fields; ++i) {
    if (RecordFormat::is_stored(form, *form.field[i])) places[i] = next++;
  }
  return places;
}

std::expected<Retention, WrongOption> retention_of(const TABLE& form, std::span<const uint16_t> columns) {
  const auto* const options = options_of(*form.s);
  if (options == nullptr) return Retention{};
  return read_retention(form, {options->retain, options->retain_by}, columns);
}

}  // namespace

std::optional<WrongOption> wrong_retention(const TABLE& form) {
  const auto retention = retention_of(form, places_of_columns(form));
  if (retention) return std::nullopt;
  return retention.error();
}

std::optional<WrongOption> wrong_layout(const TABLE& form) {
  for (uint i = 0; i < form.s->fields; ++i) {
    const auto* const options = form.field[i]->option_struct;
    if (options != nullptr && options->columnar != nullptr && !wish_of_value(options->columnar))
      return WrongOption{"COLUMNAR", options->columnar, allowed_layouts};
  }
  return std::nullopt;
}

bool same_retention(const ha_table_option_struct* one, const ha_table_option_struct* other) {
  const auto text = [](const char* option) { return std::string_view(option == nullptr ? "" : option); };
  const auto words = [&](const ha_table_option_struct* options) {
    return options == nullptr ? std::pair<std::string_view, std::string_view>()
                              : std::pair(text(options->retain), text(options->retain_by));
  };
  return words(one) == words(other);
}

bool same_in_memory(const ha_table_option_struct* one, const ha_table_option_struct* other) {
  const auto in_memory = [](const ha_table_option_struct* options) {
    return options != nullptr && options->in_memory;
  };
  return in_memory(one) == in_memory(other);
}

ha_create_table_option column_options[] = {HA_FOPTION_STRING("COLUMNAR", columnar), HA_FOPTION_END};

ha_create_table_option table_options[] = {HA_TOPTION_BOOL("IN_MEMORY", in_memory, false),
                                          HA_TOPTION_NUMBER("IN_MEMORY_SIZE", size, 0, 0, ULLONG_MAX, 1),
                                          HA_TOPTION_STRING("RETAIN", retain),
                                          HA_TOPTION_STRING("RETAIN_BY", retain_by), HA_TOPTION_END};

Result<TableDefinition> define_table(const TABLE& form, std::string name, bool columnar_default) {
  TableDefinition definition;
  definition.name = std::move(name);
  definition.temporary = is_temporary_name(definition.name);
  const TABLE_SHARE& share = *form.s;
  if (const auto* const options = options_of(share); options != nullptr && options->in_memory) {
    definition.in_memory = true;
    definition.most_bytes = options->size;
  }
  const std::vector<uint16_t> columns = places_of_columns(form);
  std::vector<Wish> wishes;
  for (uint i = 0; i < share.fields; ++i) {
    const Field& field = *form.field[i];
    if (!RecordFormat::is_stored(form, field)) continue;
    HAILSTONE_ASSIGN(Column column, column_for(field));
    definition.columns.push_back(std::move(column));
    wishes.push_back(wish_of(field));
  }
  const auto wants_columnar = [](Wish wish) { return wish == Wish::Columnar; };
  const bool some_columnar = std::any_of(wishes.begin(), wishes.end(), wants_columnar);
  for (size_t i = 0; i < wishes.size(); ++i) {
    Column& column = definition.columns[i];
    switch (wishes[i]) {
      case Wish::Columnar:
        column.columnar = true;
        break;
      case Wish::Rows:
        column.columnar = false;
        break;
      // Who picks some columns means those only.
      case Wish::None:
        column.columnar = !some_columnar && columnar_default && column.type != Type::Blob;
        break;
    }
  }
  const auto retention = retention_of(form, columns);
  if (!retention) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("table '{}': incorrect value '{}' for option {}; allowed: {}", definition.name,
                            retention.error().value, retention.error().option, retention.error().allowed));
  }
  definition.retention = *retention;
  // The least and the greatest time of each block then say which need not be looked at.
  if (retention->any()) definition.columns[retention->column].columnar = true;
  definition.has_primary_key = share.primary_key == 0;
  for (uint i = 0; i < share.keys; ++i) {
    const KEY& key = form.key_info[i];
    Index index;
    index.name.assign(key.name.str, key.name.length);
    // The server itself keeps a UNIQUE over long columns, by means of an ordinary index on a hash.
    index.unique = (key.flags & HA_NOSAME) != 0 && key.algorithm != HA_KEY_ALG_LONG_HASH;
    for (uint part = 0; part < key.user_defined_key_parts; ++part) {
      const uint field = key.key_part[part].fieldnr - 1U;
      index.parts.push_back(index_part(key.key_part[part], *form.field[field], columns[field]));
    }
    definition.indexes.push_back(std::move(index));
  }
  return definition;
}

std::string difference(const TableDefinition& stored, const TableDefinition& wanted) {
  if (stored.columns.size() != wanted.columns.size()) {
    return fmt::format("{} columns are stored, the table definition has {}", stored.columns.size(),
                       wanted.columns.size());
  }
  for (size_t i = 0; i < stored.columns.size(); ++i) {
    Column column = stored.columns[i];
    column.columnar = wanted.columns[i].columnar;
    column.name = wanted.columns[i].name;
    column.application = wanted.columns[i].application;
    // A table of an earlier version does not tell of decimals.
    if (!column.decimal.any()) column.decimal = wanted.columns[i].decimal;
    // Keys of a table of an earlier version stay in the order in which they are.
    if (column.collation == earlier_collation_id(wanted.columns[i].collation))
      column.collation = wanted.columns[i].collation;
    if (column != wanted.columns[i])
      return fmt::format("column '{}' is stored as another type", wanted.columns[i].name);
  }
  if (stored.in_memory != wanted.in_memory)
    return stored.in_memory ? "its rows are in memory only" : "its rows are not in memory only";
  if (stored.has_primary_key != wanted.has_primary_key) return "the primary keys differ";
  if (stored.indexes.size() != wanted.indexes.size()) {
    return fmt::format("{} indexes are stored, the table definition has {}", stored.indexes.size(),
                       wanted.indexes.size());
  }
  for (size_t i = 0; i < stored.indexes.size(); ++i) {
    Index index = stored.indexes[i];
    index.name = wanted.indexes[i].name;
    if (index != wanted.indexes[i])
      return fmt::format("index '{}' is stored over other columns", wanted.indexes[i].name);
  }
  return {};
}

}  // namespace hailstone

#include "schema/table_definition.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include <fmt/format.h>

#include "base/version.h"

namespace hailstone {
namespace {

constexpr uint8_t format_version = 4;
constexpr uint8_t format_version_3 = 3;  // without tables whose rows expire
constexpr uint8_t format_version_2 = 2;  // without tables in memory, too
constexpr uint8_t format_version_1 = 1;  // without columns of decimals, too

constexpr uint8_t column_is_nullable = 1;
constexpr uint8_t column_is_columnar = 2;
constexpr uint8_t column_is_decimal = 4;
constexpr uint8_t index_is_unique = 1;
constexpr uint8_t part_is_descending = 1;
constexpr uint8_t table_has_primary_key = 1;
constexpr uint8_t table_is_in_memory = 2;
constexpr uint8_t table_is_temporary = 4;

std::unexpected<Error> damaged(std::string_view table, std::string_view what) {
  return fail(
      ErrorCode::Corruption,
      fmt::format("the stored definition of table '{}' is damaged: {}; restore the database from a backup",
                  table, what));
}

bool take_number(ByteReader& bytes, uint32_t& value) {
  uint64_t wide = 0;
  if (!bytes.take_varint(wide) || wide > std::numeric_limits<uint32_t>::max()) return false;
  value = static_cast<uint32_t>(wide);
  return true;
}

bool take_text(ByteReader& bytes, std::string& text) {
  ByteView view;
  if (!bytes.take_string(view)) return false;
  text.assign(view);
  return true;
}

bool take_flags(ByteReader& bytes, uint8_t known, uint8_t& flags) {
  return bytes.take(flags) && (flags & ~known) == 0;
}

bool take_column(ByteReader& bytes, uint8_t version, Column& column) {
  uint8_t type = 0;
  uint8_t flags = 0;
  uint8_t known = column_is_nullable | column_is_columnar;
  if (version != format_version_1) known |= column_is_decimal;
  if (!take_text(bytes, column.name) || !bytes.take(type) || !take_number(bytes, column.width) ||
      !take_number(bytes, column.collation) || !take_flags(bytes, known, flags)) {
    return false;
  }
  if ((flags & column_is_decimal) != 0 &&
      (!bytes.take(column.decimal.precision) || !bytes.take(column.decimal.scale) || !column.decimal.any())) {
    return false;
  }
  if (!take_text(bytes, column.application)) return false;
  if (type < static_cast<uint8_t>(Type::Signed) || type > static_cast<uint8_t>(Type::Blob)) return false;
  column.type = static_cast<Type>(type);
  column.nullable = (flags & column_is_nullable) != 0;
  column.columnar = (flags & column_is_columnar) != 0;
  return true;
}

bool take_retention(ByteReader& bytes, Retention& retention) {
  uint8_t unit = 0;
  uint32_t column = 0;
  if (!take_number(bytes, retention.amount) || !bytes.take(unit) || !take_number(bytes, column) ||
      !bytes.take(retention.scale)) {
    return false;
  }
  if (!retention.any() || unit < static_cast<uint8_t>(Retention::Unit::Hour) ||
      unit > static_cast<uint8_t>(Retention::Unit::Year) || column >= max_columns) {
    return false;
  }
  retention.unit = static_cast<Retention::Unit>(unit);
  retention.column = static_cast<uint16_t>(column);
  return true;
}

bool take_index(ByteReader& bytes, Index& index) {
  uint8_t flags = 0;
  uint32_t parts = 0;
  if (!take_text(bytes, index.name) || !take_flags(bytes, index_is_unique, flags) ||
      !take_number(bytes, parts) || parts > max_columns) {
    return false;
  }
  index.unique = (flags & index_is_unique) != 0;
  for (uint32_t i = 0; i < parts; ++i) {
    IndexPart part;
    uint32_t column = 0;
    if (!take_number(bytes, column) || column >= max_columns || !take_number(bytes, part.prefix) ||
        !take_flags(bytes, part_is_descending, flags)) {
      return false;
    }
    part.column = static_cast<uint16_t>(column);
    part.descending = (flags & part_is_descending) != 0;
    index.parts.push_back(part);
  }
  return true;
}

bool decimal_fits(const Column& column) {
  if (!column.decimal.any()) return true;
  return column.type == Type::OrderedBytes && column.decimal.valid() &&
         column.width == DecimalFormat(column.decimal).width();
}

bool width_fits(const Column& column) {
  switch (column.type) {
    case Type::Signed:
      return (column.width >= 1 && column.width <= 4) || column.width == 8;
    case Type::Unsigned:
      return column.width >= 1 && column.width <= 8;
    case Type::Float:
      return column.width == 4;
    case Type::Double:
      return column.width == 8;
    case Type::OrderedBytes:
      return column.width >= 1 && column.width <= max_row_bytes;
    case Type::Char:
    case Type::Varchar:
      return true;
    case Type::Blob:
      return column.width == 0;
  }
  return false;
}

std::unexpected<Error> invalid(const TableDefinition& table, std::string_view what) {
  return fail(ErrorCode::InvalidArgument, fmt::format("table '{}': {}", table.name, what));
}

Status validate_retention(const TableDefinition& table) {
  const Retention& retention = table.retention;
  if (!retention.any()) return {};
  if (retention.amount > most_retention_units) {
    return invalid(table, fmt::format("its rows are to stay for {} units of time; {} are allowed",
                                      retention.amount, most_retention_units));
  }
  if (retention.column >= table.columns.size()) {
    return invalid(table, fmt::format("its rows are to expire by column number {} of {}", retention.column,
                                      table.columns.size()));
  }
  const Column& column = table.columns[retention.column];
  if (!column.is_integer() || column.type == Type::Float || column.type == Type::Double) {
    return invalid(table,
                   fmt::format("its rows are to expire by column '{}', which holds no times", column.name));
  }
  if (retention.scale == 0)
    return invalid(table, fmt::format("nothing says what the times of column '{}' count", column.name));
  return {};
}

Status validate_index(const TableDefinition& table, const Index& index, bool clustered) {
  if (index.name.empty()) return invalid(table, "an index has no name");
  if (index.parts.empty()) return invalid(table, fmt::format("index '{}' has no columns", index.name));
  size_t fixed_bytes = 0;
  std::unordered_set<uint16_t> seen;
  for (const IndexPart& part : index.parts) {
    if (part.column >= table.columns.size()) {
      return invalid(table, fmt::format("index '{}' names column number {} of {}", index.name, part.column,
                                        table.columns.size()));
    }
    const Column& column = table.columns[part.column];
    if (!seen.insert(part.column).second) {
      return invalid(table, fmt::format("index '{}' names column '{}' twice", index.name, column.name));
    }
    if (part.prefix != 0 && column.type < Type::OrderedBytes) {
      return invalid(table, fmt::format("index '{}' takes a prefix of column '{}', which is a number",
                                        index.name, column.name));
    }
    if (clustered && column.nullable) {
      return invalid(table,
                     fmt::format("the primary key contains column '{}', which may be NULL", column.name));
    }
    if (column.type <= Type::OrderedBytes) {
      fixed_bytes += part.prefix != 0 && part.prefix < column.width ? part.prefix : column.width;
    }
  }
  if (fixed_bytes > max_key_bytes) {
    return invalid(table, fmt::format("a key of index '{}' would have {} bytes; {} are allowed", index.name,
                                      fixed_bytes, max_key_bytes));
  }
  return {};
}

}  // namespace

void TableDefinition::append_to(std::string& bytes) const {
  const bool decimals = std::ranges::any_of(columns, [](const Column& each) { return each.decimal.any(); });
  append_number(bytes, retention.any()          ? format_version
                       : in_memory || temporary ? format_version_3
                       : decimals               ? format_version_2
                                                : format_version_1);
  append_string(bytes, name);
  append_number(bytes, static_cast<uint8_t>((has_primary_key ? table_has_primary_key : 0) |
                                            (in_memory ? table_is_in_memory : 0) |
                                            (temporary ? table_is_temporary : 0)));
  append_string(bytes, application);
  if (in_memory) append_varint(bytes, most_bytes);
  if (retention.any()) {
    append_varint(bytes, retention.amount);
    append_number(bytes, static_cast<uint8_t>(retention.unit));
    append_varint(bytes, retention.column);
    append_number(bytes, retention.scale);
  }
  append_varint(bytes, columns.size());
  for (const Column& column : columns) {
    append_string(bytes, column.name);
    append_number(bytes, static_cast<uint8_t>(column.type));
    append_varint(bytes, column.width);
    append_varint(bytes, column.collation);
    append_number(bytes, static_cast<uint8_t>((column.nullable ? column_is_nullable : 0) |
                                              (column.columnar ? column_is_columnar : 0) |
                                              (column.decimal.any() ? column_is_decimal : 0)));
    if (column.decimal.any()) {
      append_number(bytes, column.decimal.precision);
      append_number(bytes, column.decimal.scale);
    }
    append_string(bytes, column.application);
  }
  append_varint(bytes, indexes.size());
  for (const Index& index : indexes) {
    append_string(bytes, index.name);
    append_number(bytes, static_cast<uint8_t>(index.unique ? index_is_unique : 0));
    append_varint(bytes, index.parts.size());
    for (const IndexPart& part : index.parts) {
      append_varint(bytes, part.column);
      append_varint(bytes, part.prefix);
      append_number(bytes, static_cast<uint8_t>(part.descending ? part_is_descending : 0));
    }
  }
}

bool TableDefinition::has_retention(uint8_t format) { return format == format_version; }

Result<TableDefinition> TableDefinition::parse(ByteReader& bytes) {
  TableDefinition table;
  uint8_t version = 0;
  if (!bytes.take(version)) return damaged("", "it is empty");
  if (version < format_version_1) return damaged("", "its format is 0, which none has");
  if (version > format_version) {
    return fail(ErrorCode::Unsupported, fmt::format("the definition of a table {}", unknown_format(version)));
  }
  uint8_t flags = 0;
  if (!take_text(bytes, table.name)) return damaged("", "its name is cut off");
  const uint8_t known = version >= format_version_3
                            ? table_has_primary_key | table_is_in_memory | table_is_temporary
                            : table_has_primary_key;
  if (!take_flags(bytes, known, flags) || !take_text(bytes, table.application)) {
    return damaged(table.name, "its head is cut off");
  }
  table.has_primary_key = (flags & table_has_primary_key) != 0;
  table.in_memory = (flags & table_is_in_memory) != 0;
  table.temporary = (flags & table_is_temporary) != 0;
  if (table.in_memory && !bytes.take_varint(table.most_bytes))
    return damaged(table.name, "its head is cut off");
  if (version == format_version && !take_retention(bytes, table.retention))
    return damaged(table.name, "how long its rows stay is unreadable");
  uint32_t count = 0;
  if (!take_number(bytes, count) || count > max_columns)
    return damaged(table.name, "its number of columns is impossible");
  for (uint32_t i = 0; i < count; ++i) {
    if (!take_column(bytes, version, table.columns.emplace_back()))
      return damaged(table.name, fmt::format("column {} is unreadable", i));
  }
  if (!take_number(bytes, count)) return damaged(table.name, "its number of indexes is cut off");
  // No memory is set aside for a count that damage may have made huge: each index takes bytes that have to be
  // there.
  for (uint32_t i = 0; i < count; ++i) {
    if (!take_index(bytes, table.indexes.emplace_back()))
      return damaged(table.name, fmt::format("index {} is unreadable", i));
  }
  if (const Status valid = table.validate(); !valid) return damaged(table.name, valid.error().message());
  return table;
}

Status TableDefinition::validate() const {
  if (name.empty()) return invalid(*this, "it has no name");
  if (columns.empty()) return invalid(*this, "it has no columns");
  if (columns.size() > max_columns) {
    return invalid(*this, fmt::format("it has {} columns; {} are allowed", columns.size(), max_columns));
  }
  size_t fixed_bytes = 0;
  std::unordered_set<std::string_view> names;
  for (const Column& column : columns) {
    if (column.name.empty()) return invalid(*this, "a column has no name");
    if (!names.insert(column.name).second)
      return invalid(*this, fmt::format("two columns are named '{}'", column.name));
    if (!width_fits(column)) {
      return invalid(*this, fmt::format("column '{}' of type {} cannot be {} bytes wide", column.name,
                                        static_cast<unsigned>(column.type), column.width));
    }
    if (!decimal_fits(column)) {
      return invalid(*this,
                     fmt::format("column '{}' of {} bytes cannot hold decimals of {} digits, {} of them "
                                 "behind the point",
                                 column.name, column.width, column.decimal.precision, column.decimal.scale));
    }
    if (column.type <= Type::OrderedBytes) fixed_bytes += column.width;
  }
  if (fixed_bytes > max_row_bytes) {
    return invalid(*this,
                   fmt::format("its rows would have {} bytes; {} are allowed", fixed_bytes, max_row_bytes));
  }
  if (has_primary_key && (indexes.empty() || !indexes[0].unique)) {
    return invalid(*this, "it has a primary key, but its first index is not a unique one");
  }
  names.clear();
  for (const Index& index : indexes) {
    HAILSTONE_TRY(validate_index(*this, index, has_primary_key && &index == &indexes[0]));
    if (!names.insert(index.name).second)
      return invalid(*this, fmt::format("two indexes are named '{}'", index.name));
  }
  return validate_retention(*this);
}

}  // namespace hailstone

#include "evaluated_items.h"

#include <functional>
#include <string_view>
#include <typeinfo>
#include <unordered_set>

#include "item_parts.h"
// clang-format off
#include <item_subselect.h>
// clang-format on

namespace hailstone {

namespace {

/// Functions of their arguments and of what the session has set, by the names that the server calls them.
bool is_known_function(std::string_view name) {
  static const std::unordered_set<std::string_view> names{
      // Comparisons, conditions, choices.
      "=", "<=>", ">=", ">", "<=", "<", "<>", "between", "in", "like", "regexp", "isnull", "isnotnull",
      "istrue", "isnottrue", "isfalse", "isnotfalse", "xor", "not", "and", "or", "strcmp", "interval",
      "coalesce", "ifnull", "if", "nvl2", "nullif", "case", "decode", "least", "greatest", "field",
      "find_in_set", "last_value",
      // Numbers.
      "+", "-", "*", "/", "DIV", "MOD", "%", "|", "&", "^", "<<", ">>", "~", "neg", "abs", "sign", "ceiling",
      "floor", "round", "truncate", "exp", "ln", "log", "log2", "log10", "sqrt", "pow", "acos", "asin",
      "atan", "cos", "sin", "tan", "cot", "degrees", "radians", "bit_count", "crc32", "crc32c", "conv",
      "format", "cast_as_signed", "cast_as_unsigned", "decimal_typecast", "float_typecast", "double_typecast",
      // Texts.
      "length", "octet_length", "bit_length", "char_length", "character_length", "coercibility", "charset",
      "collation", "collate", "convert", "weight_string", "ascii", "ord", "char", "chr", "concat",
      "concat_ws", "lcase", "ucase", "lower", "upper", "left", "right", "substr", "substring_index", "trim",
      "ltrim", "rtrim", "lpad", "rpad", "repeat", "space", "reverse", "replace", "insert", "locate", "instr",
      "elt", "make_set", "export_set", "quote", "soundex", "sformat", "natural_sort_key", "hex", "unhex",
      "to_base64", "from_base64", "regexp_instr", "regexp_replace", "regexp_substr", "cast_as_char",
      "cast_as_binary", "md5", "sha", "sha2", "aes_encrypt", "aes_decrypt", "des_encrypt", "des_decrypt",
      "encode", "compress", "uncompress", "uncompressed_length",
      // Days and times.
      "year", "quarter", "month", "monthname", "week", "yearweek", "dayofmonth", "dayofyear", "dayname",
      "weekday", "dayofweek", "hour", "minute", "second", "microsecond", "extract", "to_days", "to_seconds",
      "from_days", "time_to_sec", "sec_to_time", "unix_timestamp", "from_unixtime", "period_add",
      "period_diff", "date_format", "time_format", "to_char", "str_to_date", "get_format",
      "date_add_interval", "add_time", "addtime", "subtime", "timestamp", "timediff", "timestampdiff",
      "makedate", "maketime", "last_day", "convert_tz", "cast_as_date", "cast_as_time", "cast_as_datetime",
      // Of the session: the same for all rows of a statement.
      "curtime", "curdate", "utc_time", "utc_date", "utc_timestamp", "current_timestamp", "now", "database",
      "user", "current_user", "current_role", "connection_id", "get_system_var",
      // JSON, XML, dynamic columns, addresses, places.
      "json_valid", "json_equals", "json_exists", "json_value", "json_query", "json_quote", "json_unquote",
      "json_extract", "json_contains", "json_contains_path", "json_array", "json_array_append",
      "json_array_insert", "json_object", "json_merge_preserve", "json_merge_patch", "json_normalize",
      "json_length", "json_depth", "json_type", "json_insert", "json_replace", "json_set", "json_remove",
      "json_keys", "json_search", "json_overlaps", "json_compact", "json_detailed", "json_loose",
      "extractvalue", "updatexml", "column_check", "column_exists", "column_get", "column_list",
      "column_json", "column_create", "column_add", "inet_aton", "inet_ntoa", "inet4_aton", "inet6_aton",
      "inet6_ntoa", "is_ipv4", "is_ipv6", "is_ipv4_compat", "is_ipv4_mapped", "cast_as_inet4",
      "cast_as_inet6", "cast_as_uuid", "point", "linestring", "polygon", "multipoint", "multilinestring",
      "multipolygon", "geometrycollection", "srid", "st_area", "st_asgeojson", "st_astext", "st_aswkb",
      "st_boundary", "st_buffer", "st_centroid", "st_convexhull", "st_dimension", "st_distance",
      "st_distance_sphere", "st_endpoint", "st_envelope", "st_exteriorring", "st_geometryfromtext",
      "st_geometryfromwkb", "st_geometryn", "st_geometrytype", "st_geomfromgeojson", "st_interiorringn",
      "st_isclosed", "st_isempty", "st_isring", "st_issimple", "st_length", "st_numgeometries",
      "st_numinteriorrings", "st_numpoints", "st_pointn", "st_pointonsurface", "st_startpoint", "st_x",
      "st_y"};
  return names.contains(name);
}

/// The function itself, without its arguments. A stored or loaded function has the name that its author
/// chose.
bool is_known_function(Item_func& function) {
  switch (function.functype()) {
    case Item_func::FUNC_SP:
    case Item_func::UDF_FUNC:
      return false;
    case Item_func::GUSERVAR_FUNC:
      // A user variable that the statement does not set.
      return function.const_item();
    default:
      break;
  }
  // Asked of the function alone: a walk over the columns, too, would make them forget where their names are
  // looked up.
  Item::vcol_func_processor_result result;
  constexpr uint allowed = VCOL_SESSION_FUNC | VCOL_TIME_FUNC;
  return !function.check_vcol_func_processor(&result) && (result.errors & ~allowed) == 0 &&
         is_known_function(std::string_view(function.func_name()));
}

/// Whether it has one value, or says whether there are rows, and depends on nothing outside of it. ALL, ANY
/// and IN are evaluated in ways that the optimizer has yet to choose.
bool has_one_value(Item& item) {
  if (item.type() != Item::SUBSELECT_ITEM || item.cols() != 1 || item.with_sum_func()) return false;
  auto& subquery = static_cast<Item_subselect&>(item);
  return (typeid(item) == typeid(Item_singlerow_subselect) ||
          typeid(item) == typeid(Item_exists_subselect)) &&
         subquery.unit != nullptr &&
         (subquery.unit->uncacheable & (UNCACHEABLE_DEPENDENT | UNCACHEABLE_RAND)) == 0 &&
         subquery.const_item();
}

/// Whether it is a value: a literal, a parameter, or a variable of a stored procedure.
bool is_value(Item& item) {
  return item.basic_const_item() || (dynamic_cast<Item_splocal*>(&item) != nullptr && item.cols() == 1);
}

using Test = std::function<bool(Item&)>;

/// Whether the item is a function, AND, OR or a kept constant, and `test` holds for all that it is made of.
bool is_function_of(Item& item, const Test& test) {
  switch (item.type()) {
    case Item::CACHE_ITEM: {
      Item* const example = static_cast<Item_cache&>(item).get_example();
      return example != nullptr && test(*example);
    }
    case Item::FUNC_ITEM:
      if (!is_known_function(static_cast<Item_func&>(item))) return false;
      break;
    case Item::COND_ITEM:
      break;
    default:
      return false;
  }
  return !any_part(item, [&](Item& part) { return !test(part); });
}

/// Whether what the item refers to is in the block's list of items.
bool is_in_list(const Item_ref& reference, JOIN& join) {
  if (join.ref_ptrs.is_null()) return false;
  const Item* const* const first = &join.ref_ptrs[0];
  const Item* const* const place = reference.ref;
  return !std::less<>()(place, first) && std::less<>()(place, first + join.ref_ptrs.size());
}

}  // namespace

bool is_made_of_columns(Item& item) {
  Item& real = *item.real_item();
  if (is_value(real)) return true;
  if (real.type() == Item::FIELD_ITEM) return typeid(real) == typeid(Item_field);
  return is_function_of(real, is_made_of_columns);
}

bool is_made_of_groups(Item& item, JOIN& join) {
  if (is_value(item)) return true;
  if (item.type() == Item::REF_ITEM) {
    auto& reference = static_cast<Item_ref&>(item);
    if (reference.ref == nullptr || reference.ref_type() == Item_ref::OUTER_REF) return false;
    return is_in_list(reference, join) || is_made_of_groups(**reference.ref, join);
  }
  if (has_one_value(item)) return true;
  return is_function_of(item, [&join](Item& part) { return is_made_of_groups(part, join); });
}

bool shows_truth_of_groups(Item& item) {
  if (item.type() == Item::REF_ITEM) {
    Item* const* const of = static_cast<Item_ref&>(item).ref;
    return of != nullptr && shows_truth_of_groups(**of);
  }
  const bool is_json = item.type() == Item::FUNC_ITEM &&
                       std::string_view(static_cast<Item_func&>(item).func_name()).starts_with("json_");
  return any_part(item, [is_json](Item& part) {
    return (is_json && part.type() == Item::REF_ITEM && part.type_handler()->is_bool_type()) ||
           shows_truth_of_groups(part);
  });
}

bool is_lasting_constant(Item& item) {
  if (!item.const_item()) return false;
  if (!item.with_subquery()) return true;
  Item& real = *item.real_item();
  return is_value(real) || has_one_value(real) || is_function_of(real, is_lasting_constant);
}

}  // namespace hailstone

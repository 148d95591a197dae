// Records as LOAD DATA reads them: fields with tabs between, escaped by backslashes, \N for NULL. It is what
// the spool holds, behind the number of the record's line in its source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "text/input.h"

namespace hailstone {

/// Appends a field, without a tab.
void append_load_field(std::string& to, const Field& field);

/// The field at this place of a record, from 0, as it was before it was escaped. Nothing for NULL, and where
/// the record has none.
std::optional<std::string> load_field(std::string_view record, size_t place);

/// The columns of the table that a record's fields go to, in order.
using RecordLayout = std::vector<std::string>;

/// A layout among the spool's positions: it has this name, which is no source's.
constexpr std::string_view layout_key;
std::string encode_layout(const RecordLayout& layout);
/// Where the column is among the fields.
std::optional<size_t> place_of(const RecordLayout& layout, std::string_view column);
/// False: the bytes are no layout.
bool decode_layout(ByteView bytes, RecordLayout& layout);

}  // namespace hailstone

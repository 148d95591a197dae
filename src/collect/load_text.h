// Records as LOAD DATA reads them: fields with tabs between, escaped by backslashes, \N for NULL. It is what
// the spool holds, behind the number of the record's line in its source.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "text/input.h"

namespace hailstone {

/// Appends a field, without a tab.
void append_load_field(std::string& to, const Field& field);

/// The columns of the table that a record's fields go to, in order.
using RecordLayout = std::vector<std::string>;

/// A layout among the spool's positions: it has this name, which is no source's.
constexpr std::string_view layout_key;
std::string encode_layout(const RecordLayout& layout);
/// False: the bytes are no layout.
bool decode_layout(ByteView bytes, RecordLayout& layout);

}  // namespace hailstone

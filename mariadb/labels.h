// The words of ENUM and SET columns, which are stored as numbers. Immutable; any thread.
#pragma once

#include <memory>

#include "expression/function.h"
#include "plain_field.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Of the numbers that an ENUM column has, their words; of a SET's, those of its members with commas between
/// them. Null: it is another column.
std::shared_ptr<const TextFunction> words_of_column(PlainField field);

}  // namespace hailstone

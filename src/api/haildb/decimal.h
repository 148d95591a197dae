// How DECIMAL columns of the HailDB interface compare: as numbers written as text, "-12.50". Text that is no
// number counts as the number that it begins with, or zero.
#pragma once

#include "schema/collation.h"

namespace hailstone::haildb {

constexpr uint32_t decimal_collation_id = first_application_collation_id;

const Collation& decimal_collation();

/// The library's collations and this one. Lives for ever.
const CollationResolver& collations();

}  // namespace hailstone::haildb

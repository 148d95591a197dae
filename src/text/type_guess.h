// What type a column of a file should have, by the values of its first rows: the narrowest that all of them
// fit, of int64, uint64, double, date, timestamp and, if nothing else, string. No digit of a whole number is
// lost: beside numbers with a fraction those beyond 2^53 make a string, too.
#pragma once

#include "hailstone.h"
#include "text/input.h"

namespace hailstone {

class TypeGuess {
 public:
  void add(const Field& field);
  /// Whether all values are true or false; type() is HS_BOOL then.
  bool is_boolean() const { return any_ && boolean_; }
  /// HS_STRING for a column without values.
  hs_type type() const;

 private:
  bool any_ = false, boolean_ = true;
  bool int64_ = true, uint64_ = true, double_ = true, date_ = true, timestamp_ = true;
};

}  // namespace hailstone

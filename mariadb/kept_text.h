// The text of one of the server's aggregates, which is asked for it once for each group: JSON_ARRAYAGG and
// JSON_OBJECTAGG put another bracket around it with each time. Stands for the aggregate while its groups are
// sent. Belongs to the connection's thread.
#pragma once

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

class KeptText final : public Item_str_func {
 public:
  KeptText(THD& thd, Item_sum& aggregate) : Item_str_func(&thd, &aggregate) { name = aggregate.name; }

  /// The aggregate is of another group.
  void forget() { is_known_ = false; }

  bool fix_length_and_dec(THD*) override {
    collation.set(args[0]->collation);
    decimals = args[0]->decimals;
    max_length = args[0]->max_length;
    set_maybe_null();
    return false;
  }
  const Type_handler* type_handler() const override { return args[0]->type_handler(); }
  /// Null, too, where there is no memory, which is reported.
  String* val_str(String*) override {
    if (!is_known_) {
      is_known_ = true;
      const String* const text = args[0]->val_str(&of_aggregate_);
      null_value = text == nullptr || args[0]->null_value || text_.copy(*text);
    }
    if (null_value) return nullptr;
    // Functions change a text in its own memory, but where it is another one's.
    given_.set(text_.ptr(), text_.length(), text_.charset());
    return &given_;
  }
  LEX_CSTRING func_name_cstring() const override { return {STRING_WITH_LEN("kept")}; }

 private:
  Item* shallow_copy(THD*) const override { return nullptr; }

  bool is_known_ = false;
  String of_aggregate_, text_;
  String given_;  // text_, without its memory
};

}  // namespace hailstone

// Warnings and errors that evaluating an item raises, where the statement is to know nothing of them. Belongs
// to the connection's thread.
#pragma once

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Notices warnings and errors as long as it lives, and keeps them from the statement.
class RaisedConditions final : public Internal_error_handler {
 public:
  explicit RaisedConditions(THD& thd) : thd_(thd) { thd.push_internal_handler(this); }
  ~RaisedConditions() override { thd_.pop_internal_handler(); }
  RaisedConditions(const RaisedConditions&) = delete;
  RaisedConditions& operator=(const RaisedConditions&) = delete;

  bool handle_condition(THD*, uint, const char*, Sql_condition::enum_warning_level*, const char*,
                        Sql_condition**) override {
    any_ = true;
    return true;
  }
  bool any() const { return any_; }

 private:
  THD& thd_;
  bool any_ = false;
};

}  // namespace hailstone

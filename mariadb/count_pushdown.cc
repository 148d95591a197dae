#include "count_pushdown.h"

#include <memory>

#include "engine.h"
#include "ha_hailstone.h"

namespace hailstone {

namespace {

class CountHandler final : public group_by_handler {
 public:
  CountHandler(THD* thd_arg, HailstoneHandler& reader, std::shared_ptr<const Predicate> predicate)
      : group_by_handler(thd_arg, engine_handlerton()), reader_(reader), predicate_(std::move(predicate)) {}

  int init_scan() override {
    return reader_.traced({"init_scan"}, [&]() -> int {
      returned_ = false;
      return 0;
    });
  }

  int next_row() override {
    return reader_.traced({"next_row", Returns::Row}, [&]() -> int {
      if (returned_) return HA_ERR_END_OF_FILE;
      returned_ = true;
      uint64_t rows = 0;
      if (const int error = reader_.count_rows(predicate_, rows); error != 0) return error;
      for (Field** field = table->field; *field != nullptr; ++field) {
        (*field)->set_notnull();
        (*field)->store(static_cast<longlong>(rows), true);
      }
      return 0;
    });
  }

  int end_scan() override {
    return reader_.traced({"end_scan"}, [] { return 0; });
  }
  void print_error(int error, myf flags) override { reader_.print_error(error, flags); }

 private:
  HailstoneHandler& reader_;
  std::shared_ptr<const Predicate> predicate_;
  bool returned_ = false;
};

/// COUNT(*), or COUNT(x) of something that is never NULL: the number of rows.
bool counts_rows(Item* item) {
  item = item->real_item();
  if (item->type() != Item::SUM_FUNC_ITEM) return false;
  auto* const sum = static_cast<Item_sum*>(item);
  if (sum->sum_func() != Item_sum::COUNT_FUNC || sum->get_arg_count() != 1) return false;
  Item* const argument = sum->get_arg(0);
  return argument->const_item() && !argument->maybe_null() && !argument->is_expensive();
}

}  // namespace

group_by_handler* create_count_handler(THD* thd, Query* query) {
  return run_traced(thd, {"create_group_by", Returns::Pushed}, [&]() -> group_by_handler* {
    TABLE_LIST* const from = query->from;
    if (from->next_local != nullptr || from->embedding != nullptr || from->on_expr != nullptr ||
        query->n_aux != 0 || query->distinct || query->group_by != nullptr || query->order_by != nullptr ||
        query->having != nullptr) {
      return nullptr;
    }
    // Without its one row FOUND_ROWS() is the server's to say.
    if (query->limit->get_select_limit() == 0 || query->limit->get_offset_limit() != 0) return nullptr;
    List_iterator_fast<Item> items(*query->select);
    while (Item* item = items++) {
      if (!counts_rows(item)) return nullptr;
    }
    if (from->table == nullptr || from->table->file->ht != engine_handlerton()) return nullptr;
    auto& reader = static_cast<HailstoneHandler&>(*from->table->file);
    reader.settle_lock();
    if (reader.reads_with_locks()) return nullptr;

    auto predicate = reader.whole_condition(query->where);
    if (!predicate) return nullptr;
    return new CountHandler(thd, reader, std::move(*predicate));
  });
}

}  // namespace hailstone

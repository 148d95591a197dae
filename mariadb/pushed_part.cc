#include "pushed_part.h"

#include <algorithm>
#include <utility>

#include "engine.h"

namespace hailstone {

namespace {

/// Stands between Pushdown_query and what takes a block's rows: that may refuse a row which it has already
/// (of UNION, EXCEPT, INTERSECT and IN), which Pushdown_query would take for the end.
class Receiver final : public select_result_interceptor {
 public:
  explicit Receiver(THD& connection) : select_result_interceptor(&connection) {}

  void begin(JOIN& join) {
    to_ = std::exchange(join.result, this);
    refused_ = 0;
  }
  void end(JOIN& join) {
    if (to_ != nullptr) join.result = std::exchange(to_, nullptr);
  }
  ha_rows refused() const { return refused_; }

  int send_data(List<Item>& items) override {
    const int error = to_->send_data(items);
    if (error < 0) ++refused_;
    return std::max(error, 0);
  }
  bool send_eof() override { return false; }

 private:
  select_result* to_ = nullptr;
  ha_rows refused_ = 0;
};

class PushedPart final : public group_by_handler {
 public:
  PushedPart(THD& connection, SELECT_LEX& select, HailstoneHandler& reader,
             std::unique_ptr<BlockResult> result)
      : group_by_handler(&connection, engine_handlerton()),
        join_(*select.join),
        reader_(reader),
        result_(std::move(result)),
        items_(join_),
        receiver_(connection) {}
  PushedPart(const PushedPart&) = delete;
  PushedPart& operator=(const PushedPart&) = delete;
  ~PushedPart() override { receiver_.end(join_); }

  int init_scan() override {
    return reader_.traced({"init_scan"}, [&]() -> int {
      if (!has_items_) {
        if (!(result_->fills_table() ? find_columns() : read_record())) return HA_ERR_OUT_OF_MEM;
        has_items_ = true;
      }
      if (!items_.put(*thd, shown_)) return HA_ERR_OUT_OF_MEM;
      join_.fields = &shown_;
      receiver_.begin(join_);
      return result_->begin();
    });
  }

  int next_row() override {
    return reader_.traced({"next_row", Returns::Row}, [&]() -> int {
      const Check_level_instant_set level(thd, CHECK_FIELD_IGNORE);  // as in pushed_select.cc
      return result_->next();
    });
  }

  int end_scan() override {
    return reader_.traced({"end_scan"}, [&]() -> int {
      result_->end();
      items_.put_back();
      join_.fields = &join_.tmp_fields_list1;
      receiver_.end(join_);
      // For FOUND_ROWS(), which the server leaves as it was.
      thd->limit_found_rows = join_.send_records - receiver_.refused();
      return 0;
    });
  }

  void print_error(int error, myf flags) override {
    if (!thd->is_error()) reader_.print_error(error, flags);
  }

 private:
  /// The server's own items for `table`. The statement's items may tell of the fields of another table by
  /// now: a cursor keeps its rows in one that it makes of them. False: no memory.
  bool find_columns() {
    List_iterator_fast<Item> each(join_.tmp_all_fields1);
    while (Item* const item = each++) items_.add(item);
    return result_->use(*table, items_);
  }

  /// The statement's items, of which columns, and what views make, would be read from fields of `table`.
  /// False: no memory.
  bool read_record() {
    List_iterator_fast<Item> each(join_.all_fields);
    while (Item* const item = each++) {
      Item* read = item->real_item();
      if (read->type() == Item::FIELD_ITEM) {
        read = new (thd->mem_root) Item_field(thd, static_cast<Item_field*>(read)->field);
        if (read == nullptr) return false;
        read->name = item->name;
      }
      items_.add(read);
    }
    return true;
  }

  JOIN& join_;
  HailstoneHandler& reader_;
  const std::unique_ptr<BlockResult> result_;
  GroupItems items_;
  Receiver receiver_;
  bool has_items_ = false;
  List<Item> shown_;  // what is sent
};

}  // namespace

group_by_handler* make_pushed_part(THD& thd, SELECT_LEX& select, HailstoneHandler& reader,
                                   std::unique_ptr<BlockResult> result) {
  return new PushedPart(thd, select, reader, std::move(result));
}

}  // namespace hailstone

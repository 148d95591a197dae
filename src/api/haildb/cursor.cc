#include "api/haildb/cursor.h"

#include <algorithm>

#include "api/haildb/engine.h"
#include "api/haildb/system_tables.h"
#include "api/haildb/tuple.h"

namespace hailstone::haildb {
namespace {

class TableWalker final : public Walker {
 public:
  TableWalker(const TableInfo& info, Transaction& transaction, size_t index, ReadLock lock)
      : cursor_(info.table, transaction, index, lock, all_columns(info), options()) {}
  Result<bool> seek_at_or_after(ByteView bound, const Wanted& wanted) override {
    return cursor_.seek_at_or_after(bound, wanted);
  }
  Result<bool> seek_before(ByteView bound, const Wanted& wanted) override {
    return cursor_.seek_before(bound, wanted);
  }
  Result<bool> next() override { return cursor_.next(); }
  Result<bool> previous() override { return cursor_.previous(); }
  Result<ByteView> entry_key() override { return cursor_.entry_key(); }
  Result<ByteView> clustered_key() override { return cursor_.clustered_key(); }
  Status load_row(std::string& to) override { return cursor_.load_row(to); }

 private:
  static CursorOptions options() {
    CursorOptions options;
    options.sees_own_changes = true;
    return options;
  }
  static std::vector<uint16_t> all_columns(const TableInfo& info) {
    std::vector<uint16_t> columns(info.layout->definition().columns.size());
    for (size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<uint16_t>(i);
    return columns;
  }
  Cursor cursor_;
};

/// Entries that were made before: of system tables.
class MemoryWalker final : public Walker {
 public:
  explicit MemoryWalker(std::shared_ptr<const MemoryEntries> entries) : entries_(std::move(entries)) {}
  Result<bool> seek_at_or_after(ByteView bound, const Wanted&) override {
    at_ = lower_bound(bound);
    return at_ != entries_->end();
  }
  Result<bool> seek_before(ByteView bound, const Wanted&) override {
    at_ = bound.empty() ? entries_->end() : lower_bound(bound);
    return previous();
  }
  Result<bool> next() override {
    if (at_ == entries_->end()) return false;
    ++at_;
    return at_ != entries_->end();
  }
  Result<bool> previous() override {
    if (at_ == entries_->begin()) return false;
    --at_;
    return true;
  }
  Result<ByteView> entry_key() override { return at_->key; }
  Result<ByteView> clustered_key() override {
    return ByteView(at_->key).substr(at_->key.size() - at_->clustered_size);
  }
  Status load_row(std::string& to) override {
    to = at_->row;
    return {};
  }

 private:
  MemoryEntries::const_iterator lower_bound(ByteView bound) const {
    return std::ranges::lower_bound(*entries_, bound, {},
                                    [](const MemoryEntry& entry) { return ByteView(entry.key); });
  }

  const std::shared_ptr<const MemoryEntries> entries_;
  MemoryEntries::const_iterator at_ = entries_->begin();
};

ReadLock read_lock(const ib_crsr_struct& cursor) {
  if (cursor.lock_mode == IB_LOCK_X) return ReadLock::Exclusive;
  if (cursor.lock_mode == IB_LOCK_S) return ReadLock::Shared;
  return cursor.trx->level == IB_TRX_SERIALIZABLE ? ReadLock::Shared : ReadLock::None;
}

/// The plain reads of the transaction see what is committed now, or was at its first cursor.
void take_snapshot(ib_trx_struct& transaction) {
  if (transaction.active()) static_cast<void>(transaction.transaction->snapshot());
}

void count_rows(ib_crsr_struct& cursor) {
  engine().rows_read.fetch_add(cursor.rows_read.exchange(0, std::memory_order_relaxed),
                               std::memory_order_relaxed);
}

void set_table(ib_crsr_struct& cursor, const std::shared_ptr<TableInfo>& info, size_t index) {
  if (cursor.info != nullptr) cursor.info->open_cursors.remove(cursor.opened_by);
  cursor.info = info;
  cursor.index = index;
  cursor.opened_by = std::this_thread::get_id();
  if (info != nullptr) info->open_cursors.add(cursor.opened_by);
}

const Transaction* seen_by(ib_trx_t transaction) {
  return transaction == nullptr ? transaction_of_this_thread() : transaction->transaction.get();
}

template <typename NameOrId>
ib_err_t open_cursor(const NameOrId& which, ib_trx_t transaction, ib_crsr_t* to) {
  const uint64_t version = engine().schema_version.load(std::memory_order_acquire);
  const auto info = engine().tables->find(which, seen_by(transaction));
  if (!info) return code_of(info.error(), DB_TABLE_NOT_FOUND);
  *to = make_cursor(*info, 0, transaction, version);
  return DB_SUCCESS;
}

/// What the open functions check; DB_SUCCESS: go on.
ib_err_t check_open(ib_trx_t transaction, ib_crsr_t* to) {
  if (const ib_err_t code = check_running(); code != DB_SUCCESS) return code;
  if (to == nullptr) return DB_INVALID_INPUT;
  *to = nullptr;
  if (transaction == nullptr) return DB_SUCCESS;
  return enter(transaction);
}

}  // namespace

HandlePool<ib_crsr_struct>& cursors() {
  static HandlePool<ib_crsr_struct>& pool = *new HandlePool<ib_crsr_struct>;
  return pool;
}

void leave_place(ib_crsr_struct& cursor) {
  if (cursor.place == ib_crsr_struct::Place::Entry && cursor.at_walker) {
    // If the row cannot be read any more, read_row does not find it.
    cursor.has_row = cursor.walker->load_row(cursor.row).has_value();
    const auto key = cursor.walker->entry_key();
    const auto clustered_key = cursor.walker->clustered_key();
    if (key && clustered_key) {
      cursor.key = *key;
      cursor.clustered_size = clustered_key->size();
    } else {
      cursor.place = ib_crsr_struct::Place::Nowhere;
    }
  }
  cursor.at_walker = false;
}

ib_err_t without_memory(ib_crsr_t cursor) noexcept {
  if (!good(cursor)) return DB_OUT_OF_MEMORY;
  cursor->place = ib_crsr_struct::Place::Nowhere;
  cursor->at_walker = cursor->has_row = cursor->row_wanted = false;
  cursor->walker.reset();
  return DB_OUT_OF_MEMORY;
}

void leave_transaction(ib_crsr_struct& cursor) {
  const Status left = guarded([&]() -> Status {
    // If the row cannot be found any more, read_row does not find it.
    static_cast<void>(go_to_wanted_row(cursor));
    leave_place(cursor);
    return {};
  });
  if (!left) static_cast<void>(without_memory(&cursor));
  cursor.walker.reset();
  cursor.write_lock_serial = cursor.read_lock_serial = 0;
}

void forget_transaction(ib_crsr_struct& cursor) {
  leave_transaction(cursor);
  cursor.trx = nullptr;
  cursor.lock_mode = IB_LOCK_NONE;
  cursor.cluster_access = false;
  cursor.simple_select = false;
  cursor.new_statement = true;
}

void attach(ib_crsr_struct& cursor, ib_trx_t transaction) {
  cursor.trx = transaction;
  cursor.lock_mode = IB_LOCK_NONE;
  cursor.cluster_access = cursor.simple_select = false;
  transaction->cursors.push_back(&cursor);
  take_snapshot(*transaction);
  if (transaction->active() && !sees(*transaction, *cursor.info)) cursor.schema_version = 0;
}

void detach(ib_crsr_struct& cursor) {
  if (cursor.trx != nullptr) std::erase(cursor.trx->cursors, &cursor);
  forget_transaction(cursor);
}

ib_crsr_t make_cursor(const std::shared_ptr<TableInfo>& info, size_t index, ib_trx_t transaction,
                      uint64_t schema_version) {
  ib_crsr_t const cursor = cursors().take();
  set_table(*cursor, info, index);
  cursor->match_mode = IB_CLOSEST_MATCH;
  cursor->schema_version = schema_version;
  forget_transaction(*cursor);
  if (transaction != nullptr) attach(*cursor, transaction);
  return cursor;
}

ib_err_t enter(ib_crsr_t cursor, ib_err_t without_transaction) {
  if (const ib_err_t code = check_running(); code != DB_SUCCESS) return code;
  if (!good(cursor)) return DB_INVALID_INPUT;
  if (cursor->trx == nullptr) return without_transaction;
  if (!cursor->trx->active()) return DB_ERROR;
  cursor->trx->transaction->set_lock_wait_timeout(
      std::chrono::milliseconds(engine().lock_wait_milliseconds.load(std::memory_order_relaxed)));
  return DB_SUCCESS;
}

Status open_walker(ib_crsr_struct& cursor) {
  if (cursor.walker != nullptr) return {};
  cursor.statement = cursor.trx->statements;
  if (cursor.memory != nullptr) {
    cursor.walker = std::make_unique<MemoryWalker>(cursor.memory);
  } else {
    cursor.walker = std::make_unique<TableWalker>(*cursor.info, *cursor.trx->transaction,
                                                  cursor.index_info().engine_index, read_lock(cursor));
  }
  return {};
}

ib_err_t refresh_table(ib_crsr_struct& cursor, bool writing) {
  const uint64_t now = engine().schema_version.load(std::memory_order_acquire);
  if (cursor.memory != nullptr) return DB_SUCCESS;
  const bool by_snapshot = !writing && read_lock(cursor) == ReadLock::None;
  // While DDL commits, others find the table that it has made before the version rises, and before a snapshot
  // has its rows. What the transaction has written stays where it is.
  const bool has_written = cursor.write_lock_serial == cursor.trx->serial;
  if (cursor.schema_version == now && (!by_snapshot || has_written || sees(*cursor.trx, *cursor.info))) {
    return DB_SUCCESS;
  }
  // DDL of others that came after the transaction's snapshot does not concern what it reads.
  if (by_snapshot && cursor.trx->level > IB_TRX_READ_COMMITTED && cursor.trx->schema_version < now &&
      sees(*cursor.trx, *cursor.info)) {
    return DB_SUCCESS;
  }
  const auto index_of = [&cursor](const TableInfo& info) -> const IndexInfo* {
    return cursor.clustered() ? &info.indexes[0] : info.find_index(cursor.index_info().name);
  };
  const auto newest = engine().tables->newest(cursor.info, cursor.trx->transaction.get());
  if (!newest) return failed(*cursor.trx, newest.error());
  auto wanted = *newest;
  while (by_snapshot && !sees(*cursor.trx, *wanted)) {
    auto before = engine().tables->replaced_by(*wanted);
    if (before == nullptr || !same_columns(*before, *wanted) || index_of(*before) == nullptr) break;
    wanted = std::move(before);
  }
  // One that has been replaced is the right one for this snapshot only.
  if (wanted == *newest) cursor.schema_version = now;
  if (wanted == cursor.info) return DB_SUCCESS;
  const IndexInfo* const index = index_of(*wanted);
  if (index == nullptr) return DB_TABLE_NOT_FOUND;
  leave_transaction(cursor);
  set_table(cursor, wanted, static_cast<size_t>(index - wanted->indexes.data()));
  return DB_SUCCESS;
}

Result<ByteView> clustered_key_of(ib_crsr_struct& cursor) {
  if (cursor.place != ib_crsr_struct::Place::Entry) return ByteView();
  if (cursor.at_walker) return cursor.walker->clustered_key();
  return ByteView(cursor.key).substr(cursor.key.size() - cursor.clustered_size);
}

Result<bool> row_of(ib_crsr_struct& cursor, std::string& to) {
  if (cursor.place != ib_crsr_struct::Place::Entry) return false;
  if (cursor.at_walker) {
    HAILSTONE_TRY(cursor.walker->load_row(to));
    return true;
  }
  if (!cursor.has_row) return false;
  to = cursor.row;
  return true;
}

}  // namespace hailstone::haildb

using namespace hailstone::haildb;

void ib_crsr_struct::clear() {
  if (trx != nullptr) std::erase(trx->cursors, this);
  count_rows(*this);
  set_table(*this, nullptr, 0);
  walker.reset();
  trx = nullptr;
  place = Place::Nowhere;
  at_walker = has_row = row_wanted = false;
  row = std::string();
  encoded = std::string();
  memory.reset();
}

ib_err_t ib_cursor_open_table(const char* name, ib_trx_t ib_trx, ib_crsr_t* ib_crsr) try {
  if (const ib_err_t code = check_open(ib_trx, ib_crsr); code != DB_SUCCESS) return code;
  if (name == nullptr) return DB_INVALID_INPUT;
  const std::string normal = normalised_name(name);
  if (is_system_table(normal)) return open_system_table(normal, ib_trx, ib_crsr);
  return open_cursor(normal, ib_trx, ib_crsr);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_cursor_open_table_using_id(ib_id_t table_id, ib_trx_t ib_trx, ib_crsr_t* ib_crsr) try {
  if (const ib_err_t code = check_open(ib_trx, ib_crsr); code != DB_SUCCESS) return code;
  return open_cursor(table_id, ib_trx, ib_crsr);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_cursor_open_index_using_id(ib_id_t index_id, ib_trx_t ib_trx, ib_crsr_t* ib_crsr) try {
  if (const ib_err_t code = check_open(ib_trx, ib_crsr); code != DB_SUCCESS) return code;
  const uint64_t version = engine().schema_version.load(std::memory_order_acquire);
  const auto info = engine().tables->find(index_id >> 32, seen_by(ib_trx));
  if (!info) return code_of(info.error(), DB_TABLE_NOT_FOUND);
  for (size_t i = 0; i < (*info)->indexes.size(); ++i) {
    if ((*info)->indexes[i].number != (index_id & 0xFFFFFFFFU)) continue;
    *ib_crsr = make_cursor(*info, i, ib_trx, version);
    return DB_SUCCESS;
  }
  return DB_TABLE_NOT_FOUND;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_cursor_open_index_using_name(ib_crsr_t ib_open_crsr, const char* index_name,
                                         ib_crsr_t* ib_crsr) try {
  if (ib_crsr != nullptr) *ib_crsr = nullptr;
  if (const ib_err_t code = check_running(); code != DB_SUCCESS) return code;
  if (!good(ib_open_crsr) || index_name == nullptr || ib_crsr == nullptr) return DB_INVALID_INPUT;
  const bool started = ib_open_crsr->trx != nullptr && ib_open_crsr->trx->active();
  if (started) {
    if (const ib_err_t code = refresh_table(*ib_open_crsr, false); code != DB_SUCCESS) return code;
  }
  auto info = ib_open_crsr->info;
  uint64_t version = ib_open_crsr->schema_version;
  const IndexInfo* index = info->find_index(index_name);
  if (index == nullptr && ib_open_crsr->memory == nullptr) {
    // It may be newer than what the cursor reads; that is an error when it is read.
    version = engine().schema_version.load(std::memory_order_acquire);
    auto newest = engine().tables->newest(info, seen_by(started ? ib_open_crsr->trx : nullptr));
    if (!newest) return code_of(newest.error());
    info = std::move(*newest);
    index = info->find_index(index_name);
  }
  if (index == nullptr) return DB_TABLE_NOT_FOUND;
  const auto number = static_cast<size_t>(index - info->indexes.data());
  if (ib_open_crsr->memory != nullptr) return open_system_index(*ib_open_crsr, number, ib_crsr);
  *ib_crsr = make_cursor(info, number, ib_open_crsr->trx, version);
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_cursor_close(ib_crsr_t ib_crsr) try {
  if (const ib_err_t code = check_stopped(); code != DB_SUCCESS) return code;
  if (!good(ib_crsr)) return DB_INVALID_INPUT;
  cursors().give_back(ib_crsr);
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_cursor_reset(ib_crsr_t ib_crsr) try {
  if (const ib_err_t code = check_stopped(); code != DB_SUCCESS) return code;
  if (!good(ib_crsr)) return DB_INVALID_INPUT;
  detach(*ib_crsr);
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

void ib_cursor_attach_trx(ib_crsr_t ib_crsr, ib_trx_t ib_trx) try {
  if (!good(ib_crsr) || enter(ib_trx) != DB_SUCCESS || ib_crsr->trx != nullptr) return;
  attach(*ib_crsr, ib_trx);
} catch (const std::bad_alloc&) {
  // There is nobody to tell.
}

void ib_cursor_set_match_mode(ib_crsr_t ib_crsr, ib_match_mode_t match_mode) {
  if (!good(ib_crsr) || match_mode < IB_CLOSEST_MATCH || match_mode > IB_EXACT_PREFIX) return;
  ib_crsr->match_mode = match_mode;
}

void ib_cursor_set_cluster_access(ib_crsr_t ib_crsr) {
  if (good(ib_crsr)) ib_crsr->cluster_access = true;
}

void ib_cursor_set_simple_select(ib_crsr_t ib_crsr) {
  if (good(ib_crsr)) ib_crsr->simple_select = true;
}

void ib_cursor_stmt_begin(ib_crsr_t ib_crsr) {
  if (good(ib_crsr)) ib_crsr->new_statement = true;
}

ib_bool_t ib_cursor_is_positioned(const ib_crsr_t ib_crsr) {
  return good(ib_crsr) && ib_crsr->place != ib_crsr_struct::Place::Nowhere ? IB_TRUE : IB_FALSE;
}

ib_err_t ib_cursor_lock(ib_crsr_t ib_crsr, ib_lck_mode_t ib_lck_mode) try {
  if (const ib_err_t code = enter(ib_crsr, DB_ERROR); code != DB_SUCCESS) return code;
  if (ib_lck_mode < IB_LOCK_IS || ib_lck_mode > IB_LOCK_X) return DB_INVALID_INPUT;
  if (ib_crsr->memory != nullptr) return DB_SUCCESS;
  auto info = ib_crsr->info;
  return lock_newest_table(*ib_crsr->trx, info, static_cast<hailstone::TableLockMode>(ib_lck_mode));
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_cursor_set_lock_mode(ib_crsr_t ib_crsr, ib_lck_mode_t ib_lck_mode) try {
  if (const ib_err_t code = enter(ib_crsr, DB_ERROR); code != DB_SUCCESS) return code;
  if (ib_lck_mode < IB_LOCK_IS || ib_lck_mode > IB_LOCK_NONE || ib_lck_mode == IB_LOCK_NOT_USED)
    return DB_INVALID_INPUT;
  if (ib_crsr->memory != nullptr) return DB_SUCCESS;
  const auto table_mode = ib_lck_mode == IB_LOCK_X ? hailstone::TableLockMode::IntentionExclusive
                                                   : hailstone::TableLockMode::IntentionShared;
  auto info = ib_crsr->info;
  if (const ib_err_t code = lock_newest_table(*ib_crsr->trx, info, table_mode); code != DB_SUCCESS)
    return code;
  leave_transaction(*ib_crsr);  // the walker reads in another way from now on
  ib_crsr->lock_mode = ib_lck_mode;
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_table_lock(ib_trx_t ib_trx, ib_id_t table_id, ib_lck_mode_t ib_lck_mode) try {
  if (const ib_err_t code = enter(ib_trx); code != DB_SUCCESS) return code;
  if (ib_lck_mode != IB_LOCK_IS && ib_lck_mode != IB_LOCK_IX) return DB_INVALID_INPUT;
  auto info = engine().tables->find(table_id, ib_trx->transaction.get());
  if (!info) return code_of(info.error(), DB_TABLE_NOT_FOUND);
  return lock_newest_table(*ib_trx, *info, static_cast<hailstone::TableLockMode>(ib_lck_mode));
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_tpl_t ib_clust_read_tuple_create(ib_crsr_t ib_crsr) try {
  return good(ib_crsr) ? make_row_tuple(ib_crsr->info) : nullptr;
} catch (const std::bad_alloc&) {
  return nullptr;
}

ib_tpl_t ib_clust_search_tuple_create(ib_crsr_t ib_crsr) try {
  return good(ib_crsr) ? make_key_tuple(ib_crsr->info, ib_crsr->info->indexes[0]) : nullptr;
} catch (const std::bad_alloc&) {
  return nullptr;
}

ib_tpl_t ib_sec_read_tuple_create(ib_crsr_t ib_crsr) try {
  if (!good(ib_crsr)) return nullptr;
  ib_tpl_t const tuple = make_row_tuple(ib_crsr->info);
  if (!ib_crsr->clustered()) tuple->row_index = ib_crsr->index_info().number;
  return tuple;
} catch (const std::bad_alloc&) {
  return nullptr;
}

ib_tpl_t ib_sec_search_tuple_create(ib_crsr_t ib_crsr) try {
  return good(ib_crsr) ? make_key_tuple(ib_crsr->info, ib_crsr->index_info()) : nullptr;
} catch (const std::bad_alloc&) {
  return nullptr;
}

ib_err_t ib_tuple_get_cluster_key(ib_crsr_t ib_crsr, ib_tpl_t* ib_dst_tpl, const ib_tpl_t ib_src_tpl) try {
  if (const ib_err_t code = check_stopped(); code != DB_SUCCESS) return code;
  if (ib_dst_tpl == nullptr) return DB_INVALID_INPUT;
  *ib_dst_tpl = nullptr;
  if (!good(ib_crsr) || !good(ib_src_tpl)) return DB_INVALID_INPUT;
  if (!ib_src_tpl->info->is_same_table(*ib_crsr->info)) return DB_DATA_MISMATCH;
  if (!ib_src_tpl->is_key() || ib_src_tpl->key_index->clustered) return DB_ERROR;
  ib_tpl_t const key = make_key_tuple(ib_crsr->info, ib_crsr->info->indexes[0]);
  for (size_t i = 0; i < key->column_count(); ++i) {
    // The last one: before it there may be one with the column's beginning only.
    const auto& columns = ib_src_tpl->columns;
    const auto from = std::find(columns.rbegin(), columns.rend(), key->columns[i]);
    if (from == columns.rend()) continue;
    const hailstone::Value value = ib_src_tpl->value(static_cast<size_t>(columns.rend() - from) - 1);
    if (value.null) continue;
    if (key->info_at(i).is_number()) {
      key->set_integer(i, value.integer);
    } else {
      key->set_bytes(i, value.bytes, 0, 0);
    }
  }
  *ib_dst_tpl = key;
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

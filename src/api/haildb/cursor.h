// Cursors of the HailDB interface.
//
// A cursor is at a place: nowhere, before the first row, behind the last one, or at an entry of its index
// (whose row may be gone by now). It moves by a walker, which reads the index as its transaction sees it; the
// walker belongs to the transaction and is made anew when the transaction, the lock mode or the table's
// definition changes. What outlives the walker is the key of the place and a copy of the row, made when the
// walker goes. A move that fails leaves the cursor where it was: as the lock of a row may be refused, a
// cursor that locks copies its place out of the walker before each move.
//
// An exact search that misses takes no walker: the row where the cursor stands then, the next larger one, is
// looked for when it is needed, but before anything that the transaction sees can change.
#pragma once

#include <memory>
#include <string>

#include "api/haildb/handles.h"
#include "api/haildb/table.h"
#include "api/haildb/transaction.h"
#include "haildb.h"
#include "table/column_update.h"
#include "table/cursor.h"

namespace hailstone::haildb {

/// The entries of one index in order, as something sees them. The meaning of bounds, and of `wanted`, is that
/// of hailstone::Cursor.
class Walker {
 public:
  using Wanted = Cursor::Wanted;
  virtual ~Walker() = default;
  virtual Result<bool> seek_at_or_after(ByteView bound, const Wanted& wanted = {}) = 0;
  virtual Result<bool> seek_before(ByteView bound, const Wanted& wanted = {}) = 0;
  virtual Result<bool> next() = 0;
  virtual Result<bool> previous() = 0;
  virtual Result<ByteView> entry_key() = 0;
  virtual Result<ByteView> clustered_key() = 0;
  virtual Status load_row(std::string& to) = 0;
};

/// Where an index is searched: entries with low <= key < high are equal to what was sought; none when low ==
/// high.
struct SearchRange {
  std::string low, high;
  bool high_is_end = false;  // `high` is no bound: the range goes to the end
  bool may_exist = true;
};

/// An entry of an index of a system table.
struct MemoryEntry {
  std::string key;  // as Walker::entry_key()
  size_t clustered_size = 0;
  std::string row;  // encoded
};
using MemoryEntries = std::vector<MemoryEntry>;

}  // namespace hailstone::haildb

struct ib_crsr_struct : hailstone::haildb::Handle {
  static constexpr uint32_t kind = 0x43525331;
  void clear();

  const hailstone::haildb::IndexInfo& index_info() const { return info->indexes[index]; }
  bool clustered() const { return index_info().clustered; }

  std::shared_ptr<hailstone::haildb::TableInfo> info;
  size_t index = 0;           // of info->indexes
  std::thread::id opened_by;  // as info->open_cursors has it
  ib_trx_t trx = nullptr;
  ib_lck_mode_t lock_mode = IB_LOCK_NONE;
  ib_match_mode_t match_mode = IB_CLOSEST_MATCH;
  bool cluster_access = false;
  bool simple_select = false;
  bool new_statement = false;
  uint64_t schema_version = 0;     // of the engine when the table was looked up
  uint64_t write_lock_serial = 0;  // start of the transaction that is known to have the table's IX lock
  uint64_t read_lock_serial = 0;   // the same of the IS lock, for plain reads of SERIALIZABLE

  enum class Place : uint8_t { Nowhere, Begin, End, Entry };
  Place place = Place::Nowhere;
  std::unique_ptr<hailstone::haildb::Walker> walker;
  uint64_t statement = 0;  // of the transaction, for which the walker was made
  bool at_walker = false;  // the entry is the one where the walker stands; else it is the one of `key`
  std::string key;         // entry key
  size_t clustered_size = 0;
  bool has_row = false;     // `row` is the entry's row
  bool row_wanted = false;  // the walker has to go to the first entry from `key` on first; never once the
                            // transaction has ended or changed anything there
  std::string row;
  std::atomic<uint64_t> rows_read{0};  // not counted in the engine yet; only the cursor's thread changes it
  std::vector<hailstone::Value> values;
  std::vector<std::string> labels;
  std::string encoded;
  hailstone::ColumnUpdate update;
  std::shared_ptr<const hailstone::haildb::MemoryEntries> memory;  // of a system table's index, in order
};

namespace hailstone::haildb {

HandlePool<ib_crsr_struct>& cursors();

/// The transaction ends or has ended: place and row stay, the walker goes.
void leave_transaction(ib_crsr_struct& cursor);
/// A call had no memory: the cursor, which may be half way, has no place any more. Gives DB_OUT_OF_MEMORY.
ib_err_t without_memory(ib_crsr_t cursor) noexcept;
/// Its handle goes, too.
void forget_transaction(ib_crsr_struct& cursor);
/// DB_SUCCESS, or why nothing can be done with the cursor; `needs_transaction`: also when it has none that is
/// started.
ib_err_t enter(ib_crsr_t cursor, ib_err_t without_transaction);
/// A new cursor on an index of the table. `schema_version`: the engine's, before the table was looked up.
ib_crsr_t make_cursor(const std::shared_ptr<TableInfo>& info, size_t index, ib_trx_t transaction,
                      uint64_t schema_version);
void attach(ib_crsr_struct& cursor, ib_trx_t transaction);
void detach(ib_crsr_struct& cursor);

/// Makes the walker, if there is none.
Status open_walker(ib_crsr_struct& cursor);
/// Takes up the table that has replaced the cursor's, if one has. `writing`: whatever the snapshot sees.
ib_err_t refresh_table(ib_crsr_struct& cursor, bool writing);
/// The clustered key of the entry where the cursor is; empty when it is at none.
Result<ByteView> clustered_key_of(ib_crsr_struct& cursor);
/// The entry's row, encoded: from the copy, or the walker. False: none.
Result<bool> row_of(ib_crsr_struct& cursor, std::string& to);

/// Copies the place out of the walker: it may move then, and the cursor still stays.
void leave_place(ib_crsr_struct& cursor);
/// Goes to the entry that a search which needed no walker has left for later: the next larger row. When that
/// fails, the cursor is nowhere.
ib_err_t go_to_wanted_row(ib_crsr_struct& cursor);
/// The same for all cursors of the transaction but one: what it sees is about to change.
void settle_misses(ib_trx_struct& transaction, const ib_crsr_struct* but = nullptr);
/// The transaction has just inserted a row, on which no cursor can stand that has missed before.
void settle_misses_at(ib_trx_struct& transaction, const TableInfo& info, ByteView inserted_key);

}  // namespace hailstone::haildb

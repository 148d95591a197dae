// The library's tables that have the rows of a table of the server: one, or, where it is partitioned, one for
// each partition that the statement reads. To the server each of them is a handler of its own, under that of
// the whole; their columns are those of the one definition.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "table/scans.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

class HailstoneHandler;

/// The tables that a block of a statement reads: one, or several that it joins. Immutable.
class SourceTables {
 public:
  struct Source {
    TABLE* table;
    std::vector<HailstoneHandler*> readers;
    bool may_be_missing = false;  // of an outer join: its columns are NULL where it has no row

    /// One of them stands for all.
    HailstoneHandler& reader() const { return *readers.front(); }
  };
  explicit SourceTables(std::vector<Source> sources) : sources_(std::move(sources)) {}

  std::span<const Source> all() const { return sources_; }
  bool is_join() const { return sources_.size() > 1; }
  const Source& first() const { return sources_.front(); }
  THD& thd() const { return *first().table->in_use; }
  /// The number of the one that has the field; nothing: none has.
  std::optional<size_t> number_of(const Field& field) const;
  /// The number of the one whose columns are all that the item reads; nothing: it reads those of none, or of
  /// several.
  std::optional<size_t> only_one_of(Item& item) const;
  /// Whether the item reads nothing but columns of these.
  bool has_all_columns_of(Item& item) const;

 private:
  std::vector<Source> sources_;
};

/// Whether the table's rows, or those of its partitions, are in this engine.
bool is_in_engine(const TABLE& table);
/// Whether it is a table of this engine all of whose rows, and nothing else, a SELECT finds in it.
bool is_plain_table(const TABLE_LIST& leaf);
/// For a table of this engine. Partitions that the statement has not chosen, or that the optimizer has found
/// to have no row of it, are left out; so there may be none. Conditions, columns and statistics of columns
/// are the same for all of them.
std::vector<HailstoneHandler*> readers_of(const TABLE& table);
/// Leaves out the partitions that have no row for which all these conditions hold, as the optimizer would
/// find them; of a statement that it will not see.
void prune(THD& thd, TABLE& table, const std::vector<Item*>& conditions);
/// The names of the partitions that the statement reads, as EXPLAIN PARTITIONS has them; empty: the table has
/// none.
std::string partitions_read(const TABLE& table);
/// Whether the columns are the same to the last detail. Not those of partitions, some of which come from an
/// earlier version of the engine, with keys in another order.
bool have_same_columns(const std::vector<HailstoneHandler*>& readers);
/// Scans of these columns of the rows that match. `readers`: not empty. A handler error or 0.
int open_scans(const std::vector<HailstoneHandler*>& readers,
               const std::shared_ptr<const Predicate>& predicate, const std::vector<uint16_t>& columns,
               std::optional<Scans>& to);
/// Estimated distinct values of a column in all of them; 0: unknown, as of a virtual one
/// (RecordFormat::not_stored).
uint64_t distinct_values(const std::vector<HailstoneHandler*>& readers, uint16_t column);

}  // namespace hailstone

// Where the server's items find the value of a column while the engine asks them: a field like the table's
// own, with memory of its own. The records of the tables stay as they are. Belongs to the connection's
// thread.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "kept_bytes.h"
#include "record.h"
#include "schema/decimal_format.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Always takes NULL, also where the column is NOT NULL: an outer join may have no row of the table, and a
/// group no rows.
class ColumnSlot {
 public:
  /// `like` belongs to a table that outlives the slot. `scaled`: the values of a DECIMAL are numbers of its
  /// last digit (ScanColumns::scaled_position_of()).
  ColumnSlot(const Field& like, bool scaled);
  ~ColumnSlot();
  ColumnSlot(const ColumnSlot&) = delete;
  ColumnSlot& operator=(const ColumnSlot&) = delete;

  Field& field() const { return *field_; }
  /// The value's bytes stay while the slot is read.
  void write(const Value& value);
  /// The same of a value whose bytes may go before the slot is read.
  void write_kept(const Value& value) { write(kept_.keep(format_, value)); }

 private:
  MEM_ROOT memory_;  // of the field
  Field* field_;
  std::vector<uchar> bytes_;  // of NULL or not, and behind that of the value
  FieldFormat format_;
  std::optional<DecimalFormat> scaled_;
  KeptBytes kept_;
};

/// A slot for each column, by the field of its table. The tables outlive it.
class ColumnSlots {
 public:
  ColumnSlot& add(const Field& like, bool scaled) {
    likes_.push_back(&like);
    slots_.push_back(std::make_unique<ColumnSlot>(like, scaled));
    return *slots_.back();
  }
  /// Keeps the place of a column that no item reads.
  void add_none() {
    likes_.push_back(nullptr);
    slots_.push_back(nullptr);
  }
  ColumnSlot& operator[](size_t number) const { return *slots_[number]; }
  size_t size() const { return slots_.size(); }
  /// Of a field that has one.
  size_t number_of(const Field& like) const;
  /// As of an outer join that has no row of any table.
  void clear();

 private:
  std::vector<const Field*> likes_;
  std::vector<std::unique_ptr<ColumnSlot>> slots_;
};

}  // namespace hailstone

// Where the server's items read the columns of a row: the records of its tables. Belongs to the connection's
// thread.
#pragma once

#include <array>
#include <optional>

#include "kept_bytes.h"
#include "record.h"
#include "schema/decimal_format.h"
#include "source_tables.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Puts the values of one column into the record of its table.
class SourceField {
 public:
  SourceField() = default;
  /// `scaled`: the values of a DECIMAL are numbers of its last digit (ScanColumns::scaled_position_of()).
  SourceField(const Field& field, const SourceTables& sources, bool scaled = false)
      : table_(field.table), record_(field.table->record[0]), format_(field, record_) {
    const auto number = sources.number_of(field);
    tells_missing_ = number && sources.all()[*number].may_be_missing && field.null_ptr == nullptr;
    if (scaled) scaled_.emplace(decimal_digits(static_cast<const Field_new_decimal&>(field)));
  }

  /// After begin_row(). The value's bytes stay while items read the row. Of a column that is NOT NULL, NULL
  /// says that an outer join has no row of the table: all its columns are NULL then.
  void write(const Value& value) const {
    if (tells_missing_ && value.null) {
      mark_as_null_row(table_);
    } else if (scaled_ && !value.null) {
      std::array<char, DecimalDigits::most> bytes{};
      scaled_->pack(native_signed(value.integer, sizeof(int64_t)), bytes.data());
      const ByteView packed(bytes.data(), scaled_->width());
      format_.write_to(scaled_->is_integer() ? Value::of(load_big_endian(packed.data(), scaled_->width()))
                                             : Value::of(packed),
                       record_);
    } else {
      format_.write_to(value, record_);
    }
  }
  /// The same of a value whose bytes may go before the record is read.
  void write(const Value& value, KeptBytes& kept) const { write(kept.keep(format_, value)); }

 private:
  TABLE* table_ = nullptr;
  uchar* record_ = nullptr;
  FieldFormat format_;
  bool tells_missing_ = false;
  std::optional<DecimalFormat> scaled_;
};

/// Before the values of another row are written, and when no row's are needed any more.
inline void begin_row(const SourceTables& sources) {
  for (const SourceTables::Source& source : sources.all()) {
    if (source.table->null_row) unmark_as_null_row(source.table);
  }
}

}  // namespace hailstone

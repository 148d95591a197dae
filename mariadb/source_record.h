// Where the server's items read the columns of a row: the records of its tables. Belongs to the connection's
// thread.
#pragma once

#include "record.h"
#include "source_tables.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Puts the values of one column into the record of its table.
class SourceField {
 public:
  SourceField(const Field& field, const SourceTables& sources)
      : table_(field.table), record_(field.table->record[0]), format_(field, record_) {
    const auto number = sources.number_of(field);
    tells_missing_ = number && sources.all()[*number].may_be_missing && field.null_ptr == nullptr;
  }

  /// After begin_row(). The value's bytes stay while items read the row. Of a column that is NOT NULL, NULL
  /// says that an outer join has no row of the table: all its columns are NULL then.
  void write(const Value& value) const {
    if (tells_missing_ && value.null) {
      mark_as_null_row(table_);
    } else {
      format_.write_to(value, record_);
    }
  }

 private:
  TABLE* table_ = nullptr;
  uchar* record_ = nullptr;
  FieldFormat format_;
  bool tells_missing_ = false;
};

/// Before the values of another row are written, and when no row's are needed any more.
inline void begin_row(const SourceTables& sources) {
  for (const SourceTables::Source& source : sources.all()) {
    if (source.table->null_row) unmark_as_null_row(source.table);
  }
}

}  // namespace hailstone

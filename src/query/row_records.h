// Rows as records that are sorted, or put aside: the key is made of the columns that decide the order, if
// there are any, behind it are the values that are wanted of the row.
//
// Behind the key (sort_key.h): a bit a column, 1 for NULL; then a number a column, the value or the length of
// the bytes: eight bytes where the value may be as wide, else four; then the bytes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "query/computed_rows.h"
#include "query/hashed_records.h"
#include "query/value_order.h"

namespace hailstone {

/// A column of the order of rows; NULL comes first when ascending.
struct RowOrder {
  uint16_t position = 0;  // among the columns of the rows
  bool descending = false;
  bool nullable = true;
  size_t most_weights = ~size_t{0};  // bytes; values whose weights agree so far are equal
};

/// Immutable, thread-safe.
class RowRecords {
 public:
  struct Key {
    RowOrder by;
    ScanColumn column;
  };
  struct Wanted {
    uint16_t position = 0;
    ScanColumn column = {};
    size_t offset = 0;  // of its number, behind the bits; RowRecords has it
    bool is_wide() const { return column.integer && column.width > sizeof(uint32_t); }
  };
  RowRecords(std::vector<Key> keys, std::vector<Wanted> values);

  /// Writes the rows of batches as records; belongs to one thread.
  class Writer {
   public:
    explicit Writer(const RowRecords& records) : records_(records), texts_(records.keys_.size()) {}
    /// How many bytes the records of the batch take.
    Result<size_t> measure(const RowBatch& batch);
    /// Writes these, as measured, from `to` on; records() tells where each begins.
    void write(const RowBatch& batch, char* to);
    std::span<const char* const> records() const { return begins_; }
    /// Replaces what is in `to` by the records of the batch; their hashes are the caller's.
    Status write(const RowBatch& batch, HashedRecords& to);

   private:
    /// Encoded bytes of a column of the order: of each row, or of each code that has been met.
    struct Texts {
      struct Piece {
        size_t offset = 0;
        uint32_t size = 0;  // 0: not made yet
      };
      std::string bytes;
      std::vector<Piece> pieces;   // of the rows
      std::vector<Piece> of_code;  // of the values in `dictionary`
      std::shared_ptr<const Dictionary> dictionary;
    };
    void make_texts(const Key& key, const ColumnVector& vector, uint32_t rows, Texts& texts) const;

    const RowRecords& records_;
    std::vector<Texts> texts_;  // by column of the order; of numbers empty
    std::vector<uint64_t> sizes_;
    std::vector<uint32_t> key_sizes_;
    std::vector<char*> positions_;  // where to go on in each row's record
    std::vector<const char*> begins_;
  };

  /// The values wanted, of a record; their bytes are the record's.
  void read(const char* record, std::span<Value> values) const;
  /// The same of several records, column by column; `vectors`: one for each wanted value.
  void read(std::span<const char* const> records, std::span<ColumnVector> vectors) const;

 private:
  const std::vector<Key> keys_;
  std::vector<Wanted> wanted_;
  size_t fixed_key_bytes_ = 0;
  size_t null_bytes_ = 0, number_bytes_ = 0;  // behind the key
  size_t fixed_bytes_ = 0;                    // of a whole record
};

}  // namespace hailstone

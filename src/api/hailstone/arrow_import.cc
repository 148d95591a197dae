#include "api/hailstone/arrow_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

#include "api/hailstone/values.h"
#include "base/utf8.h"

namespace hailstone::capi {

namespace {

std::unexpected<Failure> malformed(const ColumnShape& column) {
  return refuse(HS_INVALID, fmt::format("the Arrow array for column '{}' is not well-formed", column.name));
}
std::unexpected<Failure> unfit(const ColumnShape& column, std::string_view format) {
  return refuse(HS_INVALID,
                fmt::format("column '{}' does not take Arrow arrays of format '{}'", column.name, format));
}
std::unexpected<Failure> out_of_range(const ColumnShape& column) {
  return refuse(HS_OUT_OF_RANGE, fmt::format("a number does not fit into column '{}'", column.name));
}

/// Whether no position in the array, and no byte offset of one, can overflow.
bool has_possible_size(const ArrowArray& array) {
  constexpr int64_t most = int64_t{1} << 48;  // of values; more have no room in an address space
  return array.length >= 0 && array.length <= most && array.offset >= 0 && array.offset <= most;
}

/// Whether the array says of some value that it is NULL, without saying which.
bool lacks_validity(const ArrowArray& array) {
  return array.null_count > 0 &&
         (array.n_buffers < 1 || array.buffers == nullptr || array.buffers[0] == nullptr);
}

/// Whether the offsets never decrease, so that each value lies before the last offset, which is where the
/// text ends: its size is told nowhere else.
template <typename Offset>
bool has_ascending_offsets(const ArrowArray& array) {
  if (array.length == 0) return true;
  const char* const offsets =
      static_cast<const char*>(array.buffers[1]) + array.offset * static_cast<int64_t>(sizeof(Offset));
  auto before = load<Offset>(offsets);
  if (before < 0) return false;
  for (int64_t i = 1; i <= array.length; ++i) {
    const auto offset = load<Offset>(offsets + i * static_cast<int64_t>(sizeof(Offset)));
    if (offset < before) return false;
    before = offset;
  }
  return true;
}

/// What all kinds share: offset and validity.
class Base : public ArrowColumn {
 public:
  Base(const ColumnShape& column, const ArrowArray& array, size_t buffers)
      : column_(column), offset_(array.offset) {
    if (array.null_count != 0 && buffers > 0) validity_ = static_cast<const uint8_t*>(array.buffers[0]);
  }
  Returned<Value> value(int64_t row) const final {
    const int64_t at = row + offset_;
    if (validity_ != nullptr && (validity_[at / 8] >> (at % 8) & 1) == 0) return null();
    return present(at);
  }

 protected:
  virtual Returned<Value> present(int64_t at) const = 0;
  Returned<Value> null() const {
    if (column_.nullable) return Value{};
    return refuse(HS_INVALID, fmt::format("column '{}' takes no NULL", column_.name));
  }
  const ColumnShape& column_;

 private:
  const int64_t offset_;
  const uint8_t* validity_ = nullptr;
};

class NullColumn final : public Base {
 public:
  NullColumn(const ColumnShape& column, const ArrowArray& array) : Base(column, array, 0) {}

 private:
  Returned<Value> present(int64_t) const override { return null(); }
};

/// Numbers of one width; `multiply` and `divide` bring them to the unit of the column.
template <typename Number>
class IntegerColumn final : public Base {
 public:
  IntegerColumn(const ColumnShape& column, const ArrowArray& array, int64_t multiply, int64_t divide)
      : Base(column, array, 2),
        numbers_(static_cast<const char*>(array.buffers[1])),
        limits_(is_floating(column) ? IntegerLimits{0, 0} : limits_of(column)),
        floating_(is_floating(column)),
        multiply_(multiply),
        divide_(divide) {}

 private:
  Returned<Value> present(int64_t at) const override {
    const auto stored = load<Number>(numbers_ + at * static_cast<int64_t>(sizeof(Number)));
    if (floating_) return Value::of(ordered_real(column_, static_cast<double>(stored)));
    Integer number = static_cast<Integer>(stored) * multiply_;
    if (divide_ != 1) {
      if (number % divide_ != 0) {
        return refuse(HS_OUT_OF_RANGE,
                      fmt::format("a time has digits that column '{}' does not hold: round it to {} first",
                                  column_.name, column_.type == HS_DATE ? "days" : "microseconds"));
      }
      number /= divide_;
    }
    if (number < limits_.least || number > limits_.greatest) return out_of_range(column_);
    return Value::of(ordered_integer(column_, number));
  }
  const char* const numbers_;
  const IntegerLimits limits_;
  const bool floating_;
  const int64_t multiply_, divide_;
};

template <typename Number>
class RealColumn final : public Base {
 public:
  RealColumn(const ColumnShape& column, const ArrowArray& array)
      : Base(column, array, 2), numbers_(static_cast<const char*>(array.buffers[1])) {}

 private:
  Returned<Value> present(int64_t at) const override {
    const auto number =
        static_cast<double>(load<Number>(numbers_ + at * static_cast<int64_t>(sizeof(Number))));
    return to_engine(column_, hs_double(number));
  }
  const char* const numbers_;
};

class BooleanColumn final : public Base {
 public:
  BooleanColumn(const ColumnShape& column, const ArrowArray& array)
      : Base(column, array, 2), bits_(static_cast<const uint8_t*>(array.buffers[1])) {}

 private:
  Returned<Value> present(int64_t at) const override {
    return to_engine(column_, hs_uint(bits_[at / 8] >> (at % 8) & 1));
  }
  const uint8_t* const bits_;
};

template <typename Offset>
class TextColumn final : public Base {
 public:
  TextColumn(const ColumnShape& column, const ArrowArray& array)
      : Base(column, array, 3),
        offsets_(static_cast<const char*>(array.buffers[1])),
        text_(static_cast<const char*>(array.buffers[2])) {}

 private:
  Returned<Value> present(int64_t at) const override {
    const char* const here = offsets_ + at * static_cast<int64_t>(sizeof(Offset));
    const auto begin = load<Offset>(here), end = load<Offset>(here + sizeof(Offset));
    if (begin < 0 || end < begin || (text_ == nullptr && end > begin)) return malformed(column_);
    if (begin == end) return Value::of(ByteView(""));
    return Value::of(ByteView(text_ + begin, static_cast<size_t>(end - begin)));
  }
  const char* const offsets_;
  const char* const text_;
};

class FixedColumn final : public Base {
 public:
  FixedColumn(const ColumnShape& column, const ArrowArray& array, int64_t width)
      : Base(column, array, 2), bytes_(static_cast<const char*>(array.buffers[1])), width_(width) {}

 private:
  Returned<Value> present(int64_t at) const override {
    return Value::of(ByteView(bytes_ + at * width_, static_cast<size_t>(width_)));
  }
  const char* const bytes_;
  const int64_t width_;
};

/// The layout of views: short strings within 16 bytes, longer ones in one of several buffers, whose sizes are
/// in the last one.
class ViewColumn final : public Base {
 public:
  ViewColumn(const ColumnShape& column, const ArrowArray& array)
      : Base(column, array, 2),
        views_(static_cast<const char*>(array.buffers[1])),
        buffers_(array.buffers + 2),
        buffer_count_(array.n_buffers - 3),
        sizes_(static_cast<const char*>(array.buffers[array.n_buffers - 1])) {}

 private:
  static constexpr int32_t most_within = 12;
  Returned<Value> present(int64_t at) const override {
    const char* const view = views_ + at * 16;
    const auto size = load<int32_t>(view);
    if (size < 0) return malformed(column_);
    if (size <= most_within) return Value::of(ByteView(view + 4, static_cast<size_t>(size)));
    const auto buffer = load<int32_t>(view + 8), offset = load<int32_t>(view + 12);
    if (buffer < 0 || buffer >= buffer_count_ || offset < 0 || buffers_[buffer] == nullptr ||
        sizes_ == nullptr ||
        load<int64_t>(sizes_ + buffer * int64_t{sizeof(int64_t)}) < int64_t{offset} + size) {
      return malformed(column_);
    }
    return Value::of(
        ByteView(static_cast<const char*>(buffers_[buffer]) + offset, static_cast<size_t>(size)));
  }
  const char* const views_;
  const void* const* const buffers_;
  const int64_t buffer_count_;
  const char* const sizes_;
};

/// Bytes of any kind for a column of text: each must be UTF-8, as whoever reads the column relies on it.
class CheckedText final : public ArrowColumn {
 public:
  CheckedText(const ColumnShape& column, std::unique_ptr<ArrowColumn> bytes)
      : column_(column), bytes_(std::move(bytes)) {}
  Returned<Value> value(int64_t row) const override {
    HAILSTONE_ASSIGN(const Value value, bytes_->value(row));
    if (value.null || is_well_formed_utf8(value.bytes)) return value;
    return refuse(
        HS_INVALID,
        fmt::format("column '{}' holds text, but row {} of the Arrow array is not UTF-8; load it into "
                    "a column of bytes",
                    column_.name, row));
  }

 private:
  const ColumnShape& column_;
  const std::unique_ptr<ArrowColumn> bytes_;
};

template <typename Index>
class DictionaryColumn final : public Base {
 public:
  DictionaryColumn(const ColumnShape& column, const ArrowArray& array, std::unique_ptr<ArrowColumn> values)
      : Base(column, array, 2),
        indices_(static_cast<const char*>(array.buffers[1])),
        size_(array.dictionary->length),
        values_(std::move(values)) {}

 private:
  Returned<Value> present(int64_t at) const override {
    const auto index = load<Index>(indices_ + at * static_cast<int64_t>(sizeof(Index)));
    if (std::cmp_less(index, 0) || std::cmp_greater_equal(index, size_)) return malformed(column_);
    return values_->value(static_cast<int64_t>(index));
  }
  const char* const indices_;
  const int64_t size_;
  const std::unique_ptr<ArrowColumn> values_;
};

/// Whether the array has so many buffers, all of those before the last `optional` ones there. Buffers of
/// empty arrays need not be.
bool has_buffers(const ArrowArray& array, int64_t count, int64_t optional = 0) {
  if (array.n_buffers != count || array.buffers == nullptr) return false;
  for (int64_t i = 1; array.length > 0 && i < count - optional; ++i) {
    if (array.buffers[i] == nullptr) return false;
  }
  return true;
}

template <template <typename> typename Column, typename... Arguments>
std::unique_ptr<ArrowColumn> of_integers(char format, const ColumnShape& column, const ArrowArray& array,
                                         Arguments... arguments) {
  switch (format) {
    case 'c':
      return std::make_unique<Column<int8_t>>(column, array, std::move(arguments)...);
    case 'C':
      return std::make_unique<Column<uint8_t>>(column, array, std::move(arguments)...);
    case 's':
      return std::make_unique<Column<int16_t>>(column, array, std::move(arguments)...);
    case 'S':
      return std::make_unique<Column<uint16_t>>(column, array, std::move(arguments)...);
    case 'i':
      return std::make_unique<Column<int32_t>>(column, array, std::move(arguments)...);
    case 'I':
      return std::make_unique<Column<uint32_t>>(column, array, std::move(arguments)...);
    case 'l':
      return std::make_unique<Column<int64_t>>(column, array, std::move(arguments)...);
    default:
      return std::make_unique<Column<uint64_t>>(column, array, std::move(arguments)...);
  }
}

bool is_integer_format(std::string_view format) {
  return format.size() == 1 && std::string_view("cCsSiIlL").find(format[0]) != std::string_view::npos;
}

using Made = Returned<std::unique_ptr<ArrowColumn>>;

bool is_time(const ColumnShape& column) { return column.type == HS_TIMESTAMP || column.type == HS_DATETIME; }

Made make_time(const ColumnShape& column, std::string_view format, const ArrowArray& array) {
  constexpr int64_t microseconds_a_day = int64_t{86'400} * 1'000'000;
  if (!has_buffers(array, 2)) return malformed(column);
  if (format == "tdD") {
    if (!column.integer || is_floating(column)) return unfit(column, format);
    return std::make_unique<IntegerColumn<int32_t>>(column, array, is_time(column) ? microseconds_a_day : 1,
                                                    int64_t{1});
  }
  if (format == "tdm" && column.type == HS_DATE) {
    return std::make_unique<IntegerColumn<int64_t>>(column, array, 1, int64_t{86'400'000});
  }
  if (format.starts_with("ts") && format.size() >= 4 && is_time(column)) {
    if (column.type == HS_DATETIME && format.size() > 4) {
      return refuse(HS_INVALID, fmt::format("column '{}' holds times of no time zone, and the Arrow array's "
                                            "are of '{}'; take their zone away first",
                                            column.name, format.substr(4)));
    }
    switch (format[2]) {
      case 's':
        return std::make_unique<IntegerColumn<int64_t>>(column, array, int64_t{1'000'000}, 1);
      case 'm':
        return std::make_unique<IntegerColumn<int64_t>>(column, array, 1'000, 1);
      case 'u':
        return std::make_unique<IntegerColumn<int64_t>>(column, array, 1, 1);
      case 'n':
        return std::make_unique<IntegerColumn<int64_t>>(column, array, 1, 1'000);
      default:
        break;
    }
  }
  return unfit(column, format);
}

Made make_text(const ColumnShape& column, std::string_view format, const ArrowArray& array) {
  if (format == "u" || format == "z") {
    if (!has_buffers(array, 3, 1) || !has_ascending_offsets<int32_t>(array)) return malformed(column);
    return std::make_unique<TextColumn<int32_t>>(column, array);
  }
  if (format == "U" || format == "Z") {
    if (!has_buffers(array, 3, 1) || !has_ascending_offsets<int64_t>(array)) return malformed(column);
    return std::make_unique<TextColumn<int64_t>>(column, array);
  }
  if (format == "vu" || format == "vz") {
    if (array.n_buffers < 3 || array.buffers == nullptr ||
        (array.length > 0 && array.buffers[1] == nullptr)) {
      return malformed(column);
    }
    return std::make_unique<ViewColumn>(column, array);
  }
  if (format.starts_with("w:")) {
    int64_t width = 0;
    const auto [end, error] = std::from_chars(format.data() + 2, format.data() + format.size(), width);
    const bool whole =
        error == std::errc() && end == format.data() + format.size() && width >= 0 &&
        width <= std::numeric_limits<int32_t>::max() &&
        (width == 0 || array.offset + array.length <= std::numeric_limits<int64_t>::max() / width);
    if (!whole || !has_buffers(array, 2)) return malformed(column);
    return std::make_unique<FixedColumn>(column, array, width);
  }
  return unfit(column, format);
}

Made make_dictionary(const ColumnShape& column, const ArrowSchema& schema, const ArrowArray& array) {
  // A dictionary has none of its own: one that leads back to itself would have no end.
  if (array.dictionary == nullptr || array.dictionary->release == nullptr ||
      schema.dictionary->dictionary != nullptr || schema.dictionary->release == nullptr ||
      !has_buffers(array, 2) || !is_integer_format(schema.format)) {
    return malformed(column);
  }
  HAILSTONE_ASSIGN(auto values, ArrowColumn::make(column, *schema.dictionary, *array.dictionary));
  return of_integers<DictionaryColumn>(schema.format[0], column, array, std::move(values));
}

}  // namespace

std::string stream_failure(ArrowArrayStream& stream, int number) {
  const char* const reason = stream.get_last_error == nullptr ? nullptr : stream.get_last_error(&stream);
  return fmt::format("failed with error {}: {}", number, reason == nullptr ? "it gives no reason" : reason);
}

Made ArrowColumn::make(const ColumnShape& column, const ArrowSchema& schema, const ArrowArray& array) {
  if (schema.format == nullptr || !has_possible_size(array)) return malformed(column);
  if (std::string_view(schema.format) != "n" && lacks_validity(array)) return malformed(column);
  if (schema.dictionary != nullptr) return make_dictionary(column, schema, array);
  const std::string_view format = schema.format;
  if (format == "n") return std::make_unique<NullColumn>(column, array);
  if (!column.integer) {
    HAILSTONE_ASSIGN(auto text, make_text(column, format, array));
    const bool says_so = format == "u" || format == "U" || format == "vu";
    if (column.type != HS_STRING || says_so) return text;
    return std::make_unique<CheckedText>(column, std::move(text));
  }
  if (format.starts_with("t")) return make_time(column, format, array);
  const bool known = is_integer_format(format) || format == "f" || format == "g" || format == "b";
  if (!known) return unfit(column, format);
  if (!has_buffers(array, 2)) return malformed(column);
  if (is_integer_format(format))
    return of_integers<IntegerColumn>(format[0], column, array, int64_t{1}, int64_t{1});
  if (format == "b") return std::make_unique<BooleanColumn>(column, array);
  if (!is_floating(column)) return unfit(column, format);
  if (format == "f") return std::make_unique<RealColumn<float>>(column, array);
  return std::make_unique<RealColumn<double>>(column, array);
}

namespace {

/// Whether some row of the struct array is NULL itself.
bool has_null_rows(const ArrowArray& array) {
  if (array.null_count == 0 || array.n_buffers < 1 || array.buffers == nullptr ||
      array.buffers[0] == nullptr) {
    return false;
  }
  const auto* const validity = static_cast<const uint8_t*>(array.buffers[0]);
  for (int64_t row = array.offset; row < array.offset + array.length; ++row) {
    if ((validity[row / 8] >> (row % 8) & 1) == 0) return true;
  }
  return false;
}

/// Whether it is a record batch of which each child is there.
Outcome check_struct(const ArrowSchema& schema, const ArrowArray& array) {
  const bool is_struct = schema.format != nullptr && std::string_view(schema.format) == "+s";
  if (!is_struct || schema.n_children != array.n_children || !has_possible_size(array) ||
      (schema.n_children > 0 && (schema.children == nullptr || array.children == nullptr))) {
    return refuse(HS_INVALID, "the Arrow array is no well-formed struct array (a record batch)");
  }
  if (has_null_rows(array)) return refuse(HS_INVALID, "a row of the Arrow array is NULL as a whole");
  for (int64_t i = 0; i < schema.n_children; ++i) {
    const ArrowSchema* const child = schema.children[i];
    const ArrowArray* const values = array.children[i];
    if (child == nullptr || values == nullptr || child->release == nullptr || values->release == nullptr ||
        values->length < array.offset + array.length) {
      return refuse(HS_INVALID,
                    fmt::format("child {} of the Arrow array is missing, released or too short", i));
    }
  }
  return {};
}

}  // namespace

Returned<std::vector<std::unique_ptr<ArrowColumn>>> open_columns(std::span<const ColumnShape> columns,
                                                                 const ArrowSchema& schema,
                                                                 const ArrowArray& array) {
  HAILSTONE_TRY(check_struct(schema, array));
  if (std::cmp_not_equal(array.n_children, columns.size()))
    return refuse(HS_INVALID, "the Arrow array has other columns than the stream's schema");
  std::vector<std::unique_ptr<ArrowColumn>> opened;
  for (size_t i = 0; i < columns.size(); ++i) {
    HAILSTONE_ASSIGN(auto column, ArrowColumn::make(columns[i], *schema.children[i], *array.children[i]));
    opened.push_back(std::move(column));
  }
  return opened;
}

Outcome read_arrow(const TableShape& table, const ArrowSchema* schema, const ArrowArray* array,
                   const std::function<Outcome(std::span<const Value>)>& take,
                   const std::function<Outcome()>& look) {
  constexpr int64_t rows_between_looks = 4096;
  if (schema == nullptr || array == nullptr || schema->release == nullptr || array->release == nullptr) {
    return refuse(HS_INVALID, "the Arrow schema or array is NULL or was released");
  }
  HAILSTONE_TRY(check_struct(*schema, *array));
  std::vector<std::unique_ptr<ArrowColumn>> columns(table.columns.size());
  for (int64_t i = 0; i < schema->n_children; ++i) {
    const ArrowSchema* const child = schema->children[i];
    const ArrowArray* const values = array->children[i];
    HAILSTONE_ASSIGN(const uint16_t column, table.column(child->name == nullptr ? "" : child->name));
    if (columns[column] != nullptr) {
      return refuse(HS_INVALID, fmt::format("the Arrow array has two children named '{}'", child->name));
    }
    HAILSTONE_ASSIGN(columns[column], ArrowColumn::make(table.columns[column], *child, *values));
  }
  std::vector<Value> row(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] == nullptr && !table.columns[i].nullable && array->length > 0) {
      return refuse(HS_INVALID,
                    fmt::format("the Arrow array has no child for column '{}', which takes no NULL",
                                table.columns[i].name));
    }
  }
  for (int64_t i = 0; i < array->length; ++i) {
    if (i % rows_between_looks == 0) HAILSTONE_TRY(look());
    for (size_t column = 0; column < columns.size(); ++column) {
      if (columns[column] == nullptr) continue;
      HAILSTONE_ASSIGN(row[column], columns[column]->value(array->offset + i));
    }
    HAILSTONE_TRY(take(row));
  }
  return {};
}

}  // namespace hailstone::capi

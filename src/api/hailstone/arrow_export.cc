#include "api/hailstone/arrow_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "api/hailstone/values.h"
#include "base/hash.h"
#include "expression/span.h"
#include "expression/stored_values.h"
#include "schema/ordered_wide.h"

namespace hailstone::capi {

namespace {

/// What a schema made here owns.
struct SchemaContent {
  std::string format, name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> child_pointers;
  std::unique_ptr<ArrowSchema> dictionary;
};

void release_schema(ArrowSchema* schema) {
  auto* const content = static_cast<SchemaContent*>(schema->private_data);
  for (ArrowSchema& child : content->children) {
    if (child.release != nullptr) child.release(&child);
  }
  if (content->dictionary != nullptr && content->dictionary->release != nullptr) {
    content->dictionary->release(content->dictionary.get());
  }
  delete content;
  schema->release = nullptr;
}

/// `content` gets its last form before; the structures in it belong to the schema from now on.
void make_schema(std::unique_ptr<SchemaContent> content, bool nullable, ArrowSchema* schema) {
  for (ArrowSchema& child : content->children) content->child_pointers.push_back(&child);
  *schema = {};
  schema->format = content->format.c_str();
  schema->name = content->name.c_str();
  schema->flags = nullable ? ARROW_FLAG_NULLABLE : 0;
  schema->n_children = static_cast<int64_t>(content->children.size());
  schema->children = content->child_pointers.empty() ? nullptr : content->child_pointers.data();
  schema->dictionary = content->dictionary.get();
  schema->release = release_schema;
  schema->private_data = content.release();
}

/// What an array made here owns.
struct ArrayContent {
  std::vector<const void*> buffers;
  std::vector<std::shared_ptr<const void>> owners;  // of what the buffers point to
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> child_pointers;
  std::unique_ptr<ArrowArray> dictionary;
};

void release_array(ArrowArray* array) {
  auto* const content = static_cast<ArrayContent*>(array->private_data);
  for (ArrowArray& child : content->children) {
    if (child.release != nullptr) child.release(&child);
  }
  if (content->dictionary != nullptr && content->dictionary->release != nullptr) {
    content->dictionary->release(content->dictionary.get());
  }
  delete content;
  array->release = nullptr;
}

void make_array(std::unique_ptr<ArrayContent> content, int64_t length, int64_t nulls, ArrowArray* array) {
  for (ArrowArray& child : content->children) content->child_pointers.push_back(&child);
  *array = {};
  array->length = length;
  array->null_count = nulls;
  array->n_buffers = static_cast<int64_t>(content->buffers.size());
  array->n_children = static_cast<int64_t>(content->children.size());
  array->buffers = content->buffers.data();
  array->children = content->child_pointers.empty() ? nullptr : content->child_pointers.data();
  array->dictionary = content->dictionary.get();
  array->release = release_array;
  array->private_data = content.release();
}

template <typename T>
void add_buffer(ArrayContent& content, std::vector<T> values) {
  auto owner = std::make_shared<std::vector<T>>(std::move(values));
  // Readers may want an address even where there are no bytes.
  static const uint64_t nothing = 0;
  content.buffers.push_back(owner->empty() ? static_cast<const void*>(&nothing) : owner->data());
  content.owners.push_back(std::move(owner));
}

const char* format_of(hs_type type) {
  switch (type) {
    case HS_INT8:
      return "c";
    case HS_INT16:
      return "s";
    case HS_INT32:
      return "i";
    case HS_INT64:
      return "l";
    case HS_UINT8:
      return "C";
    case HS_UINT16:
      return "S";
    case HS_UINT32:
      return "I";
    case HS_UINT64:
      return "L";
    case HS_FLOAT:
      return "f";
    case HS_DOUBLE:
      return "g";
    case HS_STRING:
      return "u";
    case HS_BYTES:
      return "z";
    case HS_DATE:
      return "tdD";
    case HS_TIMESTAMP:
      return "tsu:UTC";
    case HS_BOOL:
      return "b";
    case HS_DATETIME:
      return "tsu:";
  }
  return "n";
}

std::string format_of(const ExportedColumn& column) {
  if (column.form == ExportedColumn::Form::Decimal)
    return fmt::format("d:{},{}", column.digits, column.scale);
  if (column.form == ExportedColumn::Form::Span) return "tDu";
  return format_of(column.shape.type);
}

constexpr size_t most_text = std::numeric_limits<int32_t>::max();

}  // namespace

void export_schema(const std::vector<ExportedColumn>& columns, ArrowSchema* schema) {
  // Released as a whole when memory runs out on the way.
  struct Guard {
    void operator()(SchemaContent* content) const {
      ArrowSchema whole{};
      whole.private_data = content;
      release_schema(&whole);
    }
  };
  std::unique_ptr<SchemaContent, Guard> whole(new SchemaContent);
  whole->format = "+s";
  whole->children.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    const ExportedColumn& column = columns[i];
    auto content = std::make_unique<SchemaContent>();
    content->name = column.shape.name;
    content->format = column.as_dictionary ? "i" : format_of(column);
    if (column.as_dictionary) {
      content->dictionary = std::make_unique<ArrowSchema>();
      auto values = std::make_unique<SchemaContent>();
      values->format = format_of(column.shape.type);
      make_schema(std::move(values), false, content->dictionary.get());
    }
    make_schema(std::move(content), column.shape.nullable, &whole->children[i]);
  }
  make_schema(std::unique_ptr<SchemaContent>(whole.release()), false, schema);
}

/// One column on its way into an array.
class ArrayBuilder::Builder {
 public:
  virtual ~Builder() = default;
  /// How many of `rows` rows from `first` on can be taken.
  virtual uint32_t room(const ColumnVector&, uint32_t, uint32_t rows) const { return rows; }
  void append(const ColumnVector& vector, uint32_t first, uint32_t rows) {
    append_nulls(vector, first, rows);
    append_values(vector, first, rows);
    rows_ += rows;
  }
  void finish(ArrowArray* array) {
    auto content = std::make_unique<ArrayContent>();
    if (validity_.empty()) {
      content->buffers.push_back(nullptr);
    } else {
      add_buffer(*content, std::exchange(validity_, {}));
    }
    add_values(*content);
    make_array(std::move(content), rows_, nulls_, array);
    rows_ = 0;
    nulls_ = 0;
  }
  /// Whether a value has had no room in the array's type.
  bool is_beyond() const { return is_beyond_; }

 protected:
  void note_beyond() { is_beyond_ = true; }
  virtual void append_values(const ColumnVector& vector, uint32_t first, uint32_t rows) = 0;
  /// Moves buffers (and the dictionary) to the content.
  virtual void add_values(ArrayContent& content) = 0;
  uint32_t rows() const { return rows_; }

 private:
  void append_nulls(const ColumnVector& vector, uint32_t first, uint32_t rows) {
    if (!vector.any_nulls && validity_.empty()) return;
    if (validity_.empty()) validity_.assign((ArrayBuilder::most_rows + 7) / 8, 0xff);
    if (!vector.any_nulls) return;
    for (uint32_t i = 0; i < rows; ++i) {
      if (vector.nulls[first + i] == 0) continue;
      const uint32_t row = rows_ + i;
      validity_[row / 8] = static_cast<uint8_t>(validity_[row / 8] & ~(1u << (row % 8)));
      ++nulls_;
    }
  }

  uint32_t rows_ = 0;
  int64_t nulls_ = 0;
  bool is_beyond_ = false;
  std::vector<uint8_t> validity_;  // empty while there is no NULL
};

class ArrayBuilder::NumberBuilder final : public Builder {
 public:
  explicit NumberBuilder(const ColumnShape& column) : column_(column), width_(array_width(column)) {}

 private:
  static unsigned array_width(const ColumnShape& column) {
    switch (column.type) {
      case HS_INT8:
      case HS_UINT8:
        return 1;
      case HS_INT16:
      case HS_UINT16:
        return 2;
      case HS_INT64:
      case HS_UINT64:
      case HS_DOUBLE:
      case HS_TIMESTAMP:
      case HS_DATETIME:
        return 8;
      default:
        return 4;
    }
  }

  void append_values(const ColumnVector& vector, uint32_t first, uint32_t rows) override {
    const size_t before = values_.size();
    values_.resize(before + size_t{rows} * width_);
    const uint64_t* const from = vector.integers.data() + first;
    char* const to = values_.data() + before;
    switch (column_.stored) {
      case Type::Float:
        for (uint32_t i = 0; i < rows; ++i) store(to + size_t{i} * 4, native_float(from[i]));
        break;
      case Type::Double:
        for (uint32_t i = 0; i < rows; ++i) store(to + size_t{i} * 8, native_double(from[i]));
        break;
      case Type::Signed: {
        // The order is the number plus 2^(bits - 1).
        const uint64_t sign = uint64_t{1} << (8 * column_.width - 1);
        convert(from, rows, to, [sign](uint64_t ordered) { return ordered - sign; });
        break;
      }
      default:
        convert(from, rows, to, [](uint64_t ordered) { return ordered; });
        break;
    }
  }

  /// Keeps the low bytes of what `native` makes of the values.
  template <typename Native>
  void convert(const uint64_t* from, uint32_t rows, char* to, const Native& native) {
    switch (width_) {
      case 1:
        for (uint32_t i = 0; i < rows; ++i) store(to + i, static_cast<uint8_t>(native(from[i])));
        break;
      case 2:
        for (uint32_t i = 0; i < rows; ++i) store(to + size_t{i} * 2, static_cast<uint16_t>(native(from[i])));
        break;
      case 4:
        for (uint32_t i = 0; i < rows; ++i) store(to + size_t{i} * 4, static_cast<uint32_t>(native(from[i])));
        break;
      default:
        for (uint32_t i = 0; i < rows; ++i) store(to + size_t{i} * 8, native(from[i]));
        break;
    }
  }

  void add_values(ArrayContent& content) override { add_buffer(content, std::exchange(values_, {})); }

  const ColumnShape column_;
  const unsigned width_;
  std::vector<char> values_;
};

class ArrayBuilder::BooleanBuilder final : public Builder {
  void append_values(const ColumnVector& vector, uint32_t first, uint32_t count) override {
    bits_.resize((rows() + count + 7) / 8);
    for (uint32_t i = 0; i < count; ++i) {
      if (vector.any_nulls && vector.nulls[first + i] != 0) continue;
      const uint32_t row = rows() + i;
      if (vector.integers[first + i] != 0) bits_[row / 8] |= static_cast<uint8_t>(1U << (row % 8));
    }
  }
  void add_values(ArrayContent& content) override { add_buffer(content, std::exchange(bits_, {})); }

  std::vector<uint8_t> bits_;
};

class ArrayBuilder::TextBuilder final : public Builder {
 public:
  uint32_t room(const ColumnVector& vector, uint32_t first, uint32_t rows) const override {
    size_t size = text_.size();
    for (uint32_t i = 0; i < rows; ++i) {
      if (!vector.is_null(first + i)) size += text_of(vector, first + i).size();
      if (size > most_text) return i;
    }
    return rows;
  }

 private:
  static ByteView text_of(const ColumnVector& vector, uint32_t row) {
    return vector.dictionary != nullptr ? vector.dictionary->value(vector.codes[row]) : vector.bytes[row];
  }
  void append_values(const ColumnVector& vector, uint32_t first, uint32_t rows) override {
    if (offsets_.empty()) offsets_.push_back(0);
    for (uint32_t i = 0; i < rows; ++i) {
      if (!vector.is_null(first + i)) {
        const ByteView value = text_of(vector, first + i);
        text_.insert(text_.end(), value.begin(), value.end());
      }
      offsets_.push_back(static_cast<int32_t>(text_.size()));
    }
  }
  void add_values(ArrayContent& content) override {
    if (offsets_.empty()) offsets_.push_back(0);
    add_buffer(content, std::exchange(offsets_, {}));
    add_buffer(content, std::exchange(text_, {}));
  }

  std::vector<int32_t> offsets_;
  std::vector<char> text_;
};

/// Numbers of the last digit, of any of the forms that expressions have.
class ArrayBuilder::DecimalBuilder final : public Builder {
 public:
  explicit DecimalBuilder(const ExportedColumn& column)
      : column_(column.shape), is_whole_(column.form == ExportedColumn::Form::Whole) {
    constexpr WideInteger bits_of_63 = WideInteger{1} << 63;
    if (!is_whole_) {
      behind_ = power_of_ten(column.digits);
      least_ = 1 - behind_;
    } else if (column_.type == HS_UINT64) {
      behind_ = bits_of_63 * 2;
    } else {
      behind_ = bits_of_63;
      least_ = -bits_of_63;
    }
  }

 private:
  static WideInteger power_of_ten(unsigned digits) {
    WideInteger power = 1;
    for (unsigned i = 0; i < digits; ++i) power *= 10;
    return power;
  }
  void append_values(const ColumnVector& vector, uint32_t first, uint32_t rows) override {
    const size_t width = is_whole_ ? sizeof(int64_t) : sizeof(WideInteger), before = values_.size();
    values_.resize(before + rows * width);
    for (uint32_t i = 0; i < rows; ++i) {
      if (vector.is_null(first + i)) continue;
      const WideInteger number = number_of(vector, first + i);
      if (number >= behind_ || number < least_) note_beyond();
      char* const to = values_.data() + before + i * width;
      if (is_whole_) {
        store(to, static_cast<uint64_t>(number));
      } else {
        store(to, number);
      }
    }
  }
  WideInteger number_of(const ColumnVector& vector, uint32_t row) {
    if (!column_.integer) {
      const HugeInteger number = native_number(vector.bytes[row]);
      if (number.has_128_bits()) return number.wide();
      note_beyond();
      return 0;
    }
    if (column_.stored == Type::Signed) return native_signed(vector.integers[row], column_.width);
    return vector.integers[row];
  }
  void add_values(ArrayContent& content) override { add_buffer(content, std::exchange(values_, {})); }

  const ColumnShape column_;
  const bool is_whole_;
  WideInteger least_ = 0, behind_ = 0;  // numbers that have room
  std::vector<char> values_;
};

/// Moments and spans, which become days or microseconds.
class ArrayBuilder::TimeBuilder final : public Builder {
 public:
  explicit TimeBuilder(const ExportedColumn& column) : column_(column) {}

 private:
  bool is_day() const {
    return column_.form == ExportedColumn::Form::Moment && column_.shape.type == HS_DATE;
  }
  void append_values(const ColumnVector& vector, uint32_t first, uint32_t rows) override {
    const size_t width = is_day() ? sizeof(int32_t) : sizeof(int64_t), before = values_.size();
    values_.resize(before + rows * width);
    for (uint32_t i = 0; i < rows; ++i) {
      if (vector.is_null(first + i)) continue;
      const int64_t number = native_signed(vector.integers[first + i], sizeof(int64_t));
      char* const to = values_.data() + before + i * width;
      const auto given = column_.form == ExportedColumn::Form::Span ? microseconds_of_span(number)
                         : is_day()                                 ? days_of(number)
                                                                    : microseconds_of(number);
      if (!given) note_beyond();
      if (is_day()) {
        store(to, static_cast<int32_t>(given.value_or(0)));
      } else {
        store(to, given.value_or(0));
      }
    }
  }
  static std::optional<int64_t> microseconds_of_span(int64_t span) {
    const MomentParts parts = parts_of_span(span);
    const uint64_t seconds = (parts.hour * 60 + parts.minute) * 60 + parts.second;
    const auto all = static_cast<int64_t>(seconds * 1'000'000 + parts.microsecond);
    return span < 0 ? -all : all;
  }
  void add_values(ArrayContent& content) override { add_buffer(content, std::exchange(values_, {})); }

  const ExportedColumn column_;
  std::vector<char> values_;
};

/// Indices into the dictionary of a segment, which is not copied, or, for rows that have none, into one made
/// for the array.
class ArrayBuilder::DictionaryBuilder final : public Builder {
 public:
  uint32_t room(const ColumnVector& vector, uint32_t first, uint32_t count) const override {
    if (rows() > 0 && vector.dictionary != stored_) return 0;
    if (vector.dictionary != nullptr) return count;
    size_t size = text_.size();
    for (uint32_t i = 0; i < count; ++i) {
      if (!(vector.any_nulls && vector.nulls[first + i] != 0)) size += vector.bytes[first + i].size();
      if (size > most_text) return i;
    }
    return count;
  }

 private:
  /// The offsets of a stored dictionary's values; its text is used in place.
  struct Offsets {
    std::shared_ptr<const Dictionary> dictionary;
    std::vector<int32_t> ends;
  };

  void append_values(const ColumnVector& vector, uint32_t first, uint32_t count) override {
    stored_ = vector.dictionary;
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t row = first + i;
      if (vector.any_nulls && vector.nulls[row] != 0) {
        indices_.push_back(0);
      } else if (stored_ != nullptr) {
        indices_.push_back(static_cast<int32_t>(vector.codes[row]));
      } else {
        indices_.push_back(index_of(vector.bytes[row]));
      }
    }
  }

  int32_t index_of(ByteView value) {
    const auto known = known_.find(value);
    if (known != known_.end()) return known->second;
    const auto index = static_cast<int32_t>(known_.size());
    known_.emplace(value, index);
    if (ends_.empty()) ends_.push_back(0);
    text_.insert(text_.end(), value.begin(), value.end());
    ends_.push_back(static_cast<int32_t>(text_.size()));
    return index;
  }

  void add_values(ArrayContent& content) override {
    add_buffer(content, std::exchange(indices_, {}));
    auto dictionary = std::make_unique<ArrowArray>();
    auto values = std::make_unique<ArrayContent>();
    values->buffers.push_back(nullptr);
    int64_t size = 0;
    if (stored_ != nullptr) {
      size = stored_->size();
      const auto offsets = offsets_of(stored_);
      values->buffers.push_back(offsets->ends.data());
      values->buffers.push_back(stored_->size() > 0 ? stored_->value(0).data() : "");
      values->owners.push_back(offsets);
    } else {
      size = static_cast<int64_t>(known_.size());
      if (ends_.empty()) ends_.push_back(0);
      add_buffer(*values, std::exchange(ends_, {}));
      add_buffer(*values, std::exchange(text_, {}));
      known_.clear();
    }
    make_array(std::move(values), size, 0, dictionary.get());
    content.dictionary = std::move(dictionary);
    stored_ = nullptr;
  }

  std::shared_ptr<const Offsets> offsets_of(const std::shared_ptr<const Dictionary>& dictionary) {
    if (last_ != nullptr && last_->dictionary == dictionary) return last_;
    auto made = std::make_shared<Offsets>();
    made->dictionary = dictionary;
    made->ends.reserve(size_t{dictionary->size()} + 1);
    made->ends.push_back(0);
    for (uint32_t code = 0; code < dictionary->size(); ++code) {
      made->ends.push_back(made->ends.back() + static_cast<int32_t>(dictionary->value(code).size()));
    }
    last_ = made;
    return made;
  }

  std::vector<int32_t> indices_;
  std::shared_ptr<const Dictionary> stored_;  // of the rows taken so far; null: they have none
  std::shared_ptr<const Offsets> last_;
  struct Hash {
    using is_transparent = void;
    size_t operator()(ByteView text) const { return hash_bytes(text); }
  };
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> known_;
  std::vector<int32_t> ends_;
  std::vector<char> text_;
};

ArrayBuilder::ArrayBuilder(std::vector<ExportedColumn> columns) : columns_(std::move(columns)) {
  for (const ExportedColumn& column : columns_) {
    if (column.as_dictionary) {
      builders_.push_back(std::make_unique<DictionaryBuilder>());
    } else if (column.form == ExportedColumn::Form::Decimal || column.form == ExportedColumn::Form::Whole) {
      builders_.push_back(std::make_unique<DecimalBuilder>(column));
    } else if (column.form != ExportedColumn::Form::OfShape) {
      builders_.push_back(std::make_unique<TimeBuilder>(column));
    } else if (column.shape.type == HS_BOOL) {
      builders_.push_back(std::make_unique<BooleanBuilder>());
    } else if (column.shape.integer) {
      builders_.push_back(std::make_unique<NumberBuilder>(column.shape));
    } else {
      builders_.push_back(std::make_unique<TextBuilder>());
    }
  }
}

ArrayBuilder::~ArrayBuilder() = default;

Returned<uint32_t> ArrayBuilder::append(uint32_t given, std::span<const ColumnVector* const> columns,
                                        uint32_t first) {
  uint32_t rows = std::min(given - first, most_rows - rows_);
  for (size_t i = 0; i < builders_.size() && rows > 0; ++i) {
    rows = builders_[i]->room(*columns[i], first, rows);
  }
  if (rows == 0) return 0;
  for (size_t i = 0; i < builders_.size(); ++i) {
    builders_[i]->append(*columns[i], first, rows);
    if (!builders_[i]->is_beyond()) continue;
    return refuse(HS_OUT_OF_RANGE,
                  columns_[i].form == ExportedColumn::Form::Decimal
                      ? fmt::format("a number of column '{}' has more than {} digits: CAST it AS DOUBLE",
                                    columns_[i].shape.name, columns_[i].digits)
                  : columns_[i].form == ExportedColumn::Form::Whole
                      ? fmt::format("a number of column '{}' has more than 64 bits", columns_[i].shape.name)
                      : fmt::format("a day of column '{}' is in no calendar", columns_[i].shape.name));
  }
  rows_ += rows;
  return rows;
}

void ArrayBuilder::finish(ArrowArray* array) {
  struct Guard {
    void operator()(ArrayContent* content) const {
      ArrowArray whole{};
      whole.private_data = content;
      release_array(&whole);
    }
  };
  std::unique_ptr<ArrayContent, Guard> whole(new ArrayContent);
  whole->buffers.push_back(nullptr);
  whole->children.resize(builders_.size());
  whole->child_pointers.reserve(builders_.size());
  for (size_t i = 0; i < builders_.size(); ++i) builders_[i]->finish(&whole->children[i]);
  make_array(std::unique_ptr<ArrayContent>(whole.release()), std::exchange(rows_, 0), 0, array);
}

}  // namespace hailstone::capi

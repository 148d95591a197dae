#include "query/join/join_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_map>
#include <utility>

#include "query/value_order.h"

namespace hailstone {

namespace {

/// An array for all numbers of the keys' range may have so many entries a row, or so many in any case.
constexpr uint64_t direct_entries_a_row = 8;
constexpr uint64_t direct_entries_anyway = 4096;
constexpr uint32_t rows_between_checks = 1U << 16;

bool is_whole(const ScanColumn& column) {
  return column.type == Type::Signed || column.type == Type::Unsigned;
}

bool is_text(const ScanColumn& column) {
  return column.type == Type::Char || column.type == Type::Varchar || column.type == Type::Blob;
}

bool is_real(const ScanColumn& column) { return column.type == Type::Float || column.type == Type::Double; }

/// Room for one more batch, by doubling.
template <typename T>
void append(PageVector<T>& to, std::span<const uint16_t> rows, const T* from) {
  const size_t before = to.size();
  to.resize(before + rows.size());
  for (size_t i = 0; i < rows.size(); ++i) to[before + i] = from[rows[i]];
}

template <typename T>
size_t bytes_of(const PageVector<T>& array) {
  return array.capacity() * sizeof(T);
}

/// So many values of texts are made codes in any case; more where each has some rows, up to a limit.
constexpr uint32_t codes_anyway = 4096, most_codes = uint32_t{1} << 16;
constexpr uint32_t rows_worth_a_code = 4;
constexpr size_t most_text_of_codes = size_t{16} << 20;

template <typename T>
void append_all(PageVector<T>& to, PageVector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
  PageVector<T>().swap(from);
}

}  // namespace

KeyColumn KeyColumn::of_presence() {
  KeyColumn column;
  column.probe_.as = column.build_.as = Side::As::Presence;
  column.nulls_ = Nulls::AsZero;
  return column;
}

Result<KeyColumn> KeyColumn::make(const ScanColumn& probe, const ScanColumn& build, Nulls nulls) {
  KeyColumn column;
  column.nulls_ = nulls;
  const auto refused = [] {
    return fail(ErrorCode::InvalidArgument, "columns of different kinds are not compared in a join");
  };
  if (probe.integer != build.integer) return refused();
  if (!probe.integer) {
    if (probe.collation != build.collation) return refused();
    column.collation_ = probe.collation;
    return column;
  }
  const auto side = [](const ScanColumn& own, const ScanColumn& other) -> Side {
    if (is_real(own)) return {.as = Side::As::Real, .width = own.width, .type = own.type};
    if (!is_whole(own)) return {};
    if (own.type == Type::Signed) return {.as = Side::As::SignedNative, .width = own.width, .type = own.type};
    const bool beside_signed = other.type == Type::Signed;
    return {.as = beside_signed ? Side::As::UnsignedBesideSigned : Side::As::Stored, .width = own.width};
  };
  if (is_whole(probe) != is_whole(build) || is_real(probe) != is_real(build)) return refused();
  if (!is_whole(probe) && (probe.type != build.type || probe.width != build.width)) return refused();
  column.probe_ = side(probe, build);
  column.build_ = side(build, probe);
  return column;
}

void KeyColumn::read(bool of_build, const ColumnVector& vector, uint32_t rows, uint64_t* to,
                     uint8_t* valid) const {
  const Side& side = of_build ? build_ : probe_;
  const uint64_t* const from = vector.integers.data();
  switch (side.as) {
    case Side::As::Stored:
      std::copy_n(from, rows, to);
      break;
    case Side::As::Real: {
      const Zeros zeros({.type = side.type, .width = side.width});
      for (uint32_t row = 0; row < rows; ++row) to[row] = zeros.one(from[row]);
      break;
    }
    case Side::As::SignedNative:
      for (uint32_t row = 0; row < rows; ++row)
        to[row] = order_signed(native_signed(from[row], side.width), sizeof(int64_t));
      break;
    case Side::As::UnsignedBesideSigned:
      for (uint32_t row = 0; row < rows; ++row) {
        // Beyond the range of signed numbers nothing is equal.
        if (from[row] >> 63 != 0 && !vector.is_null(row)) valid[row] = 0;
        to[row] = from[row] | uint64_t{1} << 63;
      }
      break;
    case Side::As::Presence:
      for (uint32_t row = 0; row < rows; ++row) to[row] = vector.is_null(row) ? 1 : 0;
      return;
  }
  if (!vector.any_nulls) return;
  for (uint32_t row = 0; row < rows; ++row) {
    if (vector.nulls[row] == 0) continue;
    if (leaves_nulls_out()) {
      valid[row] = 0;
    } else {
      to[row] = 0;
    }
  }
}

std::shared_ptr<const NumberFilter> KeyColumn::filter_of_probe(std::span<const uint64_t> numbers) const {
  // What read() has added to a value, and the greatest value.
  uint64_t added = 0, greatest = ~uint64_t{0};
  if (probe_.as == Side::As::SignedNative) {
    added = order_signed(0, sizeof(int64_t)) - order_signed(0, probe_.width);
    greatest >>= 64 - 8 * probe_.width;
  } else if (probe_.as == Side::As::UnsignedBesideSigned) {
    added = uint64_t{1} << 63;
    greatest >>= 1;
  }
  const Zeros zeros({.type = probe_.type, .width = probe_.width});
  const bool real = probe_.as == Side::As::Real;
  return std::make_shared<NumberFilter>([&](const auto& take) {
    for (const uint64_t number : numbers) {
      const uint64_t value = number - added;
      if (value > greatest) continue;
      take(value);
      if (real && value == zeros.plus) take(zeros.minus);
    }
  });
}

namespace {

/// Whether a text is in a set.
class TextFilter final : public BytesTest {
 public:
  explicit TextFilter(std::shared_ptr<const ValueSet> set) : set_(std::move(set)) {}
  bool matches(ByteView value) const override {
    std::string weights;
    return set_->find(value, set_->hash(value, weights)).has_value();
  }
  /// Else the join's own look does as well.
  bool is_for_dictionaries() const override { return true; }

 private:
  const std::shared_ptr<const ValueSet> set_;
};

}  // namespace

JoinTable::JoinTable(std::vector<Key> keys, std::vector<uint16_t> columns, std::vector<ScanColumn> types,
                     unsigned parts, MemoryBudget& budget, OperatorCounts* counts)
    : keys_(std::move(keys)),
      positions_(std::move(columns)),
      types_(std::move(types)),
      budget_(budget),
      counts_(counts),
      parts_(std::max(1U, parts)) {
  for (Part& part : parts_) {
    part.columns.resize(positions_.size());
    part.keys.resize(keys_.size());
    part.texts.resize(keys_.size());
    part.numbers.resize(keys_.size());
    part.memory = std::make_unique<OperatorMemory>(budget_, counts_);
  }
}

ByteView JoinTable::keep(Part& part, const ColumnVector& vector, size_t row) const {
  if (vector.dictionary == nullptr) return part.bytes->copy(vector.bytes[row]);
  return vector.dictionary->value(vector.codes[row]);
}

Status JoinTable::add(unsigned number, const RowBatch& batch) {
  Part& part = parts_[number];
  part.valid.assign(batch.rows, 1);
  for (const Key& key : keys_) {
    const ColumnVector& vector = *batch.columns[key.position];
    if (key.column.collation() == nullptr || !vector.any_nulls || !key.column.leaves_nulls_out()) continue;
    for (uint32_t row = 0; row < batch.rows; ++row) {
      if (vector.nulls[row] != 0) part.valid[row] = 0;
    }
  }
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i].column.collation() != nullptr) continue;
    part.numbers[i].resize(batch.rows);
    keys_[i].column.read(/*of_build=*/true, *batch.columns[keys_[i].position], batch.rows,
                         part.numbers[i].data(), part.valid.data());
  }
  part.chosen.clear();
  for (uint32_t row = 0; row < batch.rows; ++row) {
    if (part.valid[row] != 0) part.chosen.push_back(static_cast<uint16_t>(row));
  }
  // The views of its values need the dictionary.
  const auto keep_dictionary = [&](const ColumnVector& vector) {
    if (vector.dictionary != nullptr &&
        (part.dictionaries.empty() ||
         std::ranges::find(part.dictionaries, vector.dictionary) == part.dictionaries.end()))
      part.dictionaries.push_back(vector.dictionary);
  };
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i].column.collation() == nullptr) {
      append(part.keys[i], part.chosen, part.numbers[i].data());
      continue;
    }
    const ColumnVector& vector = *batch.columns[keys_[i].position];
    keep_dictionary(vector);
    for (const uint16_t row : part.chosen)
      part.texts[i].push_back(vector.is_null(row) ? ByteView() : keep(part, vector, row));
  }
  for (size_t i = 0; i < positions_.size(); ++i) {
    const ColumnVector& vector = *batch.columns[positions_[i]];
    Column& column = part.columns[i];
    if (vector.any_nulls || !column.nulls.empty()) {
      column.nulls.resize(part.rows, 0);
      for (const uint16_t row : part.chosen) column.nulls.push_back(vector.is_null(row) ? 1 : 0);
    }
    if (types_[i].integer) {
      append(column.integers, part.chosen, vector.integers.data());
      continue;
    }
    keep_dictionary(vector);
    for (const uint16_t row : part.chosen)
      column.bytes.push_back(vector.is_null(row) ? ByteView() : keep(part, vector, row));
  }
  part.rows += part.chosen.size();
  size_t bytes = part.bytes->bytes();
  for (const Column& column : part.columns) bytes += column.memory();
  for (const auto& key : part.keys) bytes += bytes_of(key);
  for (const auto& text : part.texts) bytes += bytes_of(text);
  if (bytes > part.memory->bytes()) part.memory->grow(bytes - part.memory->bytes());
  return {};
}

Status JoinTable::finish(const GoOn& go_on, std::vector<RuntimeFilter>* filters) {
  uint64_t rows = 0;
  for (const Part& part : parts_) rows += part.rows;
  if (rows >= std::numeric_limits<uint32_t>::max())
    return fail(ErrorCode::InvalidArgument, fmt::format("a join has {} rows on one side", rows));
  rows_ = static_cast<uint32_t>(rows);
  columns_.resize(positions_.size());
  values_.resize(keys_.size());
  const bool alone = parts_.size() == 1;
  for (size_t i = 0; i < positions_.size(); ++i) {
    Column& column = columns_[i];
    const bool nulls =
        std::ranges::any_of(parts_, [i](const Part& part) { return !part.columns[i].nulls.empty(); });
    for (Part& part : parts_) {
      Column& from = part.columns[i];
      if (nulls) from.nulls.resize(part.rows, 0);
      if (alone) {
        column = std::move(from);
        continue;
      }
      if (nulls) append_all(column.nulls, from.nulls);
      append_all(column.integers, from.integers);
      append_all(column.bytes, from.bytes);
    }
  }
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i].column.collation() != nullptr) continue;
    for (Part& part : parts_) {
      if (alone) {
        values_[i] = std::move(part.keys[i]);
      } else {
        append_all(values_[i], part.keys[i]);
      }
    }
  }
  HAILSTONE_TRY(go_on());
  HAILSTONE_TRY(number_texts(go_on));
  size_t memory_of_filters = 0;
  for (size_t i = 0; filters != nullptr && i < keys_.size(); ++i) {
    HAILSTONE_TRY(go_on());
    const RuntimeFilter& filter = filters->emplace_back(make_filter(i));
    memory_of_filters += filter.numbers == nullptr ? 0 : filter.numbers->memory();
  }
  pack_keys();
  HAILSTONE_TRY(fill(go_on));
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (is_text(types_[i])) HAILSTONE_TRY(make_dictionary(columns_[i], go_on));
  }
  memory_ = std::make_unique<OperatorMemory>(budget_, counts_);
  memory_->grow(memory() + memory_of_filters);
  for (Part& part : parts_) part.memory->clear();
  return {};
}

/// The consumers of rows look at values that are codes once, not once for each row.
Status JoinTable::make_dictionary(Column& column, const GoOn& go_on) const {
  const auto is_null = [&](uint32_t row) { return !column.nulls.empty() && column.nulls[row] != 0; };
  std::unordered_map<ByteView, uint32_t> numbers;
  PageVector<uint32_t> codes(rows_);
  size_t text = 0;
  for (uint32_t row = 0; row < rows_; ++row) {
    if (row % rows_between_checks == 0) HAILSTONE_TRY(go_on());
    if (is_null(row)) continue;
    const auto number = static_cast<uint32_t>(numbers.size());
    const auto [known, is_new] = numbers.try_emplace(column.bytes[row], number);
    codes[row] = known->second;
    if (!is_new) continue;
    text += column.bytes[row].size();
    if (number == std::max(codes_anyway, std::min(most_codes, row / rows_worth_a_code)) ||
        text > most_text_of_codes)
      return {};
  }
  if (numbers.empty()) return {};
  std::vector<std::pair<ByteView, uint32_t>> sorted(numbers.begin(), numbers.end());
  std::ranges::sort(sorted);
  std::vector<ByteView> values;
  std::vector<uint32_t> code_of(sorted.size());
  for (const auto& [value, number] : sorted) {
    code_of[number] = static_cast<uint32_t>(values.size());
    values.push_back(value);
  }
  for (uint32_t& code : codes) code = code_of[code];
  column.dictionary = Dictionary::of(values);
  column.codes = std::move(codes);
  PageVector<ByteView>().swap(column.bytes);
  return {};
}

Status JoinTable::number_texts(const GoOn& go_on) {
  text_sets_.resize(keys_.size());
  for (size_t i = 0; i < keys_.size(); ++i) {
    const Collation* const collation = keys_[i].column.collation();
    if (collation == nullptr) continue;
    text_sets_[i] = std::make_shared<ValueSet>(*collation);
    ValueSet& set = *text_sets_[i];
    values_[i].reserve(rows_);
    for (Part& part : parts_) {
      for (const ByteView text : part.texts[i]) {
        if (values_[i].size() % rows_between_checks == 0) HAILSTONE_TRY(go_on());
        values_[i].push_back(set.number_of(text, set.hash(text)));
      }
      PageVector<ByteView>().swap(part.texts[i]);
    }
  }
  return {};
}

RuntimeFilter JoinTable::make_filter(size_t key) const {
  // A scan leaves NULL out, too.
  if (!keys_[key].column.leaves_nulls_out()) return {};
  if (text_sets_[key] != nullptr) return {.texts = std::make_shared<TextFilter>(text_sets_[key])};
  return {.numbers = keys_[key].column.filter_of_probe(values_[key])};
}

/// The key's columns as one number, in values_.front(), if there is room for it.
void JoinTable::pack_keys() {
  ranges_.resize(keys_.size());
  unsigned bits = 0;
  for (size_t i = 0; i < keys_.size(); ++i) {
    Range& range = ranges_[i];
    if (rows_ != 0) {
      const auto [least, greatest] = std::ranges::minmax_element(values_[i]);
      range.least = *least;
      range.greatest = *greatest;
    }
    range.shift = std::min(bits, 63U);
    bits += static_cast<unsigned>(std::bit_width(range.greatest - range.least));
  }
  packed_ = bits <= 64;
  row_keys_.resize(rows_);
  if (packed_) {
    for (size_t i = 0; i < keys_.size(); ++i) {
      const Range& range = ranges_[i];
      for (uint32_t row = 0; row < rows_; ++row)
        row_keys_[row] |= (values_[i][row] - range.least) << range.shift;
    }
    values_.clear();
  } else {
    for (size_t i = 0; i < keys_.size(); ++i) {
      for (uint32_t row = 0; row < rows_; ++row) row_keys_[row] = mix_bits(row_keys_[row] ^ values_[i][row]);
    }
  }
  const uint64_t numbers = bits < 64 ? uint64_t{1} << bits : 0;
  const uint64_t most = std::max(direct_entries_anyway, rows_ * direct_entries_a_row);
  direct_ = packed_ && (keys_.size() == 1 ? ranges_.front().greatest - ranges_.front().least < most
                                          : numbers != 0 && numbers <= most);
  if (keys_.empty()) direct_ = packed_ = true;
}

Status JoinTable::fill(const GoOn& go_on) {
  size_t buckets = 1;
  if (!direct_) {
    buckets = std::bit_ceil(std::max<size_t>(size_t{rows_} * 2, 2));
    shift_ = 64 - static_cast<unsigned>(std::bit_width(buckets - 1));
  } else if (!keys_.empty()) {
    const Range& last = ranges_.back();
    buckets = ((last.greatest - last.least) << last.shift) + (uint64_t{1} << last.shift);
  }
  heads_.assign(buckets, 0);
  // Rows that were added later come first in their chain.
  constexpr uint32_t ahead = 16;
  for (uint32_t row = 0; row < rows_; ++row) {
    if (row % rows_between_checks == 0) HAILSTONE_TRY(go_on());
    if (row + ahead < rows_) __builtin_prefetch(&heads_[bucket(row_keys_[row + ahead])], 1);
    uint32_t& head = heads_[bucket(row_keys_[row])];
    if (head != 0 && next_.empty()) next_.resize(rows_, 0);
    if (!next_.empty()) next_[row] = head;
    head = row + 1;
  }
  if (direct_) PageVector<uint64_t>().swap(row_keys_);
  return {};
}

size_t JoinTable::Column::memory() const {
  return bytes_of(integers) + bytes_of(bytes) + bytes_of(codes) + bytes_of(nulls) +
         (dictionary == nullptr ? 0 : dictionary->memory());
}

size_t JoinTable::memory() const {
  size_t bytes = bytes_of(row_keys_) + bytes_of(heads_) + bytes_of(next_);
  for (const Column& column : columns_) bytes += column.memory();
  for (const auto& values : values_) bytes += bytes_of(values);
  for (const auto& set : text_sets_) bytes += set == nullptr ? 0 : set->memory();
  for (const Part& part : parts_) bytes += part.bytes->bytes();
  return bytes;
}

void JoinTable::gather(size_t number, std::span<const uint32_t> rows, ColumnVector& to) const {
  const Column& column = columns_[number];
  to.dictionary = nullptr;
  to.codes.clear();
  to.any_nulls = false;
  to.integers.clear();
  to.bytes.clear();
  const bool missing = std::ranges::find(rows, 0U) != rows.end();
  if (missing || !column.nulls.empty()) {
    to.nulls.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      to.nulls[i] = rows[i] == 0 || (!column.nulls.empty() && column.nulls[rows[i] - 1] != 0) ? 1 : 0;
      to.any_nulls |= to.nulls[i] != 0;
    }
  }
  const auto copy = [&](const auto& from, auto& values) {
    values.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i)
      values[i] = missing && rows[i] == 0 ? std::remove_cvref_t<decltype(values[i])>{} : from[rows[i] - 1];
  };
  if (types_[number].integer) {
    copy(column.integers, to.integers);
  } else if (column.dictionary != nullptr) {
    to.dictionary = column.dictionary;
    copy(column.codes, to.codes);
  } else {
    copy(column.bytes, to.bytes);
  }
}

JoinTable::Probe::Probe(const JoinTable& table)
    : table_(table), texts_(table.keys_.size()), values_(table.keys_.size()) {
  for (size_t i = 0; i < table.keys_.size(); ++i) {
    if (const Collation* const collation = table.keys_[i].column.collation(); collation != nullptr)
      texts_[i].hasher.emplace(*collation);
  }
}

void JoinTable::Probe::read_texts(size_t key, const ColumnVector& vector, uint32_t rows) {
  constexpr uint64_t unknown = 0, none = 1, first = 2;
  Text& text = texts_[key];
  const ValueSet& set = *table_.text_sets_[key];
  const auto find = [&](ByteView value) -> uint64_t {
    const auto number = set.find(value, text.hasher->hash(value));
    return number ? first + *number : none;
  };
  if (vector.dictionary != nullptr && text.dictionary != vector.dictionary) {
    text.dictionary = vector.dictionary;
    text.numbers.assign(vector.dictionary->size(), unknown);
  }
  for (uint32_t row = 0; row < rows; ++row) {
    if (valid_[row] == 0) continue;
    uint64_t number = none;
    if (vector.is_null(row)) {
      // Or equal to nothing.
      if (!table_.keys_[key].column.leaves_nulls_out()) number = find(ByteView());
    } else if (vector.dictionary != nullptr) {
      uint64_t& known = text.numbers[vector.codes[row]];
      if (known == unknown) known = find(vector.dictionary->value(vector.codes[row]));
      number = known;
    } else {
      number = find(vector.bytes[row]);
    }
    if (number == none) {
      valid_[row] = 0;
    } else {
      values_[key][row] = number - first;
    }
  }
}

std::span<const uint32_t> JoinTable::Probe::look_up(const RowBatch& batch, std::span<const uint16_t> keys) {
  const uint32_t rows = batch.rows;
  valid_.assign(rows, 1);
  found_.assign(rows, 0);
  if (table_.rows_ == 0) return found_;
  for (size_t i = 0; i < keys.size(); ++i) {
    values_[i].resize(rows);
    const ColumnVector& vector = *batch.columns[keys[i]];
    if (texts_[i].hasher) {
      read_texts(i, vector, rows);
    } else {
      table_.keys_[i].column.read(/*of_build=*/false, vector, rows, values_[i].data(), valid_.data());
    }
  }
  keys_.assign(rows, 0);
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint64_t* const values = values_[i].data();
    if (!table_.packed_) {
      for (uint32_t row = 0; row < rows; ++row) keys_[row] = mix_bits(keys_[row] ^ values[row]);
      continue;
    }
    const Range range = table_.ranges_[i];
    const uint64_t span = range.greatest - range.least;
    for (uint32_t row = 0; row < rows; ++row) {
      const uint64_t within = values[row] - range.least;
      valid_[row] = within <= span ? valid_[row] : uint8_t{0};
      keys_[row] |= within << range.shift;
    }
  }
  for (uint32_t row = 0; row < rows; ++row) {
    // Of a row that has no key any bucket will do.
    keys_[row] = valid_[row] != 0 ? keys_[row] : 0;
    __builtin_prefetch(&table_.heads_[table_.bucket(keys_[row])]);
  }
  for (uint32_t row = 0; row < rows; ++row)
    found_[row] = valid_[row] != 0 ? table_.heads_[table_.bucket(keys_[row])] : 0;
  if (table_.direct_) return found_;
  for (uint32_t row = 0; row < rows; ++row) {
    if (found_[row] != 0) __builtin_prefetch(&table_.row_keys_[found_[row] - 1]);
  }
  for (uint32_t row = 0; row < rows; ++row) found_[row] = first_from(row, found_[row]);
  return found_;
}

/// The first row of a chain from `match` on that has the row's key; 0: none has.
uint32_t JoinTable::Probe::first_from(uint32_t row, uint32_t match) const {
  if (table_.direct_) return match;
  for (; match != 0; match = table_.next_.empty() ? 0 : table_.next_[match - 1]) {
    if (table_.row_keys_[match - 1] != keys_[row]) continue;
    bool same = true;
    for (size_t i = 0; !table_.packed_ && same && i < values_.size(); ++i)
      same = table_.values_[i][match - 1] == values_[i][row];
    if (same) break;
  }
  return match;
}

uint32_t JoinTable::Probe::next(uint32_t row, uint32_t match) const {
  return table_.next_.empty() ? 0 : first_from(row, table_.next_[match - 1]);
}

}  // namespace hailstone

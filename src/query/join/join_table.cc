#include "query/join/join_table.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <ranges>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "query/value_order.h"

namespace hailstone {

namespace {

/// An array for all numbers of the keys' range may have so many entries a row, or so many in any case.
constexpr uint64_t direct_entries_a_row = 8;
constexpr uint64_t direct_entries_anyway = 4096;
constexpr uint32_t rows_between_checks = 1U << 16;
/// From so many rows on several threads put them into chains.
constexpr uint32_t rows_of_two_threads = 1U << 16;
/// So many rows have one greatest end of their intervals.
constexpr uint32_t rows_of_block = 64;
/// So many values of texts are made codes in any case; more where each has some rows, up to a limit.
constexpr uint32_t codes_anyway = 4096, most_codes = uint32_t{1} << 16;
constexpr uint32_t rows_worth_a_code = 4;
constexpr size_t most_text_of_codes = size_t{16} << 20;

bool is_text(const ScanColumn& column) {
  return column.type == Type::Char || column.type == Type::Varchar || column.type == Type::Blob;
}

/// Whether a text is in a set.
class TextFilter final : public BytesTest {
 public:
  TextFilter(std::shared_ptr<const ValueSet> set, JoinTable::FilteredSide filtered)
      : set_(std::move(set)), filtered_(filtered) {
    if (set_->size() > NumberFilter::most_listed) return;
    listed_.emplace();
    for (uint32_t number = 0; number < set_->size(); ++number) listed_->push_back(set_->value(number));
  }
  bool matches(ByteView value) const override {
    std::string weights;
    return set_->find(value, set_->hash(value, weights)).has_value();
  }
  /// Else the join's own look does as well.
  bool is_for_dictionaries() const override { return filtered_ == JoinTable::FilteredSide::Probe; }
  std::optional<std::span<const ByteView>> listed() const override {
    if (listed_) return std::span<const ByteView>(*listed_);
    return std::nullopt;
  }

 private:
  const std::shared_ptr<const ValueSet> set_;
  const JoinTable::FilteredSide filtered_;
  std::optional<std::vector<ByteView>> listed_;
};

}  // namespace

JoinTable::JoinTable(const BuildColumns& columns)
    : columns_(columns), kept_(columns.kept.size()), values_(columns.keys.size()) {}

Status JoinTable::fill(std::deque<BuildRows> parts, const Workers& workers,
                       std::vector<RuntimeFilter>* filters, FilteredSide filtered) {
  parts_ = std::move(parts);
  std::erase_if(parts_, [](const BuildRows& part) { return part.rows() == 0; });
  uint64_t rows = 0;
  for (const BuildRows& part : parts_) rows += part.rows();
  HAILSTONE_CHECK(rows <= most_rows, "a table of a join is to have {} rows", rows);
  rows_ = static_cast<uint32_t>(rows);
  HAILSTONE_TRY(put_together(workers));
  text_sets_.resize(columns_.keys.size());
  if (filters != nullptr) filters->resize(columns_.keys.size());
  const PieceWork take_key = [&](size_t key, const GoOn& go_on) -> Status {
    HAILSTONE_TRY(number_texts(key, go_on));
    if (filters != nullptr) (*filters)[key] = filter_of(key, filtered);
    return {};
  };
  HAILSTONE_TRY(workers.each(columns_.keys.size(), take_key));
  for (size_t key = 0; filters != nullptr && key < filters->size(); ++key) {
    if (const auto& numbers = (*filters)[key].numbers) memory_of_filters_ += numbers->memory();
  }
  if (columns_.range) {
    HAILSTONE_TRY(workers.each(1, [this](size_t, const GoOn& go_on) { return sort_rows(go_on); }));
  } else {
    HAILSTONE_TRY(pack_keys(workers));
    HAILSTONE_TRY(chain_rows(workers));
  }
  return workers.each(kept_.size(), [this](size_t i, const GoOn& go_on) -> Status {
    return is_text(columns_.kept[i].type) ? make_dictionary(kept_[i], go_on) : Status();
  });
}

/// The columns of all parts become one each.
Status JoinTable::put_together(const Workers& workers) {
  if (parts_.empty()) return {};
  std::vector<std::function<void()>> copies;
  const auto put = [&](auto& to, const auto& of) {
    auto& first = *of(parts_.front());
    if (parts_.size() == 1) {
      to = std::move(first);
      return;
    }
    size_t all = 0;
    for (BuildRows& part : parts_) all += of(part)->size();
    to.resize(all);
    size_t place = 0;
    for (BuildRows& part : parts_) {
      auto& from = *of(part);
      copies.emplace_back([to = to.data() + place, &from] {
        std::ranges::copy(from, to);
        std::remove_reference_t<decltype(from)>().swap(from);
      });
      place += from.size();
    }
  };
  for (size_t i = 0; i < kept_.size(); ++i) {
    const bool nulls =
        std::ranges::any_of(parts_, [i](const BuildRows& part) { return !part.kept_[i].nulls.empty(); });
    for (BuildRows& part : parts_) {
      if (nulls) part.kept_[i].nulls.resize(part.rows(), 0);
    }
    put(kept_[i].nulls, [i](BuildRows& part) { return &part.kept_[i].nulls; });
    put(kept_[i].integers, [i](BuildRows& part) { return &part.kept_[i].integers; });
    put(kept_[i].bytes, [i](BuildRows& part) { return &part.kept_[i].bytes; });
  }
  for (size_t i = 0; i < values_.size(); ++i) {
    if (columns_.keys[i].column.collation() != nullptr) continue;
    put(values_[i], [i](BuildRows& part) { return &part.numbers_[i]; });
  }
  return workers.each(copies.size(), [&](size_t piece, const GoOn&) -> Status {
    copies[piece]();
    return {};
  });
}

RuntimeFilter JoinTable::filter_of(size_t key, FilteredSide filtered) const {
  RuntimeFilter filter;
  const KeyColumn& column = columns_.keys[key].column;
  // A scan leaves NULL out, too.
  if (!column.leaves_nulls_out()) return filter;
  if (text_sets_[key] == nullptr) {
    filter.numbers = column.filter_of_probe(values_[key]);
  } else if (column.is_of_probe()) {
    filter.texts = std::make_shared<TextFilter>(text_sets_[key], filtered);
  }
  return filter;
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

/// Of a key of texts: each has a number.
Status JoinTable::number_texts(size_t key, const GoOn& go_on) {
  const Collation* const collation = columns_.keys[key].column.collation();
  if (collation == nullptr) return {};
  text_sets_[key] = std::make_shared<ValueSet>(*collation);
  ValueSet& set = *text_sets_[key];
  values_[key].reserve(rows_);
  for (BuildRows& part : parts_) {
    for (const ByteView text : part.texts_[key]) {
      if (values_[key].size() % rows_between_checks == 0) HAILSTONE_TRY(go_on());
      values_[key].push_back(set.number_of(text, set.hash(text)));
    }
    PageVector<ByteView>().swap(part.texts_[key]);
  }
  return {};
}

namespace {

/// Calls take(first, last) of ranges of rows.
template <typename Take>
Status each_range(const Workers& workers, uint32_t rows, const Take& take) {
  const size_t ranges = (size_t{rows} + rows_between_checks - 1) / rows_between_checks;
  return workers.each(ranges, [&](size_t range, const GoOn&) -> Status {
    const auto first = static_cast<uint32_t>(range * rows_between_checks);
    take(range, first, std::min(rows - first, rows_between_checks) + first);
    return {};
  });
}

}  // namespace

/// The key's columns as one number, in row_keys_.
Status JoinTable::pack_keys(const Workers& workers) {
  const size_t keys = columns_.keys.size();
  ranges_.resize(keys);
  unsigned bits = 0;
  for (size_t i = 0; i < keys; ++i) {
    Range& range = ranges_[i];
    std::vector<std::pair<uint64_t, uint64_t>> bounds(rows_ / rows_between_checks + 1, {~uint64_t{0}, 0});
    HAILSTONE_TRY(each_range(workers, rows_, [&](size_t piece, uint32_t first, uint32_t last) {
      const auto [least, greatest] =
          std::ranges::minmax(std::span<const uint64_t>(values_[i]).subspan(first, last - first));
      bounds[piece] = {least, greatest};
    }));
    if (rows_ != 0) {
      range.least = std::ranges::min(bounds | std::views::keys);
      range.greatest = std::ranges::max(bounds | std::views::values);
    }
    range.shift = std::min(bits, 63U);
    bits += static_cast<unsigned>(std::bit_width(range.greatest - range.least));
  }
  packed_ = bits <= 64;
  row_keys_.resize(rows_);
  HAILSTONE_TRY(each_range(workers, rows_, [&](size_t, uint32_t first, uint32_t last) {
    for (size_t i = 0; i < keys; ++i) {
      const uint64_t* const values = values_[i].data();
      if (packed_) {
        const Range& range = ranges_[i];
        for (uint32_t row = first; row < last; ++row)
          row_keys_[row] |= (values[row] - range.least) << range.shift;
      } else {
        for (uint32_t row = first; row < last; ++row) row_keys_[row] = mix_bits(row_keys_[row] ^ values[row]);
      }
    }
  }));
  if (packed_) values_.clear();
  const uint64_t numbers = bits < 64 ? uint64_t{1} << bits : 0;
  const uint64_t most = std::max(direct_entries_anyway, rows_ * direct_entries_a_row);
  direct_ = packed_ && (keys == 1 ? ranges_.front().greatest - ranges_.front().least < most
                                  : numbers != 0 && numbers <= most);
  if (columns_.keys.empty()) direct_ = packed_ = true;
  return {};
}

/// Each thread has some of the buckets, and goes through all rows for them.
Status JoinTable::chain_rows(const Workers& workers) {
  size_t buckets = 1;
  if (!direct_) {
    buckets = std::bit_ceil(std::max<size_t>(size_t{rows_} * 2, 2));
    shift_ = 64 - static_cast<unsigned>(std::bit_width(buckets - 1));
  } else if (!columns_.keys.empty()) {
    const Range& last = ranges_.back();
    buckets = ((last.greatest - last.least) << last.shift) + (uint64_t{1} << last.shift);
  }
  heads_.assign(buckets, 0);
  next_.resize(rows_, 0);
  std::atomic<bool> any_twice{false};
  const size_t shares = rows_ < rows_of_two_threads ? 1 : std::min<size_t>(workers.threads(), buckets);
  const PieceWork chain = [&](size_t share, const GoOn& go_on) -> Status {
    const size_t first = buckets / shares * share;
    const size_t end = share + 1 == shares ? buckets : first + buckets / shares;
    const auto is_mine = [first, end](size_t place) { return place - first < end - first; };
    bool twice = false;
    // Rows that were added later come first in their chain.
    constexpr uint32_t ahead = 16;
    for (uint32_t row = 0; row < rows_; ++row) {
      if (row % rows_between_checks == 0) HAILSTONE_TRY(go_on());
      if (row + ahead < rows_) {
        const size_t later = bucket(row_keys_[row + ahead]);
        if (is_mine(later)) __builtin_prefetch(&heads_[later], 1);
      }
      const size_t place = bucket(row_keys_[row]);
      if (!is_mine(place)) continue;
      uint32_t& head = heads_[place];
      if (head != 0) {
        next_[row] = head;
        twice = true;
      }
      head = row + 1;
    }
    if (twice) any_twice.store(true, std::memory_order_relaxed);
    return {};
  };
  HAILSTONE_TRY(workers.each(shares, chain));
  if (!any_twice.load()) PageVector<uint32_t>().swap(next_);
  if (direct_) PageVector<uint64_t>().swap(row_keys_);
  return {};
}

/// By their numbers. Those that have none are in no pair.
Status JoinTable::sort_rows(const GoOn& go_on) {
  struct Place {
    uint64_t number;
    uint32_t row;
  };
  std::vector<Column*> numbers{&kept_[*columns_.range]};
  if (columns_.range_end) numbers.push_back(&kept_[*columns_.range_end]);
  PageVector<Place> order;
  order.reserve(rows_);
  for (uint32_t row = 0; row < rows_; ++row) {
    const bool has_all = std::ranges::all_of(
        numbers, [row](const Column* column) { return column->nulls.empty() || column->nulls[row] == 0; });
    if (has_all) order.push_back({numbers.front()->integers[row], row});
  }
  // In steps, so that it can be interrupted.
  const auto at = [&](size_t place) {
    return order.begin() + static_cast<ptrdiff_t>(std::min(place, order.size()));
  };
  const auto comes_before = [](const Place& one, const Place& other) { return one.number < other.number; };
  for (size_t first = 0; first < order.size(); first += rows_between_checks) {
    HAILSTONE_TRY(go_on());
    std::sort(at(first), at(first + rows_between_checks), comes_before);
  }
  for (size_t step = rows_between_checks; step < order.size(); step *= 2) {
    for (size_t first = 0; first + step < order.size(); first += 2 * step) {
      HAILSTONE_TRY(go_on());
      std::inplace_merge(at(first), at(first + step), at(first + 2 * step), comes_before);
    }
  }
  const auto put_in_order = [&](auto& values) {
    if (values.empty()) return;
    std::remove_cvref_t<decltype(values)> ordered(order.size());
    for (size_t i = 0; i < order.size(); ++i) ordered[i] = values[order[i].row];
    values.swap(ordered);
  };
  for (Column& column : kept_) {
    HAILSTONE_TRY(go_on());
    put_in_order(column.integers);
    put_in_order(column.bytes);
    put_in_order(column.nulls);
  }
  rows_ = static_cast<uint32_t>(order.size());
  if (columns_.range_end) note_ends();
  return {};
}

void JoinTable::note_ends() {
  const PageVector<uint64_t>& ends = kept_[*columns_.range_end].integers;
  for (size_t row = 0; row < ends.size(); ++row) {
    if (row % rows_of_block == 0) {
      greatest_in_.push_back(0);
      greatest_until_.push_back(row == 0 ? 0 : greatest_until_.back());
    }
    greatest_in_.back() = std::max(greatest_in_.back(), ends[row]);
    greatest_until_.back() = std::max(greatest_until_.back(), ends[row]);
  }
}

uint32_t JoinTable::last_reaching(uint32_t rows, uint64_t least) const {
  const PageVector<uint64_t>& ends = kept_[*columns_.range_end].integers;
  while (rows != 0) {
    const uint32_t block = (rows - 1) / rows_of_block;
    if (greatest_until_[block] < least) return 0;
    if (greatest_in_[block] < least) {
      rows = block * rows_of_block;
    } else if (ends[rows - 1] >= least) {
      return rows;
    } else {
      --rows;
    }
  }
  return 0;
}

size_t JoinTable::Column::memory() const {
  return bytes_of(integers) + bytes_of(bytes) + bytes_of(codes) + bytes_of(nulls) +
         (dictionary == nullptr ? 0 : dictionary->memory());
}

size_t JoinTable::memory() const {
  size_t bytes = bytes_of(row_keys_) + bytes_of(heads_) + bytes_of(next_) + memory_of_filters_ +
                 bytes_of(greatest_in_) + bytes_of(greatest_until_);
  for (const Column& column : kept_) bytes += column.memory();
  for (const auto& values : values_) bytes += bytes_of(values);
  for (const auto& set : text_sets_) bytes += set == nullptr ? 0 : set->memory();
  for (const BuildRows& part : parts_) bytes += part.bytes_->bytes();
  return bytes;
}

void JoinTable::gather(size_t number, std::span<const uint32_t> rows, ColumnVector& to) const {
  const Column& column = kept_[number];
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
  if (columns_.kept[number].type.integer) {
    copy(column.integers, to.integers);
  } else if (column.dictionary != nullptr) {
    to.dictionary = column.dictionary;
    copy(column.codes, to.codes);
  } else {
    copy(column.bytes, to.bytes);
  }
}

JoinTable::Probe::Probe(const JoinTable& table)
    : table_(table), texts_(table.columns_.keys.size()), values_(table.columns_.keys.size()) {
  for (size_t i = 0; i < table.columns_.keys.size(); ++i) {
    if (const Collation* const collation = table.columns_.keys[i].column.collation(); collation != nullptr)
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
      if (!table_.columns_.keys[key].column.leaves_nulls_out()) number = find(ByteView());
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
      table_.columns_.keys[i].column.read(/*of_build=*/false, vector, rows, values_[i].data(), valid_.data());
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

std::span<const uint32_t> JoinTable::Probe::look_up(const RowBatch& batch, const JoinPlan::Range& range) {
  const BuildColumns& columns = table_.columns_;
  const std::span<const uint64_t> numbers = table_.kept_[*columns.range].integers;
  const bool of_intervals = columns.range_end.has_value();
  // Of floating-point numbers, both zeros are in a range that one of them bounds.
  const Zeros zeros(columns.kept[*columns.range].type);
  const Zeros zeros_of_ends(columns.kept[columns.range_end.value_or(*columns.range)].type);
  found_.assign(batch.rows, 0);
  ends_.assign(batch.rows, 0);
  leasts_.assign(batch.rows, 0);
  const ColumnVector* const least = range.least ? batch.columns[*range.least] : nullptr;
  const ColumnVector* const greatest = range.greatest ? batch.columns[*range.greatest] : nullptr;
  for (uint32_t row = 0; row < batch.rows; ++row) {
    const auto is_null = [row](const ColumnVector* bound) { return bound != nullptr && bound->is_null(row); };
    if (is_null(least) || is_null(greatest)) continue;
    if (least != nullptr) {
      const uint64_t number = least->integers[row];
      leasts_[row] = number == zeros_of_ends.plus ? zeros_of_ends.minus : number;
    }
    auto first = numbers.begin(), end = numbers.end();
    if (least != nullptr && !of_intervals) first = std::ranges::lower_bound(numbers, leasts_[row]);
    if (greatest != nullptr) end = std::ranges::upper_bound(first, end, zeros.one(greatest->integers[row]));
    ends_[row] = static_cast<uint32_t>(end - numbers.begin());
    if (of_intervals) {
      found_[row] = table_.last_reaching(ends_[row], leasts_[row]);
    } else if (first != end) {
      found_[row] = static_cast<uint32_t>(first - numbers.begin()) + 1;
    }
  }
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
  if (table_.columns_.range_end) return table_.last_reaching(match - 1, leasts_[row]);
  if (table_.columns_.range) return match < ends_[row] ? match + 1 : 0;
  return table_.next_.empty() ? 0 : first_from(row, table_.next_[match - 1]);
}

}  // namespace hailstone

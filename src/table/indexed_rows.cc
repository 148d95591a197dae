#include "table/indexed_rows.h"

#include <span>
#include <string>
#include <utility>

#include "column/runtime_filter.h"
#include "table/key_search.h"

namespace hailstone {

namespace {

/// So many looks into an index take about as long as going through the column in a block: numbers are
/// filtered as they are stored, texts are read and hashed. Some looks are not worth the question.
constexpr size_t looks_in_time_of_a_block = 2, looks_in_time_of_a_block_of_texts = 64;
constexpr size_t looks_anyway = 2;
/// More rows than these of each block are not worth to be read one by one.
constexpr uint64_t most_rows_of_block = 64;

/// Values of a column, as they stand in the keys of an index: those that begin with something from `first` to
/// `last`.
struct KeyPrefixes {
  std::string first, last;
};

/// A condition that says which values a column may have.
struct Leaf {
  const Predicate* condition = nullptr;
  size_t values = 0;  // or ranges of them
};

std::optional<size_t> values_listed(const Predicate& condition) {
  switch (condition.kind()) {
    case Predicate::Kind::Integer:
      return condition.ranges().size();
    case Predicate::Kind::Numbers:
      if (!condition.filter().is_listed()) return std::nullopt;
      return condition.filter().listed_between(0, ~uint64_t{0}).size();
    case Predicate::Kind::Bytes:
      if (const auto listed = condition.test().listed()) return listed->size();
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

/// Where the values of a condition are in an index. Others may be there, too, as keys are the same for what
/// compares as equal.
class PrefixMaker {
 public:
  /// `greatest`: of the column, where it has numbers.
  PrefixMaker(const KeyCodec& codec, uint64_t greatest) : codec_(codec), greatest_(greatest) {}

  /// Nothing: some value is too long to be looked for.
  std::optional<std::vector<KeyPrefixes>> of(const Predicate& condition) const {
    std::vector<KeyPrefixes> all;
    bool fit = true;
    const auto add = [&](const Value& first, const Value& last) {
      KeyPrefixes prefixes{prefix_of(first, fit), prefix_of(last, fit)};
      // Of a part that descends.
      if (prefixes.last < prefixes.first) std::swap(prefixes.first, prefixes.last);
      all.push_back(std::move(prefixes));
    };
    if (condition.kind() == Predicate::Kind::Integer) {
      for (const IntegerRange& range : condition.ranges()) {
        if (range.low <= greatest_) add(Value::of(range.low), Value::of(std::min(range.high, greatest_)));
      }
    } else if (condition.kind() == Predicate::Kind::Numbers) {
      for (const uint64_t number : condition.filter().listed_between(0, greatest_))
        add(Value::of(number), Value::of(number));
    } else {
      const auto texts = condition.test().listed();
      for (const ByteView text : *texts) add(Value::of(text), Value::of(text));
    }
    if (!fit) return std::nullopt;
    return all;
  }

 private:
  std::string prefix_of(const Value& value, bool& fits) const {
    std::string prefix;
    if (fits && !codec_.append(std::span(&value, 1), prefix)) fits = false;
    return prefix;
  }
  const KeyCodec& codec_;
  const uint64_t greatest_;
};

/// The ordinals of the entries that begin with one of the prefixes, ascending; nothing: they are more than
/// `most`.
Result<std::optional<std::vector<uint32_t>>> look_up(std::span<const KeyPrefixes> prefixes, uint64_t most,
                                                     SegmentKeys keys) {
  std::vector<uint32_t> ordinals;
  for (const KeyPrefixes& each : prefixes) {
    HAILSTONE_ASSIGN(const uint32_t first, keys.lower_bound(each.first));
    uint32_t behind = keys.entries();
    if (each.first == each.last) {
      HAILSTONE_ASSIGN(behind, keys.end_of_prefix(first, each.last));
    } else if (const std::string after = key_after_prefix(each.last); !after.empty()) {
      HAILSTONE_ASSIGN(behind, keys.lower_bound(after));
    }
    if (behind <= first) continue;
    if (ordinals.size() + (behind - first) > most) return std::nullopt;
    const size_t before = ordinals.size();
    ordinals.resize(before + (behind - first));
    HAILSTONE_TRY(keys.ordinals(first, behind - first, ordinals.data() + before));
  }
  std::ranges::sort(ordinals);
  const auto repeated = std::ranges::unique(ordinals);
  ordinals.erase(repeated.begin(), repeated.end());
  return ordinals;
}

std::span<const Predicate> parts_of(const Predicate& predicate) {
  return predicate.kind() == Predicate::Kind::And ? predicate.parts() : std::span(&predicate, 1);
}

/// What is left of a predicate once rows are chosen by one of its parts. Filters of joins may let any row
/// through, so that one of them need not be asked again.
Predicate without(const Predicate& predicate, const Predicate& part) {
  if (part.kind() == Predicate::Kind::Integer) return predicate;
  std::vector<Predicate> rest;
  for (const Predicate& other : parts_of(predicate)) {
    if (&other != &part) rest.push_back(other);
  }
  return Predicate::all_of(std::move(rest));
}

}  // namespace

Result<std::optional<IndexedRows>> IndexedRows::find(const Predicate& predicate, const TableSegment& segment,
                                                     const TableKeys& keys) {
  const uint32_t blocks = segment.segment->blocks();
  std::vector<Leaf> leaves;
  for (const Predicate& part : parts_of(predicate)) {
    const auto values = values_listed(part);
    const size_t looks =
        part.kind() == Predicate::Kind::Bytes ? looks_in_time_of_a_block_of_texts : looks_in_time_of_a_block;
    if (values && *values <= looks_anyway + blocks * looks) leaves.push_back({&part, *values});
  }
  std::ranges::stable_sort(leaves, {}, &Leaf::values);
  for (const Leaf& leaf : leaves) {
    const uint16_t column = leaf.condition->column();
    // Rows that lie by a column of numbers are found in its blocks.
    if (leaf.condition->kind() != Predicate::Kind::Bytes && keys.layout()->is_sorted_by(column)) continue;
    const size_t secondary = segment.segment->index_count();
    for (size_t i = keys.hidden_row_id() ? 1 : 0; i <= secondary; ++i) {
      const size_t number = i == 0 ? SegmentKeys::clustered : i - 1;
      const KeyCodec& codec = i == 0 ? keys.clustered() : keys.secondary(i - 1);
      if (codec.columns().empty() || codec.columns().front() != column || !codec.whole_values()) continue;
      if (i == 0 ? !keys.makes_clustered() : !keys.makes_secondary(i - 1)) continue;
      const Column& values = keys.definition().columns[column];
      const uint64_t greatest = values.is_integer() ? bits_of_width(values.width) : 0;
      const auto prefixes = PrefixMaker(codec, greatest).of(*leaf.condition);
      if (!prefixes) continue;
      HAILSTONE_ASSIGN(auto ordinals, look_up(*prefixes, uint64_t{blocks} * most_rows_of_block,
                                              SegmentKeys(segment, keys, number)));
      if (ordinals) return IndexedRows(std::move(*ordinals), without(predicate, *leaf.condition));
    }
  }
  return std::nullopt;
}

uint32_t IndexedRows::take_block(uint32_t block, BlockBitmap& rows) const {
  rows.clear();
  const auto first = first_of(block), behind = first_of(block + 1);
  for (auto ordinal = first; ordinal != behind; ++ordinal) {
    const uint32_t row = *ordinal % block_rows;
    rows.bits[row / 64] |= uint64_t{1} << (row % 64);
  }
  return static_cast<uint32_t>(behind - first);
}

}  // namespace hailstone

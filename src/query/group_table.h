// The groups that one thread has met, with their keys and their aggregates under way: a hash table. Each
// group has a number; number 0 is nobody's, and takes up what is not to be counted.
//
// A key is a word a column: of numbers the value, of bytes its number in the column's ValueSet; and a word of
// bits that tell NULLs. Columns stored as codes are looked up once a code.
//
// What a table holds can be written as records (group_records.cc) and added to another table of the plan. A
// record is a group with its aggregates as far as they are known, or, of an aggregate of distinct values, a
// pair: a group and a value that it has met. Aggregates of distinct values are *settled* once all their pairs
// have been counted; then they add up as others do.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/hash.h"
#include "base/page_allocator.h"
#include "query/computed_rows.h"
#include "query/distinct_set.h"
#include "query/exact_spread.h"
#include "query/exact_sum.h"
#include "query/value_order.h"
#include "query/value_set.h"
#include "table/scan.h"

namespace hailstone {

/// What a query groups by and wants of each group, seen through the columns of its rows. Without keys all
/// rows are one group. Sums are those of numbers: Integer columns of Signed, Unsigned, Float and Double, and
/// 16 bytes of OrderedBytes, which are a whole number, the most significant byte first, with its sign bit
/// turned. Immutable.
struct GroupingPlan {
  struct Key {
    uint16_t position = 0;
    ScanColumn column;
  };
  struct Item {
    Aggregate wanted;
    ScanColumn column;
  };
  std::vector<Key> keys;  // at most most_keys
  std::vector<Item> aggregates;

  static constexpr size_t most_keys = 64;
};

class GroupTable {
 public:
  explicit GroupTable(const GroupingPlan& plan);
  GroupTable(GroupTable&&) = default;
  GroupTable& operator=(GroupTable&&) = default;

  /// Rows of the plan.
  void add(const RowBatch& batch);
  /// Records that append_group() and append_pair() have made. False: the bytes are none, and the table is of
  /// no use any more. A table that gets settled aggregates gets no rows and no pairs of them.
  [[nodiscard]] bool add_records(ByteView records);
  /// Without `settled`, aggregates of distinct values are left out: their pairs say everything.
  void append_group(uint32_t group, bool settled, std::string& to) const;
  /// Calls take(hash, group, aggregate, value) for each pair until it says false; the hash is the same in all
  /// tables. False: it did.
  template <typename Take>
  bool each_pair(Take&& take) const;
  void append_pair(uint32_t group, size_t aggregate, uint64_t value, std::string& to) const;

  /// Groups have the numbers from 1 on, below this.
  uint32_t end() const { return static_cast<uint32_t>(hashes_.size()); }
  /// Of the keys, the same in all tables of the plan.
  uint64_t hash(uint32_t group) const { return hashes_[group]; }
  size_t pairs() const;
  size_t memory() const;

  /// A key of a group; bytes lie in the table.
  Value key(uint32_t group, size_t number) const;
  AggregateResult result(uint32_t group, size_t aggregate) const;

 private:
  /// A minimum or maximum of bytes, in room of its own.
  struct Text {
    uint64_t head = 0;
    char* bytes = nullptr;
    uint32_t size = 0, capacity = 0;
  };
  struct State {
    PageVector<uint64_t> counts;   // rows, or values that are not NULL
    PageVector<uint64_t> bests;    // Minimum, Maximum; BitAnd and its like
    PageVector<WideInteger> sums;  // of the ordered values
    PageVector<HugeInteger> huge;
    ExactSums reals;
    ExactSpreads spreads;
    PageVector<Text> texts;
    std::unique_ptr<DistinctSet> distinct;
    std::unique_ptr<ValueSet> values;  // of a distinct column of bytes
    /// Of texts: their heads by code of the dictionary at hand.
    std::shared_ptr<const Dictionary> dictionary;
    std::vector<uint64_t> heads;
  };
  /// What is known of a code of the dictionary at hand.
  struct Code {
    uint64_t hash = 0;
    uint32_t number = 0;
    bool known = false;
  };
  struct KeyColumn {
    explicit KeyColumn(const GroupingPlan::Key& key);
    bool integer;
    Zeros zeros;
    std::unique_ptr<ValueSet> values;
    std::shared_ptr<const Dictionary> dictionary;
    std::vector<Code> codes;
    // Of the batch's rows.
    std::vector<uint64_t> words;
    std::vector<uint64_t> hashes;
  };
  static uint64_t combine(uint64_t hash, uint64_t next) { return mix_bits(hash * 31 + next); }
  /// Whether the key is one column of bytes.
  bool is_of_one_value() const { return columns_.size() == 1 && !columns_.front().integer; }

  void find_groups(const RowBatch& batch);
  void find_groups_of_numbers(const ColumnVector& vector, uint32_t rows);
  void find_groups_of_codes(const ColumnVector& vector, uint32_t rows);
  /// Of several keys that are all codes of small dictionaries. Some: not all groups are known yet.
  enum class Tuples : uint8_t { None, Some, All };
  Tuples find_groups_of_tuples(const RowBatch& batch);
  void take_dictionary(KeyColumn& column, const std::shared_ptr<const Dictionary>& dictionary);
  void hash_column(KeyColumn& column, const ColumnVector& vector, uint32_t rows);
  /// Of new_rows_, none of which has NULL: leaves hashes and numbers of their values.
  void find_numbers(ValueSet& values, const ColumnVector& vector);
  /// The group of key_, which is added when it is new.
  uint32_t group_of_key(uint64_t hash);
  uint32_t add_group(uint64_t hash);
  uint32_t group_of_value(uint64_t hash);
  void find_likely_groups();
  uint32_t group_of_new_key(size_t number);
  bool has_key(uint32_t group) const;  // key_
  void grow_slots();
  void add_values(size_t aggregate, const ColumnVector& vector, uint32_t rows);
  /// Leaves in counted_ the groups of rows whose value is new to them.
  void leave_new_values(size_t aggregate, const ColumnVector& vector, uint32_t rows);
  /// To what is no count, and not of texts.
  void add_numbers(size_t aggregate, const ColumnVector& vector, const uint32_t* groups, uint32_t rows);
  void append_keys(uint32_t group, std::string& to) const;
  /// The group of the keys that the reader comes to; 0: there are none.
  uint32_t take_keys(ByteReader& reader);
  bool take_states(ByteReader& reader, uint32_t group);
  bool take_state(ByteReader& reader, size_t aggregate, uint32_t group);
  bool take_pair(ByteReader& reader, size_t aggregate);
  void add_texts(size_t aggregate, const ColumnVector& vector, const uint32_t* groups, uint32_t rows);
  void add_text(size_t aggregate, uint32_t group, uint64_t head, ByteView value);

  const GroupingPlan* plan_;
  size_t stride_;  // words of a key
  std::vector<KeyColumn> columns_;
  PageVector<uint64_t> slots_;  // upper half of the hash, and the group; 0: free
  PageVector<uint64_t> keys_;
  PageVector<uint64_t> hashes_;
  std::vector<State> states_;
  std::unique_ptr<Arena> texts_ = std::make_unique<Arena>();
  // Of one key column only. Of bytes: groups by number of the value (0: none), in the place of slots_, and by
  // code of the dictionary at hand. Of numbers: groups of those from direct_first_ on.
  PageVector<uint32_t> by_value_;
  uint32_t null_group_ = 0;
  std::vector<uint32_t> by_code_;
  std::vector<uint32_t> direct_;
  uint64_t direct_first_ = 0;
  // Of several key columns of small dictionaries: groups by the codes, as one number.
  std::vector<std::shared_ptr<const Dictionary>> tuple_dictionaries_;
  std::vector<uint32_t> by_tuple_;
  std::vector<uint32_t> tuples_;  // of the batch's rows
  // Scratch space.
  std::string weights_;
  std::vector<uint64_t> key_;
  std::vector<uint32_t> new_rows_;  // of the batch, to be looked for
  std::vector<uint64_t> new_hashes_;
  std::vector<ByteView> new_values_;
  std::vector<uint32_t> new_numbers_;
  std::vector<uint64_t> values_;   // of the batch's rows, for distinct ones
  std::vector<uint32_t> groups_;   // of the batch's rows
  std::vector<uint32_t> counted_;  // the same, but 0 for NULLs
};

template <typename Take>
bool GroupTable::each_pair(Take&& take) const {
  for (size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].distinct == nullptr) continue;
    const ValueSet* const values = states_[i].values.get();
    const bool all = states_[i].distinct->each([&](uint32_t group, uint64_t value) {
      const uint64_t of_value =
          values != nullptr ? values->hash_of(static_cast<uint32_t>(value)) : mix_bits(value);
      return take(combine(combine(hashes_[group], i + 1), of_value), group, i, value);
    });
    if (!all) return false;
  }
  return true;
}

}  // namespace hailstone

// The groups that one thread has met, with their keys and their aggregates under way: a hash table. Each
// group has a number; number 0 is nobody's, and takes up what is not to be counted.
//
// A key is a word a column: of numbers the value, of bytes its number in the column's ValueSet; and a word of
// bits that tell NULLs. Columns stored as codes are looked up once a code. Where one such column is the key,
// and rows are only counted, or their least and greatest texts looked for, all of this is done by codes, and
// the codes become groups when another dictionary comes (group_codes.cc).
//
// What a table holds can be written as records (group_records.cc) and added to another table of the plan. A
// record is a group with its aggregates as far as they are known, or, of an aggregate of distinct values, a
// pair: a group and a value that it has met. Aggregates of distinct values are *settled* once all their pairs
// have been counted; then they add up as others do.
//
// Where nearly every row is a group of its own, looking for it costs much and finds nothing. Such rows are
// taken *apart*: a batch of them becomes groups without a look at any other, then records, and the table is
// cleared. So are pairs.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
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
#include "query/hashed_records.h"
#include "query/rows_by_group.h"
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
  /// Whether results of floating-point sums, and of spreads, have in `bytes` their states without rounding:
  /// results of several groups can then be added up (MergedGroup).
  bool keeps_states = false;
  /// Becomes true when two texts of a key are equal and have other bytes.
  std::atomic<bool>* variants = nullptr;

  static constexpr size_t most_keys = 64;

  /// Whether groups, or pairs, have bytes, so that their records are long.
  bool has_long_groups() const {
    return std::ranges::any_of(keys, [](const Key& key) { return !key.column.integer; });
  }
  bool has_long_pairs() const {
    return has_long_groups() || std::ranges::any_of(aggregates, [](const Item& item) {
             return item.wanted.distinct && !item.column.integer;
           });
  }
  /// How many aggregates are of distinct values.
  size_t distinct_values() const {
    return static_cast<size_t>(
        std::ranges::count_if(aggregates, [](const Item& item) { return item.wanted.distinct; }));
  }
};

class GroupTable {
 public:
  /// What is taken apart.
  struct Apart {
    bool groups = false;
    bool pairs = false;
  };

  explicit GroupTable(const GroupingPlan& plan);
  GroupTable(GroupTable&&) = default;
  GroupTable& operator=(GroupTable&&) = default;

  /// Rows of the plan. What is taken apart must be written, and cleared, while the batch is there: all of the
  /// table, which was empty before, or all pairs.
  void add(const RowBatch& batch, Apart apart);
  /// Of write_groups(), or write_pairs(). False: the bytes are none, and the table is of no use any more. A
  /// table that gets settled aggregates gets no rows and no pairs of them.
  [[nodiscard]] bool add_records(RecordKind kind, ByteView records);
  /// Call take(const HashedRecords&) for some groups that are not forgotten, or pairs, at a time, and return
  /// its first error. Without `settled`, aggregates of distinct values are left out: their pairs say
  /// everything.
  template <typename Take>
  Status write_groups(bool settled, HashedRecords& scratch, Take&& take) const;
  template <typename Take>
  Status write_pairs(HashedRecords& scratch, Take&& take) const;
  /// Takes over to the groups what is known by codes of dictionaries. Before anything is written or asked of
  /// groups that rows were added to.
  void leave_codes();
  /// Empties the table, which keeps its memory.
  void clear();
  void clear_pairs();
  /// What comes is never one of the groups that are there, which are not looked for any more.
  void forget();
  /// Lets go of all groups that are not forgotten; bytes of theirs stay.
  void drop();
  bool has_forgotten() const { return first_ != 1; }
  bool groups_are_of_one_size() const { return !groups_vary_; }
  /// Whether groups take no more than some times the bytes of their records: exact sums of floating-point
  /// numbers may.
  bool groups_follow_records() const;
  /// Makes room for so many groups.
  void reserve(size_t groups);
  /// Of keys of numbers: whether so many more groups would make the table larger.
  bool may_grow_by(size_t groups) const { return (this->groups() + groups) * 2 > slots_.size(); }
  /// Nothing will be added any more.
  void finish();

  /// Groups have the numbers from 1 on, below this.
  uint32_t end() const { return end_; }
  /// Those that are not forgotten.
  uint32_t groups() const { return end_ - first_; }
  /// Whether the group is part of another table's (GroupMerge).
  bool is_gone(uint32_t group) const { return !gone_.empty() && gone_[group] != 0; }
  /// Those that are not gone.
  size_t groups_left() const;
  size_t pairs() const;
  /// Whether write_pairs() has any to write.
  bool has_pairs() const;
  size_t memory() const;

  /// A key of a group; bytes lie in the table.
  Value key(uint32_t group, size_t number) const;
  /// The same key of several groups.
  void read_keys(size_t number, std::span<const uint32_t> groups, ColumnVector& to) const;
  /// Of rows, or of values that are not NULL.
  uint64_t count(uint32_t group, size_t aggregate) const {
    const State& state = states_[aggregate];
    if (!state.counts.empty()) return state.counts[group];
    return rows_of_[group] - (state.nulls.empty() ? 0 : state.nulls[group]);
  }
  AggregateResult result(uint32_t group, size_t aggregate) const;
  /// Of a Sum whose results have it.
  WideInteger integer_sum(uint32_t group, size_t aggregate) const;

 private:
  friend class GroupMerge;
  /// A minimum or maximum of bytes, in room of its own.
  struct Text {
    uint64_t head = 0;
    char* bytes = nullptr;
    uint32_t size = 0, capacity = 0;
  };
  struct State {
    PageVector<uint64_t> counts;   // values, of distinct ones only
    PageVector<uint64_t> nulls;    // rows that have none, of others; empty: all have one
    PageVector<uint64_t> bests;    // Minimum, Maximum; BitAnd and its like
    PageVector<WideInteger> sums;  // of the ordered values
    PageVector<HugeInteger>
        huge;  // of numbers of more than 128 bits; empty where there may be some, and was none
    ExactSums reals;
    ExactSpreads spreads;
    PageVector<Text> texts;
    std::unique_ptr<DistinctSet> distinct;
    PageVector<DistinctSet::Pair> apart;  // pairs, in the place of `distinct`
    std::unique_ptr<ValueSet> values;     // of a distinct column of bytes
    /// Of texts: their heads by code of the dictionary at hand. Where codes have the order of the texts, the
    /// best code of each group instead, or of each code in code_rows_, as a rank (0: none).
    std::shared_ptr<const Dictionary> dictionary;
    std::vector<uint64_t> heads;
    PageVector<uint32_t> best_ranks;
    uint64_t dictionary_rows = 0;  // that had codes of it
  };
  /// What is known of a code of the dictionary at hand.
  struct Code {
    uint64_t hash = 0;
    uint32_t number = 0;
    bool known = false;
  };
  struct KeyColumn {
    KeyColumn(const GroupingPlan::Key& key, std::atomic<bool>* variants);
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
  /// Makes groups of the rows, each of its own.
  void make_groups(const RowBatch& batch);
  void find_groups_of_numbers(const ColumnVector& vector, uint32_t rows);
  void find_groups_of_codes(const ColumnVector& vector, uint32_t rows);
  /// Of several keys that are all codes of small dictionaries. Some: not all groups are known yet.
  enum class Tuples : uint8_t { None, Some, All };
  Tuples find_groups_of_tuples(const RowBatch& batch);
  void take_dictionary(KeyColumn& column, const std::shared_ptr<const Dictionary>& dictionary);
  /// The words and hashes of all keys, and nulls_.
  void hash_columns(const RowBatch& batch, bool apart);
  void hash_column(KeyColumn& column, const ColumnVector& vector, uint32_t rows, bool apart);
  /// Of new_rows_, none of which has NULL: leaves hashes and numbers of their values. `apart`: they are not
  /// looked for.
  void find_numbers(ValueSet& values, const ColumnVector& vector, bool apart);
  /// The same of new_values_.
  void find_numbers(ValueSet& values, bool apart);
  /// The groups of the words, hashes and nulls_ of so many rows.
  void find_groups_of_words(uint32_t rows);
  /// Of all keys; leaves them in new_hashes_.
  void combine_hashes(uint32_t rows);
  /// The group of key_, which is added when it is new.
  uint32_t group_of_key(uint64_t hash);
  /// Its aggregates are there with the next make_states().
  uint32_t add_group(uint64_t hash);
  void make_states();
  void begin();
  /// Calls resize(array, …) for each array with an entry a group; …: what an entry begins with.
  template <typename Resize>
  void each_array(Resize&& resize);
  uint32_t group_of_value(uint64_t hash);
  void find_likely_groups();
  bool has_key(uint32_t group, std::span<const uint64_t> wanted) const;
  bool has_words(uint32_t group, uint32_t row) const;
  void take_words(uint32_t row);  // to key_
  void grow_slots();
  /// So that direct_ has all numbers that are groups, where they are dense.
  void widen_direct();
  void add_values(size_t aggregate, const ColumnVector& vector, uint32_t rows, bool apart);
  /// Leaves in counted_ the groups of rows whose value is new to them; none of those that are taken apart.
  void leave_new_values(size_t aggregate, const ColumnVector& vector, uint32_t rows, bool apart);
  /// To what is no count, and not of texts.
  void add_numbers(size_t aggregate, const ColumnVector& vector, const uint32_t* groups, uint32_t rows);

  // Records.
  struct Layout {
    size_t bytes = 0;            // of each, without its tail
    size_t rows = 0;             // where how many there are of a group stands, if it does
    std::vector<size_t> states;  // where each aggregate has its count
  };
  const Layout& layout(RecordKind kind) const { return kind == RecordKind::Rows ? rows_ : wholes_; }
  static constexpr uint32_t records_at_once = batch_rows;
  void lay_out_records();
  bool add_groups(RecordKind kind, ByteView records);
  bool add_pairs(ByteView records);
  void append_groups(uint32_t first, uint32_t last, bool settled, HashedRecords& to) const;
  void append_pairs(size_t aggregate, std::span<const DistinctSet::Pair> pairs, HashedRecords& to) const;
  void put_keys(std::span<const uint32_t> groups, size_t place, HashedRecords& to) const;
  void append_keys(uint32_t group, std::string& to) const;
  void put_states(size_t aggregate, std::span<const uint32_t> groups, bool settled, HashedRecords& to) const;
  template <typename Count, typename Sum>
  void put_numbers(size_t aggregate, std::span<const uint32_t> groups, bool settled, HashedRecords& to) const;
  void append_state(size_t aggregate, uint32_t group, std::string& to) const;
  /// Goes to the next records_at_once records, which become records_ and tails_.
  bool take_records(ByteView& from, bool vary, size_t bytes);
  /// Finds the groups of records_, whose keys are at `place`.
  bool take_keys(size_t place);
  bool take_states(RecordKind kind, size_t aggregate);
  void take_rows(RecordKind kind);
  template <typename Count>
  void take_nulls(const Layout& layout, size_t aggregate);
  template <typename Count, typename Sum>
  void take_numbers(RecordKind kind, size_t aggregate);
  void add_huge_sum(State& state, uint32_t group, const HugeInteger& sum);
  /// Of ordered values, as `sums` are.
  static HugeInteger huge_sum_of(const State& state, uint32_t group) {
    const HugeInteger sum = HugeInteger::of(state.sums[group]);
    return state.huge.empty() ? sum : sum + state.huge[group];
  }
  bool take_state(ByteReader& reader, size_t aggregate, uint32_t group);
  bool take_values(size_t aggregate);
  /// A distinct one that the group had not met.
  void count_value(size_t aggregate, uint32_t group, uint64_t value);

  void add_huge_numbers(State& state, const ColumnVector& vector, const uint32_t* groups, uint32_t rows);
  void add_texts(size_t aggregate, const ColumnVector& vector, const uint32_t* groups, uint32_t rows);
  void add_texts_by_rank(size_t aggregate, const ColumnVector& vector, const uint32_t* groups, uint32_t rows);
  void count_nulls(State& state, const ColumnVector& vector, uint32_t rows);
  const uint64_t* numbers_or_zeros(const ColumnVector& vector, uint32_t rows);
  void forget_dictionaries();
  /// Adds the texts of the best ranks.
  void settle_ranks(size_t aggregate);
  ByteView text_of_rank(size_t aggregate, uint32_t rank) const;
  void settle_text(size_t aggregate, uint32_t group, ByteView value);
  bool is_least(size_t aggregate) const {
    return plan_->aggregates[aggregate].wanted.kind == Aggregate::Kind::Minimum;
  }
  /// Of the rows' texts at each place of best_ranks (a group, or a code in code_rows_), the best one's rank.
  void take_best_ranks(size_t aggregate, const ColumnVector& vector, const uint32_t* places, uint32_t rows);

  // Rows by codes.
  bool can_add_codes() const;  // by the plan
  bool can_add_codes(const RowBatch& batch) const;
  /// False: the batch is to be added as others are.
  bool add_codes(const RowBatch& batch);
  void settle_codes();
  void settle_some_codes(std::span<const uint32_t> codes);
  void add_text(size_t aggregate, uint32_t group, uint64_t head, ByteView value);
  void put_text(State& state, uint32_t group, uint64_t head, ByteView value);
  /// Whether it is the minimum, or maximum, of both.
  bool is_better(size_t aggregate, ByteView value, const Text& text) const;
  bool is_better(size_t aggregate, uint64_t head, ByteView value, const Text& text) const;

  // Of GroupMerge.
  /// Groups of `later` may be added from here on.
  void begin_merge(const GroupTable& later);
  /// The group with the key, whose texts have their numbers here; 0: there is none.
  uint32_t find_key(std::span<const uint64_t> key, uint64_t hash) const;
  /// Before many keys are looked for: what tells their places is waited for at once, then the keys there.
  void prefetch_place(std::span<const uint64_t> key, uint64_t hash) const {
    if (!is_of_one_value()) {
      __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
    } else if (key[0] < by_value_.size()) {
      __builtin_prefetch(&by_value_[key[0]]);
    }
  }
  void prefetch_key(uint64_t hash) const { __builtin_prefetch(keys_.data() + likely_group(hash) * stride_); }
  /// The one whose slot the hash leads to, which most often is the right one; 0: there is none.
  uint32_t likely_group(uint64_t hash) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = hash & mask;
    while (slots_[slot] != 0 && (slots_[slot] ^ hash) >> 32 != 0) slot = (slot + 1) & mask;
    return static_cast<uint32_t>(slots_[slot]);
  }
  /// All but distinct values. By several threads, each with groups of its own.
  void add_group_of(const GroupTable& later, uint32_t group, uint32_t to);

  const GroupingPlan* plan_;
  size_t stride_;       // words of a key
  uint32_t end_ = 0;    // groups, and nobody's
  uint32_t first_ = 1;  // of those that are not forgotten
  std::vector<KeyColumn> columns_;
  PageVector<uint64_t> slots_;  // upper half of the hash, and the group; 0: free
  PageVector<uint64_t> keys_;
  PageVector<uint64_t> hashes_;
  PageVector<uint8_t> gone_;      // empty: none is
  bool counts_rows_ = false;      // some aggregate needs rows_of_
  PageVector<uint64_t> rows_of_;  // of each group
  std::vector<State> states_;
  std::unique_ptr<Arena> texts_ = std::make_unique<Arena>();
  // Of one key column only. Of bytes: groups by number of the value (0: none), in the place of slots_, and by
  // code of the dictionary at hand. Of numbers: groups of those from direct_first_ on.
  PageVector<uint32_t> by_value_;
  uint32_t null_group_ = 0;
  std::vector<uint32_t> by_code_;
  // Of bytes, too: rows by codes of a dictionary that are not part of groups yet. Null: there are none.
  std::shared_ptr<const Dictionary> coded_;
  PageVector<uint32_t> code_rows_;
  uint64_t coded_rows_ = 0;  // in all
  bool adds_codes_ = false;  // can_add_codes()
  PageVector<uint32_t> direct_;
  uint64_t direct_first_ = 0;
  // Of several key columns of small dictionaries: groups by the codes, as one number.
  std::vector<std::shared_ptr<const Dictionary>> tuple_dictionaries_;
  std::vector<uint32_t> by_tuple_;
  std::vector<uint32_t> tuples_;  // of the batch's rows
  bool of_rows_ = false;          // each group is that of one row
  // Of few groups and many sums: the batch's rows.
  bool sums_many_numbers_ = false, sorts_rows_ = false;
  RowsByGroup by_group_;
  // Records: of RecordKind::Groups and Rows; whether they have a tail.
  Layout wholes_, rows_;
  size_t pair_bytes_ = 0;
  bool groups_vary_ = false, pairs_vary_ = false;
  // Scratch space.
  std::string weights_;
  std::vector<uint64_t> nulls_;  // of the batch's rows, a bit a key
  std::vector<const char*> records_;
  std::vector<ByteReader> tails_;
  std::vector<uint64_t> key_;
  std::vector<uint32_t> new_rows_;  // of the batch, to be looked for
  std::vector<uint64_t> new_hashes_;
  std::vector<ByteView> new_values_;
  std::vector<uint32_t> new_numbers_;
  std::vector<uint64_t> values_;   // of the batch's rows, for distinct ones or sums
  std::vector<uint32_t> groups_;   // of the batch's rows
  std::vector<uint32_t> counted_;  // the same, but 0 for NULLs
};

template <typename Take>
Status GroupTable::write_groups(bool settled, HashedRecords& scratch, Take&& take) const {
  for (uint32_t first = first_; first < end_; first += records_at_once) {
    append_groups(first, std::min(end_, first + records_at_once), settled, scratch);
    HAILSTONE_TRY(take(scratch));
  }
  return {};
}

template <typename Take>
Status GroupTable::write_pairs(HashedRecords& scratch, Take&& take) const {
  for (size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].distinct == nullptr) continue;
    const State& state = states_[i];
    for (std::span<const DistinctSet::Pair> rest : {state.distinct->slots(), std::span(state.apart)}) {
      for (; !rest.empty(); rest = rest.subspan(std::min<size_t>(rest.size(), records_at_once))) {
        append_pairs(i, rest.first(std::min<size_t>(rest.size(), records_at_once)), scratch);
        HAILSTONE_TRY(take(scratch));
      }
    }
  }
  return {};
}

}  // namespace hailstone

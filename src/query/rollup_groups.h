// GROUP BY … WITH ROLLUP: groups in the order of their keys, and behind those that have their first keys in
// common one more group of all their rows, which has these keys only; the last one has none.
//
// Each level, of so many of the first keys, is grouped and sorted by itself. As all are sorted alike, their
// groups come in the order in which they are wanted.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "query/grouping.h"

namespace hailstone {

class RollupGroups final : public Groups {
 public:
  /// `levels`: number i has groups of the first i keys, sorted by them; all of the same rows. `keys`: what
  /// all the keys are.
  RollupGroups(std::vector<std::unique_ptr<Groups>> levels, std::vector<ScanColumn> keys)
      : levels_(std::move(levels)), columns_(std::move(keys)), level_(columns_.size()) {}

  /// Without rows there is no group.
  Result<bool> next() override;
  /// Fewer than all where the group is one of several others.
  std::span<const Value> keys() const override { return levels_[level_]->keys(); }
  AggregateResult result(size_t aggregate) const override { return levels_[level_]->result(aggregate); }
  uint64_t rows_read() const override { return levels_.back()->rows_read(); }
  const QueryHost& host() const override { return levels_.back()->host(); }
  Status read_place(uint64_t place, std::span<Value> values) const override {
    return levels_[level_]->read_place(place, values);
  }

 private:
  void remember_keys();
  /// How many of the first keys the group at hand of the last level has in common with the one before.
  size_t keys_in_common() const;

  const std::vector<std::unique_ptr<Groups>> levels_;
  const std::vector<ScanColumn> columns_;
  size_t level_;                       // where it stands
  size_t ending_ = 0;                  // levels below level_, down to this, have a group that comes next
  bool begun_ = false, over_ = false;  // of the last level
  std::vector<Value> last_keys_;       // of its group before
  std::vector<std::string> last_bytes_;
};

}  // namespace hailstone

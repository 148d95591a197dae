// The order of an index column that the application's comparison function decides. The engine orders keys by
// their bytes, and a function cannot be turned into bytes; so each value gets a label: bytes that sort among
// the labels of all other values as the function sorts the values. Values that the function calls equal share
// a label. The label is stored with the row, in a hidden column that the index is made on; so nothing below
// this file knows of the function, and recovery does not need it.
//
// A label never changes: a new one is made between two that exist. Labels are groups of 5 bytes, big-endian;
// a run of values in ascending or descending order counts up or down in one group, so that labels stay short.
//
// All values of the column are in memory, by value and by label, from the first use of the table to the end
// of the engine. Thread-safe.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <unordered_map>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mutex.h"
#include "base/status.h"
#include "haildb.h"

namespace hailstone::haildb {

/// Compares by the function set by ib_set_client_compare, or by bytes.
int client_compare(const ib_col_meta_t& meta, ByteView a, ByteView b);
void set_client_compare(ib_client_cmp_t function);

class ClientOrder {
 public:
  /// `meta`: as the function gets it.
  explicit ClientOrder(const ib_col_meta_t& meta) : meta_(meta) {}

  /// A value of a stored row. Returns false when its label contradicts the order of those added before: the
  /// rows were stored under another function.
  bool add_stored(ByteView value, ByteView label);
  /// The label of a value, made when there is none.
  std::string label(ByteView value);
  /// Bounds for a search: labels l with low <= l < high are those of values equal to `value`. Makes none.
  struct Range {
    std::string low, high;
    bool exists = false;  // else low == high
  };
  Range find(ByteView value) const;

  /// A label between two others; an empty one is no limit.
  static std::string between(ByteView low, ByteView high);

 private:
  struct Entry {
    std::string label;
    std::string value;  // one of those that share the label
  };
  struct Probe {
    ByteView value;
    const ib_col_meta_t& meta;
  };
  struct Less {
    using is_transparent = void;
    bool operator()(const Entry& a, const Entry& b) const { return a.label < b.label; }
    bool operator()(const Entry& a, const Probe& b) const {
      return client_compare(b.meta, a.value, b.value) < 0;
    }
    bool operator()(const Probe& a, const Entry& b) const {
      return client_compare(a.meta, a.value, b.value) < 0;
    }
  };

  const ib_col_meta_t meta_;
  mutable Mutex mutex_;
  struct Hash {
    using is_transparent = void;
    size_t operator()(ByteView value) const { return hash_bytes(value); }
  };
  std::unordered_map<std::string, std::string, Hash, std::equal_to<>> labels_ HAILSTONE_GUARDED_BY(mutex_);
  std::set<Entry, Less> order_ HAILSTONE_GUARDED_BY(mutex_);
};

}  // namespace hailstone::haildb

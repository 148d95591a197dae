// Column blocks, dictionaries and index pieces read from files, shared by all readers of a database, evicted
// when the memory budget is short: oldest first, but what was used since it was last looked at is spared, so
// that one long scan does not empty the cache. Thread-safe. Entries are pinned by the shared pointers handed
// out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/counters.h"
#include "base/memory_budget.h"
#include "base/status.h"

namespace hailstone {

class BlockCache {
 public:
  struct Key {
    uint64_t file;  // unique for the life of the process
    uint64_t offset;
    bool operator==(const Key&) const = default;
  };
  /// What is cached: checked, ready to use. Immutable.
  class Entry {
   public:
    virtual ~Entry() = default;
    virtual size_t memory() const = 0;
  };

  BlockCache(MemoryBudget& budget, Counters& counters);  // registers itself as the budget's reclaimer
  ~BlockCache();
  /// The entry, loaded by `load` when absent. Two threads that miss at once may both load; one result is
  /// kept. An entry that finds no room, or that is not to be kept, is returned uncached.
  Result<std::shared_ptr<const Entry>> get(const Key& key,
                                           const std::function<Result<std::shared_ptr<const Entry>>()>& load,
                                           bool keep = true);
  /// The entry; null: it is not cached.
  std::shared_ptr<const Entry> find(const Key& key);
  /// Whether memory is plentiful enough to keep so much only because it is quicker to read.
  bool has_room(size_t bytes) const;
  /// Puts a larger form of a cached entry in its place. False: there is no room for it, or the entry is not
  /// cached (any more).
  bool replace(const Key& key, const std::shared_ptr<const Entry>& entry);
  /// What readers keep pinned without working on it: blocks take an eighth of the budget at most, pieces of
  /// Bloom filters a quarter, so that the rest of the cache has room.
  enum class Held : uint8_t { Blocks, Filters };
  /// A reader wants to keep an entry pinned. False: there is no more room for that. let_go() gives it back.
  [[nodiscard]] bool hold(Held what, size_t bytes);
  void let_go(Held what, size_t bytes);
  void erase_file(uint64_t file);
  /// Evicts at least `bytes` of unpinned entries if it can; bytes freed.
  size_t evict(size_t bytes);
  /// What the cache is charged to.
  MemoryBudget& budget() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hailstone

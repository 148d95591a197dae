#include "segment/block_cache.h"

#include <array>
#include <list>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"

namespace hailstone {
namespace {

/// An entry with the memory it is charged for: what readers pin is this, so the budget counts an entry until
/// the last of them lets go.
struct Charged {
  Charged(std::shared_ptr<const BlockCache::Entry> what, MemoryBudget& budget, size_t bytes)
      : entry(std::move(what)), memory(budget), size(bytes) {}
  std::shared_ptr<const BlockCache::Entry> entry;
  Reservation memory;
  size_t size;
};

struct KeyHash {
  size_t operator()(const BlockCache::Key& key) const {
    uint64_t hash = (key.file * 0x9e3779b97f4a7c15 ^ key.offset) * 0xd6e8feb86659fd93;
    hash ^= hash >> 32;
    return static_cast<size_t>(hash * 0xd6e8feb86659fd93);
  }
};

/// One slice of the cache. Evicts by SIEVE (Zhang et al., NSDI 2024): entries stay in order of arrival; a
/// hand walks from the oldest, spares once what was used since it last passed, and takes the rest. A scan's
/// blocks, used once, go first.
struct Shard {
  struct Node {
    BlockCache::Key key;
    std::shared_ptr<Charged> value;
    bool used = false;
  };
  Mutex mutex;
  std::list<Node> nodes HAILSTONE_GUARDED_BY(mutex);  // newest first
  std::unordered_map<BlockCache::Key, std::list<Node>::iterator, KeyHash> by_key HAILSTONE_GUARDED_BY(mutex);
  std::list<Node>::iterator hand HAILSTONE_GUARDED_BY(mutex) = nodes.end();

  /// Takes the node out. Needs no memory: memory is what is wanted.
  void move(std::list<Node>::iterator node, std::list<Node>& to) noexcept HAILSTONE_REQUIRES(mutex) {
    if (hand == node) hand = node == nodes.begin() ? nodes.end() : std::prev(node);
    by_key.erase(node->key);
    to.splice(to.end(), nodes, node);
  }
};

constexpr size_t shard_count = 16;

/// The entry, which is charged for as long as anybody holds it.
std::shared_ptr<const BlockCache::Entry> pin(const std::shared_ptr<Charged>& charged) {
  return {charged, charged->entry.get()};
}

size_t charged_size(const BlockCache::Entry& entry) {
  return entry.memory() + sizeof(Charged) + sizeof(Shard::Node);
}

}  // namespace

struct BlockCache::State {
  State(MemoryBudget& memory_budget, Counters& status) : budget(memory_budget), counters(status) {}
  MemoryBudget& budget;
  Counters& counters;
  std::array<Shard, shard_count> shards;
  std::atomic<size_t> next_victim{0};
  std::array<std::atomic<size_t>, 2> held_bytes{};  // by Held

  Shard& shard_of(const Key& key) { return shards[KeyHash()(key) >> 57 & (shard_count - 1)]; }

  /// Evicts from one shard; what is dropped is moved to `dropped`, so that it dies outside the mutex.
  size_t evict(Shard& shard, size_t bytes, std::list<Shard::Node>& dropped) noexcept {
    size_t freed = 0;
    const MutexLock guard(shard.mutex);
    // Two rounds: the first may only clear marks.
    for (size_t steps = shard.nodes.size() * 2; steps > 0 && freed < bytes && !shard.nodes.empty(); --steps) {
      if (shard.hand == shard.nodes.end()) shard.hand = std::prev(shard.nodes.end());
      const auto node = shard.hand;
      // A pin can only be taken under this mutex, so an unpinned entry stays unpinned here.
      if (node->used || node->value.use_count() > 1) {
        node->used = false;
        shard.hand = node == shard.nodes.begin() ? shard.nodes.end() : std::prev(node);
        continue;
      }
      freed += node->value->size;
      shard.move(node, dropped);
    }
    counters.block_cache_bytes.fetch_sub(freed, std::memory_order_relaxed);
    count(counters.block_cache_evicted_bytes, freed);
    return freed;
  }
};

BlockCache::BlockCache(MemoryBudget& budget, Counters& counters)
    : state_(std::make_unique<State>(budget, counters)) {
  budget.set_reclaimer(
      {.reclaim = [this](size_t bytes) { return evict(bytes); },
       .reclaimable = [this] { return state_->counters.block_cache_bytes.load(std::memory_order_relaxed); }});
}

BlockCache::~BlockCache() { state_->budget.set_reclaimer({}); }

MemoryBudget& BlockCache::budget() const { return state_->budget; }

std::shared_ptr<const BlockCache::Entry> BlockCache::find(const Key& key) {
  Shard& shard = state_->shard_of(key);
  const MutexLock guard(shard.mutex);
  const auto found = shard.by_key.find(key);
  if (found == shard.by_key.end()) return nullptr;
  found->second->used = true;
  count(state_->counters.block_cache_hits);
  return pin(found->second->value);
}

Result<std::shared_ptr<const BlockCache::Entry>> BlockCache::get(
    const Key& key, const std::function<Result<std::shared_ptr<const Entry>>()>& load_entry, bool keep) {
  if (auto found = find(key)) return found;
  count(state_->counters.block_cache_misses);
  // Loading and reserving happen without the mutex: reserving may call evict(), which takes it.
  HAILSTONE_ASSIGN(std::shared_ptr<const Entry> entry, load_entry());
  const size_t size = charged_size(*entry);
  auto charged = std::make_shared<Charged>(std::move(entry), state_->budget, size);
  if (!keep || !charged->memory.try_grow(size)) {
    charged->memory.grow(size);  // in use all the same, so it counts for as long as it is
    return pin(charged);
  }
  std::list<Shard::Node> node;
  node.push_front({key, charged, false});
  std::shared_ptr<const Entry> result;
  Shard& shard = state_->shard_of(key);
  {
    const MutexLock guard(shard.mutex);
    const auto [place, added] = shard.by_key.try_emplace(key, node.begin());
    if (added) {
      shard.nodes.splice(shard.nodes.begin(), node);
      count(state_->counters.block_cache_bytes, size);
    }
    result = pin(place->second->value);
  }
  return result;
}

bool BlockCache::has_room(size_t bytes) const {
  // The last eighth is for what cannot be done without.
  const size_t limit = state_->budget.limit();
  return state_->budget.used() + bytes <= limit - limit / 8;
}

bool BlockCache::replace(const Key& key, const std::shared_ptr<const Entry>& entry) {
  const size_t size = charged_size(*entry);
  if (!has_room(size)) return false;
  auto charged = std::make_shared<Charged>(entry, state_->budget, size);
  if (!charged->memory.try_grow(size)) return false;
  Shard& shard = state_->shard_of(key);
  const MutexLock guard(shard.mutex);
  const auto found = shard.by_key.find(key);
  if (found == shard.by_key.end()) return false;
  std::swap(found->second->value, charged);
  count(state_->counters.block_cache_unpacked);
  count(state_->counters.block_cache_bytes, size);
  state_->counters.block_cache_bytes.fetch_sub(charged->size, std::memory_order_relaxed);
  return true;
}

bool BlockCache::hold(Held what, size_t bytes) {
  // An entry that several readers hold counts for each of them.
  const size_t most = state_->budget.limit() / (what == Held::Blocks ? 8 : 4);
  if (state_->held_bytes[static_cast<size_t>(what)].fetch_add(bytes) + bytes <= most) return true;
  let_go(what, bytes);
  return false;
}

void BlockCache::let_go(Held what, size_t bytes) {
  state_->held_bytes[static_cast<size_t>(what)].fetch_sub(bytes);
}

void BlockCache::erase_file(uint64_t file) {
  std::list<Shard::Node> dropped;
  for (auto& shard : state_->shards) {
    const MutexLock guard(shard.mutex);
    for (auto node = shard.nodes.begin(); node != shard.nodes.end();) {
      const auto next = std::next(node);
      if (node->key.file == file) {
        state_->counters.block_cache_bytes.fetch_sub(node->value->size, std::memory_order_relaxed);
        shard.move(node, dropped);
      }
      node = next;
    }
  }
}

size_t BlockCache::evict(size_t bytes) {
  std::list<Shard::Node> dropped;
  size_t freed = 0;
  const size_t first = state_->next_victim.fetch_add(1, std::memory_order_relaxed);
  for (size_t i = 0; i < shard_count && freed < bytes; ++i) {
    freed += state_->evict(state_->shards[(first + i) % shard_count], bytes - freed, dropped);
  }
  return freed;
}

}  // namespace hailstone

#include "query/group_merge.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "query/group_numbers.h"

namespace hailstone {

namespace {

using Kind = Aggregate::Kind;

/// A thread takes so many groups at a time, which are waited for at once.
constexpr size_t chunk = 1024;

}  // namespace

bool GroupMerge::is_possible(const GroupingPlan& plan) {
  return std::ranges::all_of(plan.aggregates, [](const GroupingPlan::Item& item) {
    const Kind kind = item.wanted.kind;
    if (item.wanted.distinct) return kind == Kind::Values;
    return kind != Kind::Spread && !(kind == Kind::Sum && is_real(item.column));
  });
}

Status GroupMerge::run(const Workers& workers) {
  for (later_ = 1; later_ < tables_.size(); ++later_) {
    GroupTable& later = *tables_[later_];
    twins_.assign(later_, {});
    for (size_t i = 0; i < later_; ++i) {
      twins_[i].groups.assign(later.end(), 0);
      twins_[i].keys.resize(plan_.keys.size());
      twins_[i].values.resize(plan_.aggregates.size());
      tables_[i]->begin_merge(later);
    }
    later.gone_.assign(later.end(), 0);
    HAILSTONE_TRY(find_all_texts(workers));
    HAILSTONE_TRY(in_chunks(workers, later.end(), [this](size_t first, size_t last) {
      for (size_t i = 0; i < later_; ++i)
        find_groups(*tables_[i], twins_[i], std::max<size_t>(first, 1), last);
      add_up(std::max<size_t>(first, 1), last);
    }));
    for (size_t i = 0; i < plan_.aggregates.size(); ++i) {
      if (!plan_.aggregates[i].wanted.distinct) continue;
      const auto pairs = later.states_[i].distinct->slots();
      HAILSTONE_TRY(in_chunks(workers, pairs.size(), [&](size_t first, size_t last) {
        count_new_values(i, pairs.subspan(first, last - first));
      }));
    }
  }
  return {};
}

Status GroupMerge::in_chunks(const Workers& workers, size_t units, const TakeSome& take) const {
  return workers.each((units + chunk - 1) / chunk, [&](size_t number, const GoOn&) -> Status {
    take(number * chunk, std::min((number + 1) * chunk, units));
    return {};
  });
}

Status GroupMerge::find_all_texts(const Workers& workers) {
  const GroupTable& later = *tables_[later_];
  for (size_t i = 0; i < plan_.keys.size(); ++i) {
    if (plan_.keys[i].column.integer) continue;
    HAILSTONE_TRY(find_texts(
        workers, *later.columns_[i].values,
        [i](const GroupTable& table) -> const ValueSet& { return *table.columns_[i].values; },
        [i](Twins& twins) -> Numbers& { return twins.keys[i]; }));
  }
  for (size_t i = 0; i < plan_.aggregates.size(); ++i) {
    if (later.states_[i].values == nullptr) continue;
    HAILSTONE_TRY(find_texts(
        workers, *later.states_[i].values,
        [i](const GroupTable& table) -> const ValueSet& { return *table.states_[i].values; },
        [i](Twins& twins) -> Numbers& { return twins.values[i]; }));
  }
  return {};
}

Status GroupMerge::find_texts(const Workers& workers, const ValueSet& of_later,
                              const std::function<const ValueSet&(const GroupTable&)>& of_earlier,
                              const std::function<Numbers&(Twins&)>& found) {
  for (Twins& twins : twins_) found(twins).assign(of_later.size(), 0);
  return in_chunks(workers, of_later.size(), [&](size_t first, size_t last) {
    for (size_t i = 0; i < later_; ++i) {
      of_earlier(*tables_[i])
          .find_all(of_later, static_cast<uint32_t>(first),
                    std::span(found(twins_[i])).subspan(first, last - first));
    }
  });
}

void GroupMerge::find_groups(const GroupTable& earlier, Twins& twins, size_t first, size_t last) const {
  const GroupTable& later = *tables_[later_];
  const size_t columns = plan_.keys.size(), stride = later.stride_;
  if (columns == 0) {
    std::fill(twins.groups.begin() + static_cast<ptrdiff_t>(first),
              twins.groups.begin() + static_cast<ptrdiff_t>(last), 1U);
    return;
  }
  // The keys as the earlier table has them. A group with a text that it has not got is none of its.
  std::vector<uint64_t> keys(later.keys_.begin() + static_cast<ptrdiff_t>(first * stride),
                             later.keys_.begin() + static_cast<ptrdiff_t>(last * stride));
  std::array<bool, chunk> known;
  known.fill(true);
  for (size_t i = 0; i < columns; ++i) {
    if (plan_.keys[i].column.integer) continue;
    for (size_t group = first; group < last; ++group) {
      uint64_t* const key = keys.data() + (group - first) * stride;
      if ((key[columns] >> i & 1) != 0) continue;
      const uint32_t number = twins.keys[i][key[i]];
      known[group - first] = known[group - first] && number != 0;
      key[i] = number - uint64_t{1};
    }
  }
  const auto each_known = [&](const auto& take) {
    for (size_t group = first; group < last; ++group) {
      if (known[group - first])
        take(group, std::span<const uint64_t>(keys).subspan((group - first) * stride, stride));
    }
  };
  each_known([&](size_t group, auto key) { earlier.prefetch_place(key, later.hashes_[group]); });
  if (!earlier.is_of_one_value())
    each_known([&](size_t group, auto) { earlier.prefetch_key(later.hashes_[group]); });
  each_known([&](size_t group, auto key) {
    twins.groups[group] = earlier.find_key(key, later.hashes_[group]);
    if (earlier.counts_rows_) __builtin_prefetch(&earlier.rows_of_[twins.groups[group]], /*rw=*/1);
  });
}

GroupTable* GroupMerge::owner(uint32_t group, uint32_t& there) const {
  for (size_t i = 0; i < later_; ++i) {
    there = twins_[i].groups[group];
    if (there != 0) return tables_[i];
  }
  return nullptr;
}

void GroupMerge::add_up(size_t first, size_t last) {
  GroupTable& later = *tables_[later_];
  for (size_t group = first; group < last; ++group) {
    uint32_t there = 0;
    GroupTable* const to = owner(static_cast<uint32_t>(group), there);
    if (to == nullptr) continue;
    later.gone_[group] = 1;
    to->add_group_of(later, static_cast<uint32_t>(group), there);
  }
}

void GroupMerge::count_new_values(size_t aggregate, std::span<const DistinctSet::Pair> pairs) {
  const GroupTable& later = *tables_[later_];
  const bool texts = later.states_[aggregate].values != nullptr;
  // Those that are surely no twins of an earlier table's stay.
  struct Met {
    uint32_t group = 0;
    uint64_t value = 0;
  };
  const auto met_in = [&](size_t table, const DistinctSet::Pair& pair) -> Met {
    const uint32_t group = twins_[table].groups[pair.group];
    if (group == 0 || !texts) return {group, pair.value};
    const uint32_t number = twins_[table].values[aggregate][pair.value];
    return number == 0 ? Met{} : Met{group, number - uint64_t{1}};
  };
  const auto set_of = [&](size_t table) -> const DistinctSet& {
    return *tables_[table]->states_[aggregate].distinct;
  };
  for (size_t i = 0; i < later_; ++i) {
    for (const DistinctSet::Pair& pair : pairs) {
      if (pair.group == 0) continue;
      if (const Met met = met_in(i, pair); met.group != 0) set_of(i).prefetch(met.group, met.value);
    }
  }
  uint64_t* counted = nullptr;
  uint64_t count = 0;
  const auto add = [&] {
    if (counted != nullptr) std::atomic_ref(*counted).fetch_add(count, std::memory_order_relaxed);
    count = 0;
  };
  for (const DistinctSet::Pair& pair : pairs) {
    if (pair.group == 0) continue;
    uint32_t there = 0;
    GroupTable* const to = owner(pair.group, there);
    if (to == nullptr) continue;
    bool met = false;
    for (size_t i = 0; i < later_ && !met; ++i) {
      const Met pair_there = met_in(i, pair);
      met = pair_there.group != 0 && set_of(i).has(pair_there.group, pair_there.value);
    }
    if (met) continue;
    // Several threads may count values of one group.
    uint64_t* const counts = &to->states_[aggregate].counts[there];
    if (counts != counted) add();
    counted = counts;
    ++count;
  }
  add();
}

}  // namespace hailstone

#include "query/sorted_groups.h"

#include <algorithm>
#include <atomic>

#include "query/group_numbers.h"
#include "query/sort_by_runs.h"
#include "query/value_order.h"
#include "query/work_by_threads.h"

namespace hailstone {

namespace {

using Kind = Aggregate::Kind;

uint64_t head_of_sum(const ScanColumn& column, const AggregateResult& result) {
  const HugeInteger sum = has_integer_sum(column) ? HugeInteger::of(result.integer_sum) : result.huge_sum;
  const int64_t beyond = sum.is_negative() ? INT64_MIN : INT64_MAX;
  return order_signed(sum.has_64_bits() ? sum.narrow() : beyond, sizeof(int64_t));
}

constexpr uint32_t groups_of_piece = uint32_t{1} << 14;
constexpr uint32_t values_between_checks = 256;  // of the host's
/// So many groups that are wanted are kept without files, whatever memory there is.
constexpr size_t few_groups = 1'000;
/// What a copy of a group takes beside its keys and results, about: of its keys' bytes nothing is known.
constexpr size_t bytes_of_copy = 64;

/// A group of a table, as the order sees it.
struct Numbered {
  const GroupTable& table;
  uint32_t group;
  std::span<const Value> host_values;
  Value key(size_t number) const { return table.key(group, number); }
  const Value& host_value(size_t number) const { return host_values[number]; }
  AggregateResult result(size_t number) const { return table.result(group, number); }
};

}  // namespace

bool SortedGroups::heads_are_exact() const {
  if (order_.empty() || order_.front().by != GroupOrder::By::Aggregate) return false;
  const Kind kind = groups_->plan().aggregates[order_.front().number].wanted.kind;
  return kind == Kind::Rows || kind == Kind::Values;
}

/// Of the first column of the order.
uint64_t SortedGroups::head_of_group(const GroupTable& table, uint32_t group, std::string& weights) const {
  if (order_.empty() || order_.front().by == GroupOrder::By::Host) return 0;
  const GroupOrder& by = order_.front();
  uint64_t head = 0;  // NULL's
  const auto take = [&](uint64_t ordered) { head = std::max<uint64_t>(ordered, 1); };
  if (by.by == GroupOrder::By::Key) {
    const ScanColumn& column = groups_->plan().keys[by.number].column;
    const Value value = table.key(group, by.number);
    if (!value.null) take(column.integer ? value.integer : head_of(*column.collation, value.bytes, weights));
    return by.descending ? ~head : head;
  }
  const auto& item = groups_->plan().aggregates[by.number];
  const uint64_t count = table.count(group, by.number);
  switch (item.wanted.kind) {
    case Kind::Rows:
    case Kind::Values:
      head = count;
      break;
    case Kind::Sum:
      if (by.mean || is_real(item.column)) return 0;
      if (count != 0) take(head_of_sum(item.column, table.result(group, by.number)));
      break;
    case Kind::Minimum:
    case Kind::Maximum:
      if (!item.column.integer) return 0;
      if (count != 0) take(Zeros(item.column).one(table.result(group, by.number).integer));
      break;
    default:
      return 0;
  }
  return by.descending ? ~head : head;
}

template <typename Left, typename Right>
int SortedGroups::compare(const Left& left, const Right& right) const {
  const GroupingPlan& plan = groups_->plan();
  for (size_t i = heads_are_exact() ? 1 : 0; i < order_.size(); ++i) {
    const GroupOrder& by = order_[i];
    int order = 0;
    switch (by.by) {
      case GroupOrder::By::Key:
        order = compare_values(plan.keys[by.number].column, left.key(by.number), right.key(by.number));
        break;
      case GroupOrder::By::Aggregate:
        order =
            compare_results(by, plan.aggregates[by.number], left.result(by.number), right.result(by.number));
        break;
      case GroupOrder::By::Host:
        order =
            compare_values(host_.columns[by.number], left.host_value(by.number), right.host_value(by.number));
        break;
    }
    if (order != 0) return by.descending ? -order : order;
  }
  return 0;
}

void SortedGroups::take(Row& row) {
  row.keys.assign(groups_->keys().begin(), groups_->keys().end());
  row.keys.insert(row.keys.end(), host_values_.begin(), host_values_.end());
  row.bytes.clear();
  for (const Value& key : row.keys) row.bytes.insert(row.bytes.end(), key.bytes.begin(), key.bytes.end());
  const char* next = row.bytes.data();
  for (Value& key : row.keys) {
    key.bytes = {next, key.bytes.size()};
    next += key.bytes.size();
  }
  row.results.clear();
  for (size_t i = 0; i < groups_->plan().aggregates.size(); ++i) row.results.push_back(groups_->result(i));
}

/// False: there is no room for the places of all groups, which go to files then.
bool SortedGroups::reserve_places() {
  size_t groups = 0;
  for (uint32_t number = 0; number < groups_->tables(); ++number) groups += groups_->table(number).end();
  // Each thread looks for as many as are wanted.
  const size_t wanted = most_ < groups / groups_->threads() ? most_ * groups_->threads() : groups;
  const size_t bytes = wanted * sizeof(Headed);
  if (!memory_->try_grow(bytes)) {
    if (wanted > few_groups) return false;
    memory_->grow(bytes);
  }
  threads_ = wanted < groups ? groups_->threads() : 1;
  return true;
}

/// Of the groups that it is given, those that are wanted, in any order.
class SortedGroups::FirstPlaces {
 public:
  explicit FirstPlaces(const SortedGroups& all) : all_(all) {}

  /// Of the group numbers from `first` on.
  void take(uint32_t number, uint32_t first, uint32_t last) {
    const GroupTable& table = all_.groups_->table(number);
    const auto before = [this](const Headed& left, const Headed& right) {
      return all_.comes_before(left, right);
    };
    for (uint32_t group = first; group < last; ++group) {
      if (table.is_gone(group)) continue;
      ++looked_at_;
      const Headed place{all_.head_of_group(table, group, weights_), {number, group}};
      // A heap, the last one in front.
      if (places_.size() < all_.most_) {
        places_.push_back(place);
        if (places_.size() == all_.most_) std::make_heap(places_.begin(), places_.end(), before);
      } else if (before(place, places_.front())) {
        std::pop_heap(places_.begin(), places_.end(), before);
        places_.back() = place;
        std::push_heap(places_.begin(), places_.end(), before);
      }
    }
  }
  uint64_t looked_at() const { return looked_at_; }
  std::span<const Headed> places() const { return places_; }

 private:
  const SortedGroups& all_;
  std::vector<Headed> places_;
  uint64_t looked_at_ = 0;
  std::string weights_;
};

bool SortedGroups::comes_before(const Headed& left, const Headed& right) const {
  const auto at = [&](Grouping::Place place) {
    return Numbered{groups_->table(place.table), place.group, {}};
  };
  return left.head != right.head ? left.head < right.head : compare(at(left.place), at(right.place)) < 0;
}

Status SortedGroups::sort_places() {
  const OperatorWork work(counts_, 0);
  struct Piece {
    uint32_t table, first, last;
  };
  std::vector<Piece> pieces;
  for (uint32_t number = 0; number < groups_->tables(); ++number) {
    const uint32_t end = groups_->table(number).end();
    for (uint32_t first = 1; first < end; first += std::min(groups_of_piece, end - first))
      pieces.push_back({number, first, first + std::min(groups_of_piece, end - first)});
  }
  const auto threads = static_cast<unsigned>(std::clamp<size_t>(pieces.size(), 1, threads_));
  std::vector<FirstPlaces> parts(threads, FirstPlaces(*this));
  std::atomic<size_t> next{0};
  const PartWork look = [&](unsigned part, const GoOn& go_on) -> Status {
    for (size_t i = next++; i < pieces.size(); i = next++) {
      HAILSTONE_TRY(go_on());
      parts[part].take(pieces[i].table, pieces[i].first, pieces[i].last);
    }
    return {};
  };
  HAILSTONE_TRY(work_by_threads(groups_->host(), threads, counts_, look));
  uint64_t looked_at = 0;
  for (const FirstPlaces& part : parts) {
    looked_at += part.looked_at();
    places_.insert(places_.end(), part.places().begin(), part.places().end());
  }
  const auto before = [this](const Headed& left, const Headed& right) { return comes_before(left, right); };
  HAILSTONE_TRY(sort_by_runs(places_, before, [this] { return groups_->host().check_interruption(); }));
  if (places_.size() > most_) places_.resize(most_);
  work.add_rows(looked_at, places_.size());
  return {};
}

template <typename Take>
Result<uint64_t> SortedGroups::each_group(const Take& take) {
  host_values_.resize(host_.columns.size());
  uint64_t groups = 0;
  for (bool found = true; found;) {
    if (!host_.columns.empty()) {
      if ((groups + 1) % values_between_checks == 0) HAILSTONE_TRY(groups_->host().check_interruption());
      HAILSTONE_TRY(host_.compute(*groups_, host_values_));
    }
    HAILSTONE_TRY(take());
    ++groups;
    HAILSTONE_ASSIGN(found, groups_->next());
  }
  return groups;
}

Status SortedGroups::copy_first() {
  struct Copied {
    const Row& row;
    size_t keys;
    const Value& key(size_t number) const { return row.keys[number]; }
    const Value& host_value(size_t number) const { return row.keys[keys + number]; }
    const AggregateResult& result(size_t number) const { return row.results[number]; }
  };
  const size_t keys = groups_->plan().keys.size();
  const auto before = [&](const Row& left, const Row& right) {
    return left.head != right.head ? left.head < right.head
                                   : compare(Copied{left, keys}, Copied{right, keys}) < 0;
  };
  size_t taken = 0;
  const auto take_group = [&]() -> Status {
    const GroupTable& table = groups_->table(groups_->place().table);
    const uint32_t group = groups_->place().group;
    const uint64_t head = head_of_group(table, group, weights_);
    const auto comes_before = [&](const Row& row) {
      return head != row.head ? head < row.head
                              : compare(Numbered{table, group, host_values_}, Copied{row, keys}) < 0;
    };
    if (rows_.size() < most_) {
      take(rows_.emplace_back());
      rows_.back().head = head;
      const Row& row = rows_.back();
      taken += sizeof(Row) + row.keys.size() * sizeof(Value) + row.bytes.size() +
               row.results.size() * sizeof(AggregateResult);
      if (taken > memory_->bytes()) memory_->grow(taken - memory_->bytes());
      std::push_heap(rows_.begin(), rows_.end(), before);
    } else if (comes_before(rows_.front())) {
      std::pop_heap(rows_.begin(), rows_.end(), before);
      take(rows_.back());
      rows_.back().head = head;
      std::push_heap(rows_.begin(), rows_.end(), before);
    }
    return {};
  };
  const OperatorWork work(counts_, 0);
  HAILSTONE_ASSIGN(const uint64_t groups, each_group(take_group));
  work.add_rows(groups, rows_.size());
  return sort_by_runs(rows_, before, [this] { return groups_->host().check_interruption(); });
}

/// Memory for copies of those that are wanted. False: there is none for so many, which are sorted as all are.
bool SortedGroups::reserve_copies() {
  if (most_ == all) return false;
  if (most_ <= few_groups) return true;
  const GroupingPlan& plan = groups_->plan();
  const size_t values = plan.keys.size() + host_.columns.size();
  const size_t bytes_of_row =
      sizeof(Row) + bytes_of_copy + values * sizeof(Value) + plan.aggregates.size() * sizeof(AggregateResult);
  return memory_->try_grow(most_ * bytes_of_row);
}

Status SortedGroups::sort_all() {
  memory_.reset();
  sort_.emplace(*groups_, order_, host_.columns, counts_);
  const OperatorWork work(counts_, 0);
  HAILSTONE_ASSIGN(const uint64_t groups, each_group([this] { return sort_->add(host_values_); }));
  work.add_rows(groups, std::min<uint64_t>(groups, most_));
  return sort_->sort();
}

Status SortedGroups::collect() {
  HAILSTONE_ASSIGN(const bool found, groups_->next());
  if (!found) return {};
  const size_t floor = most_ == all ? 0 : groups_->floor(FloorPart::GroupSort);
  memory_.emplace(std::make_unique<MemoryBudget>(groups_->host().budget(), floor), counts_);
  if (groups_->has_all() && host_.columns.empty() && reserve_places()) return sort_places();
  return reserve_copies() ? copy_first() : sort_all();
}

Result<bool> SortedGroups::next() {
  if (collected_) {
    ++place_;
  } else {
    HAILSTONE_TRY(collect());
    collected_ = true;
  }
  if (sort_) return given_++ < most_ ? sort_->next() : Result<bool>(false);
  if (place_ < rows_.size()) return true;
  if (place_ >= places_.size()) return false;
  groups_->go_to(places_[place_].place);
  return true;
}

}  // namespace hailstone

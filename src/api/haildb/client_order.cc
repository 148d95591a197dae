#include "api/haildb/client_order.h"

#include <algorithm>
#include <atomic>
#include <iterator>

namespace hailstone::haildb {
namespace {

std::atomic<ib_client_cmp_t> client_function{nullptr};

constexpr size_t group_bytes = 5;
constexpr uint64_t group_middle = uint64_t{1} << 39;
constexpr uint64_t group_limit = uint64_t{1} << 40;
constexpr uint64_t step = uint64_t{1} << 12;

void append_group(std::string& to, uint64_t number) {
  char bytes[group_bytes];
  store_big_endian(bytes, number, group_bytes);
  to.append(bytes, group_bytes);
}

uint64_t group(ByteView label, size_t at) { return load_big_endian(label.data() + at, group_bytes); }

}  // namespace

int client_compare(const ib_col_meta_t& meta, ByteView a, ByteView b) {
  if (const ib_client_cmp_t function = client_function.load(std::memory_order_acquire)) {
    return function(&meta, reinterpret_cast<const ib_byte_t*>(a.data()), a.size(),
                    reinterpret_cast<const ib_byte_t*>(b.data()), b.size());
  }
  return a.compare(b);
}

void set_client_compare(ib_client_cmp_t function) {
  client_function.store(function, std::memory_order_release);
}

std::string ClientOrder::between(ByteView low, ByteView high) {
  std::string result;
  bool limited = !high.empty();  // by the rest of `high`; else any group will do
  for (size_t at = 0;; at += group_bytes) {
    const bool in_low = at < low.size();
    const bool in_high = limited && at < high.size();
    const uint64_t above = in_high ? group(high, at) : group_limit;
    if (!in_low) {
      // The label begins with `low` and goes on; a label never ends with a group of zero.
      if (above > 1) {
        append_group(result, !in_high ? group_middle : above > 2 * step ? above - step : above / 2);
        return result;
      }
      append_group(result, 0);
      limited = above == 0;
      continue;
    }
    const uint64_t below = group(low, at);
    if (below < above && above - below > 1) {
      append_group(result, below + std::min(step, (above - below) / 2));
      return result;
    }
    append_group(result, below);
    if (below != above) limited = false;
  }
}

bool ClientOrder::add_stored(ByteView value, ByteView label) {
  const MutexLock guard(mutex_);
  const auto [known, added] = labels_.try_emplace(std::string(value), label);
  if (!added) return known->second == label;
  Entry entry{std::string(label), std::string(value)};
  const auto place = order_.lower_bound(entry);
  if (place != order_.end() && place->label == label) return client_compare(meta_, place->value, value) == 0;
  if (place != order_.end() && client_compare(meta_, value, place->value) >= 0) return false;
  if (place != order_.begin() && client_compare(meta_, std::prev(place)->value, value) >= 0) return false;
  order_.insert(place, std::move(entry));
  return true;
}

std::string ClientOrder::label(ByteView value) {
  const MutexLock guard(mutex_);
  const auto known = labels_.find(value);
  if (known != labels_.end()) return known->second;
  const auto place = order_.lower_bound(Probe{value, meta_});
  std::string label;
  if (place != order_.end() && client_compare(meta_, value, place->value) == 0) {
    label = place->label;
  } else {
    label = between(place == order_.begin() ? ByteView() : ByteView(std::prev(place)->label),
                    place == order_.end() ? ByteView() : ByteView(place->label));
    order_.insert(place, Entry{label, std::string(value)});
  }
  labels_.emplace(value, label);
  return label;
}

ClientOrder::Range ClientOrder::find(ByteView value) const {
  const MutexLock guard(mutex_);
  const auto known = labels_.find(value);
  if (known != labels_.end()) return {known->second, {}, true};
  const auto place = order_.lower_bound(Probe{value, meta_});
  if (place != order_.end() && client_compare(meta_, value, place->value) == 0)
    return {place->label, {}, true};
  // Behind all that is less: no label has a zero byte at its end beyond its groups.
  std::string bound = place == order_.begin() ? std::string() : std::prev(place)->label + '\0';
  return {bound, bound, false};
}

}  // namespace hailstone::haildb

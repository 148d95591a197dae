// GroupTable's groups as records and back.
//
// A record is a varint that tells what it is, the keys, and what the keys have: 0, a group: its aggregates
// one after the other, each the count as a varint and, where that is not 0, what else the aggregate needs; 1
// + n, a pair of aggregate n: the value. Keys are a varint of bits that tell NULLs, and those that are not
// NULL: numbers as 8 bytes; bytes as the hash of their weights (8 bytes), their length as a varint,
// themselves. Values of pairs are like keys.
#include "base/bytes.h"
#include "query/group_numbers.h"
#include "query/group_table.h"

namespace hailstone {

namespace {

using Kind = Aggregate::Kind;
constexpr uint64_t kind_of_group = 0;

void append_hashed(std::string& to, const ValueSet& values, uint64_t number) {
  const auto place = static_cast<uint32_t>(number);
  append_number(to, values.hash_of(place));
  append_string(to, values.value(place));
}

bool take_hashed(ByteReader& reader, ValueSet& values, uint64_t& hash, uint64_t& number) {
  ByteView value;
  if (!reader.take(hash) || !reader.take_string(value)) return false;
  number = values.number_of(value, hash);
  return true;
}

}  // namespace

void GroupTable::append_keys(uint32_t group, std::string& to) const {
  if (columns_.empty()) return;
  const uint64_t* const key = keys_.data() + group * stride_;
  const uint64_t nulls = key[columns_.size()];
  append_varint(to, nulls);
  for (size_t i = 0; i < columns_.size(); ++i) {
    if ((nulls >> i & 1) != 0) continue;
    if (columns_[i].integer) {
      append_number(to, key[i]);
    } else {
      append_hashed(to, *columns_[i].values, key[i]);
    }
  }
}

uint32_t GroupTable::take_keys(ByteReader& reader) {
  if (columns_.empty()) return 1;
  uint64_t nulls = 0, hash = 0;
  if (!reader.take_varint(nulls)) return 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    uint64_t of_column = null_hash;
    if ((nulls >> i & 1) != 0) {
      key_[i] = 0;
    } else if (columns_[i].integer) {
      if (!reader.take(key_[i])) return 0;
      of_column = mix_bits(key_[i]);
    } else if (!take_hashed(reader, *columns_[i].values, of_column, key_[i])) {
      return 0;
    }
    hash = i == 0 ? of_column : combine(hash, of_column);
  }
  key_[columns_.size()] = nulls;
  return group_of_key(hash);
}

void GroupTable::append_group(uint32_t group, bool settled, std::string& to) const {
  append_varint(to, kind_of_group);
  append_keys(group, to);
  for (size_t i = 0; i < states_.size(); ++i) {
    const auto& item = plan_->aggregates[i];
    const State& state = states_[i];
    const uint64_t values = item.wanted.distinct && !settled ? 0 : state.counts[group];
    append_varint(to, values);
    if (values == 0) continue;
    switch (item.wanted.kind) {
      case Kind::Rows:
      case Kind::Values:
        break;
      case Kind::Sum:
        if (is_real(item.column)) {
          state.reals.append_to(to, group);
        } else if (is_huge(item.column)) {
          append_number(to, state.huge[group].words);
        } else {
          append_number(to, state.sums[group]);
        }
        break;
      case Kind::Spread:
        state.spreads.append_to(to, group);
        break;
      case Kind::Minimum:
      case Kind::Maximum:
        if (!item.column.integer) {
          append_number(to, state.texts[group].head);
          append_string(to, {state.texts[group].bytes, state.texts[group].size});
          break;
        }
        [[fallthrough]];
      case Kind::BitAnd:
      case Kind::BitOr:
      case Kind::BitXor:
        append_number(to, state.bests[group]);
        break;
    }
  }
}

bool GroupTable::take_states(ByteReader& reader, uint32_t group) {
  for (size_t i = 0; i < states_.size(); ++i) {
    uint64_t values = 0;
    if (!reader.take_varint(values)) return false;
    if (values == 0) continue;
    if (!take_state(reader, i, group)) return false;
    states_[i].counts[group] += values;
  }
  return true;
}

bool GroupTable::take_state(ByteReader& reader, size_t aggregate, uint32_t group) {
  const auto& item = plan_->aggregates[aggregate];
  State& state = states_[aggregate];
  uint64_t number = 0;
  switch (item.wanted.kind) {
    case Kind::Rows:
    case Kind::Values:
      return true;
    case Kind::Sum:
      if (is_real(item.column)) return state.reals.add_from(reader, group);
      if (is_huge(item.column)) {
        HugeInteger sum;
        if (!reader.take(sum.words)) return false;
        state.huge[group] += sum;
      } else {
        WideInteger sum = 0;
        if (!reader.take(sum)) return false;
        state.sums[group] += sum;
      }
      return true;
    case Kind::Spread:
      return state.spreads.add_from(reader, group);
    case Kind::Minimum:
    case Kind::Maximum: {
      if (!reader.take(number)) return false;
      uint64_t* const best = item.column.integer ? &state.bests[group] : nullptr;
      if (best == nullptr) {
        ByteView text;
        if (!reader.take_string(text)) return false;
        add_text(aggregate, group, number, text);
      } else if (item.wanted.kind == Kind::Minimum ? number < *best : number > *best) {
        *best = number;
      }
      return true;
    }
    case Kind::BitAnd:
    case Kind::BitOr:
    case Kind::BitXor: {
      if (!reader.take(number)) return false;
      uint64_t& bits = state.bests[group];
      bits = item.wanted.kind == Kind::BitAnd  ? bits & number
             : item.wanted.kind == Kind::BitOr ? bits | number
                                               : bits ^ number;
      return true;
    }
  }
  return false;
}

void GroupTable::append_pair(uint32_t group, size_t aggregate, uint64_t value, std::string& to) const {
  append_varint(to, 1 + aggregate);
  append_keys(group, to);
  const ValueSet* const values = states_[aggregate].values.get();
  if (values != nullptr) {
    append_hashed(to, *values, value);
  } else {
    append_number(to, value);
  }
}

bool GroupTable::take_pair(ByteReader& reader, size_t aggregate) {
  if (aggregate >= states_.size() || states_[aggregate].distinct == nullptr) return false;
  const uint32_t group = take_keys(reader);
  if (group == 0) return false;
  State& state = states_[aggregate];
  uint64_t number = 0, hash = 0;
  if (!(state.values != nullptr ? take_hashed(reader, *state.values, hash, number) : reader.take(number)))
    return false;
  if (!state.distinct->add(group, number)) return true;
  ++state.counts[group];
  const auto& item = plan_->aggregates[aggregate];
  if (item.wanted.kind != Kind::Sum) return true;
  if (is_real(item.column)) {
    state.reals.add(group, native_real(item.column, number));
  } else if (state.values == nullptr) {
    state.sums[group] += number;
  } else if (const ByteView value = state.values->value(static_cast<uint32_t>(number));
             is_huge(item.column)) {
    state.huge[group] += huge_number(value);
  } else {
    state.sums[group] += wide_number(value);
  }
  return true;
}

bool GroupTable::add_records(ByteView records) {
  ByteReader reader(records);
  while (!reader.empty()) {
    uint64_t kind = 0;
    if (!reader.take_varint(kind)) return false;
    if (kind != kind_of_group) {
      if (!take_pair(reader, static_cast<size_t>(kind - 1))) return false;
      continue;
    }
    const uint32_t group = take_keys(reader);
    if (group == 0 || !take_states(reader, group)) return false;
  }
  return true;
}

}  // namespace hailstone

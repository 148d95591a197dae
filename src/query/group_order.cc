#include "query/group_order.h"

#include "query/group_numbers.h"
#include "query/sort_key.h"
#include "query/value_order.h"

namespace hailstone {

namespace {

using Kind = Aggregate::Kind;

/// sum * 10^digits / count, half away from zero, or cut. A mean has at most 30 digits before those, so that
/// it fits; the sum times 10^digits would not.
WideInteger mean_of(const AggregateResult& of, const GroupOrder::Mean& mean) {
  WideInteger power = 1;
  for (unsigned i = 0; i < mean.digits; ++i) power *= 10;
  const auto count = static_cast<WideInteger>(of.count);
  const WideInteger rest = of.integer_sum % count * power;
  const WideInteger whole = of.integer_sum / count * power + rest / count, left = rest % count;
  if (mean.is_cut || (left < 0 ? -left : left) * 2 < count) return whole;
  return whole + (left < 0 ? -1 : 1);
}

/// The same of more than 128 bits.
HugeInteger huge_mean_of(const AggregateResult& of, const GroupOrder::Mean& mean) {
  const HugeInteger count = HugeInteger::of(static_cast<WideInteger>(of.count));
  const HugeInteger sum = of.huge_sum * power_of_ten(mean.digits);
  return mean.is_cut ? divide(sum, count).quotient : divide_rounded(sum, count);
}

/// Of floating-point numbers.
double real_of(const GroupOrder& by, const AggregateResult& of) {
  return by.mean ? of.real_sum / static_cast<double>(of.count) : of.real_sum;
}
/// Of others, where results have integer_sum; else of the rest.
WideInteger whole_of(const GroupOrder& by, const AggregateResult& of) {
  return by.mean ? mean_of(of, *by.mean) : of.integer_sum;
}
HugeInteger huge_of(const GroupOrder& by, const AggregateResult& of) {
  return by.mean ? huge_mean_of(of, *by.mean) : of.huge_sum;
}

void append_double(double number, std::string& to) {
  // Both zeros are one.
  sort_key::append_number(order_double(number + 0.0), sizeof(double), to);
}

}  // namespace

bool has_integer_sum(const ScanColumn& column) {
  return column.integer ? !is_real(column) && !column.may_be_huge : column.width == sizeof(WideInteger);
}

int compare_results(const GroupOrder& by, const GroupingPlan::Item& item, const AggregateResult& left,
                    const AggregateResult& right) {
  if (item.wanted.kind == Kind::Rows || item.wanted.kind == Kind::Values)
    return compare_numbers(left.count, right.count);
  if (item.wanted.kind >= Kind::BitAnd) return compare_numbers(left.integer, right.integer);
  // Without values it is NULL.
  if (left.count == 0 || right.count == 0) return compare_numbers(left.count != 0, right.count != 0);
  if (item.wanted.kind == Kind::Sum) {
    if (is_real(item.column)) return compare_numbers(real_of(by, left), real_of(by, right));
    if (!has_integer_sum(item.column)) return compare_numbers(huge_of(by, left), huge_of(by, right));
    return compare_numbers(whole_of(by, left), whole_of(by, right));
  }
  if (item.wanted.kind == Kind::Spread) return compare_numbers(left.spread, right.spread);
  if (item.column.integer) {
    const Zeros zeros(item.column);
    return compare_numbers(zeros.one(left.integer), zeros.one(right.integer));
  }
  return item.column.collation->compare(left.bytes, right.bytes);
}

void append_result(const GroupOrder& by, const GroupingPlan::Item& item, const AggregateResult& result,
                   std::string& to) {
  const auto append_word = [&](uint64_t word) { sort_key::append_number(word, sizeof(uint64_t), to); };
  constexpr uint64_t sign = sign_of_width(sizeof(uint64_t));
  if (item.wanted.kind == Kind::Rows || item.wanted.kind == Kind::Values) return append_word(result.count);
  if (item.wanted.kind >= Kind::BitAnd) return append_word(result.integer);
  const bool is_null = result.count == 0;
  const bool is_text =
      item.wanted.kind != Kind::Sum && item.wanted.kind != Kind::Spread && !item.column.integer;
  if (is_text) {
    const Value text = is_null ? Value{} : Value::of(ByteView(result.bytes));
    return sort_key::append_text(*item.column.collation, text, true, ~size_t{0}, to);
  }
  to.push_back(is_null ? sort_key::null_mark : sort_key::value_mark);
  if (is_null) return;
  if (item.wanted.kind == Kind::Spread) return append_double(result.spread, to);
  if (item.wanted.kind != Kind::Sum) return append_word(Zeros(item.column).one(result.integer));
  if (is_real(item.column)) return append_double(real_of(by, result), to);
  if (has_integer_sum(item.column)) {
    const WideInteger sum = whole_of(by, result);
    append_word(static_cast<uint64_t>(sum >> 64) ^ sign);
    return append_word(static_cast<uint64_t>(sum));
  }
  const HugeInteger sum = huge_of(by, result);
  const auto& words = sum.words;
  for (size_t i = words.size(); i-- > 0;) append_word(i + 1 == words.size() ? words[i] ^ sign : words[i]);
}

}  // namespace hailstone

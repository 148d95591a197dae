// The kernels of the table of functions: each fills `call.to` for the rows of a batch.
#pragma once

#include "expression/function.h"

namespace hailstone {

// numbers.cc
void add_numbers(const FunctionCall& call);
void subtract_numbers(const FunctionCall& call);
void multiply_numbers(const FunctionCall& call);
void divide_reals(const FunctionCall& call);
void divide_decimals(const FunctionCall& call);
void divide_integers(const FunctionCall& call);
void take_remainder(const FunctionCall& call);
void check_range(const FunctionCall& call);
void take_as_unsigned(const FunctionCall& call);
void make_real(const FunctionCall& call);

// rounding.cc
void make_absolute(const FunctionCall& call);
void find_sign(const FunctionCall& call);
void round_down(const FunctionCall& call);
void round_up(const FunctionCall& call);
void round_to_nearest(const FunctionCall& call);
void round_to_zero(const FunctionCall& call);
void check_digits(const FunctionCall& call);
void make_whole(const FunctionCall& call);

// bits.cc
void combine_by_and(const FunctionCall& call);
void combine_by_or(const FunctionCall& call);
void combine_by_xor(const FunctionCall& call);
void invert_bits(const FunctionCall& call);
void shift_left(const FunctionCall& call);
void shift_right(const FunctionCall& call);
void count_bits(const FunctionCall& call);

// comparisons.cc
void find_equal(const FunctionCall& call);
void find_different(const FunctionCall& call);
void find_less(const FunctionCall& call);
void find_less_or_equal(const FunctionCall& call);
void find_greater(const FunctionCall& call);
void find_greater_or_equal(const FunctionCall& call);
void find_same_or_null(const FunctionCall& call);
void find_between(const FunctionCall& call);
void test_texts(const FunctionCall& call);

// choices.cc
void find_both(const FunctionCall& call);
void find_either(const FunctionCall& call);
void negate_truth(const FunctionCall& call);
void find_true(const FunctionCall& call);
void find_null(const FunctionCall& call);
void choose(const FunctionCall& call);
void choose_first(const FunctionCall& call);
void take_greatest(const FunctionCall& call);
void take_least(const FunctionCall& call);
void silence(const FunctionCall& call);
void replace_failures(const FunctionCall& call);

// number_function.cc
void apply_number_function(const FunctionCall& call);

// moment_text.cc
void format_moments(const FunctionCall& call);

// texts.cc
void concatenate(const FunctionCall& call);
void concatenate_with(const FunctionCall& call);
void cut_out(const FunctionCall& call);
void cut_from(const FunctionCall& call);
void cut_left(const FunctionCall& call);
void cut_right(const FunctionCall& call);
void make_upper(const FunctionCall& call);
void make_lower(const FunctionCall& call);
void trim_both(const FunctionCall& call);
void trim_left(const FunctionCall& call);
void trim_right(const FunctionCall& call);
void replace_all(const FunctionCall& call);
void count_bytes(const FunctionCall& call);
void count_characters(const FunctionCall& call);
void take_first_bytes(const FunctionCall& call);
void locate(const FunctionCall& call);
void make_hex(const FunctionCall& call);
void apply_to_texts(const FunctionCall& call);

// number_texts.cc
void write_number(const FunctionCall& call);

// paddings.cc
void pad_left(const FunctionCall& call);
void pad_right(const FunctionCall& call);
void repeat_texts(const FunctionCall& call);
void reverse_texts(const FunctionCall& call);

// text_searches.cc
void trim_both_of(const FunctionCall& call);
void trim_left_of(const FunctionCall& call);
void trim_right_of(const FunctionCall& call);
void cut_at_separators(const FunctionCall& call);
void locate_from(const FunctionCall& call);
void find_in_set(const FunctionCall& call);

// text_lists.cc
void compare_order(const FunctionCall& call);
void find_greatest(const FunctionCall& call);
void find_least(const FunctionCall& call);
void find_number_in_list(const FunctionCall& call);
void choose_by_number(const FunctionCall& call);

// digests.cc
void make_md5(const FunctionCall& call);
void make_crc32(const FunctionCall& call);

}  // namespace hailstone

// Functions of texts, of columns that are stored as they are and as codes.
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "expression/evaluator.h"

namespace hailstone {
namespace {

using Texts = std::vector<std::optional<std::string>>;
using Numbers = std::vector<std::optional<int64_t>>;

/// Two columns of texts and one of whole numbers; as codes, the first is one of a dictionary.
class Rows {
 public:
  Rows(const Texts& a, const Texts& b, const Numbers& n, std::shared_ptr<const Dictionary> codes)
      : a_(a), b_(b), vectors_(3) {
    fill(vectors_[0], a_, codes);
    fill(vectors_[1], b_, nullptr);
    for (const auto& number : n) {
      vectors_[2].integers.push_back(order_signed(number.value_or(0), 8));
      vectors_[2].nulls.push_back(number ? 0 : 1);
      vectors_[2].any_nulls |= !number;
    }
    for (const ColumnVector& vector : vectors_) columns_.push_back(&vector);
  }
  RowBatch batch() const { return {.rows = static_cast<uint32_t>(a_.size()), .columns = columns_}; }

 private:
  static void fill(ColumnVector& vector, const Texts& texts, std::shared_ptr<const Dictionary> dictionary) {
    for (const auto& text : texts) {
      vector.nulls.push_back(text ? 0 : 1);
      vector.any_nulls |= !text;
      if (dictionary == nullptr) {
        vector.bytes.push_back(text ? ByteView(*text) : ByteView());
        continue;
      }
      uint32_t code = 0;
      while (text && dictionary->value(code) != *text) ++code;
      vector.codes.push_back(code);
    }
    vector.dictionary = std::move(dictionary);
  }
  const Texts a_, b_;
  std::vector<ColumnVector> vectors_;
  std::vector<const ColumnVector*> columns_;
};

std::shared_ptr<const Dictionary> dictionary_of(const Texts& texts) {
  std::set<ByteView> values;
  for (const auto& text : texts) {
    if (text) values.insert(*text);
  }
  return Dictionary::of(std::vector<ByteView>(values.begin(), values.end()));
}

constexpr ScanColumn text_column{.integer = false, .type = Type::Varchar, .width = 100};
constexpr ScanColumn number_column{.integer = true, .type = Type::Signed, .width = 8};

class TextsTest : public testing::TestWithParam<bool> {
 protected:
  static Expression call(Function function, std::vector<Expression> inputs, uint64_t most_bytes = 0) {
    return Expression::call(function, std::move(inputs),
                            {.collation = &binary_collation(), .most_bytes = most_bytes});
  }
  static Expression text(const char* value) { return Expression::constant(std::string(value)); }
  static Expression number(int64_t value) { return Expression::constant(value); }

  Rows rows(const Texts& a, const Texts& b = {}, const Numbers& n = {}) {
    const auto padded = [&](auto values) {
      values.resize(a.size());
      return values;
    };
    return {a, padded(b), padded(n), GetParam() ? dictionary_of(a) : nullptr};
  }
  Texts texts(Evaluator& evaluator, Program::Register result, const Rows& rows) {
    evaluator.run(rows.batch());
    const Computed& computed = evaluator.result(result);
    Texts all;
    for (uint32_t row = 0; row < rows.batch().rows; ++row) {
      EXPECT_EQ(computed.failure(row), 0) << "row " << row;
      all.push_back(computed.is_null(row) ? std::nullopt : std::optional<std::string>(computed.texts[row]));
    }
    return all;
  }
  Texts texts(const Expression& expression, const Rows& rows) {
    const auto result = program_->add(expression);
    Evaluator evaluator(program_);
    return texts(evaluator, result, rows);
  }
  Numbers numbers(const Expression& expression, const Rows& rows) {
    const auto result = program_->add(expression);
    Evaluator evaluator(program_);
    evaluator.run(rows.batch());
    const Computed& computed = evaluator.result(result);
    Numbers all;
    for (uint32_t row = 0; row < rows.batch().rows; ++row)
      all.push_back(computed.is_null(row) ? std::nullopt : std::optional(computed.integers[row]));
    return all;
  }

  const std::shared_ptr<Program> program_ = std::make_shared<Program>();
  const Expression a_ = Expression::column(0, text_column);
  const Expression b_ = Expression::column(1, text_column);
  const Expression n_ = Expression::column(2, number_column);
};

INSTANTIATE_TEST_SUITE_P(Stored, TextsTest, testing::Bool(),
                         [](const auto& test) { return test.param ? "AsCodes" : "AsTheyAre"; });

TEST_P(TextsTest, AreConcatenated) {
  const Expression both = call(Function::Concat, {a_, text("-"), b_});
  EXPECT_EQ(texts(both, rows({"x", std::nullopt, "", "y"}, {"1", "2", "", std::nullopt})),
            (Texts{"x-1", std::nullopt, "-", std::nullopt}));
  const Expression with = call(Function::ConcatWith, {text(","), a_, b_, a_});
  EXPECT_EQ(texts(with, rows({"x", std::nullopt, ""}, {"1", "2", std::nullopt})), (Texts{"x,1,x", "2", ","}));
  EXPECT_EQ(texts(call(Function::ConcatWith, {a_, b_, b_}), rows({"+", std::nullopt}, {"1", "2"})),
            (Texts{"1+1", std::nullopt}));
}

TEST_P(TextsTest, AreConcatenatedHoweverLongTheyAre) {
  const std::string all = "abcdefghijklmnopqrstuvwxyz";
  Texts a, b, both, three;
  for (size_t first = 0; first <= 20; ++first) {
    for (size_t second = 0; second <= 20; ++second) {
      const bool is_null = (first * 21 + second) % 17 == 5;
      a.push_back(is_null ? std::nullopt : std::optional(all.substr(0, first)));
      b.push_back(all.substr(26 - second));
      both.push_back(is_null ? std::nullopt : std::optional(*a.back() + *b.back()));
      three.push_back(is_null ? std::nullopt : std::optional(*b.back() + "," + *a.back()));
    }
  }
  EXPECT_EQ(texts(call(Function::Concat, {a_, b_}), rows(a, b)), both);
  EXPECT_EQ(texts(call(Function::Concat, {b_, text(","), a_}), rows(a, b)), three);
}

TEST_P(TextsTest, AreCut) {
  const Rows some = rows({"abcdef", "abcdef", "abcdef", "abcdef", "", std::nullopt, "ab"}, {},
                         {2, -2, 0, 9, 1, 1, std::nullopt});
  EXPECT_EQ(texts(call(Function::SubstringFrom, {a_, n_}), some),
            (Texts{"bcdef", "ef", "", "", "", std::nullopt, std::nullopt}));
  EXPECT_EQ(texts(call(Function::Substring, {a_, n_, number(1)}), some),
            (Texts{"b", "e", "", "", "", std::nullopt, std::nullopt}));
  EXPECT_EQ(texts(call(Function::Substring, {a_, number(-7), n_}), some),
            (Texts{"", "", "", "", "", std::nullopt, std::nullopt}));
  EXPECT_EQ(texts(call(Function::Left, {a_, n_}), some),
            (Texts{"ab", "", "", "abcdef", "", std::nullopt, std::nullopt}));
  EXPECT_EQ(texts(call(Function::Right, {a_, n_}), some),
            (Texts{"ef", "", "", "abcdef", "", std::nullopt, std::nullopt}));
  EXPECT_EQ(texts(call(Function::SubstringFrom, {a_, number(int64_t{1} << 32)}), rows({"abc"})), (Texts{""}));
}

TEST_P(TextsTest, LoseSpaces) {
  const Rows some = rows({"  a b ", "   ", "", std::nullopt});
  EXPECT_EQ(texts(call(Function::Trim, {a_}), some), (Texts{"a b", "", "", std::nullopt}));
  EXPECT_EQ(texts(call(Function::TrimLeft, {a_}), some), (Texts{"a b ", "", "", std::nullopt}));
  EXPECT_EQ(texts(call(Function::TrimRight, {a_}), some), (Texts{"  a b", "", "", std::nullopt}));
}

TEST_P(TextsTest, AreReplacedAndLookedFor) {
  const Rows some = rows({"aXbX", "X", "", std::nullopt, "none"});
  EXPECT_EQ(texts(call(Function::Replace, {a_, text("X"), text("yy")}), some),
            (Texts{"ayybyy", "yy", "", std::nullopt, "none"}));
  EXPECT_EQ(texts(call(Function::Replace, {a_, text(""), text("yy")}), some),
            (Texts{"aXbX", "X", "", std::nullopt, "none"}));
  EXPECT_EQ(numbers(call(Function::Locate, {a_, text("X")}), some), (Numbers{2, 1, 0, std::nullopt, 0}));
  EXPECT_EQ(numbers(call(Function::Length, {a_}), some), (Numbers{4, 1, 0, std::nullopt, 4}));
  EXPECT_EQ(texts(call(Function::Hex, {a_}), some), (Texts{"61586258", "58", "", std::nullopt, "6E6F6E65"}));
}

TEST_P(TextsTest, AreComparedAndChosen) {
  const Rows some =
      rows({"b", "B", std::nullopt, "a"}, {"b", "b", "b", std::nullopt}, {1, 0, 1, std::nullopt});
  EXPECT_EQ(numbers(call(Function::Equal, {a_, b_}), some), (Numbers{1, 0, std::nullopt, std::nullopt}));
  EXPECT_EQ(numbers(call(Function::SameOrNull, {a_, b_}), some), (Numbers{1, 0, 0, 0}));
  EXPECT_EQ(numbers(call(Function::Less, {a_, b_}), some), (Numbers{0, 1, std::nullopt, std::nullopt}));
  EXPECT_EQ(numbers(call(Function::Between, {a_, text("a"), text("b")}), some),
            (Numbers{1, 0, std::nullopt, 1}));
  EXPECT_EQ(texts(call(Function::Choose, {n_, a_, text("no")}), some),
            (Texts{"b", "no", std::nullopt, "no"}));
  EXPECT_EQ(texts(call(Function::Coalesce, {a_, b_}), some), (Texts{"b", "B", "b", "a"}));
  EXPECT_EQ(
      numbers(call(Function::IsNull, {call(Function::Coalesce, {a_, Expression::null(ValueKind::Text)})}),
              some),
      (Numbers{0, 0, 1, 0}));
}

TEST_P(TextsTest, AreFilledUp) {
  const Rows some = rows({"abc", "abc", "abc", "abc", "", std::nullopt, "ab"}, {"xy", "xy", "", "", "x", "y"},
                         {6, 2, 3, 4, 2, 1, std::nullopt});
  EXPECT_EQ(texts(call(Function::PadLeft, {a_, n_, b_}), some),
            (Texts{"xyxabc", "ab", "abc", std::nullopt, "xx", std::nullopt, std::nullopt}));
  EXPECT_EQ(texts(call(Function::PadRight, {a_, n_, b_}), some),
            (Texts{"abcxyx", "ab", "abc", std::nullopt, "xx", std::nullopt, std::nullopt}));
  EXPECT_EQ(texts(call(Function::PadRight, {a_, n_, text(" ")}), rows({"a", "a"}, {}, {-1, 0})),
            (Texts{std::nullopt, ""}));
  const Expression repeated = call(Function::Repeat, {a_, n_});
  EXPECT_EQ(texts(repeated, rows({"ab", "ab", "ab", "", std::nullopt, "x"}, {}, {3, 1, -1, INT64_MAX, 2})),
            (Texts{"ababab", "ab", "", "", std::nullopt, std::nullopt}));
  EXPECT_EQ(texts(call(Function::Reverse, {a_}), rows({"abc", "", std::nullopt})),
            (Texts{"cba", "", std::nullopt}));
}

/// The numbers of bytes that are asked for count, not those of the text that comes out.
TEST_P(TextsTest, ThatWouldBeFilledUpTooMuchFail) {
  const auto padded = program_->add(call(Function::PadRight, {a_, n_, b_}, 40));
  const auto repeated = program_->add(call(Function::Repeat, {a_, n_}, 40));
  Evaluator evaluator(program_);
  const Rows some =
      rows({"abcd", "abcd", "abcd", "", "abcd"}, {"", "x", "x", "x", "x"}, {11, 11, 10, 9, INT64_MAX});
  evaluator.run(some.batch());
  for (const uint32_t row : {0U, 1U, 4U})
    EXPECT_EQ(evaluator.result(padded).failure(row), unknown_value) << row;
  for (const uint32_t row : {0U, 1U, 4U})
    EXPECT_EQ(evaluator.result(repeated).failure(row), unknown_value) << row;
  EXPECT_EQ(evaluator.result(padded).texts[2], "abcdxxxxxx");
  EXPECT_EQ(evaluator.result(repeated).texts[2], "abcdabcdabcdabcdabcdabcdabcdabcdabcdabcd");
  EXPECT_EQ(evaluator.result(padded).texts[3], "xxxxxxxxx");
  EXPECT_EQ(evaluator.result(repeated).texts[3], "");
}

TEST_P(TextsTest, LosePieces) {
  const Rows some = rows({"ababxab", "abab", "aba", "", std::nullopt, "x"}, {"ab", "ab", "", "ab", "ab"});
  EXPECT_EQ(texts(call(Function::TrimOf, {a_, b_}), some),
            (Texts{"x", "", "aba", "", std::nullopt, std::nullopt}));
  EXPECT_EQ(texts(call(Function::TrimLeftOf, {a_, b_}), some),
            (Texts{"xab", "", "aba", "", std::nullopt, std::nullopt}));
  EXPECT_EQ(texts(call(Function::TrimRightOf, {a_, b_}), some),
            (Texts{"ababx", "", "aba", "", std::nullopt, std::nullopt}));
}

TEST_P(TextsTest, AreCutAtSeparators) {
  const Rows some = rows({"a,b,c", "a,b,c", "a,b,c", "a,b,c", "aaaa", "aaaaa", "", std::nullopt}, {},
                         {1, -2, 3, -3, 1, int64_t{1} << 32, 1, 1});
  EXPECT_EQ(texts(call(Function::AtSeparators, {a_, text(","), n_}), some),
            (Texts{"a", "b,c", "a,b,c", "a,b,c", "aaaa", "", "", std::nullopt}));
  EXPECT_EQ(texts(call(Function::AtSeparators, {a_, text("aa"), n_}),
                  rows({"aaaaa", "aaaaa", "aaaaa"}, {}, {2, -1, -2})),
            (Texts{"aa", "", "aa"}));
  EXPECT_EQ(texts(call(Function::AtSeparators, {a_, text(""), number(1)}), rows({"abc"})), (Texts{""}));
}

TEST_P(TextsTest, AreLookedForBehindAPlace) {
  const Rows some = rows({"abab", "abab", "abab", "abab", "abab", std::nullopt, "abab"},
                         {"ab", "ab", "ab", "", "ab", "ab"}, {1, 2, 4, 4, -1, 1, 1});
  EXPECT_EQ(numbers(call(Function::LocateFrom, {a_, b_, n_}), some),
            (Numbers{1, 3, 0, 4, 0, std::nullopt, std::nullopt}));
  EXPECT_EQ(numbers(call(Function::InSet, {a_, text("a,bc,,d,")}),
                    rows({"bc", "", "d", "b", std::nullopt, "a,bc"})),
            (Numbers{2, 3, 4, 0, std::nullopt, 0}));
  EXPECT_EQ(numbers(call(Function::InSet, {a_, text("a,")}), rows({"", "x"})), (Numbers{2, 0}));
  EXPECT_EQ(numbers(call(Function::InSet, {a_, text("")}), rows({"", "x"})), (Numbers{0, 0}));
  EXPECT_EQ(numbers(call(Function::FirstByte, {a_}), rows({"\xff\x01", "a", "", std::nullopt})),
            (Numbers{255, 97, 0, std::nullopt}));
}

TEST_P(TextsTest, AreOneOfSeveral) {
  const Rows some =
      rows({"b", "a", std::nullopt, "c"}, {"a", "b", "a", std::nullopt}, {1, 2, 3, std::nullopt});
  EXPECT_EQ(numbers(call(Function::TextOrder, {a_, b_}), some), (Numbers{1, -1, std::nullopt, std::nullopt}));
  EXPECT_EQ(texts(call(Function::GreatestText, {a_, b_, text("aa")}), some),
            (Texts{"b", "b", std::nullopt, std::nullopt}));
  EXPECT_EQ(texts(call(Function::LeastText, {a_, b_, text("aa")}), some),
            (Texts{"a", "a", std::nullopt, std::nullopt}));
  EXPECT_EQ(numbers(call(Function::InList, {a_, b_, text("b"), text("b")}), some), (Numbers{2, 0, 0, 0}));
  EXPECT_EQ(texts(call(Function::Numbered, {n_, a_, b_}), some),
            (Texts{"b", "b", std::nullopt, std::nullopt}));
  EXPECT_EQ(texts(call(Function::Numbered, {number((int64_t{1} << 32) + 1), a_}), rows({"x"})), (Texts{"x"}));
}

/// A failure in what ELT does not take is none.
TEST_P(TextsTest, FailOnlyWhereTheyAreTaken) {
  const Expression part = call(
      Function::Left, {a_, Expression::call(Function::IntegerDivide, {number(4), n_}, {.tells_zero = true})});
  const auto by_number =
      program_->add(call(Function::Numbered, {call(Function::Add, {n_, number(1)}), text("no"), part}));
  Evaluator evaluator(program_);
  const Rows some = rows({"abcdef", "abcdef"}, {}, {0, 1});
  evaluator.run(some.batch());
  EXPECT_EQ(evaluator.result(by_number).failure(0), 0);
  EXPECT_EQ(evaluator.result(by_number).texts[0], "no");
  EXPECT_EQ(evaluator.result(by_number).failure(1), 0);
  EXPECT_EQ(evaluator.result(by_number).texts[1], "abcd");
}

TEST_P(TextsTest, HaveDigests) {
  const Rows some = rows({"a", "", std::nullopt});
  EXPECT_EQ(texts(call(Function::Md5, {a_}), some),
            (Texts{"0cc175b9c0f1b6a831c399e269772661", "d41d8cd98f00b204e9800998ecf8427e", std::nullopt}));
  EXPECT_EQ(numbers(call(Function::Crc32, {a_}), some), (Numbers{0xE8B7BE43, 0, std::nullopt}));
}

TEST_P(TextsTest, AreMadeOfWholeNumbers) {
  EXPECT_EQ(texts(call(Function::Concat, {call(Function::NumberText, {n_}), a_}),
                  rows({"x", "y", "z"}, {}, {INT64_MIN, 0, std::nullopt})),
            (Texts{"-9223372036854775808x", "0y", std::nullopt}));
}

TEST_P(TextsTest, AreMadeOfDecimals) {
  const Expression of_two = Expression::call(Function::NumberText, {n_}, {.digits = 2});
  EXPECT_EQ(texts(of_two, rows({"", "", "", "", "", ""}, {}, {1250, -5, 0, 100, INT64_MIN, std::nullopt})),
            (Texts{"12.50", "-0.05", "0.00", "1.00", "-92233720368547758.08", std::nullopt}));
}

/// What a batch has must not be taken for what the next one has.
TEST_P(TextsTest, AreThoseOfTheirBatch) {
  const Expression first = call(Function::Concat, {call(Function::Left, {a_, number(1)}), text("!")});
  const auto both = program_->add(call(Function::Concat, {first, b_, call(Function::NumberText, {n_})}));
  Evaluator evaluator(program_);
  EXPECT_EQ(texts(evaluator, both, rows({"ab", "cd", std::nullopt}, {"1", std::nullopt, "3"}, {7, 8, 9})),
            (Texts{"a!17", std::nullopt, std::nullopt}));
  EXPECT_EQ(
      texts(evaluator, both, rows({"xy", "zz", "ab", "q"}, {"1", "2", "3", "4"}, {7, 8, 9, std::nullopt})),
      (Texts{"x!17", "z!28", "a!39", std::nullopt}));
  EXPECT_EQ(texts(evaluator, program_->add(first), rows({std::nullopt, "cd"}, {"1", "2"}, {1, 2})),
            (Texts{std::nullopt, "c!"}));
}

TEST_P(TextsTest, ThatAreTooLongFail) {
  const auto twice = program_->add(call(Function::Concat, {a_, a_}, 6));
  EXPECT_TRUE(program_->may_fail());
  Evaluator evaluator(program_);
  const Rows some = rows({"abc", "abcd", std::nullopt, ""});
  evaluator.run(some.batch());
  const Computed& computed = evaluator.result(twice);
  EXPECT_EQ(computed.texts[0], "abcabc");
  EXPECT_EQ(computed.failure(0), 0);
  EXPECT_EQ(computed.failure(1), unknown_value);
  EXPECT_EQ(computed.failure(2), 0);
  EXPECT_TRUE(computed.is_null(2));
  EXPECT_EQ(computed.failure(3), 0);
}

/// Whatever failed in an argument, the server is to be asked of the text.
TEST_P(TextsTest, OfWhatHasFailedAreUnknown) {
  const Expression quotient =
      Expression::call(Function::IntegerDivide, {number(4), n_}, {.tells_zero = true});
  const auto part = program_->add(call(Function::Left, {a_, quotient}));
  Evaluator evaluator(program_);
  const Rows some = rows({"abcdef", "abcdef", std::nullopt}, {}, {2, 0, 0});
  evaluator.run(some.batch());
  const Computed& computed = evaluator.result(part);
  EXPECT_EQ(computed.failure(0), 0);
  EXPECT_EQ(computed.texts[0], "ab");
  EXPECT_EQ(computed.failure(1), unknown_value);
  EXPECT_EQ(computed.failure(2), unknown_value);
}

/// Asked once a value, however often it is there.
class CountingTest final : public BytesTest {
 public:
  bool matches(ByteView value) const override {
    ++asked;
    return value == "ab!";
  }
  mutable size_t asked = 0;
};

TEST_P(TextsTest, AreTestedOnceACode) {
  const auto test = std::make_shared<CountingTest>();
  const auto passes = program_->add(
      Expression::call(Function::Passes, {call(Function::Concat, {a_, text("!")})}, {.test = test}));
  const Rows some = rows({"ab", "c", "ab", "ab", std::nullopt, "c"});
  Evaluator evaluator(program_, {passes});
  for (int batch = 1; batch <= 2; ++batch) {
    evaluator.run(some.batch());
    const Computed& computed = evaluator.result(passes);
    for (const uint32_t row : {0U, 2U, 3U}) EXPECT_EQ(computed.integers[row], 1);
    for (const uint32_t row : {1U, 5U}) EXPECT_EQ(computed.integers[row], 0);
    EXPECT_TRUE(computed.is_null(4));
  }
  EXPECT_EQ(test->asked, GetParam() ? 2U : 10U);
}

/// What an application makes of texts: the second half of each; of some it does not know.
class Halves final : public TextFunction {
 public:
  void of_all(const FunctionCall& call) const override {
    for (uint32_t row = 0; row < call.rows; ++row) {
      const ByteView text = call.input(0).texts[row];
      call.to.texts[row] = text.substr(text.size() / 2);
      if (text == "?") call.to.add_failure(row, call.rows, unknown_value);
    }
  }
};

TEST_P(TextsTest, AreMadeByTheApplication) {
  const auto half =
      program_->add(Expression::call(Function::PatternPart, {a_}, {.of_texts = std::make_shared<Halves>()}));
  EXPECT_TRUE(program_->may_fail());
  Evaluator evaluator(program_);
  const Rows some = rows({"abcd", "?", std::nullopt, "abcd"});
  evaluator.run(some.batch());
  const Computed& computed = evaluator.result(half);
  EXPECT_EQ(computed.texts[0], "cd");
  EXPECT_EQ(computed.texts[3], "cd");
  EXPECT_EQ(computed.failure(0), 0);
  EXPECT_EQ(computed.failure(1), unknown_value);
  EXPECT_TRUE(computed.is_null(2));
}

}  // namespace
}  // namespace hailstone

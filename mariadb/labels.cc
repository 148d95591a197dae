#include "labels.h"

#include <string>
#include <utility>
#include <vector>

#include "server/differences.h"

namespace hailstone {

namespace {

using Words = std::vector<std::string>;

/// 0 stands for a value outside the list, as 'x' for ENUM('a','b').
class WordsOfEnum final : public TextFunction {
 public:
  explicit WordsOfEnum(Words words) : words_(std::move(words)) {}

  void of_all(const FunctionCall& call) const override {
    const int64_t* const numbers = call.input(0).integers.data();
    for (uint32_t row = 0; row < call.rows; ++row) {
      const auto number = static_cast<uint64_t>(numbers[row]);
      call.to.texts[row] = number == 0 || number > words_.size() ? ByteView() : ByteView(words_[number - 1]);
    }
  }

 private:
  const Words words_;
};

/// A bit stands for each word.
class WordsOfSet final : public TextFunction {
 public:
  explicit WordsOfSet(Words words) : words_(std::move(words)) {}

  void of_all(const FunctionCall& call) const override {
    const int64_t* const numbers = call.input(0).integers.data();
    for (uint32_t row = 0; row < call.rows; ++row) {
      const auto bits = static_cast<uint64_t>(numbers[row]);
      call.to.texts[row] = {};
      if (call.to.is_null(row)) continue;
      uint64_t length = 0;
      each_word(bits, [&](ByteView word, bool is_first) { length += word.size() + (is_first ? 0 : 1); });
      char* at = call.text(row, length);
      if (at == nullptr) continue;
      call.to.texts[row] = ByteView(at, length);
      each_word(bits, [&](ByteView word, bool is_first) {
        if (!is_first) *at++ = ',';
        at += word.copy(at, word.size());
      });
    }
  }

 private:
  template <typename Take>
  void each_word(uint64_t bits, Take&& take) const {
    bool is_first = true;
    for (size_t i = 0; i < words_.size(); ++i) {
      if ((bits >> i & 1) == 0) continue;
      take(words_[i], is_first);
      is_first = false;
    }
  }
  const Words words_;
};

}  // namespace

std::shared_ptr<const TextFunction> words_of_column(PlainField field) {
  const auto type = field->real_type();
  if (type != MYSQL_TYPE_ENUM && type != MYSQL_TYPE_SET) return nullptr;
  const TYPELIB& known = words_of(static_cast<const Field_enum&>(*field));
  Words words;
  for (uint i = 0; i < known.count; ++i) words.emplace_back(known.type_names[i], known.type_lengths[i]);
  if (type == MYSQL_TYPE_ENUM) return std::make_shared<WordsOfEnum>(std::move(words));
  return std::make_shared<WordsOfSet>(std::move(words));
}

}  // namespace hailstone

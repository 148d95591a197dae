#include "documents.h"

#include <algorithm>
#include <array>
#include <utility>

#include "text_charsets.h"
// clang-format off
#include <json_lib.h>
// clang-format on

namespace hailstone {

namespace {

enum class Found : uint8_t { Value, Nothing, Unknown };

const uchar* first_of(ByteView text) { return reinterpret_cast<const uchar*>(text.data()); }
const uchar* end_of(ByteView text) { return first_of(text) + text.size(); }

/// `find`: appends to a text what there is of a row's document.
template <typename Find>
void find_in_documents(const FunctionCall& call, const Find& find) {
  std::string made;
  for (uint32_t row = 0; row < call.rows; ++row) {
    call.to.texts[row] = {};
    if (call.to.is_null(row) || call.to.failure(row) != 0) continue;
    made.clear();
    switch (find(call.input(0).texts[row], made)) {
      case Found::Value:
        if (char* const to = call.text(row, made.size()); to != nullptr) {
          std::ranges::copy(made, to);
          call.to.texts[row] = {to, made.size()};
        }
        break;
      case Found::Nothing:
        call.to.set_null(row, call.rows);
        break;
      case Found::Unknown:
        call.to.add_failure(row, call.rows, unknown_value);
        break;
    }
  }
}

/// Whether a path has no other steps. Wildcards name several values, and places from the end need a count.
bool names_keys_and_places(const json_path_t& path) {
  constexpr unsigned others =
      JSON_PATH_WILD | JSON_PATH_DOUBLE_WILD | JSON_PATH_ARRAY_RANGE | JSON_PATH_NEGATIVE_INDEX;
  return (static_cast<unsigned>(path.types_used) & others) == 0;
}

/// Whether the value at a place of a document is what such a path names. json_path_compare() would do, but
/// needs a connection. The first step of both is the document itself.
bool names(const json_path_t& path, const json_path_t& place, bool is_array) {
  const json_path_step_t* there = place.steps + 1;
  for (const json_path_step_t* step = path.steps + 1; step <= path.last_step; ++step) {
    const bool is_there = there <= place.last_step;
    if (step->type == JSON_PATH_KEY) {
      // By their bytes: escapes are not undone.
      if (!is_there || there->type != JSON_PATH_KEY ||
          !std::equal(step->key, step->key_end, there->key, there->key_end))
        return false;
      ++there;
    } else if (is_there && there->type == JSON_PATH_ARRAY) {
      if (there->n_item != step->n_item) return false;
      ++there;
    } else if (step->n_item != 0 || (!is_there && is_array)) {
      // What is not an array stands for one that has it alone.
      return false;
    }
  }
  return there > place.last_step;
}

/// Of the string that was read, without its quotes. Unknown: the character set lacks one of its characters.
Found append_unescaped(const json_engine_t& engine, CHARSET_INFO* charset, std::string& to) {
  const auto length = static_cast<size_t>(engine.value_len);
  to.resize(length * charset->mbmaxlen);
  auto* const first = reinterpret_cast<uchar*>(to.data());
  const int used =
      json_unescape(engine.s.cs, engine.value, engine.value + length, charset, first, first + to.size());
  if (used < 0) return Found::Unknown;
  to.resize(static_cast<size_t>(used));
  return Found::Value;
}

/// The first scalar that is not NULL, among all places that a path names.
class ValueOfDocuments final : public TextFunction {
 public:
  ValueOfDocuments(CHARSET_INFO* charset, const DocumentPath& path) : charset_(charset), text_(path.text) {
    // Wildcards are an error of the server's. What is counted from the end it finds once for all rows.
    is_plain_ = json_path_setup(&path_, path.charset, first_of(text_), end_of(text_)) == 0 &&
                names_keys_and_places(path_);
  }
  bool is_plain() const { return is_plain_; }

  void of_all(const FunctionCall& call) const override {
    json_path_t path = path_;
    path.last_step = path.steps + (path_.last_step - path_.steps);
    find_in_documents(call, [&](ByteView document, std::string& made) { return find(path, document, made); });
  }

 private:
  /// A document that is none is NULL, without a warning, unless the value comes before it breaks off.
  Found find(json_path_t& path, ByteView document, std::string& to) const {
    json_engine_t engine;
    json_scan_start(&engine, charset_, first_of(document), end_of(document));
    std::array<int, JSON_DEPTH_LIMIT> counters{};
    json_path_step_t* step = path.steps;
    for (;;) {
      if (json_find_path(&engine, &path, &step, counters.data()) != 0 || json_read_value(&engine) != 0 ||
          engine.value_type == JSON_VALUE_NULL)
        return Found::Nothing;
      if (json_value_scalar(&engine)) break;
      if (json_skip_level(&engine) != 0 || json_scan_next(&engine) != 0) return Found::Nothing;
    }
    if (engine.value_type == JSON_VALUE_TRUE || engine.value_type == JSON_VALUE_FALSE) {
      to.push_back(engine.value_type == JSON_VALUE_TRUE ? '1' : '0');
      return Found::Value;
    }
    return append_unescaped(engine, charset_, to);
  }

  CHARSET_INFO* const charset_;
  const std::string text_;
  json_path_t path_;
  bool is_plain_ = false;
};

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }
bool is_number_byte(char byte) { return byte == '-' || is_digit(byte); }

/// The array or object that begins at `from`, with a space behind each comma and colon, and no others; its
/// strings as they are. Returns how deep it is.
unsigned append_spaced(const char* from, const char* end, std::string& to) {
  unsigned depth = 0, deepest = 0;
  bool in_string = false;
  for (; from != end; ++from) {
    const char byte = *from;
    if (in_string) {
      to.push_back(byte);
      if (byte == '\\' && from + 1 != end) to.push_back(*++from);
      in_string = byte != '"';
      continue;
    }
    switch (byte) {
      case ' ':
      case '\t':
      case '\r':
      case '\n':
        break;
      case ',':
      case ':':
        to.push_back(byte);
        to.push_back(' ');
        break;
      case '[':
      case '{':
        to.push_back(byte);
        deepest = std::max(deepest, ++depth);
        break;
      case ']':
      case '}':
        to.push_back(byte);
        if (--depth == 0) return deepest;
        break;
      default:
        to.push_back(byte);
        in_string = byte == '"';
    }
  }
  return deepest;
}

/// All values that paths name, in the order of the document, or the only one.
class PartsOfDocuments final : public TextFunction {
 public:
  PartsOfDocuments(CHARSET_INFO* charset, std::vector<DocumentPath> paths)
      : charset_(charset), texts_(std::move(paths)), paths_(texts_.size()) {
    for (size_t i = 0; i < paths_.size(); ++i) {
      const ByteView text = texts_[i].text;
      json_path_t& path = paths_[i];
      // As keys are compared by their bytes, they are to be those of the documents.
      is_plain_ &= text.find('\\') == ByteView::npos &&
                   (is_ascii(text) || my_charset_same(texts_[i].charset, charset_)) &&
                   is_plain_charset(*texts_[i].charset) &&
                   json_path_setup(&path, texts_[i].charset, first_of(text), end_of(text)) == 0 &&
                   path.mode_strict == 0 && names_keys_and_places(path);
    }
  }
  bool is_plain() const { return is_plain_; }

  void of_all(const FunctionCall& call) const override {
    find_in_documents(call, [&](ByteView document, std::string& made) { return find(document, made); });
  }

 private:
  Found find(ByteView document, std::string& to) const {
    json_engine_t engine;
    json_path_t place;
    json_get_path_start(&engine, charset_, first_of(document), end_of(document), &place);
    const bool is_list = paths_.size() > 1;
    bool any = false, is_done = false;
    unsigned depth = 0;
    while (!is_done && json_get_path_next(&engine, &place) == 0) {
      for (const json_path_t& path : paths_) {
        if (!names(path, place, engine.value_type == JSON_VALUE_ARRAY)) continue;
        if (is_list) to += any ? ", " : "[";
        any = true;
        depth = std::max(depth, append_value(engine, end_of(document), to));
        is_done = !is_list;
        if (is_done) break;
      }
    }
    // What follows may be no JSON: of that the server warns.
    while (is_done && json_scan_next(&engine) == 0) {
    }
    if (engine.s.error != 0) return Found::Unknown;
    if (!any) return Found::Nothing;
    // The server reads what it found once more: a list is deeper, and a number that ends in its exponent is
    // none.
    constexpr unsigned deepest_in_list = JSON_DEPTH_LIMIT - 3;
    const bool is_cut_number = !is_list && is_number_byte(to.front()) && !is_digit(to.back());
    if (is_cut_number || (is_list && depth > deepest_in_list)) return Found::Unknown;
    if (is_list) to.push_back(']');
    return Found::Value;
  }

  /// Returns how deep it is.
  static unsigned append_value(const json_engine_t& engine, const uchar* end, std::string& to) {
    const auto* const from = reinterpret_cast<const char*>(engine.value_begin);
    if (!json_value_scalar(&engine)) return append_spaced(from, reinterpret_cast<const char*>(end), to);
    to.append(from, reinterpret_cast<const char*>(engine.value_end));
    return 0;
  }

  CHARSET_INFO* const charset_;
  const std::vector<DocumentPath> texts_;  // which the paths read
  std::vector<json_path_t> paths_;
  bool is_plain_ = true;
};

/// A string of JSON without its quotes; other JSON as it is.
class UnquotedTexts final : public TextFunction {
 public:
  UnquotedTexts(CHARSET_INFO* from, CHARSET_INFO* to) : from_(from), to_(to) {}

  void of_all(const FunctionCall& call) const override {
    find_in_documents(call, [&](ByteView text, std::string& made) { return find(text, made); });
  }

 private:
  Found find(ByteView text, std::string& to) const {
    json_engine_t engine;
    json_scan_start(&engine, from_, first_of(text), end_of(text));
    if (json_read_value(&engine) != 0) return Found::Unknown;
    if (engine.value_type == JSON_VALUE_STRING) return append_unescaped(engine, to_, to);
    if (!are_same_bytes(*from_, *to_) && !is_ascii(text)) return Found::Unknown;
    to = text;
    return Found::Value;
  }

  CHARSET_INFO *const from_, *const to_;
};

template <typename Function>
std::shared_ptr<const TextFunction> plain_or_null(std::shared_ptr<const Function> function) {
  return function->is_plain() ? function : nullptr;
}

}  // namespace

std::shared_ptr<const TextFunction> value_of_documents(CHARSET_INFO* charset, const DocumentPath& path) {
  return plain_or_null(std::make_shared<const ValueOfDocuments>(charset, path));
}

std::shared_ptr<const TextFunction> parts_of_documents(CHARSET_INFO* charset,
                                                       std::vector<DocumentPath> paths) {
  return plain_or_null(std::make_shared<const PartsOfDocuments>(charset, std::move(paths)));
}

std::shared_ptr<const TextFunction> unquoted_texts(CHARSET_INFO* from, CHARSET_INFO* to) {
  return std::make_shared<const UnquotedTexts>(from, to);
}

}  // namespace hailstone

#include "documents.h"

#include <algorithm>
#include <array>
// clang-format off
#include <json_lib.h>
// clang-format on

namespace hailstone {

namespace {

const uchar* first_of(ByteView text) { return reinterpret_cast<const uchar*>(text.data()); }
const uchar* end_of(ByteView text) { return first_of(text) + text.size(); }

/// The first scalar that is not NULL, among all places that a path names.
class ValueOfDocuments final : public TextFunction {
 public:
  ValueOfDocuments(CHARSET_INFO* charset, const std::string& path, CHARSET_INFO* charset_of_path)
      : charset_(charset), text_(path) {
    // Wildcards are an error of the server's. What is counted from the end it finds once for all rows.
    constexpr unsigned others =
        JSON_PATH_WILD | JSON_PATH_DOUBLE_WILD | JSON_PATH_ARRAY_RANGE | JSON_PATH_NEGATIVE_INDEX;
    is_plain_ = json_path_setup(&path_, charset_of_path, first_of(text_), end_of(text_)) == 0 &&
                (static_cast<unsigned>(path_.types_used) & others) == 0;
  }
  bool is_plain() const { return is_plain_; }

  void of_all(const FunctionCall& call) const override {
    json_path_t path = path_;
    path.last_step = path.steps + (path_.last_step - path_.steps);
    std::string made;
    for (uint32_t row = 0; row < call.rows; ++row) {
      call.to.texts[row] = {};
      if (call.to.is_null(row) || call.to.failure(row) != 0) continue;
      made.clear();
      switch (find(path, call.input(0).texts[row], made)) {
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

 private:
  enum class Found : uint8_t { Value, Nothing, Unknown };

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
    const auto length = static_cast<size_t>(engine.value_len);
    to.resize(length * charset_->mbmaxlen);
    auto* const first = reinterpret_cast<uchar*>(to.data());
    const int used =
        json_unescape(engine.s.cs, engine.value, engine.value + length, charset_, first, first + to.size());
    if (used < 0) return Found::Unknown;
    to.resize(static_cast<size_t>(used));
    return Found::Value;
  }

  CHARSET_INFO* const charset_;
  const std::string text_;
  json_path_t path_;
  bool is_plain_ = false;
};

}  // namespace

std::shared_ptr<const TextFunction> value_of_documents(CHARSET_INFO* charset, const std::string& path,
                                                       CHARSET_INFO* charset_of_path) {
  auto function = std::make_shared<const ValueOfDocuments>(charset, path, charset_of_path);
  return function->is_plain() ? function : nullptr;
}

}  // namespace hailstone

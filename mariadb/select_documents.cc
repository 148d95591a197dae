// JSON in expressions: what documents have at constant paths, and JSON texts without their quotes.
#include <array>
#include <typeinfo>
#include <utility>
#include <vector>

#include "collation.h"
#include "documents.h"
#include "item_parts.h"
#include "select_expressions.h"
#include "text_charsets.h"
// clang-format off
#include <item_jsonfunc.h>
// clang-format on

namespace hailstone {

std::optional<Expression> ExpressionTranslator::of_document(Item_func& function) {
  const std::type_info& type = typeid(function);
  Item& document = *function.arguments()[0];
  // A column of documents is one of texts.
  const bool is_column = document.real_item()->type() == Item::FIELD_ITEM;
  if (!is_column && !is_plain_text(document) && !is_json_extract(document)) return std::nullopt;
  CHARSET_INFO* const charset = document.collation.collation;
  std::vector<DocumentPath> paths;
  for (uint i = 1; i < function.argument_count(); ++i) {
    Item& path = *function.arguments()[i];
    if (!is_plain_text(path) || !is_plain_constant(path)) return std::nullopt;
    String buffer;
    const String* const text = path.val_str(&buffer);
    if (text == nullptr || path.null_value) return std::nullopt;
    paths.push_back({.text = std::string(text->ptr(), text->length()), .charset = text->charset()});
  }
  Function called = Function::PartOfDocument;
  std::shared_ptr<const TextFunction> of_texts;
  if (type == typeid(Item_func_json_value)) {
    called = Function::OfDocument;
    of_texts = value_of_documents(charset, paths.front());
  } else if (!is_plain_charset(*charset)) {
    return std::nullopt;
  } else if (type == typeid(Item_func_json_unquote)) {
    of_texts = unquoted_texts(charset, function.collation.collation);
  } else {
    of_texts = parts_of_documents(charset, std::move(paths));
  }
  if (of_texts == nullptr) return std::nullopt;
  const auto input = translate_text(document, *charset);
  return input ? std::optional(document_call(called, *input, std::move(of_texts))) : std::nullopt;
}

Expression ExpressionTranslator::document_call(Function called, const Expression& input,
                                               std::shared_ptr<const TextFunction> of_texts) const {
  return Expression::call(
      called, {input},
      {.most_bytes = columns_.sources().thd().variables.max_allowed_packet, .of_texts = std::move(of_texts)});
}

/// The server compares a string of the document without its quotes.
std::optional<Expression> ExpressionTranslator::document_comparison(Item_func& function, Function called) {
  Item& first = *function.arguments()[0];
  Item& second = *function.arguments()[1];
  const bool is_first = is_json_extract(first);
  Item& document = is_first ? first : second;
  Item& other = is_first ? second : first;
  // A text that is less or not than no value at all is one to the server (differences.md).
  const bool has_order =
      called != Function::Equal && called != Function::NotEqual && called != Function::SameOrNull;
  if (is_json_extract(other) || (!is_first && has_order) || !is_text_or_null(&other)) return std::nullopt;
  CHARSET_INFO* const charset = static_cast<Item_bool_func&>(function).compare_collation();
  if (charset == nullptr || !is_plain_charset(*charset) ||
      !my_charset_same(document.collation.collation, charset))
    return std::nullopt;
  const Collation* const collation = collation_of(*charset);
  const auto input = translate_text(document, *charset);
  const auto text = translate_text(other, *charset);
  if (collation == nullptr || !input || !text) return std::nullopt;
  const Expression unquoted =
      document_call(Function::PartOfDocument, *input, unquoted_texts(charset, charset));
  // The server asks for the document first, wherever it stands.
  return Expression::call(called, {unquoted, *text}, {.collation = collation});
}

}  // namespace hailstone

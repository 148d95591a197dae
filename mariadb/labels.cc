#include "labels.h"

#include <string>
#include <utility>
#include <vector>

#include "expression/stored_values.h"
#include "server/differences.h"

namespace hailstone {

std::shared_ptr<const TextFunction> words_of_column(PlainField field) {
  const auto type = field->real_type();
  if (type != MYSQL_TYPE_ENUM && type != MYSQL_TYPE_SET) return nullptr;
  const TYPELIB& known = words_of(static_cast<const Field_enum&>(*field));
  std::vector<std::string> words;
  for (uint i = 0; i < known.count; ++i) words.emplace_back(known.type_names[i], known.type_lengths[i]);
  return type == MYSQL_TYPE_ENUM ? words_of_enum(std::move(words)) : words_of_set(std::move(words));
}

}  // namespace hailstone

#include "engine/collective/language/built_in.h"

#include <algorithm>

#include "engine/collective/language/built_in_texts.h"
#include "engine/collective/language/parser.h"
#include "engine/base/invariant.h"

namespace p2::language {

const std::vector<Definition>& built_in_definitions() {
  static const std::vector<Definition> definitions = [] {
    std::vector<Definition> parsed;
    for (const BuiltInText& built_in : built_in_texts()) {
      parsed.push_back(parse_definition(built_in.source, built_in.text));
    }
    return parsed;
  }();
  return definitions;
}

const Definition& all_to_all() {
  static const Definition definition =
      parse_definition(all_to_all_text().source, all_to_all_text().text);
  return definition;
}

const Definition& built_in(std::string_view name) {
  const std::vector<Definition>& all = built_in_definitions();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Definition& definition) {
    return definition.name == name;
  });
  invariant(found != all.end(), "no built-in collective of that name");
  return *found;
}

}  // namespace p2::language

# Writes OUTPUT, the C++ source of engine/collective/language/definition.h, from DEFINITIONS and
# ALL_TO_ALL: paths of *.p2c files from the current directory, the former separated by commas.
function(entry result path)
  file(READ ${path} text)
  set(${result} "{\"${path}\", R\"p2c(${text})p2c\"}" PARENT_SCOPE)
endfunction()

string(REPLACE "," ";" definitions "${DEFINITIONS}")
set(entries "")
foreach(definition IN LISTS definitions)
  entry(text ${definition})
  string(APPEND entries "    ${text},\n")
endforeach()
entry(all_to_all ${ALL_TO_ALL})
file(WRITE ${OUTPUT} "// Generated from *.p2c by embed_definitions.cmake.
#include \"engine/collective/language/definition.h\"

namespace p2::language {
namespace {

constexpr BuiltInText kTexts[] = {
${entries}};

}  // namespace

std::span<const BuiltInText> built_in_texts() { return kTexts; }

BuiltInText all_to_all_text() {
  return ${all_to_all};
}

}  // namespace p2::language
")

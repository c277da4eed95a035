# Writes OUTPUT, the C++ source of engine/collective/language/built_in_texts.h, from DEFINITIONS,
# the names of *.p2c files in the current directory, separated by commas.
string(REPLACE "," ";" definitions "${DEFINITIONS}")
set(entries "")
foreach(definition IN LISTS definitions)
  file(READ ${definition} text)
  string(APPEND entries "    {\"engine/collective/${definition}\", R\"p2c(${text})p2c\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Generated from engine/collective/*.p2c by embed_definitions.cmake.
#include \"engine/collective/language/built_in_texts.h\"

namespace p2::language {
namespace {

constexpr BuiltInText kTexts[] = {
${entries}};

}  // namespace

std::span<const BuiltInText> built_in_texts() { return kTexts; }

}  // namespace p2::language
")

#pragma once

#include <span>
#include <string_view>

namespace p2::language {

/// A definition file as it was when the program was built.
struct BuiltInText {
  std::string_view source;  ///< its path in the repository
  std::string_view text;
};

/// engine/collective/*.p2c, in the order of figure 8. The build generates the source file of this
/// header (embed_definitions.cmake).
std::span<const BuiltInText> built_in_texts();
/// examples/collectives/sound/alltoall.p2c.
BuiltInText all_to_all_text();

}  // namespace p2::language

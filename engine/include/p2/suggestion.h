#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace p2 {

/// `; did you mean 'check'?` for the one of `candidates` that is nearest to the mistyped `word`;
/// empty where none is near. `candidates` are separated as messages list them: `printed, published
/// or both`. Near is what a third of the letters changes at most (optimal string alignment:
/// insertions, deletions, substitutions, exchanges of neighbours; case does not count), or what
/// goes on after `word`.
std::string suggestion(std::string_view word, std::string_view candidates);

/// `unknown 'NAME', expected CANDIDATES`, with a suggestion.
std::string unknown_name(std::string_view name, std::string_view candidates);

/// Throws InputError at `where` for the first of `flags` that is given, by its name: `WHY, expected
/// no --NAME`.
void refuse_flags(const std::string& where, std::string_view why,
                  std::initializer_list<std::pair<std::string_view, bool>> flags);

}  // namespace p2

#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/collective/language/group_state.h"
#include "p2/limits.h"
#include "engine/program/program.h"

namespace p2 {

/// A definition of the user's is examined for groups of few devices before it is used
/// (terms_options.h). What a program does with it in larger ones is looked at step by step: in the
/// state in which the step is taken, adding has to be able to do it, and its measure has to rise.
class SoundSteps {
 public:
  /// The limits must outlive it.
  explicit SoundSteps(const Limits& limits) : limits_(limits) {}

  /// For a program that the rules accept. Throws InputError at `where` for a step that is not
  /// sound, and std::length_error for programs too large to be run by the reference interpreter, or
  /// where a limit is met.
  void require(const std::string& where, const Program& program);

 private:
  void require(const std::string& where, const language::Definition& definition,
               const language::GroupState& before);

  const Limits& limits_;
  std::map<std::string, std::vector<language::GroupState>> sound_;  // by definition
};

}  // namespace p2

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/collective/language/definition.h"

namespace p2 {

/// The five collectives of section 3.2 in the order in which synthesis tries them; further values
/// are user-defined collectives (CollectiveSet).
///
/// Where to find the rule of a collective (figure 8), e.g. of ReduceScatter:
///   reducescatter.p2c        its definition: premises, post-state, measure (language/definition.h)
///   language/interpreter.h   the reference: evaluates definitions on explicit states
///   kernels.h                the fast implementation on compressed states (device_state.h)
///   refusal.cpp              which premise fails, with a witness
/// encodings/z3 translates the same definitions; encodings/cnf has clauses for the five rules.
enum class Collective : std::uint8_t { AllReduce, ReduceScatter, AllGather, Reduce, Broadcast };

constexpr std::array<Collective, 5> kCollectives = {
    Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather, Collective::Reduce,
    Collective::Broadcast};

constexpr bool is_built_in(Collective collective) {
  return static_cast<std::size_t>(collective) < kCollectives.size();
}

/// The name of a built-in collective; CollectiveSet::name_of knows all.
std::string_view to_string(Collective collective);

/// The collectives that a program may use: the built-in ones, then the user-defined ones, which
/// have the values of Collective from kCollectives.size() on. Copies share the definitions.
class CollectiveSet {
 public:
  /// Bound on user-defined collectives.
  static constexpr std::size_t kMaxDefined = 100;

  /// The built-in collectives.
  CollectiveSet() = default;
  /// The built-in ones, then `defined`, at most kMaxDefined. Lookup by name finds the first match.
  explicit CollectiveSet(const std::vector<language::Definition>& defined);

  /// Whether there are user-defined ones.
  bool extended() const { return definitions_ != nullptr; }
  /// In the order in which synthesis tries them.
  std::vector<Collective> all() const;
  /// Of all collectives, in the order of all().
  std::span<const language::Definition> definitions() const;
  const language::Definition& definition_of(Collective collective) const;
  std::string_view name_of(Collective collective) const;
  std::optional<Collective> called(std::string_view name) const;
  /// `AllReduce, ReduceScatter, … or Broadcast`, for messages.
  std::string names() const;

 private:
  std::shared_ptr<const std::vector<language::Definition>>
      definitions_;  // null without user-defined ones
};

}  // namespace p2

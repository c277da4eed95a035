#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/collective/collective.h"
#include "engine/collective/language/definition.h"

namespace p2 {

/// The collectives that a program may use: the five of the paper and, after them, those that users
/// define, which are the values of Collective from kCollectives.size() on. A copy shares the
/// definitions.
class CollectiveSet {
 public:
  /// The most that users may define.
  static constexpr std::size_t kMostDefined = 100;

  /// The five.
  CollectiveSet() = default;
  /// The five, then `defined`, at most kMostDefined. Of two of one name the first is found by it.
  explicit CollectiveSet(const std::vector<language::Definition>& defined);

  /// Whether there are others than the five.
  bool extended() const { return definitions_ != nullptr; }
  /// In the order in which synthesis tries them.
  std::vector<Collective> all() const;
  /// Of all, in the order of all().
  std::span<const language::Definition> definitions() const;
  const language::Definition& definition_of(Collective collective) const;
  std::string_view name_of(Collective collective) const;
  std::optional<Collective> called(std::string_view name) const;
  /// `AllReduce, ReduceScatter, … or Broadcast`, for messages.
  std::string names() const;

 private:
  std::shared_ptr<const std::vector<language::Definition>> definitions_;  // none for the five
};

}  // namespace p2

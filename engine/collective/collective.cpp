#include "engine/collective/collective.h"

#include <algorithm>

#include "engine/base/invariant.h"
#include "engine/collective/language/definition.h"

namespace p2 {

std::string_view to_string(Collective collective) {
  constexpr std::array<std::string_view, 5> names = {"AllReduce", "ReduceScatter", "AllGather",
                                                     "Reduce", "Broadcast"};
  invariant(is_built_in(collective), "only built-in collectives have a name without a set");
  return names[static_cast<std::size_t>(collective)];
}

CollectiveSet::CollectiveSet(const std::vector<language::Definition>& defined) {
  if (defined.empty()) return;
  invariant(defined.size() <= kMaxDefined, "too many user-defined collectives");
  std::vector<language::Definition> all = language::built_in_definitions();
  all.insert(all.end(), defined.begin(), defined.end());
  definitions_ = std::make_shared<const std::vector<language::Definition>>(std::move(all));
}

std::vector<Collective> CollectiveSet::all() const {
  std::vector<Collective> all(kCollectives.begin(), kCollectives.end());
  for (std::size_t i = all.size(); definitions_ && i < definitions_->size(); ++i) {
    all.push_back(static_cast<Collective>(i));
  }
  return all;
}

std::span<const language::Definition> CollectiveSet::definitions() const {
  return definitions_ ? *definitions_ : language::built_in_definitions();
}

const language::Definition& CollectiveSet::definition_of(Collective collective) const {
  const auto place = static_cast<std::size_t>(collective);
  invariant(place < definitions().size(), "the collective belongs to another set");
  return definitions()[place];
}

std::string_view CollectiveSet::name_of(Collective collective) const {
  return is_built_in(collective) ? to_string(collective) : definition_of(collective).name;
}

std::optional<Collective> CollectiveSet::called(std::string_view name) const {
  const std::vector<Collective> all = this->all();
  const auto found =
      std::ranges::find(all, name, [&](Collective collective) { return name_of(collective); });
  return found == all.end() ? std::nullopt : std::optional(*found);
}

std::string CollectiveSet::names() const {
  std::string text;
  const std::vector<Collective> all = this->all();
  for (const Collective collective : all) {
    if (collective != all.front()) text += collective == all.back() ? " or " : ", ";
    text += name_of(collective);
  }
  return text;
}

}  // namespace p2

#include "proofs/claims/plan.h"

namespace p2::claims {

Plan::Plan(const Request& request) : request_(request) {
  for (const Claim* claim : request.claims) ask(*claim);
}

void Plan::ask(const Claim& claim) {
  for (const HierarchyKind from : claim.from) {
    if (request_.from && *request_.from != from) continue;
    if (claim.to.empty()) ask(claim, from, std::nullopt);
    for (const HierarchyKind to : claim.to) {
      if (request_.to && *request_.to != to) continue;
      // Nothing is to be shown of a hierarchy and itself, unless somebody asks.
      if (to == from && !(request_.from && request_.to)) continue;
      ask(claim, from, to);
    }
  }
}

void Plan::ask(const Claim& claim, HierarchyKind from, std::optional<HierarchyKind> to) {
  for (const Dialect dialect : request_.dialects) {
    alike_.clear();
    for (const PlacedSystem& system : request_.systems) {
      enter({&claim, &system, dialect, from, to});
    }
  }
}

void Plan::enter(const Question& question) {
  const std::size_t number = results.size();
  if (question.claim->of_rules_alone && question.system != &request_.systems[0]) {
    ++results.back().systems;
    return;
  }
  if (question.claim->settles != nullptr) {
    searches.push_back({number});
  } else {
    const Subject subject(*question.system, question.from, question.to, question.dialect);
    if (!request_.every_system) {
      const auto [first, is_new] = alike_.emplace(content(question, subject), number);
      if (!is_new) {
        ++results[first->second].systems;
        return;
      }
    }
    const auto [search, is_new] = search_of_.emplace(subject.named.problem, searches.size());
    if (is_new) searches.emplace_back();
    searches[search->second].push_back(number);
  }
  results.push_back({question, 1, {}});
}

Plan::Content Plan::content(const Question& question, const Subject& subject) {
  std::vector<std::uint32_t> sizes;
  for (const Factor& factor : subject.from.grid.factors()) sizes.push_back(factor.size);
  return {std::move(sizes), subject.reduction(), subject.moves, question.claim->forbids(subject),
          question.system->several_axes()};
}

}  // namespace p2::claims

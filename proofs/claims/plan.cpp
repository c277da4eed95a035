#include "proofs/claims/plan.h"

#include <stdexcept>

namespace p2::claims {
namespace {

constexpr std::size_t kQuestionsPerGlance = 256;  // at the clock
// Of fewer systems the questions are there within seconds, and are undecided where a limit is met.
constexpr std::size_t kFewSystems = 20'000;

}  // namespace

Plan::Plan(const Request& request, const Limits& limits) : request_(request), limits_(limits) {
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
    search_of_content_.clear();
    for (const PlacedSystem& system : request_.systems) {
      enter({&claim, &system, dialect, from, to});
    }
  }
}

void Plan::enter(const Question& question) {
  if (request_.systems.size() > kFewSystems && ++asked_ % kQuestionsPerGlance == 0 &&
      limits_.exceeded(results.size() * sizeof(Result))) {
    throw std::length_error(
        "a limit was met while the questions were put together, nothing was settled");
  }
  if (question.claim->settles != nullptr) return enter_settled(question);
  const std::size_t number = results.size();
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
  results.push_back({question, 1, {}});
}

void Plan::enter_settled(const Question& question) {
  std::size_t search = searches.size();
  if (question.claim->content != nullptr) {
    const Subject subject(*question.system, question.from, question.to, question.dialect);
    // Summaries tell one axis from several.
    const std::string content =
        (question.system->several_axes() ? "several " : "one ") + question.claim->content(subject);
    search = search_of_content_.emplace(content, search).first->second;
  }
  if (search == searches.size()) searches.emplace_back();
  std::vector<std::size_t>& alike = searches[search];
  if (!alike.empty() && !request_.every_system) {
    ++results[alike.front()].systems;
    return;
  }
  alike.push_back(results.size());
  results.push_back({question, 1, {}});
}

Plan::Content Plan::content(const Question& question, const Subject& subject) {
  std::vector<std::uint32_t> sizes;
  for (const Factor& factor : subject.from.grid.factors()) sizes.push_back(factor.size);
  return {std::move(sizes),
          subject.reduction(),
          subject.moves,
          question.claim->forbids(subject),
          question.system->several_axes(),
          row_order(question)};
}

}  // namespace p2::claims

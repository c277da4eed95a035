// `prove --list`: all claims.
#include <fmt/format.h>

#include "p2/prove.h"
#include "proofs/claims/claim.h"

namespace p2 {

ClaimList list_claims() {
  const auto kinds = [](const std::vector<HierarchyKind>& some) {
    std::string text;
    for (const HierarchyKind kind : some) {
      text += (text.empty() ? "" : ", ") + std::string(to_string(kind));
    }
    return text;
  };
  ClaimList list;
  std::string text;
  for (const claims::Claim& claim : claims::registry()) {
    list.claims.push_back({claim.name, claim.statement, claim.formula, claim.section,
                           kinds(claim.from), kinds(claim.to), claim.engine});
    const ClaimInfo& info = list.claims.back();
    text += fmt::format("{}  ({})\n    {}\n    {}\n    over {}{}; settled by {}\n", info.name,
                        info.section.empty() ? "not in the paper" : info.section, info.statement,
                        info.formula, info.range, info.to.empty() ? "" : " against " + info.to,
                        info.engine);
  }
  for (const claims::ScheduleClaim& claim : claims::schedule_registry()) {
    list.schedules.push_back(
        {claim.name, claim.statement, claim.formula, claim.section, claim.cases, "", claim.engine});
    text += fmt::format(
        "{}  ({} of the paper on resharding)\n    {}\n    {}\n    {}; settled by {}\n", claim.name,
        claim.section, claim.statement, claim.formula, claim.cases, claim.engine);
  }
  const auto common = [](const ClaimInfo& info) {
    return Json::object()
        .add("name", info.name)
        .add("statement", info.statement)
        .add("formula", info.formula)
        .add("section", info.section);
  };
  const auto claim_json = [&](const ClaimInfo& info) {
    return common(info).add("from", info.range).add("to", info.to).add("engine", info.engine);
  };
  const auto schedule_json = [&](const ClaimInfo& info) {
    return common(info).add("range", info.range).add("engine", info.engine);
  };
  list.document.title = "p2-verify prove --list";
  list.document.add(Preformatted{std::move(text)});
  list.document.json = Json::object()
                           .add("claims", Json::array_of(list.claims, claim_json))
                           .add("schedules", Json::array_of(list.schedules, schedule_json));
  return list;
}

}  // namespace p2

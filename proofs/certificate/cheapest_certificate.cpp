#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "p2/error.h"
#include "proofs/certificate/absence_certificate.h"
#include "proofs/certificate/program_certificate.h"
#include "proofs/kernel/cost.h"

namespace p2 {
namespace {

using kernel::Amount;
using kernel::Holdings;

/// At one ratio, by Dijkstra's algorithm with lower bounds: what every state that has to be
/// looked at costs to reach. Where a program is cheaper than the least listed one, no potential is
/// right, and any will do.
std::map<Holdings, Amount> costs_to_reach(const kernel::CostQuestion& question,
                                          const kernel::Ratio& ratio, kernel::Budget& budget) {
  const Amount limit = question.least_listed(ratio);
  std::map<Holdings, Amount> least;
  std::set<std::pair<Amount, Holdings>> open;
  const auto reach = [&](Amount cost, const Holdings& state) {
    const auto known = least.find(state);
    if (cost >= limit || (known != least.end() && known->second <= cost)) return;
    const std::optional<Amount> left = question.bound(state, ratio, budget);
    if (!left || cost + *left >= limit || state == question.system.goal) return;
    least[state] = cost;
    open.emplace(cost, state);
  };
  reach(0, question.system.initial);
  while (!open.empty()) {
    const auto [cost, state] = open.extract(open.begin()).value();
    if (least[state] < cost) continue;
    for (const kernel::Step& choice : question.choices) {
      Holdings after = state;
      const std::optional<Amount> price = question.take(choice, ratio, after, budget);
      if (price) reach(cost + *price, after);
    }
  }
  return least;
}

}  // namespace

std::string potential_text(const std::string& problem) try {
  using nlohmann::json;
  kernel::Budget budget;
  const kernel::CostQuestion question(json::parse(problem), budget);
  std::map<Holdings, std::vector<Amount>> potential;  // of a state, by ratio; 0: none
  std::size_t number = 0;
  for (const kernel::Ratio& ratio : question.ratios) {
    const Amount limit = question.least_listed(ratio);
    for (const auto& [state, cost] : costs_to_reach(question, ratio, budget)) {
      std::vector<Amount>& values = potential[state];
      values.resize(question.ratios.size());
      values[number] = limit - cost;
    }
    ++number;
  }
  json states = json::array();
  for (const auto& [state, values] : potential) {
    states.push_back(std::vector<unsigned>(state.begin(), state.end()));
  }
  json ratios = json::array();
  for (const auto& [alpha, beta] : question.ratios) {
    json values = json::array();
    for (const auto& [state, by_ratio] : potential) values.push_back(by_ratio[ratios.size()]);
    ratios.push_back({{"alpha", alpha}, {"beta", beta}, {"potential", std::move(values)}});
  }
  return json{{"states", std::move(states)}, {"ratios", std::move(ratios)}}.dump() + "\n";
} catch (const kernel::CheckFailure& failure) {
  if (failure.verdict == kernel::Verdict::Incomplete) {
    throw LimitReached(LimitReached::Kind::Size, failure.what());
  }
  return "{}\n";  // no potential makes the claim true
}

CertificateFiles cheapest_certificate(const CheapestClaim& claim, const Provenance& provenance) {
  std::string uplinks;
  for (const Uplink& uplink : claim.uplinks) {
    uplinks += fmt::format("{}[{},{}]", uplinks.empty() ? "" : ",", uplink.span, uplink.slowdown);
  }
  std::string programs;
  for (const ProgramFile& file : claim.programs) {
    programs += (programs.empty() ? "\n" : ",\n") +
                program_text(file.program, file.dialect, file.instance ? &*file.instance : nullptr);
  }
  CertificateFiles files;
  files["problem.json"] = "{" +
                          system_text(claim.devices, claim.classes, claim.dialect,
                                      claim.over ? &*claim.over : nullptr) +
                          fmt::format("\"uplinks\":[{}],\n\"among\":\"{}\",\n\"programs\":[{}]}}\n",
                                      uplinks, claim.among, programs);
  files["potential.json"] = potential_text(files["problem.json"]);
  add_manifest("cheapest", provenance, files);
  return files;
}

}  // namespace p2

#include "proofs/certificate/program_certificate.h"

#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/program/program_file.h"
#include "p2/error.h"
#include "proofs/kernel/cost.h"

namespace p2 {
namespace {

CertificateFiles folder_of(const std::string& claim, std::string problem, cnf::AbsenceProof proof,
                           const Provenance& provenance) {
  CertificateFiles files;
  files["problem.json"] = std::move(problem);
  files["problem.cnf"] = std::move(proof.clauses.cnf);
  files["varmap"] = std::move(proof.varmap);
  files["proof.lrat"] = std::move(proof.clauses.lrat);
  add_manifest(claim, provenance, files);
  return files;
}

/// `key`: what problem.json says last, and its value.
CertificateFiles absence_certificate(const std::string& claim, const Instance& instance,
                                     Dialect dialect, std::uint32_t size, cnf::AbsenceProof proof,
                                     const std::string& key, const Provenance& provenance) {
  std::string text = "{" +
                     system_text(instance.grid.devices(), instance.classes(), dialect, &instance) +
                     fmt::format("\"size\":{},\n\"choices\":[", size);
  for (const Step& choice : proof.choices) {
    text += fmt::format(
        "{}\n{{\"slice\":\"{}\",\"form\":\"{}\",\"collective\":\"{}\"}}",
        &choice == &proof.choices[0] ? "" : ",", slice_to_string(*choice.shape, instance.hierarchy),
        form_to_string(*choice.shape, instance.hierarchy), to_string(choice.collective));
  }
  return folder_of(claim, text + "],\n" + key + "}\n", std::move(proof), provenance);
}

}  // namespace

CertificateFiles synthesis_certificate(const Instance& instance, Dialect dialect,
                                       std::uint32_t size, cnf::AbsenceProof proof,
                                       const Provenance& provenance) {
  const std::string programs = "\"programs\":" + lists_json(proof.programs).dump();
  return absence_certificate("synthesis-complete", instance, dialect, size, std::move(proof),
                             programs, provenance);
}

CertificateFiles expressible_certificate(const Instance& instance, HierarchyKind to,
                                         Dialect dialect, std::uint32_t size,
                                         cnf::AbsenceProof proof, const Provenance& provenance) {
  return absence_certificate("expressible", instance, dialect, size, std::move(proof),
                             fmt::format("\"to\":\"{}\"", to_string(to)), provenance);
}

CertificateFiles unused_certificate(const Instance& instance, Dialect dialect, std::uint32_t size,
                                    cnf::AbsenceProof proof, const Provenance& provenance) {
  const std::string uses = fmt::format("\"uses\":[{}]", fmt::join(proof.uses, ","));
  return absence_certificate("unused", instance, dialect, size, std::move(proof), uses, provenance);
}

CertificateFiles unmixed_certificate(std::uint32_t devices, const std::vector<Group>& classes,
                                     Dialect dialect, std::uint32_t size, cnf::AbsenceProof proof,
                                     const Provenance& provenance) {
  const std::string system = system_text(devices, classes, dialect, nullptr);
  return folder_of("unmixed", "{" + system + fmt::format("\"size\":{}}}\n", size), std::move(proof),
                   provenance);
}

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

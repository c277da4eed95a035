#include "proofs/kernel/cost.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

namespace p2::kernel {
namespace {

/// What a valid program takes; objects unless that is linear in α and β.
Charge cost_of(const Problem& program, const PricedSystem& system, const std::string& which) {
  Charge total;
  Holdings state = system.initial;
  for (const Step& step : program.steps) {
    if (state == system.goal) reject(which + "it goes on at the goal");
    if (!step.allowed(program.published)) reject(which + "a Master with another collective");
    const auto charges = system.take(step, state);
    if (!charges) reject(which + "a step is not legal");
    Charge slowest;
    for (const auto& [rounds, bytes] : *charges) {
      slowest = {std::max(slowest.rounds, rounds), std::max(slowest.bytes, bytes)};
    }
    if (std::ranges::count(*charges, slowest) == 0) reject(which + "a step has no slowest group");
    total = {total.rounds + slowest.rounds, total.bytes + slowest.bytes};
  }
  if (state != system.goal) reject(which + "the goal is missed");
  return total;
}

/// The ratios at which one charge gives way to another.
void add_bends(const std::vector<Charge>& charges, std::set<Ratio>& ratios) {
  for (const Charge& a : charges) {
    for (const Charge& b : charges) {
      const Amount alpha = b.bytes - a.bytes;
      const Amount beta = a.rounds - b.rounds;
      const Amount divisor = std::gcd(alpha, beta);
      if (alpha > 0 && beta > 0) ratios.insert({alpha / divisor, beta / divisor});
    }
  }
}

/// Between two that follow each other every step and the least of what is known is linear.
std::set<Ratio> all_ratios(const PricedSystem& system, const std::vector<Step>& choices,
                           const std::vector<Charge>& known) {
  std::set<Ratio> ratios = {{0, 1}, {1, 0}};
  add_bends(known, ratios);
  for (const Step& choice : choices) {
    const auto other = [](const Numbers& a, const Numbers& b) { return a.size() != b.size(); };
    const bool alike = std::ranges::adjacent_find(choice.groups, other) == choice.groups.end();
    Numbers held(alike ? 0 : choice.groups.size(), 1);  // groups of one size have equal rounds
    for (std::size_t i = 0; i < held.size();) {
      add_bends(system.charges(choice, held), ratios);
      for (i = 0; i < held.size() && ++held[i] > system.devices(); ++i) held[i] = 1;
    }
  }
  return ratios;
}

/// Objects if a program takes less than `limit`.
void search(const PricedSystem& system, const std::vector<Step>& choices, const Ratio& ratio,
            Amount limit, Budget& budget) {
  std::unordered_map<Holdings, Amount> least;
  std::set<std::pair<Amount, Holdings>> open;
  const auto reach = [&](Amount cost, const Holdings& state) {
    const auto known = least.find(state);
    if (cost >= limit || (known != least.end() && known->second <= cost)) return;
    budget.spend(2 * state.size());
    const std::optional<Amount> left = system.least(state, ratio);
    if (!left || cost + *left >= limit) return;
    if (*left == 0) reject("a program costs less");
    least[state] = cost;
    open.emplace(cost, state);
  };
  reach(0, system.initial);
  while (!open.empty()) {
    const auto [cost, state] = open.extract(open.begin()).value();
    if (least[state] < cost) continue;
    for (const Step& choice : choices) {
      budget.spend(state.size() / 6);
      Holdings after = state;
      const auto charges = system.take(choice, after);
      if (!charges) continue;
      Amount price = 0;
      for (const Charge& charge : *charges) price = std::max(price, ratio.price(charge));
      reach(cost + price, after);
    }
  }
}

std::vector<Step> choices_of(const Problem& problem, Budget& budget) {
  if (problem.instance) return problem.instance->choices(problem.published, budget);
  std::vector<Step> choices;
  for (const std::vector<Numbers>& groups : disjoint_groups(problem.devices)) {
    for (const char* collective : kCollectives) choices.push_back({collective, {}, {}, groups});
  }
  return choices;
}

/// Of the listed programs; each is made of what `among` says.
std::vector<Charge> costs_of(const Json& root, const Problem& problem, const PricedSystem& system,
                             Budget& budget) {
  const std::string& among = as_text(root["among"]);
  if (among != "hierarchies" && among != "unmixed" && among != "all") malformed("among is unknown");
  std::vector<Charge> costs;
  for (const Json& item : as_list(root["programs"])) {
    const std::string which = "program " + std::to_string(costs.size()) + ": ";
    const Problem program = read_problem(item, {"steps"}, budget);
    if (program.classes != problem.classes || program.published != problem.published) {
      reject(which + "it is of another system");
    }
    for (const Step& step : program.steps) {
      if (among == "hierarchies" && !step.instruction) reject(which + "it has bare groups");
      if (among == "unmixed" && program.mixes(step.groups)) reject(which + "it mixes classes");
    }
    costs.push_back(cost_of(program, system, which));
  }
  if (costs.empty()) malformed("there are no programs");
  return costs;
}

}  // namespace

std::string judge_cost(const std::string& /*claim*/, const Files& files) {
  Budget budget;
  const Json root = parse_json(files, "problem.json");
  const Problem problem = read_problem(root, {"uplinks", "among", "programs"}, budget);
  const PricedSystem system(problem, root["uplinks"]);
  const std::vector<Charge> known = costs_of(root, problem, system, budget);
  const std::vector<Step> choices = choices_of(problem, budget);
  for (const Ratio& ratio : all_ratios(system, choices, known)) {
    Amount limit = INT64_MAX;
    for (const Charge& charge : known) limit = std::min(limit, ratio.price(charge));
    search(system, choices, ratio, limit, budget);
  }
  return "no program over " +
         (problem.instance ? as_text(root["synthesis_hierarchy"]) : "any disjoint groups") +
         " costs less than the listed ones, " + as_text(root["among"]) + " (" +
         std::to_string(problem.devices) + " devices, dialect " + problem.dialect() + ")";
}

}  // namespace p2::kernel

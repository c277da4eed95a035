#include <algorithm>

#include "proofs/kernel/derivation.h"

namespace p2::kernel {
namespace {

/// The rule that the group breaks in the step after the stage's last. Positions do not tell devices
/// of different classes apart: a group across classes is run on the whole system instead.
const char* broken_rule(const Problem& problem, Derivation& derivation, Numbers group,
                        Budget& budget) {
  const Stage& stage = derivation.stage();
  const Step& refused = problem.steps[derivation.steps()];
  const auto inside = [&](std::uint32_t d) { return stage.part[d] == stage.part[group[0]]; };
  if (std::ranges::all_of(group, inside)) {
    for (std::uint32_t& device : group) device = stage.position[device];
    return derivation.system().run(refused, group);
  }
  System whole(whole_system(problem, {}), budget);
  for (std::size_t n = 1; n <= derivation.steps(); ++n) {
    whole.take(problem.steps[n - 1], problem.name(n));
  }
  return whole.run(refused, group);
}

}  // namespace

std::string check_refutation(const Files& files, const Problem& problem, Derivation& derivation,
                             Budget& budget) {
  const Json root = parse_json(files, "refutation.json");
  const bool whole = root.contains("rule") && (root["rule"] == "goal" || root["rule"] == "master");
  std::vector<std::string> keys = {"step", "rule"};
  if (!whole) keys.push_back("group");
  expect_keys(root, keys);
  const std::string& rule = as_text(root["rule"]);
  const std::size_t step = as_number(root["step"], problem.steps.size() + 1);
  const std::size_t legal = derivation.steps();
  if (rule == "goal") {
    if (step != problem.steps.size() || step != legal) reject("the last step is another");
    if (derivation.system().at_goal(derivation.stage().classes)) reject("the goal is reached");
    return "the goal is missed after the last step";
  }
  if (step != legal + 1) reject("the derivation does not lead to its step");
  const std::string name = problem.name(step);
  const Step& refused = problem.steps[legal];
  if (rule == "master") {
    if (refused.allowed(problem.published)) reject(name + " is no Master, or allowed");
    return "master at " + name;
  }
  const Numbers group = as_ascending(root["group"], problem.devices);
  if (std::ranges::count(refused.groups, group) == 0) {
    reject(name + " has no such group");
  }
  const char* broken = broken_rule(problem, derivation, group, budget);
  if (broken == nullptr || rule != broken) reject(name + " does not break rule " + rule + " there");
  return rule + " at " + name;
}

}  // namespace p2::kernel

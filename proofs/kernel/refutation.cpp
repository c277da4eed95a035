#include <algorithm>

#include "proofs/kernel/derivation.h"

namespace p2::kernel {
std::string check_refutation(const Files& files, const Problem& problem, const Stage& stage,
                             System& system) {
  const Json root = parse_json(files, "refutation.json");
  const bool whole =
      root.is_object() && (root.value("rule", "") == "goal" || root.value("rule", "") == "master");
  std::vector<std::string> keys = {"step", "rule"};
  if (!whole) keys.push_back("group");
  expect_object(root, "refutation.json", keys);
  const std::string& rule = expect_text(root["rule"], "rule");
  const std::size_t step = expect_number(root["step"], "step", problem.steps.size() + 1);
  const std::size_t legal = stage.steps.size();
  if (rule == "goal") {
    if (step != problem.steps.size() || step != legal) reject("the last step is another");
    if (system.at_goal(stage.classes)) reject("the goal is reached");
    return "the goal is missed after the last step";
  }
  if (step != legal + 1) reject("the derivation does not lead to its step");
  const std::string name = problem.name(step);
  const Step& refused = problem.steps[legal];
  if (rule == "master") {
    if (!problem.forbids(refused)) reject(name + " is no Master, or allowed");
    return "master at " + name;
  }
  Numbers group = expect_ascending(root["group"], "group", problem.devices);
  if (std::count(refused.groups.begin(), refused.groups.end(), group) == 0) {
    reject(name + " has no such group");
  }
  for (std::uint32_t& device : group) device = stage.position[device];
  const char* broken = system.run(refused, group);
  if (broken == nullptr || rule != broken) reject(name + " does not break rule " + rule + " there");
  return rule + " at " + name;
}

}  // namespace p2::kernel

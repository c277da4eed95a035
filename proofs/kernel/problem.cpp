#include "proofs/kernel/problem.h"

#include <algorithm>

namespace p2::kernel {
namespace {

constexpr std::uint32_t kMostDevices = 1U << 20U;
constexpr std::size_t kMostSteps = 4096;

/// A list of groups, no device twice.
std::vector<Numbers> read_groups(const Json& list, const std::string& what, std::uint32_t devices) {
  std::vector<Numbers> groups;
  std::vector<bool> seen(devices, false);
  for (const Json& item : expect_array(list, what)) {
    groups.push_back(expect_ascending(item, "a group of " + what, devices));
    for (const std::uint32_t device : groups.back()) {
      if (seen[device]) reject(what + ": device " + std::to_string(device) + " occurs twice");
      seen[device] = true;
    }
  }
  if (groups.empty()) malformed(what + " has no groups");
  return groups;
}

Step read_step(const Json& value, const std::string& what, std::uint32_t devices,
               const std::optional<Instance>& instance) {
  Step step;
  std::vector<std::string> keys = {"collective", "groups"};
  const bool instruction = instance && value.is_object() && value.contains("slice");
  if (instruction) keys.insert(keys.end(), {"slice", "form"});
  expect_object(value, what, keys);
  std::vector<Numbers> groups = read_groups(value["groups"], what, devices);
  if (instruction) {
    step =
        instance->lower(expect_text(value["slice"], "slice"), expect_text(value["form"], "form"));
    std::vector<Numbers> sorted = groups;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != step.groups) reject(what + " does not form the groups beside it");
  }
  step.groups = std::move(groups);
  step.collective = expect_text(value["collective"], "the collective of " + what);
  if (std::count(std::begin(kCollectives), std::end(kCollectives), step.collective) == 0) {
    malformed(what + " has an unknown collective");
  }
  return step;
}

}  // namespace

Problem read_system(const Json& root, std::vector<std::string> keys) {
  keys.insert(keys.end(), {"devices", "classes", "dialect"});
  const bool placed = root.is_object() && root.contains("hierarchy");
  if (placed) {
    keys.insert(keys.end(), {"hierarchy", "axes", "reduce", "placement", "synthesis_hierarchy"});
  }
  expect_object(root, "problem.json", keys);
  Problem problem;
  problem.devices = expect_number(root["devices"], "devices", kMostDevices + 1);
  problem.chunks = problem.devices;
  const std::string& dialect = expect_text(root["dialect"], "dialect");
  problem.published = dialect == "published";
  if (!problem.published && dialect != "printed") malformed("dialect is unknown");
  problem.classes = read_groups(root["classes"], "classes", problem.devices);
  std::size_t members = 0;
  for (const Numbers& group : problem.classes) members += group.size();
  if (members != problem.devices) reject("classes leave out a device");
  if (!std::is_sorted(problem.classes.begin(), problem.classes.end())) {
    malformed("classes are not ordered by first device");
  }
  if (placed) {
    problem.instance.emplace(root, problem.devices);
    if (problem.instance->classes() != problem.classes) {
      reject("classes are not those of the placement");
    }
  }
  return problem;
}

Problem read_problem(const Files& files, Budget& budget) {
  const Json root = parse_json(files, "problem.json");
  Problem problem = read_system(root, {"steps"});
  if (expect_array(root["steps"], "steps").size() > kMostSteps) malformed("steps are too many");
  for (const Json& step : root["steps"]) {
    budget.spend(32 * std::uint64_t{problem.devices});
    const std::string what = "step " + std::to_string(problem.steps.size() + 1);
    problem.steps.push_back(read_step(step, what, problem.devices, problem.instance));
  }
  return problem;
}

}  // namespace p2::kernel

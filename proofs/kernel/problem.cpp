#include "proofs/kernel/problem.h"

#include <algorithm>

namespace p2::kernel {
namespace {

constexpr std::uint32_t kMostDevices = 1U << 20U;
constexpr std::size_t kMostSteps = 4096;

/// A list of groups, no device twice.
std::vector<Numbers> read_groups(const Json& value, std::uint32_t devices) {
  std::vector<Numbers> groups;
  std::vector<bool> seen(devices, false);
  for (const Json& item : as_list(value)) {
    groups.push_back(as_ascending(item, devices));
    for (const std::uint32_t device : groups.back()) {
      if (seen[device]) reject("device " + std::to_string(device) + " is in two groups");
      seen[device] = true;
    }
  }
  if (groups.empty()) malformed("there are no groups");
  return groups;
}

Step read_step(const Json& value, const Problem& problem) {
  Step step;
  std::vector<std::string> keys = {"collective", "groups"};
  const bool instruction = problem.instance && value.contains("slice");
  if (instruction) keys.insert(keys.end(), {"slice", "form"});
  expect_keys(value, keys);
  std::vector<Numbers> groups = read_groups(value["groups"], problem.devices);
  if (instruction) {
    step = problem.instance->lower(as_text(value["slice"]), as_text(value["form"]));
    std::vector<Numbers> sorted = groups;
    std::ranges::sort(sorted);
    if (sorted != step.groups) {
      reject("(" + step.slice + ", " + step.form + ") does not form the groups beside it");
    }
  }
  step.groups = std::move(groups);
  step.collective = as_text(value["collective"]);
  if (std::ranges::count(kCollectives, step.collective) == 0) malformed("unknown collective");
  return step;
}

}  // namespace

Problem read_system(const Json& root, std::vector<std::string> keys) {
  keys.insert(keys.end(), {"devices", "classes", "dialect"});
  const bool placed = root.contains("hierarchy");
  if (placed) {
    keys.insert(keys.end(), {"hierarchy", "axes", "reduce", "placement", "synthesis_hierarchy"});
  }
  expect_keys(root, keys);
  Problem problem;
  problem.devices = as_number(root["devices"], kMostDevices + 1);
  problem.published = root["dialect"] == "published";
  if (root["dialect"] != problem.dialect()) malformed("dialect is unknown");
  problem.classes = read_groups(root["classes"], problem.devices);
  std::size_t members = 0;
  for (const Numbers& group : problem.classes) members += group.size();
  if (members != problem.devices) reject("classes leave out a device");
  if (!std::ranges::is_sorted(problem.classes)) {
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
  if (as_list(root["steps"]).size() > kMostSteps) malformed("steps are too many");
  for (const Json& step : root["steps"]) {
    budget.spend(32 * std::uint64_t{problem.devices});
    problem.steps.push_back(read_step(step, problem));
  }
  return problem;
}

}  // namespace p2::kernel

#include "proofs/kernel/problem.h"

#include <algorithm>
#include <array>
#include <optional>

#include "proofs/kernel/lowering.h"

namespace p2::kernel {
namespace {

constexpr std::uint32_t kMostDevices = 1U << 20U;
constexpr std::size_t kMostSteps = 4096;
constexpr std::array<const char*, 5> kNames = {"AllReduce", "ReduceScatter", "AllGather", "Reduce",
                                               "Broadcast"};

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

Collective read_collective(const Json& value, const std::string& what) {
  const std::string& name = expect_text(value, "the collective of " + what);
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) malformed(what + " has an unknown collective");
  return static_cast<Collective>(found - kNames.begin());
}

Step read_step(const Json& value, const std::string& what, std::uint32_t devices,
               const std::optional<Instance>& instance, Budget& budget) {
  expect_object(value, what, {"collective", "groups"}, {"slice", "form"});
  budget.spend(devices);
  Step step;
  step.collective = read_collective(value["collective"], what);
  step.name = kNames[static_cast<std::size_t>(step.collective)];
  step.groups = read_groups(value["groups"], what, devices);
  step.instruction = value.contains("slice");
  if (step.instruction != value.contains("form")) malformed(what + " lacks slice or form");
  if (!step.instruction) return step;
  if (!instance) malformed(what + " is an instruction, but there is no instance");
  const Lowered lowered = instance->lower(expect_text(value["slice"], "a slice"),
                                          expect_text(value["form"], "a form"), budget);
  std::vector<Numbers> sorted = step.groups;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != lowered.groups) reject(what + " does not form the groups beside it");
  step.master = lowered.master;
  return step;
}

}  // namespace

Problem read_problem(const Files& files, Budget& budget) {
  const Json root = parse_json(files, "problem.json");
  const bool placed = root.is_object() && root.contains("hierarchy");
  if (placed) {
    expect_object(root, "problem.json",
                  {"devices", "classes", "dialect", "steps", "hierarchy", "axes", "reduce",
                   "placement", "synthesis_hierarchy"});
  } else {
    expect_object(root, "problem.json", {"devices", "classes", "dialect", "steps"});
  }
  Problem problem;
  problem.devices = expect_number(root["devices"], "devices", 1, kMostDevices);
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
  std::optional<Instance> instance;
  if (placed) {
    instance.emplace(root, problem.devices);
    if (instance->classes() != problem.classes) reject("classes are not those of the placement");
  }
  const Json& steps = expect_array(root["steps"], "steps");
  if (steps.size() > kMostSteps) malformed("there are too many steps");
  for (const Json& step : steps) {
    const std::string what = "step " + std::to_string(problem.steps.size() + 1);
    problem.steps.push_back(read_step(step, what, problem.devices, instance, budget));
  }
  return problem;
}

}  // namespace p2::kernel

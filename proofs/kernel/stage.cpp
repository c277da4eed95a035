#include <algorithm>
#include <numeric>

#include "proofs/kernel/problem.h"

namespace p2::kernel {
namespace {

Numbers up_to(std::uint32_t end) {
  Numbers numbers(end);
  std::iota(numbers.begin(), numbers.end(), 0U);
  return numbers;
}

/// The groups of one step inside every class, in positions.
std::vector<std::vector<Numbers>> groups_by_class(const Stage& stage, const Step& step) {
  std::vector<std::vector<Numbers>> inside(stage.classes.size());
  for (const Numbers& group : step.groups) {
    Numbers& positions = inside[stage.part[group[0]]].emplace_back();
    for (const std::uint32_t device : group) {
      if (stage.part[device] != stage.part[group[0]]) reject("symmetry: a group crosses classes");
      positions.push_back(stage.position[device]);
    }
  }
  for (auto& groups : inside) std::ranges::sort(groups);
  return inside;
}

}  // namespace

const Numbers& Stage::class_of(std::uint32_t device) const {
  return *std::ranges::find_if(
      classes, [&](const Numbers& members) { return std::ranges::binary_search(members, device); });
}

Stage whole_system(const Problem& problem, std::vector<Step> steps) {
  const std::uint32_t k = problem.devices;
  return {k, k, problem.classes, std::move(steps), Numbers(k, 0), up_to(k)};
}

Stage first_class(const Problem& problem, std::vector<Step> steps) {
  Stage stage = whole_system(problem, std::move(steps));
  stage.devices = static_cast<std::uint32_t>(problem.classes[0].size());
  for (std::uint32_t part = 0; part < problem.classes.size(); ++part) {
    const Numbers& members = problem.classes[part];
    if (members.size() != stage.devices) reject("symmetry: the classes differ in size");
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      stage.part[members[i]] = part;
      stage.position[members[i]] = i;
    }
  }
  for (Step& step : stage.steps) {
    const auto inside = groups_by_class(stage, step);
    if (std::ranges::count(inside, inside[0]) != std::ssize(inside)) {
      reject("symmetry: a step forms other groups in another class");
    }
    step.groups = inside[0];
  }
  stage.classes = {up_to(stage.devices)};
  return stage;
}

}  // namespace p2::kernel

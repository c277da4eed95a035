#include "proofs/kernel/problem.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "proofs/kernel/input.h"

namespace p2::kernel {
namespace {

constexpr std::uint32_t kMaxDevices = 1U << 20U;

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
  std::ranges::sort(groups);
  if (instruction) {
    step = problem.instance->lower(as_text(value["slice"]), as_text(value["form"]));
    if (groups != step.groups) reject(step.slice + ", " + step.form + " form other groups");
  }
  step.groups = std::move(groups);
  step.collective = as_text(value["collective"]);
  if (std::ranges::count(kCollectives, step.collective) == 0) malformed("unknown collective");
  return step;
}

/// `{0,1},{2,3}`.
std::string to_text(const std::vector<Numbers>& groups) {
  std::string text;
  for (const Numbers& group : groups) {
    text += text.empty() ? "{" : ",{";
    for (const std::uint32_t device : group) text += std::to_string(device) + ",";
    text.back() = '}';
  }
  return text;
}

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

std::string Step::text() const {
  return collective + (instruction ? "(" + slice + ", " + form + ")" : to_text(groups));
}

std::string Problem::words() const {
  const std::string reduction = "reduction classes " + shortened(to_text(classes));
  return counted(devices, "device") + ", " + (instance ? instance->words : reduction) +
         ", dialect " + dialect();
}

Problem read_problem(const Json& root, std::vector<std::string> keys, Budget& budget) {
  keys.insert(keys.end(), {"devices", "classes", "dialect"});
  const bool placed = root.contains("hierarchy");
  if (placed) {
    keys.insert(keys.end(), {"hierarchy", "axes", "reduce", "placement", "synthesis_hierarchy"});
  }
  expect_keys(root, keys);
  Problem problem;
  problem.devices = as_number(root["devices"], kMaxDevices + 1);
  problem.published = root["dialect"] == "published";
  if (root["dialect"] != problem.dialect()) malformed("dialect is unknown");
  problem.classes = read_groups(root["classes"], problem.devices);
  std::size_t members = 0;
  for (const Numbers& group : problem.classes) members += group.size();
  if (members != problem.devices) reject("a device is in no class");
  if (!std::ranges::is_sorted(problem.classes)) malformed("classes are not in order");
  if (placed) {
    problem.instance.emplace(root, problem.devices);
    budget.spend(4 * problem.instance->shapes.size() * problem.instance->levels.size());
    if (problem.instance->classes() != problem.classes) {
      reject("classes are not those of the placement");
    }
  }
  if (!root.contains("steps")) return problem;
  if (as_list(root["steps"]).size() > kMaxSteps) malformed("too many steps");
  for (const Json& step : root["steps"]) {
    budget.spend(32 * std::uint64_t{problem.devices});
    problem.steps.push_back(read_step(step, problem));
  }
  return problem;
}

Numbers Problem::lacking(const std::vector<Step>& among, Json root, Budget& budget) const {
  root["synthesis_hierarchy"] = root["to"];
  std::set<std::pair<std::string, std::vector<Numbers>>> known;
  for (Step& step : Instance(root, devices).choices(published, budget)) {
    known.emplace(step.collective, std::move(step.groups));
  }
  Numbers numbers;
  for (std::uint32_t i = 0; i < among.size(); ++i) {
    if (!known.contains({among[i].collective, among[i].groups})) numbers.push_back(i);
  }
  return numbers;
}

bool Problem::mixes(const std::vector<Numbers>& groups) const {
  return std::ranges::any_of(groups, [&](const Numbers& group) {
    const auto inside = [&](const Numbers& all) { return std::ranges::includes(all, group); };
    return std::ranges::none_of(classes, inside);
  });
}

std::set<std::vector<Numbers>> disjoint_groups(std::uint32_t devices) {
  if (devices > 6) throw CheckFailure(Verdict::Incomplete, "the sets of groups are too many");
  std::set<std::vector<Numbers>> sets;
  for (std::uint32_t code = 0; code < 46656; ++code) {  // a digit to base 6: a device's group
    std::vector<Numbers> groups(6);
    for (std::uint32_t d = 0, rest = code; d < devices; ++d, rest /= 6)
      groups[rest % 6].push_back(d);
    std::erase_if(groups, [](const Numbers& group) { return group.size() < 2; });
    std::ranges::sort(groups);
    if (!groups.empty()) sets.insert(groups);
  }
  return sets;
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

namespace {

/// In how many chunks there is something.
std::size_t held(const Numbers& row) {
  return row.size() - static_cast<std::size_t>(std::ranges::count(row, 0U));
}

}  // namespace

std::uint32_t Sets::number(const Numbers& members) {
  const auto fresh = static_cast<std::uint32_t>(members_.size());
  const auto [entry, inserted] = numbers_.try_emplace(members, fresh);
  budget_->spend(members.size() + 1);
  if (inserted) members_.push_back(&entry->first);
  return entry->second;
}

bool Sets::subset(std::uint32_t small, std::uint32_t large) const {
  if (small == large || small == 0) return true;
  budget_->spend(members(small).size() + members(large).size());
  return std::ranges::includes(members(large), members(small));
}

std::optional<std::uint32_t> Sets::unite(const Numbers& numbers) {
  const auto known = united_.find(numbers);
  if (known != united_.end()) return known->second;
  Numbers all;
  for (const std::uint32_t number : numbers) {
    all.insert(all.end(), members(number).begin(), members(number).end());
  }
  budget_->spend(16 * (numbers.size() + all.size()));
  std::ranges::sort(all);
  std::optional<std::uint32_t>& result = united_[numbers];
  if (std::ranges::adjacent_find(all) == all.end()) result = number(all);
  return result;
}

System::System(const Stage& stage, Budget& budget)
    : budget_(&budget), sets_(budget), chunks_(stage.chunks) {
  budget.spend(4 * std::uint64_t{stage.devices} * chunks_);  // bounds the memory
  for (std::uint32_t d = 0; d < stage.devices; ++d) rows_.emplace_back(chunks_, sets_.number({d}));
}

/// The sum over the group, chunk by chunk.
const char* System::add(const Numbers& group, Numbers& total) {
  for (const std::uint32_t device : group) {
    for (std::uint32_t r = 0; r < chunks_; ++r) {
      if ((rows_[device][r] == 0) != (rows_[group[0]][r] == 0)) return "same-chunks";
    }
  }
  Numbers column;
  Numbers last;
  for (std::uint32_t r = 0; r < chunks_; ++r) {
    column.clear();
    for (const std::uint32_t device : group) column.push_back(rows_[device][r]);
    const auto all = r > 0 && column == last ? std::optional(total[r - 1]) : sets_.unite(column);
    if (!all) return "disjoint";
    total[r] = *all;
    last.swap(column);
  }
  return nullptr;
}

const char* System::gather(const Numbers& group, Numbers& total) {
  for (const std::uint32_t device : group) {
    for (std::uint32_t r = 0; r < chunks_; ++r) {
      if (rows_[device][r] == 0) continue;
      if (total[r] != 0) return "disjoint-chunks";
      total[r] = rows_[device][r];
    }
  }
  for (const std::uint32_t device : group) {
    if (held(rows_[device]) != held(rows_[group[0]])) return "equal-count";
  }
  return nullptr;
}

const char* System::contain(const Numbers& group) const {
  const Numbers& root = rows_[group[0]];
  bool informative = false;
  for (const std::uint32_t device : group) {
    for (std::uint32_t r = 0; r < chunks_; ++r) {
      if (!sets_.subset(rows_[device][r], root[r])) return "contained";
      informative = informative || rows_[device][r] != root[r];
    }
  }
  return informative ? nullptr : "informative";
}

const char* System::run(const Step& step, const Numbers& group) {
  budget_->spend(4 * group.size() * std::uint64_t{chunks_});
  const auto empty = [&](std::uint32_t device) { return held(rows_[device]) == 0; };
  if (step.instruction && std::ranges::all_of(group, empty)) return "empty-group";
  const bool copies = step.collective == "Broadcast";
  Numbers total = copies ? rows_[group[0]] : Numbers(chunks_, 0);
  const char* broken = copies                           ? contain(group)
                       : step.collective == "AllGather" ? gather(group, total)
                                                        : add(group, total);
  if (broken != nullptr) return broken;
  const bool scatter = step.collective == "ReduceScatter";
  if (scatter && held(total) % group.size() != 0) return "divisible";
  const std::size_t share = held(total) / group.size();
  for (const std::uint32_t device : group) {
    const bool nothing = scatter || (step.collective == "Reduce" && device != group[0]);
    rows_[device] = nothing ? Numbers(chunks_, 0) : total;
  }
  for (std::size_t r = 0, index = 0; scatter && r < chunks_; ++r) {
    if (total[r] != 0) rows_[group[index++ / share]][r] = total[r];
  }
  return nullptr;
}

void System::take(const Step& step, const std::string& name) {
  for (const Numbers& group : step.groups) {
    const char* broken = run(step, group);
    if (broken == nullptr) continue;
    reject(name + ", group of device " + std::to_string(group[0]) + ": " + broken + " fails");
  }
}

bool System::at_goal(const std::vector<Numbers>& classes) const {
  for (const Numbers& members : classes) {
    for (const std::uint32_t device : members) {
      const std::uint32_t all = rows_[device][0];
      if (sets_.members(all) != members || rows_[device] != Numbers(chunks_, all)) return false;
    }
  }
  return true;
}

}  // namespace p2::kernel

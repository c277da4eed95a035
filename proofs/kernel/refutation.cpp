#include <algorithm>
#include <map>

#include "proofs/kernel/derivation.h"

namespace p2::kernel {
namespace {

using Keys = std::vector<std::string>;

/// What a refutation says beside step and rule.
const std::map<std::string, Keys> kWitness = {
    {"same-chunks", {"group", "devices", "chunk"}},
    {"disjoint", {"group", "devices", "chunk", "contributor"}},
    {"divisible", {"group"}},
    {"disjoint-chunks", {"group", "devices", "chunk"}},
    {"equal-count", {"group", "devices"}},
    {"contained", {"group", "devices", "chunk", "contributor"}},
    {"informative", {"group"}},
    {"empty-group", {"group"}},
    {"master", {}},
    {"goal-lacks", {"devices", "chunk", "contributor"}},
    {"goal-excess", {"devices", "chunk", "contributor"}}};

/// One refutation, and the system in which its witness must be found.
class Refutation {
 public:
  Refutation(const Files& files, const Problem& problem, Derivation& derivation);

  std::string check();

 private:
  bool breaks(const Step& step) const;
  bool misses_goal() const;

  std::uint32_t at(std::uint32_t device) const { return stage_.position[device]; }
  bool has_chunk(std::uint32_t device) const { return system_.rows(at(device))[chunk_] != 0; }
  bool has(std::uint32_t device) const {
    return stage_.part[device] == stage_.part[contributor_] &&
           system_.holds(at(device), chunk_, at(contributor_));
  }
  bool equal(std::uint32_t a, std::uint32_t b) const {
    return system_.rows(at(a)) == system_.rows(at(b)) &&
           (stage_.part[a] == stage_.part[b] || count(a) == 0);
  }
  std::uint32_t count(std::uint32_t device) const { return system_.held(at(device)); }

  const Problem& problem_;
  const Stage& stage_;
  const System& system_;
  std::size_t legal_;  ///< steps that the derivation shows to be legal
  std::string rule_;
  std::size_t step_ = 0;
  Numbers group_, devices_;
  std::uint32_t chunk_ = 0;
  std::uint32_t contributor_ = 0;
};

Refutation::Refutation(const Files& files, const Problem& problem, Derivation& derivation)
    : problem_(problem),
      stage_(derivation.stage()),
      system_(derivation.system()),
      legal_(derivation.steps()) {
  const Json root = parse_json(files, "refutation.json");
  if (!root.is_object() || !root.contains("rule")) malformed("refutation.json names no rule");
  rule_ = expect_text(root["rule"], "rule");
  const auto witness = kWitness.find(rule_);
  if (witness == kWitness.end()) malformed("rule is unknown");
  Keys keys = {"step", "rule"};
  keys.insert(keys.end(), witness->second.begin(), witness->second.end());
  expect_object(root, "refutation.json", keys);
  const std::uint32_t end = problem.devices;
  step_ = expect_number(root["step"], "step", problem.steps.size() + 1);
  if (root.contains("group")) group_ = expect_ascending(root["group"], "group", end);
  if (root.contains("devices")) {
    devices_ = expect_numbers(root["devices"], "devices", end);
    if (devices_.size() != (group_.empty() ? 1 : 2)) malformed("devices are too many or too few");
  }
  if (root.contains("chunk")) chunk_ = expect_number(root["chunk"], "chunk", end);
  if (root.contains("contributor")) {
    contributor_ = expect_number(root["contributor"], "contributor", end);
  }
}

/// Whether the rule is one of the step's and is broken as the witness says.
bool Refutation::breaks(const Step& step) const {
  const Numbers& d = devices_;
  const auto all = [&](auto holds) { return std::all_of(group_.begin(), group_.end(), holds); };
  const bool gathers = step.collective == "AllGather";
  const bool copies = step.collective == "Broadcast";
  if (rule_ == "master") return problem_.forbids(step);
  if (rule_ == "empty-group") return step.instruction && all([&](auto i) { return count(i) == 0; });
  if (rule_ == "same-chunks") return step.adds() && has_chunk(d[0]) && !has_chunk(d[1]);
  if (rule_ == "disjoint") return step.adds() && d[0] != d[1] && has(d[0]) && has(d[1]);
  if (rule_ == "divisible") {
    return step.collective == "ReduceScatter" && count(group_[0]) % group_.size() != 0;
  }
  if (rule_ == "disjoint-chunks") {
    return gathers && d[0] != d[1] && has_chunk(d[0]) && has_chunk(d[1]);
  }
  if (rule_ == "equal-count") return gathers && count(d[0]) != count(d[1]);
  if (rule_ == "contained") return copies && d[0] == group_[0] && !has(d[0]) && has(d[1]);
  return copies && all([&](auto i) { return equal(i, group_[0]); });  // informative
}

/// At the end the device lacks a contribution of its class, or has one of another.
bool Refutation::misses_goal() const {
  const auto among = [](const Numbers& members, std::uint32_t device) {
    return std::binary_search(members.begin(), members.end(), device);
  };
  for (const Numbers& members : problem_.classes) {
    if (!among(members, devices_[0])) continue;
    const bool wanted = among(members, contributor_);
    return wanted != has(devices_[0]) && wanted == (rule_ == "goal-lacks");
  }
  return false;
}

std::string Refutation::check() {
  const bool at_end = rule_.starts_with("goal-");
  if (step_ != (at_end ? legal_ : legal_ + 1)) reject("the derivation does not lead to its step");
  if (at_end) {
    if (legal_ != problem_.steps.size()) reject("the derivation ends before the program");
    if (!misses_goal()) reject("device " + std::to_string(devices_[0]) + ": no " + rule_);
    return rule_ + " after the last step";
  }
  const Step& step = problem_.steps[step_ - 1];
  const auto& groups = step.groups;
  if (!group_.empty() && std::find(groups.begin(), groups.end(), group_) == groups.end()) {
    reject(problem_.name(step_) + " has no such group");
  }
  for (const std::uint32_t device : devices_) {
    if (std::binary_search(group_.begin(), group_.end(), device)) continue;
    reject(problem_.name(step_) + ", device " + std::to_string(device) + ": not in the group");
  }
  if (!breaks(step)) reject(problem_.name(step_) + " does not break rule " + rule_ + " as is said");
  return rule_ + " at " + problem_.name(step_);
}

}  // namespace

std::string check_refutation(const Files& files, const Problem& problem, Derivation& derivation) {
  return Refutation(files, problem, derivation).check();
}

}  // namespace p2::kernel

#include <algorithm>

#include "proofs/kernel/claims.h"
#include "proofs/kernel/input.h"
#include "proofs/kernel/problem.h"

namespace p2::kernel {
namespace {

/// A list whose numbers belong together two by two.
std::vector<std::pair<std::uint32_t, std::uint32_t>> in_pairs(const Numbers& flat) {
  if (flat.size() % 2 != 0) malformed("a list of pairs has odd length");
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::size_t i = 0; i < flat.size(); i += 2) pairs.emplace_back(flat[i], flat[i + 1]);
  return pairs;
}

/// derivation.json, replayed. Rejects if a step is illegal or yields other states than recorded.
struct Derivation {
  Derivation(const Files& files, const Problem& problem, Budget& given) : budget(given) {
    const Json root = parse_json(files, "derivation.json");
    expect_keys(root, {"symmetry", "sets", "states", "systems"});
    const std::size_t systems = as_list(root["systems"]).size();
    if (systems == 0) malformed("systems is empty");
    if (systems - 1 > problem.steps.size()) reject("more systems than steps");
    budget.spend(systems * (problem.classes.size() + problem.devices));
    const std::string& symmetry = as_text(root["symmetry"]);
    if (symmetry != "none" && symmetry != "classes") malformed("symmetry is unknown");
    const auto first = problem.steps.begin();
    stage = (symmetry == "none" ? whole_system : first_class)(
        problem, {first, first + static_cast<std::ptrdiff_t>(systems - 1)});
    system.emplace(stage, budget);
    read_sets(root["sets"]);
    read_states(root["states"]);
    compare(root["systems"][0], "before the first step");
    for (std::size_t n = 1; n < systems; ++n) {
      if (!stage.steps[n - 1].allowed(problem.published))
        reject(problem.name(n) + ": not allowed with Master");
      system->take(stage.steps[n - 1], problem.name(n));
      compare(root["systems"][n], "after " + problem.name(n));
    }
  }

  /// Sets are written as runs, begin and end in turn.
  void read_sets(const Json& value) {
    for (const Json& item : as_list(value)) {
      Numbers& set = sets.emplace_back();
      for (const auto& [begin, end] :
           in_pairs(as_ascending(item, std::uint64_t{stage.chunks} + 1))) {
        budget.spend(end - begin + 1);
        for (std::uint32_t index = begin; index < end; ++index) set.push_back(index);
      }
    }
  }

  void read_states(const Json& value) {
    for (const Json& item : as_list(value)) {
      budget.spend(2 * std::uint64_t{stage.chunks});
      Numbers& rows = states.emplace_back(stage.chunks, 0);
      for (const auto& [chunks, set] : in_pairs(as_numbers(item, sets.size()))) {
        const std::uint32_t contributors = system->sets().number(sets[set]);
        for (const std::uint32_t chunk : sets[chunks]) {
          if (rows[chunk] != 0) malformed("the pieces of a state overlap");
          rows[chunk] = contributors;
        }
      }
    }
  }

  /// `recorded` says of runs of devices which state they are in.
  void compare(const Json& recorded, const std::string& when) {
    std::uint32_t device = 0;
    for (const auto& [state, count] : in_pairs(as_numbers(recorded, UINT32_MAX))) {
      if (state >= states.size() || count == 0 || count > stage.devices - device) {
        malformed("a system has a wrong entry or too many devices");
      }
      for (const std::uint32_t end = device + count; device < end; ++device) {
        budget.spend(stage.chunks);
        if (system->rows(device) != states[state]) {
          reject("device " + std::to_string(device) + " " + when + ": the recorded state is wrong");
        }
      }
    }
    if (device != stage.devices) malformed("a system has too few devices");
  }

  Budget& budget;
  Stage stage;
  std::vector<Numbers> sets;
  std::vector<Numbers> states;   ///< by chunk the number of the set, as System numbers it
  std::optional<System> system;  ///< after the last recorded step, on the stage
};

/// The rule that the group breaks in the step after the stage's last. Positions are ambiguous
/// across classes, so a group that spans classes is replayed on the whole system.
const char* broken_rule(const Problem& problem, Derivation& derivation, Numbers group) {
  const Stage& stage = derivation.stage;
  const std::size_t legal = stage.steps.size();
  const auto inside = [&](std::uint32_t d) { return stage.part[d] == stage.part[group[0]]; };
  if (std::ranges::all_of(group, inside)) {
    for (std::uint32_t& device : group) device = stage.position[device];
    return derivation.system->run(problem.steps[legal], group);
  }
  System whole(whole_system(problem, {}), derivation.budget);
  for (std::size_t n = 1; n <= legal; ++n) whole.take(problem.steps[n - 1], problem.name(n));
  return whole.run(problem.steps[legal], group);
}

/// Rejects unless refutation.json is right. Returns the refutation in words.
std::string check_violation(const Files& files, const Problem& problem, Derivation& derivation) {
  const Json root = parse_json(files, "refutation.json");
  const bool whole = root.contains("rule") && (root["rule"] == "goal" || root["rule"] == "master");
  if (whole) expect_keys(root, {"step", "rule"});
  if (!whole) expect_keys(root, {"step", "rule", "group"});
  const std::string& rule = as_text(root["rule"]);
  const std::size_t step = as_number(root["step"], problem.steps.size() + 1);
  const std::size_t legal = derivation.stage.steps.size();
  if (rule == "goal") {
    if (step != problem.steps.size() || step != legal) reject("the step is not the last one");
    if (derivation.system->at_goal(derivation.stage.classes)) reject("the goal is reached");
    return "the goal is not reached after the last step";
  }
  if (step != legal + 1) reject("the derivation does not lead to its step");
  const std::string name = problem.name(step);
  const Step& refused = problem.steps[legal];
  if (rule == "master") {
    if (refused.allowed(problem.published)) reject(name + " is not a Master step, or is allowed");
    return "master at " + name;
  }
  const Numbers group = as_ascending(root["group"], problem.devices);
  if (std::ranges::count(refused.groups, group) == 0) reject(name + " has no such group");
  const char* broken = broken_rule(problem, derivation, group);
  if (broken == nullptr || rule != broken) reject(name + " does not break rule " + rule + " there");
  return rule + " at " + name;
}

}  // namespace

std::string judge_program(const std::string& claim, const Json& statement, const Files& files) {
  Budget budget;
  const Json& root = statement["problem.json"];
  const bool beyond = claim == "not-expressible";
  using Keys = std::vector<std::string>;
  const Problem problem = read_problem(root, beyond ? Keys{"steps", "to"} : Keys{"steps"}, budget);
  const std::size_t steps = problem.steps.size();
  if (beyond && !problem.instance) malformed("problem.json has no hierarchy");
  for (std::size_t n = 1; beyond && n <= steps; ++n) {
    if (!problem.steps[n - 1].instruction) {
      reject(problem.name(n) + " is not an instruction over " + problem.instance->kind);
    }
  }
  Derivation derivation(files, problem, budget);
  std::string verdict = "valid";
  if (claim == "program-invalid") {
    verdict = "invalid: " + check_violation(files, problem, derivation);
  } else if (derivation.stage.steps.size() != steps) {
    reject("the derivation ends before the program");
  } else if (!derivation.system->at_goal(derivation.stage.classes)) {
    reject("the goal is not reached");
  }
  if (beyond) {
    const Numbers lacking = problem.lacking(problem.steps, root, budget);
    if (lacking.empty()) reject("all steps are instructions over " + as_text(root["to"]));
    verdict += ", all its steps are instructions over " + problem.instance->kind + ", and " +
               problem.name(lacking[0] + 1) + " is none over " + as_text(root["to"]);
  }
  std::string program = counted(steps, "step");
  for (std::size_t n = 0; n < steps; ++n)
    program += (n == 0 ? ": " : "; ") + problem.steps[n].text();
  return "the program is " + verdict + " (" + problem.words() + "; " + shortened(program) + ")";
}

}  // namespace p2::kernel

#include "proofs/kernel/derivation.h"

#include <algorithm>
#include <set>

namespace p2::kernel {
namespace {

Stage whole_system(const Problem& problem, std::size_t steps) {
  Stage stage{problem, Numbers(problem.devices, 0), {}};
  stage.problem.steps.resize(steps);
  for (std::uint32_t d = 0; d < problem.devices; ++d) stage.position.push_back(d);
  return stage;
}

/// The groups of one step inside every class, in positions.
std::vector<std::vector<Numbers>> groups_by_class(const Stage& stage, const Step& step) {
  std::vector<std::vector<Numbers>> inside(stage.problem.classes.size());
  for (const Numbers& group : step.groups) {
    Numbers& positions = inside[stage.part[group[0]]].emplace_back();
    for (const std::uint32_t device : group) {
      if (stage.part[device] != stage.part[group[0]]) reject("symmetry: a group crosses classes");
      positions.push_back(stage.position[device]);
    }
  }
  for (auto& groups : inside) std::sort(groups.begin(), groups.end());
  return inside;
}

/// The first class, after checking that every class is its image.
Stage first_class(const Problem& problem, std::size_t steps) {
  Stage stage = whole_system(problem, steps);
  stage.problem.devices = static_cast<std::uint32_t>(problem.classes[0].size());
  for (std::uint32_t part = 0; part < problem.classes.size(); ++part) {
    const Numbers& members = problem.classes[part];
    if (members.size() != stage.problem.devices) reject("symmetry: the classes differ in size");
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      stage.part[members[i]] = part;
      stage.position[members[i]] = i;
    }
  }
  for (Step& step : stage.problem.steps) {
    const auto inside = groups_by_class(stage, step);
    if (std::count(inside.begin(), inside.end(), inside[0]) != std::ssize(inside)) {
      reject("symmetry: a step forms other groups in another class");
    }
    step.groups = inside[0];
  }
  Numbers everyone;
  for (std::uint32_t i = 0; i < stage.problem.devices; ++i) everyone.push_back(i);
  stage.problem.classes = {everyone};
  return stage;
}

}  // namespace

Derivation::Derivation(const Files& files, const Problem& problem, Budget& budget) {
  const Json root = parse_json(files, "derivation.json");
  expect_object(root, "derivation.json", {"symmetry", "sets", "states", "systems"});
  const std::size_t systems = expect_array(root["systems"], "systems").size();
  if (systems == 0) malformed("systems is empty");
  if (systems - 1 > problem.steps.size()) reject("the derivation has more steps than the program");
  budget.spend(systems * (problem.classes.size() + problem.devices));
  const std::string& symmetry = expect_text(root["symmetry"], "symmetry");
  if (symmetry != "none" && symmetry != "classes") malformed("symmetry is unknown");
  stage_ = (symmetry == "none" ? whole_system : first_class)(problem, systems - 1);
  for (const Json& item : expect_array(root["sets"], "sets")) {
    sets_.push_back(expect_ascending(item, "a set", std::uint64_t{problem.devices} + 1));
    const auto number = static_cast<std::uint32_t>(numbers_.size());
    const bool fresh = numbers_.emplace(sets_.back(), number).second;
    if (sets_.back().size() % 2 != 0 || !fresh) malformed("a set is cut off or occurs twice");
  }
  read_states(root["states"], budget);
  read_systems(root["systems"]);
}

void Derivation::read_states(const Json& list, Budget& budget) {
  std::set<State> seen;
  for (const Json& item : expect_array(list, "states")) {
    const Numbers flat = expect_numbers(item, "a state", sets_.size());
    if (flat.size() % 2 != 0) malformed("a state is cut off");
    State state;
    std::vector<const Runs*> chunks;
    std::set<std::uint32_t> contents;
    for (std::size_t i = 0; i < flat.size(); i += 2) {
      state.push_back({flat[i], flat[i + 1]});
      const Runs& piece = sets_[flat[i]];
      if (i > 0 && chunks.back()->front() >= piece.front()) malformed("a state is not in order");
      if (sets_[flat[i + 1]].back() > stage_.problem.devices) malformed("a contributor is unknown");
      if (!contents.insert(flat[i + 1]).second) malformed("a state has two pieces alike");
      chunks.push_back(&piece);
      budget.spend(16 * piece.size());  // dear, because held() keeps them
    }
    Union all = unite(chunks);
    if (all.clash) malformed("the pieces of a state overlap");
    held_.push_back(std::move(all.runs));
    if (!seen.insert(state).second) malformed("a state occurs twice");
    states_.push_back(std::move(state));
  }
}

void Derivation::read_systems(const Json& list) {
  for (const Json& item : list) {
    const Numbers flat = expect_numbers(item, "a system", UINT32_MAX);
    if (flat.size() % 2 != 0) malformed("a system is cut off");
    std::uint64_t devices = 0;
    for (std::size_t i = 0; i < flat.size(); i += 2) {
      if (flat[i] >= states_.size() || flat[i + 1] == 0) malformed("a system has a wrong entry");
      devices += flat[i + 1];
    }
    if (devices != stage_.problem.devices) malformed("a system has too many or too few devices");
    systems_.push_back(flat);
  }
}

Numbers Derivation::system(std::size_t step) const {
  Numbers system;
  const Numbers& flat = systems_[step];
  for (std::size_t i = 0; i < flat.size(); i += 2) {
    system.insert(system.end(), flat[i + 1], flat[i]);
  }
  return system;
}

std::optional<std::uint32_t> Derivation::number_of(const Runs& set) const {
  const auto found = numbers_.find(set);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

const Runs* Derivation::row(std::uint32_t state, std::uint32_t chunk) const {
  for (const Piece& piece : states_[state]) {
    if (contains(sets_[piece.chunks], chunk)) return &sets_[piece.contributors];
  }
  return nullptr;
}

}  // namespace p2::kernel

#include "proofs/kernel/derivation.h"

#include <algorithm>
#include <set>

namespace p2::kernel {
namespace {

Stage whole_system(const Problem& problem, std::size_t steps) {
  Stage stage{problem.devices, problem.devices, problem.classes, {}, {}, {}};
  stage.steps.assign(problem.steps.begin(),
                     problem.steps.begin() + static_cast<std::ptrdiff_t>(steps));
  stage.part.assign(problem.devices, 0);
  for (std::uint32_t d = 0; d < problem.devices; ++d) stage.position.push_back(d);
  return stage;
}

/// The groups of one step inside every class, in positions.
std::vector<std::vector<Numbers>> groups_by_class(const Stage& stage, const Step& step,
                                                  std::size_t classes) {
  std::vector<std::vector<Numbers>> inside(classes);
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
    const auto inside = groups_by_class(stage, step, problem.classes.size());
    if (std::count(inside.begin(), inside.end(), inside[0]) != std::ssize(inside)) {
      reject("symmetry: a step forms other groups in another class");
    }
    step.groups = inside[0];
  }
  stage.classes.assign(1, Numbers(stage.devices));
  for (std::uint32_t i = 0; i < stage.devices; ++i) stage.classes[0][i] = i;
  return stage;
}

}  // namespace

Derivation::Derivation(const Files& files, const Problem& problem, Budget& budget) {
  const Json root = parse_json(files, "derivation.json");
  expect_object(root, "derivation.json", {"symmetry", "sets", "states", "systems"});
  const std::size_t systems = expect_array(root["systems"], "systems").size();
  if (systems == 0) malformed("systems is empty");
  if (systems - 1 > problem.steps.size()) reject("the derivation has more steps than the program");
  budget.spend(systems * problem.classes.size());
  const std::string& symmetry = expect_text(root["symmetry"], "symmetry");
  if (symmetry != "none" && symmetry != "classes") malformed("symmetry is unknown");
  stage_ = symmetry == "none" ? whole_system(problem, systems - 1)
                              : first_class(problem, systems - 1);
  read_sets(root["sets"]);
  read_states(root["states"], budget);
  read_systems(root["systems"]);
}

void Derivation::read_sets(const Json& list) {
  for (const Json& item : expect_array(list, "sets")) {
    sets_.push_back(expect_ascending(item, "a set", stage_.chunks + 1));
    const bool fresh = numbers_.emplace(sets_.back(), numbers_.size()).second;
    if (sets_.back().size() % 2 != 0 || !fresh) malformed("a set is cut off or occurs twice");
  }
}

void Derivation::read_states(const Json& list, Budget& budget) {
  std::set<State> seen;
  for (const Json& item : expect_array(list, "states")) {
    const Numbers flat =
        expect_numbers(item, "a state", static_cast<std::uint32_t>(sets_.size()));
    if (flat.size() % 2 != 0) malformed("a state is cut off");
    State& state = states_.emplace_back();
    std::vector<const Runs*> chunks;
    std::set<std::uint32_t> contributors;
    for (std::size_t i = 0; i < flat.size(); i += 2) {
      const Runs& piece = sets_[flat[i]];
      if (i > 0 && chunks.back()->front() >= piece.front()) malformed("a state is not in order");
      if (sets_[flat[i + 1]].back() > stage_.devices) malformed("a contributor does not exist");
      if (!contributors.insert(flat[i + 1]).second) malformed("a state has two pieces alike");
      state.push_back({flat[i], flat[i + 1]});
      chunks.push_back(&piece);
      budget.spend(16 * piece.size());  // they are kept in memory until the check ends
    }
    Union all = unite(chunks);
    if (all.clash) malformed("the pieces of a state overlap");
    if (!seen.insert(state).second) malformed("a state occurs twice");
    held_.push_back(std::move(all.runs));
  }
}

void Derivation::read_systems(const Json& list) {
  for (const Json& item : list) {
    systems_.push_back(expect_numbers(item, "a system", UINT32_MAX));
    const Numbers& flat = systems_.back();
    std::uint64_t devices = 0;
    for (std::size_t i = 0; i + 1 < flat.size(); i += 2) {
      if (flat[i] >= states_.size() || flat[i + 1] == 0) malformed("a system has a bad entry");
      devices += flat[i + 1];
    }
    if (flat.size() % 2 != 0 || devices != stage_.devices) malformed("a system is not all devices");
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

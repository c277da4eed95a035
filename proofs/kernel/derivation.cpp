#include "proofs/kernel/derivation.h"

namespace p2::kernel {
namespace {

/// A list whose numbers belong together two by two.
std::vector<std::pair<std::uint32_t, std::uint32_t>> in_pairs(const Numbers& flat) {
  if (flat.size() % 2 != 0) malformed("a list of pairs is cut off");
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::size_t i = 0; i < flat.size(); i += 2) pairs.emplace_back(flat[i], flat[i + 1]);
  return pairs;
}

}  // namespace

Derivation::Derivation(const Files& files, const Problem& problem, Budget& budget)
    : budget_(budget) {
  const Json root = parse_json(files, "derivation.json");
  expect_keys(root, {"symmetry", "sets", "states", "systems"});
  const std::size_t systems = as_list(root["systems"]).size();
  if (systems == 0) malformed("systems is empty");
  if (systems - 1 > problem.steps.size()) reject("the derivation has more steps than the program");
  budget.spend(systems * (problem.classes.size() + problem.devices));
  const std::string& symmetry = as_text(root["symmetry"]);
  if (symmetry != "none" && symmetry != "classes") malformed("symmetry is unknown");
  const auto first = problem.steps.begin();
  stage_ = (symmetry == "none" ? whole_system : first_class)(
      problem, {first, first + static_cast<std::ptrdiff_t>(systems - 1)});
  system_.emplace(stage_, budget);
  read_sets(root["sets"]);
  read_states(root["states"]);
  compare(root["systems"][0], "before the first step");
  for (std::size_t n = 1; n < systems; ++n) {
    if (!stage_.steps[n - 1].allowed(problem.published))
      reject(problem.name(n) + ": not allowed with Master");
    system_->take(stage_.steps[n - 1], problem.name(n));
    compare(root["systems"][n], "after " + problem.name(n));
  }
}

/// Sets are written as runs, begin and end in turn.
void Derivation::read_sets(const Json& value) {
  for (const Json& item : as_list(value)) {
    Numbers& set = sets_.emplace_back();
    for (const auto& [begin, end] :
         in_pairs(as_ascending(item, std::uint64_t{stage_.chunks} + 1))) {
      budget_.spend(end - begin + 1);
      for (std::uint32_t index = begin; index < end; ++index) set.push_back(index);
    }
  }
}

void Derivation::read_states(const Json& value) {
  for (const Json& item : as_list(value)) {
    budget_.spend(2 * std::uint64_t{stage_.chunks});
    Numbers& rows = states_.emplace_back(stage_.chunks, 0);
    for (const auto& [chunks, set] : in_pairs(as_numbers(item, sets_.size()))) {
      const std::uint32_t contributors = system_->sets().number(sets_[set]);
      for (const std::uint32_t chunk : sets_[chunks]) {
        if (rows[chunk] != 0) malformed("the pieces of a state overlap");
        rows[chunk] = contributors;
      }
    }
  }
}

/// `recorded` says of runs of devices which state they are in.
void Derivation::compare(const Json& recorded, const std::string& when) {
  std::uint32_t device = 0;
  for (const auto& [state, count] : in_pairs(as_numbers(recorded, UINT32_MAX))) {
    if (state >= states_.size() || count == 0 || count > stage_.devices - device) {
      malformed("a system has a wrong entry or too many devices");
    }
    for (const std::uint32_t end = device + count; device < end; ++device) {
      budget_.spend(stage_.chunks);
      if (system_->rows(device) != states_[state]) {
        reject("device " + std::to_string(device) + " " + when + ": the recorded state is wrong");
      }
    }
  }
  if (device != stage_.devices) malformed("a system has too few devices");
}

}  // namespace p2::kernel

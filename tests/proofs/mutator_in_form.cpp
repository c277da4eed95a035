#include <algorithm>
#include <iterator>

#include "tests/proofs/mutator.h"

namespace p2::proofs {
namespace {

constexpr const char* kCollectives[] = {"AllReduce", "ReduceScatter", "AllGather", "Reduce",
                                        "Broadcast"};
constexpr const char* kRules[] = {"same-chunks", "disjoint",  "divisible",   "disjoint-chunks",
                                  "equal-count", "contained", "informative", "empty-group",
                                  "master",      "goal"};

}  // namespace

void Mutator::in_form(CertificateFiles& files) {
  Json problem = Json::parse(files["problem.json"], nullptr, false);
  Json derivation = Json::parse(files["derivation.json"], nullptr, false);
  try {
    const std::size_t what = below(4);
    if (what < 2) change_problem(problem, derivation);
    if (what > 1) change_derivation(derivation);
    if (what > 2 && files.contains("refutation.json")) {
      Json refutation = Json::parse(files["refutation.json"], nullptr, false);
      change_refutation(refutation, problem.at("steps"));
      files["refutation.json"] = refutation.dump();
    }
    files["problem.json"] = problem.dump();
    files["derivation.json"] = derivation.dump();
  } catch (const std::exception&) {
    return;  // an earlier change left nothing here to change in form
  }
}

void Mutator::change_problem(Json& problem, Json& derivation) {
  Json& steps = problem.at("steps");
  Json& systems = derivation.at("systems");
  if (below(12) == 0) {
    problem["dialect"] = problem.at("dialect") == "printed" ? "published" : "printed";
  } else if (below(6) == 0 && !problem.contains("hierarchy")) {
    change_groups(problem.at("classes"));
  } else if (steps.empty() || below(3) == 0) {
    change_steps(steps, systems);
  } else if (Json& step = any(steps); below(2) == 0) {
    step["collective"] = kCollectives[below(5)];
  } else {
    if (below(2) == 0) step.erase("slice"), step.erase("form");  // its groups stand alone then
    change_groups(step.at("groups"));
  }
}

/// Drops, doubles or swaps steps, half of the time with the states that follow them.
void Mutator::change_steps(Json& steps, Json& systems) {
  if (steps.empty()) {
    steps.push_back({{"collective", kCollectives[below(5)]}, {"groups", {{0U}}}});
    systems.push_back(Json(systems.at(0)));
    return;
  }
  const std::size_t at = below(steps.size());
  const bool both = below(2) == 0 && at + 1 < systems.size();
  switch (below(3)) {
    case 0:
      steps.erase(at);
      if (both) systems.erase(at + 1);
      return;
    case 1:
      steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(at), Json(steps[at]));
      if (both)
        systems.insert(systems.begin() + static_cast<std::ptrdiff_t>(at), Json(systems[at]));
      return;
    default:
      std::swap(steps[at], any(steps));
  }
}

/// Moves a device to another group, or exchanges two, or drops a group; groups stay ascending.
void Mutator::change_groups(Json& groups) {
  Json& from = any(groups);
  Json& to = any(groups);
  const std::size_t at = below(from.size());
  if (below(4) == 0 && groups.size() > 1) {
    groups.erase(below(groups.size()));
  } else if (below(2) == 0) {
    std::swap(from[at], any(to));
  } else if (from.size() > 1) {
    const Json device = from[at];
    from.erase(at);
    if (below(3) != 0) to.push_back(device);
  }
  for (Json& group : groups) std::sort(group.begin(), group.end());
  std::sort(groups.begin(), groups.end());
}

void Mutator::change_derivation(Json& derivation) {
  Json& states = derivation.at("states");
  Json& systems = derivation.at("systems");
  const std::size_t sets = derivation.at("sets").size();
  switch (below(8)) {
    case 0:
      derivation["symmetry"] = derivation.at("symmetry") == "none" ? "classes" : "none";
      return;
    case 1:
      std::swap(any(systems), any(systems));
      return;
    case 2:
      any(systems) = Json(any(systems));
      return;
    case 3:
      if (Json& state = any(states); !state.empty()) any(state) = below(sets);
      return;
    case 4: {
      Json& bound = any(any(derivation.at("sets")));
      bound = bound.get<std::size_t>() + 2 * below(2) - (bound > 0U ? 1U : 0U);
      return;
    }
    default:
      change_system(any(systems), states.size());
  }
}

/// Gives some devices another state; the number of devices stays.
void Mutator::change_system(Json& system, std::size_t states) {
  const std::size_t at = 2 * below(system.size() / 2);
  const std::size_t count = system.at(at + 1);
  const std::size_t part = 1 + below(count);
  Json changed = Json::array();
  for (std::size_t i = 0; i < system.size(); i += 2) {
    if (i != at) {
      changed.insert(changed.end(), {system[i], system[i + 1]});
      continue;
    }
    changed.insert(changed.end(), {Json(below(states)), Json(part)});
    if (part < count) changed.insert(changed.end(), {system[i], Json(count - part)});
  }
  system = changed;
}

void Mutator::change_refutation(Json& refutation, Json& steps) {
  if (below(2) == 0) refutation["rule"] = kRules[below(std::size(kRules))];
  if (below(3) == 0) refutation["step"] = below(steps.size() + 1);
  const bool whole = refutation["rule"] == "goal" || refutation["rule"] == "master";
  if (whole) {
    refutation.erase("group");
  } else if (below(2) == 0 || !refutation.contains("group")) {
    refutation["group"] = any(any(steps).at("groups"));
  }
}

}  // namespace p2::proofs

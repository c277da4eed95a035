#include "tests/proofs/mutator.h"

#include <algorithm>
#include <iterator>

namespace p2::proofs {
namespace {

constexpr const char* kReplacementWords[] = {"AllReduce",
                                             "Reduce",
                                             "Broadcast",
                                             "printed",
                                             "published",
                                             "InsideGroup",
                                             "node",
                                             "root",
                                             "gpu",
                                             "Parallel",
                                             "Parallel(root)",
                                             "Master(root)",
                                             "Master(node)",
                                             "{node.data}",
                                             "collapsed",
                                             "lattice",
                                             "a",
                                             "c",
                                             "d",
                                             "none",
                                             "classes",
                                             "same-chunks",
                                             "disjoint",
                                             "divisible",
                                             "equal-count",
                                             "contained",
                                             "informative",
                                             "empty-group",
                                             "goal",
                                             "master",
                                             "disjoint-chunks"};

}  // namespace

std::string Mutator::mutate(CertificateFiles& files) {
  std::string claim = claim_of(files);
  files.erase("manifest.json");
  for (std::size_t times = 1 + below(3); times > 0; --times) {
    if (below(2) == 0)
      blindly(files);
    else
      in_form(files);
  }
  if (below(40) == 0) {
    claim = claim == "program-valid" ? "program-invalid" : "program-valid";
    if (claim == "program-valid") files.erase("refutation.json");
  }
  reseal(claim, files);
  return claim;
}

void Mutator::blindly(CertificateFiles& files) {
  auto file = files.begin();
  std::advance(file, below(files.size()));
  json parsed = json::parse(file->second, nullptr, false);
  if (below(10) == 0 || parsed.is_discarded()) {
    file->second[below(file->second.size())] ^= static_cast<char>(1U << below(8));
  } else {
    change(parsed);
    file->second = parsed.dump();
  }
}

/// Changes one place of a document.
void Mutator::change(json& root) {
  json* node = &root;
  while (node->is_structured() && !node->empty() && below(6) != 0) {
    auto place = node->begin();
    std::advance(place, below(node->size()));
    node = &*place;
  }
  if (node->is_array()) return change_list(*node);
  if (node->is_object()) return change_object(*node);
  if (node->is_string()) {
    *node = kReplacementWords[below(std::size(kReplacementWords))];
  } else if (node->is_number()) {
    const auto number = node->get<std::int64_t>();
    const std::int64_t others[] = {number + 1, number - 1, 0, static_cast<int>(below(8)), 1 << 20};
    const std::int64_t other = others[below(std::size(others))];
    *node = other < 0 ? json(other) : json(static_cast<std::uint64_t>(other));
  }
}

void Mutator::change_list(json& list) {
  if (list.empty()) return list.push_back(below(4));
  const std::size_t at = below(list.size());
  const auto place = list.begin() + static_cast<std::ptrdiff_t>(at);
  switch (below(5)) {
    case 0:
      list.erase(place);
      return;
    case 1:
      list.insert(place, json(*place));
      return;
    case 2:
      std::swap(list[at], any(list));
      return;
    case 3:
      list[at] = json(any(list));
      return;
    default:
      list.push_back(list[at].is_number() ? json(below(8)) : json(any(list)));
  }
}

void Mutator::change_object(json& object) {
  if (object.empty()) return;
  auto place = object.begin();
  std::advance(place, below(object.size()));
  const json value = *place;
  if (below(2) == 0) {
    object[place.key() + "s"] = value;
  } else {
    object.erase(place.key());
  }
}

namespace {

constexpr const char* kCollectiveNames[] = {"AllReduce", "ReduceScatter", "AllGather", "Reduce",
                                            "Broadcast"};
constexpr const char* kRuleNames[] = {"same-chunks", "disjoint",  "divisible",   "disjoint-chunks",
                                      "equal-count", "contained", "informative", "empty-group",
                                      "master",      "goal"};

}  // namespace

void Mutator::in_form(CertificateFiles& files) {
  json problem = json::parse(files["problem.json"], nullptr, false);
  json derivation = json::parse(files["derivation.json"], nullptr, false);
  try {
    const std::size_t what = below(4);
    if (what < 2) change_problem(problem, derivation);
    if (what > 1) change_derivation(derivation);
    if (what > 2 && files.contains("refutation.json")) {
      json refutation = json::parse(files["refutation.json"], nullptr, false);
      change_refutation(refutation, problem.at("steps"));
      files["refutation.json"] = refutation.dump();
    }
    files["problem.json"] = problem.dump();
    files["derivation.json"] = derivation.dump();
  } catch (const std::exception&) {
    return;  // an earlier change left nothing here to change in form
  }
}

void Mutator::change_problem(json& problem, json& derivation) {
  json& steps = problem.at("steps");
  json& systems = derivation.at("systems");
  if (below(12) == 0) {
    problem["dialect"] = problem.at("dialect") == "printed" ? "published" : "printed";
  } else if (below(6) == 0 && !problem.contains("hierarchy")) {
    change_groups(problem.at("classes"));
  } else if (steps.empty() || below(3) == 0) {
    change_steps(steps, systems);
  } else if (json& step = any(steps); below(2) == 0) {
    step["collective"] = kCollectiveNames[below(5)];
  } else {
    if (below(2) == 0) step.erase("slice"), step.erase("form");  // its groups stand alone then
    change_groups(step.at("groups"));
  }
}

/// Drops, doubles or swaps steps, half of the time with the states that follow them.
void Mutator::change_steps(json& steps, json& systems) {
  if (steps.empty()) {
    steps.push_back({{"collective", kCollectiveNames[below(5)]}, {"groups", {{0U}}}});
    systems.push_back(json(systems.at(0)));
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
      steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(at), json(steps[at]));
      if (both)
        systems.insert(systems.begin() + static_cast<std::ptrdiff_t>(at), json(systems[at]));
      return;
    default:
      std::swap(steps[at], any(steps));
  }
}

/// Moves a device to another group, or exchanges two, or drops a group; groups stay ascending.
void Mutator::change_groups(json& groups) {
  json& from = any(groups);
  json& to = any(groups);
  const std::size_t at = below(from.size());
  if (below(4) == 0 && groups.size() > 1) {
    groups.erase(below(groups.size()));
  } else if (below(2) == 0) {
    std::swap(from[at], any(to));
  } else if (from.size() > 1) {
    const json device = from[at];
    from.erase(at);
    if (below(3) != 0) to.push_back(device);
  }
  for (json& group : groups) std::sort(group.begin(), group.end());
  std::sort(groups.begin(), groups.end());
}

void Mutator::change_derivation(json& derivation) {
  json& states = derivation.at("states");
  json& systems = derivation.at("systems");
  const std::size_t sets = derivation.at("sets").size();
  switch (below(8)) {
    case 0:
      derivation["symmetry"] = derivation.at("symmetry") == "none" ? "classes" : "none";
      return;
    case 1:
      std::swap(any(systems), any(systems));
      return;
    case 2:
      any(systems) = json(any(systems));
      return;
    case 3:
      if (json& state = any(states); !state.empty()) any(state) = below(sets);
      return;
    case 4: {
      json& bound = any(any(derivation.at("sets")));
      bound = bound.get<std::size_t>() + 2 * below(2) - (bound > 0U ? 1U : 0U);
      return;
    }
    default:
      change_system(any(systems), states.size());
  }
}

/// Gives some devices another state; the number of devices stays.
void Mutator::change_system(json& system, std::size_t states) {
  const std::size_t at = 2 * below(system.size() / 2);
  const std::size_t count = system.at(at + 1);
  const std::size_t part = 1 + below(count);
  json changed = json::array();
  for (std::size_t i = 0; i < system.size(); i += 2) {
    if (i != at) {
      changed.insert(changed.end(), {system[i], system[i + 1]});
      continue;
    }
    changed.insert(changed.end(), {json(below(states)), json(part)});
    if (part < count) changed.insert(changed.end(), {system[i], json(count - part)});
  }
  system = changed;
}

void Mutator::change_refutation(json& refutation, json& steps) {
  if (below(2) == 0) refutation["rule"] = kRuleNames[below(std::size(kRuleNames))];
  if (below(3) == 0) refutation["step"] = below(steps.size() + 1);
  const bool whole = refutation["rule"] == "goal" || refutation["rule"] == "master";
  if (whole) {
    refutation.erase("group");
  } else if (below(2) == 0 || !refutation.contains("group")) {
    refutation["group"] = any(any(steps).at("groups"));
  }
}

}  // namespace p2::proofs

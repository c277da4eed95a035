#include "proofs/kernel/claims.h"

#include <algorithm>

#include "proofs/kernel/system.h"

namespace p2::kernel {
namespace {

constexpr std::uint32_t kMostSize = 64;

struct Claim {
  Problem problem;
  Search search;
  std::string words;
};

std::vector<Numbers> read_programs(const Json& value, const Search& search, Budget& budget) {
  std::vector<Numbers> programs;
  for (const Json& item : as_list(value)) {
    programs.push_back(as_numbers(item, search.stage.steps.size()));
    budget.spend(programs.back().size() + 8);
    if (programs.back().size() > search.size) reject("a program is longer than size");
  }
  if (std::ranges::adjacent_find(programs) != programs.end()) reject("a program is listed twice");
  if (!std::ranges::is_sorted(programs)) malformed("programs are not in order");
  return programs;
}

/// Every collective on every set of disjoint groups of at least two devices, in order; searched for
/// are programs that use one with a group across classes.
Claim among_any_groups(const Json& root, Budget& budget) {
  const Problem problem = read_problem(root, {"size"}, budget);
  if (problem.instance) malformed("problem.json has a hierarchy");
  std::vector<Step> choices;
  Numbers uses;
  for (const std::vector<Numbers>& groups : disjoint_groups(problem.devices)) {
    for (const char* collective : kCollectives) {
      if (problem.mixes(groups)) uses.push_back(static_cast<std::uint32_t>(choices.size()));
      choices.push_back({collective, {}, {}, groups});
    }
  }
  return {problem,
          {whole_system(problem, choices), as_number(root["size"], kMostSize + 1), {}, uses},
          "no group across classes holds anything in valid programs"};
}

Claim among_instructions(const std::string& name, const Json& root, Budget& budget) {
  Claim claim;
  const char* key = name == "unused" ? "uses" : name == "expressible" ? "to" : "programs";
  claim.problem = read_problem(root, {"size", "choices", key}, budget);
  if (!claim.problem.instance) malformed("problem.json has no hierarchy");
  const Instance& instance = *claim.problem.instance;
  const std::vector<Step> choices = instance.choices(claim.problem.published, budget);
  const List& named = as_list(root["choices"]);
  if (named.size() != choices.size()) reject("choices are more or fewer than there are");
  for (std::size_t m = 0; m < choices.size(); ++m) {
    const auto& [collective, slice, form, groups, instruction, master] = choices[m];
    const Json names = {{"slice", slice}, {"form", form}, {"collective", collective}};
    if (named[m] != names) reject("choice " + std::to_string(m) + " is another");
  }
  claim.search.stage = (instance.confined ? first_class : whole_system)(claim.problem, choices);
  claim.search.size = as_number(root["size"], kMostSize + 1);
  if (name == "unused") {
    claim.search.uses.emplace();
    if (root["uses"] != List()) claim.search.uses = as_ascending(root["uses"], choices.size());
    claim.words = "none of the " + std::to_string(claim.search.uses->size()) +
                  " choices named in uses is in valid programs";
  } else if (name == "expressible") {
    claim.search.uses = claim.problem.lacking(choices, root, budget);
    claim.words = "instructions over " + as_text(root["to"]) + " express all valid programs";
  } else {
    claim.search.programs = read_programs(root["programs"], claim.search, budget);
    const std::string n = std::to_string(claim.search.programs.size());
    claim.words = n == "1" ? "there is 1 valid program" : "there are " + n + " valid programs";
  }
  return claim;
}

/// Every program is legal, and reaches the goal after its last step and not before.
void replay(const Search& search, Budget& budget) {
  for (std::size_t number = 0; number < search.programs.size(); ++number) {
    const std::string which = "program " + std::to_string(number) + ": ";
    System system(search.stage, budget);
    for (const std::uint32_t choice : search.programs[number]) {
      if (system.at_goal(search.stage.classes)) reject(which + "it goes on at the goal");
      system.take(search.stage.steps[choice], which + "choice " + std::to_string(choice));
    }
    if (!system.at_goal(search.stage.classes)) reject(which + "the goal is missed");
  }
}

}  // namespace

std::string judge_absence(const std::string& name, const Files& files) {
  Budget budget;
  const Json root = parse_json(files, "problem.json");
  const Claim claim =
      name == "unmixed" ? among_any_groups(root, budget) : among_instructions(name, root, budget);
  replay(claim.search, budget);
  const auto& stage = claim.search.stage;
  // Bounds the memory of one moment.
  budget.spend(std::uint64_t{stage.devices} * stage.devices * stage.chunks);
  std::string varmap;
  const auto make = [&](const std::function<void(const Clause&)>& sink) {
    const Variables variables = encode(claim.search, sink);
    varmap = variables.varmap;
    return variables.count;
  };
  check_refutation(files, make, budget);
  if (varmap != files.at("varmap")) reject("varmap is another");
  return claim.words + " of at most " + std::to_string(claim.search.size) + " steps (" +
         std::to_string(claim.problem.devices) + " devices, dialect " + claim.problem.dialect() +
         ")";
}

}  // namespace p2::kernel

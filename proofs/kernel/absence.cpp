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

Claim read_claim(bool lists, const Files& files, Budget& budget) {
  const Json root = parse_json(files, "problem.json");
  Claim claim;
  claim.problem = read_problem(root, {"size", "choices", lists ? "programs" : "to"}, budget);
  if (!claim.problem.instance) malformed("problem.json has no hierarchy");
  const Instance& instance = *claim.problem.instance;
  const std::vector<Step> choices = instance.choices(claim.problem.published, budget);
  if (as_list(root["choices"]).size() != choices.size()) {
    reject("choices are more or fewer than there are");
  }
  for (std::size_t m = 0; m < choices.size(); ++m) {
    const Json names = {{"slice", choices[m].slice},
                        {"form", choices[m].form},
                        {"collective", choices[m].collective}};
    if (root["choices"][m] != names) reject("choice " + std::to_string(m) + " is another");
  }
  claim.search.stage = (instance.confined ? first_class : whole_system)(claim.problem, choices);
  claim.search.size = as_number(root["size"], kMostSize + 1);
  if (lists) {
    claim.search.programs = read_programs(root["programs"], claim.search, budget);
    const std::string count = std::to_string(claim.search.programs.size());
    claim.words =
        "there " + (count == "1" ? "is 1 valid program" : "are " + count + " valid programs");
  } else {
    claim.search.uses = claim.problem.lacking(choices, root, budget);
    claim.words = "instructions over " + as_text(root["to"]) + " express all valid programs";
  }
  return claim;
}

/// Every program is legal, and reaches the goal after its last step and not before.
void replay(const Search& search, Budget& budget) {
  std::size_t number = 0;
  for (const Numbers& program : search.programs) {
    const std::string which = "program " + std::to_string(number++) + ": ";
    System system(search.stage, budget);
    for (const std::uint32_t choice : program) {
      if (system.at_goal(search.stage.classes)) reject(which + "it goes on at the goal");
      system.take(search.stage.steps[choice], which + "choice " + std::to_string(choice));
    }
    if (!system.at_goal(search.stage.classes)) reject(which + "the goal is missed");
  }
}

/// Objects unless every clause of the certificate is one of the claim's, in their order.
void compare_clauses(const Search& search, const Files& files, const Cnf& cnf, Budget& budget) {
  const std::uint64_t devices = search.stage.devices;
  budget.spend(devices * devices * search.stage.chunks);  // bounds the memory of one moment
  std::size_t matched = 0;
  const auto compare = [&](const Clause& clause) {
    budget.spend(clause.size());
    if (matched < cnf.clauses.size() && clause == cnf.clauses[matched]) ++matched;
  };
  const Variables variables = encode(search, compare);
  if (matched < cnf.clauses.size()) {
    reject("clause " + std::to_string(matched + 1) + " of problem.cnf is not the claim's");
  }
  if (variables.count != cnf.variables) reject("problem.cnf has another number of variables");
  if (variables.varmap != files.at("varmap")) reject("varmap is another");
}

}  // namespace

std::string judge_absence(const std::string& name, const Files& files) {
  Budget budget;
  const Claim claim = read_claim(name == "synthesis-complete", files, budget);
  replay(claim.search, budget);
  Cnf cnf = read_cnf(files.at("problem.cnf"), budget);
  compare_clauses(claim.search, files, cnf, budget);
  check_lrat(std::move(cnf), files.at("proof.lrat"), budget);
  return claim.words + " of at most " + std::to_string(claim.search.size) + " steps (" +
         std::to_string(claim.problem.devices) + " devices, dialect " + claim.problem.dialect() +
         ")";
}

std::vector<std::string> files_of(const std::string& claim) {
  if (claim == "program-invalid") return {"problem.json", "derivation.json", "refutation.json"};
  if (claim == "program-valid" || claim == "not-expressible")
    return {"problem.json", "derivation.json"};
  if (claim == "strategy-optimal") return {"problem.json", "strategy.json", "bound.json"};
  const bool absence = claim == "synthesis-complete" || claim == "expressible";
  if (!absence) malformed("claim is unknown");
  return {"problem.json", "problem.cnf", "varmap", "proof.lrat"};
}

std::string check_claim(const std::string& claim, const Files& files) {
  if (claim == "strategy-optimal") return judge_strategy(files);
  return files_of(claim).back() == "proof.lrat" ? judge_absence(claim, files)
                                                : judge_program(claim, files);
}

}  // namespace p2::kernel

#include "proofs/kernel/claims.h"

#include <algorithm>

#include "proofs/kernel/system.h"

namespace p2::kernel {
namespace {

constexpr std::uint32_t kMostSize = 64;

struct Claim {
  Problem problem;
  Stage stage;  ///< its steps are the choices
  std::uint32_t size = 0;
  std::vector<Numbers> programs;  ///< as numbers of choices
};

Claim read_claim(const Files& files, Budget& budget) {
  const Json root = parse_json(files, "problem.json");
  Claim claim;
  claim.problem = read_system(root, {"size", "choices", "programs"});
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
  claim.stage = (instance.confined ? first_class : whole_system)(claim.problem, choices);
  claim.size = as_number(root["size"], kMostSize + 1);
  for (const Json& item : as_list(root["programs"])) {
    Numbers program = as_numbers(item, choices.size());
    budget.spend(program.size() + 8);
    if (program.size() > claim.size) reject("a program is longer than size");
    claim.programs.push_back(std::move(program));
  }
  if (std::ranges::adjacent_find(claim.programs) != claim.programs.end()) {
    reject("a program is listed twice");
  }
  if (!std::ranges::is_sorted(claim.programs)) malformed("programs are not in order");
  return claim;
}

/// Every program is legal, and reaches the goal after its last step and not before.
void replay(const Claim& claim, Budget& budget) {
  std::size_t number = 0;
  for (const Numbers& program : claim.programs) {
    const std::string which = "program " + std::to_string(number++) + ": ";
    System system(claim.stage, budget);
    for (const std::uint32_t choice : program) {
      if (system.at_goal(claim.stage.classes)) reject(which + "it goes on at the goal");
      system.take(claim.stage.steps[choice], which + "choice " + std::to_string(choice));
    }
    if (!system.at_goal(claim.stage.classes)) reject(which + "the goal is missed");
  }
}

/// Objects unless every clause of the certificate is one of the claim's, in their order.
void compare_clauses(const Claim& claim, const Files& files, const Cnf& cnf, Budget& budget) {
  const std::uint64_t devices = claim.stage.devices;
  budget.spend(devices * devices * claim.stage.chunks);  // bounds the memory of one moment
  std::size_t matched = 0;
  const auto compare = [&](const Clause& clause) {
    budget.spend(clause.size());
    if (matched < cnf.clauses.size() && clause == cnf.clauses[matched]) ++matched;
  };
  const Variables variables = encode(claim.stage, claim.size, claim.programs, compare);
  if (matched < cnf.clauses.size()) {
    reject("clause " + std::to_string(matched + 1) + " of problem.cnf is not the claim's");
  }
  if (variables.count != cnf.variables) reject("problem.cnf has another number of variables");
  if (variables.varmap != files.at("varmap")) reject("varmap is another");
}

}  // namespace

std::string judge_completeness(const Files& files) {
  Budget budget;
  const Claim claim = read_claim(files, budget);
  replay(claim, budget);
  Cnf cnf = read_cnf(files.at("problem.cnf"), budget);
  compare_clauses(claim, files, cnf, budget);
  check_lrat(std::move(cnf), files.at("proof.lrat"), budget);
  const std::string count = std::to_string(claim.programs.size());
  return (count == "1" ? "there is 1 valid program" : "there are " + count + " valid programs") +
         " of at most " + std::to_string(claim.size) + " steps (" +
         std::to_string(claim.problem.devices) + " devices, dialect " + claim.problem.dialect() +
         ")";
}

std::vector<std::string> files_of(const std::string& claim) {
  if (claim == "program-valid") return {"problem.json", "derivation.json"};
  if (claim == "program-invalid") return {"problem.json", "derivation.json", "refutation.json"};
  if (claim == "synthesis-complete") return {"problem.json", "problem.cnf", "varmap", "proof.lrat"};
  return {};
}

std::string check_claim(const std::string& claim, const Files& files) {
  if (files_of(claim).empty()) malformed("claim is unknown");
  if (claim == "synthesis-complete") return judge_completeness(files);
  return judge_program(files, claim == "program-valid");
}

}  // namespace p2::kernel

#include "proofs/kernel/completeness.h"
#include "proofs/kernel/derivation.h"

namespace p2::kernel {
namespace {

std::string judge_program(const Files& files, bool valid) {
  Budget budget;
  const Problem problem = read_problem(files, budget);
  Derivation derivation(files, problem, budget);
  const std::size_t steps = problem.steps.size();
  std::string verdict = "valid";
  if (!valid) {
    verdict = "invalid: " + check_refutation(files, problem, derivation, budget);
  } else if (derivation.steps() != steps) {
    reject("the derivation ends before the program");
  } else if (!derivation.system().at_goal(derivation.stage().classes)) {
    reject("the goal is missed");
  }
  return "the program is " + verdict + " (" + std::to_string(problem.devices) + " devices, " +
         std::to_string(steps) + (steps == 1 ? " step" : " steps") + ", dialect " +
         problem.dialect() + ")";
}

}  // namespace

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

#include <new>

#include "proofs/kernel/completeness.h"
#include "proofs/kernel/derivation.h"

namespace p2::kernel {
namespace {

std::string in_words(const Problem& problem, const std::string& verdict) {
  return "the program is " + verdict + " (" + std::to_string(problem.devices) + " devices, " +
         std::to_string(problem.steps.size()) + (problem.steps.size() == 1 ? " step" : " steps") +
         ", dialect " + (problem.published ? "published" : "printed") + ")";
}

std::string judge_valid(const Files& files) {
  Budget budget;
  const Problem problem = read_problem(files, budget);
  Derivation derivation(files, problem, budget);
  if (derivation.steps() != problem.steps.size()) reject("the derivation ends before the program");
  if (!derivation.system().at_goal(derivation.stage().classes)) reject("the goal is missed");
  return in_words(problem, "valid");
}

std::string judge_invalid(const Files& files) {
  Budget budget;
  const Problem problem = read_problem(files, budget);
  Derivation derivation(files, problem, budget);
  return in_words(problem, "invalid: " + check_refutation(files, problem, derivation, budget));
}

/// A kind of claim: its files beside the manifest, and who judges it. A judge returns the claim in
/// words, or objects.
struct Kind {
  const char* claim;
  std::vector<std::string> files;
  std::string (*judge)(const Files&);
};

const Kind kKinds[] = {
    {"program-valid", {"problem.json", "derivation.json"}, judge_valid},
    {"program-invalid", {"problem.json", "derivation.json", "refutation.json"}, judge_invalid},
    {"synthesis-complete",
     {"problem.json", "problem.cnf", "varmap", "proof.lrat"},
     judge_completeness},
};

}  // namespace

std::vector<std::string> files_of(const std::string& claim) {
  for (const Kind& kind : kKinds) {
    if (claim == kind.claim) return kind.files;
  }
  return {};
}

Result check_claim(const std::string& claim, const Files& files) try {
  for (const Kind& kind : kKinds) {
    if (claim == kind.claim) return {Verdict::Accepted, kind.judge(files)};
  }
  malformed("claim is unknown");
} catch (const Objection& objection) {
  return {objection.verdict, objection.what()};
} catch (const std::bad_alloc&) {
  return {Verdict::Incomplete, "out of memory"};
}

}  // namespace p2::kernel

#include "proofs/kernel/claims.h"

#include <algorithm>

#include "proofs/kernel/input.h"

namespace p2::kernel {
namespace {

using Names = std::vector<std::string>;

struct Kind {
  Names statement;  ///< files that say what is claimed
  Names evidence;
  std::string (*judge)(const std::string& claim, const Json& statement,
                       const Files& files) = nullptr;
  Names choice = {};  ///< other evidence, which may be left out
};

const Kind& kind_of(const std::string& claim) {
  static const Names problem = {"problem.json"};
  static const Names strategy = {"problem.json", "strategy.json"};
  static const Names schedule = {"schedule.json"};
  static const Names plan = {"plan.json"};
  static const Names states = {"derivation.json"};
  static const Names bound = {"bound.json"};
  static const Names clauses = {"problem.cnf", "varmap", "proof.lrat"};
  static const std::map<std::string, Kind> kinds = {
      {"program-valid", {problem, states, judge_program}},
      {"not-expressible", {problem, states, judge_program}},
      {"program-invalid", {problem, {"derivation.json", "refutation.json"}, judge_program}},
      {"synthesis-complete", {problem, clauses, judge_absence}},
      {"program-valid-all-sizes", {problem, {}, judge_all_sizes}},
      {"synthesis-complete-all-sizes", {problem, {}, judge_all_sizes}},
      {"program-valid-large-sizes", {problem, {}, judge_large_sizes}},
      {"synthesis-complete-large-sizes", {problem, {}, judge_large_sizes}},
      {"expressible-all-sizes", {problem, {}, judge_all_sizes}},
      {"unused-all-sizes", {problem, {}, judge_all_sizes}},
      {"expressible", {problem, clauses, judge_absence}},
      {"unused", {problem, clauses, judge_absence}},
      {"unmixed", {problem, clauses, judge_absence}},
      {"cheapest", {problem, {"potential.json"}, judge_cost}},
      {"strategy-optimal", {strategy, bound, judge_strategy}},
      {"strategy-optimal-clauses",
       {strategy, {"sums.json", "problem.cnf", "proof.lrat"}, judge_strategy}},
      {"reshard-schedule", {schedule, bound, judge_schedule}},
      {"reshard-schedule-gap", {{"schedule.json", "bound.json"}, {}, judge_schedule}},
      {"reshard-schedule-clauses", {schedule, {"problem.cnf", "proof.lrat"}, judge_schedule}},
      {"pipeline-memory", {{"pipeline.json"}, {"cases.json"}, judge_pipeline}},
      {"modules-equal", {problem, {}, judge_modules, {"relation.json"}}},
      {"programs-equal", {problem, {"relation.json"}, judge_programs}},
      {"modules-different", {problem, {"run.json"}, judge_modules}},
      {"onesided-valid", {plan, {}, judge_onesided}},
      {"onesided-invalid", {plan, {"fault.json"}, judge_onesided}},
      {"algorithm-valid", {problem, {}, judge_algorithm}},
      {"algorithm-invalid", {problem, {"fault.json"}, judge_algorithm}},
      {"reshard-plan", {plan, {}, judge_plan}},
      {"reshard-plan-wrong", {plan, {}, judge_plan}}};
  const auto found = kinds.find(claim);
  if (found == kinds.end()) malformed("claim is unknown");
  return found->second;
}

}  // namespace

Names files_of(const std::string& claim, const Files& files) {
  const Kind& kind = kind_of(claim);
  Names names = kind.statement;
  names.insert(names.end(), kind.evidence.begin(), kind.evidence.end());
  for (const std::string& name : kind.choice) {
    if (files.contains(name)) names.push_back(name);
  }
  return names;
}

namespace {

/// The begin of a value, for sentences.
std::string excerpt(const Json& value) { return shortened(value.dump(-1, ' ', true)); }

/// What is claimed: an object, whose keys are sorted.
Json statement_of(const std::string& claim, const Files& files) {
  Json statement = {{"claim", claim}};
  for (const std::string& name : statement_files(claim)) statement[name] = parse_json(files, name);
  return statement;
}

/// Rejects unless `found` has all that `asked` has; of objects these may have more keys.
void compare(const Json& found, const Json& asked, const std::string& where) {
  if (!found.is_object() || !asked.is_object()) {
    if (found.dump() == asked.dump()) return;
    reject("the certificate answers another question: " + where + "is " + excerpt(found) +
           ", asked for is " + excerpt(asked));
  }
  for (const auto& [key, value] : asked.items()) {
    if (!found.contains(key)) {
      reject("the certificate answers another question: " + where + "it has no key " +
             excerpt(key));
    }
    compare(found[key], value, where + key + ": ");
  }
}

/// Rejects unless all that `question` says is so in the statement, or in the first of its files.
void compare_question(const std::string& claim, const Json& statement, const Json& question) {
  if (!question.is_object() || question.empty())
    malformed("the question is not an object with keys");
  const auto named = [&](const auto& part) { return statement.contains(part.key()); };
  const auto parts = question.items();
  const bool whole = std::any_of(parts.begin(), parts.end(), named);
  compare(whole ? statement : statement[statement_files(claim)[0]], question, "");
}

std::string digest_of(const Json& statement, const std::string& claim, const Files& files) {
  std::size_t size = 0;
  for (const std::string& name : statement_files(claim)) size += files.at(name).size() + 64;
  return sha256(json_text(statement, size)).substr(0, 12);
}

}  // namespace

std::string check_claim(const std::string& claim, const Files& files,
                        const std::optional<std::string>& question) {
  Json asked;
  if (question) asked = parse_json({{"the question", *question}}, "the question");
  const Json statement = statement_of(claim, files);
  if (question) compare_question(claim, statement, asked);
  const std::string words = kind_of(claim).judge(claim, statement, files);
  return words + ", claim " + digest_of(statement, claim, files);
}

}  // namespace p2::kernel

namespace p2 {

std::vector<std::string> statement_files(const std::string& claim) {
  return kernel::kind_of(claim).statement;
}

std::string claim_digest(const std::string& claim, const kernel::Files& files) {
  return kernel::digest_of(kernel::statement_of(claim, files), claim, files);
}

}  // namespace p2

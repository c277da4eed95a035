#include "proofs/api/engines.h"

#include <algorithm>

#include <fmt/format.h>

#include "encodings/cnf/queries.h"
#include "encodings/cnf/synthesis.h"
#include "encodings/z3/queries.h"
#include "encodings/z3/synthesis.h"
#include "engine/program/derivation.h"
#include "p2/error.h"
#include "p2/version.h"
#include "proofs/api/reference_run.h"

namespace p2 {
namespace {

EngineAnswer ask_z3(const Engines& engines, const ProgramFile& file, const Limits& limits) {
  z3_encoding::ValidityQuery query;
  query.program = &file.program;
  query.instance = file.instance ? &*file.instance : nullptr;
  query.dialect = file.dialect;
  query.definitions = engines.z3_definitions;
  query.limits = limits;
  return z3_encoding::judge(query);
}

EngineAnswer ask_cnf(const ProgramFile& file, const Limits& limits) {
  const Instance* instance = file.instance ? &*file.instance : nullptr;
  return cnf::judge({&file.program, instance, file.dialect, limits});
}

}  // namespace

std::string not_asked_text() {
  return "cnf: not asked, it knows the five collectives and the goal allreduce only";
}

Engines on_terms(Engines engines, const Terms& terms) {
  const auto defined = terms.collectives.definitions().subspan(kCollectives.size());
  engines.z3_definitions.insert(engines.z3_definitions.end(), defined.begin(), defined.end());
  if (!engines.cnf || terms.of_paper()) return engines;
  if (!engines.z3) {
    throw InputError({"--engine"},
                     "cnf knows the five collectives and the goal allreduce only, expected z3, all "
                     "or explicit");
  }
  engines.cnf = false;
  engines.cnf_left_out = true;
  return engines;
}

Engines engines_called(const std::string& name) {
  Engines engines;
  engines.z3 = name == "z3" || name == "all";
  engines.cnf = name == "cnf" || name == "all";
  engines.reference = name == "all";
  engines.of_modules = name == "symbolic" || name == "interpreter";
  if (!engines.z3 && !engines.cnf && !engines.of_modules && name != "explicit" && name != "auto") {
    throw InputError({"--engine"},
                     unknown_name(name, "auto, explicit, z3, cnf, symbolic, interpreter or all"));
  }
  return engines;
}

std::vector<EngineAnswer> ask(const Engines& engines, const ProgramFile& file,
                              const ProgramDecision& decision, const Limits& limits) {
  std::vector<EngineAnswer> answers = {engine_answer(decision)};
  if (engines.z3) answers.push_back(ask_z3(engines, file, limits));
  if (engines.cnf) answers.push_back(ask_cnf(file, limits));
  if (engines.reference) {
    answers.push_back(reference_answer(file.program, file.dialect, decision, limits));
  }
  for (EngineAnswer& answer : answers) {
    if (answer.outcome == Outcome::Established) answer.step = 0;
  }
  std::ranges::sort(answers, {}, &EngineAnswer::engine);
  return answers;
}

EngineAnswer engine_answer(const ProgramDecision& decision) {
  EngineAnswer answer{"explicit", decision.outcome, 0, {}};
  if (answer.outcome == Outcome::Undecided) answer.step = decision.legal_steps;
  if (decision.violation) {
    answer.step = decision.violation->step;
    answer.rule = rule_name(*decision.violation);
  }
  return answer;
}

bool same_decision(const EngineAnswer& a, const EngineAnswer& b) {
  return a.outcome == b.outcome && a.step == b.step && a.rule == b.rule;
}

std::string to_string(const EngineAnswer& answer) {
  if (answer.outcome == Outcome::Undecided) {
    return fmt::format("unknown after {} legal step{}{}{}", answer.step,
                       answer.step == 1 ? "" : "s", answer.rule.empty() ? "" : ", ", answer.rule);
  }
  const std::string_view outcome = to_string(answer.outcome);
  if (answer.rule.empty()) return std::string(outcome);
  return fmt::format("{} at step {} by {}", outcome, answer.step, answer.rule);
}

Json json_of(const EngineAnswer& answer) {
  const bool undecided = answer.outcome == Outcome::Undecided;
  const bool refused = !undecided && !answer.rule.empty();
  Json json;
  json.add("verdict", to_string(answer.outcome));
  json.add("step", refused ? Json(answer.step) : Json());
  json.add("rule", answer.rule.empty() ? Json() : Json(answer.rule));
  if (undecided) json.add("legal_steps", answer.step);
  return json;
}

std::vector<std::pair<std::string, std::string>> solver_versions() {
  return {{"Z3", z3_encoding::solver_version()}, {"CaDiCaL", cnf::solver_version()}};
}

}  // namespace p2

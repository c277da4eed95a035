#include <chrono>

#include <fmt/format.h>

#include "encodings/z3/queries.h"
#include "engine/onesided/judge.h"
#include "engine/onesided/plan.h"
#include "engine/onesided/text_plan.h"
#include "p2/version.h"
#include "proofs/api/reference_run.h"
#include "proofs/api/subject_check.h"
#include "proofs/certificate/subject_certificates.h"

namespace p2 {
namespace {

using onesided::Happening;
using onesided::PlanDecision;
using onesided::Violation;

/// What is said about a plan beside its verdict.
struct PlanFacts {
  std::string name;
  std::string collective;
  std::size_t ranks = 0;
  bool in_place = false;
  std::uint32_t launches = 0;
  std::vector<std::string> notes;
  std::optional<onesided::RunFailure> run = {};  ///< of a refuted plan: a run that fails
  std::vector<EngineAnswer> others = {};         ///< with --engine all: the explorer and Z3
  Evidence evidence = {};
};

Json place_json(const Happening& each) {
  return Json::object(
      {{"operation", each.text}, {"line", each.where.line}, {"column", each.where.column}});
}

Json violation_json(const Violation& violation) {
  return Json::object({{"rule", to_string(violation.rule)},
                       {"operations", Json::array_of(violation.happenings, place_json)},
                       {"cell", violation.cell.empty() ? Json() : Json(violation.cell)},
                       {"missing", violation.missing.empty() ? Json() : Json(violation.missing)},
                       {"schedule", Json::array_of(violation.schedule)},
                       {"sizes", violation.sizes.empty() ? Json() : Json(violation.sizes)}});
}

const std::string& reason_of(const PlanDecision& decision) {
  return decision.violation ? decision.violation->reason : decision.reason;
}

/// The stable name of what is broken, or of why nothing was decided.
std::string rule_of(const PlanDecision& decision) {
  return decision.violation ? std::string(to_string(decision.violation->rule)) : decision.open;
}

/// The first operation with a position; the whole file where there is none.
SourcePosition position_of(const std::string& file, const Violation& violation) {
  for (const Happening& each : violation.happenings) {
    if (each.where.line > 0) return {file, each.where.line, each.where.column};
  }
  return {file};
}

std::string trace_of(const Violation& violation) {
  std::string text;
  for (const Happening& each : violation.happenings) {
    if (each.where.line == 0) continue;
    const std::string place = fmt::format("line {}", each.where.line);
    const bool said = each.text.find(place + " ") != std::string::npos;  // of the text format
    text +=
        said ? fmt::format("    {}\n", each.text) : fmt::format("    {}: {}\n", place, each.text);
  }
  if (!violation.missing.empty()) text += violation.missing + "\n";
  if (!violation.schedule.empty()) {
    text += violation.rule == onesided::Rule::Deadlock ? "" : "Both can run at once after\n";
    for (const std::string& line : violation.schedule) text += "    " + line + "\n";
  }
  if (!violation.sizes.empty()) text += "with " + violation.sizes + "\n";
  return text;
}

std::vector<EngineAnswer> engines_of(const PlanFacts& facts, const PlanDecision& decision) {
  std::vector<EngineAnswer> engines;
  engines.push_back({"explicit", decision.outcome, 0, rule_of(decision)});
  engines.insert(engines.end(), facts.others.begin(), facts.others.end());
  return engines;
}

/// What the engines say together.
Outcome outcome_of(const PlanFacts& facts, const PlanDecision& decision) {
  return disagree(engines_of(facts, decision)) ? Outcome::Disagreement : decision.outcome;
}

std::string text_of(const std::string& file, const PlanFacts& facts, const PlanDecision& decision) {
  const std::string rule = rule_of(decision);
  std::string text =
      fmt::format("{}: {}{}", printable(file), to_string(outcome_of(facts, decision)),
                  rule.empty() ? "" : ", " + rule);
  if (facts.ranks > 0) {
    text +=
        fmt::format(" ({} on {} rank{}, {}, any number of launches)", facts.collective, facts.ranks,
                    facts.ranks == 1 ? "" : "s", facts.in_place ? "in place" : "out of place");
  }
  text += "\n";
  if (!reason_of(decision).empty()) text += reason_of(decision) + "\n";
  if (decision.violation) text += trace_of(*decision.violation);
  if (facts.run) {
    text += fmt::format("Reproduced by a simulated run with delayed stores (seed {}): {}.\n",
                        facts.run->seed, facts.run->reason);
  }
  for (const EngineAnswer& each : facts.others) {
    text += fmt::format("{}: {}\n", each.engine, to_string(each.outcome));
  }
  for (const std::string& note : facts.notes) text += "note: " + note + "\n";
  return printable_lines(text + certificate_text(facts.evidence));
}

Json json_of(const std::string& file, const PlanFacts& facts, const PlanDecision& decision) {
  const std::string_view outcome = to_string(outcome_of(facts, decision));
  const std::string rule = rule_of(decision);
  Json json = Json::object({{"file", file},
                            {"format", "onesided"},
                            {"plan", facts.name},
                            {"collective", facts.collective},
                            {"ranks", facts.ranks},
                            {"in_place", facts.in_place},
                            {"launches", facts.launches},
                            {"verdict", outcome},
                            {"engines", outcomes_json(engines_of(facts, decision))}});
  json.add("rule", rule.empty() ? Json() : Json(rule));
  json.add("step", Json());
  json.add("reason", reason_of(decision).empty() ? Json() : Json(reason_of(decision)));
  json.add("counterexample", decision.violation ? violation_json(*decision.violation) : Json());
  json.add("failing_run",
           facts.run ? Json::object({{"seed", facts.run->seed}, {"reason", facts.run->reason}})
                     : Json());
  json.add("sizes", Json::array_of(decision.sizes));
  json.add("notes", Json::array_of(facts.notes));
  add_certificate(facts.evidence, json);
  return json;
}

FileReport report_of(const std::string& file, const PlanFacts& facts,
                     const PlanDecision& decision) {
  FileReport report{file, "onesided", {}, 0};
  Property& property = report.properties.emplace_back();
  property.name = "plan";
  property.message = reason_of(decision);
  if (decision.outcome == Outcome::Undecided) property.status = Property::Status::Undecided;
  if (const auto& violation = decision.violation) {
    property.status = Property::Status::Refuted;
    property.rule = to_string(violation->rule);
    const SourcePosition where = position_of(file, *violation);
    property.line = where.line;
    property.column = where.column;
  }
  if (!facts.others.empty()) {
    // Where another engine gives up, the verdict stands.
    Property& engines =
        report.properties.emplace_back(engines_property(engines_of(facts, decision)));
    if (engines.status == Property::Status::Undecided) {
      engines.status = Property::Status::Established;
    }
  }
  return report;
}

Result result_of(const std::string& file, const PlanFacts& facts, const PlanDecision& decision) {
  Result result;
  result.subject = file;
  result.outcome = outcome_of(facts, decision);
  result.engines = engines_of(facts, decision);
  result.evidence = facts.evidence;
  if (const auto& violation = decision.violation) {
    result.counterexample =
        Counterexample{rule_of(decision), position_of(file, *violation), violation->reason,
                       violation_json(*violation), trace_of(*violation)};
  }
  if (decision.outcome == Outcome::Undecided) {
    result.undecided = Undecided{Undecided::Reason::Unsupported, decision.reason};
  }
  result.model = fmt::format(
      "one-sided, {}, all interleavings of {} launches, which stand for any "
      "number",
      facts.in_place ? "in place" : "out of place", facts.launches);
  return result;
}

/// A run of the refuted choice of sizes that fails; nothing where none of the first ones does, and
/// for large plans.
std::optional<onesided::RunFailure> failing_run(
    const std::variant<onesided::Unrolling, Violation>& unrolled, const Limits& limits) {
  constexpr std::uint64_t kRuns = 64;
  constexpr std::size_t kMaxOperations = 20'000;
  const auto* const unrolling = std::get_if<onesided::Unrolling>(&unrolled);
  if (unrolling == nullptr) return std::nullopt;
  std::size_t operations = 0;
  for (const onesided::Block& block : unrolling->blocks) operations += block.operations.size();
  if (operations > kMaxOperations) return std::nullopt;
  LimitWatch watch(limits, "runs of a one-sided plan");
  try {
    return onesided::find_failing_run(*unrolling, kRuns, watch);
  } catch (const LimitReached&) {  // the verdict stands without it
    return std::nullopt;
  }
}

/// What another engine says of all choices of sizes; Undecided where it is too much for it.
template <typename Ask>
EngineAnswer answer_of(const char* engine, std::size_t count, const onesided::Unroll& unroll,
                       std::uint32_t launches, const PlanDecision& decision, const Ask& ask) {
  EngineAnswer answer{engine, Outcome::Established, 0, {}};
  for (std::size_t k = 0; k < count && answer.outcome != Outcome::Refuted; ++k) {
    const auto unrolled = unroll(k, launches);
    if (std::holds_alternative<Violation>(unrolled)) {
      answer.outcome = Outcome::Refuted;
      break;
    }
    Outcome found = Outcome::Undecided;
    try {
      // What a launch stops without may come in the next one, if there is one.
      const auto one = unroll(k, 1);
      found = ask(std::get<onesided::Unrolling>(one), k);
      if (found != Outcome::Refuted) found = ask(std::get<onesided::Unrolling>(unrolled), k);
    } catch (const LimitReached&) {  // undecided
    }
    if (found != Outcome::Established) answer.outcome = found;
  }
  // A plan without outputs is no reason to know its collective.
  if (decision.outcome == Outcome::Undecided && answer.outcome == Outcome::Established) {
    answer.outcome = Outcome::Undecided;
  }
  // They tell races, stops and wrong results apart, but do not name the kinds of races.
  if (answer.outcome == decision.outcome) answer.rule = rule_of(decision);
  return answer;
}

/// What the explorer and Z3 say.
std::vector<EngineAnswer> others_of(std::size_t count, const onesided::Unroll& unroll,
                                    std::uint32_t launches, const PlanDecision& decision,
                                    const Limits& limits) {
  constexpr auto kTimeOfZ3 = std::chrono::seconds(20);
  LimitWatch watch(limits, "exploration of a one-sided plan");
  const auto explored = [&](const onesided::Unrolling& unrolling, std::size_t) {
    const auto found = onesided::explore(unrolling, {.max_states = 20'000}, watch);
    return found.violation ? Outcome::Refuted
           : found.open    ? Outcome::Undecided
                           : Outcome::Established;
  };
  const Limits of_z3 = limits.within(kTimeOfZ3);
  const auto ordered = [&](const onesided::Unrolling& unrolling, std::size_t k) {
    const Outcome found = z3_encoding::judge(z3_encoding::OrdersQuery{&unrolling, of_z3}).outcome;
    if (found != Outcome::Undecided || unrolling.launches == 1) return found;
    // Which signal ends which wait may depend on the interleaving: with launches beyond.
    auto longer = unroll(k, launches + onesided::kLaunchesBeyond);
    auto* const more = std::get_if<onesided::Unrolling>(&longer);
    if (more == nullptr) return found;
    more->judged = launches;
    return z3_encoding::judge(z3_encoding::OrdersQuery{more, of_z3}).outcome;
  };
  return {answer_of("explorer", count, unroll, launches, decision, explored),
          answer_of("z3", count, unroll, launches, decision, ordered)};
}

void refuse_inapplicable(const std::string& file, const CheckQuestion& question) {
  for (const std::string& flag : program_options(question.request)) {
    if (flag == "explain" || flag == "certify" || flag == "goal" || flag == "collectives") continue;
    if (flag == "repair" && !question.request.instance.goal) continue;
    throw InputError({file},
                     fmt::format("is a one-sided plan, expected the check without --{}", flag));
  }
  if (!question.engines.reference && (question.engines.z3 || question.engines.cnf)) {
    throw InputError({file},
                     "is a one-sided plan, which the explicit engine judges, expected no "
                     "--engine z3 or cnf");
  }
}

/// Writes the certificate asked for; why there is none is said in the evidence.
Evidence certify(const std::string& text, const PlanDecision& decision,
                 const CheckQuestion& question, std::vector<Diagnostic>& diagnostics) {
  const auto none = [](const std::string& why) {
    return Evidence{Evidence::Kind::SolverOnly, {}, why};
  };
  if (question.request.instance.goal) return none("p2-check knows the plan's own collective only");
  const Provenance provenance{
      {{"p2-verify", build_info().version}}, {{"engine", "explicit"}}, question.options.seed};
  return evidence_of(
      onesided_certificate(text, decision.outcome == Outcome::Established, provenance),
      *question.certificate, diagnostics);
}

/// What a collective of the user's, or another one, makes of the inputs of all ranks. The input of
/// a rank has the chunks with which the goal begins there, its output those that it has to hold.
std::shared_ptr<const onesided::UserGoal> goal_of(const std::string& file,
                                                  const CheckQuestion& question,
                                                  std::size_t ranks) {
  constexpr std::size_t kMaxRanks = 64;
  if (!question.request.instance.goal) return nullptr;
  if (ranks > kMaxRanks) {
    throw InputError(
        {file}, fmt::format("has {} ranks, expected at most {} with --goal", ranks, kMaxRanks));
  }
  Program program;
  program.devices = static_cast<std::uint32_t>(ranks);
  program.classes.emplace_back();
  for (std::uint32_t r = 0; r < ranks; ++r) program.classes.front().push_back(r);
  program.terms.goal = question.given.terms.goal;
  program.beginning =
      beginning_of(program.terms.goal, program.devices, program.classes, {"--goal"});
  const ReferenceStates begin = ReferenceStates::begin(program);
  const ReferenceStates end = begin.goal(program);
  auto goal = std::make_shared<onesided::UserGoal>();
  goal->name = program.terms.goal.name;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> part_of;  // by rank and chunk
  for (std::uint32_t r = 0; r < program.devices; ++r) {
    goal->inputs.push_back(begin.chunks_held(r));
    std::uint32_t part = 0;
    for (std::uint32_t chunk = 0; chunk < begin.chunks(); ++chunk) {
      if (begin.holds_chunk(r, chunk)) part_of[{r, chunk}] = part++;
    }
  }
  for (std::uint32_t r = 0; r < program.devices; ++r) {
    auto& outputs = goal->outputs.emplace_back();
    for (std::uint32_t chunk = 0; chunk < end.chunks(); ++chunk) {
      if (!end.holds_chunk(r, chunk)) continue;
      // The inputs whose contributions are among those wanted: together they have each once.
      auto& sum = outputs.emplace_back();
      for (std::uint32_t from = 0; from < program.devices; ++from) {
        const auto part = part_of.find({from, chunk});
        if (part == part_of.end()) continue;
        bool all = true;
        for (std::uint32_t c = 0; c < begin.contributors(); ++c) {
          all = all && (!begin.holds(from, chunk, c) || end.holds(r, chunk, c));
        }
        if (all) sum.emplace_back(from, part->second);
      }
      for (std::uint32_t c = 0; c < begin.contributors(); ++c) {
        const auto times = std::ranges::count_if(
            sum, [&](const auto& each) { return begin.holds(each.first, chunk, c); });
        if (times == (end.holds(r, chunk, c) ? 1 : 0)) continue;
        throw InputError({"--goal"},
                         fmt::format("chunk {} of rank {} is not a sum of inputs, expected "
                                     "a goal whose outputs are",
                                     chunk, r));
      }
    }
  }
  return goal;
}

std::variant<onesided::Unrolling, Violation> with_goal(
    std::variant<onesided::Unrolling, Violation> unrolled,
    const std::shared_ptr<const onesided::UserGoal>& goal, const std::string& file) {
  if (auto* const unrolling = std::get_if<onesided::Unrolling>(&unrolled);
      unrolling != nullptr && goal) {
    set_goal(*unrolling, goal, file);
  }
  return unrolled;
}

std::optional<onesided::Repair> repair_of(const std::string& file, const std::string& text,
                                          const Limits& limits) {
  if (onesided::is_text_plan(text)) return onesided::find_text_repair(text, file, limits);
  const auto read = onesided::read_plan(file, text);
  const auto* const plan = std::get_if<onesided::Plan>(&read);
  return plan == nullptr ? std::nullopt : find_repair(*plan, file, limits);
}

}  // namespace

bool is_onesided(std::string_view text) {
  return onesided::is_plan_json(text) || onesided::is_text_plan(text);
}

SubjectCheck check_onesided(const std::string& file, const std::string& text,
                            const CheckQuestion& question) {
  refuse_inapplicable(file, question);
  PlanFacts facts;
  PlanDecision decision;
  if (onesided::is_text_plan(text)) {
    const onesided::TextPlan plan = onesided::read_text_plan(file, text);
    facts = {plan.collective, plan.collective,         plan.ranks,
             plan.in_place,   launches_to_check(plan), {}};
    const auto goal = goal_of(file, question, facts.ranks);
    const auto unroll_text = [&](std::size_t, std::uint32_t launches) {
      return with_goal(unroll(plan, file, launches), goal, file);
    };
    decision =
        onesided::judge_unrollings(file, 1, facts.launches, unroll_text, question.options.limits);
    if (goal) facts.collective = goal->name;
    if (decision.violation) {
      facts.run = failing_run(unroll_text(0, facts.launches), question.options.limits);
    }
    if (question.engines.reference) {
      facts.others = others_of(1, unroll_text, facts.launches, decision, question.options.limits);
    }
  } else {
    auto read = onesided::read_plan(file, text);
    if (const auto* const plan = std::get_if<onesided::Plan>(&read)) {
      facts = {plan->name,     plan->collective,         plan->gpus.size(),
               plan->in_place, launches_to_check(*plan), notes_on(*plan)};
      const auto goal = goal_of(file, question, facts.ranks);
      const std::vector<onesided::Sizes> sizes = sizes_to_check(*plan);
      const auto unroll_plan = [&](std::size_t k, std::uint32_t launches) {
        return with_goal(unroll(*plan, file, sizes[k], launches), goal, file);
      };
      decision = onesided::judge_unrollings(file, sizes.size(), facts.launches, unroll_plan,
                                            question.options.limits);
      if (goal) facts.collective = goal->name;
      if (decision.violation && !decision.sizes.empty()) {
        facts.run = failing_run(unroll_plan(decision.sizes.size() - 1, facts.launches),
                                question.options.limits);
      }
      if (question.engines.reference) {
        facts.others =
            others_of(sizes.size(), unroll_plan, facts.launches, decision, question.options.limits);
      }
    } else {
      decision.outcome = Outcome::Refuted;
      decision.violation = std::move(std::get<Violation>(read));
    }
  }
  SubjectCheck check;
  const Outcome outcome = outcome_of(facts, decision);
  if (question.certificate && (outcome == Outcome::Established || outcome == Outcome::Refuted)) {
    facts.evidence = certify(text, decision, question, check.diagnostics);
  }
  check.result = result_of(file, facts, decision);
  check.json = json_of(file, facts, decision);
  std::string shown = text_of(file, facts, decision);
  if (question.request.repair && decision.outcome == Outcome::Refuted) {
    const auto repair = repair_of(file, text, question.options.limits);
    shown += repair ? fmt::format("repaired, and valid, with {} change{}:\n",
                                  repair->changes.size(), repair->changes.size() == 1 ? "" : "s")
                    : "no repair found: order, flushes and meets do not make it valid\n";
    Json changes = Json::array();
    if (repair) {
      for (const std::string& each : repair->changes) {
        shown += "    " + each + "\n";
        changes.push_back(each);
      }
      check.repaired = repair->text;
    }
    check.json.add("repair", repair ? std::move(changes) : Json());
  }
  check.text.push_back(Preformatted{std::move(shown)});
  check.report = report_of(file, facts, decision);
  return check;
}

}  // namespace p2

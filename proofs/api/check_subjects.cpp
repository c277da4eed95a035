#include "proofs/api/subject_check.h"

#include <array>

#include <fmt/format.h>

#include "encodings/cnf/queries.h"
#include "encodings/z3/queries.h"
#include "engine/base/files.h"
#include "engine/collective/language/definition.h"
#include "engine/records/record.h"
#include "engine/reshard/plans/plan_check.h"
#include "engine/strategy/graph.h"
#include "engine/strategy/operation.h"
#include "engine/topology/system.h"
#include "p2/define.h"
#include "p2/version.h"
#include "proofs/api/module_check.h"
#include "proofs/certificate/subject_certificates.h"

namespace p2 {
namespace {

SubjectCheck subject_of(const Answer& answer) {
  SubjectCheck check;
  check.result = answer.results.front();
  check.json = answer.document.json;
  check.text = answer.document.blocks;
  check.report = answer.document.reports.front();
  check.diagnostics = answer.diagnostics;
  return check;
}

}  // namespace

SubjectCheck check_msccl(const std::string& file, const std::string& text,
                         const CheckQuestion& question) {
  const Engines& engines = question.engines;
  AlgorithmCheckQuestion asked;
  asked.inapplicable_options = program_options(question.request);
  std::erase(asked.inapplicable_options, "certify");
  asked.certificate = question.certificate;
  asked.seed = question.options.seed;
  if ((engines.z3 || engines.cnf) && !engines.reference) {
    asked.inapplicable_options.push_back(engines.z3 ? "engine z3" : "engine cnf");
  }
  asked.solvers = engines.reference;
  asked.decide = [&](const msccl::Algorithm& algorithm) {
    return judge_with_cache(algorithm, text, question.options.limits, question.cache);
  };
  return subject_of(check_algorithm(file, text, asked, question.options.limits));
}

namespace {

/// What is only asked of programs is refused of other files.
void require_applicable(const std::string& file, const CheckQuestion& question,
                        const std::string& what) {
  std::vector<std::string> flags = program_options(question.request);
  if (question.open) flags.emplace_back("hierarchy with open sizes");
  if (question.request.reduces) flags.emplace_back("reduces");
  if (question.engines.cnf && !question.engines.z3) flags.emplace_back("engine cnf");
  if (flags.empty()) return;
  throw InputError({file}, fmt::format("is {}, expected no --{}", what, flags.front()));
}

/// The members that the answers about all subjects have.
Json json_of(const std::string& file, const std::string& format, const Result& result) {
  const auto& counterexample = result.counterexample;
  const bool refuted = counterexample.has_value();
  return Json::object(
      {{"file", file},
       {"format", format},
       {"verdict", to_string(result.outcome)},
       {"engines", Json::object()},
       {"step", Json()},
       {"reason", refuted ? Json(counterexample->explanation) : Json()},
       {"counterexample", refuted ? Json::object({{"rule", counterexample->rule}}) : Json()}});
}

/// Of a file that is right if it can be read.
SubjectCheck well_formed(const std::string& file, const std::string& format,
                         const std::string& what) {
  SubjectCheck check;
  check.result.subject = file;
  check.result.outcome = Outcome::Established;
  check.result.model = what;
  check.json = json_of(file, format, check.result).add("says", what);
  check.text = {Heading{fmt::format("{}: valid ({})", file, what)}};
  check.report = {file, format, {Property{"well-formed"}}, 0};
  return check;
}

Property property_of(const records::RecordDecision& decision) {
  Property property{"communication"};
  if (decision.violation) {
    property.status = Property::Status::Refuted;
    property.rule = decision.violation->rule;
    property.message = decision.violation->explanation;
    property.line = decision.violation->where.line;
    property.column = decision.violation->where.column;
  } else if (decision.outcome == Outcome::Undecided) {
    property.status = Property::Status::Undecided;
    property.message = decision.reason;
  }
  return property;
}

}  // namespace

bool is_rank_dump(std::string_view text) { return records::is_flight_dump(text); }

bool is_record(std::string_view text) {
  return is_rank_dump(text) || records::is_transfer_plan(text) || records::is_pipeline_csv(text);
}

SubjectCheck check_record(const std::string& file, const std::string& text,
                          const std::vector<std::string>& files, const CheckQuestion& question) {
  require_applicable(file, question, "a record of a run");
  std::vector<records::RecordText> texts = {{file, text}};
  for (const std::string& other : files) texts.push_back({other, read_file(other)});
  const Limits& limits = question.options.limits;
  const records::RecordDecision decision = is_rank_dump(text) ? records::check_flight(texts, limits)
                                           : records::is_transfer_plan(text)
                                               ? records::check_transfers(texts.front(), limits)
                                               : records::check_pipeline_csv(texts.front(), limits);
  SubjectCheck check;
  Result& result = check.result;
  result.subject = file;
  result.outcome = decision.outcome;
  result.counterexample = decision.violation;
  result.model = decision.model;
  if (decision.outcome == Outcome::Undecided) {
    result.undecided = Undecided{Undecided::Reason::Unsupported, decision.reason};
  }
  const std::string rule = decision.violation ? decision.violation->rule : "";
  result.engines = {{"explicit", decision.outcome, 0, rule}};
  const std::string& reason =
      decision.violation ? decision.violation->explanation : decision.reason;
  check.json = Json::object({{"file", file},
                             {"format", decision.format},
                             {"verdict", to_string(decision.outcome)},
                             {"engines", outcomes_json(result.engines)},
                             {"step", Json()},
                             {"reason", reason.empty() ? Json() : Json(reason)},
                             {"counterexample", Json()},
                             {"record", decision.facts}});
  if (decision.violation) {
    Json facts = Json::object({{"rule", rule}});
    for (const auto& [key, value] : *decision.violation->facts.if_object()) facts.add(key, value);
    result.counterexample->facts = facts;
    Json::Object members = *check.json.if_object();
    for (auto& [key, value] : members) {
      if (key == "counterexample") value = facts;
    }
    check.json = Json(std::move(members));
  }
  check.text = {Heading{fmt::format("{}: {}{} ({})", file, to_string(decision.outcome),
                                    rule.empty() ? "" : ", " + rule, decision.summary)}};
  if (!reason.empty()) {
    const SourcePosition where = decision.violation ? decision.violation->where : SourcePosition{};
    check.text.push_back(Paragraph{
        where.line == 0 ? reason : fmt::format("{}:{}: {}", where.source, where.line, reason)});
  }
  if (!decision.drawing.empty()) check.text.push_back(Preformatted{decision.drawing});
  check.report = {file, decision.format, {property_of(decision)}, 0};
  return check;
}

SubjectCheck check_definition(const std::string& file, const CheckQuestion& question) {
  require_applicable(file, question, "a definition of a collective");
  DefineRequest request;
  request.files = {file};
  Options options = question.options;
  options.progress = nullptr;
  DefineAnswer answer = define(request, options);
  if (answer.results.empty()) {  // it cannot be read, or a limit was reached
    const Diagnostic& why = answer.diagnostics.front();
    if (why.kind == Diagnostic::Kind::Undecided) {
      throw LimitReached(LimitReached::Kind::Time, why.message);
    }
    language::parse_definition(file, read_file(file));  // throws
  }
  SubjectCheck check = subject_of(answer);
  Json found = std::move(check.json);
  check.json = json_of(file, "definition", check.result).add("definition", std::move(found));
  return check;
}

SubjectCheck check_system(const std::string& file, const std::string& text,
                          const CheckQuestion& question) {
  require_applicable(file, question, "a system file");
  const System system = parse_system(file, text);
  return well_formed(file, "system",
                     fmt::format("system {}, {} devices, {} interconnects", system.name,
                                 system.hierarchy.devices(), system.interconnects.size()));
}

SubjectCheck check_graph(const std::string& file, const std::string& text,
                         const CheckQuestion& question) {
  require_applicable(file, question, "an operation graph");
  if (operations::is_operation_graph(text)) {
    const auto graph = operations::read_operations(file, text);
    return well_formed(file, "graph",
                       fmt::format("operation graph, {} operations, {} tensors",
                                   graph.operations.size(), graph.tensors.size()));
  }
  const strategy::GraphFile read = strategy::read_graph(file, text);
  return well_formed(file, "graph",
                     fmt::format("operation graph, {} vertices, {} edges", read.graph.vertices(),
                                 read.graph.edges.size()));
}

namespace {

std::string word_of(const EngineAnswer& answer) {
  return fmt::format("{}{}", to_string(answer.outcome),
                     answer.rule.empty() ? "" : ", " + answer.rule);
}

Json json_of(const reshard::Plan& plan, const reshard::PlanDecision& decision,
             const Result& result) {
  const auto& fault = decision.violation;
  Json engines = Json::object();
  Json findings = Json::object();
  for (const EngineAnswer& each : result.engines) {
    engines.add(each.engine, to_string(each.outcome));
    findings.add(each.engine, Json::object({{"verdict", to_string(each.outcome)},
                                            {"rule", each.rule.empty() ? Json() : each.rule}}));
  }
  const bool certified = result.evidence.kind == Evidence::Kind::Certificate;
  const bool has_step = fault && fault->rule != reshard::PlanRule::Missing;
  return Json::object({{"file", result.subject},
                       {"format", "reshard-plan"},
                       {"strategy", plan.strategy},
                       {"devices", plan.problem.devices()},
                       {"transfers", plan.transfers()},
                       {"verdict", to_string(decision.outcome)},
                       {"engines", std::move(engines)},
                       {"findings", std::move(findings)},
                       {"certificate", certified ? Json(result.evidence.folder) : Json()},
                       {"claim_digest", certified ? Json(result.evidence.claim) : Json()},
                       {"completes", Json::object({{"rendezvous", decision.completes_rendezvous},
                                                   {"buffered", decision.completes_buffered}})},
                       {"received_twice", fault ? Json() : Json(decision.received_twice)},
                       {"step", has_step ? Json(fault->place.step + 1) : Json()},
                       {"reason", fault ? Json(fault->explanation) : Json()},
                       {"counterexample", fault ? fault_json(*fault) : Json()}});
}

std::string text_of(const reshard::Plan& plan, const reshard::PlanDecision& decision,
                    const Result& result, bool explain) {
  const auto& fault = decision.violation;
  std::string text = fmt::format(
      "{}: {} (plan of a resharding{}{}, {} devices, {} transfers)\n", printable(result.subject),
      fault ? fmt::format("invalid, {}", to_string(fault->rule)) : "valid",
      plan.strategy.empty() ? "" : ", ", plan.strategy, plan.problem.devices(), plan.transfers());
  if (fault) text += fault->explanation + "\n";
  if (explain) text += draw(plan);
  for (const EngineAnswer& each : result.engines) {
    if (result.engines.size() > 1) text += fmt::format("{}: {}\n", each.engine, word_of(each));
  }
  if (result.evidence.kind == Evidence::Kind::Certificate) {
    text += certificate_line(result.evidence) + "\n";
  }
  return text;
}

Result result_of(const std::string& file, const reshard::PlanDecision& decision,
                 std::vector<EngineAnswer> engines) {
  Result result;
  result.subject = file;
  result.outcome = disagree(engines) ? Outcome::Disagreement : decision.outcome;
  if (const auto& fault = decision.violation) {
    result.counterexample = Counterexample{
        std::string(to_string(fault->rule)), {file}, fault->explanation, fault_json(*fault)};
  }
  result.engines = std::move(engines);
  result.model = "all orders of the operations of a step, sends that wait for their receives";
  return result;
}

FileReport report_of(const reshard::PlanDecision& decision, const Result& result) {
  constexpr std::array<const char*, 6> kNames = {"bounds",     "matches", "deadlocks",
                                                 "overwrites", "sources", "result"};
  const auto& fault = decision.violation;
  const std::size_t settled = fault ? static_cast<std::size_t>(fault->rule) : kNames.size();
  FileReport report{result.subject, "reshard-plan", {}, 0};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    Property& property = report.properties.emplace_back();
    property.name = kNames[i];
    if (i > settled) property.status = Property::Status::NotExamined;
    if (i != settled) continue;
    property.status = Property::Status::Refuted;
    property.rule = to_string(fault->rule);
    property.message = fault->explanation;
  }
  if (result.engines.size() > 1) {
    report.properties.push_back(engines_property(result.engines, word_of));
  }
  return report;
}

/// By engine.
std::vector<EngineAnswer> ask(const Engines& engines, const reshard::Plan& plan,
                              const reshard::PlanDecision& decision, const Limits& limits) {
  std::vector<EngineAnswer> answers;
  if (engines.cnf) answers.push_back(cnf::judge({&plan, limits}));
  EngineAnswer& own = answers.emplace_back();
  own.engine = "explicit";
  own.outcome = decision.outcome;
  if (decision.violation) own.rule = to_string(decision.violation->rule);
  if (engines.z3) {
    answers.push_back(z3_encoding::judge({&plan, limits}));
  }
  return answers;
}

}  // namespace

SubjectCheck check_plan(const std::string& file, const std::string& text,
                        const CheckQuestion& question) {
  for (const std::string& flag : program_options(question.request)) {
    if (flag == "certify" || flag == "explain") continue;
    throw InputError({file}, fmt::format("is a plan of a resharding, expected no --{}", flag));
  }
  const Options& options = question.options;
  const reshard::Plan plan = reshard::read_plan(file, text);
  const reshard::PlanDecision decision = judge(plan);
  SubjectCheck check;
  Result& result = check.result;
  result = result_of(file, decision, ask(question.engines, plan, decision, options.limits));
  const bool disagreement = result.outcome == Outcome::Disagreement;
  if (question.certificate && !disagreement) {
    const auto make = [&] {
      return plan_certificate(
          plan, !decision.violation,
          {{{"p2-verify", build_info().version}}, {{"engine", "explicit"}}, options.seed});
    };
    result.evidence = written_evidence(*question.certificate, make, check.diagnostics);
  }
  check.text = {Preformatted{text_of(plan, decision, result, question.request.explain)}};
  check.json = json_of(plan, decision, result);
  check.report = report_of(decision, result);
  if (disagreement) check.input.add("plan", reshard::plan_json(plan));
  return check;
}

}  // namespace p2

// Modules of XLA and StableHLO, as `check` and `compare` answer for them.

#include "proofs/api/module_check.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/files.h"
#ifdef P2_HAS_PROTOBUF
#include "engine/hlo/binary/binary_module.h"
#endif
#include "engine/hlo/explanation/explanation.h"
#include "engine/hlo/text/hlo_text.h"
#include "engine/hlo/text/stablehlo_text.h"
#include "p2/version.h"
#include "proofs/certificate/module_certificate.h"

namespace p2 {
namespace {

using hlo::ModuleDecision;
using hlo::StableHloModule;

/// What was decided.
struct Subject {
  std::string file;    ///< the only one, or the one after the rewrite
  std::string before;  ///< empty for a module on its own
  std::string goal;    ///< empty without --reduces
};

void require_applicable(const std::string& file, const ModuleQuestion& question) {
  const auto refuse = [&](const std::string& flag) {
    throw InputError({file},
                     fmt::format("is a module, which other engines judge, expected the check "
                                 "without {}",
                                 flag));
  };
  for (const std::string& flag : question.program_flags) {
    if (flag != "goal" || !question.reduces) refuse("--" + flag);
  }
  if (question.engine == "z3" || question.engine == "cnf") refuse("--engine " + question.engine);
  if (question.numbers == FloatEquality::Real) return;
  const std::string given = fmt::format("--numbers {}", to_string(question.numbers));
  if (question.ordered) {
    throw InputError({given}, "given together with --order, expected one of the two");
  }
  if (question.engine == "symbolic") {
    throw InputError({given},
                     "is not shown by symbolic evaluation, which is of real numbers, expected "
                     "--engine interpreter or no --engine");
  }
}

hlo::ComparisonOptions options_of(const ModuleQuestion& question) {
  hlo::ComparisonOptions options;
  if (question.replicas) options.devices.replicas = static_cast<std::int64_t>(*question.replicas);
  if (question.partitions) {
    options.devices.partitions = static_cast<std::int64_t>(*question.partitions);
  }
  options.ordered = question.ordered;
  options.equality = question.numbers;
  using hlo::ModuleEngine;
  options.engine = question.engine == "symbolic"      ? ModuleEngine::Symbolic
                   : question.engine == "interpreter" ? ModuleEngine::Interpreter
                   : question.engine == "all"         ? ModuleEngine::All
                                                      : ModuleEngine::Default;
  if (question.relate) {
    options.relation = read_file(*question.relate);
    options.relation_file = *question.relate;
  }
  return options;
}

std::vector<StableHloModule> read_modules(const std::string& file, const std::string& text,
                                          const Limits& limits) {
  if (hlo::is_stablehlo(text)) return hlo::read_stablehlo(file, text, limits);
  if (!hlo::is_hlo(text)) {
    throw InputError({file}, "is no module of XLA or StableHLO, expected one");
  }
  return {{hlo::read_hlo(file, text, limits), {}}};
}

std::shared_ptr<const hlo::Module> read_module(const std::string& file, const std::string& text,
                                               const Limits& limits) {
  std::vector<StableHloModule> modules = read_modules(file, text, limits);
  if (modules.size() != 1 || modules[0].run) {
    throw InputError({file}, "has several modules, or one that is a test, expected one module");
  }
  return std::make_shared<const hlo::Module>(std::move(modules[0].module));
}

/// The first decision about a module of a file that is not Established; tests are run.
ModuleDecision check_all_modules(const std::string& file, const std::string& text,
                                 const hlo::ComparisonOptions& options, const Limits& limits) {
  ModuleDecision all;
  for (StableHloModule& module : read_modules(file, text, limits)) {
    const auto copy =
        std::make_shared<const hlo::Module>(module.run ? module.module : std::move(module.module));
    ModuleDecision decision = hlo::check_well_formed(copy, options.devices, limits);
    std::vector<hlo::CollectiveLine> collectives = std::move(all.collectives);
    collectives.insert(collectives.end(), decision.collectives.begin(), decision.collectives.end());
    if (module.run && decision.outcome == Outcome::Established) {
      const hlo::RunModules run = modules_of(module);
      decision = compare(run.expected, run.actual, options, limits);
    }
    all = std::move(decision);
    all.collectives = std::move(collectives);
    if (all.outcome != Outcome::Established) break;
  }
  return all;
}

/// The reduction classes: without --axes all devices are axis 0.
std::vector<Group> classes_of(const std::string& reduces, GivenInstance given,
                              std::uint32_t devices) {
  const std::string all = std::to_string(devices);
  if (!given.axes) given.axes = parse_axes("--axes", all);
  if (!given.hierarchy) given.hierarchy = parse_hierarchy("--hierarchy", all);
  given.reduction = parse_reduction("--reduces", reduces, *given.axes);
  const auto instance = given.resolve({"--reduces"});
  if (instance->grid.devices() != devices) {
    throw InputError({"--reduces"},
                     fmt::format("{} devices by the axes, {} by the module, expected as many",
                                 instance->grid.devices(), devices));
  }
  return instance->classes();
}

std::string devices_text(const ModuleDecision& decision) {
  const hlo::Devices& devices = decision.devices;
  if (decision.programs > 0) {
    return fmt::format("{} programs on {} devices", decision.programs, devices.count());
  }
  return fmt::format("{} replica{} × {} partition{}{}", devices.replicas,
                     devices.replicas == 1 ? "" : "s", devices.partitions,
                     devices.partitions == 1 ? "" : "s",
                     devices.assumed ? ", as few as the groups allow" : "");
}

const std::string& explanation_of(const ModuleDecision& decision) {
  return decision.violation ? decision.violation->explanation : decision.reason;
}

std::string rule_of(const ModuleDecision& decision) {
  return decision.violation ? decision.violation->rule : "";
}

Json element_json(const std::string& rule, const hlo::DifferingElement& element) {
  return Json::object({{"rule", rule},
                       {"device", element.device},
                       {"replica", element.replica},
                       {"partition", element.partition},
                       {"output", element.output},
                       {"index", Json::array_of(element.index)},
                       {"before", element.before},
                       {"after", element.after}});
}

/// The member `counterexample`; also the element on which an undecided comparison stopped.
Json counterexample_json(const ModuleDecision& decision) {
  if (decision.undecided_element) return element_json("undecided", *decision.undecided_element);
  if (!decision.violation) return {};
  const hlo::Difference& violation = *decision.violation;
  if (violation.position) {
    return Json::object({{"rule", violation.rule},
                         {"file", violation.position->source},
                         {"line", violation.position->line},
                         {"column", violation.position->column}});
  }
  return violation.element ? element_json(violation.rule, *violation.element) : Json();
}

Json engines_json(const ModuleDecision& decision) {
  Json engines = Json::object({{"explicit", to_string(decision.outcome)}});
  if (decision.interpreter) engines.add("interpreter", to_string(*decision.interpreter));
  if (decision.symbolic) engines.add("symbolic", to_string(*decision.symbolic));
  return engines;
}

const char* to_string(hlo::Form form) {
  return form == hlo::Form::Global ? "unpartitioned" : "partitioned";
}

Json relation_json(const ModuleDecision& decision) {
  Json placements = Json::object({});
  for (const hlo::Placement& placement : decision.placements) {
    placements.add(placement.tensor, placement.tiles);
  }
  return Json::object({{"before", to_string(decision.before)},
                       {"after", to_string(decision.after)},
                       {"placements", std::move(placements)}});
}

/// How an unpartitioned module's tensors are held by devices; empty for two partitioned modules.
std::string relation_text(const ModuleDecision& decision) {
  if (decision.before == decision.after) {
    return decision.before == hlo::Form::Global ? "Both modules are unpartitioned." : "";
  }
  std::vector<std::string> parts;
  for (const hlo::Placement& placement : decision.placements) {
    parts.push_back(fmt::format("{} {}", placement.tensor, placement.tiles));
  }
  return fmt::format("The module {} is unpartitioned; devices hold of its tensors: {}.",
                     decision.before == hlo::Form::Global ? "before" : "after",
                     fmt::join(parts, ", "));
}

Json json_of(const Subject& subject, const ModuleDecision& decision, bool solvers_skipped,
             bool ordered, const Evidence& evidence) {
  const auto optional = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  const std::string_view verdict = to_string(decision.outcome);
  Json json = Json::object({{"file", subject.file},
                            {"before", optional(subject.before)},
                            {"format", "hlo"},
                            {"goal", optional(subject.goal)},
                            {"replicas", decision.devices.replicas},
                            {"partitions", decision.devices.partitions},
                            {"devices_assumed", decision.devices.assumed},
                            {"programs", decision.programs},
                            {"verdict", verdict},
                            {"engines", engines_json(decision)}});
  if (!subject.before.empty()) {
    json.add("numbers", ordered ? "in order" : to_string(decision.equality));
    if (decision.shown) json.add("numbers_shown", to_string(*decision.shown));
    json.add("relation", relation_json(decision));
  }
  if (solvers_skipped) json.add("not_asked", Json::array({"z3", "cnf"}));
  const bool certified = evidence.kind == Evidence::Kind::Certificate;
  json.add("certificate", certified ? Json(evidence.folder) : Json());
  if (certified) json.add("claim_digest", evidence.claim);
  json.add("step", nullptr);
  json.add("reason", optional(explanation_of(decision)));
  json.add("counterexample", counterexample_json(decision));
  if (!decision.assumed.empty()) json.add("assumed", Json::array_of(decision.assumed));
  if (!decision.unknown.empty()) {
    json.add("not_understood",
             Json::array_of(decision.unknown, [](const hlo::UnknownOperation& each) {
               return Json::object({{"file", each.position.source},
                                    {"line", each.position.line},
                                    {"instruction", each.name},
                                    {"operation", each.opcode},
                                    {"why", each.why.empty() ? Json() : Json(each.why)},
                                    {"outputs", Json::array_of(each.outputs)}});
             }));
  }
  json.add("uninterpreted", Json::array_of(decision.uninterpreted));
  json.add("collectives", Json::array_of(decision.collectives, [](const hlo::CollectiveLine& line) {
             return Json::object({{"name", line.name},
                                  {"operation", line.opcode},
                                  {"shape", line.shape},
                                  {"groups", line.groups}});
           }));
  return json;
}

/// More operations that are not understood are counted; JSON has them all.
constexpr std::size_t kMaxUnknownShown = 8;

/// An operation that is not understood, with the outputs that depend on it.
std::string unknown_text(const hlo::UnknownOperation& operation) {
  const std::string outputs =
      operation.outputs.empty()
          ? "no output depends on it"
          : fmt::format("output{} {} depend{} on it", operation.outputs.size() == 1 ? "" : "s",
                        fmt::join(operation.outputs, ", "),
                        operation.outputs.size() == 1 ? "s" : "");
  return fmt::format("not understood: {} {} ({}:{}){}; {}", operation.opcode, operation.name,
                     operation.position.source, operation.position.line,
                     operation.why.empty() ? "" : ": " + operation.why, outputs);
}

std::vector<Document::Block> text_of(const Subject& subject, const ModuleDecision& decision,
                                     bool solvers_skipped, bool ordered, const Evidence& evidence) {
  Document document;
  const std::string rule = rule_of(decision);
  const bool is_equal = decision.outcome == Outcome::Established && !subject.before.empty();
  const std::string sense =
      fmt::format(", {}{}", words_of(decision.equality), ordered ? " and their order" : "");
  document.line(fmt::format("{}: {}{} ({}{}{})", subject.file, to_string(decision.outcome),
                            rule.empty() ? "" : ", " + rule,
                            !subject.before.empty() ? fmt::format("after {}, ", subject.before)
                            : !subject.goal.empty() ? fmt::format("goal {}, ", subject.goal)
                                                    : "",
                            devices_text(decision), is_equal ? sense : ""));
  if (!subject.before.empty() && !relation_text(decision).empty()) {
    document.line(relation_text(decision));
  }
  if (!explanation_of(decision).empty()) {
    std::string position;
    if (decision.violation && decision.violation->position) {
      const SourcePosition& where = *decision.violation->position;
      position = fmt::format("{}:{}:{}: ", where.source, where.line, where.column);
    }
    document.line(position + explanation_of(decision));
  }
  if (!decision.assumed.empty()) {
    document.line(fmt::format("assumed equal, without elements in the text: {}",
                              fmt::join(decision.assumed, ", ")));
  }
  const std::size_t shown = std::min(decision.unknown.size(), kMaxUnknownShown);
  for (std::size_t i = 0; i < shown; ++i) document.line(unknown_text(decision.unknown[i]));
  if (shown < decision.unknown.size()) {
    document.line(fmt::format("not understood: {} more", decision.unknown.size() - shown));
  }
  if (!decision.uninterpreted.empty()) {
    document.line(fmt::format("not looked into: {}", fmt::join(decision.uninterpreted, ", ")));
  }
  std::string lines;
  for (const hlo::CollectiveLine& line : decision.collectives) {
    lines += fmt::format("    {} {} {} {}\n", line.name, line.opcode, line.shape, line.groups);
  }
  if (!lines.empty()) document.add(Preformatted{lines});
  if (evidence.kind == Evidence::Kind::Certificate) {
    document.line(certificate_line(evidence));
  } else if (evidence.kind == Evidence::Kind::SolverOnly) {
    document.line("no certificate: " + printable(evidence.trouble));
  }
  if (solvers_skipped) document.line("z3, cnf: not asked, they know programs of collectives");
  return document.blocks;
}

FileReport report_of(const Subject& subject, const ModuleDecision& decision) {
  FileReport report{subject.file, "hlo", {}, 0};
  Property well_formed{"well-formed"};
  Property equal{subject.before.empty() ? "goal" : "equal"};
  const bool compared = !subject.before.empty() || !subject.goal.empty();
  const bool ill_formed = decision.violation && decision.violation->position;
  Property& decided = ill_formed || !compared ? well_formed : equal;
  if (decision.outcome == Outcome::Refuted) decided.status = Property::Status::Refuted;
  if (decision.outcome == Outcome::Undecided) decided.status = Property::Status::Undecided;
  if (decision.outcome == Outcome::Disagreement) decided.status = Property::Status::Disagreement;
  decided.rule = rule_of(decision);
  decided.message = explanation_of(decision);
  if (ill_formed) {
    decided.line = decision.violation->position->line;
    decided.column = decision.violation->position->column;
    equal.status = Property::Status::NotExamined;
  }
  report.properties.push_back(well_formed);
  if (compared) report.properties.push_back(equal);
  return report;
}

std::string_view model_text(FloatEquality equality) {
  switch (equality) {
    case FloatEquality::Real:
      return "real numbers, integers modulo 2^bits";
    case FloatEquality::Reassociated:
      return "rounded numbers with sums in any order, integers modulo 2^bits";
    case FloatEquality::Bitwise:
      return "rounded numbers, integers modulo 2^bits";
  }
  return {};
}

Result result_of(const Subject& subject, const ModuleDecision& decision, bool ordered) {
  Result result;
  result.subject = subject.file;
  result.outcome = decision.outcome;
  if (decision.violation) {
    const hlo::Difference& violation = *decision.violation;
    result.counterexample =
        Counterexample{violation.rule, violation.position.value_or(SourcePosition{subject.file}),
                       violation.explanation, counterexample_json(decision)};
  }
  if (decision.outcome == Outcome::Undecided) {
    result.undecided = Undecided{
        decision.undecided_element ? Undecided::Reason::Unsupported : Undecided::Reason::Limit,
        decision.reason};
  }
  result.engines = {{"explicit", decision.outcome, 0, rule_of(decision)}};
  if (decision.interpreter) result.engines.push_back({"interpreter", *decision.interpreter});
  if (decision.symbolic) result.engines.push_back({"symbolic", *decision.symbolic});
  result.model = fmt::format("{}; {}", devices_text(decision),
                             ordered ? "floating-point addition in the order of each module"
                                     : model_text(decision.equality));
  result.evidence.kind = Evidence::Kind::None;
  return result;
}

/// `decide()`, or Undecided where that reaches a limit.
template <typename Decide>
ModuleDecision within_limits(const Decide& decide) {
  try {
    return decide();
  } catch (const LimitReached& limit) {
    ModuleDecision decision;
    decision.outcome = Outcome::Undecided;
    decision.reason = fmt::format("Undecided: {}.", limit.what());
    return decision;
  }
}

/// The texts of two modules.
struct Texts {
  std::string before;
  std::string after;
  std::map<std::string, std::string> programs = {};  ///< by file, where devices run several after

  const std::string& of(const std::string& file) const {
    const auto found = programs.find(file);
    return found == programs.end() ? after : found->second;
  }
};

/// Writes the certificate asked for; why there is none is said in the evidence.
Evidence certify(const Texts& texts, const ModuleQuestion& question, const ModuleDecision& decision,
                 const Limits& limits, std::vector<Diagnostic>& diagnostics) {
  const auto none = [](const std::string& why) {
    return Evidence{Evidence::Kind::SolverOnly, {}, why};
  };
  if (question.ordered) return none("p2-check does not cover orders of addition");
  if (!texts.programs.empty()) return none("p2-check executes one program on all devices");
  if (decision.equality != FloatEquality::Real) {
    return none(fmt::format("p2-check compares real numbers, not what is {}",
                            to_string(decision.equality)));
  }
  const Provenance provenance{
      {{"p2-verify", build_info().version}}, {{"engine", question.engine}}, question.seed};
  return evidence_of(module_certificate({texts.before, texts.after, decision}, provenance, limits),
                     *question.certificate, diagnostics);
}

template <typename Decide>
ModuleCheck answer(const Subject& subject, const ModuleQuestion& question, const Decide& decide,
                   const Texts& texts = {}, const Limits& limits = {}) {
  ModuleDecision decision = within_limits(decide);
  const bool solvers_skipped = question.engine == "all";
  ModuleCheck check;
  check.result = result_of(subject, decision, question.ordered);
  const bool settled =
      decision.outcome == Outcome::Established || decision.outcome == Outcome::Refuted;
  if (question.certificate && settled && !texts.after.empty())
    check.result.evidence = certify(texts, question, decision, limits, check.diagnostics);
  check.json = json_of(subject, decision, solvers_skipped, question.ordered, check.result.evidence);
  check.text = text_of(subject, decision, solvers_skipped, question.ordered, check.result.evidence);
  check.report = report_of(subject, decision);
  check.decision = std::move(decision);
  return check;
}

/// Adds the user's lines that compute the output that differs, where the module has them.
void add_source(const hlo::Module& module, const std::string& text, ModuleCheck& check) {
  const ModuleDecision& decision = check.decision;
  if (!decision.violation || !decision.violation->element) return;
  const std::size_t output = decision.violation->element->output;
  const std::vector<std::string> lines = hlo::source_of_output(module, text, output);
  if (lines.empty()) return;
  check.json.add("source", Json::array_of(lines));
  check.text.push_back(
      Paragraph{fmt::format("Output {} is computed at {}.", output, lines.front())});
}

Json groups_json(const std::vector<std::vector<std::uint32_t>>& groups) {
  return Json::array_of(groups, [](const auto& group) { return Json::array_of(group); });
}

Json json_of(const hlo::NamedInstruction& instruction) {
  return Json::object({{"instruction", instruction.name},
                       {"operation", instruction.opcode},
                       {"line", instruction.position.line},
                       {"column", instruction.position.column}});
}

Json json_of(const hlo::Explanation& explanation, const std::vector<std::string>& source) {
  Json json = json_of(explanation.instruction);
  json.add("file", explanation.instruction.position.source);
  json.add("source", Json::array_of(source));
  json.add("operands", Json::array_of(explanation.operands, [](const hlo::ExplainedOperand& each) {
             Json operand = json_of(each.instruction);
             operand.add("tensor", each.tensor ? json_of(*each.tensor) : Json());
             operand.add("held", each.held.empty() ? Json() : Json(each.held));
             if (!each.groups.empty()) operand.add("groups", groups_json(each.groups));
             return operand;
           }));
  json.add("text", explanation.paragraph);
  if (!explanation.repair) return json.add("repair", nullptr);
  Json repair = json_of(explanation.repair->place);
  repair.add("text", explanation.repair->words);
  if (!explanation.repair->groups.empty()) {
    repair.add("groups", groups_json(explanation.repair->groups));
  }
  return json.add("repair", std::move(repair));
}

/// What is to be changed, else where the modules part ways.
const SourcePosition& position_of(const hlo::Explanation& explanation) {
  return explanation.repair ? explanation.repair->place.position : explanation.instruction.position;
}

/// Adds where two modules that differ part ways, and what would repair it.
void add_explanation(const hlo::Module& before, const hlo::Module& after, const Texts& texts,
                     const Limits& limits, ModuleCheck& check) {
  const auto explanation = hlo::explain(before, after, check.decision, limits);
  if (!explanation) return;
  const SourcePosition& where = explanation->instruction.position;
  const std::vector<std::string> source = hlo::source_lines(
      explanation->is_of_before ? texts.before : texts.of(where.source), where.line);
  check.json.add("explanation", json_of(*explanation, source));
  std::string text = fmt::format("{}:{}:{}: {}{}", where.source, where.line, where.column,
                                 source.empty() ? "" : fmt::format("({}) ", source.front()),
                                 explanation->paragraph);
  check.text.push_back(Paragraph{text});
  if (explanation->repair) {
    const hlo::ExplainedRepair& repair = *explanation->repair;
    const std::size_t line = repair.place.position.line;
    std::string words =
        repair.is_missing
            ? fmt::format("{} (line {}) is missing: with it, the modules are equal.", repair.words,
                          line)
            : fmt::format("With {} (line {}), the modules are equal.", repair.words, line);
    if (repair.is_missing) words.front() = 'A';
    check.text.push_back(Paragraph{words});
    text += " " + words;
  }
  if (check.result.counterexample) check.result.counterexample->explanation += " " + text;
  for (Property& property : check.report.properties) {
    if (property.status != Property::Status::Refuted) continue;
    property.message += " " + text;
    if (explanation->is_of_before) continue;
    property.line = position_of(*explanation).line;
    property.column = position_of(*explanation).column;
  }
}

/// The programs that the relation names, with their files beside it, and so the devices; none where
/// all devices run the module `after`.
std::vector<hlo::PlacedFile> programs_of(const std::string& after, const ModuleQuestion& question,
                                         hlo::ComparisonOptions& options) {
  if (!options.relation) return {};
  const std::vector<hlo::PlacedFile> programs =
      hlo::program_files(options.relation_file, *options.relation);
  const bool is_named = after == *question.relate;
  if (programs.empty() && is_named) {
    throw InputError({options.relation_file}, "names no modules, expected --after");
  }
  if (programs.empty()) return programs;
  if (!is_named) {
    throw InputError({"--after"},
                     "the relation names the modules that devices run, expected no --after");
  }
  if (question.replicas || question.partitions) {
    throw InputError({question.replicas ? "--replicas" : "--partitions"},
                     "the relation says how many devices run its modules, expected it alone");
  }
  std::int64_t devices = 0;
  for (const hlo::PlacedFile& program : programs) {
    devices += static_cast<std::int64_t>(program.devices.size());
  }
  options.devices = {1, devices};
  return programs;
}

}  // namespace

std::string module_text(const std::string& file, std::string bytes, const Limits& limits) {
  if (!hlo::is_binary_module(bytes)) return bytes;
#ifdef P2_HAS_PROTOBUF
  return hlo::text_of_binary_module(file, bytes, limits);
#else
  static_cast<void>(limits);
  throw ToolError(
      fmt::format("{}: is a binary module, which is read with protobuf; this build is "
                  "without it",
                  file));
#endif
}

bool is_module_text(const std::string& text) {
  return hlo::is_hlo(text) || hlo::is_stablehlo(text);
}

ModuleCheck check_module_file(const std::string& file, const std::string& text,
                              const ModuleQuestion& question, const GivenInstance& given,
                              const Limits& limits) {
  require_applicable(file, question);
  const hlo::ComparisonOptions options = options_of(question);
  if (!question.reduces) {
    if (question.ordered) {
      throw InputError({"--order"},
                       "orders are compared of two modules, expected --before and --after");
    }
    if (question.numbers != FloatEquality::Real) {
      throw InputError({"--numbers"},
                       "numbers are compared of two modules, expected --before and --after");
    }
    return answer({file, {}, {}}, question,
                  [&] { return check_all_modules(file, text, options, limits); });
  }
  const std::string& name = given.terms.goal.name;
  return answer({file, {}, name}, question, [&] {
    const auto module = read_module(file, text, limits);
    const auto goal = hlo::goal_called(name);
    if (!goal) {
      throw InputError({"--goal"}, fmt::format("'{}' is no goal of a module, expected allreduce, "
                                               "reducescatter, allgather, broadcast or alltoall",
                                               name));
    }
    const hlo::Devices devices = devices_of({module.get()}, options.devices);
    const auto specification =
        goal_module(*module, *goal, classes_of(*question.reduces, given, devices.count()));
    return compare(specification, module, options, limits);
  });
}

ModuleCheck compare_module_files(const std::string& before, const std::string& after,
                                 const ModuleQuestion& question, const Limits& limits) {
  require_applicable(before, question);
  hlo::ComparisonOptions options = options_of(question);
  const std::vector<hlo::PlacedFile> programs = programs_of(after, question, options);
  Texts texts{module_text(before, read_file(before), limits),
              module_text(after, read_file(after), limits)};
  for (const hlo::PlacedFile& program : programs) {
    texts.programs[program.file] = module_text(program.file, read_file(program.file), limits);
  }
  std::shared_ptr<const hlo::Module> first;
  std::shared_ptr<const hlo::Module> module;
  const auto decide = [&] {
    first = read_module(before, texts.before, limits);
    if (programs.empty()) {
      module = read_module(after, texts.after, limits);
      return compare(first, module, options, limits);
    }
    std::vector<hlo::PlacedProgram> placed;
    for (const hlo::PlacedFile& program : programs) {
      placed.push_back(
          {program.devices, read_module(program.file, texts.of(program.file), limits)});
    }
    auto linked = hlo::linked(placed, options.devices, limits);
    if (auto* decision = std::get_if<ModuleDecision>(&linked)) return std::move(*decision);
    module = std::get<std::shared_ptr<const hlo::Module>>(linked);
    return compare(first, module, options, limits);
  };
  ModuleCheck check = answer({after, before, {}}, question, decide, texts, limits);
  if (module && programs.empty()) add_source(*module, texts.after, check);
  if (module) add_explanation(*first, *module, texts, limits, check);
  if (module && question.explain) {
    const std::string drawing = hlo::draw_output(*first, *module, check.decision, limits);
    check.text.push_back(drawing.empty()
                             ? Document::Block(Paragraph{
                                   "The modules are too large, or not understood, for a drawing."})
                             : Preformatted{drawing});
  }
  return check;
}

SubjectCheck undecided_comparison(const std::string& before, const std::string& after,
                                  const std::string& reason) {
  ModuleCheck check = answer({after, before, {}}, {}, [&] {
    ModuleDecision decision;
    decision.outcome = Outcome::Undecided;
    decision.reason = reason;
    return decision;
  });
  return std::move(static_cast<SubjectCheck&>(check));
}

}  // namespace p2

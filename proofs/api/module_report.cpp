// What was decided about modules, as text, JSON and reports.

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/explanation/explanation.h"
#include "engine/hlo/text/hlo_text.h"
#include "proofs/api/module_check.h"
#include "proofs/certificate/certificate_folder.h"

namespace p2 {
namespace {

using hlo::ModuleDecision;

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

Json element_json(const std::string& rule, const ElementDifference& element) {
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
  if (decision.solver) engines.add("z3", to_string(*decision.solver));
  return engines;
}

const char* to_string(hlo::Form form) {
  return form == hlo::Form::Global ? "unpartitioned" : "partitioned";
}

Json relation_json(const ModuleDecision& decision) {
  Json placements = Json::object({});
  for (const hlo::TensorTiling& placement : decision.placements) {
    placements.add(placement.tensor, placement.tiles);
  }
  return Json::object({{"before", to_string(decision.before)},
                       {"after", to_string(decision.after)},
                       {"placements", std::move(placements)}});
}

/// With more tensors, those that are held alike are named together, on a line.
constexpr std::size_t kMaxPlacements = 8;
constexpr std::size_t kMaxWaysShown = 12;
constexpr std::size_t kMaxWidthOfNames = 90;

/// `x, w1 and 120 more`: as many names as are short together, at least one.
std::string names_text(const std::vector<std::string>& names) {
  std::string text = names[0];
  std::size_t named = 1;
  while (named < names.size() && text.size() + names[named].size() + 2 <= kMaxWidthOfNames) {
    text += ", " + names[named++];
  }
  return named == names.size() ? text : text + fmt::format(" and {} more", names.size() - named);
}

/// `x replicated; w columns over model`
std::string placements_text(const std::vector<hlo::TensorTiling>& placements) {
  std::vector<std::string> parts;
  for (const hlo::TensorTiling& each : placements) {
    parts.push_back(fmt::format("{} {}", each.tensor, each.tiles));
  }
  return fmt::to_string(fmt::join(parts, "; "));
}

/// `    columns over model: w1, w2`, a line for every way in which tensors are held.
std::string placements_lines(const std::vector<hlo::TensorTiling>& placements) {
  std::vector<std::pair<std::string, std::vector<std::string>>> kinds;  // in order of appearance
  std::map<std::string, std::size_t> kind_of;
  for (const hlo::TensorTiling& each : placements) {
    const auto [found, is_new] = kind_of.try_emplace(each.tiles, kinds.size());
    if (is_new) kinds.push_back({each.tiles, {}});
    kinds[found->second].second.push_back(each.tensor);
  }
  std::string lines;
  const std::size_t shown = std::min(kinds.size(), kMaxWaysShown);
  for (std::size_t k = 0; k < shown; ++k) {
    lines += fmt::format("    {}: {}\n", kinds[k].first, names_text(kinds[k].second));
  }
  if (shown < kinds.size()) {
    lines += fmt::format("    in {} more ways: others\n", kinds.size() - shown);
  }
  return lines;
}

/// How an unpartitioned module's tensors are held by devices; of two partitioned modules, which
/// inputs are the same on several devices, if that is taken.
void add_relation(Document& document, const ModuleDecision& decision) {
  const std::vector<hlo::TensorTiling>& placements = decision.placements;
  if (decision.before == decision.after) {
    if (decision.before == hlo::Form::Global) document.line("Both modules are unpartitioned.");
    if (!placements.empty()) {
      document.line(
          fmt::format("Inputs are as the module before says: {}.", placements_text(placements)));
    }
    return;
  }
  const std::string_view which = decision.before == hlo::Form::Global ? "before" : "after";
  if (placements.empty()) {
    document.line(fmt::format("The module {} is unpartitioned.", which));
  } else if (placements.size() <= kMaxPlacements) {
    document.line(fmt::format("The module {} is unpartitioned; the shardings of its tensors: {}.",
                              which, placements_text(placements)));
  } else {
    document.line(
        fmt::format("The module {} is unpartitioned; the shardings of its tensors:", which));
    document.add(Preformatted{placements_lines(placements)});
  }
}

Json json_of(const ModuleSubject& subject, const ModuleDecision& decision,
             const Evidence& evidence) {
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
    json.add("numbers", subject.ordered ? "in order" : to_string(decision.equality));
    if (decision.shown) json.add("numbers_shown", to_string(*decision.shown));
    json.add("relation", relation_json(decision));
  }
  if (subject.solvers_asked) {
    json.add("not_asked", decision.solver ? Json::array({"cnf"}) : Json::array({"z3", "cnf"}));
  }
  const bool certified = evidence.kind == Evidence::Kind::Certificate;
  json.add("certificate", certified ? Json(evidence.folder) : Json());
  if (certified) json.add("claim_digest", evidence.claim);
  json.add("step", nullptr);
  json.add("reason", optional(explanation_of(decision)));
  json.add("counterexample", counterexample_json(decision));
  if (!decision.assumed.empty()) json.add("assumed", Json::array_of(decision.assumed));
  if (!decision.read_as.empty()) json.add("read_as", Json::array_of(decision.read_as));
  if (!decision.finite.empty()) json.add("finite", Json::array_of(decision.finite));
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
  if (!decision.reduced.empty()) {
    json.add("reduced_dimensions", Json::array_of(decision.reduced));
  }
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

/// `0, 2–5, 9`, of ascending numbers.
std::string ranges_text(const std::vector<std::size_t>& numbers) {
  std::string text;
  for (std::size_t first = 0, last = 0; first < numbers.size(); first = last + 1) {
    last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (last == first + 1) last = first;  // two are listed
    text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[first]);
    if (last > first) text += fmt::format("–{}", numbers[last]);
  }
  return text;
}

/// An operation that is not understood, with the outputs that depend on it.
std::string unknown_text(const hlo::UnknownOperation& operation) {
  const std::string outputs =
      operation.outputs.empty()
          ? "no output depends on it"
          : fmt::format("output{} {} depend{} on it", operation.outputs.size() == 1 ? "" : "s",
                        ranges_text(operation.outputs), operation.outputs.size() == 1 ? "s" : "");
  return fmt::format("not understood: {} {} ({}:{}){}; {}", operation.opcode, operation.name,
                     operation.position.source, operation.position.line,
                     operation.why.empty() ? "" : ": " + operation.why, outputs);
}

std::vector<Document::Block> text_of(const ModuleSubject& subject, const ModuleDecision& decision,
                                     const Evidence& evidence) {
  Document document;
  const std::string rule = rule_of(decision);
  const bool is_equal = decision.outcome == Outcome::Established && !subject.before.empty();
  const std::string sense = fmt::format(", {}{}{}", words_of(decision.equality),
                                        subject.ordered ? " and their order" : "",
                                        decision.finite.empty() ? "" : ", on a condition");
  document.line(fmt::format("{}: {}{} ({}{}{})", subject.file, to_string(decision.outcome),
                            rule.empty() ? "" : ", " + rule,
                            !subject.before.empty() ? fmt::format("after {}, ", subject.before)
                            : !subject.goal.empty() ? fmt::format("goal {}, ", subject.goal)
                                                    : "",
                            devices_text(decision), is_equal ? sense : ""));
  if (!subject.before.empty()) add_relation(document, decision);
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
  if (!decision.read_as.empty()) {
    document.line(fmt::format("constants read as what was rounded to them: {}",
                              fmt::join(decision.read_as, ", ")));
  }
  if (!decision.finite.empty()) {
    document.line(fmt::format(
        "condition: that these are finite, as they are multiplied by masks or padding: {}",
        fmt::join(decision.finite, ", ")));
  }
  const std::size_t shown = std::min(decision.unknown.size(), kMaxUnknownShown);
  for (std::size_t i = 0; i < shown; ++i) document.line(unknown_text(decision.unknown[i]));
  if (shown < decision.unknown.size()) {
    document.line(fmt::format("not understood: {} more", decision.unknown.size() - shown));
  }
  if (!decision.uninterpreted.empty()) {
    document.line(fmt::format("treated as uninterpreted functions: {}",
                              fmt::join(decision.uninterpreted, ", ")));
  }
  if (!decision.reduced.empty()) {
    document.line(fmt::format("executed with dimension sizes {} → 1, where indices are independent",
                              fmt::join(decision.reduced, ", ")));
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
  if (decision.solver) document.line(fmt::format("z3: {}", to_string(*decision.solver)));
  if (subject.solvers_asked) {
    document.line(decision.solver ? "cnf: not asked, it knows programs of collectives"
                                  : "z3, cnf: not asked, they compare no module on its own");
  }
  return document.blocks;
}

FileReport report_of(const ModuleSubject& subject, const ModuleDecision& decision) {
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

Result result_of(const ModuleSubject& subject, const ModuleDecision& decision) {
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
  if (decision.solver) result.engines.push_back({"z3", *decision.solver});
  result.model = fmt::format("{}; {}", devices_text(decision),
                             subject.ordered ? "floating-point addition in the order of each module"
                                             : model_text(decision.equality));
  result.evidence.kind = Evidence::Kind::None;
  return result;
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

}  // namespace

ModuleCheck check_of(const ModuleSubject& subject, ModuleDecision decision,
                     const Evidence& evidence) {
  ModuleCheck check;
  check.shown.result = result_of(subject, decision);
  check.shown.result.evidence = evidence;
  check.shown.json = json_of(subject, decision, evidence);
  check.shown.text = text_of(subject, decision, evidence);
  check.shown.report = report_of(subject, decision);
  check.decision = std::move(decision);
  return check;
}

void add_source(const hlo::Module& module, const std::string& text, ModuleCheck& check) {
  const ModuleDecision& decision = check.decision;
  if (!decision.violation || !decision.violation->element) return;
  const std::size_t output = decision.violation->element->output;
  const std::vector<std::string> lines = hlo::source_of_output(module, text, output);
  if (lines.empty()) return;
  check.shown.json.add("source", Json::array_of(lines));
  check.shown.text.push_back(
      Paragraph{fmt::format("Output {} is computed at {}.", output, lines.front())});
}

void add_explanation(const hlo::Explanation& explanation, const ModuleTexts& texts,
                     ModuleCheck& check) {
  const SourcePosition& where = explanation.instruction.position;
  const std::vector<std::string> source = hlo::source_lines(
      explanation.is_of_before ? texts.before : texts.of(where.source), where.line);
  check.shown.json.add("explanation", json_of(explanation, source));
  std::string text = fmt::format("{}:{}:{}: {}{}", where.source, where.line, where.column,
                                 source.empty() ? "" : fmt::format("({}) ", source.front()),
                                 explanation.paragraph);
  check.shown.text.push_back(Paragraph{text});
  if (explanation.repair) {
    const hlo::ExplainedRepair& repair = *explanation.repair;
    const std::size_t line = repair.place.position.line;
    const char* const are_equal = explanation.is_on_blocks
                                      ? "the modules agree on inputs that are alike in blocks"
                                      : "the modules are equal";
    std::string words =
        repair.is_missing
            ? fmt::format("{} (line {}) is missing: with it, {}.", repair.words, line, are_equal)
            : fmt::format("With {} (line {}), {}.", repair.words, line, are_equal);
    if (repair.is_missing) words.front() = 'A';
    check.shown.text.push_back(Paragraph{words});
    text += " " + words;
  }
  if (check.shown.result.counterexample)
    check.shown.result.counterexample->explanation += " " + text;
  for (Property& property : check.shown.report.properties) {
    if (property.status != Property::Status::Refuted) continue;
    property.message += " " + text;
    if (explanation.is_of_before) continue;
    property.line = position_of(explanation).line;
    property.column = position_of(explanation).column;
  }
}

}  // namespace p2

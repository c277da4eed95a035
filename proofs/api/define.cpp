#include "proofs/api/terms.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/files.h"
#include "engine/base/limits.h"
#include "engine/collective/language/definition.h"
#include "engine/collective/language/interpreter.h"

namespace p2 {
namespace {

using definition::Check;
using definition::Difference;
using definition::Findings;
using definition::SettledBy;
using language::Definition;
using language::GroupState;

constexpr const char* kMargin = "   ";
/// The family of the rules of a report.
constexpr const char* kReportFormat = "definition";

std::string blanks(std::size_t count) { return std::string(count, ' '); }

/// The line of one chunk; every position takes `width` columns.
std::string draw_chunk(const GroupState& state, std::uint32_t chunk, std::size_t width) {
  std::string line;
  for (std::uint32_t i = 0; i < state.devices(); ++i) {
    for (std::uint32_t c = 0; c < state.contributors(); ++c) {
      line += state.holds(i, chunk, c) ? "█" : "·";
    }
    line += blanks(width - state.contributors());
  }
  return line;
}

/// Two states of a group side by side, a matrix for each position: rows are chunks, columns are
/// contributors, and a filled cell is a contribution that is held.
std::string draw_step(const GroupState& before, const GroupState& after) {
  const std::size_t width = std::max<std::size_t>(before.contributors(), 2) + 2;
  const std::size_t half = std::max(width * before.devices(), std::string("before  ").size());
  const std::string gap = blanks(half - width * before.devices()) + kMargin;
  std::string positions;
  for (std::uint32_t i = 0; i < before.devices(); ++i) {
    positions += fmt::format("{:<{}}", fmt::format("p{}", i), width);
  }
  const auto line = [](const std::string& left, const std::string& right) {
    const std::string text = kMargin + left + right;
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  std::string drawing = line(fmt::format("{:<{}}", "before", half) + kMargin, "after");
  drawing += line(positions + gap, positions);
  for (std::uint32_t r = 0; r < before.chunks(); ++r) {
    drawing += line(draw_chunk(before, r, width) + gap, draw_chunk(after, r, width));
  }
  return drawing;
}

// --- as JSON ---

Json state_json(const std::optional<GroupState>& state) {
  if (!state) return nullptr;
  Json positions = Json::array();
  for (std::uint32_t i = 0; i < state->devices(); ++i) {
    Json chunks = Json::array();
    for (std::uint32_t r = 0; r < state->chunks(); ++r) {
      Json held = Json::array();
      for (std::uint32_t c = 0; c < state->contributors(); ++c) {
        if (state->holds(i, r, c)) held.push_back(c);
      }
      chunks.push_back(std::move(held));
    }
    positions.push_back(std::move(chunks));
  }
  return positions;
}

std::string settled_by_word(SettledBy settled_by) {
  switch (settled_by) {
    case SettledBy::Construction:
      return "construction";
    case SettledBy::Both:
      return "both";
    case SettledBy::SolverOnly:
      return "solver-only";
    case SettledBy::Nobody:
      return "nobody";
  }
  return {};
}

Json counterexample_json(const Check& check) {
  if (!check.counterexample) return nullptr;
  return Json::object({{"reason", check.counterexample->reason},
                       {"before", state_json(check.counterexample->before)},
                       {"after", state_json(check.counterexample->after)}});
}

Json check_json(const Check& check) {
  Json engines;
  if (check.settled_by != SettledBy::Construction) {
    engines = Json::object({{"z3", definition::check_word(check.z3)},
                            {"explicit", definition::check_word(check.by_states)}});
  }
  return Json::object({{"name", check.name},
                       {"verdict", definition::check_word(check.verdict)},
                       {"detail", check.detail},
                       {"every_size", check.every_size},
                       {"settled_by", settled_by_word(check.settled_by)},
                       {"engines", std::move(engines)},
                       {"counterexample", counterexample_json(check)}});
}

Json relation_json(const definition::Relation& relation) {
  return Json::object({{"kind", to_string(relation.kind)}, {"to", Json::array_of(relation.to)}});
}

Json difference_json(const Difference& difference) {
  return Json::object(
      {{"check", difference.check},
       {"devices", difference.shape.devices},
       {"chunks", difference.shape.chunks},
       {"contributors", difference.shape.contributors},
       {"engines", Json::object({{"z3", difference.z3}, {"explicit", difference.by_states}})},
       {"state", state_json(difference.state)}});
}

Json definition_json(const ExaminedDefinition& examined) {
  const Findings& findings = examined.findings;
  Json json =
      Json::object({{"file", examined.file},
                    {"collective", findings.collective},
                    {"max_group", findings.max_group},
                    {"sizes", findings.sizes_text()},
                    {"checks", Json::array_of(findings.checks, check_json)},
                    {"relations", Json::array_of(findings.relations, relation_json)},
                    {"differences", Json::array_of(findings.differences, difference_json)}});
  if (examined.traffic) json.add("traffic", language::to_string(*examined.traffic));
  return json;
}

// --- as text ---

std::string settled_by_text(const Check& check) {
  if (check.settled_by == SettledBy::Nobody) {
    return check.name == "satisfiable" ? "nobody" : "limit met";
  }
  if (check.settled_by == SettledBy::SolverOnly && check.exhausted_to >= definition::kMinGroup) {
    return fmt::format("both to n = {}, then solver-only", check.exhausted_to);
  }
  return settled_by_word(check.settled_by);
}

/// The sizes for which a check holds.
std::string holds_for_text(const Check& check, const Findings& findings) {
  if (check.settled_by == SettledBy::Construction) return "every n, k";
  if (check.verdict == Outcome::Refuted && check.every_size) return "no n, k";
  if (check.verdict != Outcome::Established) return "";
  if (check.every_size) return "every n, k";
  if (check.name == "satisfiable") return "some n, k";
  return findings.further_shapes.empty() ? fmt::format("n <= {}, k <= 2n", findings.max_group)
                                         : "sizes above";
}

std::string headline(const ExaminedDefinition& examined) {
  const Findings& findings = examined.findings;
  const std::string refuted = findings.refuted_checks();
  const bool undecided =
      std::any_of(findings.checks.begin(), findings.checks.end(),
                  [](const Check& check) { return check.verdict == Outcome::Undecided; });
  const std::string verdict = !refuted.empty() ? refuted + " refuted"
                              : undecided      ? "undecided"
                                               : "sound";
  return fmt::format("{}: {}: {} ({})", examined.file, findings.collective, verdict,
                     findings.sizes_text());
}

std::string checks_table(const Findings& findings) {
  std::size_t widest = 0;
  for (const Check& check : findings.checks) {
    widest = std::max(widest, settled_by_text(check).size());
  }
  const auto line = [&](std::string_view name, std::string_view verdict, std::string_view sizes,
                        std::string_view by, std::string_view detail) {
    const std::string text =
        fmt::format("  {:<17} {:<8} {:<16}  {:<{}}  {}", name, verdict, sizes, by, widest, detail);
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  std::string text = line("check", "verdict", "for", "settled by", "detail");
  for (const Check& check : findings.checks) {
    text += line(check.name, definition::check_word(check.verdict), holds_for_text(check, findings),
                 settled_by_text(check), check.detail);
  }
  for (const definition::Relation& relation : findings.relations) {
    text += fmt::format("  {} {}\n", findings.collective, to_string(relation));
  }
  return text;
}

void add_blocks(const ExaminedDefinition& examined, Document& document) {
  const Findings& findings = examined.findings;
  document.line(headline(examined));
  document.add(Preformatted{checks_table(findings)});
  if (examined.traffic) {
    document.line(fmt::format("  cost prices a step as {} of what the device that holds most has",
                              language::to_string(*examined.traffic)));
  }
  for (const Check& check : findings.checks) {
    if (!check.counterexample) continue;
    document.line("").line(check.name + " is refuted:");
    const auto& [reason, before, after] = *check.counterexample;
    if (before) document.add(Preformatted{draw_step(*before, *after)});
    document.line(reason);
  }
  for (const Difference& difference : findings.differences) {
    document.line("").line(
        fmt::format("{}: THE ENGINES DISAGREE ({}): z3 says {}, explicit says {}", difference.check,
                    to_string(difference.shape), difference.z3, difference.by_states));
    if (difference.state) document.line("state " + language::state_json(*difference.state));
  }
}

// --- as a result ---

DefinitionReport report_of(const ExaminedDefinition& examined) {
  const Findings& findings = examined.findings;
  DefinitionReport report{examined.file, findings.collective, findings.outcome(),
                          findings.sizes_text()};
  for (const Check& check : findings.checks) {
    report.checks.push_back({check.name, check.verdict, check.detail,
                             settled_by_word(check.settled_by), check.every_size});
  }
  for (const definition::Relation& relation : findings.relations) {
    report.relations.push_back(to_string(relation));
  }
  return report;
}

Counterexample counterexample_of(const std::string& file, const Check& check) {
  const auto& [reason, before, after] = *check.counterexample;
  return {check.name,
          {file},
          reason,
          Json::object({{"before", state_json(before)}, {"after", state_json(after)}}),
          before ? draw_step(*before, *after) : std::string()};
}

Result result_of(const ExaminedDefinition& examined) {
  const Findings& findings = examined.findings;
  Result result;
  result.subject = examined.file;
  result.outcome = findings.outcome();
  result.model = findings.sizes_text();
  result.evidence.kind = Evidence::Kind::SolverOnly;
  const auto first = [&](Outcome outcome) {
    return std::find_if(findings.checks.begin(), findings.checks.end(),
                        [&](const Check& check) { return check.verdict == outcome; });
  };
  const auto refuted = first(Outcome::Refuted);
  if (result.outcome == Outcome::Refuted) {
    result.counterexample = counterexample_of(examined.file, *refuted);
  }
  if (result.outcome == Outcome::Undecided) {
    result.undecided = Undecided{Undecided::Reason::Limit, findings.undecided_text()};
  }
  return result;
}

// --- as a report ---

Property property_of(const Check& check, const Findings& findings) {
  Property property{check.name};
  const bool differs = std::ranges::any_of(
      findings.differences, [&](const Difference& each) { return each.check == check.name; });
  if (differs) {
    property.status = Property::Status::Disagreement;
    property.message = "Z3 and the interpreter differ: a bug of p2-verify";
  } else if (check.verdict == Outcome::Refuted) {
    property.status = Property::Status::Refuted;
    property.rule = check.name;
    property.message = check.counterexample->reason;
  } else if (check.verdict == Outcome::Undecided) {
    property.status = Property::Status::Undecided;
    property.message = definition::undecided_text(check);
  }
  return property;
}

FileReport file_report_of(const ExaminedDefinition& examined) {
  FileReport report{examined.file, kReportFormat, {}, examined.seconds};
  for (const Check& check : examined.findings.checks) {
    report.properties.push_back(property_of(check, examined.findings));
  }
  return report;
}

/// The report of a file that was not examined.
FileReport file_report_of(const std::string& file, Property property) {
  return {file, kReportFormat, {std::move(property)}, 0};
}

// --- the examination ---

/// A definition file that was read.
struct Given {
  std::string file;
  Definition definition;
};

/// The collectives to compare a definition with: the built-in ones, then the others given, of which
/// the first of a name counts.
std::vector<const Definition*> known_definitions(const Given& own,
                                                 const std::vector<Given>& given) {
  std::vector<const Definition*> known;
  for (const Definition& definition : language::built_in_definitions()) {
    known.push_back(&definition);
  }
  for (const Given& other : given) {
    const bool named = std::any_of(known.begin(), known.end(), [&](const Definition* definition) {
      return definition->name == other.definition.name;
    });
    if (&other != &own && !named) known.push_back(&other.definition);
  }
  return known;
}

ExaminedDefinition examine_with_progress(const Given& own,
                                         const std::vector<const Definition*>& known,
                                         const std::string& subject, const DefineRequest& request,
                                         const Options& options) {
  definition::ExaminationProgress progress;
  definition::Scope scope;
  scope.max_group = request.max_group;
  scope.seed = options.seed;
  scope.jobs = options.jobs;
  scope.limits = options.limits;
  scope.progress = &progress;
  const auto start = std::chrono::steady_clock::now();
  const ProgressReporter reporter(options.progress, [&] {
    const std::uint32_t shapes = progress.of.load();
    return shapes == 0 ? subject + ": looking at states"
                       : fmt::format("{}: {} of {} sizes examined", subject, progress.shapes.load(),
                                     shapes);
  });
  ExaminedDefinition examined{own.file, definition::examine(own.definition, known, scope)};
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  examined.seconds = taken.count();
  examined.traffic = own.definition.traffic;
  return examined;
}

}  // namespace

DefineAnswer define_answer(const std::vector<ExaminedDefinition>& examined) {
  DefineAnswer answer;
  answer.document.title = "p2-verify define";
  for (const ExaminedDefinition& each : examined) {
    answer.results.push_back(result_of(each));
    answer.definitions.push_back(report_of(each));
    answer.outcome = worst(answer.outcome, answer.results.back().outcome);
    if (&each != &examined.front()) answer.document.line("");
    add_blocks(each, answer.document);
    answer.document.reports.push_back(file_report_of(each));
  }
  answer.document.json = Json::object({{"results", Json::array_of(examined, definition_json)}});
  return answer;
}

DefineAnswer define(const DefineRequest& request, const Options& options) {
  if (request.files.empty()) throw InputError({"files"}, "no file, expected at least one");
  if (request.max_group < definition::kMinGroup || request.max_group > definition::kMaxGroup) {
    throw InputError({"--max-group"}, fmt::format("{}, expected {} to {}", request.max_group,
                                                  definition::kMinGroup, definition::kMaxGroup));
  }
  std::vector<Diagnostic> diagnostics;
  std::vector<FileReport> not_examined;
  std::vector<Given> given;
  for (const std::string& file : request.files) {
    try {
      given.push_back({file, language::parse_definition(file, read_file(file))});
    } catch (const InputError& error) {
      diagnostics.push_back({Diagnostic::Kind::BadInput, error.what()});
      not_examined.push_back(file_report_of(file, {"input",
                                                   Property::Status::BadInput,
                                                   {},
                                                   error.message(),
                                                   error.where().line,
                                                   error.where().column}));
    }
  }
  std::vector<ExaminedDefinition> examined;
  for (const Given& own : given) {
    const std::string of =
        fmt::format("{} ({} of {})", own.definition.name, &own - given.data() + 1, given.size());
    try {
      examined.push_back(
          examine_with_progress(own, known_definitions(own, given), of, request, options));
    } catch (const LimitReached& error) {
      diagnostics.push_back({Diagnostic::Kind::Undecided, own.file + ": " + error.what()});
      not_examined.push_back(file_report_of(
          own.file, {"limits", Property::Status::Undecided, {}, error.what(), 0, 0}));
    }
  }
  DefineAnswer answer = define_answer(examined);
  std::ranges::move(not_examined, std::back_inserter(answer.document.reports));
  answer.diagnostics = std::move(diagnostics);
  answer.document.exit_code = exit_code_of(answer);
  return answer;
}

std::string definitions_in_coq(const std::vector<std::string>& files) {
  std::string text =
      "(* Generated by `p2-verify define --to coq` from the texts of the collectives below. *)\n"
      "From Coq Require Import Arith Bool.\n"
      "From P2Theory Require Import language.\n";
  std::set<std::string> names;
  for (const std::string& file : files) {
    const Definition definition = language::parse_definition(file, read_file(file));
    if (!names.insert(definition.name).second) {
      throw InputError(
          {file}, fmt::format("second definition of '{}', expected another name", definition.name));
    }
    text += "\n" + language::coq_text(definition);
  }
  return text;
}

}  // namespace p2

// Where two modules of XLA part ways, what would repair it, and which devices' pieces make up an
// element of an output.

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "engine/hlo/text/hlo_text.h"
#include "p2/error.h"
#include "proofs/api/module_check.h"

namespace p2 {
namespace {

/// Bytes of text that are related anew, all together, to find what would make modules equal.
constexpr std::size_t kMaxRepairBytes = std::size_t{32} << 20U;

/// The instruction as far as which tensors are related, of why there is no relation at every node;
/// empty where that is for another reason.
std::string end_in(const std::string& reason) {
  if (reason.find(" is not related, beginning with ") == std::string::npos) return {};
  return reason.substr(reason.rfind(' ') + 1);
}

/// Where a relation ends, with the line of the instruction, if the text has it under this name.
std::string with_line(const std::string& where, const std::string& file, const std::string& text) {
  const std::string name = end_in(where);
  if (name.empty()) return where;
  std::istringstream lines(text);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    std::string_view rest(line);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    if (rest.starts_with("ROOT ")) rest.remove_prefix(5);
    if (rest.starts_with('%')) rest.remove_prefix(1);
    if (rest.starts_with(name) && rest.substr(name.size()).starts_with(" = "))
      return fmt::format("{} ({}:{})", where, file, number);
  }
  return where;
}

/// Where the relation of two modules that are not equal ends; empty where it does not.
std::string end_of(const Related& related, const hlo::ModuleDecision& decision) {
  const bool is_open =
      decision.outcome == Outcome::Refuted || decision.outcome == Outcome::Undecided;
  if (!is_open || !related || related->index() != 1) return {};
  return end_in(std::get<1>(*related));
}

/// What would make the modules equal: with it, there is a relation at every node.
std::optional<hlo::Explanation> explanation_of_end(
    const ComparedModules& compared, const CertifiedModules& certified, const std::string& end,
    const hlo::HeldArrays& held, const Limits& limits, const hlo::ModuleDecision& decision) {
  const hlo::ModuleRelation& relation = *decision.relation;
  std::size_t bytes = 0;
  const auto is_related = [&](const hlo::Module& changed) -> std::optional<bool> {
    bytes += compared.texts.before.size() + compared.texts.after.size();
    if (bytes > kMaxRepairBytes) return std::nullopt;
    try {
      CertifiedModules modules = certified;
      (relation.is_reversed() ? modules.before : modules.after) = hlo::canonical_text(changed);
      return related_certificate(modules, relation, decision.devices,
                                 equal_constants(compared.texts, relation), {}, limits)
                 .index() == 0;
    } catch (const LimitReached&) {
      return std::nullopt;
    } catch (const hlo::NoCanonicalText&) {
      return std::nullopt;
    }
  };
  return hlo::explain_end(compared.before, compared.after, decision, end, held, limits, is_related);
}

/// Of larger modules, by one search for how devices hold arrays.
struct ExplainedByProof {
  std::optional<hlo::Explanation> explanation;
  std::string drawing;
};

/// `end`: where the relation ends, if that is to be explained.
ExplainedByProof explained_by_proof(const ComparedModules& compared, const std::string& end,
                                    bool draws, const hlo::ModuleDecision& decision,
                                    const Limits& limits) {
  ExplainedByProof found;
  if (!decision.relation || (end.empty() && !draws)) return found;
  const hlo::ModuleRelation& relation = *decision.relation;
  const bool has_programs = !compared.programs.empty();
  try {
    CertifiedModules certified;
    if (!has_programs) {
      certified = certified_modules(compared.texts, compared.subject, decision.devices, limits);
    }
    const auto problem = has_programs
                             ? problem_of(certified_programs(compared.texts, compared.programs),
                                          *compared.after, relation)
                             : problem_of(certified, relation, decision.devices,
                                          equal_constants(compared.texts, relation));
    with_held_arrays(problem.value_or(CertificateFiles{}), has_programs, limits,
                     [&](const hlo::HeldArrays& held) {
                       if (!end.empty()) {
                         found.explanation =
                             explanation_of_end(compared, certified, end, held, limits, decision);
                       }
                       if (draws) {
                         found.drawing = hlo::draw_output(compared.before, compared.after, decision,
                                                          held, limits);
                       }
                     });
  } catch (const hlo::NoCanonicalText&) {
  } catch (const hlo::IllFormed&) {
  } catch (const LimitReached&) {
  }
  return found;
}

}  // namespace

std::optional<std::string> end_of_relation(const Related& related, const ModuleTexts& texts,
                                           const std::string& file) {
  if (!related || related->index() != 1) return std::nullopt;
  const std::string& where = std::get<1>(*related);
  return texts.binary.contains(file) ? where : with_line(where, file, texts.after);
}

void explain_comparison(const ComparedModules& modules, const Related& related, bool draws,
                        const Limits& limits, ModuleCheck& check) {
  const hlo::ModuleDecision& decision = check.decision;
  auto explanation = hlo::explain(*modules.before, *modules.after, decision, limits);
  std::string drawing;
  if (draws) drawing = hlo::draw_output(*modules.before, *modules.after, decision, limits);
  const bool is_traced = explanation.has_value();
  const bool is_repaired = is_traced && explanation->repair;
  const std::string end = end_of(related, decision);
  ExplainedByProof proved =
      explained_by_proof(modules, is_repaired || !modules.programs.empty() ? "" : end,
                         draws && drawing.empty(), decision, limits);
  if (!proved.drawing.empty()) drawing = std::move(proved.drawing);
  if (!is_traced) {
    explanation = std::move(proved.explanation);
  } else if (proved.explanation && proved.explanation->repair) {
    explanation->repair = std::move(proved.explanation->repair);
    explanation->is_on_blocks = false;
  }
  if (!is_traced && !end.empty() && decision.outcome == Outcome::Refuted) {
    const std::string where = *end_of_relation(related, modules.texts, modules.subject.file);
    check.shown.json.add("relation_ends", where);
    if (!explanation) {
      check.shown.text.push_back(
          Paragraph{fmt::format("Tensors of the modules are related as far as this: {}.", where)});
    }
  }
  if (explanation) add_explanation(*explanation, modules.texts, check);
  if (!draws) return;
  check.shown.text.push_back(
      drawing.empty() ? Document::Block(Paragraph{"The modules are not understood for a drawing."})
                      : Preformatted{drawing});
}

}  // namespace p2

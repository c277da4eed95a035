#include "cli/synth/existence.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/synth/cross_check.h"
#include "encodings/cnf/absence.h"
#include "p2/error.h"
#include "engine/program/notation.h"

namespace p2 {
namespace {

using z3_encoding::Existence;

const char* name_of(Existence existence) {
  switch (existence) {
    case Existence::Exists:
      return "exists";
    case Existence::None:
      return "none";
    case Existence::Unknown:
      return "unknown";
  }
  return "";
}

/// One placement and what is asked of its programs.
struct Question {
  const PlacementPrograms& placement;
  const WantedProperty& wanted;
  const SynthesisOptions& options;

  std::string text(const std::vector<Step>& steps) const {
    return to_string(steps, &placement.instance(), options.terms.collectives);
  }
  bool speaks_of(const Step& step) const { return wanted.speaks_of(step.collective, *step.shape); }
};

/// The list is walked to its first such program.
ExistenceFinding by_list(const Question& question) {
  ExistenceFinding finding{"explicit", Existence::None, {}, question.placement.list().settled()};
  question.placement.for_each([&](const std::vector<Step>& steps) {
    if (finding.existence == Existence::Exists) return;
    const bool used = std::any_of(steps.begin(), steps.end(),
                                  [&](const Step& step) { return question.speaks_of(step); });
    if (used != question.wanted.used) return;
    finding.existence = Existence::Exists;
    finding.witness = question.text(steps);
  });
  if (finding.existence == Existence::None && *finding.settled < question.options.size) {
    finding.existence = Existence::Unknown;
  }
  return finding;
}

ExistenceFinding by_z3(const Question& question, const Engines& engines) {
  z3_encoding::SynthesisQuery query = query_of(question.placement, question.options, engines);
  query.property = {[&](const z3_encoding::Instruction& instruction, const auto&) {
                      return question.wanted.speaks_of(static_cast<Collective>(instruction.rule),
                                                       instruction.shape);
                    },
                    question.wanted.used};
  const z3_encoding::ExistenceAnswer answer = find_one(query);
  std::vector<Step> steps;
  for (const std::uint32_t choice : answer.witness) {
    const z3_encoding::Instruction& instruction = answer.instructions[choice];
    steps.push_back({static_cast<Collective>(instruction.rule), {}, instruction.shape});
  }
  const bool exists = answer.existence == Existence::Exists;
  return {"z3", answer.existence, exists ? question.text(steps) : "", answer.settled};
}

ExistenceFinding by_cnf(const Question& question) {
  const SynthesisOptions& options = question.options;
  const cnf::Absence answer = cnf::refute(
      question.placement.instance(), options.dialect, options.size,
      {.uses = [&](const Step& step) { return question.speaks_of(step); }}, options.limits);
  switch (answer.kind) {
    case cnf::Absence::Kind::Absent:
      return {"cnf", Existence::None, {}, options.size};
    case cnf::Absence::Kind::Found:
      return {"cnf", Existence::Exists, question.text(answer.found), {}};
    case cnf::Absence::Kind::Unknown:
      break;
  }
  return {"cnf", Existence::Unknown, {}, {}};
}

}  // namespace

WantedProperty wanted_property(const std::string& text, const CollectiveSet& collectives) {
  constexpr std::string_view kWithout = "no-";
  WantedProperty wanted{text, !text.starts_with(kWithout), {}};
  const std::string name = wanted.used ? text : text.substr(kWithout.size());
  wanted.collective = collectives.called(name);
  if (wanted.collective) return wanted;
  for (const auto& [word, form] :
       {std::pair{"InsideGroup", Form::InsideGroup}, std::pair{"Parallel", Form::Parallel},
        std::pair{"Master", Form::Master}}) {
    if (name != word) continue;
    wanted.form = form;
    return wanted;
  }
  throw InputError({"--exists"},
                   fmt::format("nothing is called '{}', expected {}, or InsideGroup, Parallel or "
                               "Master, with or without no- before it",
                               name, collectives.names()));
}

std::vector<ExistenceFinding> find_property(const PlacementPrograms& found,
                                            const WantedProperty& wanted,
                                            const SynthesisOptions& options,
                                            const Engines& engines) {
  const Question question{found, wanted, options};
  std::vector<ExistenceFinding> findings = {by_list(question)};
  if (engines.z3) findings.push_back(by_z3(question, engines));
  if (engines.cnf && wanted.used) findings.push_back(by_cnf(question));
  return findings;
}

Existence agreed(const std::vector<ExistenceFinding>& findings) {
  for (const ExistenceFinding& finding : findings) {
    if (finding.existence != Existence::Unknown) return finding.existence;
  }
  return Existence::Unknown;
}

bool disagree(const std::vector<ExistenceFinding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [&](const ExistenceFinding& finding) {
    return finding.existence != Existence::Unknown && finding.existence != agreed(findings);
  });
}

std::string to_text(const ExistenceFinding& finding, const WantedProperty& wanted,
                    std::uint32_t size) {
  const std::string what = wanted.used ? wanted.text : wanted.text.substr(3);
  const std::string kind = fmt::format("{} {}", wanted.used ? "with" : "without", what);
  switch (finding.existence) {
    case Existence::Exists:
      return fmt::format("{}: there is a program {}: {}", finding.engine, kind, finding.witness);
    case Existence::None:
      return fmt::format("{}: there is no program {} of at most {} step{}", finding.engine, kind,
                         size, size == 1 ? "" : "s");
    case Existence::Unknown:
      break;
  }
  return fmt::format("{}: stopped at a limit: {}", finding.engine,
                     finding.settled ? fmt::format("none of at most {} steps", *finding.settled)
                                     : "nothing is settled");
}

std::string to_json(const ExistenceFinding& finding) {
  return fmt::format(R"({{"engine":"{}","existence":"{}","program":{}}})", finding.engine,
                     name_of(finding.existence),
                     finding.witness.empty() ? "null" : "\"" + finding.witness + "\"");
}

}  // namespace p2

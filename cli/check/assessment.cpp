#include "cli/check/assessment.h"

#include <array>

#include <fmt/format.h>

#include "engine/program/explanation.h"

namespace p2 {
namespace {

using Status = Property::Status;

/// Where a step stands in the file that is judged.
void place_at(Property& property, const ProgramFile& read, std::size_t step) {
  if (step == 0 || step > read.step_positions.size()) return;
  property.line = read.step_positions[step - 1].line;
  property.column = read.step_positions[step - 1].column;
}

/// Whether the engines that were asked beside the explicit one say the same.
Property engines_of(const Findings& findings) {
  Property property{"engines"};
  for (const auto& [engine, finding] : findings) {
    property.message +=
        fmt::format("{}{}: {}", property.message.empty() ? "" : "; ", engine, to_string(finding));
    if (finding.verdict == "unknown") property.status = Status::Undecided;
  }
  if (disagree(findings)) property.status = Status::Disagreement;
  return property;
}

bool is_about_goal(const Refutation& refutation) {
  return refutation.rule == Refutation::Rule::Lacks || refutation.rule == Refutation::Rule::Excess;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

FileReport report_of(const CheckResult& result) {
  FileReport report{result.file, "program", {}, 0};
  Property premises{"premises"};
  Property goal{"goal"};
  if (const auto& refutation = result.verdict.refutation) {
    Property& refuted = is_about_goal(*refutation) ? goal : premises;
    refuted.status = Status::Refuted;
    refuted.rule = rule_name(*refutation);
    refuted.message = result.reason;
    place_at(refuted, result.read, refutation->step);
    if (&refuted == &premises) goal.status = Status::NotExamined;
  } else if (result.verdict.kind == Verdict::Kind::Unknown) {
    premises.status = Status::Undecided;
    premises.message = result.reason;
    goal.status = Status::NotExamined;
  }
  report.properties = {premises, goal};
  if (result.findings.size() > 1) report.properties.push_back(engines_of(result.findings));
  return report;
}

FileReport report_of(const MscclResult& result) {
  constexpr std::array<const char*, 5> kNames = {"bounds", "connections", "deadlocks", "races",
                                                 "result"};
  FileReport report{result.file, "msccl", {}, 0};
  const msccl::Verdict& verdict = result.verdict;
  // What is looked at before the question that is answered or left open is established.
  std::size_t settled = kNames.size();
  if (verdict.fault) settled = static_cast<std::size_t>(question_of(verdict.fault->kind));
  if (verdict.kind == msccl::Verdict::Kind::Unknown) {
    settled = static_cast<std::size_t>(verdict.open);
  }
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    Property property{kNames[i]};
    if (i > settled) property.status = Status::NotExamined;
    if (i == settled && verdict.fault) {
      property.status = Status::Refuted;
      property.rule = to_string(verdict.fault->kind);
      property.message = first_line(verdict.fault->reason);
      if (!verdict.fault->steps.empty()) {
        const msccl::Step& step = result.algorithm.step(verdict.fault->steps.back());
        property.line = step.line;
        property.column = step.column;
      }
    } else if (i == settled) {
      property.status = Status::Undecided;
      property.message = verdict.reason;
    }
    report.properties.push_back(property);
  }
  return report;
}

FileReport report_of(const PlanResult& result) {
  constexpr std::array<const char*, 6> kNames = {"bounds",     "matches", "deadlocks",
                                                 "overwrites", "sources", "result"};
  FileReport report{result.file, "reshard-plan", {}, 0};
  const auto& fault = result.verdict.fault;
  const std::size_t settled = fault ? static_cast<std::size_t>(fault->rule) : kNames.size();
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    Property property{kNames[i]};
    if (i > settled) property.status = Status::NotExamined;
    if (i == settled) {
      property.status = Status::Refuted;
      property.rule = to_string(fault->rule);
      property.message = fault->explanation;
    }
    report.properties.push_back(property);
  }
  if (result.findings.size() > 1) report.properties.push_back(engines_of(result.findings));
  return report;
}

FileReport report_of(const HloResult& result) {
  FileReport report{result.file, "hlo", {}, 0};
  const hlo::Verdict& verdict = result.verdict;
  Property well_formed{"well-formed"};
  Property equal{result.other.empty() ? "goal" : "equal"};
  const bool compared = !result.other.empty() || !result.goal.empty();
  Property& asked = verdict.position || !compared ? well_formed : equal;
  if (verdict.kind == hlo::Verdict::Kind::Invalid) asked.status = Status::Refuted;
  if (verdict.kind == hlo::Verdict::Kind::Unknown) asked.status = Status::Undecided;
  asked.rule = verdict.rule;
  asked.message = verdict.reason;
  if (verdict.position) {
    asked.line = verdict.position->line;
    asked.column = verdict.position->column;
    equal.status = Status::NotExamined;
  }
  report.properties.push_back(well_formed);
  if (compared) report.properties.push_back(equal);
  return report;
}

FileReport report_of(const FileOutcome& outcome) {
  FileReport report{outcome.file, "input", {}, 0};
  if (outcome.judged) {
    report = std::visit([](const auto& result) { return report_of(result); }, *outcome.judged);
  }
  if (outcome.trouble) {
    const Trouble& trouble = *outcome.trouble;
    report.properties.push_back({trouble.bad_input ? "input" : "limits",
                                 trouble.bad_input ? Status::BadInput : Status::Undecided,
                                 {},
                                 trouble.message,
                                 trouble.where.line,
                                 trouble.where.column});
  }
  report.seconds = outcome.seconds;
  return report;
}

std::vector<FileReport> reports_of(const std::vector<FileOutcome>& outcomes) {
  std::vector<FileReport> reports;
  for (const FileOutcome& outcome : outcomes) reports.push_back(report_of(outcome));
  return reports;
}

}  // namespace p2

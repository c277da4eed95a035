#include "proofs/claims/schedule_errata.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

namespace p2::claims {
namespace {

std::string_view finding(Outcome verdict) {
  if (verdict == Outcome::Holds) return "holds";
  return verdict == Outcome::Refuted ? "**refuted**" : "undecided";
}

}  // namespace

void write_schedule_errata(const std::vector<ScheduleResult>& results, std::ostream& out) {
  out << "# Statements about resharding and pipelines, settled by enumeration\n\n"
         "Of \"On Optimizing the Communication of Model Parallelism\". A statement that holds is "
         "known to hold for these cases alone.\n\n"
         "| statement | section | cases | found |\n|---|---|---|---|\n";
  for (const auto& [claim, answer] : results) {
    fmt::print(out, "| {} | {} | {}: {} | {} |\n", claim->name, claim->section, claim->cases,
               answer.cases, finding(answer.verdict));
  }
  out << "\n";
  for (const auto& [claim, answer] : results) {
    if (answer.verdict != Outcome::Refuted) continue;
    fmt::print(out,
               "## {}\n\nSection {}: {}\n\n    {}\n\nThe smallest counterexample, of {} cases "
               "looked at: {}.\n\n```\n{}p2-verify {}\n```\n\n",
               claim->name, claim->section, claim->statement, claim->formula, answer.cases,
               answer.counterexample, answer.tasks.empty() ? "" : answer.tasks + "\n",
               answer.command);
  }
}

}  // namespace p2::claims

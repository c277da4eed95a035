#include "cli/prove/prove_schedules.h"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "cli/json_list.h"
#include "cli/output.h"
#include "cli/progress_line.h"

namespace p2 {
namespace {

using claims::Outcome;
using claims::ScheduleAnswer;
using claims::ScheduleClaim;
using claims::ScheduleResult;

std::string counterexample_json(const ScheduleAnswer& answer) {
  if (answer.verdict != claims::Outcome::Refuted) return "null";
  return fmt::format("{{\"says\":{},\"command\":{},\"tasks\":{}}}",
                     json_string(answer.counterexample), json_string(answer.command),
                     answer.tasks.empty() ? "null" : answer.tasks);
}

}  // namespace

std::vector<const ScheduleClaim*> schedule_claims_of(const CommandLine& line) {
  std::vector<const ScheduleClaim*> chosen;
  if (line.has("all") && !line.has("hierarchy") && !line.has("system")) {
    for (const ScheduleClaim& claim : claims::schedule_registry()) chosen.push_back(&claim);
  }
  for (const std::string& name : line.texts("claims")) {
    const ScheduleClaim* claim = claims::schedule_claim_called(name);
    if (claim == nullptr) continue;
    if (std::find(chosen.begin(), chosen.end(), claim) == chosen.end()) chosen.push_back(claim);
  }
  return chosen;
}

std::vector<ScheduleResult> settle(const std::vector<const ScheduleClaim*>& schedules,
                                   const CommonOptions& common, std::ostream& err) {
  std::atomic<std::size_t> done = 0;
  const ProgressLine shown(common.progress, err, [&] {
    return fmt::format("prove: {} of {} claims about schedules settled", done.load(),
                       schedules.size());
  });
  std::vector<ScheduleResult> results;
  for (const ScheduleClaim* claim : schedules) {
    results.emplace_back(claim, claim->settles(common.limits));
    ++done;
  }
  return results;
}

claims::Outcome verdict_with(claims::Outcome verdict, const std::vector<ScheduleResult>& results) {
  for (const auto& [claim, answer] : results) {
    if (verdict == claims::Outcome::Refuted) break;
    if (answer.verdict != claims::Outcome::Holds) verdict = answer.verdict;
  }
  return verdict;
}

void print_schedules_text(const std::vector<ScheduleResult>& results, std::ostream& out) {
  for (const auto& [claim, answer] : results) {
    fmt::print(out, "{:<8} {}: {} cases, {}\n", to_string(answer.verdict), claim->name,
               answer.cases, claim->cases);
    if (answer.verdict != claims::Outcome::Refuted) continue;
    fmt::print(out, "    smallest: {}\n", answer.counterexample);
    if (!answer.tasks.empty()) fmt::print(out, "{}\n", answer.tasks);
    fmt::print(out, "    p2-verify {}\n", answer.command);
  }
}

void print_schedules_json(const std::vector<ScheduleResult>& results, std::ostream& out) {
  print_list(results, out, [](const ScheduleResult& result) {
    const auto& [claim, answer] = result;
    return fmt::format(
        "{{\"claim\":{},\"verdict\":\"{}\",\"cases\":{},\"range\":{},\"counterexample\":{},"
        "\"evidence\":\"{}\",\"certificate\":null}}",
        json_string(claim->name), to_string(answer.verdict), answer.cases,
        json_string(claim->cases), counterexample_json(answer),
        answer.verdict == claims::Outcome::Refuted ? "counterexample" : "solver-only");
  });
}

void print_schedule_registry_text(std::ostream& out) {
  for (const ScheduleClaim& claim : claims::schedule_registry()) {
    fmt::print(out, "{}  ({} of the paper on resharding)\n    {}\n    {}\n    {}; settled by {}\n",
               claim.name, claim.section, claim.statement, claim.formula, claim.cases,
               claim.engine);
  }
}

void print_schedule_registry_json(std::ostream& out) {
  print_list(claims::schedule_registry(), out, [](const ScheduleClaim& claim) {
    return fmt::format(
        "{{\"name\":{},\"statement\":{},\"formula\":{},\"section\":{},\"range\":{},\"engine\":{}}}",
        json_string(claim.name), json_string(claim.statement), json_string(claim.formula),
        json_string(claim.section), json_string(claim.cases), json_string(claim.engine));
  });
}

}  // namespace p2

#include <map>

#include <doctest/doctest.h>

#include "engine/base/text_cursor.h"
#include "engine/onesided/judge.h"
#include "engine/onesided/plan.h"
#include "tests/shared_data.h"

namespace p2::onesided {
namespace {

PlanDecision judged(const std::string& file, const std::string& text) {
  auto read = read_plan(file, text);
  if (const auto* const plan = std::get_if<Plan>(&read)) return judge(*plan, file, {});
  PlanDecision decision;
  decision.outcome = Outcome::Refuted;
  decision.violation = std::get<Violation>(read);
  return decision;
}

bool is_race_rule(const std::string& name) {
  for (int rule = 0; rule <= static_cast<int>(Rule::WrongResult); ++rule) {
    if (to_string(static_cast<Rule>(rule)) == name) return is_race(static_cast<Rule>(rule));
  }
  return false;
}

}  // namespace

TEST_CASE("plans of MSCCL++ and their mutants have the verdicts and rules beside them") {
  const auto text = shared_text("mscclpp/verdicts.csv");
  if (!text) return;
  std::istringstream lines(*text);
  std::string line;
  std::getline(lines, line);
  std::size_t plans = 0;
  while (std::getline(lines, line)) {
    const std::string file = line.substr(0, line.find(','));
    line.erase(0, file.size() + 1);
    const std::string verdict = line.substr(0, line.find(','));
    line.erase(0, verdict.size() + 1);
    const std::string rule = line.substr(0, line.find(','));
    const auto plan = shared_text("mscclpp/" + file);
    if (!plan) continue;
    ++plans;
    const PlanDecision decision = judged(file, *plan);
    CHECK_MESSAGE(to_string(decision.outcome) == verdict, file);
    const std::string found =
        decision.violation ? std::string(to_string(decision.violation->rule)) : decision.open;
    CHECK_MESSAGE((found == rule || (is_race_rule(found) && is_race_rule(rule))),
                  file << ": " << found << " instead of " << rule);
    // What is written reads back with the same verdict.
    const auto read = read_plan(file, *plan);
    if (const auto* const original = std::get_if<Plan>(&read)) {
      CHECK_MESSAGE(judged(file, to_json(*original)).outcome == decision.outcome, file);
    }
  }
  CHECK(plans == 191);
}

}  // namespace p2::onesided

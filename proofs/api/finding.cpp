#include "proofs/api/finding.h"

#include <fmt/format.h>

#include "p2/json.h"
#include "engine/program/explanation.h"

namespace p2 {

Finding finding_of(const Verdict& verdict) {
  Finding finding{std::string(to_string(verdict.kind)), 0, {}};
  if (verdict.kind == Verdict::Kind::Unknown) finding.step = verdict.legal_steps;
  if (verdict.refutation) {
    finding.step = verdict.refutation->step;
    finding.rule = rule_name(*verdict.refutation);
  }
  return finding;
}

bool disagree(const Findings& findings) {
  const Finding* first = nullptr;
  for (const auto& [engine, finding] : findings) {
    if (finding.verdict == "unknown") continue;
    if (first != nullptr && !(*first == finding)) return true;
    first = &finding;
  }
  return false;
}

std::string to_string(const Finding& finding) {
  if (finding.verdict == "unknown") {
    return fmt::format("unknown after {} legal step{}{}{}", finding.step,
                       finding.step == 1 ? "" : "s", finding.rule.empty() ? "" : ", ",
                       finding.rule);
  }
  if (finding.rule.empty()) return finding.verdict;
  return fmt::format("{} at step {} by {}", finding.verdict, finding.step, finding.rule);
}

std::string to_json(const Finding& finding) {
  if (finding.verdict == "unknown") {
    return fmt::format("{{\"verdict\":\"unknown\",\"step\":null,\"rule\":{},\"legal_steps\":{}}}",
                       finding.rule.empty() ? "null" : json_string(finding.rule), finding.step);
  }
  if (finding.rule.empty()) {
    return fmt::format("{{\"verdict\":\"{}\",\"step\":null,\"rule\":null}}", finding.verdict);
  }
  return fmt::format("{{\"verdict\":\"{}\",\"step\":{},\"rule\":{}}}", finding.verdict,
                     finding.step, json_string(finding.rule));
}

}  // namespace p2

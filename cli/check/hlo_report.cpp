#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/check/hlo.h"
#include "cli/output.h"

namespace p2 {
namespace {

std::string quoted_list(const std::vector<std::string>& texts) {
  std::string json;
  for (const std::string& text : texts) json += (json.empty() ? "" : ",") + json_string(text);
  return "[" + json + "]";
}

std::string counterexample_json(const hlo::Verdict& verdict) {
  if (verdict.position) {
    return fmt::format("{{\"rule\":\"{}\",\"file\":{},\"line\":{},\"column\":{}}}", verdict.rule,
                       json_string(verdict.position->source), verdict.position->line,
                       verdict.position->column);
  }
  if (!verdict.counterexample) return "null";
  const hlo::Counterexample& example = *verdict.counterexample;
  return fmt::format(
      "{{\"rule\":\"{}\",\"device\":{},\"replica\":{},\"partition\":{},\"output\":{},"
      "\"index\":[{}],\"before\":{},\"after\":{}}}",
      verdict.rule.empty() ? "undecided" : verdict.rule, example.device, example.replica,
      example.partition, example.output, fmt::join(example.index, ","), json_string(example.before),
      json_string(example.after));
}

std::string collectives_json(const std::vector<hlo::CollectiveLine>& collectives) {
  std::string json;
  for (const hlo::CollectiveLine& line : collectives) {
    json += fmt::format("{}{{\"name\":{},\"operation\":{},\"shape\":{},\"groups\":{}}}",
                        json.empty() ? "" : ",", json_string(line.name), json_string(line.opcode),
                        json_string(line.shape), json_string(line.groups));
  }
  return "[" + json + "]";
}

std::string devices_text(const hlo::Devices& devices) {
  return fmt::format("{} replica{} × {} partition{}{}", devices.replicas,
                     devices.replicas == 1 ? "" : "s", devices.partitions,
                     devices.partitions == 1 ? "" : "s",
                     devices.assumed ? ", as few as the groups allow" : "");
}

}  // namespace

std::string to_json(const HloResult& result) {
  const hlo::Verdict& verdict = result.verdict;
  return fmt::format(
      "{{\"file\":{},\"before\":{},\"format\":\"hlo\",\"goal\":{},\"replicas\":{},"
      "\"partitions\":{},\"devices_assumed\":{},\"verdict\":\"{}\",\"engines\":{{\"explicit\":"
      "\"{}\"}},{}\"certificate\":null,\"step\":null,\"reason\":{},\"counterexample\":{},"
      "\"uninterpreted\":{},\"collectives\":{}}}",
      json_string(result.file), result.other.empty() ? "null" : json_string(result.other),
      result.goal.empty() ? "null" : json_string(result.goal), verdict.devices.replicas,
      verdict.devices.partitions, verdict.devices.assumed, to_string(verdict.kind),
      to_string(verdict.kind), result.solvers_left_out ? "\"not_asked\":[\"z3\",\"cnf\"]," : "",
      verdict.reason.empty() ? "null" : json_string(verdict.reason), counterexample_json(verdict),
      quoted_list(verdict.uninterpreted), collectives_json(verdict.collectives));
}

std::string to_text(const HloResult& result) {
  const hlo::Verdict& verdict = result.verdict;
  std::string text = fmt::format("{}: {}{} ({}{})\n", result.file, to_string(verdict.kind),
                                 verdict.rule.empty() ? "" : ", " + verdict.rule,
                                 !result.other.empty()  ? fmt::format("after {}, ", result.other)
                                 : !result.goal.empty() ? fmt::format("goal {}, ", result.goal)
                                                        : "",
                                 devices_text(verdict.devices));
  if (verdict.position) {
    text += fmt::format("{}:{}:{}: ", verdict.position->source, verdict.position->line,
                        verdict.position->column);
  }
  if (!verdict.reason.empty()) text += verdict.reason + "\n";
  if (!verdict.uninterpreted.empty()) {
    text += fmt::format("not looked into: {}\n", fmt::join(verdict.uninterpreted, ", "));
  }
  for (const hlo::CollectiveLine& line : verdict.collectives) {
    text += fmt::format("    {} {} {} {}\n", line.name, line.opcode, line.shape, line.groups);
  }
  if (result.solvers_left_out) text += "z3, cnf: not asked, they know programs of collectives\n";
  return text;
}

}  // namespace p2

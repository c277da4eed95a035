#include "cli/define_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/group_drawing.h"
#include "cli/output.h"
#include "engine/collective/language/state_json.h"

namespace p2 {
namespace {

using definition::Check;
using definition::Counterexample;
using definition::Difference;
using definition::Findings;
using definition::Relation;
using definition::SettledBy;
using definition::Verdict;

std::string settled_by_text(const Check& check) {
  switch (check.settled_by) {
    case SettledBy::Construction:
      return "construction";
    case SettledBy::Both:
      return "both";
    case SettledBy::SolverOnly:
      return check.exhausted_to < definition::kLeastGroup
                 ? "solver-only"
                 : fmt::format("both to n = {}, then solver-only", check.exhausted_to);
    case SettledBy::Nobody:
      return "limit met";
  }
  return {};
}

std::string_view settled_by_json(SettledBy settled_by) {
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

std::string counterexample_json(const Counterexample& counterexample) {
  const auto state = [](const std::optional<language::GroupState>& given) {
    return given ? language::state_json(*given) : "null";
  };
  return fmt::format("{{\"reason\":{},\"before\":{},\"after\":{}}}",
                     json_string(counterexample.reason), state(counterexample.before),
                     state(counterexample.after));
}

std::string check_json(const Check& check) {
  std::string engines = "null";
  if (check.settled_by != SettledBy::Construction) {
    engines = fmt::format("{{\"z3\":\"{}\",\"explicit\":\"{}\"}}", to_string(check.z3),
                          to_string(check.by_states));
  }
  return fmt::format(
      "{{\"name\":\"{}\",\"verdict\":\"{}\",\"detail\":{},\"settled_by\":\"{}\",\"engines\":{},"
      "\"counterexample\":{}}}",
      check.name, to_string(check.verdict), json_string(check.detail),
      settled_by_json(check.settled_by), engines,
      check.counterexample ? counterexample_json(*check.counterexample) : "null");
}

std::string relation_json(const Relation& relation) {
  std::vector<std::string> to;
  to.reserve(relation.to.size());
  for (const std::string& name : relation.to) to.push_back(json_string(name));
  return fmt::format("{{\"kind\":\"{}\",\"to\":[{}]}}", to_string(relation.kind),
                     fmt::join(to, ","));
}

std::string difference_json(const Difference& difference) {
  return fmt::format(
      "{{\"check\":\"{}\",\"devices\":{},\"chunks\":{},\"contributors\":{},\"engines\":{{\"z3\":"
      "\"{}\",\"explicit\":\"{}\"}},\"state\":{}}}",
      difference.check, difference.shape.devices, difference.shape.chunks,
      difference.shape.contributors, difference.z3, difference.by_states,
      difference.state ? language::state_json(*difference.state) : "null");
}

template <typename Item, typename Write>
std::string list_json(const std::vector<Item>& items, const char* separator, Write write) {
  std::vector<std::string> texts;
  texts.reserve(items.size());
  for (const Item& item : items) texts.push_back(write(item));
  return fmt::format("[{}]", fmt::join(texts, separator));
}

bool any(const Findings& findings, Verdict verdict) {
  return std::any_of(findings.checks.begin(), findings.checks.end(),
                     [&](const Check& check) { return check.verdict == verdict; });
}

std::string headline(const DefineResult& result) {
  const Findings& findings = result.findings;
  std::vector<std::string> refuted;
  for (const Check& check : findings.checks) {
    if (check.verdict == Verdict::Refuted) refuted.push_back(check.name);
  }
  const std::string verdict = !refuted.empty() ? fmt::format("{} refuted", fmt::join(refuted, ", "))
                              : any(findings, Verdict::Unknown) ? "undecided"
                                                                : "sound";
  return fmt::format("{}: {}: {} (groups of {} to {})\n", result.file, findings.collective, verdict,
                     definition::kLeastGroup, findings.most_group);
}

std::string table(const Findings& findings) {
  std::size_t widest = 0;
  for (const Check& check : findings.checks) {
    widest = std::max(widest, settled_by_text(check).size());
  }
  const auto line = [&](std::string_view name, std::string_view verdict, std::string_view by,
                        std::string_view detail) {
    const std::string text =
        fmt::format("  {:<17} {:<8} {:<{}}  {}", name, verdict, by, widest, detail);
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  std::string text = line("check", "verdict", "settled by", "detail");
  for (const Check& check : findings.checks) {
    text += line(check.name, to_string(check.verdict), settled_by_text(check), check.detail);
  }
  return text;
}

std::string drawn(const Check& check) {
  const Counterexample& shown = *check.counterexample;
  const std::string drawing = shown.before ? draw_step(*shown.before, *shown.after) : "";
  return fmt::format("\n{} is refuted:\n{}{}\n", check.name, drawing, shown.reason);
}

}  // namespace

std::string to_json(const DefineResult& result) {
  const Findings& findings = result.findings;
  return fmt::format(
      "{{\"file\":{},\"collective\":{},\"max_group\":{},\"checks\":{},\"relations\":{},"
      "\"differences\":{}}}",
      json_string(result.file), json_string(findings.collective), findings.most_group,
      list_json(findings.checks, ",\n ", check_json),
      list_json(findings.relations, ",", relation_json),
      list_json(findings.differences, ",\n ", difference_json));
}

std::string to_text(const DefineResult& result) {
  std::string text = headline(result) + table(result.findings);
  for (const Relation& relation : result.findings.relations) {
    text += fmt::format("  {} {}\n", result.findings.collective, to_string(relation));
  }
  for (const Check& check : result.findings.checks) {
    if (check.counterexample) text += drawn(check);
  }
  for (const Difference& difference : result.findings.differences) {
    text += fmt::format("\n{}: THE ENGINES DISAGREE ({}): z3 says {}, explicit says {}\n",
                        difference.check, to_string(difference.shape), difference.z3,
                        difference.by_states);
    if (difference.state) text += "state " + language::state_json(*difference.state) + "\n";
  }
  return text;
}

ExitCode exit_code(const std::vector<DefineResult>& results) {
  const auto some = [&](const auto& holds) {
    return std::any_of(results.begin(), results.end(),
                       [&](const DefineResult& result) { return holds(result.findings); });
  };
  if (some([](const Findings& findings) { return !findings.differences.empty(); })) {
    return kDisagreement;
  }
  if (some([](const Findings& findings) { return any(findings, Verdict::Refuted); })) {
    return kRefuted;
  }
  return some([](const Findings& findings) { return any(findings, Verdict::Unknown); })
             ? kUndecided
             : kEstablished;
}

}  // namespace p2

// `prove`: statements of the papers and about the rules, settled on every small system.
#include "p2/prove.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "engine/base/progress.h"
#include "engine/program/instruction.h"
#include "engine/program/json_text.h"
#include "engine/program/program_file.h"
#include "p2/suggestion.h"
#include "proofs/claims/campaign.h"

namespace p2 {
namespace {

using claims::Claim;
using claims::Question;
using claims::ScheduleClaim;
using claims::ScheduleResult;
using claims::SettledQuestion;
using claims::Summary;
using claims::verdict_word;

constexpr std::uint32_t kMaxDevices = 64;
constexpr std::uint32_t kMaxSize = 32;
constexpr std::size_t kMaxPlacementsProved = 10'000;

// What is asked.

bool names_system(const ProveRequest& request) {
  return request.system.hierarchy || request.system.system;
}

/// All claims, separated by commas.
std::string claim_names() {
  std::string names;
  for (const Claim& claim : claims::registry()) names += std::string(claim.name) + ", ";
  for (const ScheduleClaim& claim : claims::schedule_registry()) {
    names += std::string(claim.name) + ", ";
  }
  return names;
}

std::vector<const Claim*> claims_of(const ProveRequest& request) {
  std::vector<const Claim*> chosen;
  bool schedules = false;
  for (const std::string& name : request.claims) {
    if (claims::find_schedule_claim(name) != nullptr) {
      schedules = true;
      continue;
    }
    const Claim* claim = claims::find_claim(name);
    if (claim == nullptr) {
      throw InputError({"command line"}, "unknown claim '" + name +
                                             "', expected one that --list names" +
                                             suggestion(name, claim_names()));
    }
    if (std::find(chosen.begin(), chosen.end(), claim) == chosen.end()) chosen.push_back(claim);
  }
  if (request.all) {
    if (!chosen.empty() || schedules) {
      throw InputError({"--all"}, "given together with claims, expected one of the two");
    }
    for (const Claim& claim : claims::registry()) chosen.push_back(&claim);
  }
  if (chosen.empty() && !schedules) {
    throw InputError({"command line"}, "no claim, expected at least one, --all or --list");
  }
  return chosen;
}

std::vector<const ScheduleClaim*> schedule_claims_of(const ProveRequest& request) {
  std::vector<const ScheduleClaim*> chosen;
  if (request.all && !names_system(request)) {
    for (const ScheduleClaim& claim : claims::schedule_registry()) chosen.push_back(&claim);
  }
  for (const std::string& name : request.claims) {
    const ScheduleClaim* claim = claims::find_schedule_claim(name);
    if (claim == nullptr) continue;
    if (std::find(chosen.begin(), chosen.end(), claim) == chosen.end()) chosen.push_back(claim);
  }
  return chosen;
}

std::optional<HierarchyKind> kind_of(const std::optional<std::string>& name, const char* flag) {
  if (!name) return std::nullopt;
  const auto kind = find_hierarchy_kind(*name);
  if (!kind) {
    throw InputError({flag}, unknown_name(*name, kHierarchyKindNames));
  }
  return kind;
}

/// Throws InputError unless every claim can be asked over the hierarchies.
void check_kinds(const claims::CampaignRequest& request) {
  const auto lacks = [](const std::vector<HierarchyKind>& some, std::optional<HierarchyKind> kind) {
    return kind && std::find(some.begin(), some.end(), *kind) == some.end();
  };
  for (const Claim* claim : request.claims) {
    if (lacks(claim->from, request.from) || lacks(claim->to, request.to)) {
      throw InputError({lacks(claim->from, request.from) ? "--from" : "--to"},
                       fmt::format("the claim {} is not about this hierarchy, expected one "
                                   "that --list names with it",
                                   claim->name));
    }
  }
}

std::vector<Dialect> dialects_of(const std::string& name) {
  if (name == "both") return {Dialect::Printed, Dialect::Published};
  const auto dialect = find_dialect(name);
  if (!dialect) {
    throw InputError({"--dialect"}, unknown_name(name, "printed, published or both"));
  }
  return {*dialect};
}

claims::Engine engine_of(const std::string& name) {
  if (name == "explicit") return claims::Engine::Explicit;
  if (name == "cnf") return claims::Engine::Sat;
  throw InputError({"--engine"}, unknown_name(name, "explicit or cnf"));
}

void check_range(const char* flag, std::uint32_t value, std::uint32_t low, std::uint32_t high) {
  if (value >= low && value <= high) return;
  throw InputError(
      {flag}, fmt::format("found '{}', expected a whole number from {} to {}", value, low, high));
}

std::vector<claims::PlacedSystem> systems_of(const ProveRequest& request, const Limits& limits) {
  const GivenInstance given = given_instance(request.system);
  if (!given.names_system()) {
    const std::uint32_t max_devices = request.max_devices.value_or(6);
    check_range("--max-devices", max_devices, 2, kMaxDevices);
    return claims::placed_systems(max_devices, limits);
  }
  if (request.max_devices) {
    throw InputError({"--max-devices"}, "given together with a system, expected one of the two");
  }
  require_system(given, true);
  if (given.hierarchy->devices() > kMaxDevices) {
    throw InputError({"--hierarchy"}, fmt::format("{} devices, expected at most {}",
                                                  given.hierarchy->devices(), kMaxDevices));
  }
  std::vector<claims::PlacedSystem> systems;
  for (const Placement& placement : placements_of(given, kMaxPlacementsProved)) {
    systems.push_back({DeviceGrid(*given.hierarchy, *given.axes, placement), *given.reduction});
  }
  return systems;
}

claims::CampaignRequest campaign_request(const ProveRequest& request, const Limits& limits) {
  claims::CampaignRequest campaign;
  campaign.claims = claims_of(request);
  campaign.from = kind_of(request.from, "--from");
  campaign.to = kind_of(request.to, "--to");
  check_kinds(campaign);
  campaign.dialects = dialects_of(request.dialect);
  campaign.engine = engine_of(request.engine);
  campaign.systems = systems_of(request, limits);
  check_range("--size", request.size, 1, kMaxSize);
  campaign.size = request.size;
  campaign.deep = request.deep;
  // For a given system every placement is answered.
  campaign.every_system = request.every_system || request.report || names_system(request);
  return campaign;
}

// Settling.

// Of a result with its text, and with its JSON value as well.
constexpr std::size_t kBytesOfResult = 2'200;
constexpr std::size_t kBytesOfJsonResult = 13'000;

/// Everything that is settled.
struct Settled {
  claims::CampaignRequest request;
  std::vector<SettledQuestion> systems;
  std::vector<ScheduleResult> schedules;

  Outcome outcome() const {
    Outcome all = claims::outcome_of(systems);
    for (const auto& [claim, answer] : schedules) all = worst(all, answer.outcome);
    return all;
  }
  std::uint32_t max_devices() const {
    std::uint32_t most = 0;
    for (const claims::PlacedSystem& system : request.systems) {
      most = std::max(most, system.grid.devices());
    }
    return most;
  }
};

std::vector<ScheduleResult> settle(const std::vector<const ScheduleClaim*>& schedules,
                                   const Options& options) {
  std::atomic<std::size_t> done = 0;
  const ProgressReporter progress(options.progress, [&] {
    return fmt::format("prove: {} of {} claims about schedules settled", done.load(),
                       schedules.size());
  });
  std::vector<ScheduleResult> results;
  for (const ScheduleClaim* claim : schedules) {
    results.emplace_back(claim, claim->settle(options.limits));
    ++done;
  }
  return results;
}

std::vector<SettledQuestion> settle(const claims::CampaignRequest& request,
                                    const std::optional<std::string>& journal,
                                    const Options& options) {
  if (request.claims.empty()) return {};
  claims::CampaignProgress counters;
  const ProgressReporter progress(options.progress, [&] {
    return fmt::format("prove: {} of {} searches done",
                       counters.searches_known.load() + counters.searches_done.load(),
                       counters.searches.load());
  });
  return claims::settle(request, {options.jobs, options.limits, journal, &counters,
                                  options.facts ? kBytesOfJsonResult : kBytesOfResult});
}

claims::Certification certify(Settled& settled, const std::string& folder, const Options& options) {
  std::atomic<std::size_t> done = 0;
  const ProgressReporter progress(options.progress, [&] {
    return fmt::format("prove: {} of {} results certified", done.load(), settled.systems.size());
  });
  return claims::certify_results(settled.systems,
                                 {settled.request.size, options.limits, settled.request.deep},
                                 {folder, options.seed, options.jobs, &done});
}

// The document as text.

std::string plural(std::size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string name_of(const Question& question) {
  const std::string from(to_string(question.from));
  return question.to
             ? fmt::format("{} {} -> {}", question.claim->name, from, to_string(*question.to))
             : fmt::format("{} {}", question.claim->name, from);
}

std::string explanation(const claims::Settlement& answer, std::uint32_t size) {
  if (answer.outcome == Outcome::Refuted) {
    return "  by " + answer.program + (answer.note.empty() ? "" : "  (" + answer.note + ")");
  }
  if (!answer.note.empty()) return "  (" + answer.note + ")";
  if (answer.outcome == Outcome::Established || answer.settled == size) return "";
  return fmt::format("  (only programs of at most {} steps are settled)", answer.settled);
}

std::string line_of(const SettledQuestion& result, std::uint32_t size) {
  const Question& question = result.question;
  return fmt::format("{:<8} {} {}: {}{}{}\n", verdict_word(result.answer.outcome),
                     name_of(question), to_string(question.dialect), to_string(*question.system),
                     result.systems == 1 ? "" : fmt::format("  (and {} alike)", result.systems - 1),
                     explanation(result.answer, size));
}

std::string counterexample_lines(const char* which, const SettledQuestion& result) {
  constexpr const char* kIndent = "              ";
  const claims::Settlement& answer = result.answer;
  std::string text = fmt::format(
      "    {}: {} devices, {}: {}\n{}{}\n", which, result.question.system->grid.devices(),
      plural(answer.steps, "step"), to_string(*result.question.system), kIndent, answer.program);
  if (!answer.note.empty()) text += kIndent + answer.note + "\n";
  if (!result.certificate.empty()) {
    text += fmt::format("{}certificate ({}): {}, claim {}\n", kIndent, result.certificate,
                        printable(result.evidence.folder), result.evidence.claim);
  }
  return text;
}

std::string lines_of(const Summary& row, std::uint32_t max_devices) {
  std::string verdict = fmt::format("holds everywhere up to {} devices", max_devices);
  if (row.refuted > 0) {
    verdict = fmt::format("refuted on {} of them", row.refuted);
  } else if (row.undecided > 0) {
    verdict = fmt::format("undecided on {} of them", row.undecided);
  }
  std::string text =
      fmt::format("{:<44} {:<9} {:<12} {:>6} systems  {}\n", name_of(row.question),
                  to_string(row.question.dialect), row.several_axes ? "several axes" : "one axis",
                  row.systems, verdict);
  if (!row.orders.empty()) text += fmt::format("    reduced {}\n", claims::by_order(row));
  if (row.smallest != nullptr) text += counterexample_lines("smallest", *row.smallest);
  if (row.shortest != row.smallest) text += counterexample_lines("shortest", *row.shortest);
  return text;
}

std::string lines_of(const std::vector<ScheduleResult>& results) {
  std::string text;
  for (const auto& [claim, answer] : results) {
    text += fmt::format("{:<8} {}: {} cases, {}\n", verdict_word(answer.outcome), claim->name,
                        answer.cases, claim->cases);
    if (answer.outcome != Outcome::Refuted) continue;
    text += fmt::format("    smallest: {}\n", answer.counterexample);
    if (!answer.tasks.empty()) text += answer.tasks + "\n";
    text += fmt::format("    p2-verify {}\n", answer.command);
  }
  return text;
}

/// The table by claim first, then the results system by system.
void add_text(const Settled& settled, const std::vector<Summary>& summary, Document& document) {
  std::string results;
  if (!settled.request.claims.empty()) {
    std::size_t certified = 0;
    std::size_t empty = 0;
    for (const SettledQuestion& result : settled.systems) {
      results += line_of(result, settled.request.size);
      if (!result.certificate.empty()) ++certified;
      if (result.empty_question) ++empty;
    }
    std::string rows;
    for (const Summary& row : summary) rows += lines_of(row, settled.max_devices());
    document.add(Preformatted{std::move(rows)});
    document.line(fmt::format(
        "programs of at most {} steps; {} of {} results with certificates, the others solver-only",
        settled.request.size, certified, settled.systems.size()));
    if (certified > 0) {
      document.line(
          fmt::format("{} of these certificates consist of the empty clause only: nothing could "
                      "contradict them",
                      empty));
    }
    if (!settled.schedules.empty()) document.line("");
  }
  if (!settled.schedules.empty()) document.add(Preformatted{lines_of(settled.schedules)});
  if (results.empty()) return;
  document.line("");
  document.add(Preformatted{std::move(results)});
}

// The document as JSON.

Json kind_json(std::optional<HierarchyKind> kind) { return kind ? Json(to_string(*kind)) : Json(); }

/// The keys that say which question was asked.
Json question_json(const Question& question) {
  const DeviceGrid& grid = question.system->grid;
  return Json::object()
      .add("claim", question.claim->name)
      .add("hierarchy", parts_json(grid.hierarchy().levels()))
      .add("axes", parts_json(grid.axes()))
      .add("reduce", Json::array_of(question.system->reduction))
      .add("placement", Json::array_of(grid.placement().factors,
                                       [](const auto& row) { return Json::array_of(row); }))
      .add("dialect", to_string(question.dialect))
      .add("from", to_string(question.from))
      .add("to", kind_json(question.to));
}

Json counterexample_json(const SettledQuestion& result) {
  if (result.answer.outcome != Outcome::Refuted) return {};
  const Instance instance = result.question.system->over(result.question.from);
  return program_json(claims::counterexample(result), &instance, result.question.dialect);
}

Json result_json(const SettledQuestion& result, const Json& counterexample, std::uint32_t size) {
  const bool certified = !result.certificate.empty();
  const auto order = claims::row_order(result.question);
  return question_json(result.question)
      .add("size", size)
      .add("settled_size", result.answer.settled)
      .add("systems", result.systems)
      .add("verdict", verdict_word(result.answer.outcome))
      .add("note", result.answer.note)
      .add("rows_reduced", order ? Json(to_string(*order)) : Json())
      .add("counterexample", counterexample)
      .add("evidence", certified ? result.certificate : "solver-only")
      .add("certificate", certified ? Json(result.evidence.folder) : Json())
      .add("claim_digest", certified ? Json(result.evidence.claim) : Json())
      .add("empty_question", result.empty_question);
}

Json example_json(const SettledQuestion* result) {
  if (result == nullptr) return {};
  return question_json(result->question)
      .add("devices", result->question.system->grid.devices())
      .add("steps", result->answer.steps)
      .add("program", result->answer.program);
}

Json orders_json(const Summary& row) {
  Json orders;
  for (const auto& [order, systems, refuted, undecided] : row.orders) {
    orders.add(
        std::string(to_string(order)),
        Json::object().add("systems", systems).add("refuted", refuted).add("undecided", undecided));
  }
  return orders;
}

Json summary_json(const Summary& row) {
  return Json::object()
      .add("claim", row.question.claim->name)
      .add("from", to_string(row.question.from))
      .add("to", kind_json(row.question.to))
      .add("dialect", to_string(row.question.dialect))
      .add("several_axes", row.several_axes)
      .add("systems", row.systems)
      .add("refuted", row.refuted)
      .add("undecided", row.undecided)
      .add("verdict", verdict_word(row.outcome()))
      .add("rows_reduced", orders_json(row))
      .add("smallest", example_json(row.smallest))
      .add("shortest", example_json(row.shortest));
}

Json counterexample_json(const claims::ScheduleSettlement& answer) {
  if (answer.outcome != Outcome::Refuted) return {};
  return Json::object()
      .add("says", answer.counterexample)
      .add("command", answer.command)
      .add("tasks", answer.tasks.empty() ? Json() : Json::parse(answer.tasks));
}

Json schedules_json(const std::vector<ScheduleResult>& results) {
  return Json::array_of(results, [](const ScheduleResult& result) {
    const auto& [claim, answer] = result;
    return Json::object()
        .add("claim", claim->name)
        .add("verdict", verdict_word(answer.outcome))
        .add("cases", answer.cases)
        .add("range", claim->cases)
        .add("counterexample", counterexample_json(answer))
        .add("evidence", answer.outcome == Outcome::Refuted ? "counterexample" : "solver-only")
        .add("certificate", Json());
  });
}

Json answer_json(const Settled& settled, const std::vector<Summary>& summary,
                 const std::vector<Result>& results) {
  Json json = Json::object();
  if (!settled.request.claims.empty()) {
    Json::Array elements;
    for (std::size_t i = 0; i < settled.systems.size(); ++i) {
      const Json counterexample =
          results[i].counterexample ? results[i].counterexample->facts : Json();
      elements.push_back(result_json(settled.systems[i], counterexample, settled.request.size));
    }
    json.add("results", Json::array(std::move(elements)));
    json.add("summary", Json::array_of(summary, summary_json));
  }
  if (!settled.schedules.empty()) json.add("schedules", schedules_json(settled.schedules));
  if (!settled.request.claims.empty()) json.add("max_devices", settled.max_devices());
  return std::move(json).add("verdict", verdict_word(settled.outcome()));
}

// The typed answer.

Result result_of(const SettledQuestion& settled, std::uint32_t size, bool with_facts) {
  const Question& question = settled.question;
  const claims::Settlement& answer = settled.answer;
  Result result;
  result.subject = fmt::format("{}: {}", name_of(question), to_string(*question.system));
  result.outcome = answer.outcome;
  result.engines = {{question.claim->engine, answer.outcome, answer.steps}};
  result.model =
      fmt::format("dialect {}, programs of at most {} steps", to_string(question.dialect), size);
  result.evidence = settled.evidence;
  if (answer.outcome == Outcome::Refuted) {
    result.counterexample = {
        question.claim->name, {}, answer.note, with_facts ? counterexample_json(settled) : Json()};
  } else if (answer.outcome == Outcome::Undecided) {
    using Reason = Undecided::Reason;
    result.undecided = {answer.note.empty() ? Reason::Limit : Reason::Unsupported,
                        answer.note.empty() ? fmt::format("settled for programs of at most {}",
                                                          plural(answer.settled, "step"))
                                            : answer.note};
  }
  return result;
}

Result result_of(const ScheduleResult& settled) {
  const auto& [claim, answer] = settled;
  Result result;
  result.subject = claim->name;
  result.outcome = answer.outcome;
  result.engines = {{claim->engine, answer.outcome}};
  result.model = claim->cases;
  if (answer.outcome == Outcome::Refuted) {
    result.counterexample = {claim->name, {}, answer.counterexample, counterexample_json(answer)};
  } else if (answer.outcome == Outcome::Undecided) {
    result.undecided = {Undecided::Reason::Limit,
                        fmt::format("holds in the first {} cases", answer.cases)};
  }
  return result;
}

ClaimSummary summary_of(const Summary& row) {
  const Question& question = row.question;
  return {question.claim->name,
          std::string(to_string(question.from)),
          question.to ? std::optional(std::string(to_string(*question.to))) : std::nullopt,
          std::string(to_string(question.dialect)),
          row.several_axes,
          row.systems,
          row.refuted,
          row.undecided,
          row.outcome()};
}

Document report_of(const Settled& settled) {
  Document report;
  report.title = "Errata";
  if (!settled.request.claims.empty()) {
    report.append(claims::errata(settled.systems, settled.request));
  }
  if (!settled.schedules.empty()) report.append(claims::schedule_errata(settled.schedules));
  return report;
}

}  // namespace

ProveAnswer prove(const ProveRequest& request, const Options& options) {
  Settled settled{campaign_request(request, options.limits), {}, {}};
  settled.schedules = settle(schedule_claims_of(request), options);
  ProveAnswer answer;
  try {
    settled.systems = settle(settled.request, request.journal, options);
    answer.outcome = settled.outcome();
  } catch (const LimitReached& error) {
    if (settled.schedules.empty()) throw;
    answer.diagnostics.push_back({Diagnostic::Kind::Undecided, error.what()});
    answer.outcome = Outcome::Undecided;
  }
  if (request.certify) {
    claims::Certification certification = certify(settled, *request.certify, options);
    for (Diagnostic& each : certification.diagnostics) {
      answer.diagnostics.push_back(std::move(each));
    }
    const auto is_limit = [](const Diagnostic& each) {
      return each.kind == Diagnostic::Kind::Undecided;
    };
    // A certificate that a limit prevented leaves what was asked undecided, even if refuted.
    if (std::ranges::any_of(answer.diagnostics, is_limit)) answer.outcome = Outcome::Undecided;
    if (certification.disagreement) answer.outcome = Outcome::Disagreement;
  }
  const std::vector<Summary> summary = claims::summarize(settled.systems);
  for (const SettledQuestion& result : settled.systems) {
    answer.results.push_back(result_of(result, settled.request.size, options.facts));
  }
  for (const ScheduleResult& result : settled.schedules) {
    answer.results.push_back(result_of(result));
  }
  for (const Summary& row : summary) answer.summary.push_back(summary_of(row));
  answer.document.title = "p2-verify prove";
  add_text(settled, summary, answer.document);
  if (options.facts) answer.document.json = answer_json(settled, summary, answer.results);
  if (request.report) answer.report = report_of(settled);
  return answer;
}

ClaimList list_claims() {
  const auto kinds = [](const std::vector<HierarchyKind>& some) {
    std::string text;
    for (const HierarchyKind kind : some) {
      text += (text.empty() ? "" : ", ") + std::string(to_string(kind));
    }
    return text;
  };
  ClaimList list;
  std::string text;
  for (const Claim& claim : claims::registry()) {
    list.claims.push_back({claim.name, claim.statement, claim.formula, claim.section,
                           kinds(claim.from), kinds(claim.to), claim.engine});
    const ClaimInfo& info = list.claims.back();
    text += fmt::format("{}  ({})\n    {}\n    {}\n    over {}{}; settled by {}\n", info.name,
                        info.section.empty() ? "not in the paper" : info.section, info.statement,
                        info.formula, info.range, info.to.empty() ? "" : " against " + info.to,
                        info.engine);
  }
  for (const ScheduleClaim& claim : claims::schedule_registry()) {
    list.schedules.push_back(
        {claim.name, claim.statement, claim.formula, claim.section, claim.cases, "", claim.engine});
    text += fmt::format(
        "{}  ({} of the paper on resharding)\n    {}\n    {}\n    {}; settled by {}\n", claim.name,
        claim.section, claim.statement, claim.formula, claim.cases, claim.engine);
  }
  const auto common = [](const ClaimInfo& info) {
    return Json::object()
        .add("name", info.name)
        .add("statement", info.statement)
        .add("formula", info.formula)
        .add("section", info.section);
  };
  const auto claim_json = [&](const ClaimInfo& info) {
    return common(info).add("from", info.range).add("to", info.to).add("engine", info.engine);
  };
  const auto schedule_json = [&](const ClaimInfo& info) {
    return common(info).add("range", info.range).add("engine", info.engine);
  };
  list.document.title = "p2-verify prove --list";
  list.document.add(Preformatted{std::move(text)});
  list.document.json = Json::object()
                           .add("claims", Json::array_of(list.claims, claim_json))
                           .add("schedules", Json::array_of(list.schedules, schedule_json));
  return list;
}

}  // namespace p2

// `prove` and `merge`: statements of the papers and about the rules, settled on every small system.

#include "proofs/api/prove.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "p2/prove.h"
#include "proofs/api/campaigns.h"
#include "proofs/claims/claim.h"

namespace p2 {
namespace {

// Of a result with its text, and with its JSON value as well.
constexpr std::size_t kBytesOfResult = 2'200;
constexpr std::size_t kBytesOfJsonResult = 13'000;

Result result_of(const claims::SettledQuestion& settled, std::uint32_t size, bool with_facts) {
  const claims::Question& question = settled.question;
  const claims::Settlement& answer = settled.answer;
  Result result;
  result.subject = fmt::format("{}: {}", title_of(question), to_string(*question.system));
  result.outcome = answer.outcome;
  result.engines = {{question.claim->engine, answer.outcome, answer.steps}};
  result.model =
      fmt::format("dialect {}, programs of at most {} steps", to_string(question.dialect), size);
  result.evidence = settled.evidence;
  if (answer.outcome == Outcome::Refuted) {
    result.counterexample = {
        question.claim->name, {}, answer.note, with_facts ? refutation_json(settled) : Json()};
  } else if (answer.outcome == Outcome::Undecided) {
    using Reason = Undecided::Reason;
    result.undecided = {answer.note.empty() ? Reason::Limit : Reason::Unsupported,
                        answer.note.empty()
                            ? fmt::format("settled for programs of at most {} step{}",
                                          answer.settled, answer.settled == 1 ? "" : "s")
                            : answer.note};
  }
  return result;
}

Result result_of(const claims::ScheduleResult& settled) {
  const auto& [claim, answer] = settled;
  Result result;
  result.subject = claim->name;
  result.outcome = answer.outcome;
  result.engines = {{claim->engine, answer.outcome}};
  result.model = claim->cases;
  if (answer.outcome == Outcome::Refuted) {
    result.counterexample = {claim->name, {}, answer.counterexample, refutation_json(answer)};
  } else if (answer.outcome == Outcome::Undecided) {
    result.undecided = {Undecided::Reason::Limit,
                        fmt::format("holds in the first {} cases", answer.cases)};
  }
  return result;
}

ClaimSummary summary_of(const claims::Summary& row) {
  const claims::Question& question = row.question;
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

Document errata_of(const Settled& settled) {
  Document report;
  report.title = "Errata";
  if (!settled.request.claims.empty()) {
    report.append(claims::errata(settled.results.systems, settled.request));
  }
  if (!settled.results.schedules.empty()) {
    report.append(claims::schedule_errata(settled.results.schedules));
  }
  return report;
}

/// The questions of a request. Where a limit is reached before they are collected, those about
/// schedules alone, and a diagnostic.
std::unique_ptr<claims::Campaign> collect_questions(claims::CampaignRequest& request,
                                                    const Options& options,
                                                    std::vector<Diagnostic>& diagnostics) {
  try {
    auto questions = std::make_unique<claims::Campaign>(request, options.limits);
    const std::size_t bytes = options.facts ? kBytesOfJsonResult : kBytesOfResult;
    options.limits.require_room(static_cast<double>(questions->result_count() * bytes),
                                fmt::format("describing {} results", questions->result_count()));
    return questions;
  } catch (const LimitReached& error) {
    if (request.schedules.empty()) throw;
    diagnostics.push_back({Diagnostic::Kind::Undecided, error.what()});
    request.claims.clear();
    return std::make_unique<claims::Campaign>(request, options.limits);
  }
}

}  // namespace

Outcome Settled::outcome() const {
  Outcome all = claims::outcome_of(results.systems);
  for (const auto& [claim, answer] : results.schedules) all = worst(all, answer.outcome);
  return all;
}

std::uint32_t Settled::max_devices() const {
  std::uint32_t most = 0;
  for (const claims::PlacedSystem& system : request.systems) {
    most = std::max(most, system.grid.devices());
  }
  return most;
}

ProveAnswer answer_of(Settled& settled, bool report, std::vector<Diagnostic> diagnostics,
                      const Options& options) {
  ProveAnswer answer;
  std::vector<claims::SettledQuestion>& systems = settled.results.systems;
  if (settled.request.certificates && settled.shard.is_whole()) {
    claims::certify_counterexamples(
        systems,
        {settled.request.size, options.limits, settled.request.deep, settled.request.parts},
        *settled.request.certificates);
  }
  answer.outcome = settled.outcome();
  answer.diagnostics = std::move(diagnostics);
  bool disagreement = false;
  for (const claims::SettledQuestion& result : systems) {
    disagreement = disagreement || result.disagreement;
    answer.diagnostics.insert(answer.diagnostics.end(), result.diagnostics.begin(),
                              result.diagnostics.end());
  }
  const auto is_limit = [](const Diagnostic& each) {
    return each.kind == Diagnostic::Kind::Undecided;
  };
  // A limit leaves what was asked undecided, even if refuted.
  if (std::ranges::any_of(answer.diagnostics, is_limit)) answer.outcome = Outcome::Undecided;
  if (disagreement) answer.outcome = Outcome::Disagreement;
  const std::vector<claims::Summary> summary = claims::summarize(systems);
  for (const claims::SettledQuestion& result : systems) {
    answer.results.push_back(result_of(result, settled.request.size, options.facts));
  }
  for (const claims::ScheduleResult& result : settled.results.schedules) {
    answer.results.push_back(result_of(result));
  }
  for (const claims::Summary& row : summary) answer.summary.push_back(summary_of(row));
  answer.document.title = "p2-verify prove";
  add_text(settled, summary, answer.document);
  if (options.facts) answer.document.json = answer_json(settled, summary, answer.results);
  if (report) answer.report = errata_of(settled);
  return answer;
}

ProveAnswer prove(const ProveRequest& request, const Options& options) {
  Settled settled{
      campaign_request(request, options), {}, {request.part.shard, request.part.shards}};
  if (request.report && !settled.shard.is_whole()) {
    throw InputError({"--report"}, "given together with --shard, expected one of the two");
  }
  std::vector<Diagnostic> diagnostics;
  const auto questions = collect_questions(settled.request, options, diagnostics);
  const CampaignRun run = campaign_run(request.part, options, "prove: {} of {} questions answered");
  if (!run.answer(*questions, journal_header(request, options.seed, questions->count()))) {
    ProveAnswer elsewhere;
    elsewhere.is_leader = false;
    return elsewhere;
  }
  settled.results = questions->take_results(settled.shard);
  return answer_of(settled, request.report, std::move(diagnostics), options);
}

// `prove --list`: all claims.

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
  for (const claims::Claim& claim : claims::registry()) {
    list.claims.push_back({claim.name, claim.statement, claim.formula, claim.section,
                           kinds(claim.from), kinds(claim.to), claim.engine});
    const ClaimInfo& info = list.claims.back();
    text += fmt::format("{}  ({})\n    {}\n    {}\n    over {}{}; settled by {}\n", info.name,
                        info.section.empty() ? "not in the paper" : info.section, info.statement,
                        info.formula, info.range, info.to.empty() ? "" : " against " + info.to,
                        info.engine);
  }
  for (const claims::ScheduleClaim& claim : claims::schedule_registry()) {
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

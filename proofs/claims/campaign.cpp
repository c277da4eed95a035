#include "proofs/claims/campaign.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "p2/error.h"
#include "proofs/claims/absent_programs.h"

namespace p2::claims {
namespace {

constexpr std::size_t kQuestionsPerLimitCheck = 256;
// Collecting the questions about so many takes less than a second; the limits are checked when they
// are answered.
constexpr std::size_t kMaxUncheckedSystems = 700;

// Expected costs in seconds, as measured on one core: for the balance of shards only.

constexpr double kSecondsOfScheduleClaim = 10;
constexpr double kSecondsPerState = 1e-7;
constexpr double kSecondsPerResult = 5e-6;
constexpr double kSecondsPerSolverState = 3e-5;

/// A measure of the states of a subject: devices, times pairs of moves.
double state_count(const Subject& subject) {
  const auto moves = static_cast<double>(subject.moves.size());
  return subject.from.grid.devices() * moves * moves;
}

Settlement answer(const Question& question, Engine engine, const Bounds& bounds,
                  std::unique_ptr<ProgramList>& programs) {
  const Subject subject(*question.system, question.from, question.to, question.dialect);
  if (question.claim->settle != nullptr) return question.claim->settle(subject, bounds);
  const std::vector<bool> forbidden = question.claim->find_forbidden(subject);
  if (std::find(forbidden.begin(), forbidden.end(), true) == forbidden.end()) {
    return established(bounds);
  }
  if (engine == Engine::Sat) return settle_by_sat(subject, forbidden, bounds).answer;
  return settle_by_enumeration(subject, forbidden, bounds, programs);
}

// Answers as JSON, the same in journals and between processes.

using Record = nlohmann::ordered_json;

Outcome outcome_of_word(const std::string& word) {
  for (const Outcome outcome : {Outcome::Established, Outcome::Refuted}) {
    if (word == verdict_word(outcome)) return outcome;
  }
  return Outcome::Undecided;
}

Record record_of(const SettledQuestion& result) {
  const Settlement& answer = result.answer;
  Record record{{"verdict", std::string(verdict_word(answer.outcome))},
                {"settled", answer.settled},
                {"program", answer.program},
                {"steps", answer.steps},
                {"note", answer.note}};
  // For readers of the journal.
  if (const auto order = row_order(result.question)) {
    record["rows_reduced"] = std::string(to_string(*order));
  }
  const Evidence& evidence = result.evidence;
  if (evidence.kind != Evidence::Kind::None) {
    record["evidence"] = {{"kind", static_cast<int>(evidence.kind)},
                          {"folder", evidence.folder},
                          {"trouble", evidence.trouble},
                          {"claim", evidence.claim},
                          {"certificate", result.certificate},
                          {"empty_question", result.empty_question},
                          {"disagreement", result.disagreement}};
    for (const Diagnostic& each : result.diagnostics) {
      record["diagnostics"].push_back({static_cast<int>(each.kind), each.message});
    }
  }
  return record;
}

void take(const Record& record, SettledQuestion& result) {
  Settlement& answer = result.answer;
  answer.outcome = outcome_of_word(record.at("verdict"));
  answer.settled = record.at("settled");
  answer.program = record.at("program");
  answer.steps = record.at("steps");
  answer.note = record.at("note");
  if (!record.contains("evidence")) return;
  const Record& evidence = record.at("evidence");
  result.evidence = {static_cast<Evidence::Kind>(evidence.at("kind").get<std::uint8_t>()),
                     evidence.at("folder"), evidence.at("trouble"), evidence.at("claim")};
  result.certificate = evidence.at("certificate");
  result.empty_question = evidence.at("empty_question");
  result.disagreement = evidence.at("disagreement");
  for (const Record& each : record.value("diagnostics", Record::array())) {
    result.diagnostics.push_back(
        {static_cast<Diagnostic::Kind>(each.at(0).get<std::uint8_t>()), each.at(1)});
  }
}

}  // namespace

std::optional<RowOrder> row_order(const Question& question) {
  const bool matters = question.from == HierarchyKind::Rows || question.to == HierarchyKind::Rows;
  if (!matters) return std::nullopt;
  return row_order(*question.system);
}

Campaign::Campaign(const CampaignRequest& request, const Limits& limits)
    : request_(request), limits_(limits) {
  for (const ScheduleClaim* claim : request.schedules)
    schedules_.emplace_back(claim, ScheduleSettlement{});
  for (const Claim* claim : request.claims) collect(*claim);
}

void Campaign::collect(const Claim& claim) {
  for (const HierarchyKind from : claim.from) {
    if (request_.from && *request_.from != from) continue;
    if (claim.to.empty()) collect(claim, from, std::nullopt);
    for (const HierarchyKind to : claim.to) {
      if (request_.to && *request_.to != to) continue;
      // A hierarchy is compared with itself only on request.
      if (to == from && !(request_.from && request_.to)) continue;
      collect(claim, from, to);
    }
  }
}

void Campaign::collect(const Claim& claim, HierarchyKind from, std::optional<HierarchyKind> to) {
  for (const Dialect dialect : request_.dialects) {
    equivalent_.clear();
    search_of_key_.clear();
    for (const PlacedSystem& system : request_.systems) {
      add({&claim, &system, dialect, from, to});
    }
  }
}

void Campaign::add(const Question& question) {
  if (request_.systems.size() > kMaxUncheckedSystems &&
      ++systems_seen_ % kQuestionsPerLimitCheck == 0) {
    limits_.require(results_.size() * sizeof(SettledQuestion),
                    "collecting the questions (nothing was settled)");
  }
  if (question.claim->settle != nullptr) return add_with_key(question);
  const std::size_t number = results_.size();
  const Subject subject(*question.system, question.from, question.to, question.dialect);
  if (!request_.every_system) {
    const auto [first, is_new] = equivalent_.emplace(key(question, subject), number);
    if (!is_new) {
      ++results_[first->second].systems;
      return;
    }
  }
  const auto [search, is_new] = search_of_.emplace(subject.named.problem, searches_.size());
  if (is_new) searches_.push_back({{}, state_count(subject)});
  searches_[search->second].results.push_back(number);
  results_.push_back({question, 1, {}});
}

void Campaign::add_with_key(const Question& question) {
  std::size_t search = searches_.size();
  if (question.claim->key != nullptr) {
    const Subject subject(*question.system, question.from, question.to, question.dialect);
    // Summaries tell one axis from several.
    const std::string key =
        (question.system->several_axes() ? "several " : "one ") + question.claim->key(subject);
    search = search_of_key_.emplace(key, search).first->second;
  }
  if (search == searches_.size()) {
    searches_.push_back(
        {{}, state_count({*question.system, question.from, question.to, question.dialect})});
  }
  std::vector<std::size_t>& equivalent = searches_[search].results;
  if (!equivalent.empty() && !request_.every_system) {
    ++results_[equivalent.front()].systems;
    return;
  }
  equivalent.push_back(results_.size());
  results_.push_back({question, 1, {}});
}

Campaign::Key Campaign::key(const Question& question, const Subject& subject) {
  std::vector<std::uint32_t> sizes;
  for (const Factor& factor : subject.from.grid.factors()) sizes.push_back(factor.size);
  return {std::move(sizes),
          subject.reduction(),
          subject.moves,
          question.claim->find_forbidden(subject),
          question.system->several_axes(),
          row_order(question)};
}

double Campaign::expected_cost(std::size_t question) const {
  if (question < schedules_.size()) return kSecondsOfScheduleClaim;
  const Search& search = searches_[question - schedules_.size()];
  const auto results = static_cast<double>(search.results.size());
  const Question& first = results_[search.results.front()].question;
  if (first.claim->settle != nullptr) return kSecondsPerSolverState * search.states;
  if (request_.engine == Engine::Sat ||
      (request_.certificates && certified_by_clauses(first, *request_.certificates))) {
    return kSecondsPerSolverState * search.states * results;
  }
  return kSecondsPerState * search.states + kSecondsPerResult * results;
}

campaign::Questions::Answer Campaign::ask(std::size_t question, const Limits& limits) {
  if (question < schedules_.size()) return ask_schedule(question, limits);
  return ask_search(searches_[question - schedules_.size()], limits);
}

campaign::Questions::Answer Campaign::ask_schedule(std::size_t number, const Limits& limits) const {
  const ScheduleSettlement answer = request_.schedules[number]->settle(limits);
  const Record record{{"schedule", request_.schedules[number]->name},
                      {"verdict", std::string(verdict_word(answer.outcome))},
                      {"cases", answer.cases},
                      {"counterexample", answer.counterexample},
                      {"command", answer.command},
                      {"tasks", answer.tasks}};
  return {record.dump(), answer.outcome != Outcome::Undecided};
}

campaign::Questions::Answer Campaign::ask_search(const Search& search, const Limits& limits) const {
  const Bounds bounds{request_.size, limits, request_.deep, request_.parts};
  Record records = Record::array();
  bool final = true;
  std::unique_ptr<ProgramList> programs;
  std::optional<Settlement> equivalent;
  for (const std::size_t number : search.results) {
    SettledQuestion result = results_[number];
    if (!equivalent || result.question.claim->settle == nullptr) {
      equivalent = answer(result.question, request_.engine, bounds, programs);
    }
    result.answer = *equivalent;
    final = final && !ended_by_limit(result, limits);
    if (request_.certificates) certify(result, bounds, *request_.certificates);
    final = final && result.evidence.kind != Evidence::Kind::Unwritten;
    records.push_back(record_of(result));
  }
  return {Record{{"answers", std::move(records)}}.dump(), final};
}

/// Whether the answer may depend on a limit.
bool Campaign::ended_by_limit(const SettledQuestion& result, const Limits& limits) const {
  if (!campaign::may_be_cut_short(limits)) return false;
  const Settlement& answer = result.answer;
  const bool searched = result.question.claim->find_forbidden != nullptr;
  return searched ? answer.settled < request_.size : answer.outcome == Outcome::Undecided;
}

void Campaign::record(std::size_t question, const nlohmann::ordered_json& answer) {
  if (question >= count()) throw ToolError("an answer to a question that is not asked");
  if (question < schedules_.size()) {
    ScheduleSettlement& settled = schedules_[question].second;
    settled.outcome = outcome_of_word(answer.at("verdict"));
    settled.cases = answer.at("cases");
    settled.counterexample = answer.at("counterexample");
    settled.command = answer.at("command");
    settled.tasks = answer.at("tasks");
  } else {
    const Search& search = searches_[question - schedules_.size()];
    const Record& answers = answer.at("answers");
    for (std::size_t i = 0; i < search.results.size(); ++i) {
      take(answers.at(i), results_[search.results[i]]);
    }
  }
}

CampaignResults Campaign::take_results(const campaign::Shard& shard) {
  if (shard.is_whole()) return {std::move(results_), std::move(schedules_)};
  const std::vector<std::uint32_t> shards = campaign::shard_of_questions(*this, shard.count);
  CampaignResults mine;
  std::vector<bool> is_mine(results_.size());
  for (std::size_t question = 0; question < shards.size(); ++question) {
    if (shards[question] != shard.number) continue;
    if (question < schedules_.size()) {
      mine.schedules.push_back(schedules_[question]);
      continue;
    }
    for (const std::size_t result : searches_[question - schedules_.size()].results) {
      is_mine[result] = true;
    }
  }
  for (std::size_t result = 0; result < results_.size(); ++result) {
    if (is_mine[result]) mine.systems.push_back(std::move(results_[result]));
  }
  return mine;
}

std::vector<SettledQuestion> settle(const CampaignRequest& request, const Limits& limits,
                                    unsigned jobs, campaign::Journal* journal,
                                    campaign::Counters* counters) {
  Campaign questions(request, limits);
  campaign::Collector collector(questions, {}, journal, counters);
  campaign::run_on_threads(questions, collector, jobs, limits);
  return questions.take_results({}).systems;
}

}  // namespace p2::claims

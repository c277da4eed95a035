#include "proofs/claims/campaign.h"

#include <algorithm>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include "proofs/claims/forbidden_moves.h"
#include "proofs/claims/journal.h"
#include "proofs/claims/plan.h"

namespace p2::claims {
namespace {

Answer answer(const Question& question, Engine engine, const Bounds& bounds,
              std::unique_ptr<ProgramList>& programs) {
  const Subject subject(*question.system, question.from, question.to, question.dialect);
  if (question.claim->settles != nullptr) return question.claim->settles(subject, bounds);
  const std::vector<bool> forbidden = question.claim->forbids(subject);
  if (std::find(forbidden.begin(), forbidden.end(), true) == forbidden.end()) {
    return {Outcome::Holds, bounds.size, {}, 0, {}};
  }
  if (engine == Engine::Clauses) return settle_by_clauses(subject, forbidden, bounds).answer;
  return settle_by_enumeration(subject, forbidden, bounds, programs);
}

/// Everything that the answers to the searches, by number, depend on.
std::string title(const Request& request, std::size_t searches) {
  std::string text = "p2-verify prove 1:";
  for (const Claim* claim : request.claims) text += " " + claim->name;
  if (request.from) text += fmt::format(" from {}", to_string(*request.from));
  if (request.to) text += fmt::format(" to {}", to_string(*request.to));
  for (const Dialect dialect : request.dialects) text += fmt::format(" {}", to_string(dialect));
  text += fmt::format("; size {}, {} systems, {} searches{}{}; ", request.size,
                      request.systems.size(), searches,
                      request.every_system ? ", every system" : "", request.deep ? ", deep" : "");
  if (request.engine == Engine::Clauses) text += "by clauses; ";
  if (!request.systems.empty()) {
    text += to_string(request.systems.front()) + " … " + to_string(request.systems.back());
  }
  return text;
}

/// Runs the searches of a plan and files their answers.
class Run {
 public:
  Run(Plan& plan, const Request& request, const CampaignOptions& options, Journal* journal)
      : plan_(plan),
        options_(options),
        journal_(journal),
        engine_(request.engine),
        bounds_{request.size, options.limits, request.deep} {}

  void take_over_known() {
    for (std::size_t search = 0; search < plan_.searches.size(); ++search) {
      if (known(search)) file(search, journal_->known().at(search));
    }
  }

  void operator()(std::size_t search) {
    if (known(search)) return;
    if (options_.stop != nullptr && *options_.stop) return;
    std::vector<Answer> answers;
    std::unique_ptr<ProgramList> programs;
    bool whole = true;
    for (const std::size_t question : plan_.searches[search]) {
      const bool alike = !answers.empty() && plan_.results[question].question.claim->settles;
      answers.push_back(alike
                            ? answers.front()
                            : answer(plan_.results[question].question, engine_, bounds_, programs));
      whole = whole && !cut_short(question, answers.back());
    }
    if (journal_ != nullptr && whole) journal_->append(search, answers, orders_of(search));
    file(search, answers);
    if (options_.progress != nullptr) ++options_.progress->searches_done;
  }

  void share_memory(std::size_t threads) {
    if (bounds_.limits.memory_bytes) *bounds_.limits.memory_bytes /= threads;
  }

 private:
  /// Whether a limit may have kept the answer from being what it is without limits.
  bool cut_short(std::size_t question, const Answer& answer) const {
    const Limits& limits = bounds_.limits;
    if (!limits.deadline && !limits.memory_bytes && !limits.work) return false;
    const bool searched = plan_.results[question].question.claim->forbids != nullptr;
    return searched ? answer.settled < bounds_.size : answer.verdict == Outcome::Undecided;
  }

  /// Of the search's questions: the order of rows, where it matters.
  std::vector<std::string> orders_of(std::size_t search) const {
    std::vector<std::string> orders;
    for (const std::size_t question : plan_.searches[search]) {
      const auto order = row_order(plan_.results[question].question);
      orders.emplace_back(order ? to_string(*order) : "");
    }
    return orders;
  }

  bool known(std::size_t search) const {
    if (journal_ == nullptr) return false;
    const auto found = journal_->known().find(search);
    return found != journal_->known().end() &&
           found->second.size() == plan_.searches[search].size();
  }

  void file(std::size_t search, const std::vector<Answer>& answers) {
    const std::vector<std::size_t>& questions = plan_.searches[search];
    for (std::size_t i = 0; i < questions.size(); ++i) {
      plan_.results[questions[i]].answer = answers[i];
    }
  }

  Plan& plan_;
  const CampaignOptions& options_;
  Journal* journal_;
  Engine engine_;
  Bounds bounds_;
};

}  // namespace

std::optional<RowOrder> row_order(const Question& question) {
  const bool matters = question.from == HierarchyKind::Rows || question.to == HierarchyKind::Rows;
  if (!matters) return std::nullopt;
  return row_order(*question.system);
}

std::vector<Result> settle(const Request& request, const CampaignOptions& options) {
  Plan plan(request, options.limits);
  std::unique_ptr<Journal> journal;
  if (options.journal) {
    journal = std::make_unique<Journal>(*options.journal, title(request, plan.searches.size()));
  }
  if (options.progress != nullptr) {
    options.progress->searches = plan.searches.size();
    if (journal) options.progress->searches_known = journal->known().size();
  }
  const std::size_t threads =
      options.jobs == 0 ? std::max(1U, std::thread::hardware_concurrency()) : options.jobs;
  Run run(plan, request, options, journal.get());
  run.take_over_known();
  run.share_memory(threads);
  const tbb::global_control at_most(tbb::global_control::max_allowed_parallelism, threads);
  tbb::parallel_for(
      std::size_t{0}, plan.searches.size(), [&](std::size_t search) { run(search); },
      tbb::simple_partitioner());
  return std::move(plan.results);
}

}  // namespace p2::claims

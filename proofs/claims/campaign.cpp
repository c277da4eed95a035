#include "proofs/claims/campaign.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <nlohmann/json.hpp>

#include "engine/program/program.h"
#include "p2/error.h"
#include "proofs/claims/absent_programs.h"

namespace p2::claims {
namespace {

/// A write-ahead log of a campaign: a line of JSON that names the request, then one for every
/// completed search. Lines are appended whole; an incomplete last line, left by a killed process,
/// is truncated when the file is opened again.
class Journal {
 public:
  /// Opens or creates the file. Throws InputError if it cannot be read or written, is no journal,
  /// belongs to another request than `title`, or is locked by another process.
  Journal(const std::string& path, const std::string& title);

  /// What was settled before, by index of the search.
  const std::map<std::size_t, std::vector<Settlement>>& known() const { return known_; }
  /// Appends one search; thread-safe. `orders`: for readers of the file, the order of rows of each
  /// answer; empty where it does not matter. Throws InputError if the line cannot be written.
  void append(std::size_t search, const std::vector<Settlement>& answers,
              const std::vector<std::string>& orders);

 private:
  /// An exclusive lock of the file (flock).
  class Lock {
   public:
    explicit Lock(const std::string& path);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    int file_;
  };

  void read(const std::string& text, const std::string& title);
  void write(const std::string& line);

  std::string path_;
  Lock lock_;
  std::map<std::size_t, std::vector<Settlement>> known_;
  std::ofstream file_;
  std::mutex mutex_;
};

using Line = nlohmann::ordered_json;

Line to_line(const Settlement& answer) {
  return {{"verdict", std::string(verdict_word(answer.outcome))},
          {"settled", answer.settled},
          {"program", answer.program},
          {"steps", answer.steps},
          {"note", answer.note}};
}

Settlement from_line(const Line& line) {
  Settlement answer;
  const std::string verdict = line.at("verdict").get<std::string>();
  for (const Outcome outcome : {Outcome::Established, Outcome::Refuted}) {
    if (verdict == verdict_word(outcome)) answer.outcome = outcome;
  }
  answer.settled = line.at("settled").get<std::uint32_t>();
  answer.program = line.at("program").get<std::string>();
  answer.steps = line.at("steps").get<std::size_t>();
  answer.note = line.at("note").get<std::string>();
  return answer;
}

Journal::Lock::Lock(const std::string& path)
    : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (file_ < 0) {
    throw InputError({path}, "cannot be written, expected a path in a writable folder");
  }
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    ::close(file_);
    throw InputError({path},
                     "is in use by another campaign, expected a journal for this one alone");
  }
}

Journal::Lock::~Lock() { ::close(file_); }

Journal::Journal(const std::string& path, const std::string& title) : path_(path), lock_(path) {
  std::ifstream written(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(written), {}};
  if (!written) throw InputError({path}, "cannot be read, expected a journal of prove --resume");
  const std::size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  read(text.substr(0, whole), title);
  std::error_code failure;
  if (whole < text.size()) std::filesystem::resize_file(path, whole, failure);
  file_.open(path, std::ios::binary | std::ios::app);
  if (!file_ || failure) {
    throw InputError({path}, "cannot be written, expected a path in a writable folder");
  }
  if (whole == 0) write(Line{{"journal", title}}.dump());
}

void Journal::read(const std::string& text, const std::string& title) {
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    try {
      const Line line = Line::parse(text.substr(begin, end - begin));
      if (number++ == 0) {
        if (line.at("journal").get<std::string>() != title) {
          throw InputError({path_},
                           "is the journal of other claims, systems or sizes, expected "
                           "those of this command or a new file");
        }
      } else {
        std::vector<Settlement> answers;
        for (const Line& answer : line.at("answers")) answers.push_back(from_line(answer));
        known_[line.at("search").get<std::size_t>()] = std::move(answers);
      }
    } catch (const nlohmann::json::exception&) {
      throw InputError({path_, number + 1, 1},
                       "is no line of a journal, expected a file that "
                       "prove --resume has written");
    }
    begin = end + 1;
  }
}

void Journal::append(std::size_t search, const std::vector<Settlement>& answers,
                     const std::vector<std::string>& orders) {
  Line line{{"search", search}, {"answers", Line::array()}};
  for (std::size_t i = 0; i < answers.size(); ++i) {
    line["answers"].push_back(to_line(answers[i]));
    if (!orders[i].empty()) line["answers"].back()["rows_reduced"] = orders[i];
  }
  const std::lock_guard lock(mutex_);
  write(line.dump());
}

void Journal::write(const std::string& line) {
  file_ << line + "\n" << std::flush;
  if (!file_) throw InputError({path_}, "could not be written, expected room for the journal");
}

constexpr std::size_t kQuestionsPerLimitCheck = 256;
// Collecting the questions about so many takes less than a second; the limits are checked when they
// are answered.
constexpr std::size_t kMaxUncheckedSystems = 700;

/// The questions of a request, one for equivalent systems (see settle), and the searches that
/// answer them.
class Plan {
 public:
  /// The request must outlive the plan. Throws LimitReached.
  Plan(const CampaignRequest& request, const Limits& limits);

  std::vector<SettledQuestion> results;            ///< not answered yet
  std::vector<std::vector<std::size_t>> searches;  ///< the questions that each answers

 private:
  /// Everything that the answer of a claim that forbids moves depends on, and what summaries
  /// distinguish.
  using Key = std::tuple<std::vector<std::uint32_t>, FactorSet, std::vector<Move>,
                         std::vector<bool>, bool, std::optional<RowOrder>>;

  void ask(const Claim& claim);
  void ask(const Claim& claim, HierarchyKind from, std::optional<HierarchyKind> to);
  void add(const Question& question);
  /// For a claim with a `settle` of its own.
  void add_with_key(const Question& question);
  static Key key(const Question& question, const Subject& subject);

  const CampaignRequest& request_;
  const Limits& limits_;
  std::size_t asked_ = 0;
  std::map<Key, std::size_t> equivalent_;  // → the first such question
  std::map<Problem, std::size_t> search_of_;
  std::map<std::string, std::size_t> search_of_key_;  // of one claim, dialect and pair
};

Plan::Plan(const CampaignRequest& request, const Limits& limits)
    : request_(request), limits_(limits) {
  for (const Claim* claim : request.claims) ask(*claim);
}

void Plan::ask(const Claim& claim) {
  for (const HierarchyKind from : claim.from) {
    if (request_.from && *request_.from != from) continue;
    if (claim.to.empty()) ask(claim, from, std::nullopt);
    for (const HierarchyKind to : claim.to) {
      if (request_.to && *request_.to != to) continue;
      // A hierarchy is compared with itself only on request.
      if (to == from && !(request_.from && request_.to)) continue;
      ask(claim, from, to);
    }
  }
}

void Plan::ask(const Claim& claim, HierarchyKind from, std::optional<HierarchyKind> to) {
  for (const Dialect dialect : request_.dialects) {
    equivalent_.clear();
    search_of_key_.clear();
    for (const PlacedSystem& system : request_.systems) {
      add({&claim, &system, dialect, from, to});
    }
  }
}

void Plan::add(const Question& question) {
  if (request_.systems.size() > kMaxUncheckedSystems && ++asked_ % kQuestionsPerLimitCheck == 0) {
    limits_.require(results.size() * sizeof(SettledQuestion),
                    "collecting the questions (nothing was settled)");
  }
  if (question.claim->settle != nullptr) return add_with_key(question);
  const std::size_t number = results.size();
  const Subject subject(*question.system, question.from, question.to, question.dialect);
  if (!request_.every_system) {
    const auto [first, is_new] = equivalent_.emplace(key(question, subject), number);
    if (!is_new) {
      ++results[first->second].systems;
      return;
    }
  }
  const auto [search, is_new] = search_of_.emplace(subject.named.problem, searches.size());
  if (is_new) searches.emplace_back();
  searches[search->second].push_back(number);
  results.push_back({question, 1, {}});
}

void Plan::add_with_key(const Question& question) {
  std::size_t search = searches.size();
  if (question.claim->key != nullptr) {
    const Subject subject(*question.system, question.from, question.to, question.dialect);
    // Summaries tell one axis from several.
    const std::string key =
        (question.system->several_axes() ? "several " : "one ") + question.claim->key(subject);
    search = search_of_key_.emplace(key, search).first->second;
  }
  if (search == searches.size()) searches.emplace_back();
  std::vector<std::size_t>& equivalent = searches[search];
  if (!equivalent.empty() && !request_.every_system) {
    ++results[equivalent.front()].systems;
    return;
  }
  equivalent.push_back(results.size());
  results.push_back({question, 1, {}});
}

Plan::Key Plan::key(const Question& question, const Subject& subject) {
  std::vector<std::uint32_t> sizes;
  for (const Factor& factor : subject.from.grid.factors()) sizes.push_back(factor.size);
  return {std::move(sizes),
          subject.reduction(),
          subject.moves,
          question.claim->find_forbidden(subject),
          question.system->several_axes(),
          row_order(question)};
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

/// Everything that the answers to the searches, by number, depend on.
std::string title(const CampaignRequest& request, std::size_t searches) {
  std::string text = "p2-verify prove 1:";
  for (const Claim* claim : request.claims) text += " " + claim->name;
  if (request.from) text += fmt::format(" from {}", to_string(*request.from));
  if (request.to) text += fmt::format(" to {}", to_string(*request.to));
  for (const Dialect dialect : request.dialects) text += fmt::format(" {}", to_string(dialect));
  text += fmt::format("; size {}, {} systems, {} searches{}{}; ", request.size,
                      request.systems.size(), searches,
                      request.every_system ? ", every system" : "", request.deep ? ", deep" : "");
  if (request.engine == Engine::Sat) text += "by clauses; ";
  if (!request.systems.empty()) {
    text += to_string(request.systems.front()) + " … " + to_string(request.systems.back());
  }
  return text;
}

/// Runs the searches of a plan and records their answers.
class Run {
 public:
  Run(Plan& plan, const CampaignRequest& request, const CampaignOptions& options, Journal* journal)
      : plan_(plan),
        options_(options),
        journal_(journal),
        engine_(request.engine),
        bounds_{request.size, options.limits, request.deep} {}

  void record_known() {
    for (std::size_t search = 0; search < plan_.searches.size(); ++search) {
      if (known(search)) record(search, journal_->known().at(search));
    }
  }

  void operator()(std::size_t search) {
    if (known(search)) return;
    if (bounds_.limits.cancelled != nullptr && *bounds_.limits.cancelled) return;
    std::vector<Settlement> answers;
    std::unique_ptr<ProgramList> programs;
    bool complete = true;
    for (const std::size_t question : plan_.searches[search]) {
      const bool equivalent = !answers.empty() && plan_.results[question].question.claim->settle;
      answers.push_back(equivalent
                            ? answers.front()
                            : answer(plan_.results[question].question, engine_, bounds_, programs));
      complete = complete && !ended_by_limit(question, answers.back());
    }
    record(search, answers);
    if (!complete) return;
    if (journal_ != nullptr) journal_->append(search, answers, row_orders(search));
    if (options_.progress != nullptr) ++options_.progress->searches_done;
  }

 private:
  /// Whether the answer may depend on a limit.
  bool ended_by_limit(std::size_t question, const Settlement& answer) const {
    const Limits& limits = bounds_.limits;
    if (!limits.deadline && !limits.memory_bytes && !limits.work && limits.cancelled == nullptr) {
      return false;
    }
    const bool searched = plan_.results[question].question.claim->find_forbidden != nullptr;
    return searched ? answer.settled < bounds_.size : answer.outcome == Outcome::Undecided;
  }

  /// The order of rows of each question of the search, empty where it does not matter.
  std::vector<std::string> row_orders(std::size_t search) const {
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

  void record(std::size_t search, const std::vector<Settlement>& answers) {
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

std::vector<SettledQuestion> settle(const CampaignRequest& request,
                                    const CampaignOptions& options) {
  Plan plan(request, options.limits);
  if (options.bytes_per_result > 0) {
    options.limits.require_room(static_cast<double>(plan.results.size() * options.bytes_per_result),
                                fmt::format("describing {} results", plan.results.size()));
  }
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
  run.record_known();
  const tbb::global_control at_most(tbb::global_control::max_allowed_parallelism, threads);
  tbb::parallel_for(
      std::size_t{0}, plan.searches.size(), [&](std::size_t search) { run(search); },
      tbb::simple_partitioner());
  return std::move(plan.results);
}

namespace {

bool same_row(const Summary& row, const SettledQuestion& result) {
  const Question& a = row.question;
  const Question& b = result.question;
  return a.claim == b.claim && a.dialect == b.dialect && a.from == b.from && a.to == b.to &&
         row.several_axes == b.system->several_axes();
}

std::uint32_t devices(const SettledQuestion& result) {
  return result.question.system->grid.devices();
}

void count_refuted(const SettledQuestion& result, Summary& row) {
  row.refuted += result.systems;
  const auto by_devices = [](const SettledQuestion& each) {
    return std::pair(devices(each), each.answer.steps);
  };
  const auto by_steps = [](const SettledQuestion& each) {
    return std::pair(each.answer.steps, devices(each));
  };
  if (row.smallest == nullptr || by_devices(result) < by_devices(*row.smallest)) {
    row.smallest = &result;
  }
  if (row.shortest == nullptr || by_steps(result) < by_steps(*row.shortest)) {
    row.shortest = &result;
  }
}

void count(const SettledQuestion& result, Summary& row) {
  row.systems += result.systems;
  if (result.answer.outcome == Outcome::Undecided) row.undecided += result.systems;
  if (result.answer.outcome == Outcome::Refuted) count_refuted(result, row);
  const std::optional<RowOrder> order = row_order(result.question);
  if (!order) return;
  auto place = std::lower_bound(
      row.orders.begin(), row.orders.end(), *order,
      [](const OrderSummary& each, RowOrder wanted) { return each.order < wanted; });
  if (place == row.orders.end() || place->order != *order) {
    place = row.orders.insert(place, {*order, 0, 0, 0});
  }
  place->systems += result.systems;
  if (result.answer.outcome == Outcome::Undecided) place->undecided += result.systems;
  if (result.answer.outcome == Outcome::Refuted) place->refuted += result.systems;
}

}  // namespace

std::string by_order(const Summary& row) {
  std::string text;
  for (const auto& [order, systems, refuted, undecided] : row.orders) {
    if (!text.empty()) text += "; ";
    text += order == RowOrder::All ? "all rows: " : fmt::format("rows {}: ", to_string(order));
    text += refuted > 0     ? fmt::format("refuted on {} of {}", refuted, systems)
            : undecided > 0 ? fmt::format("undecided on {} of {}", undecided, systems)
                            : fmt::format("holds on {}", systems);
  }
  return text;
}

Outcome Summary::outcome() const {
  if (refuted > 0) return Outcome::Refuted;
  return undecided > 0 ? Outcome::Undecided : Outcome::Established;
}

std::vector<Summary> summarize(const std::vector<SettledQuestion>& results) {
  std::vector<Summary> rows;
  for (const SettledQuestion& result : results) {
    // The rows of one claim and pair are adjacent, at most two of them: the last two.
    auto row =
        std::find_if(rows.rbegin(), rows.rbegin() + std::min<std::ptrdiff_t>(2, std::ssize(rows)),
                     [&](const Summary& each) { return same_row(each, result); });
    const bool known = row != rows.rend() && same_row(*row, result);
    if (!known) {
      rows.emplace_back();
      rows.back().question = result.question;
      rows.back().several_axes = result.question.system->several_axes();
    }
    Summary& entry = known ? *row : rows.back();
    count(result, entry);
  }
  return rows;
}

bool in_paper(const Question& question) {
  if (question.claim->section.empty()) return false;
  return !question.to || question.claim->to.size() == 1 ||
         (question.from < *question.to && *question.to <= HierarchyKind::Reduction);
}

Outcome outcome_of(const std::vector<SettledQuestion>& results) {
  Outcome all = Outcome::Established;
  for (const SettledQuestion& result : results) all = worst(all, result.answer.outcome);
  return all;
}

Program counterexample(const SettledQuestion& result) {
  const Instance instance = result.question.system->over(result.question.from);
  const std::uint32_t devices = instance.grid.devices();
  TextCursor cursor("counterexample", result.answer.program);
  return {devices, instance.classes(), parse_steps(cursor, devices, &instance)};
}

}  // namespace p2::claims

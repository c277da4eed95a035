#include "proofs/api/synthesize.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/base/limits.h"
#include "engine/campaign/campaign.h"
#include "engine/program/program_file.h"
#include "p2/error.h"
#include "proofs/api/reference_run.h"
#include "proofs/api/terms.h"

namespace p2 {
namespace {

constexpr std::size_t kMaxPlacements = 100'000;
constexpr std::uint32_t kMaxSteps = 32;

void check_request(const SynthesizeRequest& request) {
  if (request.size > kMaxSteps) {
    throw InputError({"--size"},
                     fmt::format("{} steps, expected at most {}", request.size, kMaxSteps));
  }
  if (request.smt2 && request.size == 0) {
    throw InputError({"--smt2"}, "asks for programs of --size steps, expected at least 1");
  }
  if (request.cubes && request.all_sizes) {
    throw InputError({"--cubes"}, "has clauses of one size, expected no --all-sizes");
  }
  if (!request.exists) return;
  refuse_flags("--exists", "asks a question of its own",
               {{"all-sizes", request.all_sizes},
                {"certify", request.certify.has_value()},
                {"cubes", request.cubes.has_value()},
                {"smt2", request.smt2},
                {"explain", request.explain},
                {"count", request.count_only}});
}

/// Throws InputError for what needs the sizes that were left open.
void check_open_sizes(const SynthesizeRequest& request) {
  refuse_flags("command line", "leaves sizes open (*)",
               {{"exists", request.exists.has_value()},
                {"smt2", request.smt2},
                {"cubes", request.cubes.has_value()},
                {"explain", request.explain},
                {"engine", request.engine != "auto"}});
}

/// One for each placement.
std::vector<Instance> instances_of(const SynthesisQuestion& question) {
  std::vector<Instance> instances;
  const GivenInstance& given = question.given;
  for (Placement& placement : placements_of(given, kMaxPlacements)) {
    instances.emplace_back(DeviceGrid(*given.hierarchy, *given.axes, std::move(placement)),
                           *given.reduction, given.kind);
  }
  return instances;
}

/// Throws InputError where what is written about one placement is asked of several.
void require_one(const SynthesizeRequest& request, std::size_t count, const char* what,
                 const char* expected) {
  if ((!request.smt2 && !request.cubes) || count == 1) return;
  throw InputError(
      {request.smt2 ? "--smt2" : "--cubes"},
      fmt::format("writes one query and there are {} {}, expected {}", count, what, expected));
}

std::vector<PlacementPrograms> search(const SynthesisQuestion& question) {
  std::vector<Instance> instances = instances_of(question);
  require_one(question.request, instances.size(), "placements", "--placement");
  SearchProgress progress;
  const ProgressReporter reporter(question.options.progress, [&] {
    return fmt::format("synth: {} of {} searches done, {} states expanded",
                       progress.searches_done.load(), progress.searches.load(),
                       progress.states.load());
  });
  SynthesisOptions options = question.search;
  options.progress = &progress;
  return find_programs(std::move(instances), options);
}

/// The names of the user-defined collectives.
std::vector<std::string> defined_names(const CollectiveSet& collectives) {
  std::vector<std::string> names;
  for (const Collective collective : collectives.all()) {
    if (!is_built_in(collective)) names.emplace_back(collectives.name_of(collective));
  }
  return names;
}

void add_header_text(const SynthesisQuestion& question, const Beginning& beginning,
                     Document& document) {
  const GivenInstance& given = question.given;
  const Terms& terms = question.search.terms;
  std::vector<std::string> reduced;
  for (const std::uint32_t axis : *given.reduction) reduced.push_back((*given.axes)[axis].name);
  if (const auto& open = question.open) {
    document.line(fmt::format("sizes left open: {}   axes {}   reduce {}",
                              open->hierarchy_text(*given.hierarchy), open->axes_text(*given.axes),
                              fmt::join(reduced, ",")));
  } else {
    document.line(fmt::format("{} devices: {}   axes {}   reduce {}", given.hierarchy->devices(),
                              to_string(*given.hierarchy), to_string(*given.axes),
                              fmt::join(reduced, ",")));
  }
  document.line(
      fmt::format("dialect {}, programs of at most {} steps{}{}",
                  to_string(question.search.dialect), question.search.size,
                  terms.collectives.extended()
                      ? fmt::format(", with {}", fmt::join(defined_names(terms.collectives), ", "))
                      : "",
                  goal_text(terms.goal, beginning)));
  if (question.engines.cnf_left_out) document.line(not_asked_text());
}

Json header_json(const SynthesisQuestion& question) {
  const GivenInstance& given = question.given;
  const Terms& terms = question.search.terms;
  Json json = Json::object({{"dialect", to_string(question.search.dialect)},
                            {"goal", terms.goal.name},
                            {"collectives", Json::array_of(defined_names(terms.collectives))}});
  if (question.engines.cnf_left_out) json.add("not_asked", Json::array({"cnf"}));
  const auto& open = question.open;
  return std::move(json)
      .add("synthesis_hierarchy", to_string(given.kind))
      .add("hierarchy",
           open ? open->hierarchy_json(*given.hierarchy) : parts_json(given.hierarchy->levels()))
      .add("axes", open ? open->axes_json(*given.axes) : parts_json(*given.axes))
      .add("reduce", Json::array_of(*given.reduction))
      .add("size", question.search.size);
}

/// Disagreement before Undecided before Refuted: with a placement undecided, the whole is.
Outcome overall(const std::vector<Result>& results) {
  Outcome outcome = Outcome::Established;
  for (const Outcome each : {Outcome::Refuted, Outcome::Undecided, Outcome::Disagreement}) {
    if (std::ranges::find(results, each, &Result::outcome) != results.end()) outcome = each;
  }
  return outcome;
}

/// The query of the one placement, as SMT-LIB 2; a diagnostic where a limit is reached first.
std::optional<std::string> smt2_query(const SynthesisQuestion& question,
                                      const PlacementPrograms& found,
                                      std::vector<Diagnostic>& diagnostics) {
  try {
    z3_encoding::SynthesisQuery query = query_of(found, question.search, question.engines);
    found.for_each_lowered([&](const Program& each) { query.known.push_back(each.steps); });
    return smt_lib(query, query.size);
  } catch (const LimitReached&) {
    diagnostics.push_back(
        {Diagnostic::Kind::Undecided, "--smt2: a limit was reached before the query was written"});
    return std::nullopt;
  }
}

/// The place for the certificates of so many placements, if they are asked for.
std::optional<CertificatePlace> certificate_place(const SynthesizeRequest& request,
                                                  std::size_t placements) {
  if (!request.certify) return std::nullopt;
  return CertificatePlace{*request.certify, placements > 1};
}

void require_sound(const SynthesisQuestion& question, const PlacementPrograms& found,
                   SoundSteps& sound) {
  if (!question.search.terms.collectives.extended()) return;
  found.for_each_lowered([&](const Program& each) { sound.require("--collectives", each); });
}

void add_count(std::uint64_t count, std::uint64_t& total) {
  if (__builtin_add_overflow(total, count, &total)) {
    throw LimitReached(LimitReached::Kind::Size,
                       "more than 2^64 programs in all, expected a smaller --size");
  }
}

/// What is said of one system.
struct SystemAnswer {
  const SynthesisQuestion* question = nullptr;
  Beginning beginning;
  std::vector<PlacementAnswer> placements;
  std::size_t unanswered = 0;  ///< placements of a campaign that was cancelled
};

/// Asks about all placements of every system, one after the other.
std::vector<SystemAnswer> answer_systems(const std::deque<SynthesisQuestion>& questions,
                                         SynthesizeAnswer& answer) {
  std::deque<std::vector<PlacementPrograms>> all;
  std::size_t count = 0;
  std::uint64_t programs = 0;
  for (const SynthesisQuestion& question : questions) {
    for (const PlacementPrograms& found : all.emplace_back(search(question))) {
      add_count(found.list().count(), programs);
      ++count;
    }
  }
  std::atomic<std::size_t> done = 0;
  const ProgressReporter reporter(questions.front().options.progress, [&] {
    return fmt::format("synth: solvers have checked {} of {} placements", done.load(), count);
  });
  const SynthesizeRequest& request = questions.front().request;
  std::vector<std::vector<PlacementQuestion>> asked;
  bool json = request.json;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    SoundSteps sound(questions[i].search.limits);
    std::vector<PlacementQuestion>& placements = asked.emplace_back();
    for (const PlacementPrograms& found : all[i]) {
      require_sound(questions[i], found, sound);
      placements.emplace_back(questions[i], found, certificate_place(request, count));
      placements.back().ask();
      json = json || placements.back().outcome() == Outcome::Disagreement;
      ++done;
    }
  }
  std::vector<SystemAnswer> systems;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    SystemAnswer& system =
        systems.emplace_back(SystemAnswer{&questions[i], all[i].front().beginning(), {}});
    for (PlacementQuestion& each : asked[i]) {
      system.placements.push_back(
          each.take_answer(system.placements.size() + 1, asked[i].size(), request.text, json));
    }
  }
  if (request.smt2) {
    answer.smt2 = smt2_query(questions.front(), all.front().front(), answer.diagnostics);
  }
  return systems;
}

/// The placements of all systems as questions of a campaign.
class PlacementQuestions final : public campaign::Questions {
 public:
  explicit PlacementQuestions(const std::deque<SynthesisQuestion>& questions) {
    for (const SynthesisQuestion& question : questions) {
      const std::size_t placements =
          systems_.emplace_back(question, instances_of(question)).search.instances().size();
      for (std::size_t i = 0; i < placements; ++i) places_.emplace_back(systems_.size() - 1, i);
    }
    answers_.resize(places_.size());
  }

  std::size_t count() const override { return places_.size(); }
  double expected_cost(std::size_t question) const override {
    const auto [system, placement] = places_[question];
    return systems_[system].search.expected_cost(placement);
  }
  Answer ask(std::size_t question, const Limits& limits) override {
    const auto [number, placement] = places_[question];
    AskedSystem& system = systems_[number];
    SynthesisQuestion own = system.question;
    own.search.limits = limits;
    const PlacementPrograms found = system.search.find(placement, limits);
    SoundSteps sound(limits);
    require_sound(own, found, sound);
    PlacementQuestion asked(own, found, certificate_place(own.request, count()));
    asked.ask();
    const PlacementAnswer answer =
        asked.take_answer(placement + 1, system.search.instances().size(), true, true);
    const bool final =
        answer.result.evidence.kind != Evidence::Kind::Unwritten &&
        (answer.result.outcome != Outcome::Undecided || !campaign::may_be_cut_short(limits));
    constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
    return {record_of(answer).dump(-1, ' ', false, kReplace), final};
  }
  void record(std::size_t question, const nlohmann::ordered_json& answer) override {
    answers_[question] = journaled_placement(answer);
  }

  /// Of the placements of a shard.
  std::vector<SystemAnswer> take_answers(const campaign::Shard& shard) {
    const std::vector<std::uint32_t> shards = campaign::shard_of_questions(*this, shard.count);
    std::vector<SystemAnswer> systems;
    for (const AskedSystem& system : systems_) {
      const Beginning beginning = system.search.problem(0).beginning;
      systems.push_back({&system.question, beginning, {}});
    }
    for (std::size_t question = 0; question < count(); ++question) {
      if (shards[question] != shard.number) continue;
      SystemAnswer& system = systems[places_[question].first];
      if (answers_[question]) {
        system.placements.push_back(std::move(*answers_[question]));
      } else {
        ++system.unanswered;
      }
    }
    return systems;
  }

 private:
  struct AskedSystem {
    AskedSystem(const SynthesisQuestion& asked, std::vector<Instance> instances)
        : question(asked), search(std::move(instances), asked.search) {}

    const SynthesisQuestion& question;
    ProgramSearch search;
  };

  std::deque<AskedSystem> systems_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;  // by question: system, placement
  std::vector<std::optional<PlacementAnswer>> answers_;
};

/// Adds what is said of a system to the answer. Returns its JSON value.
Json add_system(SystemAnswer system, bool of_several, SynthesizeAnswer& answer) {
  const SynthesisQuestion& question = *system.question;
  const std::size_t count = system.placements.size();
  std::uint64_t total = 0;
  bool complete = system.unanswered == 0;
  Json::Array placements;
  for (PlacementAnswer& each : system.placements) {
    add_count(each.placement.count, total);
    complete = complete && each.settled;
    if (of_several) each.result.subject = question.system + ": " + each.result.subject;
    answer.results.push_back(std::move(each.result));
    answer.placements.push_back(std::move(each.placement));
    answer.diagnostics.insert(answer.diagnostics.end(), each.diagnostics.begin(),
                              each.diagnostics.end());
    placements.push_back(std::move(each.json));
  }
  if (system.unanswered > 0) {
    answer.diagnostics.push_back(
        {Diagnostic::Kind::Undecided,
         fmt::format("{} placements were not asked about", system.unanswered)});
  }
  add_count(total, answer.total);
  answer.complete = answer.complete && complete;
  if (question.request.text) {
    Document& document = answer.document;
    if (!document.blocks.empty()) document.line("");
    if (of_several) document.add(Heading{question.system, 2});
    add_header_text(question, system.beginning, document);
    for (const PlacementAnswer& each : system.placements) document.append(each.text);
    document.line("");
    document.line(fmt::format("total: {} over {} placement{}", count_text(total), count,
                              count == 1 ? "" : "s"));
  }
  Json json = header_json(question);
  if (of_several) json.add("system", question.system);
  return std::move(json)
      .add("placements", Json::array(std::move(placements)))
      .add("total_programs", total)
      .add("complete", complete);
}

void add_systems(std::vector<SystemAnswer> systems, const campaign::Shard& shard,
                 SynthesizeAnswer& answer) {
  const SynthesizeRequest& request = systems.front().question->request;
  const bool several = systems.size() > 1;
  Json::Array values;
  std::size_t unanswered = 0;
  for (SystemAnswer& system : systems) {
    unanswered += system.unanswered;
    values.push_back(add_system(std::move(system), several, answer));
  }
  answer.outcome = overall(answer.results);
  if (unanswered > 0 && answer.outcome != Outcome::Disagreement) {
    answer.outcome = Outcome::Undecided;
  }
  if (!request.json && answer.outcome != Outcome::Disagreement) return;
  if (several) {
    answer.document.json = Json::object()
                               .add("systems", Json::array(std::move(values)))
                               .add("total_programs", answer.total)
                               .add("complete", answer.complete);
  } else {
    answer.document.json = std::move(values.front());
  }
  if (!shard.is_whole()) answer.document.json.add("shard", to_string(shard));
}

SynthesisQuestion parse(const SynthesizeRequest& request, InstanceSpec spec, const Options& options,
                        const std::vector<language::Definition>& z3_definitions,
                        Soundness& soundness) {
  const std::string system = spec.system.value_or(spec.hierarchy.value_or(""));
  const std::optional<OpenSizes> open = close_sizes(spec);
  if (open) check_open_sizes(request);
  SynthesisQuestion question{request, options, system, given_instance(spec), {}, {}, {}, open};
  require_system(question.given, true);
  question.engines = engines_called(request.engine);
  question.engines.z3_definitions = z3_definitions;
  soundness = read_terms(spec, options, question.given);
  question.search = {.dialect = question.given.dialect,
                     .terms = question.given.terms,
                     .size = request.size,
                     .jobs = options.jobs,
                     .limits = options.limits,
                     .explicit_only = request.engine != "auto",
                     .count_only = request.count_only && !request.certify && !request.exists &&
                                   !request.smt2 && !request.cubes && !request.all_sizes && !open};
  const Terms& terms = question.search.terms;
  question.engines = on_terms(std::move(question.engines), terms);
  if (request.certify) require_paper("--certify", terms);
  if (request.cubes) require_paper("--cubes", terms);
  if (request.all_sizes || open) require_known_for_all_sizes(terms);
  if (request.exists) question.property = parse_property(*request.exists, terms.collectives);
  return question;
}

Json journal_header(const SynthesizeRequest& request, std::uint64_t seed, std::size_t questions) {
  refuse_flags("--shard, --resume or mpirun", "asks about each placement alone",
               {{"smt2", request.smt2}, {"cubes", request.cubes.has_value()}});
  Json header = with_instances(campaign::journal_header("synth"), specs_of(request))
                    .add("size", request.size)
                    .add("engine", request.engine)
                    .add("certify", campaign::optional_text(request.certify))
                    .add("seed", request.certify ? Json(seed) : Json())
                    .add("exists", campaign::optional_text(request.exists))
                    .add("all_sizes", request.all_sizes)
                    .add("count_only", request.count_only)
                    .add("explain", request.explain);
  return campaign::with_shard(std::move(header), questions, request.part);
}

}  // namespace

SynthesizeRequest journaled_synthesis(const nlohmann::ordered_json& header) {
  SynthesizeRequest request;
  take_instances(header, request);
  request.size = header.at("size");
  request.engine = header.at("engine");
  request.certify = campaign::optional_text(header, "certify");
  request.exists = campaign::optional_text(header, "exists");
  request.all_sizes = header.at("all_sizes");
  request.count_only = header.at("count_only");
  request.explain = header.at("explain");
  return request;
}

SynthesizeAnswer synthesize(const SynthesizeRequest& request, const Options& options) {
  if (!is_campaign(request.part)) return synthesize(request, options, nullptr);
  const CampaignRun run =
      campaign_run(request.part, options, "synth: {} of {} placements answered");
  return synthesize(request, options, &run);
}

SynthesizeAnswer synthesize(const SynthesizeRequest& request, const Options& options,
                            const CampaignRun* run,
                            const std::vector<language::Definition>& z3_definitions) {
  check_request(request);
  SynthesizeAnswer answer;
  answer.document.title = "p2-verify synth";
  require_one(request, 1 + request.more_instances.size(), "systems", "one");
  std::deque<SynthesisQuestion> questions;
  for (const InstanceSpec& spec : specs_of(request)) {
    Soundness soundness;
    questions.push_back(parse(request, spec, options, z3_definitions, soundness));
    answer.diagnostics = std::move(soundness.diagnostics);
    if (soundness.outcome == Outcome::Established) continue;
    answer.outcome = soundness.outcome;
    answer.complete = false;
    answer.document.json = header_json(questions.back())
                               .add("placements", Json::array())
                               .add("total_programs", 0)
                               .add("complete", false);
    return answer;
  }
  if (run == nullptr) {
    add_systems(answer_systems(questions, answer), {}, answer);
    return answer;
  }
  PlacementQuestions placements(questions);
  const Json header = journal_header(request, options.seed, placements.count());
  answer.is_leader = run->answer(placements, header);
  if (answer.is_leader) add_systems(placements.take_answers(run->shard), run->shard, answer);
  return answer;
}

}  // namespace p2

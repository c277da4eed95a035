#include "proofs/api/synthesize.h"

#include <algorithm>
#include <atomic>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/progress.h"
#include "engine/program/json_text.h"
#include "engine/program/program_file.h"
#include "p2/suggestion.h"
#include "proofs/api/reference_run.h"
#include "proofs/api/synthesize_placement.h"
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
  if (!request.exists) return;
  refuse_flags("--exists", "asks a question of its own",
               {{"all-sizes", request.all_sizes},
                {"certify", request.certify.has_value()},
                {"smt2", request.smt2},
                {"explain", request.explain},
                {"count", request.count_only}});
}

/// Throws InputError for what needs the sizes that were left open.
void check_open_sizes(const SynthesizeRequest& request) {
  refuse_flags("command line", "leaves sizes open (*)",
               {{"exists", request.exists.has_value()},
                {"smt2", request.smt2},
                {"explain", request.explain},
                {"engine", request.engine != "auto"}});
}

std::vector<PlacementPrograms> search(const SynthesisQuestion& question) {
  std::vector<Instance> instances;
  const GivenInstance& given = question.given;
  for (Placement& placement : placements_of(given, kMaxPlacements)) {
    instances.emplace_back(DeviceGrid(*given.hierarchy, *given.axes, std::move(placement)),
                           *given.reduction, given.kind);
  }
  if (question.request.smt2 && instances.size() != 1) {
    throw InputError({"--smt2"}, fmt::format("writes one query and there are {} placements, "
                                             "expected --placement",
                                             instances.size()));
  }
  SearchProgress progress;
  const ProgressReporter reporter(question.limits.progress, [&] {
    return fmt::format("synth: {} of {} searches done, {} states expanded",
                       progress.searches_done.load(), progress.searches.load(),
                       progress.states.load());
  });
  SynthesisOptions options = question.options;
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
  const Terms& terms = question.options.terms;
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
                  to_string(question.options.dialect), question.options.size,
                  terms.collectives.extended()
                      ? fmt::format(", with {}", fmt::join(defined_names(terms.collectives), ", "))
                      : "",
                  goal_text(terms.goal, beginning)));
  if (question.engines.cnf_left_out) document.line(not_asked_text());
}

Json header_json(const SynthesisQuestion& question) {
  const GivenInstance& given = question.given;
  const Terms& terms = question.options.terms;
  Json json = Json::object({{"dialect", to_string(question.options.dialect)},
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
      .add("size", question.options.size);
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
    z3_encoding::SynthesisQuery query = query_of(found, question.options, question.engines);
    found.for_each_lowered([&](const Program& each) { query.known.push_back(each.steps); });
    return smt_lib(query, query.size);
  } catch (const LimitReached&) {
    diagnostics.push_back(
        {Diagnostic::Kind::Undecided, "--smt2: a limit was reached before the query was written"});
    return std::nullopt;
  }
}

/// The folder for the certificate of placement `index`, if one is asked for.
std::optional<std::string> certificate_folder(const SynthesisQuestion& question, std::size_t index,
                                              std::size_t count) {
  if (!question.request.certify) return std::nullopt;
  const std::filesystem::path folder = *question.request.certify;
  return (count == 1 ? folder : folder / std::to_string(index + 1)).string();
}

void answer_question(const SynthesisQuestion& question, SynthesizeAnswer& answer) {
  const std::vector<PlacementPrograms> all = search(question);
  std::atomic<std::size_t> done = 0;
  const ProgressReporter reporter(question.limits.progress, [&] {
    return fmt::format("synth: solvers have checked {} of {} placements", done.load(), all.size());
  });
  SoundSteps sound(question.options.limits);
  std::vector<PlacementQuestion> placements;
  for (const PlacementPrograms& found : all) {
    if (question.options.terms.collectives.extended()) {
      found.for_each_lowered([&](const Program& each) { sound.require("--collectives", each); });
    }
    placements.emplace_back(question, found, certificate_folder(question, done, all.size()));
    placements.back().answer(answer);
    ++done;
  }
  if (question.request.smt2) answer.smt2 = smt2_query(question, all[0], answer.diagnostics);
  answer.outcome = overall(answer.results);

  Document& document = answer.document;
  if (question.request.text) {
    add_header_text(question, all[0].beginning(), document);
    for (std::size_t i = 0; i < placements.size(); ++i) {
      placements[i].add_text(document, i + 1, placements.size());
    }
    document.line("");
    document.line(fmt::format("total: {} over {} placement{}", count_text(answer.total),
                              placements.size(), placements.size() == 1 ? "" : "s"));
  }
  if (question.request.json || answer.outcome == Outcome::Disagreement) {
    document.json = header_json(question);
    document.json
        .add("placements",
             Json::array_of(placements, [](const PlacementQuestion& each) { return each.json(); }))
        .add("total_programs", answer.total)
        .add("complete", answer.complete);
  }
}

}  // namespace

SynthesizeAnswer synthesize(const SynthesizeRequest& request, const Options& options) {
  return synthesize(request, options, language::built_in_definitions());
}

SynthesizeAnswer synthesize(const SynthesizeRequest& request, const Options& options,
                            std::vector<language::Definition> z3_definitions) {
  check_request(request);
  InstanceSpec instance = request.instance;
  const std::optional<OpenSizes> open = close_sizes(instance);
  if (open) check_open_sizes(request);
  SynthesisQuestion question{request, options, given_instance(instance), {}, {}, {}, open};
  require_system(question.given, true);
  question.engines = engines_called(request.engine);
  question.engines.z3_definitions = std::move(z3_definitions);

  SynthesizeAnswer answer;
  answer.document.title = "p2-verify synth";
  Soundness soundness = read_terms(request.instance, options, question.given);
  answer.diagnostics = std::move(soundness.diagnostics);
  question.options = {.dialect = question.given.dialect,
                      .terms = question.given.terms,
                      .size = request.size,
                      .jobs = options.jobs,
                      .limits = options.limits,
                      .explicit_only = request.engine != "auto",
                      .count_only = request.count_only && !request.certify && !request.exists &&
                                    !request.smt2 && !request.all_sizes && !open};
  const Terms& terms = question.options.terms;
  question.engines = on_terms(std::move(question.engines), terms);
  if (request.certify) require_paper("--certify", terms);
  if (request.all_sizes || open) require_known_for_all_sizes(terms);
  if (request.exists) question.property = parse_property(*request.exists, terms.collectives);
  if (soundness.outcome == Outcome::Established) {
    answer_question(question, answer);
  } else {
    answer.outcome = soundness.outcome;
    answer.complete = false;
    answer.document.json = header_json(question)
                               .add("placements", Json::array())
                               .add("total_programs", 0)
                               .add("complete", false);
  }
  return answer;
}

}  // namespace p2

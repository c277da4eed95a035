#include "proofs/api/synthesize.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "encodings/cnf/synthesis.h"
#include "engine/base/progress.h"
#include "engine/program/derivation.h"
#include "engine/program/json_text.h"
#include "engine/program/program_file.h"
#include "p2/version.h"
#include "proofs/api/open_sizes.h"
#include "proofs/api/reference_run.h"
#include "proofs/api/terms.h"
#include "proofs/certificate/absence_certificate.h"
#include "proofs/certificate/program_certificate.h"

namespace p2 {
namespace {

constexpr std::size_t kMaxPlacements = 100'000;
constexpr std::uint32_t kMaxSize = 32;

/// A request whose texts are parsed.
struct Question {
  const SynthesizeRequest& request;
  const Options& limits;
  GivenInstance given;
  SynthesisOptions options;
  Engines engines;
  std::optional<ProgramProperty> property;
  std::optional<OpenSizes> open = {};  ///< sizes given as *

  bool listed() const { return !request.count_only && !property; }
};

void check_request(const SynthesizeRequest& request) {
  if (request.size > kMaxSize) {
    throw InputError({"--size"},
                     fmt::format("{} steps, expected at most {}", request.size, kMaxSize));
  }
  if (request.smt2 && request.size == 0) {
    throw InputError({"--smt2"}, "asks for programs of --size steps, expected at least 1");
  }
  if (!request.exists) return;
  if (request.all_sizes) {
    throw InputError({"--exists"}, "asks a question of its own, expected no --all-sizes");
  }
  const std::pair<bool, std::string_view> others[] = {{request.certify.has_value(), "certify"},
                                                      {request.smt2, "smt2"},
                                                      {request.explain, "explain"},
                                                      {request.count_only, "count"}};
  for (const auto& [present, name] : others) {
    if (!present) continue;
    throw InputError({"--exists"},
                     fmt::format("asks a question of its own, expected no --{}", name));
  }
}

/// Throws InputError for what needs the sizes that were left open.
void check_open_sizes(const SynthesizeRequest& request) {
  const std::pair<bool, std::string_view> others[] = {{request.exists.has_value(), "--exists"},
                                                      {request.smt2, "--smt2"},
                                                      {request.explain, "--explain"},
                                                      {request.engine != "auto", "--engine"}};
  for (const auto& [present, name] : others) {
    if (!present) continue;
    throw InputError({std::string(name)}, "needs sizes, expected numbers where * is given");
  }
}

std::vector<PlacementPrograms> search(const Question& question) {
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

Provenance provenance_of(const Question& question, std::map<std::string, std::string> tools) {
  tools["p2-verify"] = build_info().version;
  return {
      std::move(tools), {{"size", std::to_string(question.options.size)}}, question.limits.seed};
}

/// Writes that the list of a placement is that of all sizes, where the machine says so; no evidence
/// otherwise.
Evidence certify_all_sizes(const Question& question, const PlacementPrograms& found,
                           const SizesAnswer& answer, const std::string& folder,
                           std::vector<Diagnostic>& diagnostics) {
  if (answer.outcome != Outcome::Established) return {};
  if (answer.engine != SearchEngine::Machine || question.options.dialect != Dialect::Published) {
    diagnostics.push_back({Diagnostic::Kind::Undecided,
                           "--certify: p2-check knows of all sizes in dialect published only"});
    return {};
  }
  const Instance& instance = found.instance();
  const NamedProblem named = make_problem(instance, question.options.dialect);
  std::vector<Step> choices;
  for (std::size_t move = 0; move < named.problem.moves.size(); ++move) {
    choices.push_back(
        {named.problem.moves[move].collective, {}, named.shapes[named.shape_of[move]]});
  }
  std::vector<std::vector<std::uint32_t>> programs;
  found.list().for_each([&](std::span<const std::uint32_t> moves) {
    programs.emplace_back(moves.begin(), moves.end());
  });
  return written_evidence(
      folder,
      [&] {
        write_folder(folder,
                     all_sizes_certificate(instance, choices, std::move(programs),
                                           question.options.size, provenance_of(question, {})));
      },
      diagnostics);
}

/// Proves that the list of a placement is complete and writes the certificate to `folder`. A
/// program that the list lacks becomes a comparison; no evidence without trouble: a limit was
/// reached.
Evidence certify_list(const Question& question, const PlacementPrograms& found,
                      const std::string& folder, SynthesizedPlacement& placement,
                      std::vector<Diagnostic>& diagnostics) {
  const SynthesisOptions& options = question.options;
  const Instance& instance = found.instance();
  bool written = false;
  const auto write = [&] {
    cnf::Absence others = cnf::refute(instance, options.dialect, options.size,
                                      {.known = found.programs()}, options.limits);
    if (others.kind == cnf::Absence::Kind::Found) {
      placement.comparisons.push_back(contradiction(found, options, std::move(others.found)));
    }
    if (others.kind != cnf::Absence::Kind::Absent) return;
    const Provenance provenance = provenance_of(question, {{"CaDiCaL", cnf::solver_version()}});
    write_folder(folder, synthesis_certificate(instance, options.dialect, options.size,
                                               std::move(others.proof), provenance));
    written = true;
  };
  const Evidence evidence = written_evidence(folder, write, diagnostics);
  return written || evidence.kind == Evidence::Kind::Unwritten ? evidence : Evidence{};
}

/// The outcome on which the engines that decided agree.
Outcome existence_outcome(const std::vector<ExistenceAnswer>& answers) {
  Outcome outcome = Outcome::Undecided;
  for (const ExistenceAnswer& answer : answers) {
    if (answer.outcome == Outcome::Undecided) continue;
    if (outcome != Outcome::Undecided && outcome != answer.outcome) return Outcome::Disagreement;
    outcome = answer.outcome;
  }
  return outcome;
}

std::string text_of(const ExistenceAnswer& answer, const Question& question) {
  const ProgramProperty& property = *question.property;
  const std::string kind = (property.used ? "with " : "without ") + property.name;
  const std::uint32_t size = question.options.size;
  switch (answer.outcome) {
    case Outcome::Established:
      return fmt::format("{}: there is a program {}: {}", answer.engine, kind, answer.program);
    case Outcome::Refuted:
      return fmt::format("{}: there is no program {} of at most {} step{}", answer.engine, kind,
                         size, size == 1 ? "" : "s");
    default:
      return fmt::format("{}: stopped at a limit: {}", answer.engine,
                         answer.settled_size
                             ? fmt::format("none of at most {} steps", *answer.settled_size)
                             : "nothing is settled");
  }
}

Json json_of(const ExistenceAnswer& answer) {
  const std::string_view existence = answer.outcome == Outcome::Established ? "exists"
                                     : answer.outcome == Outcome::Refuted   ? "none"
                                                                            : "unknown";
  return Json::object({{"engine", answer.engine},
                       {"existence", existence},
                       {"program", answer.program.empty() ? Json() : Json(answer.program)}});
}

Json json_of(const ListComparison& comparison) {
  const auto& settled = comparison.settled_size;
  Json json = Json::object({{"engine", comparison.engine},
                            {"complete", comparison.complete},
                            {"settled_size", settled ? Json(*settled) : Json()},
                            {"found", comparison.found},
                            {"missing", Json::array_of(comparison.missing)},
                            {"extra", Json::array_of(comparison.extra)}});
  if (comparison.replays.empty()) return json;
  Json replays = Json::object();
  for (const ListComparison::Replay& replay : comparison.replays) {
    replays.add(replay.program, json_of(replay.answer));
  }
  return std::move(json).add("reference", std::move(replays));
}

/// Whether limits leave room for more output: what is built of it so far will be held `copies`
/// times more until it is written. A short list is always kept whole.
class OutputRoom {
 public:
  OutputRoom(const Limits& limits, std::size_t copies) : limits_(limits), copies_(copies) {
    release_free_memory();  // what is reused would not count as grown
    at_start_ = resident_memory();
  }

  /// Calls `list` with a visitor that returns after what was visited; false if a limit cut it
  /// short.
  template <typename List>
  bool visit(const List& list) {
    try {
      list([this] {
        if (++visited_ % kBetweenLooks == 0 && is_used_up()) throw Cut();
      });
      return true;
    } catch (const Cut&) {
      return false;
    }
  }

 private:
  struct Cut {};
  static constexpr std::size_t kBetweenLooks = 256;
  static constexpr std::size_t kShort = std::size_t{8} << 20U;
  static constexpr std::chrono::milliseconds kGrace{300};

  bool is_used_up() const {
    if (limits_.cancelled != nullptr && *limits_.cancelled && visited_ > kBetweenLooks) return true;
    if (limits_.deadline && std::chrono::steady_clock::now() > *limits_.deadline + kGrace)
      return true;
    const std::size_t now = resident_memory();
    const std::size_t grown = now - std::min(now, at_start_);
    return limits_.memory_bytes && grown > kShort && now + copies_ * grown > *limits_.memory_bytes;
  }

  const Limits& limits_;
  std::size_t copies_;
  std::size_t at_start_ = 0;
  std::size_t visited_ = 0;
};

/// The answers of the engines about one placement, for its Result.
std::vector<EngineAnswer> engine_answers(const SynthesizedPlacement& placement) {
  std::vector<EngineAnswer> answers;
  for (const ExistenceAnswer& each : placement.existence) {
    answers.push_back({each.engine, each.outcome});
  }
  for (const ListComparison& each : placement.comparisons) {
    answers.push_back({each.engine, each.differs()  ? Outcome::Refuted
                                    : each.complete ? Outcome::Established
                                                    : Outcome::Undecided});
  }
  return answers;
}

/// Asks everything about one placement after its programs were found, and describes it.
class PlacementQuestion {
 public:
  PlacementQuestion(const Question& question, const PlacementPrograms& found,
                    std::optional<std::string> certificate_folder)
      : question_(question), found_(found), folder_(std::move(certificate_folder)) {}

  void answer(SynthesizeAnswer& answer);
  void add_text(Document& document, std::size_t number, std::size_t count) const;
  Json json() const;

 private:
  void ask_engines(std::vector<Diagnostic>& diagnostics);
  void list_programs();
  bool asks_all_sizes() const { return question_.request.all_sizes || question_.open; }
  void decide_all_sizes(std::vector<Diagnostic>& diagnostics);
  Outcome outcome() const;
  Result result() const;
  std::string all_sizes_text() const {
    return to_string(*all_sizes_, "the same programs", found_.instance(), *open_);
  }

  const Question& question_;
  const PlacementPrograms& found_;
  std::optional<std::string> folder_;
  SynthesizedPlacement placement_;
  Evidence evidence_;
  std::optional<OpenSizes> open_;  ///< what all_sizes_ is about
  std::optional<SizesAnswer> all_sizes_;
  bool list_cut_ = false;  ///< a limit left no room for all of the list
};

void PlacementQuestion::answer(SynthesizeAnswer& answer) {
  placement_.matrix = found_.instance().grid.placement().factors;
  placement_.begins = to_string(found_.beginning().start);
  placement_.chunks = found_.chunks();
  placement_.count = found_.list().count();
  placement_.settled_size = found_.list().settled();
  if (__builtin_add_overflow(answer.total, placement_.count, &answer.total)) {
    throw LimitReached(LimitReached::Kind::Size,
                       "more than 2^64 programs in all, expected a smaller --size");
  }
  if (question_.listed()) list_programs();
  ask_engines(answer.diagnostics);
  if (asks_all_sizes()) decide_all_sizes(answer.diagnostics);
  const bool settled = question_.property
                           ? std::ranges::none_of(placement_.existence,
                                                  [](const ExistenceAnswer& each) {
                                                    return each.outcome == Outcome::Undecided;
                                                  })
                           : placement_.settled_size == question_.options.size && !list_cut_;
  answer.complete = answer.complete && settled;
  answer.results.push_back(result());
  answer.placements.push_back(placement_);
}

void PlacementQuestion::ask_engines(std::vector<Diagnostic>& diagnostics) {
  if (question_.property) {
    placement_.existence =
        find_property(found_, *question_.property, question_.options, question_.engines);
    return;
  }
  if (placement_.settled_size != question_.options.size) return;
  placement_.comparisons = compare_with_solvers(found_, question_.options, question_.engines);
  if (folder_ && !asks_all_sizes()) {
    evidence_ = certify_list(question_, found_, *folder_, placement_, diagnostics);
  }
}

void PlacementQuestion::decide_all_sizes(std::vector<Diagnostic>& diagnostics) {
  const Instance& instance = found_.instance();
  const SynthesisOptions& options = question_.options;
  open_ = question_.request.all_sizes ? OpenSizes::all(instance.grid) : *question_.open;
  all_sizes_.emplace();
  if (placement_.settled_size != options.size) return;
  all_sizes_ = listed_for_all_sizes(
      make_problem(instance, options.dialect).problem, found_.list(), options.size,
      digits_of(open_->of(instance.grid), simulated_factors(instance)), options.limits);
  if (folder_) {
    evidence_ = certify_all_sizes(question_, found_, *all_sizes_, *folder_, diagnostics);
  }
}

void PlacementQuestion::list_programs() {
  OutputRoom room(question_.options.limits, 6);
  list_cut_ = !room.visit([&](const auto& listed) {
    found_.for_each([&](const std::vector<Step>& steps) {
      placement_.programs.push_back(
          to_string(steps, &found_.instance(), question_.options.terms.collectives));
      listed();
    });
  });
}

Outcome PlacementQuestion::outcome() const {
  if (question_.property) {
    const Outcome agreed = existence_outcome(placement_.existence);
    const bool all_decided = std::ranges::none_of(
        placement_.existence,
        [](const ExistenceAnswer& each) { return each.outcome == Outcome::Undecided; });
    return agreed == Outcome::Disagreement || all_decided ? agreed : Outcome::Undecided;
  }
  bool confirmed = placement_.settled_size == question_.options.size;
  for (const ListComparison& comparison : placement_.comparisons) {
    if (comparison.differs()) return Outcome::Disagreement;
    confirmed = confirmed && comparison.complete;
  }
  if (folder_ && evidence_.kind == Evidence::Kind::None) confirmed = false;
  if (list_cut_) confirmed = false;
  if (confirmed && all_sizes_) return all_sizes_->outcome;
  return confirmed ? Outcome::Established : Outcome::Undecided;
}

Result PlacementQuestion::result() const {
  Result result;
  result.subject = "placement " + to_string(found_.instance().grid.placement());
  result.outcome = outcome();
  result.engines = engine_answers(placement_);
  result.model = fmt::format("dialect {}, programs of at most {} steps",
                             to_string(question_.options.dialect), question_.options.size);
  result.evidence = evidence_;
  if (result.outcome == Outcome::Refuted) {
    Counterexample& none = result.counterexample.emplace();
    none.rule = all_sizes_ ? "all-sizes" : "exists";
    none.explanation =
        all_sizes_ ? all_sizes_text() : text_of(placement_.existence.front(), question_);
    none.facts = Json::object();
  }
  if (result.outcome == Outcome::Undecided) {
    result.undecided.emplace().explanation = "a limit was reached";
  }
  return result;
}

std::string count_text(std::uint64_t programs) {
  return programs == 1 ? "1 program" : fmt::format("{} programs", programs);
}

void PlacementQuestion::add_text(Document& document, std::size_t number, std::size_t count) const {
  const Instance& instance = found_.instance();
  document.line("");
  const Placement& placement = instance.grid.placement();
  document.line(fmt::format(
      "placement {} of {}   {}", number, count,
      question_.open ? question_.open->placement_text(placement) : to_string(placement)));
  if (!question_.open) document.add(Preformatted{draw_matrix(instance.grid)});
  document.line(fmt::format("synthesis hierarchy {}: {}",
                            question_.open ? std::string(to_string(instance.hierarchy.kind()))
                                           : to_string(instance.hierarchy),
                            count_text(placement_.count)));
  if (all_sizes_) document.line(all_sizes_text());
  for (const ExistenceAnswer& each : placement_.existence) {
    document.line(text_of(each, question_));
  }
  if (placement_.settled_size < question_.options.size) {
    document.line(fmt::format("stopped at a limit: only programs of at most {} steps are settled",
                              placement_.settled_size));
  }
  for (const ListComparison& each : placement_.comparisons) {
    document.line(to_text(each, placement_.count));
  }
  if (evidence_.kind == Evidence::Kind::Certificate) {
    document.line(certificate_line(evidence_));
  } else if (folder_ && evidence_.kind == Evidence::Kind::None && !all_sizes_) {
    document.line("not certified: a limit was reached before it was proved that there is no other");
  }
  if (placement_.programs.empty()) return;
  std::string list;
  std::size_t index = 0;
  const auto title = [&] {
    const std::string& program = placement_.programs[index++];
    fmt::format_to(std::back_inserter(list), "{:>5}  {}\n", index, program);
  };
  if (question_.request.explain) {
    const SynthesisOptions& options = question_.options;
    found_.for_each_lowered([&](const Program& program) {
      title();
      list += draw_derivation(program, options.dialect, &instance, options.limits) + "\n";
    });
  } else {
    std::size_t bytes = 0;
    for (const std::string& program : placement_.programs) bytes += program.size() + 8;
    list.reserve(bytes);
    while (index < placement_.programs.size()) title();
  }
  if (list_cut_) {
    list += fmt::format("    …  {} more, not listed: a limit was reached\n",
                        placement_.count - placement_.programs.size());
  }
  document.add(Preformatted{std::move(list)});
}

Json PlacementQuestion::json() const {
  const Instance& instance = found_.instance();
  const std::optional<OpenSizes>& open = question_.open;
  Json json = Json::object({{"placement", open ? open->placement_json(instance.grid.placement())
                                               : lists_json(placement_.matrix)},
                            {"begins", placement_.begins},
                            {"chunks", open ? Json() : Json(placement_.chunks)},
                            {"programs", placement_.count},
                            {"settled_size", placement_.settled_size},
                            {"engine", to_string(found_.list().engine())}});
  const auto each_json = [](const auto& each) { return json_of(each); };
  if (!placement_.comparisons.empty()) {
    json.add("verified", Json::array_of(placement_.comparisons, each_json));
  }
  if (question_.property) json.add("exists", Json::array_of(placement_.existence, each_json));
  if (folder_) {
    add_certificate(evidence_, json);
  }
  if (all_sizes_) json.add("all_sizes", json_of(*all_sizes_, instance, *open_));
  if (question_.listed() && open) {
    json.add("texts", Json::array_of(placement_.programs));
  } else if (question_.listed()) {
    Json list = Json::array();
    OutputRoom room(question_.options.limits, 1);
    const bool whole = room.visit([&](const auto& listed) {
      found_.for_each_lowered([&](const Program& program) {
        list.push_back(program_json(program, &instance, question_.options.dialect));
        listed();
      });
    });
    json.add("list", std::move(list));
    if (!whole || list_cut_) json.add("list_cut", true);
  }
  return json;
}

/// The names of the user-defined collectives.
std::vector<std::string> defined_names(const CollectiveSet& collectives) {
  std::vector<std::string> names;
  for (const Collective collective : collectives.all()) {
    if (!is_built_in(collective)) names.emplace_back(collectives.name_of(collective));
  }
  return names;
}

void add_header_text(const Question& question, const Beginning& beginning, Document& document) {
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

Json header_json(const Question& question) {
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
std::optional<std::string> smt2_query(const Question& question, const PlacementPrograms& found,
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
std::optional<std::string> certificate_folder(const Question& question, std::size_t index,
                                              std::size_t count) {
  if (!question.request.certify) return std::nullopt;
  const std::filesystem::path folder = *question.request.certify;
  return (count == 1 ? folder : folder / std::to_string(index + 1)).string();
}

void answer_question(const Question& question, SynthesizeAnswer& answer) {
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
  Question question{request, options, given_instance(instance), {}, {}, {}, open};
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
                      .explicit_only = request.engine != "auto"};
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

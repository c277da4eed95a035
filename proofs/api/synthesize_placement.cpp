#include "proofs/api/synthesize.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "encodings/cnf/synthesis.h"
#include "engine/program/derivation.h"
#include "engine/program/program_file.h"
#include "p2/version.h"
#include "proofs/api/campaigns.h"
#include "proofs/certificate/program_certificate.h"
#include "proofs/kernel/certificate.h"

namespace p2 {
namespace {

using Record = nlohmann::ordered_json;

Provenance provenance_of(const SynthesisQuestion& question,
                         std::map<std::string, std::string> tools) {
  tools["p2-verify"] = build_info().version;
  return {
      std::move(tools), {{"size", std::to_string(question.search.size)}}, question.options.seed};
}

/// Writes the certificate that `make` returns, if it returns one.
Evidence write_certificate(const CertificatePlace& place, const MakeFiles& make,
                           std::vector<Diagnostic>& diagnostics) {
  return place.is_shared ? addressed_evidence(place.folder + "/complete", make, diagnostics)
                         : written_evidence(place.folder, make, diagnostics);
}

/// Writes that the list of a placement is that of all sizes, or in dialect printed of all large
/// ones, if p2-check decides it.
Evidence certify_list_of_sizes(const SynthesisQuestion& question, const PlacementPrograms& found,
                               const CertificatePlace& place,
                               std::vector<Diagnostic>& diagnostics) {
  const Instance& instance = found.instance();
  const NamedProblem named = make_problem(instance, question.search.dialect);
  std::vector<Step> choices;
  for (std::size_t move = 0; move < named.problem.moves.size(); ++move) {
    choices.push_back(
        {named.problem.moves[move].collective, {}, named.shapes[named.shape_of[move]]});
  }
  std::vector<std::vector<std::uint32_t>> programs;
  found.list().for_each([&](std::span<const std::uint32_t> moves) {
    programs.emplace_back(moves.begin(), moves.end());
  });
  const auto make = [&]() -> std::optional<CertificateFiles> {
    const Provenance provenance = provenance_of(question, {});
    const std::uint32_t size = question.search.size;
    if (question.search.dialect == Dialect::Published) {
      return all_sizes_certificate(instance, choices, std::move(programs), size, provenance);
    }
    CertificateFiles files =
        large_sizes_certificate(instance, choices, std::move(programs), size, provenance);
    const kernel::Result result = check_certificate(files);
    if (result.verdict == kernel::Verdict::Accepted) return files;
    diagnostics.push_back(
        {Diagnostic::Kind::Undecided, "--certify: p2-check does not decide: " + result.reason});
    return std::nullopt;
  };
  return write_certificate(place, make, diagnostics);
}

/// The same for all sizes, where the machine says so; no evidence otherwise.
Evidence certify_all_sizes(const SynthesisQuestion& question, const PlacementPrograms& found,
                           const SizesAnswer& answer, const CertificatePlace& place,
                           std::vector<Diagnostic>& diagnostics) {
  if (answer.outcome != Outcome::Established) return {};
  if (answer.engine != SearchEngine::Machine || question.search.dialect != Dialect::Published) {
    diagnostics.push_back({Diagnostic::Kind::Undecided,
                           "--certify: p2-check knows of all sizes in dialect published only"});
    return {};
  }
  return certify_list_of_sizes(question, found, place, diagnostics);
}

/// Of more devices the list is certified for all sizes, or all large ones, where the machine or the
/// bracket has found it: clauses would take gigabytes.
constexpr std::uint32_t kMaxDevicesInClauses = 128;

/// Proves that the list of a placement is complete and writes the certificate. A program that the
/// list lacks becomes a comparison; no evidence without trouble: a limit was reached.
Evidence certify_list(const SynthesisQuestion& question, const PlacementPrograms& found,
                      const CertificatePlace& place, SynthesizedPlacement& placement,
                      std::vector<Diagnostic>& diagnostics) {
  const SynthesisOptions& options = question.search;
  const Instance& instance = found.instance();
  const auto make = [&]() -> std::optional<CertificateFiles> {
    cnf::Absence others = cnf::refute(
        instance, options.dialect, options.size,
        {.known = found.programs(), .refuted_in = question.request.cubes}, options.limits);
    if (others.kind == cnf::Absence::Kind::Found) {
      placement.comparisons.push_back(contradiction(found, options, std::move(others.found)));
    }
    if (others.kind != cnf::Absence::Kind::Absent) return std::nullopt;
    const Provenance provenance = provenance_of(question, {{"CaDiCaL", cnf::solver_version()}});
    return synthesis_certificate(instance, options.dialect, options.size, std::move(others.proof),
                                 provenance);
  };
  return write_certificate(place, make, diagnostics);
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

std::string text_of(const ExistenceAnswer& answer, const SynthesisQuestion& question) {
  const ProgramProperty& property = *question.property;
  const std::string kind = (property.used ? "with " : "without ") + property.name;
  const std::uint32_t size = question.search.size;
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

}  // namespace

Record record_of(const PlacementAnswer& answer) {
  const SynthesizedPlacement& placement = answer.placement;
  return {{"matrix", placement.matrix},
          {"begins", placement.begins},
          {"chunks", placement.chunks},
          {"count", placement.count},
          {"settled_size", placement.settled_size},
          {"result", record_of(answer.result)},
          {"settled", answer.settled},
          {"diagnostics", record_of(answer.diagnostics)},
          {"text", write_document(answer.text, DocumentFormat::Text)},
          {"json", answer.json.dump()}};
}

PlacementAnswer journaled_placement(const Record& record) {
  PlacementAnswer answer;
  answer.placement.matrix = record.at("matrix");
  answer.placement.begins = record.at("begins");
  answer.placement.chunks = record.at("chunks");
  answer.placement.count = record.at("count");
  answer.placement.settled_size = record.at("settled_size");
  answer.result = journaled_result(record.at("result"));
  answer.settled = record.at("settled");
  answer.diagnostics = journaled_diagnostics(record.at("diagnostics"));
  answer.text.add(Preformatted{record.at("text")});
  answer.json = Json::parse(record.at("json"));
  return answer;
}

void PlacementQuestion::ask() {
  placement_.matrix = found_.instance().grid.placement().factors;
  placement_.begins = to_string(found_.beginning().start);
  placement_.chunks = found_.chunks();
  placement_.count = found_.list().count();
  placement_.settled_size = found_.list().settled();
  if (question_.listed()) list_programs();
  ask_engines();
  if (asks_all_sizes()) decide_all_sizes();
}

bool PlacementQuestion::is_settled() const {
  if (!question_.property) {
    return placement_.settled_size == question_.search.size && !list_cut_;
  }
  return std::ranges::none_of(placement_.existence, [](const ExistenceAnswer& each) {
    return each.outcome == Outcome::Undecided;
  });
}

PlacementAnswer PlacementQuestion::take_answer(std::size_t number, std::size_t count, bool text,
                                               bool json) {
  PlacementAnswer answer{{}, result(), is_settled(), std::move(diagnostics_), {}, {}};
  if (text) add_text(answer.text, number, count);
  if (json) answer.json = this->json();
  answer.placement = std::move(placement_);
  return answer;
}

void PlacementQuestion::ask_engines() {
  if (question_.property) {
    placement_.existence = find_property(found_, question_);
    return;
  }
  if (placement_.settled_size != question_.search.size) return;
  placement_.comparisons = compare_with_solvers(found_, question_.search, question_.engines);
  if (question_.request.cubes && !certificate_) write_cubes();
  if (certificate_ && !asks_all_sizes()) {
    const SearchEngine by = question_.search.dialect == Dialect::Published ? SearchEngine::Machine
                                                                           : SearchEngine::Bracket;
    const bool of_sizes = found_.list().engine() == by &&
                          found_.instance().grid.devices() > kMaxDevicesInClauses &&
                          !question_.request.cubes;
    evidence_ = of_sizes ? certify_list_of_sizes(question_, found_, *certificate_, diagnostics_)
                         : certify_list(question_, found_, *certificate_, placement_, diagnostics_);
  }
}

void PlacementQuestion::write_cubes() {
  const SynthesisOptions& options = question_.search;
  const std::string& folder = *question_.request.cubes;
  try {
    const std::size_t count =
        cnf::write_cubes(found_.instance(), options.dialect, options.size,
                         {.known = found_.programs()}, folder, options.limits);
    diagnostics_.push_back({Diagnostic::Kind::Note, cubes_written(count, folder)});
  } catch (const LimitReached& error) {
    diagnostics_.push_back({Diagnostic::Kind::Undecided, "--cubes: " + std::string(error.what())});
  }
}

void PlacementQuestion::decide_all_sizes() {
  const Instance& instance = found_.instance();
  const SynthesisOptions& options = question_.search;
  open_ = question_.request.all_sizes ? OpenSizes::all(instance.grid) : *question_.open;
  all_sizes_.emplace();
  if (placement_.settled_size != options.size) return;
  all_sizes_ = listed_for_all_sizes(
      make_problem(instance, options.dialect).problem, found_.list(), options.size,
      digits_of(open_->of(instance.grid), simulated_factors(instance)), options.limits);
  if (certificate_) {
    evidence_ = certify_all_sizes(question_, found_, *all_sizes_, *certificate_, diagnostics_);
  }
}

void PlacementQuestion::list_programs() {
  OutputRoom room(question_.search.limits, 6);
  list_cut_ = !room.visit([&](const auto& listed) {
    found_.for_each([&](const std::vector<Step>& steps) {
      placement_.programs.push_back(
          to_string(steps, &found_.instance(), question_.search.terms.collectives));
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
  bool confirmed = placement_.settled_size == question_.search.size;
  for (const ListComparison& comparison : placement_.comparisons) {
    if (comparison.differs()) return Outcome::Disagreement;
    confirmed = confirmed && comparison.complete;
  }
  if (certificate_ && evidence_.kind == Evidence::Kind::None) confirmed = false;
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
                             to_string(question_.search.dialect), question_.search.size);
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
  if (placement_.settled_size < question_.search.size) {
    document.line(fmt::format("stopped at a limit: only programs of at most {} steps are settled",
                              placement_.settled_size));
  }
  for (const ListComparison& each : placement_.comparisons) {
    document.line(to_text(each, placement_.count));
  }
  if (evidence_.kind == Evidence::Kind::Certificate) {
    document.line(certificate_line(evidence_));
  } else if (certificate_ && evidence_.kind == Evidence::Kind::None && !all_sizes_) {
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
    const SynthesisOptions& options = question_.search;
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
  if (certificate_) add_certificate(evidence_, json);
  if (all_sizes_) json.add("all_sizes", json_of(*all_sizes_, instance, *open_));
  if (question_.listed() && open) {
    json.add("texts", Json::array_of(placement_.programs));
  } else if (question_.listed()) {
    std::uint64_t devices = 0;  // in classes and groups of all programs
    found_.for_each([&](const std::vector<Step>& steps) {
      devices += std::uint64_t{instance.grid.devices()} * (steps.size() + 1);
    });
    const bool lists_groups = devices <= kMaxListedDevices;
    Json list = Json::array();
    OutputRoom room(question_.search.limits, 1);
    const Dialect dialect = question_.search.dialect;
    const bool whole = room.visit([&](const auto& listed) {
      if (lists_groups) {
        found_.for_each_lowered([&](const Program& program) {
          list.push_back(program_json(program, &instance, dialect));
          listed();
        });
        return;
      }
      Program program = found_.program({});
      found_.for_each([&](const std::vector<Step>& steps) {
        program.steps = steps;
        list.push_back(program_pattern_json(program, instance, dialect));
        listed();
      });
    });
    json.add("list", std::move(list));
    if (!lists_groups) json.add("groups_left_out", true);
    if (!whole || list_cut_) json.add("list_cut", true);
  }
  return json;
}

}  // namespace p2

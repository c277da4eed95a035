// Modules of XLA and StableHLO, as `check` and `compare` answer for them.

#include "proofs/api/module_check.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "encodings/z3/queries.h"
#include "engine/base/files.h"
#ifdef P2_HAS_PROTOBUF
#include "engine/hlo/binary/binary_module.h"
#endif
#include "engine/hlo/text/hlo_text.h"
#include "p2/compare.h"
#include "p2/version.h"

namespace p2 {
namespace {

using hlo::ModuleDecision;
using hlo::StableHloModule;

/// A file alone, or a comparison, which also draws and certifies.
void require_applicable(const std::string& file, const CheckRequest& request, bool is_comparison) {
  for (const std::string& flag : program_options(request)) {
    if (flag == "goal" && request.reduces) continue;
    if (flag == "certify" || flag == "explain") {
      if (is_comparison) continue;
      throw InputError({file}, fmt::format("is one module, and --{} is for a comparison of two, "
                                           "expected --before and --after",
                                           flag));
    }
    throw InputError({file},
                     fmt::format("is a module, to which --{} does not apply, expected the check "
                                 "without it",
                                 flag));
  }
  if (request.engine == "cnf") {
    throw InputError({file},
                     "is a module, which other engines judge, expected the check without "
                     "--engine cnf");
  }
  if (request.engine == "z3" && request.ordered) {
    throw InputError({"--engine z3"}, "takes elements as real numbers, expected no --order");
  }
  if (request.numbers == FloatEquality::Real) return;
  const std::string given = fmt::format("--numbers {}", to_string(request.numbers));
  if (request.ordered) {
    throw InputError({given}, "given together with --order, expected one of the two");
  }
  if (request.engine == "symbolic") {
    throw InputError({given},
                     "is not shown by symbolic evaluation, which is of real numbers, expected "
                     "--engine interpreter or no --engine");
  }
}

hlo::ComparisonOptions options_of(const CheckRequest& request) {
  hlo::ComparisonOptions options;
  if (request.replicas) options.devices.replicas = static_cast<std::int64_t>(*request.replicas);
  if (request.partitions) {
    options.devices.partitions = static_cast<std::int64_t>(*request.partitions);
  }
  options.ordered = request.ordered;
  options.replicated_inputs = request.replicated_inputs;
  options.equality = request.numbers;
  using hlo::ModuleEngine;
  options.engine = request.engine == "symbolic"      ? ModuleEngine::Symbolic
                   : request.engine == "interpreter" ? ModuleEngine::Interpreter
                   : request.engine == "z3"          ? ModuleEngine::Solver
                   : request.engine == "all"         ? ModuleEngine::All
                                                     : ModuleEngine::Default;
  options.solver = [](const auto& outputs, const Limits& limits) {
    return z3_encoding::judge(outputs, limits);
  };
  if (request.relate) {
    options.relation = read_file(*request.relate);
    options.relation_file = *request.relate;
  }
  return options;
}

std::vector<StableHloModule> read_modules(const std::string& file, const std::string& text,
                                          const Limits& limits) {
  if (hlo::is_stablehlo(text)) return hlo::read_stablehlo(file, text, limits);
  if (!hlo::is_hlo(text)) {
    throw InputError({file}, "is not a module of XLA or StableHLO, expected one");
  }
  hlo::Module module = hlo::read_hlo(file, text, limits);
  if (hlo::calls_library(text)) module = hlo::with_operations_of_libraries(std::move(module));
  return {{std::move(module), {}}};
}

std::shared_ptr<const hlo::Module> read_module(const std::string& file, const std::string& text,
                                               const Limits& limits) {
  std::vector<StableHloModule> modules = read_modules(file, text, limits);
  if (modules.size() != 1 || modules[0].run) {
    throw InputError({file}, "has several modules, or one that is a test, expected one module");
  }
  return std::make_shared<const hlo::Module>(std::move(modules[0].module));
}

/// The first decision about a module of a file that is not Established; tests are run.
ModuleDecision check_all_modules(const std::string& file, const std::string& text,
                                 const hlo::ComparisonOptions& options, const Limits& limits) {
  ModuleDecision all;
  for (StableHloModule& module : read_modules(file, text, limits)) {
    const auto copy =
        std::make_shared<const hlo::Module>(module.run ? module.module : std::move(module.module));
    ModuleDecision decision = hlo::check_well_formed(copy, options.devices, limits);
    std::vector<hlo::CollectiveLine> collectives = std::move(all.collectives);
    collectives.insert(collectives.end(), decision.collectives.begin(), decision.collectives.end());
    if (module.run && decision.outcome == Outcome::Established) {
      const hlo::RunModules run = modules_of(module);
      decision = compare(run.expected, run.actual, options, limits);
    }
    all = std::move(decision);
    all.collectives = std::move(collectives);
    if (all.outcome != Outcome::Established) break;
  }
  return all;
}

/// The reduction classes: without --axes all devices are axis 0.
std::vector<Group> classes_of(const std::string& reduces, GivenInstance given,
                              std::uint32_t devices) {
  const std::string all = std::to_string(devices);
  if (!given.axes) given.axes = parse_axes("--axes", all);
  if (!given.hierarchy) given.hierarchy = parse_hierarchy("--hierarchy", all);
  given.reduction = parse_reduction("--reduces", reduces, *given.axes);
  const auto instance = given.resolve({"--reduces"});
  if (instance->grid.devices() != devices) {
    throw InputError({"--reduces"},
                     fmt::format("{} devices by the axes, {} by the module, expected as many",
                                 instance->grid.devices(), devices));
  }
  return instance->classes();
}

/// `decide()`, or Undecided where that reaches a limit.
template <typename Decide>
ModuleDecision within_limits(const Decide& decide) {
  try {
    return decide();
  } catch (const LimitReached& limit) {
    ModuleDecision decision;
    decision.outcome = Outcome::Undecided;
    decision.reason = fmt::format("Undecided: {}.", limit.what());
    return decision;
  }
}

/// Whether a certificate has the text of a file itself.
bool is_certified_itself(const std::string& text) {
  return hlo::is_hlo(text) && !hlo::calls_library(text);
}

/// A module in XLA's text form, as a certificate has it.
std::string certified_text(const std::string& file, const std::string& text,
                           const hlo::Devices& devices, const Limits& limits) {
  if (is_certified_itself(text)) return text;
  hlo::Module module = *read_module(file, text, limits);
  module.replicas = devices.replicas;
  return hlo::canonical_text(module);
}

Provenance provenance_of(const CheckQuestion& question) {
  return {{{"p2-verify", build_info().version}},
          {{"engine", question.request.engine}},
          question.options.seed};
}

/// Bytes of text of one module on 64 devices that take as long as so many on others.
std::size_t relating_work(std::size_t text_bytes, std::size_t devices) {
  return text_bytes * std::max<std::size_t>(devices / 64, 1);
}
/// The same of several programs, on at most so many devices each: measured on 16 of 2 MB on 512
/// devices each, in whose texts most is pairs of devices.
std::size_t relating_work_of_programs(std::size_t text_bytes, std::size_t devices) {
  return 3 * text_bytes * std::max<std::size_t>(devices / 512, 1);
}
constexpr std::size_t kUnaskedWork = std::size_t{4} << 20U;  ///< replayed in about a second
/// Of several programs those that one file of a certificate holds: evaluating them symbolically
/// takes as long.
constexpr std::size_t kUnaskedProgramsWork = std::size_t{192} << 20U;

/// Looks for a relation of modules, unless that may exceed the limits: nothing stops the checker's
/// own replay. What it takes was measured on chains of 300,000 additions, on modules for 64
/// devices, and on chains of all-reduces on 4,096.
template <typename Relate>
void relate_within(std::size_t work, bool is_wanted, const Limits& limits, Related& related,
                   const Relate& relate) {
  constexpr std::chrono::nanoseconds kTime{500};  ///< for a byte of text, on 64 devices
  constexpr std::size_t kMemory = 48;             ///< bytes for a byte of text
  if (!is_wanted) return;
  const auto end = std::chrono::steady_clock::now() + kTime * work;
  try {
    limits.require(0, "relating the modules node by node");
    limits.require_room(static_cast<double>(kMemory * work), "relating the modules");
    if (limits.deadline && end > *limits.deadline) {
      related = "relating the modules may take longer than the time limit";
    } else {
      related = relate();
    }
  } catch (const hlo::NoCanonicalText& trouble) {
    related = trouble.what();
  } catch (const LimitReached& limit) {
    related = limit.what();
  }
}

/// Writes the certificate asked for; why there is none is said in the evidence.
Evidence certify(const ModuleTexts& texts, const ModuleSubject& subject,
                 const CheckQuestion& question, const ModuleDecision& decision,
                 const Related& related, std::vector<Diagnostic>& diagnostics) {
  const auto none = [](const std::string& why) {
    return Evidence{Evidence::Kind::SolverOnly, {}, why};
  };
  if (question.request.ordered) return none("p2-check does not cover orders of addition");
  if (decision.equality != FloatEquality::Real) {
    return none(fmt::format("p2-check compares real numbers, not what is {}",
                            to_string(decision.equality)));
  }
  const bool is_equal = decision.outcome == Outcome::Established;
  if (is_equal && related && related->index() == 0)
    return evidence_of(*related, *question.certificate, diagnostics);
  if (!texts.programs.empty()) {
    std::string why = "p2-check executes one program on all devices";
    if (is_equal && related) why += "; " + std::get<1>(*related);
    return none(why);
  }
  const Limits& limits = question.options.limits;
  try {
    auto made = module_certificate(certified_modules(texts, subject, decision.devices, limits),
                                   decision, provenance_of(question), limits);
    auto* reason = std::get_if<std::string>(&made);
    if (reason != nullptr && is_equal && related) *reason += "; " + std::get<1>(*related);
    return evidence_of(std::move(made), *question.certificate, diagnostics);
  } catch (const hlo::NoCanonicalText& trouble) {
    return none(trouble.what());
  }
}

template <typename Decide>
ModuleCheck answer(ModuleSubject subject, const CheckQuestion& question, const Decide& decide,
                   const ModuleTexts& texts = {}, const Related& related = {}) {
  subject.ordered = question.request.ordered;
  subject.solvers_asked = question.request.engine == "all";
  ModuleDecision decision = within_limits(decide);
  const auto where = end_of_relation(related, texts, subject.file);
  if (decision.outcome == Outcome::Undecided && where)
    decision.reason += fmt::format(" No relation at every node was found: {}.", *where);
  const bool settled =
      decision.outcome == Outcome::Established || decision.outcome == Outcome::Refuted;
  Evidence evidence;
  std::vector<Diagnostic> diagnostics;
  if (question.certificate && settled && !texts.after.empty())
    evidence = certify(texts, subject, question, decision, related, diagnostics);
  ModuleCheck check = check_of(subject, std::move(decision), evidence);
  check.shown.diagnostics = std::move(diagnostics);
  return check;
}

/// The programs that the relation names, with their files beside it, and so the devices; none where
/// all devices run the module `after`.
std::vector<hlo::PlacedFile> programs_of(const std::string& after, const CheckRequest& request,
                                         hlo::ComparisonOptions& options) {
  if (!options.relation) return {};
  std::vector<hlo::PlacedFile> programs =
      hlo::program_files(options.relation_file, *options.relation);
  const bool is_named = after == *request.relate;
  if (programs.empty() && is_named) {
    throw InputError({options.relation_file}, "names no modules, expected --after");
  }
  if (programs.empty()) return programs;
  if (!is_named) {
    throw InputError({"--after"},
                     "the relation names the modules that devices run, expected no --after");
  }
  if (request.replicas || request.partitions) {
    throw InputError({request.replicas ? "--replicas" : "--partitions"},
                     "the relation says how many devices run its modules, expected it alone");
  }
  std::int64_t devices = 0;
  for (const hlo::PlacedFile& program : programs) {
    devices += static_cast<std::int64_t>(program.devices.size());
  }
  options.devices = {1, devices};
  return programs;
}

/// `div.211 (line 912)`: of instructions of the entry.
std::vector<std::string> with_lines(std::vector<std::string> names, const hlo::Module& module) {
  for (const hlo::Instruction& each : module.entry_computation().instructions) {
    const auto found = std::ranges::find(names, each.name);
    if (found != names.end()) *found += fmt::format(" (line {})", each.position.line);
  }
  return names;
}

/// Why `--replicated-inputs` is without effect on a comparison that got as far as its inputs, if it
/// is.
std::optional<std::string> unused_replication(const ModuleDecision& decision) {
  const auto& relation = decision.relation;
  if (!relation || relation->mismatch || !relation->replication.empty()) return std::nullopt;
  if (!relation->is_partitioned()) {
    return "is about two partitioned modules; here what devices hold is said by the relation "
           "alone";
  }
  if (decision.outcome == Outcome::Established) return std::nullopt;  // for all inputs
  return "changes nothing: the module before says of no input that devices have the same";
}

ModuleCheck compare_module_files(const std::string& before, const std::string& after,
                                 const CheckQuestion& question) {
  const Limits& limits = question.options.limits;
  require_applicable(before, question.request, true);
  hlo::ComparisonOptions options = options_of(question.request);
  const std::vector<hlo::PlacedFile> programs = programs_of(after, question.request, options);
  ModuleTexts texts;
  const auto text_of = [&](const std::string& file) {
    const std::string bytes = read_file(file);
    if (hlo::is_binary_module(bytes)) texts.binary.insert(file);
    return module_text(file, bytes, limits);
  };
  texts.before = text_of(before);
  texts.after = text_of(after);
  for (const hlo::PlacedFile& program : programs) {
    texts.programs[program.file] = module_text(program.file, read_file(program.file), limits);
  }
  std::shared_ptr<const hlo::Module> first;
  std::shared_ptr<const hlo::Module> module;
  Related related;
  if (programs.empty()) {
    options.wants_evidence = question.certificate.has_value();
    options.evidence = [&](const hlo::ModuleRelation& relation,
                           const hlo::Devices& devices) -> std::optional<hlo::EqualityEvidence> {
      const std::vector<std::string> constants = equal_constants(texts, relation);
      hlo::EqualityEvidence evidence{constants};
      const std::size_t work =
          relating_work(texts.before.size() + texts.after.size(), devices.count());
      relate_within(work, options.wants_evidence || work <= kUnaskedWork, limits, related, [&] {
        CertifiedModules modules = certified_modules(texts, {after, before, {}}, devices, limits);
        const auto certificate = [&] {
          return related_certificate(modules, relation, devices, constants, provenance_of(question),
                                     limits);
        };
        auto found = certificate();
        if (found.index() == 0) return found;
        // As little is taken as given as there is a certificate with.
        modules.folds = folded_constants(modules.before, modules.after);
        for (const FoldedConstant& fold : modules.folds) evidence.read_as.push_back(fold.words());
        auto more = modules.folds.empty() ? found : certificate();
        if (more.index() == 0) return more;
        if (const auto problem = problem_of(modules, relation, devices, constants))
          modules.finite = finite_candidates(*problem);
        evidence.finite = with_lines(modules.finite, relation.is_reversed() ? *module : *first);
        if (!modules.finite.empty()) more = certificate();
        return more.index() == 0 ? more : found;
      });
      if (!related || related->index() != 0) return std::nullopt;
      return evidence;
    };
  }
  const auto decide = [&] {
    first = read_module(before, texts.before, limits);
    if (programs.empty()) {
      module = read_module(after, texts.after, limits);
      return compare(first, module, options, limits);
    }
    std::vector<hlo::PlacedProgram> placed;
    for (const hlo::PlacedFile& program : programs) {
      placed.push_back(
          {program.devices, read_module(program.file, texts.of(program.file), limits)});
    }
    auto linked = hlo::linked(placed, options.devices, limits);
    if (auto* decision = std::get_if<ModuleDecision>(&linked)) return std::move(*decision);
    module = std::get<std::shared_ptr<const hlo::Module>>(linked);
    options.wants_evidence = question.certificate.has_value();
    options.evidence = [&](const hlo::ModuleRelation& relation,
                           const hlo::Devices&) -> std::optional<hlo::EqualityEvidence> {
      std::size_t bytes = texts.before.size(), largest = 0;
      for (const hlo::PlacedFile& program : programs) {
        bytes += texts.of(program.file).size();
        largest = std::max(largest, program.devices.size());
      }
      const std::size_t work = relating_work_of_programs(bytes, largest);
      relate_within(work, options.wants_evidence || work <= kUnaskedProgramsWork, limits, related,
                    [&] {
                      return programs_certificate(certified_programs(texts, programs), *module,
                                                  relation, provenance_of(question), limits);
                    });
      if (!related || related->index() != 0) return std::nullopt;
      return hlo::EqualityEvidence();
    };
    return compare(first, module, options, limits);
  };
  ModuleCheck check = answer({after, before, {}}, question, decide, texts, related);
  // Of a dump it is about those steps to which it applies.
  if (question.request.replicated_inputs && !question.request.dump) {
    if (const auto why = unused_replication(check.decision))
      check.shown.diagnostics.push_back(
          {Diagnostic::Kind::Note, "--replicated-inputs: " + *why + "."});
  }
  if (module && programs.empty()) add_source(*module, texts.after, check);
  if (module) {
    explain_comparison({first, module, {after, before, {}}, texts, programs}, related,
                       question.request.explain, limits, check);
  }
  return check;
}

}  // namespace

CertifiedModules certified_modules(const ModuleTexts& texts, const ModuleSubject& subject,
                                   const hlo::Devices& devices, const Limits& limits) {
  CertifiedModules modules{certified_text(subject.before, texts.before, devices, limits),
                           certified_text(subject.file, texts.after, devices, limits)};
  for (const auto& [key, file, text] : {std::tuple("before", &subject.before, &texts.before),
                                        {"after", &subject.file, &texts.after}}) {
    if (is_certified_itself(*text) && !texts.binary.contains(*file)) continue;
    modules.written_from[key] = std::filesystem::path(*file).filename().string();
  }
  return modules;
}

std::vector<std::string> equal_constants(const ModuleTexts& texts,
                                         const hlo::ModuleRelation& relation) {
  if (!relation.is_given) return {};
  return common_elided_constants(texts.before, texts.after);
}

CertifiedPrograms certified_programs(const ModuleTexts& texts,
                                     const std::vector<hlo::PlacedFile>& programs) {
  CertifiedPrograms certified{texts.before, {}};
  for (const hlo::PlacedFile& program : programs)
    certified.programs.push_back(texts.of(program.file));
  return certified;
}

std::string module_text(const std::string& file, std::string bytes, const Limits& limits) {
  if (!hlo::is_binary_module(bytes)) return bytes;
#ifdef P2_HAS_PROTOBUF
  return hlo::text_of_binary_module(file, bytes, limits);
#else
  static_cast<void>(limits);
  throw ToolError(
      fmt::format("{}: is a binary module, which is read with protobuf; this build is "
                  "without it",
                  file));
#endif
}

bool is_module_text(const std::string& text) {
  return hlo::is_hlo(text) || hlo::is_stablehlo(text);
}

SubjectCheck check_module(const std::string& file, const std::string& text,
                          const CheckQuestion& question) {
  const CheckRequest& request = question.request;
  const GivenInstance& given = question.given;
  const Limits& limits = question.options.limits;
  require_applicable(file, request, false);
  const hlo::ComparisonOptions options = options_of(request);
  if (request.replicated_inputs) {
    throw InputError({"--replicated-inputs"},
                     "is about the inputs of two modules, expected --before and --after");
  }
  if (!request.reduces) {
    if (request.engine == "z3") {
      throw InputError({"--engine z3"},
                       "compares two modules, expected --before and --after, or --reduces");
    }
    if (request.ordered) {
      throw InputError({"--order"},
                       "orders are compared of two modules, expected --before and --after");
    }
    if (request.numbers != FloatEquality::Real) {
      throw InputError({"--numbers"},
                       "numbers are compared of two modules, expected --before and --after");
    }
    return answer({file, {}, {}}, question,
                  [&] { return check_all_modules(file, text, options, limits); })
        .shown;
  }
  const std::string& name = given.terms.goal.name;
  return answer({file, {}, name}, question,
                [&] {
                  const auto module = read_module(file, text, limits);
                  const auto goal = hlo::goal_called(name);
                  if (!goal) {
                    throw InputError(
                        {"--goal"},
                        fmt::format("'{}' is not a goal of a module, expected allreduce, "
                                    "reducescatter, allgather, broadcast or alltoall",
                                    name));
                  }
                  const hlo::Devices devices = devices_of({module.get()}, options.devices);
                  const auto specification = goal_module(
                      *module, *goal, classes_of(*request.reduces, given, devices.count()));
                  return compare(specification, module, options, limits);
                })
      .shown;
}

SubjectCheck compare_modules(const std::string& before, const std::string& after,
                             const CheckQuestion& question) {
  return compare_module_files(before, after, question).shown;
}

SubjectCheck undecided_comparison(const std::string& before, const std::string& after,
                                  const std::string& reason) {
  ModuleDecision decision;
  decision.outcome = Outcome::Undecided;
  decision.reason = reason;
  return check_of({after, before, {}}, std::move(decision), {}).shown;
}

CompareAnswer compare(const CompareRequest& request, const Options& options) {
  CheckRequest checked;
  checked.replicas = request.replicas;
  checked.partitions = request.partitions;
  checked.ordered = request.ordered;
  checked.replicated_inputs = request.replicated_inputs;
  checked.numbers = request.numbers;
  EvidenceCache cache({}, {});
  ModuleCheck check =
      compare_module_files(request.before, request.after, {checked, options, {}, {}, cache, {}});
  CompareAnswer answer;
  const hlo::ModuleDecision& decision = check.decision;
  answer.element = decision.violation ? decision.violation->element : decision.undecided_element;
  answer.replicas = decision.devices.replicas;
  answer.partitions = decision.devices.partitions;
  answer.devices_assumed = decision.devices.assumed;
  answer.numbers = decision.equality;
  answer.shown = decision.shown;
  answer.uninterpreted = decision.uninterpreted;
  answer.outcome = check.shown.result.outcome;
  answer.results = {std::move(check.shown.result)};
  answer.diagnostics = std::move(check.shown.diagnostics);
  answer.document.title = "p2-verify compare";
  answer.document.blocks = std::move(check.shown.text);
  answer.document.json.add("results", Json::array({std::move(check.shown.json)}));
  answer.document.reports = {std::move(check.shown.report)};
  return answer;
}

}  // namespace p2

#include <atomic>
#include <ostream>
#include <stdexcept>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/instance_options.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "cli/reproducer.h"
#include "cli/synth_report.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

constexpr std::uint64_t kLargestSize = 32;
constexpr std::size_t kMostPlacements = 100'000;

po::options_description synth_flags() {
  po::options_description flags("Synthesis");
  flags.add_options()  //
      ("size", po::value<std::string>()->value_name("N"),
       "most steps of a program (default 5)")          //
      ("count", "print the numbers of programs only")  //
      ("engine", po::value<std::string>()->value_name("NAME"),
       "explicit (default), z3, cnf or all: who has to find the programs")  //
      ("verify",
       "like --engine all: prove that every list is exactly the set of valid programs")  //
      ("explain", "draw the device states after every step of every program");
  return flags;
}

SynthRequest request_of(const CommandLine& line, const CommonOptions& common) {
  SynthRequest request{
      required_instance(line, true), {}, line.has("count"), line.has("explain"), {}};
  if (request.explain && common.format == Format::Json) {
    throw InputError({"--explain"}, "draws for people, expected --format text");
  }
  if (const auto engine = line.text("engine")) request.engines = engines_called(*engine);
  if (line.has("verify")) request.engines = engines_called("all");
  request.options.dialect = request.given.dialect;
  request.options.size = static_cast<std::uint32_t>(line.integer("size", 0, kLargestSize, 5));
  request.options.jobs = common.jobs;
  request.options.limits = common.limits;
  return request;
}

std::vector<PlacementPrograms> search(const SynthRequest& request, ShowProgress show,
                                      std::ostream& err) {
  std::vector<Instance> instances;
  for (Placement& placement : placements_of(request.given, kMostPlacements)) {
    instances.emplace_back(
        DeviceGrid(*request.given.hierarchy, *request.given.axes, std::move(placement)),
        *request.given.reduction, request.given.kind);
  }
  SearchProgress progress;
  const ProgressLine line(show, err, [&] {
    return fmt::format("synth: {} of {} searches done, {} states expanded",
                       progress.searches_done.load(), progress.searches.load(),
                       progress.states.load());
  });
  SynthesisOptions options = request.options;
  options.progress = &progress;
  return synthesise(std::move(instances), options);
}

/// Adds up the lists and has the solvers find every one of them again.
SynthAnswer answer_of(std::vector<PlacementPrograms> all, const SynthRequest& request,
                      ShowProgress show, std::ostream& err) {
  SynthAnswer answer;
  std::atomic<std::size_t> done = 0;
  const ProgressLine line(show, err, [&, count = all.size()] {
    return fmt::format("synth: solvers have checked {} of {} placements", done.load(), count);
  });
  for (PlacementPrograms& found : all) {
    if (__builtin_add_overflow(answer.total, found.list().count(), &answer.total)) {
      throw std::length_error("more than 2^64 programs in all, expected a smaller --size");
    }
    const bool complete = found.list().settled() == request.options.size;
    answer.complete = answer.complete && complete;
    std::vector<Comparison> comparisons;
    if (complete) {
      comparisons = compare_with_solvers(found, request.options, request.engines);
    }
    for (const Comparison& comparison : comparisons) {
      answer.verified = answer.verified && comparison.complete;
      answer.disagreed = answer.disagreed || comparison.differs();
    }
    answer.placements.push_back({std::move(found), std::move(comparisons)});
    ++done;
  }
  return answer;
}

}  // namespace

int run_synth(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  return run_synth(arguments, out, err, language::built_in_definitions());
}

int run_synth(const Arguments& arguments, std::ostream& out, std::ostream& err,
              z3_encoding::Definitions z3_definitions) {
  po::options_description own = instance_flags();
  own.add(synth_flags());
  const CommandLine line(
      "usage: p2-verify synth --hierarchy SIZES --axes SIZES --reduce AXES [OPTION…]\n"
      "Lists every valid reduction program of every placement, shortest first.",
      own, arguments);
  const CommonOptions common = line.common();
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  SynthRequest request = request_of(line, common);
  request.engines.z3_definitions = z3_definitions;
  const SynthAnswer answer =
      answer_of(search(request, common.progress, err), request, common.progress, err);
  Output output(common.output, out);
  if (common.format == Format::Json) {
    print_json(answer, request, output.stream());
  } else {
    print_text(answer, request, output.stream());
  }
  output.finish();
  if (answer.disagreed) {
    write_reproducer([&](std::ostream& file) { print_json(answer, request, file); }, err);
    return kDisagreement;
  }
  return answer.complete && answer.verified ? kEstablished : kUndecided;
}

}  // namespace p2

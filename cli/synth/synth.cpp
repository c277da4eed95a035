#include <atomic>
#include <filesystem>
#include <ostream>
#include <stdexcept>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/instance_options.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "cli/reproducer.h"
#include "proofs/api/sound_steps.h"
#include "cli/synth/list_certificate.h"
#include "cli/synth/synth_report.h"
#include "cli/terms_options.h"

namespace p2 {
namespace {

constexpr std::size_t kMostPlacements = 100'000;

std::vector<PlacementPrograms> search(const SynthRequest& request, ShowProgress show,
                                      std::ostream& err) {
  std::vector<Instance> instances;
  for (Placement& placement : placements_of(request.given, kMostPlacements)) {
    instances.emplace_back(
        DeviceGrid(*request.given.hierarchy, *request.given.axes, std::move(placement)),
        *request.given.reduction, request.given.kind);
  }
  if (request.smt2 && instances.size() != 1) {
    throw InputError({"--smt2"}, fmt::format("writes one query and there are {} placements, "
                                             "expected --placement",
                                             instances.size()));
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

/// The folder for the certificate of placement `index`: the one asked for, or one inside.
std::string certificate_folder(const SynthRequest& request, std::size_t index, std::size_t count) {
  const std::filesystem::path folder = *request.certificates;
  return (count == 1 ? folder : folder / std::to_string(index + 1)).string();
}

void add(const std::vector<ExistenceFinding>& findings, SynthAnswer& answer) {
  for (const ExistenceFinding& finding : findings) {
    answer.complete = answer.complete && finding.existence != z3_encoding::Existence::Unknown;
  }
  answer.disagreed = answer.disagreed || disagree(findings);
  answer.refuted = answer.refuted || agreed(findings) == z3_encoding::Existence::None;
}

/// Adds the programs of a placement, and what became of them, to the answer.
void add(PlacementAnswer placement, const SynthRequest& request, SynthAnswer& answer) {
  const ProgramList& list = placement.found.list();
  if (__builtin_add_overflow(answer.total, list.count(), &answer.total)) {
    throw std::length_error("more than 2^64 programs in all, expected a smaller --size");
  }
  if (request.wanted) {
    add(placement.existence, answer);
  } else {
    answer.complete = answer.complete && list.settled() == request.options.size;
  }
  for (const Comparison& comparison : placement.comparisons) {
    answer.verified = answer.verified && comparison.complete;
    answer.disagreed = answer.disagreed || comparison.differs();
  }
  const bool certified = !placement.certificate.empty() || placement.unwritten;
  answer.certified = answer.certified && (!request.certificates || certified);
  answer.unwritten = std::max(answer.unwritten, placement.unwritten);
  answer.placements.push_back(std::move(placement));
}

/// Has the solvers find every complete list again, and proves it complete, as far as was asked.
SynthAnswer answer_of(std::vector<PlacementPrograms> all, const SynthRequest& request,
                      ShowProgress show, std::ostream& err) {
  SynthAnswer answer;
  std::atomic<std::size_t> done = 0;
  const ProgressLine line(show, err, [&, count = all.size()] {
    return fmt::format("synth: solvers have checked {} of {} placements", done.load(), count);
  });
  SoundSteps sound(request.options.limits);
  for (PlacementPrograms& found : all) {
    if (request.given.terms.collectives.extended()) {
      found.for_each_lowered([&](const Program& each) { sound.require("--collectives", each); });
    }
    PlacementAnswer placement{std::move(found), {}};
    if (request.wanted) {
      placement.existence =
          find_property(placement.found, *request.wanted, request.options, request.engines);
    } else if (placement.found.list().settled() == request.options.size) {
      placement.comparisons =
          compare_with_solvers(placement.found, request.options, request.engines);
      if (request.certificates) {
        certify_list(request, certificate_folder(request, done, all.size()), placement, err);
      }
    }
    add(std::move(placement), request, answer);
    ++done;
  }
  return answer;
}

/// False, and nothing written, where a limit is met first.
bool write_smt2(const PlacementAnswer& placement, const SynthRequest& request, std::ostream& err) {
  z3_encoding::SynthesisQuery query = query_of(placement.found, request.options, request.engines);
  placement.found.for_each_lowered(
      [&](const Program& program) { query.known.push_back(program.steps); });
  try {
    const std::string text = smt_lib(query, query.size);
    Output file(request.smt2, err);
    file.stream() << text;
    file.finish();
    return true;
  } catch (const z3_encoding::OutOfBudget&) {
    err << "p2-verify: " << *request.smt2 << ": a limit was met before the query was written\n";
    return false;
  }
}

}  // namespace

int run_synth(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  return run_synth(arguments, out, err, language::built_in_definitions());
}

int run_synth(const Arguments& arguments, std::ostream& out, std::ostream& err,
              z3_encoding::Definitions z3_definitions) {
  boost::program_options::options_description own = instance_flags();
  own.add(terms_flags()).add(synth_flags());
  const CommandLine line(
      "usage: p2-verify synth --hierarchy SIZES --axes SIZES --reduce AXES [OPTION…]\n"
      "Lists every valid reduction program of every placement, shortest first.",
      own, arguments);
  const CommonOptions common = line.common();
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  SynthRequest request = synth_request(line, common);
  const ExitCode examined = read_terms(line, common, err, request.given);
  if (examined != kEstablished) return examined;
  request.engines.z3_definitions.assign(z3_definitions.begin(), z3_definitions.end());
  settle_terms(line, request);
  const SynthAnswer answer =
      answer_of(search(request, common.progress, err), request, common.progress, err);
  const bool written = !request.smt2 || write_smt2(answer.placements[0], request, err);
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
  if (answer.unwritten) return *answer.unwritten;
  if (!answer.complete || !answer.verified || !answer.certified || !written) return kUndecided;
  return answer.refuted ? kRefuted : kEstablished;
}

}  // namespace p2

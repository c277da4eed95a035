#include <fmt/format.h>
#include <fmt/ostream.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/instance_options.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "engine/placement/drawing.h"
#include "engine/program/drawing.h"
#include "engine/program/notation.h"
#include "engine/program/program_file.h"
#include "engine/synthesis/synthesis.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

constexpr std::uint64_t kLargestSize = 32;

struct SynthRequest {
  GivenInstance given;
  SynthesisOptions options;
  bool count_only = false;
  bool explain = false;
};

po::options_description synth_flags() {
  po::options_description flags("Synthesis");
  flags.add_options()                                                                             //
      ("size", po::value<std::string>()->value_name("N"), "most steps of a program (default 5)")  //
      ("count", "print the numbers of programs only")                                             //
      ("explain", "draw the device states after every step of every program");
  return flags;
}

std::vector<PlacementPrograms> search(const SynthRequest& request, const CommonOptions& common,
                                      std::ostream& err) {
  std::vector<Instance> instances;
  for (Placement& placement : placements_of(request.given)) {
    instances.emplace_back(
        DeviceGrid(*request.given.hierarchy, *request.given.axes, std::move(placement)),
        *request.given.reduction, request.given.kind);
  }
  SearchProgress progress;
  const ProgressLine line(common.progress, err, [&] {
    return fmt::format("synth: {} of {} searches done, {} states expanded",
                       progress.searches_done.load(), progress.searches.load(),
                       progress.states.load());
  });
  SynthesisOptions options = request.options;
  options.progress = &progress;
  return synthesise(std::move(instances), options);
}

std::string reduced_names(const GivenInstance& given) {
  std::string names;
  for (const std::uint32_t axis : *given.reduction) {
    names += (names.empty() ? "" : ",") + (*given.axes)[axis].name;
  }
  return names;
}

std::string how_many(std::uint64_t programs) {
  return programs == 1 ? "1 program" : fmt::format("{} programs", programs);
}

void print_placement_text(const PlacementPrograms& found, const SynthRequest& request,
                          std::ostream& out) {
  const ProgramList& list = found.list();
  fmt::print(out, "{}synthesis hierarchy {}: {}\n", draw_matrix(found.instance().grid),
             to_string(found.instance().hierarchy), how_many(list.count()));
  if (list.settled() < request.options.size) {
    fmt::print(out, "stopped at a limit: only programs of at most {} steps are settled\n",
               list.settled());
  }
  if (request.count_only) return;
  const Instance& instance = found.instance();
  std::uint64_t number = 0;
  const auto title = [&](const std::vector<Step>& steps) {
    fmt::print(out, "{:>5}  {}\n", ++number, to_string(steps, &instance));
  };
  if (!request.explain) return found.for_each(title);
  found.for_each_lowered([&](const Program& program) {
    title(program.steps);
    fmt::print(out, "{}\n", draw_derivation(program, request.options.dialect, &instance));
  });
}

void print_text(const std::vector<PlacementPrograms>& all, const SynthRequest& request,
                std::uint64_t total, std::ostream& out) {
  fmt::print(out,
             "{} devices: {}   axes {}   reduce {}\ndialect {}, programs of at most {} steps\n",
             request.given.hierarchy->devices(), to_string(*request.given.hierarchy),
             to_string(*request.given.axes), reduced_names(request.given),
             to_string(request.options.dialect), request.options.size);
  for (std::size_t i = 0; i < all.size(); ++i) {
    fmt::print(out, "\nplacement {} of {}   {}\n", i + 1, all.size(),
               to_string(all[i].instance().grid.placement()));
    print_placement_text(all[i], request, out);
  }
  fmt::print(out, "\ntotal: {} over {} placement{}\n", how_many(total), all.size(),
             all.size() == 1 ? "" : "s");
}

void print_placement_json(const PlacementPrograms& found, const SynthRequest& request,
                          std::ostream& out) {
  const ProgramList& list = found.list();
  fmt::print(out, "{{\"placement\":{},\"programs\":{},\"settled_size\":{}",
             json_matrix(found.instance().grid.placement()), list.count(), list.settled());
  if (!request.count_only) {
    fmt::print(out, ",\"list\":[");
    bool first = true;
    found.for_each_lowered([&](const Program& program) {
      fmt::print(out, "{}{}", first ? "\n" : ",\n",
                 to_json(program, &found.instance(), request.options.dialect));
      first = false;
    });
    fmt::print(out, "]");
  }
  fmt::print(out, "}}");
}

void print_json(const std::vector<PlacementPrograms>& all, const SynthRequest& request,
                std::uint64_t total, bool complete, std::ostream& out) {
  fmt::print(out,
             "{{\"dialect\":\"{}\",\"synthesis_hierarchy\":\"{}\",\"hierarchy\":{},\"axes\":{},"
             "\"reduce\":[{}],\"size\":{},\"placements\":[",
             to_string(request.options.dialect), to_string(request.given.kind),
             json_parts(request.given.hierarchy->levels()), json_parts(*request.given.axes),
             fmt::join(*request.given.reduction, ","), request.options.size);
  for (std::size_t i = 0; i < all.size(); ++i) {
    fmt::print(out, "{}", i == 0 ? "\n" : ",\n");
    print_placement_json(all[i], request, out);
  }
  fmt::print(out, "\n],\"total_programs\":{},\"complete\":{}}}\n", total, complete);
}

}  // namespace

int run_synth(const Arguments& arguments, std::ostream& out, std::ostream& err) {
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
  SynthRequest request{required_instance(line, true), {}, line.has("count"), line.has("explain")};
  if (request.explain && common.format == Format::Json) {
    throw InputError({"--explain"}, "draws for people, expected --format text");
  }
  request.options.dialect = request.given.dialect;
  request.options.size = static_cast<std::uint32_t>(line.integer("size", 0, kLargestSize, 5));
  request.options.jobs = common.jobs;
  request.options.limits = common.limits;

  const std::vector<PlacementPrograms> all = search(request, common, err);
  std::uint64_t total = 0;
  bool complete = true;
  for (const PlacementPrograms& found : all) {
    total += found.list().count();
    complete = complete && found.list().settled() == request.options.size;
  }
  Output output(common.output, out);
  if (common.format == Format::Json) {
    print_json(all, request, total, complete, output.stream());
  } else {
    print_text(all, request, total, output.stream());
  }
  output.finish();
  return complete ? kEstablished : kUndecided;
}

}  // namespace p2

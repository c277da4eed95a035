#include "cli/synth/synth_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "cli/output.h"
#include "cli/terms_options.h"
#include "engine/placement/drawing.h"
#include "engine/program/drawing.h"
#include "engine/program/json_text.h"
#include "engine/program/notation.h"
#include "engine/program/program_file.h"

namespace p2 {
namespace {

std::string reduced_names(const GivenInstance& given) {
  std::string names;
  for (const std::uint32_t axis : *given.reduction) {
    names += (names.empty() ? "" : ",") + (*given.axes)[axis].name;
  }
  return names;
}

/// The names of the collectives that are not built in.
std::vector<std::string> defined_names(const CollectiveSet& collectives) {
  std::vector<std::string> names;
  for (const Collective collective : collectives.all()) {
    if (!is_built_in(collective)) names.emplace_back(collectives.name_of(collective));
  }
  return names;
}

std::string how_many(std::uint64_t programs) {
  return programs == 1 ? "1 program" : fmt::format("{} programs", programs);
}

void print_programs(const PlacementPrograms& found, const SynthRequest& request,
                    std::ostream& out) {
  const Instance& instance = found.instance();
  std::uint64_t number = 0;
  const auto title = [&](const std::vector<Step>& steps) {
    fmt::print(out, "{:>5}  {}\n", ++number,
               to_string(steps, &instance, request.options.terms.collectives));
  };
  if (!request.explain) return found.for_each(title);
  found.for_each_lowered([&](const Program& program) {
    title(program.steps);
    fmt::print(
        out, "{}\n",
        draw_derivation(program, request.options.dialect, &instance, request.options.limits));
  });
}

void print_placement_text(const PlacementAnswer& answer, const SynthRequest& request,
                          std::ostream& out) {
  const ProgramList& list = answer.found.list();
  fmt::print(out, "{}synthesis hierarchy {}: {}\n", draw_matrix(answer.found.instance().grid),
             to_string(answer.found.instance().hierarchy), how_many(list.count()));
  for (const ExistenceFinding& finding : answer.existence) {
    fmt::print(out, "{}\n", to_text(finding, *request.wanted, request.options.size));
  }
  if (list.settled() < request.options.size) {
    fmt::print(out, "stopped at a limit: only programs of at most {} steps are settled\n",
               list.settled());
  }
  for (const Comparison& comparison : answer.comparisons) {
    fmt::print(out, "{}\n", to_text(comparison, list.count()));
  }
  if (!answer.certificate.empty()) {
    fmt::print(out, "certificate: {}\n", answer.certificate);
  } else if (request.certificates && !answer.unwritten) {
    fmt::print(out, "not certified: a limit was met before it was proved that there is no other\n");
  }
  if (!request.count_only && !request.wanted) print_programs(answer.found, request, out);
}

void print_placement_json(const PlacementAnswer& answer, const SynthRequest& request,
                          std::ostream& out) {
  const Instance& instance = answer.found.instance();
  const ProgramList& list = answer.found.list();
  fmt::print(
      out, "{{\"placement\":{},\"begins\":\"{}\",\"chunks\":{},\"programs\":{},\"settled_size\":{}",
      json_lists(instance.grid.placement().factors), to_string(answer.found.beginning().start),
      answer.found.program({}).chunks(), list.count(), list.settled());
  if (!answer.comparisons.empty()) {
    std::string engines;
    for (const Comparison& comparison : answer.comparisons) {
      engines += (engines.empty() ? "" : ",") + to_json(comparison);
    }
    fmt::print(out, ",\"verified\":[{}]", engines);
  }
  if (request.wanted) {
    std::string findings;
    for (const ExistenceFinding& finding : answer.existence) {
      findings += (findings.empty() ? "" : ",") + to_json(finding);
    }
    fmt::print(out, ",\"exists\":[{}]", findings);
  }
  if (request.certificates) {
    fmt::print(out, ",\"certificate\":{}",
               answer.certificate.empty() ? "null" : json_string(answer.certificate));
  }
  if (!request.count_only && !request.wanted) {
    fmt::print(out, ",\"list\":[");
    bool first = true;
    answer.found.for_each_lowered([&](const Program& program) {
      fmt::print(out, "{}{}", first ? "\n" : ",\n",
                 to_json(program, &instance, request.options.dialect));
      first = false;
    });
    fmt::print(out, "]");
  }
  fmt::print(out, "}}");
}

}  // namespace

void print_text(const SynthAnswer& answer, const SynthRequest& request, std::ostream& out) {
  const Terms& terms = request.options.terms;
  fmt::print(out,
             "{} devices: {}   axes {}   reduce {}\ndialect {}, programs of at most {} steps{}{}\n",
             request.given.hierarchy->devices(), to_string(*request.given.hierarchy),
             to_string(*request.given.axes), reduced_names(request.given),
             to_string(request.options.dialect), request.options.size,
             terms.collectives.extended()
                 ? fmt::format(", with {}", fmt::join(defined_names(terms.collectives), ", "))
                 : "",
             goal_text(terms.goal, answer.placements.front().found.beginning()));
  if (request.engines.cnf_left_out) fmt::print(out, "{}\n", not_asked_text());
  const std::size_t count = answer.placements.size();
  for (std::size_t i = 0; i < count; ++i) {
    const PlacementAnswer& placement = answer.placements[i];
    fmt::print(out, "\nplacement {} of {}   {}\n", i + 1, count,
               to_string(placement.found.instance().grid.placement()));
    print_placement_text(placement, request, out);
  }
  fmt::print(out, "\ntotal: {} over {} placement{}\n", how_many(answer.total), count,
             count == 1 ? "" : "s");
}

void print_json(const SynthAnswer& answer, const SynthRequest& request, std::ostream& out) {
  const Terms& terms = request.options.terms;
  std::string defined;
  for (const std::string& name : defined_names(terms.collectives)) {
    defined += fmt::format("{}\"{}\"", defined.empty() ? "" : ",", name);
  }
  fmt::print(out,
             "{{\"dialect\":\"{}\",\"goal\":\"{}\",\"collectives\":[{}],{}\"synthesis_hierarchy\":"
             "\"{}\",\"hierarchy\":{},\"axes\":{},"
             "\"reduce\":[{}],\"size\":{},\"placements\":[",
             to_string(request.options.dialect), terms.goal.name, defined,
             request.engines.cnf_left_out ? "\"not_asked\":[\"cnf\"]," : "",
             to_string(request.given.kind), json_parts(request.given.hierarchy->levels()),
             json_parts(*request.given.axes), fmt::join(*request.given.reduction, ","),
             request.options.size);
  for (const PlacementAnswer& placement : answer.placements) {
    fmt::print(out, "{}", &placement == &answer.placements.front() ? "\n" : ",\n");
    print_placement_json(placement, request, out);
  }
  fmt::print(out, "\n],\"total_programs\":{},\"complete\":{}}}\n", answer.total, answer.complete);
}

}  // namespace p2

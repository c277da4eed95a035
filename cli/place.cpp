#include <fmt/format.h>
#include <fmt/ostream.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/instance_options.h"
#include "cli/output.h"
#include "engine/placement/drawing.h"
#include "engine/program/json_text.h"

namespace p2 {
namespace {

constexpr std::size_t kMostDrawn = 64;
constexpr std::size_t kMostPlacements = 1'000'000;

void print_json(const GivenInstance& given, const std::vector<Placement>& placements,
                std::ostream& out) {
  fmt::print(out, "{{\"hierarchy\":{},\"axes\":{},\"count\":{},\"placements\":[",
             json_parts(given.hierarchy->levels()), json_parts(*given.axes), placements.size());
  for (std::size_t i = 0; i < placements.size(); ++i) {
    fmt::print(out, "{}{}", i == 0 ? "\n" : ",\n", json_lists(placements[i].factors));
  }
  fmt::print(out, "\n]}}\n");
}

void print_text(const GivenInstance& given, const std::vector<Placement>& placements,
                std::ostream& out) {
  fmt::print(out, "{} devices: {}   axes {}\n", given.hierarchy->devices(),
             to_string(*given.hierarchy), to_string(*given.axes));
  for (std::size_t i = 0; i < placements.size(); ++i) {
    fmt::print(out, "\nplacement {} of {}   {}\n", i + 1, placements.size(),
               to_string(placements[i]));
    const DeviceGrid grid(*given.hierarchy, *given.axes, placements[i]);
    fmt::print(out, "{}", draw_matrix(grid));
    if (i < kMostDrawn) {
      const std::string drawing = draw_placement(grid);
      if (!drawing.empty()) fmt::print(out, "\n{}", drawing);
    }
  }
}

}  // namespace

int run_place(const Arguments& arguments, std::ostream& out, std::ostream&) {
  const CommandLine line(
      "usage: p2-verify place --hierarchy SIZES --axes SIZES [OPTION…]\n"
      "Lists every parallelism matrix and draws which device holds which part.",
      placement_flags(), arguments);
  const CommonOptions common = line.common();
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const GivenInstance given = required_instance(line, false);
  const std::vector<Placement> placements = placements_of(given, kMostPlacements);
  Output output(common.output, out);
  if (common.format == Format::Json) {
    print_json(given, placements, output.stream());
  } else {
    print_text(given, placements, output.stream());
  }
  output.finish();
  return kEstablished;
}

}  // namespace p2

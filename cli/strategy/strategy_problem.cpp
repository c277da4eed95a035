#include "cli/strategy/strategy_problem.h"

#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "cli/output.h"
#include "engine/strategy/operation_graph_file.h"
#include "engine/strategy/pairwise.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

/// The sizes alone, outermost first: names of levels and axes do not change programs.
template <typename Items>
std::string sizes(const Items& items) {
  std::string text;
  for (const auto& item : items) text += fmt::format("{}{}", text.empty() ? "" : ",", item.size);
  return text;
}

std::string synth_command(const operations::NeededCollective& needed) {
  std::string rows;
  for (const auto& row : needed.grid.placement().factors) {
    rows += fmt::format("{}[{}]", rows.empty() ? "" : ",", fmt::join(row, ","));
  }
  return fmt::format("p2-verify synth --hierarchy {} --axes {} --placement '[{}]' --reduce {}",
                     sizes(needed.grid.hierarchy().levels()), sizes(needed.grid.axes()), rows,
                     fmt::join(needed.axes, ","));
}

void refuse_operation_flags(const CommandLine& line) {
  for (const char* flag : {"use-all-devices", "price", "system", "collectives-out"}) {
    if (line.has(flag)) {
      throw InputError({std::string("--") + flag}, "this is for operation graphs alone");
    }
  }
}

}  // namespace

po::options_description problem_flags() {
  po::options_description flags("Operation graphs");
  flags.add_options()  //
      ("use-all-devices", "only configurations that use as many devices as they can")(
          "price", po::value<std::string>()->value_name("MODEL"),
          "overlap (default): parts lie where they overlap most; placed: every part has a device, "
          "and links are shared")("system", po::value<std::string>()->value_name("FILE"),
                                  "with --price placed: a system instead of the file's levels")(
          "collectives-out", po::value<std::string>()->value_name("FILE"),
          "with --price placed: write the synth commands of all all-reduces of the strategy");
  return flags;
}

StrategyProblem strategy_problem(const CommandLine& line, const std::string& path) {
  StrategyProblem problem;
  std::string text = read_file(path);
  if (!operations::claims_operations(text)) {
    refuse_operation_flags(line);
    problem.pairwise = strategy::read_graph(path, std::move(text));
    return problem;
  }
  const bool placed = line.choice<bool>("price", {{"overlap", false}, {"placed", true}});
  if (!placed && (line.has("system") || line.has("collectives-out"))) {
    throw InputError({"--price"}, "--system and --collectives-out are for --price placed");
  }
  if (placed && line.has("use-all-devices")) {
    throw InputError({"--use-all-devices"}, "with --price placed all devices have parts");
  }
  problem.operations = operations::read_operations(path, std::move(text));
  try {
    if (placed) {
      const auto file = line.text("system");
      problem.placed = operations::placed_graph(
          *problem.operations, file ? parse_system(*file, read_file(*file))
                                    : system_of(problem.operations->machine, path));
    } else {
      problem.pairwise =
          pairwise(*problem.operations, line.has("use-all-devices") ? operations::DeviceUse::All
                                                                    : operations::DeviceUse::AtMost)
              .file;
    }
  } catch (const std::invalid_argument& error) {
    throw InputError({path}, error.what());
  }
  return problem;
}

void write_collectives(const StrategyProblem& problem, const strategy::Strategy& strategy,
                       const std::string& path, std::ostream& out) {
  Output output(path, out);
  const operations::OperationGraph& graph = *problem.operations;
  for (const operations::NeededCollective& needed : problem.placed->collectives(graph, strategy)) {
    fmt::print(output.stream(), "# {}, {}: {} bytes, {} time{}\n{}\n", needed.operation,
               needed.tensor, needed.words * graph.machine.word_bytes, needed.times,
               needed.times == 1 ? "" : "s", synth_command(needed));
  }
  output.finish();
}

}  // namespace p2

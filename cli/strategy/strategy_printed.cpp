#include "cli/strategy/strategy_printed.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "cli/exit_code.h"
#include "cli/output.h"
#include "engine/strategy/printed_failures.h"
#include "engine/strategy/strategy.h"

namespace p2 {
namespace {

namespace po = boost::program_options;
using strategy::PrintedKind;
using strategy::TieRule;

TieRule rule_of(const CommandLine& line) {
  return line.choice<TieRule>("ties", {{"first", TieRule::First},
                                       {"last", TieRule::Last},
                                       {"any", TieRule::Any},
                                       {"all", TieRule::Every}});
}

/// Graph files are read in whole units, random graphs in hundredths.
strategy::Reading reading_of(const CommandLine& line, double unit) {
  strategy::Reading reading;
  reading.restarts_when_empty = !line.has("as-meant");
  if (line.has("doubles")) reading.unit = unit;
  return reading;
}

std::string choices(const strategy::Printed& printed) {
  std::string text;
  for (const auto& choice : printed.strategy) {
    text += fmt::format("{}{}", text.empty() ? "" : " ", choice ? std::to_string(*choice) : "-");
  }
  return text;
}

std::string words(const strategy::PrintedRun& run) {
  switch (run.kind) {
    case PrintedKind::Optimal:
      return fmt::format("total {}, optimal", run.cost);
    case PrintedKind::Dearer:
      return fmt::format("total {}, not optimal", run.cost);
    case PrintedKind::Incomplete:
      return "half a strategy: some vertices have no configuration";
    case PrintedKind::None:
      return "no strategy: the tables agree nowhere";
    case PrintedKind::TooLarge:
      return "not run: its tables would be too large";
  }
  return {};
}

void print_failure(const strategy::Failure& failure, std::ostream& out) {
  const strategy::Graph& graph = failure.graph;
  fmt::print(out, "the smallest failure: {} vertices, {} edges\n", graph.vertices(),
             graph.edges.size());
  for (std::size_t v = 0; v < graph.vertices(); ++v) {
    fmt::print(out, "  vertex {}: {}\n", v, fmt::join(graph.costs[v], " "));
  }
  for (const strategy::Edge& edge : graph.edges) {
    fmt::print(out, "  edge {}-{}:", edge.first, edge.second);
    const std::size_t columns = graph.configurations(edge.second);
    for (std::size_t i = 0; i < edge.table.size(); ++i) {
      fmt::print(out, "{}{}", i > 0 && i % columns == 0 ? " / " : " ", edge.table[i]);
    }
    fmt::print(out, "\n");
  }
  fmt::print(out, "  least cost: {}; as printed: {} ({})\n", failure.optimum, failure.run.cost,
             choices(failure.run.result));
}

bool is_complete(const strategy::PrintedRun& run) {
  return run.kind == PrintedKind::Optimal || run.kind == PrintedKind::Dearer;
}

void print_run(const strategy::Graph& graph, const strategy::Answer& answer,
               const strategy::PrintedRun& run, std::ostream& out) {
  fmt::print(out, "least cost: {}{}\nas printed: {}\n", answer.found.cost,
             answer.optimal() ? "" : " (a limit was met)", words(run));
  if (run.kind == PrintedKind::TooLarge) {
    const std::uint64_t rows = strategy::printed_rows(graph);
    fmt::print(out, "rows of its tables: {}{}\n", rows == UINT64_MAX ? "more than " : "", rows);
  } else {
    fmt::print(out, "its configurations: {}\n", choices(run.result));
  }
}

void print_campaign(const strategy::PrintedCampaign& campaign, std::ostream& out) {
  fmt::print(out,
             "{} random graphs with many equal costs, every optimum known by enumeration\n"
             "this program's search: {}\n"
             "as printed: {} not optimal, {} half a strategy, {} no strategy\n",
             campaign.graphs, campaign.wrong_search ? "NOT optimal on one" : "optimal on all",
             campaign.dearer, campaign.incomplete, campaign.none);
  if (campaign.smallest) print_failure(*campaign.smallest, out);
}

}  // namespace

po::options_description printed_flags() {
  po::options_description flags("The paper's algorithms 1 to 3, for comparison");
  flags.add_options()  //
      ("printed", "run them on FILE and compare")(
          "printed-campaign", po::value<std::string>()->value_name("GRAPHS"),
          "run them on so many random small graphs, without FILE")(
          "ties", po::value<std::string>()->value_name("RULE"),
          "which of several least ones is taken: first (default), last, any (see --seed), all: "
          "every way until one fails")  //
      ("doubles", "add costs up as doubles")(
          "as-meant", "algorithm 3, line 4: \"not started\" where \"empty\" is printed");
  return flags;
}

int run_printed(const CommandLine& line, const strategy::GraphFile& file, std::ostream& out) {
  const CommonOptions common = line.common();
  const strategy::Answer answer = strategy::find_strategy(file.graph, common.limits);
  const strategy::PrintedRun run =
      judge_printed(file.graph, answer.found.cost, reading_of(line, 1), rule_of(line),
                    static_cast<std::uint32_t>(common.seed));
  Output output(common.output, out);
  if (common.format == Format::Json) {
    fmt::print(output.stream(), "{{\"least\":{},\"printed\":{}}}\n", answer.found.cost,
               is_complete(run) ? std::to_string(run.cost) : "null");
  } else {
    print_run(file.graph, answer, run, output.stream());
  }
  output.finish();
  if (run.kind == PrintedKind::TooLarge || !answer.optimal()) return kUndecided;
  return run.kind == PrintedKind::Optimal ? kEstablished : kRefuted;
}

int run_printed_campaign(const CommandLine& line, std::ostream& out) {
  const CommonOptions common = line.common();
  const std::uint64_t graphs = line.integer("printed-campaign", 1, 100'000'000, 1);
  const strategy::PrintedCampaign campaign =
      printed_campaign(graphs, reading_of(line, 100), rule_of(line),
                       static_cast<std::uint32_t>(common.seed), common.limits);
  Output output(common.output, out);
  if (common.format == Format::Json) {
    fmt::print(
        output.stream(),
        "{{\"graphs\":{},\"search_optimal\":{},\"not_optimal\":{},\"half\":{},\"none\":{}}}\n",
        campaign.graphs, !campaign.wrong_search, campaign.dearer, campaign.incomplete,
        campaign.none);
  } else {
    print_campaign(campaign, output.stream());
  }
  output.finish();
  if (campaign.wrong_search) return kDisagreement;
  if (campaign.dearer + campaign.incomplete + campaign.none > 0) return kRefuted;
  return campaign.graphs == graphs ? kEstablished : kUndecided;
}

}  // namespace p2

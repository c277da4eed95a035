// The algorithms of the strategies' paper as they are printed, against the least cost.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/strategy/paper_algorithm.h"
#include "proofs/api/engines.h"

namespace p2 {
namespace {

strategy::TieRule tie_rule(PaperAlgorithm::Ties ties) {
  switch (ties) {
    case PaperAlgorithm::Ties::First:
      return strategy::TieRule::First;
    case PaperAlgorithm::Ties::Last:
      return strategy::TieRule::Last;
    case PaperAlgorithm::Ties::Any:
      return strategy::TieRule::Any;
    case PaperAlgorithm::Ties::Every:
      break;
  }
  return strategy::TieRule::Every;
}

strategy::Reading reading_of(const PaperAlgorithm& paper, double unit) {
  strategy::Reading reading;
  reading.restarts_when_empty = !paper.as_intended;
  if (paper.doubles) reading.unit = unit;
  return reading;
}

std::string configurations_text(const strategy::Printed& printed) {
  std::string text;
  for (const auto& choice : printed.strategy) {
    text += fmt::format("{}{}", text.empty() ? "" : " ", choice ? std::to_string(*choice) : "-");
  }
  return text;
}

std::string run_text(const strategy::PrintedRun& run) {
  using Kind = strategy::PrintedKind;
  switch (run.kind) {
    case Kind::Optimal:
      return fmt::format("total {}, optimal", run.cost);
    case Kind::Suboptimal:
      return fmt::format("total {}, not optimal", run.cost);
    case Kind::Incomplete:
      return "half a strategy: some vertices have no configuration";
    case Kind::None:
      return "no strategy: the tables agree nowhere";
    case Kind::TooLarge:
      return "not run: its tables would be too large";
  }
  return {};
}

void add_failure(const strategy::Failure& failure, Document& document) {
  const strategy::Graph& graph = failure.graph;
  document.line(fmt::format("the smallest failure: {} vertices, {} edges", graph.vertices(),
                            graph.edges.size()));
  for (std::size_t v = 0; v < graph.vertices(); ++v) {
    document.line(fmt::format("  vertex {}: {}", v, fmt::join(graph.costs[v], " ")));
  }
  for (const strategy::Edge& edge : graph.edges) {
    std::string line = fmt::format("  edge {}-{}:", edge.first, edge.second);
    const std::size_t columns = graph.configurations(edge.second);
    for (std::size_t i = 0; i < edge.table.size(); ++i) {
      line += fmt::format("{}{}", i > 0 && i % columns == 0 ? " / " : " ", edge.table[i]);
    }
    document.line(std::move(line));
  }
  document.line(fmt::format("  least cost: {}; as printed: {} ({})", failure.optimum,
                            failure.run.cost, configurations_text(failure.run.result)));
}

}  // namespace

ParallelizeAnswer compare_with_paper(const ParallelizeRequest& request,
                                     const strategy::GraphFile& file, const Options& options) {
  using Kind = strategy::PrintedKind;
  const strategy::Solution found = strategy::find_strategy(file.graph, options.limits);
  const strategy::PrintedRun run =
      judge_printed(file.graph, found.found.cost, reading_of(*request.paper, 1),
                    tie_rule(request.paper->ties), static_cast<std::uint32_t>(options.seed));
  ParallelizeAnswer answer;
  answer.cost = found.found.cost;
  answer.bound = found.found.bound;
  answer.optimal = found.optimal();
  answer.strategy = found.found.strategy;
  const bool undecided = run.kind == Kind::TooLarge || !found.optimal();
  answer.outcome = undecided                   ? Outcome::Undecided
                   : run.kind == Kind::Optimal ? Outcome::Established
                                               : Outcome::Refuted;
  answer.results.push_back({.subject = "the paper's algorithm", .outcome = answer.outcome});
  Document& document = answer.document;
  document.title = "p2-verify parallelize";
  document.line(fmt::format("least cost: {}{}", found.found.cost,
                            found.optimal() ? "" : " (a limit was reached)"));
  document.line("as printed: " + run_text(run));
  if (run.kind == Kind::TooLarge) {
    const std::uint64_t rows = strategy::printed_rows(file.graph);
    document.line(
        fmt::format("rows of its tables: {}{}", rows == UINT64_MAX ? "more than " : "", rows));
  } else {
    document.line("its configurations: " + configurations_text(run.result));
  }
  const bool complete = run.kind == Kind::Optimal || run.kind == Kind::Suboptimal;
  document.json =
      Json::object({{"least", found.found.cost}, {"printed", complete ? Json(run.cost) : Json()}});
  return answer;
}

PaperCampaignAnswer run_paper_campaign(const PaperCampaignRequest& request,
                                       const Options& options) {
  const strategy::PrintedCampaign campaign =
      printed_campaign(request.graphs, reading_of(request.paper, 100), tie_rule(request.paper.ties),
                       static_cast<std::uint32_t>(options.seed), options.limits);
  PaperCampaignAnswer answer;
  answer.graphs = campaign.graphs;
  answer.search_optimal = !campaign.wrong_search;
  answer.not_optimal = campaign.suboptimal;
  answer.incomplete = campaign.incomplete;
  answer.none = campaign.none;
  if (campaign.wrong_search) {
    answer.outcome = Outcome::Disagreement;
  } else if (campaign.suboptimal + campaign.incomplete + campaign.none > 0) {
    answer.outcome = Outcome::Refuted;
  } else if (campaign.graphs < request.graphs) {
    answer.outcome = Outcome::Undecided;
  }
  answer.results.push_back({.subject = "the paper's algorithm", .outcome = answer.outcome});
  Document& document = answer.document;
  document.title = "p2-verify parallelize";
  document.line(
      fmt::format("{} random graphs with many equal costs, every optimum known by enumeration",
                  campaign.graphs));
  document.line(fmt::format("this program's search: {}",
                            campaign.wrong_search ? "NOT optimal on one" : "optimal on all"));
  document.line(fmt::format("as printed: {} not optimal, {} half a strategy, {} no strategy",
                            campaign.suboptimal, campaign.incomplete, campaign.none));
  if (campaign.smallest) add_failure(*campaign.smallest, document);
  document.json = Json::object({{"graphs", campaign.graphs},
                                {"search_optimal", answer.search_optimal},
                                {"not_optimal", campaign.suboptimal},
                                {"half", campaign.incomplete},
                                {"none", campaign.none}});
  return answer;
}

}  // namespace p2


#include <algorithm>
#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "encodings/cnf/synthesis.h"
#include "encodings/z3/queries.h"
#include "engine/base/files.h"
#include "engine/base/limits.h"
#include "engine/strategy/operation.h"
#include "engine/strategy/pairwise.h"
#include "engine/strategy/placed_graph.h"
#include "engine/strategy/strategy.h"
#include "engine/topology/system.h"
#include "p2/parallelize.h"
#include "p2/version.h"
#include "proofs/api/campaigns.h"
#include "proofs/api/engines.h"
#include "proofs/certificate/subject_certificates.h"

namespace p2 {
namespace {

using strategy::Cost;
using strategy::GraphFile;
using strategy::Strategy;

// The problem: a graph of either format, with costs.

struct StrategyQuestion {
  GraphFile pairwise;  ///< without placements
  std::optional<operations::OperationGraph> operations;
  std::optional<operations::PlacedGraph> placed;

  const GraphFile& file() const { return placed ? placed->file : pairwise; }
};

/// Flags that only operation graphs have.
void refuse_operation_flags(const ParallelizeRequest& request) {
  const auto refuse = [](bool given, const char* flag) {
    if (given) throw InputError({flag}, "this is for operation graphs alone");
  };
  refuse(request.use_all_devices, "--use-all-devices");
  refuse(request.price == ParallelizeRequest::Price::Placed, "--price");
  refuse(request.system.has_value(), "--system");
  refuse(request.collectives, "--collectives-out");
}

StrategyQuestion read_problem(const ParallelizeRequest& request) {
  const bool placed = request.price == ParallelizeRequest::Price::Placed;
  StrategyQuestion problem;
  std::string text = read_file(request.file);
  if (!operations::is_operation_graph(text)) {
    refuse_operation_flags(request);
    problem.pairwise = strategy::read_graph(request.file, text);
    return problem;
  }
  if (!placed && (request.system || request.collectives)) {
    throw InputError({"--price"}, "--system and --collectives-out are for --price placed");
  }
  if (placed && request.use_all_devices) {
    throw InputError({"--use-all-devices"}, "with --price placed all devices have parts");
  }
  problem.operations = operations::read_operations(request.file, std::move(text));
  try {
    if (placed) {
      problem.placed = operations::placed_graph(
          *problem.operations, request.system
                                   ? parse_system(*request.system, read_file(*request.system))
                                   : system_of(problem.operations->machine, request.file));
    } else {
      problem.pairwise =
          pairwise(*problem.operations, request.use_all_devices ? operations::DeviceUse::All
                                                                : operations::DeviceUse::AtMost)
              .file;
    }
  } catch (const operations::SketchError& error) {
    throw InputError({request.file}, error.what());
  }
  return problem;
}

/// The sizes alone, outermost first: programs do not depend on the names of levels and axes.
template <typename Items>
std::string sizes(const Items& items) {
  std::string text;
  for (const auto& item : items) text += fmt::format("{}{}", text.empty() ? "" : ",", item.size);
  return text;
}

/// For every all-reduce of the strategy, the command that lists the programs for it.
std::string collective_commands(const StrategyQuestion& problem, const Strategy& strategy) {
  const operations::OperationGraph& graph = *problem.operations;
  std::string text;
  for (const operations::NeededCollective& needed : problem.placed->collectives(graph, strategy)) {
    std::string rows;
    for (const auto& row : needed.grid.placement().factors) {
      rows += fmt::format("{}[{}]", rows.empty() ? "" : ",", fmt::join(row, ","));
    }
    text += fmt::format(
        "# {}, {}: {} bytes, {} time{}\n"
        "p2-verify synth --hierarchy {} --axes {} --placement '[{}]' --reduce {}\n",
        needed.operation, needed.tensor, needed.words * graph.machine.word_bytes, needed.times,
        needed.times == 1 ? "" : "s", sizes(needed.grid.hierarchy().levels()),
        sizes(needed.grid.axes()), rows, fmt::join(needed.axes, ","));
  }
  return text;
}

// Cross-checks.

Engines engines_of(const ParallelizeRequest& request) {
  Engines engines = engines_called(request.engine);
  if (engines.cnf && !engines.z3 && request.memory_limit) {
    throw InputError({"--engine"}, "cnf knows no memory limit, expected z3, all or explicit");
  }
  return engines;
}

struct Checks {
  std::vector<EngineAnswer> answers;
  std::vector<std::string> texts;  ///< one line each
  cnf::StrategyRefutation refutation = {};

  void add(StrategyCheck check) {
    answers.push_back(std::move(check.answer));
    texts.push_back(std::move(check.text));
  }
  /// Whether the engine confirms the answer; null where it was not asked or is undecided.
  Json json(std::string_view engine) const {
    for (const EngineAnswer& each : answers) {
      if (each.engine != engine || each.outcome == Outcome::Undecided) continue;
      return each.outcome == Outcome::Established;
    }
    return {};
  }
  /// What the engines leave of the search's outcome.
  Outcome apply_to(Outcome outcome) const {
    for (const EngineAnswer& each : answers) {
      if (each.outcome == Outcome::Refuted) return Outcome::Disagreement;
    }
    for (const EngineAnswer& each : answers) {
      if (each.outcome == Outcome::Undecided) return Outcome::Undecided;
    }
    return outcome;
  }
};

Checks run_checks(const ParallelizeRequest& request, const GraphFile& file,
                  const strategy::Found* found, const Limits& limits) {
  const Engines engines = engines_of(request);
  Checks checks;
  if (engines.z3) {
    std::optional<Cost> limit;
    if (request.memory_limit) limit = static_cast<Cost>(*request.memory_limit);
    checks.add(check_with_z3(file, limit, found, limits));
  }
  if (engines.cnf && request.memory_limit) {
    checks.texts.emplace_back("cnf: not asked, it knows no memory limit");
  } else if (engines.cnf && request.cubes && !request.certify) {
    const auto question = cnf::cheaper_strategy_clauses(file.graph, found->cost);
    if (question) cnf::write_cubes(*request.cubes, question->clauses, question->cubes);
    checks.texts.push_back("cnf: " + (question
                                          ? cubes_written(question->cubes.size(), *request.cubes)
                                          : std::string("no cubes, they would be too large")));
  } else if (engines.cnf) {
    checks.add(check_with_clauses(file.graph, *found, limits, checks.refutation, request.cubes));
  }
  return checks;
}

// The report.

Cost cost_of(const strategy::Graph& graph, const strategy::Edge& edge, const Strategy& strategy) {
  return edge
      .table[strategy[edge.first] * graph.configurations(edge.second) + strategy[edge.second]];
}

/// By vertex, the cost of its edges.
std::vector<Cost> edge_costs(const GraphFile& file, const Strategy& strategy) {
  std::vector<Cost> costs(file.graph.vertices(), 0);
  for (const strategy::Edge& edge : file.graph.edges) {
    const Cost cost = cost_of(file.graph, edge, strategy);
    costs[edge.first] += cost;
    costs[edge.second] += cost;
  }
  return costs;
}

Table vertex_table(const GraphFile& file, const Strategy& strategy) {
  const std::vector<Cost> edges = edge_costs(file, strategy);
  Table table;
  table.header = {"cost"};
  if (!file.communication.empty()) table.header.emplace_back("of it sums");
  table.header.emplace_back("its edges");
  if (file.memory) table.header.emplace_back("bytes");
  table.right_aligned = table.header.size();
  table.header.insert(table.header.end(), {"vertex", "configuration"});
  for (std::size_t v = 0; v < file.labels.size(); ++v) {
    auto& row = table.rows.emplace_back();
    row.push_back(std::to_string(file.graph.costs[v][strategy[v]]));
    if (!file.communication.empty()) {
      row.push_back(std::to_string(file.communication[v][strategy[v]]));
    }
    row.push_back(std::to_string(edges[v]));
    if (file.memory) row.push_back(std::to_string((*file.memory)[v][strategy[v]]));
    row.push_back(file.labels[v].name);
    row.push_back(file.labels[v].configurations[strategy[v]]);
  }
  return table;
}

std::string known_text(const strategy::KnownStrategy& known, Cost cost,
                       std::optional<std::uint64_t> memory_limit) {
  std::string text = fmt::format("{}: {}", known.name, known.cost);
  if (cost > 0) {
    text += fmt::format(", {:.2f} times as much",
                        static_cast<double>(known.cost) / static_cast<double>(cost));
  }
  if (memory_limit && known.memory.value_or(0) > static_cast<Cost>(*memory_limit)) {
    text += fmt::format(", and needs {} bytes on a device", *known.memory);
  }
  return text;
}

Document strategy_document(const ParallelizeRequest& request, const GraphFile& file,
                           const strategy::Solution& found, const Checks& checks,
                           const ParallelizeAnswer& answer) {
  const Strategy& strategy = found.found.strategy;
  const Evidence& evidence = answer.results[0].evidence;
  const bool certified = evidence.kind == Evidence::Kind::Certificate;
  std::size_t configurations = 0;
  for (const auto& costs : file.graph.costs) configurations += costs.size();
  Document document;
  document.title = "p2-verify parallelize";
  document.line(fmt::format(
      "{} vertices, {} edges, {} configurations{}", file.graph.vertices(), file.graph.edges.size(),
      configurations,
      request.memory_limit
          ? ""
          : fmt::format(", {} of them not dominated", configurations - found.removals.size())));
  document.line("");
  document.add(vertex_table(file, strategy));
  document.line("");
  document.line(fmt::format(
      "total: {}, {}", found.found.cost,
      answer.optimal
          ? std::string("optimal")
          : fmt::format("the best found; a limit was reached, and no strategy costs less "
                        "than {}",
                        found.found.bound)));
  if (file.memory) {
    document.line(fmt::format(
        "bytes on a device: {}{}", strategy::memory_of(*file.memory, strategy),
        request.memory_limit ? fmt::format(", at most {}", *request.memory_limit) : ""));
  }
  for (const strategy::KnownStrategy& known : file.known) {
    document.line(known_text(known, found.found.cost, request.memory_limit));
  }
  document.line(fmt::format("search: {:.3f} s", answer.search_seconds));
  for (const std::string& text : checks.texts) document.line(text);
  if (certified) document.line(certificate_line(evidence));

  const auto data_parallel =
      std::ranges::find(file.known, "data parallelism", &strategy::KnownStrategy::name);
  const std::vector<Cost> edges = edge_costs(file, strategy);
  Json::Array vertices;
  for (std::size_t v = 0; v < file.labels.size(); ++v) {
    vertices.push_back(Json::object({{"name", file.labels[v].name},
                                     {"configuration", file.labels[v].configurations[strategy[v]]},
                                     {"cost", file.graph.costs[v][strategy[v]]},
                                     {"edges", edges[v]}}));
  }
  document.json = Json::object(
      {{"cost", found.found.cost},
       {"optimal", answer.optimal},
       {"bound", found.found.bound},
       {"search_seconds", Json::number(fmt::format("{:.6f}", answer.search_seconds))},
       {"certificate", certified ? Json(evidence.folder) : Json()},
       {"claim_digest", certified ? Json(evidence.claim) : Json()},
       {"data_parallel_cost",
        data_parallel == file.known.end() ? Json() : Json(data_parallel->cost)},
       {"known", Json::array_of(file.known,
                                [](const strategy::KnownStrategy& known) {
                                  return Json::object({{"name", known.name}, {"cost", known.cost}});
                                })},
       {"z3", checks.json("z3")},
       {"cnf", checks.json("cnf")},
       {"memory", file.memory ? Json(strategy::memory_of(*file.memory, strategy)) : Json()},
       {"strategy", Json::array_of(strategy)},
       {"vertices", std::move(vertices)}});
  return document;
}

/// The graph with the strategy in Graphviz's language.
std::string dot_text(const GraphFile& file, const Strategy& strategy) {
  std::string text = "graph strategy {\n  node [shape=box];\n";
  for (std::size_t v = 0; v < file.labels.size(); ++v) {
    const std::string label =
        fmt::format("{}\n{}\n{}", file.labels[v].name, file.labels[v].configurations[strategy[v]],
                    file.graph.costs[v][strategy[v]]);
    text += fmt::format("  v{} [label={}];\n", v, json_string(label));
  }
  for (const strategy::Edge& edge : file.graph.edges) {
    text += fmt::format("  v{} -- v{} [label=\"{}\"];\n", edge.first, edge.second,
                        cost_of(file.graph, edge, strategy));
  }
  return text + "}\n";
}

// The answer.

/// Empty if no strategy fits in memory.
std::optional<strategy::Solution> search(const ParallelizeRequest& request, const GraphFile& file,
                                         const Options& options) {
  const ProgressReporter reporter(options.progress, [&] {
    return fmt::format("parallelize: searching, {} vertices, {} edges", file.graph.vertices(),
                       file.graph.edges.size());
  });
  if (!request.memory_limit) return strategy::find_strategy(file.graph, options.limits);
  auto found = find_fitting(file.graph, *file.memory, static_cast<Cost>(*request.memory_limit),
                            options.limits);
  if (!found) return std::nullopt;
  return strategy::Solution{std::move(*found), {}, {}};
}

CertificateFiles make_certificate(const ParallelizeRequest& request, const strategy::Graph& graph,
                                  const strategy::Solution& found, const Checks& checks,
                                  std::uint64_t seed) {
  Provenance provenance{{{"p2-verify", build_info().version}},
                        {{"file", std::filesystem::path(request.file).filename().string()}},
                        seed};
  const Engines engines = engines_of(request);
  if (!engines.cnf || engines.z3) return strategy_certificate(graph, found, provenance);
  if (checks.refutation.outcome != Outcome::Established) {
    throw LimitReached(LimitReached::Kind::Work, "the clauses were not refuted");
  }
  provenance.tools["CaDiCaL"] = cnf::solver_version();
  return strategy_certificate(graph, found.found, checks.refutation, provenance);
}

ParallelizeAnswer nothing_fits(const Checks& checks) {
  ParallelizeAnswer answer;
  answer.outcome = checks.apply_to(Outcome::Refuted);
  Result& result = answer.results.emplace_back();
  result.subject = "strategy";
  result.outcome = answer.outcome;
  result.engines = checks.answers;
  answer.document.title = "p2-verify parallelize";
  answer.document.line("no strategy needs as little memory on a device");
  for (const std::string& text : checks.texts) answer.document.line(text);
  answer.document.json =
      Json::object({{"cost", Json()}, {"z3", checks.json("z3")}, {"cnf", checks.json("cnf")}});
  return answer;
}

/// The search's optimum, checked by the engines and certified.
ParallelizeAnswer find_strategy(const ParallelizeRequest& request, const StrategyQuestion& problem,
                                const Options& options) {
  const GraphFile& file = problem.file();
  const auto begin = std::chrono::steady_clock::now();
  const std::optional<strategy::Solution> found = search(request, file, options);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  if (!found) return nothing_fits(run_checks(request, file, nullptr, options.limits));
  Checks checks;
  if (found->optimal()) checks = run_checks(request, file, &found->found, options.limits);

  ParallelizeAnswer answer;
  const Strategy& strategy = found->found.strategy;
  answer.cost = found->found.cost;
  answer.bound = found->found.bound;
  answer.optimal = found->optimal();
  answer.strategy = strategy;
  for (std::size_t v = 0; v < strategy.size(); ++v) {
    answer.configurations.push_back(file.labels[v].configurations[strategy[v]]);
  }
  answer.search_seconds = taken.count();
  if (request.collectives) answer.collectives = collective_commands(problem, strategy);
  if (request.dot) answer.dot = dot_text(file, strategy);
  answer.outcome = checks.apply_to(answer.optimal ? Outcome::Established : Outcome::Undecided);
  Result& result = answer.results.emplace_back();
  result.subject = "strategy";
  result.outcome = answer.outcome;
  if (!answer.optimal) {
    result.undecided = Undecided{Undecided::Reason::Limit, fmt::format("cost {}, lower bound {}",
                                                                       *answer.cost, answer.bound)};
  }
  result.engines = checks.answers;
  result.evidence.kind = Evidence::Kind::SolverOnly;
  result.seconds = answer.search_seconds;
  if (request.certify && answer.optimal && answer.outcome != Outcome::Disagreement) {
    const auto make = [&] {
      return make_certificate(request, file.graph, *found, checks, options.seed);
    };
    result.evidence = written_evidence(*request.certify, make, answer.diagnostics);
  }
  answer.document = strategy_document(request, file, *found, checks, answer);
  return answer;
}

}  // namespace

StrategyCheck check_with_z3(const GraphFile& file, std::optional<Cost> memory_limit,
                            const strategy::Found* found, const Limits& limits) {
  z3_encoding::StrategyQuery query;
  query.graph = &file.graph;
  if (memory_limit) {
    query.memory = &*file.memory;
    query.limit = *memory_limit;
  }
  query.below = found == nullptr ? strategy::kCostEnd : found->cost;
  query.limits = limits;
  const z3_encoding::StrategyBound bound = check_bound(query);
  StrategyCheck check{{.engine = "z3", .outcome = bound.outcome}, "z3: undecided"};
  if (bound.outcome == Outcome::Established) {
    check.text = found == nullptr ? "z3: none fits" : "z3: none costs less";
  } else if (bound.outcome == Outcome::Refuted) {
    const Cost cost = cost_of(file.graph, bound.strategy);
    const bool confirmed =
        cost < query.below && (query.memory == nullptr ||
                               strategy::memory_of(*query.memory, bound.strategy) <= query.limit);
    check.text = fmt::format("z3: there is a strategy of cost {}{}", cost,
                             confirmed ? "" : ", which does not satisfy the query");
  }
  return check;
}

StrategyCheck check_with_clauses(const strategy::Graph& graph, const strategy::Found& found,
                                 const Limits& limits, cnf::StrategyRefutation& refutation,
                                 const std::optional<std::string>& refuted_in) {
  refutation = cnf::refute_cheaper_strategy(graph, found.cost, limits, refuted_in);
  StrategyCheck check{{.engine = "cnf", .outcome = refutation.outcome}, "cnf: undecided"};
  if (refutation.outcome == Outcome::Established) {
    check.text = "cnf: none costs less";
  } else if (refutation.outcome == Outcome::Refuted) {
    check.text = fmt::format("cnf: there is a strategy of cost {}",
                             strategy::cost_of(graph, refutation.strategy));
  } else if (refutation.too_large) {
    check.text = fmt::format(
        "cnf: not asked, the graph takes more than {} clauses, or {} cells of tables "
        "to find them",
        cnf::kMaxStrategyClauses, cnf::kMaxJoinAssignments);
  }
  return check;
}

ParallelizeAnswer parallelize(const ParallelizeRequest& request, const Options& options) {
  const StrategyQuestion problem = read_problem(request);
  if (request.paper) return compare_with_paper(request, problem.file(), options);
  engines_of(request);
  if (request.cubes && (!engines_of(request).cnf || request.memory_limit)) {
    throw InputError({"--cubes"}, "are clauses, expected --engine cnf without --memory-limit");
  }
  if (request.memory_limit && !problem.file().memory) {
    throw InputError({"--memory-limit"}, "the file does not say how much memory a vertex needs");
  }
  if (request.memory_limit && request.certify) {
    throw InputError({"--memory-limit"}, "there is no certificate for strategies under a limit");
  }
  return find_strategy(request, problem, options);
}

}  // namespace p2

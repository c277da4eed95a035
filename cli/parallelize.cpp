#include "p2/parallelize.h"

#include <ostream>

#include "cli/command.h"
#include "p2/bytes.h"
#include "p2/error.h"

namespace p2 {
namespace {

std::vector<FlagGroup> parallelize_flags() {
  return {
      {"Parallelization",
       {{"certify", "DIR",
         "write a certificate that no strategy costs less, which p2-check accepts"},
        {"cubes", "DIR",
         "with --engine cnf: write the question whether a strategy costs less as formulas for SAT "
         "solvers, one for each configuration of a vertex; with --certify read their proofs"},
        {"dot", "FILE", "write the graph with the strategy for Graphviz", Flag::Kind::Output},
        {"memory-limit", "BYTES",
         "only strategies that need at most this memory per device (K, M, G, T)"},
        {"engine", "explicit|z3|cnf|all",
         "engines that must also prove optimality (default explicit) "
         "(Z3, or a refutation of clauses); cnf: such a refutation is the certificate, for graphs "
         "that "
         "take at most 2^22 clauses"}}},
      {"Operation graphs",
       {{"use-all-devices", "", "only configurations that use as many devices as they can"},
        {"price", "overlap|placed",
         "overlap (default): parts lie where they overlap most; placed: every part has a device, "
         "and links are shared"},
        {"system", "FILE", "with --price placed: a system instead of the file's levels"},
        {"collectives-out", "FILE",
         "with --price placed: write the synth commands of all all-reduces of the strategy",
         Flag::Kind::Output}}},
      {"The paper's algorithms 1 to 3, for comparison",
       {{"printed", "", "run them on FILE and compare"},
        {"printed-campaign", "N", "run them on so many random small graphs, without FILE"},
        {"ties", "first|last|any|all",
         "which of several least ones is taken: first (default), last, any (see --seed), all: "
         "every way until one fails"},
        {"doubles", "", "add costs up as doubles"},
        {"as-meant", "", "algorithm 3, line 4: \"not started\" where \"empty\" is printed"}}}};
}

PaperAlgorithm paper_algorithm(const CommandLine& line) {
  using Ties = PaperAlgorithm::Ties;
  return {
      line.choice<Ties>(
          "ties",
          {{"first", Ties::First}, {"last", Ties::Last}, {"any", Ties::Any}, {"all", Ties::Every}}),
      line.has("doubles"), line.has("as-meant")};
}

ParallelizeRequest parallelize_request(const CommandLine& line) {
  using Price = ParallelizeRequest::Price;
  const std::vector<std::string> files = line.texts("files");
  if (files.size() != 1) throw InputError({"command line"}, "expected exactly one file");
  ParallelizeRequest request;
  request.file = files[0];
  request.price =
      line.choice<Price>("price", {{"overlap", Price::Overlap}, {"placed", Price::Placed}});
  request.system = line.text("system");
  request.use_all_devices = line.has("use-all-devices");
  request.collectives = line.has("collectives-out");
  if (const auto limit = line.text("memory-limit")) {
    request.memory_limit = parse_bytes("--memory-limit", *limit);
  }
  request.engine = line.text("engine").value_or("explicit");
  request.certify = line.text("certify");
  request.cubes = line.text("cubes");
  request.dot = line.has("dot");
  if (line.has("printed")) request.paper = paper_algorithm(line);
  return request;
}

}  // namespace

int run_parallelize(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(
      "usage: p2-verify parallelize FILE [OPTION…]\n"
      "Chooses a configuration for every vertex of an operation graph, such that all costs add up\n"
      "to the least there is. The search runs in one thread.",
      parallelize_flags(), arguments, "files");
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const CommonOptions common = line.common();
  const Options options = options_of(common, err);
  if (line.has("printed-campaign")) {
    const PaperCampaignRequest request{line.integer("printed-campaign", 1, 100'000'000, 1),
                                       paper_algorithm(line)};
    return print_answer(run_paper_campaign(request, options), common, out, err);
  }
  const ParallelizeAnswer answer = parallelize(parallelize_request(line), options);
  const auto collectives = line.text("collectives-out");
  if (collectives && answer.cost) write_file(*collectives, answer.collectives);
  const auto dot = line.text("dot");
  if (dot && answer.cost) write_file(*dot, answer.dot);
  return print_answer(answer, common, out, err);
}

}  // namespace p2

#include <chrono>
#include <filesystem>
#include <ostream>
#include <stdexcept>

#include <fmt/format.h>

#include "build_facts.h"
#include "cli/byte_size.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "cli/strategy_printed.h"
#include "cli/strategy_problem.h"
#include "cli/strategy_report.h"
#include "proofs/certificate/strategy_certificate.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

po::options_description parallelize_flags() {
  po::options_description flags("Parallelization");
  flags.add_options()  //
      ("certify", po::value<std::string>()->value_name("DIR"),
       "write a certificate that no strategy costs less, which p2-check accepts")  //
      ("dot", po::value<std::string>()->value_name("FILE"),
       "write the graph with the strategy for Graphviz")  //
      ("memory-limit", po::value<std::string>()->value_name("BYTES"),
       "only strategies that need at most so much on a device (K, M, G, T)");
  flags.add(problem_flags()).add(printed_flags());
  return flags;
}

std::optional<strategy::Cost> memory_limit(const CommandLine& line,
                                           const strategy::GraphFile& file) {
  const auto limit = line.text("memory-limit");
  if (!limit) return std::nullopt;
  if (!file.memory) {
    throw InputError({"--memory-limit"}, "the file does not say how much memory a vertex needs");
  }
  if (line.has("certify")) {
    throw InputError({"--memory-limit"}, "there is no certificate for strategies under a limit");
  }
  return static_cast<strategy::Cost>(parse_bytes("--memory-limit", *limit));
}

/// Nothing where no strategy needs as little memory as asked for.
std::optional<StrategyAnswer> answer_of(const strategy::GraphFile& file, const CommandLine& line,
                                        std::ostream& err) {
  const CommonOptions common = line.common();
  const ProgressLine progress(common.progress, err, [&] {
    return fmt::format("parallelize: searching, {} vertices, {} edges", file.graph.vertices(),
                       file.graph.edges.size());
  });
  const auto limit = memory_limit(line, file);
  const auto begin = std::chrono::steady_clock::now();
  StrategyAnswer answer;
  if (limit) {
    auto found = find_fitting(file.graph, *file.memory, *limit, common.limits);
    if (!found) return std::nullopt;
    answer.answer.found = std::move(*found);
    answer.memory_limit = limit;
  } else {
    answer.answer = strategy::find_strategy(file.graph, common.limits);
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  answer.search_seconds = taken.count();
  return answer;
}

/// False, and the reason on `err`, where p2-check could not check the certificate.
bool certify(const strategy::Graph& graph, const std::string& folder, const Provenance& provenance,
             StrategyAnswer& answer, std::ostream& err) {
  try {
    write_folder(folder, strategy_certificate(graph, answer.answer, provenance));
    answer.certificate = folder;
    return true;
  } catch (const std::length_error& error) {
    err << "p2-verify: " << folder << ": " << error.what() << "\n";
    return false;
  }
}

int print_nothing_fits(const CommonOptions& common, std::ostream& out) {
  Output output(common.output, out);
  output.stream() << (common.format == Format::Json
                          ? "{\"cost\":null}\n"
                          : "no strategy needs as little memory on a device\n");
  output.finish();
  return kRefuted;
}

}  // namespace

int run_parallelize(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(
      "usage: p2-verify parallelize FILE.json [OPTION…]\n"
      "Chooses a configuration for every vertex of an operation graph, such that all costs add up\n"
      "to the least there is. The search runs in one thread.",
      parallelize_flags(), arguments, "files");
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  if (line.has("printed-campaign")) return run_printed_campaign(line, out);
  const CommonOptions common = line.common();
  const std::vector<std::string> files = line.texts("files");
  if (files.size() != 1) throw InputError({"command line"}, "expected exactly one file");
  const StrategyProblem problem = strategy_problem(line, files[0]);
  const strategy::GraphFile& file = problem.file();
  if (line.has("printed")) return run_printed(line, file, out);
  std::optional<StrategyAnswer> found = answer_of(file, line, err);
  if (!found) return print_nothing_fits(common, out);
  StrategyAnswer& answer = *found;
  bool certified = true;
  if (const auto folder = line.text("certify"); folder && answer.answer.optimal()) {
    const Provenance provenance{{{"p2-verify", P2_VERSION}},
                                {{"file", std::filesystem::path(files[0]).filename().string()}},
                                common.seed};
    certified = certify(file.graph, *folder, provenance, answer, err);
  }
  if (const auto target = line.text("collectives-out")) {
    write_collectives(problem, answer.answer.found.strategy, *target, out);
  }
  if (const auto target = line.text("dot")) {
    Output dot(target, out);
    print_dot(file, answer.answer.found.strategy, dot.stream());
    dot.finish();
  }
  Output output(common.output, out);
  (common.format == Format::Json ? print_json : print_text)(file, answer, output.stream());
  output.finish();
  return answer.answer.optimal() && certified ? kEstablished : kUndecided;
}

}  // namespace p2

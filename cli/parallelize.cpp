#include <chrono>
#include <filesystem>
#include <ostream>
#include <stdexcept>

#include <fmt/format.h>

#include "build_facts.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "cli/strategy_printed.h"
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
       "write the graph with the strategy for Graphviz");
  flags.add(printed_flags());
  return flags;
}

StrategyAnswer answer_of(const strategy::GraphFile& file, const CommonOptions& common,
                         std::ostream& err) {
  const ProgressLine line(common.progress, err, [&] {
    return fmt::format("parallelize: searching, {} vertices, {} edges", file.graph.vertices(),
                       file.graph.edges.size());
  });
  const auto begin = std::chrono::steady_clock::now();
  StrategyAnswer answer{strategy::find_strategy(file.graph, common.limits), 0, {}};
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
  const strategy::GraphFile file = strategy::read_graph(files[0], read_file(files[0]));
  if (line.has("printed")) return run_printed(line, file, out);
  StrategyAnswer answer = answer_of(file, common, err);
  bool certified = true;
  if (const auto folder = line.text("certify"); folder && answer.answer.optimal()) {
    const Provenance provenance{{{"p2-verify", P2_VERSION}},
                                {{"file", std::filesystem::path(files[0]).filename().string()}},
                                common.seed};
    certified = certify(file.graph, *folder, provenance, answer, err);
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

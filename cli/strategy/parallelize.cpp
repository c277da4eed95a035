#include <chrono>
#include <filesystem>
#include <ostream>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "cli/byte_size.h"
#include "cli/certificate_writing.h"
#include "cli/commands.h"
#include "proofs/api/engines.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "cli/strategy/strategy_printed.h"
#include "cli/strategy/strategy_problem.h"
#include "cli/strategy/strategy_report.h"
#include "encodings/cnf/synthesis.h"
#include "proofs/certificate/strategy_certificate.h"
#include "p2/version.h"

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
       "only strategies that need at most so much on a device (K, M, G, T)")  //
      ("engine", po::value<std::string>()->value_name("NAME"),
       "explicit (default), z3, cnf or all: whether Z3, or a refutation of clauses, has to say, "
       "too, that none costs less; cnf: such a refutation is the certificate, for graphs that take "
       "at most 2^22 clauses");
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
                                        const CommonOptions& common, std::ostream& err) {
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

Engines engines_asked(const CommandLine& line) {
  const Engines engines = engines_called(line.text("engine").value_or("explicit"));
  if (engines.cnf && !engines.z3 && line.has("memory-limit")) {
    throw InputError({"--engine"}, "cnf knows no memory limit, expected z3, all or explicit");
  }
  return engines;
}

/// Of the clauses where they alone were asked.
CertificateFiles certificate_of(const strategy::Graph& graph, const CommandLine& line,
                                Provenance provenance, const StrategyAnswer& answer) {
  const Engines engines = engines_asked(line);
  if (!engines.cnf || engines.z3) return strategy_certificate(graph, answer.answer, provenance);
  const cnf::CheaperStrategy& refutation = answer.checks.refutation;
  if (refutation.kind != cnf::CheaperStrategy::Kind::None) {
    throw std::length_error("the clauses were not refuted");
  }
  provenance.tools["CaDiCaL"] = cnf::solver_version();
  return strategy_certificate(graph, answer.answer.found, refutation, provenance);
}

/// kEstablished; or another code, and the reason on `err`, where there is no certificate.
ExitCode certify(const strategy::Graph& graph, const CommandLine& line, const std::string& path,
                 StrategyAnswer& answer, std::ostream& err) {
  const std::string folder = *line.text("certify");
  const Provenance provenance{{{"p2-verify", build_info().version}},
                              {{"file", std::filesystem::path(path).filename().string()}},
                              line.common().seed};
  const auto write = [&] {
    write_folder(folder, certificate_of(graph, line, provenance, answer));
    answer.certificate = folder;
  };
  return code_of_writing(folder, write, err);
}

int print_nothing_fits(const CommonOptions& common, const CrossChecks& checks, std::ostream& out) {
  Output output(common.output, out);
  if (common.format == Format::Json) {
    fmt::print(output.stream(), "{{\"cost\":null,\"z3\":{},\"cnf\":{}}}\n", checks.z3.json(),
               checks.cnf.json());
  } else {
    fmt::print(output.stream(), "no strategy needs as little memory on a device\n{}",
               checks.words());
  }
  output.finish();
  if (checks.some(Agreement::Differs)) return kDisagreement;
  return checks.some(Agreement::Undecided) ? kUndecided : kRefuted;
}

/// Solvers are asked about strategies that are said to be optimal, and where none is said to fit.
CrossChecks cross_check(const strategy::GraphFile& file, const CommandLine& line,
                        const Engines& engines, const Limits& limits,
                        const std::optional<StrategyAnswer>& answer) {
  if (answer && !answer->answer.optimal()) return {};
  return ask(engines, file, memory_limit(line, file), answer ? &answer->answer.found : nullptr,
             limits);
}

/// What the flags want beside the answer; not kEstablished where a certificate was wanted and is
/// none.
ExitCode write_files(const CommandLine& line, const std::string& path,
                     const StrategyProblem& problem, StrategyAnswer& answer, std::ostream& out,
                     std::ostream& err) {
  const strategy::Strategy& strategy = answer.answer.found.strategy;
  if (const auto target = line.text("collectives-out")) {
    write_collectives(problem, strategy, *target, out);
  }
  if (const auto target = line.text("dot")) {
    Output dot(target, out);
    print_dot(problem.file(), strategy, dot.stream());
    dot.finish();
  }
  if (!line.has("certify") || !answer.answer.optimal()) return kEstablished;
  if (answer.checks.some(Agreement::Differs)) return kDisagreement;
  return certify(problem.file().graph, line, path, answer, err);
}

int exit_code(const StrategyAnswer& answer, ExitCode certified) {
  if (answer.checks.some(Agreement::Differs)) return kDisagreement;
  if (certified != kEstablished) return certified;
  const bool settled = answer.answer.optimal() && !answer.checks.some(Agreement::Undecided);
  return settled ? kEstablished : kUndecided;
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
  const Engines engines = engines_asked(line);
  std::optional<StrategyAnswer> found = answer_of(file, line, common, err);
  const CrossChecks checks = cross_check(file, line, engines, common.limits, found);
  if (!found) return print_nothing_fits(common, checks, out);
  found->checks = checks;
  const ExitCode certified = write_files(line, files[0], problem, *found, out, err);
  Output output(common.output, out);
  (common.format == Format::Json ? print_json : print_text)(file, *found, output.stream());
  output.finish();
  return exit_code(*found, certified);
}

}  // namespace p2

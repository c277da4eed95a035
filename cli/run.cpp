#include "cli/command.h"

#include <algorithm>
#include <ostream>

namespace p2 {
namespace {

FlagGroup run_flags() {
  return {
      "Run",
      {{"size", "N", "most steps of a program of an instance (default 5)"},
       {"backend", "in-process|mpi|nccl", "what runs them (default in-process)"},
       {"bytes", "BYTES", "per device: 4096, 1K, 64M, 1G (default 1M)"},
       {"sizes", "BYTES:BYTES[:N]",
        "all sizes from the first to the second, each N (default 2) times the last"},
       {"type", "float32|float64|int32|bfloat16", "of an element (default float32)"},
       {"inputs", "integers|reals",
        "integers (default): sums are exact; or reals: from -1 to 1, right within n*eps*sum|x|"},
       {"iterations", "N", "timed runs (default 5)"},
       {"warmup", "N", "runs before them (default 1)"},
       {"check", "steps|result|none",
        "one more run: every element after all steps (steps, default), at the end (result), or "
        "none"},
       {"top", "N", "one table of the N fastest programs instead of all their steps"},
       {"force", "", "run programs that the rules refuse, too"},
       {"dry-run", "",
        "run nothing: show the calls of each class of ranks, groups, bytes, buffers and memory"},
       {"record", "DIR", "write for every rank the calls that it issued in the checked run"},
       {"fault", "FAULT", "die:RANK:STEP or hang:RANK:STEP, to see that the run ends"}}};
}

RunRequest program_request(const CommandLine& line, const Arguments& arguments) {
  RunRequest request = run_request(line);
  request.files = line.texts("files");
  const bool reads_stdin = std::find(arguments.begin(), arguments.end(), "-") != arguments.end();
  if (reads_stdin && request.backend != RunBackend::InProcess) {
    throw InputError({"-"}, "every process reads its input, expected a file");
  }
  request.instance = line.instance_spec(&request.files);
  if (line.has("size")) {
    request.max_steps = static_cast<std::uint32_t>(line.integer("size", 0, 32, 5));
  }
  if (line.has("top")) request.top = line.integer("top", 1, 100'000, 10);
  request.bytes = line.text("bytes");
  request.sizes = line.text("sizes");
  request.type = line.text("type");
  request.inputs = line.text("inputs");
  request.check = line.text("check");
  request.record = line.text("record");
  request.fault = line.text("fault");
  request.dry_run = line.has("dry-run");
  request.command = {"run"};
  request.command.insert(request.command.end(), arguments.begin(), arguments.end());
  return request;
}

}  // namespace

RunRequest run_request(const CommandLine& line) {
  RunRequest request;
  request.backend = line.choice<RunBackend>("backend", {{"in-process", RunBackend::InProcess},
                                                        {"mpi", RunBackend::Mpi},
                                                        {"nccl", RunBackend::Nccl}});
  request.iterations = static_cast<unsigned>(line.integer("iterations", 1, 1'000'000, 5));
  request.warmup = static_cast<unsigned>(line.integer("warmup", 0, 1'000'000, 1));
  request.force = line.has("force");
  return request;
}

int print_run(const RunAnswer& answer, const CommonOptions& common, std::ostream& out,
              std::ostream& err) {
  if (answer.reports) return answer.finish(print_answer(answer, common, out, err));
  for (const Diagnostic& each : answer.diagnostics)
    err << "p2-verify: " << printable(each.message) << "\n";
  return answer.finish(answer.rank_exit_code.value_or(exit_code_of(answer)));
}

int run_run(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(
      "usage: p2-verify run FILE… [OPTION…]\n"
      "       p2-verify run --hierarchy SIZES --axes SIZES --reduce AXES [OPTION…]\n"
      "       p2-verify run --dry-run FILE… [OPTION…]\n"
      "Runs programs, or plans of reshardings, on real data, checks every element and measures\n"
      "every step. One-sided plans run with threads on atomic memory: --iterations runs in "
      "program\n"
      "order and as many on a memory that is as late as it may be.",
      {system_flag_group(), reduction_flag_group(), terms_flag_group(), run_flags()}, arguments,
      "files");
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const CommonOptions common = line.common();
  const RunAnswer answer = run(program_request(line, arguments), options_of(common, err));
  return print_run(answer, common, out, err);
}

}  // namespace p2

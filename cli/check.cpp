#include "p2/check.h"

#include <filesystem>
#include <ostream>

#include "cli/command.h"

namespace p2 {
namespace {

constexpr std::uint64_t kMaxDevices = 65536;

std::vector<FlagGroup> check_flag_groups() {
  return {
      system_flag_group(),
      reduction_flag_group(),
      terms_flag_group(),
      {"Check",
       {{"engine", "auto|explicit|z3|cnf|symbolic|interpreter|all",
         "engines that decide (default auto: explicit, or of programs of many devices one whose "
         "cost does not depend on sizes): of programs also z3, cnf, or all and the reference "
         "interpreter; of two modules symbolic, interpreter or z3 alone, or all"},
        {"all-sizes", "",
         "of programs also whether they are valid for every size of at least 2; sizes that are * "
         "ask this of their factors"},
        {"certify", "DIR",
         "write a certificate that p2-check accepts; of several files one each, inside DIR"},
        {"smt2", "FILE", "write the query whether the one program is invalid as SMT-LIB 2",
         Flag::Kind::Output},
        {"repair", "FILE",
         "one one-sided plan: write it with the fewest changes that make it valid",
         Flag::Kind::Output},
        {"explain", "",
         "draw the device states after every step; of two modules, which devices' pieces make up "
         "an element of an output"},
        {"baseline", "FILE", "known failures: only others fail the run, and fixed ones are named"},
        {"update-baseline", "", "write the failures of this run to the file of --baseline"},
        {"cache", "DIR",
         "keep evidence there, and reuse answers whose evidence is accepted again"}}},
      {"Modules of XLA and StableHLO",
       {{"before", "FILE",
         "with --after: whether two modules have the same outputs on every device"},
        {"after", "FILE", "the rewritten module"},
        {"relate", "FILE",
         "the tile of each tensor of --before, which is unpartitioned, that each device holds in "
         "--after (docs/partition.md; default: from the shardings of the modules); without "
         "--after, FILE also names the program of each device"},
        {"dump", "DIR",
         "all modules of a folder of --xla_dump_to, pass by pass: which pass breaks one first"},
        {"numbers", "real|reassociated|bitwise",
         "in which sense two modules have to be equal: as real numbers (default), with the same "
         "floating-point operations but sums in any order, or with the same in the same order"},
        {"order", "",
         "floating-point sums also have to be added in the same order, all else is compared as "
         "real numbers; not with --numbers reassociated or bitwise"},
        {"replicated-inputs", "",
         "of two partitioned modules: inputs are the same on all devices where --before says so, "
         "by sharding={replicated} or parameter_replication={true}, as XLA's passes take it; "
         "without this every device has inputs of its own"},
        {"reduces", "AXES",
         "whether a module is the AllReduce (or --goal) over these axes; without --axes all "
         "devices are axis 0"},
        {"replicas", "N", "how many replicas run (default: as the module says)"},
        {"partitions", "N", "how many partitions run (default: as the module says)"}}},
      {"Campaigns", campaign_flags()}};
}

CheckRequest check_request(const CommandLine& line) {
  CheckRequest request;
  request.files = line.texts("files");
  request.instance = line.instance_spec(&request.files);
  request.before = line.text("before");
  request.after = line.text("after");
  request.relate = line.text("relate");
  request.dump = line.text("dump");
  request.ordered = line.has("order");
  request.replicated_inputs = line.has("replicated-inputs");
  if (const auto numbers = line.text("numbers")) request.numbers = float_equality_called(*numbers);
  request.reduces = line.text("reduces");
  if (line.has("replicas")) request.replicas = line.integer("replicas", 1, kMaxDevices, 1);
  if (line.has("partitions")) request.partitions = line.integer("partitions", 1, kMaxDevices, 1);
  if (const auto engine = line.text("engine")) request.engine = *engine;
  request.certify = line.text("certify");
  request.all_sizes = line.has("all-sizes");
  request.explain = line.has("explain");
  request.page = line.text("format") == "html";
  request.smt2 = line.has("smt2");
  request.repair = line.has("repair");
  request.baseline = line.text("baseline");
  request.update_baseline = line.has("update-baseline");
  request.cache = line.text("cache");
  request.part = line.campaign_part();
  return request;
}

/// Throws InputError where the output is a file of the dump.
void refuse_overwriting_inside(const std::string& folder, const std::string& written) {
  std::error_code ignored;
  std::vector<FileReport> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    files.push_back({entry.path().string(), {}, {}, 0});
  }
  refuse_overwriting("output", written, files);
}

}  // namespace

int run_check(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(
      "usage: p2-verify check FILE… [OPTION…]\n"
      "       p2-verify check --before FILE --after FILE [OPTION…]\n"
      "       p2-verify check --dump DIR [OPTION…]\n"
      "Checks programs given as JSON or in .p2 notation, algorithms given as MSCCL XML, one-sided\n"
      "plans (execution plans of MSCCL++, or the text format), modules of XLA and StableHLO, "
      "plans\n"
      "of reshardings (reshard --plan-out), definitions of collectives, system files, operation\n"
      "graphs, and records of runs: flight recorder dumps of all ranks, pipeline schedules (CSV "
      "of\n"
      "torch.distributed.pipelining) and transfer plans (docs/records.md). A program that names\n"
      "no instance has the one given here; --dialect overrides the dialect of a file. In a FILE "
      "in\n"
      "quotes * ? and [ ] match inside a name, ** any folders. The exit code is that of the worst\n"
      "file: 4 engines disagree, 5 tool failure, 2 bad input, 1 refuted, 3 undecided, 0.",
      check_flag_groups(), arguments, "files", Formats::Reports);
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const CommonOptions common = line.common();
  const CheckRequest request = check_request(line);
  const bool drawn = common.format == Format::Text || common.format == Format::Html;
  if (request.explain && !drawn) {
    throw InputError({"--explain"}, "draws text, expected --format text or html");
  }
  const CheckAnswer answer = check(request, options_of(common, err));
  if (!answer.is_leader) return kEstablished;
  if (common.output) refuse_overwriting("output", *common.output, answer.document.reports);
  if (common.output && request.dump) refuse_overwriting_inside(*request.dump, *common.output);
  if (answer.smt2) write_file(*line.text("smt2"), *answer.smt2);
  if (answer.repaired) write_file(*line.text("repair"), *answer.repaired);
  if (answer.updated_baseline) write_file(*request.baseline, *answer.updated_baseline);
  return print_answer(answer, common, out, err);
}

}  // namespace p2

#include "p2/synthesize.h"

#include <ostream>

#include "cli/command.h"

namespace p2 {
namespace {

constexpr std::uint64_t kMaxSize = 32;

FlagGroup synthesis_flag_group() {
  return {
      "Synthesis",
      {{"size", "N", "most steps of a program (default 5)"},
       {"count", "", "print the numbers of programs only"},
       {"engine", "auto|explicit|z3|cnf|all",
        "engines that enumerate the programs (default auto: one whose cost does not depend on "
        "sizes where it is proved to answer, else explicit)"},
       {"verify", "",
        "like --engine all: prove that every list is exactly the set of valid programs"},
       {"certify", "DIR",
        "prove that every list is complete and write a certificate that p2-check accepts; of "
        "several placements one each, inside DIR, named by its contents"},
       {"cubes", "DIR",
        "write the question whether the list of one placement is complete as DIMACS, a formula for "
        "each first step, for other SAT solvers; with --certify: make the certificate of their "
        "proofs (LRAT or DRAT) in DIR"},
       {"all-sizes", "",
        "also decide whether the programs are the same for every size of at least 2; sizes that "
        "are * in --hierarchy, --axes or --placement ask this of their factors"},
       {"exists", "NAME",
        "ask instead whether there is a program with a collective or a form (Broadcast, "
        "Master) or, as no-AllReduce, without; exit 1 where a placement has none"},
       {"smt2", "FILE",
        "write as SMT-LIB 2 whether one placement has programs of exactly --size steps other "
        "than those listed",
        Flag::Kind::Output},
       {"explain", "", "draw the device states after every step of every program"}}};
}

SynthesizeRequest synthesize_request(const CommandLine& line, const CommonOptions& common) {
  SynthesizeRequest request;
  request.instance = line.instance_spec();
  request.more_instances = line.more_instance_specs(request.instance);
  request.part = line.campaign_part();
  request.size = static_cast<std::uint32_t>(line.integer("size", 0, kMaxSize, request.size));
  if (const auto engine = line.text("engine")) request.engine = *engine;
  if (line.has("verify")) request.engine = "all";
  request.certify = line.text("certify");
  request.cubes = line.text("cubes");
  request.exists = line.text("exists");
  request.smt2 = line.has("smt2");
  request.all_sizes = line.has("all-sizes");
  request.count_only = line.has("count");
  request.explain = line.has("explain");
  request.text = common.format != Format::Json;
  request.json = common.format == Format::Json;
  if (request.explain && common.format == Format::Json) {
    throw InputError({"--explain"}, "draws text, expected --format text");
  }
  if (request.exists && line.has("verify")) {
    throw InputError({"--exists"}, "asks a question of its own, expected no --verify");
  }
  return request;
}

}  // namespace

int run_synth(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(
      "usage: p2-verify synth --hierarchy SIZES --axes SIZES --reduce AXES [OPTION…]\n"
      "Lists every valid reduction program of every placement, shortest first.",
      {systems_flag_group(),
       reduction_flag_group(),
       terms_flag_group(),
       synthesis_flag_group(),
       {"Campaigns", campaign_flags()}},
      arguments);
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const CommonOptions common = line.common();
  SynthesizeAnswer answer = synthesize(synthesize_request(line, common), options_of(common, err));
  if (!answer.is_leader) return kEstablished;
  if (answer.smt2) {
    try {
      write_file(*line.text("smt2"), *answer.smt2);
    } catch (const InputError& error) {
      answer.diagnostics.push_back({Diagnostic::Kind::BadInput, error.what()});
    }
  }
  return print_answer(answer, common, out, err);
}

}  // namespace p2

#include "cli/synth/synth_request.h"

#include <fmt/format.h>

#include "cli/instance_options.h"
#include "cli/terms_options.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

constexpr std::uint64_t kLargestSize = 32;

}  // namespace

po::options_description synth_flags() {
  po::options_description flags("Synthesis");
  flags.add_options()  //
      ("size", po::value<std::string>()->value_name("N"),
       "most steps of a program (default 5)")          //
      ("count", "print the numbers of programs only")  //
      ("engine", po::value<std::string>()->value_name("NAME"),
       "explicit (default), z3, cnf or all: who has to find the programs")  //
      ("verify",
       "like --engine all: prove that every list is exactly the set of valid programs")  //
      ("certify", po::value<std::string>()->value_name("DIR"),
       "prove that every list is complete and write a certificate that p2-check accepts; of "
       "several "
       "placements one each, inside DIR")  //
      ("exists", po::value<std::string>()->value_name("WHAT"),
       "ask instead whether there is a program with a collective or a form (Broadcast, Master) or, "
       "as no-AllReduce, without; exit 1 where a placement has none")  //
      ("smt2", po::value<std::string>()->value_name("FILE"),
       "write as SMT-LIB 2 whether one placement has programs of exactly --size steps other than "
       "those listed")  //
      ("explain", "draw the device states after every step of every program");
  return flags;
}

SynthRequest synth_request(const CommandLine& line, const CommonOptions& common) {
  SynthRequest request{required_instance(line, true),
                       {},
                       line.has("count"),
                       line.has("explain"),
                       line.text("smt2"),
                       line.text("certify"),
                       common.seed,
                       {}};
  if (request.explain && common.format == Format::Json) {
    throw InputError({"--explain"}, "draws for people, expected --format text");
  }
  if (const auto engine = line.text("engine")) request.engines = engines_called(*engine);
  if (line.has("verify")) request.engines = engines_called("all");
  request.options.dialect = request.given.dialect;
  request.options.size = static_cast<std::uint32_t>(line.integer("size", 0, kLargestSize, 5));
  if (request.smt2 && request.options.size == 0) {
    throw InputError({"--smt2"}, "asks for programs of --size steps, expected at least 1");
  }
  request.options.jobs = common.jobs;
  request.options.limits = common.limits;
  return request;
}

void settle_terms(const CommandLine& line, SynthRequest& request) {
  request.options.terms = request.given.terms;
  request.engines = on_terms(std::move(request.engines), request.options.terms);
  if (request.certificates) require_paper("--certify", request.options.terms);
  const auto wanted = line.text("exists");
  if (!wanted) return;
  request.wanted = wanted_property(*wanted, request.options.terms.collectives);
  for (const char* other : {"certify", "smt2", "explain", "verify", "count"}) {
    if (line.has(other)) {
      throw InputError({"--exists"},
                       fmt::format("asks a question of its own, expected no --{}", other));
    }
  }
}

}  // namespace p2

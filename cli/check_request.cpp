#include "cli/check_request.h"

#include "cli/instance_options.h"
#include "cli/terms_options.h"

namespace p2 {

namespace po = boost::program_options;

namespace {

constexpr std::uint64_t kMostDevices = 65536;

po::options_description module_flags() {
  po::options_description flags("Modules of XLA and StableHLO");
  flags.add_options()  //
      ("before", po::value<std::string>()->value_name("FILE"),
       "with --after: whether two modules have the same outputs on every device")      //
      ("after", po::value<std::string>()->value_name("FILE"), "the rewritten module")  //
      ("order", "floating-point sums also have to be added in the same order")         //
      ("reduces", po::value<std::string>()->value_name("AXES"),
       "whether a module is the AllReduce (or --goal) over these axes; without --axes all devices "
       "are axis 0")  //
      ("replicas", po::value<std::string>()->value_name("N"),
       "how many replicas run (default: as the module says)")  //
      ("partitions", po::value<std::string>()->value_name("N"),
       "how many partitions run (default: as the module says)");
  return flags;
}

HloRequest module_request(const CommandLine& line) {
  HloRequest request{line.text("before"), line.text("after"), line.text("reduces"), {}};
  request.question.ordered = line.has("order");
  const auto count = [&](const char* flag, std::optional<std::int64_t>& number) {
    if (line.has(flag)) number = static_cast<std::int64_t>(line.integer(flag, 1, kMostDevices, 1));
  };
  count("replicas", request.question.devices.replicas);
  count("partitions", request.question.devices.partitions);
  if (request.before.has_value() != request.after.has_value()) {
    throw InputError({request.before ? "--before" : "--after"},
                     "is half of a comparison, expected --before and --after");
  }
  if (request.before && request.reduces) {
    throw InputError({"--reduces"}, "is for one module, expected no --before and --after");
  }
  return request;
}

}  // namespace

po::options_description check_flags() {
  po::options_description flags("Check");
  flags.add_options()  //
      ("engine", po::value<std::string>()->value_name("NAME"),
       "explicit (default), z3, cnf or all: who judges")  //
      ("certify", po::value<std::string>()->value_name("DIR"),
       "write a certificate that p2-check accepts; of several files one each, inside DIR")  //
      ("smt2", po::value<std::string>()->value_name("OUT"),
       "write as SMT-LIB 2 whether the one program given is invalid")  //
      ("explain", "draw the device states after every step");
  po::options_description all = instance_flags();
  all.add(terms_flags()).add(flags).add(module_flags());
  return all;
}

CheckRequest check_request(const CommandLine& line, z3_encoding::Definitions z3_definitions) {
  CheckRequest request{line.texts("files"),  given_instance(line), line.common(),     {},
                       line.text("certify"), line.has("explain"),  line.text("smt2"), {}};
  request.hlo = module_request(line);
  for (const char* flag : {"certify", "explain", "smt2", "goal", "collectives"}) {
    if (line.has(flag)) request.flags_for_programs.push_back(flag);
  }
  if (const auto engine = line.text("engine")) request.engines = engines_called(*engine);
  request.engines.z3_definitions.assign(z3_definitions.begin(), z3_definitions.end());
  if (request.explain && request.common.format == Format::Json) {
    throw InputError({"--explain"}, "draws for people, expected --format text");
  }
  return request;
}

}  // namespace p2

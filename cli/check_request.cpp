#include "cli/check_request.h"

#include "cli/instance_options.h"
#include "cli/terms_options.h"

namespace p2 {

namespace po = boost::program_options;

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
  all.add(terms_flags()).add(flags);
  return all;
}

CheckRequest check_request(const CommandLine& line, z3_encoding::Definitions z3_definitions) {
  CheckRequest request{line.texts("files"),  given_instance(line), line.common(),     {},
                       line.text("certify"), line.has("explain"),  line.text("smt2"), {}};
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

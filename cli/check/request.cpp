#include "cli/check/request.h"

#include "cli/instance_options.h"
#include "cli/terms_options.h"

namespace p2 {

namespace po = boost::program_options;

po::options_description check_flags() {
  po::options_description flags("Check");
  flags.add_options()  //
      ("engine", po::value<std::string>()->value_name("explicit|z3|cnf|all"),
       "who judges (default: explicit)")  //
      ("certify", po::value<std::string>()->value_name("DIR"),
       "write a certificate that p2-check accepts; of several files one each, inside DIR")  //
      ("smt2", po::value<std::string>()->value_name("OUT"),
       "write as SMT-LIB 2 whether the one program given is invalid")  //
      ("explain", "draw the device states after every step")           //
      ("baseline", po::value<std::string>()->value_name("FILE"),
       "failures that are known: only others let the run fail, and fixed ones are named")  //
      ("update-baseline", "write the failures of this run to the file of --baseline")      //
      ("cache", po::value<std::string>()->value_name("DIR"),
       "keep evidence there and take answers from it, each after checking its evidence again");
  po::options_description all = instance_flags();
  all.add(terms_flags()).add(flags).add(module_flags());
  return all;
}

namespace {

std::string options_text(const CommandLine& line) {
  std::string text;
  for (const char* flag : {"engine", "dialect", "hierarchy", "system", "axes", "reduce",
                           "placement", "synthesis-hierarchy", "goal"}) {
    if (const auto value = line.text(flag)) text += std::string(flag) + "=" + *value + "\n";
  }
  return text;
}

void require_sensible(const CheckRequest& request) {
  if (request.explain && request.common.format != Format::Text) {
    throw InputError({"--explain"}, "draws for people, expected --format text");
  }
  if (request.update_baseline && !request.baseline) {
    throw InputError({"--update-baseline"}, "nothing says which file, expected --baseline FILE");
  }
}

}  // namespace

CheckRequest check_request(const CommandLine& line, z3_encoding::Definitions z3_definitions) {
  CheckRequest request;
  request.files = line.texts("files");
  request.given = given_instance(line);
  request.common = line.common();
  request.hlo = module_request(line);
  request.certificates = line.text("certify");
  request.explain = line.has("explain");
  request.smt2 = line.text("smt2");
  request.baseline = line.text("baseline");
  request.update_baseline = line.has("update-baseline");
  request.cache = line.text("cache");
  request.cache_options = options_text(line);
  for (const char* flag : {"certify", "explain", "smt2", "goal", "collectives"}) {
    if (line.has(flag)) request.flags_for_programs.push_back(flag);
  }
  if (const auto engine = line.text("engine")) request.engines = engines_called(*engine);
  request.engines.z3_definitions.assign(z3_definitions.begin(), z3_definitions.end());
  require_sensible(request);
  return request;
}

}  // namespace p2

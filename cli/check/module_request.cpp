#include "cli/check/module_request.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

constexpr std::uint64_t kMostDevices = 65536;

}  // namespace

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

}  // namespace p2

#include "cli/prove/prove_request.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/instance_options.h"
#include "proofs/claims/schedule_claim.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

constexpr std::uint32_t kMostDevices = 64;
constexpr std::uint64_t kLargestSize = 32;
constexpr std::size_t kMostPlacements = 10'000;

std::vector<const claims::Claim*> claims_of(const CommandLine& line) {
  std::vector<const claims::Claim*> chosen;
  bool only_systems = true;
  for (const std::string& name : line.texts("claims")) {
    if (claims::schedule_claim_called(name) != nullptr) {
      only_systems = false;
      continue;
    }
    const claims::Claim* claim = claims::claim_called(name);
    if (claim == nullptr) {
      throw InputError({"command line"},
                       "unknown claim '" + name + "', expected one that --list names");
    }
    if (std::find(chosen.begin(), chosen.end(), claim) == chosen.end()) chosen.push_back(claim);
  }
  if (line.has("all")) {
    if (!chosen.empty() || !only_systems) {
      throw InputError({"--all"}, "given beside claims, expected one of the two");
    }
    for (const claims::Claim& claim : claims::registry()) chosen.push_back(&claim);
  }
  if (chosen.empty() && only_systems) {
    throw InputError({"command line"}, "no claim, expected at least one, --all or --list");
  }
  return chosen;
}

std::optional<HierarchyKind> kind_of(const CommandLine& line, const std::string& flag) {
  const auto text = line.text(flag);
  if (!text) return std::nullopt;
  const auto kind = hierarchy_kind_called(*text);
  if (!kind) {
    throw InputError({"--" + flag},
                     "unknown '" + *text + "', expected a, b, c, d, collapsed or lattice");
  }
  return kind;
}

/// Every claim asked for has to be askable over the hierarchies asked for.
void check_kinds(const claims::Request& request) {
  const auto lacks = [](const std::vector<HierarchyKind>& some, std::optional<HierarchyKind> kind) {
    return kind && std::find(some.begin(), some.end(), *kind) == some.end();
  };
  for (const claims::Claim* claim : request.claims) {
    if (lacks(claim->from, request.from) || lacks(claim->to, request.to)) {
      throw InputError({lacks(claim->from, request.from) ? "--from" : "--to"},
                       fmt::format("the claim {} does not speak of this hierarchy, expected one "
                                   "that --list names with it",
                                   claim->name));
    }
  }
}

std::vector<Dialect> dialects_of(const CommandLine& line) {
  const std::string text = line.text("dialect").value_or("published");
  if (text == "both") return {Dialect::Printed, Dialect::Published};
  const auto dialect = dialect_called(text);
  if (!dialect) {
    throw InputError({"--dialect"}, "unknown '" + text + "', expected printed, published or both");
  }
  return {*dialect};
}

claims::Engine engine_of(const CommandLine& line) {
  const std::string name = line.text("engine").value_or("explicit");
  if (name == "explicit") return claims::Engine::Explicit;
  if (name == "cnf") return claims::Engine::Clauses;
  throw InputError({"--engine"}, "unknown '" + name + "', expected explicit or cnf");
}

std::vector<claims::PlacedSystem> systems_of(const CommandLine& line) {
  const GivenInstance given = given_system(line);
  if (!given.speaks_of_system()) {
    const auto most = line.integer("max-devices", 2, kMostDevices, 6);
    return claims::placed_systems(static_cast<std::uint32_t>(most));
  }
  if (line.has("max-devices")) {
    throw InputError({"--max-devices"}, "given beside a system, expected one of the two");
  }
  require_system(given, true);
  if (given.hierarchy->devices() > kMostDevices) {
    throw InputError({"--hierarchy"}, fmt::format("{} devices, expected at most {}",
                                                  given.hierarchy->devices(), kMostDevices));
  }
  std::vector<claims::PlacedSystem> systems;
  for (const Placement& placement : placements_of(given, kMostPlacements)) {
    systems.push_back({DeviceGrid(*given.hierarchy, *given.axes, placement), *given.reduction});
  }
  return systems;
}

}  // namespace

po::options_description prove_flags() {
  po::options_description flags("Prove");
  flags.add_options()                            //
      ("list", "print all claims and stop")      //
      ("all", "all claims that are known here")  //
      ("max-devices", po::value<std::string>()->value_name("N"),
       "all systems of 2 to N devices (default 6); without --hierarchy only")  //
      ("size", po::value<std::string>()->value_name("N"),
       "programs of at most N steps (default 5)")  //
      ("dialect", po::value<std::string>()->value_name("NAME"),
       "printed, published (default) or both")  //
      ("reduce", po::value<std::string>()->value_name("AXES"),
       "axes to reduce over: 0 or 0,2 or names")  //
      ("from", po::value<std::string>()->value_name("KIND"),
       "only programs over this hierarchy: a, b, c, d, collapsed or lattice")  //
      ("to", po::value<std::string>()->value_name("KIND"),
       "only expressed over this hierarchy")  //
      ("engine", po::value<std::string>()->value_name("NAME"),
       "explicit (default), or cnf: claims about programs by a SAT solver instead of "
       "enumeration")                                                               //
      ("every-system", "a result for every system, also for those that are alike")  //
      ("deep",
       "search over arbitrary groups, and for cheaper programs, without the bounds that keep "
       "such a search to seconds")  //
      ("resume", po::value<std::string>()->value_name("FILE"),
       "keep in FILE what is settled, and go on from what FILE holds")  //
      ("report", po::value<std::string>()->value_name("FILE.md|html"),
       "write the errata: false statements of the paper with drawn counterexamples; implies "
       "--every-system")  //
      ("certify", po::value<std::string>()->value_name("DIR"),
       "write certificates that p2-check accepts: for all that holds of what valid programs do, "
       "of synthesis-complete, mixing (6 devices: with --deep), beyond-dsl and lattice-gain, and "
       "for the smallest counterexamples");
  po::options_description all;
  all.add(placement_flags()).add(flags);
  return all;
}

claims::Request prove_request(const CommandLine& line) {
  const std::string report = line.text("report").value_or(".md");
  if (!report.ends_with(".md") && !report.ends_with(".html")) {
    throw InputError({"--report"}, "'" + report + "', expected a name that ends in .md or .html");
  }
  claims::Request request;
  request.claims = claims_of(line);
  request.from = kind_of(line, "from");
  request.to = kind_of(line, "to");
  check_kinds(request);
  request.dialects = dialects_of(line);
  request.engine = engine_of(line);
  request.systems = systems_of(line);
  request.size = static_cast<std::uint32_t>(line.integer("size", 1, kLargestSize, 5));
  request.deep = line.has("deep");
  // Who names a system wants every placement of it answered.
  request.every_system =
      line.has("every-system") || line.has("report") || line.has("hierarchy") || line.has("system");
  return request;
}

}  // namespace p2

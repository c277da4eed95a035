// What `prove` is asked: the questions of a request, and the request in the header of a journal.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "engine/program/instruction.h"
#include "engine/program/program_file.h"
#include "p2/error.h"
#include "proofs/api/prove.h"

namespace p2 {
namespace {

constexpr std::uint32_t kMaxDevices = 64;
constexpr std::uint32_t kMaxSize = 32;
constexpr std::size_t kMaxPlacementsProved = 10'000;

bool names_system(const ProveRequest& request) {
  return request.system.hierarchy || request.system.system;
}

/// All claims, separated by commas.
std::string claim_names() {
  std::string names;
  for (const claims::Claim& claim : claims::registry()) names += std::string(claim.name) + ", ";
  for (const claims::ScheduleClaim& claim : claims::schedule_registry()) {
    names += std::string(claim.name) + ", ";
  }
  return names;
}

std::vector<const claims::Claim*> claims_of(const ProveRequest& request) {
  std::vector<const claims::Claim*> chosen;
  bool schedules = false;
  for (const std::string& name : request.claims) {
    if (claims::find_schedule_claim(name) != nullptr) {
      schedules = true;
      continue;
    }
    const claims::Claim* claim = claims::find_claim(name);
    if (claim == nullptr) {
      throw InputError({"command line"}, "unknown claim '" + name +
                                             "', expected one that --list names" +
                                             suggestion(name, claim_names()));
    }
    if (std::find(chosen.begin(), chosen.end(), claim) == chosen.end()) chosen.push_back(claim);
  }
  if (request.all) {
    if (!chosen.empty() || schedules) {
      throw InputError({"--all"}, "given together with claims, expected one of the two");
    }
    for (const claims::Claim& claim : claims::registry()) chosen.push_back(&claim);
  }
  if (chosen.empty() && !schedules) {
    throw InputError({"command line"}, "no claim, expected at least one, --all or --list");
  }
  return chosen;
}

std::vector<const claims::ScheduleClaim*> schedule_claims_of(const ProveRequest& request) {
  std::vector<const claims::ScheduleClaim*> chosen;
  if (request.all && !names_system(request)) {
    for (const claims::ScheduleClaim& claim : claims::schedule_registry()) chosen.push_back(&claim);
  }
  for (const std::string& name : request.claims) {
    const claims::ScheduleClaim* claim = claims::find_schedule_claim(name);
    if (claim == nullptr) continue;
    if (std::find(chosen.begin(), chosen.end(), claim) == chosen.end()) chosen.push_back(claim);
  }
  return chosen;
}

std::optional<HierarchyKind> kind_of(const std::optional<std::string>& name, const char* flag) {
  if (!name) return std::nullopt;
  const auto kind = find_hierarchy_kind(*name);
  if (!kind) {
    throw InputError({flag}, unknown_name(*name, kHierarchyKindNames));
  }
  return kind;
}

/// Throws InputError unless every claim can be asked over the hierarchies.
void check_kinds(const claims::CampaignRequest& request) {
  const auto lacks = [](const std::vector<HierarchyKind>& some, std::optional<HierarchyKind> kind) {
    return kind && std::find(some.begin(), some.end(), *kind) == some.end();
  };
  for (const claims::Claim* claim : request.claims) {
    if (lacks(claim->from, request.from) || lacks(claim->to, request.to)) {
      throw InputError({lacks(claim->from, request.from) ? "--from" : "--to"},
                       fmt::format("the claim {} is not about this hierarchy, expected one "
                                   "that --list names with it",
                                   claim->name));
    }
  }
}

std::vector<Dialect> dialects_of(const std::string& name) {
  if (name == "both") return {Dialect::Printed, Dialect::Published};
  const auto dialect = find_dialect(name);
  if (!dialect) {
    throw InputError({"--dialect"}, unknown_name(name, "printed, published or both"));
  }
  return {*dialect};
}

claims::Engine engine_of(const std::string& name) {
  if (name == "explicit") return claims::Engine::Explicit;
  if (name == "cnf") return claims::Engine::Sat;
  throw InputError({"--engine"}, unknown_name(name, "explicit or cnf"));
}

void check_range(const char* flag, std::uint32_t value, std::uint32_t low, std::uint32_t high) {
  if (value >= low && value <= high) return;
  throw InputError(
      {flag}, fmt::format("found '{}', expected a whole number from {} to {}", value, low, high));
}

std::vector<claims::PlacedSystem> systems_of(const ProveRequest& request, const Limits& limits) {
  const GivenInstance given = given_instance(request.system);
  if (!given.names_system()) {
    const std::uint32_t max_devices = request.max_devices.value_or(6);
    check_range("--max-devices", max_devices, 2, kMaxDevices);
    return claims::placed_systems(max_devices, limits);
  }
  if (request.max_devices) {
    throw InputError({"--max-devices"}, "given together with a system, expected one of the two");
  }
  require_system(given, true);
  if (given.hierarchy->devices() > kMaxDevices) {
    throw InputError({"--hierarchy"}, fmt::format("{} devices, expected at most {}",
                                                  given.hierarchy->devices(), kMaxDevices));
  }
  std::vector<claims::PlacedSystem> systems;
  for (const Placement& placement : placements_of(given, kMaxPlacementsProved)) {
    systems.push_back({DeviceGrid(*given.hierarchy, *given.axes, placement), *given.reduction});
  }
  return systems;
}

}  // namespace

claims::CampaignRequest campaign_request(const ProveRequest& request, const Options& options) {
  claims::CampaignRequest campaign;
  campaign.schedules = schedule_claims_of(request);
  campaign.claims = claims_of(request);
  campaign.from = kind_of(request.from, "--from");
  campaign.to = kind_of(request.to, "--to");
  check_kinds(campaign);
  campaign.dialects = dialects_of(request.dialect);
  campaign.engine = engine_of(request.engine);
  campaign.systems = systems_of(request, options.limits);
  check_range("--size", request.size, 1, kMaxSize);
  campaign.size = request.size;
  campaign.deep = request.deep;
  campaign.parts = request.cubes;
  // For a given system every placement is answered.
  campaign.every_system = request.every_system || request.report || names_system(request);
  if (request.certify) {
    const bool clauses = campaign.engine == claims::Engine::Sat || campaign.parts > 1;
    campaign.certificates = {*request.certify, options.seed, clauses};
  }
  return campaign;
}

// The request in the header of a journal.

using Header = nlohmann::ordered_json;
using campaign::optional_text;

Json journal_header(const ProveRequest& request, std::uint64_t seed, std::size_t questions) {
  Json names = Json::array();
  for (const claims::Claim* claim : claims_of(request)) names.push_back(claim->name);
  for (const claims::ScheduleClaim* claim : schedule_claims_of(request))
    names.push_back(claim->name);
  const InstanceSpec& system = request.system;
  const bool every = request.every_system || request.report || names_system(request);
  Json header = campaign::journal_header("prove");
  header.add("claims", std::move(names))
      .add("from", optional_text(request.from))
      .add("to", optional_text(request.to))
      .add("dialect", request.dialect)
      .add("engine", request.engine)
      .add("size", request.size)
      .add("max_devices", names_system(request) ? Json() : Json(request.max_devices.value_or(6)))
      .add("hierarchy", optional_text(system.hierarchy))
      .add("system", system.system ? Json(read_file(*system.system)) : Json())
      .add("axes", optional_text(system.axes))
      .add("reduce", optional_text(system.reduce))
      .add("placement", optional_text(system.placement))
      .add("every_system", every)
      .add("deep", request.deep)
      .add("cubes", request.cubes)
      .add("certify", optional_text(request.certify))
      .add("seed", request.certify ? Json(seed) : Json());
  return campaign::with_shard(std::move(header), questions, request.part);
}

JournaledRequest journaled_request(const Header& header) {
  JournaledRequest journaled;
  ProveRequest& request = journaled.request;
  for (const Header& name : header.at("claims")) request.claims.push_back(name);
  request.from = optional_text(header, "from");
  request.to = optional_text(header, "to");
  request.dialect = header.at("dialect");
  request.engine = header.at("engine");
  request.size = header.at("size");
  if (!header.at("max_devices").is_null()) request.max_devices = header.at("max_devices");
  request.system.hierarchy = optional_text(header, "hierarchy");
  if (const auto system = optional_text(header, "system")) {
    journaled.system = std::make_shared<const TextFile>("system.json", *system);
    request.system.system = journaled.system->path();
  }
  request.system.axes = optional_text(header, "axes");
  request.system.reduce = optional_text(header, "reduce");
  request.system.placement = optional_text(header, "placement");
  request.every_system = header.at("every_system");
  request.deep = header.at("deep");
  request.cubes = header.at("cubes");
  request.certify = optional_text(header, "certify");
  if (request.certify) journaled.seed = header.at("seed");
  return journaled;
}

}  // namespace p2
